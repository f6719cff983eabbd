/* Validation: the conditions of a model, checked by a save and on demand, in the words of its localisation.
 *
 * SPDX-License-Identifier: MIT
 */
#include "check.h"

#include <stdio.h>
#include <string.h>

/* A log of runs: `date` is required, `processID` must be above 0 and is not when a run is fresh. */
struct runs {
    cst_model *model;
    cst_entity *run;
    cst_attribute *process_id;
    cst_coordinator *coordinator;
    cst_context *context;
    cst_key date, process, note, site, parent, children;
};

static void localise(cst_model *model, const char *key, const char *words) {
    OK(cst_model_set_localization(model, text(key), text(words), E));
}

static void begin(struct runs *r) {
    memset(r, 0, sizeof *r);
    OK(cst_model_new(&r->model, E));
    OK(cst_model_add_entity(r->model, text("Run"), &r->run, E));
    OK(cst_entity_add_attribute(r->run, text("date"), CST_ATTRIBUTE_DATE, 0, NULL, E));
    OK(cst_entity_add_attribute(r->run, text("processID"), CST_ATTRIBUTE_INTEGER_32, 0, &r->process_id, E));
    const cst_value fresh = {CST_INT, 0, {.integer = -1}};
    OK(cst_attribute_set_default(r->process_id, &fresh, E));
    cst_predicate *above = NULL;
    OK(cst_predicate_parse(text("SELF > 0"), 0, NULL, &above, E));
    OK(cst_attribute_add_validation(r->process_id, above, text("Process ID < 1"), E));
    cst_release(above);

    cst_attribute *note = NULL;
    OK(cst_entity_add_attribute(r->run, text("note"), CST_ATTRIBUTE_STRING, CST_PROPERTY_OPTIONAL, &note, E));
    const cst_value two = {CST_INT, 0, {.integer = 2}}, eight = {CST_INT, 0, {.integer = 8}};
    OK(cst_attribute_set_bounds(note, &two, &eight, E));
    OK(cst_attribute_set_pattern(note, text("[a-z ]*"), E));
    OK(cst_entity_add_attribute(r->run, text("site"), CST_ATTRIBUTE_URI, CST_PROPERTY_OPTIONAL, NULL, E));

    cst_relationship *parent = NULL, *children = NULL;
    OK(cst_entity_add_relationship(r->run, text("parent"), r->run, CST_PROPERTY_OPTIONAL, &parent, E));
    OK(cst_entity_add_relationship(r->run, text("children"), r->run, CST_PROPERTY_OPTIONAL | CST_PROPERTY_TO_MANY,
                                   &children, E));
    OK(cst_relationship_set_inverse(parent, children, E));
    cst_predicate *elder = NULL;
    OK(cst_predicate_parse(text("note != 'no child'"), 0, NULL, &elder, E));
    OK(cst_relationship_add_validation(parent, elder, text("That run has no children"), E));
    cst_release(elder);
    OK(cst_relationship_set_delete_rule(children, CST_DELETE_DENY, E));
}

static void open_store(struct runs *r) {
    OK(cst_coordinator_new(r->model, &r->coordinator, E));
    OK(cst_coordinator_add_store(r->coordinator, text("SQLite"), text(check_path("runs.sqlite")), NULL, NULL, E));
    OK(cst_context_new(r->coordinator, CST_QUEUE_CALLER, &r->context, E));
    OK(cst_entity_key(r->run, text("date"), &r->date, E));
    OK(cst_entity_key(r->run, text("processID"), &r->process, E));
    OK(cst_entity_key(r->run, text("note"), &r->note, E));
    OK(cst_entity_key(r->run, text("site"), &r->site, E));
    OK(cst_entity_key(r->run, text("parent"), &r->parent, E));
    OK(cst_entity_key(r->run, text("children"), &r->children, E));
}

static void end(struct runs *r) {
    cst_release(r->context);
    cst_release(r->coordinator);
    cst_release(r->model);
}

static cst_object *valid_run(struct runs *r) {
    cst_object *run = NULL;
    const cst_value now = {CST_DATE, 0, {.date = 1000}}, process = {CST_INT, 0, {.integer = 7}};
    OK(cst_context_insert(r->context, r->run, &run, E));
    OK(cst_object_set(run, r->date, &now, E));
    OK(cst_object_set(run, r->process, &process, E));
    return run;
}

/* The one failure of the last call, with every field. */
static void check_failure(int64_t code, const char *key, const char *predicate, const char *message) {
    const cst_error *error = check_error();
    REQUIRE(error != NULL);
    CHECK_INT(code, cst_error_code(error));
    CHECK_TEXT("NSCocoaErrorDomain", cst_error_domain(error));
    CHECK_TEXT("Run", cst_error_entity(error));
    CHECK_TEXT(key, cst_error_key(error));
    CHECK_TEXT(predicate, cst_error_predicate(error));
    CHECK_CONTAINS("x-coredata:", cst_error_object_uri(error));
    if (message) CHECK_TEXT(message, cst_error_message(error));
}

static void validation_errors_use_the_localised_texts_of_the_model(void) {
    static const struct {
        const char *date, *process, *warning, *warned, *missing;
    } languages[] = {
        {"Date", "Process ID", "Process ID must not be less than 1", "Process ID must not be less than 1",
         "Run.Date is required and cannot be null; set it before saving"},
        {"日期", "进程号", "进程号不能小于 1", "进程号不能小于 1",
         "Run.日期 is required and cannot be null; set it before saving"},
    };
    for (size_t i = 0; i < sizeof languages / sizeof *languages; i++) {
        struct runs r;
        begin(&r);
        localise(r.model, "Property/date/Entity/Run", languages[i].date);
        localise(r.model, "Property/processID/Entity/Run", languages[i].process);
        localise(r.model, "ErrorString/Process ID < 1", languages[i].warning);
        open_store(&r);
        cst_string words;
        OK(cst_entity_localized_property_name(r.run, text("processID"), &words, E));
        CHECK_TEXT(languages[i].process, words);

        cst_object *run = NULL;
        OK(cst_context_insert(r.context, r.run, &run, E));
        CHECK_STATUS(CST_E_VALIDATION, cst_context_save(r.context, E));
        const cst_error *error = check_error();
        CHECK_INT(CST_CODE_VALIDATION_MULTIPLE_ERRORS, cst_error_code(error));
        REQUIRE(cst_error_detail_count(error) == 2);
        CHECK_INT(CST_CODE_VALIDATION_MISSING_MANDATORY_PROPERTY, cst_error_code(cst_error_detail_at(error, 0)));
        CHECK_TEXT(languages[i].missing, cst_error_message(cst_error_detail_at(error, 0)));
        CHECK_INT(CST_CODE_MANAGED_OBJECT_VALIDATION, cst_error_code(cst_error_detail_at(error, 1)));
        CHECK_TEXT(languages[i].warned, cst_error_message(cst_error_detail_at(error, 1)));
        CHECK_TEXT("SELF > 0", cst_error_predicate(cst_error_detail_at(error, 1)));
        cst_value value;
        OK(cst_error_value(cst_error_detail_at(error, 1), &value));
        CHECK_INT(-1, value.as.integer);
        CHECK_STATUS(CST_E_VALIDATION, cst_context_validate(r.context, E));

        const cst_value now = {CST_DATE, 0, {.date = 1000}}, process = {CST_INT, 0, {.integer = 1}};
        OK(cst_object_set(run, r.date, &now, E));
        OK(cst_object_set(run, r.process, &process, E));
        OK(cst_context_validate(r.context, E));
        bool changed = false;
        OK(cst_context_has_changes(r.context, &changed, E));
        CHECK(changed);
        OK(cst_context_save(r.context, E));
        cst_release(run);
        end(&r);
        remove(check_path("runs.sqlite"));
        remove(check_path("runs.sqlite-wal"));
        remove(check_path("runs.sqlite-shm"));
    }
}

static void bounds_and_patterns_have_error_codes(void) {
    struct runs r;
    begin(&r);
    open_store(&r);
    cst_object *run = valid_run(&r);
    static const struct {
        const char *note;
        int64_t code;
        const char *predicate;
    } cases[] = {{"a", CST_CODE_VALIDATION_STRING_TOO_SHORT, "length >= 2"},
                 {"abcdefghi", CST_CODE_VALIDATION_STRING_TOO_LONG, "length <= 8"},
                 {"UPPER", CST_CODE_VALIDATION_STRING_PATTERN_MATCHING, "SELF MATCHES \"[a-z ]*\""}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const cst_value note = {CST_STRING, 0, {.string = text(cases[i].note)}};
        OK(cst_object_set(run, r.note, &note, E));
        CHECK_STATUS(CST_E_VALIDATION, cst_object_validate(run, CST_VALIDATE_INSERT, E));
        check_failure(cases[i].code, "note", cases[i].predicate, NULL);
    }
    const cst_value fine = {CST_STRING, 0, {.string = text("well run")}},
                    uri = {CST_STRING, 0, {.string = text("http://not a uri")}};
    OK(cst_object_set(run, r.note, &fine, E));
    OK(cst_object_validate(run, CST_VALIDATE_INSERT, E));
    OK(cst_object_set(run, r.site, &uri, E));
    CHECK_STATUS(CST_E_VALIDATION, cst_context_save(r.context, E));
    check_failure(
        CST_CODE_VALIDATION_INVALID_URI, "site", NULL,
        "Run.site is \"http://not a uri\", which is not a URI; percent-encode characters that a URI cannot contain, "
        "and a literal % as %25");
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_object_validate(run, 0, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_object_validate(run, 4, E));
    cst_release(run);
    end(&r);
}

static void relationships_are_validated(void) {
    struct runs r;
    begin(&r);
    open_store(&r);
    cst_object *parent = valid_run(&r), *child = valid_run(&r);
    const cst_value note = {CST_STRING, 0, {.string = text("no child")}}, target = {CST_OBJECT, 0, {.object = parent}};
    OK(cst_object_set(child, r.parent, &target, E));
    OK(cst_context_save(r.context, E));
    CHECK_STATUS(CST_E_VALIDATION, cst_object_validate(parent, CST_VALIDATE_DELETE, E));
    check_failure(CST_CODE_VALIDATION_RELATIONSHIP_DENIED_DELETE, "children", NULL, NULL);
    OK(cst_object_set(parent, r.note, &note, E));
    CHECK_STATUS(CST_E_VALIDATION, cst_object_validate(child, CST_VALIDATE_UPDATE, E));
    check_failure(CST_CODE_MANAGED_OBJECT_VALIDATION, "parent", "note != \"no child\"", "That run has no children");
    cst_release(child);
    cst_release(parent);
    end(&r);
}

static void validating_a_value_converts_it_without_setting_it(void) {
    struct runs r;
    begin(&r);
    open_store(&r);
    cst_object *run = valid_run(&r);
    cst_value given = {CST_DOUBLE, 0, {.real = 12}}, held;
    OK(cst_object_validate_value(run, r.process, &given, &held, E));
    CHECK_INT(CST_INT, held.type);
    CHECK_INT(12, held.as.integer);
    given = (cst_value){CST_STRING, 0, {.string = text("mailto:a@b")}};
    OK(cst_object_validate_value(run, r.site, &given, &held, E));
    CHECK_INT(CST_URI, held.type);
    CHECK(held.as.string.data == given.as.string.data);
    OK(cst_object_validate_value(run, r.site, &given, &given, E));
    CHECK_INT(CST_URI, given.type);
    OK(cst_object_validate_value(run, r.note, &(cst_value){CST_NULL, 0, {0}}, NULL, E));
    given = (cst_value){CST_OBJECT, 0, {.object = run}};
    OK(cst_object_validate_value(run, r.parent, &given, NULL, E));

    given = (cst_value){CST_INT, 0, {.integer = 0}};
    CHECK_STATUS(CST_E_VALIDATION, cst_object_validate_value(run, r.process, &given, &held, E));
    check_failure(CST_CODE_MANAGED_OBJECT_VALIDATION, "processID", "SELF > 0", "Process ID < 1");
    CHECK_INT(CST_NULL, held.type);
    given.type = CST_NULL;
    CHECK_STATUS(CST_E_VALIDATION, cst_object_validate_value(run, r.process, &given, NULL, E));
    check_failure(CST_CODE_VALIDATION_MISSING_MANDATORY_PROPERTY, "processID", NULL, NULL);
    given = (cst_value){CST_STRING, 0, {.string = text("7")}};
    CHECK_STATUS(CST_E_TYPE_MISMATCH, cst_object_validate_value(run, r.process, &given, NULL, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_object_validate_value(run, r.process, NULL, NULL, E));
    CHECK_STATUS(CST_E_TYPE_MISMATCH, cst_object_validate_value(run, r.children, &given, NULL, E));

    OK(cst_object_get(run, r.process, &held, E));
    CHECK_INT(7, held.as.integer);
    cst_release(run);
    end(&r);
}

static void contradictory_validation_conditions_are_refused(void) {
    struct runs r;
    cst_predicate *predicate = NULL;
    cst_value one = {CST_INT, 0, {.integer = 1}}, two = {CST_INT, 0, {.integer = 2}};
    OK(cst_predicate_parse(text("SELF > 0"), 0, NULL, &predicate, E));

    begin(&r);
    CHECK_STATUS(CST_E_MODEL, cst_attribute_set_bounds(r.process_id, &two, &one, E));
    CHECK_CONTAINS("is greater than its maximum", cst_error_message(check_error()));
    cst_release(r.model);

    begin(&r);
    CHECK_STATUS(CST_E_MODEL, cst_attribute_set_pattern(r.process_id, text("[0-9]"), E));
    cst_release(r.model);

    begin(&r);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_attribute_add_validation(r.process_id, predicate, (cst_string){0}, E));
    cst_release(r.model);

    begin(&r);
    OK(cst_model_freeze(r.model, E));
    CHECK_STATUS(CST_E_MODEL, cst_attribute_add_validation(r.process_id, predicate, text("late"), E));
    CHECK_STATUS(CST_E_MODEL, cst_model_set_localization(r.model, text("Entity/Run"), text("late"), E));
    cst_release(r.model);
    cst_release(predicate);
}

static void localisation_is_found_by_the_most_specific_key(void) {
    struct runs r;
    begin(&r);
    cst_string words;
    CHECK_TEXT("Run", cst_entity_localized_name(r.run));
    localise(r.model, "Entity/Run", "Lauf");
    CHECK_TEXT("Lauf", cst_entity_localized_name(r.run));
    CHECK_STATUS(CST_NOT_FOUND, cst_model_localization(r.model, text("Property/date"), &words, E));
    CHECK_TEXT(NULL, words);
    localise(r.model, "Property/date", "Tag");
    OK(cst_model_localization(r.model, text("Property/date"), &words, E));
    CHECK_TEXT("Tag", words);
    OK(cst_model_set_localization(r.model, text("Entity/Run"), (cst_string){0}, E));
    CHECK_TEXT("Run", cst_entity_localized_name(r.run));
    OK(cst_model_freeze(r.model, E));
    OK(cst_entity_localized_property_name(r.run, text("date"), &words, E));
    CHECK_TEXT("Tag", words);
    OK(cst_entity_localized_property_name(r.run, text("note"), &words, E));
    CHECK_TEXT("note", words);
    CHECK_STATUS(CST_NOT_FOUND, cst_entity_localized_property_name(r.run, text("dates"), &words, E));
    cst_release(r.model);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(validation_errors_use_the_localised_texts_of_the_model);
    RUN(bounds_and_patterns_have_error_codes);
    RUN(relationships_are_validated);
    RUN(validating_a_value_converts_it_without_setting_it);
    RUN(contradictory_validation_conditions_are_refused);
    RUN(localisation_is_found_by_the_most_specific_key);
    return check_end();
}
