/* Editing: what a model that is not frozen has can be renamed, changed and removed.
 *
 * SPDX-License-Identifier: MIT
 */
#include "company.h"

#include <string.h>

static cst_entity *entity_of(cst_model *model, const char *name) {
    cst_entity *entity = NULL;
    OK(cst_model_entity(model, text(name), &entity, E));
    return entity;
}

static cst_property_info info_of(const cst_entity *entity, const char *name) {
    for (size_t i = 0; i < cst_entity_property_count(entity); i++) {
        cst_property_info info = CST_PROPERTY_INFO_INIT;
        OK(cst_entity_property_at(entity, i, &info, E));
        if (strcmp(info.name.data, name) == 0) return info;
    }
    cst_property_info none = CST_PROPERTY_INFO_INIT;
    CHECK(!"the property is there");
    return none;
}

static void names_are_followed(void) {
    cst_model *model = company_model();
    cst_entity *employee = entity_of(model, "Employee"), *found = NULL;
    OK(cst_entity_rename(employee, text("Worker"), E));
    CHECK_TEXT("Worker", cst_entity_name(employee));
    CHECK_STATUS(CST_NOT_FOUND, cst_model_entity(model, text("Employee"), &found, E));
    OK(cst_entity_rename_property(employee, text("department"), text("place"), E));
    CHECK_TEXT("place", info_of(entity_of(model, "Department"), "employees").inverse);
    CHECK(info_of(employee, "place").entity == employee);
    OK(cst_model_freeze(model, E));
    OK(cst_release(model));
}

static void the_removed_is_no_handle_any_more(void) {
    cst_model *model = company_model();
    cst_entity *employee = entity_of(model, "Employee"), *department = entity_of(model, "Department");
    cst_relationship *works = NULL;
    OK(cst_entity_relationship(employee, text("department"), &works, E));
    OK(cst_entity_remove_property(employee, text("department"), E));
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_relationship_set_delete_rule(works, CST_DELETE_DENY, E));
    CHECK_CONTAINS("department was removed", cst_error_message(check_error()));
    CHECK_TEXT(NULL, info_of(department, "employees").inverse);
    cst_retain(department);
    OK(cst_entity_remove(department, E));
    CHECK_TEXT(NULL, cst_entity_name(department));
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_entity_set_abstract(department, true, E));
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_entity_set_parent(employee, department, E));
    OK(cst_model_freeze(model, E));
    OK(cst_release(department));
    OK(cst_release(model));
}

static void everything_can_be_changed_and_read(void) {
    cst_model *model = company_model();
    cst_entity *employee = entity_of(model, "Employee"), *person = entity_of(model, "Person");
    cst_buffer json = {0};
    uint32_t mask =
        CST_PROPERTY_OPTIONAL | CST_PROPERTY_SPOTLIGHT | CST_PROPERTY_INDEXED | CST_PROPERTY_CLOUD_ENCRYPTION;
    uint32_t flags = CST_PROPERTY_OPTIONAL | CST_PROPERTY_SPOTLIGHT | CST_PROPERTY_CLOUD_ENCRYPTION;
    OK(cst_entity_set_property_flags(person, text("name"), mask, flags, E));
    CHECK_INT(flags, info_of(employee, "name").flags);
    OK(cst_entity_set_property_renaming_identifier(person, text("name"), text("title"), E));
    OK(cst_entity_set_property_version_hash_modifier(person, text("name"), text("2"), E));
    OK(cst_entity_set_property_user_info(person, text("name"), text("k"), text("v"), E));
    OK(cst_entity_copy_json(employee, text("name"), &json, E));
    CHECK_CONTAINS("\"renamingIdentifier\": \"title\"", text(json.data));
    CHECK_CONTAINS("\"versionHashModifier\": \"2\"", text(json.data));
    OK(cst_entity_copy_user_info(employee, text("name"), &json, E));
    CHECK_TEXT("{\"k\": \"v\"}", text_of_size(json.data, json.size));
    OK(cst_entity_set_property_user_info(person, text("name"), text("k"), (cst_string){NULL, 0}, E));
    OK(cst_entity_copy_user_info(employee, text("name"), &json, E));
    CHECK_TEXT("{}", text_of_size(json.data, json.size));
    CHECK_STATUS(CST_NOT_FOUND, cst_entity_copy_json(employee, text("nmae"), &json, E));
    cst_attribute *name = NULL;
    OK(cst_entity_attribute(employee, text("name"), &name, E));
    OK(cst_attribute_set_type(name, CST_ATTRIBUTE_INTEGER_64, E));
    CHECK_INT(CST_ATTRIBUTE_INTEGER_64, info_of(employee, "name").attribute_type);
    cst_relationship *friends = NULL;
    OK(cst_entity_relationship(employee, text("friends"), &friends, E));
    OK(cst_relationship_set_inverse(friends, NULL, E));
    CHECK_TEXT(NULL, info_of(employee, "friends").inverse);
    OK(cst_relationship_set_destination(friends, person, E));
    CHECK(info_of(employee, "friends").destination == person);
    CHECK_STATUS(CST_NOT_FOUND, cst_entity_remove_index(employee, text("none"), E));
    OK(cst_entity_set_parent(employee, NULL, E));
    CHECK_STATUS(CST_NOT_FOUND, cst_entity_parent(employee, &person, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_entity_rename_property(employee, text("name"), text("n"), E));
    cst_buffer_dispose(&json);
    OK(cst_release(model));
}

static void the_hierarchy_is_told(void) {
    cst_model *model = company_model();
    cst_entity *employee = entity_of(model, "Employee"), *person = entity_of(model, "Person"), *child = NULL;
    OK(cst_entity_child_at(person, 0, &child, E));
    CHECK(child == employee);
    CHECK_STATUS(CST_END, cst_entity_child_at(person, 1, &child, E));
    CHECK_STATUS(CST_END, cst_entity_child_at(employee, 0, &child, E));
    bool is = false;
    OK(cst_entity_is_kind_of(employee, person, &is, E));
    CHECK(is);
    OK(cst_entity_is_kind_of(person, employee, &is, E));
    CHECK(!is);
    OK(cst_entity_set_class_name(person, text("Human"), E));
    OK(cst_entity_set_class_name(person, (cst_string){NULL, 0}, E));
    OK(cst_release(model));
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(names_are_followed);
    RUN(the_removed_is_no_handle_any_more);
    RUN(the_hierarchy_is_told);
    RUN(everything_can_be_changed_and_read);
    return check_end();
}
