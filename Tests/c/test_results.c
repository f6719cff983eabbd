/* Results: access by index, columns, packed columns, bounds.
 *
 * SPDX-License-Identifier: MIT
 */
#include "company.h"

#include <pthread.h>
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

static void objects_are_read_by_index(void) {
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

static void columns_are_read_by_key_and_path(void) {
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
    OK(cst_results_get_column_path(results, text("friends.@count"), 0, COUNT, values, &count, E));
    for (int i = 0; i < COUNT; i++)
        CHECK(values[i].type == CST_INT && values[i].as.integer == 0);
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

static void packed_columns_have_the_documented_layout(void) {
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

static void results_keep_their_objects_alive(void) {
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
    cst_object *same = object_at(results, 1); /* objects retain their context */
    CHECK_TEXT("b\xc3\xa9", get_text(same, name));
    OK(cst_release(results));
}

/* A deleted object has null values in its row; the other rows are unchanged. */
static void columns_of_deleted_objects_are_null(void) {
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

/* A window past the end returns CST_END, an empty window returns no rows, and IDs have their own function. */
static void windows_beyond_the_results_return_end(void) {
    cst_results *results = NULL;
    struct company c = people(check_path("a.sqlite"), &results);
    cst_object *objects[COUNT] = {NULL};
    cst_value values[COUNT];
    size_t count = 99;
    const struct {
        size_t first, capacity, count;
        cst_status status;
    } cases[] = {{0, 0, 0, CST_OK},
                 {0, 1, 1, CST_OK},
                 {COUNT - 1, COUNT, 1, CST_OK},
                 {COUNT, 1, 0, CST_END},
                 {SIZE_MAX, 1, 0, CST_END},
                 {1, SIZE_MAX, COUNT - 1, CST_OK},
                 {2, COUNT - 2, COUNT - 2, CST_OK}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const size_t first = cases[i].first, room = cases[i].capacity;
        count = 99;
        CHECK_STATUS(cases[i].status, cst_results_get_objects(results, first, room, objects, &count, E));
        CHECK_INT(cases[i].count, count);
        count = 99;
        CHECK_STATUS(cases[i].status, cst_results_get_column(results, c.number, first, room, values, &count, E));
        CHECK_INT(cases[i].count, count);
        if (count) CHECK_INT(10 * first, values[0].as.integer);
        count = 99;
        CHECK_STATUS(cases[i].status,
                     cst_results_get_column_path(results, text("number"), first, room, values, &count, E));
        CHECK_INT(cases[i].count, count);
        if (count) CHECK_INT(10 * (first + count - 1), values[count - 1].as.integer);
    }
    OK(cst_results_get_objects(results, 0, 0, NULL, &count, E));
    OK(cst_results_get_column(results, c.number, 0, 0, NULL, &count, E));
    count = 99;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_results_get_objects(results, 0, 1, NULL, &count, E));
    CHECK_INT(0, count);
    CHECK_INT(0, cst_results_count(NULL));
    CHECK_INT(0, cst_results_batch_size(results));

    cst_fetch_request *fetch = company_by_number(&c);
    cst_results *ids = NULL;
    OK(cst_context_fetch_ids(c.context, fetch, &ids, E));
    CHECK_INT(COUNT, cst_results_count(ids));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_results_get_object(ids, 0, objects, E));
    CHECK_TEXT("the results are object IDs, not objects; read them with cst_results_copy_id, or fetch objects with "
               "cst_context_fetch",
               cst_error_message(check_error()));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_results_get_objects(ids, 0, 1, objects, &count, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_results_get_column(ids, c.number, 0, 1, values, &count, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_results_get_column_path(ids, text("number"), 0, 1, values, &count, E));
    cst_object_id *id = NULL, *same = NULL;
    OK(cst_results_copy_id(ids, COUNT - 1, &id, E));
    OK(cst_results_copy_id(results, COUNT - 1, &same, E));
    CHECK(cst_object_id_equal(id, same));
    CHECK(cst_object_id_hash(id) == cst_object_id_hash(same) && cst_object_id_hash(id) != 0);
    OK(cst_release(id));
    OK(cst_results_copy_id(ids, 0, &id, E));
    CHECK(!cst_object_id_equal(id, same) && !cst_object_id_equal(id, NULL) && !cst_object_id_equal(NULL, NULL));
    CHECK_INT(0, cst_object_id_hash(NULL));
    OK(cst_release(id));
    CHECK_STATUS(CST_END, cst_results_copy_id(ids, COUNT, &id, E));
    CHECK(id == NULL);
    cst_release(same), cst_release(ids), cst_release(fetch), cst_release(results);
    company_close(&c);
}

/* Truth values, dates, UUIDs, bytes and decimals of more than one row, and long text beyond ASCII. */
static void packed_columns_contain_every_form(void) {
    struct company c = company_open(check_path("a.sqlite"));
    static const char *const names[] = {"\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e 12345", "plain text of 26 letters..",
                                        "\xf0\x9f\x98\x80"};
    uint8_t badges[3][16] = {{0}};
    for (int i = 0; i < 3; i++) {
        cst_object *person = company_employee(&c, c.context, names[i], i);
        badges[i][0] = (uint8_t)(i + 1), badges[i][15] = (uint8_t)(200 + i);
        set(person, c.badge, value_uuid(badges[i]));
        set(person, c.active, value_bool(i != 1));
        set(person, c.level, value_int(-i));
        set(person, c.hired, value_date(i + 0.25));
        set(person, c.site, value_uri("a:b"));
        set(person, c.salary, value_decimal(125, -i, i == 1));
        if (i != 1) set(person, c.photo, value_bytes("12345678", 8 + (size_t)(i == 2)));
        OK(cst_release(person));
    }
    save(c.context);
    cst_results *results = company_fetch(c.context, c.employee, NULL, "number");
    const cst_key keys[] = {c.name, c.badge, c.active, c.level, c.hired, c.site, c.salary, c.photo};
    cst_buffer out = {NULL, 0, 0};
    OK(cst_results_copy_columns(results, 0, 3, 8, keys, &out, E));
    struct reader r = {out.data, out.data + out.size};
    CHECK_INT(3, read_word(&r));
    CHECK_INT(8, read_word(&r));
    CHECK_INT(3, read_word(&r)); /* name: 3 + 6 code points, 26, 1 */
    read_padded(&r, 3);
    size_t size = 15 + 26 + 4;
    CHECK_INT(size, read_word(&r));
    const uint64_t offsets[] = {0, 9, 35, 36};
    for (int i = 0; i < 4; i++)
        CHECK_INT(offsets[i], read_word(&r));
    const char *joined = read_padded(&r, size);
    CHECK(memcmp(joined, names[0], 15) == 0 && memcmp(joined + 15, names[1], 26) == 0 &&
          memcmp(joined + 41, names[2], 4) == 0);
    CHECK_INT(5, read_word(&r)); /* badge */
    const char *nulls = read_padded(&r, 3);
    for (int i = 0; i < 3; i++) {
        CHECK_INT(0, nulls[i]);
        CHECK(memcmp(read_padded(&r, 16), badges[i], 16) == 0);
    }
    CHECK_INT(1, read_word(&r)); /* active */
    read_padded(&r, 3);
    for (int i = 0; i < 3; i++)
        CHECK_INT(i != 1, read_word(&r));
    CHECK_INT(1, read_word(&r)); /* level */
    read_padded(&r, 3);
    for (int i = 0; i < 3; i++)
        CHECK_INT(-i, read_word(&r));
    CHECK_INT(2, read_word(&r)); /* hired */
    read_padded(&r, 3);
    for (int i = 0; i < 3; i++) {
        uint64_t word = read_word(&r);
        double date;
        memcpy(&date, &word, 8);
        CHECK_REAL(i + 0.25, date);
    }
    CHECK_INT(3, read_word(&r)); /* site */
    read_padded(&r, 3);
    CHECK_INT(9, read_word(&r));
    for (int i = 0; i < 4; i++)
        CHECK_INT(3 * i, read_word(&r));
    CHECK(memcmp(read_padded(&r, 9), "a:ba:ba:b", 9) == 0);
    CHECK_INT(3, read_word(&r)); /* salary: "125", "-12.5", "1.25" */
    read_padded(&r, 3);
    CHECK_INT(12, read_word(&r));
    const uint64_t digits[] = {0, 3, 8, 12};
    for (int i = 0; i < 4; i++)
        CHECK_INT(digits[i], read_word(&r));
    CHECK(memcmp(read_padded(&r, 12), "125-12.51.25", 12) == 0);
    CHECK_INT(4, read_word(&r)); /* photo */
    nulls = read_padded(&r, 3);
    CHECK(nulls[0] == 0 && nulls[1] == 1 && nulls[2] == 0);
    CHECK_INT(17, read_word(&r));
    const uint64_t places[] = {0, 8, 8, 17};
    for (int i = 0; i < 4; i++)
        CHECK_INT(places[i], read_word(&r));
    CHECK(memcmp(read_padded(&r, 17), "1234567812345678\0", 17) == 0);
    CHECK(r.at == r.end);
    CHECK_INT(0, out.data[out.size]);

    /* Beyond the end there are no rows, and the columns are empty. */
    OK(cst_results_copy_columns(results, 3, 5, 1, keys, &out, E));
    r = (struct reader){out.data, out.data + out.size};
    CHECK_INT(0, read_word(&r));
    CHECK_INT(1, read_word(&r));
    CHECK_INT(3, read_word(&r));
    CHECK_INT(0, read_word(&r));
    CHECK_INT(0, read_word(&r));
    CHECK(r.at == r.end);
    CHECK_STATUS(CST_E_TYPE_MISMATCH, cst_results_copy_columns(results, 0, 3, 1, &c.scratch, &out, E));
    CHECK_TEXT("scratch", cst_error_key(check_error()));
    CHECK_TEXT("Employee", cst_error_entity(check_error()));
    CHECK_STATUS(CST_E_TYPE_MISMATCH, cst_results_copy_columns(results, 0, 3, 1, &c.friends, &out, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_results_copy_columns(results, 0, 3, 1, &c.title, &out, E));
    CHECK_TEXT("Employee", cst_error_entity(check_error()));
    cst_buffer_dispose(&out);
    OK(cst_release(results));
    company_close(&c);
}

/* The key of a changed target, of an unsaved target, and of a removed target. */
static void packed_keys_include_unsaved_changes(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *people[3], *places[2];
    for (int i = 0; i < 2; i++)
        places[i] = company_insert(&c, c.context, c.department, c.department_name, i ? "Ops" : "R&D");
    for (int i = 0; i < 3; i++) {
        people[i] = company_employee(&c, c.context, "x", i);
        set(people[i], c.to_department, value_object(places[0]));
    }
    save(c.context);
    set(people[1], c.to_department, value_object(places[1]));
    set(people[2], c.to_department, value_null());
    cst_results *results = company_fetch(c.context, c.employee, NULL, "number");
    cst_buffer out = {NULL, 0, 0};
    OK(cst_results_copy_columns(results, 0, 3, 1, &c.to_department, &out, E));
    struct reader r = {out.data + 24, out.data + out.size};
    const char *nulls = read_padded(&r, 3);
    CHECK(nulls[0] == 0 && nulls[1] == 0 && nulls[2] == 1);
    int64_t keys[2];
    for (int i = 0; i < 2; i++) {
        cst_object_id *id = NULL;
        cst_value reference;
        OK(cst_object_copy_id(places[i], &id, E));
        OK(cst_object_id_reference(id, &reference, E));
        keys[i] = reference.as.integer;
        OK(cst_release(id));
    }
    CHECK(keys[0] != keys[1]);
    CHECK_INT(keys[0], read_word(&r));
    CHECK_INT(keys[1], read_word(&r));
    CHECK_INT(0, read_word(&r));
    cst_buffer_dispose(&out);
    OK(cst_release(results));
    for (int i = 0; i < 3; i++)
        OK(cst_release(people[i]));
    cst_release(places[0]), cst_release(places[1]);
    company_close(&c);
}

/* The employees by number, so many at a time. */
static cst_results *in_batches(const struct company *c, cst_context *context, int64_t size) {
    cst_fetch_request *request = company_by_number(c);
    cst_request_result result;
    OK(cst_fetch_request_set_option(request, CST_FETCH_BATCH_SIZE, size, E));
    OK(cst_context_execute(context, request, &result, E));
    OK(cst_release(request));
    return result.value;
}

static struct company ten_people(const char *path) {
    struct company c = company_open(path);
    for (int i = 0; i < 10; i++)
        OK(cst_release(company_employee(&c, c.context, "x", i)));
    save(c.context);
    return c;
}

static uint64_t known(const cst_context *context) {
    uint64_t count = 0;
    OK(cst_context_changed_count(context, CST_CHANGED_REGISTERED, &count, E));
    return count;
}

/* How many rows are read for a value of one object. */
static uint64_t read_for(const struct company *c, const cst_results *lazy, size_t index) {
    cst_statistics before = CST_STATISTICS_INIT, after = CST_STATISTICS_INIT;
    cst_value value;
    size_t count = 0;
    OK(cst_coordinator_statistics(c->coordinator, &before, E));
    OK(cst_results_get_column(lazy, c->number, index, 1, &value, &count, E));
    CHECK_INT(index, value.as.integer);
    OK(cst_coordinator_statistics(c->coordinator, &after, E));
    return after.faulted_rows - before.faulted_rows + after.cache_hits - before.cache_hits;
}

static void lazy_results_keep_the_four_most_recently_used_batches(void) {
    struct company c = ten_people(check_path("a.sqlite"));
    cst_context *context = company_context(&c, CST_QUEUE_CALLER);
    cst_results *lazy = in_batches(&c, context, 2);
    CHECK_INT(0, known(context));
    static const struct {
        size_t index;
        uint64_t read, known;
    } steps[] = {
        {1, 2, 2}, {0, 0, 2}, {2, 2, 4}, {4, 2, 6}, {7, 2, 8}, /* the fourth batch */
        {1, 0, 8}, {8, 2, 8},                                  /* instead of that of 2 and 3 */
        {0, 0, 8}, {5, 0, 8}, {7, 0, 8}, {3, 2, 8},            /* instead of that of 8 and 9 */
        {4, 0, 8}, {9, 2, 8}, {0, 2, 8},
    };
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        CHECK_INT(steps[i].read, read_for(&c, lazy, steps[i].index));
        CHECK_INT(steps[i].known, known(context));
    }
    OK(cst_release(lazy));
    CHECK_INT(0, known(context));
    OK(cst_release(context));
    company_close(&c);
}

/* Handles of lazy results are valid until four times the batch size of further objects have been borrowed. */
static void borrowing_one_object_repeatedly_keeps_handles_of_other_objects(void) {
    struct company c = ten_people(check_path("a.sqlite"));
    cst_context *context = company_context(&c, CST_QUEUE_CALLER);
    cst_results *lazy = in_batches(&c, context, 2);
    cst_object *kept = object_at(lazy, 0);
    for (int i = 0; i < 40; i++)
        CHECK_INT(2, get_int(object_at(lazy, 2), c.number));
    CHECK_INT(0, get_int(kept, c.number));
    CHECK(object_at(lazy, 0) == kept);
    OK(cst_release(lazy));
    OK(cst_release(context));
    company_close(&c);
}

/* Also the objects of one call that exceed four batches. */
static void retained_and_changed_objects_stay_registered(void) {
    struct company c = ten_people(check_path("a.sqlite"));
    cst_context *context = company_context(&c, CST_QUEUE_CALLER);
    cst_results *lazy = in_batches(&c, context, 2);
    cst_object *held = object_at(lazy, 0), *objects[10];
    CHECK(cst_retain(held) == held);
    set(object_at(lazy, 3), c.level, value_int(7));
    for (size_t i = 4; i < 10; i++)
        CHECK_INT(i % 2 ? 0 : 2, read_for(&c, lazy, i));
    /* Only the other object of its batch is read again. */
    CHECK_INT(1, read_for(&c, lazy, 1));
    CHECK_INT(1, read_for(&c, lazy, 2));
    CHECK(has_changes(context));
    CHECK(object_at(lazy, 0) == held);
    CHECK_INT(7, get_int(object_at(lazy, 3), c.level));
    size_t count = 0;
    OK(cst_results_get_objects(lazy, 0, 10, objects, &count, E));
    CHECK_INT(10, count);
    CHECK(objects[0] == held);
    for (size_t i = 0; i < count; i++)
        CHECK_INT(i, get_int(objects[i], c.number));
    OK(cst_release(held));
    OK(cst_context_rollback(context, E));
    OK(cst_release(lazy));
    OK(cst_release(context));
    company_close(&c);
}

static void deleted_objects(int64_t size) {
    struct company c = ten_people(check_path("a.sqlite"));
    cst_results *lazy = in_batches(&c, c.context, size), *chosen = NULL;
    cst_object_id *id = NULL, *first = NULL;
    cst_object *gone = object_at(lazy, 5);
    OK(cst_results_copy_id(lazy, 5, &id, E));
    OK(cst_context_delete(c.context, gone, E));
    save(c.context);
    cst_value values[10];
    size_t count = 0;
    OK(cst_results_get_column(lazy, c.number, 0, 10, values, &count, E));
    for (size_t i = 0; i < count; i++)
        CHECK_INT(i == 5 ? CST_NULL : CST_INT, values[i].type);
    OK(cst_results_get_column_path(lazy, text("name"), 0, 10, values, &count, E));
    for (size_t i = 0; i < count; i++)
        CHECK_INT(i == 5 ? CST_NULL : CST_STRING, values[i].type);
    cst_buffer out = {NULL, 0, 0};
    OK(cst_results_copy_columns(lazy, 0, 10, 1, &c.number, &out, E));
    for (size_t i = 0; i < 10; i++)
        CHECK_INT(i == 5 ? 2 : 0, out.data[3 * 8 + i]);
    cst_buffer_dispose(&out);
    cst_predicate *all = NULL;
    OK(cst_predicate_parse(text("number >= 0 OR number == nil"), 0, NULL, &all, E));
    OK(cst_results_copy_filtered(lazy, all, NULL, &chosen, E));
    CHECK_INT(9, cst_results_count(chosen));
    CHECK_INT(size, cst_results_batch_size(chosen));
    OK(cst_release(chosen));
    for (uint32_t descending = 0; descending < 2; descending++) {
        const cst_sort order = {text("number"), descending ? CST_SORT_DESCENDING : 0, 0};
        OK(cst_results_copy_sorted(lazy, 1, &order, NULL, NULL, &chosen, E));
        CHECK_INT(10, cst_results_count(chosen));
        OK(cst_results_copy_id(chosen, descending ? 9 : 0, &first, E));
        CHECK(cst_object_id_equal(id, first));
        OK(cst_release(first));
        CHECK_INT(descending ? 9 : 0, get_int(object_at(chosen, descending ? 0 : 1), c.number));
        OK(cst_release(chosen));
    }
    CHECK_STATUS(CST_E_OBJECT_GONE, cst_object_get(object_at(lazy, 5), c.number, values, E));
    OK(cst_context_set_option(c.context, CST_OPTION_DELETES_INACCESSIBLE_FAULTS, 0, E));
    CHECK_STATUS(CST_E_OBJECT_GONE, cst_results_get_column(lazy, c.number, 0, 10, values, &count, E));
    CHECK_INT(133000, cst_error_code(check_error()));
    CHECK_CONTAINS("at index 5 of the results", cst_error_message(check_error()));
    OK(cst_context_set_option(c.context, CST_OPTION_DELETES_INACCESSIBLE_FAULTS, 1, E));
    /* After a reset the objects of lazy results are read again. */
    OK(cst_context_reset(c.context, E));
    const cst_status status = cst_results_get_column(lazy, c.number, 6, 1, values, &count, E);
    CHECK_INT(size ? CST_OK : CST_E_OBJECT_GONE, status);
    if (size) CHECK_INT(6, values[0].as.integer);
    cst_release(lazy), cst_release(all), cst_release(id);
    company_close(&c);
}

static void results_keep_deleted_objects(void) { deleted_objects(0); }
/* The same while their batches are in memory. */
static void lazy_results_keep_deleted_objects(void) { deleted_objects(4); }

/* If a batch is read after the deletion was saved, the row does not exist: the object is a fault without a row. */
static void deleted_objects_of_unloaded_batches_are_faults_without_a_row(void) {
    struct company c = ten_people(check_path("a.sqlite"));
    cst_results *lazy = in_batches(&c, c.context, 2), *chosen = NULL;
    cst_object *gone = object_at(lazy, 5);
    CHECK(cst_retain(gone) == gone);
    OK(cst_context_delete(c.context, gone, E));
    save(c.context);
    for (size_t i = 0; i < 10; i++)
        if (i / 2 != 2) CHECK(object_at(lazy, i) != NULL);
    cst_value values[10];
    size_t count = 0;
    cst_buffer out = {NULL, 0, 0};
    OK(cst_results_copy_columns(lazy, 4, 2, 1, &c.number, &out, E));
    CHECK_INT(0, out.data[3 * 8]);
    CHECK_INT(1, out.data[3 * 8 + 1]);
    cst_buffer_dispose(&out);
    OK(cst_results_get_column(lazy, c.number, 4, 2, values, &count, E));
    CHECK_INT(2, count);
    CHECK_INT(CST_NULL, values[1].type);
    OK(cst_object_get(object_at(lazy, 5), c.number, values, E));
    CHECK_INT(CST_NULL, values[0].type);
    CHECK_STATUS(CST_E_OBJECT_GONE, cst_object_get(gone, c.number, values, E));
    cst_predicate *all = NULL;
    OK(cst_predicate_parse(text("number >= 0 OR number == nil"), 0, NULL, &all, E));
    OK(cst_results_copy_filtered(lazy, all, NULL, &chosen, E));
    CHECK_INT(10, cst_results_count(chosen));
    cst_release(chosen), cst_release(lazy), cst_release(all), cst_release(gone);
    company_close(&c);
}

struct elsewhere {
    const cst_results *results;
    cst_key key;
    cst_predicate *all;
};

/* The count, the batch size and IDs can be read on any thread; objects, values and lists only on the queue. */
static void *look_elsewhere(void *argument) {
    const struct elsewhere *look = argument;
    const cst_sort order = {text("number"), 0, 0};
    cst_results *list = NULL;
    cst_object *object = NULL;
    cst_object_id *id = NULL;
    cst_value value;
    cst_buffer out = {NULL, 0, 0};
    size_t count = 0;
    CHECK_INT(10, cst_results_count(look->results));
    CHECK(cst_results_batch_size(look->results) % 2 == 0);
    CHECK_STATUS(CST_OK, cst_results_copy_id(look->results, 9, &id, NULL));
    CHECK_STATUS(CST_OK, cst_release(id));
    CHECK_STATUS(CST_E_WRONG_THREAD, cst_results_get_object(look->results, 0, &object, NULL));
    CHECK_STATUS(CST_E_WRONG_THREAD, cst_results_get_objects(look->results, 0, 1, &object, &count, NULL));
    CHECK_STATUS(CST_E_WRONG_THREAD, cst_results_get_column(look->results, look->key, 0, 1, &value, &count, NULL));
    CHECK_STATUS(CST_E_WRONG_THREAD,
                 cst_results_get_column_path(look->results, text("number"), 0, 1, &value, &count, NULL));
    CHECK_STATUS(CST_E_WRONG_THREAD, cst_results_copy_columns(look->results, 0, 1, 1, &look->key, &out, NULL));
    CHECK_STATUS(CST_E_WRONG_THREAD, cst_results_copy_filtered(look->results, look->all, NULL, &list, NULL));
    CHECK_STATUS(CST_E_WRONG_THREAD, cst_results_copy_sorted(look->results, 1, &order, NULL, NULL, &list, NULL));
    return NULL;
}

static void counts_and_ids_of_results_are_readable_on_any_thread(void) {
    struct company c = ten_people(check_path("a.sqlite"));
    cst_predicate *all = NULL;
    OK(cst_predicate_parse(text("TRUEPREDICATE"), 0, NULL, &all, E));
    for (int64_t size = 0; size < 4; size += 2) {
        cst_results *results = in_batches(&c, c.context, size);
        struct elsewhere look = {results, c.number, all};
        pthread_t thread;
        CHECK_INT(0, pthread_create(&thread, NULL, look_elsewhere, &look));
        CHECK_INT(0, pthread_join(thread, NULL));
        OK(cst_release(results));
    }
    OK(cst_release(all));
    company_close(&c);
}

static void *look_at_unsaved(void *argument) {
    struct elsewhere *look = argument;
    cst_object_id *id = NULL;
    CHECK_STATUS(CST_E_WRONG_THREAD, cst_results_copy_id(look->results, 0, &id, NULL));
    return NULL;
}

static void *look_for_context(void *object) {
    cst_context *context = NULL;
    CHECK_STATUS(CST_OK, cst_object_context(object, &context, NULL));
    return NULL;
}

static void ids_of_unsaved_objects_are_readable_only_on_the_queue(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    cst_results *results = company_fetch(c.context, c.employee, NULL, NULL);
    struct elsewhere look = {results, c.number, NULL};
    pthread_t thread;
    CHECK_INT(0, pthread_create(&thread, NULL, look_at_unsaved, &look));
    CHECK_INT(0, pthread_join(thread, NULL));
    CHECK_INT(0, pthread_create(&thread, NULL, look_for_context, ada));
    CHECK_INT(0, pthread_join(thread, NULL));
    OK(cst_release(results));
    OK(cst_release(ada));
    company_close(&c);
}

static void errors_name_the_entity_of_an_unsuitable_key(void) {
    struct company c = ten_people(check_path("a.sqlite"));
    cst_results *results = in_batches(&c, c.context, 0);
    cst_value values[2];
    cst_buffer out = {NULL, 0, 0};
    size_t count = 7;
    const cst_key keys[] = {c.number, c.department_name};
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_results_get_column(results, keys[1], 0, 1, values, &count, E));
    CHECK_TEXT("Employee", cst_error_entity(check_error()));
    CHECK_INT(0, count);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_results_copy_columns(results, 0, 1, 2, keys, &out, E));
    CHECK_TEXT("Employee", cst_error_entity(check_error()));
    CHECK(out.size == 0);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT,
                 cst_results_get_column_path(results, text("departmnt.name"), 0, 1, values, &count, E));
    CHECK_TEXT("Employee", cst_error_entity(check_error()));
    CHECK_TEXT("departmnt", cst_error_key(check_error()));
    CHECK_TEXT("Employee has no property \"departmnt\"; did you mean \"department\"?",
               cst_error_message(check_error()));
    cst_buffer_dispose(&out);
    OK(cst_release(results));
    company_close(&c);
}

static void a_to_many_relationship_has_no_column(void) {
    struct company c = ten_people(check_path("a.sqlite"));
    cst_results *results = in_batches(&c, c.context, 0);
    cst_value value;
    cst_buffer out = {NULL, 0, 0};
    size_t count = 7;
    CHECK_STATUS(CST_E_TYPE_MISMATCH, cst_results_get_column(results, c.reviews, 0, 1, &value, &count, E));
    CHECK_TEXT("reviews", cst_error_key(check_error()));
    CHECK_STATUS(CST_E_TYPE_MISMATCH, cst_results_copy_columns(results, 0, 1, 1, &c.reviews, &out, E));
    CHECK_TEXT("reviews", cst_error_key(check_error()));
    for (int i = 0; i < 2; i++) {
        const char *path = i ? "reviews.title" : "reviews";
        CHECK_STATUS(CST_E_TYPE_MISMATCH, cst_results_get_column_path(results, text(path), 0, 1, &value, &count, E));
        CHECK_TEXT(path, cst_error_key(check_error()));
    }
    CHECK_INT(0, count);
    cst_buffer_dispose(&out);
    OK(cst_release(results));
    company_close(&c);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(objects_are_read_by_index);
    RUN(columns_are_read_by_key_and_path);
    RUN(packed_columns_have_the_documented_layout);
    RUN(results_keep_their_objects_alive);
    RUN(columns_of_deleted_objects_are_null);
    RUN(windows_beyond_the_results_return_end);
    RUN(packed_columns_contain_every_form);
    RUN(packed_keys_include_unsaved_changes);
    RUN(lazy_results_keep_the_four_most_recently_used_batches);
    RUN(borrowing_one_object_repeatedly_keeps_handles_of_other_objects);
    RUN(retained_and_changed_objects_stay_registered);
    RUN(counts_and_ids_of_results_are_readable_on_any_thread);
    RUN(ids_of_unsaved_objects_are_readable_only_on_the_queue);
    RUN(errors_name_the_entity_of_an_unsuitable_key);
    RUN(a_to_many_relationship_has_no_column);
    RUN(results_keep_deleted_objects);
    RUN(lazy_results_keep_deleted_objects);
    RUN(deleted_objects_of_unloaded_batches_are_faults_without_a_row);
    return check_end();
}
