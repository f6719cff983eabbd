/* Containers: locations of stores, loading several stores, view and background contexts, and reports of closing.
 *
 * SPDX-License-Identifier: MIT
 */
#include "company.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static cst_container *make(const char *name) {
    cst_model *model = company_model();
    cst_container *container = NULL;
    OK(cst_container_new(text(name), model, NULL, &container, E));
    OK(cst_release(model));
    return container;
}

static void describe(cst_container *container, const char *type, const char *path, uint32_t flags) {
    cst_store_description description = CST_STORE_DESCRIPTION_INIT;
    cst_store_options options = CST_STORE_OPTIONS_INIT;
    options.flags = CST_STORE_NORMAL_SYNC;
    if (type) description.type = text(type);
    if (path) description.path = text(path);
    description.options = type && strcmp(type, "SQLite") == 0 ? &options : NULL;
    description.flags = flags;
    OK(cst_container_add_description(container, &description, E));
}

static cst_object *insert(cst_container *container, cst_context *context, const char *name) {
    cst_coordinator *coordinator = NULL;
    cst_model *model = NULL;
    cst_entity *entity = NULL;
    cst_key key = CST_NO_KEY;
    cst_object *object = NULL;
    OK(cst_container_coordinator(container, &coordinator, E));
    OK(cst_coordinator_model(coordinator, &model, E));
    OK(cst_model_entity(model, text("Department"), &entity, E));
    OK(cst_entity_key(entity, text("name"), &key, E));
    OK(cst_context_insert(context, entity, &object, E));
    set(object, key, value_text(name));
    return object;
}

static bool exists(const char *path) { return access(path, F_OK) == 0; }

static void a_store_is_created_in_the_data_folder(void) {
    cst_buffer found = {0};
    char *home = getenv("HOME") ? strdup(getenv("HOME")) : NULL;
    setenv("XDG_DATA_HOME", check_path("data"), 1);
    OK(cst_container_copy_data_folder(text("my app"), &found, E));
    char expected[1000];
    snprintf(expected, sizeof expected, "%s/my app", check_path("data"));
    CHECK_TEXT(expected, text_of_size(found.data, found.size));
    cst_model *model = company_model();
    cst_container_options options = CST_CONTAINER_OPTIONS_INIT;
    options.application = text("my app");
    cst_container *container = NULL;
    OK(cst_container_new(text("Shop"), model, &options, &container, E));
    CHECK(!exists(check_path("data")));
    OK(cst_container_load(container, NULL, NULL, NULL, E));
    CHECK(exists(check_path("data/my app/Shop.sqlite")));
    struct stat facts;
    CHECK(stat(check_path("data/my app"), &facts) == 0 && (facts.st_mode & 0777) == 0700);
    OK(cst_release(container));
    OK(cst_release(model));

    unsetenv("XDG_DATA_HOME");
    unsetenv("HOME");
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_container_copy_data_folder(text("x"), &found, E));
    CHECK_CONTAINS("HOME", cst_error_message(check_error()));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_container_copy_data_folder(text("a/b"), &found, E));
    if (home) setenv("HOME", home, 1);
    free(home);
    cst_buffer_dispose(&found);
}

static void a_model_is_found_by_name(void) {
    cst_container *container = NULL;
    setenv("CORESTONE_MODEL_PATH", check_path("models"), 1);
    CHECK_STATUS(CST_E_MODEL, cst_container_new(text("Shop"), NULL, NULL, &container, E));
    CHECK_CONTAINS("Shop", cst_error_message(check_error()));
    CHECK(container == NULL);
    REQUIRE(mkdir(check_path("models"), 0700) == 0);
    check_write(
        check_path("models/Shop.xcdatamodel"),
        "<model><entity name='Item'><attribute name='n' attributeType='String' optional='YES'/></entity></model>");
    OK(cst_container_new(text("Shop"), NULL, NULL, &container, E));
    cst_coordinator *coordinator = NULL;
    cst_model *model = NULL;
    OK(cst_container_coordinator(container, &coordinator, E));
    OK(cst_coordinator_model(coordinator, &model, E));
    CHECK_INT(1, (int)cst_model_entity_count(model));
    OK(cst_release(container));
    unsetenv("CORESTONE_MODEL_PATH");
    cst_string folder = text(check_path("models"));
    cst_container_options options = CST_CONTAINER_OPTIONS_INIT;
    options.model_folder_count = 1;
    options.model_folders = &folder;
    OK(cst_container_new(text("Shop"), NULL, &options, &container, E));
    OK(cst_release(container));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_container_new(text("a/b"), NULL, NULL, &container, E));
}

struct loaded {
    pthread_mutex_t mutex;
    int calls, failures, late, destroyed;
    size_t last;
    cst_status status;
    pthread_t thread;
};

static void record_load(void *userdata, size_t index, cst_string path, cst_store *store, cst_error *error) {
    struct loaded *loaded = userdata;
    pthread_mutex_lock(&loaded->mutex);
    loaded->calls++;
    loaded->last = index;
    if (!pthread_equal(loaded->thread, pthread_self())) loaded->late++;
    if (error) loaded->failures++, loaded->status = cst_error_status(error);
    CHECK((store == NULL) != (error == NULL));
    CHECK(path.size > 0);
    if (store) CHECK(cst_store_path(store).size > 0);
    pthread_mutex_unlock(&loaded->mutex);
}

static void count_end(void *userdata) {
    struct loaded *loaded = userdata;
    pthread_mutex_lock(&loaded->mutex);
    loaded->destroyed++;
    pthread_mutex_unlock(&loaded->mutex);
}

static int destroyed(struct loaded *loaded) {
    pthread_mutex_lock(&loaded->mutex);
    int count = loaded->destroyed;
    pthread_mutex_unlock(&loaded->mutex);
    return count;
}

static void load_reports_each_store_once(void) {
    struct loaded loaded = {PTHREAD_MUTEX_INITIALIZER, 0, 0, 0, 0, 0, 0, pthread_self()};
    cst_container *container = make("Shop");
    check_write(check_path("text"), "this is no store");
    describe(container, "SQLite", check_path("a.sqlite"), 0);
    describe(container, NULL, check_path("text"), 0);
    describe(container, "InMemory", NULL, 0);
    OK(cst_container_load(container, record_load, &loaded, count_end, E));
    CHECK_INT(3, loaded.calls);
    CHECK_INT(1, loaded.failures);
    CHECK_INT(CST_E_NOT_A_STORE, loaded.status);
    CHECK_INT(1, destroyed(&loaded));
    OK(cst_container_load(container, record_load, &loaded, NULL, E));
    CHECK_INT(4, loaded.calls); /* only the store that failed */
    CHECK_INT(1, (int)loaded.last);
    CHECK_STATUS(CST_E_NOT_A_STORE, cst_container_load(container, NULL, NULL, NULL, E));
    remove(check_path("text"));
    OK(cst_container_load(container, NULL, NULL, NULL, E));
    cst_coordinator *coordinator = NULL;
    OK(cst_container_coordinator(container, &coordinator, E));
    CHECK_INT(3, (int)cst_coordinator_store_count(coordinator));
    cst_store_description description = CST_STORE_DESCRIPTION_INIT;
    description.flags = 1u << 20;
    CHECK_STATUS(CST_E_UNSUPPORTED, cst_container_add_description(container, &description, E));
    description.flags = 0;
    cst_store_options options = CST_STORE_OPTIONS_INIT;
    options.flags = 1u << 30;
    description.options = &options;
    CHECK_STATUS(CST_E_UNSUPPORTED, cst_container_add_description(container, &description, E));
    CHECK_CONTAINS("description.options.flags is 0x40000000", cst_error_message(check_error()));
    CHECK_TEXT("flags", cst_error_key(check_error()));
    OK(cst_release(container));
}

static void asynchronous_stores_are_opened_on_another_thread(void) {
    struct loaded loaded = {PTHREAD_MUTEX_INITIALIZER, 0, 0, 0, 0, 0, 0, pthread_self()};
    cst_container *container = make("Shop");
    describe(container, "SQLite", check_path("a.sqlite"), CST_DESCRIPTION_ASYNCHRONOUS);
    describe(container, "SQLite", check_path("b.sqlite"), CST_DESCRIPTION_ASYNCHRONOUS | CST_DESCRIPTION_NO_FOLDER);
    OK(cst_container_load(container, record_load, &loaded, count_end, E));
    while (destroyed(&loaded) == 0)
        usleep(1000);
    CHECK_INT(2, loaded.calls);
    CHECK_INT(2, loaded.late);
    cst_buffer report = {0};
    OK(cst_container_copy_report(container, &report, E));
    CHECK(strstr(report.data, "\"isAsynchronous\"") != NULL && strstr(report.data, "b.sqlite") != NULL);
    cst_buffer_dispose(&report);
    OK(cst_release(container));
}

static void closing_refuses_saves_or_discards_unsaved_changes(void) {
    cst_container *container = make("Shop");
    describe(container, "SQLite", check_path("a.sqlite"), 0);
    OK(cst_container_load(container, NULL, NULL, NULL, E));
    cst_context *view = NULL, *same = NULL, *background = NULL;
    OK(cst_container_view_context(container, &view, E));
    OK(cst_container_view_context(container, &same, E));
    CHECK(view == same);
    OK(cst_release(insert(container, view, "R&D")));
    CHECK_STATUS(CST_E_UNSAVED_CHANGES, cst_container_close(container, CST_UNSAVED_REFUSE, E));
    CHECK_INT(1, (int)cst_error_detail_count(check_error()));
    CHECK_CONTAINS("\"view\"", cst_error_message(check_error()));
    CHECK_CONTAINS("1 Department inserted", cst_error_message(cst_error_detail_at(check_error(), 0)));
    cst_buffer report = {0};
    OK(cst_container_copy_report(container, &report, E));
    CHECK(strstr(report.data, "\"inserted\"") != NULL && strstr(report.data, "view") != NULL);
    cst_buffer_dispose(&report);
    OK(cst_container_save(container, E));
    CHECK(!has_changes(view));
    OK(cst_release(insert(container, view, "Sales")));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_container_close(container, 3, E));
    OK(cst_container_new_background_context(container, &background, E));
    OK(cst_container_close(container, CST_UNSAVED_SAVE, E));
    OK(cst_container_close(container, CST_UNSAVED_REFUSE, E));
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_container_load(container, NULL, NULL, NULL, E));
    OK(cst_release(background));
    OK(cst_release(container));

    cst_model *model = NULL;
    container = NULL;
    cst_store_options options = CST_STORE_OPTIONS_INIT;
    options.flags = CST_STORE_WRITABLE;
    OK(cst_container_open(text(check_path("a.sqlite")), model, &options, &container, E));
    OK(cst_container_view_context(container, &view, E));
    cst_coordinator *coordinator = NULL;
    cst_entity *department = NULL;
    OK(cst_container_coordinator(container, &coordinator, E));
    OK(cst_coordinator_model(coordinator, &model, E));
    OK(cst_model_entity(model, text("Department"), &department, E));
    CHECK_INT(2, (int)company_count(view, department, NULL));
    OK(cst_release(insert(container, view, "lost")));
    OK(cst_container_close(container, CST_UNSAVED_DISCARD, E));
    OK(cst_release(container));
    OK(cst_container_open(text(check_path("a.sqlite")), NULL, NULL, &container, E));
    OK(cst_container_load(container, NULL, NULL, NULL, E)); /* it is open already */
    OK(cst_release(container));
}

/* A retained view context outlives its container. */
static void a_retained_view_context_outlives_its_container(void) {
    cst_container *container = make("Shop");
    cst_context *view = NULL;
    OK(cst_container_view_context(container, &view, E));
    CHECK(cst_retain(view) == view);
    OK(cst_release(container));
    CHECK(!has_changes(view));
    OK(cst_release(view));
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_release(view));
}

static void load_creates_a_missing_folder_unless_the_description_forbids_it(void) {
    cst_container *container = make("Shop");
    describe(container, "SQLite", check_path("no/a.sqlite"), CST_DESCRIPTION_NO_FOLDER);
    CHECK_STATUS(CST_E_STORE_IO, cst_container_load(container, NULL, NULL, NULL, E));
    CHECK(!exists(check_path("no")));
    OK(cst_release(container));
    container = make("Shop");
    describe(container, "SQLite", check_path("yes/a.sqlite"), 0);
    OK(cst_container_load(container, NULL, NULL, NULL, E));
    CHECK(exists(check_path("yes/a.sqlite")));
    struct stat facts;
    CHECK(stat(check_path("yes"), &facts) == 0 && (facts.st_mode & 0777) == 0700);
    OK(cst_release(container));
}

static void a_report_describes_a_container_and_its_stores(void) {
    cst_model *model = company_model();
    cst_container *container = NULL;
    cst_container_options options = CST_CONTAINER_OPTIONS_INIT;
    options.application = text("my app");
    const cst_string people[] = {text("Person"), text("Employee")};
    OK(cst_model_set_configuration(model, text("People"), 2, people, E));
    OK(cst_container_new(text("Shop"), model, &options, &container, E));
    cst_store_options configured = CST_STORE_OPTIONS_INIT;
    configured.configuration = text("People");
    cst_store_description description = CST_STORE_DESCRIPTION_INIT;
    description.type = text("inmemory");
    description.path = text("shelf");
    description.options = &configured;
    OK(cst_container_add_description(container, &description, E));
    description = (cst_store_description)CST_STORE_DESCRIPTION_INIT;
    description.path = text(check_path("b.sqlite"));
    description.flags = CST_DESCRIPTION_ASYNCHRONOUS;
    OK(cst_container_add_description(container, &description, E));
    cst_buffer report = {0};
    char expected[1500];
    OK(cst_container_copy_report(container, &report, E));
    snprintf(expected, sizeof expected,
             "{\"application\": \"my app\", \"isClosed\": false, \"name\": \"Shop\", \"stores\": [{\"configuration\": "
             "\"People\", \"isAsynchronous\": false, \"path\": \"shelf\", \"type\": \"InMemory\"}, {\"configuration\": "
             "null, \"isAsynchronous\": true, \"path\": \"%s\", \"type\": null}], \"unsaved\": []}",
             check_path("b.sqlite"));
    CHECK_TEXT(expected, text_of_size(report.data, report.size));
    OK(cst_container_close(container, CST_UNSAVED_REFUSE, E));
    OK(cst_container_copy_report(container, &report, E));
    CHECK_CONTAINS("\"isClosed\": true", text_of_size(report.data, report.size));
    cst_buffer_dispose(&report);
    OK(cst_release(container));
    OK(cst_release(model));
}

static void a_report_counts_unsaved_changes(void) {
    cst_container *container = make("Shop");
    describe(container, "InMemory", NULL, 0);
    OK(cst_container_load(container, NULL, NULL, NULL, E));
    cst_context *view = NULL;
    OK(cst_container_view_context(container, &view, E));
    OK(cst_context_set_origin(view, text("shop.c"), 42, E));
    cst_object *kept = insert(container, view, "A"), *gone = insert(container, view, "B");
    save(view);
    OK(cst_context_delete(view, gone, E));
    cst_value name = value_text("C");
    OK(cst_object_set_path(kept, text("name"), &name, E));
    for (int i = 0; i < 3; i++)
        OK(cst_release(insert(container, view, "new")));
    cst_buffer report = {0};
    OK(cst_container_copy_report(container, &report, E));
    cst_string said = text_of_size(report.data, report.size);
    CHECK_CONTAINS("\"deleted\": 1, \"entities\": {\"Department\": {\"deleted\": 1, \"inserted\": 3, \"updated\": 1}}, "
                   "\"file\": \"shop.c\", \"inserted\": 3, \"line\": 42, \"name\": ",
                   said);
    CHECK_CONTAINS("\"updated\": 1}]", said);
    OK(cst_context_set_origin(view, (cst_string){NULL, 0}, 7, E)); /* removes it */
    OK(cst_container_copy_report(container, &report, E));
    CHECK_CONTAINS("\"file\": null", text_of_size(report.data, report.size));
    CHECK_CONTAINS("\"line\": null", text_of_size(report.data, report.size));
    OK(cst_context_rollback(view, E));
    OK(cst_container_copy_report(container, &report, E));
    CHECK_CONTAINS("\"unsaved\": []", text_of_size(report.data, report.size));
    cst_buffer_dispose(&report);
    cst_release(kept), cst_release(gone);
    OK(cst_release(container));
}

static void contexts_of_a_container_have_its_coordinator(void) {
    cst_container *container = make("Shop");
    cst_context *view = NULL, *one = NULL, *other = NULL;
    cst_coordinator *coordinator = NULL, *same = NULL;
    OK(cst_container_coordinator(container, &coordinator, E));
    OK(cst_container_view_context(container, &view, E));
    OK(cst_container_new_background_context(container, &one, E));
    OK(cst_container_new_background_context(container, &other, E));
    CHECK(one != other && one != view);
    cst_context *all[] = {view, one, other};
    for (int i = 0; i < 3; i++) {
        OK(cst_context_coordinator(all[i], &same, E));
        CHECK(same == coordinator);
    }
    /* Both are borrowed. */
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_release(coordinator));
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_release(view));
    CHECK_STATUS(CST_UNCHANGED, cst_context_close(view, CST_UNSAVED_REFUSE, E));
    CHECK(cst_retain(view) == view);
    OK(cst_release(view));
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_release(view));
    CHECK(!has_changes(view));
    OK(cst_release(one));
    OK(cst_release(other));
    cst_store_description description = CST_STORE_DESCRIPTION_INIT;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_container_add_description(container, NULL, E));
    description.flags = 4;
    CHECK_STATUS(CST_E_UNSUPPORTED, cst_container_add_description(container, &description, E));
    CHECK_CONTAINS("description.flags is 0x4", cst_error_message(check_error()));
    description.flags = 0;
    description.path = text("");
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_container_add_description(container, &description, E));
    OK(cst_release(container));
}

static void open_is_read_only_unless_the_options_allow_writing(void) {
    struct company c = company_open(check_path("a.sqlite"));
    OK(cst_release(company_insert(&c, c.context, c.department, c.department_name, "R&D")));
    save(c.context);
    company_close(&c);
    cst_container *container = NULL;
    cst_coordinator *coordinator = NULL;
    cst_store *store = NULL;
    cst_store_options options = CST_STORE_OPTIONS_INIT;
    for (int writable = 0; writable < 2; writable++) {
        bool read_only = false;
        options.flags = writable ? CST_STORE_WRITABLE : 0;
        OK(cst_container_open(text(check_path("a.sqlite")), NULL, &options, &container, E));
        OK(cst_container_coordinator(container, &coordinator, E));
        OK(cst_coordinator_store(coordinator, 0, &store, E));
        OK(cst_store_is_read_only(store, &read_only, E));
        CHECK_INT(!writable, read_only);
        OK(cst_release(store));
        OK(cst_release(container));
    }
    options.flags = CST_STORE_WRITABLE | CST_STORE_READ_ONLY;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT,
                 cst_container_open(text(check_path("a.sqlite")), NULL, &options, &container, E));
    CHECK_CONTAINS("both CST_STORE_WRITABLE and CST_STORE_READ_ONLY; set one of them",
                   cst_error_message(check_error()));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT,
                 cst_coordinator_open_store(text(check_path("a.sqlite")), NULL, &options, &coordinator, &store, E));
    CHECK(container == NULL && coordinator == NULL && store == NULL);
    options.flags = CST_STORE_VACUUM;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT,
                 cst_container_open(text(check_path("a.sqlite")), NULL, &options, &container, E));
    CHECK_CONTAINS("set CST_STORE_WRITABLE (writable), or leave out CST_STORE_VACUUM (vacuum)",
                   cst_error_message(check_error()));
    options.flags = CST_STORE_VACUUM | CST_STORE_READ_ONLY;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT,
                 cst_coordinator_open_store(text(check_path("a.sqlite")), NULL, &options, &coordinator, &store, E));
    CHECK_CONTAINS("leave out CST_STORE_READ_ONLY (read_only), or CST_STORE_VACUUM (vacuum)",
                   cst_error_message(check_error()));
    CHECK(container == NULL && coordinator == NULL && store == NULL);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(a_store_is_created_in_the_data_folder);
    RUN(a_model_is_found_by_name);
    RUN(load_reports_each_store_once);
    RUN(asynchronous_stores_are_opened_on_another_thread);
    RUN(closing_refuses_saves_or_discards_unsaved_changes);
    RUN(a_retained_view_context_outlives_its_container);
    RUN(load_creates_a_missing_folder_unless_the_description_forbids_it);
    RUN(a_report_describes_a_container_and_its_stores);
    RUN(a_report_counts_unsaved_changes);
    RUN(contexts_of_a_container_have_its_coordinator);
    RUN(open_is_read_only_unless_the_options_allow_writing);
    return check_end();
}
