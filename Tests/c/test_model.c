/* Models: building, reading, freezing, errors that are repeated.
 *
 * SPDX-License-Identifier: MIT
 */
#include "company.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static void entities_are_found_by_name_and_position(void) {
    cst_model *model = company_model();
    CHECK_INT(6, cst_model_entity_count(model));
    cst_entity *entity = NULL, *same = NULL;
    OK(cst_model_entity_at(model, 1, &entity, E));
    CHECK_TEXT("Employee", cst_entity_name(entity));
    OK(cst_model_entity(model, text("Employee"), &same, E));
    CHECK(entity == same);
    CHECK_STATUS(CST_END, cst_model_entity_at(model, 6, &entity, E));
    CHECK_STATUS(CST_END, cst_model_entity_at(model, SIZE_MAX, &entity, E));
    CHECK(entity == NULL);
    entity = same;
    CHECK_STATUS(CST_NOT_FOUND, cst_model_entity(model, text("employee"), &entity, E));
    CHECK(entity == NULL);
    entity = same;
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_entity_parent((cst_entity *)model, &entity, E));
    CHECK(entity == NULL);
    OK(cst_entity_parent(same, &entity, E));
    CHECK_TEXT("Person", cst_entity_name(entity));
    CHECK_STATUS(CST_NOT_FOUND, cst_entity_parent(entity, &same, E));
    bool is_abstract = false;
    OK(cst_entity_is_abstract(entity, &is_abstract, E));
    CHECK(is_abstract);
    OK(cst_release(model));
    CHECK_TEXT(NULL, cst_entity_name(entity));
}

static bool find(const cst_entity *entity, const char *name, cst_property_info *info) {
    for (size_t i = 0; i < cst_entity_property_count(entity); i++) {
        cst_property_info blank = CST_PROPERTY_INFO_INIT;
        *info = blank;
        OK(cst_entity_property_at(entity, i, info, E));
        if (info->name.data && strcmp(info->name.data, name) == 0) return true;
    }
    return false;
}

static void property_info_describes_properties(void) {
    cst_model *model = company_model();
    cst_entity *person = NULL;
    cst_property_info early = CST_PROPERTY_INFO_INIT;
    early.key = 0;
    OK(cst_model_entity(model, text("Person"), &person, E));
    OK(cst_entity_property_at(person, 0, &early, E));
    CHECK_TEXT("name", early.name);
    CHECK_INT(CST_NO_KEY, early.key); /* the model is not frozen */
    CHECK(early.destination == NULL);
    CHECK_TEXT(NULL, early.inverse);
    OK(cst_model_freeze(model, E));
    struct company c;
    memset(&c, 0, sizeof c);
    c.model = model;
    company_resolve(&c);
    cst_property_info info = CST_PROPERTY_INFO_INIT;
    CHECK_INT(1, cst_entity_property_count(c.person));
    CHECK_INT(26, cst_entity_property_count(c.employee));
    OK(cst_entity_property_at(c.employee, 0, &info, E));
    CHECK_TEXT("name", info.name);
    CHECK_INT(c.name, info.key);
    CHECK_INT(CST_PROPERTY_ATTRIBUTE, info.kind);
    CHECK_INT(CST_ATTRIBUTE_STRING, info.attribute_type);
    CHECK_INT(CST_PROPERTY_INDEXED, info.flags);
    CHECK_STATUS(CST_END, cst_entity_property_at(c.employee, 26, &info, E));
    CHECK_STATUS(CST_END, cst_entity_property_at(c.employee, SIZE_MAX, &info, E));
    REQUIRE(find(c.employee, "department", &info));
    CHECK_INT(CST_PROPERTY_RELATIONSHIP, info.kind);
    CHECK_INT(CST_PROPERTY_OPTIONAL, info.flags);
    CHECK(info.destination == c.department);
    CHECK_TEXT("employees", info.inverse);
    CHECK_INT(CST_DELETE_NULLIFY, info.delete_rule);
    CHECK_INT(1, info.maximum_count);
    REQUIRE(find(c.project, "reviewers", &info));
    CHECK_INT(CST_PROPERTY_OPTIONAL | CST_PROPERTY_TO_MANY | CST_PROPERTY_ORDERED, info.flags);
    CHECK_INT(0, info.maximum_count);
    REQUIRE(find(c.employee, "reviews", &info));
    CHECK_INT(CST_DELETE_DENY, info.delete_rule);
    REQUIRE(find(c.task, "watcher", &info));
    CHECK_TEXT(NULL, info.inverse);
    CHECK_INT(CST_DELETE_NO_ACTION, info.delete_rule);
    REQUIRE(find(c.employee, "scratch", &info));
    CHECK_INT(CST_PROPERTY_OPTIONAL | CST_PROPERTY_TRANSIENT, info.flags);
    OK(cst_release(model));
}

static void keys_of_a_superentity_are_valid_in_subentities(void) {
    cst_model *model = company_model();
    cst_entity *employee = NULL, *person = NULL;
    OK(cst_model_entity(model, text("Employee"), &employee, E));
    OK(cst_model_entity(model, text("Person"), &person, E));
    cst_key here = 0, there = 1;
    OK(cst_entity_key(person, text("name"), &here, E));
    OK(cst_entity_key(employee, text("name"), &there, E));
    CHECK_INT(here, there);
    CHECK_STATUS(CST_NOT_FOUND, cst_entity_key(person, text("salary"), &there, E));
    CHECK_INT(CST_NO_KEY, there);
    OK(cst_release(model));
}

static void a_frozen_model_cannot_change(void) {
    cst_model *model = company_model();
    cst_entity *entity = NULL;
    bool frozen = true;
    OK(cst_model_is_frozen(model, &frozen, E));
    CHECK(!frozen);
    OK(cst_model_freeze(model, E));
    OK(cst_model_freeze(model, E));
    OK(cst_model_is_frozen(model, &frozen, E));
    CHECK(frozen);
    CHECK_STATUS(CST_E_MODEL, cst_model_add_entity(model, text("More"), &entity, E));
    OK(cst_model_entity_at(model, 0, &entity, E));
    CHECK_STATUS(CST_E_MODEL, cst_entity_add_attribute(entity, text("more"), CST_ATTRIBUTE_STRING, 0, NULL, E));
    CHECK_STATUS(CST_E_MODEL, cst_entity_set_abstract(entity, false, E));
    CHECK_STATUS(CST_E_MODEL, cst_entity_set_user_info(entity, text("a"), text("b"), E));
    CHECK_STATUS(CST_E_MODEL, cst_model_add_version_identifier(model, text("2"), E));
    cst_coordinator *coordinator = NULL;
    OK(cst_coordinator_new(model, &coordinator, E));
    OK(cst_release(coordinator));
    OK(cst_release(model));
}

static void the_first_model_error_is_repeated(void) {
    cst_model *model = NULL;
    cst_entity *entity = NULL;
    OK(cst_model_new(&model, E));
    OK(cst_model_add_entity(model, text("A"), &entity, E));
    CHECK_STATUS(CST_E_MODEL, cst_model_add_entity(model, text("A"), &entity, E));
    CHECK_TEXT("A", cst_error_entity(check_error()));
    CHECK_STATUS(CST_E_MODEL, cst_model_add_entity(model, text("B"), &entity, E));
    CHECK_TEXT("A", cst_error_entity(check_error()));
    CHECK_STATUS(CST_E_MODEL, cst_model_freeze(model, E));
    cst_coordinator *coordinator = NULL;
    CHECK_STATUS(CST_E_MODEL, cst_coordinator_new(model, &coordinator, E));
    CHECK_TEXT("A", cst_error_entity(check_error()));
    CHECK(coordinator == NULL);
    OK(cst_release(model));
}

/* Each error starts with a new model with the entities A and B. */
static cst_model *start(cst_entity **a, cst_entity **b) {
    cst_model *model = NULL;
    OK(cst_model_new(&model, E));
    OK(cst_model_add_entity(model, text("A"), a, E));
    OK(cst_model_add_entity(model, text("B"), b, E));
    return model;
}

static void invalid_models_are_refused(void) {
    cst_entity *a, *b, *c, *d, *extra = NULL;
    cst_relationship *one = NULL, *two = NULL;
    cst_attribute *attribute = NULL;
    cst_model *model = start(&a, &b), *other;
    const char *names[] = {"", " ", "9", "1st", "with space", "semi;colon", "quote\"", "a.b", "a-b"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        cst_status status = cst_model_add_entity(model, text(names[i]), &extra, E);
        if (status != CST_E_MODEL) {
            check_fail(__FILE__, __LINE__, "entity \"%s\": %s", names[i], check_status_name(status));
        }
        OK(cst_release(model));
        model = start(&a, &b);
        CHECK_STATUS(CST_E_MODEL, cst_entity_add_attribute(a, text(names[i]), CST_ATTRIBUTE_STRING, 0, NULL, E));
        OK(cst_release(model));
        model = start(&a, &b);
    }
    char longer[256];
    memset(longer, 'x', sizeof longer);
    CHECK_STATUS(CST_E_MODEL, cst_model_add_entity(model, text_of_size(longer, sizeof longer), &extra, E));
    OK(cst_release(model));
    model = start(&a, &b);
    CHECK_STATUS(CST_E_MODEL, cst_model_add_entity(model, text_of_size("a\0b", 3), &extra, E));
    OK(cst_release(model));
    model = start(&a, &b);
    OK(cst_model_add_entity(model, text("Émile"), &extra, E)); /* a letter */
    CHECK_TEXT("Émile", cst_entity_name(extra));
    OK(cst_entity_add_attribute(a, text("x"), CST_ATTRIBUTE_STRING, 0, NULL, E));
    CHECK_STATUS(CST_E_MODEL, cst_entity_add_attribute(a, text("x"), CST_ATTRIBUTE_DATE, 0, NULL, E));
    CHECK_TEXT("A", cst_error_entity(check_error()));
    CHECK_TEXT("x", cst_error_key(check_error()));
    OK(cst_release(model));

    model = start(&a, &b);
    OK(cst_entity_set_parent(b, a, E));
    CHECK_STATUS(CST_E_MODEL, cst_entity_set_parent(a, b, E));
    OK(cst_release(model));

    model = start(&a, &b);
    CHECK_STATUS(CST_E_MODEL, cst_entity_set_parent(a, a, E));
    OK(cst_release(model));

    model = start(&a, &b);
    other = start(&c, &d);
    CHECK_STATUS(CST_E_MODEL, cst_entity_set_parent(a, c, E));
    OK(cst_release(model));
    model = start(&a, &b);
    CHECK_STATUS(CST_E_MODEL, cst_entity_add_relationship(a, text("c"), c, 0, &one, E));
    OK(cst_release(model));
    OK(cst_release(other));

    /* The inverse has another destination. */
    model = start(&a, &b);
    OK(cst_entity_add_relationship(a, text("b"), b, 0, &one, E));
    OK(cst_entity_add_relationship(b, text("b"), b, 0, &two, E));
    cst_status status = cst_relationship_set_inverse(one, two, E);
    if (status == CST_OK) status = cst_model_freeze(model, E);
    CHECK_INT(CST_E_MODEL, status);
    OK(cst_release(model));

    /* A subentity redefines an inherited property. */
    model = start(&a, &b);
    OK(cst_entity_set_parent(b, a, E));
    OK(cst_entity_add_attribute(a, text("x"), CST_ATTRIBUTE_STRING, 0, NULL, E));
    status = cst_entity_add_attribute(b, text("x"), CST_ATTRIBUTE_STRING, 0, NULL, E);
    if (status == CST_OK) status = cst_model_freeze(model, E);
    CHECK_INT(CST_E_MODEL, status);
    OK(cst_release(model));

    /* Default values must suit. */
    model = start(&a, &b);
    OK(cst_entity_add_attribute(a, text("x"), CST_ATTRIBUTE_INTEGER_16, 0, &attribute, E));
    cst_value value = value_text("one");
    CHECK_STATUS(CST_E_TYPE_MISMATCH, cst_attribute_set_default(attribute, &value, E));
    OK(cst_release(model));

    /* Only transient attributes do without a type; an index needs properties that exist. */
    model = start(&a, &b);
    status = cst_entity_add_attribute(a, text("x"), CST_ATTRIBUTE_UNDEFINED, 0, NULL, E);
    if (status == CST_OK) status = cst_model_freeze(model, E);
    CHECK_INT(CST_E_MODEL, status);
    OK(cst_release(model));
    model = start(&a, &b);
    cst_string missing = text("nothing");
    status = cst_entity_add_index(a, text("byNothing"), 1, &missing, E);
    if (status == CST_OK) status = cst_model_freeze(model, E);
    CHECK_INT(CST_E_MODEL, status);
    OK(cst_release(model));
    model = start(&a, &b);
    status = cst_entity_add_unique_constraint(a, 1, &missing, E);
    if (status == CST_OK) status = cst_model_freeze(model, E);
    CHECK_INT(CST_E_MODEL, status);
    OK(cst_release(model));

    /* To-one cannot be ordered. */
    model = start(&a, &b);
    CHECK_STATUS(CST_E_MODEL, cst_entity_add_relationship(a, text("b"), b, CST_PROPERTY_ORDERED, NULL, E));
    OK(cst_release(model));
}

static void unknown_types_and_flags_are_refused(void) {
    cst_entity *a, *b;
    cst_relationship *relationship = NULL;
    cst_model *model = start(&a, &b);
    const cst_attribute_type types[] = {1, 99, 101, 1900, 2200, -100, INT32_MAX};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        cst_status status = cst_entity_add_attribute(a, text("x"), types[i], 0, NULL, E);
        if (status != CST_E_INVALID_ARGUMENT && status != CST_E_MODEL) {
            check_fail(__FILE__, __LINE__, "type %d: %s", (int)types[i], check_status_name(status));
        }
        OK(cst_release(model));
        model = start(&a, &b);
    }
    CHECK(cst_entity_add_attribute(a, text("x"), CST_ATTRIBUTE_STRING, 1u << 31, NULL, E) < 0);
    OK(cst_release(model));
    model = start(&a, &b);
    OK(cst_entity_add_relationship(a, text("b"), b, 0, &relationship, E));
    CHECK(cst_relationship_set_delete_rule(relationship, 4, E) < 0);
    OK(cst_release(model));
}

/* An argument that a change of a model refuses is a mistake of the model, like any other. */
static void an_invalid_argument_is_repeated_by_freeze(void) {
    const cst_string names[] = {text("a")};
    for (int i = 0; i < 7; i++) {
        cst_entity *a, *b;
        cst_relationship *relationship = NULL;
        cst_model *model = start(&a, &b);
        const cst_status statuses[] = {
            i == 0 ? cst_entity_add_attribute(a, text("x"), CST_ATTRIBUTE_STRING, 1u << 30, NULL, E) : CST_OK,
            i == 1 ? cst_entity_add_attribute(a, text("x"), 12345, 0, NULL, E) : CST_OK,
            i == 2 ? cst_entity_add_relationship(a, text("b"), b, CST_PROPERTY_INDEXED, &relationship, E) : CST_OK,
            i == 3 ? cst_entity_add_index(a, text("x"), 1, NULL, E) : CST_OK,
            i == 4 ? cst_entity_add_index(a, text("x"), SIZE_MAX, names, E) : CST_OK,
            i == 5 ? cst_entity_add_unique_constraint(a, SIZE_MAX, names, E) : CST_OK,
            i == 6 ? cst_entity_set_class_name(a, text("\xff"), E) : CST_OK,
        };
        char message[1000];
        CHECK_INT(i == 6 ? CST_E_INVALID_UTF8 : CST_E_INVALID_ARGUMENT, statuses[i]);
        snprintf(message, sizeof message, "%s", cst_error_message(check_error()).data);
        CHECK_STATUS(statuses[i], cst_model_freeze(model, E));
        CHECK_TEXT(message, cst_error_message(check_error()));
        if (i == 1) CHECK_TEXT("x", cst_error_key(check_error()));
        CHECK(relationship == NULL);
        OK(cst_release(model));
    }
}

static void every_attribute_type_is_accepted(void) {
    static const cst_attribute_type types[] = {100, 200, 300, 400, 500, 600, 700, 800, 900, 1000, 1100, 1200, 1800};
    cst_entity *a, *b;
    cst_model *model = start(&a, &b);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        char name[16];
        snprintf(name, sizeof name, "a%d", (int)types[i]);
        OK(cst_entity_add_attribute(a, text(name), types[i], CST_PROPERTY_OPTIONAL, NULL, E));
    }
    OK(cst_entity_add_attribute(a, text("a0"), CST_ATTRIBUTE_UNDEFINED, CST_PROPERTY_OPTIONAL | CST_PROPERTY_TRANSIENT,
                                NULL, E));
    OK(cst_model_freeze(model, E));
    CHECK_INT(14, cst_entity_property_count(a));
    OK(cst_release(model));
}

static void a_model_with_an_index_and_a_constraint_is_frozen(void) {
    cst_entity *a, *b;
    cst_model *model = start(&a, &b);
    const cst_string names[] = {text("x")};
    OK(cst_entity_add_attribute(a, text("x"), CST_ATTRIBUTE_STRING, CST_PROPERTY_OPTIONAL, NULL, E));
    OK(cst_entity_add_index(a, text("byX"), 1, names, E));
    OK(cst_entity_add_unique_constraint(a, 1, names, E));
    OK(cst_model_freeze(model, E));
    OK(cst_release(model));
}

static void counts_and_delete_rules_are_kept_or_refused(void) {
    cst_entity *a, *b;
    cst_relationship *packs = NULL, *friends = NULL;
    cst_property_info info;
    cst_model *model = start(&a, &b);
    const uint32_t optional = CST_PROPERTY_OPTIONAL | CST_PROPERTY_TO_MANY;
    OK(cst_entity_add_relationship(a, text("packs"), a, CST_PROPERTY_TO_MANY, &packs, E));
    OK(cst_relationship_set_counts(packs, 2, 9, E));
    OK(cst_relationship_set_delete_rule(packs, CST_DELETE_DENY, E));
    OK(cst_relationship_set_inverse(packs, packs, E));
    REQUIRE(find(a, "packs", &info));
    CHECK_INT(CST_PROPERTY_TO_MANY, info.flags);
    CHECK_INT(2, info.minimum_count);
    CHECK_INT(9, info.maximum_count);
    CHECK_INT(CST_DELETE_DENY, info.delete_rule);
    CHECK(info.destination == a);
    CHECK_TEXT("packs", info.inverse);
    OK(cst_entity_add_relationship(a, text("friends"), a, optional, &friends, E));
    for (uint32_t rule = CST_DELETE_NO_ACTION; rule <= CST_DELETE_DENY; rule++)
        OK(cst_relationship_set_delete_rule(friends, rule, E));
    OK(cst_relationship_set_counts(friends, 0, 0, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_relationship_set_delete_rule(friends, 4, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_relationship_set_delete_rule(friends, CST_DELETE_NULLIFY, E));
    OK(cst_release(model));

    model = start(&a, &b);
    OK(cst_entity_add_relationship(a, text("friends"), a, optional, &friends, E));
    CHECK_STATUS(CST_E_MODEL, cst_relationship_set_counts(friends, 5, 4, E));
    OK(cst_release(model));
}

static void user_info_is_read_back(void) {
    cst_entity *a, *b;
    cst_attribute *attribute = NULL;
    cst_relationship *relationship = NULL;
    cst_string value = {NULL, 0};
    cst_model *model = start(&a, &b);
    OK(cst_entity_add_attribute(a, text("x"), CST_ATTRIBUTE_STRING, 0, &attribute, E));
    OK(cst_entity_add_relationship(a, text("b"), b, 0, &relationship, E));
    OK(cst_entity_set_user_info(a, text("k"), text("entity"), E));
    OK(cst_attribute_set_user_info(attribute, text("k"), text("attribute"), E));
    OK(cst_relationship_set_user_info(relationship, text("k"), text("relationship"), E));
    value = text("x");
    CHECK_STATUS(CST_NOT_FOUND, cst_attribute_user_info(attribute, text("empty"), &value, E));
    CHECK_TEXT(NULL, value);
    value = text("x");
    CHECK_STATUS(CST_NOT_FOUND, cst_relationship_user_info(relationship, text("empty"), &value, E));
    CHECK_TEXT(NULL, value);
    OK(cst_relationship_set_user_info(relationship, text("empty"), text(""), E));
    OK(cst_relationship_user_info(relationship, text("empty"), &value, E));
    CHECK_TEXT("", value);
    OK(cst_entity_set_user_info(a, text("former"), text("välue"), E));
    OK(cst_entity_user_info(a, text("former"), &value, E));
    CHECK_TEXT("välue", value);
    OK(cst_entity_set_user_info(a, text("former"), (cst_string){NULL, 0}, E));
    CHECK_STATUS(CST_NOT_FOUND, cst_entity_user_info(a, text("former"), &value, E));
    CHECK_TEXT(NULL, value);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_attribute_user_info(attribute, (cst_string){NULL, 0}, &value, E));
    OK(cst_model_freeze(model, E));
    OK(cst_entity_user_info(a, text("k"), &value, E));
    CHECK_TEXT("entity", value);
    OK(cst_attribute_user_info(attribute, text("k"), &value, E));
    CHECK_TEXT("attribute", value);
    OK(cst_relationship_user_info(relationship, text("k"), &value, E));
    CHECK_TEXT("relationship", value);
    CHECK_STATUS(CST_NOT_FOUND, cst_entity_user_info(a, text("nothing"), &value, E));
    OK(cst_release(model));
}

static void hex(const uint8_t *bytes, size_t count, char *out) {
    for (size_t i = 0; i < count; i++)
        sprintf(out + 2 * i, "%02x", bytes[i]);
}

static void version_hashes_equal_those_of_core_data(void) {
    /* The worked example of the hash's rule: entity FilePath with one required String "path". */
    cst_model *model = NULL;
    cst_entity *entity = NULL;
    uint8_t hash[33] = {0};
    char printed[65];
    hash[32] = 0xab;
    OK(cst_model_new(&model, E));
    OK(cst_model_add_entity(model, text("FilePath"), &entity, E));
    OK(cst_entity_add_attribute(entity, text("path"), CST_ATTRIBUTE_STRING, 0, NULL, E));
    OK(cst_entity_version_hash(entity, hash, E));
    hex(hash, 8, printed);
    CHECK_INT(0xab, hash[32]);
    CHECK(strcmp(printed, "78fdd03879aa96b6") == 0);
    bool frozen = false;
    OK(cst_model_is_frozen(model, &frozen, E));
    CHECK(frozen);
    OK(cst_release(model));
}

static void a_version_hash_modifier_changes_the_hash(void) {
    uint8_t hashes[2][32];
    for (int i = 0; i < 2; i++) {
        cst_entity *a, *b;
        cst_model *model = start(&a, &b);
        if (i == 1) OK(cst_entity_set_version_hash_modifier(a, text("2"), E));
        OK(cst_entity_version_hash(a, hashes[i], E));
        OK(cst_release(model));
    }
    CHECK(memcmp(hashes[0], hashes[1], 32) != 0);
}

static void the_compiled_model_is_a_keyed_archive(void) {
    cst_model *model = company_model();
    cst_buffer out = {NULL, 0, 0};
    OK(cst_model_add_version_identifier(model, text("first"), E));
    OK(cst_model_copy_compiled(model, &out, E));
    REQUIRE(out.size > 40);
    CHECK(memcmp(out.data, "bplist00", 8) == 0);
    bool frozen = false;
    OK(cst_model_is_frozen(model, &frozen, E));
    CHECK(frozen);
    cst_buffer_dispose(&out);
    OK(cst_release(model));
}

static void a_short_property_info_is_filled_to_its_size(void) {
    cst_model *model = company_model();
    OK(cst_model_freeze(model, E));
    cst_entity *employee = NULL;
    OK(cst_model_entity(model, text("Employee"), &employee, E));
    cst_property_info info;
    memset(&info, 0x5a, sizeof info);
    info.struct_size = offsetof(cst_property_info, attribute_type);
    OK(cst_entity_property_at(employee, 0, &info, E));
    CHECK_TEXT("name", info.name);
    CHECK_INT(CST_PROPERTY_ATTRIBUTE, info.kind);
    CHECK_INT(0x5a5a5a5a, info.attribute_type);
    CHECK_INT(0x5a5a5a5a, info.key);
    CHECK_INT(0x5a5a5a5a, info.maximum_count);
    CHECK_INT(offsetof(cst_property_info, attribute_type), info.struct_size);
    /* Members that only a newer header has are set to 0. */
    struct {
        cst_property_info info;
        uint8_t tail[40];
    } newer;
    memset(&newer, 0x5a, sizeof newer);
    newer.info.struct_size = sizeof newer.info + 32;
    OK(cst_entity_property_at(employee, 0, &newer.info, E));
    CHECK_TEXT("name", newer.info.name);
    for (int i = 0; i < 40; i++)
        CHECK_INT(i < 32 ? 0 : 0x5a, newer.tail[i]);
    const size_t wrong[] = {0, 7, 1 << 20, SIZE_MAX};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        newer.info.struct_size = wrong[i];
        CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_entity_property_at(employee, 0, &newer.info, E));
    }
    OK(cst_release(model));
}

static const char place[] = "<model><entity name='Place'><attribute name='title' attributeType='String'/>"
                            "</entity></model>";

/* A bundle with the versions "Map" and "Map 2", of which the second is the current one. */
static const char *bundle(void) {
    mkdir(check_path("Map.xcdatamodeld"), 0700);
    mkdir(check_path("Map.xcdatamodeld/Map.xcdatamodel"), 0700);
    mkdir(check_path("Map.xcdatamodeld/Map 2.xcdatamodel"), 0700);
    check_write(check_path("Map.xcdatamodeld/Map.xcdatamodel/contents"), "<model><entity name='Spot'/></model>");
    check_write(check_path("Map.xcdatamodeld/Map 2.xcdatamodel/contents"), place);
    check_write(check_path("Map.xcdatamodeld/.xccurrentversion"),
                "<plist><dict><key>_XCCurrentVersionName</key><string>Map 2.xcdatamodel</string></dict></plist>");
    return check_path("Map.xcdatamodeld");
}

static const cst_string current = {NULL, 0};

/* A model that was saved before it was complete: a destination and an attribute type are missing. */
static void an_incomplete_model_can_be_inspected(void) {
    const char *folder = check_path("Half.xcdatamodel");
    char contents[512];
    snprintf(contents, sizeof contents, "%s/contents", folder);
    CHECK_INT(0, mkdir(folder, 0777));
    FILE *file = fopen(contents, "w");
    CHECK(file != NULL);
    fputs("<?xml version=\"1.0\"?><model documentVersion=\"1.0\"><entity name=\"Place\"><attribute name=\"x\"/>"
          "<relationship name=\"near\" maxCount=\"1\" destinationEntity=\"Street\"/></entity></model>",
          file);
    fclose(file);
    cst_string path = text(folder);
    cst_model *model = NULL;
    cst_entity *entity = NULL;
    cst_buffer problems = {0};
    CHECK_STATUS(CST_E_MODEL, cst_model_load(path, current, &model, E));
    CHECK_CONTAINS("Place.near has the destination \"Street\"", cst_error_message(check_error()));
    OK(cst_model_load_draft(path, current, &model, &problems, E));
    CHECK_CONTAINS("\"key\": \"near\"", text(problems.data));
    CHECK_CONTAINS("Place.x has the type Undefined", text(problems.data));
    OK(cst_model_entity(model, text("Place"), &entity, E));
    CHECK_TEXT("Place", cst_entity_name(entity));
    CHECK_STATUS(CST_E_MODEL, cst_model_freeze(model, E));
    CHECK_CONTAINS("has the destination \"Street\"", cst_error_message(check_error()));
    OK(cst_release(model));
    OK(cst_model_load_draft(text(bundle()), current, &model, &problems, E));
    CHECK(strcmp(problems.data, "[]") == 0);
    OK(cst_model_freeze(model, E));
    OK(cst_release(model));
    cst_buffer_dispose(&problems);
}

static void an_r_tree_over_text_is_refused(void) {
    cst_model *model = NULL;
    cst_entity *entity = NULL;
    OK(cst_model_new(&model, E));
    OK(cst_model_add_entity(model, text("Place"), &entity, E));
    OK(cst_entity_add_attribute(entity, text("label"), CST_ATTRIBUTE_STRING, 0, NULL, E));
    cst_index_element element = {.property = text("label"), .flags = CST_INDEX_RTREE};
    OK(cst_entity_add_fetch_index(entity, text("byLabel"), 1, &element, NULL, E));
    CHECK_STATUS(CST_E_MODEL, cst_model_freeze(model, E));
    CHECK_CONTAINS("the R-tree index \"byLabel\" of Place contains Place.label (String)",
                   cst_error_message(check_error()));
    CHECK_TEXT("Place", cst_error_entity(check_error()));
    CHECK_TEXT("label", cst_error_key(check_error()));
    OK(cst_release(model));
}

static void models_are_read_from_bundles(void) {
    cst_string path = text(bundle());
    cst_model *model = NULL;
    cst_entity *entity = NULL;
    cst_property_info info = CST_PROPERTY_INFO_INIT;
    OK(cst_model_load(path, current, &model, E));
    OK(cst_model_entity(model, text("Place"), &entity, E));
    OK(cst_entity_property_at(entity, 0, &info, E));
    CHECK_TEXT("title", info.name);
    CHECK_INT(CST_ATTRIBUTE_STRING, info.attribute_type);
    bool frozen = true;
    OK(cst_model_is_frozen(model, &frozen, E));
    CHECK(!frozen);
    OK(cst_model_freeze(model, E));
    OK(cst_release(model));
    OK(cst_model_load(path, text("Map"), &model, E));
    OK(cst_model_entity(model, text("Spot"), &entity, E));
    OK(cst_release(model));
    model = NULL;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_model_load(path, text("Map 3"), &model, E));
    CHECK_CONTAINS("use \"Map\" or \"Map 2\"", cst_error_message(check_error()));
    CHECK(model == NULL);
}

static void store_of(cst_model *model, const char *path) {
    cst_coordinator *coordinator = NULL;
    OK(cst_coordinator_new(model, &coordinator, E));
    OK(cst_coordinator_add_store(coordinator, text("SQLite"), text(path), NULL, NULL, E));
    OK(cst_release(coordinator));
    OK(cst_release(model));
}

static void the_bundle_version_that_wrote_the_store_is_loaded(void) {
    cst_string path = text(bundle()), store = text(check_path("map.sqlite"));
    cst_model *model = NULL;
    OK(cst_model_load(path, text("Map"), &model, E));
    CHECK_TEXT("Map", cst_model_version_name(model));
    store_of(model, check_path("map.sqlite"));
    OK(cst_model_load_for_store(path, store, &model, E));
    CHECK_TEXT("Map", cst_model_version_name(model));
    bool frozen = false;
    OK(cst_model_is_frozen(model, &frozen, E));
    CHECK(frozen);
    OK(cst_release(model));
    CHECK(cst_model_version_name(model).data == NULL);
    CHECK(cst_model_version_name(NULL).data == NULL);

    store_of(company_model(), check_path("company.sqlite"));
    model = NULL;
    CHECK_STATUS(CST_E_MODEL_MISMATCH, cst_model_load_for_store(path, text(check_path("company.sqlite")), &model, E));
    CHECK_CONTAINS("The nearest is Map", cst_error_message(check_error()));
    CHECK_TEXT(check_path("company.sqlite"), cst_error_file(check_error()));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_model_load_for_store(path, text(""), &model, E));
    CHECK_STATUS(CST_E_STORE_IO, cst_model_load_for_store(text(check_path("none")), store, &model, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_model_load_for_store(path, store, NULL, E));
    CHECK(model == NULL);

    /* A store that does not exist yet selects the current version. */
    OK(cst_model_load_for_store(path, text(check_path("later.sqlite")), &model, E));
    CHECK_TEXT("Map 2", cst_model_version_name(model));
    OK(cst_release(model));
}

static void a_model_is_described_as_json(void) {
    cst_model *model = NULL;
    cst_buffer json = {NULL, 0, 0};
    OK(cst_model_load_bytes((cst_bytes){(const uint8_t *)place, sizeof place - 1}, &model, E));
    OK(cst_model_copy_json(model, &json, E));
    CHECK_CONTAINS("\"name\": \"Place\"", text_of_size(json.data, json.size));
    CHECK_CONTAINS("{\"name\": \"title\", \"optional\": false, \"type\": \"String\"}",
                   text_of_size(json.data, json.size));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_model_copy_json(model, NULL, E));
    OK(cst_release(model));
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_model_copy_json(model, &json, E));
    cst_buffer_dispose(&json);
}

static void a_model_diagram_is_written_as_dot(void) {
    cst_model *model = NULL;
    cst_buffer dot = {NULL, 0, 0};
    OK(cst_model_load_bytes((cst_bytes){(const uint8_t *)place, sizeof place - 1}, &model, E));
    OK(cst_model_copy_diagram(model, &dot, E));
    CHECK_CONTAINS("digraph model {", text_of_size(dot.data, dot.size));
    CHECK_CONTAINS("\"Place\" [label=<", text_of_size(dot.data, dot.size));
    CHECK_CONTAINS(">title<", text_of_size(dot.data, dot.size));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_model_copy_diagram(model, NULL, E));
    OK(cst_release(model));
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_model_copy_diagram(model, &dot, E));
    cst_buffer_dispose(&dot);
}

/* Including an entry of a user info with an unknown attribute. */
static void unknown_elements_of_a_model_file_are_kept(void) {
    static const char source[] = "<model lang='Swift'><entity name='A'><userInfo><entry key='k' value='v' kind='t'/>"
                                 "</userInfo><new>text</new></entity></model>";
    cst_model *model = NULL;
    cst_buffer json = {NULL, 0, 0};
    OK(cst_model_load_bytes((cst_bytes){(const uint8_t *)source, sizeof source - 1}, &model, E));
    OK(cst_model_copy_json(model, &json, E));
    cst_string said = text_of_size(json.data, json.size);
    CHECK_CONTAINS("\"extras\": {\"attributes\": {\"lang\": \"Swift\"}}", said);
    CHECK_CONTAINS("\"attributes\": {\"key\": \"k\", \"kind\": \"t\", \"value\": \"v\"}", said);
    CHECK_CONTAINS("{\"elements\": [{\"place\": 0, \"text\": \"text\"}], \"name\": \"new\", \"place\": 1}", said);
    cst_buffer_dispose(&json);
    OK(cst_release(model));
}

static void versions_of_a_bundle_are_listed(void) {
    cst_string path = text(bundle());
    cst_buffer names = {NULL, 0, 0};
    size_t count = 0, which = 0;
    OK(cst_model_copy_versions(path, &names, &count, &which, E));
    CHECK_INT(2, count);
    CHECK_INT(1, which);
    CHECK(names.size == 10 && memcmp(names.data, "Map\0Map 2", 10) == 0);
    OK(cst_model_copy_versions(path, &names, NULL, NULL, E));
    OK(cst_model_copy_versions(text(check_path("Map.xcdatamodeld/Map.xcdatamodel")), &names, &count, &which, E));
    CHECK_INT(1, count);
    CHECK_INT(0, which);
    CHECK_STATUS(CST_E_STORE_IO, cst_model_copy_versions(text(check_path("none")), &names, &count, &which, E));
    cst_buffer_dispose(&names);
}

static void a_compiled_model_is_read_back(void) {
    cst_model *model = company_model(), *again = NULL;
    cst_buffer bytes = {NULL, 0, 0};
    OK(cst_model_copy_compiled(model, &bytes, E));
    OK(cst_model_load_bytes((cst_bytes){(const uint8_t *)bytes.data, bytes.size}, &again, E));
    CHECK_INT(cst_model_entity_count(model), cst_model_entity_count(again));
    for (size_t i = 0; i < cst_model_entity_count(model); i++) {
        cst_entity *one = NULL, *other = NULL;
        uint8_t a[32], b[32];
        OK(cst_model_entity_at(model, i, &one, E));
        OK(cst_model_entity(again, cst_entity_name(one), &other, E));
        OK(cst_entity_version_hash(one, a, E));
        OK(cst_entity_version_hash(other, b, E));
        CHECK(memcmp(a, b, sizeof a) == 0);
    }
    OK(cst_release(again));
    again = NULL;
    CHECK_STATUS(CST_E_STORE_CORRUPT,
                 cst_model_load_bytes((cst_bytes){(const uint8_t *)bytes.data, bytes.size - 1}, &again, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_model_load_bytes((cst_bytes){NULL, 0}, &again, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT,
                 cst_model_load_bytes((cst_bytes){(const uint8_t *)bytes.data, SIZE_MAX}, &again, E));
    CHECK(again == NULL);
    cst_buffer_dispose(&bytes);
    OK(cst_release(model));
}

static void errors_name_files_that_are_not_models(void) {
    cst_model *model = NULL;
    check_write(check_path("a.sqlite"), "SQLite format 4, or nearly");
    CHECK_STATUS(CST_E_MODEL, cst_model_load(text(check_path("a.sqlite")), current, &model, E));
    CHECK_TEXT(check_path("a.sqlite"), cst_error_file(check_error()));
    CHECK_STATUS(CST_E_STORE_IO, cst_model_load(text(check_path("none")), current, &model, E));
    CHECK_STATUS(CST_E_MODEL, cst_model_load(text(check_path(".")), current, &model, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_model_load((cst_string){NULL, 0}, current, &model, E));
    CHECK(model == NULL);
}

static void a_copy_of_a_frozen_model_can_be_changed_and_merged(void) {
    cst_model *model = company_model(), *copy = NULL, *merged = NULL;
    OK(cst_model_freeze(model, E));
    OK(cst_model_copy(model, &copy, E));
    bool is_frozen = true;
    OK(cst_model_is_frozen(copy, &is_frozen, E));
    CHECK(!is_frozen);
    cst_entity *extra = NULL;
    OK(cst_model_add_entity(copy, text("Extra"), &extra, E));
    cst_model *both[] = {model, copy};
    OK(cst_model_merge(2, both, (cst_string){0}, &merged, E));
    CHECK_INT(7, cst_model_entity_count(merged));
    OK(cst_release(merged));

    /* A store of the first model, and models of which one has it. */
    cst_coordinator *coordinator = NULL;
    OK(cst_coordinator_new(model, &coordinator, E));
    const char *path = check_path("company.sqlite");
    OK(cst_coordinator_add_store(coordinator, text("SQLite"), text(path), NULL, NULL, E));
    cst_release(coordinator);
    OK(cst_model_merge(2, both, text(path), &merged, E));
    CHECK_INT(6, cst_model_entity_count(merged));
    OK(cst_coordinator_open_store(text(path), merged, NULL, &coordinator, NULL, E));
    cst_release(coordinator);
    OK(cst_release(merged));
    CHECK_STATUS(CST_E_MODEL_MISMATCH, cst_model_merge(0, NULL, text(path), &merged, E));
    CHECK_CONTAINS("Department, Employee", cst_error_message(check_error()));
    CHECK_STATUS(CST_E_STORE_IO, cst_model_merge(2, both, text(check_path("none.sqlite")), &merged, E));
    OK(cst_release(copy));
    OK(cst_release(model));
}

static void a_written_model_is_read_back(void) {
    cst_model *model = company_model(), *again = NULL;
    cst_buffer source = {NULL, 0, 0}, same = {NULL, 0, 0};
    const uint32_t lossy = CST_MODEL_LOSSY;
    OK(cst_model_copy_source(model, lossy, &source, E));
    CHECK(source.size > 100 && memcmp(source.data, "<?xml", 5) == 0);
    OK(cst_model_load_bytes((cst_bytes){(const uint8_t *)source.data, source.size}, &again, E));
    CHECK_INT(6, cst_model_entity_count(again));
    OK(cst_model_copy_source(again, 0, &same, E));
    CHECK(same.size == source.size && memcmp(same.data, source.data, same.size) == 0);
    cst_buffer_dispose(&source);
    cst_buffer_dispose(&same);

    const char *bundle = check_path("Company.xcdatamodeld");
    OK(cst_model_write(again, text(bundle), text("Company"), 0, E));
    OK(cst_model_write(again, text(bundle), text("Company 2"), CST_MODEL_KEEP_CURRENT, E));
    const char *compiled = check_path("Company.momd");
    OK(cst_model_convert(text(bundle), text(compiled), text("App"), 0, E));
    OK(cst_release(again));
    cst_buffer names = {NULL, 0, 0};
    size_t count = 0, current = 9;
    OK(cst_model_copy_versions(text(compiled), &names, &count, &current, E));
    CHECK_INT(2, count);
    CHECK_INT(0, current);
    cst_buffer_dispose(&names);
    OK(cst_model_load(text(compiled), text("Company 2"), &again, E));
    CHECK_INT(6, cst_model_entity_count(again));
    OK(cst_release(again));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_model_convert(text(compiled), text(bundle), text("App"), 0, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_model_write(model, text(check_path("a.txt")), text("a"), lossy, E));
    CHECK_CONTAINS(".xcdatamodeld", cst_error_message(check_error()));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_model_copy_source(model, CST_MODEL_KEEP_CURRENT, &source, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_model_write(model, text(compiled), text("a"), 1u << 9, E));
    OK(cst_release(model));
}

static void versions_are_compared_by_hash_and_checksum(void) {
    cst_model *model = company_model(), *merged = NULL;
    cst_entity *employee = NULL;
    uint8_t hash[32] = {0}, zero[32] = {0};
    OK(cst_model_entity(model, text("Employee"), &employee, E));
    OK(cst_entity_property_version_hash(employee, text("name"), hash, E));
    CHECK(memcmp(hash, zero, 32) != 0);
    CHECK_STATUS(CST_NOT_FOUND, cst_entity_property_version_hash(employee, text("nothing"), hash, E));
    const char *path = check_path("company.sqlite"), *folder = check_path("models");
    CHECK_INT(0, mkdir(folder, 0777));
    const char *bundle = check_path("models/Company.momd");
    store_of(company_model(), path);
    bool compatible = false;
    OK(cst_model_is_compatible(model, (cst_string){NULL, 0}, text(path), &compatible, E));
    CHECK(compatible);
    static const char empty[] = "<plist version='1.0'><dict/></plist>";
    const cst_bytes metadata = {(const uint8_t *)empty, sizeof empty - 1};
    OK(cst_model_is_compatible_metadata(model, (cst_string){NULL, 0}, metadata, &compatible, E));
    CHECK(!compatible);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_model_is_compatible(model, text("Nowhere"), text(path), &compatible, E));
    cst_buffer one = {NULL, 0, 0}, all = {NULL, 0, 0};
    size_t count = 0;
    OK(cst_model_write(model, text(bundle), text("First"), 0, E));
    OK(cst_model_copy_checksum(model, &one, E));
    OK(cst_model_copy_version_checksums(text(bundle), &all, &count, E));
    CHECK_INT(1, count);
    CHECK(strcmp(all.data, "First") == 0 && strcmp(all.data + 6, one.data) == 0);
    cst_buffer_dispose(&one);
    cst_buffer_dispose(&all);
    OK(cst_model_merge_folder(text(folder), (cst_string){NULL, 0}, &merged, E));
    CHECK_INT(6, cst_model_entity_count(merged));
    OK(cst_release(merged));
    OK(cst_model_merge_folder(text(folder), text(path), &merged, E));
    CHECK_STATUS(CST_NOT_FOUND, cst_model_load_strings(merged, text(bundle), text("fr"), E));
    OK(cst_release(merged));
    OK(cst_release(model));
}

/* A model stores its first error, and outlives the context of the object in that error. */
static void a_model_error_does_not_retain_objects(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    cst_model *model = NULL;
    cst_entity *entity = NULL;
    cst_attribute *attribute = NULL;
    OK(cst_model_new(&model, E));
    OK(cst_model_add_entity(model, text("Thing"), &entity, E));
    OK(cst_entity_add_attribute(entity, text("name"), CST_ATTRIBUTE_STRING, 0, &attribute, E));
    const cst_value value = {CST_OBJECT, 0, {.object = ada}};
    CHECK_STATUS(CST_E_TYPE_MISMATCH, cst_attribute_set_default(attribute, &value, E));
    cst_release(ada);
    company_close(&c);
    CHECK_STATUS(CST_E_TYPE_MISMATCH, cst_model_freeze(model, E));
    CHECK_TEXT("name", cst_error_key(check_error()));
    OK(cst_release(model));
}

static void models_are_linted_and_compared(void) {
    cst_model *model = company_model(), *copy = NULL;
    cst_entity *employee = NULL;
    cst_buffer json = {0};
    OK(cst_model_copy_lint(model, current, &json, E));
    CHECK_CONTAINS("\"rule\": \"no-inverse\"", text_of_size(json.data, json.size));
    OK(cst_model_copy_lint(model, text("cloudkit"), &json, E));
    CHECK_CONTAINS("\"rule\": \"cloudkit-ordered\"", text_of_size(json.data, json.size));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_model_copy_lint(model, text("moon"), &json, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_model_copy_version_lint(model, text("moon"), 0, NULL, &json, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_model_copy_version_lint(model, text("cloudkit"), 1, NULL, &json, E));
    OK(cst_model_copy(model, &copy, E));
    OK(cst_model_copy_diff(model, copy, &json, E));
    CHECK_TEXT("[]", text_of_size(json.data, json.size));
    OK(cst_model_entity(copy, text("Employee"), &employee, E));
    OK(cst_model_copy_version_lint(model, current, 1, &copy, &json, E));
    CHECK(strstr(json.data, "chained-renaming") == NULL);
    OK(cst_entity_set_property_renaming_identifier(employee, text("badge"), text("token"), E));
    OK(cst_model_copy_version_lint(model, current, 1, &copy, &json, E));
    CHECK_CONTAINS("\"rule\": \"chained-renaming\"", text_of_size(json.data, json.size));
    CHECK_CONTAINS("to \\\"token\\\"", text_of_size(json.data, json.size));
    OK(cst_entity_remove_property(employee, text("badge"), E));
    OK(cst_model_copy_diff(model, copy, &json, E));
    CHECK_CONTAINS("\"changesHash\": true", text_of_size(json.data, json.size));
    cst_buffer_dispose(&json);
    OK(cst_release(copy));
    OK(cst_release(model));
}

/* Transient and fetched properties do not contribute to a hash; an inherited property contributes the same as in its
 * superentity. */
static void each_property_has_its_own_version_hash(void) {
    cst_model *model = company_model();
    cst_entity *employee = NULL, *person = NULL;
    uint8_t own[33], inherited[32], other[32];
    memset(own, 0xab, sizeof own);
    OK(cst_model_entity(model, text("Employee"), &employee, E));
    OK(cst_model_entity(model, text("Person"), &person, E));
    OK(cst_entity_property_version_hash(person, text("name"), own, E));
    CHECK_INT(0xab, own[32]);
    OK(cst_entity_property_version_hash(employee, text("name"), inherited, E));
    CHECK(memcmp(own, inherited, 32) == 0);
    OK(cst_entity_property_version_hash(employee, text("friends"), other, E));
    CHECK(memcmp(own, other, 32) != 0);
    bool frozen = false;
    OK(cst_model_is_frozen(model, &frozen, E));
    CHECK(frozen);
    static const char *const none[] = {"scratch", "namesakes", "nothing"};
    for (size_t i = 0; i < 3; i++)
        CHECK_STATUS(CST_NOT_FOUND, cst_entity_property_version_hash(employee, text(none[i]), other, E));
    OK(cst_release(model));
}

static void localised_names_of_entities_and_properties_are_found(void) {
    cst_model *model = company_model();
    cst_entity *employee = NULL;
    cst_string found = text("x");
    OK(cst_model_entity(model, text("Employee"), &employee, E));
    CHECK_STATUS(CST_NOT_FOUND, cst_model_localization(model, text("Entity/Employee"), &found, E));
    CHECK_TEXT(NULL, found);
    CHECK_TEXT("Employee", cst_entity_localized_name(employee));
    OK(cst_model_set_localization(model, text("Entity/Employee"), text("Angestellter"), E));
    OK(cst_model_set_localization(model, text("Property/level"), text("Stufe"), E));
    OK(cst_model_set_localization(model, text("Property/number/Entity/Employee"), text("Nummer"), E));
    OK(cst_model_set_localization(model, text("Property/floor"), text("Stock"), E));
    OK(cst_model_set_localization(model, text("Property/floor"), (cst_string){NULL, 0}, E));
    OK(cst_model_localization(model, text("Entity/Employee"), &found, E));
    CHECK_TEXT("Angestellter", found);
    OK(cst_model_freeze(model, E));
    CHECK_TEXT("Angestellter", cst_entity_localized_name(employee));
    static const char *const properties[][2] = {
        {"level", "Stufe"}, {"number", "Nummer"}, {"floor", "floor"}, {"name", "name"}};
    for (size_t i = 0; i < 4; i++) {
        OK(cst_entity_localized_property_name(employee, text(properties[i][0]), &found, E));
        CHECK_TEXT(properties[i][1], found);
    }
    CHECK_STATUS(CST_NOT_FOUND, cst_entity_localized_property_name(employee, text("nothing"), &found, E));
    CHECK_TEXT(NULL, found);
    CHECK_TEXT(NULL, cst_entity_localized_name(NULL));
    OK(cst_release(model));
}

static void subentities_are_listed_in_order(void) {
    cst_model *model = NULL;
    cst_entity *root = NULL, *children[3], *found = NULL;
    OK(cst_model_new(&model, E));
    OK(cst_model_add_entity(model, text("Root"), &root, E));
    static const char *const names[] = {"Zebra", "Apple", "Mango"};
    for (int i = 0; i < 3; i++) {
        OK(cst_model_add_entity(model, text(names[i]), &children[i], E));
        OK(cst_entity_set_parent(children[i], root, E));
    }
    bool is_kind = true;
    for (size_t i = 0; i < 3; i++) {
        OK(cst_entity_child_at(root, i, &found, E));
        CHECK(found == children[i]);
    }
    CHECK_STATUS(CST_END, cst_entity_child_at(root, 3, &found, E));
    CHECK(found == NULL);
    CHECK_STATUS(CST_END, cst_entity_child_at(root, SIZE_MAX, &found, E));
    OK(cst_entity_is_kind_of(children[0], children[1], &is_kind, E));
    CHECK(!is_kind);
    OK(cst_entity_is_kind_of(root, root, &is_kind, E));
    CHECK(is_kind);
    OK(cst_entity_is_abstract(root, &is_kind, E));
    CHECK(!is_kind);
    OK(cst_entity_set_abstract(root, true, E));
    OK(cst_entity_set_abstract(root, false, E));
    OK(cst_entity_is_abstract(root, &is_kind, E));
    CHECK(!is_kind);
    OK(cst_release(model));
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(entities_are_found_by_name_and_position);
    RUN(property_info_describes_properties);
    RUN(keys_of_a_superentity_are_valid_in_subentities);
    RUN(a_frozen_model_cannot_change);
    RUN(the_first_model_error_is_repeated);
    RUN(invalid_models_are_refused);
    RUN(unknown_types_and_flags_are_refused);
    RUN(an_invalid_argument_is_repeated_by_freeze);
    RUN(every_attribute_type_is_accepted);
    RUN(a_model_with_an_index_and_a_constraint_is_frozen);
    RUN(counts_and_delete_rules_are_kept_or_refused);
    RUN(user_info_is_read_back);
    RUN(version_hashes_equal_those_of_core_data);
    RUN(a_version_hash_modifier_changes_the_hash);
    RUN(the_compiled_model_is_a_keyed_archive);
    RUN(an_incomplete_model_can_be_inspected);
    RUN(an_r_tree_over_text_is_refused);
    RUN(models_are_read_from_bundles);
    RUN(the_bundle_version_that_wrote_the_store_is_loaded);
    RUN(a_model_is_described_as_json);
    RUN(a_model_diagram_is_written_as_dot);
    RUN(unknown_elements_of_a_model_file_are_kept);
    RUN(versions_of_a_bundle_are_listed);
    RUN(a_compiled_model_is_read_back);
    RUN(errors_name_files_that_are_not_models);
    RUN(a_short_property_info_is_filled_to_its_size);
    RUN(a_copy_of_a_frozen_model_can_be_changed_and_merged);
    RUN(a_written_model_is_read_back);
    RUN(versions_are_compared_by_hash_and_checksum);
    RUN(a_model_error_does_not_retain_objects);
    RUN(models_are_linted_and_compared);
    RUN(each_property_has_its_own_version_hash);
    RUN(localised_names_of_entities_and_properties_are_found);
    RUN(subentities_are_listed_in_order);
    return check_end();
}
