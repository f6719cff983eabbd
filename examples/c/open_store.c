/* Opens any Core Data store, without a separate model, and prints a page about it. Usage: open_store STORE
 *
 * SPDX-License-Identifier: MIT
 */
#include <corestone/example.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { ENTITIES = 20, OBJECTS = 10, COLUMNS = 4, WIDTH = 24 };

static const char *path;

/* Prints the error of a call that failed, and ends the program. */
#define TRY(call) CST_TRY_OR(call, exit(1))

struct entry {
    cst_entity *entity;
    uint64_t count; /* without objects of subentities */
};

static int by_count(const void *a, const void *b) {
    const struct entry *one = a, *other = b;
    return (one->count < other->count) - (one->count > other->count);
}

static cst_fetch_request *own_objects(const cst_entity *entity) {
    cst_error *error = NULL;
    cst_fetch_request *request = NULL;
    TRY(cst_fetch_request_new(entity, &request, &error));
    TRY(cst_fetch_request_set_includes_subentities(request, false, &error));
    return request;
}

static uint64_t count(cst_context *context, const cst_entity *entity) {
    cst_error *error = NULL;
    uint64_t found = 0;
    cst_fetch_request *request = own_objects(entity);
    TRY(cst_context_count(context, request, &found, &error));
    cst_release(request);
    return found;
}

/* Returns the number of bytes to print: at most WIDTH, and only whole characters. */
static int shown(const cst_string string) {
    size_t size = string.size <= WIDTH ? string.size : WIDTH;
    while (size < string.size && size > 0 && ((unsigned char)string.data[size] & 0xC0) == 0x80)
        size--;
    return (int)size;
}

static void print_uuid(const uint8_t bytes[16], char *text) {
    for (int i = 0; i < 16; i++)
        text += sprintf(text, "%02X%s", bytes[i], i == 3 || i == 5 || i == 7 || i == 9 ? "-" : "");
}

static void print_value(const cst_value *value) {
    char text[64] = "";
    switch (value->type) {
    case CST_BOOL:
        snprintf(text, sizeof text, "%s", value->as.boolean ? "yes" : "no");
        break;
    case CST_INT:
        snprintf(text, sizeof text, "%" PRId64, value->as.integer);
        break;
    case CST_DOUBLE:
        snprintf(text, sizeof text, "%g", value->as.real);
        break;
    case CST_DATE:
        snprintf(text, sizeof text, "%.0f s after 2001", value->as.date);
        break;
    case CST_STRING:
    case CST_URI:
        snprintf(text, sizeof text, "%.*s", shown(value->as.string), value->as.string.data);
        break;
    case CST_BYTES:
        snprintf(text, sizeof text, "%zu bytes", value->as.bytes.size);
        break;
    case CST_UUID:
        print_uuid(value->as.uuid, text);
        break;
    case CST_DECIMAL: /* the low 64 bits of the mantissa */
        snprintf(text, sizeof text, "%s%" PRIu64 "e%d", CST_DECIMAL_NEGATIVE(value->aux) ? "-" : "",
                 value->as.decimal.mantissa[0], CST_DECIMAL_EXPONENT(value->aux));
        break;
    default:
        break;
    }
    for (char *c = text; *c; c++) {
        if ((unsigned char)*c < ' ') *c = ' ';
    }
    printf("  %-*s", WIDTH, text);
}

/* Prints the first attributes of the first objects. */
static void print_objects(cst_context *context, const cst_entity *entity) {
    cst_error *error = NULL;
    cst_key keys[COLUMNS];
    size_t columns = 0;
    for (size_t i = 0; i < cst_entity_property_count(entity) && columns < COLUMNS; i++) {
        cst_property_info info = CST_PROPERTY_INFO_INIT;
        TRY(cst_entity_property_at(entity, i, &info, &error));
        if (info.kind != CST_PROPERTY_ATTRIBUTE) continue;
        printf("  %-*.*s", WIDTH, WIDTH, info.name.data);
        keys[columns++] = info.key;
    }
    printf("\n");
    cst_fetch_request *request = own_objects(entity);
    cst_results *results = NULL;
    TRY(cst_fetch_request_set_limit(request, OBJECTS, &error));
    TRY(cst_context_fetch(context, request, &results, &error));
    for (size_t row = 0; row < cst_results_count(results); row++) {
        cst_object *object = NULL;
        cst_value values[COLUMNS];
        TRY(cst_results_get_object(results, row, &object, &error));
        TRY(cst_object_get_many(object, columns, keys, values, &error));
        for (size_t i = 0; i < columns; i++)
            print_value(&values[i]);
        printf("\n");
    }
    cst_release(results);
    cst_release(request);
}

static void print_page(cst_context *context, cst_model *model, const cst_store *store) {
    static const char *const sources[] = {"", "given", "in the store", "inferred from its tables"};
    cst_error *error = NULL;
    uint32_t source = 0;
    uint64_t total = 0;
    size_t entities = cst_model_entity_count(model);
    struct entry *entries = calloc(entities ? entities : 1, sizeof *entries);
    if (!entries) exit(1);
    for (size_t i = 0; i < entities; i++) {
        TRY(cst_model_entity_at(model, i, &entries[i].entity, &error));
        entries[i].count = count(context, entries[i].entity);
        total += entries[i].count;
    }
    qsort(entries, entities, sizeof *entries, by_count);
    TRY(cst_store_model_source(store, &source, &error));
    printf("%s: store %s, its model is %s\n", path, cst_store_identifier(store).data, sources[source]);
    printf("%" PRIu64 " objects of %zu entities\n\n", total, entities);
    for (size_t i = 0; i < entities && i < ENTITIES; i++)
        printf("%9" PRIu64 "  %s\n", entries[i].count, cst_entity_name(entries[i].entity).data);
    if (entities > ENTITIES) printf("%9s  and %zu more\n", "...", entities - ENTITIES);
    if (entities > 0 && entries[0].count > 0) {
        printf("\n%s: the first of them\n", cst_entity_name(entries[0].entity).data);
        print_objects(context, entries[0].entity);
    }
    free(entries);
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: %s STORE\n", argv[0]);
        return 2;
    }
    path = argv[1];
    cst_error *error = NULL;
    cst_coordinator *coordinator = NULL;
    cst_store *store = NULL;
    cst_model *model = NULL;
    cst_context *context = NULL;
    TRY(cst_coordinator_open_store(cst_string_from(path), NULL, NULL, &coordinator, &store, &error));
    TRY(cst_coordinator_model(coordinator, &model, &error));
    TRY(cst_context_new(coordinator, CST_QUEUE_CALLER, &context, &error));
    print_page(context, model, store);
    cst_release(context);
    cst_release(store);
    cst_release(coordinator);
    return 0;
}
