/* The declarations that the parts of the calendar share.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EVENTS_H
#define EVENTS_H

#include <corestone.h>
#include <stddef.h>

#define TEXT(string) ((cst_string){(string), CST_NUL})
/* Ends the program if a call fails for which the program does not expect an error. */
#define TRY(call) ((call) < 0 ? give_up(#call) : (void)0)

enum { MESSAGE = 2048, LINE = 512, DAY = 16 };

/* The table as it is shown: sections of rows, like a table view of a screen. */
struct row {
    cst_object *event; /* owned */
    char *text;        /* owned: the text of the cell */
    char mark;         /* the last change: '+' inserted, '>' moved, '*' updated, ' ' unchanged */
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

/* The state of the calendar for one user, and the message below it. */
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
    bool is_stale; /* the screen must be drawn again */
};

extern struct table table;
extern struct calendar calendar;
extern cst_error *error; /* the error of the last call that failed */

/* events_store.c */
void give_up(const char *why);
/* Appends text to the message below the events. Returns false, so that a command can return it. */
bool say(const char *format, ...);
/* Whether a call succeeded. If not, appends its error to the message. */
bool done(cst_status status);
void open_store(const char *path);
void close_store(void);
bool has_changes(void);
void save(void);
/* Shows the events whose title or notes contain a text; all events for an empty text. */
void search(const char *text);
cst_value get(const cst_object *event, const char *name);
bool set(cst_object *event, const char *name, cst_value value);
/* Prints a date in UTC, in a format of strftime. */
void print_date(char *into, size_t size, const char *format, cst_value date);
/* Prints the section of an event: its day. */
void print_day(char day[DAY], const cst_object *event);
/* Whether the table equals the results of a fetch. */
bool is_table_right(void);

/* events_table.c */
/* Makes the table the delegate of a controller. */
void follow(cst_controller *controller);
/* Fills the table with the results of the controller. */
void load_table(cst_controller *controller);
void clear_table(void);
/* Returns the row with a number, counted from 1 through all sections; NULL after the last row. */
struct row *row_at(size_t number);
/* Returns the text of an event's row; the caller frees it. */
char *cell(const cst_object *event);

/* events_screen.c */
void draw(void);
void begin_keys(void);
/* Reads a key. Returns true if a line of at most LINE bytes is complete: "quit!" at the end of the input. */
bool read_key(char *line);

#endif
