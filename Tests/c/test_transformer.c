/* Transformable attributes through transformers of the host.
 *
 * SPDX-License-Identifier: MIT
 */
#include "company.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct colour {
    double red, green, blue;
};

struct counts {
    int transformed, made, freed, destroyed;
    bool fails;
};

static cst_status transform(void *userdata, const void *value, cst_buffer *out_bytes, cst_error **error) {
    struct counts *counts = userdata;
    if (counts->fails) {
        cst_error_new_custom(text("paint"), 7, text("no such colour"), NULL, NULL, error);
        return CST_E_CALLBACK;
    }
    counts->transformed++;
    return cst_buffer_fill(out_bytes, (cst_bytes){value, sizeof(struct colour)}, error);
}

static cst_status reverse(void *userdata, cst_bytes bytes, void **out_value, cst_error **error) {
    struct counts *counts = userdata;
    (void)error;
    if (bytes.size != sizeof(struct colour)) return CST_E_CALLBACK;
    struct colour *colour = malloc(sizeof *colour);
    memcpy(colour, bytes.data, sizeof *colour);
    *out_value = colour;
    counts->made++;
    return CST_OK;
}

static void free_value(void *userdata, void *value) {
    ((struct counts *)userdata)->freed++;
    free(value);
}

static void destroy(void *userdata) { ((struct counts *)userdata)->destroyed++; }

struct paint {
    struct counts counts;
    cst_model *model;
    cst_entity *wall;
    cst_coordinator *coordinator;
    cst_context *context;
    cst_key colour, plain, strange;
};

static void paint_open(struct paint *p, const char *path) {
    memset(p, 0, sizeof *p);
    cst_transformer_callbacks callbacks = {sizeof callbacks, transform, reverse, free_value, &p->counts, destroy};
    OK(cst_transformer_register(text("Colour"), &callbacks, E));
    OK(cst_model_new(&p->model, E));
    OK(cst_model_add_entity(p->model, text("Wall"), &p->wall, E));
    cst_attribute *colour = NULL, *strange = NULL;
    uint32_t optional = CST_PROPERTY_OPTIONAL;
    OK(cst_entity_add_attribute(p->wall, text("colour"), CST_ATTRIBUTE_TRANSFORMABLE, optional, &colour, E));
    OK(cst_attribute_set_transformer_name(colour, text("Colour"), E));
    OK(cst_entity_add_attribute(p->wall, text("strange"), CST_ATTRIBUTE_TRANSFORMABLE, optional, &strange, E));
    OK(cst_attribute_set_transformer_name(strange, text("Nobody's"), E));
    OK(cst_entity_add_attribute(p->wall, text("plain"), CST_ATTRIBUTE_TRANSFORMABLE, optional, NULL, E));
    OK(cst_coordinator_new(p->model, &p->coordinator, E));
    OK(cst_coordinator_add_store(p->coordinator, text("SQLite"), text(path), NULL, NULL, E));
    OK(cst_context_new(p->coordinator, CST_QUEUE_CALLER, &p->context, E));
    OK(cst_entity_key(p->wall, text("colour"), &p->colour, E));
    OK(cst_entity_key(p->wall, text("plain"), &p->plain, E));
    OK(cst_entity_key(p->wall, text("strange"), &p->strange, E));
}

static void paint_close(struct paint *p) {
    OK(cst_release(p->context));
    OK(cst_release(p->coordinator));
    OK(cst_release(p->model));
}

static struct colour *sky(void) {
    struct colour *colour = malloc(sizeof *colour);
    *colour = (struct colour){0.25, 0.5, 0.75};
    return colour;
}

static void a_transformed_value_is_kept_read_and_freed(void) {
    struct paint p;
    paint_open(&p, check_path("paint.sqlite"));
    cst_object *wall = NULL;
    OK(cst_context_insert(p.context, p.wall, &wall, E));
    void *value = &p;
    OK(cst_object_get_transformed(wall, p.colour, &value, E));
    CHECK(value == NULL);
    struct colour *set = sky();
    OK(cst_object_set_transformed(wall, p.colour, set, E));
    OK(cst_object_get_transformed(wall, p.colour, &value, E));
    CHECK(value == set);
    OK(cst_context_save(p.context, E));
    OK(cst_object_get_transformed(wall, p.colour, &value, E));
    CHECK(value == set && p.counts.made == 0 && p.counts.freed == 0);
    OK(cst_object_refresh(wall, false, E));
    CHECK(p.counts.freed == 1);
    OK(cst_object_get_transformed(wall, p.colour, &value, E));
    CHECK(p.counts.made == 1 && ((struct colour *)value)->green == 0.5);
    void *again = NULL;
    OK(cst_object_get_transformed(wall, p.colour, &again, E));
    CHECK(again == value);
    cst_value bytes;
    OK(cst_object_get(wall, p.colour, &bytes, E));
    CHECK(bytes.type == CST_BYTES && bytes.as.bytes.size == sizeof(struct colour));
    OK(cst_object_set_transformed(wall, p.colour, NULL, E));
    OK(cst_context_save(p.context, E));
    OK(cst_object_get_transformed(wall, p.colour, &value, E));
    CHECK(value == NULL);
    OK(cst_release(wall));
    paint_close(&p);
    CHECK(p.counts.freed == 2 && p.counts.destroyed == 0);
    OK(cst_transformer_unregister(text("Colour"), E));
    CHECK(p.counts.destroyed == 1);
    CHECK_STATUS(CST_NOT_FOUND, cst_transformer_unregister(text("Colour"), E));
}

/* A transformer is destroyed when it was deregistered or replaced and its last value was freed; each value is freed
 * by its own transformer. */
static void a_transformer_is_destroyed_after_its_last_value(void) {
    for (int replaces = 0; replaces < 2; replaces++) {
        struct paint p;
        struct counts other = {0};
        paint_open(&p, check_path(replaces ? "replaced.sqlite" : "forgotten.sqlite"));
        cst_object *first = NULL, *second = NULL;
        OK(cst_context_insert(p.context, p.wall, &first, E));
        OK(cst_context_insert(p.context, p.wall, &second, E));
        OK(cst_object_set_transformed(first, p.colour, sky(), E));
        OK(cst_object_set_transformed(first, p.colour, sky(), E));
        CHECK_INT(1, p.counts.freed); /* another value took its place */
        OK(cst_object_set_transformed(second, p.colour, sky(), E));
        OK(cst_context_save(p.context, E));
        cst_transformer_callbacks callbacks = {sizeof callbacks, transform, reverse, free_value, &other, destroy};
        if (replaces)
            OK(cst_transformer_register(text("Colour"), &callbacks, E));
        else
            OK(cst_transformer_unregister(text("Colour"), E));
        CHECK_INT(0, p.counts.destroyed);
        OK(cst_object_refresh(first, false, E));
        CHECK(p.counts.freed == 2 && p.counts.destroyed == 0);
        void *value = NULL;
        if (replaces) {
            OK(cst_object_get_transformed(first, p.colour, &value, E));
            CHECK(value != NULL && other.made == 1);
        } else {
            CHECK_STATUS(CST_E_UNSUPPORTED, cst_object_get_transformed(first, p.colour, &value, E));
        }
        OK(cst_object_refresh(second, false, E));
        CHECK(p.counts.freed == 3 && p.counts.destroyed == 1);
        OK(cst_release(first));
        OK(cst_release(second));
        paint_close(&p);
        CHECK(other.freed == other.made && other.destroyed == 0);
        if (replaces) OK(cst_transformer_unregister(text("Colour"), E));
        CHECK(other.destroyed == replaces && p.counts.destroyed == 1);
    }
}

static void transformer_failures_name_entity_and_key(void) {
    struct paint p;
    paint_open(&p, check_path("failures.sqlite"));
    cst_object *wall = NULL;
    OK(cst_context_insert(p.context, p.wall, &wall, E));
    p.counts.fails = true;
    struct colour *colour = sky();
    CHECK_STATUS(CST_E_CALLBACK, cst_object_set_transformed(wall, p.colour, colour, E));
    CHECK_TEXT("Wall", cst_error_entity(check_error()));
    CHECK_TEXT("colour", cst_error_key(check_error()));
    CHECK_CONTAINS("no such colour", cst_error_message(check_error()));
    CHECK_INT(1, cst_error_detail_count(check_error()));
    const cst_error *detail = cst_error_detail_at(check_error(), 0);
    CHECK_TEXT("paint", cst_error_domain(detail));
    CHECK_INT(7, cst_error_code(detail));
    CHECK_TEXT("no such colour", cst_error_message(detail));
    CHECK(p.counts.freed == 0);
    free(colour);
    cst_value bytes = {.type = CST_BYTES};
    bytes.as.bytes = (cst_bytes){(const uint8_t *)"?", 1};
    OK(cst_object_set(wall, p.colour, &bytes, E));
    void *value = NULL;
    CHECK_STATUS(CST_E_CALLBACK, cst_object_get_transformed(wall, p.colour, &value, E));
    CHECK(value == NULL);
    /* Without a registered transformer the bytes can be used, but not the values. */
    OK(cst_object_set(wall, p.strange, &bytes, E));
    CHECK_STATUS(CST_E_UNSUPPORTED, cst_object_get_transformed(wall, p.strange, &value, E));
    CHECK_CONTAINS("Nobody's", cst_error_message(check_error()));
    CHECK_TEXT("strange", cst_error_key(check_error()));
    cst_value read;
    OK(cst_object_get(wall, p.strange, &read, E));
    CHECK(read.as.bytes.size == 1);
    /* Archives do not contain values of the host. */
    CHECK_STATUS(CST_E_TYPE_MISMATCH, cst_object_set_transformed(wall, p.plain, &p, E));
    CHECK_CONTAINS("set its bytes with cst_object_set", cst_error_message(check_error()));
    OK(cst_release(wall));
    paint_close(&p);
    OK(cst_transformer_unregister(text("Colour"), E));
    CHECK(p.counts.destroyed == 1);
}

static void a_transformer_requires_its_functions(void) {
    struct counts counts = {0};
    cst_transformer_callbacks callbacks = {sizeof callbacks, NULL, reverse, NULL, &counts, destroy};
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_transformer_register(text("Half"), &callbacks, E));
    CHECK(counts.destroyed == 1);
    callbacks.transform = transform;
    OK(cst_transformer_register(text("Whole"), &callbacks, E));
    OK(cst_transformer_register(text("Whole"), &callbacks, E));
    CHECK(counts.destroyed == 2);
    OK(cst_transformer_unregister(text("Whole"), E));
    CHECK(counts.destroyed == 3);
    callbacks.struct_size = 3;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_transformer_register(text("Small"), &callbacks, E));
}

/* -------- classes in archives ---------------------------------------------------------------------------- */

static cst_status to_fields(void *userdata, const void *value, cst_buffer *out_json, cst_error **error) {
    struct counts *counts = userdata;
    const struct colour *colour = value;
    char json[128];
    if (counts->fails) {
        cst_error_new_custom(text("paint"), 7, text("no such colour"), NULL, NULL, error);
        return CST_E_CALLBACK;
    }
    counts->transformed++;
    snprintf(json, sizeof json, "{\"red\": %f, \"green\": %f, \"blue\": %f}", colour->red, colour->green, colour->blue);
    return cst_buffer_fill(out_json, (cst_bytes){(const uint8_t *)json, strlen(json)}, error);
}

static cst_status from_fields(void *userdata, cst_string json, void **out_value, cst_error **error) {
    struct counts *counts = userdata;
    (void)error;
    struct colour read;
    if (sscanf(json.data, "{\"blue\": %lf, \"green\": %lf, \"red\": %lf}", &read.blue, &read.green, &read.red) != 3)
        return CST_E_CALLBACK;
    struct colour *colour = malloc(sizeof *colour);
    *colour = read;
    *out_value = colour;
    counts->made++;
    return CST_OK;
}

static const char paint_class[] = "MyColour";

static void objects_of_a_registered_class_are_archived(void) {
    struct paint p;
    cst_model *model = NULL;
    cst_entity *wall = NULL;
    cst_attribute *named = NULL;
    struct counts counts = {0};
    memset(&p, 0, sizeof p);
    cst_archive_class_callbacks callbacks = {sizeof callbacks, to_fields, from_fields, free_value, &counts, destroy};
    OK(cst_archive_register_class(text(paint_class), &callbacks, E));
    OK(cst_model_new(&model, E));
    OK(cst_model_add_entity(model, text("Wall"), &wall, E));
    OK(cst_entity_add_attribute(wall, text("colour"), CST_ATTRIBUTE_TRANSFORMABLE, CST_PROPERTY_OPTIONAL, &named, E));
    OK(cst_attribute_set_value_class(named, text(paint_class), E));
    OK(cst_entity_add_attribute(wall, text("plain"), CST_ATTRIBUTE_TRANSFORMABLE, CST_PROPERTY_OPTIONAL, NULL, E));
    OK(cst_coordinator_new(model, &p.coordinator, E));
    OK(cst_coordinator_add_store(p.coordinator, text("SQLite"), text(check_path("classes.sqlite")), NULL, NULL, E));
    OK(cst_context_new(p.coordinator, CST_QUEUE_CALLER, &p.context, E));
    OK(cst_entity_key(wall, text("colour"), &p.colour, E));
    OK(cst_entity_key(wall, text("plain"), &p.plain, E));
    cst_object *object = NULL;
    OK(cst_context_insert(p.context, wall, &object, E));
    struct colour *set = sky();
    OK(cst_object_set_transformed(object, p.colour, set, E));
    OK(cst_context_save(p.context, E));
    OK(cst_object_refresh(object, false, E));
    CHECK(counts.freed == 1);
    void *value = NULL;
    OK(cst_object_get_transformed(object, p.colour, &value, E));
    REQUIRE(value != NULL);
    CHECK(counts.made == 1 && ((struct colour *)value)->blue == 0.75 && ((struct colour *)value)->red == 0.25);

    /* The bytes are an archive that any reader understands; an attribute without a class returns the object too. */
    cst_value bytes;
    cst_buffer json = {NULL, 0, 0};
    OK(cst_object_get(object, p.colour, &bytes, E));
    OK(cst_archive_copy_json(bytes.as.bytes, &json, E));
    CHECK_CONTAINS("{\"$object\": {\"class\": \"MyColour\"", text_of_size(json.data, json.size));
    OK(cst_object_set(object, p.plain, &bytes, E));
    OK(cst_object_get_transformed(object, p.plain, &value, E));
    CHECK(((struct colour *)value)->green == 0.5);
    set = sky();
    CHECK_STATUS(CST_E_TYPE_MISMATCH, cst_object_set_transformed(object, p.plain, set, E));
    CHECK_CONTAINS("cst_archive_register_class", cst_error_message(check_error()));

    /* Failures have the host's error, with entity and key; the host keeps the value. */
    counts.fails = true;
    CHECK_STATUS(CST_E_CALLBACK, cst_object_set_transformed(object, p.colour, set, E));
    CHECK_CONTAINS("no such colour", cst_error_message(check_error()));
    CHECK_TEXT("colour", cst_error_key(check_error()));
    free(set);
    cst_buffer archive = {NULL, 0, 0};
    OK(cst_archive_from_json(text("{\"$object\": {\"class\": \"MyColour\", \"fields\": {\"hue\": 1}}}"), &archive, E));
    bytes.as.bytes = (cst_bytes){(const uint8_t *)archive.data, archive.size};
    OK(cst_object_set(object, p.plain, &bytes, E));
    CHECK_STATUS(CST_E_CALLBACK, cst_object_get_transformed(object, p.plain, &value, E));
    CHECK_TEXT("plain", cst_error_key(check_error()));

    /* Values of an unregistered class cannot be read. */
    OK(cst_archive_unregister_class(text(paint_class), E));
    CHECK_STATUS(CST_NOT_FOUND, cst_archive_unregister_class(text(paint_class), E));
    OK(cst_object_refresh(object, false, E));
    CHECK_STATUS(CST_E_TYPE_MISMATCH, cst_object_get_transformed(object, p.colour, &value, E));

    /* They can be read as soon as the class is registered, although the object caches what it read before. */
    OK(cst_archive_register_class(text(paint_class), &callbacks, E));
    OK(cst_object_get_transformed(object, p.colour, &value, E));
    CHECK(((struct colour *)value)->blue == 0.75);
    OK(cst_archive_unregister_class(text(paint_class), E));
    cst_buffer_dispose(&json);
    cst_buffer_dispose(&archive);
    OK(cst_release(object));
    OK(cst_release(p.context));
    OK(cst_release(p.coordinator));
    OK(cst_release(model));
    CHECK(counts.freed == 1 + counts.made && counts.destroyed == 2);
}

static void an_archive_class_requires_its_functions(void) {
    struct counts counts = {0};
    cst_archive_class_callbacks callbacks = {sizeof callbacks, to_fields, NULL, NULL, &counts, destroy};
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_archive_register_class(text("Half"), &callbacks, E));
    CHECK(counts.destroyed == 1);
    callbacks.from_fields = from_fields;
    OK(cst_archive_register_class(text("Whole"), &callbacks, E));
    OK(cst_archive_register_class(text("Whole"), &callbacks, E));
    CHECK(counts.destroyed == 2);
    OK(cst_archive_unregister_class(text("Whole"), E));
    CHECK(counts.destroyed == 3);
}

static void registered_transformers_and_class_kinds_are_reported(void) {
    bool registered = true;
    struct counts counts = {0};
    cst_transformer_callbacks callbacks = {sizeof callbacks, transform, reverse, NULL, &counts, NULL};
    OK(cst_transformer_is_registered(text("Ours"), &registered, E));
    CHECK(!registered);
    OK(cst_transformer_register(text("Ours"), &callbacks, E));
    OK(cst_transformer_is_registered(text("Ours"), &registered, E));
    CHECK(registered);
    OK(cst_transformer_unregister(text("Ours"), E));
    cst_buffer kinds = {NULL, 0, 0};
    OK(cst_archive_copy_class_kinds(text("NSMutableArray"), &kinds, E));
    CHECK_TEXT("array", text_of_size(kinds.data, kinds.size));
    CHECK_STATUS(CST_NOT_FOUND, cst_archive_copy_class_kinds(text("NSColor"), &kinds, E));
    cst_buffer_dispose(&kinds);
}

static const char *reversed(const char *value) {
    static char text[64];
    size_t size = strlen(value);
    for (size_t i = 0; i < size && size < sizeof text; i++)
        text[i] = value[size - 1 - i];
    text[size] = 0;
    return text;
}

static cst_status forwards(void *userdata, const cst_value *receiver, size_t count, const cst_value *arguments,
                           cst_value *out_value, cst_error **error) {
    static char words[64];
    (void)userdata, (void)count, (void)arguments, (void)error;
    CHECK_INT(CST_BYTES, receiver->type);
    memcpy(words, receiver->as.bytes.data, receiver->as.bytes.size);
    words[receiver->as.bytes.size] = 0;
    *out_value = value_text(reversed(words));
    return CST_OK;
}

static void registered_functions_can_be_a_transformer(void) {
    struct paint p;
    paint_open(&p, check_path("f.sqlite"));
    OK(cst_function_register_typed(text("backwards"), text("s(s)"), (cst_function)reversed, E));
    OK(cst_function_register(text("forwards"), forwards, NULL, NULL, E));
    OK(cst_transformer_register_functions(text("Nobody's"), text("backwards"), text("forwards"), E));
    cst_object *wall = NULL;
    OK(cst_context_insert(p.context, p.wall, &wall, E));
    cst_value words = value_text("red"), bytes;
    OK(cst_object_set_transformed(wall, p.strange, &words, E));
    OK(cst_object_get(wall, p.strange, &bytes, E));
    CHECK(bytes.type == CST_BYTES && memcmp(bytes.as.bytes.data, "der", 3) == 0);
    OK(cst_context_save(p.context, E));
    OK(cst_object_refresh(wall, false, E));
    void *found = NULL;
    OK(cst_object_get_transformed(wall, p.strange, &found, E));
    CHECK_TEXT("red", ((cst_value *)found)->as.string);
    OK(cst_function_unregister(text("backwards"), E));
    CHECK(cst_object_set_transformed(wall, p.strange, &words, E) < 0);
    CHECK_CONTAINS("\"backwards\" is not registered", cst_error_message(check_error()));
    OK(cst_function_unregister(text("forwards"), E));
    OK(cst_transformer_unregister(text("Nobody's"), E));
    OK(cst_release(wall));
    paint_close(&p);
}

static cst_status neither(void *userdata, const cst_value *receiver, size_t count, const cst_value *arguments,
                          cst_value *out_value, cst_error **error) {
    (void)receiver, (void)count, (void)arguments, (void)error;
    *out_value = *(bool *)userdata ? value_bytes("\0\1", 2) : value_int(1);
    return CST_OK;
}

/* A function must return binary data or a string. */
static void a_transforming_function_must_return_bytes_or_text(void) {
    struct paint p;
    bool gives_bytes = false;
    paint_open(&p, check_path("f.sqlite"));
    OK(cst_function_register(text("neither"), neither, &gives_bytes, NULL, E));
    OK(cst_transformer_register_functions(text("Nobody's"), text("neither"), text("neither"), E));
    bool registered = false;
    OK(cst_transformer_is_registered(text("Nobody's"), &registered, E));
    CHECK(registered);
    OK(cst_transformer_is_registered(text("JSON"), &registered, E));
    CHECK(!registered); /* built in, not registered */
    cst_object *wall = NULL;
    OK(cst_context_insert(p.context, p.wall, &wall, E));
    cst_value words = value_text("red"), bytes;
    CHECK_STATUS(CST_E_TYPE_MISMATCH, cst_object_set_transformed(wall, p.strange, &words, E));
    CHECK_CONTAINS("the function \"neither\" returned ", cst_error_message(check_error()));
    CHECK_CONTAINS(" for a value, but must return binary data or a string", cst_error_message(check_error()));
    CHECK_TEXT("strange", cst_error_key(check_error()));
    OK(cst_object_get(wall, p.strange, &bytes, E));
    CHECK_INT(CST_NULL, bytes.type);
    gives_bytes = true;
    OK(cst_object_set_transformed(wall, p.strange, &words, E));
    OK(cst_object_get(wall, p.strange, &bytes, E));
    CHECK(bytes.type == CST_BYTES && bytes.as.bytes.size == 2 && memcmp(bytes.as.bytes.data, "\0\1", 2) == 0);
    OK(cst_object_set_transformed(wall, p.strange, NULL, E));
    OK(cst_object_get(wall, p.strange, &bytes, E));
    CHECK_INT(CST_NULL, bytes.type);
    OK(cst_transformer_unregister(text("Nobody's"), E));
    CHECK_STATUS(CST_NOT_FOUND, cst_transformer_unregister(text("Nobody's"), E));
    CHECK_STATUS(CST_E_UNSUPPORTED, cst_object_set_transformed(wall, p.strange, &words, E));
    CHECK_CONTAINS("Nobody's", cst_error_message(check_error()));
    OK(cst_function_unregister(text("neither"), E));
    OK(cst_release(wall));
    paint_close(&p);
}

int main(int count, char **arguments) {
    check_begin(count, arguments);
    RUN(a_transformed_value_is_kept_read_and_freed);
    RUN(a_transformer_is_destroyed_after_its_last_value);
    RUN(transformer_failures_name_entity_and_key);
    RUN(a_transformer_requires_its_functions);
    RUN(objects_of_a_registered_class_are_archived);
    RUN(an_archive_class_requires_its_functions);
    RUN(registered_transformers_and_class_kinds_are_reported);
    RUN(registered_functions_can_be_a_transformer);
    RUN(a_transforming_function_must_return_bytes_or_text);
    return check_end();
}
