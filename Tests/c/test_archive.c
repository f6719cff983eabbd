/* Keyed archives as plain data.
 *
 * SPDX-License-Identifier: MIT
 */
#include "company.h"

#include <string.h>

static void an_archive_is_converted_to_json(void) {
    cst_buffer json = {NULL, 0, 0};
    OK(cst_archive_copy_json(check_archive(), &json, E));
    CHECK_TEXT("{\"a\": [1, {\"$date\": 2.5}]}", text_of_size(json.data, json.size));
    cst_buffer_dispose(&json);
}

/* The class of the date is renamed: its fields become JSON, which can be archived again. */
static void an_unknown_class_is_described_by_its_fields(void) {
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

static void bytes_that_are_not_an_archive_are_refused(void) {
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

static void an_ordered_set_in_an_xml_archive_becomes_an_array(void) {
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

/* An archive of the JSON reads as `expected`, and so does an archive of that. */
static void expect_back(const char *json, const char *expected) {
    cst_buffer archive = {NULL, 0, 0}, told = {NULL, 0, 0};
    OK(cst_archive_from_json(text(json), &archive, E));
    OK(cst_archive_copy_json((cst_bytes){(const uint8_t *)archive.data, archive.size}, &told, E));
    CHECK_TEXT(expected, text_of_size(told.data, told.size));
    cst_buffer_dispose(&archive);
    cst_buffer_dispose(&told);
}

/* JSON that was written into an archive, as it is read back. */
static void json_survives_a_round_trip_through_an_archive(void) {
    static const char *const same[] = {
        "null",
        "true",
        "-7",
        "9223372036854775807",
        "2.0",
        "1e+300",
        "\"\"",
        "\"Zo\xc3\xab \\\" \\\\ \\n\"",
        "[]",
        "[null, false, 0, -0.5, \"x\", [[]]]",
        "{}",
        "{\"a\": {\"$date\": -0.25}, \"b\": {\"$bytes\": \"AP8=\"}, \"c\": {\"$bytes\": \"\"}}",
        "{\"$uuid\": \"00112233-4455-6677-8899-AABBCCDDEEFF\"}",
        "{\"$uri\": \"https://example.org/a?b#c\"}",
        "{\"$decimal\": \"-12345678901234567890.25\"}",
        "[{\"$real\": \"nan\"}, {\"$real\": \"inf\"}, {\"$real\": \"-inf\"}]",
        "{\"$date\": {\"$real\": \"-inf\"}}",
        "{\"$set\": [\"a\", 1, 2]}",
        "{\"$dictionary\": {\"$date\": 1}}",
        "{\"$dictionary\": {\"$a\": {\"$date\": 1.0}, \"b\": {\"$dictionary\": {\"$set\": []}}}}",
        "{\"$object\": {\"class\": \"Shade\", \"fields\": {\"at\": {\"$date\": 2.0}}}}",
        "{\"$object\": {\"class\": \"Shade\", \"classes\": [\"Shade\", \"Tint\", \"NSObject\"], \"fields\": {}}}",
    };
    static const char *const other[][2] = {
        {" [ 1 ,2 ] ", "[1, 2]"},
        {"{\"b\": 1, \"a\": 2}", "{\"a\": 2, \"b\": 1}"},
        {"{\"$dictionary\": {\"a\": 1}}", "{\"a\": 1}"},
        {"{\"$date\": 2}", "{\"$date\": 2.0}"},
        {"{\"$set\": [\"b\", 1, \"b\", \"a\"]}", "{\"$set\": [\"a\", \"b\", 1]}"},
        {"{\"$uuid\": \"aabbccdd-4455-6677-8899-aabbccddeeff\"}",
         "{\"$uuid\": \"AABBCCDD-4455-6677-8899-AABBCCDDEEFF\"}"},
        {"{\"$decimal\": \"1.50\"}", "{\"$decimal\": \"1.5\"}"},
        /* A superclass list of NSObject alone is omitted. */
        {"{\"$object\": {\"class\": \"S\", \"classes\": [\"S\", \"NSObject\"], \"fields\": {}}}",
         "{\"$object\": {\"class\": \"S\", \"fields\": {}}}"},
        /* A tag is the only key of its object; beside another key it is an ordinary key. */
        {"{\"$date\": 1, \"a\": 2}", "{\"$dictionary\": {\"$date\": 1, \"a\": 2}}"},
    };
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        expect_back(same[i], same[i]);
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        expect_back(other[i][0], other[i][1]);
}

static void invalid_json_and_unknown_tags_are_refused(void) {
    static const char *const bad[][2] = {
        {"", "at byte 0"},
        {"[1,", "at byte 3"},
        {"{\"a\": 1} x", "at byte 9"},
        {"{\"$moon\": 1}", "\"$moon\" is not a JSON tag; use \"$date\""},
        {"{\"$date\": \"now\"}", "the JSON tag \"$date\" takes "},
        {"{\"$date\": true}", "the JSON tag \"$date\" takes "},
        {"{\"$date\": {\"$real\": \"1.5\"}}", "the JSON tag \"$real\" takes "},
        {"{\"$bytes\": \"A\"}", "the JSON tag \"$bytes\" takes "},
        {"{\"$bytes\": [1]}", "the JSON tag \"$bytes\" takes "},
        {"{\"$uuid\": \"0011\"}", "the JSON tag \"$uuid\" takes "},
        {"{\"$uri\": 1}", "the JSON tag \"$uri\" takes "},
        {"{\"$decimal\": 1}", "the JSON tag \"$decimal\" takes "},
        {"{\"$decimal\": \"x\"}", "x"},
        {"{\"$real\": \"much\"}", "the JSON tag \"$real\" takes "},
        {"{\"$real\": 1.5}", "the JSON tag \"$real\" takes "},
        {"{\"$real\": \"1.5\"}", "the JSON tag \"$real\" takes "},
        {"{\"$real\": \"0x1p3\"}", "the JSON tag \"$real\" takes "},
        {"{\"$real\": \"Infinity\"}", "the JSON tag \"$real\" takes "},
        {"{\"$set\": {}}", "the JSON tag \"$set\" takes "},
        {"{\"$dictionary\": []}", "the JSON tag \"$dictionary\" takes "},
        {"{\"$object\": {\"class\": \"S\"}}", "the JSON tag \"$object\" takes "},
        {"{\"$object\": {\"fields\": {}}}", "the JSON tag \"$object\" takes "},
        {"{\"$object\": {\"class\": \"S\", \"fields\": []}}", "the JSON tag \"$object\" takes "},
        {"{\"$object\": {\"class\": \"A\", \"fields\": {}, \"classes\": [1, \"B\"]}}",
         "the JSON tag \"$object\" takes "},
        {"{\"$object\": {\"class\": \"A\", \"fields\": {}, \"classes\": [\"A\", 1]}}",
         "the JSON tag \"$object\" takes "},
        {"{\"$object\": {\"class\": \"A\", \"fields\": {}, \"classes\": [\"B\", \"NSObject\"]}}",
         "the JSON tag \"$object\" takes "},
        {"{\"$object\": {\"class\": \"A\", \"fields\": {}, \"classes\": 5}}", "the JSON tag \"$object\" takes "},
        {"[{\"a\": {\"$set\": 1}}]", "the JSON tag \"$set\" takes "},
    };
    cst_buffer archive = {NULL, 0, 0};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_archive_from_json(text(bad[i][0]), &archive, E));
        CHECK_CONTAINS(bad[i][1], cst_error_message(check_error()));
    }
    CHECK_INT(0, archive.size);
    cst_buffer_dispose(&archive);
}

/* Equal data produces identical bytes, in any order of keys. */
static void equal_json_produces_identical_archives(void) {
    static const char *const pairs[][2] = {
        {"{\"a\": 1, \"b\": {\"$set\": [3, 1, 2]}, \"c\": [1.5]}", "{\"c\":[1.5],\"b\":{\"$set\":[2,3,1]},\"a\":1}"},
        {"{\"$object\": {\"class\": \"S\", \"fields\": {\"x\": 1, \"y\": 2}}}",
         "{\"$object\": {\"fields\": {\"y\": 2, \"x\": 1}, \"class\": \"S\"}}"},
    };
    for (size_t i = 0; i < 2; i++) {
        cst_buffer one = {NULL, 0, 0}, other = {NULL, 0, 0};
        OK(cst_archive_from_json(text(pairs[i][0]), &one, E));
        OK(cst_archive_from_json(text(pairs[i][1]), &other, E));
        CHECK(one.size == other.size && memcmp(one.data, other.data, one.size) == 0);
        CHECK(one.size > 8 && memcmp(one.data, "bplist00", 8) == 0);
        cst_buffer_dispose(&one);
        cst_buffer_dispose(&other);
    }
}

static void foundation_classes_accept_values_of_their_types(void) {
    static const char *const classes[][2] = {
        {"NSString", "string uri"},
        {"NSMutableString", "string uri"},
        {"NSURL", "uri string"},
        {"NSNumber", "bool int double decimal"},
        {"NSDecimalNumber", "bool int decimal"},
        {"NSDate", "date"},
        {"NSData", "bytes"},
        {"NSMutableData", "bytes"},
        {"NSUUID", "uuid"},
        {"NSArray", "array"},
        {"NSSet", "set"},
        {"NSMutableSet", "set"},
        {"NSDictionary", "dictionary"},
        {"NSMutableDictionary", "dictionary"},
    };
    static const char *const unknown[] = {"", "NSMutable", "nsarray", "NSArrays", "NSOrderedSet", "Colour"};
    cst_buffer kinds = {NULL, 0, 0};
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        OK(cst_archive_copy_class_kinds(text(classes[i][0]), &kinds, E));
        CHECK_TEXT(classes[i][1], text_of_size(kinds.data, kinds.size));
    }
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        CHECK_STATUS(CST_NOT_FOUND, cst_archive_copy_class_kinds(text(unknown[i]), &kinds, E));
    cst_buffer_dispose(&kinds);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(an_archive_is_converted_to_json);
    RUN(an_ordered_set_in_an_xml_archive_becomes_an_array);
    RUN(an_unknown_class_is_described_by_its_fields);
    RUN(bytes_that_are_not_an_archive_are_refused);
    RUN(json_survives_a_round_trip_through_an_archive);
    RUN(invalid_json_and_unknown_tags_are_refused);
    RUN(equal_json_produces_identical_archives);
    RUN(foundation_classes_accept_values_of_their_types);
    return check_end();
}
