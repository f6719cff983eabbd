/* An open store whose file is replaced, truncated, made unreadable or removed, a full disk, and signals during calls:
 * each call has a clear result, or fails with a clear error and loses nothing.
 *
 * SPDX-License-Identifier: MIT
 */
#include "company.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

struct kind {
    const char *name;
    const char *type;
    uint32_t flags;
};

static const struct kind kinds[] = {{"wal", "SQLite", 0},
                                    {"rollback", "SQLite", CST_STORE_ROLLBACK_JOURNAL},
                                    {"xml", "XML", 0},
                                    {"binary", "Binary", 0}};
enum { KINDS = sizeof kinds / sizeof *kinds, ROWS = 40 };

static struct company open_kind(const struct kind *kind, const char *path) {
    struct company c;
    cst_store_options options = CST_STORE_OPTIONS_INIT;
    memset(&c, 0, sizeof c);
    options.flags = kind->flags;
    options.busy_timeout_ms = 200;
    c.model = company_model();
    OK(cst_coordinator_new(c.model, &c.coordinator, E));
    OK(cst_coordinator_add_store(c.coordinator, text(kind->type), text(path), &options, &c.store, E));
    company_resolve(&c);
    c.context = company_context(&c, CST_QUEUE_CALLER);
    return c;
}

static void fill(const struct company *c, int count) {
    for (int i = 0; i < count; i++)
        OK(cst_release(company_employee(c, c->context, "Ada", i)));
}

static const char *path_of(const struct kind *kind, const char *name) {
    char file[100];
    snprintf(file, sizeof file, "%s-%s", kind->name, name);
    return check_path(file);
}

static void copy_file(const char *from, const char *to) {
    char command[1200];
    snprintf(command, sizeof command, "cp '%s' '%s'", from, to);
    REQUIRE(system(command) == 0);
}

/* The result of a call. A failure has a message that names the file. */
static cst_status answer(cst_status status, cst_error **error, const char *doing, const struct kind *kind) {
    if (status < 0) {
        cst_string message = cst_error_message(*error);
        CHECK(message.size > 0);
        CHECK(status != CST_E_INTERNAL);
        if (getenv("CORESTONE_SHOW")) printf("  %s, %s: %d %s\n", kind->name, doing, (int)status, message.data);
    } else if (getenv("CORESTONE_SHOW")) {
        printf("  %s, %s: done\n", kind->name, doing);
    }
    cst_release(*error);
    *error = NULL;
    return status;
}

static bool is_sqlite(const struct kind *kind) { return strcmp(kind->type, "SQLite") == 0; }

/* Uses an open store in every way: faults, a fetch, a backup, and a save, whose status is returned. No result ends
 * the process. */
static cst_status use(const struct company *c, const struct kind *kind, const char *doing) {
    cst_error *error = NULL;
    cst_context *fresh = company_context(c, CST_QUEUE_CALLER);
    cst_fetch_request *request = NULL;
    cst_results *results = NULL;
    OK(cst_fetch_request_new(c->employee, &request, E));
    if (answer(cst_context_fetch(fresh, request, &results, &error), &error, doing, kind) == CST_OK) {
        for (size_t i = 0; i < cst_results_count(results); i++) {
            cst_object *object = NULL;
            cst_value value;
            error = NULL;
            OK(cst_results_get_object(results, i, &object, E));
            if (answer(cst_object_get(object, c->name, &value, &error), &error, doing, kind) < 0) break;
        }
        cst_release(results);
    }
    cst_release(request);
    cst_release(fresh);
    error = NULL;
    char copy[600];
    snprintf(copy, sizeof copy, "%s.backup", check_path(kind->name));
    answer(cst_coordinator_backup_store(c->coordinator, c->store, text(copy), NULL, NULL, NULL, &error), &error, doing,
           kind);
    OK(cst_release(company_employee(c, c->context, "new", 99)));
    error = NULL;
    return answer(cst_context_save(c->context, &error), &error, doing, kind);
}

/* The number of employees in a file that is opened now; -1 if it cannot be opened. */
static int count_reopened(const struct kind *kind, const char *path) {
    struct company c;
    cst_store_options options = CST_STORE_OPTIONS_INIT;
    memset(&c, 0, sizeof c);
    options.flags = kind->flags | CST_STORE_MUST_EXIST;
    c.model = company_model();
    OK(cst_coordinator_new(c.model, &c.coordinator, E));
    int found = -1;
    cst_error *error = NULL;
    if (answer(cst_coordinator_add_store(c.coordinator, text(kind->type), text(path), &options, &c.store, &error),
               &error, "opened anew", kind) == CST_OK) {
        company_resolve(&c);
        c.context = company_context(&c, CST_QUEUE_CALLER);
        found = (int)company_count(c.context, c.employee, NULL);
        cst_release(c.context);
        cst_release(c.store);
    }
    cst_release(c.coordinator);
    cst_release(c.model);
    return found;
}

static void an_open_store_reports_that_its_file_was_removed(void) {
    for (int k = 0; k < KINDS; k++) {
        const char *path = path_of(&kinds[k], "removed");
        struct company c = open_kind(&kinds[k], path);
        fill(&c, ROWS);
        save(c.context);
        CHECK_INT(0, unlink(path));
        CHECK_INT(CST_E_STORE_IO, use(&c, &kinds[k], "removed"));
        company_close(&c);
        CHECK(access(path, F_OK) != 0);
    }
}

/* Another store replaces the file: it keeps its content, whatever the open store does. */
static void an_open_store_does_not_write_to_a_replaced_file(void) {
    for (int k = 0; k < KINDS; k++) {
        const char *path = path_of(&kinds[k], "replaced"), *other = path_of(&kinds[k], "other");
        struct company c = open_kind(&kinds[k], other);
        fill(&c, 3);
        save(c.context);
        company_close(&c);
        c = open_kind(&kinds[k], path);
        fill(&c, ROWS);
        save(c.context);
        CHECK_INT(0, rename(other, path));
        CHECK_INT(CST_E_STORE_IO, use(&c, &kinds[k], "replaced"));
        company_close(&c);
        /* The log of the former store is beside the new one but does not belong to it. */
        if (kinds[k].flags != 0 || !is_sqlite(&kinds[k])) CHECK_INT(3, count_reopened(&kinds[k], path));
    }
}

static void a_truncated_file_is_reported_as_corrupt(void) {
    for (int k = 0; k < KINDS; k++) {
        static const off_t sizes[] = {0, 100, 4096};
        for (int s = 0; s < 3; s++) {
            char name[40];
            snprintf(name, sizeof name, "cut-%d", s);
            const char *path = path_of(&kinds[k], name);
            struct company c = open_kind(&kinds[k], path);
            fill(&c, ROWS);
            save(c.context);
            CHECK_INT(0, truncate(path, sizes[s]));
            CHECK_INT(CST_E_STORE_CORRUPT, use(&c, &kinds[k], name));
            company_close(&c);
            CHECK_INT(-1, count_reopened(&kinds[k], path));
        }
    }
}

/* A file that the process may no longer open. Root still may. */
static void an_open_store_recovers_when_its_file_is_accessible_again(void) {
    for (int k = 0; k < KINDS; k++) {
        const char *path = path_of(&kinds[k], "mode");
        struct company c = open_kind(&kinds[k], path);
        fill(&c, ROWS);
        save(c.context);
        CHECK_INT(0, chmod(path, 0));
        cst_status status = use(&c, &kinds[k], "mode 0");
        CHECK(status == CST_OK || (status == CST_E_STORE_IO && geteuid() != 0));
        CHECK_INT(0, chmod(path, 0600));
        save(c.context);
        company_close(&c);
        CHECK_INT(ROWS + 1, count_reopened(&kinds[k], path));
    }
}

/* A limit of the file size: a save beyond it is refused, the process survives, and the file keeps its content. */
static void a_save_beyond_the_file_size_limit_fails_without_damage(void) {
    for (int k = 0; k < KINDS; k++) {
        const char *path = path_of(&kinds[k], "size");
        struct company c = open_kind(&kinds[k], path);
        fill(&c, ROWS);
        save(c.context);
        struct stat facts;
        CHECK_INT(0, stat(path, &facts));
        fflush(NULL);
        pid_t child = fork();
        if (child == 0) { /* the library does not work in a forked child, so the child executes the program again */
            char number[32];
            snprintf(number, sizeof number, "%ld", (long)facts.st_size + 20000);
            execl("/proc/self/exe", "test_file_trouble", "size", kinds[k].name, path, number, (char *)NULL);
            _exit(99);
        }
        int ended = 0;
        CHECK(waitpid(child, &ended, 0) == child);
        CHECK(WIFEXITED(ended));
        CHECK_INT(0, WIFEXITED(ended) ? WEXITSTATUS(ended) : -WTERMSIG(ended));
        company_close(&c);
        CHECK_INT(ROWS, count_reopened(&kinds[k], path));
    }
}

/* Runs in its own process, which SIGXFSZ would end. */
static int save_beyond_file_size(const char *name, const char *path, long most) {
    const struct kind *kind = kinds;
    while (strcmp(kind->name, name) != 0)
        kind++;
    struct company c = open_kind(kind, path);
    char notes[3000];
    memset(notes, 'n', sizeof notes);
    for (int i = 0; i < 200; i++) {
        cst_object *object = company_employee(&c, c.context, "big", i);
        cst_value value = value_text("");
        value.as.string = text_of_size(notes, sizeof notes);
        set(object, c.notes, value);
        OK(cst_release(object));
    }
    signal(SIGXFSZ, SIG_DFL);
    struct rlimit former, limit;
    getrlimit(RLIMIT_FSIZE, &former);
    limit = former;
    limit.rlim_cur = (rlim_t)most;
    setrlimit(RLIMIT_FSIZE, &limit);
    cst_error *error = NULL;
    cst_status refused = cst_context_save(c.context, &error);
    if (refused >= 0) return 2;
    if (cst_error_message(error).size == 0) return 3;
    cst_release(error);
    /* The signal handler of the host is active again. */
    sigset_t mask;
    if (sigprocmask(SIG_BLOCK, NULL, &mask) != 0 || sigismember(&mask, SIGXFSZ)) return 4;
    setrlimit(RLIMIT_FSIZE, &former);
    bool has_changes = false;
    if (cst_context_has_changes(c.context, &has_changes, NULL) != CST_OK || !has_changes) return 5;
    /* The changes are discarded without a save, and the file is unchanged. */
    company_close(&c);
    return 0;
}

/* A process that is killed during its commit: the header of the file refers to pages that were never written, and
 * the journal has the former pages. It uses SQLite directly, because the library does not end a save like this. */
static int end_within_commit(const char *path, long most) {
    sqlite3 *database = NULL;
    if (sqlite3_open(path, &database) != SQLITE_OK) return 2;
    sqlite3_exec(database, "PRAGMA journal_mode = DELETE; BEGIN; UPDATE ZPERSON SET ZNOTES = hex(zeroblob(20000))",
                 NULL, NULL, NULL);
    signal(SIGXFSZ, SIG_DFL);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){(rlim_t)most, RLIM_INFINITY});
    sqlite3_exec(database, "COMMIT", NULL, NULL, NULL);
    return 3;
}

static void a_store_recovers_after_a_process_is_killed_during_a_commit(void) {
    const struct kind *kind = &kinds[1];
    const char *path = path_of(kind, "ended");
    struct company c = open_kind(kind, path);
    fill(&c, ROWS);
    save(c.context);
    company_close(&c);
    struct stat facts;
    CHECK_INT(0, stat(path, &facts));
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        char number[32];
        snprintf(number, sizeof number, "%ld", (long)facts.st_size + 200000);
        execl("/proc/self/exe", "test_file_trouble", "end", path, number, (char *)NULL);
        _exit(99);
    }
    int ended = 0;
    CHECK(waitpid(child, &ended, 0) == child);
    CHECK(WIFSIGNALED(ended));
    char journal[600];
    snprintf(journal, sizeof journal, "%s-journal", path);
    CHECK_INT(0, access(journal, F_OK));
    CHECK_INT(ROWS, count_reopened(kind, path));
    CHECK_INT(ROWS, count_reopened(&kinds[0], path));
}

static volatile sig_atomic_t signals;
static void count_signal(int number) {
    (void)number;
    signals++;
}

/* Signals whose handlers return: interrupted system calls are repeated. */
static void signals_do_not_interrupt_calls(void) {
    struct sigaction action, former;
    memset(&action, 0, sizeof action);
    action.sa_handler = count_signal; /* no SA_RESTART */
    CHECK_INT(0, sigaction(SIGALRM, &action, &former));
    const struct itimerval often = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};
    for (int k = 0; k < KINDS; k++) {
        const char *path = path_of(&kinds[k], "signals");
        CHECK_INT(0, setitimer(ITIMER_REAL, &often, NULL));
        struct company c = open_kind(&kinds[k], path);
        for (int i = 0; i < 10; i++) {
            fill(&c, ROWS);
            save(c.context);
        }
        CHECK_INT(10 * ROWS, company_count(c.context, c.employee, NULL));
        char copy[600];
        snprintf(copy, sizeof copy, "%s.copy", path);
        OK(cst_coordinator_backup_store(c.coordinator, c.store, text(copy), NULL, NULL, NULL, E));
        company_close(&c);
        CHECK_INT(0, setitimer(ITIMER_REAL, &never, NULL));
        CHECK_INT(10 * ROWS, count_reopened(&kinds[k], path));
        CHECK_INT(10 * ROWS, count_reopened(&kinds[k], copy));
    }
    CHECK_INT(0, sigaction(SIGALRM, &former, NULL));
    CHECK(signals > 0);
}

/* An open store whose file is replaced with an older copy of itself. */
static void an_open_sqlite_store_reports_an_older_copy_of_its_file(void) {
    for (int k = 0; k < KINDS; k++) {
        const char *path = path_of(&kinds[k], "back"), *older = path_of(&kinds[k], "older");
        struct company c = open_kind(&kinds[k], path);
        fill(&c, 2);
        save(c.context);
        company_close(&c);
        copy_file(path, older);
        c = open_kind(&kinds[k], path);
        fill(&c, ROWS);
        save(c.context);
        CHECK_INT(0, rename(older, path));
        cst_status status = use(&c, &kinds[k], "an older state of itself");
        company_close(&c);
        CHECK_INT(is_sqlite(&kinds[k]) ? CST_E_STORE_IO : CST_OK, status);
        /* Atomic stores have the content of their last read or save: with the new row, if it was saved. */
        if (k > 0) CHECK_INT(is_sqlite(&kinds[k]) ? 2 : 3, count_reopened(&kinds[k], path));
    }
}

/* Runs in its own process: saves, renames the store, reports it, waits, renames the store back and closes it. */
static int hold_renamed(const char *path, const char *moved, int ready, int done) {
    char byte = 0;
    struct company c = company_open(path);
    fill(&c, ROWS);
    save(c.context);
    if (rename(path, moved) != 0 || write(ready, "x", 1) != 1 || read(done, &byte, 1) != 1) return 1;
    if (rename(moved, path) != 0) return 1;
    company_close(&c);
    return 0;
}

static const char *number_text(int number) {
    static char texts[2][16];
    static int next;
    char *text = texts[next++ % 2];
    snprintf(text, sizeof texts[0], "%d", number);
    return text;
}

static void refuse_to_create(const char *path, int process) {
    cst_store_options options = CST_STORE_OPTIONS_INIT;
    cst_model *model = company_model();
    cst_coordinator *coordinator = NULL;
    cst_store *store = NULL;
    cst_error *error = NULL;
    char user[40];
    snprintf(user, sizeof user, "process %d ", process);
    OK(cst_coordinator_new(model, &coordinator, E));
    CHECK_STATUS(CST_E_STORE_BUSY,
                 cst_coordinator_add_store(coordinator, text("SQLite"), text(path), &options, &store, &error));
    CHECK(strstr(cst_error_message(error).data, path) && strstr(cst_error_message(error).data, user));
    CHECK(access(path, F_OK) != 0);
    cst_release(error);
    cst_release(coordinator);
    cst_release(model);
}

/* A store that is renamed while it is open leaves its log at the former path, where a new store would delete it. */
static void creating_a_store_beside_a_log_in_use_is_refused(void) {
    const char *path = check_path("moving.sqlite"), *moved = check_path("moved.sqlite");
    struct company c = company_open(path);
    fill(&c, ROWS);
    save(c.context);
    CHECK_INT(0, rename(path, moved));
    refuse_to_create(path, getpid());
    CHECK_INT(0, rename(moved, path));
    save(c.context);
    company_close(&c);
    CHECK_INT(ROWS, count_reopened(kinds, path));

    /* The log of a deleted store is not needed any more. */
    c = company_open(path);
    fill(&c, 1);
    save(c.context);
    CHECK_INT(0, unlink(path));
    struct company next = company_open(path);
    CHECK_INT(0, company_count(next.context, next.employee, NULL));
    fill(&next, ROWS);
    save(next.context);
    company_close(&c);
    company_close(&next);
    CHECK_INT(ROWS, count_reopened(kinds, path));

    int ready[2], done[2];
    char byte = 0;
    CHECK(pipe(ready) == 0 && pipe(done) == 0);
    pid_t child = fork();
    if (child == 0) {
        execl("/proc/self/exe", "test_file_trouble", "hold", path, moved, number_text(ready[1]), number_text(done[0]),
              NULL);
        _exit(127);
    }
    close(ready[1]);
    close(done[0]);
    CHECK_INT(1, read(ready[0], &byte, 1));
    refuse_to_create(path, child);
    CHECK_INT(1, write(done[1], "x", 1));
    int status = -1;
    waitpid(child, &status, 0);
    CHECK_INT(0, status);
    close(ready[0]);
    close(done[1]);
    CHECK_INT(2 * ROWS, count_reopened(kinds, path));
}

/* Another program empties the store and resets its primary keys, as if it had put a new file there. A new object
 * then gets the primary key of an object that is registered in the context. That object is detached, and both are
 * freed with the context. */
static void an_object_is_detached_when_its_primary_key_is_reused(void) {
    size_t handles = cst_handle_count();
    struct company c = company_open(check_path("again.sqlite"));
    sqlite3 *database = NULL;
    cst_object *ada = company_employee(&c, c.context, "Ada", 1), *found = NULL;
    cst_object_id *id = NULL;
    cst_value value;
    save(c.context);
    OK(cst_object_copy_id(ada, &id, E));
    CHECK_INT(SQLITE_OK, sqlite3_open(check_path("again.sqlite"), &database));
    CHECK_INT(SQLITE_OK,
              sqlite3_exec(database, "DELETE FROM ZPERSON; UPDATE Z_PRIMARYKEY SET Z_MAX = 0", NULL, NULL, NULL));
    sqlite3_close(database);
    cst_object *grace = company_employee(&c, c.context, "Grace", 2);
    save(c.context);
    OK(cst_context_registered_object(c.context, id, &found, E));
    CHECK(found == grace);
    CHECK_TEXT("Grace", get_text(found, c.name));
    CHECK_STATUS(CST_E_OBJECT_GONE, cst_object_get(ada, c.name, &value, NULL));
    OK(cst_release(found));
    OK(cst_release(ada));
    OK(cst_context_registered_object(c.context, id, &found, E));
    CHECK(found == grace);
    OK(cst_release(found));
    OK(cst_release(grace));
    OK(cst_release(id));
    company_close(&c);
    CHECK_INT((int64_t)handles, (int64_t)cst_handle_count());
}

int main(int argc, char **argv) {
    if (argc == 5 && strcmp(argv[1], "size") == 0) return save_beyond_file_size(argv[2], argv[3], atol(argv[4]));
    if (argc == 4 && strcmp(argv[1], "end") == 0) return end_within_commit(argv[2], atol(argv[3]));
    if (argc == 6 && strcmp(argv[1], "hold") == 0) return hold_renamed(argv[2], argv[3], atoi(argv[4]), atoi(argv[5]));
    check_begin(argc, argv);
    RUN(an_open_store_reports_that_its_file_was_removed);
    RUN(an_open_store_does_not_write_to_a_replaced_file);
    RUN(a_truncated_file_is_reported_as_corrupt);
    RUN(an_open_store_recovers_when_its_file_is_accessible_again);
    RUN(a_save_beyond_the_file_size_limit_fails_without_damage);
    RUN(a_store_recovers_after_a_process_is_killed_during_a_commit);
    RUN(signals_do_not_interrupt_calls);
    RUN(an_open_sqlite_store_reports_an_older_copy_of_its_file);
    RUN(creating_a_store_beside_a_log_in_use_is_refused);
    RUN(an_object_is_detached_when_its_primary_key_is_reused);
    return check_end();
}
