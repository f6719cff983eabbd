/* Deletion of transactions, tokens that expire, consumers and purges.
 *
 * SPDX-License-Identifier: MIT
 */
#include "histories.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct progress {
    int calls, until;
    uint64_t transactions, changes;
    const struct company *company;
};

static bool note_progress(void *userdata, uint64_t transactions, uint64_t changes) {
    struct progress *progress = userdata;
    CHECK(transactions >= progress->transactions && changes >= progress->changes);
    progress->transactions = transactions;
    progress->changes = changes;
    progress->calls++;
    /* Another context can save between two steps. */
    if (progress->company) hire(progress->company, "Max", 9);
    return progress->calls != progress->until;
}

static void deletion_stops_before_a_token(void) {
    struct company c = open_history(check_path("a.sqlite"));
    fill(&c);
    cst_history_token *first = token_at(&c, 1), *fourth = token_at(&c, 4), *initial = token_at(&c, 0);
    CHECK_INT(0, delete_before(&c, initial));
    CHECK_INT(0, delete_before(&c, first));
    CHECK_TEXT("1 2 3 4 5 6", numbers_of(&c, NULL));
    struct progress progress = {0, 0, 0, 0, NULL};
    uint64_t transactions = 0, changes = 0;
    OK(cst_coordinator_delete_history(c.coordinator, fourth, note_progress, &progress, &transactions, &changes, E));
    CHECK_INT(3, transactions);
    CHECK_INT(3, changes);
    CHECK_INT(1, progress.calls);
    CHECK_INT(3, progress.transactions);
    CHECK_INT(3, progress.changes);
    CHECK_TEXT("4 5 6", numbers_of(&c, NULL));
    CHECK_INT(0, delete_before(&c, fourth));
    /* Objects are not touched, and numbers are not used again. */
    CHECK_INT(2, company_count(c.context, c.employee, NULL));
    cst_history_token *token = current(&c);
    CHECK_INT(6, number_in(token, c.store));
    CHECK_INT(2, delete_before(&c, token));
    CHECK_TEXT("6", numbers_of(&c, NULL));
    CHECK_INT(1, delete_until(&c, INFINITY));
    CHECK_TEXT("", numbers_of(&c, NULL));
    hire(&c, "Max", 9);
    CHECK_TEXT("7", numbers_of(&c, NULL));
    cst_history_options options = all();
    options.after = token; /* that of the last one that was deleted is still good */
    CHECK_TEXT("7", numbers_of(&c, &options));
    OK(cst_coordinator_delete_history(c.coordinator, token, NULL, NULL, NULL, NULL, E));
    OK(cst_release(token));
    OK(cst_release(initial));
    OK(cst_release(first));
    OK(cst_release(fourth));
    company_close(&c);
}

static void deletion_stops_before_a_date(void) {
    struct company c = open_history(check_path("a.sqlite"));
    for (int i = 1; i <= 4; i++) {
        hire(&c, "Ada", i);
        usleep(2000);
    }
    double times[5];
    cst_history_cursor *cursor = read_with(&c, NULL);
    for (int i = 1; i <= 4; i++)
        times[i] = next(cursor)->timestamp;
    OK(cst_release(cursor));
    CHECK_INT(0, delete_until(&c, -INFINITY));
    CHECK_INT(0, delete_until(&c, 0));
    CHECK_INT(0, delete_until(&c, times[1]));
    CHECK_INT(2, delete_until(&c, times[3])); /* the one of the date stays */
    CHECK_TEXT("3 4", numbers_of(&c, NULL));
    CHECK_INT(1, delete_until(&c, (times[3] + times[4]) / 2));
    CHECK_TEXT("4", numbers_of(&c, NULL));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT,
                 cst_coordinator_delete_history_before(c.coordinator, NAN, 0, NULL, NULL, NULL, NULL, NULL, E));
    CHECK_TEXT("date", cst_error_key(check_error()));
    CHECK_TEXT("4", numbers_of(&c, NULL));
    company_close(&c);
}

static void deletion_runs_in_steps_and_can_be_cancelled(void) {
    enum { MANY = 4500, STEP = 2000 };
    struct company c = open_history(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 0);
    for (int i = 0; i < MANY; i++) {
        set(ada, c.number, value_int(i + 1));
        save(c.context);
    }
    CHECK_INT(MANY, count_of(&c, NULL));
    struct progress progress = {0, 1, 0, 0, NULL};
    uint64_t transactions = 0, changes = 0;
    CHECK_STATUS(CST_E_CANCELLED, cst_coordinator_delete_history_before(c.coordinator, INFINITY, 0, NULL, note_progress,
                                                                        &progress, &transactions, &changes, E));
    CHECK_CONTAINS(cst_store_path(c.store).data, cst_error_file(check_error()));
    CHECK_INT(1, progress.calls);
    CHECK_INT(STEP, transactions); /* completed steps are not undone */
    CHECK_INT(STEP, changes);
    CHECK_INT(MANY - STEP, count_of(&c, NULL));
    progress = (struct progress){0, 0, 0, 0, &c};
    OK(cst_coordinator_delete_history_before(c.coordinator, INFINITY, 0, NULL, note_progress, &progress, &transactions,
                                             &changes, E));
    CHECK_INT(2, progress.calls);
    CHECK_INT(MANY - STEP, transactions); /* without those of the meantime */
    CHECK_INT(2, count_of(&c, NULL));
    CHECK_INT(3, company_count(c.context, c.employee, NULL));
    OK(cst_release(ada));
    company_close(&c);
}

static void a_token_expires_when_transactions_after_it_are_deleted(void) {
    struct company c = open_history(check_path("a.sqlite"));
    fill(&c);
    cst_history_token *fourth = token_at(&c, 4), *late = token_at(&c, 7), *old = NULL;
    CHECK_INT(3, delete_before(&c, fourth));
    cst_history_options options = all();
    cst_history_cursor *cursor = NULL;
    for (int i = 0; i <= 6; i++) {
        old = token_at(&c, i);
        options.after = old;
        if (i < 3) {
            CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_coordinator_fetch_history(c.coordinator, &options, &cursor, E));
            check_failed(CST_CODE_PERSISTENT_HISTORY_TOKEN_EXPIRED, "the transactions before 4 were deleted");
            CHECK_CONTAINS("fetch the objects again", cst_error_message(check_error()));
            CHECK_TEXT(cst_store_path(c.store).data, cst_error_file(check_error()));
            CHECK(cursor == NULL);
        } else {
            CHECK_INT(6 - i, count_of(&c, &options));
        }
        OK(cst_release(old));
    }
    options.after = late;
    uint64_t count = 0;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_coordinator_count_history(c.coordinator, &options, &count, E));
    check_failed(CST_CODE_PERSISTENT_HISTORY_TOKEN_EXPIRED, "the last transaction is 6");
    /* Dates do not expire. */
    options.after = NULL;
    options.has_after_date = true;
    CHECK_INT(3, count_of(&c, &options));
    /* A cursor that has not read them yet. */
    options = all();
    options.batch_size = 1;
    cursor = read_with(&c, &options);
    CHECK_INT(4, next(cursor)->number);
    cst_history_cursor *at_the_end = read_with(&c, NULL);
    for (int i = 4; i <= 6; i++)
        CHECK_INT(i, next(at_the_end)->number);
    CHECK(at_end(at_the_end));
    CHECK_INT(3, delete_until(&c, INFINITY));
    const cst_history_transaction *t = NULL;
    for (int i = 0; i < 2; i++) {
        CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_history_cursor_next(cursor, &t, E));
        CHECK_INT(CST_CODE_PERSISTENT_HISTORY_TOKEN_EXPIRED, cst_error_code(check_error()));
        CHECK(t == NULL);
        hire(&c, "Max", 9);
    }
    cst_history_token *place = token_of(cursor);
    CHECK_INT(4, number_in(place, c.store));
    OK(cst_release(place));
    CHECK_INT(7, next(at_the_end)->number);
    OK(cst_release(at_the_end));
    OK(cst_release(cursor));
    OK(cst_release(fourth));
    OK(cst_release(late));
    company_close(&c);
}

static void a_token_of_other_stores_is_refused(void) {
    struct company c = open_history(check_path("a.sqlite")), other = open_history(check_path("b.sqlite"));
    hire(&c, "Ada", 1);
    hire(&other, "Bob", 1);
    cst_history_token *foreign = current(&other), *none = token_from("{}");
    cst_history_options options = all();
    cst_history_cursor *cursor = NULL;
    options.after = foreign;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_coordinator_fetch_history(c.coordinator, &options, &cursor, E));
    check_failed(CST_CODE_PERSISTENT_HISTORY_TOKEN_STORE, "does not contain the store");
    CHECK_CONTAINS(cst_store_identifier(other.store).data, cst_error_message(check_error()));
    CHECK_CONTAINS("pass a token of this store", cst_error_message(check_error()));
    uint64_t transactions = 7, changes = 7;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT,
                 cst_coordinator_delete_history(c.coordinator, foreign, NULL, NULL, &transactions, &changes, E));
    CHECK_INT(CST_CODE_PERSISTENT_HISTORY_TOKEN_STORE, cst_error_code(check_error()));
    CHECK_INT(0, transactions + changes);
    /* A token of no store is the beginning. */
    options.after = none;
    CHECK_TEXT("1", numbers_of(&c, &options));
    OK(cst_coordinator_delete_history(c.coordinator, none, NULL, NULL, NULL, NULL, E));
    CHECK_TEXT("1", numbers_of(&c, NULL));
    /* In a coordinator with both stores, one is read from its token and the other from its beginning. */
    cst_store *second = NULL;
    const cst_store_options with = with_history(0);
    OK(cst_coordinator_add_store(c.coordinator, text("SQLite"), text(check_path("c.sqlite")), &with, &second, E));
    cst_history_token *own = token_at(&c, 1);
    options.after = own;
    options.store_count = 1;
    options.stores = &second;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_coordinator_fetch_history(c.coordinator, &options, &cursor, E));
    CHECK_INT(CST_CODE_PERSISTENT_HISTORY_TOKEN_STORE, cst_error_code(check_error()));
    CHECK(cursor == NULL);
    OK(cst_release(own));
    OK(cst_release(second));
    OK(cst_release(foreign));
    OK(cst_release(none));
    company_close(&c);
    company_close(&other);
}

/* ---- consumers and purges */

static cst_string consumers_of(const struct company *c, cst_buffer *json) {
    OK(cst_coordinator_copy_history_consumers(c->coordinator, c->store, json, E));
    return text_of_size(json->data, json->size);
}

/* The report of a purge. */
static cst_string purge(const struct company *c, const cst_history_retention *keep, cst_buffer *report) {
    OK(cst_coordinator_purge_history(c->coordinator, c->store, keep, NULL, NULL, report, E));
    return text_of_size(report->data, report->size);
}

static void enlist(const struct company *c, const char *name, const cst_history_token *at) {
    OK(cst_coordinator_register_history_consumer(c->coordinator, c->store, text(name), at, 0, E));
}

static void move_to(const struct company *c, const char *name, int64_t number) {
    cst_history_token *token = token_at(c, number);
    OK(cst_coordinator_move_history_consumer(c->coordinator, c->store, text(name), token, E));
    OK(cst_release(token));
}

static void a_purge_keeps_transactions_that_a_consumer_has_not_read(void) {
    struct company c = open_history(check_path("a.sqlite"));
    fill(&c);
    cst_buffer json = {0};
    CHECK_TEXT("[]", consumers_of(&c, &json));
    CHECK_CONTAINS("\"transactions\": 0", purge(&c, NULL, &json)); /* no limits, no consumers */
    CHECK_CONTAINS("\"heldBy\": null", text_of_size(json.data, json.size));
    CHECK_TEXT("1 2 3 4 5 6", numbers_of(&c, NULL));
    cst_history_token *second = token_at(&c, 2);
    enlist(&c, "slow", second);
    enlist(&c, "quick \"one\"", NULL);
    CHECK_CONTAINS("\"name\": \"quick \\\"one\\\"\"", consumers_of(&c, &json));
    CHECK_CONTAINS("\"transaction\": 6", text_of_size(json.data, json.size));
    CHECK_CONTAINS("\"name\": \"slow\"", text_of_size(json.data, json.size));
    CHECK_CONTAINS("\"transaction\": 2", text_of_size(json.data, json.size));
    CHECK_CONTAINS("\"lease\": 2592000.0", text_of_size(json.data, json.size));
    CHECK_CONTAINS("\"living\": true", text_of_size(json.data, json.size));
    CHECK_CONTAINS("\"heldBy\": \"slow\"", purge(&c, NULL, &json));
    CHECK_CONTAINS("\"transactions\": 2", text_of_size(json.data, json.size));
    CHECK_TEXT("3 4 5 6", numbers_of(&c, NULL));
    /* A limit does not go beyond a consumer. */
    cst_history_retention keep = CST_HISTORY_RETENTION_INIT;
    keep.has_count = true;
    CHECK_CONTAINS("\"heldBy\": \"slow\"", purge(&c, &keep, &json));
    CHECK_TEXT("3 4 5 6", numbers_of(&c, NULL));
    move_to(&c, "slow", 5);
    move_to(&c, "slow", 3); /* back has no effect */
    enlist(&c, "slow", second);
    keep.count = 3;
    CHECK_CONTAINS("\"heldBy\": null", purge(&c, &keep, &json));
    CHECK_TEXT("4 5 6", numbers_of(&c, NULL));
    keep.count = 0;
    CHECK_CONTAINS("\"transactions\": 2", purge(&c, &keep, &json));
    CHECK_TEXT("6", numbers_of(&c, NULL));
    OK(cst_coordinator_unregister_history_consumer(c.coordinator, c.store, text("slow"), E));
    CHECK_STATUS(CST_NOT_FOUND, cst_coordinator_unregister_history_consumer(c.coordinator, c.store, text("slow"), E));
    CHECK_CONTAINS("\"changes\": 1", purge(&c, &keep, &json));
    CHECK_TEXT("", numbers_of(&c, NULL));
    OK(cst_coordinator_purge_history(c.coordinator, c.store, NULL, NULL, NULL, NULL, E)); /* without a report */
    cst_buffer_dispose(&json);
    OK(cst_release(second));
    company_close(&c);
}

static void consumers_outlive_their_coordinator(void) {
    const char *path = check_path("a.sqlite");
    struct company c = open_history(path);
    hire(&c, "Ada", 1);
    enlist(&c, "reader", NULL);
    company_close(&c);
    c = open_history(path);
    hire(&c, "Bob", 2);
    hire(&c, "Eve", 3);
    cst_buffer json = {0};
    CHECK_CONTAINS("\"transaction\": 1", consumers_of(&c, &json));
    cst_history_retention keep = CST_HISTORY_RETENTION_INIT;
    keep.has_count = true;
    CHECK_CONTAINS("\"heldBy\": \"reader\"", purge(&c, &keep, &json));
    CHECK_TEXT("2 3", numbers_of(&c, NULL));
    cst_buffer_dispose(&json);
    company_close(&c);
    /* A read-only store lists consumers but does not change them. */
    c = open_of_type("SQLite", path, CST_STORE_READ_ONLY, CST_STORE_HISTORY);
    cst_history_token *now = current(&c);
    CHECK_CONTAINS("\"reader\"", consumers_of(&c, &json));
    CHECK_STATUS(CST_E_STORE_READ_ONLY,
                 cst_coordinator_register_history_consumer(c.coordinator, c.store, text("other"), NULL, 0, E));
    CHECK_STATUS(CST_E_STORE_READ_ONLY,
                 cst_coordinator_move_history_consumer(c.coordinator, c.store, text("reader"), now, E));
    CHECK_STATUS(CST_E_STORE_READ_ONLY,
                 cst_coordinator_unregister_history_consumer(c.coordinator, c.store, text("reader"), E));
    CHECK_STATUS(CST_E_STORE_READ_ONLY,
                 cst_coordinator_purge_history(c.coordinator, c.store, &keep, NULL, NULL, NULL, E));
    OK(cst_coordinator_copy_history_size(c.coordinator, c.store, &json, E));
    CHECK_CONTAINS("\"transactions\": 2", text_of_size(json.data, json.size));
    cst_buffer_dispose(&json);
    OK(cst_release(now));
    company_close(&c);
}

static void a_consumer_with_an_expired_lease_does_not_block_a_purge(void) {
    struct company c = open_history(check_path("a.sqlite"));
    fill(&c);
    cst_buffer json = {0};
    cst_history_token *first = token_at(&c, 1);
    OK(cst_coordinator_register_history_consumer(c.coordinator, c.store, text("gone"), first, 0.001, E));
    usleep(20000);
    CHECK_CONTAINS("\"living\": false", consumers_of(&c, &json));
    cst_history_retention keep = CST_HISTORY_RETENTION_INIT;
    CHECK_CONTAINS("\"transactions\": 0", purge(&c, &keep, &json)); /* no living consumer, no limits */
    keep.has_count = true;
    keep.count = 4;
    CHECK_CONTAINS("\"expired\": [\"gone\"]", purge(&c, &keep, &json));
    CHECK_CONTAINS("\"heldBy\": null", text_of_size(json.data, json.size));
    CHECK_TEXT("3 4 5 6", numbers_of(&c, NULL));
    /* The transactions that it did not read were deleted: it gets an error, fetches its objects again and continues
     * from now. */
    CHECK_STATUS(CST_E_INVALID_ARGUMENT,
                 cst_coordinator_register_history_consumer(c.coordinator, c.store, text("gone"), NULL, 3600, E));
    check_failed(CST_CODE_PERSISTENT_HISTORY_TOKEN_EXPIRED, "the transactions before 3 were deleted");
    cst_history_token *now = current(&c);
    OK(cst_coordinator_move_history_consumer(c.coordinator, c.store, text("gone"), now, E));
    /* Registering it again renews the lease. */
    OK(cst_coordinator_register_history_consumer(c.coordinator, c.store, text("gone"), NULL, 3600, E));
    CHECK_CONTAINS("\"living\": true", consumers_of(&c, &json));
    CHECK_CONTAINS("\"transaction\": 6", text_of_size(json.data, json.size));
    CHECK_CONTAINS("\"lease\": 3600.0", text_of_size(json.data, json.size));
    OK(cst_release(now));
    cst_buffer_dispose(&json);
    OK(cst_release(first));
    company_close(&c);
}

static void a_purge_limits_age_and_size(void) {
    struct company c = open_history(check_path("a.sqlite"));
    fill(&c);
    cst_buffer json = {0};
    cst_history_retention keep = CST_HISTORY_RETENTION_INIT;
    keep.age = -1; /* not read without has_age */
    keep.has_bytes = true;
    keep.bytes = UINT64_MAX;
    CHECK_CONTAINS("\"transactions\": 0", purge(&c, &keep, &json));
    keep.has_age = true;
    keep.age = 3600;
    CHECK_CONTAINS("\"transactions\": 0", purge(&c, &keep, &json));
    usleep(2000);
    keep.age = 0;
    CHECK_CONTAINS("\"transactions\": 6", purge(&c, &keep, &json));
    for (int i = 0; i < 400; i++)
        hire(&c, "Max", i);
    OK(cst_coordinator_copy_history_size(c.coordinator, c.store, &json, E));
    CHECK_CONTAINS("\"transactions\": 400", text_of_size(json.data, json.size));
    CHECK_CONTAINS("\"changes\": 400", text_of_size(json.data, json.size));
    keep = (cst_history_retention)CST_HISTORY_RETENTION_INIT;
    keep.has_bytes = true;
    keep.bytes = 8192;
    purge(&c, &keep, &json);
    const uint64_t left = count_of(&c, NULL);
    CHECK(left > 5 && left < 300);
    keep.bytes = 0;
    purge(&c, &keep, &json);
    CHECK_INT(0, count_of(&c, NULL));
    cst_buffer_dispose(&json);
    company_close(&c);
}

static void a_purge_can_be_cancelled(void) {
    struct company c = open_history(check_path("a.sqlite"));
    for (int i = 0; i < 2100; i++)
        hire(&c, "Max", i);
    cst_history_retention keep = CST_HISTORY_RETENTION_INIT;
    keep.has_count = true;
    struct progress progress = {0, 1, 0, 0, NULL};
    cst_buffer json = {0};
    CHECK_STATUS(CST_E_CANCELLED,
                 cst_coordinator_purge_history(c.coordinator, c.store, &keep, note_progress, &progress, &json, E));
    CHECK_INT(0, json.size);
    CHECK_INT(2000, progress.transactions);
    CHECK_INT(100, count_of(&c, NULL));
    progress = (struct progress){0, 0, 0, 0, NULL};
    OK(cst_coordinator_purge_history(c.coordinator, c.store, &keep, note_progress, &progress, &json, E));
    CHECK_INT(100, progress.transactions);
    CHECK_INT(0, count_of(&c, NULL));
    cst_buffer_dispose(&json);
    company_close(&c);
}

static void history_size_reports_transactions_changes_and_dates(void) {
    struct company c = open_history(check_path("a.sqlite"));
    cst_buffer json = {0};
    OK(cst_coordinator_copy_history_size(c.coordinator, c.store, &json, E));
    CHECK_CONTAINS("\"transactions\": 0", text_of_size(json.data, json.size));
    CHECK_CONTAINS("\"oldest\": null", text_of_size(json.data, json.size));
    CHECK_CONTAINS("\"newest\": null", text_of_size(json.data, json.size));
    fill(&c);
    OK(cst_coordinator_copy_history_size(c.coordinator, c.store, &json, E));
    CHECK_CONTAINS("\"transactions\": 6", text_of_size(json.data, json.size));
    CHECK_CONTAINS("\"changes\": 6", text_of_size(json.data, json.size));
    cst_history_cursor *cursor = read_with(&c, NULL);
    char expected[64];
    const double oldest = next(cursor)->timestamp;
    const char *found = strstr(json.data, "\"oldest\": ");
    REQUIRE(found);
    CHECK_REAL(oldest, strtod(found + strlen("\"oldest\": "), NULL));
    snprintf(expected, sizeof expected, "\"bytes\": ");
    found = strstr(json.data, expected);
    REQUIRE(found);
    CHECK(strtod(found + strlen(expected), NULL) > 100);
    cst_buffer_dispose(&json);
    OK(cst_release(cursor));
    company_close(&c);
}

static void stores_without_history_have_no_consumers(void) {
    struct company bare = open_of_type("SQLite", check_path("b.sqlite"), 0, CST_STORE_HISTORY);
    struct company memory = open_of_type("InMemory", check_path("m"), 0, 0);
    struct company *const stores[] = {&bare, &memory};
    for (int i = 0; i < 2; i++) {
        struct company *c = stores[i];
        cst_buffer json = {0};
        hire(c, "Ada", 1);
        cst_history_token *token = token_at(c, 0);
        CHECK_TEXT("[]", consumers_of(c, &json));
        CHECK_STATUS(CST_E_INVALID_ARGUMENT,
                     cst_coordinator_register_history_consumer(c->coordinator, c->store, text("reader"), NULL, 0, E));
        CHECK_CONTAINS("does not have a history", cst_error_message(check_error()));
        CHECK_CONTAINS("CST_STORE_HISTORY", cst_error_message(check_error()));
        CHECK_STATUS(CST_E_INVALID_ARGUMENT,
                     cst_coordinator_move_history_consumer(c->coordinator, c->store, text("reader"), token, E));
        CHECK_STATUS(CST_E_INVALID_ARGUMENT,
                     cst_coordinator_purge_history(c->coordinator, c->store, NULL, NULL, NULL, NULL, E));
        CHECK_CONTAINS("does not have a history", cst_error_message(check_error()));
        OK(cst_coordinator_copy_history_size(c->coordinator, c->store, &json, E));
        CHECK_CONTAINS("\"transactions\": 0", text_of_size(json.data, json.size));
        cst_buffer_dispose(&json);
        OK(cst_release(token));
        company_close(c);
    }
}

static void invalid_consumers_and_retentions_are_refused(void) {
    struct company c = open_history(check_path("a.sqlite")), other = open_history(check_path("b.sqlite"));
    hire(&c, "Ada", 1);
    cst_history_token *own = current(&c), *foreign = current(&other);
    cst_buffer json = {0};
    cst_history_retention keep = CST_HISTORY_RETENTION_INIT;
    const cst_string name = text("reader");
    const cst_status argument = CST_E_INVALID_ARGUMENT, invalid = CST_E_INVALID_HANDLE;
    CHECK_STATUS(argument, cst_coordinator_move_history_consumer(c.coordinator, c.store, name, own, E));
    CHECK_CONTAINS("call cst_coordinator_register_history_consumer", cst_error_message(check_error()));
    CHECK_STATUS(argument, cst_coordinator_register_history_consumer(c.coordinator, c.store, text(""), NULL, 0, E));
    CHECK_TEXT("name", cst_error_key(check_error()));
    CHECK_STATUS(argument,
                 cst_coordinator_register_history_consumer(c.coordinator, c.store, (cst_string){NULL, 0}, NULL, 0, E));
    CHECK_STATUS(CST_E_INVALID_UTF8,
                 cst_coordinator_register_history_consumer(c.coordinator, c.store, text("\xff"), NULL, 0, E));
    static const double leases[] = {-1, NAN, INFINITY, -INFINITY};
    for (int i = 0; i < 4; i++) {
        CHECK_STATUS(argument,
                     cst_coordinator_register_history_consumer(c.coordinator, c.store, name, NULL, leases[i], E));
        CHECK_TEXT("lease", cst_error_key(check_error()));
        keep.has_age = true;
        keep.age = leases[i];
        CHECK_STATUS(argument, cst_coordinator_purge_history(c.coordinator, c.store, &keep, NULL, NULL, &json, E));
        CHECK_TEXT("age", cst_error_key(check_error()));
    }
    CHECK_STATUS(argument, cst_coordinator_register_history_consumer(c.coordinator, c.store, name, foreign, 0, E));
    check_failed(CST_CODE_PERSISTENT_HISTORY_TOKEN_STORE, "does not contain the store");
    CHECK_TEXT("[]", consumers_of(&c, &json));
    enlist(&c, "reader", NULL);
    CHECK_STATUS(argument, cst_coordinator_move_history_consumer(c.coordinator, c.store, name, foreign, E));
    CHECK_INT(CST_CODE_PERSISTENT_HISTORY_TOKEN_STORE, cst_error_code(check_error()));
    keep = (cst_history_retention)CST_HISTORY_RETENTION_INIT;
    keep.struct_size = 3;
    CHECK_STATUS(argument, cst_coordinator_purge_history(c.coordinator, c.store, &keep, NULL, NULL, &json, E));
    keep.struct_size = offsetof(cst_history_retention, age); /* that of an older header */
    OK(cst_coordinator_purge_history(c.coordinator, c.store, &keep, NULL, NULL, &json, E));

    /* Stores of another coordinator, and handles. */
    CHECK_STATUS(argument, cst_coordinator_register_history_consumer(c.coordinator, other.store, name, NULL, 0, E));
    CHECK_STATUS(argument, cst_coordinator_copy_history_consumers(c.coordinator, other.store, &json, E));
    CHECK_STATUS(argument, cst_coordinator_copy_history_size(c.coordinator, other.store, &json, E));
    CHECK_STATUS(argument, cst_coordinator_purge_history(c.coordinator, other.store, NULL, NULL, NULL, NULL, E));
    cst_store *const bad[] = {NULL, (cst_store *)(void *)own};
    for (int i = 0; i < 2; i++) {
        CHECK_STATUS(invalid, cst_coordinator_register_history_consumer(c.coordinator, bad[i], name, NULL, 0, E));
        CHECK_STATUS(invalid, cst_coordinator_move_history_consumer(c.coordinator, bad[i], name, own, E));
        CHECK_STATUS(invalid, cst_coordinator_unregister_history_consumer(c.coordinator, bad[i], name, E));
        CHECK_STATUS(invalid, cst_coordinator_copy_history_consumers(c.coordinator, bad[i], &json, E));
        CHECK_STATUS(invalid, cst_coordinator_purge_history(c.coordinator, bad[i], NULL, NULL, NULL, NULL, E));
        CHECK_STATUS(invalid, cst_coordinator_copy_history_size(c.coordinator, bad[i], &json, E));
    }
    CHECK_STATUS(invalid, cst_coordinator_register_history_consumer(NULL, c.store, name, NULL, 0, E));
    CHECK_STATUS(invalid, cst_coordinator_move_history_consumer(c.coordinator, c.store, name, NULL, E));
    CHECK_STATUS(argument, cst_coordinator_copy_history_consumers(c.coordinator, c.store, NULL, E));
    CHECK_STATUS(argument, cst_coordinator_copy_history_size(c.coordinator, c.store, NULL, E));
    cst_buffer_dispose(&json);
    OK(cst_release(own));
    OK(cst_release(foreign));
    company_close(&c);
    company_close(&other);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(deletion_stops_before_a_token);
    RUN(deletion_stops_before_a_date);
    RUN(deletion_runs_in_steps_and_can_be_cancelled);
    RUN(a_token_expires_when_transactions_after_it_are_deleted);
    RUN(a_token_of_other_stores_is_refused);
    RUN(a_purge_keeps_transactions_that_a_consumer_has_not_read);
    RUN(consumers_outlive_their_coordinator);
    RUN(a_consumer_with_an_expired_lease_does_not_block_a_purge);
    RUN(a_purge_limits_age_and_size);
    RUN(a_purge_can_be_cancelled);
    RUN(history_size_reports_transactions_changes_and_dates);
    RUN(stores_without_history_have_no_consumers);
    RUN(invalid_consumers_and_retentions_are_refused);
    return check_end();
}
