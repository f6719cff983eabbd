/* Objects: primitive values and access notifications, changed and committed values, IDs without objects, clones.
 *
 * SPDX-License-Identifier: MIT
 */
#include "company.h"

#include <string.h>

static cst_object *again(cst_context *context, const cst_object *object) {
    cst_object_id *id = NULL;
    cst_object *found = NULL;
    OK(cst_object_copy_id(object, &id, E));
    OK(cst_context_object_with_id(context, id, &found, E));
    OK(cst_release(id));
    return found;
}

static void primitive_accessors_do_not_fire_faults(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    save(c.context);
    cst_value value = value_text("sneaky");
    OK(cst_object_set_primitive(ada, c.name, &value, E));
    CHECK_INT(0, state(ada) & CST_OBJECT_HAS_CHANGES);
    OK(cst_object_refresh(ada, false, E));
    OK(cst_object_get_primitive(ada, c.name, &value, E));
    CHECK_INT(CST_NULL, value.type);
    cst_results *members = NULL;
    CHECK_STATUS(CST_NOT_FOUND, cst_object_copy_primitive_members(ada, c.reports, &members, E));
    CHECK(state(ada) & CST_OBJECT_FAULT);
    OK(cst_object_will_access(ada, CST_NO_KEY, E));
    CHECK(!(state(ada) & CST_OBJECT_FAULT));
    OK(cst_object_get_primitive(ada, c.name, &value, E));
    CHECK_TEXT("Ada", value.as.string);
    OK(cst_object_will_access(ada, c.reports, E));
    OK(cst_object_copy_primitive_members(ada, c.reports, &members, E));
    CHECK_INT(0, cst_results_count(members));
    OK(cst_object_did_access(ada, c.reports, E));
    CHECK_STATUS(CST_E_TYPE_MISMATCH, cst_object_get_primitive(ada, c.reports, &value, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_object_will_access(ada, 12345, E));
    OK(cst_release(members));
    OK(cst_release(ada));
    company_close(&c);
}

static void will_and_did_change_record_primitive_changes(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1), *bob = company_employee(&c, c.context, "Bob", 2);
    save(c.context);
    cst_value value = value_text("Eve");
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_object_did_change(ada, c.name, E));
    OK(cst_object_will_change(ada, c.name, E));
    OK(cst_object_set_primitive(ada, c.name, &value, E));
    OK(cst_object_did_change(ada, c.name, E));
    CHECK(state(ada) & CST_OBJECT_UPDATED);
    OK(cst_object_will_change_members(ada, c.reports, CST_MUTATION_UNION, 1, &bob, E));
    OK(cst_object_set_primitive_members(ada, c.reports, 1, &bob, E));
    CHECK_INT(CST_NULL, get(bob, c.manager).type);
    OK(cst_object_did_change_members(ada, c.reports, CST_MUTATION_UNION, 1, &bob, E));
    CHECK(get(bob, c.manager).as.object == ada);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_object_will_change_members(ada, c.reports, 9, 1, &bob, E));
    CHECK_STATUS(CST_E_TYPE_MISMATCH, cst_object_will_change_members(ada, c.name, CST_MUTATION_SET, 0, NULL, E));
    save(c.context);
    OK(cst_release(ada));
    OK(cst_release(bob));
    company_close(&c);
}

/* The value of a column of the only row. Owned. */
static cst_value column(const cst_rows *rows, const char *name) {
    cst_value values[64] = {{0}}, found = {0};
    size_t count = cst_rows_column_count(rows);
    REQUIRE(count <= 64);
    OK(cst_rows_copy_values(rows, 0, 1, values, E));
    for (size_t i = 0; i < count; i++) {
        if (strcmp(cst_rows_column_name(rows, i).data, name) == 0)
            found = values[i];
        else
            cst_value_dispose(&values[i]);
    }
    return found;
}

static void changed_and_committed_values_are_copied(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *dept = company_insert(&c, c.context, c.department, c.department_name, "R&D");
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    set(ada, c.to_department, value_object(dept));
    save(c.context);
    bool differs = true;
    OK(cst_object_has_persistent_changes(ada, &differs, E));
    CHECK(!differs);
    set(ada, c.name, value_text("Eve"));
    set(ada, c.to_department, value_null());
    cst_rows *rows = NULL;
    OK(cst_object_copy_values(ada, CST_VALUES_CHANGED, 0, NULL, &rows, E));
    CHECK_INT(2, cst_rows_column_count(rows));
    CHECK_TEXT("department", cst_rows_column_name(rows, 0));
    cst_value value = column(rows, "name");
    CHECK_TEXT("Eve", value.as.string);
    cst_value_dispose(&value);
    OK(cst_release(rows));
    OK(cst_object_copy_values(ada, CST_VALUES_BEFORE_EVENT, 1, &c.to_department, &rows, E));
    CHECK_INT(1, cst_rows_column_count(rows));
    value = column(rows, "department");
    CHECK_INT(CST_OBJECT_ID, value.type);
    cst_value_dispose(&value);
    OK(cst_release(rows));
    OK(cst_object_copy_values(dept, CST_VALUES_COMMITTED, 1, &c.employees, &rows, E));
    value = column(rows, "employees");
    CHECK_INT(CST_ARRAY, value.type);
    CHECK_INT(1, value.as.values.size);
    cst_value_dispose(&value);
    OK(cst_release(rows));
    set(ada, c.name, value_text("Ada"));
    set(ada, c.to_department, value_object(dept));
    OK(cst_object_has_persistent_changes(ada, &differs, E));
    CHECK(!differs);
    CHECK(state(ada) & CST_OBJECT_HAS_CHANGES);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_object_copy_values(ada, 7, 0, NULL, &rows, E));
    OK(cst_release(ada));
    OK(cst_release(dept));
    company_close(&c);
}

static void related_ids_are_read_without_registering_objects(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *dept = company_insert(&c, c.context, c.department, c.department_name, "R&D");
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    set(ada, c.to_department, value_object(dept));
    save(c.context);
    cst_context *other = company_context(&c, CST_QUEUE_CALLER);
    cst_object *same = again(other, dept);
    cst_results *ids = NULL, *known = NULL;
    bool fault = false;
    OK(cst_object_copy_related_ids(same, c.employees, &ids, E));
    CHECK_INT(1, cst_results_count(ids));
    CHECK(state(same) & CST_OBJECT_FAULT);
    OK(cst_context_copy_changed(other, CST_CHANGED_REGISTERED, &known, E));
    CHECK_INT(1, cst_results_count(known));
    OK(cst_object_has_relationship_fault(same, c.employees, &fault, E));
    CHECK(fault);
    CHECK_INT(1, member_count(same, c.employees));
    OK(cst_object_has_relationship_fault(same, c.employees, &fault, E));
    CHECK(!fault);
    CHECK_STATUS(CST_E_TYPE_MISMATCH, cst_object_has_relationship_fault(same, c.department_name, &fault, E));
    OK(cst_release(ids));
    OK(cst_release(known));
    OK(cst_release(same));
    OK(cst_release(other));
    OK(cst_release(ada));
    OK(cst_release(dept));
    company_close(&c);
}

static void a_clone_copies_the_listed_relationships(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *project = company_insert(&c, c.context, c.project, c.title, "p");
    cst_object *one = company_insert(&c, c.context, c.task, c.task_title, "1");
    cst_object *two = company_insert(&c, c.context, c.task, c.task_title, "2");
    cst_object *members[] = {two, one}, *clone = NULL;
    OK(cst_object_set_members(project, c.tasks, 2, members, E));
    OK(cst_object_clone(project, 0, 0, NULL, false, &clone, E));
    CHECK_TEXT("p", get_text(clone, c.title));
    CHECK_INT(0, member_count(clone, c.tasks));
    OK(cst_release(clone));
    const cst_string tasks = text("tasks"), title = text("title");
    OK(cst_object_clone(project, SIZE_MAX, 1, &tasks, false, &clone, E));
    cst_results *cloned = NULL;
    OK(cst_object_copy_members(clone, c.tasks, &cloned, E));
    CHECK_INT(2, cst_results_count(cloned));
    CHECK_TEXT("2", get_text(object_at(cloned, 0), c.task_title));
    CHECK_INT(2, member_count(project, c.tasks));
    OK(cst_release(cloned));
    OK(cst_release(clone));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_object_clone(project, 1, 1, &title, false, &clone, E));
    CHECK(clone == NULL);
    OK(cst_release(project));
    OK(cst_release(one));
    OK(cst_release(two));
    company_close(&c);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(primitive_accessors_do_not_fire_faults);
    RUN(will_and_did_change_record_primitive_changes);
    RUN(changed_and_committed_values_are_copied);
    RUN(related_ids_are_read_without_registering_objects);
    RUN(a_clone_copies_the_listed_relationships);
    return check_end();
}
