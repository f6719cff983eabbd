/* Every function of the header as data, and a world of live handles to call it with.
 *
 * scripts/generate.py writes the table (calls.inc) from the description of the interface, so it is complete by
 * construction. `make lint` compares the two.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CALLS_H
#define CALLS_H

#include "company.h"

enum handle_type {
    TYPE_NONE = 0,
    TYPE_ERROR,
    TYPE_MODEL,
    TYPE_ENTITY,
    TYPE_ATTRIBUTE,
    TYPE_RELATIONSHIP,
    TYPE_COORDINATOR,
    TYPE_STORE,
    TYPE_CONTEXT,
    TYPE_OBJECT,
    TYPE_OBJECT_ID,
    TYPE_PREDICATE,
    TYPE_FETCH_REQUEST,
    TYPE_RESULTS,
    TYPE_CURSOR,
    TYPE_MAPPING_MODEL,
    TYPE_EXPRESSION,
    TYPE_ROWS,
    TYPE_OBSERVATION,
    TYPE_UNDO_MANAGER,
    TYPE_MERGE_POLICY,
    TYPE_CONFLICT,
    TYPE_QUERY_GENERATION,
    TYPE_ASYNCHRONOUS_FETCH,
    TYPE_BATCH_REQUEST,
    TYPE_CONTROLLER,
    TYPE_SNAPSHOT,
    TYPE_CONTAINER,
    TYPE_DOCUMENT,
    TYPE_HISTORY_TOKEN,
    TYPE_HISTORY_CURSOR,
    TYPE_REVISIONS,
    TYPE_MIGRATION_MANAGER,
    TYPE_MODEL_REFERENCE,
    TYPE_MIGRATION_STAGES,
    /* The types below are alive only within a callback of a host's store: no world has one. */
    TYPE_OF_WORLDS,
    TYPE_ROW_SINK = TYPE_OF_WORLDS,
    TYPE_SAVE_REQUEST,
    TYPE_COUNT
};

enum kind {
    KIND_HANDLE,
    KIND_ANY_HANDLE,
    KIND_HANDLES, /* array; its count is the parameter before it */
    KIND_ERROR,
    KIND_OUT_HANDLE,
    KIND_OUT_HANDLES, /* array */
    KIND_OUT,
    KIND_BUFFER,
    KIND_SCALAR,
    KIND_COUNT,
    KIND_STRING,
    KIND_STRINGS, /* array */
    KIND_BYTES,
    KIND_SORTS,         /* array */
    KIND_COLUMNS,       /* array */
    KIND_BATCH_COLUMNS, /* array */
    KIND_ELEMENTS,      /* array */
    KIND_KEYS,          /* array */
    KIND_VALUE,
    KIND_VALUES, /* array */
    KIND_OPTIONS,
    KIND_USERDATA,
    KIND_DESTROY,
    KIND_PERFORM,
    KIND_DONE,
    KIND_VALIDATE,
    KIND_LOG,
    KIND_WORDS, /* array */
    KIND_INTERRUPT,
    KIND_FETCH_OPTIONS,
    KIND_CALLBACKS,
    KIND_CALL_SITE,
    KIND_PROGRESS,
    KIND_CONTAINER_LOAD,
    KIND_RECORDS,
    KIND_FAILURE,
    KIND_DOCUMENT_OBSERVE,
    KIND_CONTAINER_OPTIONS,
    KIND_DESCRIPTION,
    KIND_INACCESSIBLE,
    KIND_CLASS_CALLBACKS,
    KIND_HOOKS,
    KIND_VARIABLES,
    KIND_PREDICATE_BLOCK,
    KIND_EXPRESSION_BLOCK,
    KIND_COMPARE,
    KIND_FUNCTION,
    KIND_CODE,
    KIND_CONTEXT_OBSERVE,
    KIND_OBJECT_OBSERVE,
    KIND_COORDINATOR_OBSERVE,
    KIND_UNDO_ACTION,
    KIND_UNDO_OBSERVE,
    KIND_OBSERVE_FETCH,
    KIND_SECTION_NAME,
    KIND_HISTORY,
    KIND_HISTORY_ENDED,
    KIND_HISTORY_PROGRESS,
    KIND_HISTORY_OPTIONS,
    KIND_HISTORY_RETENTION,
    KIND_DELEGATE,
    KIND_RESOLVE,
    KIND_ARROW_SCHEMA,
    KIND_ARROW_ARRAY,
    KIND_ARROW_STREAM,
    KIND_ARROW_SOURCE,
    KIND_FETCH_DONE,
    KIND_BATCH_ROWS,
    KIND_BATCH_OBJECT,
    KIND_STORE_CALLBACKS,
    KIND_HOST_ROWS, /* array */
    KIND_STAGE,
    KIND_TRANSFORMATION,
    KIND_POLICY_CALLBACKS,
    KIND_HASHES, /* array */
    KIND_GUARD_OPTIONS,
    KIND_IMPORT_OPTIONS
};

enum mark { MARK_ANY_THREAD, MARK_ON_QUEUE, MARK_ONE_THREAD };
enum returns { RETURNS_NOTHING, RETURNS_STATUS, RETURNS_STRING, RETURNS_NUMBER, RETURNS_POINTER };

enum { MAX_PARAMETERS = 11, MAX_ITEMS = 64 };

union argument {
    void *pointer;
    uint64_t number;
    cst_string string;
    cst_bytes bytes;
    cst_destroy_fn destroy;
    cst_context_perform_fn perform;
    cst_context_done_fn done;
    cst_validate_fn validate;
    cst_resolve_conflicts_fn resolve;
    cst_log_fn log;
    cst_context_interrupt_fn interrupt;
    cst_call_site_fn call_site;
    cst_progress_fn progress;
    cst_container_load_fn container_load;
    cst_records_fn records;
    cst_failure_fn failure;
    cst_document_observe_fn document_observe;
    cst_inaccessible_fault_fn inaccessible;
    cst_predicate_block_fn predicate_block;
    cst_expression_block_fn expression_block;
    cst_compare_fn compare;
    cst_function_fn function;
    cst_function code;
    cst_context_observe_fn context_observe;
    cst_object_observe_fn object_observe;
    cst_coordinator_observe_fn coordinator_observe;
    cst_undo_action_fn undo_action;
    cst_undo_observe_fn undo_observe;
    cst_fetch_done_fn fetch_done;
    cst_batch_rows_fn batch_rows;
    cst_batch_object_fn batch_object;
    cst_observe_fetch_fn observe_fetch;
    cst_section_name_fn section_name;
    cst_history_fn history;
    cst_history_ended_fn history_ended;
    cst_history_progress_fn history_progress;
    cst_migration_stage_fn stage;
    cst_migration_transformation_fn transformation;
};

struct result {
    cst_status status; /* of a function that returns one, else CST_OK */
    int64_t number;
    void *pointer;
    cst_string string;
};

struct parameter {
    const char *name;
    enum kind kind;
    enum handle_type type;
    bool owned; /* an output that the caller must release */
};

struct call {
    const char *name;
    struct result (*invoke)(const union argument *arguments);
    enum returns returns;
    enum mark mark;
    int parameter_count;
    struct parameter parameters[MAX_PARAMETERS];
};

extern const struct call calls[];
extern const size_t call_count;

/* Where the arguments of one call live. */
struct storage {
    cst_value values[MAX_ITEMS];
    cst_key keys[MAX_ITEMS];
    cst_string strings[MAX_ITEMS];
    const char *words[MAX_ITEMS];
    cst_sort sorts[MAX_ITEMS];
    cst_column columns[MAX_ITEMS];
    cst_batch_column batch_columns[MAX_ITEMS];
    cst_index_element elements[MAX_ITEMS];
    void *handles[MAX_ITEMS];
    void *out_handles[MAX_ITEMS];
    void *out_handle[MAX_PARAMETERS]; /* by parameter */
    cst_value out[MAX_ITEMS];         /* large enough for every output */
    cst_property_info info;
    cst_statistics statistics;
    cst_object_stamp stamp;
    cst_undo_state undo_state;
    cst_predicate_info predicate_info;
    cst_value variables[3]; /* a dictionary, and its one key and value */
    cst_buffer buffer;
    cst_store_options options;
    cst_container_options container_options;
    cst_store_description description;
    cst_transformer_callbacks callbacks;
    cst_archive_class_callbacks class_callbacks;
    cst_lifecycle_hooks hooks;
    cst_store_callbacks store_callbacks;
    cst_row rows[MAX_ITEMS];
    struct ArrowSchema arrow_schema;
    struct ArrowArray arrow_array;
    struct ArrowArrayStream arrow_stream, arrow_source;
    cst_controller_delegate delegate;
    cst_history_options history_options;
    cst_history_retention history_retention;
    cst_migration_policy_callbacks policy_callbacks;
    cst_bytes hashes[MAX_ITEMS];
    cst_migration_guard_options guard_options;
    cst_arrow_import_options import_options;
    cst_string import_key;
    cst_fetch_options fetch_options;
    cst_error *error;
};

/* Live handles of every type; those that build a model belong to a draft that is not frozen. */
struct world {
    struct company company;
    void *live[TYPE_COUNT], *second[TYPE_COUNT], *draft[TYPE_COUNT], *second_draft[TYPE_COUNT];
    cst_attribute *transformable, *composite;
    cst_object *project, *unattached, *unsaved;
    cst_context *private_context;
    cst_context *main_context;
    cst_buffer archived;
    cst_batch_request *insertion;
    cst_key to_many, ordered, blob;
    cst_buffer uri, token;
    char folder[512];
    unsigned names; /* for names that were not used yet */
    char fresh[600];
    char model_file[600], named_model[600];
    char mapping_file[600], stages_file[600], released[600];
    bool keeps_store; /* random calls may have removed the store and added others */
};

void world_open(struct world *world, const char *folder);
void world_close(struct world *world);
/* A new draft: a failed call may have left an error in it. */
void world_renew_draft(struct world *world);
/* Arguments with which the call succeeds. */
void world_fill(struct world *world, const struct call *call, union argument *arguments, struct storage *storage);
/* Releases the results of a call, and the error. */
void world_clean(const struct call *call, const union argument *arguments, struct storage *storage,
                 struct result result);

/* How often count_destroy ran. */
extern _Atomic int destroy_count;
void count_destroy(void *userdata);

#endif
