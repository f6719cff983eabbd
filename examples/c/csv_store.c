/* People in a file of comma-separated values, as a custom atomic store. Usage: csv_store FILE [NAME AGE]
 *
 * The store is loaded as a whole when it is opened, and each save writes it as a whole. A save writes a draft, which
 * replaces the file when the draft is on the disk. So the file always contains either all of a save or nothing of it.
 * The first line contains the metadata of the store, which includes the identifier: a new identifier at each start
 * would invalidate the URIs of the objects.
 *
 * Other programs may also save into the file. A save locks the file's folder, and first checks that the file is still
 * the one that was read. Otherwise it would overwrite the changes of another program, so it reports a conflict. The
 * library then loads the file again, and the context's merge policy resolves the conflict.
 *
 * SPDX-License-Identifier: MIT
 */
#define _POSIX_C_SOURCE 200809L
#include <corestone/example.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { REFERENCE, VERSION, NAME, AGE, FIELDS };

struct csv_store {
    cst_entity *person;
    cst_model *model;
    cst_key name, age;
    char *metadata; /* in hexadecimal */
    char *text;     /* the content of the file, for `load`; NULL if it must be read again */
    int file;       /* the file that was last read or written, or -1; open, so that no other file can get its inode */
    struct stat seen;
    char path[];
};

/* ---- errors ---- */

static cst_status fails(const char *path, const char *what, const char *why, cst_error **error) {
    char message[1024];
    snprintf(message, sizeof message, "%s: cannot %s: %s", path, what, why);
    cst_error_new_custom(CST_TEXT("CSV"), 1, cst_string_from(message), NULL, NULL, error);
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

/* Fills the buffer from hexadecimal digits. Returns false for other text. */
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

/* Locks the file's folder for this program, until the returned descriptor is closed. Returns -1 on failure. */
static int lock_folder(const char *path) {
    char *folder = strdup(path);
    if (folder == NULL) return -1;
    char *slash = strrchr(folder, '/');
    if (slash != NULL) slash[slash == folder] = 0;
    int lock = open(slash != NULL ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free(folder);
    while (lock >= 0 && flock(lock, LOCK_EX) != 0) {
        if (errno == EINTR) continue;
        close(lock);
        return -1;
    }
    return lock;
}

/* Returns whether the file was replaced or overwritten after it was read. */
static bool is_changed(const struct csv_store *store) {
    struct stat now;
    const struct stat *seen = &store->seen;
    return stat(store->path, &now) != 0 || now.st_dev != seen->st_dev || now.st_ino != seen->st_ino ||
           now.st_size != seen->st_size || now.st_mtim.tv_sec != seen->st_mtim.tv_sec ||
           now.st_mtim.tv_nsec != seen->st_mtim.tv_nsec;
}

static void take_file(struct csv_store *store, int file, const struct stat *about) {
    if (store->file >= 0) close(store->file);
    store->file = file;
    store->seen = *about;
}

/* Reads the file: its text and the metadata in its first line. */
static cst_status read_file(struct csv_store *store, cst_error **error) {
    struct stat about;
    char *text = NULL;
    size_t size = 0;
    int file = open(store->path, O_RDONLY | O_CLOEXEC);
    bool is_read = file >= 0 && fstat(file, &about) == 0 && (text = malloc((size_t)about.st_size + 1)) != NULL;
    while (is_read && size < (size_t)about.st_size) {
        ssize_t some = read(file, text + size, (size_t)about.st_size - size);
        if (some == 0) break;
        if (some < 0 && errno == EINTR) continue;
        is_read = some > 0;
        size += is_read ? (size_t)some : 0;
    }
    const char *why = is_read ? NULL : strerror(errno);
    size_t length = 0;
    if (is_read) {
        text[size] = 0;
        length = strcspn(text, "\n");
        if (strlen(text) != size) why = "it contains a NUL";
        if (length <= 2 || text[0] != '#' || text[1] != ' ') why = "this program did not write it";
    }
    char *metadata = why == NULL ? strndup(text + 2, length - 2) : NULL;
    if (why == NULL && metadata == NULL) why = strerror(ENOMEM);
    if (why == NULL && store->metadata != NULL && strcmp(metadata, store->metadata) != 0)
        why = "another store replaced it, or its first line was changed; open it again";
    if (why != NULL) {
        cst_status status = fails(store->path, "read it", why, error);
        free(text);
        free(metadata);
        if (file >= 0) close(file);
        return status;
    }
    free(store->metadata);
    free(store->text);
    store->metadata = metadata;
    store->text = text;
    take_file(store, file, &about);
    return CST_OK;
}

/* Unquotes the next field in place and returns it; NULL at the end of the text. *end is the character after it. */
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

static bool write_row(FILE *file, const struct csv_store *store, const cst_row *row) {
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
    return memchr(name.data, 0, name.size) == NULL; /* a NUL would end the text of the file */
}

/* Writes a draft with the rows of a save (NULL: no rows) and the permissions of the file, and replaces the file by it.
 * The caller holds the lock. */
static cst_status write_file(struct csv_store *store, int folder, const char *metadata, cst_save_request *request,
                             cst_error **error) {
    struct stat about;
    size_t length = strlen(store->path);
    char *draft = malloc(length + 8);
    if (draft == NULL) return fails(store->path, "write it", strerror(ENOMEM), error);
    memcpy(draft, store->path, length);
    memcpy(draft + length, ".XXXXXX", 8);
    int file = mkstemp(draft);
    if (file < 0) {
        free(draft);
        return fails(store->path, "write it", strerror(errno), error);
    }
    fcntl(file, F_SETFD, FD_CLOEXEC);
    if (stat(store->path, &about) == 0) fchmod(file, about.st_mode & 07777);
    /* `file` stays open when the stream is closed. */
    int copy = dup(file);
    FILE *stream = copy < 0 ? NULL : fdopen(copy, "wb");
    cst_status status = stream == NULL ? fails(store->path, "write it", strerror(errno), error) : CST_OK;
    if (stream != NULL) fprintf(stream, "# %s\nreference,version,name,age\n", metadata);
    while (status == CST_OK && request != NULL) {
        cst_row rows[64];
        size_t count = 0;
        status = cst_save_request_next(request, 64, rows, &count, error);
        for (size_t i = 0; i < count; i++)
            if (!write_row(stream, store, &rows[i]))
                status = fails(store->path, "save a Person", "its name contains a NUL; remove it", error);
    }
    if (status == CST_END) status = CST_OK;
    errno = 0;
    bool is_written = stream != NULL && fflush(stream) == 0 && !ferror(stream);
    if (stream != NULL) is_written = fclose(stream) == 0 && is_written;
    is_written = is_written && fsync(file) == 0 && fstat(file, &about) == 0;
    if (status == CST_OK && (!is_written || rename(draft, store->path) != 0))
        status = fails(store->path, "write it", strerror(errno), error);
    if (status != CST_OK) {
        unlink(draft);
    } else if (fsync(folder) != 0) { /* a crash may restore the former file, so the file counts as changed */
        status = fails(store->path, "write it", strerror(errno), error);
    }
    free(draft);
    if (status == CST_OK) {
        take_file(store, file, &about);
    } else {
        close(file);
    }
    return status;
}

/* Begins a new file, unless another program has just done so. The caller holds the lock. */
static cst_status begin_file(struct csv_store *store, int folder, cst_bytes metadata, cst_error **error) {
    struct stat about;
    /* An empty file is a new store. A created file has the default permissions of the process. */
    int file = open(store->path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    bool is_there = file >= 0 && fstat(file, &about) == 0;
    if (file >= 0) close(file);
    if (!is_there) return fails(store->path, "write it", strerror(errno), error);
    if (about.st_size > 0) return CST_OK;
    char *digits = digits_of(metadata);
    cst_status status = digits == NULL ? fails(store->path, "write it", strerror(ENOMEM), error)
                                       : write_file(store, folder, digits, NULL, error);
    free(digits);
    return status;
}

/* ---- callbacks ---- */

static void close_store(void *opened) {
    struct csv_store *store = opened;
    cst_release(store->model);
    if (store->file >= 0) close(store->file);
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
    store->file = -1;
    cst_status status = cst_model_entity(store->model, CST_TEXT("Person"), &store->person, error);
    if (status == CST_OK) status = cst_entity_key(store->person, CST_TEXT("name"), &store->name, error);
    if (status == CST_OK) status = cst_entity_key(store->person, CST_TEXT("age"), &store->age, error);
    int lock = status == CST_OK && opening->is_new ? lock_folder(store->path) : -1;
    if (status == CST_OK && opening->is_new) {
        status = lock < 0 ? fails(store->path, "lock its folder", strerror(errno), error)
                          : begin_file(store, lock, opening->metadata, error);
    }
    if (lock >= 0) close(lock);
    if (status == CST_OK) status = read_file(store, error);
    if (status == CST_OK && !fill_from(store->metadata, out_metadata, error))
        status = fails(store->path, "open it", "its first line does not contain metadata", error);
    if (status == CST_OK) {
        *out_store = store;
    } else {
        close_store(store);
    }
    return status;
}

static cst_status load(void *opened, cst_row_sink *sink, cst_error **error) {
    struct csv_store *store = opened;
    cst_status status = store->text != NULL ? CST_OK : read_file(store, error);
    if (status != CST_OK) return status;
    char *rest = store->text + strcspn(store->text, "\n");
    for (int line = 1; status == CST_OK && *rest != 0; line++) {
        char *fields[FIELDS] = {NULL}, end = 0;
        if (line == 1) rest++; /* to the line with the names, after the metadata */
        for (int i = 0; i < FIELDS && (fields[i] = next_field(&rest, &end)) != NULL && end == ','; i++) {
        }
        if (line == 1) continue;
        if (fields[AGE] == NULL || end == ',') {
            char why[64];
            snprintf(why, sizeof why, "line %d does not have %d fields", line + 1, FIELDS);
            status = fails(store->path, "read it", why, error);
            break;
        }
        const cst_key keys[] = {store->name, store->age};
        cst_value values[] = {cst_value_string(cst_string_from(fields[NAME])), cst_value_null()};
        if (*fields[AGE] != 0) values[1] = cst_value_int(strtoll(fields[AGE], NULL, 10));
        const cst_value reference = cst_value_string(cst_string_from(fields[REFERENCE]));
        const cst_row row = {store->person, reference, strtoll(fields[VERSION], NULL, 10), 2, keys, values, NULL};
        status = cst_row_sink_push(sink, 1, &row, error);
    }
    free(store->text);
    store->text = NULL;
    /* The library does not have the rows of the file, so no save may overwrite it. */
    if (status != CST_OK) memset(&store->seen, 0, sizeof store->seen);
    return status;
}

/* Reports one row of a save as a conflict. The library then loads the store again, and finds the rows that changed.
 * Without rows there is nothing to report, and only metadata to write. */
static cst_status refuse_save(const struct csv_store *store, const cst_save_changes *changes, cst_error **error) {
    const cst_row *row = changes->locked_count > 0     ? &changes->locked[0]
                         : changes->updated_count > 0  ? &changes->updated[0].row
                         : changes->deleted_count > 0  ? &changes->deleted[0]
                         : changes->inserted_count > 0 ? &changes->inserted[0]
                                                       : NULL;
    if (row != NULL) return cst_save_request_add_conflict(changes->request, CST_CONFLICT_ROW_VERSION, row, error);
    if (changes->metadata.size == 0) return CST_OK;
    return fails(store->path, "write its first line", "another program saved meanwhile; open the store again", error);
}

static cst_status save(void *opened, const cst_save_changes *changes, cst_row_sink *sink, cst_error **error) {
    struct csv_store *store = opened;
    (void)sink;
    char *metadata = changes->metadata.size > 0 ? digits_of(changes->metadata) : strdup(store->metadata);
    int lock = metadata == NULL ? -1 : lock_folder(store->path);
    cst_status status;
    if (lock < 0) {
        status = fails(store->path, "lock its folder", strerror(errno), error);
    } else if (is_changed(store)) {
        status = refuse_save(store, changes, error);
    } else {
        status = write_file(store, lock, metadata, changes->request, error);
        if (status == CST_OK) {
            free(store->metadata);
            store->metadata = metadata;
            metadata = NULL;
        }
    }
    if (lock >= 0) close(lock);
    free(metadata);
    return status;
}

/* ---- the program ---- */

int main(int count, char **arguments) {
    if (count != 2 && count != 4) {
        fprintf(stderr, "usage: csv_store FILE [NAME AGE]\n");
        return 2;
    }
    int result = 1;
    cst_error *error = NULL;
    cst_model *model = NULL;
    cst_coordinator *coordinator = NULL;
    cst_context *context = NULL;
    cst_merge_policy *policy = NULL;
    cst_fetch_request *request = NULL;
    cst_results *found = NULL;
    cst_store_callbacks callbacks = CST_STORE_CALLBACKS_INIT;
    callbacks.kind = CST_STORE_ATOMIC;
    callbacks.open = open_store;
    callbacks.close = close_store;
    callbacks.load = load;
    callbacks.save = save;
    CST_TRY(cst_store_type_register(CST_TEXT("CSV"), &callbacks, &error));

    cst_entity *person;
    CST_TRY(cst_model_new(&model, &error));
    CST_TRY(cst_model_add_entity(model, CST_TEXT("Person"), &person, &error));
    CST_TRY(cst_entity_add_attribute(person, CST_TEXT("name"), CST_ATTRIBUTE_STRING, 0, NULL, &error));
    CST_TRY(cst_entity_add_attribute(person, CST_TEXT("age"), CST_ATTRIBUTE_INTEGER_64, CST_PROPERTY_OPTIONAL, NULL,
                                     &error));
    CST_TRY(cst_coordinator_new(model, &coordinator, &error));
    CST_TRY(cst_coordinator_add_store(coordinator, CST_TEXT("CSV"), cst_string_from(arguments[1]), NULL, NULL, &error));
    CST_TRY(cst_context_new(coordinator, CST_QUEUE_CALLER, &context, &error));
    /* If another program saved meanwhile, its rows are loaded, and the save continues. */
    CST_TRY(cst_merge_policy_new(CST_MERGE_OBJECT_TRUMP, NULL, NULL, NULL, &policy, &error));
    CST_TRY(cst_context_set_merge_policy(context, policy, &error));

    cst_key keys[2];
    CST_TRY(cst_entity_key(person, CST_TEXT("name"), &keys[0], &error));
    CST_TRY(cst_entity_key(person, CST_TEXT("age"), &keys[1], &error));
    if (count == 4) {
        const cst_value values[] = {cst_value_string(cst_string_from(arguments[2])),
                                    cst_value_int(strtoll(arguments[3], NULL, 10))};
        CST_TRY(cst_context_insert_many(context, person, 1, 2, keys, values, NULL, &error));
        CST_TRY(cst_context_save(context, &error));
    }
    const cst_sort by_age = {.key_path = CST_TEXT("age")};
    CST_TRY(cst_fetch_request_new(person, &request, &error));
    CST_TRY(cst_fetch_request_set_sort(request, 1, &by_age, &error));
    CST_TRY(cst_context_fetch(context, request, &found, &error));
    for (size_t i = 0; i < cst_results_count(found); i++) {
        cst_object *object;
        cst_value values[2];
        CST_TRY(cst_results_get_object(found, i, &object, &error));
        CST_TRY(cst_object_get_many(object, 2, keys, values, &error));
        printf("%s, %d\n", values[0].as.string.data, (int)values[1].as.integer);
    }
    result = 0;

failed:
    cst_release(found);
    cst_release(request);
    cst_release(policy);
    cst_release(context);
    cst_release(coordinator);
    cst_release(model);
    cst_store_type_unregister(CST_TEXT("CSV"), NULL);
    return result;
}
