/* Random legal calls from within every kind of callback: the parts of the program `reentrancy`.
 *
 * reentrancy.c runs the seeds and counts, reentrancy_world.c creates and releases the world of a seed,
 * reentrancy_callbacks.c, reentrancy_stores.c and reentrancy_values.c have the callbacks, reentrancy_graph.c,
 * reentrancy_requests.c, reentrancy_hosts.c and reentrancy_stories.c the calls.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef REENTRANCY_H
#define REENTRANCY_H

#include "keeper.h"

#include <stdatomic.h>

/* ---- callbacks ---- */

#define CALLBACK_KINDS(X)                                                                                              \
    X(awake_from_insert)                                                                                               \
    X(awake_from_fetch)                                                                                                \
    X(awake_from_snapshot_events)                                                                                      \
    X(will_save)                                                                                                       \
    X(did_save)                                                                                                        \
    X(prepare_for_deletion)                                                                                            \
    X(will_turn_into_fault)                                                                                            \
    X(did_turn_into_fault)                                                                                             \
    X(set_nil_value)                                                                                                   \
    X(validate)                                                                                                        \
    X(validate_value)                                                                                                  \
    X(validator)                                                                                                       \
    X(context_note)                                                                                                    \
    X(object_note)                                                                                                     \
    X(undo_note)                                                                                                       \
    X(coordinator_note)                                                                                                \
    X(fetch_note)                                                                                                      \
    X(document_note)                                                                                                   \
    X(resolve)                                                                                                         \
    X(interrupt)                                                                                                       \
    X(function)                                                                                                        \
    X(typed_function)                                                                                                  \
    X(predicate_block)                                                                                                 \
    X(expression_block)                                                                                                \
    X(compare)                                                                                                         \
    X(perform)                                                                                                         \
    X(coordinator_perform)                                                                                             \
    X(scheduled)                                                                                                       \
    X(done)                                                                                                            \
    X(fetch_done)                                                                                                      \
    X(undo_action)                                                                                                     \
    X(progress)                                                                                                        \
    X(migration_progress)                                                                                              \
    X(call_site)                                                                                                       \
    X(inaccessible)                                                                                                    \
    X(batch_rows)                                                                                                      \
    X(batch_object)                                                                                                    \
    X(section_name)                                                                                                    \
    X(will_change)                                                                                                     \
    X(did_change_section)                                                                                              \
    X(did_change_object)                                                                                               \
    X(did_change)                                                                                                      \
    X(did_change_all)                                                                                                  \
    X(did_change_ids)                                                                                                  \
    X(did_reset)                                                                                                       \
    X(section_title)                                                                                                   \
    X(log)                                                                                                             \
    X(transform)                                                                                                       \
    X(reverse)                                                                                                         \
    X(to_fields)                                                                                                       \
    X(from_fields)                                                                                                     \
    X(free_value)                                                                                                      \
    X(destroy)                                                                                                         \
    X(host_value)                                                                                                      \
    X(host_count)                                                                                                      \
    X(host_element)                                                                                                    \
    X(host_class_name)                                                                                                 \
    X(host_equal)                                                                                                      \
    X(host_hash)                                                                                                       \
    X(host_compare)                                                                                                    \
    X(host_retain)                                                                                                     \
    X(host_release)                                                                                                    \
    X(container_load)                                                                                                  \
    X(records)                                                                                                         \
    X(failure)                                                                                                         \
    X(store_open)                                                                                                      \
    X(store_close)                                                                                                     \
    X(store_save)                                                                                                      \
    X(store_obtain_ids)                                                                                                \
    X(store_move)                                                                                                      \
    X(store_fetch)                                                                                                     \
    X(store_values)                                                                                                    \
    X(store_relationship)                                                                                              \
    X(store_did_register)                                                                                              \
    X(store_did_unregister)                                                                                            \
    X(store_load)                                                                                                      \
    X(store_copy_metadata)                                                                                             \
    X(store_set_metadata)                                                                                              \
    X(store_destroy)                                                                                                   \
    X(store_replace)

enum kind {
#define X(name) KIND_##name,
    CALLBACK_KINDS(X)
#undef X
        KIND_COUNT
};

/* The number of calls so far, including those of callbacks. */
long long calls_made(void);
/* For calls that callbacks make in addition to the random ones. */
void count_call(void);

/* The first step of a callback: some random calls, unless the nesting is deep enough. False on a thread that does
 * not have the turn: only one thread at a time may use random numbers, or a seed would not be deterministic. */
bool within(enum kind kind);
/* For bodies of performs: the thread that runs one has the turn for as long, since the one that had it waits. */
const void *turn_take(void);
void turn_give_back(const void *former);
bool is_main_thread(void);
/* Whether the calling thread has the turn. */
bool has_turn(void);
/* The status that a callback returns: mostly CST_OK, else a failure with or without an error, or an invalid status. */
cst_status answer(cst_error **error);

/* The userdata of a registration. It must be destroyed exactly once, and no callback may use it after that. */
struct ticket;
struct ticket *ticket_new(void);
void ticket_destroy(void *ticket);
void ticket_use_in(void *ticket, const char *function);
#define ticket_use(ticket) ticket_use_in(ticket, __func__)

/* A value of the host for a transformer or a class: freed exactly once, and not used after that. */
void *thing_new(void);
void thing_free(void *thing);
bool thing_use_in(const void *thing, const char *function);
#define thing_use(thing) thing_use_in(thing, __func__)
cst_value host_value(void);

/* ---- chance, from the seed alone ---- */

size_t below(size_t bound);
bool one_in(size_t n);
/* Prints a failure of the current seed, and marks the seed as failed. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- handles ---- */

enum slot {
    SLOT_OBJECT,
    SLOT_OBSERVATION,
    SLOT_RESULTS,
    SLOT_ID,
    SLOT_CONTEXT,
    SLOT_COORDINATOR,
    SLOT_STORE,
    SLOT_REQUEST,
    SLOT_PREDICATE,
    SLOT_EXPRESSION,
    SLOT_CONTROLLER,
    SLOT_CURSOR,
    SLOT_ROWS,
    SLOT_SNAPSHOT,
    SLOT_GENERATION,
    SLOT_POLICY,
    SLOT_UNDO,
    SLOT_BATCH,
    SLOT_ASYNCHRONOUS,
    SLOT_DOCUMENT,
    SLOT_CONTAINER,
    SLOT_ERROR,
    SLOT_MODEL,
    SLOT_COUNT
};
enum { PLACES = 40, CONFLICTS = 4, BORROWED = 8, STREAMS = 2, LOCKS = 4, UNATTACHED = 32, OLDER = 8 };

struct world {
    uint64_t seed;
    char folder[400];
    cst_entity *person, *employee;
    cst_key name, age, blob, mark, parent, kids, friends, friend_of;
    void *held[SLOT_COUNT][PLACES];
    cst_conflict *conflicts[CONFLICTS]; /* borrowed, and mostly invalid */
    cst_object *borrowed[BORROWED];     /* to-one targets, likewise */
    /* Created without a context, and kept to the end, when all their relationships are undone. A seed creates no
     * more than this. */
    cst_object *unattached[UNATTACHED];
    size_t unattached_count;
    struct ArrowArrayStream streams[STREAMS];
    bool stream_used[STREAMS];
    cst_context *locked[LOCKS];
    /* A former version of the model, and how many files were written with it. More are not in a seed. */
    cst_model *older;
    cst_entity *older_person;
    size_t older_count;
    cst_coordinator *closed; /* compared only: the one that was closed last */
    bool is_timed;           /* asynchronous fetches and interrupts, whose timing is not deterministic */
    bool keeps_model;
};
extern struct world world;

/* One of the program's handles; sometimes NULL. */
void *some(enum slot slot);
/* Takes ownership, and releases the former handle in its slot. */
void keep(enum slot slot, void *handle);
/* Releases one of them. */
void drop(enum slot slot);
/* Whether the handle is that of an object outside every context. */
bool is_unattached(cst_object *object);
const char *path_of(const char *name, size_t number);
void remove_store(const char *path);

bool world_open(uint64_t seed, const char *folder);
/* Replaces missing objects without which few calls are possible: a coordinator with a store, a context, a request. */
void world_refill(void);
/* Replaces a closed context with an open one. */
void replace_context(cst_context *closed);
/* Writes a store of the former version of the model. */
void write_older(const char *type, const char *path);
/* Releases every handle. */
void let_all_go(void);
/* Releases everything, with callbacks that make calls at first. */
void world_close(bool with_calls);
void set_budget(int calls);

/* ---- calls ---- */

struct act {
    const char *name;
    unsigned weight;
    void (*run)(cst_error **error);
};
extern const struct act graph_acts[], request_acts[], host_acts[], story_acts[];
extern const size_t graph_act_count, request_act_count, host_act_count, story_act_count;

/* ---- callbacks that acts hand over ---- */

void hook_all(cst_lifecycle_hooks *hooks, unsigned which);
cst_status on_validator(void *userdata, cst_object *object, uint32_t purpose, cst_value *value, cst_error **error);
void on_context_note(void *userdata, cst_context *context, uint32_t notification, const cst_changes *changes);
void on_object_note(void *userdata, cst_object *object, const cst_value_change *change);
void on_undo_note(void *userdata, cst_undo_manager *manager, uint32_t notification);
void on_coordinator_note(void *userdata, cst_coordinator *coordinator, uint32_t notification,
                         const cst_store_changes *changes);
void on_fetch_note(void *userdata, cst_context *context, const cst_difference *difference);
void on_document_note(void *userdata, uint32_t flags);
cst_status on_resolve(void *userdata, cst_context *context, size_t count, cst_conflict *const *conflicts,
                      cst_error **error);
bool on_interrupt(void *userdata);
cst_status on_function(void *userdata, const cst_value *receiver, size_t count, const cst_value *arguments,
                       cst_value *out_value, cst_error **error);
int64_t on_typed_function(int64_t number);
cst_status on_predicate_block(void *userdata, const cst_value *value, const cst_value *variables, bool *out_result,
                              cst_error **error);
cst_status on_expression_block(void *userdata, const cst_value *value, size_t count, const cst_value *arguments,
                               const cst_value *variables, cst_value *out_value, cst_error **error);
cst_status on_compare(void *userdata, size_t sort, const cst_value *a, const cst_value *b, int32_t *out_order,
                      cst_error **error);
cst_status on_perform(void *userdata, cst_context *context, cst_error **error);
cst_status on_scheduled(void *userdata, cst_context *context, cst_error **error);
void on_done(void *userdata, cst_context *context, cst_status status, const cst_error *error);
void on_fetch_done(void *userdata, cst_asynchronous_fetch *fetch);
cst_status on_coordinator_perform(void *userdata, cst_error **error);
cst_status on_undo_action(void *userdata, cst_error **error);
bool on_progress(void *userdata, uint64_t done, uint64_t total);
bool on_migration_progress(void *userdata, uint64_t done, uint64_t total);
uint32_t on_call_site(void *userdata, cst_buffer *out_file);
cst_status on_inaccessible(void *userdata, cst_object *fault, cst_object_id *id, cst_string property, bool *out_handled,
                           cst_error **error);
cst_status on_batch_rows(void *userdata, size_t capacity, cst_value *values, size_t *out_rows, cst_error **error);
cst_status on_batch_object(void *userdata, cst_object *object, bool *out_stop, cst_error **error);
cst_status on_section_name(void *userdata, cst_object *object, cst_value *out_name, cst_error **error);
cst_controller_delegate delegate(void);
void on_log(void *userdata, cst_string line);
cst_transformer_callbacks transformer(void);
cst_archive_class_callbacks archive_class(void);
void on_container_load(void *userdata, size_t index, cst_string path, cst_store *store, cst_error *error);
void on_records(void *userdata, cst_string records, size_t count);
void on_failure(void *userdata, const cst_error *error);

/* Store types "Shelf" (incremental) and "Crate" (atomic), over keeper.c. */
void stores_begin(void);
void stores_know_keys(void);
void stores_register(bool is_atomic, cst_error **error);
bool stores_are_closed(void);
/* Whether a callback of a store is going on that may push rows; and a push of rows, good or bad, then or too late. */
bool stores_await_rows(void);
void stores_push(cst_error **error);
/* Frees the rows. Reports stores that were not closed and store types that were not destroyed. */
void stores_end(void);
/* Whether host objects are released as often as retained, tickets destroyed, values freed; resets the counts. */
void hosts_begin(void);
bool hosts_are_free(void);
void hosts_end(void);

#endif
