/* Results: access by index, columns, packed columns, bounds.
 *
 * SPDX-License-Identifier: MIT
 */
#include "company.h"

#include <string.h>

enum { COUNT = 5 };

static struct company people(const char *path, cst_results **results) {
    struct company c = company_open(path);
    static const char *names[] = {"a", "b\xc3\xa9", "c", "d", "e"};
    cst_object *dept = company_insert(&c, c.context, c.department, c.department_name, "R&D");
    for (int i = 0; i < COUNT; i++) {
        cst_object *person = company_employee(&c, c.context, names[i], i * 10);
        if (i != 2) set(person, c.rating, value_real(i + 0.5));
        if (i == 1) set(person, c.to_department, value_object(dept));
        if (i == 3) set(person, c.photo, value_bytes("\1\2\3", 3));
        OK(cst_release(person));
    }
    OK(cst_release(dept));
    save(c.context);
    *results = company_fetch(c.context, c.employee, NULL, "number");
    return c;
}

static void by_index(void) {
    cst_results *results = NULL;
    struct company c = people(check_path("a.sqlite"), &results);
    cst_object *object = NULL, *objects[COUNT + 3];
    size_t count = 99;
    CHECK_INT(COUNT, cst_results_count(results));
    CHECK_STATUS(CST_END, cst_results_get_object(results, COUNT, &object, E));
    CHECK_STATUS(CST_END, cst_results_get_object(results, SIZE_MAX, &object, E));
    OK(cst_results_get_objects(results, 3, COUNT, objects, &count, E));
    CHECK_INT(2, count);
    CHECK(objects[0] == object_at(results, 3) && objects[1] == object_at(results, 4));
    OK(cst_results_get_objects(results, 0, SIZE_MAX, objects, &count, E));
    CHECK_INT(COUNT, count);
    cst_status status = cst_results_get_objects(results, COUNT, 3, objects, &count, E);
    CHECK(status == CST_OK || status == CST_END);
    CHECK_INT(0, count);
    status = cst_results_get_objects(results, SIZE_MAX, SIZE_MAX, objects, &count, E);
    CHECK(status == CST_OK || status == CST_END);
    CHECK_INT(0, count);
    cst_object_id *id = NULL;
    CHECK_STATUS(CST_END, cst_results_copy_id(results, SIZE_MAX, &id, E));
    OK(cst_release(results));
    company_close(&c);
}

static void columns(void) {
    cst_results *results = NULL;
    struct company c = people(check_path("a.sqlite"), &results);
    cst_value values[COUNT + 3];
    size_t count = 0;
    OK(cst_results_get_column(results, c.number, 0, COUNT + 3, values, &count, E));
    CHECK_INT(COUNT, count);
    for (int i = 0; i < COUNT; i++)
        CHECK_INT(i * 10, values[i].as.integer);
    OK(cst_results_get_column(results, c.rating, 2, 2, values, &count, E));
    CHECK_INT(2, count);
    CHECK_INT(CST_NULL, values[0].type);
    CHECK_REAL(3.5, values[1].as.real);
    OK(cst_results_get_column_path(results, text("department.name"), 0, SIZE_MAX, values, &count, E));
    CHECK_INT(COUNT, count);
    CHECK_INT(CST_NULL, values[0].type);
    CHECK_TEXT("R&D", values[1].as.string);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_results_get_column(results, c.department_name, 0, 1, values, &count, E));
    CHECK(cst_results_get_column_path(results, text("departmnt.name"), 0, 1, values, &count, E) < 0);
    OK(cst_release(results));
    company_close(&c);
}

/* A reader of packed columns as the header describes them. */
struct reader {
    const char *at, *end;
};
static uint64_t read_word(struct reader *r) {
    uint64_t word = 0;
    REQUIRE(r->end - r->at >= 8);
    memcpy(&word, r->at, 8);
    r->at += 8;
    return word;
}
static const char *read_padded(struct reader *r, size_t size) {
    const char *part = r->at;
    size_t padded = (size + 7) / 8 * 8;
    REQUIRE((size_t)(r->end - r->at) >= padded);
    r->at += padded;
    return part;
}

static void packed_columns(void) {
    cst_results *results = NULL;
    struct company c = people(check_path("a.sqlite"), &results);
    const cst_key keys[] = {c.number, c.rating, c.name, c.photo, c.badge, c.to_department, c.salary};
    cst_buffer out = {NULL, 0, 0};
    OK(cst_results_copy_columns(results, 0, SIZE_MAX, 7, keys, &out, E));
    struct reader r = {out.data, out.data + out.size};
    CHECK_INT(COUNT, read_word(&r));
    CHECK_INT(7, read_word(&r));

    CHECK_INT(1, read_word(&r)); /* number */
    const char *present = read_padded(&r, COUNT);
    for (int i = 0; i < COUNT; i++) {
        CHECK_INT(0, present[i]);
        CHECK_INT(i * 10, read_word(&r));
    }
    CHECK_INT(2, read_word(&r)); /* rating: null in row 2 */
    present = read_padded(&r, COUNT);
    for (int i = 0; i < COUNT; i++) {
        uint64_t word = read_word(&r);
        double real;
        memcpy(&real, &word, 8);
        CHECK_INT(i == 2, present[i]);
        if (i != 2) CHECK_REAL(i + 0.5, real);
    }
    CHECK_INT(3, read_word(&r)); /* name: 7 bytes, 6 code points */
    read_padded(&r, COUNT);
    uint64_t size = read_word(&r);
    CHECK_INT(7, size);
    const uint64_t offsets[] = {0, 1, 3, 4, 5, 6}; /* in code points */
    for (int i = 0; i <= COUNT; i++)
        CHECK_INT(offsets[i], read_word(&r));
    const char *joined = read_padded(&r, size);
    CHECK(memcmp(joined,
                 "ab\xc3\xa9"
                 "cde",
                 7) == 0);
    CHECK_INT(4, read_word(&r)); /* photo: only row 3 */
    present = read_padded(&r, COUNT);
    CHECK(present[0] == 1 && present[3] == 0);
    size = read_word(&r);
    CHECK_INT(3, size);
    for (int i = 0; i <= COUNT; i++)
        CHECK_INT(i > 3 ? 3 : 0, read_word(&r));
    CHECK(memcmp(read_padded(&r, size), "\1\2\3", 3) == 0);
    CHECK_INT(5, read_word(&r)); /* badge: all null */
    present = read_padded(&r, COUNT);
    CHECK_INT(1, present[4]);
    read_padded(&r, 16 * COUNT);
    CHECK_INT(6, read_word(&r)); /* department */
    present = read_padded(&r, COUNT);
    CHECK(present[0] == 1 && present[1] == 0);
    for (int i = 0; i < COUNT; i++) {
        uint64_t primary_key = read_word(&r);
        if (i == 1) CHECK_INT(1, primary_key);
    }
    CHECK_INT(3, read_word(&r)); /* salary: decimals are text */
    read_padded(&r, COUNT);
    CHECK_INT(0, read_word(&r));
    for (int i = 0; i <= COUNT; i++)
        CHECK_INT(0, read_word(&r));
    CHECK(r.at == r.end);

    OK(cst_results_copy_columns(results, 4, 1, 1, keys, &out, E));
    r.at = out.data;
    r.end = out.data + out.size;
    CHECK_INT(1, read_word(&r));
    CHECK_INT(1, read_word(&r));
    const cst_key many[] = {c.number, c.friends};
    CHECK(cst_results_copy_columns(results, 0, COUNT, 2, many, &out, E) < 0); /* to-many: no column */
    CHECK(cst_results_copy_columns(results, 0, COUNT, 1, NULL, &out, E) == CST_E_INVALID_ARGUMENT);
    cst_buffer_dispose(&out);
    OK(cst_release(results));
    company_close(&c);
}

static void results_keep_their_objects(void) {
    cst_results *results = NULL;
    struct company c = people(check_path("a.sqlite"), &results);
    cst_object *object = object_at(results, 1);
    cst_retain(object);
    OK(cst_release(results));
    CHECK_TEXT("b\xc3\xa9", get_text(object, c.name));
    OK(cst_release(object));
    results = company_fetch(c.context, c.employee, NULL, "number");
    const cst_key name = c.name;
    company_close(&c);
    cst_object *same = object_at(results, 1); /* objects keep their context */
    CHECK_TEXT("b\xc3\xa9", get_text(same, name));
    OK(cst_release(results));
}

/* An object that was deleted since has no values in its row, and the others have theirs. */
static void rows_of_deleted_objects(void) {
    cst_results *results = NULL, *some = NULL;
    struct company c = people(check_path("a.sqlite"), &results);
    OK(cst_context_delete(c.context, object_at(results, 1), E));
    save(c.context);
    cst_value values[COUNT];
    size_t count = 0;
    OK(cst_results_get_column(results, c.number, 0, COUNT, values, &count, E));
    CHECK_INT(COUNT, count);
    CHECK_INT(CST_NULL, values[1].type);
    CHECK_INT(CST_INT, values[2].type);
    OK(cst_results_get_column_path(results, text("name"), 0, COUNT, values, &count, E));
    CHECK_INT(CST_NULL, values[1].type);
    CHECK_INT(CST_STRING, values[2].type);
    cst_buffer out = {NULL, 0, 0};
    const cst_key keys[] = {c.number, c.name};
    OK(cst_results_copy_columns(results, 0, COUNT, 2, keys, &out, E));
    const char *nulls = (const char *)out.data + 3 * 8; /* rows, columns, form */
    CHECK(nulls[0] == 0 && nulls[1] == 2 && nulls[2] == 0);
    cst_buffer_dispose(&out);
    cst_predicate *all = NULL;
    OK(cst_predicate_parse(text("number >= 0 OR number == nil"), 0, NULL, &all, E));
    OK(cst_results_copy_filtered(results, all, NULL, &some, E));
    CHECK_INT(COUNT - 1, cst_results_count(some));
    OK(cst_release(some));
    const cst_sort order = {text("number"), CST_SORT_DESCENDING, 0};
    OK(cst_results_copy_sorted(results, 1, &order, NULL, NULL, &some, E));
    CHECK_INT(COUNT, cst_results_count(some));
    OK(cst_release(some));
    CHECK_STATUS(CST_E_OBJECT_GONE, cst_object_get(object_at(results, 1), c.number, values, E));
    OK(cst_context_set_option(c.context, CST_OPTION_DELETES_INACCESSIBLE_FAULTS, 0, E));
    CHECK_STATUS(CST_E_OBJECT_GONE, cst_results_get_column(results, c.number, 0, COUNT, values, &count, E));
    CHECK_INT(133000, cst_error_code(check_error()));
    OK(cst_context_set_option(c.context, CST_OPTION_DELETES_INACCESSIBLE_FAULTS, 1, E));
    OK(cst_context_reset(c.context, E));
    CHECK_STATUS(CST_E_OBJECT_GONE, cst_results_get_column(results, c.number, 0, COUNT, values, &count, E));
    OK(cst_release(all));
    OK(cst_release(results));
    company_close(&c);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(by_index);
    RUN(columns);
    RUN(packed_columns);
    RUN(results_keep_their_objects);
    RUN(rows_of_deleted_objects);
    return check_end();
}
