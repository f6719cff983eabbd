/* A store of the host for tests.
 *
 * It has rows in memory, which outlive the stores that are opened on them, counters of calls, and errors that a test
 * can request. The same rows serve an incremental and an atomic store.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef KEEPER_H
#define KEEPER_H

#include "company.h"

enum { KEEPER_VALUES = 48, KEEPER_MEMBERS = 64, KEEPER_ROWS = 256, KEEPER_LISTS = 256 };

/* A row, with copies of all its values. */
struct keeper_row {
    bool used;
    cst_entity *entity;
    cst_value reference;
    int64_t version;
    size_t count;
    cst_key keys[KEEPER_VALUES];
    cst_value values[KEEPER_VALUES];
    const cst_entity *targets[KEEPER_VALUES];
};

/* The members of a relationship that no row contains. */
struct keeper_list {
    cst_key relationship;
    cst_value owner;
    size_t count;
    cst_value members[KEEPER_MEMBERS];
    cst_entity *entities[KEEPER_MEMBERS];
};

/* The misbehaviour of the keeper. */
enum keeper_mischief {
    KEEPER_GOOD,
    KEEPER_FAILS,           /* the callback named in `fails` fails */
    KEEPER_WRONG_TYPE,      /* pushes text for a number */
    KEEPER_WRONG_ENTITY,    /* pushes a department for a person */
    KEEPER_NULL_REFERENCE,  /* pushes a row without a reference */
    KEEPER_UNASKED,         /* pushes a row that was not requested */
    KEEPER_OTHER_THREAD,    /* pushes from another thread */
    KEEPER_REENTERS,        /* fetches through a context from within */
    KEEPER_DRAINS,          /* drains the main queue from within */
    KEEPER_FEW_REFERENCES,  /* omits the last reference */
    KEEPER_SAME_REFERENCES, /* returns one reference twice */
    KEEPER_ROLLS_BACK,      /* rolls the context back while it returns references */
    KEEPER_WINDOW_ONLY,     /* reports only that it applied limit and offset */
    KEEPER_BAD_MEMBERS,     /* pushes two members of a to-one relationship */
    KEEPER_REPORTS,         /* reports a conflict of each row of a save */
    KEEPER_BAD_SAVED,       /* pushes an unsaved row and an array of NULL after a save */
    KEEPER_TWICE            /* pushes each row twice */
};

struct keeper {
    struct keeper_row rows[KEEPER_ROWS];
    struct keeper_list lists[KEEPER_LISTS];
    size_t list_count;
    /* Pairs of a to-many relationship and the to-one relationship that contains its members. */
    struct {
        cst_key to_many, to_one;
    } inverses[8];
    size_t inverse_count;
    cst_buffer metadata;
    /* The type of references: 'i' integers, 't' text, 'b' bytes, 0 those of the library. */
    char form;
    int64_t last;
    /* Fetches push values too. */
    bool pushes_values;
    /* Fetches push everything at once: rows, to-one targets, members. */
    uint32_t done;
    enum keeper_mischief mischief;
    const char *fails;
    cst_context *context; /* for KEEPER_REENTERS and KEEPER_ROLLS_BACK */
    cst_status inner;     /* the status of a misbehaving call */
    cst_row_sink *sink;   /* that of the last call */
    cst_save_request *request;
    /* Counters. */
    int opened, closed, destroyed, loads, fetches, values, value_rows, relationships, saves, obtained, registered,
        unregistered, unregister_notices, moved;
    size_t inserted, updated, deleted, locked, changes, all, saved_metadata;
    bool was_new, read_only, counts_all;
    char path[256], log[512];
    int64_t option;
};

/* A table of callbacks for a kind of stores on a keeper. */
cst_store_callbacks keeper_callbacks(struct keeper *keeper, uint32_t kind);
/* Frees the values of the rows. */
void keeper_dispose(struct keeper *keeper);
size_t keeper_count(const struct keeper *keeper);
/* Deletes the rows without a request, as if another program had deleted all of them. */
void keeper_lose_rows(struct keeper *keeper);
struct keeper_row *keeper_find(struct keeper *keeper, const cst_value *reference, const cst_entity *entity);
void keeper_tell_inverse(struct keeper *keeper, cst_key to_many, cst_key to_one);

#endif
