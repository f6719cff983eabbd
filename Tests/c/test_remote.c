/* Changes that another process writes. The other process is a child that was forked before this one used the
 * library.
 *
 * SPDX-License-Identifier: MIT
 */
#include "company.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A writer process. Each line that it reads has the path of a store and the new name of the store's first employee. */
static int to_writer = -1, from_writer = -1;
static pid_t writer;

static void write_one(const char *path, const char *name) {
    struct company c = company_open(path);
    cst_results *found = company_fetch(c.context, c.employee, NULL, "number");
    cst_object *ada = NULL;
    if (cst_results_count(found) > 0) {
        OK(cst_results_get_object(found, 0, &ada, E));
        cst_value value = value_text(name);
        OK(cst_object_set(ada, c.name, &value, E));
    } else {
        cst_release(company_employee(&c, c.context, name, 1));
    }
    OK(cst_context_save(c.context, E));
    cst_release(found);
    company_close(&c);
}

static void start_writer(void) {
    int there[2], back[2];
    if (pipe(there) != 0 || pipe(back) != 0) _exit(2);
    writer = fork();
    if (writer != 0) {
        close(there[0]), close(back[1]);
        to_writer = there[1], from_writer = back[0];
        return;
    }
    close(there[1]), close(back[0]);
    FILE *orders = fdopen(there[0], "r");
    char path[512], name[64];
    while (fscanf(orders, "%511s %63s", path, name) == 2) {
        write_one(path, name);
        if (write(back[1], "", 1) != 1) break;
    }
    _exit(0);
}

static void write_in_other_process(const char *path, const char *name) {
    char done;
    dprintf(to_writer, "%s %s\n", path, name);
    REQUIRE(read(from_writer, &done, 1) == 1);
}

static void pause_a_little(void) { nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL); }

struct recorded {
    atomic_int all, own, gone, ended;
    atomic_long transaction;
};

static void record_change(void *userdata, cst_coordinator *coordinator, uint32_t notification,
                          const cst_store_changes *changes) {
    struct recorded *recorded = userdata;
    CHECK(coordinator != NULL && notification == CST_COORDINATOR_REMOTE_CHANGE && changes->remote != NULL);
    CHECK_INT(0, changes->added_count + changes->removed_count);
    const cst_remote_change *change = changes->remote;
    CHECK_TEXT(cst_store_identifier(change->store).data, change->store_identifier);
    CHECK_TEXT(cst_store_path(change->store).data, change->path);
    if (change->has_history) recorded->transaction = change->transaction;
    recorded->own += change->is_own;
    recorded->gone += change->file == CST_STORE_FILE_REMOVED;
    recorded->all++;
}

static void ended(void *userdata) { ((struct recorded *)userdata)->ended++; }

/* The milliseconds until a number is reached; fails after a minute. */
static long wait_for(atomic_int *number, int wanted) {
    struct timespec start, now;
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (;;) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        const long passed = (now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000;
        if (*number >= wanted || passed > 60000) {
            CHECK(*number >= wanted);
            return passed;
        }
        pause_a_little();
    }
}

static void changes_by_another_process_are_reported(void) {
    const char *path = check_path("a.sqlite");
    cst_store_options options = CST_STORE_OPTIONS_INIT;
    options.flags = CST_STORE_HISTORY;
    struct company c = company_open_with(path, &options);
    struct recorded recorded = {0};
    cst_observation *observation = NULL;
    OK(cst_coordinator_observe(c.coordinator, CST_COORDINATOR_REMOTE_CHANGE, record_change, &recorded, ended,
                               &observation, E));
    int within_a_second = 0;
    for (int i = 1; i <= 3; i++) {
        write_in_other_process(path, i % 2 ? "Ada" : "Grace");
        if (wait_for(&recorded.all, i) < 1000) within_a_second++;
        CHECK_INT(i, recorded.transaction);
    }
    CHECK(within_a_second >= 2); /* one may fall into a moment in which the machine is busy */
    cst_release(company_employee(&c, c.context, "own", 2));
    OK(cst_context_save(c.context, E));
    CHECK(unlink(path) == 0);
    wait_for(&recorded.gone, 1);
    CHECK_INT(4, recorded.all);
    CHECK_INT(0, recorded.own);
    OK(cst_observation_cancel(observation, E));
    cst_release(observation);
    wait_for(&recorded.ended, 1);
    company_close(&c);
}

static void own_saves_are_reported_when_the_option_is_set(void) {
    cst_store_options options = CST_STORE_OPTIONS_INIT;
    options.flags = CST_STORE_POSTS_OWN_CHANGES;
    options.watch_interval_ms = 100;
    struct company c = company_open_with(check_path("a.sqlite"), &options);
    struct recorded recorded = {0};
    cst_observation *observation = NULL;
    OK(cst_coordinator_observe(c.coordinator, CST_COORDINATOR_REMOTE_CHANGE, record_change, &recorded, NULL,
                               &observation, E));
    cst_release(company_employee(&c, c.context, "own", 1));
    OK(cst_context_save(c.context, E));
    CHECK_INT(1, recorded.own);
    CHECK_INT(1, recorded.all);
    CHECK_INT(0, recorded.transaction);
    cst_release(observation);
    company_close(&c);
}

static void contexts_merge_remote_changes(void) {
    const char *path = check_path("a.sqlite");
    struct company c = company_open(path);
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    OK(cst_context_save(c.context, E));
    bool merges = true;
    OK(cst_context_merges_remote_changes(c.context, &merges, E));
    CHECK(!merges);
    OK(cst_context_set_merges_remote_changes(c.context, true, E));
    OK(cst_context_merges_remote_changes(c.context, &merges, E));
    CHECK(merges);
    write_in_other_process(path, "Augusta");
    cst_value value = value_null();
    for (int i = 0; i < 5000 && (value.type != CST_STRING || strcmp(value.as.string.data, "Augusta")); i++) {
        pause_a_little();
        OK(cst_context_process_pending_changes(c.context, E));
        OK(cst_object_get(ada, c.name, &value, E));
    }
    CHECK_TEXT("Augusta", value.as.string);
    OK(cst_context_set_merges_remote_changes(c.context, false, E));
    write_in_other_process(path, "Byron");
    for (int i = 0; i < 100; i++)
        pause_a_little();
    OK(cst_context_process_pending_changes(c.context, E));
    OK(cst_object_get(ada, c.name, &value, E));
    CHECK_TEXT("Augusta", value.as.string);
    cst_release(ada);
    company_close(&c);
}

static void child_contexts_and_missing_files_cannot_merge_remote_changes(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_context *child = NULL;
    OK(cst_context_new_child(c.context, CST_QUEUE_CALLER, &child, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_set_merges_remote_changes(child, true, E));
    CHECK_CONTAINS("parent", cst_error_message(check_error()));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_merges_remote_changes(child, NULL, E));
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_context_set_merges_remote_changes(NULL, true, E));
    cst_release(child);
    /* A missing file cannot be watched. */
    CHECK(unlink(check_path("a.sqlite")) == 0);
    CHECK_STATUS(CST_E_STORE_IO, cst_context_set_merges_remote_changes(c.context, true, E));
    bool merges = true;
    OK(cst_context_merges_remote_changes(c.context, &merges, E));
    CHECK(!merges);
    company_close(&c);
}

/* A forked child does not affect the watch of its parent. */
static void a_forked_child_does_not_end_the_watch_of_its_parent(void) {
    const char *path = check_path("a.sqlite");
    struct company c = company_open(path);
    struct recorded recorded = {0};
    cst_observation *observation = NULL;
    OK(cst_coordinator_observe(c.coordinator, CST_COORDINATOR_REMOTE_CHANGE, record_change, &recorded, NULL,
                               &observation, E));
    pid_t child = fork();
    if (child == 0) {
        cst_observation_cancel(observation, NULL);
        cst_release(observation);
        cst_release(c.context);
        cst_release(c.coordinator);
        _exit(0);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    write_in_other_process(path, "Ada");
    wait_for(&recorded.all, 1);
    cst_release(observation);
    company_close(&c);
}

int main(int argc, char **argv) {
    start_writer();
    check_begin(argc, argv);
    RUN(changes_by_another_process_are_reported);
    RUN(own_saves_are_reported_when_the_option_is_set);
    RUN(contexts_merge_remote_changes);
    RUN(child_contexts_and_missing_files_cannot_merge_remote_changes);
    RUN(a_forked_child_does_not_end_the_watch_of_its_parent);
    close(to_writer);
    waitpid(writer, NULL, 0);
    return check_end();
}
