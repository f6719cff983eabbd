/* The declarations that the parts of the order editor share.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef ORDERS_H
#define ORDERS_H

#include <corestone.h>

#define TEXT(string) ((cst_string){(string), CST_NUL})
/* Ends the program if a call fails for which the program does not expect an error. */
#define TRY(call) ((call) < 0 ? give_up(#call) : (void)0)

enum { MESSAGE = 4096, PROBLEMS = 64, REFERENCE_DATE = 978307200 };

struct problem {
    char uri[128], key[32], message[256];
};

/* The state of the editor: a context, the shown order, and the problems of the last save. */
struct editor {
    cst_model *model;
    cst_coordinator *coordinator;
    cst_context *context;
    cst_undo_manager *undo;
    cst_entity *customer, *order_entity, *line;
    cst_key lines;
    cst_object *order; /* owned, or NULL */
    char message[MESSAGE];
    struct problem problems[PROBLEMS];
    size_t problem_count;
};

extern struct editor editor;
extern cst_error *error; /* the error of the last call that failed */

/* orders_values.c */
void give_up(const char *call);
/* Sets the message below the order. Returns false, so that a command can return it. */
bool say(const char *format, ...);
/* Whether a call succeeded. If not, its error becomes the message. */
bool done(cst_status status);
bool whole(const char *text, const char *what, int64_t *out);
bool price_value(const char *text, cst_value *out);
cst_value text_value(const char *text);
cst_value integer_value(int64_t number);
cst_value object_value(cst_object *object);
bool set(cst_object *object, const char *name, cst_value value);
cst_value get(const cst_object *object, const char *path);
double number(cst_value value);
void print_value(char *into, size_t size, const cst_value *value);
double cost(const cst_object *line);
double total(const cst_object *order);

/* orders_screen.c */
void draw(void);
/* Reads a line of text. Returns false at the end of the input. */
bool ask(const char *question, char *answer, int size);
void save(void);

#endif
