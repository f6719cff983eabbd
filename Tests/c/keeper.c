/* SPDX-License-Identifier: MIT */
#include "keeper.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static cst_value copy_value(const cst_value *value) {
    cst_value copy = *value;
    if (value->type == CST_STRING || value->type == CST_URI || value->type == CST_BYTES) {
        size_t size = value->type == CST_BYTES ? value->as.bytes.size : value->as.string.size;
        const void *data = value->type == CST_BYTES ? (const void *)value->as.bytes.data : value->as.string.data;
        char *bytes = malloc(size + 1);
        if (size > 0) memcpy(bytes, data, size);
        bytes[size] = 0;
        if (value->type == CST_BYTES) {
            copy.as.bytes.data = (const uint8_t *)bytes;
        } else {
            copy.as.string.data = bytes;
        }
    }
    return copy;
}

static void free_value(cst_value *value) {
    if (value->type == CST_BYTES) free((void *)value->as.bytes.data);
    if (value->type == CST_STRING || value->type == CST_URI) free((void *)value->as.string.data);
    memset(value, 0, sizeof *value);
}

static bool same(const cst_value *a, const cst_value *b) {
    if (a->type != b->type) return false;
    if (a->type == CST_INT) return a->as.integer == b->as.integer;
    if (a->type == CST_BYTES)
        return a->as.bytes.size == b->as.bytes.size &&
               memcmp(a->as.bytes.data, b->as.bytes.data, a->as.bytes.size) == 0;
    return a->as.string.size == b->as.string.size &&
           memcmp(a->as.string.data, b->as.string.data, a->as.string.size) == 0;
}

static bool named(const cst_entity *entity, const char *name) {
    cst_string own = cst_entity_name(entity);
    return own.size == strlen(name) && memcmp(own.data, name, own.size) == 0;
}

/* The entity trees of the company: Person with Employee, and each other entity alone. */
static bool same_tree(const cst_entity *a, const cst_entity *b) {
    bool person = named(a, "Person") || named(a, "Employee");
    bool other = named(b, "Person") || named(b, "Employee");
    return a == b || (person && other);
}

struct keeper_row *keeper_find(struct keeper *keeper, const cst_value *reference, const cst_entity *entity) {
    for (size_t i = 0; i < KEEPER_ROWS; i++) {
        struct keeper_row *row = &keeper->rows[i];
        if (row->used && same_tree(row->entity, entity) && same(&row->reference, reference)) return row;
    }
    return NULL;
}

size_t keeper_count(const struct keeper *keeper) {
    size_t count = 0;
    for (size_t i = 0; i < KEEPER_ROWS; i++)
        count += keeper->rows[i].used;
    return count;
}

void keeper_tell_inverse(struct keeper *keeper, cst_key to_many, cst_key to_one) {
    keeper->inverses[keeper->inverse_count].to_many = to_many;
    keeper->inverses[keeper->inverse_count++].to_one = to_one;
}

static void empty_row(struct keeper_row *row) {
    free_value(&row->reference);
    for (size_t i = 0; i < row->count; i++)
        free_value(&row->values[i]);
    memset(row, 0, sizeof *row);
}

void keeper_lose_rows(struct keeper *keeper) {
    for (size_t i = 0; i < KEEPER_ROWS; i++)
        empty_row(&keeper->rows[i]);
}

static void empty_list(struct keeper_list *list) {
    for (size_t i = 0; i < list->count; i++)
        free_value(&list->members[i]);
    list->count = 0;
}

void keeper_dispose(struct keeper *keeper) {
    for (size_t i = 0; i < KEEPER_ROWS; i++) {
        if (keeper->rows[i].used) empty_row(&keeper->rows[i]);
    }
    for (size_t i = 0; i < keeper->list_count; i++) {
        empty_list(&keeper->lists[i]);
        free_value(&keeper->lists[i].owner);
    }
    cst_buffer_dispose(&keeper->metadata);
}

static bool fails(struct keeper *keeper, const char *callback, cst_error **error) {
    size_t used = strlen(keeper->log);
    snprintf(keeper->log + used, sizeof keeper->log - used, "%s ", callback);
    if (keeper->mischief != KEEPER_FAILS || strcmp(keeper->fails, callback) != 0) return false;
    cst_error_new_custom(text("keeper"), 42, text("the shelf is locked"), NULL, NULL, error);
    return true;
}

/* ---- opening ---- */

static cst_status keeper_open(void *userdata, const cst_store_opening *opening, void **out_store,
                              cst_buffer *out_metadata, cst_error **error) {
    struct keeper *keeper = userdata;
    if (fails(keeper, "open", error)) return CST_E_CALLBACK;
    keeper->was_new = opening->is_new;
    keeper->read_only = opening->read_only;
    snprintf(keeper->path, sizeof keeper->path, "%.*s", (int)opening->path.size, opening->path.data);
    for (size_t i = 0; i < opening->option_count; i++) {
        if (strcmp(opening->option_names[i].data, "number") == 0) keeper->option = opening->option_values[i].as.integer;
    }
    if (keeper->metadata.size == 0) {
        if (opening->must_exist) return CST_NOT_FOUND;
        cst_status status = cst_buffer_fill(&keeper->metadata, opening->metadata, error);
        if (status != CST_OK) return status;
    } else {
        cst_bytes known = {(const uint8_t *)keeper->metadata.data, keeper->metadata.size};
        cst_status status = cst_buffer_fill(out_metadata, known, error);
        if (status != CST_OK) return status;
    }
    keeper->opened++;
    *out_store = keeper;
    return CST_OK;
}

static void keeper_close(void *store) { ((struct keeper *)store)->closed++; }
static void keeper_destroy(void *userdata) { ((struct keeper *)userdata)->destroyed++; }

/* ---- reading ---- */

static struct keeper_list *find_list(struct keeper *keeper, cst_key relationship, const cst_value *owner) {
    for (size_t i = 0; i < keeper->list_count; i++) {
        struct keeper_list *list = &keeper->lists[i];
        if (list->relationship == relationship && same(&list->owner, owner)) return list;
    }
    return NULL;
}

static cst_row view(const struct keeper_row *row) {
    cst_row view = {row->entity, row->reference, row->version, row->count, row->keys, row->values, row->targets};
    return view;
}

static cst_row name_of(const struct keeper_row *row) {
    cst_row name = {row->entity, row->reference, 0, 0, NULL, NULL, NULL};
    return name;
}

static void *push_elsewhere(void *userdata) {
    struct keeper *keeper = userdata;
    cst_error *error = NULL;
    keeper->inner = cst_row_sink_push(keeper->sink, 0, NULL, &error);
    CHECK_CONTAINS("push rows on that thread during the callback", cst_error_message(error));
    cst_release(error);
    return NULL;
}

/* Misbehaves if the test requests it; returns the status. */
static cst_status misbehave(struct keeper *keeper, cst_row_sink *sink, const struct keeper_row *row,
                            cst_error **error) {
    cst_row bad = row ? view(row) : (cst_row){0};
    cst_value value = value_text("no number");
    switch (keeper->mischief) {
    case KEEPER_WRONG_TYPE: {
        cst_key key = CST_NO_KEY;
        cst_status status = cst_entity_key(bad.entity, text("number"), &key, error);
        if (status != CST_OK) return status;
        bad.count = 1;
        bad.keys = &key;
        bad.values = &value;
        bad.targets = NULL;
        return cst_row_sink_push(sink, 1, &bad, error);
    }
    case KEEPER_WRONG_ENTITY:
        for (size_t i = 0; i < KEEPER_ROWS; i++) {
            if (keeper->rows[i].used && named(keeper->rows[i].entity, "Department")) bad = view(&keeper->rows[i]);
        }
        return cst_row_sink_push(sink, 1, &bad, error);
    case KEEPER_TWICE:
        return row ? cst_row_sink_push(sink, 1, &bad, error) : CST_OK;
    case KEEPER_NULL_REFERENCE:
        bad.reference = value_null();
        return cst_row_sink_push(sink, 1, &bad, error);
    case KEEPER_UNASKED:
        bad.reference = value_text("nobody's");
        return cst_row_sink_push(sink, 1, &bad, error);
    case KEEPER_OTHER_THREAD: {
        pthread_t thread;
        pthread_create(&thread, NULL, push_elsewhere, keeper);
        pthread_join(thread, NULL);
        return CST_OK;
    }
    case KEEPER_DRAINS:
        return cst_main_queue_drain(0, NULL, error);
    case KEEPER_REENTERS: {
        cst_fetch_request *request = NULL;
        cst_results *results = NULL;
        cst_status status = cst_fetch_request_new_named(text("Employee"), &request, error);
        if (status == CST_OK) status = cst_context_fetch(keeper->context, request, &results, error);
        cst_release(results);
        cst_release(request);
        return status;
    }
    default:
        return CST_OK;
    }
}

static cst_status keeper_fetch(void *store, const cst_store_fetch *fetch, cst_row_sink *sink, uint32_t *out_done,
                               uint64_t *out_count, cst_error **error) {
    struct keeper *keeper = store;
    keeper->fetches++;
    keeper->sink = sink;
    if (fails(keeper, "fetch", error)) return CST_E_CALLBACK;
    struct keeper_row *first = NULL;
    for (size_t i = 0; i < KEEPER_ROWS; i++) {
        struct keeper_row *row = &keeper->rows[i];
        if (!row->used || !same_tree(row->entity, fetch->entity)) continue;
        if (!first) first = row;
        cst_row pushed = keeper->pushes_values ? view(row) : name_of(row);
        cst_status status = cst_row_sink_push(sink, 1, &pushed, error);
        if (status != CST_OK) return status;
    }
    *out_done = keeper->mischief == KEEPER_WINDOW_ONLY ? (uint32_t)CST_FETCHED_WINDOW : keeper->done;
    (void)out_count;
    return misbehave(keeper, sink, first, error);
}

static cst_status keeper_values(void *store, size_t count, const cst_row *rows, cst_row_sink *sink, cst_error **error) {
    struct keeper *keeper = store;
    keeper->values++;
    keeper->value_rows += (int)count;
    keeper->sink = sink;
    if (fails(keeper, "values", error)) return CST_E_CALLBACK;
    for (size_t i = 0; i < count; i++) {
        struct keeper_row *row = keeper_find(keeper, &rows[i].reference, rows[i].entity);
        if (!row) continue;
        if (keeper->mischief > KEEPER_FAILS) {
            cst_status status = misbehave(keeper, sink, row, error);
            if (status != CST_OK) return status;
        }
        cst_row pushed = view(row);
        cst_status status = cst_row_sink_push(sink, 1, &pushed, error);
        if (status != CST_OK) return status;
    }
    return CST_OK;
}

static const cst_value *value_of(const struct keeper_row *row, cst_key key) {
    for (size_t i = 0; i < row->count; i++) {
        if (row->keys[i] == key) return &row->values[i];
    }
    return NULL;
}

static cst_status keeper_relationship(void *store, const cst_entity *entity, cst_key relationship, size_t count,
                                      const cst_row *owners, cst_row_sink *sink, cst_error **error) {
    struct keeper *keeper = store;
    (void)entity;
    keeper->relationships++;
    if (fails(keeper, "relationship", error)) return CST_E_CALLBACK;
    for (size_t i = 0; i < count; i++) {
        cst_status status = CST_OK;
        if (keeper->mischief == KEEPER_BAD_MEMBERS) {
            cst_row two[2] = {owners[i], owners[i]};
            status = cst_row_sink_push_members(sink, i, 2, two, error);
        }
        struct keeper_list *list = find_list(keeper, relationship, &owners[i].reference);
        for (size_t k = 0; list && k < list->count && status == CST_OK; k++) {
            cst_row member = {list->entities[k], list->members[k], 0, 0, NULL, NULL, NULL};
            status = cst_row_sink_push_members(sink, i, 1, &member, error);
        }
        for (size_t k = 0; !list && k < keeper->inverse_count; k++) {
            if (keeper->inverses[k].to_many != relationship) continue;
            for (size_t r = 0; r < KEEPER_ROWS && status == CST_OK; r++) {
                struct keeper_row *row = &keeper->rows[r];
                const cst_value *target = row->used ? value_of(row, keeper->inverses[k].to_one) : NULL;
                if (!target || !same(target, &owners[i].reference)) continue;
                cst_row member = name_of(row);
                status = cst_row_sink_push_members(sink, i, 1, &member, error);
            }
        }
        if (status != CST_OK) return status;
    }
    return CST_OK;
}

/* ---- saving ---- */

static void put(struct keeper *keeper, const cst_row *row) {
    struct keeper_row *place = keeper_find(keeper, &row->reference, row->entity);
    for (size_t i = 0; i < KEEPER_ROWS && !place; i++) {
        if (!keeper->rows[i].used) place = &keeper->rows[i];
    }
    REQUIRE(place != NULL);
    cst_value reference = copy_value(&row->reference);
    empty_row(place);
    place->used = true;
    place->entity = (cst_entity *)row->entity;
    place->reference = reference;
    place->version = row->version;
    for (size_t i = 0; i < row->count; i++) {
        if (row->values[i].type == CST_ARRAY) continue;
        place->keys[place->count] = row->keys[i];
        place->targets[place->count] = row->targets ? row->targets[i] : NULL;
        place->values[place->count++] = copy_value(&row->values[i]);
    }
}

static void change_members(struct keeper *keeper, const cst_member_change *change) {
    struct keeper_list *list = find_list(keeper, change->relationship, &change->owner.reference);
    if (!list) {
        list = &keeper->lists[keeper->list_count++];
        list->relationship = change->relationship;
        list->owner = copy_value(&change->owner.reference);
    }
    for (size_t i = 0; i < change->removed_count; i++) {
        for (size_t k = 0; k < list->count; k++) {
            if (!same(&list->members[k], &change->removed[i].reference)) continue;
            free_value(&list->members[k]);
            list->count--;
            memmove(&list->members[k], &list->members[k + 1], (list->count - k) * sizeof list->members[0]);
            memmove(&list->entities[k], &list->entities[k + 1], (list->count - k) * sizeof list->entities[0]);
            break;
        }
    }
    const cst_row *added = change->is_ordered ? change->members : change->added;
    size_t count = change->is_ordered ? change->member_count : change->added_count;
    if (change->is_ordered) empty_list(list);
    for (size_t i = 0; i < count && list->count < KEEPER_MEMBERS; i++) {
        list->entities[list->count] = (cst_entity *)added[i].entity;
        list->members[list->count++] = copy_value(&added[i].reference);
    }
}

static cst_status keeper_save(void *store, const cst_save_changes *changes, cst_row_sink *sink, cst_error **error) {
    struct keeper *keeper = store;
    keeper->saves++;
    keeper->request = changes->request;
    keeper->inserted = changes->inserted_count;
    keeper->updated = changes->updated_count;
    keeper->deleted = changes->deleted_count;
    keeper->locked = changes->locked_count;
    keeper->changes = changes->member_change_count;
    if (fails(keeper, "save", error)) return CST_E_CALLBACK;
    if (keeper->counts_all) {
        cst_row rows[5];
        size_t count = 0;
        keeper->all = 0;
        while (cst_save_request_next(changes->request, 5, rows, &count, error) == CST_OK)
            keeper->all += count;
    }
    bool stale = false;
    for (size_t i = 0; i < changes->inserted_count; i++) {
        const cst_row *row = &changes->inserted[i];
        if (keeper->mischief != KEEPER_REPORTS && !keeper_find(keeper, &row->reference, row->entity)) continue;
        cst_status status = cst_save_request_add_conflict(changes->request, CST_CONFLICT_ROW_VERSION, row, error);
        if (status != CST_OK) return status;
        stale = true;
    }
    for (size_t i = 0; i < changes->updated_count + changes->deleted_count + changes->locked_count; i++) {
        bool update = i < changes->updated_count;
        const cst_row *row = update ? &changes->updated[i].row
                             : i < changes->updated_count + changes->deleted_count
                                 ? &changes->deleted[i - changes->updated_count]
                                 : &changes->locked[i - changes->updated_count - changes->deleted_count];
        int64_t version = update ? changes->updated[i].old_version : row->version;
        struct keeper_row *known = keeper_find(keeper, &row->reference, row->entity);
        if (known && known->version == version && keeper->mischief != KEEPER_REPORTS) continue;
        cst_status status = cst_save_request_add_conflict(changes->request, CST_CONFLICT_ROW_VERSION, row, error);
        if (status != CST_OK) return status;
        stale = true;
    }
    if (stale) return CST_OK;
    for (size_t i = 0; i < changes->inserted_count; i++)
        put(keeper, &changes->inserted[i]);
    for (size_t i = 0; i < changes->updated_count; i++)
        put(keeper, &changes->updated[i].row);
    for (size_t i = 0; i < changes->deleted_count; i++)
        empty_row(keeper_find(keeper, &changes->deleted[i].reference, changes->deleted[i].entity));
    for (size_t i = 0; i < changes->member_change_count; i++)
        change_members(keeper, &changes->member_changes[i]);
    if (keeper->mischief == KEEPER_BAD_SAVED && changes->inserted_count > 0) {
        cst_row row = changes->inserted[0];
        row.reference = value_text("nobody's");
        keeper->inner = cst_row_sink_push(sink, 1, &row, error);
        if (keeper->inner != CST_OK) return keeper->inner;
        keeper->inner = cst_row_sink_push(sink, 1, NULL, error);
        if (keeper->inner != CST_OK) return keeper->inner;
    }
    if (changes->metadata.size > 0) {
        keeper->saved_metadata++;
        return cst_buffer_fill(&keeper->metadata, changes->metadata, error);
    }
    return CST_OK;
}

static cst_status keeper_obtain(void *store, size_t count, const cst_row *rows, cst_value *out_references,
                                cst_error **error) {
    struct keeper *keeper = store;
    static char names[KEEPER_ROWS][16];
    (void)rows;
    keeper->obtained++;
    if (fails(keeper, "obtain_ids", error)) return CST_E_CALLBACK;
    if (keeper->mischief == KEEPER_ROLLS_BACK) keeper->inner = cst_context_rollback(keeper->context, NULL);
    for (size_t i = 0; i < count; i++) {
        if (keeper->mischief == KEEPER_FEW_REFERENCES && i == count - 1) continue;
        if (keeper->mischief != KEEPER_SAME_REFERENCES || i == 0) keeper->last++;
        snprintf(names[i], sizeof names[i], "%s/%d", "row", (int)keeper->last);
        out_references[i] = keeper->form == 'i'   ? value_int(keeper->last)
                            : keeper->form == 't' ? value_text(names[i])
                                                  : value_bytes(names[i], strlen(names[i]));
    }
    return CST_OK;
}

static cst_status keeper_move(void *store, cst_string path, cst_error **error) {
    struct keeper *keeper = store;
    if (fails(keeper, "move", error)) return CST_E_CALLBACK;
    snprintf(keeper->path, sizeof keeper->path, "%.*s", (int)path.size, path.data);
    keeper->moved++;
    return CST_OK;
}

static void keeper_did_register(void *store, size_t count, const cst_row *rows) {
    (void)rows;
    struct keeper *keeper = store;
    keeper->registered += (int)count;
    fails(keeper, "register", NULL);
}

static void keeper_did_unregister(void *store, size_t count, const cst_row *rows) {
    (void)rows;
    ((struct keeper *)store)->unregistered += (int)count;
    ((struct keeper *)store)->unregister_notices++;
}

/* ---- atomic stores ---- */

static cst_status keeper_load(void *store, cst_row_sink *sink, cst_error **error) {
    struct keeper *keeper = store;
    keeper->loads++;
    keeper->sink = sink;
    if (fails(keeper, "load", error)) return CST_E_CALLBACK;
    for (size_t i = 0; i < KEEPER_ROWS; i++) {
        struct keeper_row *row = &keeper->rows[i];
        if (!row->used) continue;
        cst_key keys[KEEPER_VALUES * 2];
        cst_value values[KEEPER_VALUES * 2];
        const cst_entity *targets[KEEPER_VALUES * 2] = {NULL};
        cst_row pushed = view(row);
        memcpy(keys, row->keys, sizeof row->keys);
        memcpy(values, row->values, sizeof row->values);
        memcpy(targets, row->targets, sizeof row->targets);
        for (size_t k = 0; k < keeper->list_count; k++) {
            struct keeper_list *list = &keeper->lists[k];
            if (!same(&list->owner, &row->reference)) continue;
            keys[pushed.count] = list->relationship;
            values[pushed.count] = (cst_value){.type = CST_ARRAY};
            values[pushed.count].as.values = (cst_values){list->members, list->count};
            pushed.count++;
        }
        pushed.keys = keys;
        pushed.values = values;
        pushed.targets = targets;
        cst_status status = cst_row_sink_push(sink, 1, &pushed, error);
        if (status != CST_OK) return status;
    }
    return CST_OK;
}

/* ---- stores that are not open ---- */

static cst_status keeper_copy_metadata(void *userdata, cst_string path, cst_buffer *out_plist, cst_error **error) {
    struct keeper *keeper = userdata;
    (void)path;
    if (fails(keeper, "copy_metadata", error)) return CST_E_CALLBACK;
    if (keeper->metadata.size == 0) return CST_NOT_FOUND;
    return cst_buffer_fill(out_plist, (cst_bytes){(const uint8_t *)keeper->metadata.data, keeper->metadata.size},
                           error);
}

static cst_status keeper_set_metadata(void *userdata, cst_string path, cst_bytes plist, cst_error **error) {
    struct keeper *keeper = userdata;
    (void)path;
    if (fails(keeper, "set_metadata", error)) return CST_E_CALLBACK;
    return cst_buffer_fill(&keeper->metadata, plist, error);
}

static cst_status keeper_destroy_store(void *userdata, cst_string path, cst_error **error) {
    struct keeper *keeper = userdata;
    (void)path;
    if (fails(keeper, "destroy_store", error)) return CST_E_CALLBACK;
    if (keeper->metadata.size == 0) return CST_NOT_FOUND;
    keeper_dispose(keeper);
    keeper->list_count = 0;
    return CST_OK;
}

static cst_status keeper_replace_store(void *userdata, cst_string path, cst_string source, cst_error **error) {
    struct keeper *keeper = userdata;
    (void)source;
    if (fails(keeper, "replace_store", error)) return CST_E_CALLBACK;
    snprintf(keeper->path, sizeof keeper->path, "%.*s", (int)path.size, path.data);
    return CST_OK;
}

cst_store_callbacks keeper_callbacks(struct keeper *keeper, uint32_t kind) {
    cst_store_callbacks callbacks = CST_STORE_CALLBACKS_INIT;
    callbacks.kind = kind;
    callbacks.open = keeper_open;
    callbacks.close = keeper_close;
    callbacks.save = keeper_save;
    callbacks.obtain_ids = keeper->form ? keeper_obtain : NULL;
    callbacks.move = keeper_move;
    if (kind == CST_STORE_INCREMENTAL) {
        callbacks.fetch = keeper_fetch;
        callbacks.values = keeper_values;
        callbacks.relationship = keeper_relationship;
        callbacks.did_register = keeper_did_register;
        callbacks.did_unregister = keeper_did_unregister;
    } else {
        callbacks.load = keeper_load;
    }
    callbacks.copy_metadata = keeper_copy_metadata;
    callbacks.set_metadata = keeper_set_metadata;
    callbacks.destroy_store = keeper_destroy_store;
    callbacks.replace_store = keeper_replace_store;
    callbacks.userdata = keeper;
    callbacks.destroy = keeper_destroy;
    return callbacks;
}
