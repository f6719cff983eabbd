/* The list in its store: fetching, saving, and merging the saves of other programs.
 *
 * SPDX-License-Identifier: MIT
 */
#include "live.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct list list;
cst_error *error;

void give_up(const char *call) {
    fprintf(stderr, "live: %s: %s\n", call, error ? cst_error_message(error).data : "failed");
    exit(1);
}

bool say(const char *format, ...) {
    const size_t used = strlen(list.message);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(list.message + used, MESSAGE - used, format, arguments);
    va_end(arguments);
    return false;
}

bool done(cst_status status) {
    if (status >= 0) return true;
    say("%s", cst_error_message(error).data);
    cst_release(error);
    error = NULL;
    return false;
}

/* ---- items ---- */

cst_value get(const cst_object *item, const char *name) {
    cst_value value;
    TRY(cst_object_get_path(item, TEXT(name), &value, &error));
    return value;
}

bool set(cst_object *item, const char *name, cst_value value) {
    return done(cst_object_set_path(item, TEXT(name), &value, &error));
}

static cst_results *fetch(const char *format, const cst_value *argument) {
    static const cst_sort sort[] = {
        {.key_path = {"bought", CST_NUL}}, {.key_path = {"added", CST_NUL}}, {.key_path = {"name", CST_NUL}}};
    cst_fetch_request *request;
    cst_results *found;
    TRY(cst_fetch_request_new(list.item, &request, &error));
    TRY(cst_fetch_request_set_sort(request, sizeof sort / sizeof *sort, sort, &error));
    if (format) {
        cst_predicate *predicate;
        TRY(cst_predicate_parse(TEXT(format), 1, argument, &predicate, &error));
        TRY(cst_fetch_request_set_predicate(request, predicate, &error));
        cst_release(predicate);
    }
    TRY(cst_context_fetch(list.context, request, &found, &error));
    cst_release(request);
    return found;
}

void fetch_items(void) {
    cst_release(list.items);
    list.items = fetch(NULL, NULL);
}

cst_object *item_at(const char *number) {
    char *end;
    cst_object *item;
    const unsigned long place = strtoul(number, &end, 10);
    fetch_items();
    if (!*number || *end || place < 1 || place > cst_results_count(list.items)) {
        say("there is no item %s", number);
        return NULL;
    }
    TRY(cst_results_get_object(list.items, place - 1, &item, &error));
    return item;
}

cst_object *item_called(const char *name) {
    const cst_value argument = {.type = CST_STRING, .as.string = TEXT(name)};
    cst_object *item = NULL;
    cst_results *found = fetch("name ==[c] %@", &argument);
    if (cst_results_count(found) > 0) {
        TRY(cst_results_get_object(found, 0, &item, &error));
        cst_retain(item);
    }
    cst_release(found);
    return item;
}

/* ---- changes of other programs ---- */

/* Shows the changes of another program, which the context has merged. */
static void merged(void *userdata, cst_context *context, uint32_t notification, const cst_changes *changes) {
    (void)userdata, (void)context, (void)notification;
    cst_results *const come[] = {changes->updated, changes->inserted};
    *list.message = 0;
    cst_release(list.fresh);
    list.fresh = NULL;
    for (size_t i = 0; i < 2; i++) {
        if (!come[i] || cst_results_count(come[i]) == 0) continue;
        cst_release(list.fresh);
        list.fresh = come[i];
        cst_retain(list.fresh);
    }
    say(list.fresh ? "Another program changed items." : "An item was removed.");
    list.is_stale = true;
}

static cst_value side(const cst_conflict *conflict, int32_t snapshot, cst_string name) {
    cst_value value = {0};
    cst_conflict_value(conflict, snapshot, 0, name, &value, NULL);
    return value;
}

/* Shows how the conflict of a property is resolved; adds up an amount that both sides changed. */
static cst_status settle_property(const cst_conflict *conflict, cst_object *item, cst_string name, cst_error **out) {
    const cst_value base = side(conflict, CST_SNAPSHOT_OBJECT, name), mine = side(conflict, CST_SNAPSHOT_CURRENT, name),
                    theirs = side(conflict, CST_SNAPSHOT_THEIRS, name);
    if (!strcmp(name.data, "amount") && theirs.type == CST_INT) {
        cst_value sum = mine;
        if (mine.as.integer == base.as.integer || theirs.as.integer == base.as.integer) return CST_OK;
        sum.as.integer += theirs.as.integer - base.as.integer;
        say(" amount %d here and %d there, together %d;", (int)mine.as.integer, (int)theirs.as.integer,
            (int)sum.as.integer);
        return cst_object_set_path(item, name, &sum, out);
    }
    if (!strcmp(name.data, "name") && theirs.type == CST_STRING && strcmp(mine.as.string.data, theirs.as.string.data))
        say(" \"%s\" here and \"%s\" there;", mine.as.string.data, theirs.as.string.data);
    return CST_OK;
}

/* Resolves conflicts, as the merge policy: keeps this side's value of a property, but adds up amounts. */
static cst_status settle(void *userdata, cst_context *context, size_t count, cst_conflict *const *conflicts,
                         cst_error **out) {
    (void)userdata;
    cst_status status = CST_OK;
    for (size_t i = 0; i < count && status >= 0; i++) {
        cst_object *item;
        if (cst_conflict_kind(conflicts[i]) == CST_CONFLICT_CONSTRAINT) continue;
        status = cst_conflict_resolve(conflicts[i], CST_MERGE_OBJECT_TRUMP, out);
        if (status < 0) break;
        status = cst_context_object_with_id(context, cst_conflict_object_id_at(conflicts[i], 0), &item, out);
        if (status < 0) break;
        say("\n%s: changed on both sides;", get(item, "name").as.string.data);
        for (size_t j = 0; j < cst_conflict_property_count(conflicts[i]) && status >= 0; j++)
            status = settle_property(conflicts[i], item, cst_conflict_property_at(conflicts[i], j), out);
        cst_release(item);
    }
    return status;
}

/* ---- saving ---- */

static void sign(uint32_t which) {
    cst_results *changed;
    const cst_value author = {.type = CST_STRING, .as.string = TEXT(list.author)};
    TRY(cst_context_copy_changed(list.context, which, &changed, &error));
    for (size_t i = 0; i < cst_results_count(changed); i++) {
        cst_object *item;
        TRY(cst_results_get_object(changed, i, &item, &error));
        set(item, "author", author);
    }
    cst_release(changed);
}

bool save(void) {
    sign(CST_CHANGED_INSERTED);
    sign(CST_CHANGED_UPDATED);
    if (done(cst_context_save(list.context, &error))) return true;
    TRY(cst_context_rollback(list.context, &error));
    TRY(cst_context_refresh_all(list.context, &error));
    return false;
}

bool is_live(void) {
    bool merges;
    TRY(cst_context_merges_remote_changes(list.context, &merges, &error));
    return merges;
}

void set_live(bool live) {
    TRY(cst_context_set_merges_remote_changes(list.context, live, &error));
    /* Reads the changes that were not merged meanwhile. */
    if (live) TRY(cst_context_refresh_all(list.context, &error));
}

/* ---- the store ---- */

void open_list(const char *path, const char *author) {
    char model[4096];
    const char *end = strrchr(__FILE__, '/');
    snprintf(model, sizeof model, "%.*sShopping.xcdatamodeld", end ? (int)(end - __FILE__ + 1) : 0, __FILE__);
    list.path = path;
    list.author = author;
    TRY(cst_model_load(TEXT(model), (cst_string){NULL, 0}, &list.model, &error));
    TRY(cst_model_entity(list.model, TEXT("Item"), &list.item, &error));
    TRY(cst_coordinator_new(list.model, &list.coordinator, &error));
    TRY(cst_coordinator_add_store(list.coordinator, TEXT("SQLite"), TEXT(path), NULL, NULL, &error));
    TRY(cst_main_queue_bind(&error));
    TRY(cst_context_new(list.coordinator, CST_QUEUE_MAIN, &list.context, &error));
    TRY(cst_merge_policy_new(CST_MERGE_OBJECT_TRUMP, settle, NULL, NULL, &list.policy, &error));
    TRY(cst_context_set_merge_policy(list.context, list.policy, &error));
    TRY(cst_context_observe(list.context, CST_NOTIFICATION_DID_MERGE_OBJECT_IDS, merged, NULL, NULL, &list.merged,
                            &error));
    set_live(true);
}

void close_list(void) {
    void *handles[] = {list.merged, list.items, list.fresh, list.context, list.policy, list.coordinator, list.model};
    for (size_t i = 0; i < sizeof handles / sizeof *handles; i++)
        cst_release(handles[i]);
}
