/* Mapping models: reading, damage.
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

static void a_mapping_model_says_all_as_json(void) {
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

static void what_is_none_is_named(void) {
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

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(a_mapping_model_says_all_as_json);
    RUN(what_is_none_is_named);
    return check_end();
}
