/* Large binary values in backing files: when they are read, how long views of them are valid, and in which order a save
 * writes files and rows to disk.
 *
 * SPDX-License-Identifier: MIT
 */
#include "company.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { SIZE = 200000 };

/* ---- calls that the library and SQLite make on files: these definitions replace those of libc ---- */

static struct {
    char what[64]; /* "sync" or "remove", then the end of the path */
} events[256];
static size_t event_count;
static bool is_noting;

/* The kind of a path: "-wal", "-journal", "store", "folder", "value". */
static const char *kind_of(const char *path) {
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    if (strstr(path, "_EXTERNAL_DATA/")) return "value";
    if (strstr(path, "_SUPPORT") || strstr(path, "_EXTERNAL_DATA")) return "values";
    if (strstr(name, "-wal")) return "log";
    if (strstr(name, "-journal")) return "journal";
    return strstr(name, ".sqlite") ? "store" : "folder";
}

static void note(const char *action, const char *path) {
    if (is_noting && event_count < sizeof events / sizeof *events)
        snprintf(events[event_count++].what, sizeof events->what, "%s %s", action, kind_of(path));
}

static int note_sync(int descriptor) {
    if (!is_noting) return 0;
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t size = readlink(link, path, sizeof path - 1);
    path[size < 0 ? 0 : size] = 0;
    note("sync", path);
    return 0;
}

int fsync(int descriptor) { return note_sync(descriptor); }
int fdatasync(int descriptor) { return note_sync(descriptor); }
int unlink(const char *path) {
    note("remove", path);
    return (int)syscall(SYS_unlink, path);
}

/* Saves, and records the events of the save. */
static void save_noting(cst_context *context) {
    event_count = 0;
    is_noting = true;
    cst_status status = cst_context_save(context, E);
    is_noting = false;
    CHECK_INT(CST_OK, status);
}

/* The index of an event at or after `from`; event_count if there is none. */
static size_t find(const char *what, size_t from) {
    while (from < event_count && strcmp(events[from].what, what) != 0)
        from++;
    return from;
}

static size_t times(const char *what) {
    size_t found = 0;
    for (size_t i = 0; i < event_count; i++)
        found += strcmp(events[i].what, what) == 0;
    return found;
}

/* ---- a store of one kind of object ---- */

struct album {
    cst_coordinator *coordinator;
    cst_context *context;
    cst_entity *photo;
    cst_key title, data;
};

static struct album album_open(const char *path, uint32_t flags) {
    struct album a;
    cst_model *model = NULL;
    OK(cst_model_new(&model, E));
    OK(cst_model_add_entity(model, text("Photo"), &a.photo, E));
    OK(cst_entity_add_attribute(a.photo, text("title"), CST_ATTRIBUTE_STRING, CST_PROPERTY_OPTIONAL, NULL, E));
    OK(cst_entity_add_attribute(a.photo, text("data"), CST_ATTRIBUTE_BINARY,
                                CST_PROPERTY_OPTIONAL | CST_PROPERTY_EXTERNAL_STORAGE, NULL, E));
    OK(cst_coordinator_new(model, &a.coordinator, E));
    cst_store_options options = CST_STORE_OPTIONS_INIT;
    options.flags = flags;
    OK(cst_coordinator_add_store(a.coordinator, text("SQLite"), text(path), &options, NULL, E));
    OK(cst_context_new(a.coordinator, CST_QUEUE_CALLER, &a.context, E));
    OK(cst_entity_key(a.photo, text("title"), &a.title, E));
    OK(cst_entity_key(a.photo, text("data"), &a.data, E));
    cst_release(model);
    return a;
}

static void album_close(struct album *a) {
    OK(cst_release(a->context));
    OK(cst_release(a->coordinator));
}

static void set_data(const struct album *a, cst_object *photo, int byte) {
    char *bytes = malloc(SIZE);
    memset(bytes, byte, SIZE);
    cst_value value = value_bytes(bytes, SIZE);
    OK(cst_object_set(photo, a->data, &value, E));
    free(bytes);
}

static cst_object *insert_photo(const struct album *a, int byte) {
    cst_object *photo = NULL;
    OK(cst_context_insert(a->context, a->photo, &photo, E));
    set_data(a, photo, byte);
    return photo;
}

static bool consists_of(const uint8_t *data, size_t size, uint8_t byte) {
    for (size_t i = 0; i < size; i++)
        if (data[i] != byte) return false;
    return size == SIZE;
}

/* ---- reading ---- */

static void views_of_external_values_are_valid_until_a_refresh(void) {
    struct album a = album_open(check_path("album.sqlite"), CST_STORE_NORMAL_SYNC);
    cst_object *first = insert_photo(&a, 1), *second = insert_photo(&a, 2);
    OK(cst_context_save(a.context, E));
    cst_value one = value_null(), two = value_null(), again = value_null();
    OK(cst_object_get(first, a.data, &one, E));
    OK(cst_object_get(second, a.data, &two, E));
    OK(cst_object_get_committed(first, a.data, &again, E));
    CHECK(one.as.bytes.data == again.as.bytes.data);
    CHECK(consists_of(one.as.bytes.data, one.as.bytes.size, 1));
    CHECK(consists_of(two.as.bytes.data, two.as.bytes.size, 2));
    set_data(&a, second, 3);
    OK(cst_context_save(a.context, E));
    CHECK(consists_of(one.as.bytes.data, one.as.bytes.size, 1));
    OK(cst_object_get(second, a.data, &two, E));
    CHECK(consists_of(two.as.bytes.data, two.as.bytes.size, 3));
    OK(cst_object_refresh(first, false, E));
    OK(cst_object_get(first, a.data, &one, E));
    CHECK(consists_of(one.as.bytes.data, one.as.bytes.size, 1));
    OK(cst_release(first));
    OK(cst_release(second));
    album_close(&a);
}

static void copied_bytes_belong_to_the_caller(void) {
    struct album a = album_open(check_path("album.sqlite"), CST_STORE_NORMAL_SYNC);
    cst_object *photo = insert_photo(&a, 1);
    cst_buffer bytes = {0};
    OK(cst_object_copy_bytes(photo, a.data, &bytes, E));
    CHECK(consists_of((const uint8_t *)bytes.data, bytes.size, 1));
    OK(cst_context_save(a.context, E));
    OK(cst_object_copy_bytes(photo, a.data, &bytes, E));
    CHECK(consists_of((const uint8_t *)bytes.data, bytes.size, 1));
    CHECK_STATUS(CST_NOT_FOUND, cst_object_copy_bytes(photo, a.title, &bytes, E));
    CHECK_INT(0, bytes.size);
    cst_value title = value_text("Sea");
    OK(cst_object_set(photo, a.title, &title, E));
    OK(cst_object_copy_bytes(photo, a.title, &bytes, E));
    CHECK(strcmp("Sea", bytes.data) == 0);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_object_copy_bytes(photo, CST_NO_KEY, &bytes, E));
    cst_buffer_dispose(&bytes);
    OK(cst_release(photo));
    album_close(&a);

    struct company c = company_open(check_path("company.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    CHECK_STATUS(CST_E_TYPE_MISMATCH, cst_object_copy_bytes(ada, c.number, &bytes, E));
    CHECK_TEXT("number", cst_error_key(check_error()));
    OK(cst_release(ada));
    company_close(&c);
}

/* ---- the order on the disk ---- */

/* Saves another value in place of a file. */
static void replace_file(uint32_t flags) {
    struct album a = album_open(check_path("album.sqlite"), flags);
    cst_object *photo = insert_photo(&a, 1);
    OK(cst_context_save(a.context, E));
    set_data(&a, photo, 2);
    save_noting(a.context);
    OK(cst_release(photo));
    album_close(&a);
}

/* A value is complete before the row refers to it; the former file is removed when the row on disk no longer refers
 * to it. */
static void check_order(const char *commit) {
    size_t new_value = find("sync value", 0), new_name = find("sync values", new_value);
    size_t committed = find(commit, new_name), removed = find("remove value", 0);
    CHECK(new_value < new_name);
    CHECK(new_name < committed);
    CHECK(committed < removed);
    CHECK(removed < event_count);
    if (!(committed < removed && removed < event_count))
        for (size_t i = 0; i < event_count; i++)
            fprintf(stderr, "  %s\n", events[i].what);
}

static void normal_sync_keeps_backing_files_until_the_log_is_on_disk(void) {
    replace_file(CST_STORE_NORMAL_SYNC);
    check_order("sync log");
    CHECK_INT(1, times("sync log"));
}

static void full_sync_adds_no_sync_for_backing_files(void) {
    replace_file(0);
    check_order("sync log");
    CHECK_INT(1, times("sync log"));
}

static void the_journal_is_removed_on_disk_before_backing_files(void) {
    for (uint32_t flags = 0; flags <= CST_STORE_NORMAL_SYNC; flags += CST_STORE_NORMAL_SYNC) {
        replace_file(CST_STORE_ROLLBACK_JOURNAL | flags);
        check_order("sync folder");
        size_t journal = find("remove journal", 0);
        CHECK(find("sync folder", journal) < find("remove value", journal));
        unlink(check_path("album.sqlite"));
    }
}

/* A save that removes no backing file makes no additional sync. */
static void saves_without_former_backing_files_sync_nothing(void) {
    struct album a = album_open(check_path("album.sqlite"), CST_STORE_NORMAL_SYNC);
    cst_object *photo = insert_photo(&a, 1);
    OK(cst_context_save(a.context, E));
    cst_value title = value_text("Sea");
    OK(cst_object_set(photo, a.title, &title, E));
    save_noting(a.context);
    CHECK_INT(0, event_count);
    OK(cst_release(photo));
    album_close(&a);
}

/* ---- orphaned backing files ---- */

static void orphaned_backing_files_are_reported_and_removed(void) {
    const char *path = check_path("album.sqlite");
    struct album a = album_open(path, CST_STORE_NORMAL_SYNC);
    OK(cst_release(insert_photo(&a, 1)));
    OK(cst_context_save(a.context, E));
    const char *left = check_path(".album_SUPPORT/_EXTERNAL_DATA/6E5A1B9E-3C5B-4A53-9E0B-0123456789AB");
    check_write(left, "what a crash left");
    cst_buffer report = {0};
    OK(cst_store_copy_leftovers(text(path), &report, E));
    CHECK_CONTAINS("[]", text(report.data));
    struct timespec hour_ago[2] = {{.tv_sec = time(NULL) - 3600}, {.tv_sec = time(NULL) - 3600}};
    REQUIRE(utimensat(AT_FDCWD, left, hour_ago, 0) == 0);
    OK(cst_store_copy_leftovers(text(path), &report, E));
    CHECK_CONTAINS("6E5A1B9E-3C5B-4A53-9E0B-0123456789AB", text(report.data));
    CHECK(access(left, F_OK) == 0);
    /* The store is open, with commits that only its log has. */
    OK(cst_store_remove_leftovers(text(path), &report, E));
    CHECK_CONTAINS("6E5A1B9E-3C5B-4A53-9E0B-0123456789AB", text(report.data));
    CHECK(access(left, F_OK) != 0);
    OK(cst_store_copy_leftovers(text(path), &report, E));
    CHECK_CONTAINS("[]", text(report.data));
    CHECK_STATUS(CST_E_STORE_IO, cst_store_copy_leftovers(text(check_path("missing.sqlite")), &report, E));
    CHECK_STATUS(CST_E_STORE_IO, cst_store_remove_leftovers(text(check_path("missing.sqlite")), &report, E));
    cst_buffer_dispose(&report);
    album_close(&a);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(views_of_external_values_are_valid_until_a_refresh);
    RUN(copied_bytes_belong_to_the_caller);
    RUN(normal_sync_keeps_backing_files_until_the_log_is_on_disk);
    RUN(full_sync_adds_no_sync_for_backing_files);
    RUN(the_journal_is_removed_on_disk_before_backing_files);
    RUN(saves_without_former_backing_files_sync_nothing);
    RUN(orphaned_backing_files_are_reported_and_removed);
    return check_end();
}
