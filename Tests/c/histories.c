/* SPDX-License-Identifier: MIT */
#include "histories.h"

#include <stdio.h>
#include <string.h>

cst_key badge_name, ticket;

cst_store_options with_history(uint32_t flags) {
    cst_store_options options = CST_STORE_OPTIONS_INIT;
    options.flags = CST_STORE_NORMAL_SYNC | CST_STORE_HISTORY | flags;
    return options;
}

cst_key key_of(const cst_entity *entity, const char *name) {
    cst_key key = CST_NO_KEY;
    OK(cst_entity_key(entity, text(name), &key, E));
    return key;
}

struct company open_of_type(const char *type, const char *path, uint32_t flags, uint32_t left_out) {
    struct company c;
    memset(&c, 0, sizeof c);
    cst_store_options options = with_history(flags);
    options.flags &= ~left_out;
    cst_entity *person = NULL, *employee = NULL;
    c.model = company_model();
    OK(cst_model_entity(c.model, text("Person"), &person, E));
    OK(cst_model_entity(c.model, text("Employee"), &employee, E));
    const uint32_t preserved = CST_PROPERTY_OPTIONAL | CST_PROPERTY_PRESERVED;
    OK(cst_entity_add_attribute(person, text("ticket"), CST_ATTRIBUTE_UUID, preserved, NULL, E));
    OK(cst_entity_add_attribute(employee, text("badgeName"), CST_ATTRIBUTE_STRING, preserved, NULL, E));
    OK(cst_coordinator_new(c.model, &c.coordinator, E));
    OK(cst_coordinator_add_store(c.coordinator, text(type), text(path), &options, &c.store, E));
    company_resolve(&c);
    badge_name = key_of(c.employee, "badgeName");
    ticket = key_of(c.person, "ticket");
    c.context = company_context(&c, CST_QUEUE_CALLER);
    return c;
}

struct company open_history(const char *path) { return open_of_type("SQLite", path, 0, 0); }

void hire(const struct company *c, const char *name, int64_t number) {
    OK(cst_release(company_employee(c, c->context, name, number)));
    save(c->context);
}

void sign(cst_context *context, const char *author, const char *name) {
    OK(cst_context_set_transaction_author(context, (cst_string){author, author ? CST_NUL : 0}, E));
    OK(cst_context_set_name(context, (cst_string){name, name ? CST_NUL : 0}, E));
}

cst_history_options all(void) {
    cst_history_options options = CST_HISTORY_OPTIONS_INIT;
    return options;
}

cst_history_cursor *read_with(const struct company *c, const cst_history_options *options) {
    cst_history_cursor *cursor = NULL;
    OK(cst_coordinator_fetch_history(c->coordinator, options, &cursor, E));
    return cursor;
}

const cst_history_transaction *next(cst_history_cursor *cursor) {
    const cst_history_transaction *transaction = NULL;
    OK(cst_history_cursor_next(cursor, &transaction, E));
    REQUIRE(transaction);
    return transaction;
}

bool at_end(cst_history_cursor *cursor) {
    static const cst_history_transaction nothing;
    const cst_history_transaction *transaction = &nothing;
    const cst_status status = cst_history_cursor_next(cursor, &transaction, E);
    CHECK(transaction == NULL);
    return status == CST_END;
}

cst_string numbers_of(const struct company *c, const cst_history_options *options) {
    static char found[512];
    size_t size = 0;
    found[0] = 0;
    cst_history_cursor *cursor = read_with(c, options);
    const cst_history_transaction *transaction = NULL;
    while (cst_history_cursor_next(cursor, &transaction, E) == CST_OK && size < sizeof found - 32)
        size += (size_t)sprintf(found + size, "%s%lld", size ? " " : "", (long long)transaction->number);
    CHECK(check_error() == NULL);
    OK(cst_release(cursor));
    return text_of_size(found, size);
}

cst_string changes_of(const struct company *c, const cst_history_options *options) {
    static char found[512];
    size_t size = 0;
    found[0] = 0;
    cst_history_cursor *cursor = read_with(c, options);
    const cst_history_transaction *transaction = NULL;
    while (cst_history_cursor_next(cursor, &transaction, E) == CST_OK) {
        CHECK(transaction->change_count > 0);
        for (size_t i = 0; i < transaction->change_count && size < sizeof found - 32; i++)
            size += (size_t)sprintf(found + size, "%s%lld", size ? " " : "", (long long)transaction->changes[i].number);
    }
    CHECK(check_error() == NULL);
    OK(cst_release(cursor));
    return text_of_size(found, size);
}

uint64_t count_of(const struct company *c, const cst_history_options *options) {
    uint64_t count = 99;
    OK(cst_coordinator_count_history(c->coordinator, options, &count, E));
    return count;
}

cst_history_token *current(const struct company *c) {
    cst_history_token *token = NULL;
    OK(cst_coordinator_copy_history_token(c->coordinator, 0, NULL, &token, E));
    return token;
}

cst_history_token *token_at(const struct company *c, int64_t number) {
    cst_history_token *token = NULL;
    OK(cst_history_token_new_at(cst_store_identifier(c->store), number, &token, E));
    return token;
}

cst_history_token *token_of(cst_history_cursor *cursor) {
    cst_history_token *token = NULL;
    OK(cst_history_cursor_copy_token(cursor, &token, E));
    return token;
}

cst_history_token *token_from(const char *json) {
    cst_history_token *token = NULL;
    OK(cst_history_token_new(text(json), &token, E));
    return token;
}

int64_t number_in(const cst_history_token *token, const cst_store *store) {
    int64_t number = -1;
    OK(cst_history_token_transaction(token, cst_store_identifier(store), &number, E));
    return number;
}

int order(const cst_history_token *a, const cst_history_token *b) {
    int32_t found = 9;
    const cst_status status = cst_history_token_compare(a, b, &found, E);
    if (status == CST_NOT_FOUND) {
        CHECK_INT(0, found);
        return 2;
    }
    CHECK_INT(CST_OK, status);
    return found;
}

cst_predicate *parse(const char *format, size_t count, const cst_value *arguments) {
    cst_predicate *predicate = NULL;
    OK(cst_predicate_parse(text(format), count, arguments, &predicate, E));
    return predicate;
}

cst_value value_token(cst_history_token *token) { return (cst_value){CST_HISTORY_TOKEN, 0, {.history_token = token}}; }

cst_value value_id(cst_object_id *id) { return (cst_value){CST_OBJECT_ID, 0, {.object_id = id}}; }

cst_object_id *id_of(const cst_object *object) {
    cst_object_id *id = NULL;
    OK(cst_object_copy_id(object, &id, E));
    return id;
}

bool same_uri(const cst_object_id *a, const cst_object_id *b) {
    cst_buffer one = {0}, other = {0};
    OK(cst_object_id_copy_uri(a, &one, E));
    OK(cst_object_id_copy_uri(b, &other, E));
    const bool same = one.size == other.size && memcmp(one.data, other.data, one.size) == 0;
    cst_buffer_dispose(&one);
    cst_buffer_dispose(&other);
    return same;
}

bool has_property(const cst_history_change *change, const char *name) {
    for (size_t i = 0; i < change->property_count; i++)
        if (strcmp(change->properties[i].data, name) == 0) return true;
    return false;
}

const cst_history_change *change_of(const cst_history_transaction *transaction, const cst_entity *entity,
                                    uint32_t kind) {
    for (size_t i = 0; i < transaction->change_count; i++) {
        const cst_history_change *change = &transaction->changes[i];
        if (change->entity == entity && change->kind == kind) return change;
    }
    return NULL;
}

void check_failed(int64_t code, const char *words) {
    CHECK_INT(code, cst_error_code(check_error()));
    CHECK_CONTAINS(words, cst_error_message(check_error()));
}

void fill(const struct company *c) {
    sign(c->context, "a", "first");
    cst_object *ada = company_employee(c, c->context, "Ada", 1), *bob = NULL;
    save(c->context);
    sign(c->context, "b", "second");
    bob = company_employee(c, c->context, "Bob", 2);
    save(c->context);
    sign(c->context, NULL, NULL);
    OK(cst_release(company_insert(c, c->context, c->department, c->department_name, "Research")));
    save(c->context);
    sign(c->context, "a", "first");
    set(ada, c->notes, value_text("x"));
    save(c->context);
    sign(c->context, "b", NULL);
    OK(cst_context_delete(c->context, bob, E));
    save(c->context);
    sign(c->context, NULL, NULL);
    hire(c, "Eve", 3);
    OK(cst_release(ada));
    OK(cst_release(bob));
}

uint64_t delete_before(const struct company *c, const cst_history_token *token) {
    uint64_t transactions = 99, changes = 99;
    OK(cst_coordinator_delete_history(c->coordinator, token, NULL, NULL, &transactions, &changes, E));
    CHECK_INT(transactions, changes); /* each has one */
    return transactions;
}

uint64_t delete_until(const struct company *c, double date) {
    uint64_t transactions = 99;
    OK(cst_coordinator_delete_history_before(c->coordinator, date, 0, NULL, NULL, NULL, &transactions, NULL, E));
    return transactions;
}
