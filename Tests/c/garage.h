/* Stores of cars and their owners, which are migrated.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef GARAGE_H
#define GARAGE_H

#include "company.h"

static const cst_string none = {NULL, 0};

/* CHECK_TEXT for NUL-terminated words. */
#define CHECK_WORDS(expected, words) CHECK_TEXT(expected, view_of(words))
cst_string view_of(const char *words);

/* Models as text: Car (plate, owner) and Person (name); with Car.label; with Car.doors. */
extern const char old_text[], new_text[], last_text[];

cst_model *model_of(const char *content);
/* Car by a policy, unless it is NULL, with an expression for its label; Person without one. */
cst_mapping_model *mapping_of(cst_model *old, cst_model *new, const char *policy, const char *label);
/* A store of the old model: the cars a and b, both Ada's. */
void fill_store(const char *path);
/* The values of a key path over all cars, in the order of their plates: "a=…,b=…,". */
const char *cars(cst_context *context, const char *path);
/* Opens a store with the options of the caller. */
cst_status open_with(const char *path, cst_model *model, const cst_store_options *options,
                     cst_coordinator **coordinator, cst_context **context);
/* Opens a store, and compares what `cars` returns. */
void expect_cars(const char *path, const char *model_text, const char *key_path, const char *expected);

#endif
