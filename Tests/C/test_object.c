/* Objects: values by key, by path, many at once; committed values, state, refreshing.
 *
 * SPDX-License-Identifier: MIT
 */
#include "company.h"

#include <stdlib.h>
#include <string.h>

static void many_values_in_one_call(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    const cst_key keys[] = {c.name, c.number, c.level};
    cst_value values[] = {value_text("Bea"), value_int(5), value_int(6)}, back[3];
    OK(cst_object_set_many(ada, 3, keys, values, E));
    OK(cst_object_get_many(ada, 3, keys, back, E));
    CHECK_TEXT("Bea", back[0].as.string);
    CHECK_INT(5, back[1].as.integer);
    CHECK_INT(6, back[2].as.integer);
    OK(cst_object_get_many(ada, 0, NULL, NULL, E));
    values[0] = value_text("Cyd");
    values[2] = value_int(70000);
    CHECK_STATUS(CST_E_VALIDATION, cst_object_set_many(ada, 3, keys, values, E));
    CHECK_TEXT("level", cst_error_key(check_error()));
    CHECK_TEXT("Bea", get_text(ada, c.name)); /* all or nothing */
    OK(cst_release(ada));
    company_close(&c);
}

static void values_along_paths(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1), *bob = company_employee(&c, c.context, "Bob", 5);
    cst_object *dept = company_insert(&c, c.context, c.department, c.department_name, "R&D");
    set(ada, c.to_department, value_object(dept));
    set(bob, c.to_department, value_object(dept));
    cst_value value = value_null();
    OK(cst_object_get_path(ada, text("name"), &value, E));
    CHECK_TEXT("Ada", value.as.string);
    OK(cst_object_get_path(ada, text("department.name"), &value, E));
    CHECK_TEXT("R&D", value.as.string);
    OK(cst_object_get_path(dept, text("employees.@count"), &value, E));
    CHECK_INT(2, value.as.integer);
    OK(cst_object_get_path(dept, text("employees.@sum.number"), &value, E));
    CHECK(value.type == CST_INT      ? value.as.integer == 6
          : value.type == CST_DOUBLE ? value.as.real == 6.0
                                     : value.type == CST_DECIMAL);
    OK(cst_object_get_path(ada, text("manager.name"), &value, E));
    CHECK_INT(CST_NULL, value.type);
    value = value_text("Labs");
    OK(cst_object_set_path(ada, text("department.name"), &value, E));
    CHECK_TEXT("Labs", get_text(dept, c.department_name));
    const cst_string paths[] = {text("name"), text("department.name"), text("number")};
    cst_value values[3];
    OK(cst_object_get_paths(bob, 3, paths, values, E));
    CHECK_TEXT("Bob", values[0].as.string);
    CHECK_TEXT("Labs", values[1].as.string);
    CHECK_INT(5, values[2].as.integer);
    values[0] = value_text("Rob");
    values[1] = value_text("Shop");
    values[2] = value_int(9);
    OK(cst_object_set_paths(bob, 3, paths, values, E));
    CHECK_TEXT("Rob", get_text(bob, c.name));
    CHECK_INT(9, get_int(bob, c.number));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_object_get_path(ada, text("nme"), &value, E));
    CHECK_CONTAINS("name", cst_error_message(check_error()));
    const char *bad[] = {"", ".", "name.", ".name", "department..name", "name.length.x", "department.@nothing"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        cst_status status = cst_object_get_path(ada, text(bad[i]), &value, E);
        if (status >= 0) check_fail(__FILE__, __LINE__, "path \"%s\": %s", bad[i], check_status_name(status));
    }
    OK(cst_release(ada));
    OK(cst_release(bob));
    OK(cst_release(dept));
    company_close(&c);
}

static void keys_of_other_entities_are_refused(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *dept = company_insert(&c, c.context, c.department, c.department_name, "R&D");
    const cst_key keys[] = {c.name,
                            c.salary,
                            c.title,
                            CST_NO_KEY,
                            0,
                            1,
                            UINT32_MAX - 1,
                            c.department_name + 1,
                            c.department_name ^ 0x80000000u};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        cst_value value = value_text("x");
        bool flag;
        size_t count;
        if (keys[i] == c.employees) continue;
        CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_object_get(dept, keys[i], &value, E));
        CHECK_TEXT("Department", cst_error_entity(check_error()));
        CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_object_set(dept, keys[i], &value, E));
        CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_object_get_committed(dept, keys[i], &value, E));
        CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_object_is_changed(dept, keys[i], &flag, E));
        CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_object_member_count(dept, keys[i], &count, E));
    }
    OK(cst_release(dept));
    company_close(&c);
}

static void committed_values_are_those_of_the_store(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    cst_object *dept = company_insert(&c, c.context, c.department, c.department_name, "R&D");
    cst_value value = value_null();
    bool is_changed = false;
    OK(cst_object_get_committed(ada, c.name, &value, E));
    CHECK_INT(CST_NULL, value.type);
    set(ada, c.to_department, value_object(dept));
    save(c.context);
    set(ada, c.name, value_text("Eve"));
    OK(cst_object_get_committed(ada, c.name, &value, E));
    CHECK_TEXT("Ada", value.as.string);
    OK(cst_object_is_changed(ada, c.name, &is_changed, E));
    CHECK(is_changed);
    OK(cst_object_is_changed(ada, c.number, &is_changed, E));
    CHECK(!is_changed);
    set(ada, c.to_department, value_null());
    OK(cst_object_get_committed(ada, c.to_department, &value, E));
    CHECK_INT(CST_OBJECT_ID, value.type);
    cst_object_id *id = NULL;
    OK(cst_object_copy_id(dept, &id, E));
    CHECK(cst_object_id_equal(id, value.as.object_id));
    OK(cst_release(id));
    OK(cst_release(ada));
    OK(cst_release(dept));
    company_close(&c);
}

static void state_tells_without_firing(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    CHECK_INT(CST_OBJECT_INSERTED | CST_OBJECT_TEMPORARY_ID | CST_OBJECT_HAS_CHANGES, state(ada));
    save(c.context);
    CHECK_INT(0, state(ada));
    set(ada, c.number, value_int(2));
    CHECK_INT(CST_OBJECT_UPDATED | CST_OBJECT_HAS_CHANGES, state(ada));
    OK(cst_object_refresh(ada, false, E));
    CHECK_INT(CST_OBJECT_FAULT, state(ada));
    CHECK_INT(1, get_int(ada, c.number));
    CHECK_INT(0, state(ada));
    OK(cst_context_delete(c.context, ada, E));
    CHECK(state(ada) & CST_OBJECT_DELETED);
    save(c.context);
    OK(cst_release(ada));
    company_close(&c);
}

static void views_are_copies_of_nothing_but_stay_until_the_object_changes(void) {
    struct company c = company_open(check_path("a.sqlite"));
    char name[] = "Ada";
    cst_object *ada = company_employee(&c, c.context, name, 1);
    memset(name, 'x', 3); /* values are copied in */
    cst_string view = get_text(ada, c.name);
    cst_string other = get_text(ada, c.name);
    CHECK(view.data == other.data);
    CHECK_TEXT("Ada", view);
    OK(cst_release(ada));
    company_close(&c);
}

static void refresh_keeps_own_changes_on_request(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    save(c.context);
    cst_context *other = company_context(&c, CST_QUEUE_CALLER);
    cst_results *results = company_fetch(other, c.employee, NULL, NULL);
    set(object_at(results, 0), c.notes, value_text("from there"));
    save(other);
    set(ada, c.number, value_int(9));
    OK(cst_object_refresh(ada, true, E));
    CHECK_TEXT("from there", get_text(ada, c.notes));
    CHECK_INT(9, get_int(ada, c.number));
    CHECK(state(ada) & CST_OBJECT_UPDATED);
    OK(cst_object_refresh(ada, false, E));
    CHECK_INT(1, get_int(ada, c.number));
    CHECK(!has_changes(c.context));
    OK(cst_release(results));
    OK(cst_release(other));
    OK(cst_release(ada));
    company_close(&c);
}

static void a_transient_attribute_lives_in_memory_only(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    set(ada, c.scratch, value_text("anything"));
    CHECK_TEXT("anything", get_text(ada, c.scratch));
    save(c.context);
    OK(cst_object_refresh(ada, false, E));
    CHECK_INT(CST_NULL, get(ada, c.scratch).type);
    OK(cst_release(ada));
    company_close(&c);
}

static void entity_of_an_object(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    cst_entity *entity = NULL;
    OK(cst_object_entity(ada, &entity, E));
    CHECK(entity == c.employee);
    OK(cst_release(ada));
    company_close(&c);
}

static void long_text_and_bytes(void) {
    struct company c = company_open(check_path("a.sqlite"));
    enum { SIZE = 3 * 1024 * 1024 };
    char *big = malloc(SIZE);
    REQUIRE(big != NULL);
    memset(big, 'y', SIZE);
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    cst_value value = value_text("");
    value.as.string = text_of_size(big, SIZE);
    set(ada, c.notes, value);
    set(ada, c.photo, value_bytes(big, SIZE));
    save(c.context);
    OK(cst_object_refresh(ada, false, E));
    cst_string notes = get_text(ada, c.notes);
    CHECK(notes.size == SIZE && memcmp(notes.data, big, SIZE) == 0);
    value = get(ada, c.photo);
    CHECK(value.as.bytes.size == SIZE && memcmp(value.as.bytes.data, big, SIZE) == 0);
    free(big);
    OK(cst_release(ada));
    company_close(&c);
}

static void an_object_outside_contexts_ends_though_it_gave_itself(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *loose = NULL;
    cst_value value;
    OK(cst_object_new(c.employee, &loose, E));
    OK(cst_object_get_path(loose, text("self"), &value, E));
    CHECK(value.type == CST_OBJECT && value.as.object == loose);
    OK(cst_release(loose));
    company_close(&c);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(many_values_in_one_call);
    RUN(values_along_paths);
    RUN(keys_of_other_entities_are_refused);
    RUN(committed_values_are_those_of_the_store);
    RUN(state_tells_without_firing);
    RUN(views_are_copies_of_nothing_but_stay_until_the_object_changes);
    RUN(refresh_keeps_own_changes_on_request);
    RUN(a_transient_attribute_lives_in_memory_only);
    RUN(entity_of_an_object);
    RUN(long_text_and_bytes);
    RUN(an_object_outside_contexts_ends_though_it_gave_itself);
    return check_end();
}
