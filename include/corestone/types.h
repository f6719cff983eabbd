/* corestone/types.h: handles and plain values that every other header uses.
 *
 * A handle represents an object of the library: a model, a context, a managed object. It is a token, not an address.
 * cst_retain and cst_release (library.h) accept handles of every type, on any thread. Children retain their parents, so
 * handles may be released in any order.
 *
 * Plain values are the types that calls pass and return: status codes (cst_status), text (cst_string), bytes
 * (cst_bytes), values of properties (cst_value), and buffers that a call fills (cst_buffer). They are structs in the
 * caller's memory. Text and bytes in them are views, unless noted otherwise. Plain values are not bound to a thread.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_TYPES_H
#define CORESTONE_TYPES_H

#include "marks.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ======== handles ======================================================================================== */

/* An error of a failed call. Returned by the call through its `error` parameter, or created by cst_error_new_custom.
 * Immutable, usable on any thread. The caller owns it and releases it. See error.h. */
typedef struct cst_error cst_error;

/* A model: entities, fetch request templates and configurations. Created by cst_model_new, cst_model_load and other
 * functions. Changed by one thread at a time until it is frozen, then immutable and usable on any thread. Lives until
 * its last handle and the last object that uses it, such as a coordinator, are released. See model.h. */
typedef struct cst_model cst_model;

/* An entity of a model. Created by cst_model_add_entity or read with the model. Borrowed: valid as long as the model,
 * or until cst_entity_remove. See entity.h. */
typedef struct cst_entity cst_entity;

/* An attribute of an entity, or an element of a composite attribute. Created by cst_entity_add_attribute and
 * cst_attribute_add_element. Borrowed: valid as long as the model, or until the property is removed. See property.h. */
typedef struct cst_attribute cst_attribute;

/* A relationship of an entity. Created by cst_entity_add_relationship. Borrowed: valid as long as the model, or until
 * the property is removed. See property.h. */
typedef struct cst_relationship cst_relationship;

/* A coordinator: the open stores of one model. Created by cst_coordinator_new or cst_coordinator_open_store, or by a
 * container. Usable on any thread. Its stores are closed by cst_coordinator_close, or when the last handle of the
 * coordinator, of its contexts and of its stores is released. See store.h. */
typedef struct cst_coordinator cst_coordinator;

/* An open store of a coordinator. Created by cst_coordinator_add_store and others. Usable on any thread. The store
 * stays open until it is removed or its coordinator is closed. See store.h. */
typedef struct cst_store cst_store;

/* A context, which manages objects of a coordinator's stores or of a parent context. Created by cst_context_new,
 * cst_context_new_child, a container or a document. Used on its queue. Lives until it is closed, or until its last
 * handle and the last handle of its objects are released. Such a release loses unsaved changes. See context.h. */
typedef struct cst_context cst_context;

/* A managed object of a context. Returned by fetches, insertions, results and relationships; cst_object_new creates one
 * outside every context. A context has one handle for each object, so comparing handles compares objects. Used on the
 * queue of its context. Calls fail with CST_E_OBJECT_GONE after the context was reset or closed, or the store was
 * removed; they can also fail after the row was deleted. See object.h. */
typedef struct cst_object cst_object;

/* The identity of an object. May be passed between threads. Created by cst_object_copy_id, cst_results_copy_id and
 * others. Immutable, usable on any thread. Compare with cst_object_id_equal. See object_id.h. */
typedef struct cst_object_id cst_object_id;

/* A predicate: a condition on objects or values. Created by cst_predicate_parse and the cst_predicate_new_… functions.
 * Immutable, usable on any thread. See predicate.h. */
typedef struct cst_predicate cst_predicate;

/* An expression: one side of a comparison, a computed column or a value of a batch update. Created by
 * cst_expression_parse and the cst_expression_new_… functions. Immutable, usable on any thread. See expression.h. */
typedef struct cst_expression cst_expression;

/* A fetch request: entity, predicate, order and limits of a fetch. Created by cst_fetch_request_new or copied from a
 * model. Used by one thread at a time. A fetch reads it during the call only. See fetch.h. */
typedef struct cst_fetch_request cst_fetch_request;

/* A list of objects or object IDs. Returned by fetches, relationships and other functions. It never changes, and
 * retains its objects unless it is lazy. Used on the queue of its context. See results.h. */
typedef struct cst_results cst_results;

/* A cursor: an iterator over the objects of a fetch, which it reads in batches. Created by cst_context_fetch_cursor.
 * Used on the queue of its context. See cursor.h. */
typedef struct cst_cursor cst_cursor;

/* A fetch that runs on another thread. Created by cst_context_fetch_asynchronously. cst_asynchronous_fetch_cancel
 * stops it. See fetch.h. */
typedef struct cst_asynchronous_fetch cst_asynchronous_fetch;

/* The results of a request by section and row, with a delegate that is notified of changes. Created by
 * cst_controller_new. Used on the queue of its context. See controller.h. */
typedef struct cst_controller cst_controller;

/* The sections and objects of observed results at one point in time. Passed in a cst_difference, and created by
 * cst_controller_copy_snapshot. Immutable. See live.h. */
typedef struct cst_snapshot cst_snapshot;

/* Values of columns, row by row. Returned by cst_context_fetch_rows and others. Immutable; lazy rows are used on the
 * queue of their context, other rows on any thread. See rows.h. */
typedef struct cst_rows cst_rows;

/* A mapping model: the rules by which objects are migrated from one version of a model to another. Created by
 * cst_mapping_model_load. Immutable, usable on any thread. See mapping.h. */
typedef struct cst_mapping_model cst_mapping_model;

/* A migration manager: executes mapping models. Created by cst_migration_manager_new, or by a migration when a store is
 * added. Used by the thread that runs its migration, except for cancellation and progress. Borrowed by callbacks. A
 * retained manager outlives the migration, but the contexts of the migration are closed. See migration.h. */
typedef struct cst_migration_manager cst_migration_manager;

/* A reference to a version of a model, for a stage of a migration. Created by cst_model_reference_new and others.
 * Immutable, usable on any thread. See migration.h. */
typedef struct cst_model_reference cst_model_reference;

/* The stages of a staged migration, in their order. Created by cst_migration_stages_new. Used by one thread at a time;
 * a call that opens a store reads it during the call only. See migration.h. */
typedef struct cst_migration_stages cst_migration_stages;

/* A running observation of a context, an object, a coordinator, a document, an undo manager or a fetch. Created by the
 * …_observe functions. Cancelled by cst_observation_cancel or by releasing its last handle, on any thread. See
 * observation.h.
 */
typedef struct cst_observation cst_observation;

/* A stack of steps that can be undone and redone. Created by cst_undo_manager_new. Usable on any thread. A context that
 * records its changes in a manager retains that manager. See undo.h. */
typedef struct cst_undo_manager cst_undo_manager;

/* A rule that resolves conflicts of a save. Created by cst_merge_policy_new. Immutable, usable on any thread. A context
 * retains its policy. See merging.h. */
typedef struct cst_merge_policy cst_merge_policy;

/* A conflict that a save found. Passed to a merge policy for the call, or borrowed from the error of the save. See
 * merging.h. */
typedef struct cst_conflict cst_conflict;

/* A query generation: one state of the stores of a coordinator. Created by cst_query_generation_current and
 * cst_coordinator_query_generation. Usable on any thread. The state can be read as long as a handle or a pinned context
 * retains the generation. See generation.h. */
typedef struct cst_query_generation cst_query_generation;

/* A batch request: an insert, update or delete of rows that bypasses contexts. Created by cst_batch_insert_new,
 * cst_batch_update_new or cst_batch_delete_new. Used by one thread at a time, and executed any number of times. See
 * batch.h. */
typedef struct cst_batch_request cst_batch_request;

/* A container: a model, its stores and its contexts. Created by cst_container_new or cst_container_open. Usable on any
 * thread. Its stores are closed by cst_container_close, or when its last handle and its contexts are released. See
 * container.h. */
typedef struct cst_container cst_container;

/* A document: one store that is opened, edited with undo, saved and reverted. Created by cst_document_new or
 * cst_document_open. Usable on any thread, except for its context, which is used on its queue. Closed by
 * cst_document_close. See document.h. */
typedef struct cst_document cst_document;

/* A sink for the rows that a callback of a host's store pushes. Passed to the callback, usable on the callback's thread
 * until the callback returns, and invalid afterwards. See host_store.h. */
typedef struct cst_row_sink cst_row_sink;

/* A save into a host's store. Passed to the callback `save`, usable on its thread until the callback returns, and
 * invalid afterwards. See host_store.h. */
typedef struct cst_save_request cst_save_request;

/* A position in the histories of stores, up to which a reader has read them. Created by
 * cst_coordinator_copy_history_token, cst_history_token_new and others. Immutable, usable on any thread. See history.h.
 */
typedef struct cst_history_token cst_history_token;

/* An iterator over the transactions of a history. Created by cst_coordinator_fetch_history. Used by one thread at a
 * time. It retains its coordinator. See history.h. */
typedef struct cst_history_cursor cst_history_cursor;

/* A list of changes of objects: of one object over time, or the differences between two positions of a history. Created
 * by cst_object_fetch_history, cst_coordinator_fetch_object_history and cst_coordinator_diff_history. Immutable, usable
 * on any thread. See history.h. */
typedef struct cst_revisions cst_revisions;

/* ======== plain values =================================================================================== */

/* The outcome of a call: 0 for success, positive for an expected outcome, negative for a failure. CST_OK,
 * CST_NOT_FOUND, CST_END, CST_UNCHANGED or a CST_E_ constant. */
typedef int32_t cst_status;

/* The statuses. Numbers never change. */
enum {
    CST_OK = 0,
    CST_NOT_FOUND = 1, /* the requested item does not exist; no error is set */
    CST_END = 2,       /* there are no more items */
    CST_UNCHANGED = 3, /* there was nothing to do */

    CST_E_INTERNAL = -1,         /* a defect of the library */
    CST_E_INVALID_ARGUMENT = -2, /* a missing pointer, an index out of range, an unknown option */
    CST_E_INVALID_HANDLE = -3,   /* NULL, a released handle, a handle of another type, or a closed object */
    CST_E_WRONG_THREAD = -4,     /* a call on a wrong thread, for example not on the queue of the context */
    CST_E_INVALID_UTF8 = -5,     /* text that is not UTF-8 */
    CST_E_TYPE_MISMATCH = -6,    /* a value of the wrong type for its property */
    CST_E_NO_MEMORY = -7,        /* out of memory, or no thread is available */
    CST_E_CALLBACK = -8,         /* a callback of the host failed; its error is the detail */
    CST_E_UNSUPPORTED = -9,      /* the store, or the library, does not support the operation or the data */
    CST_E_FORKED = -10,          /* the process was forked after the library was used */
    CST_E_CANCELLED = -11,       /* the host cancelled the call */

    CST_E_VALIDATION = -100, /* an object or a value is not valid */
    CST_E_CONFLICT = -101, /* another context or process changed the rows of a save, or unique values are not unique */
    CST_E_OBJECT_GONE = -102,     /* the row was deleted, the context was reset or closed, or the store was removed */
    CST_E_UNSAVED_CHANGES = -103, /* there are unsaved changes, so the call had no effect */

    CST_E_PREDICATE_SYNTAX = -200, /* text that is not a predicate or an expression */
    CST_E_PREDICATE = -201,        /* a predicate that cannot be applied here */

    CST_E_STORE_IO = -300,        /* reading or writing a file failed */
    CST_E_STORE_BUSY = -301,      /* another process or connection keeps the store locked */
    CST_E_STORE_CORRUPT = -302,   /* a damaged file */
    CST_E_STORE_READ_ONLY = -303, /* a write to a read-only store */
    CST_E_NOT_A_STORE = -304,     /* a file that is not a store, or not one of this type */

    CST_E_MODEL_MISMATCH = -400, /* the store was written with another model */
    CST_E_MIGRATION = -401,      /* a migration or its mapping failed */
    CST_E_MODEL = -402           /* an error in a model, or a change of a frozen one */
};

/* The values of cst_error_code: Core Data's codes in NSCocoaErrorDomain. An error for which Core Data does not have a
 * code has the code 0. */
enum {
    CST_CODE_MANAGED_OBJECT_VALIDATION = 1550,
    CST_CODE_MANAGED_OBJECT_CONSTRAINT_VALIDATION = 1551,
    CST_CODE_VALIDATION_MULTIPLE_ERRORS = 1560,
    CST_CODE_VALIDATION_MISSING_MANDATORY_PROPERTY = 1570,
    CST_CODE_VALIDATION_RELATIONSHIP_LACKS_MINIMUM_COUNT = 1580,
    CST_CODE_VALIDATION_RELATIONSHIP_EXCEEDS_MAXIMUM_COUNT = 1590,
    CST_CODE_VALIDATION_RELATIONSHIP_DENIED_DELETE = 1600,
    CST_CODE_VALIDATION_NUMBER_TOO_LARGE = 1610,
    CST_CODE_VALIDATION_NUMBER_TOO_SMALL = 1620,
    CST_CODE_VALIDATION_DATE_TOO_LATE = 1630,
    CST_CODE_VALIDATION_DATE_TOO_SOON = 1640,
    CST_CODE_VALIDATION_INVALID_DATE = 1650,
    CST_CODE_VALIDATION_STRING_TOO_LONG = 1660,
    CST_CODE_VALIDATION_STRING_TOO_SHORT = 1670,
    CST_CODE_VALIDATION_STRING_PATTERN_MATCHING = 1680,
    CST_CODE_VALIDATION_INVALID_URI = 1690,
    CST_CODE_MANAGED_OBJECT_CONTEXT_LOCKING = 132000,
    CST_CODE_PERSISTENT_STORE_COORDINATOR_LOCKING = 132010,
    CST_CODE_MANAGED_OBJECT_REFERENTIAL_INTEGRITY = 133000,
    CST_CODE_MANAGED_OBJECT_EXTERNAL_RELATIONSHIP = 133010,
    CST_CODE_MANAGED_OBJECT_MERGE = 133020,
    CST_CODE_MANAGED_OBJECT_CONSTRAINT_MERGE = 133021,
    CST_CODE_PERSISTENT_STORE_INVALID_TYPE = 134000,
    CST_CODE_PERSISTENT_STORE_TYPE_MISMATCH = 134010,
    CST_CODE_PERSISTENT_STORE_INCOMPATIBLE_SCHEMA = 134020,
    CST_CODE_PERSISTENT_STORE_SAVE = 134030,
    CST_CODE_PERSISTENT_STORE_INCOMPLETE_SAVE = 134040,
    CST_CODE_PERSISTENT_STORE_SAVE_CONFLICTS = 134050,
    CST_CODE_CORE_DATA = 134060,
    CST_CODE_PERSISTENT_STORE_OPERATION = 134070,
    CST_CODE_PERSISTENT_STORE_OPEN = 134080,
    CST_CODE_PERSISTENT_STORE_TIMEOUT = 134090,
    CST_CODE_PERSISTENT_STORE_UNSUPPORTED_REQUEST_TYPE = 134091,
    CST_CODE_PERSISTENT_STORE_INCOMPATIBLE_VERSION_HASH = 134100,
    CST_CODE_MIGRATION = 134110,
    CST_CODE_MIGRATION_CONSTRAINT_VIOLATION = 134111,
    CST_CODE_MIGRATION_CANCELLED = 134120,
    CST_CODE_MIGRATION_MISSING_SOURCE_MODEL = 134130,
    CST_CODE_MIGRATION_MISSING_MAPPING_MODEL = 134140,
    CST_CODE_MIGRATION_MANAGER_SOURCE_STORE = 134150,
    CST_CODE_MIGRATION_MANAGER_DESTINATION_STORE = 134160,
    CST_CODE_ENTITY_MIGRATION_POLICY = 134170,
    CST_CODE_SQLITE = 134180,
    CST_CODE_INFERRED_MAPPING_MODEL = 134190,
    CST_CODE_EXTERNAL_RECORD_IMPORT = 134200,
    CST_CODE_PERSISTENT_HISTORY_TOKEN_EXPIRED = 134301,
    CST_CODE_PERSISTENT_HISTORY_TOKEN_STORE = 134501,
    CST_CODE_MANAGED_OBJECT_MODEL_REFERENCE_NOT_FOUND = 134504,
    CST_CODE_STAGED_MIGRATION_FRAMEWORK_VERSION_MISMATCH = 134505,
    CST_CODE_STAGED_MIGRATION_BACKWARD_MIGRATION = 134506
};

/* The key of a property: constant within one model, and the same for an entity and its subentities. See cst_entity_key.
 */
typedef uint32_t cst_key;

/* A number that is not the key of any property. */
#define CST_NO_KEY ((cst_key)0xFFFFFFFFu)

/* The size of a cst_string whose data is NUL-terminated. */
#define CST_NUL ((size_t)-1)

/* Text in UTF-8. As input, `size` may be CST_NUL; as output, the data is also NUL-terminated. CST_TEXT and
 * cst_string_from (inline.h) create a cst_string. */
typedef struct cst_string {
    const char *data; /* NULL is null, which differs from empty */
    size_t size;      /* in bytes, or CST_NUL */
} cst_string;

/* A view of bytes. `data` may be NULL when `size`, the number of bytes, is 0. */
typedef struct cst_bytes {
    const uint8_t *data;
    size_t size;
} cst_bytes;

/* Text or bytes that a call fills. Initialise it with zeros, fill it any number of times, and free it with
 * cst_buffer_dispose. In a filled buffer, data[size] is NUL. `capacity` is the size of the memory. Do not change the
 * members. */
typedef struct cst_buffer {
    char *data;
    size_t size;
    size_t capacity;
} cst_buffer;

/* The type of a cst_value, from CST_NULL to CST_HISTORY_TOKEN. */
typedef uint32_t cst_type;

/* The types of values. */
enum {
    CST_NULL = 0,
    CST_BOOL = 1,
    CST_INT = 2,
    CST_DOUBLE = 3,
    CST_DECIMAL = 4,
    CST_STRING = 5,
    CST_BYTES = 6,
    CST_DATE = 7, /* seconds since 2001-01-01 00:00:00 UTC */
    CST_UUID = 8,
    CST_OBJECT = 9,
    CST_OBJECT_ID = 10,
    CST_URI = 11,
    /* The following are not values of attributes or to-one relationships.
     *
     * They occur in predicates, expressions, sorting, observers and errors; arrays also as the members of to-many
     * relationships. */
    CST_ARRAY = 12,
    CST_SET = 13,
    CST_DICTIONARY = 14,   /* keys and values alternate; keys are strings, which the library sorts */
    CST_HOST = 15,         /* an object of the host: cst_host_callbacks */
    CST_EXPRESSION = 16,   /* an expression, which replaces the %@ or variable for which it is passed */
    CST_DEFAULT = 17,      /* in a batch insertion: the default of the attribute; see also cst_row */
    CST_HISTORY_TOKEN = 18 /* in predicates on the history of a store */
};

/* The mantissa of a decimal number: 128 bits, unsigned, low word first. The sign and the exponent are in cst_value.aux
 * (CST_DECIMAL_AUX). */
typedef struct cst_decimal {
    uint64_t mantissa[2];
} cst_decimal;

/* The aux of a decimal, whose value is (negative ? -1 : 1) * mantissa * 10^exponent. The mantissa is below 10^38, the
 * exponent between -128 and 127. */
#define CST_DECIMAL_AUX(negative, exponent) ((uint32_t)(uint8_t)(int8_t)(exponent) | ((negative) ? 0x100u : 0u))

/* The exponent in the aux of a decimal. */
#define CST_DECIMAL_EXPONENT(aux) ((int)(int8_t)(uint8_t)((aux) & 0xFFu))

/* Whether the aux of a decimal has a minus sign. */
#define CST_DECIMAL_NEGATIVE(aux) (((aux) & 0x100u) != 0)

/* The members of a collection: `size` values at `data`. */
typedef struct cst_values {
    const struct cst_value *data;
    size_t size;
} cst_values;

/* An object of the host, and the callbacks by which the library reads it. */
typedef struct cst_host {
    const struct cst_host_callbacks *callbacks;
    void *object;
} cst_host;

/* A value of a property, an argument of a predicate, or a result. `type` selects the member of `as`. The functions of
 * inline.h create values. Text, bytes and handles in a value are borrowed, unless the output of the call is annotated
 * with CST_OWNED; then cst_value_dispose frees them. */
typedef struct cst_value {
    cst_type type; /* CST_NULL, … */
    uint32_t aux;  /* CST_DECIMAL_AUX for decimals, otherwise 0; the library marks owned values */
    union {
        bool boolean;
        int64_t integer;
        double real;
        double date;
        cst_decimal decimal;
        cst_string string; /* CST_STRING and CST_URI */
        cst_bytes bytes;
        uint8_t uuid[16];
        cst_object *object;
        cst_object_id *object_id;
        cst_expression *expression;
        cst_values values; /* CST_ARRAY, CST_SET and CST_DICTIONARY */
        cst_host host;
        cst_history_token *history_token;
    } as;
} cst_value;

/* The type of an attribute: a CST_ATTRIBUTE_ constant. */
typedef int32_t cst_attribute_type;

/* Core Data's codes of attribute types. */
enum {
    CST_ATTRIBUTE_UNDEFINED = 0, /* transient attributes only */
    CST_ATTRIBUTE_INTEGER_16 = 100,
    CST_ATTRIBUTE_INTEGER_32 = 200,
    CST_ATTRIBUTE_INTEGER_64 = 300,
    CST_ATTRIBUTE_DECIMAL = 400,
    CST_ATTRIBUTE_DOUBLE = 500,
    CST_ATTRIBUTE_FLOAT = 600,
    CST_ATTRIBUTE_STRING = 700,
    CST_ATTRIBUTE_BOOLEAN = 800,
    CST_ATTRIBUTE_DATE = 900,
    CST_ATTRIBUTE_BINARY = 1000,
    CST_ATTRIBUTE_UUID = 1100,
    CST_ATTRIBUTE_URI = 1200,
    CST_ATTRIBUTE_TRANSFORMABLE = 1800,
    CST_ATTRIBUTE_OBJECT_ID = 2000, /* transient attributes only */
    CST_ATTRIBUTE_COMPOSITE = 2100  /* has elements: cst_attribute_add_element */
};

/* Frees the userdata of a callback or an error. Called once, unless the process exits first: if the call that received
 * the userdata fails, before that call returns; otherwise after the last use. Within a callback, the function is
 * deferred until the outermost call of the thread returns. */
typedef void (*cst_destroy_fn)(void *userdata);

#if defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
_Static_assert(sizeof(void *) != 8 || sizeof(cst_value) == 24, "cst_value is 24 bytes on 64-bit machines");
#elif defined(__cplusplus) && __cplusplus >= 201103L
static_assert(sizeof(void *) != 8 || sizeof(cst_value) == 24, "cst_value is 24 bytes on 64-bit machines");
#endif

#ifdef __cplusplus
}
#endif
#endif
