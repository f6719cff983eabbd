/* Stores that cannot be opened, and the expected errors.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef DAMAGE_H
#define DAMAGE_H

#include "company.h"

void write_file(const char *path, const void *data, size_t size);
/* A number for all names and bytes of the test's folder. */
uint64_t folder_state(void);
/* Runs SQL on a file with plain SQLite. */
void run_sql(const char *path, const char *sql);
/* A store with 200 people, closed again. */
const char *good_store(const char *name);
/* Opening must fail with one of the statuses, name the file, and not change the folder. */
void expect_refusal(cst_model *model, const char *path, uint32_t flags, cst_status one, cst_status other);
/* The same with the model of company.h. */
void refused(const char *path, uint32_t flags, cst_status one, cst_status other);

#endif
