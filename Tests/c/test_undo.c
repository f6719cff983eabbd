/* Undo: steps that contexts record, groups, and actions of the host.
 *
 * SPDX-License-Identifier: MIT
 */
#include "company.h"

#include <stdio.h>
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
    /* The handle refers to the same object as before. */
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

static void registered_actions_are_undone_and_redone(void) {
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

static void undo_groups_have_names_and_levels(void) {
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

static uint32_t last_notification;

static void record_notification(void *userdata, cst_undo_manager *which, uint32_t notification) {
    (void)userdata;
    CHECK(which == manager);
    last_notification = notification;
}

static void undo_observers_are_notified(void) {
    struct company c = begin();
    cst_observation *observation = NULL;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT,
                 cst_undo_manager_observe(manager, 99, record_notification, NULL, NULL, &observation, E));
    OK(cst_undo_manager_observe(manager, CST_UNDO_DID_UNDO, record_notification, NULL, count_end, &observation, E));
    cst_object *ada = company_employee(&c, c.context, "Ada", 36);
    OK(cst_context_undo(c.context, E));
    CHECK_INT(CST_UNDO_DID_UNDO, last_notification);
    last_notification = 0;
    OK(cst_observation_cancel(observation, E));
    OK(cst_release(observation));
    CHECK_INT(1, destroyed);
    OK(cst_context_redo(c.context, E));
    CHECK_INT(0, last_notification);
    OK(cst_release(ada));
    end(&c);
}

static void expect_words(uint32_t which, const char *expected) {
    cst_buffer found = {0};
    OK(cst_undo_manager_copy_text(manager, which, &found, E));
    CHECK_TEXT(expected, text_of_size(found.data, found.size));
    cst_buffer_dispose(&found);
}

static void titles_describe_the_next_undo_and_redo_steps(void) {
    struct company c = begin();
    expect_words(CST_UNDO_NAME, "");
    expect_words(CST_REDO_NAME, "");
    expect_words(CST_UNDO_TITLE, "Undo");
    expect_words(CST_REDO_TITLE, "Redo");
    static const char *const names[] = {"First", "Second"};
    for (int i = 0; i < 2; i++) {
        OK(cst_undo_manager_begin_group(manager, E));
        OK(cst_undo_manager_set_action_name(manager, text(names[i]), E));
        OK(set_number(&numbers[i + 1], E));
        OK(cst_undo_manager_end_group(manager, E));
    }
    expect_words(CST_UNDO_NAME, "Second");
    expect_words(CST_UNDO_TITLE, "Undo Second");
    OK(cst_undo_manager_undo(manager, E));
    expect_words(CST_UNDO_NAME, "First");
    expect_words(CST_REDO_NAME, "Second");
    expect_words(CST_UNDO_TITLE, "Undo First");
    expect_words(CST_REDO_TITLE, "Redo Second");
    CHECK(undo_state().can_undo && undo_state().can_redo);
    OK(cst_undo_manager_redo(manager, E));
    expect_words(CST_UNDO_NAME, "Second");
    expect_words(CST_REDO_NAME, "");
    CHECK_STATUS(CST_UNCHANGED, cst_undo_manager_redo(manager, E));
    end(&c);
}

static cst_undo_state seen;

static cst_status look(void *userdata, cst_error **error) {
    (void)userdata, (void)error;
    seen = undo_state();
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_undo_manager_undo(manager, NULL));
    return cst_undo_manager_register(manager, NULL, look, NULL, count_end, error);
}

static void undo_state_describes_the_manager(void) {
    struct company c = begin();
    cst_undo_state state = undo_state();
    CHECK_INT(sizeof state, state.struct_size);
    CHECK(!state.can_undo && !state.can_redo && !state.is_undoing && !state.is_redoing);
    CHECK(state.is_enabled && state.groups_by_event);
    CHECK_INT(0, state.levels);
    CHECK_INT(0, state.grouping_level);
    OK(cst_undo_manager_register(manager, NULL, look, NULL, count_end, E));
    CHECK_INT(1, undo_state().grouping_level); /* the group was opened automatically */
    OK(cst_undo_manager_undo(manager, E));
    CHECK(seen.is_undoing && !seen.is_redoing);
    CHECK(undo_state().can_redo && !undo_state().can_undo);
    OK(cst_undo_manager_redo(manager, E));
    CHECK(!seen.is_undoing && seen.is_redoing);
    CHECK(undo_state().can_undo && !undo_state().can_redo);
    CHECK(!undo_state().is_undoing && !undo_state().is_redoing);
    OK(cst_undo_manager_disable(manager, E));
    OK(cst_undo_manager_disable(manager, E));
    OK(cst_undo_manager_enable(manager, E));
    CHECK(!undo_state().is_enabled); /* as often as it was disabled */
    OK(cst_undo_manager_enable(manager, E));
    CHECK(undo_state().is_enabled);
    OK(cst_undo_manager_begin_group(manager, E));
    OK(cst_undo_manager_begin_group(manager, E));
    const size_t deep = undo_state().grouping_level;
    OK(cst_undo_manager_end_group(manager, E));
    CHECK_INT(deep - 1, undo_state().grouping_level);
    OK(cst_undo_manager_end_group(manager, E));
    OK(cst_undo_manager_set_groups_by_event(manager, false, E));
    CHECK(!undo_state().groups_by_event);
    OK(cst_undo_manager_set_groups_by_event(manager, true, E));
    CHECK(undo_state().groups_by_event);
    OK(cst_undo_manager_set_levels(manager, 3, E));
    CHECK_INT(3, undo_state().levels);
    OK(cst_undo_manager_set_levels(manager, SIZE_MAX, E));
    CHECK_INT(0, undo_state().levels); /* as good as no limit */

    cst_undo_state part;
    memset(&part, 0x5a, sizeof part);
    part.struct_size = offsetof(cst_undo_state, levels);
    OK(cst_undo_manager_state(manager, &part, E));
    CHECK(part.is_enabled && part.groups_by_event);
    CHECK(part.levels == (size_t)0x5a5a5a5a5a5a5a5a);
    part.struct_size = 0;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_undo_manager_state(manager, &part, E));
    end(&c);
}

static void actions_of_one_target_can_be_removed(void) {
    struct company c = begin();
    int other = 0;
    OK(set_number(&numbers[1], E)); /* its target is `number` */
    OK(cst_undo_manager_register(manager, &other, refuse, NULL, count_end, E));
    OK(cst_undo_manager_register(manager, NULL, refuse, NULL, count_end, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_undo_manager_remove_target(manager, NULL, E));
    CHECK_INT(0, destroyed);
    OK(cst_undo_manager_remove_target(manager, &other, E));
    CHECK_INT(1, destroyed);
    CHECK_STATUS(CST_E_CALLBACK, cst_undo_manager_undo(manager, E)); /* the one without a target is still there */
    OK(cst_undo_manager_undo(manager, E));
    CHECK_INT(0, number);
    OK(cst_undo_manager_disable(manager, E));
    OK(cst_undo_manager_remove_all(manager, E));
    CHECK(undo_state().is_enabled); /* that enables it, too */
    CHECK(!undo_state().can_redo);
    end(&c);
}

static char order[64];

static void record_order(void *userdata, cst_undo_manager *which, uint32_t notification) {
    (void)userdata, (void)which;
    snprintf(order + strlen(order), sizeof order - strlen(order), "%u ", notification);
}

static void undo_notifications_are_posted_in_order(void) {
    struct company c = begin();
    cst_observation *observations[CST_UNDO_DID_REDO] = {NULL}, *none = NULL;
    for (uint32_t kind = CST_UNDO_DID_OPEN_GROUP; kind <= CST_UNDO_DID_REDO; kind++)
        OK(cst_undo_manager_observe(manager, kind, record_order, NULL, NULL, &observations[kind - 1], E));
    order[0] = 0;
    OK(cst_undo_manager_begin_group(manager, E));
    OK(set_number(&numbers[1], E));
    OK(cst_undo_manager_end_group(manager, E));
    const size_t grouped = strlen(order);
    CHECK(strstr(order, "2 ") == order && strstr(order, "3 4 ") != NULL);
    OK(cst_undo_manager_undo(manager, E));
    CHECK(strstr(order + grouped, "5 ") != NULL && strstr(order + grouped, "6 ") > strstr(order + grouped, "5 "));
    CHECK(strstr(order + grouped, "7 ") == NULL);
    const size_t undone = strlen(order);
    OK(cst_undo_manager_redo(manager, E));
    CHECK(strstr(order + undone, "7 ") != NULL && strstr(order + undone, "8 ") > strstr(order + undone, "7 "));
    CHECK(strstr(order + undone, "5 ") == NULL);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT,
                 cst_undo_manager_observe(manager, 0, record_notification, NULL, NULL, &none, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT,
                 cst_undo_manager_observe(manager, 9, record_notification, NULL, NULL, &none, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT,
                 cst_undo_manager_observe(manager, CST_UNDO_DID_UNDO, NULL, NULL, count_end, &none, E));
    CHECK_INT(1, destroyed - 2); /* the action that was undone and the one that was redone */
    for (uint32_t kind = CST_UNDO_DID_OPEN_GROUP; kind <= CST_UNDO_DID_REDO; kind++)
        OK(cst_release(observations[kind - 1]));
    end(&c);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(changes_are_undone_and_redone);
    RUN(registered_actions_are_undone_and_redone);
    RUN(undo_groups_have_names_and_levels);
    RUN(undo_observers_are_notified);
    RUN(titles_describe_the_next_undo_and_redo_steps);
    RUN(undo_state_describes_the_manager);
    RUN(actions_of_one_target_can_be_removed);
    RUN(undo_notifications_are_posted_in_order);
    return check_end();
}
