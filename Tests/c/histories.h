/* Stores with a history, and shorthands for reading it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HISTORIES_H
#define HISTORIES_H

#include "company.h"

/* Attributes whose values the history preserves after deletion.
 *
 * These are Employee.badgeName, a string, and Person.ticket, a UUID. */
extern cst_key badge_name, ticket;

/* Options of a store with a history, with more flags. */
cst_store_options with_history(uint32_t flags);
cst_key key_of(const cst_entity *entity, const char *name);
/* The company with these two attributes, in a store with a history and more flags, without those of `left_out`. */
struct company open_of_type(const char *type, const char *path, uint32_t flags, uint32_t left_out);
struct company open_history(const char *path);
/* Saves one employee. */
void hire(const struct company *c, const char *name, int64_t number);
/* Sets author and name of a context; NULL removes them. */
void sign(cst_context *context, const char *author, const char *name);
/* Options that select everything. */
cst_history_options all(void);
cst_history_cursor *read_with(const struct company *c, const cst_history_options *options);
/* The next transaction, which must exist. */
const cst_history_transaction *next(cst_history_cursor *cursor);
bool at_end(cst_history_cursor *cursor);
/* The numbers of the transactions that the options select, as "1 2 5"; valid until the next call. */
cst_string numbers_of(const struct company *c, const cst_history_options *options);
/* The same for changes, of all transactions. */
cst_string changes_of(const struct company *c, const cst_history_options *options);
uint64_t count_of(const struct company *c, const cst_history_options *options);
/* Tokens, owned by the caller: of the present place, after a transaction of the store, of a cursor, from JSON. */
cst_history_token *current(const struct company *c);
cst_history_token *token_at(const struct company *c, int64_t number);
cst_history_token *token_of(cst_history_cursor *cursor);
cst_history_token *token_from(const char *json);
int64_t number_in(const cst_history_token *token, const cst_store *store);
/* -1, 0, 1; 2 for tokens without an order. */
int order(const cst_history_token *a, const cst_history_token *b);
cst_predicate *parse(const char *format, size_t count, const cst_value *arguments);
cst_value value_token(cst_history_token *token);
cst_value value_id(cst_object_id *id);
cst_object_id *id_of(const cst_object *object);
bool same_uri(const cst_object_id *a, const cst_object_id *b);
bool has_property(const cst_history_change *change, const char *name);
const cst_history_change *change_of(const cst_history_transaction *transaction, const cst_entity *entity,
                                    uint32_t kind);
/* The failure of the last call with E has this code and these words. */
void check_failed(int64_t code, const char *words);
/* Saves transactions 1 to 6.
 *
 * They are Ada by "a", Bob by "b", a department without author, Ada's notes by "a", Bob deleted by "b", Eve without
 * author. The name of a's context is "first", that of b's insertion "second". */
void fill(const struct company *c);
/* Deletions that must succeed; the number of transactions. */
uint64_t delete_before(const struct company *c, const cst_history_token *token);
uint64_t delete_until(const struct company *c, double date);

#endif
