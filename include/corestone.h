/* corestone.h: Core Data for every language.
 *
 * A model describes entities; a coordinator keeps stores for a model; a context is a scratch pad of objects on top of a
 * coordinator; objects are read, changed, saved. docs/CONVENTIONS.md explains the rules that every function follows:
 *
 * Results    Each function that can fail returns a cst_status: 0 done, above 0 an expected outcome, below 0 a failure.
 *            `error`, the last parameter, may be NULL; else it must point to NULL and is set only on failure (owned).
 * Ownership  `new`, `copy`, `fetch`, `insert` and `with` give a handle that the caller owns: cst_release it.
 *            `get` and `at` give a borrowed one, valid until its owner is changed or released; cst_retain keeps it.
 *            Children keep their parents alive: an object its context, a context its coordinator. NULL is released freely.
 * Handles    are tokens, not addresses. A freed, stale or wrongly typed one is CST_E_INVALID_HANDLE, never a crash.
 * Text       UTF-8. As input a cst_string with a size, or CST_NUL for "NUL-terminated"; data NULL is null, size 0 is empty.
 *            As output a view that is also NUL-terminated.
 * Threads    Each declaration bears a mark. CST_ANY_THREAD: any thread, at any time. CST_ONE_THREAD: one at a time.
 *            CST_ON_QUEUE: on the context's queue (cst_context_new), else CST_E_WRONG_THREAD.
 *            After fork every call in the child that gives a status answers CST_E_FORKED; errors can still be read.
 * Options    structs begin with struct_size; all else zero is the default.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_H
#define CORESTONE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#if defined(CST_BUILD)
#define CST_EXPORT __declspec(dllexport)
#elif defined(CST_STATIC)
#define CST_EXPORT
#else
#define CST_EXPORT __declspec(dllimport)
#endif
#else
#define CST_EXPORT __attribute__((visibility("default")))
#endif

/* Marks for readers and for generators of bindings. They expand to nothing unless they are defined before this header is
 * included: scripts/generate.py makes annotations of them. */
#ifndef CST_OWNED /* an output that the caller must release */
#define CST_OWNED
#endif
#ifndef CST_BORROWED /* an output that belongs to something else */
#define CST_BORROWED
#endif
#ifndef CST_ANY_THREAD /* callable on any thread */
#define CST_ANY_THREAD
#endif
#ifndef CST_ON_QUEUE /* callable on the queue of the context only */
#define CST_ON_QUEUE
#endif
#ifndef CST_ONE_THREAD /* callable on any thread, one at a time */
#define CST_ONE_THREAD
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define CST_VERSION_MAJOR 0
#define CST_VERSION_MINOR 1
#define CST_VERSION_PATCH 0

/* ======== handles ======================================================================================== */

typedef struct cst_error cst_error;
typedef struct cst_model cst_model;
typedef struct cst_entity cst_entity;
typedef struct cst_attribute cst_attribute;
typedef struct cst_relationship cst_relationship;
typedef struct cst_coordinator cst_coordinator;
typedef struct cst_store cst_store;
typedef struct cst_context cst_context;
typedef struct cst_object cst_object;
typedef struct cst_object_id cst_object_id;
typedef struct cst_predicate cst_predicate;
typedef struct cst_expression cst_expression;
typedef struct cst_fetch_request cst_fetch_request;
typedef struct cst_results cst_results;
typedef struct cst_cursor cst_cursor;
typedef struct cst_asynchronous_fetch cst_asynchronous_fetch;
typedef struct cst_controller cst_controller;
typedef struct cst_snapshot cst_snapshot;
typedef struct cst_rows cst_rows;
typedef struct cst_mapping_model cst_mapping_model;
typedef struct cst_observation cst_observation;
typedef struct cst_undo_manager cst_undo_manager;
typedef struct cst_merge_policy cst_merge_policy;
typedef struct cst_conflict cst_conflict;
typedef struct cst_query_generation cst_query_generation;
typedef struct cst_batch_request cst_batch_request;
typedef struct cst_container cst_container;
typedef struct cst_document cst_document;
typedef struct cst_row_sink cst_row_sink;
typedef struct cst_save_request cst_save_request;

/* ======== plain values =================================================================================== */

typedef int32_t cst_status;
enum {
    CST_OK = 0,
    CST_NOT_FOUND = 1, /* the thing asked for does not exist; no error is set */
    CST_END = 2,       /* nothing is left to give */
    CST_UNCHANGED = 3, /* there was nothing to do */

    CST_E_INTERNAL = -1,
    CST_E_INVALID_ARGUMENT = -2,
    CST_E_INVALID_HANDLE = -3,
    CST_E_WRONG_THREAD = -4,
    CST_E_INVALID_UTF8 = -5,
    CST_E_TYPE_MISMATCH = -6,
    CST_E_NO_MEMORY = -7,
    CST_E_CALLBACK = -8,
    CST_E_UNSUPPORTED = -9,
    CST_E_FORKED = -10,
    CST_E_CANCELLED = -11,

    CST_E_VALIDATION = -100,
    CST_E_CONFLICT = -101,
    CST_E_OBJECT_GONE = -102,
    CST_E_UNSAVED_CHANGES = -103,

    CST_E_PREDICATE_SYNTAX = -200,
    CST_E_PREDICATE = -201,

    CST_E_STORE_IO = -300,
    CST_E_STORE_BUSY = -301,
    CST_E_STORE_CORRUPT = -302,
    CST_E_STORE_READ_ONLY = -303,
    CST_E_NOT_A_STORE = -304,

    CST_E_MODEL_MISMATCH = -400,
    CST_E_MIGRATION = -401,
    CST_E_MODEL = -402
};

/* What cst_error_code returns: Core Data's codes in NSCocoaErrorDomain; 0 where Core Data has none. */
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
    CST_CODE_MANAGED_OBJECT_MODEL_REFERENCE_NOT_FOUND = 134504,
    CST_CODE_STAGED_MIGRATION_FRAMEWORK_VERSION_MISMATCH = 134505,
    CST_CODE_STAGED_MIGRATION_BACKWARD_MIGRATION = 134506
};

/* A property's key: constant within one model, the same for an entity and the entities that inherit from it. */
typedef uint32_t cst_key;
#define CST_NO_KEY ((cst_key)0xFFFFFFFFu)

/* As a size: "data is NUL-terminated". */
#define CST_NUL ((size_t)-1)

typedef struct cst_string {
    const char *data; /* NULL is null, not empty */
    size_t size;      /* bytes, or CST_NUL */
} cst_string;

typedef struct cst_bytes {
    const uint8_t *data;
    size_t size;
} cst_bytes;

/* Text or bytes that a call fills: begin with all zero, use again at will, end with cst_buffer_dispose.
 * data[size] is always NUL. */
typedef struct cst_buffer {
    char *data;
    size_t size;
    size_t capacity;
} cst_buffer;

/* What a cst_value holds. */
typedef uint32_t cst_type;
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
    /* Of predicates, expressions and sorting only; properties do not hold them. */
    CST_ARRAY = 12,
    CST_SET = 13,
    CST_DICTIONARY = 14, /* a string, what it stands for, the next string, … */
    CST_HOST = 15,       /* something of the host's: cst_host_callbacks */
    CST_EXPRESSION = 16, /* as an argument of %@ or a variable: stands in its place */
    CST_DEFAULT = 17     /* in a row of a batch insertion: what the model says that a new object has */
};

/* 128-bit unsigned mantissa, low word first; sign and exponent are in cst_value.aux (CST_DECIMAL_AUX). */
typedef struct cst_decimal {
    uint64_t mantissa[2];
} cst_decimal;

/* The aux of a decimal: value = (negative ? -1 : 1) * mantissa * 10^exponent, mantissa below 10^38,
 * exponent -128 ... 127. */
#define CST_DECIMAL_AUX(negative, exponent) ((uint32_t)(uint8_t)(int8_t)(exponent) | ((negative) ? 0x100u : 0u))
#define CST_DECIMAL_EXPONENT(aux) ((int)(int8_t)(uint8_t)((aux) & 0xFFu))
#define CST_DECIMAL_NEGATIVE(aux) (((aux) & 0x100u) != 0)

/* The members of a collection. */
typedef struct cst_values {
    const struct cst_value *data;
    size_t size;
} cst_values;

/* Something of the host's, and how the library asks it. */
typedef struct cst_host {
    const struct cst_host_callbacks *callbacks;
    void *object;
} cst_host;

typedef struct cst_value {
    cst_type type;
    uint32_t aux; /* zero, but for decimals */
    union {
        bool boolean;
        int64_t integer;
        double real;
        double date;
        cst_decimal decimal;
        cst_string string; /* also CST_URI */
        cst_bytes bytes;
        uint8_t uuid[16];
        cst_object *object;
        cst_object_id *object_id;
        cst_expression *expression;
        cst_values values; /* CST_ARRAY, CST_SET, CST_DICTIONARY */
        cst_host host;
    } as;
} cst_value;

/* Core Data's codes of attribute types. */
typedef int32_t cst_attribute_type;
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
    CST_ATTRIBUTE_COMPOSITE = 2100  /* in models that were read; no store can be made for them yet */
};

/* Frees what a host hung on a callback or an error. Called exactly once: on failure before the call returns, else
 * after the last use. Within a callback, both are put off until the outermost call of the thread returns. */
typedef void (*cst_destroy_fn)(void *userdata);

/* ======== library ======================================================================================== */

/* The version of the library that is loaded, which may be newer than this header. Each pointer may be NULL. */
CST_EXPORT CST_ANY_THREAD void cst_version(int *major, int *minor, int *patch);
/* The same as text, for example "0.1.0". Valid for ever. */
CST_EXPORT CST_ANY_THREAD cst_string cst_version_string(void);
/* Makes the caller one more owner of any handle and returns it; NULL when it is NULL or no live handle. */
CST_EXPORT CST_ANY_THREAD void *cst_retain(void *handle);
/* Gives up one ownership of any handle; NULL is fine. CST_E_INVALID_HANDLE when it was no live handle (a double
 * release, for example), CST_E_FORKED in a forked child. What belongs to a context is freed by the context's own
 * thread at its next call. Within a callback the handle is invalid at once, but what it stands for ends with the outermost
 * call of the thread, which may be using it. A context that ends with unsaved changes is named in the log, with their counts
 * by entity: cst_context_close refuses instead. */
CST_EXPORT CST_ANY_THREAD cst_status cst_release(void *handle);
/* How many handles are alive in the process: for leak checks. */
CST_EXPORT CST_ANY_THREAD size_t cst_handle_count(void);
/* Puts a copy of bytes into a buffer, which grows as needed; a NUL follows them. */
CST_EXPORT CST_ANY_THREAD cst_status cst_buffer_fill(cst_buffer *buffer, cst_bytes bytes, cst_error **error);
/* Frees the memory of a buffer and zeroes it. NULL is fine. */
CST_EXPORT CST_ANY_THREAD void cst_buffer_dispose(cst_buffer *buffer);

/* ======== log ============================================================================================ */
/* What the library tells about its work: which SQL it runs, how long that takes, how many rows come. Of the whole process.
 * Lines begin as Core Data's do ("CoreData: sql: ", "CoreData: annotation: ", "CoreData: details: "). Ends of lines and
 * other control characters within them are marks: no name or value of a file makes a second line. */

/* What of the SQL is told from now on, of stores that are open too: 0 nothing, 1 statements on rows with their time and
 * number of rows, 2 also transactions and settings, 3 also bound values and SQLite's plan, 4 also its counters. At first
 * what CORESTONE_SQL_DEBUG in the environment says. CST_E_INVALID_ARGUMENT above 4. */
CST_EXPORT CST_ANY_THREAD cst_status cst_log_set_sql_detail(uint32_t detail, cst_error **error);
CST_EXPORT CST_ANY_THREAD uint32_t cst_log_sql_detail(void);
/* Gets one line without its end, on the thread that does the work, in the midst of it and with stores locked: it may call
 * cst_retain, cst_release, what cannot fail, and getters and setters of values that are in memory; every other call fails
 * with CST_E_INVALID_ARGUMENT. */
typedef void (*cst_log_fn)(void *userdata, cst_string line CST_BORROWED);
/* Takes the lines instead of standard error; NULL gives them back to it. On failure `destroy` is called too. */
CST_EXPORT CST_ANY_THREAD cst_status cst_log_set_callback(cst_log_fn callback, void *userdata, cst_destroy_fn destroy,
                                                          cst_error **error);
/* Does what Core Data's launch arguments among a program's say: "-com.apple.CoreData.SQLDebug", "1" and its like, each with
 * its number after it; everything else is passed over. `out_taken`, which may be NULL, tells how many there were.
 * CST_E_INVALID_ARGUMENT, and nothing is done, for one that does not exist or a number that it does not take. */
CST_EXPORT CST_ANY_THREAD cst_status cst_log_take_arguments(size_t count, const char *const *arguments,
                                                            size_t *out_taken, cst_error **error);

/* ======== error ========================================================================================== */
/* Errors never change: every function here may be called on any thread. Views live as long as the error. On NULL or an
 * invalid handle: CST_E_INVALID_HANDLE, 0, a null string, or NULL. */

CST_EXPORT CST_ANY_THREAD cst_status cst_error_status(const cst_error *error);
/* Cocoa's code (CST_CODE_…), or the code of cst_error_new_custom; 0 when Core Data has none. */
CST_EXPORT CST_ANY_THREAD int64_t cst_error_code(const cst_error *error);
CST_EXPORT CST_ANY_THREAD CST_BORROWED cst_string cst_error_domain(const cst_error *error);
/* One or two sentences for people: what is wrong, named, and the remedy. It may be printed and logged as it is: control
 * characters in the names and values of a file are marks here, any line but the first begins with two spaces, and the
 * middle of more than 16 KB is left out. Entity, key, value and file are exact. A host's own message is what it gave. */
CST_EXPORT CST_ANY_THREAD CST_BORROWED cst_string cst_error_message(const cst_error *error);
/* The name of the entity concerned, or a null string. */
CST_EXPORT CST_ANY_THREAD CST_BORROWED cst_string cst_error_entity(const cst_error *error);
/* The name of the property concerned, or a null string. */
CST_EXPORT CST_ANY_THREAD CST_BORROWED cst_string cst_error_key(const cst_error *error);
/* The URI of the object concerned, or a null string. */
CST_EXPORT CST_ANY_THREAD CST_BORROWED cst_string cst_error_object_uri(const cst_error *error);
/* The file concerned, or a null string. */
CST_EXPORT CST_ANY_THREAD CST_BORROWED cst_string cst_error_file(const cst_error *error);
/* The value that was refused; CST_NOT_FOUND when there is none. */
CST_EXPORT CST_ANY_THREAD cst_status cst_error_value(const cst_error *error, cst_value *out_value CST_BORROWED);
/* The text of the model's condition that the value does not meet, or a null string. */
CST_EXPORT CST_ANY_THREAD CST_BORROWED cst_string cst_error_predicate(const cst_error *error);
/* SQLite's extended result code, 0 when SQLite was not involved. */
CST_EXPORT CST_ANY_THREAD int32_t cst_error_sqlite_code(const cst_error *error);
/* The byte offset in a predicate's text at which reading stopped, -1 when there is none. */
CST_EXPORT CST_ANY_THREAD int64_t cst_error_offset(const cst_error *error);
/* The failures of which this one consists: every property that failed validation, every conflict of a save, or the
 * error that a callback gave. */
CST_EXPORT CST_ANY_THREAD size_t cst_error_detail_count(const cst_error *error);
CST_EXPORT CST_ANY_THREAD CST_BORROWED const cst_error *cst_error_detail_at(const cst_error *error, size_t index);
/* Message, code and details as text of several lines. */
CST_EXPORT CST_ANY_THREAD cst_status cst_error_copy_description(const cst_error *error, cst_buffer *out_text);
/* An error of the host's own, to be returned from a callback; status CST_E_CALLBACK. The domain may be null ("Host"). */
CST_EXPORT CST_ANY_THREAD cst_status cst_error_new_custom(cst_string domain, int64_t code, cst_string message,
                                                          void *userdata, cst_destroy_fn destroy,
                                                          cst_error **out_error CST_OWNED);
/* The userdata of cst_error_new_custom; NULL for every other error. */
CST_EXPORT CST_ANY_THREAD void *cst_error_userdata(const cst_error *error);

/* ======== model ========================================================================================== */
/* A model is built by one thread, then frozen by its first coordinator; from then on it may be read by any thread, and a
 * change is CST_E_MODEL. A mistake in construction sticks: each later change of that model returns the first error
 * again, and so does cst_coordinator_new. */

CST_EXPORT CST_ANY_THREAD cst_status cst_model_new(cst_model **out_model CST_OWNED, cst_error **error);
/* Adds an entity; its name must be an identifier, unique within the model. */
CST_EXPORT CST_ONE_THREAD cst_status cst_model_add_entity(cst_model *model, cst_string name,
                                                          cst_entity **out_entity CST_BORROWED, cst_error **error);
/* Checks the model as a coordinator will, and freezes it. */
CST_EXPORT CST_ONE_THREAD cst_status cst_model_freeze(cst_model *model, cst_error **error);
CST_EXPORT CST_ANY_THREAD cst_status cst_model_is_frozen(const cst_model *model, bool *out_frozen, cst_error **error);
/* Labels the version of the model; goes into NSStoreModelVersionIdentifiers. */
CST_EXPORT CST_ONE_THREAD cst_status cst_model_add_version_identifier(cst_model *model, cst_string identifier,
                                                                      cst_error **error);
/* CST_NOT_FOUND when the model has no such label. */
CST_EXPORT CST_ONE_THREAD cst_status cst_model_remove_version_identifier(cst_model *model, cst_string identifier,
                                                                         cst_error **error);
CST_EXPORT CST_ANY_THREAD size_t cst_model_entity_count(const cst_model *model);
/* Entities in order of creation. CST_END past the last one. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_entity_at(const cst_model *model, size_t index,
                                                         cst_entity **out_entity CST_BORROWED, cst_error **error);
/* The entity of that name; CST_NOT_FOUND when there is none. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_entity(const cst_model *model, cst_string name,
                                                      cst_entity **out_entity CST_BORROWED, cst_error **error);
/* Reads a model from a file or folder of any of Apple's kinds: .xcdatamodeld, .xcdatamodel and its contents, .momd, .mom.
 * What it is is told from the content. `version` names one version of a bundle; null is the current one. The model is not
 * frozen yet. CST_E_STORE_IO when there is nothing to read, CST_E_MODEL when it is damaged or beyond a limit, which the
 * message names, CST_E_INVALID_ARGUMENT for a store, and for a version that the bundle does not have. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_load(cst_string path, cst_string version,
                                                    cst_model **out_model CST_OWNED, cst_error **error);
/* As cst_model_load, for a source model that may be half-finished, as an editor saves it: with a relationship that leads nowhere,
 * an attribute without a type, an entity whose parent is gone. What cannot stand in a model is left out. `out_problems` gets a JSON
 * array of what is wrong, each an object with `entity`, `key` (both may be null) and `message`; an empty one for a model that can
 * be used. One with problems can only be looked at: whatever would use it is refused with the first of them. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_load_draft(cst_string path, cst_string version,
                                                          cst_model **out_model CST_OWNED, cst_buffer *out_problems,
                                                          cst_error **error);
/* Reads a model for a store that is to be opened with it: of a bundle with several versions the one that the store was
 * written with, told by the version hashes of all entities (cst_model_version_name tells which); anything else, and when
 * the store does not tell, as cst_model_load without a version. The model is frozen. The store does not change.
 * CST_E_MODEL_MISMATCH when it was written with none of the versions: the nearest one is named, and what differs. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_load_for_store(cst_string path, cst_string store_path,
                                                              cst_model **out_model CST_OWNED, cst_error **error);
/* Which version of a bundle the model was read from; null for any other model. */
CST_EXPORT CST_ANY_THREAD CST_BORROWED cst_string cst_model_version_name(const cst_model *model);
/* As cst_model_load, from the content of one file, or of a store's Z_MODELCACHE. CST_E_STORE_CORRUPT when it is damaged. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_load_bytes(cst_bytes content, cst_model **out_model CST_OWNED,
                                                          cst_error **error);
/* The names of the versions that a bundle holds, each ended by a NUL, in their natural order; a model that is no bundle
 * is its own only version. out_current is the place of the current one, or the count when it is not there; out_count and
 * out_current may be NULL. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_copy_versions(cst_string path, cst_buffer *out_names, size_t *out_count,
                                                             size_t *out_current, cst_error **error);
/* An equal model that can be changed, whether this one is frozen or not. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_copy(const cst_model *model, cst_model **out_model CST_OWNED,
                                                    cst_error **error);
/* A new model with the entities of several; what is the same in two of them is there once. CST_E_MODEL when entities or
 * fetch requests of one name differ: the message says in what. With the path of a store (null: none) it has the entities
 * that the store was written with, found by their version hashes, which freezes the models; CST_E_MODEL_MISMATCH names
 * those that are in none. */
CST_EXPORT CST_ONE_THREAD cst_status cst_model_merge(size_t count, cst_model *const *models, cst_string store_path,
                                                     cst_model **out_model CST_OWNED, cst_error **error);
/* All that the model says as JSON, of which docs/reference/model.md has the keys: entities with what they declare, indexes,
 * constraints, derivations, fetched properties, fetch requests, configurations, and what a source model says beyond. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_copy_json(const cst_model *model, cst_buffer *out_json,
                                                         cst_error **error);
/* A picture of the model in DOT, the language of Graphviz's `dot`, which makes SVG or PNG of it: a box for each entity with
 * what it declares, one line for a relationship and its inverse, double heads for to-many, hollow ones for inheritance. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_copy_diagram(const cst_model *model, cst_buffer *out_dot,
                                                            cst_error **error);
/* Fetch requests that belong to the model, by name. In their predicates, $names are variables. The request is copied; NULL
 * removes the template. */
CST_EXPORT CST_ONE_THREAD cst_status cst_model_set_template(cst_model *model, cst_string name,
                                                            const cst_fetch_request *request, cst_error **error);
/* A copy of a template, its variables unbound; CST_NOT_FOUND when there is none of that name. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_copy_template(const cst_model *model, cst_string name,
                                                             cst_fetch_request **out_request CST_OWNED,
                                                             cst_error **error);
/* A request made of a template, with values for its variables; a null value is nil. CST_E_PREDICATE names a variable
 * without a value (cst_error_key), CST_E_INVALID_ARGUMENT a template that is not there. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_copy_bound_template(const cst_model *model, cst_string name,
                                                                   size_t count, const cst_string *variables,
                                                                   const cst_value *values,
                                                                   cst_fetch_request **out_request CST_OWNED,
                                                                   cst_error **error);
/* Makes the entities of these names a configuration, or replaces the one of that name: a subset for one store of several. */
CST_EXPORT CST_ONE_THREAD cst_status cst_model_set_configuration(cst_model *model, cst_string name, size_t count,
                                                                 const cst_string *entities, cst_error **error);
/* CST_NOT_FOUND when there is no configuration of that name. */
CST_EXPORT CST_ONE_THREAD cst_status cst_model_remove_configuration(cst_model *model, cst_string name,
                                                                    cst_error **error);
/* The names of the entities of a configuration, each ended by a NUL; null or "Default" is the whole model. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_copy_configuration(const cst_model *model, cst_string name,
                                                                  cst_buffer *out_names, size_t *out_count,
                                                                  cst_error **error);
enum { CST_NAMES_TEMPLATES = 1, CST_NAMES_CONFIGURATIONS = 2, CST_NAMES_VERSION_IDENTIFIERS = 3 };
/* Names that the model has, each ended by a NUL: of templates (sorted), configurations, labels of its version. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_copy_names(const cst_model *model, uint32_t which, cst_buffer *out_names,
                                                          size_t *out_count, cst_error **error);
/* What is wrong or doubtful in a model, as a JSON list of objects with `rule`, `severity` (error, warning, note), `entity`,
 * `key`, `message` and `remedy`; docs/reference/lint.md explains each rule. `profile` is null or "standard", or "cloudkit".
 * The model may be frozen or not, and need not be right. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_copy_lint(const cst_model *model, cst_string profile,
                                                         cst_buffer *out_json, cst_error **error);
/* How `newer` differs, as a JSON list of objects with `action` (added, removed, changed, renamed), `part`, `entity`, `name`,
 * `field`, `old`, `new`, `changesHash` (stores need a migration) and `text`. The list is empty for equal models. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_copy_diff(const cst_model *model, const cst_model *newer,
                                                         cst_buffer *out_json, cst_error **error);
/* Sets what a part of the model is called for people, or what one of its conditions says when it is not met: the key is
 * `Entity/E`, `Property/P/Entity/E`, `Property/P` or `ErrorString/W`. A null text removes the entry. */
CST_EXPORT CST_ONE_THREAD cst_status cst_model_set_localization(cst_model *model, cst_string key, cst_string text,
                                                                cst_error **error);
/* CST_NOT_FOUND when the key has no text. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_localization(const cst_model *model, cst_string key,
                                                            cst_string *out_text CST_BORROWED, cst_error **error);
/* The model as a compiled model (the bytes of a .mom file, which Z_MODELCACHE holds too). Freezes it. */
CST_EXPORT CST_ONE_THREAD cst_status cst_model_copy_compiled(cst_model *model, cst_buffer *out_bytes,
                                                             cst_error **error);
enum {
    CST_MODEL_KEEP_CURRENT = 1u << 0, /* in a bundle, the version that is the current one stays it */
    CST_MODEL_LOSSY = 1u << 1         /* what a source has no way to say is left out, which is an error otherwise */
};
/* The model as the `contents` of an .xcdatamodel, the XML that Xcode edits: what was read from one comes back in its order
 * and its words, but for what was changed. CST_E_MODEL names what a source has no way to say, a condition in an author's own
 * words for example, unless CST_MODEL_LOSSY leaves it out. A model that cst_model_freeze would refuse is written as well, so
 * that it can be mended mistake by mistake. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_copy_source(const cst_model *model, uint32_t flags, cst_buffer *out_text,
                                                           cst_error **error);
/* Writes the model to a path whose extension says as what: .xcdatamodel, .mom, or into a bundle of versions, .xcdatamodeld
 * or .momd, as `version`, new or replaced, which becomes the current one unless CST_MODEL_KEEP_CURRENT says otherwise; null
 * is the version that it was read as, or else the current one, and the current one stays it. What else lies in a bundle
 * stays, and so do permissions; where a symbolic link leads is written. At any time the path has the whole of what was there
 * or of what is new, after a crash too. Several writers take turns. CST_E_INVALID_ARGUMENT for another extension and for a
 * version whose name cannot be that of a file, CST_E_STORE_BUSY when another program keeps the folder locked for long. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_write(const cst_model *model, cst_string path, cst_string version,
                                                     uint32_t flags, cst_error **error);
/* Compiles a source with all its versions, or makes a source of a compiled model: from `path`, which is read as by
 * cst_model_load, to `target`, whose extension says as what; .xcdatamodel and .mom get the current version alone. `module`
 * is the Swift module of classes that a source names without one (null: they stay so). Of a compiled bundle
 * that is there all versions are replaced, and what else lies in it stays; a source must not be there yet.
 * CST_E_INVALID_ARGUMENT for a target that contains `path` or holds anything but a compiled model. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_convert(cst_string path, cst_string target, cst_string module,
                                                       uint32_t flags, cst_error **error);
/* As cst_model_merge, of all models that lie in a folder, Apple's mergedModelFromBundles: the current version of each bundle,
 * or for a store every version. A source beside its compiled form counts once. CST_E_MODEL when there is none. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_merge_folder(cst_string path, cst_string store_path,
                                                            cst_model **out_model CST_OWNED, cst_error **error);
/* One text for the version hashes of all entities: NSStoreModelVersionChecksumKey of stores. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_copy_checksum(const cst_model *model, cst_buffer *out_text,
                                                             cst_error **error);
/* The name and the checksum of every version that a bundle holds, in turns, each ended by a NUL. out_count is how many
 * versions there are; it may be NULL. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_copy_version_checksums(cst_string path, cst_buffer *out_texts,
                                                                      size_t *out_count, cst_error **error);
/* Whether the store at `store_path` holds the entities of a configuration (null: all), and those alone, as the model has
 * them: isConfiguration:compatibleWithStoreMetadata:. A store that says nothing of itself is compatible with no model. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_is_compatible(const cst_model *model, cst_string configuration,
                                                             cst_string store_path, bool *out_compatible,
                                                             cst_error **error);
/* The same for a store's metadata, a property list of either form (what Z_METADATA holds). */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_is_compatible_metadata(const cst_model *model, cst_string configuration,
                                                                      cst_bytes metadata, bool *out_compatible,
                                                                      cst_error **error);
/* Takes over what the parts of a model are called for people. `path` is a .strings file, or the path of a model beside which
 * they lie, in <Model>Model.strings of <language>.lproj or of the model's folder; cst_model_load does that by itself.
 * `language` is "de" or "zh-Hans"; null is the user's, by LANGUAGE, LC_ALL, LC_MESSAGES, LANG. CST_NOT_FOUND when there are
 * none. */
CST_EXPORT CST_ONE_THREAD cst_status cst_model_load_strings(cst_model *model, cst_string path, cst_string language,
                                                            cst_error **error);

/* ======== entity ========================================================================================= */

/* The entity's name; a null string for an invalid handle. Valid as long as the model. */
CST_EXPORT CST_ANY_THREAD CST_BORROWED cst_string cst_entity_name(const cst_entity *entity);
/* What the model's localisation calls the entity; its name when there is no entry. */
CST_EXPORT CST_ANY_THREAD CST_BORROWED cst_string cst_entity_localized_name(const cst_entity *entity);
/* What it calls a property of the entity, inherited ones included: the most specific of its entries, or the property's
 * name. CST_NOT_FOUND when there is no such property. The model must be frozen. */
CST_EXPORT CST_ANY_THREAD cst_status cst_entity_localized_property_name(const cst_entity *entity, cst_string property,
                                                                        cst_string *out_text CST_BORROWED,
                                                                        cst_error **error);
/* Makes the entity inherit the properties of another one of the same model; with NULL it is a root again. */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_set_parent(cst_entity *entity, cst_entity *parent, cst_error **error);
/* The entity from which it inherits; CST_NOT_FOUND for a root. */
CST_EXPORT CST_ANY_THREAD cst_status cst_entity_parent(const cst_entity *entity, cst_entity **out_parent CST_BORROWED,
                                                       cst_error **error);
/* The entities that inherit from it directly, by position; CST_END past the last one. */
CST_EXPORT CST_ANY_THREAD cst_status cst_entity_child_at(const cst_entity *entity, size_t index,
                                                         cst_entity **out_child CST_BORROWED, cst_error **error);
/* Whether it is the other entity or inherits from it. */
CST_EXPORT CST_ANY_THREAD cst_status cst_entity_is_kind_of(const cst_entity *entity, const cst_entity *other,
                                                           bool *out_kind, cst_error **error);
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_set_abstract(cst_entity *entity, bool is_abstract, cst_error **error);
CST_EXPORT CST_ANY_THREAD cst_status cst_entity_is_abstract(const cst_entity *entity, bool *out_abstract,
                                                            cst_error **error);
/* The name of the class of an Apple host; null is "NSManagedObject", as it is unless set. */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_set_class_name(cst_entity *entity, cst_string name, cst_error **error);
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_set_user_info(cst_entity *entity, cst_string key, cst_string value,
                                                              cst_error **error);
/* CST_NOT_FOUND when the key has no value. */
CST_EXPORT CST_ANY_THREAD cst_status cst_entity_user_info(const cst_entity *entity, cst_string key,
                                                          cst_string *out_value CST_BORROWED, cst_error **error);
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_set_version_hash_modifier(cst_entity *entity, cst_string modifier,
                                                                          cst_error **error);
/* A fetch index over attributes or to-one relationships of the entity, ascending. */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_add_index(cst_entity *entity, cst_string name, size_t count,
                                                          const cst_string *properties, cst_error **error);
enum {
    CST_INDEX_DESCENDING = 1u << 0,
    CST_INDEX_RTREE = 1u << 1 /* for ranges of numbers; of all elements of an index or of none */
};

/* What an index is over: an attribute or a to-one relationship, or else an expression. */
typedef struct cst_index_element {
    cst_string property;
    cst_string expression;   /* "entity", "SELF", "price * count"; null with a property */
    cst_attribute_type type; /* of the expression's values; CST_ATTRIBUTE_UNDEFINED when it does not matter */
    uint32_t flags;          /* CST_INDEX_… */
} cst_index_element;

/* A fetch index of any kind. Only objects for which `predicate` holds are in it; NULL: all. */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_add_fetch_index(cst_entity *entity, cst_string name, size_t count,
                                                                const cst_index_element *elements,
                                                                const cst_predicate *predicate, cst_error **error);
/* The combination of these attributes must be unique among the entity's objects. */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_add_unique_constraint(cst_entity *entity, size_t count,
                                                                      const cst_string *attributes, cst_error **error);
/* The 32 bytes of the version hash that Apple's framework expects in a store. Freezes the model. */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_version_hash(const cst_entity *entity, uint8_t *out_hash,
                                                             cst_error **error);
/* The 32 bytes that a property, inherited ones included, adds to the hash of the entity. Freezes the model. CST_NOT_FOUND when
 * there is no such property, and when it is transient or fetched and adds nothing. */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_property_version_hash(const cst_entity *entity, cst_string name,
                                                                      uint8_t *out_hash, cst_error **error);

/* Flags of a property. */
enum {
    CST_PROPERTY_OPTIONAL = 1u << 0,
    CST_PROPERTY_TRANSIENT = 1u << 1,
    CST_PROPERTY_TO_MANY = 1u << 2,           /* relationships */
    CST_PROPERTY_ORDERED = 1u << 3,           /* to-many relationships */
    CST_PROPERTY_INDEXED = 1u << 4,           /* attributes: a fetch index of the same name */
    CST_PROPERTY_EXTERNAL_STORAGE = 1u << 5,  /* binary and transformable attributes */
    CST_PROPERTY_PRESERVED = 1u << 6,         /* attributes: kept in history when the object is deleted */
    CST_PROPERTY_ALLOWS_NAN = 1u << 7,        /* double and float attributes: NaN and infinities pass validation */
    CST_PROPERTY_SPOTLIGHT = 1u << 8,         /* Spotlight finds objects by the value */
    CST_PROPERTY_EXTERNAL_RECORD = 1u << 9,   /* the value goes into external records */
    CST_PROPERTY_CLOUD_ENCRYPTION = 1u << 10, /* attributes: CloudKit keeps the values encrypted */
    CST_PROPERTY_DERIVED = 1u << 11,          /* told of derived attributes, never set */
    CST_PROPERTY_IGNORES_CHANGES = 1u << 12   /* transient attributes: a change makes no object one that has changes */
};

/* Adds an attribute. out_attribute may be NULL. */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_add_attribute(cst_entity *entity, cst_string name,
                                                              cst_attribute_type type, uint32_t flags,
                                                              cst_attribute **out_attribute CST_BORROWED,
                                                              cst_error **error);
/* Adds a relationship with delete rule Nullify; to-one unless CST_PROPERTY_TO_MANY. out_relationship may be NULL. */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_add_relationship(cst_entity *entity, cst_string name,
                                                                 cst_entity *destination, uint32_t flags,
                                                                 cst_relationship **out_relationship CST_BORROWED,
                                                                 cst_error **error);

enum { CST_PROPERTY_ATTRIBUTE = 1, CST_PROPERTY_RELATIONSHIP = 2, CST_PROPERTY_FETCHED = 3 };

/* What a property is. Set struct_size before the call. Views live as long as the model. */
typedef struct cst_property_info {
    size_t struct_size;
    cst_string name;
    uint32_t kind;  /* CST_PROPERTY_ATTRIBUTE, _RELATIONSHIP or _FETCHED */
    uint32_t flags; /* CST_PROPERTY_OPTIONAL … */
    cst_attribute_type attribute_type;
    cst_key key;             /* CST_NO_KEY before the model is frozen, and of fetched properties */
    cst_entity *destination; /* of a fetched property the entity that is fetched */
    cst_string inverse;      /* a null string when there is none */
    uint32_t delete_rule;    /* CST_DELETE_… */
    uint32_t minimum_count;  /* relationships */
    uint32_t maximum_count;  /* 0: no bound */
    cst_entity *entity;      /* that declares it */
} cst_property_info;
#define CST_PROPERTY_INFO_INIT                                                                                         \
    {sizeof(cst_property_info), {NULL, 0}, 0, 0, 0, CST_NO_KEY, NULL, {NULL, 0}, 0, 0, 0, NULL}

/* How many properties the entity has, inherited ones included. */
CST_EXPORT CST_ANY_THREAD size_t cst_entity_property_count(const cst_entity *entity);
/* A property by position, inherited ones first; fetched properties come last. CST_END past the last one. */
CST_EXPORT CST_ANY_THREAD cst_status cst_entity_property_at(const cst_entity *entity, size_t index,
                                                            cst_property_info *out_info, cst_error **error);
/* The key of a property, inherited ones included, or of an element ("location.latitude"); CST_NOT_FOUND when there is no
 * such property. Freezes the model. */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_key(const cst_entity *entity, cst_string property, cst_key *out_key,
                                                    cst_error **error);

/* Editing: a model that is not frozen can be changed in every way. A removal or a new name that is refused changes nothing
 * and, unlike a mistake in construction, is forgotten; so is a model's refusal to be frozen. A handle of what was removed
 * is CST_E_INVALID_HANDLE, a view of a text that was changed is not valid any more. Properties are named, and must be the
 * entity's own. */

/* Takes the entity out of its model, with what cannot be without it: relationships that lead to it, fetched properties and
 * fetch requests that fetch it, its places in configurations. Entities that inherit from it inherit from its parent then. */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_remove(cst_entity *entity, cst_error **error);
/* Configurations, fetch requests and the localisation follow. */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_rename(cst_entity *entity, cst_string name, cst_error **error);
/* The name in models of older versions; null is none. */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_set_renaming_identifier(cst_entity *entity, cst_string identifier,
                                                                        cst_error **error);
/* CST_NOT_FOUND when there is no index of that name. */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_remove_index(cst_entity *entity, cst_string name, cst_error **error);
/* CST_NOT_FOUND when there is no constraint of these attributes, in any order. */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_remove_unique_constraint(cst_entity *entity, size_t count,
                                                                         const cst_string *attributes,
                                                                         cst_error **error);
/* A property's or (null) the entity's own part of cst_model_copy_json; inherited properties too. CST_NOT_FOUND when there
 * is no such property. */
CST_EXPORT CST_ANY_THREAD cst_status cst_entity_copy_json(const cst_entity *entity, cst_string property,
                                                          cst_buffer *out_json, cst_error **error);
/* The whole user info of a property or (null) of the entity as one JSON object. CST_NOT_FOUND: no such property. */
CST_EXPORT CST_ANY_THREAD cst_status cst_entity_copy_user_info(const cst_entity *entity, cst_string property,
                                                               cst_buffer *out_json, cst_error **error);
/* An attribute or a relationship by name, inherited ones included; CST_NOT_FOUND when there is none. */
CST_EXPORT CST_ANY_THREAD cst_status cst_entity_attribute(const cst_entity *entity, cst_string name,
                                                          cst_attribute **out_attribute CST_BORROWED,
                                                          cst_error **error);
CST_EXPORT CST_ANY_THREAD cst_status cst_entity_relationship(const cst_entity *entity, cst_string name,
                                                             cst_relationship **out_relationship CST_BORROWED,
                                                             cst_error **error);
/* The names of the relationships, inherited ones included, that lead to `destination` itself, each ended by a NUL, and how many
 * they are (out_count may be NULL). */
CST_EXPORT CST_ANY_THREAD cst_status cst_entity_copy_relationships_to(const cst_entity *entity,
                                                                      const cst_entity *destination,
                                                                      cst_buffer *out_names, size_t *out_count,
                                                                      cst_error **error);
/* Removes a property of any kind, and the indexes and unique constraints that name it. */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_remove_property(cst_entity *entity, cst_string property,
                                                                cst_error **error);
/* Indexes, constraints, the localisation, and key paths in predicates, derivations and sort descriptors follow. */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_rename_property(cst_entity *entity, cst_string property,
                                                                cst_string name, cst_error **error);
/* Sets the flags (CST_PROPERTY_…) of `mask` as they are in `flags`. */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_set_property_flags(cst_entity *entity, cst_string property,
                                                                   uint32_t mask, uint32_t flags, cst_error **error);
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_set_property_renaming_identifier(cst_entity *entity,
                                                                                 cst_string property,
                                                                                 cst_string identifier,
                                                                                 cst_error **error);
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_set_property_version_hash_modifier(cst_entity *entity,
                                                                                   cst_string property,
                                                                                   cst_string modifier,
                                                                                   cst_error **error);
/* A null value removes the key. That of a fetched property may be set in a model that is in use, too, from any thread; its lists are
 * fetched again. */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_set_property_user_info(cst_entity *entity, cst_string property,
                                                                       cst_string key, cst_string value,
                                                                       cst_error **error);
/* Removes all conditions on a property's values, bounds and pattern too. */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_remove_validation(cst_entity *entity, cst_string property,
                                                                  cst_error **error);

/* Adds a property whose value is what a fetch finds. In the predicate of `request`, which is copied, $FETCH_SOURCE is the
 * object that is asked and $FETCHED_PROPERTY this property ($FETCHED_PROPERTY.userInfo.key). */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_add_fetched_property(cst_entity *entity, cst_string name,
                                                                     const cst_fetch_request *request,
                                                                     cst_error **error);
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_set_fetched_request(cst_entity *entity, cst_string property,
                                                                    const cst_fetch_request *request,
                                                                    cst_error **error);
/* The request of a fetched property, its variables unbound; CST_NOT_FOUND when there is no such property. */
CST_EXPORT CST_ANY_THREAD cst_status cst_entity_copy_fetched_request(const cst_entity *entity, cst_string property,
                                                                     cst_fetch_request **out_request CST_OWNED,
                                                                     cst_error **error);

/* What a validator is asked for; 0 when a value is not about to be saved (cst_object_validate_value). */
enum {
    CST_VALIDATE_INSERT = 1,
    CST_VALIDATE_UPDATE = 2,
    CST_VALIDATE_DELETE = 3,
    CST_VALIDATE_WITHOUT_HOOK =
        16 /* cst_object_validate, with one of these: does not ask cst_lifecycle_hooks.validate */
};

/* Runs on the queue of the object, which is borrowed for the call. `value` is what is checked: null is asked about too. The
 * function may put another value there, which is saved instead; what that points at must last until the function is called
 * again on the same thread. NULL for to-many relationships and for whole objects. To refuse, return a status below 0 and set
 * *error (cst_error_new_custom): its message, and its code unless 0, are those of the failure. */
typedef cst_status (*cst_validate_fn)(void *userdata, cst_object *object, uint32_t purpose, cst_value *value,
                                      cst_error **error);
/* Lets a function check the values of a property, or (null) whole objects of the entity and of those that inherit from it,
 * before each save, cst_context_validate and cst_object_validate; the model's own conditions are asked after it. Whole
 * objects are checked when nothing is wrong with their values. It must not save. */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_add_validator(cst_entity *entity, cst_string property,
                                                              cst_validate_fn validate, void *userdata,
                                                              cst_destroy_fn destroy, cst_error **error);
/* The same by a function that predicates know too (cst_function_register, cst_function_register_typed): it gets the value as
 * its receiver, and answers whether it is fine; text that it answers says why not. Null is fine without a call. A function
 * that is not registered when it is asked fails the save. */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_add_validator_function(cst_entity *entity, cst_string property,
                                                                       cst_string function, cst_error **error);

/* ======== attribute, relationship ======================================================================== */

/* The value of a fresh object; its type must suit the attribute's. The bytes are copied. */
CST_EXPORT CST_ONE_THREAD cst_status cst_attribute_set_default(cst_attribute *attribute, const cst_value *value,
                                                               cst_error **error);
CST_EXPORT CST_ONE_THREAD cst_status cst_attribute_set_user_info(cst_attribute *attribute, cst_string key,
                                                                 cst_string value, cst_error **error);
CST_EXPORT CST_ANY_THREAD cst_status cst_attribute_user_info(const cst_attribute *attribute, cst_string key,
                                                             cst_string *out_value CST_BORROWED, cst_error **error);
/* A value as the attribute holds it, from what came over a wire or out of a file, as text where the sender had no better
 * type: numbers, "true" and "false", ISO 8601 dates (UTC where they have no offset), UUIDs, bytes in base64; what else there
 * is becomes text where the attribute is one, and a decimal the nearest double. CST_NULL is the attribute's default.
 * CST_E_TYPE_MISMATCH names entity and attribute. End with cst_value_dispose. */
CST_EXPORT CST_ANY_THREAD cst_status cst_attribute_convert(const cst_attribute *attribute, const cst_value *value,
                                                           cst_value *out_value CST_OWNED, cst_error **error);
/* The least and the greatest value that a save lets pass, instead of those set before; for a string the least and the
 * greatest length in characters, as integers. NULL is no bound. CST_E_MODEL for an attribute that is no number, date or
 * string. */
CST_EXPORT CST_ONE_THREAD cst_status cst_attribute_set_bounds(cst_attribute *attribute, const cst_value *least,
                                                              const cst_value *greatest, cst_error **error);
/* The regular expression that the whole of a string must match, instead of the one set before; null is none. */
CST_EXPORT CST_ONE_THREAD cst_status cst_attribute_set_pattern(cst_attribute *attribute, cst_string pattern,
                                                               cst_error **error);
/* A condition that a save asks of every value that is there: SELF is the value. One that does not meet it fails with code
 * CST_CODE_MANAGED_OBJECT_VALIDATION and `warning`, or the localisation's words for it, as its message. */
CST_EXPORT CST_ONE_THREAD cst_status cst_attribute_add_validation(cst_attribute *attribute,
                                                                  const cst_predicate *predicate, cst_string warning,
                                                                  cst_error **error);
/* The name of the transformer through which hosts see a transformable attribute; see cst_transformer_register. */
CST_EXPORT CST_ONE_THREAD cst_status cst_attribute_set_transformer_name(cst_attribute *attribute, cst_string name,
                                                                        cst_error **error);
/* Makes the store compute the attribute at each save; hosts cannot set it. `expression` is "name", "author.name",
 * "articles.@count", "articles.wordCount.@sum", "canonical:(name)", "uppercase:(name)", "lowercase:(name)" or "now()"; a null
 * one makes the attribute a plain one again. `filter`, a predicate on the members, may be null: it is kept for Apple's
 * framework. CST_E_PREDICATE_SYNTAX for text that is no expression. What a store cannot compute, it refuses when it is
 * added: CST_E_UNSUPPORTED with entity and key. */
CST_EXPORT CST_ONE_THREAD cst_status cst_attribute_set_derivation(cst_attribute *attribute, cst_string expression,
                                                                  cst_string filter, cst_error **error);

/* Adds an element to an attribute of type CST_ATTRIBUTE_COMPOSITE; an element may be composite too. Elements are set, read,
 * fetched, indexed and saved like attributes, by their path ("location.latitude"); the composite itself has no single
 * value. flags: CST_PROPERTY_OPTIONAL, _EXTERNAL_STORAGE, _PRESERVED, _ALLOWS_NAN. out_element may be NULL. */
CST_EXPORT CST_ONE_THREAD cst_status cst_attribute_add_element(cst_attribute *attribute, cst_string name,
                                                               cst_attribute_type type, uint32_t flags,
                                                               cst_attribute **out_element CST_BORROWED,
                                                               cst_error **error);

/* Another type. What it has no use for goes: a default value that it does not take, bounds, a pattern. */
CST_EXPORT CST_ONE_THREAD cst_status cst_attribute_set_type(cst_attribute *attribute, cst_attribute_type type,
                                                            cst_error **error);
/* The class of a transformable attribute's values in an Apple host; null is none. A value that such a class cannot be is
 * refused when it is set. */
CST_EXPORT CST_ONE_THREAD cst_status cst_attribute_set_value_class(cst_attribute *attribute, cst_string name,
                                                                   cst_error **error);

enum { CST_DELETE_NO_ACTION = 0, CST_DELETE_NULLIFY = 1, CST_DELETE_CASCADE = 2, CST_DELETE_DENY = 3 };

/* Makes two relationships each other's inverse; a relationship may be its own. NULL: it has none any more. */
CST_EXPORT CST_ONE_THREAD cst_status cst_relationship_set_inverse(cst_relationship *relationship,
                                                                  cst_relationship *inverse, cst_error **error);
/* An inverse that belongs to neither the new destination nor its relatives is none any more. */
CST_EXPORT CST_ONE_THREAD cst_status cst_relationship_set_destination(cst_relationship *relationship,
                                                                      cst_entity *destination, cst_error **error);
CST_EXPORT CST_ONE_THREAD cst_status cst_relationship_set_delete_rule(cst_relationship *relationship, uint32_t rule,
                                                                      cst_error **error);
/* How many members a relationship must and may have; maximum 0 is no bound. Checked at save. */
CST_EXPORT CST_ONE_THREAD cst_status cst_relationship_set_counts(cst_relationship *relationship, uint32_t minimum,
                                                                 uint32_t maximum, cst_error **error);
/* A condition on the target, or on the members as one collection; as cst_attribute_add_validation. */
CST_EXPORT CST_ONE_THREAD cst_status cst_relationship_add_validation(cst_relationship *relationship,
                                                                     const cst_predicate *predicate, cst_string warning,
                                                                     cst_error **error);
CST_EXPORT CST_ONE_THREAD cst_status cst_relationship_set_user_info(cst_relationship *relationship, cst_string key,
                                                                    cst_string value, cst_error **error);
CST_EXPORT CST_ANY_THREAD cst_status cst_relationship_user_info(const cst_relationship *relationship, cst_string key,
                                                                cst_string *out_value CST_BORROWED, cst_error **error);

/* ======== accessor ======================================================================================= */

/* What an accessor does, and its type in C. T is the property's type: int16_t, int32_t, int64_t, float, double, bool;
 * double for a date (seconds since 2001-01-01 UTC); cst_string for a string or a URI; cst_bytes for binary data and the stored
 * bytes of a transformable; cst_uuid; cst_object * for a to-one relationship; cst_value for a decimal or an attribute without
 * a type. The kinds without T are the same for every property. */
enum {
    /* T (*)(const cst_object *, cst_error **): the value as cst_object_get lends it; zero when it is null or the call failed.
     * To-many: cst_results *(*)(const cst_object *, cst_error **), a snapshot of the members, owned. */
    CST_ACCESSOR_GET = 1,
    /* cst_status (*)(cst_object *, T, cst_error **). To-many: all members, as CST_ACCESSOR_ADD_MANY takes them. */
    CST_ACCESSOR_SET = 2,
    CST_ACCESSOR_IS_NULL = 3,  /* bool (*)(const cst_object *, cst_error **) */
    CST_ACCESSOR_SET_NULL = 4, /* cst_status (*)(cst_object *, cst_error **) */
    /* As GET and SET, past everything that watches the property: a value set so neither counts as a change nor changes an
     * inverse; it is saved with the object's other changes, and a refresh drops it. */
    CST_ACCESSOR_GET_PRIMITIVE = 5,
    CST_ACCESSOR_SET_PRIMITIVE = 6,
    /* To-many relationships. */
    CST_ACCESSOR_COUNT = 7,        /* size_t (*)(const cst_object *, cst_error **) */
    CST_ACCESSOR_CONTAINS = 8,     /* bool (*)(const cst_object *, const cst_object *member, cst_error **) */
    CST_ACCESSOR_ADD = 9,          /* cst_status (*)(cst_object *, cst_object *member, cst_error **) */
    CST_ACCESSOR_REMOVE = 10,      /* the same */
    CST_ACCESSOR_ADD_MANY = 11,    /* cst_status (*)(cst_object *, size_t, cst_object *const *members, cst_error **) */
    CST_ACCESSOR_REMOVE_MANY = 12, /* the same */
    /* Ordered to-many relationships. */
    CST_ACCESSOR_MEMBER_AT = 13,  /* cst_object *(*)(const cst_object *, size_t index, cst_error **), owned */
    CST_ACCESSOR_INSERT_AT = 14,  /* cst_status (*)(cst_object *, size_t index, cst_object *member, cst_error **) */
    CST_ACCESSOR_REMOVE_AT = 15,  /* cst_status (*)(cst_object *, size_t index, cst_error **) */
    CST_ACCESSOR_REPLACE_AT = 16, /* cst_status (*)(cst_object *, size_t index, cst_object *member, cst_error **) */
    CST_ACCESSOR_MOVE = 17        /* cst_status (*)(cst_object *, size_t from, size_t to, cst_error **) */
};

typedef struct cst_uuid {
    uint8_t bytes[16];
} cst_uuid;

/* Any function; cast it to the type that its kind and its property have. */
typedef void (*cst_function)(void);

/* A C function that reads or changes one property (inherited ones included): what @dynamic is in Objective-C. There is one
 * for a property and a kind, so asking again gives the same. It takes objects of the entity that declares the property and of
 * all that inherit from it, on their context's queue, and lives as long as the model. Freezes the model. CST_NOT_FOUND when
 * there is no such property, CST_E_INVALID_ARGUMENT when the kind does not suit it. */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_accessor(const cst_entity *entity, cst_string property, uint32_t kind,
                                                         cst_function *out_function, cst_error **error);

/* ======== value ========================================================================================== */
/* Values of the host's own, as predicates, expressions and sort descriptors see them: CST_ARRAY, CST_SET and CST_DICTIONARY
 * of further values, up to 64 deep, and CST_HOST for what only the host knows. What a call is given is copied. */

/* How the library asks a CST_HOST: on the thread of the call that needs the answer. What a callback gives has to stay valid
 * until its next call on that thread. A negative status, with *error set or not, ends the evaluation with CST_E_CALLBACK.
 * Each may be NULL: such objects then have no keys, are equal when their `object` is the same, and have no order. */
typedef struct cst_host_callbacks {
    size_t struct_size;
    /* The value of a key. CST_NOT_FOUND: it has no such key, which is an error that names key and class. */
    cst_status (*value_for_key)(void *object, cst_string key, cst_value *out_value, cst_error **error);
    /* With `element`: it is a list of that many values. CST_NOT_FOUND: this one is none. */
    cst_status (*count)(void *object, size_t *out_count, cst_error **error);
    cst_status (*element)(void *object, size_t index, cst_value *out_value, cst_error **error);
    const char *(*class_name)(void *object); /* NUL-terminated */
    /* Between objects with the same callbacks. Equal ones have equal hashes. */
    bool (*is_equal)(void *object, void *other);
    uint64_t (*hash)(void *object);
    /* Negative when `object` comes first, positive when `other` does. CST_NOT_FOUND: they have no order. */
    cst_status (*compare)(void *object, void *other, int32_t *out_order, cst_error **error);
    /* The library keeps it, and lets go again: as often, on any thread. */
    void (*retain)(void *object);
    void (*release)(void *object);
} cst_host_callbacks;
#define CST_HOST_CALLBACKS_INIT {sizeof(cst_host_callbacks), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL}

/* Frees what a call gave as CST_OWNED value: text, bytes, members, handles, host objects. The value is null then. NULL is
 * fine, and so is a value that a call only lent: it stays as it is. */
CST_EXPORT CST_ANY_THREAD void cst_value_dispose(cst_value *value);
/* The value at a key path, collection operators included: "department.name", "employees.@avg.salary". Objects on their
 * queue. */
CST_EXPORT CST_ON_QUEUE cst_status cst_value_copy_at_key_path(const cst_value *value, cst_string path,
                                                              cst_value *out_value CST_OWNED, cst_error **error);

/* ======== archive ======================================================================================== */

/* What a keyed archive (the value of a transformable attribute of Apple's, a property list in binary or in XML) holds, as
 * JSON: null, booleans, numbers (reals with a point or an exponent), strings, arrays, objects. An ordered set is an array.
 * What JSON has no type for is an object with one key: $date (seconds since 2001-01-01 UTC), $bytes (base64), $uuid, $uri,
 * $decimal, $real (nan, inf, -inf), $set (an array), $dictionary (one with a key that begins with $), $object (an object of
 * any other class: "class", "fields", and "classes" where it inherits from more than NSObject). No class that the archive
 * names is ever made. CST_E_UNSUPPORTED for a dictionary whose keys are no strings; CST_E_STORE_CORRUPT when the bytes are no
 * archive, or one beyond a limit. */
CST_EXPORT CST_ANY_THREAD cst_status cst_archive_copy_json(cst_bytes archive, cst_buffer *out_json, cst_error **error);

/* The keyed archive of the same JSON, as NSKeyedArchiver writes it: what a transformable attribute without a transformer of
 * its own holds. CST_E_INVALID_ARGUMENT for what is no such JSON. */
CST_EXPORT CST_ANY_THREAD cst_status cst_archive_from_json(cst_string json, cst_buffer *out_archive, cst_error **error);

/* How objects of one class of the host's stand in keyed archives. Called on the thread that uses the object, on several at
 * once; not to call back into the object. A negative status, with *error set or not, makes the call fail with CST_E_CALLBACK,
 * entity and key. */
typedef struct cst_archive_class_callbacks {
    size_t struct_size;
    /* Fills the buffer (cst_buffer_fill) with the fields of a value: a JSON object as cst_archive_copy_json writes it. */
    cst_status (*to_fields)(void *userdata, const void *value, cst_buffer *out_json, cst_error **error);
    /* Makes the value for such fields (NUL-terminated), which may come from a stranger's file. The library keeps it until it
     * calls free_value. */
    cst_status (*from_fields)(void *userdata, cst_string json, void **out_value, cst_error **error);
    /* May be NULL. Called once for each value that from_fields made or that was set, on any thread. */
    void (*free_value)(void *userdata, void *value);
    void *userdata;
    /* May be NULL. Called once, when the class was replaced or unregistered and its last value was freed. */
    cst_destroy_fn destroy;
} cst_archive_class_callbacks;
#define CST_ARCHIVE_CLASS_CALLBACKS_INIT {sizeof(cst_archive_class_callbacks), NULL, NULL, NULL, NULL, NULL}

/* Makes a class known in the whole process, by its archived name, that of the class in Apple's host. A transformable attribute
 * whose archive is an object of that class then has values of the host's (cst_object_get_transformed), and takes them where
 * the model names the class (cst_attribute_set_value_class). On failure `destroy` is called too. */
CST_EXPORT CST_ANY_THREAD cst_status cst_archive_register_class(cst_string class_name,
                                                                const cst_archive_class_callbacks *callbacks,
                                                                cst_error **error);
/* Forgets a class; CST_NOT_FOUND when none of that name was registered. */
CST_EXPORT CST_ANY_THREAD cst_status cst_archive_unregister_class(cst_string class_name, cst_error **error);
/* What values may be set where the model names a class of Foundation's, words with spaces between: bool, int, double, decimal,
 * string, uri, bytes, date, uuid, array, set, dictionary. CST_NOT_FOUND for a class that the library does not know, which
 * excludes nothing. For bindings, which know the types of their language. */
CST_EXPORT CST_ANY_THREAD cst_status cst_archive_copy_class_kinds(cst_string class_name, cst_buffer *out_kinds,
                                                                  cst_error **error);

/* ======== transformer ==================================================================================== */

/* What stands between the values of a transformable attribute, which the host alone knows, and the bytes that stores keep.
 * Called on the thread that uses the object, on several at once; not to call back into the object. A negative status, with
 * *error set or not, makes the call fail with CST_E_CALLBACK, entity and key. */
typedef struct cst_transformer_callbacks {
    size_t struct_size;
    /* Fills the buffer (cst_buffer_fill) with the bytes for a value. */
    cst_status (*transform)(void *userdata, const void *value, cst_buffer *out_bytes, cst_error **error);
    /* Makes the value for bytes, which may come from a stranger's file. The library keeps it until it calls free_value. */
    cst_status (*reverse)(void *userdata, cst_bytes bytes, void **out_value, cst_error **error);
    /* May be NULL. Called once for each value that reverse made or that was set, on any thread. */
    void (*free_value)(void *userdata, void *value);
    void *userdata;
    /* May be NULL. Called once, when the transformer was replaced or unregistered and its last value was freed. */
    cst_destroy_fn destroy;
} cst_transformer_callbacks;
#define CST_TRANSFORMER_CALLBACKS_INIT {sizeof(cst_transformer_callbacks), NULL, NULL, NULL, NULL, NULL}

/* Makes a transformer known in the whole process, instead of a former one of that name. Built in are the names of Apple's own
 * (NSSecureUnarchiveFromData and its like: keyed archives) and JSON, whose values are the bytes as cst_object_get gives them;
 * see cst_archive_copy_json. On failure `destroy` is called too. */
CST_EXPORT CST_ANY_THREAD cst_status cst_transformer_register(cst_string name,
                                                              const cst_transformer_callbacks *callbacks,
                                                              cst_error **error);
/* The same of two functions that predicates know too (cst_function_register, cst_function_register_typed), by name: one makes
 * bytes or text of a value, the other the value of bytes. What cst_object_get_transformed gives is then a const cst_value *
 * of the library's; what cst_object_set_transformed gets is one of the host's, which is copied. */
CST_EXPORT CST_ANY_THREAD cst_status cst_transformer_register_functions(cst_string name, cst_string transform,
                                                                        cst_string reverse, cst_error **error);
/* Forgets a transformer; CST_NOT_FOUND when none of that name was registered. */
CST_EXPORT CST_ANY_THREAD cst_status cst_transformer_unregister(cst_string name, cst_error **error);
/* Whether a host registered a transformer under the name; the built-in ones were not. */
CST_EXPORT CST_ANY_THREAD cst_status cst_transformer_is_registered(cst_string name, bool *out_registered,
                                                                   cst_error **error);

/* ======== mapping ======================================================================================== */
/* How the objects of one version of a model become those of another. Immutable; any thread may read it. */

/* Reads an .xcmappingmodel, its xcmapping.xml or a compiled .cdm; what it is is told from the content. CST_E_STORE_IO when
 * there is nothing to read, CST_E_MODEL when it is damaged or beyond a limit. */
CST_EXPORT CST_ANY_THREAD cst_status cst_mapping_model_load(cst_string path, cst_mapping_model **out_mapping CST_OWNED,
                                                            cst_error **error);
/* The same from the content of one file. CST_E_STORE_CORRUPT when it is damaged. */
CST_EXPORT CST_ANY_THREAD cst_status cst_mapping_model_load_bytes(cst_bytes content,
                                                                  cst_mapping_model **out_mapping CST_OWNED,
                                                                  cst_error **error);
/* All that it says as JSON, of which docs/reference/mapping.md has the keys. */
CST_EXPORT CST_ANY_THREAD cst_status cst_mapping_model_copy_json(const cst_mapping_model *mapping, cst_buffer *out_json,
                                                                 cst_error **error);
/* A copy of the model that an .xcmappingmodel was made for; CST_NOT_FOUND for a compiled one, which keeps none. */
CST_EXPORT CST_ANY_THREAD cst_status cst_mapping_model_source(const cst_mapping_model *mapping,
                                                              cst_model **out_model CST_OWNED, cst_error **error);
/* The same of the model that it leads to. */
CST_EXPORT CST_ANY_THREAD cst_status cst_mapping_model_destination(const cst_mapping_model *mapping,
                                                                   cst_model **out_model CST_OWNED, cst_error **error);

/* ======== lifecycle ====================================================================================== */

/* Why an object took over another state as a whole: bits for awake_from_snapshot_events. */
enum {
    CST_SNAPSHOT_UNDO_INSERTION = 2,
    CST_SNAPSHOT_UNDO_DELETION = 4,
    CST_SNAPSHOT_UNDO_UPDATE = 8,
    CST_SNAPSHOT_ROLLBACK = 16,
    CST_SNAPSHOT_REFRESH = 32,
    CST_SNAPSHOT_MERGE_POLICY = 64
};

/* What a host does at turning points in the life of an entity's objects; NULL where it does nothing. Each hook is called on
 * the queue of the object, which is borrowed for the call, may read, change, insert, delete and fetch, and must not save,
 * reset, roll back, undo or refresh: that is CST_E_INVALID_ARGUMENT. A status below 0 fails the call that runs the hook, with
 * the error that it set (cst_error_new_custom): domain, code and message are the host's. */
typedef struct cst_lifecycle_hooks {
    size_t struct_size;
    /* Once, when a context took the object in, its defaults in place. As in the next two, changes of attributes are not
     * tracked, as between cst_context_disable_tracking and cst_context_enable_tracking. */
    cst_status (*awake_from_insert)(void *userdata, cst_object *object, cst_error **error);
    /* A fault fired: when its values were asked for, not when it was fetched. After a failure it is a fault again. */
    cst_status (*awake_from_fetch)(void *userdata, cst_object *object, cst_error **error);
    cst_status (*awake_from_snapshot_events)(void *userdata, cst_object *object, uint32_t events, cst_error **error);
    /* Before a save validates, also of what it will delete; once more whenever the object changed since, up to 1,000 times. */
    cst_status (*will_save)(void *userdata, cst_object *object, cst_error **error);
    /* The save is done, which a failure here does not change. A deleted object has left its context. */
    cst_status (*did_save)(void *userdata, cst_object *object, cst_error **error);
    /* Before the object counts as deleted and its delete rules run. */
    cst_status (*prepare_for_deletion)(void *userdata, cst_object *object, cst_error **error);
    /* The values are still there, then they are gone. A failure is that of the call, when it has done its work. */
    cst_status (*will_turn_into_fault)(void *userdata, cst_object *object, cst_error **error);
    cst_status (*did_turn_into_fault)(void *userdata, cst_object *object, cst_error **error);
    /* Somebody sets a number or a truth value to null: the hook sets what it likes instead. What it sets to null is null. */
    cst_status (*set_nil_value)(void *userdata, cst_object *object, cst_string property, cst_error **error);
    /* As a function of cst_entity_add_validator for whole objects; `value` is NULL. */
    cst_validate_fn validate;
    /* The same for the values of the properties in `validated`. */
    cst_status (*validate_value)(void *userdata, cst_object *object, cst_string property, uint32_t purpose,
                                 cst_value *value, cst_error **error);
    size_t validated_count;
    const cst_string *validated;
    void *userdata;
    /* May be NULL. Called once: on failure, or when the model and the last of its copies are gone. */
    cst_destroy_fn destroy;
} cst_lifecycle_hooks;
#define CST_LIFECYCLE_HOOKS_INIT                                                                                       \
    {sizeof(cst_lifecycle_hooks), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL}

/* Sets the hooks of an entity's objects, instead of those set before; NULL removes them. Entities that inherit from it have
 * them too; each hook that such an entity sets itself takes the place of its parent's. CST_E_MODEL when the model is frozen. */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_set_lifecycle(cst_entity *entity, const cst_lifecycle_hooks *hooks,
                                                              cst_error **error);

/* Until it is enabled again, as often as it was disabled, attributes change without a note: an object does not count as
 * changed by it, and undo knows nothing of it. A save writes the values once another change makes the object one to save; a
 * refresh drops them. Changes of relationships count all the same, since both ends must agree. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_disable_tracking(cst_context *context, cst_error **error);
/* CST_UNCHANGED when nobody disabled it. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_enable_tracking(cst_context *context, cst_error **error);

/* ======== coordinator, store ============================================================================= */

/* A coordinator for a model, which it freezes. It and its stores may be used by any thread. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_new(cst_model *model, cst_coordinator **out_coordinator CST_OWNED,
                                                         cst_error **error);

enum {
    CST_STORE_READ_ONLY = 1u << 0,        /* never changes the file or its folder */
    CST_STORE_MUST_EXIST = 1u << 1,       /* a missing file is an error instead of a new store */
    CST_STORE_NORMAL_SYNC = 1u << 2,      /* WAL without an fsync per save: a power cut may undo the last saves */
    CST_STORE_ROLLBACK_JOURNAL = 1u << 3, /* a rollback journal instead of WAL */
    /* Each save writes down which objects it inserted, changed and deleted, as Apple's persistent history does. A store
       that keeps a history already goes on without this flag. */
    CST_STORE_HISTORY = 1u << 4,
    CST_STORE_WRITABLE = 1u << 5, /* cst_coordinator_open_store: saves are wanted */
    /* CST_COORDINATOR_REMOTE_CHANGE is posted for what contexts of this coordinator save, too. */
    CST_STORE_POSTS_OWN_CHANGES = 1u << 6,
    CST_STORE_ANALYZE = 1u
        << 7, /* SQLite looks how values are spread, as the store is opened, to choose indexes by that */
    CST_STORE_VACUUM = 1u
        << 8, /* the database is written anew, as the store is opened, without the room of deleted rows */
    /* The store need not have been written with this model. What it lacks is null or empty; what the model lacks is not seen, and
       is never lost. Opened for writing, the store becomes one of this model (docs/reference/store.md). */
    CST_STORE_IGNORE_VERSIONING = 1u << 9,
    /* cst_coordinator_destroy_store: if others keep the store locked, its files are removed; they go on with files that have no
       names. */
    CST_STORE_FORCE_DESTROY = 1u << 10
};

/* One of SQLite's settings, by name: "cache_size", "-65536". */
typedef struct cst_pragma {
    cst_string name, value;
} cst_pragma;

typedef struct cst_store_options {
    size_t struct_size;
    uint32_t flags;           /* CST_STORE_… */
    uint32_t busy_timeout_ms; /* how long to wait for another process's lock; 0 is 5000 */
    uint32_t cache_kb;        /* SQLite's page cache, of each connection; 0 is 32768 */
    /* How often a store that is watched (section remote) is looked at without being told to; 0: 500 where the file system does
       not tell of writes, as those of networks, 30000 where it does. */
    uint32_t watch_interval_ms;
    /* The configuration of the model whose objects the store is for: new objects go to the first writable store whose
       configuration has their entity, and fetches ask only the stores that can have it. Null: those of the whole model. The
       tables are those of the whole model in any case. */
    cst_string configuration;
    uint32_t max_connections; /* how many threads may read the store at a time, or save; 0 is 8 */
    uint32_t
        file_mode; /* permissions of a new store's file, 0600 to 0777; 0: as the process's mask says. What lies beside a
                           store has those of its file. */
    /* Values of more bytes lie in files of their own, where the attribute allows it; 0 is 102400, UINT64_MAX never. */
    uint64_t external_threshold;
    /* Settings for every connection. Names and values that are not in the list of docs/reference/store.md are
       CST_E_INVALID_ARGUMENT, with name and value as key and value of the error; nothing of it becomes SQL. */
    size_t pragma_count;
    const cst_pragma *pragmas;
    /* Options of Apple's framework for what does not exist here (ubiquity, external records, file protection, …), by the names
       of their keys. They do nothing; cst_store_warning says so. */
    size_t foreign_option_count;
    const cst_string *foreign_options;
    /* Whatever a store of a host's own kind (section host store) is to know, by name: each of host_option_names has a value in
       host_option_values. CST_E_INVALID_ARGUMENT for stores of other types. */
    size_t host_option_count;
    const cst_string *host_option_names;
    const cst_value *host_option_values;
    /* How much a file may have this process do, whoever wrote it; what goes beyond is an error that names limit, value and option
       (docs/reference/store.md, "Limits"). 0 is the default. */
    uint64_t
        value_limit; /* bytes of one value or row of an SQLite store, and of the holes of a sparse file; 0 is 67108864 */
    uint64_t memory_limit;   /* bytes that expressions of an SQLite file's schema may take together; 0 is 134217728 */
    uint64_t step_limit;     /* SQLite's instructions for one statement that writes, and 100 for each byte of the file
                                besides; 0 is 200000000 */
    uint64_t external_limit; /* bytes of one file with a large value, read or copied; 0 is 2147483647 */
} cst_store_options;
#define CST_STORE_OPTIONS_INIT                                                                                         \
    {sizeof(cst_store_options), 0, 0, 0, 0, {NULL, 0}, 0, 0, 0, 0, NULL, 0, NULL, 0, NULL, NULL, 0, 0, 0, 0}

/* Opens the store at `path`, or makes it. `type`, in any case of letters, is
 *   "SQLite": a database in Apple's layout;
 *   "XML": a file of XML as Apple's framework writes it, and "Binary": a binary file, both read and written as a whole;
 *   "InMemory": no file. It is empty, and ends with the coordinator; `path` is what it is called, and may be null;
 *   null: what lies at `path`, and SQLite where nothing does.
 * Options that say nothing of the type speak of SQLite stores and are without meaning for others, but for the configuration,
 * CST_STORE_READ_ONLY, CST_STORE_MUST_EXIST, busy_timeout_ms and, where there is a file, file_mode. options and out_store may be NULL. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_add_store(cst_coordinator *coordinator, cst_string type,
                                                               cst_string path, const cst_store_options *options,
                                                               cst_store **out_store CST_OWNED, cst_error **error);
/* Opens a store that is there already, and makes a coordinator for it: of `model`, or when that is NULL of the
 * model that the store carries, or else of one inferred from its tables (cst_store_model_source tells); only SQLite stores
 * carry their model, others need one. Read-only unless
 * CST_STORE_WRITABLE: neither the file nor its folder changes then, and nothing in it is locked. options and out_store
 * may be NULL. CST_E_MODEL_MISMATCH when `model` is another one than the store's; entity and property are named. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_open_store(cst_string path, cst_model *model,
                                                                const cst_store_options *options,
                                                                cst_coordinator **out_coordinator CST_OWNED,
                                                                cst_store **out_store CST_OWNED, cst_error **error);
/* Closes a store. Its objects leave every context, each on its own queue: they are CST_E_OBJECT_GONE from then on, and `invalidated` in
 * CST_NOTIFICATION_OBJECTS_DID_CHANGE. What was not saved of them is lost, and the log has a warning with counts by entity; new objects
 * that are in no store yet stay. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_remove_store(cst_coordinator *coordinator, cst_store *store,
                                                                  cst_error **error);
/* What becomes of changes that were not saved when a context, a container, a document or a coordinator is closed. The release of
 * a last handle asks nobody: unsaved changes of a context that ends are lost, and the log has a warning with its name, where it
 * was made, and how many objects of each entity were inserted, updated and deleted. The library does nothing by itself when the
 * process exits: close containers, documents and contexts before, for example in a function that you give to atexit. */
enum {
    CST_UNSAVED_REFUSE = 0, /* nothing is closed: CST_E_UNSAVED_CHANGES */
    CST_UNSAVED_SAVE = 1,   /* they are saved first; what cannot be, keeps all of it open */
    CST_UNSAVED_DISCARD = 2 /* they are lost, without a line in the log */
};
/* Closes all stores, as cst_container_close; the coordinator and its contexts can read and save nothing any more, and no store can be
 * added: CST_E_INVALID_HANDLE. `unsaved` is a CST_UNSAVED_ constant. CST_E_UNSAVED_CHANGES has a detail for each context. Closing
 * twice is fine; CST_E_INVALID_HANDLE while another call closes it. One of a container or of a document is closed with that. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_close(cst_coordinator *coordinator, uint32_t unsaved,
                                                           cst_error **error);
enum {
    CST_CHANGES_NO_WAIT = 1u << 0, /* the counts of a context that another thread uses at the moment are null */
    CST_CHANGES_TOLD = 1u << 1     /* the host tells of them, so that the log has no line when these contexts end */
};
/* What the contexts of a coordinator have not saved, those on top of other contexts first: [{"context", "name", "file", "line",
 * "inserted", "updated", "deleted", "entities": {"Person": {"inserted", "updated", "deleted"}, …}}, …]. "context" is what
 * messages call it, "file" and "line" are where it was made; the name, these, and the counts of a context that another thread
 * uses, may be null. `flags` are CST_CHANGES_ constants, or 0: waits for the queues of contexts with changes. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_copy_unsaved_changes(cst_coordinator *coordinator, uint32_t flags,
                                                                          cst_buffer *out_json, cst_error **error);
/* Empties a store: rows, tables, metadata and files of external data go, the file stays, and a store added there begins anew.
 * One transaction under SQLite's locks: CST_E_STORE_BUSY while somebody writes. The file of an XML or a binary store is removed.
 * `type` may be null: that of the store which is there. If the coordinator has the store open, it is
 * removed first. CST_UNCHANGED when there is no file in a folder that is there, CST_E_STORE_IO without the folder,
 * CST_E_INVALID_ARGUMENT for /dev/null; CST_E_NOT_A_STORE for another program's, which stays as it is. Of the options, which may be
 * NULL, busy_timeout_ms and CST_STORE_FORCE_DESTROY mean something. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_destroy_store(cst_coordinator *coordinator, cst_string type,
                                                                   cst_string path, const cst_store_options *options,
                                                                   cst_error **error);
/* Puts the store at `source_path` in the place of the one at `path`, or where nothing is: a copy with the files of external
 * data, in one step, under SQLite's locks; it keeps the identifier. `type` null: that of the source. A store that the coordinator
 * has open at `path` is removed first. CST_E_STORE_BUSY while somebody else writes; what was at `path` stays then. options may be
 * NULL: busy_timeout_ms and file_mode mean something. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_replace_store(cst_coordinator *coordinator, cst_string type,
                                                                   cst_string path, cst_string source_path,
                                                                   const cst_store_options *options, cst_error **error);
/* Has an open store lie at `path` from now on (setURL:forPersistentStore:). A store that is written as a whole goes there
 * with the next save, also of a context without changes. Of an SQLite store the file has to be there, moved or copied while
 * nothing was saved: CST_E_INVALID_ARGUMENT for another store's. On failure the store is where it was. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_set_store_path(cst_coordinator *coordinator, cst_store *store,
                                                                    cst_string path, cst_error **error);
/* The open stores, in order. CST_NOT_FOUND for an index too large. */
CST_EXPORT CST_ANY_THREAD size_t cst_coordinator_store_count(const cst_coordinator *coordinator);
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_store(const cst_coordinator *coordinator, size_t index,
                                                           cst_store **out_store CST_OWNED, cst_error **error);
/* The open store whose file is at `path`, however it was written; CST_NOT_FOUND when there is none. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_store_at(const cst_coordinator *coordinator, cst_string path,
                                                              cst_store **out_store CST_OWNED, cst_error **error);
/* What an open store says about itself, as cst_store_copy_metadata, with what was set and is not written yet. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_copy_metadata(const cst_coordinator *coordinator,
                                                                   const cst_store *store, cst_buffer *out_plist,
                                                                   cst_error **error);
/* Replaces it, with the next save of any context, also of one without changes. `plist` is a property list, binary or XML,
 * with all entries; the store's type, UUID and versions stay when they are not given, and are CST_E_INVALID_ARGUMENT when
 * they differ, as is what an XML store cannot hold: null, and characters and dates that XML lacks. The error names the key. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_set_metadata(cst_coordinator *coordinator, cst_store *store,
                                                                  cst_bytes plist, cst_error **error);
/* Told how many bytes of how many are done, on the thread of the call. It may read from the store, and not save. False ends the
 * call with CST_E_CANCELLED. */
typedef bool (*cst_progress_fn)(void *userdata, uint64_t done, uint64_t total);
/* Copies an open store, in the state of now and with its files of external data, while others go on reading and saving. At `path`
 * is nothing, or a former copy of the store, which is overwritten in one step. progress and options may be NULL. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_backup_store(cst_coordinator *coordinator, cst_store *store,
                                                                  cst_string path, const cst_store_options *options,
                                                                  cst_progress_fn progress, void *userdata,
                                                                  cst_error **error);
/* How far a checkpoint goes. */
enum {
    CST_CHECKPOINT_PASSIVE = 0, /* as far as nobody is in the way */
    CST_CHECKPOINT_FULL = 1,    /* all: waits for who writes, and for readers of older states */
    CST_CHECKPOINT_RESTART = 2, /* then waits until nobody reads the log */
    CST_CHECKPOINT_TRUNCATE = 3 /* then cuts the log to nothing */
};
/* Brings the write-ahead log of an SQLite store into its file, as is done now and then anyway. The pages in the log and those of
 * them that are in the file; both may be NULL. CST_UNCHANGED for a store without a log. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_checkpoint_store(cst_coordinator *coordinator, cst_store *store,
                                                                      uint32_t mode, uint64_t *out_pages,
                                                                      uint64_t *out_checkpointed, cst_error **error);
/* Renews what SQLite knows of how values are spread, by which it chooses indexes, and removes files of external data that no row
 * refers to: *out_removed of them; it may be NULL. A save of many objects does the first by itself. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_optimize_store(cst_coordinator *coordinator, cst_store *store,
                                                                    uint64_t *out_removed, cst_error **error);
/* Saves a store as one of another type (null: "SQLite") or at another `path`, where nothing is or a store without objects,
 * and goes on with that one: all that it holds is copied, then it is removed, as by cst_coordinator_remove_store; its file
 * stays. Every object has a new ID, of which CST_COORDINATOR_STORES_DID_CHANGE tells. options, progress (which is told
 * objects) and out_store may be NULL; the configuration is that of the old store. On failure the old store is open as
 * before, and a file that was made for the new one is gone. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_migrate_store(cst_coordinator *coordinator, cst_store *store,
                                                                   cst_string type, cst_string path,
                                                                   const cst_store_options *options,
                                                                   cst_progress_fn progress, void *userdata,
                                                                   cst_store **out_store CST_OWNED, cst_error **error);
/* Whether the first stores of two coordinators hold the same graph, whatever their types and the keys of their rows.
 * Objects of an entity are paired in the order of their keys, which a migration keeps; values are compared to the last bit,
 * members of ordered relationships in order. The report is JSON: {"objects": …, "values": …, "equal": …, "differences": …,
 * "details": [sentences, the first ones]}; the stores are equal where differences is 0. CST_E_INVALID_ARGUMENT for models
 * with different entities. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_compare(const cst_coordinator *coordinator,
                                                             const cst_coordinator *other, cst_buffer *out_report,
                                                             cst_error **error);
/* The model of the coordinator. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_model(const cst_coordinator *coordinator,
                                                           cst_model **out_model CST_BORROWED, cst_error **error);
/* What a coordinator posts, on the thread that causes it, while nothing is locked. */
enum {
    CST_COORDINATOR_STORES_DID_CHANGE = 1, /* a store was added or removed, or another one took its place */
    CST_COORDINATOR_WILL_REMOVE_STORE = 2, /* `removed` is about to be; it is still open, its objects can be read */
    CST_COORDINATOR_REMOTE_CHANGE = 3      /* somebody else wrote into a store: section remote */
};
/* What became of a store's file; section remote. */
enum {
    CST_STORE_FILE_WRITTEN = 0,
    /* Another file has its name now, or none. The store goes on with the one that it opened: remove it, and add it anew. */
    CST_STORE_FILE_REPLACED = 1,
    CST_STORE_FILE_REMOVED = 2
};
typedef struct cst_remote_change {
    const cst_store *store;
    cst_string store_identifier, path;
    bool has_history;    /* whether `transaction` says anything */
    int64_t transaction; /* the number of the last one in the store's history */
    bool is_own;         /* a context of this coordinator saved */
    uint32_t file;       /* CST_STORE_FILE_… */
} cst_remote_change;
/* What a notification of a coordinator is about. All of it is borrowed for the call (cst_retain keeps a handle). */
typedef struct cst_store_changes {
    size_t added_count;
    cst_store *const *added;
    size_t removed_count;
    cst_store *const *removed;
    /* A store whose place another one took, with objects of other IDs, as IDs: old, new, old, new. NULL where none did. */
    cst_store *old_store, *new_store;
    cst_results *migrated_ids;
    const cst_remote_change *remote; /* NULL but for CST_COORDINATOR_REMOTE_CHANGE */
} cst_store_changes;
typedef void (*cst_coordinator_observe_fn)(void *userdata, cst_coordinator *coordinator, uint32_t notification,
                                           const cst_store_changes *changes);
/* Calls `observe` whenever the coordinator posts the notification, until the observation ends (section observation). The
 * coordinator is borrowed for the call. The callback may use it at will. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_observe(cst_coordinator *coordinator, uint32_t notification,
                                                             cst_coordinator_observe_fn observe, void *userdata,
                                                             cst_destroy_fn destroy,
                                                             cst_observation **out_observation CST_OWNED,
                                                             cst_error **error);
/* What contexts have asked of the stores of a coordinator. */
typedef struct cst_statistics {
    size_t struct_size;
    uint64_t fetches;             /* requests that stores answered, counts and fetches of IDs among them */
    uint64_t fetched_rows;        /* rows and IDs that they gave */
    uint64_t faults;              /* objects whose row was needed one by one: many for one fetch are the N+1 problem */
    uint64_t faulted_rows;        /* rows that stores gave to faults, their siblings and prefetching */
    uint64_t relationship_faults; /* queries for the members of to-many relationships */
    uint64_t cache_hits;          /* rows that the row cache had when an object needed them */
    uint64_t cache_misses;
    uint64_t saves; /* once for each store that a save writes */
    uint64_t inserted;
    uint64_t updated;
    uint64_t deleted;
    uint64_t fetch_nanoseconds;
    uint64_t save_nanoseconds;
    uint64_t row_bytes; /* memory of the rows that objects and row caches of the whole process hold now; no count */
} cst_statistics;
#define CST_STATISTICS_INIT {sizeof(cst_statistics), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
/* Fills a struct that was initialised with CST_STATISTICS_INIT. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_statistics(const cst_coordinator *coordinator,
                                                                cst_statistics *out_statistics, cst_error **error);
/* Begins to count anew. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_reset_statistics(cst_coordinator *coordinator, cst_error **error);
/* Runs in the middle of a coordinator's perform. To fail, see cst_context_perform_fn. */
typedef cst_status (*cst_coordinator_perform_fn)(void *userdata, cst_error **error);
/* Runs body while nothing is saved to the coordinator's stores but by body itself, later and on a thread of the coordinator's,
 * in order of the calls. Others go on reading. A failure of body is dropped. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_perform(cst_coordinator *coordinator,
                                                             cst_coordinator_perform_fn body, void *userdata,
                                                             cst_destroy_fn destroy, cst_error **error);
/* The same on the calling thread, at once. body may not wait for the queue of a context, which is CST_E_INVALID_ARGUMENT: the
 * one who has it may wait for this. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_perform_and_wait(cst_coordinator *coordinator,
                                                                      cst_coordinator_perform_fn body, void *userdata,
                                                                      cst_error **error);
/* The ID that a URI stands for; CST_NOT_FOUND when no store of the coordinator knows it. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_object_id(const cst_coordinator *coordinator, cst_string uri,
                                                               cst_object_id **out_id CST_OWNED, cst_error **error);
/* The store's UUID as text, the host of its objects' URIs. */
CST_EXPORT CST_ANY_THREAD CST_BORROWED cst_string cst_store_identifier(const cst_store *store);
/* "SQLite", "XML", "Binary", "InMemory", or what the host registered. */
CST_EXPORT CST_ANY_THREAD CST_BORROWED cst_string cst_store_type(const cst_store *store);
CST_EXPORT CST_ANY_THREAD CST_BORROWED cst_string cst_store_path(const cst_store *store);
/* The configuration that the store was added for; a null string for one of the whole model. */
CST_EXPORT CST_ANY_THREAD CST_BORROWED cst_string cst_store_configuration(const cst_store *store);
CST_EXPORT CST_ANY_THREAD cst_status cst_store_is_read_only(const cst_store *store, bool *out_read_only,
                                                            cst_error **error);
/* What was asked for when the store was added and is not done, each with its reason; a null string for an index too large. */
CST_EXPORT CST_ANY_THREAD size_t cst_store_warning_count(const cst_store *store);
CST_EXPORT CST_ANY_THREAD CST_BORROWED cst_string cst_store_warning(const cst_store *store, size_t index);
/* Why it is read-only and what to do about it, as the end of a sentence; a null string for a store that can be written. */
CST_EXPORT CST_ANY_THREAD CST_BORROWED cst_string cst_store_read_only_reason(const cst_store *store);

/* Where the model of an open store comes from. */
enum {
    CST_MODEL_GIVEN = 1,
    CST_MODEL_CACHED = 2,  /* the store carries it */
    CST_MODEL_INFERRED = 3 /* made from the tables: names of properties are in lower case, and some of it is a guess */
};
CST_EXPORT CST_ANY_THREAD cst_status cst_store_model_source(const cst_store *store, uint32_t *out_source,
                                                            cst_error **error);
/* What the store at `path` says about itself, as a binary property list: the version of the framework that wrote it, the
 * version hashes of its entities, what the application added, and NSStoreUUID. Needs no model and changes nothing. */
CST_EXPORT CST_ANY_THREAD cst_status cst_store_copy_metadata(cst_string path, cst_buffer *out_plist, cst_error **error);
/* Replaces that, at once, as cst_coordinator_set_metadata does for an open store. */
CST_EXPORT CST_ANY_THREAD cst_status cst_store_set_metadata(cst_string path, cst_bytes plist, cst_error **error);
/* Whether Apple's framework would accept the store at `path` with `model` (NULL: the model that the store carries), as far
 * as the file tells. Changes nothing. The report is JSON: {"accepted": …, "problems": […], "extrapolations": […]}, each
 * finding {"entity": …, "property": …, "text": …}; extrapolations are what no file of Apple's confirms. */
CST_EXPORT CST_ANY_THREAD cst_status cst_store_check_apple(cst_string path, cst_model *model, bool *out_accepted,
                                                           cst_buffer *out_report, cst_error **error);

/* The kinds of problems that cst_store_check finds: the codes of its details. */
enum {
    CST_PROBLEM_DATABASE = 1,      /* the SQLite database itself is damaged */
    CST_PROBLEM_ROW = 2,           /* a row is of no entity of its table, or has no version or no key */
    CST_PROBLEM_REFERENCE = 3,     /* a to-one relationship leads to no row, or to one of another entity */
    CST_PROBLEM_PAIR = 4,          /* a pair of a many-to-many relationship leads to no row */
    CST_PROBLEM_PRIMARY_KEY = 5,   /* a primary key would be given out again */
    CST_PROBLEM_METADATA = 6,      /* the metadata contradicts itself or the store's model, or that does not fit */
    CST_PROBLEM_EXTERNAL_DATA = 7, /* a file with external data is missing */
    CST_PROBLEM_HISTORY = 8,       /* the history of changes refers to what is not there */
    CST_PROBLEM_CONSTRAINT = 9,    /* values that must be unique are not, or nothing in the file keeps them so */
    CST_PROBLEM_DERIVED = 10,      /* a derived attribute has a wrong value, or nothing in the file computes it */
    CST_PROBLEM_SPATIAL = 11,      /* an R-tree index lacks objects, or nothing in the file keeps it up to date */
    CST_PROBLEM_SPEED = 12,        /* an index is missing, so fetches may be slow: a warning, nothing else is wrong */
    CST_PROBLEM_LOG = 13,          /* the write-ahead log is damaged: what was saved in it cannot be read */
    CST_PROBLEM_TRIGGER = 14       /* a trigger is none of Core Data's, so the store opens read-only: a warning */
};
/* Looks whether the store at `path` keeps what Core Data relies on; changes nothing. By `model`, or when that is NULL by
 * the store's own. *out_problems is NULL when there is nothing to say, else an error of status CST_E_STORE_CORRUPT with a
 * detail for each problem: its code is a CST_PROBLEM_…, entity, key and object URI are set where they are known. A store
 * is whole all the same when all of them are CST_PROBLEM_SPEED or CST_PROBLEM_TRIGGER, which come last. */
CST_EXPORT CST_ANY_THREAD cst_status cst_store_check(cst_string path, cst_model *model,
                                                     cst_error **out_problems CST_OWNED, cst_error **error);
/* Files with external data that no row of the store at `path` refers to: what saves that did not come to their end left
 * there. They take room and do no harm otherwise. Changes nothing. The report is JSON: {"folder": …, "names": […], "bytes":
 * …, "sharer": …}. Files younger than ten minutes, which may belong to a save that runs, are not among them, and none at all
 * when another store (`sharer`, else null) has its files in the same folder. */
CST_EXPORT CST_ANY_THREAD cst_status cst_store_copy_leftovers(cst_string path, cst_buffer *out_report,
                                                              cst_error **error);
/* Removes these files under the lock that every save takes, and reports those that were removed. CST_E_STORE_CORRUPT for a
 * damaged database, whose rows cannot tell; CST_E_UNSUPPORTED for a folder that another store shares. */
CST_EXPORT CST_ANY_THREAD cst_status cst_store_remove_leftovers(cst_string path, cst_buffer *out_report,
                                                                cst_error **error);
/* How views show dates. */
enum {
    CST_DATES_TEXT = 0,     /* ISO 8601 in UTC, to the millisecond */
    CST_DATES_UNIX = 1,     /* seconds since 1970 */
    CST_DATES_REFERENCE = 2 /* seconds since 2001, as they are stored */
};
/* SQL statements that make views of the SQLite store at `path` with the names of its model: one for each entity, and one
 * for each relationship whose pairs lie in a table of their own. By `model`, or when that is NULL by the store's own, or
 * one inferred from its tables. `temporary` ones end with the connection that makes them. Others are for copies of the
 * store: Apple's framework could not migrate a store with views. Changes nothing. */
CST_EXPORT CST_ANY_THREAD cst_status cst_store_copy_views(cst_string path, cst_model *model, uint32_t dates,
                                                          bool temporary, cst_buffer *out_sql, cst_error **error);

/* ======== main queue ===================================================================================== */
/* Linux has no main run loop: the host says which thread is the main one and drains its queue there. */

/* Makes the calling thread the main one. CST_E_WRONG_THREAD when another thread is, and still runs. */
CST_EXPORT CST_ANY_THREAD cst_status cst_main_queue_bind(cst_error **error);
/* Runs what waits on the main queue; waits up to timeout_ms for something to run (0: not at all, negative: for ever).
 * out_count, the number of blocks run, may be NULL. CST_UNCHANGED when nothing ran; CST_E_INVALID_ARGUMENT in the middle of a fetch
 * or a save, as in a callback of a host's store. */
CST_EXPORT CST_ANY_THREAD cst_status cst_main_queue_drain(int32_t timeout_ms, size_t *out_count, cst_error **error);
/* A descriptor that is readable while something waits on the main queue, for poll, epoll or asyncio. Do not close it. */
CST_EXPORT CST_ANY_THREAD cst_status cst_main_queue_descriptor(int *out_descriptor, cst_error **error);

/* ======== context ======================================================================================== */

typedef int32_t cst_queue;
enum {
    CST_QUEUE_CALLER = 0,  /* confined to the thread that made it */
    CST_QUEUE_PRIVATE = 1, /* a queue of its own: use cst_context_perform and cst_context_perform_and_wait */
    CST_QUEUE_MAIN = 2     /* the main queue, see cst_main_queue_bind */
};

/* A context on top of a coordinator. CST_QUEUE_CALLER: the calling thread owns it from now on. */
CST_EXPORT CST_ANY_THREAD cst_status cst_context_new(cst_coordinator *coordinator, cst_queue queue,
                                                     cst_context **out_context CST_OWNED, cst_error **error);

/* Runs on the context's queue. The context is borrowed for the call. To fail, return a status below 0 and, if you like,
 * set *error (cst_error_new_custom): it comes back as the detail of CST_E_CALLBACK. */
typedef cst_status (*cst_context_perform_fn)(void *userdata, cst_context *context, cst_error **error);
/* Runs body on the context's queue, later. A failure of body is dropped. What waits keeps the context; what waits when the
 * process exits does not run, and its destroy neither: to see it done, end with a cst_context_perform_and_wait. */
CST_EXPORT CST_ANY_THREAD cst_status cst_context_perform(cst_context *context, cst_context_perform_fn body,
                                                         void *userdata, cst_destroy_fn destroy, cst_error **error);
/* Runs body on the context's queue and waits for it; may be called from within. Pending changes are processed when the
 * outermost one ends. Code 132000, with CST_E_WRONG_THREAD, when the wait would never end: the thread that has the queue waits
 * for a queue that this one has; with CST_E_NO_MEMORY, when all threads that work for queues wait already, see
 * docs/reference/queue.md. */
CST_EXPORT CST_ANY_THREAD cst_status cst_context_perform_and_wait(cst_context *context, cst_context_perform_fn body,
                                                                  void *userdata, cst_error **error);
/* When cst_context_schedule runs a body. */
typedef int32_t cst_schedule;
enum {
    CST_SCHEDULE_IMMEDIATE = 0, /* at once when the calling thread may use the context now, else as the other one */
    CST_SCHEDULE_ENQUEUED = 1   /* when all has run that waits on the context's queue */
};
/* Told, on the context's queue, what became of a body and of processing the pending changes after it: CST_OK, or the status
 * and the error that cst_context_perform_and_wait would give. The error is borrowed for the call. CST_E_INVALID_HANDLE when the
 * context was closed before the body had its turn: body does not run then, and the calling thread may not use the context. */
typedef void (*cst_context_done_fn)(void *userdata, cst_context *context, cst_status status, const cst_error *error);
/* Runs body on the context's queue, then done, which may be NULL, then destroy. With CST_SCHEDULE_IMMEDIATE that may be before
 * it returns; what body answers is told to done alone. */
CST_EXPORT CST_ANY_THREAD cst_status cst_context_schedule(cst_context *context, cst_schedule schedule,
                                                          cst_context_perform_fn body, cst_context_done_fn done,
                                                          void *userdata, cst_destroy_fn destroy, cst_error **error);
/* Takes the context's queue for the calling thread, waiting for it, until as many cst_context_unlock. May be called from within;
 * a lock within a perform, or a callback, ends with that at the latest, and with its thread. For Core Data's lock, unlock and
 * tryLock; cst_context_perform_and_wait does the same and cannot be left open. Errors as there. */
CST_EXPORT CST_ANY_THREAD cst_status cst_context_lock(cst_context *context, cst_error **error);
/* The same without waiting: CST_UNCHANGED when another thread has the queue, or work waits there. */
CST_EXPORT CST_ANY_THREAD cst_status cst_context_try_lock(cst_context *context, cst_error **error);
/* Ends one lock; the last one processes pending changes. Code 132000, with CST_E_WRONG_THREAD, without a lock to end, and in a
 * callback of a call that began under the lock. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_unlock(cst_context *context, cst_error **error);
/* Says where the program makes the context: a call on the wrong thread is told. A NULL file takes it back. */
CST_EXPORT CST_ANY_THREAD cst_status cst_context_set_origin(cst_context *context, cst_string file, uint32_t line,
                                                            cst_error **error);
#define CST_MADE_HERE(context) cst_context_set_origin((context), (cst_string){__FILE__, CST_NUL}, __LINE__, NULL)
/* Called every few milliseconds while a fetch, a count or a save of this context runs, on its thread; true stops it with
 * CST_E_CANCELLED, and nothing has changed. NULL takes the check away. */
typedef bool (*cst_context_interrupt_fn)(void *userdata);
CST_EXPORT CST_ON_QUEUE cst_status cst_context_set_interrupt(cst_context *context, cst_context_interrupt_fn check,
                                                             void *userdata, cst_destroy_fn destroy, cst_error **error);
/* The name of the context and of who changes what it saves, for the history of a store that keeps one; null strings for
 * none, as at first. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_set_name(cst_context *context, cst_string name, cst_error **error);
CST_EXPORT CST_ON_QUEUE cst_status cst_context_set_transaction_author(cst_context *context, cst_string author,
                                                                      cst_error **error);
/* The same; CST_NOT_FOUND when there is none. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_copy_name(const cst_context *context, cst_buffer *out_name,
                                                         cst_error **error);
CST_EXPORT CST_ON_QUEUE cst_status cst_context_copy_transaction_author(const cst_context *context,
                                                                       cst_buffer *out_author, cst_error **error);
/* Something of the host's to have at hand with the context; NULL at first. `destroy` is called when another takes its place and
 * when the context ends. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_set_user_info(cst_context *context, void *userdata,
                                                             cst_destroy_fn destroy, cst_error **error);
/* NULL too off the queue of the context, and for what is no context. */
CST_EXPORT CST_ON_QUEUE void *cst_context_user_info(const cst_context *context);
CST_EXPORT CST_ANY_THREAD cst_status cst_context_coordinator(const cst_context *context,
                                                             cst_coordinator **out_coordinator CST_BORROWED,
                                                             cst_error **error);

/* A new object with the defaults of its entity, which must not be abstract. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_insert(cst_context *context, const cst_entity *entity,
                                                      cst_object **out_object CST_OWNED, cst_error **error);
/* Inserts `rows` objects with `columns` values each (row-major); all or nothing. out_objects may be NULL, else it has
 * room for `rows` handles, each owned. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_insert_many(cst_context *context, const cst_entity *entity, size_t rows,
                                                           size_t columns, const cst_key *keys, const cst_value *values,
                                                           cst_object **out_objects CST_OWNED, cst_error **error);
/* Inserts an object that cst_object_new made. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_insert_object(cst_context *context, cst_object *object,
                                                             cst_error **error);
/* Marks an object for deletion; delete rules are applied when pending changes are processed. An object that was never
 * saved is forgotten. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_delete(cst_context *context, cst_object *object, cst_error **error);
CST_EXPORT CST_ON_QUEUE cst_status cst_context_has_changes(const cst_context *context, bool *out_changes,
                                                           cst_error **error);
/* Whether a save would write anything: changes of transient properties alone do not count. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_has_persistent_changes(const cst_context *context, bool *out_changes,
                                                                      cst_error **error);
/* Ends an event: applies delete rules, unless the context leaves them to the save (CST_OPTION_DELETES_AT_END_OF_EVENT). Done by
 * itself at the end of a perform and before save, count and fetch. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_process_pending_changes(cst_context *context, cst_error **error);
/* Validates, then writes all changes, in one transaction for each store. CST_E_VALIDATION and CST_E_CONFLICT carry the
 * failures as details; after a failure nothing was written and the changes are still pending. Conflicts are settled as the
 * context's merge policy says, see section merging. Where a store fails after others were written, the error has
 * CST_CODE_PERSISTENT_STORE_INCOMPLETE_SAVE and a detail for each store, with its file and, as details, its first objects:
 * status CST_OK where it is written, CST_UNCHANGED where its objects are pending. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_save(cst_context *context, cst_error **error);
/* Checks all that a save would write, and writes nothing: CST_E_VALIDATION as cst_context_save. New and changed objects that
 * have values twice which must be unique are found too (CST_CODE_MANAGED_OBJECT_CONSTRAINT_VALIDATION); what another row of the
 * store has already, the save finds. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_validate(cst_context *context, cst_error **error);
/* Drops every change that was not saved. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_rollback(cst_context *context, cst_error **error);
/* Forgets every object; handles to them are CST_E_OBJECT_GONE from now on. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_reset(cst_context *context, cst_error **error);
/* Closes a context, and those on top of it: their objects are CST_E_OBJECT_GONE, and every other call is CST_E_INVALID_HANDLE.
 * The handle is released as ever. `unsaved` is a CST_UNSAVED_ constant: refused, unsaved changes are CST_E_UNSAVED_CHANGES with
 * counts by entity and a detail for each context, and nothing is closed; a save of a context on top of another one hands them
 * to that. Waits for the queues; CST_E_INVALID_ARGUMENT within a hook, and on the context's own queue while other work waits
 * there. Closing twice is fine. CST_UNCHANGED, and the context stays open, for the view context of a container and the context of a
 * document, which are closed with these, when `unsaved` is done; and for one that is confined to another thread, and has no
 * changes or may lose them: it ends with its last handle. */
CST_EXPORT CST_ANY_THREAD cst_status cst_context_close(cst_context *context, uint32_t unsaved, cst_error **error);

enum { CST_CHANGED_INSERTED = 1, CST_CHANGED_UPDATED = 2, CST_CHANGED_DELETED = 3, CST_CHANGED_REGISTERED = 4 };
/* The objects that the next save would insert, update or delete, or all that the context knows. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_copy_changed(const cst_context *context, uint32_t which,
                                                            cst_results **out_results CST_OWNED, cst_error **error);
/* How many they are. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_changed_count(const cst_context *context, uint32_t which,
                                                             uint64_t *out_count, cst_error **error);

/* What a request gives that cst_context_execute carries out; Core Data's values. */
enum { CST_RESULT_OBJECTS = 0, CST_RESULT_OBJECT_IDS = 1, CST_RESULT_DICTIONARIES = 2, CST_RESULT_COUNT = 4 };
typedef struct cst_request_result {
    uint32_t type; /* CST_RESULT_… */
    uint32_t reserved;
    uint64_t count; /* how many there are */
    void *value;    /* owned: cst_results of objects or IDs, cst_rows of dictionaries; NULL for a count alone */
} cst_request_result;
/* Carries out a request of any kind, a cst_fetch_request among them, and gives what its result type asks for. Objects of a
 * request with a batch size come as results that read their rows when they are asked for (see results). A handle of another
 * type has the code 134091 beside CST_E_INVALID_HANDLE. The request is read during the call only. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_execute(cst_context *context, const void *request,
                                                       cst_request_result *out_result CST_OWNED, cst_error **error);
/* The objects that a request asks for, in its order. Pending changes count (see cst_fetch_request_…). CST_E_UNSUPPORTED for a
 * request whose result type asks for something else. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_fetch(cst_context *context, const cst_fetch_request *request,
                                                     cst_results **out_results CST_OWNED, cst_error **error);
/* The same as IDs only: no object is made; read them with cst_results_copy_id. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_fetch_ids(cst_context *context, const cst_fetch_request *request,
                                                         cst_results **out_results CST_OWNED, cst_error **error);
/* A cursor over what a request asks for, in its order: objects come in batches of at most `batch_size` (0: the batch size of the
 * request), so that memory does not grow with their number (docs/reference/cursor.md says when
 * it does). The request is read during the call only. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_fetch_cursor(cst_context *context, const cst_fetch_request *request,
                                                            size_t batch_size, cst_cursor **out_cursor CST_OWNED,
                                                            cst_error **error);
/* How many objects a fetch would give, limit and offset included. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_count(cst_context *context, const cst_fetch_request *request,
                                                     uint64_t *out_count, cst_error **error);
/* How a fetch would be answered, without answering it: "entity", "predicate", "pendingObjects" (with unsaved changes,
 * matched in memory) and "shares", one for each store, with "path", "sql" (empty where the store is no database),
 * "bindings", "steps" (the store's plan: "detail", "depth"), "indexes", and what is left to memory: "remainder" (a
 * predicate), "isSortedInMemory", "reasons". As JSON, or as lines for people. Throws what the fetch would before it reads a
 * row. */
enum {
    CST_EXPLAIN_TEXT = 0,
    CST_EXPLAIN_JSON = 1,
    CST_EXPLAIN_ROWS = 2 /* beside one of these: how rows would be fetched, whatever the result type says */
};
CST_EXPORT CST_ON_QUEUE cst_status cst_context_explain(cst_context *context, const cst_fetch_request *request,
                                                       uint32_t form, cst_buffer *out_explanation, cst_error **error);
/* Values of the request's columns instead of objects, of what is saved. CST_E_INVALID_ARGUMENT names a column that cannot
 * be one. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_fetch_rows(cst_context *context, const cst_fetch_request *request,
                                                          cst_rows **out_rows CST_OWNED, cst_error **error);
/* One value that is computed of many: over what the request finds one row of one column, with groups (see
 * cst_fetch_request_set_group_by) one row for each, its columns what is grouped by and then the value. The name of that
 * column is how its expression is written, "sum:(salary)"; a sort descriptor may name it. `key` is a key path, also with an
 * operator on a collection ("projects.@count"), or an expression; a null string counts objects. Nulls are left out;
 * docs/reference/rows.md says of which type the values are. CST_E_INVALID_ARGUMENT for a key that has no such value. */
enum {
    CST_AGGREGATE_COUNT = 1,
    CST_AGGREGATE_SUM = 2,
    CST_AGGREGATE_AVERAGE = 3,
    CST_AGGREGATE_MINIMUM = 4,
    CST_AGGREGATE_MAXIMUM = 5,
    CST_AGGREGATE_MEDIAN = 6,
    CST_AGGREGATE_DEVIATION = 7
};
CST_EXPORT CST_ON_QUEUE cst_status cst_context_aggregate(cst_context *context, const cst_fetch_request *request,
                                                         uint32_t aggregate, cst_string key,
                                                         cst_rows **out_rows CST_OWNED, cst_error **error);
/* The object of an ID, as a fault when it is not known; never touches the store, so the row may not exist. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_object_with_id(cst_context *context, const cst_object_id *id,
                                                              cst_object **out_object CST_OWNED, cst_error **error);
/* The object of an ID with its values; CST_E_OBJECT_GONE (133000) when the store has no such row. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_existing_object(cst_context *context, const cst_object_id *id,
                                                               cst_object **out_object CST_OWNED, cst_error **error);
/* The object of an ID if the context already knows it, else CST_NOT_FOUND. Never touches the store. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_registered_object(cst_context *context, const cst_object_id *id,
                                                                 cst_object **out_object CST_OWNED, cst_error **error);
/* Says which store an inserted object is to be saved into, instead of the first that takes it. CST_E_INVALID_ARGUMENT for an
 * object that was saved or has a permanent ID, for a store of another coordinator, and for one whose configuration lacks the
 * object's entity. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_assign(cst_context *context, cst_object *object, cst_store *store,
                                                      cst_error **error);
/* Gives inserted objects their final IDs before the save. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_obtain_permanent_ids(cst_context *context, size_t count,
                                                                    cst_object *const *objects, cst_error **error);
/* Turns every object without changes into a fault, so that the next access reads the store's newest state; objects with
 * changes get the newest state under their changes. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_refresh_all(cst_context *context, cst_error **error);

/* ======== container ====================================================================================== */
/* A model, the stores of its objects, and contexts, in one handle: what most programs begin with. */

typedef struct cst_container_options {
    size_t struct_size;
    /* Names the folder of the program's data: $XDG_DATA_HOME/<application>, else $HOME/.local/share/<application>. Null: the
     * name of the program's file. */
    cst_string application;
    size_t model_folder_count; /* where a model is looked for by name, before all other places */
    const cst_string *model_folders;
} cst_container_options;
#define CST_CONTAINER_OPTIONS_INIT {sizeof(cst_container_options), {NULL, 0}, 0, NULL}

/* A container with one store, of type SQLite in the file <name>.sqlite of the program's data folder; nothing is opened yet.
 * `model` is frozen; NULL: the one called `name` with the ending .momd, .mom, .xcdatamodeld or .xcdatamodel, from the first
 * of these folders that has it: those of the options; those in CORESTONE_MODEL_PATH; the program's; ../share/<application>
 * seen from there; the data folder; <application> below each of XDG_DATA_DIRS; the working folder. CST_E_MODEL names them
 * when none has it. options may be NULL. */
CST_EXPORT CST_ANY_THREAD cst_status cst_container_new(cst_string name, cst_model *model,
                                                       const cst_container_options *options,
                                                       cst_container **out_container CST_OWNED, cst_error **error);
/* A container of a store that is there already, opened as by cst_coordinator_open_store: without its model if need be.
 * options may be NULL. */
CST_EXPORT CST_ANY_THREAD cst_status cst_container_open(cst_string path, cst_model *model,
                                                        const cst_store_options *options,
                                                        cst_container **out_container CST_OWNED, cst_error **error);
/* The program's data folder, which need not be there: the first store makes it. `application` as in the options.
 * CST_E_INVALID_ARGUMENT where neither XDG_DATA_HOME nor HOME is set to an absolute path. */
CST_EXPORT CST_ANY_THREAD cst_status cst_container_copy_data_folder(cst_string application, cst_buffer *out_path,
                                                                    cst_error **error);
enum {
    CST_DESCRIPTION_ASYNCHRONOUS = 1u << 0, /* cst_container_load opens the store on another thread */
    CST_DESCRIPTION_NO_FOLDER = 1u << 1     /* a missing folder is an error; else it is made, for the user alone */
};
typedef struct cst_store_description {
    size_t struct_size;
    cst_string type; /* as cst_coordinator_add_store */
    cst_string path; /* null: in the data folder, with an ending that goes with the type */
    const cst_store_options *options;
    uint32_t flags; /* CST_DESCRIPTION_… */
} cst_store_description;
#define CST_STORE_DESCRIPTION_INIT {sizeof(cst_store_description), {NULL, 0}, {NULL, 0}, NULL, 0}
/* Adds a store to those that are to be opened. The first one takes the place of the one that a container has by itself. All is
 * copied. */
CST_EXPORT CST_ANY_THREAD cst_status cst_container_add_description(cst_container *container,
                                                                   const cst_store_description *description,
                                                                   cst_error **error);
/* Told once of each store that was to be opened: by the index of its description, with its path as it is, and either the store
 * or what went wrong. */
typedef void (*cst_container_load_fn)(void *userdata, size_t index, cst_string path CST_BORROWED,
                                      cst_store *store CST_BORROWED, cst_error *error CST_BORROWED);
/* Opens the stores that are not open. `handler` is told of each, on this thread before the call returns, and for those with
 * CST_DESCRIPTION_ASYNCHRONOUS on another thread; the call itself fails for none. Without a handler (NULL) all are
 * opened before the call returns; it fails as the one store did that could not be opened, or with a detail for each; the
 * others are open. What failed is tried again by the next call. */
CST_EXPORT CST_ANY_THREAD cst_status cst_container_load(cst_container *container, cst_container_load_fn handler,
                                                        void *userdata, cst_destroy_fn destroy, cst_error **error);
CST_EXPORT CST_ANY_THREAD cst_status cst_container_coordinator(const cst_container *container,
                                                               cst_coordinator **out_coordinator CST_BORROWED,
                                                               cst_error **error);
/* A context of the main queue, the same each time. The first call makes the thread on which the process began the main one, if
 * it comes from there and no thread is yet (cst_main_queue_bind). */
CST_EXPORT CST_ANY_THREAD cst_status cst_container_view_context(cst_container *container,
                                                                cst_context **out_context CST_BORROWED,
                                                                cst_error **error);
/* A new context with a queue of its own. */
CST_EXPORT CST_ANY_THREAD cst_status cst_container_new_background_context(cst_container *container,
                                                                          cst_context **out_context CST_OWNED,
                                                                          cst_error **error);
/* What a container knows: {"name", "application", "isClosed", "stores": [{"path", "type", "configuration", "isAsynchronous"},
 * …], "unsaved": as cst_coordinator_copy_unsaved_changes tells it}. Waits for the queues of contexts with changes. */
CST_EXPORT CST_ANY_THREAD cst_status cst_container_copy_report(cst_container *container, cst_buffer *out_json,
                                                               cst_error **error);
/* Saves what the contexts of the container's coordinator have not saved, children first. */
CST_EXPORT CST_ANY_THREAD cst_status cst_container_save(cst_container *container, cst_error **error);
/* Closes the stores; contexts can read and save nothing any more. `unsaved` says what becomes of changes that were not
 * saved: refused, they are CST_E_UNSAVED_CHANGES with a detail for each context that has some, with its name and how many
 * objects of each entity were inserted, updated and deleted. The queues of contexts first do what they were given, and take
 * no more from other threads than this one: CST_E_INVALID_HANDLE, until it turns out that the container stays open; with
 * CST_UNSAVED_DISCARD nothing is waited for. Not on the queue of a context on which other work waits. Releasing a container
 * asks nobody: the stores are closed when the last handle of them is gone, and the log tells what contexts lost. */
CST_EXPORT CST_ANY_THREAD cst_status cst_container_close(cst_container *container, uint32_t unsaved, cst_error **error);

/* ---- records: rows as plain values, for programs that want neither contexts nor objects.
 *
 * A record is a JSON object: an entry for each attribute (dates as ISO 8601, decimals, UUIDs and URIs as text, bytes in
 * base64, an object of the elements of a composite one), for each relationship the URI of the object that it leads to or a
 * list of them, its own URI as "@id", and as "@entity" the name of its entity, where that inherits from the one asked for.
 * A date that ISO 8601 does not give to the microsecond in a year of four digits is a number, the seconds since 2001-01-01;
 * numbers that are not finite are "Infinity", "-Infinity" and "NaN". What is read can be written again by an update, which
 * passes over "@id", "@entity" and derived attributes. Each call works in a context of its own on the calling thread and
 * saves before it returns: all, or nothing, in one store. */

/* Told of success before the call returns: `records` is a JSON list, null of deletions. */
typedef void (*cst_records_fn)(void *userdata, cst_string records CST_BORROWED, size_t count);
/* Told of failure before the call returns, which fails with the same error. */
typedef void (*cst_failure_fn)(void *userdata, const cst_error *error CST_BORROWED);
/* Inserts objects: `json` is one record or a list of them. Values are converted as the attribute wants them; null is null,
 * and what is not named has its default. "@entity" names the entity, one that inherits from entity_name; with "@id" a
 * record is there already, which is CST_E_INVALID_ARGUMENT. A relationship takes the URI of an object or a record, a
 * to-many one a list of these: a record with "@id" changes that object, any other inserts one of the relationship's entity,
 * or of the one it names as "@entity". CST_E_TYPE_MISMATCH and CST_E_INVALID_ARGUMENT name entity, key and value. success
 * and failure may be NULL, here and below. */
CST_EXPORT CST_ANY_THREAD cst_status cst_container_insert(cst_container *container, cst_string entity_name,
                                                          cst_string json, cst_records_fn success,
                                                          cst_failure_fn failure, void *userdata, cst_error **error);
/* The records that a predicate holds for (NULL: all; of one object "SELF == %@" with its ID), at most `limit` of them (0:
 * all) after leaving out `offset`, ordered by `sort`: key paths with commas between them, "-" before those that go the
 * other way than `ascending` says; null: in no order. What comes from people belongs into arguments of cst_predicate_parse. */
CST_EXPORT CST_ANY_THREAD cst_status cst_container_read(cst_container *container, cst_string entity_name,
                                                        const cst_predicate *predicate, cst_string sort, bool ascending,
                                                        uint64_t limit, uint64_t offset, cst_records_fn success,
                                                        cst_failure_fn failure, void *userdata, cst_error **error);
/* Sets what `json`, a record, names, of the objects that a predicate holds for (NULL: all); tells of them as they are then. */
CST_EXPORT CST_ANY_THREAD cst_status cst_container_update(cst_container *container, cst_string entity_name,
                                                          const cst_predicate *predicate, cst_string json,
                                                          cst_records_fn success, cst_failure_fn failure,
                                                          void *userdata, cst_error **error);
/* Deletes the objects that a predicate holds for, which is not NULL; delete rules follow. */
CST_EXPORT CST_ANY_THREAD cst_status cst_container_delete(cst_container *container, cst_string entity_name,
                                                          const cst_predicate *predicate, cst_records_fn success,
                                                          cst_failure_fn failure, void *userdata, cst_error **error);
/* Deletes all objects of an entity, and of those that inherit from it. */
CST_EXPORT CST_ANY_THREAD cst_status cst_container_delete_all(cst_container *container, cst_string entity_name,
                                                              cst_records_fn success, cst_failure_fn failure,
                                                              void *userdata, cst_error **error);

/* ======== document ======================================================================================= */
/* One store as a document: opened, edited with undo, saved, saved elsewhere, reverted. */

/* A document without a place, of a type "SQLite", "XML" or "Binary" (null: SQLite). What it has lies in a folder of its own
 * in TMPDIR, which ends with it. Its context has the queue and an undo manager (cst_context_copy_undo_manager). */
CST_EXPORT CST_ANY_THREAD cst_status cst_document_new(cst_model *model, cst_string type, cst_queue queue,
                                                      cst_document **out_document CST_OWNED, cst_error **error);
/* Opens a document that is there, for writing. `model` and `options` may be NULL, as for cst_coordinator_open_store. */
CST_EXPORT CST_ANY_THREAD cst_status cst_document_open(cst_string path, cst_model *model,
                                                       const cst_store_options *options, cst_queue queue,
                                                       cst_document **out_document CST_OWNED, cst_error **error);
CST_EXPORT CST_ANY_THREAD cst_status cst_document_context(const cst_document *document,
                                                          cst_context **out_context CST_BORROWED, cst_error **error);
/* Where it is; CST_NOT_FOUND for one without a place. */
CST_EXPORT CST_ANY_THREAD cst_status cst_document_copy_path(const cst_document *document, cst_buffer *out_path,
                                                            cst_error **error);
/* How a document stands. */
enum {
    CST_DOCUMENT_EDITED = 1u << 0, /* something is in no file that the host chose */
    CST_DOCUMENT_SAVING = 1u << 1,
    CST_DOCUMENT_CONFLICT = 1u << 2,        /* the last save met objects that somebody else had changed */
    CST_DOCUMENT_FAILED = 1u << 3,          /* the last save failed: cst_document_copy_error */
    CST_DOCUMENT_UNTITLED = 1u << 4,        /* it has no place yet */
    CST_DOCUMENT_CHANGED_ON_DISK = 1u << 5, /* somebody else wrote, replaced or removed the file */
    CST_DOCUMENT_CLOSED = 1u << 6
};
/* As of the last event of the context; looks at the file. */
CST_EXPORT CST_ANY_THREAD cst_status cst_document_state(const cst_document *document, uint32_t *out_flags,
                                                        cst_error **error);
/* Processes pending changes and says whether something is unsaved, in children of the context too; undoing all since the
 * last save leaves nothing. Waits for the queues. */
CST_EXPORT CST_ANY_THREAD cst_status cst_document_has_unsaved_changes(const cst_document *document, bool *out_unsaved,
                                                                      cst_error **error);
/* What the last save failed with, an autosave too; CST_NOT_FOUND when it went well. */
CST_EXPORT CST_ANY_THREAD cst_status cst_document_copy_error(const cst_document *document,
                                                             cst_error **out_failure CST_OWNED, cst_error **error);
/* Told the CST_DOCUMENT_ flags whenever they change, on the thread that changes them: the context's queue, who saves, or
 * the watch of the store. */
typedef void (*cst_document_observe_fn)(void *userdata, uint32_t flags);
CST_EXPORT CST_ANY_THREAD cst_status cst_document_observe(cst_document *document, cst_document_observe_fn observe,
                                                          void *userdata, cst_destroy_fn destroy,
                                                          cst_observation **out_observation CST_OWNED,
                                                          cst_error **error);
/* Has the document saved by itself, on its context's queue: after so many events that left something to save, and when
 * nothing was changed for so many milliseconds; 0 for neither. What was changed before counts too. What it fails with shows
 * in the state, the changes stay, and it is tried again after pauses of up to a minute. One without a place is saved into
 * its own folder and stays edited. CST_E_INVALID_ARGUMENT for CST_QUEUE_CALLER. */
CST_EXPORT CST_ANY_THREAD cst_status cst_document_set_autosave(cst_document *document, uint32_t changes,
                                                               uint32_t idle_ms, cst_error **error);
/* Saves what was changed. CST_E_CONFLICT for objects that somebody else changed in the file: a merge policy of the context
 * settles them, or cst_document_revert. CST_E_STORE_IO when somebody removed the file, or put another one in its place. */
CST_EXPORT CST_ANY_THREAD cst_status cst_document_save(cst_document *document, cst_error **error);
/* Saves the document to `path` and goes on there; what is at its former place stays as it was last saved. `type` null: as
 * it is; of another one every object has a new ID, and handles of objects are CST_E_OBJECT_GONE. A store at the path is
 * overwritten only if `replaces`, and when the new one is whole; CST_E_NOT_A_STORE and CST_E_UNSUPPORTED for what is no
 * store of the type. One that is open read-only can be written there. CST_E_UNSAVED_CHANGES for another type while other
 * contexts, children too, have such. */
CST_EXPORT CST_ANY_THREAD cst_status cst_document_save_as(cst_document *document, cst_string type, cst_string path,
                                                          bool replaces, cst_error **error);
/* Throws away what was not saved, by children of the context too, and reads the file as it is now, also what others wrote,
 * or put in its place: of another store every object has a new ID. Steps to undo are forgotten. CST_E_STORE_IO where no
 * file is, CST_E_UNSAVED_CHANGES for a child with changes that is confined to another thread. */
CST_EXPORT CST_ANY_THREAD cst_status cst_document_revert(cst_document *document, cst_error **error);
/* Closes the file; `unsaved` is a CST_UNSAVED_ constant. CST_E_UNSAVED_CHANGES has the counts by entity and the error of
 * the last save, if that failed, as details. Releasing a document asks nobody, as for a container. */
CST_EXPORT CST_ANY_THREAD cst_status cst_document_close(cst_document *document, uint32_t unsaved, cst_error **error);

/* ======== nesting ======================================================================================== */
/* Contexts on top of contexts, and changes that others saved. */

/* A context on top of another one, which lives as long: it fetches what that one holds, saved or not, and its save leaves the
 * changes there, pending. What it asks of its parent runs on the parent's queue, so a block on the parent's queue must not
 * wait for the child's; CST_E_WRONG_THREAD when the parent is confined to another thread. */
CST_EXPORT CST_ANY_THREAD cst_status cst_context_new_child(cst_context *parent, cst_queue queue,
                                                           cst_context **out_context CST_OWNED, cst_error **error);
/* The context beneath; CST_NOT_FOUND for one that works with the stores. */
CST_EXPORT CST_ANY_THREAD cst_status cst_context_parent(const cst_context *context,
                                                        cst_context **out_parent CST_BORROWED, cst_error **error);
/* Whether the context merges by itself what is saved beneath it: a child what its parent saves, any other what contexts of the
 * same coordinator save. At first it does not. It merges on its own queue; one that is confined to another thread than the
 * saving one when it next processes pending changes, or fetches without changes of its own. */
CST_EXPORT CST_ANY_THREAD cst_status cst_context_set_automatically_merges(cst_context *context, bool merges,
                                                                          cst_error **error);
CST_EXPORT CST_ANY_THREAD cst_status cst_context_automatically_merges(const cst_context *context, bool *out_merges,
                                                                      cst_error **error);
/* Takes over what another context saved. Objects that were read are read anew, their own changes on top; inserted ones come in
 * and are retained until the perform ends, or outside a perform until the next merge; deleted ones are deleted, can still be read
 * until the next save, and are no change of this context. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_merge_changes(cst_context *context, size_t inserted_count,
                                                             const cst_object_id *const *inserted, size_t updated_count,
                                                             const cst_object_id *const *updated, size_t deleted_count,
                                                             const cst_object_id *const *deleted, cst_error **error);
/* The same for what changed behind the coordinator's back, in another process, say: by the URIs of object IDs. What the
 * coordinator keeps of these rows is forgotten first. URIs of other stores are passed over. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_merge_remote_changes(cst_context *context, size_t inserted_count,
                                                                    const cst_string *inserted, size_t updated_count,
                                                                    const cst_string *updated, size_t deleted_count,
                                                                    const cst_string *deleted, cst_error **error);
/* ======== generation ===================================================================================== */
/* A generation is one state of the stores of a coordinator. A context that is pinned to one reads that state, whatever
 * others save. It lasts as long as somebody holds a handle of it, which may be handed to any thread, or a context is pinned
 * to it. Meanwhile the write-ahead log of an SQLite store keeps all that is saved. */

/* No state yet, but a wish: the one that is the newest when the context first reads. */
CST_EXPORT CST_ANY_THREAD cst_status cst_query_generation_current(cst_query_generation **out_generation CST_OWNED,
                                                                  cst_error **error);
/* The state that the stores of a coordinator have now, held from now on. CST_NOT_FOUND when no store has generations, as those in
 * memory; CST_E_UNSUPPORTED for an SQLite store with a rollback journal. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_query_generation(cst_coordinator *coordinator,
                                                                      cst_query_generation **out_generation CST_OWNED,
                                                                      cst_error **error);
/* The generation that a context is pinned to, before its first read cst_query_generation_current; CST_NOT_FOUND for one
 * that reads the newest state at any time, as at first, for one with a parent, and as long as no store has generations. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_query_generation(const cst_context *context,
                                                                cst_query_generation **out_generation CST_OWNED,
                                                                cst_error **error);
/* Pins a context to a generation, or unpins it (NULL). Fetches, faults and relationships read that state from now on;
 * objects keep the values that they have until they are refreshed. A save, a merge of changes and a reset move the context
 * on to what is the newest state then; a refresh does not. What others changed since the generation is a conflict for a
 * save, as ever. Stores that are added later are left out. CST_E_INVALID_ARGUMENT for a context with a parent, which reads
 * what its parent reads, and for a generation of another coordinator; CST_E_UNSUPPORTED for an SQLite store with a rollback
 * journal; CST_E_OBJECT_GONE when a store of the generation was removed: the context is pinned in the others all the same. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_set_query_generation(cst_context *context,
                                                                    cst_query_generation *generation,
                                                                    cst_error **error);
/* Whether a generation is cst_query_generation_current; false for an invalid handle. */
CST_EXPORT CST_ANY_THREAD bool cst_query_generation_is_current(const cst_query_generation *generation);
/* Whether two handles stand for the same generation; false when one is no live handle. */
CST_EXPORT CST_ANY_THREAD bool cst_query_generation_equal(const cst_query_generation *a, const cst_query_generation *b);
/* Equal generations have equal hashes; 0 for an invalid handle. */
CST_EXPORT CST_ANY_THREAD uint64_t cst_query_generation_hash(const cst_query_generation *generation);
/* ======== remote ========================================================================================= */
/* What somebody else writes into a store: another process, or another coordinator of this one. Each store is watched by a
 * thread as long as somebody wants to know: a context that merges, or an observer of CST_COORDINATOR_REMOTE_CHANGE
 * (cst_coordinator_observe), who is called on that thread. Nothing is watched before. */

/* Whether the context merges by itself what somebody else saves; at first it does not. Objects without changes get the new
 * values, changed ones keep their changes on top, inserted ones come in, deleted ones go, as cst_context_merge_changes has it.
 * It merges on its own queue; one that is confined to a thread when it next fetches or processes pending changes.
 * CST_E_INVALID_ARGUMENT for a child, which merges what its parent merges, if it merges what that saves. */
CST_EXPORT CST_ANY_THREAD cst_status cst_context_set_merges_remote_changes(cst_context *context, bool merges,
                                                                           cst_error **error);
CST_EXPORT CST_ANY_THREAD cst_status cst_context_merges_remote_changes(const cst_context *context, bool *out_merges,
                                                                       cst_error **error);
/* ======== merging ======================================================================================== */
/* A save may find that an object was changed or deleted elsewhere since it was read (a conflict of versions), or that
 * another object has values that must be unique (a conflict of a constraint). The context's merge policy settles them, and the
 * save is tried again, at most 16 times; what is not settled fails it with CST_E_CONFLICT, and the error has the conflicts. */

enum {
    CST_MERGE_ERROR = 0,        /* the save fails */
    CST_MERGE_STORE_TRUMP = 1,  /* what both sides changed keeps the store's value; all else is merged */
    CST_MERGE_OBJECT_TRUMP = 2, /* what both sides changed keeps the object's value; all else is merged */
    CST_MERGE_OVERWRITE = 3,    /* the whole object is written */
    CST_MERGE_ROLLBACK = 4      /* the object takes the store's state */
};

enum {
    CST_CONFLICT_CONTEXT = 1,   /* the row cache is newer than the object: another context saved it */
    CST_CONFLICT_STORE = 2,     /* the store is newer than the row cache: another program saved it */
    CST_CONFLICT_CONSTRAINT = 3 /* unique values that another object has */
};

enum {
    CST_SNAPSHOT_OBJECT = 0,    /* what the object was last read with; for a unique constraint, what it holds */
    CST_SNAPSHOT_CURRENT = 1,   /* what it holds, its changes included */
    CST_SNAPSHOT_CACHED = 2,    /* what the row cache holds */
    CST_SNAPSHOT_PERSISTED = 3, /* what the store holds, where the row cache holds something else */
    CST_SNAPSHOT_THEIRS = 4     /* what the object is in conflict with: the newest row, or the stored object */
};

/* Settles conflicts, all of versions or all of constraints, by cst_conflict_resolve and by setting values of objects; the
 * type of its policy settles what it leaves. Called on the context's queue within its save; it may not save,
 * reset, roll back, undo or refresh. The
 * conflicts are borrowed. A negative answer fails the save. */
typedef cst_status (*cst_resolve_conflicts_fn)(void *userdata, cst_context *context, size_t count,
                                               cst_conflict *const *conflicts, cst_error **error);

/* A policy of a type, CST_MERGE_…; `resolve` may be NULL. `destroy` is called once, when policy and contexts let go of it, or
 * at once on failure. */
CST_EXPORT CST_ANY_THREAD cst_status cst_merge_policy_new(int32_t type, cst_resolve_conflicts_fn resolve,
                                                          void *userdata, cst_destroy_fn destroy,
                                                          cst_merge_policy **out_policy CST_OWNED, cst_error **error);
/* CST_MERGE_…; CST_MERGE_ERROR for what is no policy. */
CST_EXPORT CST_ANY_THREAD int32_t cst_merge_policy_type(const cst_merge_policy *policy);
/* The context keeps the policy. NULL: CST_MERGE_ERROR, as at first. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_set_merge_policy(cst_context *context, const cst_merge_policy *policy,
                                                                cst_error **error);
CST_EXPORT CST_ON_QUEUE cst_status cst_context_merge_policy(cst_context *context,
                                                            cst_merge_policy **out_policy CST_OWNED, cst_error **error);
/* Has the next save check that the object, although it is not changed, is still what the store has; else it is a conflict of
 * versions. Ends with that save, a rollback or a reset. Fires a fault; nothing for an object that was never saved. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_detect_conflicts(cst_context *context, cst_object *object,
                                                                cst_error **error);
/* The conflicts of an error of a save. */
CST_EXPORT CST_ANY_THREAD size_t cst_error_conflict_count(const cst_error *error);
CST_EXPORT CST_ANY_THREAD CST_BORROWED const cst_conflict *cst_error_conflict_at(const cst_error *error, size_t index);
/* CST_CONFLICT_…; 0 for what is no conflict. */
CST_EXPORT CST_ANY_THREAD int32_t cst_conflict_kind(const cst_conflict *conflict);
/* For people, with the three values of each property that differs. */
CST_EXPORT CST_ANY_THREAD CST_BORROWED cst_string cst_conflict_message(const cst_conflict *conflict);
/* The objects of the context: one, or all that have the same unique values and are not saved. */
CST_EXPORT CST_ANY_THREAD size_t cst_conflict_object_count(const cst_conflict *conflict);
CST_EXPORT CST_ANY_THREAD CST_BORROWED const cst_object_id *cst_conflict_object_id_at(const cst_conflict *conflict,
                                                                                      size_t index);
/* The stored object that has the unique values; NULL for every other conflict. */
CST_EXPORT CST_ANY_THREAD CST_BORROWED const cst_object_id *cst_conflict_database_id(const cst_conflict *conflict);
/* The version that the object was read with, 0 for a new one, and the one that is there now: 0 for a row that is not there. */
CST_EXPORT CST_ANY_THREAD int64_t cst_conflict_old_version(const cst_conflict *conflict);
CST_EXPORT CST_ANY_THREAD int64_t cst_conflict_new_version(const cst_conflict *conflict);
/* The properties concerned, by name: those that were changed here or there, or those of the constraint. */
CST_EXPORT CST_ANY_THREAD size_t cst_conflict_property_count(const cst_conflict *conflict);
CST_EXPORT CST_ANY_THREAD CST_BORROWED cst_string cst_conflict_property_at(const cst_conflict *conflict, size_t index);
/* What a snapshot, CST_SNAPSHOT_…, has for an attribute, or the ID of a to-one target; `index` is that of the object. The
 * view is valid as long as the conflict. CST_NOT_FOUND when there is no such snapshot, object or property; to-many
 * relationships are in none. */
CST_EXPORT CST_ANY_THREAD cst_status cst_conflict_value(const cst_conflict *conflict, int32_t snapshot, size_t index,
                                                        cst_string property, cst_value *out_value CST_BORROWED,
                                                        cst_error **error);
/* Settles a conflict as a policy of a type, CST_MERGE_…, does; objects are changed at once, so that values may be set on top.
 * CST_MERGE_ERROR settles nothing. CST_E_INVALID_ARGUMENT unless its save is asking the policy. */
CST_EXPORT CST_ON_QUEUE cst_status cst_conflict_resolve(cst_conflict *conflict, int32_t type, cst_error **error);

/* ======== faulting ======================================================================================= */
/* How a context reads what was not read yet. docs/reference/faulting.md has the whole of it. */

/* What a context does about single faults, which cost a query of their own where a prefetch would have cost one in all. */
enum {
    CST_FAULT_BATCH = 0, /* nothing: siblings that came together are filled together, all else as it comes */
    CST_FAULT_WARN = 1,  /* the log is told, once for each relationship and place in the host's code */
    CST_FAULT_ERROR = 2  /* CST_E_UNSUPPORTED where a relationship leads to what was not read */
};
enum {
    CST_OPTION_FAULT_POLICY = 1,     /* CST_FAULT_…; batch at first */
    CST_OPTION_FAULT_BATCH_SIZE = 2, /* siblings that one fault fills: 1 to 65536, 256 at first */
    CST_OPTION_COUNTS_SINGLE_FAULTS =
        3,                       /* 1: cst_context_copy_fault_report has numbers, anew from now on; 0 at first */
    CST_OPTION_STALENESS_MS = 4, /* rows of the cache that are older are read again; below 0, as at first: never */
    CST_OPTION_RETAINS_REGISTERED_OBJECTS = 5, /* 1: all, not only changed ones; 0 at first */
    CST_OPTION_DELETES_INACCESSIBLE_FAULTS =
        6, /* 1, as at first: an object whose row is gone counts as deleted, its values
                                                   null; 0: reading it is CST_E_OBJECT_GONE, code 133000 */
    CST_OPTION_DELETES_AT_END_OF_EVENT =
        7,                        /* 1, as at first: pending changes include delete rules; 0: only a save's do */
    CST_OPTION_MERGES_BATCHES = 8 /* 1, as at first: what batch requests change comes in by itself */
};
CST_EXPORT CST_ON_QUEUE cst_status cst_context_set_option(cst_context *context, uint32_t option, int64_t value,
                                                          cst_error **error);
CST_EXPORT CST_ON_QUEUE cst_status cst_context_option(const cst_context *context, uint32_t option, int64_t *out_value,
                                                      cst_error **error);
/* Says where the host's code is, for the report and the policy, until it is said again; a null string for nowhere. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_set_call_site(cst_context *context, cst_string file, uint32_t line,
                                                             cst_error **error);
#define CST_CALL_SITE(context) cst_context_set_call_site((context), (cst_string){__FILE__, CST_NUL}, __LINE__, NULL)
/* Asked where the host's code is when a single fault fires, on its thread: fills the buffer with the file and returns the line,
 * or leaves it empty for what cst_context_set_call_site said. It may not use the context: CST_E_INVALID_ARGUMENT. */
typedef uint32_t (*cst_call_site_fn)(void *userdata, cst_buffer *out_file);
/* NULL takes the function away. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_set_call_site_finder(cst_context *context, cst_call_site_fn find,
                                                                    void *userdata, cst_destroy_fn destroy,
                                                                    cst_error **error);
/* The single faults that were counted, most first: as lines for people, or as a JSON list of objects with "entity",
 * "relationship" (null for objects that were asked for by ID), "count", "file", "line". */
enum { CST_REPORT_TEXT = 0, CST_REPORT_JSON = 1 };
CST_EXPORT CST_ON_QUEUE cst_status cst_context_copy_fault_report(const cst_context *context, uint32_t form,
                                                                 cst_buffer *out_report, cst_error **error);
/* Decides about an object whose row is not there when a property is asked for: *out_handled true makes it count as deleted,
 * false is CST_E_OBJECT_GONE. Fault and ID are borrowed. A status below 0 makes the call fail as CST_E_CALLBACK. On the
 * context's queue; it may use the context. */
typedef cst_status (*cst_inaccessible_fault_fn)(void *userdata, cst_object *fault, cst_object_id *id,
                                                cst_string property, bool *out_handled, cst_error **error);
/* Asked instead of CST_OPTION_DELETES_INACCESSIBLE_FAULTS; NULL takes the function away. Calls that look for the row, such as
 * cst_context_existing_object, do not ask. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_set_inaccessible_fault_handler(cst_context *context,
                                                                              cst_inaccessible_fault_fn handler,
                                                                              void *userdata, cst_destroy_fn destroy,
                                                                              cst_error **error);

/* ======== object ========================================================================================= */

/* An object outside every context; cst_context_insert_object takes it in. Confined to the calling thread until then. It
 * keeps what it is related to: a circle of such objects stays for ever, unless the host undoes it before it lets go. */
CST_EXPORT CST_ANY_THREAD cst_status cst_object_new(const cst_entity *entity, cst_object **out_object CST_OWNED,
                                                    cst_error **error);
/* The value of an attribute, or the target of a to-one relationship (CST_OBJECT, borrowed). Text and bytes are views,
 * valid until this object is set, refreshed or released. Fires a fault. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_get(const cst_object *object, cst_key key,
                                                  cst_value *out_value CST_BORROWED, cst_error **error);
/* Text or bytes of an attribute, as a copy that no change of the object ends. A large value that lies in a file of its own
 * is read for this call alone: cst_object_get keeps it in memory as long as its view is valid, which adds up where many
 * objects stay. CST_NOT_FOUND and an empty buffer when the value is null. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_copy_bytes(const cst_object *object, cst_key key, cst_buffer *out_bytes,
                                                         cst_error **error);
/* Sets an attribute or a to-one relationship; inverses follow. An integer suits a double, a whole double an integer, any
 * number a decimal, 0 and 1 a boolean, a boolean an integer (as 0 or 1), a string a URI; nothing else is converted. Values
 * are copied. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_set(cst_object *object, cst_key key, const cst_value *value,
                                                  cst_error **error);
CST_EXPORT CST_ON_QUEUE cst_status cst_object_get_many(const cst_object *object, size_t count, const cst_key *keys,
                                                       cst_value *out_values CST_BORROWED, cst_error **error);
/* All or nothing. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_set_many(cst_object *object, size_t count, const cst_key *keys,
                                                       const cst_value *values, cst_error **error);
/* The value at a name or a key path ("name", "department.name", "employees.@count", "employees.@sum.salary"). */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_get_path(const cst_object *object, cst_string path,
                                                       cst_value *out_value CST_BORROWED, cst_error **error);
CST_EXPORT CST_ON_QUEUE cst_status cst_object_set_path(cst_object *object, cst_string path, const cst_value *value,
                                                       cst_error **error);
CST_EXPORT CST_ON_QUEUE cst_status cst_object_get_paths(const cst_object *object, size_t count, const cst_string *paths,
                                                        cst_value *out_values CST_BORROWED, cst_error **error);
CST_EXPORT CST_ON_QUEUE cst_status cst_object_set_paths(cst_object *object, size_t count, const cst_string *paths,
                                                        const cst_value *values, cst_error **error);
/* Sets an attribute or a to-one relationship and nothing else: the object does not count as changed, and an inverse stays as
 * it is. The value is saved when another change makes the object one to save; a refresh drops it. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_set_primitive(cst_object *object, cst_key key, const cst_value *value,
                                                            cst_error **error);
/* The value as it was last fetched or saved. To-one targets come as CST_OBJECT_ID. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_get_committed(const cst_object *object, cst_key key,
                                                            cst_value *out_value CST_BORROWED, cst_error **error);
/* The value of a transformable attribute through the transformer or the class (cst_archive_register_class) that a host
 * registered: the same pointer until the attribute is set or the object refreshed or released; NULL when the attribute is null.
 * CST_E_UNSUPPORTED names a transformer that is not registered, CST_E_TYPE_MISMATCH an attribute whose value is no host's. The
 * bytes are cst_object_get's. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_get_transformed(const cst_object *object, cst_key key,
                                                              void **out_value CST_BORROWED, cst_error **error);
/* Sets a transformable attribute to a value of the host's, which the library keeps and frees when it succeeds; NULL clears
 * it. The value counts as immutable. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_set_transformed(cst_object *object, cst_key key, void *value,
                                                              cst_error **error);
/* Whether the property was changed since the last fetch or save. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_is_changed(const cst_object *object, cst_key key, bool *out_changed,
                                                         cst_error **error);

/* Checks the object as a save would that inserts, updates or deletes it. CST_E_VALIDATION with the failure, or with code
 * CST_CODE_VALIDATION_MULTIPLE_ERRORS and a detail for each; entity, key, value, predicate and object are set. Fires a
 * fault. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_validate(const cst_object *object, uint32_t purpose, cst_error **error);
/* Checks a value as a save would check it if the property had it: an attribute's, or the target of a to-one relationship.
 * The object does not change. *out_value (out_value may be NULL) is the value as the object would hold it; its text and
 * bytes are those of `value`, or of what a validator put in its place, valid until the next such call for the property. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_validate_value(const cst_object *object, cst_key key,
                                                             const cst_value *value, cst_value *out_value CST_BORROWED,
                                                             cst_error **error);

/* A to-many relationship: how many members. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_member_count(const cst_object *object, cst_key key, size_t *out_count,
                                                           cst_error **error);
/* The members, a snapshot; in order when the relationship is ordered. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_copy_members(const cst_object *object, cst_key key,
                                                           cst_results **out_members CST_OWNED, cst_error **error);
/* What a fetched property finds: fetched when first asked for, with unsaved changes, and kept until the object is refreshed
 * or becomes a fault. CST_E_INVALID_ARGUMENT when there is no such fetched property; else what a fetch may fail with. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_copy_fetched(cst_object *object, cst_string property,
                                                           cst_results **out_objects CST_OWNED, cst_error **error);
CST_EXPORT CST_ON_QUEUE cst_status cst_object_has_member(const cst_object *object, cst_key key,
                                                         const cst_object *member, bool *out_contained,
                                                         cst_error **error);
/* Adds a member (at the end when ordered). CST_UNCHANGED when it was one already. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_add_member(cst_object *object, cst_key key, cst_object *member,
                                                         cst_error **error);
CST_EXPORT CST_ON_QUEUE cst_status cst_object_add_members(cst_object *object, cst_key key, size_t count,
                                                          cst_object *const *members, cst_error **error);
/* CST_UNCHANGED when it was none. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_remove_member(cst_object *object, cst_key key, cst_object *member,
                                                            cst_error **error);
/* Replaces all members. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_set_members(cst_object *object, cst_key key, size_t count,
                                                          cst_object *const *members, cst_error **error);
/* Ordered relationships: places a member at an index, from wherever it was; no change when it is there. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_insert_member(cst_object *object, cst_key key, size_t index,
                                                            cst_object *member, cst_error **error);

/* The object's own entity, which may inherit from the one that was fetched. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_entity(const cst_object *object, cst_entity **out_entity CST_BORROWED,
                                                     cst_error **error);
/* The object's context; CST_NOT_FOUND when it has none. */
CST_EXPORT CST_ANY_THREAD cst_status cst_object_context(const cst_object *object,
                                                        cst_context **out_context CST_BORROWED, cst_error **error);
CST_EXPORT CST_ON_QUEUE cst_status cst_object_copy_id(const cst_object *object, cst_object_id **out_id CST_OWNED,
                                                      cst_error **error);

enum {
    CST_OBJECT_INSERTED = 1u << 0,
    CST_OBJECT_UPDATED = 1u << 1,
    CST_OBJECT_DELETED = 1u << 2,      /* deletion is pending */
    CST_OBJECT_FAULT = 1u << 3,        /* its values were not asked for yet */
    CST_OBJECT_TEMPORARY_ID = 1u << 4, /* never saved */
    CST_OBJECT_HAS_CHANGES = 1u << 5
};
/* Never fires a fault. Of an object that left its context CST_OBJECT_FAULT alone, for which cst_object_context gives none. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_state(const cst_object *object, uint32_t *out_flags, cst_error **error);
/* Reads the store's newest state: with merge_changes the object keeps its own changes on top, else it drops them and
 * becomes a fault. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_refresh(cst_object *object, bool merge_changes, cst_error **error);

/* ---- primitive values, changes, differences, clones (docs/reference/object.md) */

/* What the object keeps for an attribute or a to-one relationship, as cst_object_get gives it, but no fault fires: CST_NULL of
 * a fault. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_get_primitive(const cst_object *object, cst_key key,
                                                            cst_value *out_value CST_BORROWED, cst_error **error);
/* The members of a to-many relationship that are in memory; CST_NOT_FOUND when nobody asked for them yet. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_copy_primitive_members(const cst_object *object, cst_key key,
                                                                     cst_results **out_members CST_OWNED,
                                                                     cst_error **error);
/* cst_object_set_primitive for the members of a to-many relationship. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_set_primitive_members(cst_object *object, cst_key key, size_t count,
                                                                    cst_object *const *members, cst_error **error);
/* What accessors of the host's own say before and after they read a primitive value. The first fires the fault, of a to-many
 * relationship too; CST_NO_KEY stands for the whole object. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_will_access(cst_object *object, cst_key key, cst_error **error);
CST_EXPORT CST_ON_QUEUE cst_status cst_object_did_access(cst_object *object, cst_key key, cst_error **error);
/* What they say before and after they set one. The first makes the object one that has changes and notes what there was, for
 * undo and observers; after the second inverses agree, and observers are told. CST_E_INVALID_ARGUMENT for a second without a
 * first. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_will_change(cst_object *object, cst_key key, cst_error **error);
CST_EXPORT CST_ON_QUEUE cst_status cst_object_did_change(cst_object *object, cst_key key, cst_error **error);
/* Core Data's codes: which members come (union), go (minus), alone stay (intersect), or take the place of all (set). */
enum { CST_MUTATION_UNION = 1, CST_MUTATION_MINUS = 2, CST_MUTATION_INTERSECT = 3, CST_MUTATION_SET = 4 };
/* The same around cst_object_set_primitive_members; `members` are those that the mutation is about. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_will_change_members(cst_object *object, cst_key key, uint32_t mutation,
                                                                  size_t count, cst_object *const *members,
                                                                  cst_error **error);
CST_EXPORT CST_ON_QUEUE cst_status cst_object_did_change_members(cst_object *object, cst_key key, uint32_t mutation,
                                                                 size_t count, cst_object *const *members,
                                                                 cst_error **error);

enum {
    CST_VALUES_CHANGED = 1,      /* the new values of what differs from what was last fetched or saved */
    CST_VALUES_BEFORE_EVENT = 2, /* what the properties were that changed since pending changes were last processed */
    CST_VALUES_COMMITTED = 3     /* what was last fetched or saved, changed or not */
};
/* Values of persistent properties as one row, whose columns are their names, sorted. `keys` chooses among them; NULL for all.
 * Targets and members are IDs, members arrays of them. No fault of a relationship fires: CST_NULL stands for members that nobody
 * loaded, and CST_VALUES_COMMITTED of all leaves such relationships out; asked for by its key it is read. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_copy_values(const cst_object *object, uint32_t which, size_t count,
                                                          const cst_key *keys, cst_rows **out_rows CST_OWNED,
                                                          cst_error **error);
/* Whether persistent properties differ by value from what was last fetched or saved. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_has_persistent_changes(const cst_object *object, bool *out_changes,
                                                                     cst_error **error);
/* The IDs that a relationship leads to, unsaved changes included: none or one where it is to-one, in order where it is ordered.
 * Reads the store where it must, but makes no object and fires no fault. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_copy_related_ids(const cst_object *object, cst_key key,
                                                               cst_results **out_ids CST_OWNED, cst_error **error);
/* Whether the members of a relationship were not asked for yet, or its target is a fault. Reads nothing. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_has_relationship_fault(const cst_object *object, cst_key key,
                                                                     bool *out_fault, cst_error **error);
/* A new object in the same context with the values of this one; outside every context if this one is. Objects up to `depth`
 * relationships away are cloned too, each once, along the `count` relationships of `including` (key paths from the object:
 * "lines", "lines.notes"), or along all where that is NULL; the clones lead to each other as the originals do, in the same
 * order. Other relationships lead to the same objects as before, unless these would be taken away from the original: then
 * they stay empty. Values that a unique constraint allows once are as in a new object, unless keeps_unique. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_clone(const cst_object *object, size_t depth, size_t count,
                                                    const cst_string *including, bool keeps_unique,
                                                    cst_object **out_clone CST_OWNED, cst_error **error);

/* ======== observation ==================================================================================== */
/* An observation lasts until it is cancelled or its handle released, which any thread may do. Callbacks may do what they like,
 * end their observation too; one that causes what it observes is called at most 8 times within itself. `destroy` is called
 * after the last call, at the latest when the context ends. */

enum {
    CST_NOTIFICATION_WILL_SAVE = 1,           /* there is something to save; what is changed now is saved too */
    CST_NOTIFICATION_DID_SAVE = 2,            /* it is done: inserted, updated and deleted are what it wrote */
    CST_NOTIFICATION_OBJECTS_DID_CHANGE = 3,  /* pending changes were processed, or objects refreshed or invalidated */
    CST_NOTIFICATION_DID_SAVE_OBJECT_IDS = 4, /* like DID_SAVE, as IDs */
    CST_NOTIFICATION_DID_MERGE_OBJECT_IDS = 5 /* another context's changes were merged into this one; as IDs */
};

/* What a notification is about: objects, or IDs where the notification has IDs only. Each is borrowed for the call (cst_retain
 * keeps it), and NULL when it would be empty. */
typedef struct cst_changes {
    cst_results *inserted, *updated, *deleted, *refreshed;
    cst_results *invalidated;               /* objects of a store that was removed; they are gone */
    bool invalidated_all;                   /* the context was reset */
    cst_query_generation *query_generation; /* what a pinned context reads after its save; NULL for others */
} cst_changes;
typedef void (*cst_context_observe_fn)(void *userdata, cst_context *context, uint32_t notification,
                                       const cst_changes *changes);
/* Calls `observe` on the context's queue whenever the context posts the notification. The context is borrowed for the call. */
CST_EXPORT CST_ANY_THREAD cst_status cst_context_observe(cst_context *context, uint32_t notification,
                                                         cst_context_observe_fn observe, void *userdata,
                                                         cst_destroy_fn destroy,
                                                         cst_observation **out_observation CST_OWNED,
                                                         cst_error **error);

enum { CST_OBSERVE_INITIAL = 4, CST_OBSERVE_PRIOR = 8 };
enum { CST_CHANGE_SETTING = 1, CST_CHANGE_INSERTION = 2, CST_CHANGE_REMOVAL = 3, CST_CHANGE_REPLACEMENT = 4 };

/* Borrowed for the call. Members of to-many relationships are CST_ARRAY: all of them for a setting, else those that came
 * (new_value) and went (old_value). */
typedef struct cst_value_change {
    uint32_t kind; /* CST_CHANGE_… */
    bool
        is_prior; /* CST_OBSERVE_PRIOR: it is about to happen, and new_value is null; relationships cannot be changed now */
    cst_string key_path; /* as it was given */
    cst_value old_value, new_value;
    const size_t *indexes; /* of ordered relationships: the places of new_value, or of old_value where nothing came */
    size_t index_count;
} cst_value_change;
typedef void (*cst_object_observe_fn)(void *userdata, cst_object *object, const cst_value_change *change);
/* Calls `observe` whenever the property at the end of the path changes, or an object on the path does, on both sides of a
 * relationship when both are done. The path is a property, or to-one relationships that lead to one. CST_OBSERVE_INITIAL: also at
 * once, with the value as it is; CST_OBSERVE_PRIOR: also before each change. The observation keeps the object, and ends when it
 * leaves its context. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_observe(cst_object *object, cst_string key_path, uint32_t options,
                                                      cst_object_observe_fn observe, void *userdata,
                                                      cst_destroy_fn destroy,
                                                      cst_observation **out_observation CST_OWNED, cst_error **error);
/* Ends an observation; may be called again. */
CST_EXPORT CST_ANY_THREAD cst_status cst_observation_cancel(cst_observation *observation, cst_error **error);

/* ======== object ID ====================================================================================== */
/* IDs are values; they may cross threads. */

/* x-coredata://<store UUID>/<Entity>/p<number>; x-coredata:///<Entity>/t<UUID> while temporary. */
CST_EXPORT CST_ANY_THREAD cst_status cst_object_id_copy_uri(const cst_object_id *id, cst_buffer *out_uri,
                                                            cst_error **error);
CST_EXPORT CST_ANY_THREAD cst_status cst_object_id_is_temporary(const cst_object_id *id, bool *out_temporary,
                                                                cst_error **error);
CST_EXPORT CST_ANY_THREAD cst_status cst_object_id_entity(const cst_object_id *id, cst_entity **out_entity CST_BORROWED,
                                                          cst_error **error);
/* Whether two IDs stand for the same object; false when one is no live handle. */
CST_EXPORT CST_ANY_THREAD bool cst_object_id_equal(const cst_object_id *a, const cst_object_id *b);
/* Equal IDs have equal hashes; 0 for an invalid handle. */
CST_EXPORT CST_ANY_THREAD uint64_t cst_object_id_hash(const cst_object_id *id);

/* ======== undo =========================================================================================== */
/* A stack of steps that can be undone and redone. Each is a group of actions: what contexts changed within an event, which they
 * record by themselves, and what the host registers. One manager may serve several contexts. A group opens by itself with the
 * first action of an event, and closes when a context processes its pending changes; the host may begin groups of its own,
 * one within the other. Actions run on the thread that undoes them: those of a context only on its queue. */

/* A manager without steps. */
CST_EXPORT CST_ANY_THREAD cst_status cst_undo_manager_new(cst_undo_manager **out_manager CST_OWNED, cst_error **error);
/* Where the context records its changes, beginning now; NULL, as at first, for nowhere, which makes the former manager forget
 * what this context changed. The context keeps the manager. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_set_undo_manager(cst_context *context, cst_undo_manager *manager,
                                                                cst_error **error);
/* NULL when there is none. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_copy_undo_manager(const cst_context *context,
                                                                 cst_undo_manager **out_manager CST_OWNED,
                                                                 cst_error **error);
/* Undoes the newest step of the context's undo manager, pending changes included, as cst_undo_manager_undo. CST_UNCHANGED when
 * there is nothing to undo, or no manager. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_undo(cst_context *context, cst_error **error);
CST_EXPORT CST_ON_QUEUE cst_status cst_context_redo(cst_context *context, cst_error **error);

/* Undoes the newest step, which can then be redone: all attributes and relationships of its objects, both sides, are what they
 * were, objects that came go and objects that went come back, with the handles that the host has of them. CST_UNCHANGED when
 * there is nothing to undo. An open group closes first; with groups within groups open the call is refused, as it is within an
 * undo or redo. CST_E_WRONG_THREAD, and CST_E_OBJECT_GONE for a store that was removed, leave all as it was; when an action of
 * the host's fails, what was not undone yet stays to be undone. */
CST_EXPORT CST_ANY_THREAD cst_status cst_undo_manager_undo(cst_undo_manager *manager, cst_error **error);
/* Undoes the group that was closed last: the one at the end of the open group if there is one, else the newest step. */
CST_EXPORT CST_ANY_THREAD cst_status cst_undo_manager_undo_nested(cst_undo_manager *manager, cst_error **error);
/* Does again what was undone last. CST_UNCHANGED when there is nothing: a new action forgets what could be redone. */
CST_EXPORT CST_ANY_THREAD cst_status cst_undo_manager_redo(cst_undo_manager *manager, cst_error **error);

/* Begins a group, and ends the innermost one. Contexts of this thread record what they changed before. */
CST_EXPORT CST_ANY_THREAD cst_status cst_undo_manager_begin_group(cst_undo_manager *manager, cst_error **error);
CST_EXPORT CST_ANY_THREAD cst_status cst_undo_manager_end_group(cst_undo_manager *manager, cst_error **error);

/* Undoes what the host did. A negative status, with *error set or not, ends the undo with CST_E_CALLBACK. */
typedef cst_status (*cst_undo_action_fn)(void *userdata, cst_error **error);
/* Registers an action; one that is registered while another is undone redoes that. `target` may be NULL, and is only compared:
 * see cst_undo_manager_remove_target. `destroy` is called once, when the action was undone or is forgotten, on any thread. */
CST_EXPORT CST_ANY_THREAD cst_status cst_undo_manager_register(cst_undo_manager *manager, const void *target,
                                                               cst_undo_action_fn action, void *userdata,
                                                               cst_destroy_fn destroy, cst_error **error);
/* Forgets all actions, and enables registration. */
CST_EXPORT CST_ANY_THREAD cst_status cst_undo_manager_remove_all(cst_undo_manager *manager, cst_error **error);
CST_EXPORT CST_ANY_THREAD cst_status cst_undo_manager_remove_target(cst_undo_manager *manager, const void *target,
                                                                    cst_error **error);

/* Nothing is registered between a disable and its enable; they nest. Contexts of this thread record first what they changed. */
CST_EXPORT CST_ANY_THREAD cst_status cst_undo_manager_disable(cst_undo_manager *manager, cst_error **error);
CST_EXPORT CST_ANY_THREAD cst_status cst_undo_manager_enable(cst_undo_manager *manager, cst_error **error);
/* How many steps are kept; 0, as at first, for all. */
CST_EXPORT CST_ANY_THREAD cst_status cst_undo_manager_set_levels(cst_undo_manager *manager, size_t levels,
                                                                 cst_error **error);
/* Whether groups open by themselves, which they do at first. Without, an action outside every group is refused, but a context
 * makes each event a group. */
CST_EXPORT CST_ANY_THREAD cst_status cst_undo_manager_set_groups_by_event(cst_undo_manager *manager, bool groups,
                                                                          cst_error **error);
/* Names the step that is being recorded. */
CST_EXPORT CST_ANY_THREAD cst_status cst_undo_manager_set_action_name(cst_undo_manager *manager, cst_string name,
                                                                      cst_error **error);
/* What cst_undo_manager_copy_text gives. */
enum {
    CST_UNDO_NAME = 0,  /* of the step that an undo would undo; empty for none */
    CST_REDO_NAME = 1,  /* of the step that a redo would redo; empty for none */
    CST_UNDO_TITLE = 2, /* "Undo", and the name behind it */
    CST_REDO_TITLE = 3
};
/* Fills the buffer with a text for menus. */
CST_EXPORT CST_ANY_THREAD cst_status cst_undo_manager_copy_text(const cst_undo_manager *manager, uint32_t text,
                                                                cst_buffer *out_text, cst_error **error);

typedef struct cst_undo_state {
    size_t struct_size;
    bool can_undo; /* pending changes of this thread's contexts count */
    bool can_redo;
    bool is_undoing;
    bool is_redoing;
    bool is_enabled;
    bool groups_by_event;
    size_t levels;
    size_t grouping_level; /* how many groups are open, one within the other */
} cst_undo_state;
#define CST_UNDO_STATE_INIT {sizeof(cst_undo_state), false, false, false, false, false, false, 0, 0}
/* Fills a struct that was initialised with CST_UNDO_STATE_INIT. */
CST_EXPORT CST_ANY_THREAD cst_status cst_undo_manager_state(const cst_undo_manager *manager, cst_undo_state *out_state,
                                                            cst_error **error);

enum {
    CST_UNDO_CHECKPOINT = 1, /* a group begins or ends, or an undo or redo: who gathers actions registers them now */
    CST_UNDO_DID_OPEN_GROUP = 2,
    CST_UNDO_WILL_CLOSE_GROUP = 3,
    CST_UNDO_DID_CLOSE_GROUP = 4,
    CST_UNDO_WILL_UNDO = 5,
    CST_UNDO_DID_UNDO = 6,
    CST_UNDO_WILL_REDO = 7,
    CST_UNDO_DID_REDO = 8
};
/* The manager is borrowed for the call. */
typedef void (*cst_undo_observe_fn)(void *userdata, cst_undo_manager *manager, uint32_t notification);
/* Calls `observe` whenever the manager posts the notification, on the thread that causes it. */
CST_EXPORT CST_ANY_THREAD cst_status cst_undo_manager_observe(cst_undo_manager *manager, uint32_t notification,
                                                              cst_undo_observe_fn observe, void *userdata,
                                                              cst_destroy_fn destroy,
                                                              cst_observation **out_observation CST_OWNED,
                                                              cst_error **error);

/* ======== predicate ====================================================================================== */
/* Predicates never change; any thread may use them. */

/* Reads a predicate, for example "age > %d AND department.name == %@". Arguments fill the % conversions in order; %K
 * takes a string (a key path), %@ any value: a list, a set, or an expression, which stands in its place. On
 * CST_E_PREDICATE_SYNTAX cst_error_offset tells where. */
CST_EXPORT CST_ANY_THREAD cst_status cst_predicate_parse(cst_string format, size_t count, const cst_value *arguments,
                                                         cst_predicate **out_predicate CST_OWNED, cst_error **error);
enum { CST_PREDICATE_NOT = 0, CST_PREDICATE_AND = 1, CST_PREDICATE_OR = 2 };
/* A compound of others, which are retained; NOT takes exactly one. */
CST_EXPORT CST_ANY_THREAD cst_status cst_predicate_new_compound(uint32_t type, size_t count,
                                                                const cst_predicate *const *predicates,
                                                                cst_predicate **out_predicate CST_OWNED,
                                                                cst_error **error);
/* NSComparisonPredicateOperatorType. */
enum {
    CST_OPERATOR_LESS_THAN = 0,
    CST_OPERATOR_LESS_THAN_OR_EQUAL = 1,
    CST_OPERATOR_GREATER_THAN = 2,
    CST_OPERATOR_GREATER_THAN_OR_EQUAL = 3,
    CST_OPERATOR_EQUAL = 4,
    CST_OPERATOR_NOT_EQUAL = 5,
    CST_OPERATOR_MATCHES = 6,
    CST_OPERATOR_LIKE = 7,
    CST_OPERATOR_BEGINS_WITH = 8,
    CST_OPERATOR_ENDS_WITH = 9,
    CST_OPERATOR_IN = 10,
    CST_OPERATOR_CUSTOM_SELECTOR = 11, /* read only: write it in a format, "%@ selector: %@" */
    CST_OPERATOR_CONTAINS = 99,
    CST_OPERATOR_BETWEEN = 100
};
/* NSComparisonPredicateModifier. */
enum { CST_MODIFIER_DIRECT = 0, CST_MODIFIER_ALL = 1, CST_MODIFIER_ANY = 2 };
/* NSComparisonPredicateOptions; CST_COMPARE_LOCALE_SENSITIVE is [l]. */
enum {
    CST_COMPARE_CASE_INSENSITIVE = 1u << 0,
    CST_COMPARE_DIACRITIC_INSENSITIVE = 1u << 1,
    CST_COMPARE_NORMALIZED = 1u << 2,
    CST_COMPARE_LOCALE_SENSITIVE = 1u << 3
};
/* Two expressions and what should hold between them. */
CST_EXPORT CST_ANY_THREAD cst_status cst_predicate_new_comparison(const cst_expression *left, uint32_t operator_type,
                                                                  const cst_expression *right, uint32_t modifier,
                                                                  uint32_t options,
                                                                  cst_predicate **out_predicate CST_OWNED,
                                                                  cst_error **error);
/* Decides about a value (SELF); `variables` is a CST_DICTIONARY. Both are lent for the call. */
typedef cst_status (*cst_predicate_block_fn)(void *userdata, const cst_value *value, const cst_value *variables,
                                             bool *out_result, cst_error **error);
/* A condition that the host decides, in memory, on the thread that evaluates. No store can translate it. */
CST_EXPORT CST_ANY_THREAD cst_status cst_predicate_new_block(cst_predicate_block_fn block, void *userdata,
                                                             cst_destroy_fn destroy,
                                                             cst_predicate **out_predicate CST_OWNED,
                                                             cst_error **error);
/* A copy in which the $variables of a CST_DICTIONARY are constants; a CST_EXPRESSION stands in the variable's place. */
CST_EXPORT CST_ANY_THREAD cst_status cst_predicate_new_substituted(const cst_predicate *predicate,
                                                                   const cst_value *variables,
                                                                   cst_predicate **out_predicate CST_OWNED,
                                                                   cst_error **error);
enum {
    CST_PREDICATE_IS_FALSE = 0,
    CST_PREDICATE_IS_TRUE = 1,
    CST_PREDICATE_IS_COMPARISON = 2,
    CST_PREDICATE_IS_COMPOUND = 3,
    CST_PREDICATE_IS_BLOCK = 4
};
/* What a predicate is made of. */
typedef struct cst_predicate_info {
    size_t struct_size;
    uint32_t kind;                             /* CST_PREDICATE_IS_… */
    uint32_t compound;                         /* CST_PREDICATE_AND, …; of a compound */
    size_t part_count;                         /* of a compound */
    uint32_t operator_type, modifier, options; /* of a comparison */
    uint32_t reserved;
} cst_predicate_info;
#define CST_PREDICATE_INFO_INIT {sizeof(cst_predicate_info), 0, 0, 0, 0, 0, 0, 0}
CST_EXPORT CST_ANY_THREAD cst_status cst_predicate_get_info(const cst_predicate *predicate,
                                                            cst_predicate_info *out_info, cst_error **error);
/* A part of a compound; CST_END past the last one. */
CST_EXPORT CST_ANY_THREAD cst_status cst_predicate_copy_part(const cst_predicate *predicate, size_t index,
                                                             cst_predicate **out_predicate CST_OWNED,
                                                             cst_error **error);
/* The left (0) or right (1) side of a comparison; CST_NOT_FOUND when it is none. */
CST_EXPORT CST_ANY_THREAD cst_status cst_predicate_copy_side(const cst_predicate *predicate, uint32_t side,
                                                             cst_expression **out_expression CST_OWNED,
                                                             cst_error **error);
/* The predicate as text, in Core Data's spelling. */
CST_EXPORT CST_ANY_THREAD cst_status cst_predicate_copy_format(const cst_predicate *predicate, cst_buffer *out_text,
                                                               cst_error **error);
/* Whether two predicates are built the same; false when one is no live handle. */
CST_EXPORT CST_ANY_THREAD bool cst_predicate_equal(const cst_predicate *a, const cst_predicate *b);
/* Equal predicates have equal hashes; 0 for an invalid handle. */
CST_EXPORT CST_ANY_THREAD uint64_t cst_predicate_hash(const cst_predicate *predicate);
/* Whether it holds for an object, in memory. On the object's queue. */
CST_EXPORT CST_ON_QUEUE cst_status cst_predicate_evaluate(const cst_predicate *predicate, const cst_object *object,
                                                          bool *out_result, cst_error **error);
/* Whether it holds for a value of any type. `variables` is NULL, or a CST_DICTIONARY of what $names stand for. Objects
 * on their queue. */
CST_EXPORT CST_ON_QUEUE cst_status cst_predicate_evaluate_value(const cst_predicate *predicate, const cst_value *value,
                                                                const cst_value *variables, bool *out_result,
                                                                cst_error **error);
/* The same for many values: out_results[i] says whether it holds for values[i]. */
CST_EXPORT CST_ON_QUEUE cst_status cst_predicate_filter(const cst_predicate *predicate, size_t count,
                                                        const cst_value *values, const cst_value *variables,
                                                        bool *out_results, cst_error **error);

/* ======== expression ===================================================================================== */
/* What stands left and right of an operator. Expressions never change; any thread may use them. */

/* Reads an expression, for example "salary * 12"; as cst_predicate_parse. */
CST_EXPORT CST_ANY_THREAD cst_status cst_expression_parse(cst_string format, size_t count, const cst_value *arguments,
                                                          cst_expression **out_expression CST_OWNED, cst_error **error);
CST_EXPORT CST_ANY_THREAD cst_status cst_expression_new_constant(const cst_value *value,
                                                                 cst_expression **out_expression CST_OWNED,
                                                                 cst_error **error);
/* SELF: what is evaluated. */
CST_EXPORT CST_ANY_THREAD cst_status cst_expression_new_self(cst_expression **out_expression CST_OWNED,
                                                             cst_error **error);
/* $name; the name without $. */
CST_EXPORT CST_ANY_THREAD cst_status cst_expression_new_variable(cst_string name,
                                                                 cst_expression **out_expression CST_OWNED,
                                                                 cst_error **error);
/* Keys joined by dots, from `base`; NULL: from SELF. */
CST_EXPORT CST_ANY_THREAD cst_status cst_expression_new_key_path(const cst_expression *base, cst_string path,
                                                                 cst_expression **out_expression CST_OWNED,
                                                                 cst_error **error);
/* A built-in function, by the name it has in a format: "add:to:", "uppercase:". */
CST_EXPORT CST_ANY_THREAD cst_status cst_expression_new_function(cst_string name, size_t count,
                                                                 const cst_expression *const *arguments,
                                                                 cst_expression **out_expression CST_OWNED,
                                                                 cst_error **error);
/* FUNCTION(receiver, "name", …): a method of a value, or a function that the host registered. */
CST_EXPORT CST_ANY_THREAD cst_status cst_expression_new_call(const cst_expression *receiver, cst_string name,
                                                             size_t count, const cst_expression *const *arguments,
                                                             cst_expression **out_expression CST_OWNED,
                                                             cst_error **error);
/* {a, b, …} */
CST_EXPORT CST_ANY_THREAD cst_status cst_expression_new_aggregate(size_t count, const cst_expression *const *elements,
                                                                  cst_expression **out_expression CST_OWNED,
                                                                  cst_error **error);
/* SUBQUERY(collection, $variable, predicate) */
CST_EXPORT CST_ANY_THREAD cst_status cst_expression_new_subquery(const cst_expression *collection, cst_string variable,
                                                                 const cst_predicate *predicate,
                                                                 cst_expression **out_expression CST_OWNED,
                                                                 cst_error **error);
/* FETCH(request, context, countOnly): what a request, which is copied, finds, or how much, as a value of a predicate such as
 * the right side of an IN. Without a context, that of the fetch whose predicate it is a part of; with one, on its queue. The
 * expression keeps the context. */
CST_EXPORT CST_ANY_THREAD cst_status cst_expression_new_fetch(const cst_fetch_request *request, cst_context *context,
                                                              bool count_only,
                                                              cst_expression **out_expression CST_OWNED,
                                                              cst_error **error);
/* TERNARY(predicate, yes, no) */
CST_EXPORT CST_ANY_THREAD cst_status cst_expression_new_conditional(const cst_predicate *predicate,
                                                                    const cst_expression *yes, const cst_expression *no,
                                                                    cst_expression **out_expression CST_OWNED,
                                                                    cst_error **error);
/* left UNION right; `type` is CST_EXPRESSION_UNION, _INTERSECT or _MINUS. */
CST_EXPORT CST_ANY_THREAD cst_status cst_expression_new_set_operation(uint32_t type, const cst_expression *left,
                                                                      const cst_expression *right,
                                                                      cst_expression **out_expression CST_OWNED,
                                                                      cst_error **error);
/* Computes a value; what it gives has to stay valid until its next call on that thread. */
typedef cst_status (*cst_expression_block_fn)(void *userdata, const cst_value *value, size_t count,
                                              const cst_value *arguments, const cst_value *variables,
                                              cst_value *out_value, cst_error **error);
/* A value that the host computes, in memory, on the thread that evaluates. */
CST_EXPORT CST_ANY_THREAD cst_status cst_expression_new_block(cst_expression_block_fn block, void *userdata,
                                                              cst_destroy_fn destroy, size_t count,
                                                              const cst_expression *const *arguments,
                                                              cst_expression **out_expression CST_OWNED,
                                                              cst_error **error);
/* NSExpressionType; from 100 what has no public number of Core Data's. */
enum {
    CST_EXPRESSION_CONSTANT = 0,
    CST_EXPRESSION_SELF = 1, /* the evaluated object */
    CST_EXPRESSION_VARIABLE = 2,
    CST_EXPRESSION_KEY_PATH = 3,
    CST_EXPRESSION_FUNCTION = 4,
    CST_EXPRESSION_UNION = 5,
    CST_EXPRESSION_INTERSECT = 6,
    CST_EXPRESSION_MINUS = 7,
    CST_EXPRESSION_SUBQUERY = 13,
    CST_EXPRESSION_AGGREGATE = 14,
    CST_EXPRESSION_ANY_KEY = 15,
    CST_EXPRESSION_BLOCK = 19,
    CST_EXPRESSION_CONDITIONAL = 20,
    CST_EXPRESSION_FETCH = 50,
    CST_EXPRESSION_CALL = 100,      /* FUNCTION(…): first operand the receiver */
    CST_EXPRESSION_ASSIGNMENT = 101 /* $name := operand */
};
CST_EXPORT CST_ANY_THREAD cst_status cst_expression_type(const cst_expression *expression, uint32_t *out_type,
                                                         cst_error **error);
/* The value of a constant; CST_NOT_FOUND for everything else. */
CST_EXPORT CST_ANY_THREAD cst_status cst_expression_copy_constant(const cst_expression *expression,
                                                                  cst_value *out_value CST_OWNED, cst_error **error);
/* The key path, the name of the function, of the variable (a subquery's, too); CST_NOT_FOUND when there is none. */
CST_EXPORT CST_ANY_THREAD cst_status cst_expression_copy_name(const cst_expression *expression, cst_buffer *out_text,
                                                              cst_error **error);
/* The expressions it is made of, in the order in which they are written; CST_END past the last one. A key path that does
 * not start at SELF has one: where it starts. */
CST_EXPORT CST_ANY_THREAD cst_status cst_expression_copy_operand(const cst_expression *expression, size_t index,
                                                                 cst_expression **out_expression CST_OWNED,
                                                                 cst_error **error);
/* The condition of a subquery or a conditional; CST_NOT_FOUND when there is none. */
CST_EXPORT CST_ANY_THREAD cst_status cst_expression_copy_predicate(const cst_expression *expression,
                                                                   cst_predicate **out_predicate CST_OWNED,
                                                                   cst_error **error);
/* The expression as text, in Core Data's spelling. */
CST_EXPORT CST_ANY_THREAD cst_status cst_expression_copy_format(const cst_expression *expression, cst_buffer *out_text,
                                                                cst_error **error);
/* Whether two expressions are built the same; false when one is no live handle. */
CST_EXPORT CST_ANY_THREAD bool cst_expression_equal(const cst_expression *a, const cst_expression *b);
/* Equal expressions have equal hashes; 0 for an invalid handle. */
CST_EXPORT CST_ANY_THREAD uint64_t cst_expression_hash(const cst_expression *expression);
/* The value for what is evaluated, in memory; as cst_predicate_evaluate_value. */
CST_EXPORT CST_ON_QUEUE cst_status cst_expression_value(const cst_expression *expression, const cst_value *value,
                                                        const cst_value *variables, cst_value *out_value CST_OWNED,
                                                        cst_error **error);

/* ======== function ======================================================================================= */
/* Functions of the host's, for FUNCTION(receiver, "name", …) in predicates and expressions. Known in the whole process, called
 * on the thread that evaluates, on several at once. A nil receiver answers nil without a call. */

/* What it gives has to stay valid until its next call on that thread. */
typedef cst_status (*cst_function_fn)(void *userdata, const cst_value *receiver, size_t count,
                                      const cst_value *arguments, cst_value *out_value, cst_error **error);
/* Makes a function known, instead of a former one of that name. */
CST_EXPORT CST_ANY_THREAD cst_status cst_function_register(cst_string name, cst_function_fn call, void *userdata,
                                                           cst_destroy_fn destroy, cst_error **error);
/* The same for a plain C function, called with C's own types: "double(double, double)", or a letter for each as in Python's
 * struct, "d(dd)": bool ?, int8_t b, uint8_t B, int16_t h, uint16_t H, int32_t i, uint32_t I, int64_t q, uint64_t Q, float f,
 * double d, const char * s (NUL-terminated; NULL is nil), cst_value v (by value), cst_object * o (NULL is nil; as a result
 * borrowed). It gets the receiver first when it takes one parameter more than the call has arguments. Nil for a parameter
 * that has no nil makes the result nil without a call. */
CST_EXPORT CST_ANY_THREAD cst_status cst_function_register_typed(cst_string name, cst_string signature,
                                                                 cst_function function, cst_error **error);
/* Forgets a function; CST_NOT_FOUND when none of that name was registered. */
CST_EXPORT CST_ANY_THREAD cst_status cst_function_unregister(cst_string name, cst_error **error);

/* ======== fetch request ================================================================================== */

/* A request for every object of an entity; narrow it with the functions below. May be used for many fetches. */
CST_EXPORT CST_ANY_THREAD cst_status cst_fetch_request_new(const cst_entity *entity,
                                                           cst_fetch_request **out_request CST_OWNED,
                                                           cst_error **error);
/* The same for an entity that is looked up by its name when the request is used, in the model of the context; that use changes
 * the request. A null string: cst_fetch_request_set_entity_name gives a name later. */
CST_EXPORT CST_ANY_THREAD cst_status cst_fetch_request_new_named(cst_string entity_name,
                                                                 cst_fetch_request **out_request CST_OWNED,
                                                                 cst_error **error);
CST_EXPORT CST_ONE_THREAD cst_status cst_fetch_request_set_entity_name(cst_fetch_request *request,
                                                                       cst_string entity_name, cst_error **error);
/* A request of its own that asks for the same. */
CST_EXPORT CST_ONE_THREAD cst_status cst_fetch_request_copy(const cst_fetch_request *request,
                                                            cst_fetch_request **out_request CST_OWNED,
                                                            cst_error **error);
/* All that is a number or a flag of a request; most have a setter of their own as well. */
enum {
    CST_FETCH_LIMIT = 1,                    /* at most so many; 0, as at first: all */
    CST_FETCH_OFFSET = 2,                   /* so many are left out at the beginning; 0 at first */
    CST_FETCH_BATCH_SIZE = 3,               /* rows that are read at a time; 0, as at first: all at once */
    CST_FETCH_RESULT_TYPE = 4,              /* CST_RESULT_…, else code 134091; objects at first */
    CST_FETCH_INCLUDES_SUBENTITIES = 5,     /* 1 at first */
    CST_FETCH_INCLUDES_PENDING_CHANGES = 6, /* 1 at first */
    CST_FETCH_INCLUDES_PROPERTY_VALUES = 7, /* 1 at first; 0: objects are faults without rows */
    CST_FETCH_RETURNS_FAULTS = 8,           /* 1 at first */
    CST_FETCH_REFRESHES_REFETCHED =
        9,                        /* 1: objects without changes that are no faults take what is found; 0 at first */
    CST_FETCH_DISTINCT = 10,      /* 0 at first */
    CST_FETCH_NULLS = 11,         /* CST_NULLS_…; memory at first */
    CST_FETCH_ALLOWS_SPLIT = 12,  /* 1 at first */
    CST_FETCH_ROWS_IN_MEMORY = 13 /* 0 at first; 1: columns are computed from objects: slower, the same, to compare */
};
CST_EXPORT CST_ONE_THREAD cst_status cst_fetch_request_set_option(cst_fetch_request *request, uint32_t option,
                                                                  int64_t value, cst_error **error);
CST_EXPORT CST_ONE_THREAD cst_status cst_fetch_request_option(const cst_fetch_request *request, uint32_t option,
                                                              int64_t *out_value, cst_error **error);
/* The stores to ask, which the request keeps; NULL for all, and a count of 0 for none. Their rows are ordered and windowed
 * together. */
CST_EXPORT CST_ONE_THREAD cst_status cst_fetch_request_set_affected_stores(cst_fetch_request *request, size_t count,
                                                                           const cst_store *const *stores,
                                                                           cst_error **error);
/* Everything else of a request, what is not set being null: "entityName", "predicate", "sortDescriptors" ("key", "ascending",
 * "selector"), "propertiesToFetch" ("name", "expression", "type"), "propertiesToGroupBy", "havingPredicate",
 * "relationshipKeyPathsForPrefetching", "affectedStores" (URLs). */
CST_EXPORT CST_ONE_THREAD cst_status cst_fetch_request_copy_json(const cst_fetch_request *request, cst_buffer *out_json,
                                                                 cst_error **error);
/* The request as a keyed archive, for keeping it; stores are no part of it, and the entity is by name. CST_E_UNSUPPORTED for a
 * predicate that no archive can say, one with an object for example. */
CST_EXPORT CST_ONE_THREAD cst_status cst_fetch_request_copy_archive(const cst_fetch_request *request,
                                                                    cst_buffer *out_archive, cst_error **error);
/* The request of such an archive; CST_E_STORE_CORRUPT for other bytes. */
CST_EXPORT CST_ANY_THREAD cst_status cst_fetch_request_new_from_archive(cst_bytes archive,
                                                                        cst_fetch_request **out_request CST_OWNED,
                                                                        cst_error **error);
/* Its predicate; CST_NOT_FOUND without one. */
CST_EXPORT CST_ONE_THREAD cst_status cst_fetch_request_copy_predicate(const cst_fetch_request *request,
                                                                      cst_predicate **out_predicate CST_OWNED,
                                                                      cst_error **error);
/* NULL: every object. The predicate is retained. */
CST_EXPORT CST_ONE_THREAD cst_status cst_fetch_request_set_predicate(cst_fetch_request *request,
                                                                     cst_predicate *predicate, cst_error **error);
typedef struct cst_sort {
    cst_string key_path;
    uint32_t flags; /* CST_SORT_… */
    uint32_t reserved;
} cst_sort;
/* compare: without any; caseInsensitiveCompare:, localizedCompare:, both for localizedCaseInsensitiveCompare:,
 * localizedStandardCompare:. */
enum {
    CST_SORT_DESCENDING = 1u << 0,
    CST_SORT_CASE_INSENSITIVE = 1u << 1,
    CST_SORT_LOCALIZED = 1u << 2,
    CST_SORT_LOCALIZED_STANDARD = 1u << 3,
    CST_SORT_COMPARATOR = 1u << 4 /* by the call's comparator; in memory only */
};
/* The locale whose rules localized selectors and the option [l] follow, in the whole process: as ICU spells it, "de_DE"; empty
 * for the rules of no language, null for the environment's (LC_ALL, LC_COLLATE, LANG), which hold at first. */
CST_EXPORT CST_ANY_THREAD cst_status cst_sort_set_locale(cst_string locale, cst_error **error);
/* The locale in use; out_uses_icu, which may be NULL, says whether ICU knows it or the rules of no language stand in. */
CST_EXPORT CST_ANY_THREAD cst_status cst_sort_copy_locale(cst_buffer *out_text, bool *out_uses_icu, cst_error **error);
/* The order of two values, neither of them nil: negative when `a` comes first. `sort` is the descriptor's index. */
typedef cst_status (*cst_compare_fn)(void *userdata, size_t sort, const cst_value *a, const cst_value *b,
                                     int32_t *out_order, cst_error **error);
/* The order of values: out_order[0] is the index of the first one. Without a key path a descriptor sorts the values
 * themselves. Equal ones keep their order, nil comes first. Objects on their queue. */
CST_EXPORT CST_ON_QUEUE cst_status cst_sort_values(size_t count, const cst_value *values, size_t sort_count,
                                                   const cst_sort *sort, cst_compare_fn compare, void *userdata,
                                                   size_t *out_order, cst_error **error);
/* Replaces the sort descriptors; they are copied. Without any, the order is that of the store. */
CST_EXPORT CST_ONE_THREAD cst_status cst_fetch_request_set_sort(cst_fetch_request *request, size_t count,
                                                                const cst_sort *sort, cst_error **error);
/* At most this many objects; 0 is all. */
CST_EXPORT CST_ONE_THREAD cst_status cst_fetch_request_set_limit(cst_fetch_request *request, uint64_t limit,
                                                                 cst_error **error);
/* Leaves out this many objects at the beginning. */
CST_EXPORT CST_ONE_THREAD cst_status cst_fetch_request_set_offset(cst_fetch_request *request, uint64_t offset,
                                                                  cst_error **error);
/* Objects of entities that inherit from the request's are included unless this says no. */
CST_EXPORT CST_ONE_THREAD cst_status cst_fetch_request_set_includes_subentities(cst_fetch_request *request,
                                                                                bool includes, cst_error **error);
/* Changes that were not saved count unless this says no. */
CST_EXPORT CST_ONE_THREAD cst_status cst_fetch_request_set_includes_pending_changes(cst_fetch_request *request,
                                                                                    bool includes, cst_error **error);
/* Objects come as faults over rows already read unless this says no (cst_object_state tells the difference). */
CST_EXPORT CST_ONE_THREAD cst_status cst_fetch_request_set_returns_faults(cst_fetch_request *request, bool faults,
                                                                          cst_error **error);
/* What a comparison with nil says. CST_NULLS_MEMORY, the default: name != 'x' holds without a name, in the store too.
 * CST_NULLS_DATABASE: as in SQL, and so in Apple's SQLite store, neither it nor its negation does, nor any comparison but
 * with a constant nil; unsaved objects are judged alike. */
enum { CST_NULLS_MEMORY = 0, CST_NULLS_DATABASE = 1 };
CST_EXPORT CST_ONE_THREAD cst_status cst_fetch_request_set_nulls(cst_fetch_request *request, uint32_t nulls,
                                                                 cst_error **error);
/* What SQL cannot say of predicate and order (transient attributes, blocks, functions of the host) is done in memory with
 * the rows that SQL finds, unless this says no: then such a fetch is CST_E_UNSUPPORTED, and the message names it. */
CST_EXPORT CST_ONE_THREAD cst_status cst_fetch_request_set_allows_split(cst_fetch_request *request, bool allows,
                                                                        cst_error **error);
/* Relationships (key paths) whose targets the fetch reads too, one query for each. Lazy results read those of a batch. */
CST_EXPORT CST_ONE_THREAD cst_status cst_fetch_request_set_prefetch(cst_fetch_request *request, size_t count,
                                                                    const cst_string *key_paths, cst_error **error);

/* A fetch that runs beside its context. Called once, on the queue of the context, when it is done, has failed or was
 * cancelled. The handle is borrowed for the call. When the context was closed before, the thread has no queue, and what was found
 * is CST_E_INVALID_HANDLE. */
typedef void (*cst_fetch_done_fn)(void *userdata, cst_asynchronous_fetch *fetch);
/* Begins to carry out a request, which is copied: another thread reads the rows, and the queue of the context is
 * free until objects are made of them. What has changed until then counts. `estimated_count`, 0 for not known, is told with the
 * progress. CST_E_INVALID_ARGUMENT for a context that is confined to its thread, which has no queue. `done` may be NULL.
 * `destroy` is called after it, at once when this fails. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_fetch_asynchronously(
    cst_context *context, const cst_fetch_request *request, uint64_t estimated_count, cst_fetch_done_fn done,
    void *userdata, cst_destroy_fn destroy, cst_asynchronous_fetch **out_fetch CST_OWNED, cst_error **error);
/* Stops a fetch, in the middle of a scan if need be; it ends with CST_E_CANCELLED. CST_UNCHANGED when it has ended. */
CST_EXPORT CST_ANY_THREAD cst_status cst_asynchronous_fetch_cancel(cst_asynchronous_fetch *fetch, cst_error **error);
/* How many rows were read so far and how many there are, as far as anybody knows (else 0); CST_END after the end. */
CST_EXPORT CST_ANY_THREAD cst_status cst_asynchronous_fetch_progress(const cst_asynchronous_fetch *fetch,
                                                                     uint64_t *out_completed, uint64_t *out_total,
                                                                     cst_error **error);
/* What was found, as from cst_context_execute; CST_NOT_FOUND before the end, the error of the fetch after a failure. */
CST_EXPORT CST_ON_QUEUE cst_status cst_asynchronous_fetch_copy_result(const cst_asynchronous_fetch *fetch,
                                                                      cst_request_result *out_result CST_OWNED,
                                                                      cst_error **error);

/* A column of cst_context_fetch_rows. */
typedef struct cst_column {
    cst_string name;                  /* of the values; without an expression the key path of a property */
    const cst_expression *expression; /* computes the values; NULL: the property */
    cst_attribute_type type;          /* what an expression's values are made; CST_ATTRIBUTE_UNDEFINED: as they come */
    uint32_t reserved;
} cst_column;
/* The columns of rows; they are copied, expressions are retained. None: every attribute that is stored. Of objects that are
 * fetched, the properties whose values come along: another one is read when it is asked for, with all that are left. An
 * expression cannot be one of these. */
CST_EXPORT CST_ONE_THREAD cst_status cst_fetch_request_set_columns(cst_fetch_request *request, size_t count,
                                                                   const cst_column *columns, cst_error **error);
/* Key paths, or names of columns, whose equal values make one row of many. */
CST_EXPORT CST_ONE_THREAD cst_status cst_fetch_request_set_group_by(cst_fetch_request *request, size_t count,
                                                                    const cst_string *names, cst_error **error);
/* Which groups to give: it may name columns, and call functions over the rows of a group. NULL: all. Retained. */
CST_EXPORT CST_ONE_THREAD cst_status cst_fetch_request_set_having(cst_fetch_request *request, cst_predicate *predicate,
                                                                  cst_error **error);
/* Of equal rows only the first. */
CST_EXPORT CST_ONE_THREAD cst_status cst_fetch_request_set_distinct(cst_fetch_request *request, bool distinct,
                                                                    cst_error **error);

/* ======== results ======================================================================================== */
/* A list of objects or IDs: what a fetch found, the members of a relationship, the changed objects of a context. It
 * never changes, and keeps its objects. On the queue of its context.
 *
 * Results of a request with a batch size are lazy: they know who their objects are, and read rows a batch at a time when an
 * object of it is asked for. Of these they keep the batches used last alone: a handle is borrowed until four batches more were
 * asked for, values of a column until the next call. */

CST_EXPORT CST_ANY_THREAD size_t cst_results_count(const cst_results *results);
/* How many rows lazy results read at a time; 0 for others. */
CST_EXPORT CST_ANY_THREAD size_t cst_results_batch_size(const cst_results *results);
/* The object at an index; borrowed, valid until the results are released. CST_END past the last one. */
CST_EXPORT CST_ON_QUEUE cst_status cst_results_get_object(const cst_results *results, size_t index,
                                                          cst_object **out_object CST_BORROWED, cst_error **error);
/* Up to `capacity` objects from `first`; borrowed. */
CST_EXPORT CST_ON_QUEUE cst_status cst_results_get_objects(const cst_results *results, size_t first, size_t capacity,
                                                           cst_object **out_objects CST_BORROWED, size_t *out_count,
                                                           cst_error **error);
CST_EXPORT CST_ANY_THREAD cst_status cst_results_copy_id(const cst_results *results, size_t index,
                                                         cst_object_id **out_id CST_OWNED, cst_error **error);
/* One property of up to `capacity` objects from `first`. Views are valid until the objects change. */
CST_EXPORT CST_ON_QUEUE cst_status cst_results_get_column(const cst_results *results, cst_key key, size_t first,
                                                          size_t capacity, cst_value *out_values CST_BORROWED,
                                                          size_t *out_count, cst_error **error);
/* The same along a key path. */
CST_EXPORT CST_ON_QUEUE cst_status cst_results_get_column_path(const cst_results *results, cst_string path,
                                                               size_t first, size_t capacity,
                                                               cst_value *out_values CST_BORROWED, size_t *out_count,
                                                               cst_error **error);
/* The objects for which a predicate holds; `variables` as in cst_predicate_evaluate_value. */
CST_EXPORT CST_ON_QUEUE cst_status cst_results_copy_filtered(const cst_results *results, const cst_predicate *predicate,
                                                             const cst_value *variables,
                                                             cst_results **out_results CST_OWNED, cst_error **error);
/* The objects in another order; as cst_sort_values. */
CST_EXPORT CST_ON_QUEUE cst_status cst_results_copy_sorted(const cst_results *results, size_t sort_count,
                                                           const cst_sort *sort, cst_compare_fn compare, void *userdata,
                                                           cst_results **out_results CST_OWNED, cst_error **error);
/* Attributes and to-one relationships of `count` objects from `first` as packed columns, for languages whose calls are
 * dear. The buffer holds, in the machine's byte order and each part at a multiple of 8 bytes:
 *   uint64 rows, uint64 columns, then for each column
 *   uint64 form, rows bytes of 1 (null), 2 (the object was deleted since) or 0, padded to 8, and by form:
 *   1 int64 per row (integers, booleans)       2 double per row (doubles, dates)
 *   3 uint64 size of the text, uint64 per row + 1: offsets in CODE POINTS into the text, then the text (UTF-8), padded
 *   4 uint64 size of the bytes, uint64 per row + 1: offsets in bytes, then the bytes, padded
 *   5 16 bytes per row (UUIDs)                 6 int64 per row: primary key of a to-one target
 * Decimals are text (form 3), URIs too. */
CST_EXPORT CST_ON_QUEUE cst_status cst_results_copy_columns(const cst_results *results, size_t first, size_t count,
                                                            size_t columns, const cst_key *keys,
                                                            cst_buffer *out_columns, cst_error **error);

/* ======== rows =========================================================================================== */
/* Values of columns instead of objects. Rows that were all read at once never change, and any thread may use them. Lazy ones
 * (cst_rows_batch_size) belong to the queue of their context, which reads their values. */

CST_EXPORT CST_ANY_THREAD size_t cst_rows_count(const cst_rows *rows);
/* How many rows are read at a time, when values of one are asked for; 0 when all were read at once. Rows of a request with a batch
 * size are lazy when one of the columns is the object itself, and so its ID: they know which rows there are, and a row is as it is
 * when it is read. One that was deleted meanwhile has nulls beside the ID. */
CST_EXPORT CST_ANY_THREAD size_t cst_rows_batch_size(const cst_rows *rows);
CST_EXPORT CST_ANY_THREAD size_t cst_rows_column_count(const cst_rows *rows);
/* A null string past the last column. */
CST_EXPORT CST_ANY_THREAD CST_BORROWED cst_string cst_rows_column_name(const cst_rows *rows, size_t index);
/* The values of `count` rows from `first`, row by row: count times cst_rows_column_count of them, each to be disposed. Objects
 * are CST_OBJECT_ID. CST_E_INVALID_ARGUMENT past the last row. The queue is that of lazy rows; others on any thread. */
CST_EXPORT CST_ON_QUEUE cst_status cst_rows_copy_values(const cst_rows *rows, size_t first, size_t count,
                                                        cst_value *out_values CST_OWNED, cst_error **error);

/* ======== arrow ========================================================================================== */
/* Objects and rows as columns for whoever understands Apache Arrow: pyarrow, polars, pandas, DuckDB and many more. What is
 * exported is the caller's by the rules of the C data interface: it is moved by copying the struct, it ends with its `release`,
 * on any thread, and needs neither the context nor its queue any more. docs/reference/arrow.md has the types. */

/* As the standard has them, for whoever has them not yet. */
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE
#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4
struct ArrowSchema {
    const char *format;
    const char *name;
    const char *metadata;
    int64_t flags;
    int64_t n_children;
    struct ArrowSchema **children;
    struct ArrowSchema *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};
struct ArrowArray {
    int64_t length;
    int64_t null_count;
    int64_t offset;
    int64_t n_buffers;
    int64_t n_children;
    const void **buffers;
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};
#endif
#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE
struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};
#endif

enum {
    CST_ARROW_KEYS = 1,        /* objects are primary keys (int64) instead of URIs */
    CST_ARROW_DECIMAL_TEXT = 2 /* decimals are text, whatever digits they have */
};
/* What a request asks for, in batches of at most `batch_size` rows (0: 65,536), of the state of this moment, whatever is saved
 * meanwhile. Rows are read when their batch is asked for, on whatever thread that is; all at once here where unsaved changes
 * concern the request, or its stores cannot do it alone. Columns are key paths: attributes, relationships, both also behind
 * to-one relationships, and "objectID"; none: the columns of the request, else every attribute that is stored. The request is
 * read during the call only. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_fetch_arrow(cst_context *context, const cst_fetch_request *request,
                                                           size_t batch_size, uint32_t flags, size_t count,
                                                           const cst_string *key_paths,
                                                           struct ArrowArrayStream *out_stream CST_OWNED,
                                                           cst_error **error);
/* The objects of a list with the values that they have now, saved or not, in one array of structs, or as a stream of batches.
 * Columns as above; they are those of the first object's entity where the list is of none. */
CST_EXPORT CST_ON_QUEUE cst_status cst_results_export_arrow(const cst_results *results, uint32_t flags, size_t count,
                                                            const cst_string *key_paths,
                                                            struct ArrowSchema *out_schema CST_OWNED,
                                                            struct ArrowArray *out_array CST_OWNED, cst_error **error);
CST_EXPORT CST_ON_QUEUE cst_status cst_results_export_arrow_stream(const cst_results *results, size_t batch_size,
                                                                   uint32_t flags, size_t count,
                                                                   const cst_string *key_paths,
                                                                   struct ArrowArrayStream *out_stream CST_OWNED,
                                                                   cst_error **error);
/* The rows of a fetch of dictionaries; lazy ones are read here, on their queue, others on any thread. CST_E_TYPE_MISMATCH names a
 * column whose values have no type in common. */
CST_EXPORT CST_ON_QUEUE cst_status cst_rows_export_arrow(const cst_rows *rows, uint32_t flags,
                                                         struct ArrowSchema *out_schema CST_OWNED,
                                                         struct ArrowArray *out_array CST_OWNED, cst_error **error);
CST_EXPORT CST_ON_QUEUE cst_status cst_rows_export_arrow_stream(const cst_rows *rows, size_t batch_size, uint32_t flags,
                                                                struct ArrowArrayStream *out_stream CST_OWNED,
                                                                cst_error **error);

/* Another stream over the same rows from the first one, of the same state: for consumers that want several, or on another thread.
 * CST_E_INVALID_ARGUMENT for a stream of which batches were read, that was released, or that is not of this library. */
CST_EXPORT CST_ANY_THREAD cst_status cst_arrow_stream_copy(const struct ArrowArrayStream *stream,
                                                           struct ArrowArrayStream *out_stream CST_OWNED,
                                                           cst_error **error);
/* ======== host store ===================================================================================== */
/* Stores of the host's own kinds, registered by the name of their type: docs/HOST-STORES.md. An incremental store is asked
 * for what contexts need, when they need it; an atomic one gives all of its objects when it is opened, and is given all of
 * them to keep after each save.
 *
 * Requests and batches of references go down, rows are pushed up through a sink. A row is named by a reference of the
 * store's own: CST_INT, CST_STRING (not empty) or CST_BYTES (not empty), unique within an inheritance tree (of one root
 * entity) and for ever. Object IDs and their URIs carry it: "x-coredata://<UUID of the store>/<Entity>/p42", or p and the
 * text, escaped as the path of a URL. */

/* Rows as a host gives them (cst_row_sink_push) and is given them. */
typedef struct cst_row {
    /* The entity of the row itself, not one that it inherits from. Pushed, NULL stands for the entity that was asked for, or
     * that the library knows the row to have. */
    const cst_entity *entity;
    cst_value reference;
    /* 0 to 2147483647. A save writes a row with the version that it was read with plus 1, and whoever reads it from then on gets
     * that; a store that keeps no versions pushes 0 every time, and nobody's changes are ever found to be in conflict. */
    int64_t version;
    /* The values by key. An attribute that is not listed is null. Pushed, keys that the entity does not have are left out, a
     * to-one relationship that is not listed is asked for once (`relationship`), and a to-many one when somebody needs its
     * members. In a fetch a row without any values is its reference alone: the values are asked for when somebody needs them. */
    size_t count;
    const cst_key *keys;
    /* Of a to-one relationship CST_NULL for none, or the reference of the target; pushed also CST_OBJECT_ID, and CST_DEFAULT as if
     * it were not listed. Of a to-many relationship (pushed, if the store has them at hand; and to an atomic store) a CST_ARRAY
     * of references or object IDs, in order. Else as the attribute has it, converted as by cst_object_set. */
    const cst_value *values;
    /* NULL, or for each value the entity of the target: NULL for an attribute, and, pushed, for a target of the relationship's
     * destination entity. What is pushed as the reference of a row whose entity inherits from that has to name the entity, here or
     * in an object ID, or else the row is asked for (`values`) to find out. Of the members in a CST_ARRAY the same holds. */
    const cst_entity *const *targets;
} cst_row;

/* A cst_row_sink is what a callback pushes rows into, on its own thread, until it returns; a cst_save_request is the save
 * of which `save` is told, until it returns. Afterwards they are CST_E_INVALID_HANDLE. */

/* A store that is to be opened. All of it is borrowed for the call. */
typedef struct cst_store_opening {
    size_t struct_size;
    /* As registered, and as cst_coordinator_add_store was given it, whatever that text is; it may be empty. */
    cst_string type, path;
    cst_model *model;         /* frozen; may be retained and kept */
    cst_string configuration; /* null: the whole model */
    bool read_only;           /* nothing will be saved */
    bool must_exist;          /* a store that is not there yet is CST_NOT_FOUND */
    /* Nothing lies at the path, if it is one of the file system, or a file of no bytes: a new store. A host whose paths are
     * something else knows better. */
    bool is_new;
    /* What a new store is to say about itself, as a property list (binary): type, a new NSStoreUUID, the version hashes of the
     * model. Keep it, and give it when the store is opened the next time. */
    cst_bytes metadata;
    /* What was given beside it, cst_store_options.host_options: by name, in order. */
    size_t option_count;
    const cst_string *option_names;
    const cst_value *option_values;
} cst_store_opening;

/* What a fetch asks an incremental store for. All of it is borrowed for the call. */
typedef struct cst_store_fetch {
    size_t struct_size;
    const cst_entity *entity;
    bool includes_subentities; /* rows of entities that inherit from it, too; those that are not wanted are left out */
    uint32_t result_type;      /* CST_RESULT_OBJECTS, CST_RESULT_OBJECT_IDS (references will do), CST_RESULT_COUNT,
                                  CST_RESULT_DICTIONARIES (the rows' values) */
    /* NULL: every row; cst_predicate_… reads it. Constants that are objects are CST_OBJECT_ID: cst_object_id_reference. */
    const cst_predicate *predicate;
    size_t sort_count;
    const cst_sort *sort; /* CST_SORT_COMPARATOR: only the library can do it */
    uint64_t limit;       /* 0: all */
    uint64_t offset;
    /* The properties whose values will do, if predicate and order are done here; 0 is all. */
    size_t key_count;
    const cst_key *keys;
    /* The same as a request: cst_fetch_request_copy_json and its like. NULL where no context asks. */
    const cst_fetch_request *request;
} cst_store_fetch;

/* What an incremental store has done of a fetch; what it has not the library does, with the rows that were pushed. */
enum {
    CST_FETCHED_PREDICATE = 1u << 0, /* no row was pushed that does not satisfy it */
    CST_FETCHED_ORDER = 1u << 1,     /* rows were pushed in the order of the sort descriptors */
    CST_FETCHED_WINDOW = 1u << 2,    /* offset and limit were applied: only by who has done both of these */
    /* Of CST_RESULT_COUNT, which has no order: *out_count tells, and no rows were pushed. With CST_FETCHED_PREDICATE where there is
       a predicate; without CST_FETCHED_WINDOW the library applies offset and limit to the number. */
    CST_FETCHED_COUNT = 1u << 3
};

/* A changed row. `row` has all values, and the version to be written. */
typedef struct cst_row_update {
    cst_row row;
    int64_t old_version; /* the one that the changes are based on */
    size_t changed_count;
    const cst_key *changed; /* the properties that changed, but for members; none when only members did */
} cst_row_update;

/* What became of the members of one object's to-many relationship. Many-to-many relationships are told from both sides, those
 * whose inverse is to-one only if they are ordered, since the members' own rows tell them; those without inverse always. */
typedef struct cst_member_change {
    cst_row owner; /* entity and reference */
    cst_key relationship;
    bool is_ordered; /* then `members` has all of them, in order */
    size_t added_count;
    const cst_row *added; /* entity and reference of each; so with the rest */
    size_t removed_count;
    const cst_row *removed;
    size_t member_count;
    const cst_row *members;
} cst_member_change;

/* A save: what changed since the last one, all of it to be kept or none. It comes also when nothing did. All of it is
 * borrowed for the call. */
typedef struct cst_save_changes {
    size_t struct_size;
    cst_save_request *request; /* borrowed: cst_save_request_… */
    size_t inserted_count;
    /* With all attributes that are not null, all to-one relationships, the version to be written, the reference of obtain_ids. */
    const cst_row *inserted;
    size_t updated_count;
    const cst_row_update *updated;
    size_t deleted_count;
    const cst_row *deleted; /* entity, reference, and the version that the deletion is based on; so with the next */
    size_t locked_count;
    const cst_row *locked; /* not changed, but the save is to fail unless they are still of that version */
    size_t member_change_count;
    const cst_member_change *member_changes;
    /* What the store says about itself from now on, as a property list; no bytes when that stays. */
    cst_bytes metadata;
    cst_string author, context_name; /* null when the context has none */
} cst_save_changes;

enum { CST_STORE_INCREMENTAL = 1, CST_STORE_ATOMIC = 2 };
/* What a store can do beyond what every one does; a model that asks for more is refused when the store is added. */
enum {
    /* fetch, values and relationship may be called by several threads at a time, also during a save. */
    CST_STORE_PARALLEL_READS = 1u << 0,
    /* save refuses what is not unique and must be (cst_save_request_add_conflict). Atomic stores need not: the library does. */
    CST_STORE_UNIQUE_CONSTRAINTS = 1u << 1,
    /* save computes derived attributes, and pushes the rows that have them. */
    CST_STORE_DERIVED_ATTRIBUTES = 1u << 2
};

/* A type of stores. `store` is what `open` gave.
 *
 * Callbacks run on the thread of the call that needs them, for one store one at a time but for CST_STORE_PARALLEL_READS;
 * only did_register, did_unregister and close may come from any thread, the first two also while another callback runs.
 * They may use their sink, values, models, entities, predicates, errors and object IDs, and not the store itself, through
 * its coordinator or a context: CST_E_INVALID_ARGUMENT. Nor may they wait for a thread that does, which waits for them. To
 * fail they return a status below 0 and may set *error (cst_error_new_custom): it comes back as the detail of an error of
 * status CST_E_CALLBACK, which names store and entity. What they push and give is copied at once. NULL where the store
 * cannot do something: CST_E_UNSUPPORTED for who asks for it. */
typedef struct cst_store_callbacks {
    size_t struct_size;
    uint32_t kind;      /* CST_STORE_INCREMENTAL or CST_STORE_ATOMIC */
    uint32_t abilities; /* CST_STORE_… of the list above */

    /* ---- both kinds ---- */
    /* Opens a store, or begins a new one. *out_store is handed to the other callbacks, up to `close`. Fills out_metadata with what
     * the store says about itself (a property list, binary or XML); left empty, as for a new store, it is opening->metadata. An
     * NSStoreUUID in it is the store's identifier: without one that stays the same, IDs and URIs are worth nothing later. Version
     * hashes in it that are not the model's are CST_E_MODEL_MISMATCH; an NSStoreType that is not the type's name is
     * CST_E_NOT_A_STORE (134010). CST_NOT_FOUND: there is no store, and must_exist. Needed. */
    cst_status (*open)(void *userdata, const cst_store_opening *opening, void **out_store, cst_buffer *out_metadata,
                       cst_error **error);
    /* The store is not used any more. Also called when it could not be added after it was opened. */
    void (*close)(void *store);
    /* Keeps what changed. A row whose version there is not the one that a change, a deletion or a lock is based on is told by
     * cst_save_request_add_conflict, and so is a new row whose reference the store has a row of: then nothing is kept, and the
     * context's merge policy goes on, upon what `values` gives next, or `load` of an atomic store. Rows pushed into the sink are
     * what became of saved rows where that is not what was to be written: another version, values that the store computed. One that
     * cannot be taken does not fail the save: cst_row_sink_push logs it and returns CST_OK, and rows are read again.
     * NULL: the store is read-only. */
    cst_status (*save)(void *store, const cst_save_changes *changes, cst_row_sink *sink, cst_error **error);
    /* Gives new rows their references: the first in out_references is that of the first row, and so on; all are CST_NULL before. The
     * rows have their entity and the attributes that are not null, and no reference. An object whose save fails keeps its own for
     * the next one. NULL: references are made, UUIDs as text. */
    cst_status (*obtain_ids)(void *store, size_t count, const cst_row *rows, cst_value *out_references,
                             cst_error **error);
    /* The store lies at another path from now on (cst_coordinator_set_store_path). May be NULL. */
    cst_status (*move)(void *store, cst_string path, cst_error **error);

    /* ---- incremental stores ---- */
    /* Pushes the rows that a request asks for: all of the entity at least, out_done says what is done of the rest (CST_FETCHED_…,
     * 0 before the call). out_count: see CST_FETCHED_COUNT. Needed. */
    cst_status (*fetch)(void *store, const cst_store_fetch *fetch, cst_row_sink *sink, uint32_t *out_done,
                        uint64_t *out_count, cst_error **error);
    /* Pushes the rows of references, in any order; those that are no more are not pushed. Each of `rows` has an entity, the row's own
     * or, when that is not known, one that it inherits from, and its reference. Needed. */
    cst_status (*values)(void *store, size_t count, const cst_row *rows, cst_row_sink *sink, cst_error **error);
    /* Pushes what a relationship of some owners leads to (cst_row_sink_push_members): of a to-one relationship at most one member.
     * `entity` is that of the owners, or one that they inherit from. An owner for which nothing is pushed has none.
     * NULL where all rows are pushed with all of their relationships. */
    cst_status (*relationship)(void *store, const cst_entity *entity, cst_key relationship, size_t count,
                               const cst_row *owners, cst_row_sink *sink, cst_error **error);
    /* A context knows objects from now on, or no longer, also since it was reset or has ended: for each context, new
     * objects after their save. One call for those that come or go together, at the end of the outermost call of the
     * thread. May be NULL. */
    void (*did_register)(void *store, size_t count, const cst_row *rows);
    void (*did_unregister)(void *store, size_t count, const cst_row *rows);

    /* ---- atomic stores ---- */
    /* Pushes all rows of all entities, with all relationships: of a relationship and its inverse one side is enough. Called once,
     * after `open`, unless the store is new and *out_metadata was left empty, and again after a save that reported conflicts.
     * Needed. */
    cst_status (*load)(void *store, cst_row_sink *sink, cst_error **error);

    /* ---- stores that are not open; each may be NULL ---- */
    /* What the store at a path says about itself, as a property list. CST_NOT_FOUND: there is none. */
    cst_status (*copy_metadata)(void *userdata, cst_string path, cst_buffer *out_plist, cst_error **error);
    cst_status (*set_metadata)(void *userdata, cst_string path, cst_bytes plist, cst_error **error);
    /* Removes the store at a path: cst_coordinator_destroy_store. CST_NOT_FOUND: there is none. */
    cst_status (*destroy_store)(void *userdata, cst_string path, cst_error **error);
    /* Puts a copy of the store at source_path in the place of the one at path: cst_coordinator_replace_store. */
    cst_status (*replace_store)(void *userdata, cst_string path, cst_string source_path, cst_error **error);

    void *userdata;
    /* May be NULL. Called once: on failure, or when the type was unregistered and the last of its stores is gone. */
    cst_destroy_fn destroy;
} cst_store_callbacks;
#define CST_STORE_CALLBACKS_INIT                                                                                       \
    {sizeof(cst_store_callbacks),                                                                                      \
     0,                                                                                                                \
     0,                                                                                                                \
     NULL,                                                                                                             \
     NULL,                                                                                                             \
     NULL,                                                                                                             \
     NULL,                                                                                                             \
     NULL,                                                                                                             \
     NULL,                                                                                                             \
     NULL,                                                                                                             \
     NULL,                                                                                                             \
     NULL,                                                                                                             \
     NULL,                                                                                                             \
     NULL,                                                                                                             \
     NULL,                                                                                                             \
     NULL,                                                                                                             \
     NULL,                                                                                                             \
     NULL,                                                                                                             \
     NULL,                                                                                                             \
     NULL}

/* Makes a type of stores known in the whole process: cst_coordinator_add_store takes its name from now on, in any case of
 * letters. CST_E_INVALID_ARGUMENT for a name that is taken, also by a type that was registered before, and for a table that
 * lacks what its kind needs. On failure `destroy` is called too. */
CST_EXPORT CST_ANY_THREAD cst_status cst_store_type_register(cst_string name, const cst_store_callbacks *callbacks,
                                                             cst_error **error);
/* Forgets a type; stores of it that are open stay so. CST_NOT_FOUND when none of that name was registered. */
CST_EXPORT CST_ANY_THREAD cst_status cst_store_type_unregister(cst_string name, cst_error **error);
/* The names of all types, the built-in ones first, each ended by a NUL. out_count may be NULL. */
CST_EXPORT CST_ANY_THREAD cst_status cst_store_type_copy_names(cst_buffer *out_names, size_t *out_count,
                                                               cst_error **error);
/* cst_store_copy_metadata and cst_store_set_metadata for a store whose type is not told by what lies at its path. */
CST_EXPORT CST_ANY_THREAD cst_status cst_store_type_copy_metadata(cst_string type, cst_string path,
                                                                  cst_buffer *out_plist, cst_error **error);
CST_EXPORT CST_ANY_THREAD cst_status cst_store_type_set_metadata(cst_string type, cst_string path, cst_bytes plist,
                                                                 cst_error **error);

/* Pushes rows; as often as the callback likes, many at a time for speed. All of a call or none: CST_E_INVALID_ARGUMENT for
 * an entity that is none of those that were asked for, a reference that is none or that is known as the row of another
 * entity, and a row that was not asked for; CST_E_TYPE_MISMATCH for a value that its attribute does not take. The error
 * names entity, key and value. In `save`, which may have kept its changes by then, such rows are logged and left out with
 * CST_OK. */
CST_EXPORT CST_ONE_THREAD cst_status cst_row_sink_push(cst_row_sink *sink, size_t count, const cst_row *rows,
                                                       cst_error **error);
/* Pushes members of the owner of that index, in order, after those pushed before. Their rows may have values, too, which are then
 * not asked for until somebody refreshes them. Only in `relationship`. */
CST_EXPORT CST_ONE_THREAD cst_status cst_row_sink_push_members(cst_row_sink *sink, size_t owner, size_t count,
                                                               const cst_row *members, cst_error **error);

/* Fills `out_rows` with the next rows of all that the store holds once this save is done, entity by entity, with all values
 * that are not null and the members of to-many relationships, of both sides (CST_ARRAY; empty ones are left out). They are
 * valid until the next such call. CST_END when there are no more. Only for atomic stores. */
CST_EXPORT CST_ONE_THREAD cst_status cst_save_request_next(cst_save_request *request, size_t capacity,
                                                           cst_row *out_rows, size_t *out_count, cst_error **error);
enum {
    CST_CONFLICT_ROW_VERSION = 1, /* the row has another version, or is gone; a new one is there already */
    CST_CONFLICT_ROW_UNIQUE = 2   /* another row has the values that must be unique */
};
/* Says that a row of the save stands against what the store has. The save then ends with the error of such a conflict, or as the
 * context's merge policy says, whatever status `save` returns; a batch request, or a migration, ends with it. */
CST_EXPORT CST_ONE_THREAD cst_status cst_save_request_add_conflict(cst_save_request *request, uint32_t kind,
                                                                   const cst_row *row, cst_error **error);

/* The reference that an ID carries: CST_INT, CST_STRING or CST_BYTES; of a store of ours the primary key. CST_NOT_FOUND for a
 * temporary ID. The view is valid as long as the ID. */
CST_EXPORT CST_ANY_THREAD cst_status cst_object_id_reference(const cst_object_id *id,
                                                             cst_value *out_reference CST_BORROWED, cst_error **error);
/* The ID of an entity's row of that reference in an open store, whether there is such a row or not. */
CST_EXPORT CST_ANY_THREAD cst_status cst_store_new_object_id(const cst_store *store, const cst_entity *entity,
                                                             const cst_value *reference,
                                                             cst_object_id **out_id CST_OWNED, cst_error **error);

/* ======== batch ========================================================================================== */
/* Changes of many rows, made in the store and past all objects: without hooks, validators and the model's validation rules. All
 * or nothing in each store. Other contexts' saves of the rows meet a conflict; contexts of the coordinator merge what changed
 * (CST_OPTION_MERGES_BATCHES). A request may be executed any number of times. */

/* Inserts objects of an entity. What a row does not name gets its default; relationships cannot be set. Where values that have to
 * be unique are taken, the context's merge policy decides: CST_MERGE_ERROR fails with code 133021, CST_MERGE_OBJECT_TRUMP
 * gives the row that has them what this one names, CST_MERGE_OVERWRITE all that this one has, the others leave it. Further rows
 * that have some of them, and rows of other entities, are deleted, as by a save. */
CST_EXPORT CST_ONE_THREAD cst_status cst_batch_insert_new(const cst_entity *entity,
                                                          cst_batch_request **out_request CST_OWNED, cst_error **error);
/* The rows, row by row; they are copied. These four replace what was set before. */
CST_EXPORT CST_ONE_THREAD cst_status cst_batch_insert_set_rows(cst_batch_request *request, size_t rows, size_t columns,
                                                               const cst_key *keys, const cst_value *values,
                                                               cst_error **error);
enum {
    CST_COLUMN_INT64 = 1,  /* int64_t: integers, booleans */
    CST_COLUMN_INT32 = 2,  /* int32_t */
    CST_COLUMN_DOUBLE = 3, /* double: floating-point numbers, dates */
    CST_COLUMN_STRING = 4, /* cst_string; a null string is no value */
    CST_COLUMN_BYTES = 5,  /* cst_bytes; NULL is no value */
    CST_COLUMN_UUID = 6,   /* 16 bytes each */
    CST_COLUMN_VALUE = 7   /* cst_value: anything */
};
/* One attribute of many rows. */
typedef struct cst_batch_column {
    cst_key key;
    uint32_t form;          /* CST_COLUMN_… */
    const void *values;     /* one for each row */
    const uint8_t *present; /* for each row 0 where there is no value; NULL: every row has one */
} cst_batch_column;
/* The rows, column by column: the fastest way. The columns are copied, the arrays that they point to are read when the request is
 * executed, and have to last as long. */
CST_EXPORT CST_ONE_THREAD cst_status cst_batch_insert_set_columns(cst_batch_request *request, size_t rows, size_t count,
                                                                  const cst_batch_column *columns, cst_error **error);
/* Fills the next rows: `values` has room for `capacity` of them, row by row in the order of the keys, all CST_DEFAULT; out_rows,
 * 0 at first, says how many it filled, 0 that there are no more. They have to last until the next call or the end of the request.
 * It runs within the transaction: it may read, but not save to that store. A failure ends the request, and nothing is written. */
typedef cst_status (*cst_batch_rows_fn)(void *userdata, size_t capacity, cst_value *values, size_t *out_rows,
                                        cst_error **error);
CST_EXPORT CST_ONE_THREAD cst_status cst_batch_insert_set_handler(cst_batch_request *request, size_t columns,
                                                                  const cst_key *keys, cst_batch_rows_fn fill,
                                                                  void *userdata, cst_destroy_fn destroy,
                                                                  cst_error **error);
/* Sets the next row on an object, always the same one, fresh each time and borrowed; out_stop says that there are no more, and
 * that what was set is left out. As above in all else. */
typedef cst_status (*cst_batch_object_fn)(void *userdata, cst_object *object, bool *out_stop, cst_error **error);
CST_EXPORT CST_ONE_THREAD cst_status cst_batch_insert_set_object_handler(cst_batch_request *request,
                                                                         cst_batch_object_fn fill, void *userdata,
                                                                         cst_destroy_fn destroy, cst_error **error);

/* Sets attributes of all objects of an entity that a predicate holds for. */
CST_EXPORT CST_ONE_THREAD cst_status cst_batch_update_new(const cst_entity *entity,
                                                          cst_batch_request **out_request CST_OWNED, cst_error **error);
/* NULL, as at first: every object. Retained. */
CST_EXPORT CST_ONE_THREAD cst_status cst_batch_update_set_predicate(cst_batch_request *request,
                                                                    cst_predicate *predicate, cst_error **error);
/* Objects of entities that inherit from the request's are included unless this says no. */
CST_EXPORT CST_ONE_THREAD cst_status cst_batch_update_set_includes_subentities(cst_batch_request *request,
                                                                               bool includes, cst_error **error);
/* What an attribute is set to, by its name or the path of an element of a composite one: a value, or a CST_EXPRESSION that is
 * computed from the row as it was. Copied. */
CST_EXPORT CST_ONE_THREAD cst_status cst_batch_update_set(cst_batch_request *request, cst_string property,
                                                          const cst_value *value, cst_error **error);

/* Deletes the objects that a fetch request finds, with its order, limit and offset, in the stores of both requests
 * together; retained. Delete rules hold: cascade takes objects along, nullify ends what leads to deleted ones, deny fails
 * with code 1600. */
CST_EXPORT CST_ONE_THREAD cst_status cst_batch_delete_new(cst_fetch_request *request,
                                                          cst_batch_request **out_request CST_OWNED, cst_error **error);
/* The same for objects by their IDs, of one entity; those whose rows are gone are left out. */
CST_EXPORT CST_ONE_THREAD cst_status cst_batch_delete_new_with_ids(size_t count, cst_object_id *const *ids,
                                                                   cst_batch_request **out_request CST_OWNED,
                                                                   cst_error **error);

/* Which stores to change; NULL, as at first: those that have the entity. With a count of 0 nothing is done, as a fetch of
 * no stores finds nothing. An insertion goes to the first that can be written. */
CST_EXPORT CST_ONE_THREAD cst_status cst_batch_set_stores(cst_batch_request *request, size_t count,
                                                          cst_store *const *stores, cst_error **error);
/* Contexts merge what the request changes, unless this says no. */
CST_EXPORT CST_ONE_THREAD cst_status cst_batch_set_merges(cst_batch_request *request, bool merges, cst_error **error);
/* Makes the change. out_count, how many rows were inserted or updated, or deleted by a deletion, and out_ids, their IDs, may be
 * NULL. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_execute_batch(cst_context *context, const cst_batch_request *request,
                                                             uint64_t *out_count, cst_results **out_ids CST_OWNED,
                                                             cst_error **error);
/* What became of a row. */
enum {
    CST_BATCH_INSERTED = 1,
    CST_BATCH_UPDATED = 2,
    CST_BATCH_DELETED = 3,  /* also what delete rules took along, or what made room for unique values */
    CST_BATCH_REFRESHED = 4 /* changed with others: led to a deleted row, or has derived attributes */
};
/* All that the last execution with `out_ids` changed, by what became of the rows: for cst_context_merge_changes, which takes
 * refreshed ones as updated. Nothing before. On the queue of the context that executed the request. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_copy_batch_ids(cst_context *context, const cst_batch_request *request,
                                                              uint32_t change, cst_results **out_ids CST_OWNED,
                                                              cst_error **error);

/* ======== cursor ========================================================================================= */
/* Objects of a fetch, a batch at a time. On the queue of its context. */

/* The next objects; CST_END when there are no more. Let go of a batch to let go of its objects. */
CST_EXPORT CST_ON_QUEUE cst_status cst_cursor_copy_next(cst_cursor *cursor, cst_results **out_results CST_OWNED,
                                                        cst_error **error);

/* ======== live =========================================================================================== */
/* What a request finds, and how that changes. */

/* Of sections and objects among results. */
enum { CST_RESULT_INSERT = 1, CST_RESULT_DELETE = 2, CST_RESULT_MOVE = 3, CST_RESULT_UPDATE = 4 };

/* Where an object stands among results; SIZE_MAX twice where there is no place. */
typedef struct cst_index_path {
    size_t section, row;
} cst_index_path;
/* A section that came, at its new index, or went, at its former one. */
typedef struct cst_section_change {
    uint32_t kind; /* CST_RESULT_INSERT or _DELETE */
    size_t index;
    cst_string name;
} cst_section_change;
/* What became of an object: `path` is its place before the event, `new_path` that after it. A move never leads to the same
 * place, and is an update too. */
typedef struct cst_object_change {
    uint32_t kind; /* CST_RESULT_… */
    cst_object *object;
    cst_index_path path, new_path;
} cst_object_change;
/* An object whose ID was temporary and is another now. */
typedef struct cst_renamed_id {
    const cst_object_id *former, *id;
} cst_renamed_id;
/* Deletions and the beginnings of moves by former places, last first, then insertions and the ends of moves by new places, first
 * first: that gives the new results from the former ones, always. All of it is borrowed for the call. */
typedef struct cst_difference {
    size_t section_count, change_count;
    const cst_section_change *sections;
    const cst_object_change *changes; /* deletions, insertions, moves, updates */
    cst_snapshot *snapshot;           /* the new results; cst_retain keeps them */
    bool is_reset;                    /* what was shown is gone: `changes` insert all that there is */
    const cst_error *error;           /* what following failed with, and then this is the last difference; else NULL */
    size_t renamed_count;
    const cst_renamed_id *renamed; /* who keeps IDs keeps these instead; of sections and rows alone no change */
} cst_difference;

/* A step from the IDs of former results to those of the new ones: deletions from the last to the first, then insertions from the
 * first to the last. A move is both, and so is an object that got another ID. */
typedef struct cst_id_change {
    uint32_t kind;     /* CST_RESULT_DELETE or _INSERT */
    size_t offset;     /* among the former results for a deletion, among the new ones for an insertion */
    size_t associated; /* of a move, the offset of its other half; else SIZE_MAX */
    const cst_object_id *id;
} cst_id_change;

typedef void (*cst_observe_fetch_fn)(void *userdata, cst_context *context, const cst_difference *difference);
/* Calls `observe` with what a request finds, as insertions into nothing, before it returns, and from then on with each difference
 * that an event makes, on the context's queue, until the observation is cancelled or released. After a reset it begins anew.
 * `section_key_path` may be a null string. `paths` are key paths to objects whose changes are updates of those that lead to them.
 * The request is read during the call only. `destroy` is called after the last call, at the latest when the context ends. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_observe_fetch(cst_context *context, const cst_fetch_request *request,
                                                             cst_string section_key_path, size_t path_count,
                                                             const cst_string *paths, cst_observe_fetch_fn observe,
                                                             void *userdata, cst_destroy_fn destroy,
                                                             cst_observation **out_observation CST_OWNED,
                                                             cst_error **error);

/* Results as they were at one time; any thread may look at their sections. 0 for handles that are none. */
CST_EXPORT CST_ANY_THREAD size_t cst_snapshot_section_count(const cst_snapshot *snapshot);
/* The name of a section, a null string past the last one, and how many objects it has; `section` SIZE_MAX: all have. */
CST_EXPORT CST_ANY_THREAD CST_BORROWED cst_string cst_snapshot_section_name(const cst_snapshot *snapshot,
                                                                            size_t section);
CST_EXPORT CST_ANY_THREAD size_t cst_snapshot_object_count(const cst_snapshot *snapshot, size_t section);
/* The IDs of a section's objects; of all of them for SIZE_MAX. CST_E_INVALID_ARGUMENT past the last section. */
CST_EXPORT CST_ON_QUEUE cst_status cst_snapshot_copy_ids(const cst_snapshot *snapshot, size_t section,
                                                         cst_results **out_ids CST_OWNED, cst_error **error);

/* ======== controller ===================================================================================== */
/* The results of a request by section and row, for a list that shows them. On the queue of its context. */

/* Who shows the results. Functions may be NULL, and may do what they like; the controller, and what a function is told, is
 * borrowed for the call. Of each event that changed the results: will_change, while they are what they were; did_change_section;
 * did_change_object; did_change. */
typedef struct cst_controller_delegate {
    size_t struct_size;
    void (*will_change)(void *userdata, cst_controller *controller);
    void (*did_change_section)(void *userdata, cst_controller *controller, const cst_section_change *change);
    void (*did_change_object)(void *userdata, cst_controller *controller, const cst_object_change *change);
    void (*did_change)(void *userdata, cst_controller *controller);
    /* All of an event at once: then the four above are not called. */
    void (*did_change_all)(void *userdata, cst_controller *controller, const cst_difference *difference);
    /* The same as steps between IDs, for a controller without sections and a delegate without did_change_all. Updates are none. */
    void (*did_change_ids)(void *userdata, cst_controller *controller, size_t count, const cst_id_change *changes);
    /* The context was reset (`error` is NULL), or following it failed: there are no results until the next perform_fetch. Where a
     * function resets it after will_change, did_change comes before, without the rest of the change. */
    void (*did_reset)(void *userdata, cst_controller *controller, const cst_error *error);
    /* The title of a section in an index: a string, valid until its next call, or null to leave the section out. */
    cst_status (*section_title)(void *userdata, cst_controller *controller, cst_string name, cst_value *out_title,
                                cst_error **error);
    void *userdata;
    cst_destroy_fn destroy;
} cst_controller_delegate;
#define CST_CONTROLLER_DELEGATE_INIT                                                                                   \
    {sizeof(cst_controller_delegate), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL}

/* `section_key_path` names the sections by the values it leads to; a null string: all is one section. `cache_name`: under which
 * name sections are remembered beyond the process; may be a null string. The request is kept, and read by perform_fetch. */
CST_EXPORT CST_ON_QUEUE cst_status cst_controller_new(cst_context *context, cst_fetch_request *request,
                                                      cst_string section_key_path, cst_string cache_name,
                                                      cst_controller **out_controller CST_OWNED, cst_error **error);
/* Gives a string, or null for the section without a name, valid until its next call. It may read the object, and change
 * nothing. */
typedef cst_status (*cst_section_name_fn)(void *userdata, cst_object *object, cst_value *out_name, cst_error **error);
/* The same with sections that a function names. */
CST_EXPORT CST_ON_QUEUE cst_status cst_controller_new_with_sections(cst_context *context, cst_fetch_request *request,
                                                                    cst_section_name_fn section_name, void *userdata,
                                                                    cst_destroy_fn destroy,
                                                                    cst_controller **out_controller CST_OWNED,
                                                                    cst_error **error);
/* Key paths to objects whose changes are updates of those that lead to them; counts from the next perform_fetch on. */
CST_EXPORT CST_ON_QUEUE cst_status cst_controller_set_dependencies(cst_controller *controller, size_t path_count,
                                                                   const cst_string *paths, cst_error **error);
/* Changes are followed as long as there is a delegate; NULL takes it away. */
CST_EXPORT CST_ON_QUEUE cst_status cst_controller_set_delegate(cst_controller *controller,
                                                               const cst_controller_delegate *delegate,
                                                               cst_error **error);
/* Fetches, for the first time or anew. CST_E_INVALID_ARGUMENT for a request whose sort descriptors were never set; code 134060
 * naming the object when the objects of a section do not lie together. */
CST_EXPORT CST_ON_QUEUE cst_status cst_controller_perform_fetch(cst_controller *controller, cst_error **error);
/* The results as they are now; CST_NOT_FOUND before perform_fetch, and after a reset. */
CST_EXPORT CST_ON_QUEUE cst_status cst_controller_copy_snapshot(const cst_controller *controller,
                                                                cst_snapshot **out_snapshot CST_OWNED,
                                                                cst_error **error);
/* The objects of a section, of all for SIZE_MAX; CST_NOT_FOUND before perform_fetch, and after a reset. */
CST_EXPORT CST_ON_QUEUE cst_status cst_controller_copy_objects(const cst_controller *controller, size_t section,
                                                               cst_results **out_objects CST_OWNED, cst_error **error);
/* CST_E_INVALID_ARGUMENT where there is none. */
CST_EXPORT CST_ON_QUEUE cst_status cst_controller_copy_object(const cst_controller *controller, size_t section,
                                                              size_t row, cst_object **out_object CST_OWNED,
                                                              cst_error **error);
/* CST_NOT_FOUND for an object that is not among the results. */
CST_EXPORT CST_ON_QUEUE cst_status cst_controller_index_path(const cst_controller *controller, const cst_object *object,
                                                             cst_index_path *out_path, cst_error **error);
/* The titles of the sections, each once; CST_END past the last one. */
CST_EXPORT CST_ON_QUEUE cst_status cst_controller_copy_title(const cst_controller *controller, size_t index,
                                                             cst_buffer *out_title, cst_error **error);
/* The title of a section of that name: what the delegate says, else its first letter as a capital. CST_NOT_FOUND without one. */
CST_EXPORT CST_ON_QUEUE cst_status cst_controller_copy_section_title(const cst_controller *controller, cst_string name,
                                                                     cst_buffer *out_title, cst_error **error);
/* The first section with a title, which is that at `index` of the titles. */
CST_EXPORT CST_ON_QUEUE cst_status cst_controller_section_for_title(const cst_controller *controller, cst_string title,
                                                                    size_t index, size_t *out_section,
                                                                    cst_error **error);
/* Forgets the sections that were remembered under a name; a null string: all of them. Never needed for results to be right. */
CST_EXPORT CST_ANY_THREAD cst_status cst_controller_delete_cache(cst_string name, cst_error **error);

#if defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
_Static_assert(sizeof(void *) != 8 || sizeof(cst_value) == 24, "cst_value is 24 bytes on 64-bit machines");
#elif defined(__cplusplus) && __cplusplus >= 201103L
static_assert(sizeof(void *) != 8 || sizeof(cst_value) == 24, "cst_value is 24 bytes on 64-bit machines");
#endif

#ifdef __cplusplus
}
#endif
#endif
