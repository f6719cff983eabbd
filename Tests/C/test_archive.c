/* Keyed archives as plain data.
 *
 * SPDX-License-Identifier: MIT
 */
#include "company.h"

#include <string.h>

static void an_archive_comes_as_json(void) {
    cst_buffer json = {NULL, 0, 0};
    OK(cst_archive_copy_json(check_archive(), &json, E));
    CHECK_TEXT("{\"a\": [1, {\"$date\": 2.5}]}", text_of_size(json.data, json.size));
    cst_buffer_dispose(&json);
}

/* The class of the date, renamed: its fields are told, and the same archive can be made of what was told. */
static void a_class_that_is_no_plain_data_is_told_by_its_fields(void) {
    uint8_t bytes[512];
    cst_bytes archive = check_archive();
    cst_buffer json = {NULL, 0, 0};
    REQUIRE(archive.size <= sizeof bytes);
    memcpy(bytes, archive.data, archive.size);
    for (size_t i = 0; i + 6 <= archive.size; i++)
        if (memcmp(bytes + i, "NSDate", 6) == 0) memcpy(bytes + i, "MyTomb", 6);
    archive.data = bytes;
    OK(cst_archive_copy_json(archive, &json, E));
    CHECK(strstr(json.data, "{\"$object\": {\"class\": \"MyTomb\", \"fields\": {\"NS.time\"") != NULL);
    cst_buffer made = {NULL, 0, 0}, again = {NULL, 0, 0};
    OK(cst_archive_from_json(text_of_size(json.data, json.size), &made, E));
    OK(cst_archive_copy_json((cst_bytes){(const uint8_t *)made.data, made.size}, &again, E));
    CHECK(strcmp(json.data, again.data) == 0);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_archive_from_json(text("[1,"), &made, E));
    CHECK_CONTAINS("at byte", cst_error_message(check_error()));
    cst_buffer_dispose(&json);
    cst_buffer_dispose(&made);
    cst_buffer_dispose(&again);
}

static void bytes_that_are_no_archive_are_refused(void) {
    cst_buffer json = {NULL, 0, 0};
    cst_bytes archive = check_archive();
    for (size_t size = 0; size < archive.size; size++) {
        cst_status status = cst_archive_copy_json((cst_bytes){archive.data, size}, &json, E);
        CHECK_INT(CST_E_STORE_CORRUPT, status);
    }
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_archive_copy_json((cst_bytes){NULL, 0}, &json, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_archive_copy_json((cst_bytes){archive.data, SIZE_MAX}, &json, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_archive_copy_json(archive, NULL, E));
}

static void an_ordered_set_in_xml_comes_as_an_array(void) {
    static const char xml[] = "<plist><dict><key>$archiver</key><string>NSKeyedArchiver</string>"
                              "<key>$top</key><dict><key>root</key>"
                              "<dict><key>CF$UID</key><integer>1</integer></dict></dict>"
                              "<key>$objects</key><array><string>$null</string><dict><key>$class</key>"
                              "<dict><key>CF$UID</key><integer>2</integer></dict><key>NS.object.0</key>"
                              "<dict><key>CF$UID</key><integer>3</integer></dict></dict>"
                              "<dict><key>$classname</key><string>NSOrderedSet</string></dict>"
                              "<string>first</string></array></dict></plist>";
    cst_buffer json = {NULL, 0, 0};
    OK(cst_archive_copy_json((cst_bytes){(const uint8_t *)xml, sizeof xml - 1}, &json, E));
    CHECK_TEXT("[\"first\"]", text_of_size(json.data, json.size));
    cst_buffer_dispose(&json);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(an_archive_comes_as_json);
    RUN(an_ordered_set_in_xml_comes_as_an_array);
    RUN(a_class_that_is_no_plain_data_is_told_by_its_fields);
    RUN(bytes_that_are_no_archive_are_refused);
    return check_end();
}
