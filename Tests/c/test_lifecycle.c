/* Lifecycle hooks: callbacks at insertion, fetch, save and deletion of objects.
 *
 * SPDX-License-Identifier: MIT
 */
#include "company.h"

#include <stdio.h>
#include <string.h>

enum kind { INSERT, FETCH, SAVE, SAVED, DELETION, FAULT, FAULTED, NIL, VALUE, OBJECT, KINDS };

static struct {
    int called[KINDS], destroyed;
    bool stamps, loops, fails, harms, leaves;
    cst_context *context;
    cst_object *held; /* released by the next hook */
    cst_key name, level;
} host;

static cst_status refuse(cst_error **error) {
    cst_error_new_custom(text("App"), 4711, text("the host says no"), NULL, NULL, error);
    return CST_E_CALLBACK;
}

/* Calls that would invalidate the operation that runs the hook. Each of them fails or is harmless. */
static void harm(cst_object *object) {
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_save(host.context, NULL));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_reset(host.context, NULL));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_rollback(host.context, NULL));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_refresh_all(host.context, NULL));
    cst_status status = cst_object_refresh(object, false, NULL);
    CHECK(status == CST_E_INVALID_ARGUMENT || status == CST_E_OBJECT_GONE);
}

static cst_status note(enum kind kind, cst_object *object, cst_error **error) {
    CHECK(object != NULL);
    host.called[kind]++;
    if (host.harms) harm(object);
    if (host.held) OK(cst_release(host.held));
    host.held = NULL;
    if (host.leaves) OK(cst_release(host.context));
    host.leaves = false;
    return host.fails ? refuse(error) : CST_OK;
}

static cst_status awake_from_insert(void *userdata, cst_object *object, cst_error **error) {
    CHECK(userdata == &host);
    cst_value value = value_int(18);
    OK(cst_object_set(object, host.level, &value, E));
    return note(INSERT, object, error);
}

static cst_status awake_from_fetch(void *userdata, cst_object *object, cst_error **error) {
    (void)userdata;
    return note(FETCH, object, error);
}

static cst_status will_save(void *userdata, cst_object *object, cst_error **error) {
    (void)userdata;
    cst_value value;
    OK(cst_object_get(object, host.level, &value, E));
    if (host.loops || (host.stamps && value.as.integer == 18)) {
        value = value_int(19);
        OK(cst_object_set(object, host.level, &value, E));
    }
    return note(SAVE, object, error);
}

static cst_status did_save(void *userdata, cst_object *object, cst_error **error) {
    (void)userdata;
    uint32_t state = 0;
    if (cst_object_state(object, &state, NULL) == CST_OK) CHECK_INT(0, state & CST_OBJECT_HAS_CHANGES);
    return note(SAVED, object, error);
}

static cst_status prepare_for_deletion(void *userdata, cst_object *object, cst_error **error) {
    (void)userdata;
    uint32_t state = 0;
    OK(cst_object_state(object, &state, E));
    CHECK_INT(0, state & CST_OBJECT_DELETED);
    return note(DELETION, object, error);
}

static cst_status will_turn_into_fault(void *userdata, cst_object *object, cst_error **error) {
    (void)userdata;
    cst_value value;
    OK(cst_object_get(object, host.name, &value, E));
    CHECK_INT(CST_STRING, value.type);
    return note(FAULT, object, error);
}

static cst_status did_turn_into_fault(void *userdata, cst_object *object, cst_error **error) {
    (void)userdata;
    return note(FAULTED, object, error);
}

static cst_status set_nil(void *userdata, cst_object *object, cst_string property, cst_error **error) {
    (void)userdata;
    CHECK_TEXT("level", property);
    cst_value value = value_int(-1);
    OK(cst_object_set(object, host.level, &value, E));
    return note(NIL, object, error);
}

static cst_status validate(void *userdata, cst_object *object, uint32_t purpose, cst_value *value, cst_error **error) {
    (void)userdata, (void)purpose;
    CHECK(value == NULL);
    OK(cst_object_validate(object, CST_VALIDATE_UPDATE | CST_VALIDATE_WITHOUT_HOOK, E));
    return note(OBJECT, object, error);
}

static cst_status validate_value(void *userdata, cst_object *object, cst_string property, uint32_t purpose,
                                 cst_value *value, cst_error **error) {
    (void)userdata, (void)purpose;
    CHECK_TEXT("name", property);
    if (value->type == CST_STRING && strcmp(value->as.string.data, "ada") == 0) value->as.string = text("Ada");
    return note(VALUE, object, error);
}

static void count_end(void *userdata) {
    CHECK(userdata == &host);
    host.destroyed++;
}

static cst_lifecycle_hooks hooks(void) {
    static cst_string validated[1];
    validated[0] = text("name");
    cst_lifecycle_hooks found = CST_LIFECYCLE_HOOKS_INIT;
    found.awake_from_insert = awake_from_insert;
    found.awake_from_fetch = awake_from_fetch;
    found.will_save = will_save;
    found.did_save = did_save;
    found.prepare_for_deletion = prepare_for_deletion;
    found.will_turn_into_fault = will_turn_into_fault;
    found.did_turn_into_fault = did_turn_into_fault;
    found.set_nil_value = set_nil;
    found.validate = validate;
    found.validate_value = validate_value;
    found.validated_count = 1;
    found.validated = validated;
    found.userdata = &host;
    found.destroy = count_end;
    return found;
}

static struct company begin(void) {
    struct company c = {0};
    c.model = company_model();
    memset(&host, 0, sizeof host);
    cst_entity *person = NULL;
    OK(cst_model_entity(c.model, text("Person"), &person, E));
    cst_lifecycle_hooks found = hooks();
    OK(cst_entity_set_lifecycle(person, &found, E));
    OK(cst_coordinator_new(c.model, &c.coordinator, E));
    OK(cst_coordinator_add_store(c.coordinator, text("SQLite"), text(check_path("s.sqlite")), NULL, &c.store, E));
    company_resolve(&c);
    c.context = host.context = company_context(&c, CST_QUEUE_CALLER);
    host.name = c.name;
    host.level = c.level;
    return c;
}

static cst_object *insert(struct company *c, const char *name) {
    cst_object *person = NULL;
    OK(cst_context_insert(c->context, c->employee, &person, E));
    set(person, c->name, value_text(name));
    return person;
}

static void hooks_are_called_in_lifecycle_order(void) {
    struct company c = begin();
    host.stamps = true;
    cst_object *ada = insert(&c, "ada");
    cst_value value;
    OK(cst_object_get(ada, c.level, &value, E));
    CHECK_INT(18, value.as.integer);
    save(c.context);
    OK(cst_object_get_committed(ada, c.level, &value, E));
    CHECK_INT(19, value.as.integer);
    OK(cst_object_get(ada, c.name, &value, E));
    CHECK_TEXT("Ada", value.as.string);
    CHECK_INT(1, host.called[INSERT]);
    CHECK_INT(1, host.called[SAVED]);
    CHECK_INT(0, host.called[FETCH]);
    OK(cst_object_refresh(ada, false, E));
    CHECK_INT(1, host.called[FAULT]);
    CHECK_INT(1, host.called[FAULTED]);
    OK(cst_object_get(ada, c.name, &value, E));
    OK(cst_object_get(ada, c.level, &value, E));
    CHECK_INT(1, host.called[FETCH]);
    set(ada, c.level, value_null());
    OK(cst_object_get(ada, c.level, &value, E));
    CHECK_INT(-1, value.as.integer);
    CHECK_INT(1, host.called[NIL]);
    OK(cst_context_delete(c.context, ada, E));
    CHECK_INT(1, host.called[DELETION]);
    save(c.context);
    CHECK_INT(2, host.called[SAVED]);
    OK(cst_release(ada));
    company_close(&c);
    CHECK_INT(1, host.destroyed);
}

static void hook_failures_return_the_error_of_the_host(void) {
    struct company c = begin();
    cst_object *ada = insert(&c, "Ada"), *none = NULL;
    save(c.context);
    host.fails = true;
    CHECK_STATUS(CST_E_CALLBACK, cst_context_insert(c.context, c.employee, &none, E));
    CHECK(none == NULL);
    CHECK_TEXT("App", cst_error_domain(check_error()));
    CHECK_INT(4711, cst_error_code(check_error()));
    CHECK_TEXT("the host says no", cst_error_message(check_error()));
    CHECK_TEXT("Employee", cst_error_entity(check_error()));
    CHECK_STATUS(CST_E_CALLBACK, cst_context_delete(c.context, ada, E));
    CHECK_STATUS(CST_E_CALLBACK, cst_object_refresh(ada, false, E));
    cst_value value;
    CHECK_STATUS(CST_E_CALLBACK, cst_object_get(ada, c.name, &value, E));
    CHECK_INT(CST_NULL, value.type);
    host.fails = false;
    OK(cst_object_get(ada, c.name, &value, E));
    host.fails = true;
    cst_value null = value_null();
    CHECK_STATUS(CST_E_CALLBACK, cst_object_set(ada, c.level, &null, E));
    bool is_changed = true;
    OK(cst_context_has_changes(c.context, &is_changed, E));
    CHECK(!is_changed);
    set(ada, c.level, value_int(3));
    CHECK_STATUS(CST_E_CALLBACK, cst_context_save(c.context, E));
    CHECK_INT(4711, cst_error_code(check_error()));
    CHECK_STATUS(CST_E_CALLBACK, cst_context_reset(c.context, E));
    CHECK_STATUS(CST_E_OBJECT_GONE, cst_object_get(ada, c.name, &value, E));
    OK(cst_release(ada));
    company_close(&c);
}

static void harmful_calls_in_hooks_are_refused(void) {
    struct company c = begin();
    host.harms = true;
    cst_object *ada = insert(&c, "ada");
    save(c.context);
    OK(cst_object_refresh(ada, false, E));
    cst_value value;
    OK(cst_object_get(ada, c.name, &value, E));
    CHECK_TEXT("Ada", value.as.string);
    OK(cst_context_delete(c.context, ada, E));
    save(c.context);
    for (int kind = 0; kind < NIL; kind++)
        CHECK(host.called[kind] > 0);
    OK(cst_release(ada));
    company_close(&c);
}

static void hooks_can_release_the_object_of_the_call(void) {
    struct company c = begin();
    cst_object *ada = insert(&c, "Ada");
    save(c.context);
    OK(cst_object_refresh(ada, false, E));
    host.held = ada;
    cst_value value;
    OK(cst_object_get(ada, c.name, &value, E));
    CHECK_TEXT("Ada", value.as.string);
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_object_get(ada, c.name, &value, E));
    ada = insert(&c, "Bo");
    host.held = ada;
    save(c.context);
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_object_refresh(ada, false, E));
    company_close(&c);
}

static void hooks_can_release_the_context(void) {
    struct company c = begin();
    cst_object *ada = insert(&c, "Ada"), *eve = insert(&c, "Eve");
    save(c.context);
    OK(cst_object_refresh(ada, false, E));
    host.held = ada;
    host.leaves = true;
    cst_value value;
    OK(cst_object_get(ada, c.name, &value, E));
    CHECK_TEXT("Ada", value.as.string);
    /* The other object retains the context. The next call of the context releases the rest. */
    bool changed = true;
    OK(cst_context_has_changes(c.context, &changed, E));
    CHECK(!changed);
    OK(cst_release(eve));
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_context_has_changes(c.context, &changed, E));
    c.context = company_context(&c, CST_QUEUE_CALLER);
    company_close(&c);
}

static void a_save_fails_when_hooks_keep_changing_objects(void) {
    struct company c = begin();
    host.loops = true;
    cst_object *ada = insert(&c, "Ada");
    CHECK_STATUS(CST_E_VALIDATION, cst_context_save(c.context, E));
    CHECK_INT(1000, host.called[SAVE]);
    CHECK_TEXT("Employee", cst_error_entity(check_error()));
    CHECK_TEXT("level", cst_error_key(check_error()));
    CHECK_CONTAINS("1000 attempts", cst_error_message(check_error()));
    OK(cst_release(ada));
    company_close(&c);
}

static void changes_are_ignored_while_tracking_is_disabled(void) {
    struct company c = begin();
    cst_object *ada = insert(&c, "Ada");
    save(c.context);
    bool changed = true;
    CHECK_STATUS(CST_UNCHANGED, cst_context_enable_tracking(c.context, E));
    OK(cst_context_disable_tracking(c.context, E));
    set(ada, c.level, value_int(7));
    OK(cst_context_enable_tracking(c.context, E));
    OK(cst_context_has_changes(c.context, &changed, E));
    CHECK(!changed);
    cst_value value;
    OK(cst_object_get(ada, c.level, &value, E));
    CHECK_INT(7, value.as.integer);
    OK(cst_release(ada));
    company_close(&c);
}

static void userdata_of_hooks_is_destroyed_once(void) {
    cst_model *model = company_model(), *copy = NULL;
    cst_entity *person = NULL;
    memset(&host, 0, sizeof host);
    OK(cst_model_entity(model, text("Person"), &person, E));
    cst_lifecycle_hooks found = hooks();
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_entity_set_lifecycle(NULL, &found, E));
    CHECK_INT(1, host.destroyed);
    OK(cst_entity_set_lifecycle(person, &found, E));
    OK(cst_entity_set_lifecycle(person, &found, E));
    CHECK_INT(2, host.destroyed);
    OK(cst_entity_set_lifecycle(person, NULL, E));
    CHECK_INT(3, host.destroyed);
    OK(cst_entity_set_lifecycle(person, &found, E));
    OK(cst_model_copy(model, &copy, E));
    OK(cst_release(model));
    CHECK_INT(3, host.destroyed);
    OK(cst_model_freeze(copy, E));
    OK(cst_model_entity(copy, text("Person"), &person, E));
    CHECK_STATUS(CST_E_MODEL, cst_entity_set_lifecycle(person, NULL, E));
    OK(cst_release(copy));
    CHECK_INT(4, host.destroyed);
}

static struct {
    char events[120], purposes[120];
    bool refuses;
} snapshots;

static cst_status note_events(void *userdata, cst_object *object, uint32_t events, cst_error **error) {
    (void)userdata, (void)error;
    CHECK(object != NULL);
    size_t used = strlen(snapshots.events);
    snprintf(snapshots.events + used, sizeof snapshots.events - used, "%u ", events);
    return CST_OK;
}

static void expect_events(const char *expected) {
    CHECK_TEXT(expected, text_of_size(snapshots.events, strlen(snapshots.events)));
    snapshots.events[0] = 0;
}

static struct company begin_with(const cst_lifecycle_hooks *found) {
    struct company c = {0};
    cst_entity *person = NULL;
    c.model = company_model();
    memset(&host, 0, sizeof host);
    memset(&snapshots, 0, sizeof snapshots);
    OK(cst_model_entity(c.model, text("Person"), &person, E));
    OK(cst_entity_set_lifecycle(person, found, E));
    OK(cst_coordinator_new(c.model, &c.coordinator, E));
    OK(cst_coordinator_add_store(c.coordinator, text("SQLite"), text(check_path("s.sqlite")), NULL, &c.store, E));
    company_resolve(&c);
    c.context = host.context = company_context(&c, CST_QUEUE_CALLER);
    return c;
}

static void snapshot_events_state_their_cause(void) {
    cst_lifecycle_hooks found = CST_LIFECYCLE_HOOKS_INIT;
    found.awake_from_snapshot_events = note_events;
    struct company c = begin_with(&found);
    cst_undo_manager *manager = NULL;
    OK(cst_undo_manager_new(&manager, E));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    save(c.context);
    expect_events("");
    set(ada, c.number, value_int(2));
    OK(cst_context_rollback(c.context, E));
    expect_events("16 ");
    set(ada, c.number, value_int(3));
    OK(cst_object_refresh(ada, true, E));
    expect_events("32 ");
    OK(cst_context_rollback(c.context, E));
    expect_events("16 ");
    OK(cst_context_set_undo_manager(c.context, manager, E));
    set(ada, c.number, value_int(4));
    OK(cst_context_undo(c.context, E));
    expect_events("8 ");
    OK(cst_context_delete(c.context, ada, E));
    OK(cst_context_process_pending_changes(c.context, E));
    OK(cst_context_undo(c.context, E));
    expect_events("4 ");
    OK(cst_release(manager));
    OK(cst_release(ada));
    company_close(&c);
}

static int nested, most_nested;

static cst_status insert_another(void *userdata, cst_object *object, cst_error **error) {
    (void)userdata, (void)object;
    cst_entity *employee = NULL;
    cst_object *next = NULL;
    if (++nested >= most_nested) return CST_OK;
    OK(cst_object_entity(object, &employee, E));
    cst_status status = cst_context_insert(host.context, employee, &next, error);
    cst_release(next);
    return status;
}

static void hooks_nest_up_to_100_levels(void) {
    cst_lifecycle_hooks found = CST_LIFECYCLE_HOOKS_INIT;
    found.awake_from_insert = insert_another;
    struct company c = begin_with(&found);
    cst_object *first = NULL;
    nested = 0, most_nested = 100;
    OK(cst_context_insert(c.context, c.employee, &first, E));
    CHECK_INT(100, nested);
    OK(cst_release(first));
    OK(cst_context_rollback(c.context, E));
    nested = 0, most_nested = 101;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_insert(c.context, c.employee, &first, E));
    CHECK_CONTAINS("nested more than 100 levels deep", cst_error_message(check_error()));
    CHECK_TEXT("Employee", cst_error_entity(check_error()));
    CHECK(cst_error_object_uri(check_error()).data != NULL);
    CHECK_INT(100, nested);
    CHECK(!has_changes(c.context));
    company_close(&c);
}

static void tracking_resumes_when_every_disable_call_is_balanced(void) {
    cst_lifecycle_hooks found = CST_LIFECYCLE_HOOKS_INIT;
    struct company c = begin_with(&found);
    cst_object *ada = company_employee(&c, c.context, "Ada", 1), *rnd = NULL;
    rnd = company_insert(&c, c.context, c.department, c.department_name, "R&D");
    save(c.context);
    OK(cst_context_disable_tracking(c.context, E));
    OK(cst_context_disable_tracking(c.context, E));
    OK(cst_context_enable_tracking(c.context, E));
    set(ada, c.level, value_int(7));
    CHECK(!has_changes(c.context));
    CHECK_INT(0, state(ada) & CST_OBJECT_HAS_CHANGES);
    OK(cst_context_enable_tracking(c.context, E));
    CHECK_STATUS(CST_UNCHANGED, cst_context_enable_tracking(c.context, E));
    /* A refresh drops the value, a save writes it along with a change. */
    OK(cst_object_refresh(ada, false, E));
    CHECK_INT(CST_NULL, get(ada, c.level).type);
    OK(cst_context_disable_tracking(c.context, E));
    set(ada, c.level, value_int(8));
    OK(cst_context_enable_tracking(c.context, E));
    set(ada, c.number, value_int(2));
    save(c.context);
    OK(cst_object_refresh(ada, false, E));
    CHECK_INT(8, get_int(ada, c.level));
    /* Both ends of a relationship must agree. */
    OK(cst_context_disable_tracking(c.context, E));
    set(ada, c.to_department, value_object(rnd));
    OK(cst_context_enable_tracking(c.context, E));
    CHECK(has_changes(c.context));
    CHECK_INT(1, member_count(rnd, c.employees));
    OK(cst_release(ada));
    OK(cst_release(rnd));
    company_close(&c);
}

static cst_status fail_silently(void *userdata, cst_object *object, cst_error **error) {
    (void)userdata, (void)object, (void)error;
    return CST_E_CALLBACK;
}

/* A status below 0 fails the call, whether there is an error or not; entity and object are named. */
static void a_hook_can_fail_without_an_error(void) {
    cst_lifecycle_hooks found = CST_LIFECYCLE_HOOKS_INIT;
    found.awake_from_insert = fail_silently;
    struct company c = begin_with(&found);
    cst_object *ada = NULL;
    CHECK_STATUS(CST_E_CALLBACK, cst_context_insert(c.context, c.employee, &ada, E));
    CHECK_CONTAINS("the host's awake_from_insert hook failed with status", cst_error_message(check_error()));
    CHECK_TEXT("Employee", cst_error_entity(check_error()));
    CHECK_CONTAINS("x-coredata:", cst_error_object_uri(check_error()));
    CHECK(!has_changes(c.context));
    company_close(&c);
    remove(check_path("s.sqlite"));

    found = (cst_lifecycle_hooks)CST_LIFECYCLE_HOOKS_INIT;
    found.did_save = found.prepare_for_deletion = fail_silently;
    c = begin_with(&found);
    ada = company_employee(&c, c.context, "Ada", 1);
    cst_object *bob = company_employee(&c, c.context, "Bob", 2);
    CHECK_STATUS(CST_E_CALLBACK, cst_context_save(c.context, E));
    CHECK(!has_changes(c.context)); /* saved nevertheless */
    CHECK_INT(2, company_count(c.context, c.employee, NULL));
    CHECK_STATUS(CST_E_CALLBACK, cst_context_delete(c.context, ada, E));
    CHECK_INT(0, state(ada) & CST_OBJECT_DELETED);
    CHECK(!has_changes(c.context));
    OK(cst_release(ada));
    OK(cst_release(bob));
    company_close(&c);
}

static cst_status keep_value(void *userdata, cst_object *object, cst_string property, uint32_t purpose,
                             cst_value *value, cst_error **error) {
    (void)userdata, (void)object, (void)property, (void)purpose, (void)value, (void)error;
    return CST_OK;
}

/* Properties with a validate hook must belong to the entity; a model with another property is refused, and can be
 * corrected. */
static void validated_properties_must_belong_to_the_entity(void) {
    cst_model *model = company_model();
    cst_entity *person = NULL;
    OK(cst_model_entity(model, text("Person"), &person, E));
    const cst_string wrong[] = {text("name"), text("level")}, right[] = {text("name")};
    cst_lifecycle_hooks found = CST_LIFECYCLE_HOOKS_INIT;
    found.validate_value = keep_value;
    found.validated = wrong;
    found.validated_count = 2;
    OK(cst_entity_set_lifecycle(person, &found, E));
    CHECK_STATUS(CST_E_MODEL, cst_model_freeze(model, E));
    CHECK_TEXT("Person", cst_error_entity(check_error()));
    CHECK_TEXT("level", cst_error_key(check_error()));
    found.validated = right;
    found.validated_count = 1;
    OK(cst_entity_set_lifecycle(person, &found, E));
    OK(cst_model_freeze(model, E));
    OK(cst_release(model));
}

static cst_status note_purpose(void *userdata, cst_object *object, uint32_t purpose, cst_value *value,
                               cst_error **error) {
    (void)userdata, (void)object;
    CHECK(value == NULL);
    size_t used = strlen(snapshots.purposes);
    snprintf(snapshots.purposes + used, sizeof snapshots.purposes - used, "%u ", purpose);
    return snapshots.refuses ? refuse(error) : CST_OK;
}

static void the_validate_hook_receives_the_purpose(void) {
    cst_lifecycle_hooks found = CST_LIFECYCLE_HOOKS_INIT;
    found.validate = note_purpose;
    struct company c = begin_with(&found);
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    const uint32_t purposes[] = {CST_VALIDATE_INSERT, CST_VALIDATE_UPDATE, CST_VALIDATE_DELETE};
    for (size_t i = 0; i < 3; i++)
        OK(cst_object_validate(ada, purposes[i], E));
    CHECK_TEXT("1 2 3 ", text_of_size(snapshots.purposes, strlen(snapshots.purposes)));
    snapshots.refuses = true;
    for (size_t i = 0; i < 3; i++) {
        OK(cst_object_validate(ada, purposes[i] | CST_VALIDATE_WITHOUT_HOOK, E));
        CHECK_STATUS(CST_E_VALIDATION, cst_object_validate(ada, purposes[i], E));
        CHECK_INT(4711, cst_error_code(check_error()));
        CHECK_TEXT("Employee", cst_error_entity(check_error()));
    }
    const uint32_t wrong[] = {0, 4, CST_VALIDATE_WITHOUT_HOOK, 32 | CST_VALIDATE_UPDATE};
    for (size_t i = 0; i < 4; i++) {
        CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_object_validate(ada, wrong[i], E));
        CHECK_TEXT("Employee", cst_error_entity(check_error()));
    }
    snapshots.refuses = false;
    snapshots.purposes[0] = 0;
    save(c.context);
    set(ada, c.number, value_int(2));
    save(c.context);
    OK(cst_context_delete(c.context, ada, E));
    save(c.context);
    CHECK_TEXT("1 2 3 ", text_of_size(snapshots.purposes, strlen(snapshots.purposes)));
    OK(cst_release(ada));
    company_close(&c);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(hooks_are_called_in_lifecycle_order);
    RUN(hook_failures_return_the_error_of_the_host);
    RUN(harmful_calls_in_hooks_are_refused);
    RUN(hooks_can_release_the_object_of_the_call);
    RUN(hooks_can_release_the_context);
    RUN(a_save_fails_when_hooks_keep_changing_objects);
    RUN(changes_are_ignored_while_tracking_is_disabled);
    RUN(userdata_of_hooks_is_destroyed_once);
    RUN(snapshot_events_state_their_cause);
    RUN(the_validate_hook_receives_the_purpose);
    RUN(hooks_nest_up_to_100_levels);
    RUN(a_hook_can_fail_without_an_error);
    RUN(validated_properties_must_belong_to_the_entity);
    RUN(tracking_resumes_when_every_disable_call_is_balanced);
    return check_end();
}
