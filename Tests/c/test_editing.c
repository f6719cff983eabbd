/* Editing: renaming, changing and removing the parts of a model that is not frozen.
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

static void renames_update_lookups_and_inverses(void) {
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

static void handles_of_removed_parts_are_invalid(void) {
    cst_model *model = company_model();
    cst_entity *employee = entity_of(model, "Employee"), *department = entity_of(model, "Department");
    cst_relationship *works = NULL;
    OK(cst_entity_relationship(employee, text("department"), &works, E));
    OK(cst_entity_remove_property(employee, text("department"), E));
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_relationship_set_delete_rule(works, CST_DELETE_DENY, E));
    CHECK_CONTAINS("Employee.department was removed", cst_error_message(check_error()));
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

static void settings_of_properties_can_be_changed_and_read(void) {
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

static void subentities_and_kinds_are_reported(void) {
    cst_model *model = company_model();
    cst_entity *employee = entity_of(model, "Employee"), *person = entity_of(model, "Person"), *child = NULL;
    OK(cst_entity_child_at(person, 0, &child, E));
    CHECK(child == employee);
    CHECK_STATUS(CST_END, cst_entity_child_at(person, 1, &child, E));
    OK(cst_entity_child_at(employee, 0, &child, E));
    CHECK(child == entity_of(model, "Manager"));
    CHECK_STATUS(CST_END, cst_entity_child_at(child, 0, &child, E));
    bool is = false;
    OK(cst_entity_is_kind_of(employee, person, &is, E));
    CHECK(is);
    OK(cst_entity_is_kind_of(person, employee, &is, E));
    CHECK(!is);
    OK(cst_entity_set_class_name(person, text("Human"), E));
    OK(cst_entity_set_class_name(person, (cst_string){NULL, 0}, E));
    OK(cst_release(model));
}

/* Every flag of a property, set by its addition and by a change, cleared, and refused where it has no meaning. */
static void flags_are_refused_for_unsuitable_kinds_of_property(void) {
    enum { KINDS = 3 };
    static const uint32_t suits[KINDS] = {
        CST_PROPERTY_OPTIONAL | CST_PROPERTY_TRANSIENT | CST_PROPERTY_SPOTLIGHT | CST_PROPERTY_EXTERNAL_RECORD |
            CST_PROPERTY_INDEXED | CST_PROPERTY_EXTERNAL_STORAGE | CST_PROPERTY_PRESERVED | CST_PROPERTY_ALLOWS_NAN |
            CST_PROPERTY_CLOUD_ENCRYPTION | CST_PROPERTY_IGNORES_CHANGES,
        CST_PROPERTY_OPTIONAL | CST_PROPERTY_TRANSIENT | CST_PROPERTY_SPOTLIGHT | CST_PROPERTY_EXTERNAL_RECORD |
            CST_PROPERTY_TO_MANY | CST_PROPERTY_ORDERED,
        CST_PROPERTY_OPTIONAL | CST_PROPERTY_TRANSIENT | CST_PROPERTY_SPOTLIGHT | CST_PROPERTY_EXTERNAL_RECORD};
    static const char *const names[KINDS] = {"photo", "reports", "namesakes"};
    for (int kind = 0; kind < KINDS; kind++) {
        for (uint32_t bit = 0; bit < 14; bit++) {
            const uint32_t flag = 1u << bit;
            cst_model *model = company_model();
            cst_entity *employee = entity_of(model, "Employee");
            cst_string name = text(names[kind]);
            const uint32_t before = info_of(employee, names[kind]).flags;
            if (!(suits[kind] & flag)) {
                CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_entity_set_property_flags(employee, name, flag, flag, E));
                CHECK_INT(before, info_of(employee, names[kind]).flags);
                OK(cst_release(model));
                continue;
            }
            OK(cst_entity_set_property_flags(employee, name, flag, flag, E));
            CHECK_INT(before | flag, info_of(employee, names[kind]).flags);
            OK(cst_entity_set_property_flags(employee, name, flag, 0, E));
            CHECK_INT(before & ~flag, info_of(employee, names[kind]).flags);
            OK(cst_release(model));
        }
    }
}

static const struct {
    uint32_t flag;
    cst_attribute_type type;
} attribute_flags[] = {
    {CST_PROPERTY_OPTIONAL, CST_ATTRIBUTE_STRING},         {CST_PROPERTY_TRANSIENT, CST_ATTRIBUTE_STRING},
    {CST_PROPERTY_INDEXED, CST_ATTRIBUTE_STRING},          {CST_PROPERTY_EXTERNAL_STORAGE, CST_ATTRIBUTE_BINARY},
    {CST_PROPERTY_PRESERVED, CST_ATTRIBUTE_STRING},        {CST_PROPERTY_ALLOWS_NAN, CST_ATTRIBUTE_DOUBLE},
    {CST_PROPERTY_SPOTLIGHT, CST_ATTRIBUTE_STRING},        {CST_PROPERTY_EXTERNAL_RECORD, CST_ATTRIBUTE_STRING},
    {CST_PROPERTY_CLOUD_ENCRYPTION, CST_ATTRIBUTE_STRING}, {CST_PROPERTY_IGNORES_CHANGES, CST_ATTRIBUTE_STRING},
};

static void an_attribute_keeps_the_flags_of_its_addition(void) {
    for (size_t i = 0; i < sizeof attribute_flags / sizeof *attribute_flags; i++) {
        cst_model *model = company_model();
        cst_entity *employee = entity_of(model, "Employee");
        uint32_t flags = attribute_flags[i].flag;
        if (flags == CST_PROPERTY_IGNORES_CHANGES) flags |= CST_PROPERTY_TRANSIENT;
        OK(cst_entity_add_attribute(employee, text("extra"), attribute_flags[i].type, flags, NULL, E));
        CHECK_INT(flags, info_of(employee, "extra").flags);
        /* A mask of another flag does not change it. */
        OK(cst_entity_set_property_flags(employee, text("extra"), CST_PROPERTY_OPTIONAL, CST_PROPERTY_OPTIONAL, E));
        CHECK_INT(flags | CST_PROPERTY_OPTIONAL, info_of(employee, "extra").flags);
        OK(cst_entity_set_property_flags(employee, text("extra"), flags, 0, E));
        CHECK_INT(CST_PROPERTY_OPTIONAL & ~flags, info_of(employee, "extra").flags);
        OK(cst_release(model));
    }
    cst_model *model = company_model();
    cst_entity *employee = entity_of(model, "Employee");
    cst_attribute *made = (cst_attribute *)employee;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_entity_add_attribute(employee, text("extra"), CST_ATTRIBUTE_STRING,
                                                                  CST_PROPERTY_DERIVED, &made, E));
    CHECK_TEXT("Employee.extra does not support the flag CST_PROPERTY_DERIVED; use CST_PROPERTY_OPTIONAL (optional), "
               "CST_PROPERTY_TRANSIENT (transient), CST_PROPERTY_INDEXED (indexed), CST_PROPERTY_EXTERNAL_STORAGE "
               "(external_storage), CST_PROPERTY_PRESERVED (preserved), CST_PROPERTY_ALLOWS_NAN (allows_nan), "
               "CST_PROPERTY_SPOTLIGHT (spotlight), CST_PROPERTY_EXTERNAL_RECORD (external_record), "
               "CST_PROPERTY_CLOUD_ENCRYPTION (cloud_encryption) or CST_PROPERTY_IGNORES_CHANGES (ignores_changes)",
               cst_error_message(check_error()));
    CHECK(made == NULL);
    OK(cst_release(model));
    model = company_model();
    employee = entity_of(model, "Employee");
    CHECK_STATUS(CST_E_INVALID_ARGUMENT,
                 cst_entity_set_property_flags(employee, text("photo"), CST_PROPERTY_OPTIONAL,
                                               CST_PROPERTY_OPTIONAL | CST_PROPERTY_PRESERVED, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT,
                 cst_entity_set_property_flags(employee, text("name"), CST_PROPERTY_OPTIONAL, 0, E));
    OK(cst_release(model));
}

/* A fetched property describes its request and is the last property. */
static void property_info_describes_a_fetched_property(void) {
    cst_model *model = company_model();
    cst_entity *employee = entity_of(model, "Employee");
    const size_t count = cst_entity_property_count(employee);
    cst_property_info info = CST_PROPERTY_INFO_INIT;
    OK(cst_model_freeze(model, E));
    OK(cst_entity_property_at(employee, count - 1, &info, E));
    CHECK_TEXT("namesakes", info.name);
    CHECK_INT(CST_PROPERTY_FETCHED, info.kind);
    CHECK(info.flags & CST_PROPERTY_TO_MANY);
    CHECK(info.destination == employee && info.entity == employee);
    CHECK(info.key == CST_NO_KEY);
    CHECK_TEXT(NULL, info.inverse);
    CHECK_INT(0, info.attribute_type);
    CHECK(info_of(employee, "name").key != CST_NO_KEY);
    CHECK(info_of(employee, "name").entity == entity_of(model, "Person"));
    OK(cst_release(model));
}

static void expect_part(const cst_entity *entity, const char *property, const char *words, bool is_there) {
    cst_buffer json = {0};
    OK(cst_entity_copy_json(entity, property ? text(property) : (cst_string){NULL, 0}, &json, E));
    if ((strstr(json.data, words) != NULL) != is_there)
        check_fail(__FILE__, __LINE__, "%s %s %s", json.data, is_there ? "lacks" : "has", words);
    cst_buffer_dispose(&json);
}

static void indexes_and_constraints_can_be_removed(void) {
    cst_model *model = company_model();
    cst_entity *employee = entity_of(model, "Employee");
    const cst_string pair[] = {text("number"), text("level")}, turned[] = {text("level"), text("number")};
    OK(cst_entity_add_index(employee, text("byBoth"), 2, pair, E));
    OK(cst_entity_add_unique_constraint(employee, 2, pair, E));
    expect_part(employee, NULL, "byBoth", true);
    expect_part(employee, NULL, "[\"number\", \"level\"]", true);
    OK(cst_entity_remove_index(employee, text("byBoth"), E));
    expect_part(employee, NULL, "byBoth", false);
    CHECK_STATUS(CST_NOT_FOUND, cst_entity_remove_index(employee, text("byBoth"), E));
    CHECK_STATUS(CST_NOT_FOUND, cst_entity_remove_unique_constraint(employee, 1, pair, E));
    OK(cst_entity_remove_unique_constraint(employee, 2, turned, E)); /* in any order */
    expect_part(employee, NULL, "[\"number\", \"level\"]", false);
    CHECK_STATUS(CST_NOT_FOUND, cst_entity_remove_unique_constraint(employee, 2, pair, E));
    OK(cst_model_freeze(model, E));
    CHECK_STATUS(CST_E_MODEL, cst_entity_remove_index(employee, text("byBoth"), E));
    OK(cst_release(model));
}

static void renaming_identifiers_and_hash_modifiers_can_be_removed(void) {
    cst_model *model = company_model();
    cst_entity *employee = entity_of(model, "Employee");
    OK(cst_entity_set_renaming_identifier(employee, text("Worker"), E));
    expect_part(employee, NULL, "\"renamingIdentifier\": \"Worker\"", true);
    OK(cst_entity_set_renaming_identifier(employee, (cst_string){NULL, 0}, E));
    expect_part(employee, NULL, "renamingIdentifier", false);
    OK(cst_entity_set_property_renaming_identifier(employee, text("level"), text("rank"), E));
    expect_part(employee, "level", "\"renamingIdentifier\": \"rank\"", true);
    OK(cst_entity_set_property_renaming_identifier(employee, text("level"), (cst_string){NULL, 0}, E));
    expect_part(employee, "level", "renamingIdentifier", false);
    OK(cst_entity_set_property_version_hash_modifier(employee, text("level"), text("v2"), E));
    expect_part(employee, "level", "\"versionHashModifier\": \"v2\"", true);
    OK(cst_entity_set_property_version_hash_modifier(employee, text("level"), (cst_string){NULL, 0}, E));
    expect_part(employee, "level", "versionHashModifier", false);
    OK(cst_entity_set_version_hash_modifier(employee, text("v3"), E));
    expect_part(employee, NULL, "\"versionHashModifier\": \"v3\"", true);
    OK(cst_entity_set_version_hash_modifier(employee, (cst_string){NULL, 0}, E));
    expect_part(employee, NULL, "\"versionHashModifier\": \"v3\"", false);
    OK(cst_entity_set_class_name(employee, text("Worker"), E));
    expect_part(employee, NULL, "\"Worker\"", true);
    OK(cst_entity_set_class_name(employee, (cst_string){NULL, 0}, E));
    expect_part(employee, NULL, "\"Worker\"", false);
    OK(cst_release(model));
}

static void bounds_and_validations_can_be_removed(void) {
    cst_model *model = company_model();
    cst_entity *employee = entity_of(model, "Employee");
    cst_attribute *level = NULL;
    const cst_value least = value_int(1), greatest = value_int(9), none = value_null();
    OK(cst_entity_attribute(employee, text("level"), &level, E));
    OK(cst_attribute_set_bounds(level, &least, &greatest, E));
    expect_part(employee, "level", "SELF >= 1", true);
    expect_part(employee, "level", "SELF <= 9", true);
    OK(cst_attribute_set_bounds(level, NULL, &greatest, E));
    expect_part(employee, "level", "SELF >= 1", false);
    expect_part(employee, "level", "SELF <= 9", true);
    OK(cst_attribute_set_bounds(level, &least, &none, E)); /* null removes the bound */
    expect_part(employee, "level", "SELF >= 1", true);
    expect_part(employee, "level", "SELF <= 9", false);
    OK(cst_entity_remove_validation(employee, text("level"), E));
    expect_part(employee, "level", "SELF >= 1", false);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_entity_remove_validation(employee, text("name"), E)); /* inherited */
    OK(cst_release(model));
}

static void version_identifiers_are_kept_in_order(void) {
    cst_model *model = company_model();
    cst_buffer names = {0};
    size_t count = 9;
    OK(cst_model_copy_names(model, CST_NAMES_VERSION_IDENTIFIERS, &names, &count, E));
    CHECK_INT(0, count);
    CHECK_INT(0, names.size);
    OK(cst_model_add_version_identifier(model, text("b"), E));
    OK(cst_model_add_version_identifier(model, text("a"), E));
    OK(cst_model_copy_names(model, CST_NAMES_VERSION_IDENTIFIERS, &names, &count, E));
    CHECK_INT(2, count);
    CHECK(names.size == 4);
    CHECK_STATUS(CST_NOT_FOUND, cst_model_remove_version_identifier(model, text("c"), E));
    OK(cst_model_remove_version_identifier(model, text("b"), E));
    CHECK_STATUS(CST_NOT_FOUND, cst_model_remove_version_identifier(model, text("b"), E));
    OK(cst_model_copy_names(model, CST_NAMES_VERSION_IDENTIFIERS, &names, NULL, E));
    CHECK(names.size == 2 && memcmp(names.data, "a", 2) == 0);
    cst_buffer_dispose(&names);
    OK(cst_release(model));
}

static void relationships_to_an_entity_are_listed(void) {
    cst_model *model = company_model();
    cst_entity *employee = entity_of(model, "Employee");
    cst_buffer names = {0};
    size_t count = 9;
    OK(cst_entity_copy_relationships_to(employee, entity_of(model, "Department"), &names, &count, E));
    CHECK_INT(1, count);
    CHECK(names.size == 11 && memcmp(names.data, "department", 11) == 0);
    OK(cst_entity_copy_relationships_to(employee, employee, &names, &count, E));
    CHECK_INT(4, count); /* manager, reports, spouse, friends */
    OK(cst_entity_copy_relationships_to(employee, entity_of(model, "Person"), &names, &count, E));
    CHECK_INT(0, count); /* only the entity itself, not its superentity */
    CHECK_INT(0, names.size);
    cst_buffer_dispose(&names);
    OK(cst_release(model));
}

static void attributes_and_relationships_are_found_by_kind(void) {
    cst_model *model = company_model();
    cst_entity *employee = entity_of(model, "Employee");
    cst_attribute *attribute = (cst_attribute *)model;
    cst_relationship *relationship = (cst_relationship *)model;
    CHECK_STATUS(CST_NOT_FOUND, cst_entity_attribute(employee, text("friends"), &attribute, E));
    CHECK(attribute == NULL);
    CHECK_STATUS(CST_NOT_FOUND, cst_entity_attribute(employee, text("nothing"), &attribute, E));
    CHECK_STATUS(CST_NOT_FOUND, cst_entity_relationship(employee, text("name"), &relationship, E));
    CHECK(relationship == NULL);
    CHECK_STATUS(CST_NOT_FOUND, cst_entity_relationship(employee, text("namesakes"), &relationship, E));
    OK(cst_entity_attribute(employee, text("name"), &attribute, E)); /* inherited */
    OK(cst_entity_relationship(employee, text("friends"), &relationship, E));
    OK(cst_release(model));
}

static void the_request_of_a_fetched_property_can_be_changed(void) {
    cst_model *model = company_model();
    cst_entity *employee = entity_of(model, "Employee"), *task = entity_of(model, "Task");
    cst_fetch_request *request = NULL, *found = NULL;
    cst_buffer json = {0};
    OK(cst_fetch_request_new(task, &request, E));
    OK(cst_entity_set_fetched_request(employee, text("namesakes"), request, E));
    CHECK(info_of(employee, "namesakes").destination == task);
    OK(cst_entity_copy_fetched_request(employee, text("namesakes"), &found, E));
    OK(cst_fetch_request_copy_json(found, &json, E));
    CHECK_CONTAINS("\"entityName\": \"Task\"", text(json.data));
    CHECK_CONTAINS("\"predicate\": null", text(json.data));
    OK(cst_release(found));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_entity_set_fetched_request(employee, text("level"), request, E));
    CHECK_TEXT("Employee.level is not a fetched property; pass the name of a fetched property",
               cst_error_message(check_error()));
    CHECK_TEXT("Employee", cst_error_entity(check_error()));
    CHECK_TEXT("level", cst_error_key(check_error()));
    cst_buffer_dispose(&json);
    OK(cst_release(request));
    OK(cst_release(model));
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(renames_update_lookups_and_inverses);
    RUN(handles_of_removed_parts_are_invalid);
    RUN(subentities_and_kinds_are_reported);
    RUN(settings_of_properties_can_be_changed_and_read);
    RUN(flags_are_refused_for_unsuitable_kinds_of_property);
    RUN(an_attribute_keeps_the_flags_of_its_addition);
    RUN(property_info_describes_a_fetched_property);
    RUN(indexes_and_constraints_can_be_removed);
    RUN(renaming_identifiers_and_hash_modifiers_can_be_removed);
    RUN(bounds_and_validations_can_be_removed);
    RUN(version_identifiers_are_kept_in_order);
    RUN(relationships_to_an_entity_are_listed);
    RUN(attributes_and_relationships_are_found_by_kind);
    RUN(the_request_of_a_fetched_property_can_be_changed);
    return check_end();
}
