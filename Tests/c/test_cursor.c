/* Cursors: batches, order, saves between batches, stores whose readers block writers.
 *
 * SPDX-License-Identifier: MIT
 */
#include "company.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { PEOPLE = 10 };

static struct company ten_people(const char *path, uint32_t flags) {
    cst_store_options options = CST_STORE_OPTIONS_INIT;
    options.flags = CST_STORE_NORMAL_SYNC | flags;
    struct company c = company_open_with(path, &options);
    for (int i = 0; i < PEOPLE; i++) {
        char name[16];
        snprintf(name, sizeof name, "person %d", i);
        OK(cst_release(company_employee(&c, c.context, name, i)));
    }
    save(c.context);
    OK(cst_context_reset(c.context, E));
    return c;
}

static cst_cursor *cursor_of(const struct company *c, const char *format, const char *key_path, uint64_t limit,
                             int64_t batch_of_request, size_t batch) {
    cst_fetch_request *request = NULL;
    cst_cursor *made = NULL;
    OK(cst_fetch_request_new(c->employee, &request, E));
    if (format) {
        cst_predicate *predicate = NULL;
        OK(cst_predicate_parse(text(format), 0, NULL, &predicate, E));
        OK(cst_fetch_request_set_predicate(request, predicate, E));
        OK(cst_release(predicate));
    }
    if (key_path) {
        cst_sort order = {text(key_path), CST_SORT_DESCENDING, 0};
        OK(cst_fetch_request_set_sort(request, 1, &order, E));
    }
    OK(cst_fetch_request_set_limit(request, limit, E));
    OK(cst_fetch_request_set_option(request, CST_FETCH_BATCH_SIZE, batch_of_request, E));
    OK(cst_context_fetch_cursor(c->context, request, batch, &made, E));
    OK(cst_release(request));
    return made;
}

static cst_cursor *cursor(const struct company *c, const char *format, const char *key_path, uint64_t limit,
                          size_t batch) {
    return cursor_of(c, format, key_path, limit, 0, batch);
}

/* The numbers of the next batch as digits; "end" at the end. */
static void expect(const struct company *c, cst_cursor *from, const char *numbers) {
    cst_results *batch = NULL;
    char found[PEOPLE + 1] = "";
    cst_status status = cst_cursor_copy_next(from, &batch, E);
    if (status == CST_END) {
        CHECK(batch == NULL);
        CHECK_TEXT(numbers, text_of_size("end", 3));
        return;
    }
    CHECK_STATUS(CST_OK, status);
    for (size_t i = 0; i < cst_results_count(batch) && i < PEOPLE; i++)
        found[i] = (char)('0' + get_int(object_at(batch, i), c->number));
    CHECK_TEXT(numbers, text_of_size(found, strlen(found)));
    OK(cst_release(batch));
}

static void batches_are_returned_in_order_until_the_end(void) {
    struct company c = ten_people(check_path("a.sqlite"), 0);
    cst_cursor *all = cursor(&c, NULL, NULL, 0, 4);
    expect(&c, all, "0123");
    expect(&c, all, "4567");
    expect(&c, all, "89");
    expect(&c, all, "end");
    expect(&c, all, "end");
    OK(cst_release(all));
    cst_cursor *some = cursor(&c, "number > 2", "number", 5, 3);
    expect(&c, some, "987");
    expect(&c, some, "65");
    expect(&c, some, "end");
    OK(cst_release(some));
    cst_cursor *none = cursor(&c, "number > 20", NULL, 0, SIZE_MAX);
    expect(&c, none, "end");
    OK(cst_release(none));
    company_close(&c);
}

static void the_batch_size_of_a_cursor_overrides_that_of_its_request(void) {
    struct company c = ten_people(check_path("a.sqlite"), 0);
    static const struct {
        int64_t request;
        size_t cursor;
        const char *batches[5];
    } cases[] = {
        {4, 0, {"0123", "4567", "89", "end"}}, {0, 4, {"0123", "4567", "89", "end"}},
        {3, 4, {"0123", "4567", "89", "end"}}, {7, 4, {"0123", "4567", "89", "end"}},
        {1, SIZE_MAX, {"0123456789", "end"}},  {INT64_MAX, 5, {"01234", "56789", "end"}},
        {9, 10, {"0123456789", "end"}},        {10, 9, {"012345678", "9", "end"}},
        {9, 0, {"012345678", "9", "end"}},     {11, 0, {"0123456789", "end"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cst_cursor *all = cursor_of(&c, NULL, NULL, 0, cases[i].request, cases[i].cursor);
        for (size_t n = 0; n < 5 && cases[i].batches[n]; n++)
            expect(&c, all, cases[i].batches[n]);
        OK(cst_release(all));
    }
    cst_cursor *some = cursor_of(&c, "number > 2", "number", 5, 2, 3);
    expect(&c, some, "987");
    expect(&c, some, "65");
    expect(&c, some, "end");
    OK(cst_release(some));
    company_close(&c);
}

static void a_released_batch_deregisters_its_objects(void) {
    struct company c = ten_people(check_path("a.sqlite"), 0);
    cst_cursor *all = cursor(&c, NULL, NULL, 0, 4);
    cst_results *known = NULL;
    for (int i = 0; i < 3; i++) {
        cst_results *batch = NULL;
        OK(cst_cursor_copy_next(all, &batch, E));
        OK(cst_context_copy_changed(c.context, CST_CHANGED_REGISTERED, &known, E));
        CHECK_INT(cst_results_count(batch), cst_results_count(known));
        OK(cst_release(known));
        OK(cst_release(batch));
    }
    OK(cst_release(all));
    company_close(&c);
}

/* The most common use: change the objects of a batch and save from time to time. */
static void saving(uint32_t flags) {
    struct company c = ten_people(check_path("a.sqlite"), flags);
    cst_cursor *all = cursor(&c, NULL, "number", 0, 4);
    expect(&c, all, "9876");
    cst_results *rest = company_fetch(c.context, c.employee, "number < 6", "number");
    set(object_at(rest, 5), c.number, value_int(1)); /* 5 becomes 1, and its position is unchanged */
    OK(cst_context_delete(c.context, object_at(rest, 4), E));
    OK(cst_release(company_employee(&c, c.context, "new", 8)));
    save(c.context);
    OK(cst_release(rest));
    expect(&c, all, "132");
    expect(&c, all, "10");
    expect(&c, all, "end");
    OK(cst_release(all));
    company_close(&c);
}

static void a_cursor_continues_after_a_save(void) { saving(0); }
static void a_cursor_continues_after_a_save_with_a_rollback_journal(void) { saving(CST_STORE_ROLLBACK_JOURNAL); }

static void a_cursor_includes_unsaved_changes(void) {
    struct company c = ten_people(check_path("a.sqlite"), 0);
    cst_object *more = company_employee(&c, c.context, "more", 5);
    cst_cursor *all = cursor(&c, "number > 4", "number", 0, 4);
    expect(&c, all, "9876");
    expect(&c, all, "55");
    expect(&c, all, "end");
    OK(cst_release(all));
    OK(cst_release(more));
    company_close(&c);
}

/* A predicate that is evaluated in memory: the store returns candidates in batches. */
static void predicates_without_sql_are_evaluated_in_memory(void) {
    struct company c = ten_people(check_path("a.sqlite"), 0);
    cst_cursor *some =
        cursor(&c, "SUBQUERY(friends, $f, $f.name MATCHES 'x.*').@count == 0 AND number > 1", NULL, 5, 4);
    size_t count = 0;
    cst_results *batch = NULL;
    while (cst_cursor_copy_next(some, &batch, E) == CST_OK) {
        count += cst_results_count(batch);
        OK(cst_release(batch));
        batch = NULL;
    }
    CHECK_INT(5, count);
    OK(cst_release(some));
    company_close(&c);
}

static void invalid_requests_and_removed_stores_are_errors(void) {
    struct company c = ten_people(check_path("a.sqlite"), 0);
    cst_fetch_request *request = NULL;
    cst_cursor *none = NULL;
    OK(cst_fetch_request_new(c.employee, &request, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_fetch_cursor(c.context, request, 0, &none, E));
    cst_sort order = {text("salry"), 0, 0};
    OK(cst_fetch_request_set_sort(request, 1, &order, E));
    CHECK_STATUS(CST_E_PREDICATE, cst_context_fetch_cursor(c.context, request, 1, &none, E));
    CHECK(none == NULL);
    OK(cst_release(request));
    cst_cursor *all = cursor(&c, NULL, NULL, 0, 4);
    expect(&c, all, "0123");
    OK(cst_coordinator_remove_store(c.coordinator, c.store, E));
    cst_results *batch = NULL;
    CHECK_STATUS(CST_E_OBJECT_GONE, cst_cursor_copy_next(all, &batch, E));
    CHECK(batch == NULL);
    OK(cst_release(all));
    company_close(&c);
}

/* A cursor without its own batch size uses that of the request. */
static void the_request_sets_the_default_batch_size(void) {
    struct company c = ten_people(check_path("a.sqlite"), 0);
    cst_fetch_request *request = company_by_number(&c);
    OK(cst_fetch_request_set_option(request, CST_FETCH_BATCH_SIZE, 6, E));
    static const struct {
        size_t size;
        const char *batches[4];
    } cases[] = {
        {0, {"012345", "6789", "end", "end"}},
        {9, {"012345678", "9", "end", "end"}},
        {10, {"0123456789", "end", "end", "end"}},
        {4, {"0123", "4567", "89", "end"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cst_cursor *made = NULL;
        OK(cst_context_fetch_cursor(c.context, request, cases[i].size, &made, E));
        for (int n = 0; n < 4; n++)
            expect(&c, made, cases[i].batches[n]);
        OK(cst_release(made));
    }
    OK(cst_release(request));
    company_close(&c);
}

/* Rows that were read before remain, although all objects are deleted, including unsaved inserted ones. */
static void a_reset_excludes_unsaved_objects_from_the_cursor(void) {
    struct company c = ten_people(check_path("a.sqlite"), 0);
    cst_object *more = company_employee(&c, c.context, "more", 5);
    cst_results *last = company_fetch(c.context, c.employee, "number == 9", NULL);
    set(object_at(last, 0), c.number, value_int(0));
    OK(cst_release(last));
    cst_cursor *all = cursor(&c, NULL, "number", 0, 4);
    expect(&c, all, "8765");
    OK(cst_release(more));
    OK(cst_context_reset(c.context, E));
    expect(&c, all, "432");
    expect(&c, all, "109");
    expect(&c, all, "end");
    OK(cst_release(all));
    company_close(&c);
}

static void *next_elsewhere(void *cursor) {
    cst_results *batch = NULL;
    return (void *)(intptr_t)cst_cursor_copy_next(cursor, &batch, NULL);
}

static void a_cursor_is_refused_on_another_thread(void) {
    struct company c = ten_people(check_path("a.sqlite"), 0);
    cst_cursor *all = cursor(&c, NULL, NULL, 0, 6);
    pthread_t thread;
    void *status = NULL;
    CHECK_INT(0, pthread_create(&thread, NULL, next_elsewhere, all));
    CHECK_INT(0, pthread_join(thread, &status));
    CHECK_INT(CST_E_WRONG_THREAD, (cst_status)(intptr_t)status);
    expect(&c, all, "012345"); /* and no object was skipped */
    OK(cst_release(all));
    company_close(&c);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(batches_are_returned_in_order_until_the_end);
    RUN(the_batch_size_of_a_cursor_overrides_that_of_its_request);
    RUN(a_released_batch_deregisters_its_objects);
    RUN(a_cursor_continues_after_a_save);
    RUN(a_cursor_continues_after_a_save_with_a_rollback_journal);
    RUN(a_cursor_includes_unsaved_changes);
    RUN(predicates_without_sql_are_evaluated_in_memory);
    RUN(invalid_requests_and_removed_stores_are_errors);
    RUN(the_request_sets_the_default_batch_size);
    RUN(a_reset_excludes_unsaved_objects_from_the_cursor);
    RUN(a_cursor_is_refused_on_another_thread);
    return check_end();
}
