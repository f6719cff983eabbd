/* The declarations that the parts of the shopping list share.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef LIVE_H
#define LIVE_H

#include <corestone.h>
#include <stddef.h>

#define TEXT(string) ((cst_string){(string), CST_NUL})
/* Ends the program if a call fails for which the program does not expect an error. */
#define TRY(call) ((call) < 0 ? give_up(#call) : (void)0)

enum { MESSAGE = 2048, LINE = 256, NAME = 64 };

/* The state of the list for one user: a context that merges the saves of other programs, and the message. */
struct list {
    const char *path, *author;
    cst_model *model;
    cst_coordinator *coordinator;
    cst_context *context;
    cst_merge_policy *policy;
    cst_observation *merged;
    cst_entity *item;
    cst_results *items; /* the shown items */
    cst_results *fresh; /* the items that other programs changed last, or NULL */
    char message[MESSAGE];
    bool is_stale; /* the screen must be drawn again */
};

extern struct list list;
extern cst_error *error; /* the error of the last call that failed */

/* live_list.c */
void give_up(const char *call);
/* Appends text to the message below the list. Returns false, so that a command can return it. */
bool say(const char *format, ...);
/* Whether a call succeeded. If not, appends its error to the message. */
bool done(cst_status status);
void open_list(const char *path, const char *author);
void close_list(void);
bool is_live(void);
void set_live(bool live);
void fetch_items(void);
/* Returns the borrowed item with a number, from 1; NULL, with a message, if there is no such item. */
cst_object *item_at(const char *number);
cst_value get(const cst_object *item, const char *name);
bool set(cst_object *item, const char *name, cst_value value);
/* Returns the first item with a name, case-insensitively; owned, or NULL. */
cst_object *item_called(const char *name);
bool save(void);

/* live_screen.c */
/* Draws the list, the message, and the line that is being typed. */
void draw(void);
void begin_keys(void);
/* Reads a key. Returns true if a line of at most LINE bytes is complete: "quit" at the end of the input. */
bool read_key(char *line);

#endif
