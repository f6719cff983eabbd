/* What the parts of the calendar share.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EVENTS_H
#define EVENTS_H

#include <corestone.h>
#include <stddef.h>

#define TEXT(string) ((cst_string){(string), CST_NUL})
/* Ends the program when a call failed that cannot fail. */
#define TRY(call) ((call) < 0 ? give_up(#call) : (void)0)

enum { MESSAGE = 2048, LINE = 512, DAY = 16 };

/* The table as it is shown: sections of rows, like a table view of a screen. */
struct row {
    cst_object *event; /* owned */
    char *text;        /* owned: the cell, as it was drawn last */
    char mark;         /* what the last change did: '+' came, '>' moved, '*' changed, ' ' nothing */
};
struct section {
    char day[DAY];
    size_t count;
    struct row *rows;
};
struct table {
    size_t count;
    struct section *sections;
};

/* The calendar as one person sees it, and what is to be said about it. */
struct calendar {
    const char *path;
    cst_model *model;
    cst_coordinator *coordinator;
    cst_context *context;
    cst_merge_policy *policy;
    cst_undo_manager *undo;
    cst_entity *event;
    cst_fetch_request *request;
    cst_controller *controller;
    char searched[LINE]; /* empty for all events */
    char message[MESSAGE];
    bool is_stale; /* the screen shows something else than the table */
};

extern struct table table;
extern struct calendar calendar;
extern cst_error *error; /* of the call that failed last */

/* events_store.c */
void give_up(const char *why);
/* Adds a text to what is said below the events; false, so that a command can return it. */
bool say(const char *format, ...);
/* True when a call succeeded; otherwise its error is said. */
bool done(cst_status status);
void open_store(const char *path);
void close_store(void);
bool has_changes(void);
void save(void);
/* Shows the events whose titles or notes have a text; all of them for an empty one. */
void search(const char *text);
cst_value get(const cst_object *event, const char *name);
bool set(cst_object *event, const char *name, cst_value value);
/* A date of an event in UTC, in a format of strftime's. */
void print_date(char *into, size_t size, const char *format, cst_value date);
/* The section of an event: its day. */
void print_day(char day[DAY], const cst_object *event);
/* Whether the table shows what a fetch finds. */
bool is_table_right(void);

/* events_table.c */
/* Has the table follow a controller from now on. */
void follow(cst_controller *controller);
/* Fills the table with what the controller has fetched. */
void load_table(cst_controller *controller);
void clear_table(void);
/* The row of a number from 1, counted through all sections; NULL past the last one. */
struct row *row_at(size_t number);
/* What a row shows of an event; to be freed. */
char *cell(const cst_object *event);

/* events_screen.c */
void draw(void);
void begin_keys(void);
/* Reads a key; true when a line of LINE bytes at most is finished. It is "quit!" at the end of the input. */
bool read_key(char *line);

#endif
