/* After fork: every call in the child returns CST_E_FORKED, and the child can exit; the parent continues.
 *
 * SPDX-License-Identifier: MIT
 */
#include "calls.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Mutexes that the child locked. Another thread of the parent may have held any of them at the fork, and then the
 * child would wait indefinitely: calls in the child must not lock a mutex, neither of the library nor of Swift's
 * runtime. */
static int locks;

#ifndef __SANITIZE_ADDRESS__
int pthread_mutex_lock(pthread_mutex_t *mutex) {
    static int (*lock)(pthread_mutex_t *);
    if (!lock) *(void **)&lock = dlsym(RTLD_NEXT, "pthread_mutex_lock");
    locks++;
    return lock(mutex);
}
#endif

/* Prints unexpected results of the child to standard error; the exit status tells the parent. */
static int call_everything(struct world *world) {
    union argument arguments[MAX_PARAMETERS];
    struct storage storage;
    int wrong = 0;
    for (size_t i = 0; i < call_count; i++) {
        world_fill(world, &calls[i], arguments, &storage);
        locks = 0;
        struct result result = calls[i].invoke(arguments);
        if (locks > 0) {
            fprintf(stderr, "after the fork %s locked %d mutexes\n", calls[i].name, locks);
            wrong++;
        }
        /* Errors are immutable: the child can still read those that it has. */
        bool reads_error = calls[i].parameters[0].type == TYPE_ERROR && calls[i].parameters[0].kind == KIND_HANDLE;
        bool ignores_null = strcmp(calls[i].name, "cst_release") == 0 && !arguments[0].pointer;
        bool as_expected =
            calls[i].returns != RETURNS_STATUS || reads_error || ignores_null || result.status == CST_E_FORKED;
        if (!as_expected) {
            fprintf(stderr, "after the fork %s returned %s\n", calls[i].name, check_status_name(result.status));
            wrong++;
        }
        memset(arguments, 0, sizeof arguments);
        result = calls[i].invoke(arguments); /* NULL everywhere: must not crash */
    }
    return wrong;
}

static int wait_for(pid_t child) {
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void every_call_is_refused_in_a_forked_child(void) {
    struct world world;
    world_open(&world, check_path("."));
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        alarm(60); /* a child that hangs fails too */
        _exit(call_everything(&world) == 0 ? 0 : 1);
    }
    REQUIRE(child > 0);
    CHECK_INT(0, wait_for(child));
    world_close(&world);
}

/* Types whose metadata Swift's runtime has not created yet: their first use takes a lock. */
static void every_call_is_refused_in_a_child_of_a_fresh_process(void) {
    static struct world nothing;
    nothing.keeps_store = true;
    cst_model *model;
    OK(cst_model_new(&model, E));
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        _exit(call_everything(&nothing) == 0 ? 0 : 1);
    }
    REQUIRE(child > 0);
    CHECK_INT(0, wait_for(child));
    OK(cst_release(model));
}

static void the_parent_continues_after_a_fork(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    save(c.context);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        cst_value value = value_text("child");
        bool refused = cst_object_set(ada, c.name, &value, NULL) == CST_E_FORKED;
        refused = refused && cst_context_save(c.context, NULL) == CST_E_FORKED;
        refused = refused && cst_release(ada) == CST_E_FORKED;
        refused = refused && cst_release(c.context) == CST_E_FORKED;
        _exit(refused ? 0 : 1);
    }
    REQUIRE(child > 0);
    CHECK_INT(0, wait_for(child));
    CHECK_TEXT("Ada", get_text(ada, c.name));
    set(ada, c.name, value_text("parent"));
    save(c.context);
    CHECK_INT(1, company_count(c.context, c.employee, "name == 'parent'"));
    OK(cst_release(ada));
    company_close(&c);
}

static cst_status nothing(void *userdata, cst_context *context, cst_error **error) {
    (void)userdata, (void)context, (void)error;
    return CST_OK;
}

static void a_child_does_not_wait_for_the_parents_queues(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_context *context = company_context(&c, CST_QUEUE_PRIVATE);
    OK(cst_context_perform_and_wait(context, nothing, NULL, E));
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        bool refused = cst_context_perform_and_wait(context, nothing, NULL, NULL) == CST_E_FORKED;
        destroy_count = 0;
        refused = refused && cst_context_perform(context, nothing, NULL, count_destroy, NULL) == CST_E_FORKED;
        refused = refused && destroy_count == 1; /* the child's copy of the host's data */
        _exit(refused ? 0 : 1);
    }
    REQUIRE(child > 0);
    CHECK_INT(0, wait_for(child));
    OK(cst_context_perform_and_wait(context, nothing, NULL, E));
    OK(cst_release(context));
    company_close(&c);
}

static cst_status fork_and_go_on(void *userdata, cst_context *context, cst_error **error) {
    (void)error;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        bool changes;
        /* Returns into the library's code, on the only thread of the child. */
        if (cst_context_has_changes(context, &changes, NULL) != CST_E_FORKED) _exit(1);
        return CST_OK;
    }
    *(pid_t *)userdata = child;
    return CST_OK;
}

static void a_child_forked_on_a_worker_thread_ends_with_its_block(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_context *context = company_context(&c, CST_QUEUE_PRIVATE);
    pid_t child = 0;
    int status = -1;
    OK(cst_context_perform(context, fork_and_go_on, &child, NULL, E));
    OK(cst_context_perform(context, nothing, NULL, NULL, E)); /* not in the child */
    OK(cst_context_perform_and_wait(context, nothing, NULL, E));
    REQUIRE(child > 0);
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    OK(cst_release(context));
    company_close(&c);
}

static void a_forked_child_can_execute_another_program(void) {
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        execl("/bin/true", "true", (char *)NULL);
        _exit(1);
    }
    REQUIRE(child > 0);
    CHECK_INT(0, wait_for(child));
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(every_call_is_refused_in_a_forked_child);
    RUN(every_call_is_refused_in_a_child_of_a_fresh_process);
    RUN(the_parent_continues_after_a_fork);
    RUN(a_child_does_not_wait_for_the_parents_queues);
    RUN(a_child_forked_on_a_worker_thread_ends_with_its_block);
    RUN(a_forked_child_can_execute_another_program);
    return check_end();
}
