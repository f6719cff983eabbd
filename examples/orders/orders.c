/* An order editor for the terminal: orders.py in C, for the same stores.
 *
 * usage: orders STORE
 *
 * Type "help" for the commands. Every command that changes an order is one undo step. Several editors may have the same
 * store open: the second one to save a change of the same order asks how to resolve the conflict. Without a terminal,
 * the commands are read from standard input.
 *
 * SPDX-License-Identifier: MIT
 */
#define _POSIX_C_SOURCE 200809L

#include "orders.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { WORDS = 5 };

static const char *const HELP =
    "  new CUSTOMER                adds an order, and a customer if there is no customer of that name\n"
    "  open NUMBER                 shows another order          list           lists all orders\n"
    "  add PRODUCT QUANTITY PRICE  adds a line at the end       remove LINE    removes a line\n"
    "  set FIELD VALUE             sets note, paid, number or customer of the order; without a value: clears it\n"
    "  line LINE FIELD VALUE       sets product, quantity or price of a line\n"
    "  move LINE PLACE             moves a line                 delete         deletes the order with its lines\n"
    "  undo   redo                 undoes or redoes a command\n"
    "  save   revert               saves or discards all changes\n"
    "  quit                        ends, and offers to save unsaved changes; \"quit!\" discards them";

/* ---- objects ---- */

/* Returns the first object of an entity that satisfies a predicate with one argument; owned, or NULL. */
static cst_object *first(cst_entity *entity, const char *format, cst_value argument, const char *key, uint32_t flags) {
    cst_fetch_request *request;
    cst_results *results;
    cst_object *found = NULL;
    const cst_sort sort = {.key_path = TEXT(key), .flags = flags};
    TRY(cst_fetch_request_new(entity, &request, &error));
    TRY(cst_fetch_request_set_sort(request, 1, &sort, &error));
    TRY(cst_fetch_request_set_limit(request, 1, &error));
    if (format) {
        cst_predicate *predicate;
        TRY(cst_predicate_parse(TEXT(format), 1, &argument, &predicate, &error));
        TRY(cst_fetch_request_set_predicate(request, predicate, &error));
        cst_release(predicate);
    }
    TRY(cst_context_fetch(editor.context, request, &results, &error));
    if (cst_results_count(results) > 0) {
        TRY(cst_results_get_object(results, 0, &found, &error));
        cst_retain(found);
    }
    cst_release(results);
    cst_release(request);
    return found;
}

static void show_order(cst_object *order) {
    cst_release(editor.order);
    editor.order = order;
}

static bool has_order(void) { return editor.order ? true : say("no order is open; type \"new CUSTOMER\" to add one"); }

static size_t line_count(void) {
    size_t count;
    TRY(cst_object_member_count(editor.order, editor.lines, &count, &error));
    return count;
}

/* Returns the line with a number, from 1; owned. NULL, with a message, if there is no such line. */
static cst_object *line_at(const char *text) {
    int64_t place;
    cst_results *lines;
    cst_object *line = NULL;
    if (!has_order() || !whole(text, "line", &place)) return NULL;
    TRY(cst_object_copy_members(editor.order, editor.lines, &lines, &error));
    if (place < 1 || (size_t)place > cst_results_count(lines)) {
        say("there is no line %lld", (long long)place);
    } else {
        TRY(cst_results_get_object(lines, (size_t)place - 1, &line, &error));
        cst_retain(line);
    }
    cst_release(lines);
    return line;
}

static bool insert(cst_entity *entity, cst_object **out) {
    return done(cst_context_insert(editor.context, entity, out, &error));
}

/* ---- the commands that change an order; they return true if they changed it ---- */

static bool set_customer(cst_object *order, const char *name) {
    if (!name) return set(order, "customer", (cst_value){.type = CST_NULL});
    cst_object *customer = first(editor.customer, "name ==[cd] %@", text_value(name), "name", 0);
    bool is_set = customer || (insert(editor.customer, &customer) && set(customer, "name", text_value(name)));
    is_set = is_set && set(order, "customer", object_value(customer));
    cst_release(customer);
    return is_set;
}

static bool command_new(char **words) {
    cst_object *order, *last = first(editor.order_entity, NULL, (cst_value){0}, "number", CST_SORT_DESCENDING);
    const int64_t next = last ? get(last, "number").as.integer + 1 : 1;
    const cst_value now = {.type = CST_DATE, .as.date = (double)(time(NULL) - REFERENCE_DATE)};
    cst_release(last);
    if (!insert(editor.order_entity, &order)) return false;
    show_order(order);
    return set(order, "number", integer_value(next)) && set(order, "placedOn", now) && set_customer(order, words[1]);
}

static bool command_open(char **words) {
    int64_t wanted;
    if (!whole(words[1], "order", &wanted)) return false;
    cst_object *order = first(editor.order_entity, "number == %d", integer_value(wanted), "number", 0);
    if (!order) return say("there is no order %s", words[1]);
    show_order(order);
    return false;
}

static bool command_add(char **words) {
    int64_t quantity;
    cst_value price;
    cst_object *line;
    if (!has_order() || !whole(words[2], "quantity", &quantity) || !price_value(words[3], &price)) return false;
    if (!insert(editor.line, &line)) return false;
    const bool is_set = set(line, "product", text_value(words[1])) && set(line, "quantity", integer_value(quantity)) &&
                        set(line, "price", price) &&
                        done(cst_object_add_member(editor.order, editor.lines, line, &error));
    cst_release(line);
    return is_set;
}

static bool command_remove(char **words) {
    cst_object *line = line_at(words[1]);
    const bool is_deleted = line && done(cst_context_delete(editor.context, line, &error));
    cst_release(line);
    return is_deleted;
}

static bool command_set(char **words) {
    const char *field = words[1], *value = words[2];
    int64_t whole_number;
    if (!has_order()) return false;
    if (!strcmp(field, "customer")) return set_customer(editor.order, value);
    if (!strcmp(field, "note")) return set(editor.order, "note", value ? text_value(value) : (cst_value){0});
    if (!strcmp(field, "paid"))
        return set(editor.order, "paid", (cst_value){.type = CST_BOOL, .as.boolean = value && !strcmp(value, "yes")});
    if (!strcmp(field, "number"))
        return whole(value ? value : "", "number", &whole_number) &&
               set(editor.order, "number", integer_value(whole_number));
    return say("an order does not have a field \"%s\"; use note, paid, number or customer", field);
}

static bool change_line(cst_object *line, const char *field, const char *text) {
    cst_value value = text_value(text);
    int64_t quantity;
    if (!strcmp(field, "quantity")) {
        if (!whole(text, "quantity", &quantity)) return false;
        value = integer_value(quantity);
    } else if (!strcmp(field, "price")) {
        if (!price_value(text, &value)) return false;
    } else if (strcmp(field, "product") != 0) {
        return say("a line does not have a field \"%s\"; use product, quantity or price", field);
    }
    return set(line, field, value);
}

static bool command_line(char **words) {
    cst_object *line = line_at(words[1]);
    const bool is_changed = line && change_line(line, words[2], words[3]);
    cst_release(line);
    return is_changed;
}

static bool command_move(char **words) {
    int64_t place;
    cst_object *line = line_at(words[1]);
    bool is_moved = line && whole(words[2], "place", &place);
    if (is_moved) {
        const int64_t count = (int64_t)line_count();
        const int64_t index = place < 1 ? 0 : place > count ? count - 1 : place - 1;
        is_moved = done(cst_object_insert_member(editor.order, editor.lines, (size_t)index, line, &error));
    }
    cst_release(line);
    return is_moved;
}

static bool command_delete(char **words) {
    (void)words;
    if (!has_order() || !done(cst_context_delete(editor.context, editor.order, &error))) return false;
    show_order(NULL);
    return true;
}

/* ---- the other commands ---- */

static bool command_list(char **words) {
    (void)words;
    const cst_string paths[] = {TEXT("customer"), TEXT("lines")};
    const cst_sort sort = {.key_path = TEXT("number")};
    cst_fetch_request *request;
    cst_results *orders;
    TRY(cst_fetch_request_new(editor.order_entity, &request, &error));
    TRY(cst_fetch_request_set_sort(request, 1, &sort, &error));
    TRY(cst_fetch_request_set_prefetch(request, 2, paths, &error));
    TRY(cst_context_fetch(editor.context, request, &orders, &error));
    size_t used = 0;
    say("There are no orders yet.");
    for (size_t i = 0; i < cst_results_count(orders) && used < MESSAGE - 128; i++) {
        cst_object *order;
        char customer[64];
        TRY(cst_results_get_object(orders, i, &order, &error));
        cst_value name = get(order, "customer.name");
        print_value(customer, sizeof customer, &name);
        used += (size_t)snprintf(editor.message + used, MESSAGE - used, "%s  %4lld  %-24s %10.2f", i ? "\n" : "",
                                 (long long)get(order, "number").as.integer, customer, total(order));
    }
    cst_release(orders);
    cst_release(request);
    return false;
}

static bool step(cst_status status, const char *verb) {
    if (status == CST_UNCHANGED) return say("nothing to %s", verb);
    if (done(status)) say("One command was %s.", *verb == 'u' ? "undone" : "redone");
    return false;
}

static bool command_undo(char **words) {
    (void)words;
    return step(cst_context_undo(editor.context, &error), "undo");
}

static bool command_redo(char **words) {
    (void)words;
    return step(cst_context_redo(editor.context, &error), "redo");
}

static bool command_revert(char **words) {
    (void)words;
    if (done(cst_context_rollback(editor.context, &error))) say("All unsaved changes are gone.");
    return false;
}

static bool command_save(char **words) {
    (void)words;
    save();
    return false;
}

/* ---- the loop ---- */

/* Closes the open order if it was removed, for example by an undo. Then shows the first order, unless one is open. */
static void forget_what_is_gone(void) {
    uint32_t state;
    if (editor.order) {
        cst_status status = cst_object_state(editor.order, &state, NULL);
        if (status < 0 || state & CST_OBJECT_DELETED) show_order(NULL);
    }
    if (!editor.order) show_order(first(editor.order_entity, NULL, (cst_value){0}, "number", 0));
}

struct command {
    const char *name;
    int least, most; /* the number of words after the command */
    bool (*run)(char **words);
};

static const struct command commands[] = {
    {"new", 1, 1, command_new},       {"open", 1, 1, command_open},     {"list", 0, 0, command_list},
    {"add", 3, 3, command_add},       {"remove", 1, 1, command_remove}, {"set", 1, 2, command_set},
    {"line", 3, 3, command_line},     {"move", 2, 2, command_move},     {"delete", 0, 0, command_delete},
    {"undo", 0, 0, command_undo},     {"redo", 0, 0, command_redo},     {"save", 0, 0, command_save},
    {"revert", 0, 0, command_revert},
};

/* Splits a line at white space; quoted text is one word. */
static int split(char *line, char **words) {
    int count = 0;
    for (char *at = line + strspn(line, " \t\n"); *at && count < WORDS; at += strspn(at, " \t\n")) {
        const bool is_quoted = *at == '"';
        words[count++] = at += is_quoted;
        at += strcspn(at, is_quoted ? "\"\n" : " \t\n");
        if (*at) *at++ = 0;
    }
    return count;
}

static void perform(char **words, int count) {
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        const struct command *command = &commands[i];
        if (strcmp(words[0], command->name) != 0) continue;
        if (count - 1 < command->least || count - 1 > command->most) {
            say("wrong arguments for \"%s\"; type \"help\" for a list", words[0]);
            return;
        }
        /* The changes of a command are one event and one undo step. */
        if (command->run(words)) TRY(cst_undo_manager_set_action_name(editor.undo, TEXT(words[0]), &error));
        done(cst_context_process_pending_changes(editor.context, &error));
        return;
    }
    if (!strcmp(words[0], "help"))
        say("%s", HELP);
    else
        say("no command \"%s\"; \"help\" lists them", words[0]);
}

static bool may_quit(void) {
    bool has_changes;
    char answer[16];
    TRY(cst_context_has_changes(editor.context, &has_changes, &error));
    if (!has_changes || !ask("Save the changes? [y]es, [n]o, [c]ancel: ", answer, sizeof answer)) return true;
    if (*answer == 'y') {
        save();
        TRY(cst_context_has_changes(editor.context, &has_changes, &error));
        return !has_changes;
    }
    return *answer == 'n';
}

static void open_store(const char *path) {
    char model_path[4096];
    const char *end = strrchr(__FILE__, '/');
    snprintf(model_path, sizeof model_path, "%.*sOrders.xcdatamodeld", end ? (int)(end - __FILE__ + 1) : 0, __FILE__);
    TRY(cst_model_load(TEXT(model_path), (cst_string){NULL, 0}, &editor.model, &error));
    TRY(cst_model_entity(editor.model, TEXT("Customer"), &editor.customer, &error));
    TRY(cst_model_entity(editor.model, TEXT("Order"), &editor.order_entity, &error));
    TRY(cst_model_entity(editor.model, TEXT("Line"), &editor.line, &error));
    TRY(cst_coordinator_new(editor.model, &editor.coordinator, &error));
    TRY(cst_entity_key(editor.order_entity, TEXT("lines"), &editor.lines, &error));
    TRY(cst_coordinator_add_store(editor.coordinator, TEXT("SQLite"), TEXT(path), NULL, NULL, &error));
    TRY(cst_context_new(editor.coordinator, CST_QUEUE_CALLER, &editor.context, &error));
    TRY(cst_undo_manager_new(&editor.undo, &error));
    TRY(cst_context_set_undo_manager(editor.context, editor.undo, &error));
}

int main(int count, char **arguments) {
    char line[512], *words[WORDS];
    if (count != 2) {
        fprintf(stderr, "usage: orders STORE\n");
        return 2;
    }
    open_store(arguments[1]);
    say("Type \"help\" for the commands.");
    for (;;) {
        forget_what_is_gone();
        draw();
        if (!ask("> ", line, sizeof line)) break;
        *editor.message = 0;
        const int found = split(line, words);
        if (found == 0) continue;
        for (int i = found; i < WORDS; i++)
            words[i] = NULL;
        if (!strcmp(words[0], "quit!") || (!strcmp(words[0], "quit") && may_quit())) break;
        if (strcmp(words[0], "quit") != 0) perform(words, found);
    }
    show_order(NULL);
    cst_release(editor.undo);
    TRY(cst_context_rollback(editor.context, &error)); /* closing with unsaved changes logs a warning */
    cst_release(editor.context);
    cst_release(editor.coordinator);
    cst_release(editor.model);
    return 0;
}
