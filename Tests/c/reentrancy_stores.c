/* The host stores of the program: keeper.c keeps the rows; each callback makes random calls first and may fail.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reentrancy.h"

#include <pthread.h>
#include <string.h>

enum { TYPES = 2, ROWS = 60 }; /* fewer rows than keeper.c has room for members of one object */

static struct keeper keepers[TYPES];
static cst_store_callbacks inner[TYPES];
static int registered[TYPES];

static const cst_store_callbacks *kept_by(const void *keeper) { return &inner[keeper == &keepers[1]]; }

/* ---- sinks ---- */

/* The last sinks of the thread that had the turn, including those whose callback has ended. */
enum { SINKS = 8 };
static struct sink {
    cst_row_sink *sink;
    bool is_open;
    size_t owners; /* whose members `relationship` requests */
    pthread_t thread;
} sinks[SINKS];
static size_t sinks_begun;

static struct sink *sink_begin(cst_row_sink *sink, size_t owners) {
    if (!has_turn()) return NULL;
    struct sink *place = &sinks[sinks_begun++ % SINKS];
    *place = (struct sink){sink, true, owners, pthread_self()};
    return place;
}

static cst_status sink_end(struct sink *place, const cst_row_sink *sink, cst_status status) {
    if (place && place->sink == sink) place->is_open = false;
    return status;
}

bool stores_await_rows(void) {
    for (size_t i = 0; i < SINKS; i++) {
        if (sinks[i].is_open) return true;
    }
    return false;
}

/* A row of one of the keepers; if that keeper is empty, a row with an unknown reference. */
static cst_row any_row(void) {
    const struct keeper *keeper = &keepers[below(TYPES)];
    cst_row row = {world.person, value_text("unknown"), 0, 0, NULL, NULL, NULL};
    for (size_t i = 0, first = below(KEEPER_ROWS); i < KEEPER_ROWS; i++) {
        const struct keeper_row *known = &keeper->rows[(first + i) % KEEPER_ROWS];
        if (known->used)
            return (cst_row){known->entity, known->reference, known->version, known->count,
                             known->keys,   known->values,    known->targets};
    }
    return row;
}

/* The invalid values of a pushed row. */
struct lie {
    cst_key keys[2];
    cst_value values[2], members[2];
    const cst_entity *targets[2];
};

static void say(cst_row *row, struct lie *lie, cst_key key, cst_value value) {
    lie->keys[0] = lie->keys[1] = key;
    lie->values[0] = lie->values[1] = value;
    row->count = 1;
    row->keys = lie->keys;
    row->values = lie->values;
    row->targets = NULL;
}

static void spoil_row(cst_row *row, struct lie *lie) {
    switch (below(16)) {
    case 0:
        row->reference = value_null();
        break;
    case 1:
        row->reference = one_in(2) ? value_text("") : value_int(100 + (int64_t)below(100));
        break;
    case 2:
        row->entity = row->entity == world.person ? world.employee : world.person;
        break;
    case 3:
        row->entity = one_in(2) ? world.older_person : NULL;
        break;
    case 4:
        row->version = one_in(2) ? -1 : INT64_MAX;
        break;
    case 5:
        row->count = 1;
        row->keys = NULL;
        break;
    case 6:
        say(row, lie, world.age, value_text("no number"));
        break;
    case 7:
        say(row, lie, one_in(2) ? world.mark : world.name, host_value());
        break;
    case 8:
        say(row, lie, world.age, value_int(7));
        row->count = 2; /* twice the same */
        break;
    case 9:
        lie->targets[0] = one_in(2) ? world.older_person : world.employee;
        say(row, lie, world.parent, any_row().reference);
        row->targets = lie->targets;
        break;
    case 10:
        lie->members[0] = any_row().reference;
        lie->members[1] = one_in(3) ? value_null() : value_text("unknown");
        say(row, lie, one_in(2) ? world.kids : world.friends, (cst_value){.type = CST_ARRAY});
        lie->values[0].as.values = (cst_values){lie->members, 1 + below(2)};
        break;
    case 11:
        say(row, lie, world.parent, (cst_value){.type = one_in(2) ? CST_DEFAULT : CST_OBJECT});
        break;
    case 12:
        row->count = 0; /* its reference only */
        break;
    default:
        break;
    }
}

void stores_push(cst_error **error) {
    enum { MOST = 3 };
    cst_row rows[MOST];
    struct lie lies[MOST] = {0};
    const struct sink *place = &sinks[below(SINKS)];
    for (size_t i = 0; i < SINKS && !place->is_open && !one_in(6); i++)
        place = &sinks[(size_t)(place - sinks + 1) % SINKS];
    const struct sink sink = *place;
    if (!sink.sink) return;
    size_t count = below(MOST + 1);
    for (size_t i = 0; i < count; i++) {
        rows[i] = any_row();
        spoil_row(&rows[i], &lies[i]);
    }
    const cst_row *given = count > 0 && one_in(12) ? NULL : rows;
    cst_status status = sink.owners > 0 && !one_in(6)
                            ? cst_row_sink_push_members(sink.sink, below(sink.owners + 1), count, given, error)
                            : cst_row_sink_push(sink.sink, count, given, error);
    bool is_good = sink.is_open && pthread_equal(sink.thread, pthread_self());
    if (status == CST_OK && !is_good) complain("a sink accepted rows after its callback, or from another thread");
}

/* ---- callbacks ---- */

/* Whether the callback continues; otherwise *status is its result. */
static bool goes_on(enum kind kind, cst_status *status, cst_error **error) {
    *status = CST_OK;
    if (within(kind)) *status = answer(error);
    return *status == CST_OK;
}

static cst_status on_open(void *userdata, const cst_store_opening *opening, void **out_store, cst_buffer *out_metadata,
                          cst_error **error) {
    cst_status status;
    if (!goes_on(KIND_store_open, &status, error)) return status < 0 ? status : CST_E_CALLBACK;
    return kept_by(userdata)->open(userdata, opening, out_store, out_metadata, error);
}

static void on_close(void *store) {
    kept_by(store)->close(store);
    within(KIND_store_close);
}

static cst_status on_save(void *store, const cst_save_changes *changes, cst_row_sink *sink, cst_error **error) {
    struct keeper *keeper = store;
    cst_status status;
    struct sink *open = sink_begin(sink, 0);
    if (!goes_on(KIND_store_save, &status, error)) return sink_end(open, sink, status);
    if (keeper_count(keeper) + changes->inserted_count + changes->updated_count > ROWS ||
        keeper->list_count + changes->member_change_count > KEEPER_LISTS)
        return sink_end(open, sink, CST_E_CALLBACK);
    return sink_end(open, sink, kept_by(store)->save(store, changes, sink, error));
}

static cst_status on_obtain_ids(void *store, size_t count, const cst_row *rows, cst_value *out_references,
                                cst_error **error) {
    cst_status status;
    if (!goes_on(KIND_store_obtain_ids, &status, error)) return status;
    if (count > ROWS) return CST_E_CALLBACK;
    return kept_by(store)->obtain_ids(store, count, rows, out_references, error);
}

static cst_status on_move(void *store, cst_string path, cst_error **error) {
    cst_status status;
    if (!goes_on(KIND_store_move, &status, error)) return status;
    return kept_by(store)->move(store, path, error);
}

static cst_status on_fetch(void *store, const cst_store_fetch *fetch, cst_row_sink *sink, uint32_t *out_done,
                           uint64_t *out_count, cst_error **error) {
    cst_status status;
    struct sink *open = sink_begin(sink, 0);
    if (!goes_on(KIND_store_fetch, &status, error)) return sink_end(open, sink, status);
    return sink_end(open, sink, kept_by(store)->fetch(store, fetch, sink, out_done, out_count, error));
}

static cst_status on_values(void *store, size_t count, const cst_row *rows, cst_row_sink *sink, cst_error **error) {
    cst_status status;
    struct sink *open = sink_begin(sink, 0);
    if (!goes_on(KIND_store_values, &status, error)) return sink_end(open, sink, status);
    return sink_end(open, sink, kept_by(store)->values(store, count, rows, sink, error));
}

static cst_status on_relationship(void *store, const cst_entity *entity, cst_key relationship, size_t count,
                                  const cst_row *owners, cst_row_sink *sink, cst_error **error) {
    cst_status status;
    struct sink *open = sink_begin(sink, count);
    if (!goes_on(KIND_store_relationship, &status, error)) return sink_end(open, sink, status);
    return sink_end(open, sink, kept_by(store)->relationship(store, entity, relationship, count, owners, sink, error));
}

static void on_did_register(void *store, size_t count, const cst_row *rows) {
    (void)store, (void)count, (void)rows;
    within(KIND_store_did_register);
}

static void on_did_unregister(void *store, size_t count, const cst_row *rows) {
    (void)store, (void)count, (void)rows;
    within(KIND_store_did_unregister);
}

static cst_status on_load(void *store, cst_row_sink *sink, cst_error **error) {
    cst_status status;
    struct sink *open = sink_begin(sink, 0);
    if (!goes_on(KIND_store_load, &status, error)) return sink_end(open, sink, status);
    return sink_end(open, sink, kept_by(store)->load(store, sink, error));
}

static cst_status on_copy_metadata(void *userdata, cst_string path, cst_buffer *out_plist, cst_error **error) {
    cst_status status;
    if (!goes_on(KIND_store_copy_metadata, &status, error)) return status;
    return kept_by(userdata)->copy_metadata(userdata, path, out_plist, error);
}

static cst_status on_set_metadata(void *userdata, cst_string path, cst_bytes plist, cst_error **error) {
    cst_status status;
    if (!goes_on(KIND_store_set_metadata, &status, error)) return status;
    return kept_by(userdata)->set_metadata(userdata, path, plist, error);
}

/* The rows stay: another store of the seed may be open on them. */
static cst_status on_destroy_store(void *userdata, cst_string path, cst_error **error) {
    (void)userdata, (void)path;
    cst_status status;
    return goes_on(KIND_store_destroy, &status, error) ? CST_NOT_FOUND : status;
}

static cst_status on_replace_store(void *userdata, cst_string path, cst_string source, cst_error **error) {
    cst_status status;
    if (!goes_on(KIND_store_replace, &status, error)) return status;
    return kept_by(userdata)->replace_store(userdata, path, source, error);
}

static void on_destroyed(void *userdata) {
    kept_by(userdata)->destroy(userdata);
    within(KIND_destroy);
}

void stores_begin(void) {
    memset(registered, 0, sizeof registered);
    memset(sinks, 0, sizeof sinks);
    sinks_begun = 0;
    for (size_t i = 0; i < TYPES; i++) {
        memset(&keepers[i], 0, sizeof keepers[i]);
        keepers[i].form = (char[]){0, 'i', 't', 'b'}[below(4)];
        keepers[i].counts_all = one_in(4);
        inner[i] = keeper_callbacks(&keepers[i], i == 1 ? CST_STORE_ATOMIC : CST_STORE_INCREMENTAL);
    }
}

void stores_know_keys(void) {
    for (size_t i = 0; i < TYPES; i++)
        keeper_tell_inverse(&keepers[i], world.kids, world.parent);
}

void stores_register(bool is_atomic, cst_error **error) {
    cst_store_callbacks callbacks = inner[is_atomic];
    callbacks.open = on_open;
    callbacks.close = on_close;
    callbacks.save = on_save;
    if (callbacks.obtain_ids) callbacks.obtain_ids = on_obtain_ids;
    callbacks.move = on_move;
    if (is_atomic) {
        callbacks.load = on_load;
    } else {
        callbacks.fetch = on_fetch;
        callbacks.values = on_values;
        callbacks.relationship = on_relationship;
        callbacks.did_register = on_did_register;
        callbacks.did_unregister = on_did_unregister;
    }
    callbacks.copy_metadata = on_copy_metadata;
    callbacks.set_metadata = on_set_metadata;
    callbacks.destroy_store = on_destroy_store;
    callbacks.replace_store = on_replace_store;
    callbacks.destroy = on_destroyed;
    registered[is_atomic]++;
    cst_store_type_register(text(is_atomic ? "Crate" : "Shelf"), &callbacks, error);
}

bool stores_are_closed(void) {
    for (size_t i = 0; i < TYPES; i++) {
        if (keepers[i].opened != keepers[i].closed || keepers[i].destroyed != registered[i]) return false;
    }
    return true;
}

void stores_end(void) {
    for (size_t i = 0; i < TYPES; i++) {
        if (keepers[i].opened != keepers[i].closed)
            complain("%d host stores were opened, but %d closed", keepers[i].opened, keepers[i].closed);
        if (keepers[i].destroyed != registered[i])
            complain("%d store types were registered, but %d destroyed", registered[i], keepers[i].destroyed);
        keeper_dispose(&keepers[i]);
    }
}
