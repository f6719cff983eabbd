/* Arrow: streams and arrays through the C data interface, read by its own words.
 *
 * SPDX-License-Identifier: MIT
 */
#include "company.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PEOPLE = 1000 };

static struct company people(int count) {
    struct company c = company_open(check_path("company.sqlite"));
    for (int i = 0; i < count; i++) {
        char name[24];
        snprintf(name, sizeof name, "person %04d", i);
        OK(cst_release(company_employee(&c, c.context, name, i)));
    }
    save(c.context);
    return c;
}

static cst_fetch_request *by_name(const struct company *c) {
    cst_fetch_request *request = NULL;
    cst_sort order = {text("name"), 0, 0};
    OK(cst_fetch_request_new(c->employee, &request, E));
    OK(cst_fetch_request_set_sort(request, 1, &order, E));
    return request;
}

static struct ArrowArrayStream stream_of(const struct company *c, size_t batch_size, size_t count,
                                         const char *const *names) {
    cst_fetch_request *request = by_name(c);
    cst_string paths[8];
    struct ArrowArrayStream stream;
    for (size_t i = 0; i < count; i++)
        paths[i] = text(names[i]);
    OK(cst_context_fetch_arrow(c->context, request, batch_size, 0, count, paths, &stream, E));
    OK(cst_release(request)); /* read during the call only */
    return stream;
}

static const char *const name_and_number[] = {"name", "number"};

/* The text at a place of a column of format "u". */
static cst_string text_at(const struct ArrowArray *column, int64_t place) {
    const int32_t *offsets = column->buffers[1];
    return (cst_string){(const char *)column->buffers[2] + offsets[place],
                        (size_t)(offsets[place + 1] - offsets[place])};
}

/* Rows of a whole stream, which is released; checks that numbers count up from 0. */
static int64_t count_rows(struct ArrowArrayStream *stream) {
    int64_t rows = 0;
    struct ArrowArray batch;
    while (stream->get_next(stream, &batch) == 0 && batch.release) {
        const struct ArrowArray *numbers = batch.children[1];
        for (int64_t i = 0; i < batch.length; i++)
            rows += ((const int64_t *)numbers->buffers[1])[i] == rows;
        batch.release(&batch);
        if (batch.release) return -1;
    }
    stream->release(stream);
    return rows;
}

static void the_schema_lists_column_names_and_types(void) {
    struct company c = people(3);
    struct ArrowArrayStream stream = stream_of(&c, 0, 2, name_and_number);
    struct ArrowSchema schema;
    CHECK_INT(0, stream.get_schema(&stream, &schema));
    CHECK(strcmp(schema.format, "+s") == 0);
    CHECK_INT(2, schema.n_children);
    CHECK(strcmp(schema.children[0]->name, "name") == 0 && strcmp(schema.children[0]->format, "u") == 0);
    CHECK(strcmp(schema.children[1]->name, "number") == 0 && strcmp(schema.children[1]->format, "l") == 0);
    CHECK(schema.children[0]->flags & ARROW_FLAG_NULLABLE);
    CHECK(schema.children[0]->metadata != NULL && schema.dictionary == NULL);
    /* A child can be moved out before its parent is released. */
    struct ArrowSchema name = *schema.children[0];
    schema.children[0]->release = NULL;
    schema.release(&schema);
    CHECK(schema.release == NULL);
    CHECK(strcmp(name.name, "name") == 0);
    name.release(&name);
    stream.release(&stream);
    CHECK(stream.release == NULL);
    company_close(&c);
}

static void key_paths_with_collection_operators_are_columns(void) {
    struct company c = people(3);
    cst_fetch_request *request = NULL;
    cst_string paths[] = {text("name"), text("employees.@count"), text("employees.@sum.number")};
    cst_object *labs = company_insert(&c, c.context, c.department, c.department_name, "Labs");
    cst_object *person = company_employee(&c, c.context, "member", 7);
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    struct ArrowArray batch;
    set(person, c.to_department, value_object(labs));
    save(c.context);
    OK(cst_fetch_request_new(c.department, &request, E));
    OK(cst_context_fetch_arrow(c.context, request, 0, 0, 3, paths, &stream, E));
    CHECK_INT(0, stream.get_schema(&stream, &schema));
    CHECK(strcmp(schema.children[1]->name, "employees.@count") == 0 && strcmp(schema.children[1]->format, "l") == 0);
    CHECK(strcmp(schema.children[2]->format, "l") == 0);
    schema.release(&schema);
    CHECK_INT(0, stream.get_next(&stream, &batch));
    CHECK_INT(1, batch.length);
    cst_string name = text_at(batch.children[0], 0);
    CHECK(name.size == 4 && memcmp(name.data, "Labs", 4) == 0);
    CHECK_INT(1, ((const int64_t *)batch.children[1]->buffers[1])[0]);
    CHECK_INT(7, ((const int64_t *)batch.children[2]->buffers[1])[0]);
    batch.release(&batch);
    stream.release(&stream);
    paths[1] = text("employees.@sum.name");
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_fetch_arrow(c.context, request, 0, 0, 3, paths, &stream, E));
    OK(cst_release(request));
    OK(cst_release(person));
    OK(cst_release(labs));
    company_close(&c);
}

static void batches_contain_the_rows_in_order(void) {
    struct company c = people(PEOPLE);
    struct ArrowArrayStream stream = stream_of(&c, 300, 2, name_and_number);
    int64_t expected[] = {300, 300, 300, 100};
    for (size_t i = 0; i < 4; i++) {
        struct ArrowArray batch;
        CHECK_INT(0, stream.get_next(&stream, &batch));
        CHECK_INT(expected[i], batch.length);
        CHECK_INT(0, batch.offset);
        CHECK_INT(1, batch.n_buffers);
        CHECK_INT(2, batch.n_children);
        const struct ArrowArray *names = batch.children[0], *numbers = batch.children[1];
        CHECK_INT(3, names->n_buffers);
        CHECK_INT(2, numbers->n_buffers);
        CHECK_INT(0, (intptr_t)numbers->buffers[1] % 64);
        CHECK_INT(0, (intptr_t)names->buffers[2] % 64);
        CHECK_INT((int64_t)i * 300 + 7, ((const int64_t *)numbers->buffers[1])[7]);
        cst_string name = text_at(names, 0);
        char wanted[24];
        CHECK_INT(snprintf(wanted, sizeof wanted, "person %04d", (int)i * 300), name.size);
        CHECK(memcmp(name.data, wanted, name.size) == 0);
        batch.release(&batch);
    }
    struct ArrowArray end;
    CHECK_INT(0, stream.get_next(&stream, &end));
    CHECK(end.release == NULL);
    CHECK_INT(0, stream.get_next(&stream, &end));
    CHECK(end.release == NULL);
    CHECK(stream.get_last_error(&stream) == NULL);
    stream.release(&stream);
    company_close(&c);
}

static void exported_arrays_outlive_their_stream_and_context(void) {
    struct company c = people(10);
    struct ArrowArrayStream stream = stream_of(&c, 4, 2, name_and_number), moved;
    struct ArrowArray batch, number;
    CHECK_INT(0, stream.get_next(&stream, &batch));
    /* Moving is copying the struct and marking the source as released. */
    moved = stream;
    stream.release = NULL;
    number = *batch.children[1];
    batch.children[1]->release = NULL;
    batch.release(&batch);
    company_close(&c);
    CHECK_INT(3, ((const int64_t *)number.buffers[1])[3]);
    number.release(&number);
    CHECK_INT(0, moved.get_next(&moved, &batch));
    if (batch.release) batch.release(&batch);
    moved.release(&moved);
    CHECK(moved.release == NULL);
}

/* The objects are already in batches, so the stream does not need the model for anything else. */
static void a_stream_of_objects_outlives_their_model(void) {
    struct company c = people(3);
    cst_results *results = company_fetch(c.context, c.employee, NULL, "number");
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    OK(cst_results_export_arrow_stream(results, 0, 0, 0, NULL, &stream, E));
    OK(cst_release(results));
    company_close(&c);
    CHECK_INT(0, stream.get_schema(&stream, &schema));
    CHECK(schema.n_children > 2 && schema.metadata && strcmp(schema.children[0]->name, "name") == 0);
    schema.release(&schema);
    stream.release(&stream);
}

static void a_stream_does_not_include_rows_saved_later(void) {
    struct company c = people(PEOPLE);
    struct ArrowArrayStream stream = stream_of(&c, 100, 2, name_and_number);
    cst_context *other = NULL;
    OK(cst_context_new(c.coordinator, CST_QUEUE_CALLER, &other, E));
    OK(cst_release(company_employee(&c, other, "aaa", 5000)));
    save(other);
    CHECK_INT(PEOPLE, count_rows(&stream));
    OK(cst_release(other));
    company_close(&c);
}

static void streams_and_arrays_include_unsaved_objects(void) {
    struct company c = people(3);
    OK(cst_release(company_employee(&c, c.context, "person 0003", 3)));
    struct ArrowArrayStream stream = stream_of(&c, 2, 2, name_and_number);
    CHECK_INT(4, count_rows(&stream));
    cst_fetch_request *request = by_name(&c);
    cst_results *results = NULL;
    OK(cst_context_fetch(c.context, request, &results, E));
    cst_string paths[] = {text("objectID"), text("number")};
    struct ArrowSchema schema;
    struct ArrowArray array;
    OK(cst_results_export_arrow(results, CST_ARROW_KEYS, 2, paths, &schema, &array, E));
    CHECK_INT(4, array.length);
    CHECK(strcmp(schema.children[0]->format, "l") == 0);
    CHECK(((const int64_t *)array.children[0]->buffers[1])[3] < 0); /* a temporary key */
    CHECK_INT(3, ((const int64_t *)array.children[1]->buffers[1])[3]);
    schema.release(&schema);
    array.release(&array);
    OK(cst_results_export_arrow_stream(results, 3, 0, 2, (cst_string[]){text("name"), text("number")}, &stream, E));
    CHECK_INT(4, count_rows(&stream));
    OK(cst_release(results));
    OK(cst_release(request));
    company_close(&c);
}

static void aggregate_rows_are_exported(void) {
    struct company c = people(4);
    cst_expression *sum = NULL;
    OK(cst_expression_parse(text("sum:(number)"), 0, NULL, &sum, E));
    cst_column column = {text("total"), sum, CST_ATTRIBUTE_INTEGER_64, 0};
    cst_fetch_request *request = NULL;
    cst_rows *rows = NULL;
    OK(cst_fetch_request_new(c.employee, &request, E));
    OK(cst_fetch_request_set_columns(request, 1, &column, E));
    OK(cst_context_fetch_rows(c.context, request, &rows, E));
    struct ArrowSchema schema;
    struct ArrowArray array;
    struct ArrowArrayStream stream;
    OK(cst_rows_export_arrow(rows, 0, &schema, &array, E));
    CHECK_INT(1, array.length);
    CHECK(strcmp(schema.children[0]->name, "total") == 0 && strcmp(schema.children[0]->format, "l") == 0);
    CHECK_INT(6, *(const int64_t *)array.children[0]->buffers[1]);
    schema.release(&schema);
    array.release(&array);
    OK(cst_rows_export_arrow_stream(rows, 0, 0, &stream, E));
    stream.release(&stream);
    OK(cst_context_fetch_arrow(c.context, request, 0, 0, 0, NULL, &stream, E));
    CHECK_INT(0, stream.get_schema(&stream, &schema));
    CHECK(strcmp(schema.children[0]->name, "total") == 0);
    schema.release(&schema);
    stream.release(&stream);
    OK(cst_release(rows));
    OK(cst_release(sum));
    OK(cst_release(request));
    company_close(&c);
}

static void unknown_columns_and_removed_stores_are_errors(void) {
    struct company c = people(2);
    cst_fetch_request *request = by_name(&c);
    struct ArrowArrayStream stream;
    cst_string wrong = text("nmae"), right = text("name");
    cst_error *error = NULL;
    memset(&stream, 0xA5, sizeof stream);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_fetch_arrow(c.context, request, 0, 0, 1, &wrong, &stream, &error));
    CHECK(stream.release == NULL); /* so a host can release it without checking the status */
    CHECK_TEXT("nmae", cst_error_key(error));
    OK(cst_release(error));
    CHECK_STATUS(CST_E_UNSUPPORTED, cst_context_fetch_arrow(c.context, request, 0, 64, 1, &right, &stream, E));
    /* The store is removed while a stream is read. */
    OK(cst_context_fetch_arrow(c.context, request, 1, 0, 1, &right, &stream, E));
    struct ArrowArray batch;
    CHECK_INT(0, stream.get_next(&stream, &batch));
    batch.release(&batch);
    OK(cst_coordinator_remove_store(c.coordinator, c.store, E));
    CHECK(stream.get_next(&stream, &batch) != 0);
    CHECK(batch.release == NULL);
    CHECK(stream.get_last_error(&stream) != NULL);
    CHECK_INT(0, stream.get_next(&stream, &batch)); /* the end */
    CHECK(batch.release == NULL);
    stream.release(&stream);
    OK(cst_release(request));
    company_close(&c);
}

static void a_stream_is_copied_only_before_it_is_read(void) {
    struct company c = people(PEOPLE);
    struct ArrowArrayStream stream = stream_of(&c, 300, 2, name_and_number), copy, foreign = {0};
    OK(cst_arrow_stream_copy(&stream, &copy, E));
    CHECK_INT(PEOPLE, count_rows(&copy));
    CHECK_INT(PEOPLE, count_rows(&stream));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_arrow_stream_copy(&stream, &copy, E)); /* released */
    CHECK(copy.release == NULL);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_arrow_stream_copy(&foreign, &copy, E));
    stream = stream_of(&c, 300, 2, name_and_number);
    struct ArrowArray batch;
    CHECK_INT(0, stream.get_next(&stream, &batch));
    batch.release(&batch);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_arrow_stream_copy(&stream, &copy, E)); /* read */
    stream.release(&stream);
    /* For results: the batches are shared, and each consumer can move children out of its own array. */
    cst_results *all = company_fetch(c.context, c.employee, NULL, "name");
    OK(cst_results_export_arrow_stream(all, 0, 0, 2, (cst_string[]){text("name"), text("number")}, &stream, E));
    OK(cst_arrow_stream_copy(&stream, &copy, E));
    CHECK_INT(0, copy.get_next(&copy, &batch));
    struct ArrowArray numbers = *batch.children[1];
    batch.children[1]->release = NULL;
    batch.release(&batch);
    copy.release(&copy);
    CHECK_INT(PEOPLE, count_rows(&stream));
    CHECK_INT(PEOPLE - 1, ((const int64_t *)numbers.buffers[1])[PEOPLE - 1]);
    numbers.release(&numbers);
    OK(cst_release(all));
    company_close(&c);
}

static void *read_on_a_thread(void *stream) { return (void *)(intptr_t)count_rows(stream); }

static void streams_are_read_and_released_on_other_threads(void) {
    struct company c = people(PEOPLE);
    enum { THREADS = 4 };
    struct ArrowArrayStream streams[THREADS];
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        streams[i] = stream_of(&c, 64, 2, name_and_number);
    for (int i = 0; i < THREADS; i++)
        CHECK_INT(0, pthread_create(&threads[i], NULL, read_on_a_thread, &streams[i]));
    for (int i = 0; i < 20; i++) { /* the context continues to be used */
        OK(cst_release(company_employee(&c, c.context, "later", PEOPLE + i)));
        save(c.context);
    }
    for (int i = 0; i < THREADS; i++) {
        void *rows = NULL;
        pthread_join(threads[i], &rows);
        CHECK_INT(PEOPLE, (intptr_t)rows);
        CHECK(streams[i].release == NULL);
    }
    company_close(&c);
}

static void a_stream_fails_in_a_forked_child(void) {
    struct company c = people(10);
    struct ArrowArrayStream stream = stream_of(&c, 2, 2, name_and_number);
    struct ArrowArray batch, more;
    CHECK_INT(0, stream.get_next(&stream, &batch));
    pid_t child = fork();
    if (child == 0) {
        int failed = stream.get_next(&stream, &more) != 0 && !more.release && stream.get_last_error(&stream);
        batch.release(&batch);
        stream.release(&stream);
        _exit(failed && !stream.release ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    CHECK_INT(0, status);
    batch.release(&batch);
    CHECK_INT(0, stream.get_next(&stream, &batch));
    batch.release(&batch);
    stream.release(&stream);
    company_close(&c);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(the_schema_lists_column_names_and_types);
    RUN(key_paths_with_collection_operators_are_columns);
    RUN(batches_contain_the_rows_in_order);
    RUN(exported_arrays_outlive_their_stream_and_context);
    RUN(a_stream_of_objects_outlives_their_model);
    RUN(a_stream_does_not_include_rows_saved_later);
    RUN(streams_and_arrays_include_unsaved_objects);
    RUN(aggregate_rows_are_exported);
    RUN(unknown_columns_and_removed_stores_are_errors);
    RUN(a_stream_is_copied_only_before_it_is_read);
    RUN(streams_are_read_and_released_on_other_threads);
    RUN(a_stream_fails_in_a_forked_child);
    return check_end();
}
