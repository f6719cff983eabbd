/* corestone/types.h: handles, status codes, strings, values
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

#if defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
_Static_assert(sizeof(void *) != 8 || sizeof(cst_value) == 24, "cst_value is 24 bytes on 64-bit machines");
#elif defined(__cplusplus) && __cplusplus >= 201103L
static_assert(sizeof(void *) != 8 || sizeof(cst_value) == 24, "cst_value is 24 bytes on 64-bit machines");
#endif

#ifdef __cplusplus
}
#endif
#endif
