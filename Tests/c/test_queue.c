/* Queues: confinement, private queues, the main queue, callbacks that fail, destroy exactly once.
 *
 * SPDX-License-Identifier: MIT
 */
#include "company.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static atomic_int destroyed, ran;
static void count_destroy(void *userdata) {
    (void)userdata;
    destroyed++;
}

static void nap(void) {
    const struct timespec pause = {0, 1000 * 1000};
    nanosleep(&pause, NULL);
}

struct job {
    struct company *company;
    cst_context *context;
    cst_status status;
};

static void *touch(void *argument) {
    struct job *job = argument;
    cst_object *object = NULL;
    bool changes;
    CHECK_STATUS(CST_E_WRONG_THREAD, cst_context_insert(job->context, job->company->employee, &object, E));
    CHECK_CONTAINS("used a context", cst_error_message(check_error()));
    CHECK_STATUS(CST_E_WRONG_THREAD, cst_context_has_changes(job->context, &changes, E));
    CHECK_STATUS(CST_E_WRONG_THREAD, cst_context_save(job->context, E));
    check_slot();
    return NULL;
}

static void on_thread(void *(*body)(void *), void *argument) {
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, body, argument) == 0);
    REQUIRE(pthread_join(thread, NULL) == 0);
}

static void a_caller_confined_context_refuses_other_threads(void) {
    struct company c = company_open(check_path("a.sqlite"));
    struct job job = {&c, c.context, 0};
    on_thread(touch, &job);
    CHECK(!has_changes(c.context));
    company_close(&c);
}

static void a_private_context_refuses_calls_outside_perform(void) {
    struct company c = company_open(check_path("a.sqlite"));
    struct job job = {&c, company_context(&c, CST_QUEUE_PRIVATE), 0};
    touch(&job);
    on_thread(touch, &job);
    OK(cst_release(job.context));
    company_close(&c);
}

static cst_status insert_one(void *userdata, cst_context *context, cst_error **error) {
    struct job *job = userdata;
    cst_object *object = NULL;
    cst_status status = cst_context_insert(context, job->company->employee, &object, error);
    if (status == CST_OK) {
        cst_value value = value_text("Ada");
        status = cst_object_set(object, job->company->name, &value, error);
    }
    cst_release(object);
    ran++;
    return status;
}

static cst_status save_there(void *userdata, cst_context *context, cst_error **error) {
    (void)userdata;
    return cst_context_save(context, error);
}

static void perform_runs_in_order_and_destroys_once(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_context *context = company_context(&c, CST_QUEUE_PRIVATE);
    struct job job = {&c, context, 0};
    destroyed = ran = 0;
    for (int i = 0; i < 50; i++)
        OK(cst_context_perform(context, insert_one, &job, count_destroy, E));
    OK(cst_context_perform_and_wait(context, save_there, NULL, E));
    CHECK_INT(50, ran);
    CHECK_INT(50, company_count(c.context, c.employee, NULL));
    OK(cst_release(context));
    company_close(&c);
    for (int i = 0; i < 1000 && destroyed < 50; i++)
        nap();
    CHECK_INT(50, destroyed);
}

static void perform_keeps_its_context_alive(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_context *context = company_context(&c, CST_QUEUE_PRIVATE);
    struct job job = {&c, context, 0};
    destroyed = ran = 0;
    for (int i = 0; i < 20; i++)
        OK(cst_context_perform(context, insert_one, &job, count_destroy, E));
    OK(cst_release(context));
    for (int i = 0; i < 2000 && destroyed < 20; i++)
        nap();
    CHECK_INT(20, destroyed);
    CHECK_INT(20, ran);
    company_close(&c);
}

static cst_status nested(void *userdata, cst_context *context, cst_error **error) {
    struct job *job = userdata;
    ran++;
    return ran < 5 ? cst_context_perform_and_wait(job->context, nested, userdata, error)
                   : cst_context_save(context, error);
}

static void perform_and_wait_can_nest(void) {
    struct company c = company_open(check_path("a.sqlite"));
    struct job job = {&c, company_context(&c, CST_QUEUE_PRIVATE), 0};
    ran = 0;
    CHECK(cst_context_perform_and_wait(job.context, nested, &job, E) >= 0);
    CHECK_INT(5, ran);
    OK(cst_release(job.context));
    job.context = c.context;
    ran = 0;
    CHECK(cst_context_perform_and_wait(c.context, nested, &job, E) >= 0);
    CHECK_INT(5, ran);
    company_close(&c);
}

static cst_status fail_with_error(void *userdata, cst_context *context, cst_error **error) {
    (void)context;
    cst_error_new_custom(text("App"), 4711, text("no more coffee"), userdata, count_destroy, error);
    return CST_E_CALLBACK;
}

static cst_status fail_silently(void *userdata, cst_context *context, cst_error **error) {
    (void)userdata, (void)context, (void)error;
    return -12345;
}

static cst_status fail_with_our_error(void *userdata, cst_context *context, cst_error **error) {
    (void)userdata, (void)context;
    cst_predicate *predicate = NULL;
    return cst_predicate_parse(text("a =="), 0, NULL, &predicate, error);
}

static cst_status succeed_with_error(void *userdata, cst_context *context, cst_error **error) {
    (void)context;
    cst_error_new_custom(text("App"), 1, text("never mind"), userdata, count_destroy, error);
    return CST_OK;
}

static void the_error_of_a_failing_block_becomes_the_detail(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_context *contexts[] = {company_context(&c, CST_QUEUE_PRIVATE), c.context};
    for (int i = 0; i < 2; i++) {
        int payload = 7;
        destroyed = 0;
        CHECK_STATUS(CST_E_CALLBACK, cst_context_perform_and_wait(contexts[i], fail_with_error, &payload, E));
        REQUIRE(cst_error_detail_count(check_error()) == 1);
        const cst_error *detail = cst_error_detail_at(check_error(), 0);
        CHECK_INT(4711, cst_error_code(detail));
        CHECK_TEXT("App", cst_error_domain(detail));
        CHECK_TEXT("no more coffee", cst_error_message(detail));
        CHECK(cst_error_userdata(detail) == &payload);
        CHECK_INT(0, destroyed);
        check_slot();
        CHECK_INT(1, destroyed);
        CHECK_STATUS(CST_E_CALLBACK, cst_context_perform_and_wait(contexts[i], fail_silently, NULL, E));
        CHECK_CONTAINS("-12345", cst_error_message(check_error()));
        CHECK_STATUS(CST_E_CALLBACK, cst_context_perform_and_wait(contexts[i], fail_with_our_error, NULL, E));
        REQUIRE(cst_error_detail_count(check_error()) == 1);
        CHECK_INT(CST_E_PREDICATE_SYNTAX, cst_error_status(cst_error_detail_at(check_error(), 0)));
        CHECK_STATUS(CST_E_CALLBACK, cst_context_perform_and_wait(contexts[i], fail_with_error, &payload, NULL));
        CHECK_INT(2, destroyed); /* the caller passed no error slot */
        OK(cst_context_perform_and_wait(contexts[i], succeed_with_error, &payload, E));
        CHECK_INT(3, destroyed); /* a success has no error */
        if (i == 0) {
            OK(cst_context_perform(contexts[i], fail_with_error, &payload, NULL, E));
            CHECK(cst_context_perform_and_wait(contexts[i], save_there, NULL, E) >= 0);
            CHECK_INT(4, destroyed); /* dropped */
        }
    }
    OK(cst_release(contexts[0]));
    company_close(&c);
}

static cst_status nest_and_fail(void *userdata, cst_context *context, cst_error **error) {
    return ++ran < 3 ? cst_context_perform_and_wait(context, nest_and_fail, userdata, error)
                     : fail_with_error(userdata, context, error);
}

static void errors_of_nested_blocks_are_nested_details(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_context *context = company_context(&c, CST_QUEUE_PRIVATE);
    int payload = 7;
    destroyed = ran = 0;
    CHECK_STATUS(CST_E_CALLBACK, cst_context_perform_and_wait(context, nest_and_fail, &payload, E));
    CHECK_INT(3, ran);
    const cst_error *innermost = check_error();
    for (int i = 0; i < 3; i++)
        innermost = cst_error_detail_at(innermost, 0);
    CHECK_INT(4711, cst_error_code(innermost));
    check_slot();
    CHECK_INT(1, destroyed);
    OK(cst_release(context));
    company_close(&c);
}

static void a_failed_perform_destroys_its_userdata_once(void) {
    destroyed = 0;
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_context_perform(NULL, insert_one, NULL, count_destroy, E));
    CHECK_INT(1, destroyed);
    struct company c = company_open(check_path("a.sqlite"));
    cst_context *context = company_context(&c, CST_QUEUE_PRIVATE);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_perform(context, NULL, NULL, count_destroy, E));
    CHECK_INT(2, destroyed);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_perform_and_wait(context, NULL, NULL, E));
    OK(cst_release(context));
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_context_perform(context, insert_one, NULL, count_destroy, E));
    CHECK_INT(3, destroyed);
    company_close(&c);
}

static void an_unknown_queue_is_refused(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_context *context = NULL;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_new(c.coordinator, 3, &context, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_new(c.coordinator, -1, &context, E));
    CHECK(context == NULL);
    company_close(&c);
}

static void *drain_elsewhere(void *argument) {
    struct job *job = argument;
    CHECK_STATUS(CST_E_WRONG_THREAD, cst_main_queue_drain(0, NULL, E));
    CHECK_STATUS(CST_E_WRONG_THREAD, cst_main_queue_bind(E));
    CHECK_STATUS(CST_OK, cst_context_perform(job->context, insert_one, job, count_destroy, E));
    check_slot();
    return NULL;
}

static void the_main_queue_is_drained_only_by_its_thread(void) {
    struct company c = company_open(check_path("a.sqlite"));
    OK(cst_main_queue_bind(E));
    OK(cst_main_queue_bind(E));
    cst_context *context = company_context(&c, CST_QUEUE_MAIN);
    struct job job = {&c, context, 0};
    struct pollfd waiting = {-1, POLLIN, 0};
    OK(cst_main_queue_descriptor(&waiting.fd, E));
    CHECK_INT(0, poll(&waiting, 1, 0));
    size_t count = 99;
    CHECK_STATUS(CST_UNCHANGED, cst_main_queue_drain(0, &count, E));
    CHECK_INT(0, count);
    destroyed = ran = 0;
    on_thread(drain_elsewhere, &job);
    OK(cst_context_perform(context, insert_one, &job, count_destroy, E));
    CHECK_INT(1, poll(&waiting, 1, 0));
    CHECK_INT(0, ran);
    OK(cst_main_queue_drain(0, &count, E));
    CHECK_INT(2, count);
    CHECK_INT(2, ran);
    CHECK_INT(2, destroyed);
    CHECK_INT(0, poll(&waiting, 1, 0));
    save(context); /* the main thread is the context's queue */
    CHECK_INT(2, company_count(context, c.employee, NULL));
    OK(cst_context_perform_and_wait(context, insert_one, &job, E));
    CHECK_INT(3, ran);
    OK(cst_release(context));
    company_close(&c);
}

static cst_status drain_within(void *userdata, cst_context *context, cst_error **error) {
    size_t count = 9;
    (void)context;
    const int before = ran;
    cst_status status = cst_main_queue_drain(0, &count, error);
    CHECK_INT(before + (int)count, ran);
    *(size_t *)userdata = count;
    return status < 0 ? status : CST_OK;
}

static void a_block_of_the_main_queue_can_drain_it_again(void) {
    struct company c = company_open(check_path("a.sqlite"));
    OK(cst_main_queue_bind(E));
    cst_context *context = company_context(&c, CST_QUEUE_MAIN);
    struct job job = {&c, context, 0};
    size_t within = 9, count = 9;
    destroyed = ran = 0;
    OK(cst_context_perform(context, drain_within, &within, NULL, E));
    OK(cst_context_perform(context, insert_one, &job, count_destroy, E));
    OK(cst_context_perform(context, insert_one, &job, count_destroy, E));
    OK(cst_main_queue_drain(0, &count, E));
    CHECK_INT(2, within);
    CHECK_INT(2, ran);
    CHECK_INT(2, destroyed);
    CHECK_STATUS(CST_UNCHANGED, cst_main_queue_drain(0, NULL, E));
    OK(cst_release(context));
    company_close(&c);
}

static void perform_is_refused_for_a_confined_context(void) {
    struct company c = company_open(check_path("a.sqlite"));
    struct job job = {&c, c.context, 0};
    destroyed = ran = 0;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_perform(c.context, insert_one, &job, count_destroy, E));
    CHECK_CONTAINS("confined", cst_error_message(check_error()));
    CHECK_INT(0, ran);
    CHECK_INT(1, destroyed);
    OK(cst_context_perform_and_wait(c.context, insert_one, &job, E));
    CHECK_INT(1, ran);
    OK(cst_context_rollback(c.context, E));
    company_close(&c);
}

static void *read_id(void *argument) {
    cst_buffer uri = {NULL, 0, 0};
    CHECK_STATUS(CST_OK, cst_object_id_copy_uri(argument, &uri, E));
    CHECK(uri.size > 0);
    cst_buffer_dispose(&uri);
    CHECK_STATUS(CST_OK, cst_release(argument));
    check_slot();
    return NULL;
}

static void object_ids_can_be_used_on_other_threads(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    cst_object_id *id = NULL;
    OK(cst_object_copy_id(ada, &id, E));
    on_thread(read_id, id);
    OK(cst_release(ada));
    company_close(&c);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(a_caller_confined_context_refuses_other_threads);
    RUN(a_private_context_refuses_calls_outside_perform);
    RUN(perform_runs_in_order_and_destroys_once);
    RUN(perform_keeps_its_context_alive);
    RUN(perform_and_wait_can_nest);
    RUN(the_error_of_a_failing_block_becomes_the_detail);
    RUN(errors_of_nested_blocks_are_nested_details);
    RUN(a_failed_perform_destroys_its_userdata_once);
    RUN(an_unknown_queue_is_refused);
    RUN(the_main_queue_is_drained_only_by_its_thread);
    RUN(a_block_of_the_main_queue_can_drain_it_again);
    RUN(perform_is_refused_for_a_confined_context);
    RUN(object_ids_can_be_used_on_other_threads);
    return check_end();
}
