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

/* The class of the date, renamed. */
static void a_class_that_is_no_plain_data_is_named(void) {
    uint8_t bytes[512];
    cst_bytes archive = check_archive();
    cst_buffer json = {NULL, 0, 0};
    REQUIRE(archive.size <= sizeof bytes);
    memcpy(bytes, archive.data, archive.size);
    for (size_t i = 0; i + 6 <= archive.size; i++)
        if (memcmp(bytes + i, "NSDate", 6) == 0) memcpy(bytes + i, "MyTomb", 6);
    archive.data = bytes;
    CHECK_STATUS(CST_E_UNSUPPORTED, cst_archive_copy_json(archive, &json, E));
    CHECK_CONTAINS("MyTomb", cst_error_message(check_error()));
    CHECK(json.data == NULL);
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

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(an_archive_comes_as_json);
    RUN(a_class_that_is_no_plain_data_is_named);
    RUN(bytes_that_are_no_archive_are_refused);
    return check_end();
}
