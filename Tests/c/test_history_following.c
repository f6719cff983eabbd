/* Waiting for further transactions, following a history, and the present values of changed objects.
 *
 * SPDX-License-Identifier: MIT
 */
#include "histories.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static long now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Waits up to a minute. */
static bool reaches(atomic_int *number, int wanted) {
    for (int i = 0; i < 60000 && *number < wanted; i++)
        usleep(1000);
    return *number >= wanted;
}

/* ---- waiting */

struct later {
    const struct company *company;
    cst_history_cursor *cursor;
    int milliseconds;
};

static void *save_later(void *argument) {
    const struct later *later = argument;
    const struct company *c = later->company;
    cst_context *context = NULL;
    cst_object *object = NULL;
    const cst_value name = value_text("Later");
    usleep((useconds_t)later->milliseconds * 1000);
    CHECK_STATUS(CST_OK, cst_context_new(c->coordinator, CST_QUEUE_CALLER, &context, E));
    CHECK_STATUS(CST_OK, cst_context_insert(context, c->employee, &object, E));
    CHECK_STATUS(CST_OK, cst_object_set(object, c->name, &name, E));
    CHECK_STATUS(CST_OK, cst_context_save(context, E));
    CHECK_STATUS(CST_OK, cst_release(object));
    CHECK_STATUS(CST_OK, cst_release(context));
    return NULL;
}

static void *cancel_later(void *argument) {
    const struct later *later = argument;
    usleep((useconds_t)later->milliseconds * 1000);
    CHECK_STATUS(CST_OK, cst_history_cursor_cancel(later->cursor, E));
    return NULL;
}

/* Waits until the cursor has a transaction. */
static const cst_history_transaction *await(cst_history_cursor *cursor) {
    const cst_history_transaction *transaction = NULL;
    for (int i = 0; i < 100; i++) {
        const cst_status status = cst_history_cursor_next(cursor, &transaction, E);
        if (status == CST_OK) return transaction;
        REQUIRE(status == CST_END);
        OK(cst_history_cursor_wait(cursor, 30000, E));
    }
    REQUIRE(transaction);
    return NULL;
}

static void wait_for_a_save(bool own) {
    const char *path = check_path("a.sqlite");
    struct company c = open_history(path), other = open_history(path);
    cst_history_cursor *cursor = read_with(&c, NULL);
    CHECK(at_end(cursor));
    OK(cst_history_cursor_wait(cursor, 30000, E)); /* the first one returns at once */
    CHECK(at_end(cursor));
    for (int i = 1; i <= 3; i++) {
        struct later later = {own ? &c : &other, NULL, 20};
        pthread_t thread;
        REQUIRE(pthread_create(&thread, NULL, save_later, &later) == 0);
        CHECK_INT(i, await(cursor)->number);
        pthread_join(thread, NULL);
        while (!at_end(cursor))
            CHECK(!"more than one transaction");
    }
    OK(cst_release(cursor));
    company_close(&c);
    company_close(&other);
}

static void a_wait_ends_with_a_save_of_the_coordinator(void) { wait_for_a_save(true); }
static void a_wait_ends_with_a_save_of_another_coordinator(void) { wait_for_a_save(false); }

static void a_wait_ends_at_its_timeout(void) {
    struct company c = open_history(check_path("a.sqlite"));
    hire(&c, "Ada", 1);
    cst_history_cursor *cursor = read_with(&c, NULL);
    next(cursor);
    CHECK(at_end(cursor));
    OK(cst_history_cursor_wait(cursor, 0, E));
    CHECK(at_end(cursor));
    const long start = now_ms();
    CHECK_STATUS(CST_END, cst_history_cursor_wait(cursor, 50, E));
    CHECK(now_ms() - start >= 45);
    CHECK_STATUS(CST_END, cst_history_cursor_wait(cursor, 0, E));
    hire(&c, "Bob", 2);
    OK(cst_history_cursor_wait(cursor, 30000, E));
    CHECK_INT(2, next(cursor)->number);
    OK(cst_release(cursor));
    company_close(&c);
}

static void a_wait_is_cancelled_by_another_thread(void) {
    struct company c = open_history(check_path("a.sqlite"));
    cst_history_cursor *cursor = read_with(&c, NULL);
    CHECK(at_end(cursor));
    OK(cst_history_cursor_wait(cursor, 0, E));
    CHECK(at_end(cursor));
    struct later later = {&c, cursor, 20};
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, cancel_later, &later) == 0);
    CHECK_STATUS(CST_E_CANCELLED, cst_history_cursor_wait(cursor, -1, E));
    pthread_join(thread, NULL);
    CHECK_STATUS(CST_E_CANCELLED, cst_history_cursor_wait(cursor, 1000, E));
    CHECK(at_end(cursor));
    CHECK_STATUS(CST_E_CANCELLED, cst_history_cursor_wait(cursor, -1, E));
    hire(&c, "Ada", 1);
    CHECK_INT(1, next(cursor)->number); /* it can still be read */
    OK(cst_history_cursor_cancel(cursor, E));
    OK(cst_release(cursor));
    /* Before the first wait. */
    cursor = read_with(&c, NULL);
    OK(cst_history_cursor_cancel(cursor, E));
    for (int i = 0; i < 2; i++) {
        const cst_status status = cst_history_cursor_wait(cursor, 20000, E);
        CHECK(status == CST_E_CANCELLED || (i == 0 && status == CST_OK));
    }
    OK(cst_release(cursor));
    company_close(&c);
}

static bool is_readable(int descriptor, int milliseconds) {
    struct pollfd entry = {descriptor, POLLIN, 0};
    return poll(&entry, 1, milliseconds) == 1 && (entry.revents & POLLIN);
}

static void a_descriptor_is_readable_while_transactions_may_be_unread(void) {
    const char *path = check_path("a.sqlite");
    struct company c = open_history(path), other = open_history(path);
    cst_history_cursor *cursor = read_with(&c, NULL);
    int32_t descriptor = -7, same = -7;
    OK(cst_history_cursor_descriptor(cursor, &descriptor, E));
    OK(cst_history_cursor_descriptor(cursor, &same, E));
    CHECK(descriptor >= 0 && descriptor == same);
    CHECK(is_readable(descriptor, 0));
    CHECK(at_end(cursor));
    CHECK(!is_readable(descriptor, 0));
    hire(&c, "Ada", 1);
    CHECK(is_readable(descriptor, 30000));
    CHECK_INT(1, next(cursor)->number);
    while (is_readable(descriptor, 200))
        CHECK(at_end(cursor)); /* the watcher may report a write late */
    hire(&other, "Bob", 2);
    CHECK(is_readable(descriptor, 30000));
    while (cst_history_cursor_wait(cursor, 30000, E) == CST_OK) {
        const cst_history_transaction *t = NULL;
        if (cst_history_cursor_next(cursor, &t, E) != CST_OK) continue;
        CHECK_INT(2, t->number);
        break;
    }
    OK(cst_history_cursor_cancel(cursor, E));
    CHECK(is_readable(descriptor, 0));
    OK(cst_release(cursor));
    company_close(&c);
    company_close(&other);
}

/* ---- present values */

static cst_value value_of(cst_history_cursor *cursor, size_t change, const char *property) {
    cst_value value = value_null();
    OK(cst_history_cursor_copy_value(cursor, change, text(property), &value, E));
    return value;
}

static void changed_objects_have_their_current_values(void) {
    struct company c = open_history(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1), *bob = company_employee(&c, c.context, "Bob", 2);
    set(bob, c.manager, value_object(ada));
    save(c.context);
    set(ada, c.notes, value_text("first"));
    save(c.context);
    set(ada, c.notes, value_text("second"));
    set(ada, c.level, value_int(7));
    save(c.context);
    cst_object *eve = company_employee(&c, c.context, "Eve", 3);
    save(c.context);
    OK(cst_context_delete(c.context, eve, E));
    save(c.context);
    cst_object_id *ada_id = id_of(ada), *bob_id = id_of(bob);
    cst_history_cursor *cursor = read_with(&c, NULL);
    next(cursor);
    for (size_t i = 0; i < 2; i++) {
        cst_object_id *id = NULL;
        OK(cst_history_cursor_copy_object_id(cursor, i, &id, E));
        const bool is_ada = cst_object_id_equal(id, ada_id);
        cst_value value = value_of(cursor, i, "name");
        CHECK_TEXT(is_ada ? "Ada" : "Bob", value.as.string);
        cst_value_dispose(&value);
        value = value_of(cursor, i, "notes"); /* newer than the transaction */
        CHECK_INT(is_ada ? CST_STRING : CST_NULL, value.type);
        if (is_ada) CHECK_TEXT("second", value.as.string);
        cst_value_dispose(&value);
        value = value_of(cursor, i, "manager");
        CHECK_INT(is_ada ? CST_NULL : CST_OBJECT_ID, value.type);
        if (!is_ada) CHECK(cst_object_id_equal(value.as.object_id, ada_id));
        cst_value_dispose(&value);
        value = value_of(cursor, i, "reports");
        CHECK_INT(CST_ARRAY, value.type);
        CHECK_INT(is_ada ? 1 : 0, value.as.values.size);
        if (is_ada) {
            CHECK_INT(CST_OBJECT_ID, value.as.values.data[0].type);
            CHECK(cst_object_id_equal(value.as.values.data[0].as.object_id, bob_id));
        }
        cst_value_dispose(&value);
        OK(cst_release(id));
    }
    cst_value value = value_int(3);
    CHECK_STATUS(CST_NOT_FOUND, cst_history_cursor_copy_value(cursor, 0, text("nothing"), &value, E));
    CHECK_INT(CST_NULL, value.type);
    CHECK_STATUS(CST_NOT_FOUND, cst_history_cursor_copy_value(cursor, 0, text("scratch"), &value, E)); /* transient */
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_history_cursor_copy_value(cursor, 2, text("name"), &value, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_history_cursor_copy_value(cursor, SIZE_MAX, text("name"), &value, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_history_cursor_copy_value(cursor, 0, text("name"), NULL, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_history_cursor_copy_value(cursor, 0, (cst_string){NULL, 0}, &value, E));
    CHECK_STATUS(CST_E_INVALID_UTF8, cst_history_cursor_copy_value(cursor, 0, text("\xff"), &value, E));
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_history_cursor_copy_value(NULL, 0, text("name"), &value, E));
    next(cursor); /* an update has the properties that it changed */
    value = value_of(cursor, 0, "notes");
    CHECK_TEXT("second", value.as.string);
    cst_value_dispose(&value);
    CHECK_STATUS(CST_NOT_FOUND, cst_history_cursor_copy_value(cursor, 0, text("level"), &value, E));
    CHECK_STATUS(CST_NOT_FOUND, cst_history_cursor_copy_value(cursor, 0, text("name"), &value, E));
    next(cursor);
    value = value_of(cursor, 0, "level");
    CHECK_INT(7, value.as.integer);
    cst_value_dispose(&value);
    next(cursor); /* deleted since */
    CHECK_STATUS(CST_NOT_FOUND, cst_history_cursor_copy_value(cursor, 0, text("name"), &value, E));
    next(cursor);
    CHECK_STATUS(CST_NOT_FOUND, cst_history_cursor_copy_value(cursor, 0, text("name"), &value, E));
    CHECK(at_end(cursor));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_history_cursor_copy_value(cursor, 0, text("name"), &value, E));
    OK(cst_release(cursor));
    OK(cst_release(ada_id));
    OK(cst_release(bob_id));
    OK(cst_release(ada));
    OK(cst_release(bob));
    OK(cst_release(eve));
    company_close(&c);
}

/* ---- following */

struct followed {
    atomic_int calls, ended, destroyed, running;
    int64_t last, token;
    int fails_at;
    int64_t code;
    cst_status status;
    const struct company *company;
};

static cst_status follow(void *userdata, cst_history_cursor *cursor, const cst_history_transaction *transaction,
                         cst_error **error) {
    struct followed *followed = userdata;
    CHECK_INT(1, ++followed->running); /* one call at a time */
    CHECK_INT(followed->last + 1, transaction->number);
    CHECK(transaction->change_count > 0 && transaction->changes[0].entity != NULL);
    followed->last = transaction->number;
    cst_history_token *token = NULL;
    cst_object_id *id = NULL;
    cst_value name = value_null();
    CHECK_STATUS(CST_OK, cst_history_cursor_copy_token(cursor, &token, E));
    CHECK_STATUS(CST_OK, cst_history_token_transaction(token, transaction->store_identifier, &followed->token, E));
    CHECK_INT(transaction->number, followed->token);
    CHECK_STATUS(CST_OK, cst_history_cursor_copy_object_id(cursor, 0, &id, E));
    CHECK(cst_history_cursor_copy_value(cursor, 0, text("name"), &name, E) >= 0);
    cst_value_dispose(&name);
    cst_release(id);
    cst_release(token);
    followed->running--;
    if (++followed->calls != followed->fails_at) return CST_OK;
    return cst_error_new_custom(text("App"), 42, text("enough"), NULL, NULL, error) == CST_OK ? CST_E_CALLBACK
                                                                                              : CST_E_INTERNAL;
}

static void note_end(void *userdata, const cst_error *error) {
    struct followed *followed = userdata;
    followed->code = cst_error_code(error);
    followed->status = cst_error_status(error);
    followed->ended++;
}

static void note_destroyed(void *userdata) { ((struct followed *)userdata)->destroyed++; }

static cst_observation *begin(const struct company *c, const cst_history_options *options, struct followed *followed) {
    cst_observation *observation = NULL;
    OK(cst_coordinator_follow_history(c->coordinator, options, follow, note_end, followed, note_destroyed, &observation,
                                      E));
    return observation;
}

static void following_delivers_every_transaction(void) {
    const char *path = check_path("a.sqlite");
    struct company c = open_history(path), other = open_history(path);
    hire(&c, "Ada", 1);
    hire(&c, "Bob", 2);
    struct followed followed = {0};
    cst_observation *observation = begin(&c, NULL, &followed);
    CHECK(reaches(&followed.calls, 2));
    for (int i = 3; i <= 12; i++) {
        hire(i % 2 ? &c : &other, "Eve", i);
        if (i % 3 == 0) CHECK(reaches(&followed.calls, i));
    }
    CHECK(reaches(&followed.calls, 12));
    CHECK_INT(12, followed.last);
    CHECK_INT(0, followed.ended);
    OK(cst_observation_cancel(observation, E));
    hire(&c, "Max", 13);
    OK(cst_release(observation));
    CHECK(reaches(&followed.destroyed, 1));
    usleep(20000);
    CHECK_INT(12, followed.calls);
    CHECK_INT(1, followed.destroyed);
    CHECK_INT(0, followed.ended); /* it was the program that ended it */
    /* A part, from a token on. */
    followed = (struct followed){.last = 10};
    cst_history_token *tenth = token_at(&c, 10);
    cst_history_options options = all();
    options.after = tenth;
    observation = begin(&c, &options, &followed);
    CHECK(reaches(&followed.calls, 3));
    CHECK_INT(13, followed.last);
    OK(cst_release(observation));
    CHECK(reaches(&followed.destroyed, 1));
    OK(cst_release(tenth));
    company_close(&c);
    company_close(&other);
}

static void following_ends_when_the_callback_fails(void) {
    struct company c = open_history(check_path("a.sqlite"));
    fill(&c);
    struct followed followed = {.fails_at = 3};
    cst_observation *observation = begin(&c, NULL, &followed);
    CHECK(reaches(&followed.ended, 1));
    CHECK_INT(3, followed.calls);
    CHECK_INT(CST_E_CALLBACK, followed.status);
    hire(&c, "Max", 9);
    usleep(20000);
    CHECK_INT(3, followed.calls);
    CHECK_INT(1, followed.ended);
    OK(cst_release(observation));
    CHECK(reaches(&followed.destroyed, 1));
    company_close(&c);
}

static void following_from_an_expired_token_is_refused(void) {
    struct company c = open_history(check_path("a.sqlite"));
    fill(&c);
    cst_history_token *fourth = token_at(&c, 4), *first = token_at(&c, 1);
    CHECK_INT(3, delete_before(&c, fourth));
    struct followed followed = {0};
    cst_history_options options = all();
    cst_observation *observation = NULL;
    options.after = first;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_coordinator_follow_history(c.coordinator, &options, follow, note_end,
                                                                        &followed, note_destroyed, &observation, E));
    CHECK_INT(CST_CODE_PERSISTENT_HISTORY_TOKEN_EXPIRED, cst_error_code(check_error()));
    CHECK_INT(1, followed.destroyed); /* before the call returns */
    CHECK_INT(0, followed.ended + followed.calls);
    CHECK(observation == NULL);
    OK(cst_release(fourth));
    OK(cst_release(first));
    company_close(&c);
}

static void following_is_destroyed_after_its_coordinator_is_closed(void) {
    struct company c = open_history(check_path("a.sqlite"));
    hire(&c, "Ada", 1);
    struct followed followed = {0};
    cst_observation *observation = begin(&c, NULL, &followed);
    CHECK(reaches(&followed.calls, 1));
    OK(cst_coordinator_close(c.coordinator, CST_UNSAVED_REFUSE, E));
    company_close(&c);
    OK(cst_release(observation));
    CHECK(reaches(&followed.destroyed, 1));
    CHECK(followed.ended <= 1);
}

static void invalid_arguments_of_following_are_refused(void) {
    struct company c = open_history(check_path("a.sqlite"));
    fill(&c);
    struct followed followed = {0};
    cst_observation *observation = NULL;
    cst_history_options options = all();
    cst_sort sort = {text("author"), 0, 0};
    int destroyed = 0;
#define REFUSED(status, coordinator, options, function)                                                                \
    CHECK_STATUS(status, cst_coordinator_follow_history(coordinator, options, function, note_end, &followed,           \
                                                        note_destroyed, &observation, E));                             \
    CHECK(observation == NULL);                                                                                        \
    CHECK_INT(++destroyed, followed.destroyed)
    REFUSED(CST_E_INVALID_HANDLE, NULL, NULL, follow);
    REFUSED(CST_E_INVALID_ARGUMENT, c.coordinator, NULL, NULL);
    options.limit = 1;
    REFUSED(CST_E_INVALID_ARGUMENT, c.coordinator, &options, follow);
    CHECK_TEXT("limit", cst_error_key(check_error()));
    options = all();
    options.sort = &sort;
    options.sort_count = 1;
    REFUSED(CST_E_INVALID_ARGUMENT, c.coordinator, &options, follow);
    options.struct_size = 1;
    REFUSED(CST_E_INVALID_ARGUMENT, c.coordinator, &options, follow);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_coordinator_follow_history(c.coordinator, NULL, follow, note_end,
                                                                        &followed, note_destroyed, NULL, E));
    CHECK_INT(destroyed + 1, followed.destroyed);
#undef REFUSED
    CHECK_INT(0, followed.calls);
    /* A sorted cursor cannot wait at its end. */
    options = all();
    options.sort = &sort;
    options.sort_count = 1;
    cst_history_cursor *sorted = read_with(&c, &options);
    int32_t descriptor = -1;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_history_cursor_wait(sorted, 0, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_history_cursor_descriptor(sorted, &descriptor, E));
    CHECK_INT(-1, descriptor);
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_history_cursor_wait(NULL, 0, E));
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_history_cursor_cancel(NULL, E));
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_history_cursor_descriptor(NULL, &descriptor, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_history_cursor_descriptor(sorted, NULL, E));
    OK(cst_release(sorted));
    /* Without functions to notify. */
    OK(cst_coordinator_follow_history(c.coordinator, NULL, follow, NULL, &followed, NULL, &observation, E));
    CHECK(reaches(&followed.calls, 6));
    OK(cst_release(observation));
    usleep(20000);
    company_close(&c);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(a_wait_ends_with_a_save_of_the_coordinator);
    RUN(a_wait_ends_with_a_save_of_another_coordinator);
    RUN(a_wait_ends_at_its_timeout);
    RUN(a_wait_is_cancelled_by_another_thread);
    RUN(a_descriptor_is_readable_while_transactions_may_be_unread);
    RUN(changed_objects_have_their_current_values);
    RUN(following_delivers_every_transaction);
    RUN(following_ends_when_the_callback_fails);
    RUN(following_from_an_expired_token_is_refused);
    RUN(following_is_destroyed_after_its_coordinator_is_closed);
    RUN(invalid_arguments_of_following_are_refused);
    return check_end();
}
