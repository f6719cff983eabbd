/* Misuse of handles and pointers: every function of the header with NULL, freed, stale, mistyped and garbage
 * handles, and on the wrong thread. Nothing must crash; each case has its status.
 *
 * SPDX-License-Identifier: MIT
 */
#include "expect.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Pointers that the header allows to be NULL. */
static bool may_be_null(const struct call *call, const struct parameter *parameter) {
    static const char *const allowed[][2] = {
        {"cst_entity_add_attribute", "out_attribute"},
        {"cst_entity_add_relationship", "out_relationship"},
        {"cst_model_copy_version_checksums", "out_count"},
        {"cst_attribute_add_element", "out_element"},
        {"cst_model_add_text", "out_missing"},
        {"cst_model_copy_versions", "out_count"},
        {"cst_model_copy_versions", "out_current"},
        {"cst_entity_set_parent", "parent"},
        {"cst_entity_set_lifecycle", "hooks"},
        {"cst_controller_set_delegate", "delegate"},
        {"cst_entity_add_fetch_index", "predicate"},
        {"cst_model_set_template", "request"},
        {"cst_model_copy_configuration", "out_count"},
        {"cst_model_copy_names", "out_count"},
        {"cst_entity_copy_relationships_to", "out_count"},
        {"cst_relationship_set_inverse", "inverse"},
        {"cst_attribute_set_bounds", "least"},
        {"cst_attribute_set_bounds", "greatest"},
        {"cst_object_validate_value", "out_value"},
        {"cst_coordinator_add_store", "options"},
        {"cst_fetch_request_new_with_options", "options"},
        {"cst_coordinator_add_store", "out_store"},
        {"cst_coordinator_destroy_store", "options"},
        {"cst_coordinator_replace_store", "options"},
        {"cst_coordinator_backup_store", "options"},
        {"cst_coordinator_backup_store", "progress"},
        {"cst_coordinator_checkpoint_store", "out_pages"},
        {"cst_coordinator_checkpoint_store", "out_checkpointed"},
        {"cst_coordinator_optimize_store", "out_removed"},
        {"cst_coordinator_migrate_store", "options"},
        {"cst_coordinator_migrate_store", "progress"},
        {"cst_coordinator_migrate_store", "out_store"},
        {"cst_coordinator_open_store", "model"},
        {"cst_coordinator_open_store", "options"},
        {"cst_coordinator_open_store", "out_store"},
        {"cst_container_new", "model"},
        {"cst_container_new", "options"},
        {"cst_container_open", "model"},
        {"cst_container_open", "options"},
        {"cst_container_load", "handler"},
        {"cst_document_open", "model"},
        {"cst_document_open", "options"},
        {"cst_store_check_apple", "model"},
        {"cst_store_check", "model"},
        {"cst_store_copy_views", "model"},
        {"cst_mapping_model_new_from_json", "source"},
        {"cst_mapping_model_new_from_json", "destination"},
        {"cst_mapping_model_validate", "source"},
        {"cst_mapping_model_validate", "destination"},
        {"cst_store_copy_migration_plan", "options"},
        {"cst_main_queue_drain", "out_count"},
        {"cst_context_set_interrupt", "check"},
        {"cst_context_schedule", "done"},
        {"cst_context_begin_editing", "discard"},
        {"cst_container_perform_background_task", "done"},
        {"cst_entity_copy_validation", "out_warning"},
        {"cst_entity_copy_validation", "out_code"},
        {"cst_entity_copy_index", "out_element_count"},
        {"cst_entity_copy_index", "out_predicate"},
        {"cst_entity_copy_index_element", "out_is_expression"},
        {"cst_entity_copy_index_element", "out_flags"},
        {"cst_entity_copy_index_element", "out_type"},
        {"cst_entity_copy_unique_constraint", "out_count"},
        {"cst_context_set_undo_manager", "manager"},
        {"cst_context_set_call_site_finder", "find"},
        {"cst_context_set_inaccessible_fault_handler", "handler"},
        {"cst_log_set_callback", "callback"},
        {"cst_log_take_arguments", "out_taken"},
        {"cst_context_insert_many", "out_objects"},
        {"cst_context_insert_arrow", "options"},
        {"cst_context_insert_arrow", "out_inserted"},
        {"cst_context_upsert_arrow", "out_inserted"},
        {"cst_context_upsert_arrow", "out_updated"},
        {"cst_batch_insert_set_arrow", "options"},
        {"cst_container_read", "predicate"},
        {"cst_container_update", "predicate"},
        {"cst_fetch_request_set_predicate", "predicate"},
        {"cst_fetch_request_set_having", "predicate"},
        {"cst_fetch_request_set_affected_stores", "stores"},
        {"cst_context_fetch_asynchronously", "done"},
        {"cst_expression_new_fetch", "context"},
        {"cst_batch_update_set_predicate", "predicate"},
        {"cst_context_execute_batch", "out_count"},
        {"cst_context_execute_batch", "out_ids"},
        {"cst_version", "major"},
        {"cst_version", "minor"},
        {"cst_version", "patch"},
        {"cst_buffer_dispose", "buffer"},
        {"cst_retain", "handle"},
        {"cst_release", "handle"},
        {"cst_value_dispose", "value"},
        {"cst_sort_copy_locale", "out_uses_icu"},
        {"cst_expression_new_key_path", "base"},
        {"cst_merge_policy_new", "resolve"},
        {"cst_context_set_merge_policy", "policy"},
        {"cst_context_set_query_generation", "generation"},
        {"cst_store_type_copy_names", "out_count"},
        {"cst_coordinator_fetch_history", "options"},
        {"cst_coordinator_count_history", "options"},
        {"cst_coordinator_fetch_history_ids", "options"},
        {"cst_coordinator_follow_history", "options"},
        {"cst_coordinator_follow_history", "ended"},
        {"cst_coordinator_delete_history", "progress"},
        {"cst_coordinator_delete_history", "out_transactions"},
        {"cst_coordinator_delete_history", "out_changes"},
        {"cst_coordinator_delete_history_before", "progress"},
        {"cst_coordinator_delete_history_before", "out_transactions"},
        {"cst_coordinator_delete_history_before", "out_changes"},
        {"cst_coordinator_register_history_consumer", "at"},
        {"cst_coordinator_diff_history", "to"},
        {"cst_coordinator_purge_history", "keep"},
        {"cst_coordinator_purge_history", "progress"},
        {"cst_coordinator_purge_history", "out_report"},
        {"cst_mapping_model_new_from_json", "source"},
        {"cst_mapping_model_new_from_json", "destination"},
        {"cst_mapping_model_validate", "source"},
        {"cst_mapping_model_validate", "destination"},
        {"cst_migration_manager_migrate_store", "source_options"},
        {"cst_migration_manager_migrate_store", "options"},
        {"cst_migration_manager_cancel", "reason"},
        {"cst_migration_manager_set_report", "report"},
        {"cst_migration_manager_set_function", "call"},
        {"cst_migration_manager_set_user_info", "value"},
        {"cst_migration_manager_create_destination_instance", "out_object"},
        {"cst_store_copy_backups", "out_count"},
        {"cst_coordinator_restore_store", "options"},
        {"cst_coordinator_restore_store", "out_backup"},
        {"cst_coordinator_finish_deferred_migration", "progress"},
        {"cst_migration_guard_check", "options"},
        {"cst_migration_guard_check_models", "options"},
        {"cst_migration_stages_add_custom", "will_migrate"},
        {"cst_migration_stages_add_custom", "did_migrate"},
    };
    if (parameter->kind == KIND_ERROR || parameter->kind == KIND_USERDATA || parameter->kind == KIND_DESTROY ||
        parameter->kind == KIND_RECORDS || parameter->kind == KIND_FAILURE || parameter->kind == KIND_VARIABLES ||
        parameter->kind == KIND_COMPARE)
        return true;
    for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++) {
        if (strcmp(allowed[i][0], call->name) == 0 && strcmp(allowed[i][1], parameter->name) == 0) return true;
    }
    return false;
}

static bool is_pointer(enum kind kind) {
    return kind != KIND_SCALAR && kind != KIND_COUNT && kind != KIND_STRING && kind != KIND_BYTES;
}

/* Whether a function is usable only within a callback of a migration: test_migration_manager. */
static bool needs_migration(const struct call *call) {
    static const char *const names[] = {
        "source_context",       "destination_context",   "associate",        "create_destination_instance",
        "create_relationships", "destination_instances", "source_instances", "reset"};
    const char prefix[] = "cst_migration_manager_";
    if (strncmp(call->name, prefix, sizeof prefix - 1) != 0) return false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(call->name + sizeof prefix - 1, names[i]) == 0) return true;
    return false;
}

/* Runs a case for each function, each with its own world. */
static void for_each_call(void (*body)(struct world *world, const struct call *call)) {
    struct world world;
    for (size_t i = 0; i < call_count; i++) {
        /* Functions that are usable only within a callback of a host's store: test_host_store. */
        enum handle_type first = calls[i].parameters[0].type;
        if (first == TYPE_ROW_SINK || first == TYPE_SAVE_REQUEST || needs_migration(&calls[i])) continue;
        world_open(&world, check_path("."));
        body(&world, &calls[i]);
        world_close(&world);
        remove(check_path("world.sqlite"));
        remove(check_path("world.sqlite-wal"));
        remove(check_path("world.sqlite-shm"));
    }
}

static void succeed(struct world *world, const struct call *call) {
    union argument arguments[MAX_PARAMETERS];
    struct storage storage;
    world_fill(world, call, arguments, &storage);
    struct result result = call->invoke(arguments);
    cases++;
    bool answers_with_one = strcmp(call->name, "cst_error_status") == 0; /* the status of the given error */
    if (result.status < 0 && !answers_with_one) {
        cst_string why = cst_error_message(storage.error);
        char got[512];
        snprintf(got, sizeof got, "%s; %.400s", check_status_name(result.status), why.data ? why.data : "no message");
        complain(call, NULL, "valid", got);
    } else if (storage.error) {
        complain(call, NULL, "valid", "set an error without a failure");
    }
    world_clean(call, arguments, &storage, result);
}

static void valid_arguments_succeed_and_do_not_set_the_error(void) { for_each_call(succeed); }

static void null_everywhere(struct world *world, const struct call *call) {
    union argument arguments[MAX_PARAMETERS];
    struct storage storage;
    for (int i = 0; i < call->parameter_count; i++) {
        const struct parameter *p = &call->parameters[i];
        if (!is_pointer(p->kind) || may_be_null(call, p)) continue;
        cst_status expected = p->kind == KIND_HANDLE ? CST_E_INVALID_HANDLE : CST_E_INVALID_ARGUMENT;
        world_renew_draft(world);
        world_fill(world, call, arguments, &storage);
        memset(&arguments[i], 0, sizeof arguments[i]);
        expect_failure(call, p, "NULL", expected, arguments, &storage);
        int position = error_position(call);
        if (position < 0) continue;
        world_renew_draft(world);
        world_fill(world, call, arguments, &storage);
        memset(&arguments[i], 0, sizeof arguments[i]);
        arguments[position].pointer = NULL;
        expect_failure(call, p, "NULL, no error wanted", expected, arguments, &storage);
    }
    /* All arguments are null. */
    memset(arguments, 0, sizeof arguments);
    memset(&storage, 0, sizeof storage);
    call->invoke(arguments);
}

static void null_is_refused_for_every_other_pointer(void) { for_each_call(null_everywhere); }

static void null_where_it_is_allowed(struct world *world, const struct call *call) {
    union argument arguments[MAX_PARAMETERS];
    struct storage storage;
    for (int i = 0; i < call->parameter_count; i++) {
        const struct parameter *p = &call->parameters[i];
        if (!is_pointer(p->kind) || !may_be_null(call, p)) continue;
        if (p->kind != KIND_OUT && p->kind != KIND_OUT_HANDLE && p->kind != KIND_OUT_HANDLES &&
            p->kind != KIND_OPTIONS && p->kind != KIND_DESTROY && p->kind != KIND_INTERRUPT && p->kind != KIND_HANDLE &&
            p->kind != KIND_VARIABLES && p->kind != KIND_COMPARE && p->kind != KIND_GUARD_OPTIONS &&
            p->kind != KIND_FETCH_OPTIONS && p->kind != KIND_IMPORT_OPTIONS) {
            continue;
        }
        world_renew_draft(world);
        world_fill(world, call, arguments, &storage);
        memset(&arguments[i], 0, sizeof arguments[i]);
        struct result result = call->invoke(arguments);
        cases++;
        if (result.status < 0) complain(call, p, "NULL, which the header allows", check_status_name(result.status));
        world_clean(call, arguments, &storage, result);
    }
}

static void null_is_accepted_where_the_header_allows_it(void) { for_each_call(null_where_it_is_allowed); }

/* Passes a bad handle for each parameter of this type. */
static void put_bad(struct world *world, const struct call *call, void *const bad[TYPE_COUNT], const char *what) {
    union argument arguments[MAX_PARAMETERS];
    struct storage storage;
    for (int i = 0; i < call->parameter_count; i++) {
        const struct parameter *p = &call->parameters[i];
        if (p->kind != KIND_HANDLE && p->kind != KIND_HANDLES && p->kind != KIND_ANY_HANDLE) continue;
        world_renew_draft(world);
        world_fill(world, call, arguments, &storage);
        if (p->kind == KIND_ANY_HANDLE) {
            cst_release(arguments[i].pointer); /* what world_fill retained */
            for (int type = TYPE_ERROR; type < TYPE_OF_WORLDS; type++) {
                arguments[i].pointer = bad[type];
                expect_failure(call, p, what, CST_E_INVALID_HANDLE, arguments, &storage);
            }
            continue;
        }
        if (p->kind == KIND_HANDLES)
            storage.handles[0] = bad[p->type];
        else
            arguments[i].pointer = bad[p->type];
        expect_failure(call, p, what, CST_E_INVALID_HANDLE, arguments, &storage);
    }
}

/* One handle of each type that is no longer alive. */
static void dead_handles(struct world *other, void *dead[TYPE_COUNT]) {
    memcpy(dead, other->live, sizeof other->live);
    world_close(other);
}

static void freed_handles_are_refused(void) {
    struct world world, other;
    void *dead[TYPE_COUNT];
    world_open(&other, check_path("."));
    dead_handles(&other, dead);
    remove(check_path("world.sqlite"));
    world_open(&world, check_path("."));
    for (size_t i = 0; i < call_count; i++)
        put_bad(&world, &calls[i], dead, "freed");
    world_close(&world);
}

static void stale_handles_are_refused_after_their_slots_are_reused(void) {
    enum { WORLDS = 3 };
    static struct world others[WORLDS], world;
    void *dead[TYPE_COUNT];
    world_open(&world, check_path("."));
    dead_handles(&world, dead);
    remove(check_path("world.sqlite"));
    for (int i = 0; i < WORLDS; i++) {
        world_open(&others[i], check_path("."));
        if (i + 1 < WORLDS) remove(check_path("world.sqlite"));
    }
    for (size_t i = 0; i < call_count; i++)
        put_bad(&others[WORLDS - 1], &calls[i], dead, "stale");
    for (int i = 0; i < WORLDS; i++)
        world_close(&others[i]);
}

static void handles_of_the_wrong_type(struct world *world, const struct call *call) {
    union argument arguments[MAX_PARAMETERS];
    struct storage storage;
    for (int i = 0; i < call->parameter_count; i++) {
        const struct parameter *p = &call->parameters[i];
        if (p->kind != KIND_HANDLE && p->kind != KIND_HANDLES) continue;
        for (int type = TYPE_ERROR; type < TYPE_OF_WORLDS; type++) {
            if (type == (int)p->type) continue;
            /* These functions accept requests of every kind. */
            bool takes_all = !strcmp(call->name, "cst_context_execute") || !strcmp(call->name, "cst_request_type");
            if (type == TYPE_BATCH_REQUEST && takes_all) continue;
            world_renew_draft(world);
            world_fill(world, call, arguments, &storage);
            void *wrong = type == TYPE_ATTRIBUTE || type == TYPE_RELATIONSHIP ? world->draft[type] : world->live[type];
            if (p->kind == KIND_HANDLES)
                storage.handles[0] = wrong;
            else
                arguments[i].pointer = wrong;
            char what[32];
            snprintf(what, sizeof what, "of type %d", type);
            expect_failure(call, p, what, CST_E_INVALID_HANDLE, arguments, &storage);
        }
    }
}

static void handles_of_another_type_are_refused(void) {
    struct world world;
    world_open(&world, check_path("."));
    for (size_t i = 0; i < call_count; i++)
        handles_of_the_wrong_type(&world, &calls[i]);
    world_close(&world);
}

static void garbage_handles_are_refused(void) {
    struct world world;
    world_open(&world, check_path("."));
    int on_stack = 0;
    void *heap = calloc(1, 256);
    const uintptr_t live = (uintptr_t)world.live[TYPE_OBJECT];
    const uintptr_t garbage[] = {1,
                                 2,
                                 8,
                                 4095,
                                 0xdeadbeef,
                                 UINTPTR_MAX,
                                 UINTPTR_MAX - 7,
                                 (uintptr_t)INTPTR_MAX,
                                 (uintptr_t)1 << (sizeof(uintptr_t) * 8 - 1),
                                 (uintptr_t)&on_stack,
                                 (uintptr_t)heap,
                                 (uintptr_t)text,
                                 ~live,
                                 live ^ ((uintptr_t)1 << (sizeof(uintptr_t) * 8 - 1)),
                                 live ^ ((uintptr_t)1 << (sizeof(uintptr_t) * 8 - 2)),
                                 live ^ ((uintptr_t)5 << (sizeof(uintptr_t) * 4 + 4))};
    for (size_t g = 0; g < sizeof garbage / sizeof *garbage; g++) {
        void *bad[TYPE_COUNT];
        char what[64];
        for (int type = 0; type < TYPE_COUNT; type++)
            bad[type] = (void *)garbage[g];
        snprintf(what, sizeof what, "garbage %#zx", (size_t)garbage[g]);
        for (size_t i = 0; i < call_count; i++)
            put_bad(&world, &calls[i], bad, what);
    }
    free(heap);
    world_close(&world);
}

struct elsewhere {
    struct world *world;
    const struct call *call;
};

static void *call_elsewhere(void *argument) {
    struct elsewhere *job = argument;
    union argument arguments[MAX_PARAMETERS];
    struct storage storage;
    world_fill(job->world, job->call, arguments, &storage);
    expect_failure(job->call, NULL, "on another thread", CST_E_WRONG_THREAD, arguments, &storage);
    return NULL;
}

static void calls_on_the_wrong_thread_are_refused(void) {
    struct world world;
    size_t marked = 0;
    world_open(&world, check_path("."));
    for (size_t i = 0; i < call_count; i++) {
        if (calls[i].mark != MARK_ON_QUEUE) continue;
        marked++;
        struct elsewhere job = {&world, &calls[i]};
        pthread_t thread;
        REQUIRE(pthread_create(&thread, NULL, call_elsewhere, &job) == 0);
        REQUIRE(pthread_join(thread, NULL) == 0);
    }
    CHECK(marked > 30);
    CHECK(!has_changes(world.company.context));
    world_close(&world);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(valid_arguments_succeed_and_do_not_set_the_error);
    RUN(null_is_accepted_where_the_header_allows_it);
    RUN(null_is_refused_for_every_other_pointer);
    RUN(freed_handles_are_refused);
    RUN(stale_handles_are_refused_after_their_slots_are_reused);
    RUN(handles_of_another_type_are_refused);
    RUN(garbage_handles_are_refused);
    RUN(calls_on_the_wrong_thread_are_refused);
    printf("misuse: %zu functions, %zu deliberate cases\n", call_count, cases);
    return check_end();
}
