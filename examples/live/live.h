/* What the parts of the shopping list share.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef LIVE_H
#define LIVE_H

#include <corestone.h>
#include <stddef.h>

#define TEXT(string) ((cst_string){(string), CST_NUL})
/* Ends the program when a call failed that cannot fail. */
#define TRY(call) ((call) < 0 ? give_up(#call) : (void)0)

enum { MESSAGE = 2048, LINE = 256, NAME = 64 };

/* The list as one person sees it: a context that merges what the others save, and what is to be said about it. */
struct list {
    const char *path, *author;
    cst_model *model;
    cst_coordinator *coordinator;
    cst_context *context;
    cst_merge_policy *policy;
    cst_observation *merged;
    cst_entity *item;
    cst_results *items; /* as they are shown */
    cst_results *fresh; /* what others changed last; NULL for nothing */
    char message[MESSAGE];
    bool is_stale; /* the screen shows something else than the list */
};

extern struct list list;
extern cst_error *error; /* of the call that failed last */

/* live_list.c */
void give_up(const char *call);
/* Adds a text to what is said below the list; false, so that a command can return it. */
bool say(const char *format, ...);
/* True when a call succeeded; otherwise its error is said. */
bool done(cst_status status);
void open_list(const char *path, const char *author);
void close_list(void);
bool is_live(void);
void set_live(bool live);
void fetch_items(void);
/* An item of the list, by its number from 1; borrowed. NULL, and a message, when there is none. */
cst_object *item_at(const char *number);
cst_value get(const cst_object *item, const char *name);
bool set(cst_object *item, const char *name, cst_value value);
/* The first item of that name, whatever its case; owned, NULL for none. */
cst_object *item_called(const char *name);
bool save(void);

/* live_screen.c */
/* The list, what is said about it, and the line that is being typed. */
void draw(void);
void begin_keys(void);
/* Reads a key; true when a line of LINE bytes at most is finished. It is "quit" at the end of the input. */
bool read_key(char *line);

#endif
