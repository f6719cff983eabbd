/* The part of a history that a cursor reads: tokens, dates, predicates, authors, orders, limits.
 *
 * SPDX-License-Identifier: MIT
 */
#include "histories.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* The transactions or changes that a condition selects. */
static cst_string where(const struct company *c, uint32_t subject, const char *format, cst_value argument) {
    cst_history_options options = all();
    options.subject = subject;
    cst_predicate *predicate = parse(format, argument.type == CST_NULL ? 0 : 1, &argument);
    options.predicate = predicate;
    const cst_string found = subject == CST_HISTORY_CHANGES ? changes_of(c, &options) : numbers_of(c, &options);
    OK(cst_release(predicate));
    return found;
}

#define TRANSACTIONS(expected, format, argument)                                                                       \
    CHECK_TEXT(expected, where(&c, CST_HISTORY_TRANSACTIONS, format, argument))
#define CHANGES(expected, format, argument) CHECK_TEXT(expected, where(&c, CST_HISTORY_CHANGES, format, argument))

static void reading_begins_after_a_token_or_a_date(void) {
    struct company c = open_history(check_path("a.sqlite"));
    fill(&c);
    cst_history_options options = all();
    double times[7];
    cst_history_cursor *cursor = read_with(&c, NULL);
    for (int i = 1; i <= 6; i++)
        times[i] = next(cursor)->timestamp;
    OK(cst_release(cursor));
    static const char *const after[] = {"1 2 3 4 5 6", "2 3 4 5 6", "3 4 5 6", "4 5 6", "5 6", "6", ""};
    for (int i = 0; i <= 6; i++) {
        cst_history_token *token = token_at(&c, i);
        options.after = token;
        CHECK_TEXT(after[i], numbers_of(&c, &options));
        CHECK_INT(6 - i, count_of(&c, &options));
        OK(cst_release(token));
    }
    options.after = NULL;
    options.after_date = INFINITY; /* not read without has_after_date */
    CHECK_TEXT("1 2 3 4 5 6", numbers_of(&c, &options));
    options.has_after_date = true;
    CHECK_TEXT("", numbers_of(&c, &options));
    options.after_date = -INFINITY;
    CHECK_TEXT("1 2 3 4 5 6", numbers_of(&c, &options));
    for (int i = 1; i <= 6; i++) {
        options.after_date = times[i];
        cst_history_cursor *later = read_with(&c, &options);
        int count = 0;
        const cst_history_transaction *t = NULL;
        while (cst_history_cursor_next(later, &t, E) == CST_OK) {
            CHECK(t->timestamp > times[i] && t->number > i);
            count++;
        }
        int expected = 0;
        for (int k = i + 1; k <= 6; k++)
            expected += times[k] > times[i];
        CHECK_INT(expected, count);
        OK(cst_release(later));
    }
    /* A token takes precedence over a date. */
    cst_history_token *token = token_at(&c, 5);
    options.after = token;
    options.after_date = INFINITY;
    CHECK_TEXT("6", numbers_of(&c, &options));
    options.after_date = -INFINITY;
    CHECK_TEXT("6", numbers_of(&c, &options));
    OK(cst_release(token));
    company_close(&c);
}

static void predicates_select_transactions(void) {
    struct company c = open_history(check_path("a.sqlite"));
    fill(&c);
    const cst_value none = value_null();
    TRANSACTIONS("1 4", "author == 'a'", none);
    TRANSACTIONS("1 4", "author == 'a' AND contextName == 'first'", none);
    TRANSACTIONS("", "author == 'b' AND contextName == 'first'", none);
    TRANSACTIONS("5", "author == 'b' AND contextName == nil", none);
    TRANSACTIONS("3 6", "author == nil", none);
    TRANSACTIONS("2 3 5 6", "author != 'a'", none); /* as in memory: those without author stay */
    TRANSACTIONS("1 2 4 5", "author IN {'a', 'b'}", none);
    TRANSACTIONS("2 3", "transactionNumber BETWEEN {2, 3}", none);
    TRANSACTIONS("1 2 3 4 5 6", "processID == 'test_history_part' AND bundleID LIKE 'test*'", none);
    TRANSACTIONS("", "storeID == %@", value_text("0F1A5A1C-0000-4000-8000-000000000001"));
    TRANSACTIONS("1 2 3 4 5 6", "storeID == %@",
                 ((cst_value){CST_STRING, 0, {.string = cst_store_identifier(c.store)}}));
    TRANSACTIONS("1 2 3 4 5 6", "timestamp > %@", value_date(0));
    TRANSACTIONS("", "timestamp > %@", value_date(4000000000.0));
    TRANSACTIONS("", "FALSEPREDICATE", none);
    cst_history_token *third = token_at(&c, 3), *initial = token_at(&c, 0), *unknown = NULL;
    TRANSACTIONS("3", "token == %@", value_token(third));
    TRANSACTIONS("1 2 4 5 6", "token != %@", value_token(third));
    TRANSACTIONS("3 4 5 6", "token >= %@", value_token(third));
    TRANSACTIONS("4 5 6", "token > %@", value_token(third));
    TRANSACTIONS("1 2", "token < %@", value_token(third));
    TRANSACTIONS("1 2 3", "%@ >= token", value_token(third));
    TRANSACTIONS("4", "author == 'a' AND token > %@", value_token(third));
    unknown = token_from("{\"0F1A5A1C-0000-4000-8000-000000000001\": 1}");
    TRANSACTIONS("", "token == %@", value_token(unknown));
    TRANSACTIONS("1 2 3 4 5 6", "token != %@", value_token(unknown));

    /* The position before the first transaction can begin a request, but is not a condition. */
    cst_history_options options = all();
    const cst_value before = value_token(initial);
    cst_predicate *predicate = parse("author == 'a' AND NOT token <= %@", 1, &before);
    cst_history_cursor *cursor = NULL;
    uint64_t count = 0;
    options.predicate = predicate;
    CHECK_STATUS(CST_E_PREDICATE, cst_coordinator_fetch_history(c.coordinator, &options, &cursor, E));
    check_failed(CST_CODE_PERSISTENT_HISTORY_TOKEN_EXPIRED, "leave the condition out");
    CHECK_TEXT("token", cst_error_key(check_error()));
    CHECK_STATUS(CST_E_PREDICATE, cst_coordinator_count_history(c.coordinator, &options, &count, E));
    CHECK_INT(CST_CODE_PERSISTENT_HISTORY_TOKEN_EXPIRED, cst_error_code(check_error()));
    CHECK(cursor == NULL);
    options.predicate = NULL;
    options.after = initial;
    CHECK_TEXT("1 2 3 4 5 6", numbers_of(&c, &options));
    OK(cst_release(predicate));
    OK(cst_release(third));
    OK(cst_release(initial));
    OK(cst_release(unknown));
    company_close(&c);
}

static void predicates_select_changes(void) {
    struct company c = open_history(check_path("a.sqlite"));
    fill(&c);
    const cst_value none = value_null();
    CHANGES("1 2 3 4 5 6", "TRUEPREDICATE", none);
    CHANGES("1 2 3 6", "changeType == 0", none);
    CHANGES("4", "changeType == 1", none);
    CHANGES("5", "changeType == %@", value_int(CST_HISTORY_DELETE));
    CHANGES("3", "changedEntity == 'Department'", none);
    CHANGES("1 2 4 5 6", "changedEntity == 'Employee'", none);
    CHANGES("", "changedEntity == 'Person'", none); /* subentities are not included */
    CHANGES("1 2 3 6", "changeType == 0 AND (changedEntity == 'Employee' OR changedEntity == 'Department')", none);
    CHANGES("4", "'notes' IN updatedProperties", none);
    CHANGES("4", "ANY updatedProperties == 'notes'", none);
    CHANGES("", "'name' IN updatedProperties", none);
    CHANGES("2 3", "changeID BETWEEN {2, 3}", none);
    /* Keys of transactions. */
    CHANGES("1 4", "author == 'a'", none);
    CHANGES("4", "author == 'a' AND changeType == 1", none);
    CHANGES("2 5", "transaction.author == 'b'", none);
    CHANGES("5 6", "transactionNumber > 4", none);
    CHANGES("3 6", "transaction.contextName == nil AND author == nil", none);
    cst_history_token *third = token_at(&c, 3);
    CHANGES("3", "token == %@", value_token(third));
    CHANGES("4 5 6", "transaction.token > %@", value_token(third));
    OK(cst_release(third));
    company_close(&c);
}

static void changed_objects_are_compared_by_their_uris(void) {
    const char *path = check_path("a.sqlite");
    struct company c = open_history(path), other = open_history(path);
    cst_object *ada = company_employee(&c, c.context, "Ada", 1), *bob = company_employee(&c, c.context, "Bob", 2);
    save(c.context);
    set(ada, c.notes, value_text("x"));
    save(c.context);
    cst_object_id *id = id_of(ada);
    cst_buffer uri = {0};
    OK(cst_object_id_copy_uri(id, &uri, E));
    cst_object_id *foreign = NULL;
    OK(cst_coordinator_object_id(other.coordinator, text_of_size(uri.data, uri.size), &foreign, E));
    cst_history_options options = all();
    options.subject = CST_HISTORY_CHANGES;
    cst_history_token *first = token_at(&c, 1);
    static const char *const formats[] = {"changedObjectID == %@", "%@ == changedObjectID", "changedObjectID IN {%@}",
                                          "NOT changedObjectID != %@"};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        for (int k = 0; k < 2; k++) {
            const cst_value value = value_id(k ? foreign : id);
            cst_predicate *predicate = parse(formats[i], 1, &value);
            options.predicate = predicate;
            options.after = NULL;
            CHECK_INT(2, count_of(&c, &options));
            CHECK_INT(2, count_of(&other, &options));
            options.after = first;
            CHECK_TEXT("3", changes_of(&c, &options));
            OK(cst_release(predicate));
        }
    }
    /* A list of many IDs. */
    cst_value many[40];
    for (size_t i = 0; i < 40; i++)
        many[i] = value_id(foreign);
    const cst_value list = {CST_ARRAY, 0, {.values = {many, 40}}};
    cst_predicate *predicate = parse("changedObjectID IN %@", 1, &list);
    options.predicate = predicate;
    options.after = NULL;
    CHECK_INT(2, count_of(&c, &options));
    OK(cst_release(predicate));
    const cst_value object = value_object(ada);
    predicate = parse("changedObjectID == %@", 1, &object);
    options.predicate = predicate;
    CHECK_INT(2, count_of(&c, &options));
    OK(cst_release(predicate));
    cst_buffer_dispose(&uri);
    OK(cst_release(first));
    OK(cst_release(foreign));
    OK(cst_release(id));
    OK(cst_release(ada));
    OK(cst_release(bob));
    company_close(&c);
    company_close(&other);
}

static void an_unknown_key_error_contains_a_remedy(void) {
    struct company c = open_history(check_path("a.sqlite"));
    hire(&c, "Ada", 1);
    static const struct {
        uint32_t subject;
        const char *format, *entity, *key, *remedy;
    } cases[] = {
        {CST_HISTORY_TRANSACTIONS, "autor == 'a'", "Transaction", "autor", "did you mean \"author\"?"},
        {CST_HISTORY_TRANSACTIONS, "person == 'a'", "Transaction", "person", "use one of author, bundleID"},
        {CST_HISTORY_TRANSACTIONS, "changeType == 1", "Transaction", "changeType", "set the subject to changes"},
        {CST_HISTORY_CHANGES, "type == 1", "Change", "type", "updatedProperties, or a key of the transaction"},
        {CST_HISTORY_CHANGES, "changetype == 1", "Change", "changetype", "did you mean \"changeType\"?"},
        {CST_HISTORY_CHANGES, "transaction.person == 'a'", "Transaction", "person", "use one of author"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cst_history_options options = all();
        options.subject = cases[i].subject;
        cst_predicate *predicate = parse(cases[i].format, 0, NULL);
        options.predicate = predicate;
        uint64_t count = 0;
        CHECK_STATUS(CST_E_PREDICATE, cst_coordinator_count_history(c.coordinator, &options, &count, E));
        CHECK_TEXT(cases[i].entity, cst_error_entity(check_error()));
        CHECK_TEXT(cases[i].key, cst_error_key(check_error()));
        CHECK_CONTAINS(cases[i].remedy, cst_error_message(check_error()));
        OK(cst_release(predicate));
        /* As a sort descriptor. */
        if (i == 3) continue;
        cst_sort sort = {text(cases[i].key), 0, 0};
        options.predicate = NULL;
        options.sort = &sort;
        options.sort_count = 1;
        hire(&c, "Bob", (int64_t)i); /* one alone needs no order */
        cst_history_cursor *cursor = NULL;
        CHECK_STATUS(CST_E_PREDICATE, cst_coordinator_fetch_history(c.coordinator, &options, &cursor, E));
        CHECK_TEXT(cases[i].key, cst_error_key(check_error()));
        CHECK(cursor == NULL);
    }
    company_close(&c);
}

static void an_excluded_author_keeps_transactions_without_an_author(void) {
    struct company c = open_history(check_path("a.sqlite"));
    fill(&c);
    cst_history_options options = all();
    options.excluded_author = text("a");
    CHECK_TEXT("2 3 5 6", numbers_of(&c, &options));
    CHECK_INT(4, count_of(&c, &options));
    options.excluded_author = text("b");
    CHECK_TEXT("1 3 4 6", numbers_of(&c, &options));
    options.excluded_author = text("A");
    CHECK_TEXT("1 2 3 4 5 6", numbers_of(&c, &options));
    options.excluded_author = text("");
    CHECK_TEXT("1 2 3 4 5 6", numbers_of(&c, &options));
    options.excluded_author = text("a");
    options.subject = CST_HISTORY_CHANGES;
    CHECK_TEXT("2 3 5 6", changes_of(&c, &options));
    options.limit = 2;
    CHECK_TEXT("2 3", changes_of(&c, &options));
    options.excluded_author = text("\xff");
    cst_history_cursor *cursor = NULL;
    CHECK_STATUS(CST_E_INVALID_UTF8, cst_coordinator_fetch_history(c.coordinator, &options, &cursor, E));
    company_close(&c);
}

static void limits_apply_with_every_batch_size(void) {
    struct company c = open_history(check_path("a.sqlite"));
    fill(&c);
    static const char *const first[] = {"1 2 3 4 5 6", "1", "1 2", "1 2 3", "1 2 3 4", "1 2 3 4 5", "1 2 3 4 5 6"};
    for (size_t batch = 0; batch < 8; batch++) {
        for (size_t limit = 0; limit <= 6; limit++) {
            cst_history_options options = all();
            options.batch_size = batch == 7 ? SIZE_MAX : batch;
            options.limit = limit;
            CHECK_TEXT(first[limit], numbers_of(&c, &options));
            CHECK_INT(limit ? limit : 6, count_of(&c, &options));
            options.subject = CST_HISTORY_CHANGES;
            CHECK_TEXT(first[limit], changes_of(&c, &options));
            options.limit = SIZE_MAX;
            CHECK_INT(6, count_of(&c, &options));
        }
    }
    /* A limit of changes. */
    for (int i = 0; i < 5; i++)
        OK(cst_release(company_employee(&c, c.context, "Max", 10 + i)));
    save(c.context);
    cst_history_token *token = token_at(&c, 5);
    cst_history_options options = all();
    options.after = token;
    options.subject = CST_HISTORY_CHANGES;
    options.limit = 4;
    CHECK_TEXT("6 7 8 9 10 11", changes_of(&c, &options)); /* the transaction that reaches the limit is whole */
    CHECK_INT(4, count_of(&c, &options));
    options.subject = CST_HISTORY_TRANSACTIONS;
    CHECK_TEXT("6 7", numbers_of(&c, &options));
    OK(cst_release(token));
    company_close(&c);
}

static void sort_descriptors_order_transactions_and_changes(void) {
    struct company c = open_history(check_path("a.sqlite"));
    fill(&c);
    cst_history_options options = all();
    cst_sort sorts[] = {{text("author"), CST_SORT_DESCENDING, 0}, {text("transactionNumber"), CST_SORT_DESCENDING, 0}};
    options.sort = sorts;
    options.sort_count = 2;
    CHECK_TEXT("5 2 4 1 6 3", numbers_of(&c, &options));
    options.limit = 2;
    CHECK_TEXT("5 2", numbers_of(&c, &options));
    CHECK_INT(2, count_of(&c, &options));
    options.limit = 0;
    options.sort_count = 1; /* equal ones keep their order */
    CHECK_TEXT("2 5 1 4 3 6", numbers_of(&c, &options));
    /* Each change is in a transaction of its own. */
    for (int i = 0; i < 2; i++)
        OK(cst_release(company_employee(&c, c.context, "Max", 10 + i)));
    save(c.context);
    cst_sort by_type[] = {{text("changeType"), CST_SORT_DESCENDING, 0}, {text("changeID"), CST_SORT_DESCENDING, 0}};
    options.sort = by_type;
    options.sort_count = 2;
    options.subject = CST_HISTORY_CHANGES;
    CHECK_TEXT("5 4 8 7 6 3 2 1", changes_of(&c, &options));
    cst_history_cursor *cursor = read_with(&c, &options);
    CHECK_INT(5, next(cursor)->number);
    CHECK_INT(4, next(cursor)->number);
    const cst_history_transaction *t = next(cursor);
    CHECK_INT(7, t->number);
    CHECK_INT(1, t->change_count);
    CHECK_INT(8, t->changes[0].number);
    cst_object_id *id = NULL;
    OK(cst_history_cursor_copy_object_id(cursor, 0, &id, E));
    OK(cst_release(id));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_history_cursor_copy_object_id(cursor, 1, &id, E));
    CHECK_INT(7, next(cursor)->number);
    OK(cst_context_merge_history(c.context, cursor, E));
    cst_history_token *token = NULL;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_history_cursor_copy_token(cursor, &token, E));
    CHECK_CONTAINS("sort descriptors", cst_error_message(check_error()));
    CHECK_TEXT("sort", cst_error_key(check_error()));
    CHECK(token == NULL);
    options.limit = 3;
    CHECK_TEXT("5 4 8", changes_of(&c, &options));
    CHECK_INT(3, count_of(&c, &options));
    OK(cst_release(cursor));
    company_close(&c);
}

static void changes_can_be_omitted(void) {
    struct company c = open_history(check_path("a.sqlite"));
    fill(&c);
    cst_history_options options = all();
    options.omits_changes = true;
    CHECK_TEXT("1 2 3 4 5 6", numbers_of(&c, &options));
    cst_history_cursor *cursor = read_with(&c, &options);
    for (int i = 1; i <= 6; i++) {
        const cst_history_transaction *t = next(cursor);
        CHECK_INT(i, t->number);
        CHECK_INT(0, t->change_count);
    }
    cst_object_id *id = NULL;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_history_cursor_copy_object_id(cursor, 0, &id, E));
    cst_history_token *token = token_of(cursor);
    CHECK_INT(6, number_in(token, c.store));
    CHECK_INT(6, count_of(&c, &options));
    cst_results *ids = NULL; /* which need the changes */
    OK(cst_coordinator_fetch_history_ids(c.coordinator, &options, &ids, E));
    CHECK_INT(4, cst_results_count(ids));
    OK(cst_release(ids));
    OK(cst_release(token));
    OK(cst_release(cursor));
    company_close(&c);
}

static void invalid_history_options_are_refused(void) {
    struct company c = open_history(check_path("a.sqlite")), foreign = company_open(check_path("b.sqlite"));
    hire(&c, "Ada", 1);
    cst_history_cursor *cursor = NULL;
    uint64_t count = 7;
    cst_results *ids = NULL;
    cst_history_options options = all();
#define REFUSED(status, words)                                                                                         \
    CHECK_STATUS(status, cst_coordinator_fetch_history(c.coordinator, &options, &cursor, E));                          \
    CHECK_CONTAINS(words, cst_error_message(check_error()));                                                           \
    CHECK_STATUS(status, cst_coordinator_count_history(c.coordinator, &options, &count, E));                           \
    CHECK_STATUS(status, cst_coordinator_fetch_history_ids(c.coordinator, &options, &ids, E));                         \
    CHECK(cursor == NULL && count == 0 && ids == NULL);                                                                \
    options = all()
    options.struct_size = 0;
    REFUSED(CST_E_INVALID_ARGUMENT, "struct_size");
    options.struct_size = 7;
    REFUSED(CST_E_INVALID_ARGUMENT, "struct_size");
    options.struct_size = SIZE_MAX;
    REFUSED(CST_E_INVALID_ARGUMENT, "struct_size");
    options.subject = 2;
    REFUSED(CST_E_INVALID_ARGUMENT, "CST_HISTORY_TRANSACTIONS or CST_HISTORY_CHANGES");
    options.has_after_date = true;
    options.after_date = NAN;
    REFUSED(CST_E_INVALID_ARGUMENT, "after_date");
    options.store_count = 1;
    REFUSED(CST_E_INVALID_ARGUMENT, "stores");
    options.store_count = 1;
    options.stores = &foreign.store;
    REFUSED(CST_E_INVALID_ARGUMENT, "");
    options.store_count = 1;
    options.stores = (cst_store *const *)&(void *){NULL};
    REFUSED(CST_E_INVALID_HANDLE, "");
    options.sort_count = 1;
    REFUSED(CST_E_INVALID_ARGUMENT, "sort");
    options.after = (const cst_history_token *)(const void *)c.store;
    REFUSED(CST_E_INVALID_HANDLE, "history token");
    options.predicate = (const cst_predicate *)(const void *)c.store;
    REFUSED(CST_E_INVALID_HANDLE, "predicate");
#undef REFUSED
    /* The struct of an older header, and that of a newer one. */
    options.struct_size = offsetof(cst_history_options, predicate);
    options.limit = 1;
    hire(&c, "Bob", 2);
    CHECK_TEXT("1 2", numbers_of(&c, &options));
    struct {
        cst_history_options options;
        uint64_t more[4];
    } newer = {all(), {0}};
    newer.options.struct_size = sizeof newer;
    CHECK_TEXT("1 2", numbers_of(&c, &newer.options));
    newer.more[2] = 1;
    CHECK(cst_coordinator_fetch_history(c.coordinator, &newer.options, &cursor, E) < 0);
    CHECK(cursor == NULL);
    company_close(&foreign);
    company_close(&c);
}

/* A struct size that ends within a pointer omits the whole member. */
static void a_struct_size_within_a_member_omits_the_member(void) {
    struct company c = open_history(check_path("a.sqlite"));
    fill(&c);
    cst_store *stores[6] = {c.store, c.store, c.store, c.store, c.store, c.store};
    cst_history_options options = all();
    options.store_count = 6;
    options.stores = stores;
    for (size_t cut = 1; cut < sizeof options.stores; cut++) {
        options.struct_size = offsetof(cst_history_options, stores) + cut;
        cst_history_cursor *cursor = NULL;
        CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_coordinator_fetch_history(c.coordinator, &options, &cursor, E));
        CHECK_CONTAINS("stores is NULL", cst_error_message(check_error()));
    }
    company_close(&c);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(reading_begins_after_a_token_or_a_date);
    RUN(predicates_select_transactions);
    RUN(predicates_select_changes);
    RUN(changed_objects_are_compared_by_their_uris);
    RUN(an_unknown_key_error_contains_a_remedy);
    RUN(an_excluded_author_keeps_transactions_without_an_author);
    RUN(limits_apply_with_every_batch_size);
    RUN(sort_descriptors_order_transactions_and_changes);
    RUN(changes_can_be_omitted);
    RUN(invalid_history_options_are_refused);
    RUN(a_struct_size_within_a_member_omits_the_member);
    return check_end();
}
