/* Batch requests: rows by value, column and handler, updates, deletions, merges into open contexts.
 *
 * SPDX-License-Identifier: MIT
 */
#include "company.h"

#include <stdio.h>
#include <string.h>

static int destroyed;
static void note_destroyed(void *userdata) { (void)userdata, destroyed++; }

static uint64_t execute(const struct company *c, cst_batch_request *request) {
    uint64_t count = 99;
    OK(cst_context_execute_batch(c->context, request, &count, NULL, E));
    return count;
}

static cst_batch_request *insertion(const struct company *c) {
    cst_batch_request *request = NULL;
    OK(cst_batch_insert_new(c->employee, &request, E));
    return request;
}

static int64_t sum(const struct company *c, cst_context *context, const char *predicate) {
    cst_results *found = company_fetch(context, c->employee, predicate, "number");
    int64_t total = 0;
    for (size_t i = 0; i < cst_results_count(found); i++)
        total += get_int(object_at(found, i), c->number);
    OK(cst_release(found));
    return total;
}

static void an_insertion_copies_its_rows(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_batch_request *request = insertion(&c);
    const cst_key keys[] = {c.name, c.number};
    {
        char name[] = "Ada";
        cst_value values[] = {value_text(name), value_int(1), value_text("Bea"), {.type = CST_DEFAULT}};
        OK(cst_batch_insert_set_rows(request, 2, 2, keys, values, E));
        name[0] = 'X';
    }
    uint64_t count = 0;
    cst_results *ids = NULL;
    OK(cst_context_execute_batch(c.context, request, &count, &ids, E));
    CHECK_INT(2, count);
    CHECK_INT(2, cst_results_count(ids));
    cst_object_id *id = NULL;
    cst_object *ada = NULL;
    OK(cst_results_copy_id(ids, 0, &id, E));
    OK(cst_context_object_with_id(c.context, id, &ada, E));
    CHECK_TEXT("Ada", get_text(ada, c.name));
    CHECK_INT(2, execute(&c, request));
    CHECK_INT(4, company_count(c.context, c.employee, NULL));
    CHECK_INT(2, company_count(c.context, c.employee, "name == 'Bea'"));
    OK(cst_release(ada));
    OK(cst_release(id));
    OK(cst_release(ids));
    OK(cst_release(request));
    company_close(&c);
}

static void an_insertion_reads_columns_in_place(void) {
    enum { ROWS = 1000 };
    static cst_string names[ROWS];
    static int64_t numbers[ROWS];
    static int32_t levels[ROWS];
    static double salaries[ROWS], dates[ROWS];
    static uint8_t badges[ROWS][16], present[ROWS];
    static cst_bytes photos[ROWS];
    static cst_value notes[ROWS];
    static char texts[ROWS][16];
    struct company c = company_open(check_path("a.sqlite"));
    for (int i = 0; i < ROWS; i++) {
        snprintf(texts[i], sizeof texts[i], "n%d", i);
        names[i] = text(texts[i]);
        numbers[i] = i;
        levels[i] = i % 100;
        salaries[i] = i / 2.0;
        dates[i] = i;
        badges[i][15] = (uint8_t)i;
        photos[i] = (cst_bytes){(const uint8_t *)texts[i], 2};
        notes[i] = value_text("note");
        present[i] = i % 2;
    }
    const cst_batch_column columns[] = {
        {c.name, CST_COLUMN_STRING, names, NULL},     {c.number, CST_COLUMN_INT64, numbers, NULL},
        {c.level, CST_COLUMN_INT32, levels, NULL},    {c.rating, CST_COLUMN_DOUBLE, salaries, present},
        {c.hired, CST_COLUMN_DOUBLE, dates, NULL},    {c.badge, CST_COLUMN_UUID, badges, NULL},
        {c.photo, CST_COLUMN_BYTES, photos, present}, {c.notes, CST_COLUMN_VALUE, notes, present},
        {c.active, CST_COLUMN_INT64, numbers, NULL}};
    cst_batch_request *request = insertion(&c);
    OK(cst_batch_insert_set_columns(request, 2, 9, columns, E));
    CHECK_INT(2, execute(&c, request));
    OK(cst_batch_insert_set_columns(request, ROWS, 8, columns, E));
    CHECK_INT(ROWS, execute(&c, request));
    CHECK_INT(1, company_count(c.context, c.employee, "number == 999 AND level == 99 AND rating == 499.5"));
    CHECK_INT(500, company_count(c.context, c.employee, "number > 1 AND rating != nil AND notes == 'note'") + 1);
    cst_results *found = company_fetch(c.context, c.employee, "number == 7", NULL);
    const cst_object *seven = object_at(found, 0);
    CHECK_TEXT("n7", get_text(seven, c.name));
    CHECK_REAL(7, get(seven, c.hired).as.date);
    CHECK_INT(7, get(seven, c.badge).as.uuid[15]);
    CHECK_INT(2, get(seven, c.photo).as.bytes.size);
    OK(cst_release(found));
    /* A number other than 0 and 1 for a Boolean attribute. */
    OK(cst_batch_insert_set_columns(request, 3, 9, columns, E));
    CHECK_STATUS(CST_E_TYPE_MISMATCH, cst_context_execute_batch(c.context, request, NULL, NULL, E));
    CHECK_CONTAINS("row 3", cst_error_message(check_error()));
    CHECK_INT(ROWS + 2, company_count(c.context, c.employee, NULL));
    names[1] = text_of_size("\xff", 1);
    OK(cst_batch_insert_set_columns(request, 2, 1, columns, E));
    CHECK_STATUS(CST_E_INVALID_UTF8, cst_context_execute_batch(c.context, request, NULL, NULL, E));
    names[1] = text_of_size(NULL, 0);
    CHECK_STATUS(CST_E_VALIDATION, cst_context_execute_batch(c.context, request, NULL, NULL, E));
    CHECK_INT(1570, cst_error_code(check_error()));
    OK(cst_release(request));
    company_close(&c);
}

struct source {
    const struct company *company;
    int left, calls, stops_after;
    bool saves;
    cst_object *kept;
};

static cst_status fill(void *userdata, size_t capacity, cst_value *values, size_t *out_rows, cst_error **error) {
    struct source *source = userdata;
    source->calls++;
    if (source->stops_after && source->calls > source->stops_after) {
        cst_error_new_custom(text("App"), 42, text("the source is broken"), NULL, NULL, error);
        return CST_E_CALLBACK;
    }
    if (source->saves) {
        cst_object *one = company_employee(source->company, source->company->context, "Eve", 1);
        cst_error *refusal = NULL;
        CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_save(source->company->context, &refusal));
        CHECK_INT(3, company_count(source->company->context, source->company->employee, "name BEGINSWITH 'E'") + 2);
        cst_release(refusal);
        OK(cst_context_delete(source->company->context, one, E));
        OK(cst_release(one));
    }
    for (size_t row = 0; row < capacity && source->left > 0; row++, source->left--) {
        values[row * 2] = value_text("handled");
        if (source->left % 2) values[row * 2 + 1] = value_int(source->left);
        ++*out_rows;
    }
    return CST_OK;
}

static void a_handler_fills_the_rows_of_an_insertion(void) {
    struct company c = company_open(check_path("a.sqlite"));
    const cst_key keys[] = {c.name, c.number};
    struct source source = {.company = &c, .left = 1000};
    destroyed = 0;
    cst_batch_request *request = insertion(&c);
    OK(cst_batch_insert_set_handler(request, 2, keys, fill, &source, note_destroyed, E));
    CHECK_INT(1000, execute(&c, request));
    CHECK(source.calls > 3 && source.calls < 20);
    CHECK_INT(500, company_count(c.context, c.employee, "number > 0"));
    source = (struct source){.company = &c, .left = 10, .saves = true};
    CHECK_INT(10, execute(&c, request));
    source = (struct source){.company = &c, .left = 1000, .stops_after = 2};
    CHECK_STATUS(CST_E_CALLBACK, cst_context_execute_batch(c.context, request, NULL, NULL, E));
    CHECK_CONTAINS("the source is broken", cst_error_message(check_error()));
    CHECK_INT(1, cst_error_detail_count(check_error()));
    CHECK_INT(1010, company_count(c.context, c.employee, NULL));
    CHECK_INT(0, destroyed);
    OK(cst_release(request));
    CHECK_INT(1, destroyed);
    CHECK_STATUS(CST_E_INVALID_HANDLE,
                 cst_batch_insert_set_handler(request, 2, keys, fill, &source, note_destroyed, E));
    CHECK_INT(2, destroyed);
    company_close(&c);
}

/* An object that is retained after the request behaves like one whose context was released. */
static void has_ended(cst_object *kept, cst_key key) {
    const cst_value value = value_int(1);
    cst_context *none = NULL;
    CHECK(cst_object_context(kept, &none, NULL) != CST_OK);
    CHECK_STATUS(CST_E_OBJECT_GONE, cst_object_set(kept, key, &value, E));
    OK(cst_release(kept));
}

static cst_status set_object(void *userdata, cst_object *object, bool *out_stop, cst_error **error) {
    struct source *source = userdata;
    source->calls++;
    *out_stop = source->calls > source->left;
    if (!source->kept) source->kept = cst_retain(object);
    CHECK(source->kept == object);
    cst_value name = value_text("object"), number = value_int(source->calls);
    cst_status status = cst_object_set(object, source->company->name, &name, error);
    if (status == CST_OK && source->calls != 2)
        status = cst_object_set(object, source->company->number, &number, error);
    if (status == CST_OK && source->stops_after == source->calls)
        return cst_object_add_member(object, source->company->friends, object, error);
    return status;
}

static void an_object_handler_gets_one_object_for_all_rows(void) {
    struct company c = company_open(check_path("a.sqlite"));
    struct source source = {.company = &c, .left = 5};
    cst_batch_request *request = insertion(&c);
    OK(cst_batch_insert_set_object_handler(request, set_object, &source, NULL, E));
    CHECK_INT(5, execute(&c, request));
    CHECK_INT(1 + 3 + 4 + 5, sum(&c, c.context, "number != nil"));
    has_ended(source.kept, c.number);
    source = (struct source){.company = &c, .left = 5, .stops_after = 3};
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_execute_batch(c.context, request, NULL, NULL, E));
    CHECK_TEXT("friends", cst_error_key(check_error()));
    has_ended(source.kept, c.number);
    CHECK_INT(5, company_count(c.context, c.employee, NULL));
    OK(cst_release(request));
    company_close(&c);
}

static void insert_numbers(const struct company *c, int count) {
    cst_batch_request *request = insertion(c);
    const cst_key keys[] = {c->name, c->number};
    cst_value values[2 * 16];
    for (int i = 0; i < count; i++)
        values[2 * i] = value_text("n"), values[2 * i + 1] = value_int(i);
    OK(cst_batch_insert_set_rows(request, (size_t)count, 2, keys, values, E));
    CHECK_INT(count, execute(c, request));
    OK(cst_release(request));
}

static void updates_are_merged_into_open_contexts(void) {
    struct company c = company_open(check_path("a.sqlite"));
    insert_numbers(&c, 4);
    cst_context *other = company_context(&c, CST_QUEUE_CALLER), *unmerged = company_context(&c, CST_QUEUE_CALLER);
    OK(cst_context_set_option(unmerged, CST_OPTION_MERGES_BATCHES, 0, E));
    int64_t option = 9;
    OK(cst_context_option(unmerged, CST_OPTION_MERGES_BATCHES, &option, E));
    CHECK_INT(0, option);
    cst_results *theirs = company_fetch(other, c.employee, NULL, "number");
    cst_results *stale = company_fetch(unmerged, c.employee, NULL, "number");
    CHECK_INT(3, get_int(object_at(theirs, 3), c.number));
    CHECK_INT(3, get_int(object_at(stale, 3), c.number));

    cst_batch_request *request = NULL;
    cst_predicate *predicate = NULL;
    cst_expression *expression = NULL;
    OK(cst_batch_update_new(c.employee, &request, E));
    OK(cst_predicate_parse(text("number > 1"), 0, NULL, &predicate, E));
    OK(cst_batch_update_set_predicate(request, predicate, E));
    OK(cst_expression_parse(text("number * 10"), 0, NULL, &expression, E));
    cst_value value = {.type = CST_EXPRESSION, .as = {.expression = expression}};
    OK(cst_batch_update_set(request, text("number"), &value, E));
    value = value_text("changed");
    OK(cst_batch_update_set(request, text("notes"), &value, E));
    OK(cst_release(predicate));
    OK(cst_release(expression));
    CHECK_INT(2, execute(&c, request));
    CHECK_INT(30, get_int(object_at(theirs, 3), c.number));
    CHECK_INT(3, get_int(object_at(stale, 3), c.number));
    CHECK_INT(2, company_count(c.context, c.employee, "notes == 'changed'"));
    OK(cst_batch_update_set_predicate(request, NULL, E));
    OK(cst_batch_update_set_includes_subentities(request, false, E));
    OK(cst_batch_set_merges(request, false, E));
    CHECK_INT(4, execute(&c, request));
    CHECK_INT(30, get_int(object_at(theirs, 3), c.number));
    value = value_text("x");
    OK(cst_batch_update_set(request, text("number"), &value, E));
    CHECK_STATUS(CST_E_TYPE_MISMATCH, cst_context_execute_batch(c.context, request, NULL, NULL, E));
    CHECK_TEXT("number", cst_error_key(check_error()));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_batch_insert_set_rows(request, 0, 0, NULL, NULL, E));
    OK(cst_release(request));
    OK(cst_release(theirs));
    OK(cst_release(stale));
    OK(cst_release(other));
    OK(cst_release(unmerged));
    company_close(&c);
}

static void count_inserted(void *userdata, cst_context *context, uint32_t notification, const cst_changes *changes) {
    (void)context, (void)notification;
    *(size_t *)userdata += cst_results_count(changes->inserted);
}

static void merging_can_be_set_before_the_rows_of_an_insertion(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_context *other = company_context(&c, CST_QUEUE_CALLER);
    cst_observation *token = NULL;
    size_t notified = 0;
    OK(cst_context_observe(other, CST_NOTIFICATION_OBJECTS_DID_CHANGE, count_inserted, &notified, NULL, &token, E));
    cst_batch_request *request = insertion(&c);
    const cst_value name = value_text("Ada");
    OK(cst_batch_set_merges(request, false, E));
    OK(cst_batch_insert_set_rows(request, 1, 1, &c.name, &name, E));
    CHECK_INT(1, execute(&c, request));
    CHECK_INT(0, notified);
    OK(cst_batch_set_merges(request, true, E));
    CHECK_INT(1, execute(&c, request));
    CHECK_INT(1, notified);
    OK(cst_release(request));
    OK(cst_release(token));
    OK(cst_release(other));
    company_close(&c);
}

static void deletions_select_rows_by_request_or_id(void) {
    struct company c = company_open(check_path("a.sqlite"));
    insert_numbers(&c, 8);
    cst_context *other = company_context(&c, CST_QUEUE_CALLER);
    cst_results *theirs = company_fetch(other, c.employee, NULL, "number");
    cst_fetch_request *fetch = NULL;
    cst_batch_request *request = NULL;
    cst_sort order = {text("number"), CST_SORT_DESCENDING, 0};
    OK(cst_fetch_request_new(c.employee, &fetch, E));
    OK(cst_fetch_request_set_sort(fetch, 1, &order, E));
    OK(cst_fetch_request_set_limit(fetch, 2, E));
    OK(cst_batch_delete_new(fetch, &request, E));
    OK(cst_release(fetch));
    CHECK_INT(2, execute(&c, request));
    CHECK_INT(0 + 1 + 2 + 3 + 4 + 5, sum(&c, c.context, NULL));
    CHECK(state(object_at(theirs, 7)) & CST_OBJECT_DELETED);
    OK(cst_release(request));

    cst_object_id *ids[2] = {NULL, NULL};
    OK(cst_object_copy_id(object_at(theirs, 0), &ids[0], E));
    OK(cst_object_copy_id(object_at(theirs, 2), &ids[1], E));
    OK(cst_batch_delete_new_with_ids(2, ids, &request, E));
    OK(cst_batch_set_stores(request, 1, &c.store, E));
    CHECK_INT(2, execute(&c, request));
    CHECK_INT(0, execute(&c, request));
    CHECK_INT(1 + 3 + 4 + 5, sum(&c, c.context, NULL));
    OK(cst_release(request));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_batch_delete_new_with_ids(0, NULL, &request, E));
    OK(cst_release(ids[0]));
    OK(cst_release(ids[1]));
    OK(cst_release(theirs));
    OK(cst_release(other));
    company_close(&c);
}

static void a_save_conflicts_with_a_batch_update_of_the_same_object(void) {
    struct company c = company_open(check_path("a.sqlite"));
    insert_numbers(&c, 2);
    cst_results *mine = company_fetch(c.context, c.employee, NULL, "number");
    set(object_at(mine, 0), c.number, value_int(7));
    set(object_at(mine, 1), c.notes, value_text("mine"));
    cst_context *other = company_context(&c, CST_QUEUE_CALLER);
    cst_batch_request *request = NULL;
    cst_value value = value_int(9);
    OK(cst_batch_update_new(c.employee, &request, E));
    OK(cst_batch_update_set(request, text("number"), &value, E));
    OK(cst_context_execute_batch(other, request, NULL, NULL, E));
    CHECK_INT(7, get_int(object_at(mine, 0), c.number));
    CHECK_INT(9, get_int(object_at(mine, 1), c.number));
    CHECK_STATUS(CST_E_CONFLICT, cst_context_save(c.context, E));
    CHECK_INT(133020, cst_error_code(check_error()));
    set(object_at(mine, 1), c.notes, value_null());
    OK(cst_context_rollback(c.context, E));
    CHECK_INT(18, sum(&c, other, NULL));
    OK(cst_release(request));
    OK(cst_release(mine));
    OK(cst_release(other));
    company_close(&c);
}

struct judge {
    const struct company *company;
    cst_object *kept;
};

static cst_status has_an_odd_number(void *userdata, const cst_value *value, const cst_value *variables,
                                    bool *out_result, cst_error **error) {
    struct judge *judge = userdata;
    cst_value number;
    (void)variables;
    CHECK(value->type == CST_OBJECT);
    const cst_status status = cst_object_get(value->as.object, judge->company->number, &number, error);
    *out_result = status == CST_OK && number.as.integer % 2 == 1;
    if (!judge->kept) judge->kept = cst_retain(value->as.object);
    return status;
}

/* The callback of a block predicate receives objects of an internal context. */
static void a_block_predicate_selects_the_rows_of_a_batch(void) {
    struct company c = company_open(check_path("a.sqlite"));
    insert_numbers(&c, 10);
    struct judge judge = {.company = &c};
    cst_predicate *predicate = NULL;
    cst_batch_request *request = NULL;
    cst_fetch_request *chosen = NULL;
    cst_value value = value_text("odd");
    OK(cst_predicate_new_block(has_an_odd_number, &judge, NULL, &predicate, E));
    OK(cst_batch_update_new(c.employee, &request, E));
    OK(cst_batch_update_set_predicate(request, predicate, E));
    OK(cst_batch_update_set(request, text("notes"), &value, E));
    CHECK_INT(5, execute(&c, request));
    CHECK_INT(5, company_count(c.context, c.employee, "notes == 'odd'"));
    OK(cst_release(request));
    OK(cst_fetch_request_new(c.employee, &chosen, E));
    OK(cst_fetch_request_set_predicate(chosen, predicate, E));
    OK(cst_batch_delete_new(chosen, &request, E));
    CHECK_INT(5, execute(&c, request));
    CHECK_INT(5, company_count(c.context, c.employee, NULL));
    has_ended(judge.kept, c.number);
    OK(cst_release(predicate));
    OK(cst_release(chosen));
    OK(cst_release(request));
    company_close(&c);
}

static size_t changed(const struct company *c, const cst_batch_request *request, uint32_t change) {
    cst_results *ids = NULL;
    OK(cst_context_copy_batch_ids(c->context, request, change, &ids, E));
    const size_t count = cst_results_count(ids);
    OK(cst_release(ids));
    return count;
}

static void ids_of_insertions_are_copied_by_kind_of_change(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_batch_request *request = insertion(&c);
    const cst_key keys[] = {c.name};
    const cst_value values[] = {value_text("Ada"), value_text("Bea")};
    cst_results *ids = NULL;
    OK(cst_batch_insert_set_rows(request, 2, 1, keys, values, E));
    CHECK_INT(2, execute(&c, request));
    CHECK_INT(0, changed(&c, request, CST_BATCH_INSERTED));
    OK(cst_context_execute_batch(c.context, request, NULL, &ids, E));
    CHECK_INT(2, changed(&c, request, CST_BATCH_INSERTED));
    CHECK_INT(0, changed(&c, request, CST_BATCH_UPDATED));
    CHECK_INT(0, changed(&c, request, CST_BATCH_DELETED));
    CHECK_INT(0, changed(&c, request, CST_BATCH_REFRESHED));
    OK(cst_release(ids));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_copy_batch_ids(c.context, request, 5, &ids, E));
    OK(cst_release(request));
    company_close(&c);
}

static void batches_apply_to_the_affected_stores(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_store *second = NULL;
    OK(cst_coordinator_add_store(c.coordinator, text("SQLite"), text(check_path("b.sqlite")), NULL, &second, E));
    for (int i = 0; i < 6; i++) {
        char name[2] = {(char)('a' + i), 0};
        cst_object *employee = company_employee(&c, c.context, name, i);
        if (i >= 3) OK(cst_context_assign(c.context, employee, second, E));
        OK(cst_release(employee));
    }
    save(c.context);
    cst_fetch_request *fetch = NULL;
    cst_batch_request *request = NULL;
    cst_sort order = {text("number"), 0, 0};
    cst_store *const stores[] = {second};
    OK(cst_fetch_request_new(c.employee, &fetch, E));
    OK(cst_fetch_request_set_sort(fetch, 1, &order, E));
    OK(cst_fetch_request_set_limit(fetch, 2, E));
    OK(cst_batch_delete_new(fetch, &request, E));
    OK(cst_batch_set_stores(request, 0, stores, E));
    CHECK_INT(0, execute(&c, request));
    OK(cst_batch_set_stores(request, 1, stores, E));
    CHECK_INT(2, execute(&c, request));
    CHECK_INT(0 + 1 + 2 + 5, sum(&c, c.context, NULL));
    OK(cst_batch_set_stores(request, 0, NULL, E));
    CHECK_INT(2, execute(&c, request));
    CHECK_INT(2 + 5, sum(&c, c.context, NULL));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_batch_set_stores(request, 1, NULL, E));
    OK(cst_release(request));
    OK(cst_release(fetch));
    OK(cst_release(second));
    company_close(&c);
}

/* More rows than go into one statement, some of which only memory can convert. */
static void insertions_larger_than_one_statement_convert_values(void) {
    enum { ROWS = 333 };
    struct company c = company_open(check_path("a.sqlite"));
    static cst_value numbers[ROWS];
    static cst_string names[ROWS];
    static char text_of[ROWS][8];
    static uint8_t present[ROWS];
    int64_t expected = 0;
    for (int i = 0; i < ROWS; i++) {
        snprintf(text_of[i], sizeof text_of[i], "n%d", i);
        names[i] = (cst_string){text_of[i], strlen(text_of[i])};
        numbers[i] = i % 3 == 0 ? (cst_value){.type = CST_DEFAULT} : value_int(i);
        present[i] = i % 5 != 0;
        if (i % 3) expected += i;
    }
    const cst_batch_column columns[] = {{c.name, CST_COLUMN_STRING, names, NULL},
                                        {c.number, CST_COLUMN_VALUE, numbers, NULL},
                                        {c.notes, CST_COLUMN_STRING, names, present}};
    cst_batch_request *request = insertion(&c);
    OK(cst_batch_insert_set_columns(request, ROWS, 3, columns, E));
    CHECK_INT(ROWS, execute(&c, request));
    CHECK_INT(expected, sum(&c, c.context, "number != nil"));
    CHECK_INT(ROWS - 67, company_count(c.context, c.employee, "notes == name"));
    CHECK_INT(67, company_count(c.context, c.employee, "notes == nil"));
    names[300] = (cst_string){"\xff", 1};
    CHECK_STATUS(CST_E_INVALID_UTF8, cst_context_execute_batch(c.context, request, NULL, NULL, E));
    CHECK_INT(ROWS, company_count(c.context, c.employee, NULL));
    OK(cst_release(request));
    company_close(&c);
}

static void refused_columns(cst_batch_request *request, const cst_batch_column *column, size_t rows,
                            const char *words) {
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_batch_insert_set_columns(request, rows, 1, column, E));
    CHECK_CONTAINS(words, cst_error_message(check_error()));
}

static void columns_are_checked_when_they_are_set(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_batch_request *request = insertion(&c);
    const cst_string name = text("Ada");
    cst_batch_column column = {c.name, CST_COLUMN_STRING, &name, NULL};
    OK(cst_batch_insert_set_columns(request, 1, 1, &column, E));
    column.form = 0;
    refused_columns(request, &column, 1, "0 is not a column form");
    column.form = CST_COLUMN_VALUE + 1;
    refused_columns(request, &column, 1, "8 is not a column form");
    column = (cst_batch_column){c.name, CST_COLUMN_STRING, NULL, NULL};
    refused_columns(request, &column, 1, "columns.values is NULL");
    column = (cst_batch_column){c.title, CST_COLUMN_STRING, &name, NULL};
    refused_columns(request, &column, 1, "is not the key of a property of Employee");
    CHECK_TEXT("Employee", cst_error_entity(check_error()));
    column.key = CST_NO_KEY;
    refused_columns(request, &column, 1, "is not the key of a property of Employee");
    column.key = c.friends;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_batch_insert_set_columns(request, 1, 1, &column, E));
    CHECK_TEXT("friends", cst_error_key(check_error()));
    column.key = c.name;
    refused_columns(request, &column, INT32_MAX, "rows is 2147483647, but the limit is 2147483646");
    refused_columns(request, &column, SIZE_MAX, "rows is 18446744073709551615");
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_batch_insert_set_rows(request, INT32_MAX, 0, NULL, NULL, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_batch_insert_set_rows(request, 2, 1, &c.name, NULL, E));
    /* The last valid setting is kept. */
    CHECK_INT(1, execute(&c, request));
    /* No rows need no values. */
    column.values = NULL;
    OK(cst_batch_insert_set_columns(request, 0, 1, &column, E));
    CHECK_INT(0, execute(&c, request));
    OK(cst_release(request));
    request = insertion(&c);
    CHECK_INT(0, execute(&c, request));
    CHECK_INT(1, company_count(c.context, c.employee, NULL));
    OK(cst_release(request));
    company_close(&c);
}

/* A default in one row does not carry over to the next row, which has a value or null. */
static void each_row_has_its_own_defaults(void) {
    cst_model *model = NULL;
    cst_entity *item = NULL;
    cst_attribute *number = NULL;
    cst_coordinator *coordinator = NULL;
    cst_context *context = NULL;
    cst_batch_request *request = NULL;
    cst_key keys[2];
    OK(cst_model_new(&model, E));
    OK(cst_model_add_entity(model, text("Item"), &item, E));
    OK(cst_entity_add_attribute(item, text("place"), CST_ATTRIBUTE_INTEGER_32, 0, NULL, E));
    OK(cst_entity_add_attribute(item, text("number"), CST_ATTRIBUTE_INTEGER_32, CST_PROPERTY_OPTIONAL, &number, E));
    const cst_value seven = value_int(7);
    OK(cst_attribute_set_default(number, &seven, E));
    OK(cst_coordinator_new(model, &coordinator, E));
    OK(cst_coordinator_add_store(coordinator, text("InMemory"), (cst_string){NULL, 0}, NULL, NULL, E));
    OK(cst_context_new(coordinator, CST_QUEUE_CALLER, &context, E));
    OK(cst_entity_key(item, text("place"), &keys[0], E));
    OK(cst_entity_key(item, text("number"), &keys[1], E));
    const int32_t places[] = {0, 1, 2, 3};
    const cst_value numbers[] = {{.type = CST_DEFAULT}, value_int(1), value_null(), {.type = CST_DEFAULT}};
    const cst_batch_column columns[] = {{keys[0], CST_COLUMN_INT32, places, NULL},
                                        {keys[1], CST_COLUMN_VALUE, numbers, NULL}};
    cst_value rows[8];
    for (int i = 0; i < 4; i++)
        rows[2 * i] = value_int(places[i]), rows[2 * i + 1] = numbers[i];
    for (int form = 0; form < 3; form++) {
        uint64_t count = 0;
        OK(cst_batch_insert_new(item, &request, E));
        if (form == 0) OK(cst_batch_insert_set_columns(request, 4, 2, columns, E));
        if (form == 1) OK(cst_batch_insert_set_rows(request, 4, 2, keys, rows, E));
        if (form == 2)
            OK(cst_batch_insert_set_rows(request, 4, 1, keys, (cst_value[]){rows[0], rows[2], rows[4], rows[6]}, E));
        OK(cst_context_execute_batch(context, request, &count, NULL, E));
        CHECK_INT(4, count);
        cst_results *found = company_fetch(context, item, NULL, "place");
        CHECK_INT(4, cst_results_count(found));
        CHECK_INT(7, get_int(object_at(found, 0), keys[1]));
        CHECK_INT(form == 2 ? 7 : 1, get_int(object_at(found, 1), keys[1]));
        if (form < 2) CHECK_INT(CST_NULL, get(object_at(found, 2), keys[1]).type);
        CHECK_INT(7, get_int(object_at(found, 3), keys[1]));
        for (size_t i = 0; i < 4; i++)
            OK(cst_context_delete(context, object_at(found, i), E));
        save(context);
        OK(cst_release(found));
        OK(cst_release(request));
    }
    cst_release(context), cst_release(coordinator), cst_release(model);
}

static void absent_values_of_every_form_are_null(void) {
    struct company c = company_open(check_path("a.sqlite"));
    const cst_string names[] = {text("a"), text("b")}, notes[] = {text("n"), text("n")};
    const int64_t numbers[] = {1, 2}, truths[] = {1, 0};
    const int32_t levels[] = {3, 4};
    const double ratings[] = {0.5, 1.5}, dates[] = {10, 20};
    const uint8_t badges[2][16] = {{1}, {2}}, present[] = {0, 255};
    const cst_bytes photos[] = {{(const uint8_t *)"xy", 2}, {(const uint8_t *)"z", 1}};
    const cst_value floors[] = {value_int(5), value_int(6)};
    const cst_batch_column columns[] = {
        {c.name, CST_COLUMN_STRING, names, NULL},       {c.notes, CST_COLUMN_STRING, notes, present},
        {c.number, CST_COLUMN_INT64, numbers, present}, {c.active, CST_COLUMN_INT64, truths, present},
        {c.level, CST_COLUMN_INT32, levels, present},   {c.rating, CST_COLUMN_DOUBLE, ratings, present},
        {c.hired, CST_COLUMN_DOUBLE, dates, present},   {c.badge, CST_COLUMN_UUID, badges, present},
        {c.photo, CST_COLUMN_BYTES, photos, present},   {c.floor, CST_COLUMN_VALUE, floors, present}};
    const cst_key keys[] = {c.notes, c.number, c.active, c.level, c.rating, c.hired, c.badge, c.photo, c.floor};
    cst_batch_request *request = insertion(&c);
    OK(cst_batch_insert_set_columns(request, 2, 10, columns, E));
    CHECK_INT(2, execute(&c, request));
    cst_results *found = company_fetch(c.context, c.employee, NULL, "name");
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        CHECK_INT(CST_NULL, get(object_at(found, 0), keys[i]).type);
    const cst_object *b = object_at(found, 1);
    CHECK_TEXT("n", get_text(b, c.notes));
    CHECK_INT(2, get_int(b, c.number));
    CHECK(get(b, c.active).type == CST_BOOL && !get(b, c.active).as.boolean);
    CHECK_INT(4, get_int(b, c.level));
    CHECK_REAL(1.5, get(b, c.rating).as.real);
    CHECK(get(b, c.hired).type == CST_DATE);
    CHECK_REAL(20, get(b, c.hired).as.date);
    CHECK(memcmp(get(b, c.badge).as.uuid, badges[1], 16) == 0);
    CHECK(get(b, c.photo).as.bytes.size == 1 && get(b, c.photo).as.bytes.data[0] == 'z');
    CHECK_INT(6, get_int(b, c.floor));
    OK(cst_release(found));
    OK(cst_release(request));
    company_close(&c);
}

struct filler {
    size_t capacity, rows[3];
    int calls;
    bool were_defaults;
};

static cst_status fill_as_configured(void *userdata, size_t capacity, cst_value *values, size_t *out_rows,
                                     cst_error **error) {
    struct filler *filler = userdata;
    (void)error;
    filler->capacity = capacity;
    filler->were_defaults = *out_rows == 0 && values[0].type == CST_DEFAULT && values[capacity - 1].type == CST_DEFAULT;
    if (filler->calls == 3) return CST_OK;
    const size_t count = filler->rows[filler->calls++];
    for (size_t row = 0; row < count && row < capacity; row++)
        values[row] = value_text("filled");
    *out_rows = count;
    return CST_OK;
}

static void a_handler_fills_at_most_its_capacity(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_batch_request *request = insertion(&c);
    struct filler filler = {.rows = {256, 1, 0}};
    OK(cst_batch_insert_set_handler(request, 1, &c.name, fill_as_configured, &filler, NULL, E));
    CHECK_INT(257, execute(&c, request));
    CHECK_INT(256, filler.capacity);
    CHECK_INT(3, filler.calls);
    CHECK(filler.were_defaults);
    CHECK_INT(257, company_count(c.context, c.employee, "name == 'filled'"));
    filler = (struct filler){.rows = {1, 257, 0}};
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_execute_batch(c.context, request, NULL, NULL, E));
    CHECK_CONTAINS("reported 257 filled rows, but the capacity was 256", cst_error_message(check_error()));
    CHECK_INT(257, company_count(c.context, c.employee, NULL));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_batch_insert_set_handler(request, 1, &c.name, NULL, NULL, NULL, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_batch_insert_set_object_handler(request, NULL, NULL, NULL, E));
    OK(cst_release(request));
    company_close(&c);
}

static void setters_of_another_kind_of_batch_request_are_refused(void) {
    struct company c = company_open(check_path("a.sqlite"));
    insert_numbers(&c, 1);
    cst_results *found = company_fetch(c.context, c.employee, NULL, NULL);
    cst_object_id *id = NULL;
    OK(cst_object_copy_id(object_at(found, 0), &id, E));
    cst_batch_request *insert = insertion(&c), *update = NULL, *deletion = NULL;
    OK(cst_batch_update_new(c.employee, &update, E));
    OK(cst_batch_delete_new_with_ids(1, &id, &deletion, E));
    const cst_value one = value_int(1);
    struct filler filler = {.rows = {0}};
    cst_batch_request *const no_insertions[] = {update, deletion};
    for (int i = 0; i < 2; i++) {
        cst_batch_request *request = no_insertions[i];
        CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_batch_insert_set_rows(request, 1, 1, &c.number, &one, E));
        CHECK_TEXT(i == 0 ? "the batch request for Employee is a batch update, not a batch insert; create the request "
                            "with cst_batch_insert_new"
                          : "the batch request for Employee is a batch delete, not a batch insert; create the request "
                            "with cst_batch_insert_new",
                   cst_error_message(check_error()));
        CHECK_TEXT("Employee", cst_error_entity(check_error()));
        CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_batch_insert_set_columns(request, 0, 0, NULL, E));
        CHECK_STATUS(CST_E_INVALID_ARGUMENT,
                     cst_batch_insert_set_handler(request, 1, &c.name, fill_as_configured, &filler, note_destroyed, E));
        CHECK_STATUS(CST_E_INVALID_ARGUMENT,
                     cst_batch_insert_set_object_handler(request, set_object, &filler, note_destroyed, E));
    }
    cst_batch_request *const no_updates[] = {insert, deletion};
    for (int i = 0; i < 2; i++) {
        CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_batch_update_set(no_updates[i], text("number"), &one, E));
        CHECK_TEXT(i == 0 ? "the batch request for Employee is a batch insert, not a batch update; create the request "
                            "with cst_batch_update_new"
                          : "the batch request for Employee is a batch delete, not a batch update; create the request "
                            "with cst_batch_update_new",
                   cst_error_message(check_error()));
        CHECK_TEXT("Employee", cst_error_entity(check_error()));
        CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_batch_update_set_predicate(no_updates[i], NULL, E));
        CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_batch_update_set_includes_subentities(no_updates[i], true, E));
    }
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_batch_update_set(update, text("number"), NULL, E));
    cst_release(insert), cst_release(update), cst_release(deletion), cst_release(id), cst_release(found);
    company_close(&c);
}

static void an_update_includes_subentities_unless_they_are_excluded(void) {
    struct company c = company_open(check_path("a.sqlite"));
    insert_numbers(&c, 3);
    cst_batch_request *request = NULL;
    const cst_value name = value_text("renamed"), nothing = value_null();
    OK(cst_batch_update_new(c.person, &request, E));
    OK(cst_batch_update_set(request, text("name"), &name, E));
    OK(cst_batch_update_set_includes_subentities(request, false, E));
    CHECK_INT(0, execute(&c, request));
    OK(cst_batch_update_set_includes_subentities(request, true, E));
    CHECK_INT(3, execute(&c, request));
    CHECK_INT(3, company_count(c.context, c.employee, "name == 'renamed'"));
    OK(cst_release(request));
    /* Null is set like any other value, and the last value of a property is used. */
    OK(cst_batch_update_new(c.employee, &request, E));
    OK(cst_batch_update_set(request, text("number"), &name, E));
    OK(cst_batch_update_set(request, text("number"), &nothing, E));
    CHECK_INT(3, execute(&c, request));
    CHECK_INT(3, company_count(c.context, c.employee, "number == nil"));
    OK(cst_release(request));
    company_close(&c);
}

static void ids_of_updates_and_deletions_are_copied_by_kind_of_change(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *boss = company_employee(&c, c.context, "Boss", 1), *ada = company_employee(&c, c.context, "Ada", 2);
    set(ada, c.manager, value_object(boss));
    save(c.context);
    cst_object_id *id = NULL, *found = NULL;
    cst_batch_request *request = NULL;
    cst_results *ids = NULL;
    uint64_t count = 0;
    const cst_value notes = value_text("x");
    OK(cst_object_copy_id(boss, &id, E));
    OK(cst_batch_update_new(c.employee, &request, E));
    OK(cst_batch_update_set(request, text("notes"), &notes, E));
    OK(cst_context_execute_batch(c.context, request, &count, &ids, E));
    CHECK(count == 2 && cst_results_count(ids) == 2);
    CHECK_INT(2, changed(&c, request, CST_BATCH_UPDATED));
    CHECK_INT(0, changed(&c, request, CST_BATCH_INSERTED));
    CHECK_INT(0, changed(&c, request, CST_BATCH_DELETED));
    OK(cst_release(ids));
    OK(cst_release(request));
    OK(cst_batch_delete_new_with_ids(1, &id, &request, E));
    OK(cst_context_execute_batch(c.context, request, &count, &ids, E));
    CHECK(count == 1 && cst_results_count(ids) == 1);
    OK(cst_results_copy_id(ids, 0, &found, E));
    CHECK(cst_object_id_equal(found, id));
    CHECK_INT(1, changed(&c, request, CST_BATCH_DELETED));
    CHECK_INT(1, changed(&c, request, CST_BATCH_REFRESHED)); /* its reports */
    CHECK_INT(0, changed(&c, request, CST_BATCH_UPDATED));
    OK(cst_release(ids));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_copy_batch_ids(c.context, request, 0, &ids, E));
    CHECK(ids == NULL);
    cst_release(found), cst_release(id), cst_release(request);
    cst_release(boss), cst_release(ada);
    company_close(&c);
}

/* New rows go to the stores of the request, also if the stores were set before the rows. */
static void affected_stores_are_kept_when_rows_are_set(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_store *second = NULL;
    OK(cst_coordinator_add_store(c.coordinator, text("SQLite"), text(check_path("b.sqlite")), NULL, &second, E));
    cst_batch_request *request = insertion(&c);
    const cst_value name = value_text("Ada");
    OK(cst_batch_set_stores(request, 1, &second, E));
    OK(cst_batch_insert_set_rows(request, 1, 1, &c.name, &name, E));
    CHECK_INT(1, execute(&c, request));
    cst_fetch_request *fetch = NULL;
    uint64_t count = 9;
    OK(cst_fetch_request_new(c.employee, &fetch, E));
    OK(cst_fetch_request_set_affected_stores(fetch, 1, (const cst_store *const *)&c.store, E));
    OK(cst_context_count(c.context, fetch, &count, E));
    CHECK_INT(0, count);
    OK(cst_fetch_request_set_affected_stores(fetch, 1, (const cst_store *const *)&second, E));
    OK(cst_context_count(c.context, fetch, &count, E));
    CHECK_INT(1, count);
    cst_release(fetch), cst_release(request), cst_release(second);
    company_close(&c);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(an_insertion_copies_its_rows);
    RUN(an_insertion_reads_columns_in_place);
    RUN(a_handler_fills_the_rows_of_an_insertion);
    RUN(an_object_handler_gets_one_object_for_all_rows);
    RUN(updates_are_merged_into_open_contexts);
    RUN(merging_can_be_set_before_the_rows_of_an_insertion);
    RUN(deletions_select_rows_by_request_or_id);
    RUN(a_save_conflicts_with_a_batch_update_of_the_same_object);
    RUN(a_block_predicate_selects_the_rows_of_a_batch);
    RUN(ids_of_insertions_are_copied_by_kind_of_change);
    RUN(batches_apply_to_the_affected_stores);
    RUN(insertions_larger_than_one_statement_convert_values);
    RUN(columns_are_checked_when_they_are_set);
    RUN(each_row_has_its_own_defaults);
    RUN(absent_values_of_every_form_are_null);
    RUN(a_handler_fills_at_most_its_capacity);
    RUN(setters_of_another_kind_of_batch_request_are_refused);
    RUN(an_update_includes_subentities_unless_they_are_excluded);
    RUN(ids_of_updates_and_deletions_are_copied_by_kind_of_change);
    RUN(affected_stores_are_kept_when_rows_are_set);
    return check_end();
}
