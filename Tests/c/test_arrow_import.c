/* Arrow imports: hand-made streams, their release, and streams that fail or are damaged.
 *
 * SPDX-License-Identifier: MIT
 */
#include "arrow_source.h"
#include "company.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Names: Ada, null, "", Zoë. */
static const int32_t name_offsets[] = {0, 3, 3, 3, 7};
static const uint8_t name_bits[] = {0x0D};
static const struct source_column names = {.name = "name",
                                           .format = "u",
                                           .length = 4,
                                           .null_count = 1,
                                           .buffer_count = 3,
                                           .buffers = {name_bits, name_offsets, "AdaZo\xC3\xAB"}};
static const int32_t full_offsets[] = {0, 3, 6, 9, 13};
static const struct source_column full_names = {.name = "name",
                                                .format = "u",
                                                .length = 4,
                                                .buffer_count = 3,
                                                .buffers = {NULL, full_offsets, "AdaBobEveZo\xC3\xAB"}};
static const int64_t number_values[] = {1, 2, 3, 4};
static const struct source_column numbers = {
    .name = "number", .format = "l", .length = 4, .buffer_count = 2, .buffers = {NULL, number_values}};

static struct source source_of(size_t count, const struct source_column *const *columns) {
    struct source source = {.batch_count = 1, .message = "the producer failed"};
    source.batches[0] = source_batch_of(count, columns);
    return source;
}

static cst_status insert(const struct company *c, const cst_entity *entity, struct source *source,
                         const cst_arrow_import_options *options, uint64_t *count) {
    struct ArrowArrayStream stream;
    source_export(source, &stream);
    const cst_status status = cst_context_insert_arrow(c->context, entity, &stream, options, count, E);
    CHECK(stream.release == NULL);
    CHECK_INT(0, source_live());
    return status;
}

static struct company open_company(void) { return company_open(check_path("company.sqlite")); }

/* Checks that an import changed nothing. */
static void check_unchanged(const struct company *c) {
    CHECK(!has_changes(c->context));
    CHECK_INT(0, company_count(c->context, c->employee, NULL));
}

static void insert_arrow_sets_attributes_of_new_objects(void) {
    struct company c = open_company();
    const struct source_column *columns[] = {&full_names, &numbers};
    struct source source = source_of(2, columns);
    uint64_t count = 0;
    OK(insert(&c, c.employee, &source, NULL, &count));
    CHECK_INT(4, count);
    save(c.context);
    cst_results *found = company_fetch(c.context, c.employee, NULL, "number");
    CHECK_INT(4, cst_results_count(found));
    CHECK_TEXT("Ada", get_text(object_at(found, 0), c.name));
    CHECK_TEXT("Zo\xC3\xAB", get_text(object_at(found, 3), c.name));
    CHECK_INT(4, get_int(object_at(found, 3), c.number));
    OK(cst_release(found));
    company_close(&c);
}

static void offsets_apply_to_batches_columns_and_children(void) {
    struct company c = open_company();
    struct source_column sliced_names = full_names, sliced_numbers = numbers;
    sliced_names.length = 3;
    sliced_numbers.offset = 1;
    sliced_numbers.length = 3;
    const struct source_column *columns[] = {&sliced_names, &sliced_numbers};
    struct source source = source_of(2, columns);
    source.batch_count = 3;
    /* The second batch is empty, the third one has all four rows. */
    source.batches[0].offset = 1;
    source.batches[0].length = 2;
    source.batches[1] = source.batches[0];
    source.batches[1].length = 0;
    const struct source_column *whole[] = {&full_names, &numbers};
    source.batches[2] = source_batch_of(2, whole);
    uint64_t count = 0;
    OK(insert(&c, c.employee, &source, NULL, &count));
    CHECK_INT(6, count);
    CHECK_INT(1, company_count(c.context, c.employee, "name == 'Bob' AND number == 3"));
    CHECK_INT(1, company_count(c.context, c.employee, "name == 'Eve' AND number == 4"));
    CHECK_INT(1, company_count(c.context, c.employee, "name == 'Ada' AND number == 1"));
    company_close(&c);
}

static void nulls_are_null_and_not_defaults(void) {
    struct company c = open_company();
    cst_entity *manager = NULL;
    OK(cst_model_entity(c.model, text("Manager"), &manager, E));
    static const double bonuses[] = {1, 2, 3, 4};
    static const uint8_t bits[] = {0x0B};
    const struct source_column bonus = {
        .name = "bonus", .format = "g", .length = 4, .null_count = -1, .buffer_count = 2, .buffers = {bits, bonuses}};
    const struct source_column *columns[] = {&names, &numbers, &bonus};
    struct source source = source_of(3, columns);
    OK(insert(&c, manager, &source, NULL, NULL));
    CHECK_INT(1, company_count(c.context, manager, "bonus == nil AND name == ''"));
    CHECK_INT(1, company_count(c.context, manager, "name == nil AND bonus == 2"));
    /* The required name of the second row is missing. */
    CHECK_STATUS(CST_E_VALIDATION, cst_context_save(c.context, E));
    OK(cst_context_rollback(c.context, E));
    struct source again = source_of(2, columns);
    cst_arrow_import_options options = CST_ARROW_IMPORT_OPTIONS_INIT;
    options.flags = CST_ARROW_IMPORT_VALIDATE;
    CHECK_STATUS(CST_E_VALIDATION, insert(&c, manager, &again, &options, NULL));
    CHECK_CONTAINS("row 2 of the Arrow stream: Manager.name is required", cst_error_message(check_error()));
    CHECK_INT(1570, cst_error_code(check_error()));
    check_unchanged(&c);
    /* Without the column, the attribute has its default. */
    const struct source_column *full[] = {&full_names};
    struct source defaults = source_of(1, full);
    OK(insert(&c, manager, &defaults, NULL, NULL));
    CHECK_INT(4, company_count(c.context, manager, "bonus == 0.5"));
    company_close(&c);
}

static void dictionaries_and_views_are_values(void) {
    struct company c = open_company();
    static const uint8_t indices[] = {2, 0, 0, 1};
    static const int64_t offsets[] = {0, 3, 6, 9};
    const struct source_column entries = {
        .name = "", .format = "U", .length = 3, .buffer_count = 3, .buffers = {NULL, offsets, "AdaBobEve"}};
    const struct source_column coded = {.name = "name",
                                        .format = "C",
                                        .length = 4,
                                        .buffer_count = 2,
                                        .buffers = {NULL, indices},
                                        .dictionary = &entries};
    /* An inline text, one in a buffer, a null and an empty text. */
    struct {
        int32_t size;
        char inside[4];
        int32_t buffer, offset;
    } views[4] = {{.size = 3, .inside = "abc"}, {.size = 13, .inside = "long", .offset = 2}, {.size = -5}, {.size = 0}};
    static const uint8_t bits[] = {0x0B};
    static const int64_t sizes[] = {15};
    const struct source_column notes = {.name = "notes",
                                        .format = "vu",
                                        .length = 4,
                                        .null_count = 1,
                                        .buffer_count = 4,
                                        .buffers = {bits, views, "__longer values", sizes}};
    const struct source_column *columns[] = {&coded, &notes, &numbers};
    struct source source = source_of(3, columns);
    OK(insert(&c, c.employee, &source, NULL, NULL));
    CHECK_INT(2, company_count(c.context, c.employee, "name == 'Ada'"));
    CHECK_INT(1, company_count(c.context, c.employee, "name == 'Eve' AND notes == 'abc'"));
    CHECK_INT(1, company_count(c.context, c.employee, "number == 2 AND notes == 'longer values'"));
    CHECK_INT(1, company_count(c.context, c.employee, "number == 3 AND notes == nil"));
    CHECK_INT(1, company_count(c.context, c.employee, "number == 4 AND notes == ''"));
    company_close(&c);
}

static void columns_are_mapped_and_ignored(void) {
    struct company c = open_company();
    struct source_column renamed = full_names, extra = numbers;
    renamed.name = "Full name";
    extra.name = "extra";
    const struct source_column *columns[] = {&renamed, &extra};
    struct source source = source_of(2, columns);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, insert(&c, c.employee, &source, NULL, NULL));
    CHECK_CONTAINS("Employee has no property \"Full name\"", cst_error_message(check_error()));
    const cst_arrow_column mapping[] = {{CST_TEXT_INIT("Full name"), CST_TEXT_INIT("name")},
                                        {CST_TEXT_INIT("extra"), {NULL, 0}}};
    cst_arrow_import_options options = CST_ARROW_IMPORT_OPTIONS_INIT;
    options.column_count = 1;
    options.columns = mapping;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, insert(&c, c.employee, &source, &options, NULL));
    CHECK_TEXT("extra", cst_error_key(check_error()));
    check_unchanged(&c);
    options.flags = CST_ARROW_IMPORT_IGNORE_UNKNOWN;
    OK(insert(&c, c.employee, &source, &options, NULL));
    options.flags = 0;
    options.column_count = 2;
    OK(insert(&c, c.employee, &source, &options, NULL));
    CHECK_INT(2, company_count(c.context, c.employee, "name == 'Eve' AND number == nil"));
    const cst_arrow_column unknown[] = {{CST_TEXT_INIT("name"), CST_TEXT_INIT("notes")}};
    options.column_count = 1;
    options.columns = unknown;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, insert(&c, c.employee, &source, &options, NULL));
    CHECK_CONTAINS("has no column \"name\"", cst_error_message(check_error()));
    const cst_arrow_column twice[] = {mapping[0], mapping[0]};
    options.column_count = 2;
    options.columns = twice;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, insert(&c, c.employee, &source, &options, NULL));
    options.columns = NULL;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, insert(&c, c.employee, &source, &options, NULL));
    options.column_count = 0;
    options.flags = 1 << 20;
    CHECK_STATUS(CST_E_UNSUPPORTED, insert(&c, c.employee, &source, &options, NULL));
    options.flags = CST_ARROW_IMPORT_UPDATE;
    CHECK_STATUS(CST_E_UNSUPPORTED, insert(&c, c.employee, &source, &options, NULL));
    company_close(&c);
}

static void relationships_are_found_by_key_and_by_uri(void) {
    struct company c = open_company();
    OK(cst_release(company_insert(&c, c.context, c.department, c.department_name, "Ada")));
    OK(cst_release(company_insert(&c, c.context, c.department, c.department_name, "Bob")));
    save(c.context);
    OK(cst_release(company_insert(&c, c.context, c.department, c.department_name, "Eve"))); /* unsaved */
    struct source_column department = full_names;
    department.name = "department.name";
    department.length = 3;
    struct source_column few_names = full_names;
    few_names.length = 3;
    const struct source_column *columns[] = {&few_names, &department};
    struct source source = source_of(2, columns);
    OK(insert(&c, c.employee, &source, NULL, NULL));
    CHECK_INT(3, company_count(c.context, c.employee, "name == department.name"));
    department.length = 4;
    const struct source_column *all[] = {&full_names, &department};
    source = source_of(2, all);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, insert(&c, c.employee, &source, NULL, NULL));
    CHECK_CONTAINS("row 4 of the Arrow stream: Employee.department: an object with name \"Zo\xC3\xAB\" does not exist",
                   cst_error_message(check_error()));
    CHECK_TEXT("department", cst_error_key(check_error()));
    CHECK_INT(3, company_count(c.context, c.employee, NULL));
    cst_arrow_import_options options = CST_ARROW_IMPORT_OPTIONS_INIT;
    options.flags = CST_ARROW_IMPORT_NULL_IF_MISSING;
    OK(insert(&c, c.employee, &source, &options, NULL));
    CHECK_INT(1, company_count(c.context, c.employee, "department == nil"));
    save(c.context);
    company_close(&c);
}

/* Managers are employees of the same stream, in earlier and later rows. */
static void relationships_refer_to_other_rows(void) {
    struct company c = open_company();
    static const int32_t offsets[] = {0, 3, 3, 6, 9};
    static const uint8_t bits[] = {0x0D};
    const struct source_column manager = {.name = "manager.name",
                                          .format = "u",
                                          .length = 4,
                                          .null_count = 1,
                                          .buffer_count = 3,
                                          .buffers = {bits, offsets, "EveBobAda"}};
    const struct source_column *columns[] = {&full_names, &manager};
    struct source source = source_of(2, columns);
    OK(insert(&c, c.employee, &source, NULL, NULL));
    CHECK_INT(1, company_count(c.context, c.employee, "name == 'Ada' AND manager.name == 'Eve'"));
    CHECK_INT(1, company_count(c.context, c.employee, "name == 'Eve' AND manager.name == 'Bob'"));
    CHECK_INT(1, company_count(c.context, c.employee, "name == 'Bob' AND manager == nil"));
    save(c.context);
    /* A second Bob makes the key ambiguous. */
    OK(cst_release(company_employee(&c, c.context, "Bob", 9)));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, insert(&c, c.employee, &source, NULL, NULL));
    CHECK_CONTAINS("several objects have name \"", cst_error_message(check_error()));
    CHECK_INT(5, company_count(c.context, c.employee, NULL));
    company_close(&c);
}

static cst_arrow_import_options matching(const cst_string *keys, size_t count) {
    cst_arrow_import_options options = CST_ARROW_IMPORT_OPTIONS_INIT;
    options.key_count = count;
    options.keys = keys;
    return options;
}

static void upsert_arrow_updates_matches_and_inserts_the_rest(void) {
    struct company c = open_company();
    cst_object *ada = company_employee(&c, c.context, "Ada", 7);
    OK(cst_release(company_employee(&c, c.context, "Bob", 2)));
    save(c.context);
    OK(cst_release(company_employee(&c, c.context, "Eve", 9))); /* unsaved */
    const struct source_column *columns[] = {&full_names, &numbers};
    struct source source = source_of(2, columns);
    struct ArrowArrayStream stream;
    source_export(&source, &stream);
    const cst_string name = CST_TEXT("name");
    cst_arrow_import_options options = matching(&name, 1);
    uint64_t inserted = 9, updated = 9;
    OK(cst_context_upsert_arrow(c.context, c.employee, &stream, &options, &inserted, &updated, E));
    CHECK_INT(0, source_live());
    CHECK_INT(1, inserted);
    CHECK_INT(3, updated);
    CHECK_INT(1, get_int(ada, c.number));
    CHECK_INT(4, company_count(c.context, c.employee, NULL));
    /* Bob has the same number as before, so he is unchanged. */
    uint64_t changed = 0;
    OK(cst_context_changed_count(c.context, CST_CHANGED_UPDATED, &changed, E));
    CHECK_INT(1, changed);
    save(c.context);
    /* The third row is invalid, and the first two are reverted. */
    static const int64_t others[] = {50, 60, 1 << 20, 80};
    struct source_column levels = {
        .name = "level", .format = "l", .length = 4, .buffer_count = 2, .buffers = {NULL, others}};
    const struct source_column *wrong[] = {&full_names, &levels};
    source = source_of(2, wrong);
    source_export(&source, &stream);
    CHECK_STATUS(CST_E_VALIDATION,
                 cst_context_upsert_arrow(c.context, c.employee, &stream, &options, &inserted, &updated, E));
    CHECK_CONTAINS("row 3 of the Arrow stream: Employee.level", cst_error_message(check_error()));
    CHECK_INT(0, inserted);
    CHECK(!has_changes(c.context));
    CHECK_INT(CST_NULL, get(ada, c.level).type);
    CHECK_INT(0, source_live());
    OK(cst_release(ada));
    company_close(&c);
}

static void upsert_arrow_rejects_unsuitable_keys(void) {
    struct company c = open_company();
    const struct source_column *columns[] = {&full_names, &numbers};
    struct source source = source_of(2, columns);
    const cst_string keys[][2] = {{CST_TEXT_INIT("notes")},
                                  {CST_TEXT_INIT("department")},
                                  {CST_TEXT_INIT("nam")},
                                  {CST_TEXT_INIT("name"), CST_TEXT_INIT("name")},
                                  {CST_TEXT_INIT("objectID")}};
    const char *const words[] = {"do not contain the key Employee.notes", "Employee.department cannot be a key",
                                 "did you mean \"name\"?", "\"name\" is listed twice",
                                 "do not contain the key Employee.objectID"};
    for (size_t i = 0; i < 5; i++) {
        struct ArrowArrayStream stream;
        source_export(&source, &stream);
        cst_arrow_import_options options = matching(keys[i], keys[i][1].data ? 2 : 1);
        CHECK_STATUS(CST_E_INVALID_ARGUMENT,
                     cst_context_upsert_arrow(c.context, c.employee, &stream, &options, NULL, NULL, E));
        CHECK_CONTAINS(words[i], cst_error_message(check_error()));
        CHECK_INT(0, source_live());
    }
    struct ArrowArrayStream stream;
    source_export(&source, &stream);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_upsert_arrow(c.context, c.employee, &stream, NULL, NULL, NULL, E));
    CHECK_CONTAINS("do not contain a unique constraint of Employee", cst_error_message(check_error()));
    cst_arrow_import_options options = matching(keys[3], 1);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, insert(&c, c.employee, &source, &options, NULL));
    CHECK_CONTAINS("keys apply only to an upsert", cst_error_message(check_error()));
    check_unchanged(&c);
    company_close(&c);
}

static void batch_insert_reads_a_stream_once(void) {
    struct company c = open_company();
    const struct source_column *columns[] = {&full_names, &numbers};
    struct source source = source_of(2, columns);
    source.batch_count = 2;
    source.batches[1] = source.batches[0];
    struct ArrowArrayStream stream;
    source_export(&source, &stream);
    cst_batch_request *request = NULL;
    uint64_t count = 0;
    OK(cst_batch_insert_new(c.employee, &request, E));
    OK(cst_batch_insert_set_arrow(request, &stream, NULL, E));
    CHECK(stream.release == NULL);
    CHECK_INT(1, source_live());
    OK(cst_context_execute_batch(c.context, request, &count, NULL, E));
    CHECK_INT(8, count);
    CHECK_INT(0, source_live());
    CHECK_INT(2, company_count(c.context, c.employee, "name == 'Eve' AND number == 3"));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_execute_batch(c.context, request, &count, NULL, E));
    CHECK_CONTAINS("was already read", cst_error_message(check_error()));
    /* The second row does not have the required name, so no row is written. */
    const struct source_column *wrong[] = {&numbers, &names};
    source.batches[0] = source_batch_of(2, wrong);
    source_export(&source, &stream);
    OK(cst_batch_insert_set_arrow(request, &stream, NULL, E));
    CHECK_STATUS(CST_E_VALIDATION, cst_context_execute_batch(c.context, request, &count, NULL, E));
    CHECK_CONTAINS("row 2 of the batch: Employee.name is required", cst_error_message(check_error()));
    CHECK_INT(8, company_count(c.context, c.employee, NULL));
    CHECK_INT(4, source_live()); /* the stream, and its batch of two columns, belong to the request */
    /* A stream that was never read is released with the request. */
    source_export(&source, &stream);
    OK(cst_batch_insert_set_arrow(request, &stream, NULL, E));
    CHECK_INT(1, source_live());
    OK(cst_release(request));
    CHECK_INT(0, source_live());
    company_close(&c);
}

static void batch_insert_rejects_relationships(void) {
    struct company c = open_company();
    struct source_column department = full_names;
    department.name = "department.name";
    const struct source_column *columns[] = {&full_names, &department};
    struct source source = source_of(2, columns);
    struct ArrowArrayStream stream;
    source_export(&source, &stream);
    cst_batch_request *request = NULL;
    OK(cst_batch_insert_new(c.employee, &request, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_batch_insert_set_arrow(request, &stream, NULL, E));
    CHECK_CONTAINS("call cst_context_insert_arrow", cst_error_message(check_error()));
    CHECK_INT(0, source_live());
    OK(cst_release(request));
    OK(cst_batch_update_new(c.employee, &request, E));
    source_export(&source, &stream);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_batch_insert_set_arrow(request, &stream, NULL, E));
    CHECK_INT(0, source_live());
    OK(cst_release(request));
    company_close(&c);
}

/* A model with a unique code. */
static void batch_upserts_need_a_unique_constraint(void) {
    cst_model *model = NULL;
    cst_coordinator *coordinator = NULL;
    cst_store *store = NULL;
    cst_context *context = NULL;
    cst_entity *item = NULL;
    OK(cst_model_new_from_text(
        CST_TEXT("{\"Item\": {\"@unique\": [\"name\"], \"name\": \"string\", \"number\": \"int64?\","
                 " \"note\": \"string? = old\"}}"),
        &model, E));
    OK(cst_coordinator_new(model, &coordinator, E));
    OK(cst_coordinator_add_store(coordinator, CST_TEXT("SQLite"), text(check_path("items.sqlite")), NULL, &store, E));
    OK(cst_context_new(coordinator, CST_QUEUE_CALLER, &context, E));
    OK(cst_model_entity(model, CST_TEXT("Item"), &item, E));
    for (int round = 0; round < 3; round++) {
        const struct source_column *columns[] = {&full_names, &numbers};
        struct source source = source_of(2, columns);
        struct ArrowArrayStream stream;
        source_export(&source, &stream);
        cst_batch_request *request = NULL;
        uint64_t count = 0;
        const cst_string keys[] = {CST_TEXT_INIT("name"), CST_TEXT_INIT("number")};
        cst_arrow_import_options options = matching(keys, (size_t)round);
        options.flags = CST_ARROW_IMPORT_UPDATE;
        OK(cst_batch_insert_new(item, &request, E));
        if (round == 2) {
            CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_batch_insert_set_arrow(request, &stream, &options, E));
            CHECK_CONTAINS("Item does not have a unique constraint on name and number",
                           cst_error_message(check_error()));
        } else {
            OK(cst_batch_insert_set_arrow(request, &stream, &options, E));
            OK(cst_context_execute_batch(context, request, &count, NULL, E));
            CHECK_INT(4, count);
        }
        CHECK_INT(4, company_count(context, item, "note == 'old'"));
        OK(cst_release(request));
        CHECK_INT(0, source_live());
    }
    OK(cst_release(context));
    OK(cst_release(store));
    OK(cst_release(coordinator));
    OK(cst_release(model));
}

struct reporter {
    uint64_t calls, done, total, stop_at;
};

static bool report(void *userdata, uint64_t done, uint64_t total) {
    struct reporter *reporter = userdata;
    reporter->calls++;
    reporter->done = done;
    reporter->total = total;
    return !reporter->stop_at || done < reporter->stop_at;
}

enum { MANY = 40000 };

static void progress_counts_rows_and_cancels(void) {
    struct company c = open_company();
    static int64_t values[MANY];
    static int32_t offsets[MANY + 1];
    static char texts[MANY];
    for (int i = 0; i < MANY; i++) {
        values[i] = i;
        offsets[i + 1] = i + 1;
        texts[i] = 'x';
    }
    const struct source_column many_names = {
        .name = "name", .format = "u", .length = MANY, .buffer_count = 3, .buffers = {NULL, offsets, texts}};
    const struct source_column many = {
        .name = "number", .format = "l", .length = MANY, .buffer_count = 2, .buffers = {NULL, values}};
    const struct source_column *columns[] = {&many_names, &many};
    struct reporter reporter = {0};
    cst_arrow_import_options options = CST_ARROW_IMPORT_OPTIONS_INIT;
    options.progress = report;
    options.progress_userdata = &reporter;
    for (int direct = 0; direct < 2; direct++) {
        for (int cancels = 1; cancels >= 0; cancels--) {
            struct source source = source_of(2, columns);
            struct ArrowArrayStream stream;
            cst_batch_request *request = NULL;
            reporter = (struct reporter){.stop_at = cancels ? 20000 : 0};
            source_export(&source, &stream);
            cst_status status;
            if (direct) {
                OK(cst_batch_insert_new(c.employee, &request, E));
                OK(cst_batch_insert_set_arrow(request, &stream, &options, E));
                status = cst_context_execute_batch(c.context, request, NULL, NULL, E);
            } else {
                status = cst_context_insert_arrow(c.context, c.employee, &stream, &options, NULL, E);
            }
            CHECK_INT(cancels ? CST_E_CANCELLED : CST_OK, status);
            cst_release(request);
            CHECK(reporter.calls > 2);
            CHECK_INT(cancels ? 0 : MANY, reporter.total);
            if (cancels) {
                check_unchanged(&c);
                continue;
            }
            CHECK_INT(MANY, reporter.done);
            CHECK_INT(MANY, company_count(c.context, c.employee, NULL));
            OK(cst_context_rollback(c.context, E));
        }
    }
    CHECK_INT(0, source_live());
    company_close(&c);
}

static bool interrupt(void *userdata) { return ++*(int *)userdata > 3; }

static void interrupt_cancels_an_import(void) {
    struct company c = open_company();
    int calls = 0;
    const struct source_column *columns[] = {&full_names};
    struct source source = source_of(1, columns);
    source.batch_count = 4;
    for (int i = 1; i < 4; i++)
        source.batches[i] = source.batches[0];
    OK(cst_context_set_interrupt(c.context, interrupt, &calls, NULL, E));
    CHECK_STATUS(CST_E_CANCELLED, insert(&c, c.employee, &source, NULL, NULL));
    OK(cst_context_set_interrupt(c.context, NULL, NULL, NULL, E));
    check_unchanged(&c);
    company_close(&c);
}

static void failing_streams_are_reported_and_released(void) {
    struct company c = open_company();
    const struct source_column *columns[] = {&full_names, &numbers};
    struct source source = source_of(2, columns);
    source.batch_count = 2;
    source.batches[1] = source.batches[0];
    source.fails_at = 2;
    CHECK_STATUS(CST_E_CALLBACK, insert(&c, c.employee, &source, NULL, NULL));
    CHECK_CONTAINS("the Arrow stream for Employee did not return the next record batch: the producer failed",
                   cst_error_message(check_error()));
    check_unchanged(&c);
    source.message = NULL;
    CHECK_STATUS(CST_E_CALLBACK, insert(&c, c.employee, &source, NULL, NULL));
    CHECK_CONTAINS("Input/output error", cst_error_message(check_error()));
    source.schema_fails = true;
    CHECK_STATUS(CST_E_CALLBACK, insert(&c, c.employee, &source, NULL, NULL));
    source.schema_fails = false;
    source.schema_is_released = true;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, insert(&c, c.employee, &source, NULL, NULL));
    source.schema_is_released = false;
    source.format = "l";
    CHECK_STATUS(CST_E_TYPE_MISMATCH, insert(&c, c.employee, &source, NULL, NULL));
    check_unchanged(&c);
    company_close(&c);
}

/* A rejected call also releases its stream. */
static void streams_are_released_by_rejected_calls(void) {
    struct company c = open_company();
    const struct source_column *columns[] = {&full_names};
    struct source source = source_of(1, columns);
    struct ArrowArrayStream stream;
    const int before = source_streams_released();
    source_export(&source, &stream);
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_context_insert_arrow(NULL, c.employee, &stream, NULL, NULL, E));
    source_export(&source, &stream);
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_context_upsert_arrow(c.context, NULL, &stream, NULL, NULL, NULL, E));
    source_export(&source, &stream);
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_batch_insert_set_arrow(NULL, &stream, NULL, E));
    /* Abstract entities do not have objects. */
    source_export(&source, &stream);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_insert_arrow(c.context, c.person, &stream, NULL, NULL, E));
    CHECK_INT(before + 4, source_streams_released());
    CHECK_INT(0, source_live());
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_insert_arrow(c.context, c.employee, &stream, NULL, NULL, E));
    CHECK_CONTAINS("stream was released or moved", cst_error_message(check_error()));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_insert_arrow(c.context, c.employee, NULL, NULL, NULL, E));
    source_export(&source, &stream);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *) = stream.get_next;
    stream.get_next = NULL;
    CHECK(get_next != NULL);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_insert_arrow(c.context, c.employee, &stream, NULL, NULL, E));
    CHECK_INT(0, source_live());
    check_unchanged(&c);
    company_close(&c);
}

static void use_context(void *userdata, size_t batch) {
    const struct company *c = userdata;
    if (batch == 0) return;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_reset(c->context, E));
    CHECK_CONTAINS("a callback of an Arrow import must not reset the context", cst_error_message(check_error()));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_save(c->context, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_rollback(c->context, E));
    /* It can read, and delete an object of an earlier row. */
    cst_results *found = company_fetch(c->context, c->employee, "name == 'Ada'", NULL);
    OK(cst_context_delete(c->context, object_at(found, 0), E));
    OK(cst_release(found));
}

static void callbacks_cannot_invalidate_an_import(void) {
    struct company c = open_company();
    const struct source_column *columns[] = {&full_names, &numbers};
    struct source source = source_of(2, columns);
    source.before_batch = use_context;
    source.userdata = &c;
    OK(insert(&c, c.employee, &source, NULL, NULL));
    CHECK_INT(3, company_count(c.context, c.employee, NULL));
    OK(cst_context_rollback(c.context, E));
    source.fails_at = 2;
    CHECK_STATUS(CST_E_CALLBACK, insert(&c, c.employee, &source, NULL, NULL));
    check_unchanged(&c);
    company_close(&c);
}

/* Each damage of a column, as one changed field. */
static void damaged_columns_are_rejected(void) {
    struct company c = open_company();
    static const int32_t falling[] = {0, 3, 2, 3, 7}, negative[] = {-1, 3, 6, 9, 13};
    static const uint8_t low[] = {0, 1, 2, 9};
    const struct source_column entries = full_names;
    struct source_column damaged[16];
    size_t count = 0;
#define DAMAGE(base, field, ...)                                                                                       \
    do {                                                                                                               \
        damaged[count] = base;                                                                                         \
        damaged[count].field = __VA_ARGS__;                                                                            \
        damaged[count++].name = "notes";                                                                               \
    } while (0)
    DAMAGE(full_names, length, 3);
    DAMAGE(full_names, length, -1);
    DAMAGE(full_names, length, INT64_MAX);
    DAMAGE(full_names, offset, -1);
    DAMAGE(full_names, offset, INT64_MAX);
    DAMAGE(full_names, buffer_count, 2);
    DAMAGE(full_names, buffer_count, -1);
    DAMAGE(full_names, null_count, 2);
    DAMAGE(full_names, buffers[1], NULL);
    DAMAGE(full_names, buffers[2], NULL);
    DAMAGE(full_names, buffers[1], falling);
    DAMAGE(full_names, buffers[1], negative);
    DAMAGE(full_names, child_count, 1);
    damaged[count - 1].children[0] = &numbers;
    DAMAGE(full_names, format, NULL);
    DAMAGE(numbers, dictionary, &entries);
    damaged[count - 1].format = "C";
    damaged[count - 1].buffers[1] = low;
#undef DAMAGE
    for (size_t i = 0; i < count; i++) {
        const struct source_column *columns[] = {&full_names, &damaged[i]};
        struct source source = source_of(2, columns);
        if (!CHECK_STATUS(CST_E_INVALID_ARGUMENT, insert(&c, c.employee, &source, NULL, NULL)))
            check_fail(__FILE__, __LINE__, "damage %zu", i);
        CHECK_CONTAINS("notes", cst_error_message(check_error()));
        check_unchanged(&c);
    }
    const struct source_column *columns[] = {&full_names, &numbers};
    for (int i = 0; i < 6; i++) {
        struct source source = source_of(2, columns);
        struct source_batch *batch = &source.batches[0];
        if (i == 0) batch->column_count = 1;
        if (i == 1) batch->column_count = -1;
        if (i == 2) batch->length = -1;
        if (i == 3) batch->length = 5;
        if (i == 4) batch->offset = 1;
        if (i == 5) batch->offset = INT64_MIN;
        CHECK_STATUS(CST_E_INVALID_ARGUMENT, insert(&c, c.employee, &source, NULL, NULL));
        check_unchanged(&c);
    }
    company_close(&c);
}

static void text_must_be_valid_utf8(void) {
    struct company c = open_company();
    struct source_column wrong = full_names;
    wrong.buffers[2] = "AdaBob\xFFveZo\xC3\xAB";
    const struct source_column *columns[] = {&wrong};
    struct source source = source_of(1, columns);
    CHECK_STATUS(CST_E_INVALID_UTF8, insert(&c, c.employee, &source, NULL, NULL));
    CHECK_CONTAINS("row 3 of the Arrow stream: Employee.name: the text is not valid UTF-8 at byte 0",
                   cst_error_message(check_error()));
    CHECK_TEXT("Employee", cst_error_entity(check_error()));
    check_unchanged(&c);
    company_close(&c);
}

static uint64_t seed;

static uint64_t random_below(uint64_t limit) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed % limit;
}

static int64_t random_size(void) {
    static const int64_t sizes[] = {0, 1, 2, 3, 4, 5, -1, 31, 63, 64, INT64_MAX, INT64_MIN, INT32_MAX, 1LL << 40, -2};
    return sizes[random_below(sizeof sizes / sizeof *sizes)];
}

static const char *const formats[] = {"n",
                                      "b",
                                      "c",
                                      "C",
                                      "s",
                                      "S",
                                      "i",
                                      "I",
                                      "l",
                                      "L",
                                      "e",
                                      "f",
                                      "g",
                                      "u",
                                      "U",
                                      "vu",
                                      "z",
                                      "Z",
                                      "vz",
                                      "w:16",
                                      "w:0",
                                      "w:-1",
                                      "w:99999999999",
                                      "d:10,2",
                                      "d:10,2,32",
                                      "d:9,-300",
                                      "d:38,0,256",
                                      "d:,",
                                      "tdD",
                                      "tdm",
                                      "tss:",
                                      "tsu:UTC",
                                      "tsn:Europe/Berlin",
                                      "tts",
                                      "tDs",
                                      "+s",
                                      "+l",
                                      "+L",
                                      "+w:2",
                                      "+w:999999999",
                                      "+m",
                                      "+r",
                                      "+vl",
                                      "+ud:0,1",
                                      "",
                                      ":",
                                      "w:",
                                      "+w:",
                                      "\xFF",
                                      "ts",
                                      "x"};

/* The size of each buffer. It suffices for arrays of a few hundred values. */
enum { BUFFER = 16384 };
static unsigned char memory[8][BUFFER];

static void damage(struct source_column *column, int depth, struct source_column *pool, size_t *used) {
    *column = (struct source_column){.name = random_below(40) ? NULL : "x", .format = "l", .length = 4};
    column->format = random_below(60) ? formats[random_below(sizeof formats / sizeof *formats)] : NULL;
    column->length = random_below(8) ? 4 + (int64_t)random_below(4) : random_size();
    column->offset = random_below(8) ? (int64_t)random_below(4) : random_size();
    column->null_count = random_below(8) ? -1 : random_size();
    static const int64_t usual[] = {0, 1, 2, 3, 4};
    const char *format = column->format ? column->format : "";
    column->buffer_count = format[0] == 'n'                              ? 0
                           : format[0] == '+' && strchr("sw", format[1]) ? 1
                           : format[0] == 'v'                            ? 4
                           : strchr("uUzZ", format[0])                   ? 3
                                                                         : 2;
    if (!random_below(8)) column->buffer_count = usual[random_below(5)];
    for (int i = 0; i < SOURCE_BUFFERS; i++)
        column->buffers[i] = random_below(10) ? memory[random_below(8)] : NULL;
    if (depth > 3 || *used + 3 > 32) return;
    if (format[0] == '+' ? random_below(8) : !random_below(12)) {
        column->child_count = format[1] == 's' ? 2 : 1;
        if (!random_below(10)) column->child_count = (int64_t)random_below(3);
        for (int64_t i = 0; i < column->child_count; i++) {
            struct source_column *child = &pool[(*used)++];
            damage(child, depth + 1, pool, used);
            child->name = i ? "note" : "x";
            column->children[i] = child;
        }
    }
    if (format[0] && strchr("cCsSiIlL", format[0]) && !random_below(3)) {
        struct source_column *values = &pool[(*used)++];
        damage(values, depth + 1, pool, used);
        column->dictionary = values;
    }
}

static void fill_memory(void) {
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) {
        const uint64_t kind = random_below(5);
        int32_t *narrow = (int32_t *)memory[i];
        int64_t *wide = (int64_t *)memory[i];
        for (size_t at = 0; at < BUFFER; at++)
            memory[i][at] = kind < 2 ? (unsigned char)random_below(256) : kind == 4 ? 0xFF : 'a';
        /* Rising offsets, so that many arrays are valid. */
        for (size_t at = 0; kind == 2 && at < BUFFER / 4; at++)
            narrow[at] = (int32_t)(at * (BUFFER / 8) / (BUFFER / 4));
        for (size_t at = 0; kind == 3 && at < BUFFER / 8; at++)
            wide[at] = (int64_t)(at / 8);
    }
}

static bool is_large(int64_t size) { return size > 64 && size <= 1LL << 48; }

/* Whether an array claims more values than its buffers have, which the library cannot detect: the C data interface does
 * not contain the sizes of buffers, so the producer is trusted. */
static bool reads_outside(const struct source_column *column, bool is_root) {
    const char *format = column->format ? column->format : "";
    if (is_large(column->offset) || (!is_root && is_large(column->length))) return true;
    const bool narrow = !strcmp(format, "u") || !strcmp(format, "z"),
               wide = !strcmp(format, "U") || !strcmp(format, "Z");
    const unsigned char *offsets = column->buffers[1];
    for (size_t i = 0; (narrow || wide) && offsets && i < 400; i++) {
        int64_t end = 0;
        int32_t end32 = 0;
        if (narrow) memcpy(&end32, offsets + i * 4, 4), end = end32;
        if (wide) memcpy(&end, offsets + i * 8, 8);
        if (end > BUFFER) return true;
    }
    /* The sizes of the buffers of views are part of the interface. */
    for (int64_t i = 0; format[0] == 'v' && column->buffer_count == 4 && column->buffers[3] && i < 1; i++) {
        int64_t size = 0;
        memcpy(&size, column->buffers[3], 8);
        if (size > BUFFER) return true;
    }
    for (int64_t i = 0; i < column->child_count; i++)
        if (reads_outside(column->children[i], false)) return true;
    return column->dictionary && reads_outside(column->dictionary, false);
}

static void random_streams_do_not_crash(void) {
    const char *rounds_text = getenv("CORESTONE_ARROW_ROUNDS");
    const int rounds = rounds_text ? atoi(rounds_text) : 20000;
    struct company c = open_company();
    seed = 20261130;
    int inserted = 0, executed = 0;
    static const char *const targets[] = {
        "notes",           "number",  "age",          "salary",         "rating", "factor", "active",
        "hired",           "photo",   "badge",        "site",           "blob",   "speed",  "department",
        "department.name", "friends", "friends.name", "manager.number", "tasks"};
    for (int round = 0; round < rounds; round++) {
        fill_memory();
        static struct source_column pool[64];
        size_t used = 1;
        damage(&pool[0], 0, pool, &used);
        pool[0].name = targets[random_below(sizeof targets / sizeof *targets)];
        if (reads_outside(&pool[0], true)) continue;
        executed++;
        const struct source_column *columns[] = {&full_names, &pool[0]};
        struct source source = source_of(2, columns);
        source.batches[0].length = (int64_t)random_below(5);
        cst_arrow_import_options options = CST_ARROW_IMPORT_OPTIONS_INIT;
        options.flags = random_below(16);
        if (random_below(2)) {
            inserted += insert(&c, c.employee, &source, &options, NULL) == CST_OK;
            OK(cst_context_reset(c.context, E));
            continue;
        }
        struct ArrowArrayStream stream;
        cst_batch_request *request = NULL;
        source_export(&source, &stream);
        OK(cst_batch_insert_new(c.employee, &request, E));
        if (cst_batch_insert_set_arrow(request, &stream, &options, E) == CST_OK)
            inserted += cst_context_execute_batch(c.context, request, NULL, NULL, E) == CST_OK;
        OK(cst_release(request));
        CHECK_INT(0, source_live());
    }
    /* Enough of the streams were valid. */
    CHECK(inserted * 20 > executed);
    CHECK(executed * 2 > rounds);
    company_close(&c);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(insert_arrow_sets_attributes_of_new_objects);
    RUN(offsets_apply_to_batches_columns_and_children);
    RUN(nulls_are_null_and_not_defaults);
    RUN(dictionaries_and_views_are_values);
    RUN(columns_are_mapped_and_ignored);
    RUN(relationships_are_found_by_key_and_by_uri);
    RUN(relationships_refer_to_other_rows);
    RUN(upsert_arrow_updates_matches_and_inserts_the_rest);
    RUN(upsert_arrow_rejects_unsuitable_keys);
    RUN(batch_insert_reads_a_stream_once);
    RUN(batch_insert_rejects_relationships);
    RUN(batch_upserts_need_a_unique_constraint);
    RUN(progress_counts_rows_and_cancels);
    RUN(interrupt_cancels_an_import);
    RUN(failing_streams_are_reported_and_released);
    RUN(streams_are_released_by_rejected_calls);
    RUN(callbacks_cannot_invalidate_an_import);
    RUN(damaged_columns_are_rejected);
    RUN(text_must_be_valid_utf8);
    RUN(random_streams_do_not_crash);
    return check_end();
}
