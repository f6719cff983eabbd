/* Mapping models: reading, creating, checking, finding, writing, damage.
 *
 * SPDX-License-Identifier: MIT
 */
#include "check.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const char xml[] =
    "<database><object type='XDDEVMAPPINGMODEL' id='z1'><relationship name='entitymappings' idrefs='z2 z3'/></object>"
    "<object type='XDDEVENTITYMAPPING' id='z2'><attribute name='destinationname'>Maker</attribute></object>"
    "<object type='XDDEVENTITYMAPPING' id='z3'><attribute name='destinationname'>Car</attribute>"
    "<attribute name='sourcename'>Vehicle</attribute><attribute name='migrationpolicyclassname'>Policy</attribute>"
    "<relationship name='relationshipmappings' idrefs='z4'/></object>"
    "<object type='XDDEVRELATIONSHIPMAPPING' id='z4'><attribute name='name'>owner</attribute>"
    "<attribute name='sourcemappingname'>PersonToPerson</attribute><attribute "
    "name='sourcekeypath'>$source.owner</attribute>"
    "</object></database>";

static void a_loaded_mapping_model_is_described_as_json(void) {
    cst_mapping_model *mapping = NULL;
    cst_model *model = NULL;
    cst_buffer json = {NULL, 0, 0};
    const char *folder = check_path("a.xcmappingmodel");
    CHECK_INT(0, mkdir(folder, 0777));
    check_write(check_path("a.xcmappingmodel/xcmapping.xml"), xml);
    OK(cst_mapping_model_load(text(folder), &mapping, E));
    OK(cst_mapping_model_copy_json(mapping, &json, E));
    CHECK(strstr(json.data, "\"Maker\"") && strstr(json.data, "\"VehicleToCar\"") && strstr(json.data, "\"custom\""));
    CHECK(strstr(json.data, "destinationInstancesForEntityMappingNamed:sourceInstances:") != NULL);
    cst_buffer_dispose(&json);
    CHECK_STATUS(CST_NOT_FOUND, cst_mapping_model_source(mapping, &model, E));
    CHECK_STATUS(CST_NOT_FOUND, cst_mapping_model_destination(mapping, &model, E));
    CHECK(model == NULL);
    OK(cst_release(mapping));
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_mapping_model_copy_json(mapping, &json, E));
}

static void invalid_mapping_model_files_are_refused(void) {
    cst_mapping_model *mapping = NULL;
    static const char *const bad[] = {"",
                                      "SQLite format 3",
                                      "<database/>",
                                      "<database><object/></database>",
                                      "bplist00x",
                                      ("<database><object type='XDDEVMAPPINGMODEL' id='z1'><relationship "
                                       "name='entitymappings' idrefs='z9'/></object></database>")};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const cst_bytes bytes = {(const uint8_t *)bad[i], strlen(bad[i])};
        CHECK_STATUS(CST_E_STORE_CORRUPT, cst_mapping_model_load_bytes(bytes, &mapping, E));
        CHECK(mapping == NULL);
    }
    const char *path = check_path("bad.cdm");
    check_write(path, "bplist00");
    CHECK_STATUS(CST_E_MODEL, cst_mapping_model_load(text(path), &mapping, E));
    CHECK_TEXT(path, cst_error_file(check_error()));
    CHECK_STATUS(CST_E_STORE_IO, cst_mapping_model_load(text(check_path("none.cdm")), &mapping, E));
}

static const char old_text[] =
    "{\"Car\": {\"title\": \"string?\", \"doors\": \"int16?\"}, \"Gone\": {\"x\": \"string?\"}}";
static const char new_text[] = "{\"Car\": {\"name\": \"string?\", \"doors\": \"int16?\"}}";

static cst_mapping_model *from_json(const char *json, const cst_model *source, const cst_model *destination) {
    cst_mapping_model *mapping = NULL;
    OK(cst_mapping_model_new_from_json(text(json), source, destination, &mapping, E));
    return mapping;
}

static void a_mapping_model_from_json_is_written_and_found(void) {
    cst_model *source = NULL, *destination = NULL;
    cst_mapping_model *read = NULL;
    cst_buffer json = {NULL, 0, 0}, again = {NULL, 0, 0};
    bool matches = false;
    OK(cst_model_new_from_text(text(old_text), &source, E));
    OK(cst_model_new_from_text(text(new_text), &destination, E));
    cst_mapping_model *mapping = from_json("{\"entityMappings\": [{\"source\": \"Car\", \"destination\": \"Car\", "
                                           "\"attributes\": {\"name\": \"$source.title\"}, "
                                           "\"filter\": \"doors < 4\"}, {\"source\": \"Gone\"}]}",
                                           source, destination);
    OK(cst_mapping_model_validate(mapping, NULL, NULL, E));
    OK(cst_mapping_model_validate(mapping, source, destination, E));
    OK(cst_mapping_model_matches(mapping, source, destination, &matches, E));
    CHECK(matches);
    OK(cst_mapping_model_matches(mapping, destination, source, &matches, E));
    CHECK(!matches);
    OK(cst_mapping_model_copy_json(mapping, &json, E));
    CHECK(strstr(json.data, "\"CarToCar\"") && strstr(json.data, "\"transform\"") &&
          strstr(json.data, "\"sourceHash\""));
    const char *const paths[] = {check_path("written.xcmappingmodel"), check_path("written.cdm")};
    for (size_t i = 0; i < 2; i++) {
        const cst_string path = text(paths[i]);
        OK(cst_mapping_model_write(mapping, path, E));
        OK(cst_mapping_model_find(&path, 1, source, destination, &read, E));
        OK(cst_mapping_model_copy_json(read, &again, E));
        CHECK(strcmp(json.data, again.data) == 0);
        OK(cst_release(read));
        CHECK_STATUS(CST_NOT_FOUND, cst_mapping_model_find(&path, 1, destination, source, &read, E));
        CHECK(read == NULL);
    }
    CHECK_STATUS(CST_NOT_FOUND, cst_mapping_model_find(NULL, 0, source, destination, &read, E));
    cst_mapping_model *equal = from_json(json.data, NULL, NULL);
    OK(cst_mapping_model_copy_json(equal, &again, E));
    CHECK(strcmp(json.data, again.data) == 0);
    CHECK_STATUS(CST_E_MODEL, cst_mapping_model_write(equal, text(paths[0]), E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_mapping_model_write(equal, text(check_path("written.xml")), E));
    cst_buffer_dispose(&json);
    cst_buffer_dispose(&again);
    OK(cst_release(equal));
    OK(cst_release(mapping));
    OK(cst_release(source));
    OK(cst_release(destination));
}

static void invalid_mappings_are_reported(void) {
    cst_model *source = NULL, *destination = NULL;
    cst_mapping_model *mapping = NULL;
    OK(cst_model_new_from_text(text(old_text), &source, E));
    OK(cst_model_new_from_text(text(new_text), &destination, E));
    CHECK_STATUS(CST_E_MODEL, cst_mapping_model_new_from_json(text("[]"), NULL, NULL, &mapping, E));
    CHECK_STATUS(CST_E_MODEL, cst_mapping_model_new_from_json(text("{"), NULL, NULL, &mapping, E));
    CHECK_STATUS(CST_E_PREDICATE_SYNTAX,
                 cst_mapping_model_new_from_json(
                     text("{\"entityMappings\": [{\"destination\": \"Car\", \"attributes\": {\"name\": \"$\"}}]}"),
                     NULL, NULL, &mapping, E));
    CHECK(mapping == NULL);
    mapping = from_json("{\"entityMappings\": [{\"source\": \"Car\", \"destination\": \"Car\", \"kind\": \"custom\"}]}",
                        NULL, NULL);
    CHECK_STATUS(CST_E_MIGRATION, cst_mapping_model_validate(mapping, source, destination, E));
    CHECK_INT(134170, cst_error_code(check_error()));
    OK(cst_release(mapping));
    mapping = from_json("{\"entityMappings\": [{\"source\": \"Car\", \"destination\": \"Car\", "
                        "\"attributes\": {\"nmae\": \"$source.title\"}}]}",
                        NULL, NULL);
    OK(cst_mapping_model_validate(mapping, NULL, NULL, E));
    CHECK_STATUS(CST_E_MIGRATION, cst_mapping_model_validate(mapping, NULL, destination, E));
    CHECK_INT(134110, cst_error_code(check_error()));
    CHECK_TEXT("Car", cst_error_entity(check_error()));
    CHECK_TEXT("nmae", cst_error_key(check_error()));
    OK(cst_release(mapping));
    OK(cst_release(source));
    OK(cst_release(destination));
}

static void a_mapping_model_is_inferred(void) {
    cst_model *source = NULL, *destination = NULL;
    cst_mapping_model *mapping = NULL;
    cst_buffer json = {NULL, 0, 0};
    OK(cst_model_new_from_text(text(old_text), &source, E));
    OK(cst_model_new_from_text(text("{\"Car\": {\"title\": \"string?\", \"doors\": \"int32?\"}}"), &destination, E));
    CHECK_STATUS(CST_E_MIGRATION, cst_mapping_model_new_inferred(source, destination, 0, &mapping, E));
    CHECK_INT(134190, cst_error_code(check_error()));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_mapping_model_new_inferred(source, destination, 2, &mapping, E));
    CHECK(mapping == NULL);
    OK(cst_mapping_model_new_inferred(source, destination, CST_MAPPING_ALLOW_TYPE_CHANGES, &mapping, E));
    OK(cst_mapping_model_copy_json(mapping, &json, E));
    CHECK(strstr(json.data, "\"$source.doors\"") && strstr(json.data, "\"remove\""));
    cst_buffer_dispose(&json);
    OK(cst_release(mapping));
    OK(cst_release(source));
    OK(cst_release(destination));
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(a_loaded_mapping_model_is_described_as_json);
    RUN(invalid_mapping_model_files_are_refused);
    RUN(a_mapping_model_from_json_is_written_and_found);
    RUN(invalid_mappings_are_reported);
    RUN(a_mapping_model_is_inferred);
    return check_end();
}
