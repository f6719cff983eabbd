/* People in a file of comma-separated values, as an atomic store of the program's own. Usage: csv_store FILE [NAME AGE]
 *
 * The store is read as a whole when it is opened, and written as a whole by each save: into a draft that takes the file's place when
 * it is on the disk, so the file has all of a save or nothing of it. The first line has what the store says about itself, since
 * without its identifier the URIs of its objects would be worth nothing the next time.
 *
 * SPDX-License-Identifier: MIT
 */
#define _POSIX_C_SOURCE 200809L
#include <corestone.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { REFERENCE, VERSION, NAME, AGE, FIELDS };
#define TEXT(string) ((cst_string){string, CST_NUL})

struct csv_store {
    cst_entity *person;
    cst_model *model;
    cst_key name, age;
    char *metadata; /* as digits */
    char *text;     /* of the file, for `load` */
    char path[];
};

/* ---- errors ---- */

static cst_status fails(const char *path, const char *what, const char *why, cst_error **error) {
    char message[1024];
    snprintf(message, sizeof message, "%s: cannot %s: %s", path, what, why);
    cst_error_new_custom(TEXT("CSV"), 1, TEXT(message), NULL, NULL, error);
    return CST_E_CALLBACK;
}

/* ---- the file ---- */

static char *digits_of(cst_bytes bytes) {
    char *digits = malloc(2 * bytes.size + 1);
    if (digits == NULL) return NULL;
    for (size_t i = 0; i < bytes.size; i++)
        sprintf(digits + 2 * i, "%02x", bytes.data[i]);
    digits[2 * bytes.size] = 0;
    return digits;
}

/* Fills the buffer; false for what are no digits. */
static bool fill_from(const char *digits, cst_buffer *out, cst_error **error) {
    size_t size = strlen(digits) / 2;
    uint8_t *bytes = malloc(size + 1);
    bool good = bytes != NULL && size > 0 && strlen(digits) % 2 == 0;
    for (size_t i = 0; good && i < size; i++) {
        unsigned byte = 0;
        good = sscanf(digits + 2 * i, "%2x", &byte) == 1;
        bytes[i] = (uint8_t)byte;
    }
    good = good && cst_buffer_fill(out, (cst_bytes){bytes, size}, error) == CST_OK;
    free(bytes);
    return good;
}

static char *contents(const char *path) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) return NULL;
    size_t size = 0, room = 4096;
    char *text = malloc(room);
    while (text != NULL) {
        size += fread(text + size, 1, room - size - 1, file);
        if (size < room - 1) break;
        char *more = realloc(text, room *= 2);
        if (more == NULL) free(text);
        text = more;
    }
    if (text != NULL) text[size] = 0;
    if (ferror(file) && text != NULL) {
        free(text);
        text = NULL;
    }
    fclose(file);
    return text;
}

/* Takes the next field apart, in its place; NULL at the end of the text. *end is what came behind it. */
static char *next_field(char **rest, char *end) {
    char *from = *rest, *to = from, *field = from;
    if (*from == 0) return NULL;
    if (*from == '"') {
        field = to = ++from;
        while (*from != 0 && (*from != '"' || from[1] == '"')) {
            if (*from == '"') from++;
            *to++ = *from++;
        }
        if (*from == '"') from++;
    }
    while (*from != 0 && *from != ',' && *from != '\n')
        *to++ = *from++;
    *end = *from;
    *rest = *from == 0 ? from : from + 1;
    *to = 0;
    return field;
}

static void write_text(FILE *file, cst_string text) {
    fputc('"', file);
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] == '"') fputc('"', file);
        fputc(text.data[i], file);
    }
    fputc('"', file);
}

/* ---- callbacks ---- */

static void close_store(void *opened) {
    struct csv_store *store = opened;
    cst_release(store->model);
    free(store->metadata);
    free(store->text);
    free(store);
}

static cst_status open_store(void *userdata, const cst_store_opening *opening, void **out_store,
                             cst_buffer *out_metadata, cst_error **error) {
    (void)userdata;
    if (opening->is_new && opening->must_exist) return CST_NOT_FOUND;
    struct csv_store *store = calloc(1, sizeof *store + opening->path.size + 1);
    if (store == NULL) return fails("csv_store", "open a store", strerror(ENOMEM), error);
    memcpy(store->path, opening->path.data, opening->path.size);
    cst_retain(opening->model);
    store->model = opening->model;
    cst_status status = cst_model_entity(store->model, TEXT("Person"), &store->person, error);
    if (status == CST_OK) status = cst_entity_key(store->person, TEXT("name"), &store->name, error);
    if (status == CST_OK) status = cst_entity_key(store->person, TEXT("age"), &store->age, error);
    if (status == CST_OK && opening->is_new) {
        store->metadata = digits_of(opening->metadata);
    } else if (status == CST_OK) {
        store->text = contents(store->path);
        size_t length = store->text == NULL ? 0 : strcspn(store->text, "\n");
        if (store->text == NULL) {
            status = fails(store->path, "read it", strerror(errno), error);
        } else if (length > 2 && store->text[0] == '#' && store->text[1] == ' ') {
            store->metadata = strndup(store->text + 2, length - 2);
        }
        if (store->metadata != NULL && !fill_from(store->metadata, out_metadata, error))
            status = fails(store->path, "open it", "its first line has no metadata", error);
    }
    if (status == CST_OK && store->metadata == NULL)
        status = fails(store->path, "open it", "this is no file of this program", error);
    if (status == CST_OK) {
        *out_store = store;
    } else {
        close_store(store);
    }
    return status;
}

static cst_status load(void *opened, cst_row_sink *sink, cst_error **error) {
    struct csv_store *store = opened;
    char *rest = store->text + strcspn(store->text, "\n");
    cst_status status = CST_OK;
    for (int line = 1; status == CST_OK && *rest != 0; line++) {
        char *fields[FIELDS] = {NULL}, end = 0;
        if (line == 1) rest++; /* behind the metadata, and then the names */
        for (int i = 0; i < FIELDS && (fields[i] = next_field(&rest, &end)) != NULL && end == ','; i++) {
        }
        if (line == 1) continue;
        if (fields[AGE] == NULL || end == ',') {
            char why[64];
            snprintf(why, sizeof why, "line %d has not %d fields", line + 1, FIELDS);
            status = fails(store->path, "read it", why, error);
            break;
        }
        const cst_key keys[] = {store->name, store->age};
        cst_value values[] = {{CST_STRING, 0, {.string = TEXT(fields[NAME])}}, {CST_NULL, 0, {0}}};
        if (*fields[AGE] != 0) values[1] = (cst_value){CST_INT, 0, {.integer = strtoll(fields[AGE], NULL, 10)}};
        const cst_value reference = {CST_STRING, 0, {.string = TEXT(fields[REFERENCE])}};
        const cst_row row = {store->person, reference, strtoll(fields[VERSION], NULL, 10), 2, keys, values, NULL};
        status = cst_row_sink_push(sink, 1, &row, error);
    }
    free(store->text);
    store->text = NULL;
    return status;
}

static void write_row(FILE *file, const struct csv_store *store, const cst_row *row) {
    cst_string name = {"", 0};
    write_text(file, row->reference.as.string);
    fprintf(file, ",%" PRId64 ",", row->version);
    for (size_t i = 0; i < row->count; i++)
        if (row->keys[i] == store->name) name = row->values[i].as.string;
    write_text(file, name);
    fputc(',', file);
    for (size_t i = 0; i < row->count; i++)
        if (row->keys[i] == store->age) fprintf(file, "%" PRId64, row->values[i].as.integer);
    fputc('\n', file);
}

static cst_status save(void *opened, const cst_save_changes *changes, cst_row_sink *sink, cst_error **error) {
    struct csv_store *store = opened;
    (void)sink;
    char draft[4096];
    if (snprintf(draft, sizeof draft, "%s.draft", store->path) >= (int)sizeof draft)
        return fails(store->path, "write it", "its path is too long", error);
    char *metadata = changes->metadata.size > 0 ? digits_of(changes->metadata) : strdup(store->metadata);
    FILE *file = metadata == NULL ? NULL : fopen(draft, "wb");
    if (file == NULL) {
        free(metadata);
        return fails(store->path, "write it", strerror(errno), error);
    }
    fprintf(file, "# %s\nreference,version,name,age\n", metadata);
    cst_status status;
    do {
        cst_row rows[64];
        size_t count = 0;
        status = cst_save_request_next(changes->request, 64, rows, &count, error);
        for (size_t i = 0; i < count; i++)
            write_row(file, store, &rows[i]);
    } while (status == CST_OK);
    bool written = status == CST_END && fflush(file) == 0 && !ferror(file) && fsync(fileno(file)) == 0;
    written = fclose(file) == 0 && written;
    if (status == CST_END) status = CST_OK;
    if (status == CST_OK && (!written || rename(draft, store->path) != 0))
        status = fails(store->path, "write it", strerror(errno), error);
    if (status == CST_OK) {
        free(store->metadata);
        store->metadata = metadata;
    } else {
        unlink(draft);
        free(metadata);
    }
    return status;
}

/* ---- the program ---- */

static void check(cst_status status, cst_error *error) {
    if (status >= 0) return;
    fprintf(stderr, "csv_store: %s\n", cst_error_message(error).data);
    exit(1);
}
/* In an order: the call sets the error that is looked at then. */
#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        cst_status status_of_call = (call);                                                                            \
        check(status_of_call, error);                                                                                  \
    } while (0)

int main(int count, char **arguments) {
    if (count != 2 && count != 4) {
        fprintf(stderr, "usage: csv_store FILE [NAME AGE]\n");
        return 2;
    }
    cst_error *error = NULL;
    cst_store_callbacks callbacks = CST_STORE_CALLBACKS_INIT;
    callbacks.kind = CST_STORE_ATOMIC;
    callbacks.open = open_store;
    callbacks.close = close_store;
    callbacks.load = load;
    callbacks.save = save;
    TRY(cst_store_type_register(TEXT("CSV"), &callbacks, &error));

    cst_model *model;
    cst_entity *person;
    TRY(cst_model_new(&model, &error));
    TRY(cst_model_add_entity(model, TEXT("Person"), &person, &error));
    TRY(cst_entity_add_attribute(person, TEXT("name"), CST_ATTRIBUTE_STRING, 0, NULL, &error));
    TRY(cst_entity_add_attribute(person, TEXT("age"), CST_ATTRIBUTE_INTEGER_64, CST_PROPERTY_OPTIONAL, NULL, &error));
    cst_coordinator *coordinator;
    cst_context *context;
    TRY(cst_coordinator_new(model, &coordinator, &error));
    TRY(cst_coordinator_add_store(coordinator, TEXT("CSV"), TEXT(arguments[1]), NULL, NULL, &error));
    TRY(cst_context_new(coordinator, CST_QUEUE_CALLER, &context, &error));

    cst_key keys[2];
    TRY(cst_entity_key(person, TEXT("name"), &keys[0], &error));
    TRY(cst_entity_key(person, TEXT("age"), &keys[1], &error));
    if (count == 4) {
        const cst_value values[] = {{CST_STRING, 0, {.string = TEXT(arguments[2])}},
                                    {CST_INT, 0, {.integer = strtoll(arguments[3], NULL, 10)}}};
        TRY(cst_context_insert_many(context, person, 1, 2, keys, values, NULL, &error));
        TRY(cst_context_save(context, &error));
    }
    cst_fetch_request *request;
    cst_results *found;
    const cst_sort by_age = {.key_path = TEXT("age")};
    TRY(cst_fetch_request_new(person, &request, &error));
    TRY(cst_fetch_request_set_sort(request, 1, &by_age, &error));
    TRY(cst_context_fetch(context, request, &found, &error));
    for (size_t i = 0; i < cst_results_count(found); i++) {
        cst_object *object;
        cst_value values[2];
        TRY(cst_results_get_object(found, i, &object, &error));
        TRY(cst_object_get_many(object, 2, keys, values, &error));
        printf("%s, %d\n", values[0].as.string.data, (int)values[1].as.integer);
    }
    void *handles[] = {found, request, context, coordinator, model};
    for (size_t i = 0; i < sizeof handles / sizeof *handles; i++)
        cst_release(handles[i]);
    TRY(cst_store_type_unregister(TEXT("CSV"), &error));
    return 0;
}
