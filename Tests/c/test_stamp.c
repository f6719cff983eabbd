/* Change stamps of objects, and access that does not wait.
 *
 * SPDX-License-Identifier: MIT
 */
#include "company.h"

#include <pthread.h>
#include <string.h>

static cst_object_stamp stamp_of(const cst_object *object) {
    cst_object_stamp stamp = CST_OBJECT_STAMP_INIT;
    OK(cst_object_get_stamp(object, &stamp, E));
    CHECK(stamp.changes != NULL && stamp.thread != NULL);
    return stamp;
}

static void every_change_has_another_stamp(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    const cst_object_stamp stamp = stamp_of(ada);
    CHECK(*stamp.thread == cst_thread_id());
    uint32_t last = *stamp.changes;
#define CHANGES(...)                                                                                                   \
    do {                                                                                                               \
        __VA_ARGS__;                                                                                                   \
        CHECK(*stamp.changes != last);                                                                                 \
        last = *stamp.changes;                                                                                         \
    } while (0)
    CHANGES(set(ada, c.number, value_int(2)));
    CHANGES(set(ada, c.number, value_int(3)));
    CHANGES(save(c.context));
    CHECK_INT(3, get_int(ada, c.number));
    CHECK(*stamp.changes == last);
    CHANGES(OK(cst_object_refresh(ada, false, E)));
    CHECK_INT(3, get_int(ada, c.number));
    CHECK(*stamp.changes == last); /* values of a fault are not cached, so firing it keeps the stamp */
    CHANGES(set(ada, c.number, value_int(4)));
    CHANGES(OK(cst_context_rollback(c.context, E)));
    CHANGES(OK(cst_context_delete(c.context, ada, E)));
    CHANGES(save(c.context));
    CHECK(*stamp_of(ada).thread != cst_thread_id());
    OK(cst_release(ada));
    company_close(&c);
}

static void values_in_memory_are_read_without_waiting(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    cst_object *dept = company_insert(&c, c.context, c.department, c.department_name, "R&D");
    set(ada, c.to_department, value_object(dept));
    save(c.context);
    cst_value value;
    OK(cst_object_try_get(ada, c.name, &value));
    CHECK_TEXT("Ada", value.as.string);
    OK(cst_object_try_get(ada, c.to_department, &value));
    CHECK(value.type == CST_OBJECT && value.as.object == dept);
    OK(cst_object_try_get(ada, c.notes, &value));
    CHECK_INT(CST_NULL, value.type);
    CHECK_STATUS(CST_NOT_FOUND, cst_object_try_get(ada, c.employees, &value)); /* a key of another entity */
    CHECK_STATUS(CST_NOT_FOUND, cst_object_try_get(ada, c.friends, &value));
    OK(cst_object_refresh(ada, false, E));
    CHECK_STATUS(CST_NOT_FOUND, cst_object_try_get(ada, c.name, &value)); /* the row must be read */
    CHECK(state(ada) & CST_OBJECT_FAULT);
    CHECK_TEXT("Ada", get_text(ada, c.name));
    OK(cst_object_try_get(ada, c.name, &value));

    /* The rows of fetched faults are in memory. */
    cst_context *other = company_context(&c, CST_QUEUE_CALLER);
    cst_results *found = company_fetch(other, c.employee, NULL, NULL);
    CHECK(state(object_at(found, 0)) & CST_OBJECT_FAULT);
    OK(cst_object_try_get(object_at(found, 0), c.name, &value));
    CHECK_TEXT("Ada", value.as.string);
    CHECK(!(state(object_at(found, 0)) & CST_OBJECT_FAULT));
    OK(cst_release(found));
    OK(cst_release(other));
    OK(cst_release(dept));
    OK(cst_release(ada));
    company_close(&c);
}

/* A target is not an attribute: a host reads it again each time, also if the stamp is unchanged. */
static void deleted_targets_are_not_read(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    cst_object *dept = company_insert(&c, c.context, c.department, c.department_name, "R&D");
    set(ada, c.to_department, value_object(dept));
    save(c.context);
    cst_value value;
    OK(cst_object_try_get(ada, c.to_department, &value));
    CHECK(value.type == CST_OBJECT && value.as.object == dept);
    OK(cst_object_try_get(ada, c.name, &value));
    const cst_object_stamp stamp = stamp_of(ada);
    uint32_t seen = *stamp.changes;

    OK(cst_context_delete(c.context, dept, E));
    save(c.context);
    cst_status status = cst_object_try_get(ada, c.to_department, &value);
    CHECK(status == CST_NOT_FOUND || (status == CST_OK && value.type == CST_NULL));
    CHECK_INT(CST_NULL, get(ada, c.to_department).type);
    if (*stamp.changes == seen) CHECK_TEXT("Ada", get_text(ada, c.name));
    OK(cst_release(dept));
    OK(cst_release(ada));
    company_close(&c);
}

static void values_are_set_without_waiting(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    save(c.context);
    CHECK(!has_changes(c.context));
    cst_value value = value_int(7);
    OK(cst_object_try_set(ada, c.number, &value));
    CHECK_INT(7, get_int(ada, c.number));
    CHECK(has_changes(c.context));
    OK(cst_object_try_set(ada, c.level, &value));
    CHECK_INT(7, get_int(ada, c.level));
    OK(cst_object_try_set(ada, c.rating, &value));
    CHECK(get(ada, c.rating).type == CST_DOUBLE && get(ada, c.rating).as.real == 7);
    value = value_int(70000);
    CHECK_STATUS(CST_UNCHANGED, cst_object_try_set(ada, c.level, &value));
    CHECK_STATUS(CST_UNCHANGED, cst_object_try_set(ada, c.name, &value));
    value = value_null();
    OK(cst_object_try_set(ada, c.number, &value));
    CHECK_INT(CST_NULL, get(ada, c.number).type);
    value = (cst_value){.type = CST_STRING, .as.string = {"\xFF", 1}};
    CHECK_STATUS(CST_E_INVALID_UTF8, cst_object_try_set(ada, c.name, &value));
    CHECK_TEXT("Ada", get_text(ada, c.name));
    OK(cst_context_rollback(c.context, E));
    CHECK_INT(1, get_int(ada, c.number));
    OK(cst_release(ada));
    company_close(&c);
}

struct use {
    cst_object *object;
    cst_key key;
    uint64_t thread;
};

static void *use_on_another_thread(void *argument) {
    struct use *use = argument;
    cst_value value = value_int(1);
    use->thread = cst_thread_id();
    CHECK_STATUS(CST_E_WRONG_THREAD, cst_object_try_get(use->object, use->key, &value));
    CHECK_STATUS(CST_E_WRONG_THREAD, cst_object_try_set(use->object, use->key, &value));
    CHECK(*stamp_of(use->object).thread != use->thread);
    return NULL;
}

static void mistakes_are_failures(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    cst_value value = value_int(1);
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_object_try_get(NULL, c.name, &value));
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_object_try_set((cst_object *)c.context, c.name, &value));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_object_try_get(ada, c.name, NULL));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_object_try_set(ada, c.name, NULL));
    cst_object_stamp stamp = {0};
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_object_get_stamp(ada, &stamp, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_object_get_stamp(ada, NULL, E));
    struct {
        cst_object_stamp stamp;
        void *later;
    } longer = {{sizeof longer, 0, 0}, &c};
    OK(cst_object_get_stamp(ada, &longer.stamp, E));
    CHECK(longer.stamp.changes != NULL && longer.later == NULL);
    stamp.struct_size = sizeof stamp;
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_object_get_stamp((cst_object *)c.model, &stamp, E));

    pthread_t thread;
    struct use use = {ada, c.number, 0};
    CHECK(pthread_create(&thread, NULL, use_on_another_thread, &use) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(use.thread != 0 && use.thread != cst_thread_id());
    CHECK(cst_thread_id() == cst_thread_id());
    OK(cst_release(ada));
    company_close(&c);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(every_change_has_another_stamp);
    RUN(values_in_memory_are_read_without_waiting);
    RUN(deleted_targets_are_not_read);
    RUN(values_are_set_without_waiting);
    RUN(mistakes_are_failures);
    return check_end();
}
