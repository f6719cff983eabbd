/* A callback is left by longjmp, against the rules: later calls on the thread are refused with a reason, and other
 * threads continue. The test runs in a child of this program, because the thread cannot recover. Only the child uses
 * the library, so that no handles are forked.
 *
 * SPDX-License-Identifier: MIT
 */
#include "company.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static jmp_buf before;

static cst_status leave(void *userdata, const cst_value *value, const cst_value *variables, bool *holds,
                        cst_error **error) {
    (void)userdata, (void)value, (void)variables, (void)holds, (void)error;
    longjmp(before, 1);
}

/* Uses its own coordinator and context, from creation to release. */
static void *work_elsewhere(void *path) {
    struct company other = company_open(path);
    cst_release(company_employee(&other, other.context, "Zoe", 1));
    OK(cst_context_save(other.context, E));
    company_close(&other);
    return NULL;
}

static int jump_and_go_on(const char *path, const char *other_path) {
    struct company c = company_open(path);
    cst_release(company_employee(&c, c.context, "Ada", 1));
    cst_fetch_request *request = company_by_number(&c);
    cst_predicate *predicate = NULL;
    OK(cst_predicate_new_block(leave, NULL, NULL, &predicate, E));
    OK(cst_fetch_request_set_predicate(request, predicate, E));
    uint64_t count = 0;
    if (setjmp(before) == 0) {
        cst_context_count(c.context, request, &count, NULL);
        CHECK(!"the block was never called");
    }

    CHECK_STATUS(CST_E_CALLBACK, cst_context_count(c.context, request, &count, E));
    CHECK_CONTAINS("did not return, for example because of longjmp", cst_error_message(check_error()));
    CHECK_STATUS(CST_E_CALLBACK, cst_context_save(c.context, E));
    /* A handle can be released, but its object stays alive. */
    CHECK_INT(CST_OK, cst_release(predicate));
    CHECK_INT(CST_E_INVALID_HANDLE, cst_release(predicate));

    pthread_t thread;
    CHECK_INT(0, pthread_create(&thread, NULL, work_elsewhere, (void *)other_path));
    CHECK_INT(0, pthread_join(thread, NULL));
    return check_failures();
}

static void calls_are_refused_after_a_callback_is_left_by_longjmp(void) {
    char path[512], other_path[512];
    snprintf(path, sizeof path, "%s", check_path("jump.sqlite"));
    snprintf(other_path, sizeof other_path, "%s", check_path("other.sqlite"));
    fflush(NULL);
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        int failures = jump_and_go_on(path, other_path);
        fflush(NULL);
        _exit(failures);
    }
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK_INT(0, WEXITSTATUS(status));
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(calls_are_refused_after_a_callback_is_left_by_longjmp);
    return check_end();
}
