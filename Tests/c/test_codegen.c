/* Tests the functions of generated/, which `corestone model codegen` writes for Tests/tool/models/Odd.xcdatamodel.
 * Tests/tool checks that they are up to date.
 *
 * SPDX-License-Identifier: MIT
 */
#define ODD_IMPLEMENTATION
#include "generated/Odd.h"

#include "check.h"

#include <string.h>

static cst_coordinator *coordinator;
static cst_context *context;

static void begin(void) {
    cst_model *model = NULL;
    cst_store *store = NULL;
    OK(cst_model_load(text("../tool/models/Odd.xcdatamodel"), text_of_size(NULL, 0), &model, E));
    OK(odd_bind(model, E));
    OK(cst_coordinator_new(model, &coordinator, E));
    OK(cst_coordinator_add_store(coordinator, text("SQLite"), text(check_path("odd.sqlite")), NULL, &store, E));
    OK(cst_context_new(coordinator, CST_QUEUE_CALLER, &context, E));
    cst_release(store);
    cst_release(model);
}

static void end(void) {
    cst_release(context);
    cst_release(coordinator);
}

static odd_note *new_note(const char *name) {
    odd_note *note = odd_note_insert(context, E);
    REQUIRE(note != NULL);
    OK(odd_note_set_class(note, text(name), E));
    OK(odd_note_set_id(note, (cst_uuid){{1, 2, 3}}, E));
    return note;
}

static odd_tag *new_tag(const char *name) {
    odd_tag *tag = odd_tag_insert(context, E);
    REQUIRE(tag != NULL);
    OK(odd_tag_set_name(tag, text(name), E));
    return tag;
}

static void generated_attribute_accessors_are_typed(void) {
    begin();
    odd_note *note = new_note("first");
    CHECK_TEXT("first", odd_note_class(note, E));
    CHECK_INT(3, odd_note_id(note, E).bytes[2]);
    CHECK_INT(0, odd_note_rank(note, E));
    OK(odd_note_set_rank(note, -7, E));
    CHECK_INT(-7, odd_item_rank(odd_item_from(odd_note_object(note)), E));
    CHECK(odd_note_score_is_null(note, E));
    OK(odd_note_set_score(note, 1.5, E));
    CHECK(!odd_note_score_is_null(note, E));
    CHECK_REAL(1.5, odd_note_score(note, E));
    OK(odd_note_set_score_null(note, E));
    CHECK(odd_note_score_is_null(note, E));
    CHECK(!odd_note_import(note, E));
    OK(odd_note_set_import(note, true, E));
    CHECK(odd_note_import(note, E));
    const uint8_t bytes[] = {1, 2};
    OK(odd_note_set_bytes(note, (cst_bytes){bytes, 2}, E));
    CHECK_INT(2, odd_note_bytes(note, E).size);
    CHECK(odd_note_data(note, E).data == NULL);
    CHECK_INT(CST_DECIMAL, odd_note_price(note, E).type);
    cst_release(note);
    end();
}

static void generated_relationship_accessors_are_typed(void) {
    begin();
    odd_note *first = new_note("first"), *second = new_note("second");
    odd_tag *red = new_tag("red"), *green = new_tag("green");
    OK(odd_note_add_to_tags(first, red, E));
    OK(odd_note_insert_into_tags(first, 0, green, E));
    CHECK_INT(2, odd_note_tags_count(first, E));
    CHECK(odd_note_tags_contains(first, red, E));
    odd_tag *member = odd_note_tags_at(first, 0, E);
    CHECK_TEXT("green", odd_tag_name(member, E));
    cst_release(member);
    OK(odd_note_move_in_tags(first, 0, 1, E));
    OK(odd_note_remove_from_tags_at(first, 0, E));
    CHECK(!odd_note_tags_contains(first, red, E));
    CHECK_INT(0, odd_tag_notes_count(red, E));
    OK(odd_tag_add_to_notes(red, second, E));
    OK(odd_note_set_context(second, odd_item_from(odd_note_object(first)), E));
    CHECK_TEXT("first", odd_item_class(odd_note_context(second, E), E));
    OK(odd_note_set_context(second, NULL, E));
    CHECK(odd_note_context(second, E) == NULL);
    cst_release(first), cst_release(second), cst_release(red), cst_release(green);
    end();
}

static size_t count_of(cst_results *results) {
    REQUIRE(results != NULL);
    size_t count = cst_results_count(results);
    cst_release(results);
    return count;
}

static size_t found(cst_fetch_request *request) {
    cst_results *results = NULL;
    REQUIRE(request != NULL);
    OK(cst_context_fetch(context, request, &results, E));
    cst_release(request);
    return count_of(results);
}

static void generated_fetches_have_parameters(void) {
    begin();
    odd_note *first = new_note("same"), *second = new_note("same");
    odd_tag *red = new_tag("red");
    OK(odd_tag_add_to_notes(red, first, E));
    cst_value name = {0};
    name.type = CST_STRING;
    name.as.string = text("red");
    CHECK_INT(1, found(odd_fetch_notes_of_tag(name, E)));
    CHECK_INT(1, found(odd_fetch_all_tags(E)));
    CHECK_INT(1, count_of(odd_note_twins(first, E)));
    CHECK_INT(2, found(odd_note_fetch_request(E)));
    CHECK(strcmp(ODD_ITEM_KEY_CLASS, "class") == 0 && strcmp(ODD_ITEM_USER_INFO_COLOR_OF, "say \"red\"") == 0);
    cst_release(first), cst_release(second), cst_release(red);
    end();
}

static void a_model_without_the_entities_is_refused(void) {
    cst_model *model = NULL;
    OK(cst_model_new(&model, E));
    CHECK_STATUS(CST_NOT_FOUND, odd_bind(model, E));
    cst_release(model);
}

static cst_status to_fields(void *userdata, const void *value, cst_buffer *out_json, cst_error **error) {
    (void)userdata, (void)value;
    return cst_buffer_fill(out_json, (cst_bytes){(const uint8_t *)"{}", 2}, error);
}

static cst_status from_fields(void *userdata, cst_string json, void **out_value, cst_error **error) {
    (void)json, (void)error;
    *out_value = userdata;
    return CST_OK;
}

static void generated_accessors_cover_composites_and_transformables(void) {
    begin();
    odd_note *note = new_note("first");
    OK(odd_note_set_place_x(note, 1.5, E));
    OK(odd_note_set_place_name(note, text("here"), E));
    OK(odd_note_set_place_inner_count(note, 3, E));
    CHECK_REAL(1.5, odd_note_place_x(note, E));
    CHECK_TEXT("here", odd_note_place_name(note, E));
    CHECK_INT(3, odd_note_place_inner_count(note, E));
    CHECK(odd_note_payload(note, E) == NULL);
    static int made;
    cst_archive_class_callbacks callbacks = CST_ARCHIVE_CLASS_CALLBACKS_INIT;
    callbacks.to_fields = to_fields;
    callbacks.from_fields = from_fields;
    callbacks.userdata = &made;
    OK(cst_archive_register_class(text("Odd"), &callbacks, E));
    cst_buffer archive = {NULL, 0, 0};
    OK(cst_archive_from_json(text("{\"$object\": {\"class\": \"Odd\", \"fields\": {}}}"), &archive, E));
    OK(odd_note_set_payload_bytes(note, (cst_bytes){(const uint8_t *)archive.data, archive.size}, E));
    CHECK(odd_note_payload(note, E) == &made);
    CHECK_INT(archive.size, odd_note_payload_bytes(note, E).size);
    OK(odd_note_set_payload(note, NULL, E));
    CHECK(odd_note_payload_bytes(note, E).data == NULL);
    cst_buffer_dispose(&archive);
    OK(cst_archive_unregister_class(text("Odd"), E));
    cst_release(note);
    end();
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(generated_attribute_accessors_are_typed);
    RUN(generated_relationship_accessors_are_typed);
    RUN(generated_fetches_have_parameters);
    RUN(a_model_without_the_entities_is_refused);
    RUN(generated_accessors_cover_composites_and_transformables);
    return check_end();
}
