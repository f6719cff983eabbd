/* Imports of Arrow streams, which this library exports. */
#include "growth.h"

/* Exports columns of all objects of an entity. */
static struct ArrowArrayStream export(const growth *of, const cst_entity *entity, size_t count,
                                      const cst_string *columns) {
    struct ArrowArrayStream stream;
    cst_fetch_request *request = growth_request(entity);
    MUST(cst_context_fetch_arrow(of->context, request, 0, 0, count, columns, &stream, &host_error));
    cst_release(request);
    return stream;
}

static struct ArrowArrayStream export_employees(const growth *of, size_t count) {
    const cst_string columns[] = {CST_TEXT("name"), CST_TEXT("email"), CST_TEXT("age"), CST_TEXT("salary"),
                                  CST_TEXT("department")};
    return export(of, of->employee, count, columns);
}

static void expect_count(const growth *of, const cst_entity *entity, long expected) {
    cst_fetch_request *request = growth_request(entity);
    uint64_t count;
    MUST(cst_context_count(of->context, request, &count, &host_error));
    EXPECT((long)count == expected);
    cst_release(request);
}

/* Inserts a copy of each employee, in the same department. */
static long insert_arrow(growth *of) {
    struct ArrowArrayStream stream = export_employees(of, 5);
    uint64_t inserted;
    measure_begin();
    MUST(cst_context_insert_arrow(of->context, of->employee, &stream, NULL, &inserted, &host_error));
    growth_process(of->context);
    measure_stop();
    EXPECT((long)inserted == of->count);
    return of->count;
}

static bool cancel(void *userdata, uint64_t done, uint64_t total) {
    (void)userdata, (void)done;
    return total == 0;
}

/* Inserts copies, and reverts that because the import is cancelled at its end. */
static long cancel_arrow(growth *of) {
    struct ArrowArrayStream stream = export_employees(of, 5);
    cst_arrow_import_options options = CST_ARROW_IMPORT_OPTIONS_INIT;
    options.progress = cancel;
    measure_begin();
    EXPECT(cst_context_insert_arrow(of->context, of->employee, &stream, &options, NULL, NULL) == CST_E_CANCELLED);
    measure_stop();
    expect_count(of, of->employee, of->count);
    return of->count;
}

static void save_badges(const growth *of) {
    growth_insert_badges(of, of->context);
    growth_save(of->context);
}

/* Returns the options of an import that sets the owner of each badge to its URI, by a unique key. The badges are stored and in the context. */
static cst_arrow_import_options owner_from_code(void) {
    static const cst_arrow_column mapping[] = {{{"objectID", 8}, {"owner", 5}}};
    static const cst_string keys[] = {{"code", 4}};
    cst_arrow_import_options options = CST_ARROW_IMPORT_OPTIONS_INIT;
    options.column_count = 1;
    options.columns = mapping;
    options.key_count = 1;
    options.keys = keys;
    return options;
}

static struct ArrowArrayStream export_badges(const growth *of) {
    const cst_string columns[] = {CST_TEXT("code"), CST_TEXT("objectID")};
    return export(of, of->badge, 2, columns);
}

static long upsert_arrow(growth *of) {
    save_badges(of);
    struct ArrowArrayStream stream = export_badges(of);
    const cst_arrow_import_options options = owner_from_code();
    uint64_t inserted, updated;
    measure_begin();
    MUST(cst_context_upsert_arrow(of->context, of->badge, &stream, &options, &inserted, &updated, &host_error));
    growth_process(of->context);
    measure_stop();
    EXPECT(inserted == 0 && (long)updated == of->count);
    return of->count;
}

static long execute(const growth *of, const cst_entity *entity, struct ArrowArrayStream stream,
                    const cst_arrow_import_options *options) {
    cst_batch_request *request;
    uint64_t count;
    measure_begin();
    MUST(cst_batch_insert_new(entity, &request, &host_error));
    MUST(cst_batch_insert_set_arrow(request, &stream, options, &host_error));
    MUST(cst_context_execute_batch(of->context, request, &count, NULL, &host_error));
    measure_stop();
    EXPECT((long)count == of->count);
    cst_release(request);
    return of->count;
}

static long batch_insert_arrow(growth *of) {
    const long units = execute(of, of->employee, export_employees(of, 4), NULL);
    expect_count(of, of->employee, 2 * of->count);
    return units;
}

static long batch_upsert_arrow(growth *of) {
    save_badges(of);
    cst_arrow_import_options options = owner_from_code();
    options.flags = CST_ARROW_IMPORT_UPDATE;
    const long units = execute(of, of->badge, export_badges(of), &options);
    expect_count(of, of->badge, of->count);
    return units;
}

const growth_operation arrow_operations[] = {
    {"insert_arrow", GROWTH_WRITES, insert_arrow},
    {"cancel_arrow", GROWTH_WRITES, cancel_arrow},
    {"upsert_arrow", GROWTH_EMPTY, upsert_arrow},
    {"batch_insert_arrow", GROWTH_WRITES, batch_insert_arrow},
    {"batch_upsert_arrow", GROWTH_EMPTY, batch_upsert_arrow},
    {NULL, 0, NULL},
};
