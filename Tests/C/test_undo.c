/* Undo: steps that contexts record, groups, and actions of the host's.
 *
 * SPDX-License-Identifier: MIT
 */
#include "company.h"

#include <string.h>

static cst_undo_manager *manager;
static int destroyed, number;

static struct company begin(void) {
    struct company c = company_open(check_path("s.sqlite"));
    OK(cst_undo_manager_new(&manager, E));
    OK(cst_context_set_undo_manager(c.context, manager, E));
    destroyed = number = 0;
    return c;
}

static void end(struct company *c) {
    OK(cst_release(manager));
    company_close(c);
}

static cst_undo_state undo_state(void) {
    cst_undo_state state = CST_UNDO_STATE_INIT;
    OK(cst_undo_manager_state(manager, &state, E));
    return state;
}

static void changes_are_undone_and_redone(void) {
    struct company c = begin();
    cst_undo_manager *same = NULL;
    OK(cst_context_copy_undo_manager(c.context, &same, E));
    CHECK(same == manager);
    OK(cst_release(same));
    CHECK_STATUS(CST_UNCHANGED, cst_context_undo(c.context, E));
    cst_object *ada = company_employee(&c, c.context, "Ada", 36);
    CHECK(undo_state().can_undo);
    OK(cst_context_undo(c.context, E));
    CHECK(!has_changes(c.context));
    cst_value value = {0};
    CHECK_STATUS(CST_E_OBJECT_GONE, cst_object_get(ada, c.name, &value, E));
    OK(cst_context_redo(c.context, E));
    /* The handle stands for the same object as before. */
    CHECK_TEXT("Ada", get_text(ada, c.name));
    CHECK_STATUS(CST_UNCHANGED, cst_context_redo(c.context, E));
    save(c.context);
    set(ada, c.name, value_text("Eve"));
    OK(cst_context_undo(c.context, E));
    CHECK_TEXT("Ada", get_text(ada, c.name));
    CHECK(!has_changes(c.context));
    OK(cst_context_delete(c.context, ada, E));
    save(c.context);
    OK(cst_context_undo(c.context, E));
    CHECK_TEXT("Ada", get_text(ada, c.name));
    CHECK(state(ada) & CST_OBJECT_INSERTED);
    save(c.context);
    OK(cst_context_set_undo_manager(c.context, NULL, E));
    OK(cst_context_copy_undo_manager(c.context, &same, E));
    CHECK(same == NULL);
    CHECK(!undo_state().can_undo);
    OK(cst_release(ada));
    end(&c);
}

static void count_end(void *userdata) {
    (void)userdata;
    destroyed++;
}

static int numbers[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};

static cst_status set_number(void *userdata, cst_error **error) {
    int old = number;
    number = *(int *)userdata;
    return cst_undo_manager_register(manager, &number, set_number, &numbers[old], count_end, error);
}

static cst_status refuse(void *userdata, cst_error **error) {
    (void)userdata;
    cst_error_new_custom(text("App"), 7, text("not today"), NULL, NULL, error);
    return CST_E_CALLBACK;
}

static void actions_of_the_host_are_run(void) {
    struct company c = begin();
    OK(set_number(&numbers[1], E));
    OK(cst_undo_manager_undo(manager, E));
    CHECK_INT(0, number);
    CHECK_INT(1, destroyed);
    OK(cst_undo_manager_redo(manager, E));
    CHECK_INT(1, number);
    OK(cst_undo_manager_register(manager, NULL, refuse, NULL, count_end, E));
    CHECK_STATUS(CST_E_CALLBACK, cst_undo_manager_undo(manager, E));
    CHECK_CONTAINS("not today", cst_error_message(check_error()));
    CHECK(!undo_state().is_undoing);
    OK(cst_undo_manager_undo(manager, E));
    CHECK_INT(0, number);
    OK(set_number(&numbers[2], E));
    OK(cst_undo_manager_remove_target(manager, &number, E));
    CHECK_STATUS(CST_UNCHANGED, cst_undo_manager_undo(manager, E));
    int before = destroyed;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_undo_manager_register(manager, NULL, NULL, NULL, count_end, E));
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_undo_manager_register(NULL, NULL, refuse, NULL, count_end, E));
    CHECK_INT(before + 2, destroyed);
    OK(set_number(&numbers[3], E));
    end(&c);
    CHECK_INT(before + 3, destroyed);
}

static void groups_have_names_and_levels(void) {
    struct company c = begin();
    cst_buffer title = {0};
    for (int i = 1; i <= 3; i++) {
        OK(cst_undo_manager_begin_group(manager, E));
        OK(cst_undo_manager_set_action_name(manager, text("Count"), E));
        CHECK_INT(1, (int)undo_state().grouping_level);
        OK(set_number(&numbers[i], E));
        OK(cst_undo_manager_end_group(manager, E));
    }
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_undo_manager_end_group(manager, E));
    OK(cst_undo_manager_copy_text(manager, CST_UNDO_TITLE, &title, E));
    CHECK_TEXT("Undo Count", text_of_size(title.data, title.size));
    OK(cst_undo_manager_copy_text(manager, CST_REDO_NAME, &title, E));
    CHECK_INT(0, (int)title.size);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_undo_manager_copy_text(manager, 4, &title, E));
    OK(cst_undo_manager_set_levels(manager, 2, E));
    CHECK_INT(2, (int)undo_state().levels);
    OK(cst_undo_manager_undo_nested(manager, E));
    OK(cst_undo_manager_undo(manager, E));
    CHECK_STATUS(CST_UNCHANGED, cst_undo_manager_undo(manager, E));
    CHECK_INT(1, number);
    OK(cst_undo_manager_disable(manager, E));
    CHECK(!undo_state().is_enabled);
    OK(set_number(&numbers[9], E));
    OK(cst_undo_manager_enable(manager, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_undo_manager_enable(manager, E));
    CHECK(!undo_state().can_undo && undo_state().can_redo);
    OK(cst_undo_manager_remove_all(manager, E));
    CHECK(!undo_state().can_redo);
    OK(cst_undo_manager_set_groups_by_event(manager, false, E));
    CHECK(!undo_state().groups_by_event);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, set_number(&numbers[4], E));
    cst_buffer_dispose(&title);
    end(&c);
}

static uint32_t heard;

static void hear(void *userdata, cst_undo_manager *which, uint32_t notification) {
    (void)userdata;
    CHECK(which == manager);
    heard = notification;
}

static void notifications_are_told(void) {
    struct company c = begin();
    cst_observation *observation = NULL;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_undo_manager_observe(manager, 99, hear, NULL, NULL, &observation, E));
    OK(cst_undo_manager_observe(manager, CST_UNDO_DID_UNDO, hear, NULL, count_end, &observation, E));
    cst_object *ada = company_employee(&c, c.context, "Ada", 36);
    OK(cst_context_undo(c.context, E));
    CHECK_INT(CST_UNDO_DID_UNDO, heard);
    heard = 0;
    OK(cst_observation_cancel(observation, E));
    OK(cst_release(observation));
    CHECK_INT(1, destroyed);
    OK(cst_context_redo(c.context, E));
    CHECK_INT(0, heard);
    OK(cst_release(ada));
    end(&c);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(changes_are_undone_and_redone);
    RUN(actions_of_the_host_are_run);
    RUN(groups_have_names_and_levels);
    RUN(notifications_are_told);
    return check_end();
}
