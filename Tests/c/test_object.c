/* Objects: values by key, by path, many at once; committed values, state, refreshing.
 *
 * SPDX-License-Identifier: MIT
 */
#include "company.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static void several_values_are_read_and_set_in_one_call(void) {
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
    cst_object *dept = company_insert(&c, c.context, c.department, c.department_name, "R&D");
    const cst_key related[] = {c.name, c.to_department};
    const cst_value targets[] = {value_text("Dee"), value_object(dept)};
    OK(cst_object_set_many(ada, 2, related, targets, E));
    CHECK_TEXT("Dee", get_text(ada, c.name));
    CHECK(get(ada, c.to_department).as.object == dept);
    CHECK_INT(1, member_count(dept, c.employees));
    OK(cst_object_set_many(ada, 0, NULL, NULL, E));
    OK(cst_release(dept));
    OK(cst_release(ada));
    company_close(&c);
}

static void values_are_read_by_key_path(void) {
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
    OK(cst_object_get_path(ada, text("department"), &value, E));
    CHECK(value.type == CST_OBJECT && value.as.object == dept);
    OK(cst_object_get_path(ada, text("manager"), &value, E));
    CHECK_INT(CST_NULL, value.type);
    OK(cst_object_get_path(ada, text("objectID"), &value, E));
    CHECK_INT(CST_OBJECT_ID, value.type);
    OK(cst_object_get_path(dept, text("employees.@count"), &value, E));
    CHECK_INT(2, value.as.integer);
    OK(cst_object_get_path(dept, text("employees.@max.number"), &value, E));
    CHECK_INT(5, value.as.integer);
    OK(cst_object_get_path(ada, text("department.employees.@min.name"), &value, E));
    CHECK_TEXT("Ada", value.as.string);
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
        value = value_int(7);
        cst_status status = cst_object_get_path(ada, text(bad[i]), &value, E);
        if (status >= 0) check_fail(__FILE__, __LINE__, "path \"%s\": %s", bad[i], check_status_name(status));
        CHECK_INT(CST_NULL, value.type);
    }
    CHECK(cst_object_get_path(ada, text("department.nope"), &value, E) < 0);
    CHECK(cst_object_get_path(ada, text("@count"), &value, E) < 0);
    CHECK(cst_object_get_path(ada, text("employees.@nope.x"), &value, E) < 0);
    CHECK_STATUS(CST_E_TYPE_MISMATCH, cst_object_get_path(dept, text("employees"), &value, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_object_get_path(ada, (cst_string){NULL, 0}, &value, E));
    OK(cst_release(ada));
    OK(cst_release(bob));
    OK(cst_release(dept));
    company_close(&c);
}

static void text_computed_by_a_path_stays_valid(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1), *bob = company_employee(&c, c.context, "Bob", 2);
    cst_object *dept = company_insert(&c, c.context, c.department, c.department_name, "R&D");
    set(ada, c.to_department, value_object(dept));
    set(bob, c.to_department, value_object(dept));
    cst_value first, last, value;
    OK(cst_object_get_path(dept, text("employees.@min.name"), &first, E));
    OK(cst_object_get_path(dept, text("employees.@max.name"), &last, E));
    for (int i = 0; i < 100; i++) {
        OK(cst_object_get_path(dept, text("employees.@max.name"), &value, E));
        CHECK(value.as.string.data == last.as.string.data);
    }
    CHECK_TEXT("Ada", first.as.string);
    CHECK_TEXT("Bob", last.as.string);
    const size_t handles = cst_handle_count();
    for (int i = 0; i < 5000; i++)
        OK(cst_object_get_path(ada, text("objectID"), &value, E));
    CHECK(cst_handle_count() < handles + 10);
    OK(cst_release(ada));
    OK(cst_release(bob));
    OK(cst_release(dept));
    company_close(&c);
}

static void a_path_can_have_twenty_thousand_keys(void) {
    enum { KEYS = 20000 };
    static char path[KEYS * 8 + 5];
    for (size_t i = 0; i < KEYS; i++)
        memcpy(path + i * 8, "manager.", 8);
    memcpy(path + KEYS * 8, "name", 5);
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    const cst_string managers = text_of_size(path, KEYS * 8 - 1);
    cst_value value = value_int(7);
    OK(cst_object_get_path(ada, managers, &value, E));
    CHECK_INT(CST_NULL, value.type);
    set(ada, c.manager, value_object(ada));
    OK(cst_object_get_path(ada, managers, &value, E));
    CHECK(value.type == CST_OBJECT && value.as.object == ada);
    OK(cst_object_get_path(ada, text(path), &value, E));
    CHECK_TEXT("Ada", value.as.string);
    set(ada, c.manager, value_null());
    OK(cst_release(ada));
    company_close(&c);
}

static void errors_name_the_key_that_blocks_a_path(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    cst_object *dept = company_insert(&c, c.context, c.department, c.department_name, "R&D");
    set(ada, c.to_department, value_object(dept));
    static const char *const cases[][2] = {
        {"notes.length", ": \"notes\" does not have properties; end the path there"},
        {"name.length.x", ": \"name\" does not have properties; end the path there"},
        {"manager.manager.name", ": \"manager\" is nil; set it first"},
        {"department.employees.manager.name",
         ": \"department.employees\" is not a single object; set the property of each object"},
        {"self.name",
         ": \"self\" is not an attribute or a relationship; use only attributes and relationships in the path"},
        {"department.objectID", ": \"objectID\" is not an attribute or a relationship; end the path with one"},
    };
    cst_value value = value_text("Research");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_object_set_path(ada, text(cases[i][0]), &value, E));
        CHECK_CONTAINS(cases[i][1], cst_error_message(check_error()));
    }
    value = value_int(12);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_object_set_path(ada, text("manager.number"), &value, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_object_set_path(ada, text("nope"), &value, E));
    OK(cst_object_set_path(ada, text("number"), &value, E));
    CHECK_INT(12, get_int(ada, c.number));
    OK(cst_release(ada));
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
        CHECK_INT(CST_NULL, value.type);
        CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_object_set(dept, keys[i], &value, E));
        CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_object_get_committed(dept, keys[i], &value, E));
        CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_object_is_changed(dept, keys[i], &flag, E));
        CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_object_member_count(dept, keys[i], &count, E));
    }
    /* A to-many relationship has no value. */
    cst_value value = value_int(7);
    CHECK_STATUS(CST_E_TYPE_MISMATCH, cst_object_get(dept, c.employees, &value, E));
    CHECK_STATUS(CST_E_TYPE_MISMATCH, cst_object_set(dept, c.employees, &value, E));
    value = value_int(7);
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_object_get(NULL, c.name, &value, E));
    CHECK_INT(CST_NULL, value.type);
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
    cst_object_id *id = NULL;
    OK(cst_object_copy_id(dept, &id, E));
    for (int i = 0; i < 50; i++) {
        OK(cst_object_get_committed(ada, c.to_department, &value, E));
        CHECK_INT(CST_OBJECT_ID, value.type);
        CHECK(cst_object_id_equal(id, value.as.object_id));
    }
    OK(cst_release(id));
    CHECK_STATUS(CST_E_TYPE_MISMATCH, cst_object_get_committed(ada, c.reports, &value, E));
    save(c.context);
    OK(cst_object_get_committed(ada, c.name, &value, E));
    CHECK_TEXT("Eve", value.as.string);
    OK(cst_object_get_committed(ada, c.to_department, &value, E));
    CHECK_INT(CST_NULL, value.type);
    OK(cst_release(ada));
    OK(cst_release(dept));
    company_close(&c);
}

static void reading_the_state_does_not_fire_a_fault(void) {
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

static void values_are_copied_and_string_views_are_shared(void) {
    struct company c = company_open(check_path("a.sqlite"));
    char name[] = "Ada";
    cst_object *ada = company_employee(&c, c.context, name, 1);
    memset(name, 'x', 3); /* values are copied in */
    cst_string view = get_text(ada, c.name);
    cst_string other = get_text(ada, c.name);
    CHECK(view.data == other.data);
    cst_object *bob = company_employee(&c, c.context, "Bob", 2);
    set(bob, c.notes, value_text("other"));
    CHECK_TEXT("Ada", view);
    OK(cst_release(bob));
    OK(cst_release(ada));
    company_close(&c);
}

static void refresh_keeps_unsaved_changes_on_request(void) {
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

static void a_transient_attribute_is_not_saved(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    const cst_value values[] = {value_int(1), value_real(0.5), value_text("x"), value_bool(true),
                                value_bytes("\1\2", 2)};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        set(ada, c.scratch, values[i]);
        CHECK_INT(values[i].type, get(ada, c.scratch).type);
    }
    set(ada, c.scratch, value_text("anything"));
    CHECK_TEXT("anything", get_text(ada, c.scratch));
    save(c.context);
    OK(cst_object_refresh(ada, false, E));
    CHECK_INT(CST_NULL, get(ada, c.scratch).type);
    OK(cst_release(ada));
    company_close(&c);
}

static void an_object_returns_its_entity(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    cst_entity *entity = NULL;
    OK(cst_object_entity(ada, &entity, E));
    CHECK(entity == c.employee);
    OK(cst_release(ada));
    company_close(&c);
}

static void long_text_and_bytes_survive_a_save(void) {
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

static void an_object_without_a_context_is_freed_after_returning_itself(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *loose = NULL;
    cst_value value;
    OK(cst_object_new(c.employee, &loose, E));
    OK(cst_object_get_path(loose, text("self"), &value, E));
    CHECK(value.type == CST_OBJECT && value.as.object == loose);
    OK(cst_release(loose));
    company_close(&c);
}

static void copy_bytes_copies_only_text_and_bytes(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    set(ada, c.site, value_uri("a:b"));
    set(ada, c.photo, value_bytes("\0\1\2", 3));
    set(ada, c.notes, value_text(""));
    cst_buffer out = {0};
    OK(cst_object_copy_bytes(ada, c.name, &out, E));
    CHECK_TEXT("Ada", text_of_size(out.data, out.size));
    OK(cst_object_copy_bytes(ada, c.site, &out, E));
    CHECK_TEXT("a:b", text_of_size(out.data, out.size));
    OK(cst_object_copy_bytes(ada, c.photo, &out, E));
    CHECK(out.size == 3 && memcmp(out.data, "\0\1\2", 4) == 0);
    OK(cst_object_copy_bytes(ada, c.notes, &out, E));
    CHECK_TEXT("", text_of_size(out.data, out.size));
    OK(cst_object_copy_bytes(ada, c.name, &out, E));
    set(ada, c.notes, value_null());
    CHECK_STATUS(CST_NOT_FOUND, cst_object_copy_bytes(ada, c.notes, &out, E));
    CHECK_TEXT("", text_of_size(out.data, out.size));
    const cst_key others[] = {c.hired, c.level, c.salary, c.active, c.badge, c.to_department};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        CHECK_INT(CST_NULL, get(ada, others[i]).type);
        CHECK_STATUS(CST_E_TYPE_MISMATCH, cst_object_copy_bytes(ada, others[i], &out, E));
        CHECK_CONTAINS(" is neither a string nor binary data", cst_error_message(check_error()));
    }
    CHECK_STATUS(CST_NOT_FOUND, cst_object_copy_bytes(ada, c.scratch, &out, E));
    CHECK_STATUS(CST_NOT_FOUND, cst_object_copy_bytes(ada, c.blob, &out, E));
    CHECK_STATUS(CST_E_TYPE_MISMATCH, cst_object_copy_bytes(ada, c.number, &out, E));
    CHECK_TEXT("Employee.number is an integer (1), neither a string nor binary data; read it with "
               "cst_object_get",
               cst_error_message(check_error()));
    CHECK_TEXT("Employee", cst_error_entity(check_error()));
    CHECK_TEXT("number", cst_error_key(check_error()));
    CHECK_CONTAINS("x-coredata:///Employee/t", cst_error_object_uri(check_error()));
    cst_buffer_dispose(&out);
    OK(cst_release(ada));
    company_close(&c);
}

/* If one of several keys fails, every output value is defined, and no value is set. */
static void a_failed_set_many_sets_no_value(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1), *bob = company_employee(&c, c.context, "Bob", 2);
    set(ada, c.manager, value_object(bob));
    const cst_key keys[] = {c.name, c.title, c.number};
    cst_value values[3] = {value_int(7), value_int(7), value_int(7)};
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_object_get_many(ada, 3, keys, values, E));
    CHECK_INT(CST_NULL, values[1].type);
    CHECK_INT(CST_NULL, values[2].type);
    const cst_key good[] = {c.manager, c.name, c.number};
    OK(cst_object_get_many(ada, 3, good, values, E));
    CHECK(values[0].type == CST_OBJECT && values[0].as.object == bob);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_object_get_many(ada, 3, NULL, values, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_object_get_many(ada, 3, good, NULL, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_object_get_many(ada, SIZE_MAX, good, values, E));
    const cst_value fresh[] = {value_text("Eve"), value_text("x"), value_int(9)};
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_object_set_many(ada, 3, keys, fresh, E));
    CHECK_TEXT("Ada", get_text(ada, c.name));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_object_set_many(ada, 3, good, NULL, E));

    const cst_string paths[] = {text("name"), text("manager.name"), text("reports.@count")};
    for (int i = 0; i < 3; i++)
        values[i] = value_int(7);
    const cst_string wrong[] = {text("name"), text("nme"), text("number")};
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_object_get_paths(ada, 3, wrong, values, E));
    CHECK_INT(CST_NULL, values[2].type);
    OK(cst_object_get_paths(ada, 0, NULL, NULL, E));
    const cst_value more[] = {value_text("Eve"), value_text("Rob"), value_int(3)};
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_object_set_paths(ada, 3, paths, more, E));
    CHECK_CONTAINS("cannot set \"reports.@count\"", cst_error_message(check_error()));
    CHECK_TEXT("Employee", cst_error_entity(check_error()));
    CHECK_TEXT("reports.@count", cst_error_key(check_error()));
    cst_value refused;
    OK(cst_error_value(check_error(), &refused));
    CHECK_INT(3, refused.as.integer);
    CHECK_TEXT("Ada", get_text(ada, c.name));
    CHECK_TEXT("Bob", get_text(bob, c.name));
    OK(cst_object_set_paths(ada, 2, paths, more, E));
    CHECK_TEXT("Eve", get_text(ada, c.name));
    CHECK_TEXT("Rob", get_text(bob, c.name));
    /* A path that ends in a to-many relationship has members, which cannot be returned as a value. */
    cst_value value = value_int(7);
    CHECK_STATUS(CST_E_TYPE_MISMATCH, cst_object_get_path(bob, text("reports.name"), &value, E));
    CHECK_TEXT("reports.name", cst_error_key(check_error()));
    CHECK_INT(CST_NULL, value.type);
    OK(cst_release(ada));
    OK(cst_release(bob));
    company_close(&c);
}

static void a_failed_set_many_sets_no_relationship(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1), *gone = company_employee(&c, c.context, "Bob", 2);
    cst_object *dept = company_insert(&c, c.context, c.department, c.department_name, "R&D");
    OK(cst_release(gone));
    cst_value last[] = {value_text("nine"), value_int(9), value_text(""), value_object(dept), value_object(gone)};
    last[1].type = 99;
    last[2].as.string = text_of_size("\xff", 1);
    const cst_key keys[] = {c.name, c.to_department, c.number};
    for (size_t i = 0; i < sizeof last / sizeof *last; i++) {
        const cst_value values[] = {value_text("Eve"), value_object(dept), last[i]};
        CHECK(cst_object_set_many(ada, 3, keys, values, E) < 0);
        CHECK_TEXT("Ada", get_text(ada, c.name));
        CHECK_INT(1, get_int(ada, c.number));
        CHECK_INT(CST_NULL, get(ada, c.to_department).type);
        CHECK_INT(0, member_count(dept, c.employees));
    }
    OK(cst_release(ada));
    OK(cst_release(dept));
    company_close(&c);
}

/* Column `name` of the only row of an object's values; the type is UINT32_MAX if there is no such column. Owned. */
static cst_value value_of(const cst_object *object, uint32_t which, size_t count, const cst_key *keys, const char *name,
                          size_t *out_columns) {
    cst_rows *rows = NULL;
    cst_value values[64], found = {UINT32_MAX, 0, {0}};
    OK(cst_object_copy_values(object, which, count, keys, &rows, E));
    CHECK_INT(1, cst_rows_count(rows));
    const size_t columns = cst_rows_column_count(rows);
    OK(cst_rows_copy_values(rows, 0, 1, values, E));
    for (size_t i = 0; i < columns; i++) {
        if (i > 0) CHECK(strcmp(cst_rows_column_name(rows, i - 1).data, cst_rows_column_name(rows, i).data) < 0);
        if (strcmp(cst_rows_column_name(rows, i).data, name) == 0)
            found = values[i];
        else
            cst_value_dispose(&values[i]);
    }
    *out_columns = columns;
    OK(cst_release(rows));
    return found;
}

static void copy_values_returns_only_the_requested_values(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1), *bob = company_employee(&c, c.context, "Bob", 2);
    save(c.context);
    set(ada, c.number, value_int(5));
    set(ada, c.manager, value_object(bob));
    set(ada, c.scratch, value_int(1));
    size_t columns = 0;
    cst_value value = value_of(ada, CST_VALUES_CHANGED, 0, NULL, "number", &columns);
    CHECK_INT(2, columns); /* without transient values */
    CHECK_INT(5, value.as.integer);
    value = value_of(ada, CST_VALUES_CHANGED, 0, NULL, "manager", &columns);
    cst_object_id *id = NULL;
    OK(cst_object_copy_id(bob, &id, E));
    REQUIRE(value.type == CST_OBJECT_ID);
    CHECK(cst_object_id_equal(id, value.as.object_id));
    cst_value_dispose(&value);
    const cst_key keys[] = {c.number, c.name};
    value = value_of(ada, CST_VALUES_CHANGED, 2, keys, "number", &columns);
    CHECK_INT(1, columns); /* the name did not change */
    value = value_of(ada, CST_VALUES_BEFORE_EVENT, 0, NULL, "number", &columns);
    CHECK_INT(1, value.as.integer);
    value = value_of(ada, CST_VALUES_COMMITTED, 2, keys, "number", &columns);
    CHECK_INT(2, columns);
    CHECK_INT(1, value.as.integer);
    value = value_of(ada, CST_VALUES_COMMITTED, 1, &c.manager, "manager", &columns);
    CHECK_INT(CST_NULL, value.type);
    OK(cst_context_process_pending_changes(c.context, E));
    value = value_of(ada, CST_VALUES_BEFORE_EVENT, 0, NULL, "number", &columns);
    CHECK_INT(0, columns);
    value = value_of(ada, CST_VALUES_CHANGED, 0, NULL, "number", &columns);
    CHECK_INT(5, value.as.integer);
    /* The members of the inverse relationship are null until they are loaded, then an array of IDs. */
    value = value_of(bob, CST_VALUES_CHANGED, 0, NULL, "reports", &columns);
    CHECK_INT(CST_NULL, value.type);
    CHECK_INT(1, columns);
    CHECK_INT(1, member_count(bob, c.reports));
    value = value_of(bob, CST_VALUES_CHANGED, 0, NULL, "reports", &columns);
    REQUIRE(value.type == CST_ARRAY);
    CHECK_INT(1, value.as.values.size);
    CHECK_INT(CST_OBJECT_ID, value.as.values.data[0].type);
    cst_value_dispose(&value);
    cst_rows *rows = NULL;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_object_copy_values(ada, 0, 0, NULL, &rows, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_object_copy_values(ada, 4, 0, NULL, &rows, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_object_copy_values(ada, CST_VALUES_CHANGED, 1, &c.title, &rows, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_object_copy_values(ada, CST_VALUES_CHANGED, 1, NULL, &rows, E));
    CHECK(rows == NULL);
    cst_release(id), cst_release(ada), cst_release(bob);
    OK(cst_context_rollback(c.context, E));
    company_close(&c);
}

static void primitive_access_does_not_fire_faults(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1), *bob = company_employee(&c, c.context, "Bob", 2);
    set(ada, c.manager, value_object(bob));
    OK(cst_object_add_member(ada, c.friends, bob, E));
    save(c.context);
    OK(cst_object_refresh(ada, false, E));
    cst_value value = value_int(7);
    cst_results *members = NULL;
    bool fault = false;
    OK(cst_object_get_primitive(ada, c.number, &value, E));
    CHECK_INT(CST_NULL, value.type);
    CHECK_STATUS(CST_NOT_FOUND, cst_object_copy_primitive_members(ada, c.friends, &members, E));
    CHECK(members == NULL);
    CHECK(state(ada) & CST_OBJECT_FAULT);
    OK(cst_object_has_relationship_fault(ada, c.friends, &fault, E));
    CHECK(fault);
    CHECK(state(ada) & CST_OBJECT_FAULT);
    OK(cst_object_will_access(ada, CST_NO_KEY, E)); /* the whole object */
    OK(cst_object_get_primitive(ada, c.number, &value, E));
    CHECK_INT(1, value.as.integer);
    OK(cst_object_did_access(ada, CST_NO_KEY, E));
    OK(cst_object_get_primitive(ada, c.manager, &value, E));
    CHECK(value.type == CST_OBJECT && value.as.object == bob);
    CHECK_STATUS(CST_NOT_FOUND, cst_object_copy_primitive_members(ada, c.friends, &members, E));
    OK(cst_object_will_access(ada, c.friends, E));
    OK(cst_object_copy_primitive_members(ada, c.friends, &members, E));
    CHECK_INT(1, cst_results_count(members));
    CHECK(object_at(members, 0) == bob);
    OK(cst_object_has_relationship_fault(ada, c.friends, &fault, E));
    CHECK(!fault);
    OK(cst_release(members));
    cst_results *ids = NULL;
    OK(cst_object_copy_related_ids(ada, c.friends, &ids, E));
    CHECK_INT(1, cst_results_count(ids));
    OK(cst_release(ids));
    OK(cst_object_copy_related_ids(bob, c.manager, &ids, E));
    CHECK_INT(0, cst_results_count(ids));
    OK(cst_release(ids));
    cst_object *const none[] = {ada};
    const uint32_t kinds[] = {0, 5, UINT32_MAX};
    for (size_t i = 0; i < 3; i++) {
        CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_object_will_change_members(ada, c.friends, kinds[i], 1, none, E));
        CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_object_did_change_members(ada, c.friends, kinds[i], 1, none, E));
    }
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_object_did_change(ada, c.number, E)); /* a second without a first */
    CHECK(!has_changes(c.context));
    OK(cst_release(ada));
    OK(cst_release(bob));
    company_close(&c);
}

static void any_nonzero_byte_is_a_true_boolean(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    cst_value value = value_bool(false);
    memset(&value.as, 0, sizeof value.as);
    *(unsigned char *)&value.as = 2;
    set(ada, c.active, value);
    CHECK(get(ada, c.active).as.boolean);
    set(ada, c.level, value);
    CHECK_INT(1, get_int(ada, c.level));
    *(unsigned char *)&value.as = 0;
    set(ada, c.active, value);
    const cst_value none = get(ada, c.active);
    CHECK(memcmp(&none.as, &value.as, sizeof none.as) == 0); /* every byte is 0 */
    CHECK(get(ada, c.active).type == CST_BOOL && !get(ada, c.active).as.boolean);
    /* Bytes without data are null, empty text is not; a size without data is refused. */
    set(ada, c.photo, value_bytes(NULL, 0));
    CHECK_INT(CST_NULL, get(ada, c.photo).type);
    set(ada, c.photo, value_bytes("", 0));
    CHECK(get(ada, c.photo).type == CST_BYTES && get(ada, c.photo).as.bytes.size == 0);
    value = value_bytes(NULL, 3);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_object_set(ada, c.photo, &value, E));
    value = value_text(NULL);
    value.as.string.size = 3;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_object_set(ada, c.notes, &value, E));
    value.as.string.size = CST_NUL;
    set(ada, c.notes, value);
    CHECK_INT(CST_NULL, get(ada, c.notes).type);
    value = value_uri("a:b");
    value.as.string = (cst_string){NULL, 0};
    set(ada, c.site, value);
    CHECK_INT(CST_NULL, get(ada, c.site).type);
    value = value_bytes("x", (size_t)INT32_MAX);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_object_set(ada, c.photo, &value, E));
    value = value_decimal(1, 0, false);
    value.aux = 0x200;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_object_set(ada, c.salary, &value, E));
    CHECK_CONTAINS("set it with CST_DECIMAL_AUX", cst_error_message(check_error()));
    const uint32_t kept[] = {CST_ARRAY, CST_DEFAULT, CST_EXPRESSION};
    for (size_t i = 0; i < 3; i++) {
        value = (cst_value){kept[i], 0, {0}};
        CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_object_set(ada, c.number, &value, E));
    }
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_object_set(ada, c.number, NULL, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_object_set_primitive(ada, c.number, NULL, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_object_set_path(ada, text("number"), NULL, E));
    CHECK_INT(1, get_int(ada, c.number));
    OK(cst_release(ada));
    company_close(&c);
}

struct loose {
    cst_object *object;
    cst_results *members;
    cst_key name;
};

static void *use_elsewhere(void *argument) {
    struct loose *loose = argument;
    cst_value value = value_text("x");
    cst_object *member = NULL;
    uint32_t flags = 0;
    CHECK_STATUS(CST_E_WRONG_THREAD, cst_object_set(loose->object, loose->name, &value, NULL));
    CHECK_STATUS(CST_E_WRONG_THREAD, cst_object_get(loose->object, loose->name, &value, NULL));
    CHECK_STATUS(CST_E_WRONG_THREAD, cst_object_state(loose->object, &flags, NULL));
    CHECK_STATUS(CST_E_WRONG_THREAD, cst_results_get_object(loose->members, 0, &member, NULL));
    return NULL;
}

static void *release_elsewhere(void *handle) {
    CHECK_STATUS(CST_OK, cst_release(handle));
    return NULL;
}

static void an_object_without_a_context_is_confined_to_its_thread(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = NULL, *bob = NULL, *draft = NULL;
    cst_results *members = NULL;
    pthread_t thread;
    OK(cst_object_new(c.employee, &ada, E));
    OK(cst_object_new(c.employee, &bob, E));
    set(ada, c.name, value_text("Ada"));
    OK(cst_object_add_member(ada, c.friends, bob, E));
    CHECK_INT(1, member_count(bob, c.friends));
    OK(cst_object_copy_members(ada, c.friends, &members, E));
    CHECK(object_at(members, 0) == bob);
    struct loose loose = {ada, members, c.name};
    REQUIRE(pthread_create(&thread, NULL, use_elsewhere, &loose) == 0);
    REQUIRE(pthread_join(thread, NULL) == 0);
    CHECK_TEXT("Ada", get_text(ada, c.name));
    /* Without a context, a cycle of objects would never be freed. */
    OK(cst_object_remove_member(ada, c.friends, bob, E));
    OK(cst_release(members));
    OK(cst_release(ada));
    OK(cst_release(bob));

    OK(cst_object_new(c.employee, &draft, E));
    REQUIRE(pthread_create(&thread, NULL, release_elsewhere, draft) == 0);
    REQUIRE(pthread_join(thread, NULL) == 0);
    cst_value value;
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_object_get(draft, c.name, &value, E));
    company_close(&c);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(several_values_are_read_and_set_in_one_call);
    RUN(values_are_read_by_key_path);
    RUN(text_computed_by_a_path_stays_valid);
    RUN(a_path_can_have_twenty_thousand_keys);
    RUN(errors_name_the_key_that_blocks_a_path);
    RUN(keys_of_other_entities_are_refused);
    RUN(committed_values_are_those_of_the_store);
    RUN(reading_the_state_does_not_fire_a_fault);
    RUN(values_are_copied_and_string_views_are_shared);
    RUN(refresh_keeps_unsaved_changes_on_request);
    RUN(a_transient_attribute_is_not_saved);
    RUN(an_object_returns_its_entity);
    RUN(long_text_and_bytes_survive_a_save);
    RUN(copy_bytes_copies_only_text_and_bytes);
    RUN(a_failed_set_many_sets_no_value);
    RUN(a_failed_set_many_sets_no_relationship);
    RUN(copy_values_returns_only_the_requested_values);
    RUN(primitive_access_does_not_fire_faults);
    RUN(any_nonzero_byte_is_a_true_boolean);
    RUN(an_object_without_a_context_is_freed_after_returning_itself);
    RUN(an_object_without_a_context_is_confined_to_its_thread);
    return check_end();
}
