/* Atomic stores in a process with little additional memory: opening, loading, saving, converting and migrating a
 * store either succeeds or returns CST_E_NO_MEMORY. Each step of the sweep is its own process, whose address space
 * may grow by a limit. A step that does not succeed does not change the file; a refused step leaves no other file
 * beside it.
 *
 * CORESTONE_MEMORY_STEP: KiB from one step to the next (default: ten steps for each work; `make seeds` takes 256).
 * SPDX-License-Identifier: MIT
 */
#include "company.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OBJECTS = 12000, NOTES = 200, MOST = 80 << 10, DONE = 0, REFUSED = 10, OTHER = 11 };

/* The work that converts a store is this and a type. */
static const char convert_to[] = "convert to ";

static struct company open_type(const char *path, const char *type) {
    struct company c;
    memset(&c, 0, sizeof c);
    c.model = company_model();
    OK(cst_coordinator_new(c.model, &c.coordinator, E));
    OK(cst_coordinator_add_store(c.coordinator, text(type), text(path), NULL, &c.store, E));
    company_resolve(&c);
    c.context = company_context(&c, CST_QUEUE_CALLER);
    return c;
}

static void fill(const struct company *c, int count) {
    char notes[NOTES + 1];
    memset(notes, 'n', NOTES);
    notes[NOTES] = 0;
    for (int i = 0; i < count; i++) {
        cst_object *object = company_employee(c, c->context, "Ada", i);
        set(object, c->notes, value_text(notes));
        OK(cst_release(object));
    }
}

static size_t address_space(void) {
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%lu", &pages) != 1) return 0;
    fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static void limit(long kib) {
    struct rlimit room = {address_space() + (size_t)kib * 1024, RLIM_INFINITY};
    setrlimit(RLIMIT_AS, &room);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
}

static void lift_limit(void) { setrlimit(RLIMIT_AS, &(struct rlimit){RLIM_INFINITY, RLIM_INFINITY}); }

/* The error by its place: a call among the same arguments may set it after it is read. */
static int outcome(cst_status status, cst_error *const *error) {
    if (status >= 0) return DONE;
    if (status == CST_E_NO_MEMORY) return REFUSED;
    fprintf(stderr, "status %d: %.200s\n", (int)status, cst_error_message(*error).data);
    return OTHER;
}

/* The result, or OTHER if objects are missing. */
static int counted(int result, cst_context *context, const cst_entity *employee) {
    uint64_t count = company_count(context, employee, NULL);
    if (count == OBJECTS) return result;
    fprintf(stderr, "%llu objects instead of %d after result %d\n", (unsigned long long)count, OBJECTS, result);
    return OTHER;
}

/* Moves the store to another type. Either store has all objects afterwards. */
static int convert(const char *type, const char *path, const char *target, long kib) {
    cst_error *error = NULL;
    char other[700];
    snprintf(other, sizeof other, "%s.converted", path);
    struct company c = open_type(path, type);
    limit(kib);
    int result = outcome(cst_coordinator_migrate_store(c.coordinator, c.store, text(target), text(other), NULL, NULL,
                                                       NULL, NULL, &error),
                         &error);
    lift_limit();
    result = counted(result, c.context, c.employee);
    OK(cst_release(error));
    company_close(&c);
    return result;
}

/* Opens the store with a model that has one more attribute. */
static int migrate(const char *type, const char *path, long kib) {
    cst_error *error = NULL;
    struct company c;
    memset(&c, 0, sizeof c);
    c.model = company_model();
    OK(cst_model_entity(c.model, text("Employee"), &c.employee, E));
    OK(cst_entity_add_attribute(c.employee, text("nickname"), CST_ATTRIBUTE_STRING, CST_PROPERTY_OPTIONAL, NULL, E));
    OK(cst_coordinator_new(c.model, &c.coordinator, E));
    cst_store_options options = CST_STORE_OPTIONS_INIT;
    options.flags = CST_STORE_MIGRATE | CST_STORE_INFER_MAPPING;
    limit(kib);
    int result =
        outcome(cst_coordinator_add_store(c.coordinator, text(type), text(path), &options, &c.store, &error), &error);
    lift_limit();
    c.context = company_context(&c, CST_QUEUE_CALLER);
    if (result == DONE) result = counted(result, c.context, c.employee);
    OK(cst_release(error));
    company_close(&c);
    return result;
}

/* One step: the additional memory of the process is limited before the work begins. */
static int step(const char *type, const char *path, const char *work, long kib) {
    cst_error *error = NULL;
    if (strcmp(work, "open") == 0) {
        cst_coordinator *coordinator = NULL;
        OK(cst_coordinator_new(company_model(), &coordinator, E));
        limit(kib);
        return outcome(cst_coordinator_add_store(coordinator, text(type), text(path), NULL, NULL, &error), &error);
    }
    if (strncmp(work, convert_to, strlen(convert_to)) == 0) return convert(type, path, work + strlen(convert_to), kib);
    if (strcmp(work, "migrate") == 0) return migrate(type, path, kib);
    struct company c = open_type(path, type);
    if (strcmp(work, "fetch") == 0) {
        cst_fetch_request *request = NULL;
        cst_results *results = NULL;
        OK(cst_fetch_request_new(c.employee, &request, E));
        limit(kib);
        return outcome(cst_context_fetch(c.context, request, &results, &error), &error);
    }
    fill(&c, strcmp(type, "InMemory") == 0 ? OBJECTS : 100);
    limit(kib);
    return outcome(cst_context_save(c.context, &error), &error);
}

static int run(const char *type, const char *path, const char *work, long kib) {
    char number[32];
    snprintf(number, sizeof number, "%ld", kib);
    pid_t child = fork();
    if (child == 0) {
        execl("/proc/self/exe", "memory_limit", "step", type, path, work, number, (char *)NULL);
        _exit(OTHER);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) return OTHER;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static int command(const char *format, const char *first, const char *second) {
    char line[1300];
    snprintf(line, sizeof line, format, first, second);
    return system(line);
}

/* The number of files and folders in a folder. */
static int entries(const char *folder) {
    int count = 0;
    DIR *names = opendir(folder);
    while (names && readdir(names))
        count++;
    if (names) closedir(names);
    return count - 2; /* "." and ".." */
}

static void sweep(const char *type, const char *work) {
    const char *given = getenv("CORESTONE_MEMORY_STEP");
    /* A migration has two stores of the type and one of SQLite at a time. */
    long most = strcmp(work, "migrate") == 0 ? MOST * 3 / 2 : MOST, width = given ? atol(given) : most / 10;
    int done = 0, refused = 0, ended = 0, others = 0, changed = 0, left = 0;
    char name[64];
    snprintf(name, sizeof name, "big.%s", type);
    const char *path = check_path(name), *folder = check_path("step");
    /* Work that writes uses a copy of the file, in its own folder. */
    bool is_copied = strcmp(work, "open") != 0 && strcmp(type, "InMemory") != 0;
    char copy[600];
    snprintf(copy, sizeof copy, "%s/store", folder);
    for (long kib = 512; kib <= most; kib += width) {
        if (is_copied) REQUIRE(command("rm -rf '%2$s' && mkdir '%2$s' && cp '%1$s' '%2$s/store'", path, folder) == 0);
        int result = run(type, is_copied ? copy : path, work, kib);
        if (result == DONE)
            done++;
        else if (result == REFUSED)
            refused++;
        else if (result < 0)
            ended++;
        else
            others++;
        if (result < 0) printf("  %s, %s, %ld KiB: ended by signal %d\n", type, work, kib, -result);
        if (result > REFUSED) printf("  %s, %s, %ld KiB: neither succeeded nor refused\n", type, work, kib);
        if (!is_copied || result == DONE) continue;
        if (command("cmp -s '%s' '%s'", path, copy) != 0) {
            changed++;
            printf("  %s, %s, %ld KiB: failed, but changed the file\n", type, work, kib);
        }
        if (result == REFUSED && entries(folder) != 1) {
            left++;
            printf("  %s, %s, %ld KiB: refused, but left files\n", type, work, kib);
        }
    }
    printf("memory_limit: %s, %s: %d done, %d refused, %d ended, %d others\n", type, work, done, refused, ended,
           others);
    CHECK(done > 0);
    CHECK(refused > 0);
    CHECK_INT(0, ended);
    CHECK_INT(0, others);
    CHECK_INT(0, changed);
    CHECK_INT(0, left);
}

static void make_big(const char *type) {
    char name[64];
    snprintf(name, sizeof name, "big.%s", type);
    struct company c = open_type(check_path(name), type);
    fill(&c, OBJECTS);
    save(c.context);
    company_close(&c);
}

static void xml_stores_survive_a_memory_limit(void) {
    make_big("XML");
    sweep("XML", "open");
    sweep("XML", "save");
    sweep("XML", "convert to Binary");
    sweep("XML", "convert to SQLite");
    sweep("XML", "migrate");
}

static void binary_stores_survive_a_memory_limit(void) {
    make_big("Binary");
    sweep("Binary", "open");
    sweep("Binary", "save");
    sweep("Binary", "convert to XML");
    sweep("Binary", "migrate");
}

static void in_memory_stores_survive_a_memory_limit(void) { sweep("InMemory", "save"); }

static void sqlite_stores_survive_a_memory_limit(void) {
    make_big("SQLite");
    sweep("SQLite", "convert to XML");
}

int main(int argc, char **argv) {
    if (argc == 6 && strcmp(argv[1], "step") == 0) return step(argv[2], argv[3], argv[4], atol(argv[5]));
    check_begin(argc, argv);
    RUN(xml_stores_survive_a_memory_limit);
    RUN(binary_stores_survive_a_memory_limit);
    RUN(in_memory_stores_survive_a_memory_limit);
    RUN(sqlite_stores_survive_a_memory_limit);
    return check_end();
}
