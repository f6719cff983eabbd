/* Accessors: generated C functions for one property, called through their own types.
 *
 * SPDX-License-Identifier: MIT
 */
#include "company.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* The function of a kind, cast to its type. */
#define ACCESSOR(type, entity, name, kind) ((type)accessor(entity, name, kind))

static cst_function accessor(const cst_entity *entity, const char *property, uint32_t kind) {
    cst_function function = NULL;
    OK(cst_entity_accessor(entity, text(property), kind, &function, E));
    REQUIRE(function != NULL);
    return function;
}

/* Sets a value and reads it back, through pointers of the property's own type. */
#define ROUND_TRIP(T, object, name, first, second, equal)                                                              \
    do {                                                                                                               \
        T (*get_it)(const cst_object *, cst_error **) =                                                                \
            ACCESSOR(T (*)(const cst_object *, cst_error **), c.employee, name, CST_ACCESSOR_GET);                     \
        cst_status (*set_it)(cst_object *, T, cst_error **) =                                                          \
            ACCESSOR(cst_status (*)(cst_object *, T, cst_error **), c.employee, name, CST_ACCESSOR_SET);               \
        OK(set_it(object, first, E));                                                                                  \
        T got = get_it(object, E);                                                                                     \
        CHECK(equal(got, first));                                                                                      \
        OK(set_it(object, second, E));                                                                                 \
        got = get_it(object, E);                                                                                       \
        CHECK(equal(got, second));                                                                                     \
    } while (0)

#define SAME(a, b) ((a) == (b))
static bool same_text(cst_string a, cst_string b) {
    size_t size = b.size == CST_NUL ? strlen(b.data) : b.size;
    return a.size == size && memcmp(a.data, b.data, size) == 0;
}
static bool same_bytes(cst_bytes a, cst_bytes b) { return a.size == b.size && memcmp(a.data, b.data, a.size) == 0; }
static bool same_uuid(cst_uuid a, cst_uuid b) { return memcmp(a.bytes, b.bytes, 16) == 0; }
static bool same_decimal(cst_value a, cst_value b) {
    return a.type == b.type && a.aux == b.aux && a.as.decimal.mantissa[0] == b.as.decimal.mantissa[0];
}

static void accessors_round_trip_values_of_every_type(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1), *bob = company_employee(&c, c.context, "Bob", 2);
    ROUND_TRIP(int16_t, ada, "level", INT16_MIN, INT16_MAX, SAME);
    ROUND_TRIP(int32_t, ada, "floor", INT32_MIN, INT32_MAX, SAME);
    ROUND_TRIP(int64_t, ada, "number", INT64_MIN, INT64_MAX, SAME);
    ROUND_TRIP(bool, ada, "active", true, false, SAME);
    ROUND_TRIP(double, ada, "rating", -0.1, 1e300, SAME);
    ROUND_TRIP(float, ada, "factor", 0.5f, -3.25f, SAME);
    ROUND_TRIP(double, ada, "hired", 1.5, -86400.0, SAME);
    ROUND_TRIP(cst_string, ada, "notes", text("a"), text_of_size("r\xc3\xa9sum\xc3\xa9", 8), same_text);
    ROUND_TRIP(cst_string, ada, "name", text("Ada"), text("Ada L."), same_text);
    ROUND_TRIP(cst_string, ada, "site", text("https://a.example/"), text("b:c"), same_text);
    const uint8_t three[] = {0, 1, 2};
    ROUND_TRIP(cst_bytes, ada, "photo", ((cst_bytes){three, 3}), ((cst_bytes){three, 1}), same_bytes);
    ROUND_TRIP(cst_bytes, ada, "blob", check_archive(), check_archive(), same_bytes);
    ROUND_TRIP(cst_uuid, ada, "badge", (cst_uuid){{1}}, (cst_uuid){{[15] = 9}}, same_uuid);
    ROUND_TRIP(cst_value, ada, "salary", value_decimal(12345, -2, false), value_decimal(1, 9, true), same_decimal);
    ROUND_TRIP(cst_object *, ada, "manager", bob, ada, SAME);
    save(c.context);
    OK(cst_context_refresh_all(c.context, E));
    /* Faults fire, and the saved values are read. */
    CHECK(((int16_t (*)(const cst_object *, cst_error **))accessor(c.employee, "level", CST_ACCESSOR_GET))(ada, E) ==
          INT16_MAX);
    CHECK(((float (*)(const cst_object *, cst_error **))accessor(c.employee, "factor", CST_ACCESSOR_GET))(ada, E) ==
          -3.25f);
    CHECK(((cst_object * (*)(const cst_object *, cst_error **))
               accessor(c.employee, "manager", CST_ACCESSOR_GET))(ada, E) == ada);
    OK(cst_release(ada));
    OK(cst_release(bob));
    company_close(&c);
}

typedef bool (*test_fn)(const cst_object *, cst_error **);
typedef cst_status (*plain_fn)(cst_object *, cst_error **);
typedef int32_t (*get_int32_fn)(const cst_object *, cst_error **);
typedef cst_status (*set_int32_fn)(cst_object *, int32_t, cst_error **);
typedef cst_string (*get_text_fn)(const cst_object *, cst_error **);
typedef cst_status (*set_text_fn)(cst_object *, cst_string, cst_error **);
typedef cst_object *(*get_object_fn)(const cst_object *, cst_error **);
typedef cst_status (*set_object_fn)(cst_object *, cst_object *, cst_error **);

static void null_reads_as_zero_and_is_reported_by_is_null(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    get_int32_fn floor = (get_int32_fn)accessor(c.employee, "floor", CST_ACCESSOR_GET);
    test_fn is_null = (test_fn)accessor(c.employee, "floor", CST_ACCESSOR_IS_NULL);
    plain_fn set_null = (plain_fn)accessor(c.employee, "floor", CST_ACCESSOR_SET_NULL);
    set_int32_fn set_floor = (set_int32_fn)accessor(c.employee, "floor", CST_ACCESSOR_SET);
    CHECK_INT(0, floor(ada, E));
    CHECK(is_null(ada, E));
    OK(set_floor(ada, 0, E));
    CHECK(!is_null(ada, E));
    OK(set_null(ada, E));
    CHECK(is_null(ada, E));
    get_text_fn notes = (get_text_fn)accessor(c.employee, "notes", CST_ACCESSOR_GET);
    set_text_fn set_notes = (set_text_fn)accessor(c.employee, "notes", CST_ACCESSOR_SET);
    CHECK(notes(ada, E).data == NULL);
    OK(set_notes(ada, text(""), E));
    CHECK(notes(ada, E).data != NULL && notes(ada, E).size == 0);
    OK(set_notes(ada, (cst_string){NULL, 0}, E));
    CHECK(notes(ada, E).data == NULL);
    get_object_fn manager = (get_object_fn)accessor(c.employee, "manager", CST_ACCESSOR_GET);
    set_object_fn set_manager = (set_object_fn)accessor(c.employee, "manager", CST_ACCESSOR_SET);
    OK(set_manager(ada, ada, E));
    CHECK(manager(ada, E) == ada);
    OK(set_manager(ada, NULL, E));
    CHECK(manager(ada, E) == NULL);
    OK(cst_release(ada));
    company_close(&c);
}

static void to_many_accessors_change_members(void) {
    typedef cst_results *(*members_fn)(const cst_object *, cst_error **);
    typedef size_t (*count_fn)(const cst_object *, cst_error **);
    typedef bool (*contains_fn)(const cst_object *, const cst_object *, cst_error **);
    typedef cst_status (*many_fn)(cst_object *, size_t, cst_object *const *, cst_error **);
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1), *bob = company_employee(&c, c.context, "Bob", 2);
    cst_object *rnd = company_insert(&c, c.context, c.department, c.department_name, "R&D");
    count_fn count = (count_fn)accessor(c.department, "employees", CST_ACCESSOR_COUNT);
    contains_fn contains = (contains_fn)accessor(c.department, "employees", CST_ACCESSOR_CONTAINS);
    set_object_fn add = (set_object_fn)accessor(c.department, "employees", CST_ACCESSOR_ADD);
    set_object_fn drop = (set_object_fn)accessor(c.department, "employees", CST_ACCESSOR_REMOVE);
    many_fn add_many = (many_fn)accessor(c.department, "employees", CST_ACCESSOR_ADD_MANY);
    many_fn drop_many = (many_fn)accessor(c.department, "employees", CST_ACCESSOR_REMOVE_MANY);
    many_fn set_all = (many_fn)accessor(c.department, "employees", CST_ACCESSOR_SET);
    members_fn members = (members_fn)accessor(c.department, "employees", CST_ACCESSOR_GET);
    get_object_fn department = (get_object_fn)accessor(c.employee, "department", CST_ACCESSOR_GET);
    OK(add(rnd, ada, E));
    CHECK_STATUS(CST_UNCHANGED, add(rnd, ada, E));
    CHECK(department(ada, E) == rnd);
    CHECK(contains(rnd, ada, E) && !contains(rnd, bob, E));
    cst_object *both[] = {ada, bob};
    OK(add_many(rnd, 2, both, E));
    CHECK_INT(2, count(rnd, E));
    cst_results *all = members(rnd, E);
    CHECK_INT(2, cst_results_count(all));
    OK(cst_release(all));
    OK(drop(rnd, ada, E));
    CHECK(department(ada, E) == NULL);
    OK(drop_many(rnd, 2, both, E));
    CHECK_INT(0, count(rnd, E));
    OK(set_all(rnd, 2, both, E));
    OK(set_all(rnd, 0, NULL, E));
    CHECK_INT(0, count(rnd, E));
    CHECK_STATUS(CST_E_TYPE_MISMATCH, add(rnd, rnd, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, add_many(rnd, 1, NULL, E));
    OK(cst_release(ada));
    OK(cst_release(bob));
    OK(cst_release(rnd));
    company_close(&c);
}

static void expect_order(const char *expected, const struct company *c, const cst_object *project) {
    typedef cst_results *(*members_fn)(const cst_object *, cst_error **);
    cst_results *members = ((members_fn)accessor(c->project, "reviewers", CST_ACCESSOR_GET))(project, E);
    char order[32] = "";
    for (size_t i = 0; i < cst_results_count(members); i++)
        strncat(order, get_text(object_at(members, i), c->name).data, 1);
    CHECK_TEXT(expected, text_of_size(order, strlen(order)));
    OK(cst_release(members));
}

static void ordered_accessors_change_members_by_index(void) {
    typedef cst_object *(*at_fn)(const cst_object *, size_t, cst_error **);
    typedef cst_status (*at_index_fn)(cst_object *, size_t, cst_object *, cst_error **);
    typedef cst_status (*remove_at_fn)(cst_object *, size_t, cst_error **);
    typedef cst_status (*move_fn)(cst_object *, size_t, size_t, cst_error **);
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *people[4];
    for (int i = 0; i < 4; i++)
        people[i] = company_employee(&c, c.context, (char[]){(char)('a' + i), 0}, i);
    cst_object *project = company_insert(&c, c.context, c.project, c.title, "P");
    at_fn at = (at_fn)accessor(c.project, "reviewers", CST_ACCESSOR_MEMBER_AT);
    at_index_fn insert = (at_index_fn)accessor(c.project, "reviewers", CST_ACCESSOR_INSERT_AT);
    at_index_fn replace = (at_index_fn)accessor(c.project, "reviewers", CST_ACCESSOR_REPLACE_AT);
    remove_at_fn remove_at = (remove_at_fn)accessor(c.project, "reviewers", CST_ACCESSOR_REMOVE_AT);
    move_fn move = (move_fn)accessor(c.project, "reviewers", CST_ACCESSOR_MOVE);
    OK(insert(project, 0, people[1], E));
    OK(insert(project, 0, people[0], E));
    OK(insert(project, 2, people[2], E));
    expect_order("abc", &c, project);
    OK(move(project, 0, 2, E));
    expect_order("bca", &c, project);
    OK(replace(project, 1, people[3], E));
    expect_order("bda", &c, project);
    /* An existing member moves to the index, and the member that was there is removed. */
    OK(replace(project, 0, people[0], E));
    expect_order("ad", &c, project);
    OK(replace(project, 1, people[3], E));
    expect_order("ad", &c, project);
    OK(remove_at(project, 0, E));
    expect_order("d", &c, project);
    save(c.context);
    OK(cst_context_refresh_all(c.context, E));
    cst_object *only = at(project, 0, E);
    CHECK(only == people[3]);
    OK(cst_release(only));
    cst_error *error = NULL;
    CHECK(at(project, 1, &error) == NULL);
    CHECK_CONTAINS("index 1 is out of bounds of Project.reviewers, which has 1 member", cst_error_message(error));
    OK(cst_release(error));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, remove_at(project, 9, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, insert(project, SIZE_MAX, people[0], E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, move(project, 0, 1, E));
    CHECK_STATUS(CST_E_TYPE_MISMATCH, replace(project, 0, project, E));
    expect_order("d", &c, project);
    for (int i = 0; i < 4; i++)
        OK(cst_release(people[i]));
    OK(cst_release(project));
    company_close(&c);
}

static void primitive_accessors_do_not_mark_changes(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1), *bob = company_employee(&c, c.context, "Bob", 2);
    save(c.context);
    set_int32_fn set_floor = (set_int32_fn)accessor(c.employee, "floor", CST_ACCESSOR_SET_PRIMITIVE);
    get_int32_fn floor = (get_int32_fn)accessor(c.employee, "floor", CST_ACCESSOR_GET_PRIMITIVE);
    OK(set_floor(ada, 7, E));
    CHECK_INT(7, floor(ada, E));
    CHECK(!has_changes(c.context));
    CHECK_INT(0, state(ada) & CST_OBJECT_HAS_CHANGES);
    /* A to-one relationship that is set like this does not change the inverse. */
    set_object_fn set_manager = (set_object_fn)accessor(c.employee, "manager", CST_ACCESSOR_SET_PRIMITIVE);
    OK(set_manager(ada, bob, E));
    CHECK(((get_object_fn)accessor(c.employee, "manager", CST_ACCESSOR_GET))(ada, E) == bob);
    CHECK_INT(0, member_count(bob, c.reports));
    CHECK(!has_changes(c.context));
    /* A refresh discards the value; a save writes it along with a change. */
    OK(cst_object_refresh(ada, false, E));
    CHECK_INT(0, floor(ada, E));
    OK(set_floor(ada, 8, E));
    set(ada, c.number, value_int(3));
    save(c.context);
    OK(cst_object_refresh(ada, false, E));
    CHECK_INT(8, floor(ada, E));
    CHECK_STATUS(CST_E_INVALID_HANDLE, set_manager(ada, (cst_object *)"", E));
    OK(cst_release(ada));
    OK(cst_release(bob));
    company_close(&c);
}

static void a_property_has_one_accessor_of_each_kind(void) {
    struct company c = company_open(check_path("a.sqlite"));
    /* The parent's property is the child's. */
    CHECK(accessor(c.person, "name", CST_ACCESSOR_GET) == accessor(c.employee, "name", CST_ACCESSOR_GET));
    CHECK(accessor(c.employee, "floor", CST_ACCESSOR_SET) == accessor(c.employee, "floor", CST_ACCESSOR_SET));
    CHECK(accessor(c.employee, "floor", CST_ACCESSOR_GET) != accessor(c.employee, "number", CST_ACCESSOR_GET));
    CHECK(accessor(c.project, "title", CST_ACCESSOR_GET) != accessor(c.task, "title", CST_ACCESSOR_GET));
    cst_function function = NULL;
    CHECK_STATUS(CST_NOT_FOUND, cst_entity_accessor(c.employee, text("nothing"), CST_ACCESSOR_GET, &function, E));
    CHECK(function == NULL);
    const struct {
        const char *property;
        uint32_t kind;
        const char *words;
    } refused[] = {
        {"floor", 0, "is not an accessor kind"},
        {"floor", 18, "is not an accessor kind"},
        {"floor", CST_ACCESSOR_ADD,
         "Employee.floor does not have the accessor CST_ACCESSOR_ADD: the property is an attribute"},
        {"manager", CST_ACCESSOR_COUNT,
         "Employee.manager does not have the accessor CST_ACCESSOR_COUNT: the property is to-one"},
        {"friends", CST_ACCESSOR_IS_NULL,
         "Employee.friends does not have the accessor CST_ACCESSOR_IS_NULL: the property is to-many"},
        {"friends", CST_ACCESSOR_MOVE,
         "Employee.friends does not have the accessor CST_ACCESSOR_MOVE: the property is not ordered"},
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        cst_error *error = NULL;
        CHECK_INT(CST_E_INVALID_ARGUMENT,
                  cst_entity_accessor(c.employee, text(refused[i].property), refused[i].kind, &function, &error));
        CHECK_CONTAINS(refused[i].words, cst_error_message(error));
        CHECK_TEXT(refused[i].property, cst_error_key(error));
        OK(cst_release(error));
    }
    company_close(&c);
}

static void accessors_refuse_objects_without_the_property(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    cst_object *rnd = company_insert(&c, c.context, c.department, c.department_name, "R&D");
    get_int32_fn floor = (get_int32_fn)accessor(c.employee, "floor", CST_ACCESSOR_GET);
    test_fn is_null = (test_fn)accessor(c.employee, "floor", CST_ACCESSOR_IS_NULL);
    set_text_fn set_notes = (set_text_fn)accessor(c.employee, "notes", CST_ACCESSOR_SET);
    cst_error *error = NULL;
    CHECK_INT(0, floor(NULL, &error));
    CHECK_INT(CST_E_INVALID_HANDLE, cst_error_status(error));
    OK(cst_release(error));
    error = NULL;
    CHECK_INT(0, floor((const cst_object *)c.model, &error));
    CHECK_INT(CST_E_INVALID_HANDLE, cst_error_status(error));
    OK(cst_release(error));
    CHECK_INT(0, floor(NULL, NULL));
    CHECK(is_null(NULL, NULL));
    /* An object that has no such property. */
    error = NULL;
    CHECK_INT(0, floor(rnd, &error));
    CHECK_INT(CST_E_INVALID_ARGUMENT, cst_error_status(error));
    OK(cst_release(error));
    CHECK_STATUS(CST_E_INVALID_HANDLE, set_notes(NULL, text("x"), E));
    CHECK_STATUS(CST_E_INVALID_UTF8, set_notes(ada, text_of_size("\xff", 1), E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, set_notes(rnd, text("x"), E));
    OK(cst_release(ada));
    CHECK_STATUS(CST_E_INVALID_HANDLE, set_notes(ada, text("x"), E));
    OK(cst_release(rnd));
    company_close(&c);
}

/* More properties of one type than precompiled getters: libffi creates the rest. Getters of a released model are
 * reused for the next one. */
static void getters_beyond_the_precompiled_ones_work(void) {
    enum { COUNT = 600 };
    for (int round = 0; round < 3; round++) {
        cst_model *model = NULL;
        cst_entity *entity = NULL;
        cst_object *object = NULL;
        OK(cst_model_new(&model, E));
        OK(cst_model_add_entity(model, text("Wide"), &entity, E));
        char name[16];
        for (int i = 0; i < COUNT; i++) {
            snprintf(name, sizeof name, "n%d", i);
            OK(cst_entity_add_attribute(entity, text(name), CST_ATTRIBUTE_INTEGER_32, CST_PROPERTY_OPTIONAL, NULL, E));
        }
        OK(cst_model_freeze(model, E));
        OK(cst_object_new(entity, &object, E));
        for (int i = 0; i < COUNT; i++) {
            snprintf(name, sizeof name, "n%d", i);
            OK(((set_int32_fn)accessor(entity, name, CST_ACCESSOR_SET))(object, i * (round + 1), E));
        }
        for (int i = COUNT - 1; i >= 0; i--) {
            snprintf(name, sizeof name, "n%d", i);
            CHECK_INT(i * (round + 1), ((get_int32_fn)accessor(entity, name, CST_ACCESSOR_GET))(object, E));
        }
        OK(cst_release(object));
        OK(cst_release(model));
    }
}

/* Using a function after its model is released is a misuse; it returns an error. */
static void accessors_fail_after_their_model_is_released(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_model *model = NULL;
    cst_entity *entity = NULL;
    OK(cst_model_new(&model, E));
    OK(cst_model_add_entity(model, text("Gone"), &entity, E));
    OK(cst_entity_add_attribute(entity, text("n"), CST_ATTRIBUTE_INTEGER_32, 0, NULL, E));
    get_int32_fn get_n = (get_int32_fn)accessor(entity, "n", CST_ACCESSOR_GET);
    set_int32_fn set_n = (set_int32_fn)accessor(entity, "n", CST_ACCESSOR_SET);
    OK(cst_release(model));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    cst_error *error = NULL;
    CHECK_INT(0, get_n(ada, &error));
    CHECK_INT(CST_E_INVALID_ARGUMENT, cst_error_status(error));
    OK(cst_release(error));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, set_n(ada, 1, E));
    OK(cst_release(ada));
    company_close(&c);
}

/* Sets a value without notifications, and reads it back. */
#define PRIMITIVE_ROUND_TRIP(T, object, name, value, equal)                                                            \
    do {                                                                                                               \
        T (*get_it)(const cst_object *, cst_error **) =                                                                \
            ACCESSOR(T (*)(const cst_object *, cst_error **), c.employee, name, CST_ACCESSOR_GET_PRIMITIVE);           \
        cst_status (*set_it)(cst_object *, T, cst_error **) =                                                          \
            ACCESSOR(cst_status (*)(cst_object *, T, cst_error **), c.employee, name, CST_ACCESSOR_SET_PRIMITIVE);     \
        OK(set_it(object, value, E));                                                                                  \
        T got = get_it(object, E);                                                                                     \
        CHECK(equal(got, value));                                                                                      \
        CHECK(!has_changes(c.context));                                                                                \
    } while (0)

static void primitive_accessors_round_trip_values_of_every_type(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1), *bob = company_employee(&c, c.context, "Bob", 2);
    save(c.context);
    const uint8_t three[] = {0, 1, 2};
    PRIMITIVE_ROUND_TRIP(int16_t, ada, "level", INT16_MIN, SAME);
    PRIMITIVE_ROUND_TRIP(int32_t, ada, "floor", INT32_MIN, SAME);
    PRIMITIVE_ROUND_TRIP(int64_t, ada, "number", INT64_MIN, SAME);
    PRIMITIVE_ROUND_TRIP(bool, ada, "active", true, SAME);
    PRIMITIVE_ROUND_TRIP(bool, ada, "active", false, SAME);
    PRIMITIVE_ROUND_TRIP(double, ada, "rating", -0.1, SAME);
    PRIMITIVE_ROUND_TRIP(float, ada, "factor", -3.25f, SAME);
    PRIMITIVE_ROUND_TRIP(double, ada, "hired", 1.5, SAME);
    PRIMITIVE_ROUND_TRIP(cst_string, ada, "notes", text("r\xc3\xa9sum\xc3\xa9"), same_text);
    PRIMITIVE_ROUND_TRIP(cst_string, ada, "site", text("b:c"), same_text);
    PRIMITIVE_ROUND_TRIP(cst_bytes, ada, "photo", ((cst_bytes){three, 3}), same_bytes);
    PRIMITIVE_ROUND_TRIP(cst_uuid, ada, "badge", (cst_uuid){{[15] = 9}}, same_uuid);
    PRIMITIVE_ROUND_TRIP(cst_value, ada, "salary", value_decimal(12345, -2, true), same_decimal);
    PRIMITIVE_ROUND_TRIP(cst_object *, ada, "manager", bob, SAME);
    CHECK(get(ada, c.active).type == CST_BOOL && get(ada, c.hired).type == CST_DATE);
    CHECK(get(ada, c.site).type == CST_URI && get(ada, c.photo).type == CST_BYTES);
    CHECK_INT(0, member_count(bob, c.reports));
    OK(cst_release(ada));
    OK(cst_release(bob));
    company_close(&c);
}

/* Null reads as zero for each type, without an error. */
static void null_reads_as_zero_for_every_type(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    static const char *const properties[] = {"level", "floor", "number", "active", "rating", "factor", "hired",
                                             "notes", "site",  "photo",  "badge",  "salary", "blob",   "manager"};
    const cst_value given[] = {value_int(1),     value_int(1),        value_int(1),  value_bool(true),
                               value_real(1),    value_real(1),       value_date(1), value_text("x"),
                               value_uri("a:b"), value_bytes("x", 1), value_null(),  value_decimal(1, 0, false),
                               value_null(),     value_object(ada)};
    for (size_t i = 0; i < sizeof properties / sizeof *properties; i++) {
        test_fn is_null = (test_fn)accessor(c.employee, properties[i], CST_ACCESSOR_IS_NULL);
        plain_fn set_null = (plain_fn)accessor(c.employee, properties[i], CST_ACCESSOR_SET_NULL);
        OK(cst_object_set_path(ada, text(properties[i]), &given[i], E));
        CHECK_INT(given[i].type == CST_NULL, is_null(ada, E));
        OK(set_null(ada, E));
        CHECK(is_null(ada, E));
    }
#define ZERO(T, name) (((T (*)(const cst_object *, cst_error **))accessor(c.employee, name, CST_ACCESSOR_GET))(ada, E))
    CHECK(ZERO(int16_t, "level") == 0 && ZERO(int32_t, "floor") == 0 && ZERO(int64_t, "number") == 0);
    CHECK(!ZERO(bool, "active") && ZERO(double, "rating") == 0 && ZERO(float, "factor") == 0);
    CHECK(ZERO(double, "hired") == 0 && ZERO(cst_object *, "manager") == NULL);
    CHECK(ZERO(cst_string, "notes").data == NULL && ZERO(cst_string, "notes").size == 0);
    CHECK(ZERO(cst_string, "site").data == NULL && ZERO(cst_bytes, "photo").data == NULL);
    CHECK(ZERO(cst_bytes, "blob").data == NULL && ZERO(cst_value, "salary").type == CST_NULL);
    CHECK(same_uuid(ZERO(cst_uuid, "badge"), (cst_uuid){{0}}));
#undef ZERO
    CHECK(check_error() == NULL);
    OK(cst_release(ada));
    company_close(&c);
}

/* A null string or bytes set through a function is null; text with a NUL inside is whole. */
static void setters_keep_embedded_nuls_and_empty_bytes(void) {
    typedef cst_status (*set_bytes_fn)(cst_object *, cst_bytes, cst_error **);
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    set_text_fn set_notes = (set_text_fn)accessor(c.employee, "notes", CST_ACCESSOR_SET);
    set_text_fn set_site = (set_text_fn)accessor(c.employee, "site", CST_ACCESSOR_SET);
    set_bytes_fn set_photo = (set_bytes_fn)accessor(c.employee, "photo", CST_ACCESSOR_SET);
    OK(set_notes(ada, text_of_size("a\0b", 3), E));
    CHECK(get(ada, c.notes).as.string.size == 3 && memcmp(get(ada, c.notes).as.string.data, "a\0b", 4) == 0);
    OK(set_site(ada, text("a:b"), E));
    CHECK(get(ada, c.site).type == CST_URI);
    OK(set_photo(ada, (cst_bytes){(const uint8_t *)"", 0}, E));
    CHECK(get(ada, c.photo).type == CST_BYTES && get(ada, c.photo).as.bytes.size == 0);
    OK(set_photo(ada, (cst_bytes){NULL, 0}, E));
    CHECK_INT(CST_NULL, get(ada, c.photo).type);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, set_photo(ada, (cst_bytes){NULL, 1}, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, set_notes(ada, (cst_string){NULL, 1}, E));
    OK(cst_release(ada));
    company_close(&c);
}

/* To-many relationships have kinds of their own; those with an index require an ordered relationship. */
static void unsuitable_accessor_kinds_are_refused(void) {
    struct company c = company_open(check_path("a.sqlite"));
    const struct {
        const cst_entity *entity;
        const char *property;
        bool is_to_many, is_ordered;
        const char *words;
    } cases[] = {
        {c.employee, "floor", false, false,
         "an attribute; use a kind from CST_ACCESSOR_GET to CST_ACCESSOR_SET_PRIMITIVE"},
        {c.employee, "scratch", false, false, "the property is an attribute"},
        {c.employee, "manager", false, false, "to-one; use a kind from CST_ACCESSOR_GET to CST_ACCESSOR_SET_PRIMITIVE"},
        {c.employee, "friends", true, false,
         "to-many; use CST_ACCESSOR_GET, CST_ACCESSOR_SET, or a kind from CST_ACCESSOR_COUNT to "
         "CST_ACCESSOR_REMOVE_MANY"},
        {c.project, "reviewers", true, true,
         "to-many; use CST_ACCESSOR_GET, CST_ACCESSOR_SET, or a kind from CST_ACCESSOR_COUNT to CST_ACCESSOR_MOVE"},
    };
    cst_function function = NULL;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (uint32_t kind = CST_ACCESSOR_GET; kind <= CST_ACCESSOR_MOVE; kind++) {
            bool is_indexed = kind >= CST_ACCESSOR_MEMBER_AT;
            bool is_there = !cases[i].is_to_many ? kind <= CST_ACCESSOR_SET_PRIMITIVE
                            : is_indexed         ? cases[i].is_ordered
                                                 : kind <= CST_ACCESSOR_SET || kind >= CST_ACCESSOR_COUNT;
            CHECK_STATUS(is_there ? CST_OK : CST_E_INVALID_ARGUMENT,
                         cst_entity_accessor(cases[i].entity, text(cases[i].property), kind, &function, E));
            CHECK((function != NULL) == is_there);
            if (is_there) continue;
            CHECK_TEXT(cases[i].property, cst_error_key(check_error()));
            CHECK(cst_error_entity(check_error()).data != NULL);
            CHECK_CONTAINS(cases[i].is_to_many && is_indexed ? "not ordered; use CST_ACCESSOR_GET, CST_ACCESSOR_SET, "
                                                             : cases[i].words,
                           cst_error_message(check_error()));
        }
    }
    /* A fetched property and a property of another entity have no accessor. */
    CHECK_STATUS(CST_E_INVALID_ARGUMENT,
                 cst_entity_accessor(c.employee, text("namesakes"), CST_ACCESSOR_GET, &function, E));
    CHECK_TEXT("Employee.namesakes is a fetched property, which does not have accessors; read it with "
               "cst_object_copy_fetched",
               cst_error_message(check_error()));
    CHECK_STATUS(CST_NOT_FOUND, cst_entity_accessor(c.person, text("floor"), CST_ACCESSOR_GET, &function, E));
    company_close(&c);
}

/* An attribute without a type and a decimal are values; a composite attribute has no accessor. */
static void undefined_and_decimal_attributes_have_value_accessors(void) {
    typedef cst_value (*get_value_fn)(const cst_object *, cst_error **);
    typedef cst_status (*set_value_fn)(cst_object *, cst_value, cst_error **);
    cst_model *model = NULL;
    cst_entity *place = NULL;
    cst_attribute *at = NULL;
    cst_object *object = NULL;
    const uint32_t transient = CST_PROPERTY_OPTIONAL | CST_PROPERTY_TRANSIENT;
    OK(cst_model_new(&model, E));
    OK(cst_model_add_entity(model, text("Place"), &place, E));
    OK(cst_entity_add_attribute(place, text("any"), CST_ATTRIBUTE_UNDEFINED, transient, NULL, E));
    OK(cst_entity_add_attribute(place, text("cost"), CST_ATTRIBUTE_DECIMAL, CST_PROPERTY_OPTIONAL, NULL, E));
    OK(cst_entity_add_attribute(place, text("at"), CST_ATTRIBUTE_COMPOSITE, CST_PROPERTY_OPTIONAL, &at, E));
    OK(cst_attribute_add_element(at, text("x"), CST_ATTRIBUTE_DOUBLE, CST_PROPERTY_OPTIONAL, NULL, E));
    bool frozen = false;
    get_value_fn cost = (get_value_fn)accessor(place, "cost", CST_ACCESSOR_GET);
    OK(cst_model_is_frozen(model, &frozen, E));
    CHECK(frozen);
    set_value_fn set_cost = (set_value_fn)accessor(place, "cost", CST_ACCESSOR_SET);
    OK(cst_object_new(place, &object, E));
    CHECK_INT(CST_NULL, cost(object, E).type);
    OK(set_cost(object, value_int(7), E));
    CHECK_INT(CST_DECIMAL, cost(object, E).type);
    CHECK_STATUS(CST_E_TYPE_MISMATCH, set_cost(object, value_text("7"), E));
    CHECK_TEXT("cost", cst_error_key(check_error()));
    CHECK_INT(7, cost(object, E).as.decimal.mantissa[0]);
    OK(set_cost(object, value_null(), E));
    CHECK_INT(CST_NULL, cost(object, E).type);
    get_value_fn any = (get_value_fn)accessor(place, "any", CST_ACCESSOR_GET);
    set_value_fn set_any = (set_value_fn)accessor(place, "any", CST_ACCESSOR_SET);
    const cst_value given[] = {value_int(3), value_text("x"), value_real(0.5), value_bool(true)};
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        OK(set_any(object, given[i], E));
        CHECK_INT(given[i].type, any(object, E).type);
    }
    cst_function function = NULL;
    for (uint32_t kind = CST_ACCESSOR_GET; kind <= CST_ACCESSOR_SET_NULL; kind++) {
        CHECK(cst_entity_accessor(place, text("at"), kind, &function, E) < 0);
        CHECK_CONTAINS(
            "Place.at is composite and does not have accessors; read and set its elements with cst_object_get_path and "
            "cst_object_set_path",
            cst_error_message(check_error()));
        CHECK_TEXT("at", cst_error_key(check_error()));
    }
    OK(cst_release(object));
    OK(cst_release(model));
}

/* An index may be that of a member; for an insertion also the one behind the last. */
static void indexes_beyond_the_members_are_refused(void) {
    typedef cst_status (*at_index_fn)(cst_object *, size_t, cst_object *, cst_error **);
    typedef cst_status (*remove_at_fn)(cst_object *, size_t, cst_error **);
    typedef cst_status (*move_fn)(cst_object *, size_t, size_t, cst_error **);
    typedef cst_object *(*at_fn)(const cst_object *, size_t, cst_error **);
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *people[4];
    for (int i = 0; i < 4; i++)
        people[i] = company_employee(&c, c.context, (char[]){(char)('a' + i), 0}, i);
    cst_object *project = company_insert(&c, c.context, c.project, c.title, "P");
    set_object_fn add = (set_object_fn)accessor(c.project, "reviewers", CST_ACCESSOR_ADD);
    set_object_fn drop = (set_object_fn)accessor(c.project, "reviewers", CST_ACCESSOR_REMOVE);
    at_index_fn insert = (at_index_fn)accessor(c.project, "reviewers", CST_ACCESSOR_INSERT_AT);
    at_index_fn replace = (at_index_fn)accessor(c.project, "reviewers", CST_ACCESSOR_REPLACE_AT);
    remove_at_fn remove_at = (remove_at_fn)accessor(c.project, "reviewers", CST_ACCESSOR_REMOVE_AT);
    move_fn move = (move_fn)accessor(c.project, "reviewers", CST_ACCESSOR_MOVE);
    at_fn at = (at_fn)accessor(c.project, "reviewers", CST_ACCESSOR_MEMBER_AT);
    for (int i = 0; i < 3; i++)
        OK(add(project, people[i], E));
    CHECK_STATUS(CST_UNCHANGED, add(project, people[0], E));
    CHECK_STATUS(CST_UNCHANGED, drop(project, people[3], E));
    expect_order("abc", &c, project);
    static const struct {
        size_t from, to;
        const char *order;
    } moves[] = {{0, 2, "bca"}, {2, 0, "abc"}, {0, 1, "bac"}, {1, 0, "abc"},
                 {1, 1, "abc"}, {2, 1, "acb"}, {1, 2, "abc"}};
    for (size_t i = 0; i < sizeof moves / sizeof *moves; i++) {
        CHECK(move(project, moves[i].from, moves[i].to, E) >= 0);
        expect_order(moves[i].order, &c, project);
    }
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, insert(project, 4, people[3], E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, replace(project, 3, people[3], E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, remove_at(project, 3, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, move(project, 3, 0, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, move(project, 0, 3, E));
    CHECK_TEXT("Project", cst_error_entity(check_error()));
    CHECK_TEXT("reviewers", cst_error_key(check_error()));
    expect_order("abc", &c, project);
    cst_object *last = at(project, 2, E);
    CHECK(last == people[2]);
    OK(cst_release(last));
    OK(insert(project, 3, people[3], E));
    expect_order("abcd", &c, project);
    OK(replace(project, 3, people[3], E));
    OK(remove_at(project, 3, E));
    expect_order("abc", &c, project);
    OK(replace(project, 2, people[3], E));
    expect_order("abd", &c, project);
    for (int i = 0; i < 4; i++)
        OK(cst_release(people[i]));
    OK(cst_release(project));
    company_close(&c);
}

struct foreign_call {
    get_int32_fn get;
    set_int32_fn set;
    cst_object *object;
};

static void *call_from_elsewhere(void *argument) {
    const struct foreign_call *foreign_call = argument;
    cst_error *error = NULL;
    CHECK_INT(0, foreign_call->get(foreign_call->object, &error));
    CHECK_INT(CST_E_WRONG_THREAD, cst_error_status(error));
    CHECK_INT(CST_OK, cst_release(error));
    CHECK_INT(0, foreign_call->get(foreign_call->object, NULL));
    CHECK_INT(CST_E_WRONG_THREAD, foreign_call->set(foreign_call->object, 8, NULL));
    return NULL;
}

static void accessors_are_refused_outside_the_queue_of_the_object(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    struct foreign_call foreign_call = {(get_int32_fn)accessor(c.employee, "floor", CST_ACCESSOR_GET),
                                        (set_int32_fn)accessor(c.employee, "floor", CST_ACCESSOR_SET), ada};
    pthread_t thread;
    OK(foreign_call.set(ada, 7, E));
    REQUIRE(pthread_create(&thread, NULL, call_from_elsewhere, &foreign_call) == 0);
    REQUIRE(pthread_join(thread, NULL) == 0);
    CHECK_INT(7, foreign_call.get(ada, E));
    OK(cst_release(ada));
    company_close(&c);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(accessors_round_trip_values_of_every_type);
    RUN(null_reads_as_zero_and_is_reported_by_is_null);
    RUN(to_many_accessors_change_members);
    RUN(ordered_accessors_change_members_by_index);
    RUN(primitive_accessors_do_not_mark_changes);
    RUN(primitive_accessors_round_trip_values_of_every_type);
    RUN(null_reads_as_zero_for_every_type);
    RUN(setters_keep_embedded_nuls_and_empty_bytes);
    RUN(a_property_has_one_accessor_of_each_kind);
    RUN(accessors_refuse_objects_without_the_property);
    RUN(getters_beyond_the_precompiled_ones_work);
    RUN(accessors_fail_after_their_model_is_released);
    RUN(unsuitable_accessor_kinds_are_refused);
    RUN(undefined_and_decimal_attributes_have_value_accessors);
    RUN(indexes_beyond_the_members_are_refused);
    RUN(accessors_are_refused_outside_the_queue_of_the_object);
    return check_end();
}
