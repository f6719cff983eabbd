/* Atomic stores in a process that may take little more memory: opening, loading and saving one give a result or
 * CST_E_NO_MEMORY. Each step of the sweep is a process of its own, whose address space may grow by so much.
 *
 * CORESTONE_MEMORY_STEP: KiB from one step to the next (default 8192; `make stress` takes 256).
 * SPDX-License-Identifier: MIT
 */
#include "company.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OBJECTS = 12000, NOTES = 200, MOST = 80 << 10, DONE = 0, REFUSED = 10, OTHER = 11 };

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

static int outcome(cst_status status, cst_error *error) {
    if (status >= 0) return DONE;
    if (status == CST_E_NO_MEMORY) return REFUSED;
    fprintf(stderr, "status %d: %.200s\n", (int)status, cst_error_message(error).data);
    return OTHER;
}

/* One step: what the process may take beyond what it has is set before the work begins. */
static int step(const char *type, const char *path, const char *work, long kib) {
    cst_error *error = NULL;
    if (strcmp(work, "open") == 0) {
        cst_coordinator *coordinator = NULL;
        OK(cst_coordinator_new(company_model(), &coordinator, E));
        limit(kib);
        return outcome(cst_coordinator_add_store(coordinator, text(type), text(path), NULL, NULL, &error), error);
    }
    struct company c = open_type(path, type);
    if (strcmp(work, "fetch") == 0) {
        cst_fetch_request *request = NULL;
        cst_results *results = NULL;
        OK(cst_fetch_request_new(c.employee, &request, E));
        limit(kib);
        return outcome(cst_context_fetch(c.context, request, &results, &error), error);
    }
    fill(&c, strcmp(type, "InMemory") == 0 ? OBJECTS : 100);
    limit(kib);
    return outcome(cst_context_save(c.context, &error), error);
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

static void sweep(const char *type, const char *work) {
    const char *given = getenv("CORESTONE_MEMORY_STEP");
    long width = given ? atol(given) : 8192;
    int done = 0, refused = 0, ended = 0, others = 0;
    char name[64];
    snprintf(name, sizeof name, "big.%s", type);
    const char *path = check_path(name);
    for (long kib = 512; kib <= MOST; kib += width) {
        if (strcmp(work, "save") == 0 && strcmp(type, "InMemory") != 0) {
            char command[1300];
            snprintf(command, sizeof command, "cp '%s' '%s.copy'", path, path);
            REQUIRE(system(command) == 0);
        }
        char copy[600];
        snprintf(copy, sizeof copy, "%s%s", path, strcmp(work, "save") == 0 ? ".copy" : "");
        int result = run(type, copy, work, kib);
        if (result == DONE)
            done++;
        else if (result == REFUSED)
            refused++;
        else if (result < 0)
            ended++;
        else
            others++;
        if (result < 0) printf("  %s, %s, %ld KiB: ended by signal %d\n", type, work, kib, -result);
    }
    printf("memory_limit: %s, %s: %d done, %d refused, %d ended, %d others\n", type, work, done, refused, ended,
           others);
    CHECK(done > 0);
    CHECK(refused > 0);
    CHECK_INT(0, ended);
    CHECK_INT(0, others);
}

static void make_big(const char *type) {
    char name[64];
    snprintf(name, sizeof name, "big.%s", type);
    struct company c = open_type(check_path(name), type);
    fill(&c, OBJECTS);
    save(c.context);
    company_close(&c);
}

static void xml(void) {
    make_big("XML");
    sweep("XML", "open");
    sweep("XML", "save");
}

static void binary(void) {
    make_big("Binary");
    sweep("Binary", "open");
    sweep("Binary", "save");
}

static void in_memory(void) { sweep("InMemory", "save"); }

int main(int argc, char **argv) {
    if (argc == 6 && strcmp(argv[1], "step") == 0) return step(argv[2], argv[3], argv[4], atol(argv[5]));
    check_begin(argc, argv);
    RUN(xml);
    RUN(binary);
    RUN(in_memory);
    return check_end();
}
