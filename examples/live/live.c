/* A shopping list that several users edit at the same time, each in a terminal: live.py in C, for the same stores.
 *
 * usage: live STORE [NAME]
 *
 * Each change is saved immediately and appears in the other terminals, which run this program or live.py. An offline
 * program does not save or merge changes. When it goes online again, a merge policy resolves the conflicts.
 *
 * SPDX-License-Identifier: MIT
 */
#define _POSIX_C_SOURCE 200809L

#include "live.h"

#include <ctype.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { WORDS = 4, REFERENCE_DATE = 978307200 };

static const char *const HELP =
    "  add NAME [AMOUNT]   adds an item                     NUMBER           marks it as bought or not bought\n"
    "  name NUMBER NAME    renames it                       amount NUMBER N  sets its amount\n"
    "  remove NUMBER       removes it                       clear            removes the bought items\n"
    "  offline   online    stops or resumes saving          quit   quit!     saves or discards, and ends";

static cst_value text_value(const char *text) { return (cst_value){.type = CST_STRING, .as.string = TEXT(text)}; }
static cst_value integer_value(int64_t number) { return (cst_value){.type = CST_INT, .as.integer = number}; }
static cst_value bool_value(bool boolean) { return (cst_value){.type = CST_BOOL, .as.boolean = boolean}; }

static bool whole(const char *text, int64_t *out) {
    char *end;
    *out = strtoll(text, &end, 10);
    return *text && !*end ? true : say("\"%s\" is not an amount", text);
}

/* ---- the commands; the parameter has the words after the command ---- */

static void add(char **words) {
    int64_t amount = 1;
    if (words[1] && !whole(words[1], &amount)) return;
    cst_object *item = item_called(words[0]);
    if (!item) {
        struct timespec clock;
        clock_gettime(CLOCK_REALTIME, &clock);
        const cst_value now = {.type = CST_DATE,
                               .as.date = (double)(clock.tv_sec - REFERENCE_DATE) + (double)clock.tv_nsec / 1e9};
        if (!done(cst_context_insert(list.context, list.item, &item, &error))) return;
        set(item, "name", text_value(words[0]));
        set(item, "added", now);
    } else if (!get(item, "bought").as.boolean) {
        amount += get(item, "amount").as.integer;
    }
    set(item, "bought", bool_value(false));
    set(item, "amount", integer_value(amount));
    cst_release(item);
}

static void toggle(char **words) {
    cst_object *item = item_at(words[0]);
    if (item) set(item, "bought", bool_value(!get(item, "bought").as.boolean));
}

static void rename_item(char **words) {
    cst_object *item = item_at(words[0]);
    if (item) set(item, "name", text_value(words[1]));
}

static void set_amount(char **words) {
    int64_t amount;
    cst_object *item = item_at(words[0]);
    if (item && whole(words[1], &amount)) set(item, "amount", integer_value(amount));
}

static void remove_item(char **words) {
    cst_object *item = item_at(words[0]);
    if (item) done(cst_context_delete(list.context, item, &error));
}

static void clear(char **words) {
    (void)words;
    fetch_items();
    for (size_t i = 0; i < cst_results_count(list.items); i++) {
        cst_object *item;
        TRY(cst_results_get_object(list.items, i, &item, &error));
        if (get(item, "bought").as.boolean) done(cst_context_delete(list.context, item, &error));
    }
}

static void go_offline(char **words) {
    (void)words;
    set_live(false);
    say("Offline: changes are not saved before \"online\".");
}

static void go_online(char **words) {
    (void)words;
    say("Online again.");
    if (save()) set_live(true);
}

static const struct command {
    const char *name;
    int least, most; /* the number of words after the command */
    void (*run)(char **words);
} COMMANDS[] = {
    {"add", 1, 2, add},     {"name", 2, 2, rename_item},   {"amount", 2, 2, set_amount}, {"remove", 1, 1, remove_item},
    {"clear", 0, 0, clear}, {"offline", 0, 0, go_offline}, {"online", 0, 0, go_online}};

/* Splits a line at spaces; quoted text is one word. */
static int split(char *line, char **words) {
    int count = 0;
    for (char *place = line; count < WORDS;) {
        while (*place == ' ')
            place++;
        if (!*place) break;
        const char end = *place == '"' ? '"' : ' ';
        if (end == '"') place++;
        words[count++] = place;
        while (*place && *place != end)
            place++;
        if (*place) *place++ = 0;
    }
    return count;
}

static void run(char *line) {
    char *words[WORDS + 1] = {NULL};
    const int count = split(line, words);
    *list.message = 0;
    if (count == 0) return;
    if (count == 1 && isdigit((unsigned char)*words[0])) {
        toggle(words);
        if (is_live()) save();
        return;
    }
    for (size_t i = 0; i < sizeof COMMANDS / sizeof *COMMANDS; i++) {
        const struct command *command = &COMMANDS[i];
        if (strcmp(words[0], command->name) != 0) continue;
        if (count - 1 < command->least || count - 1 > command->most) {
            say("wrong arguments for \"%s\"; type \"help\" for a list", words[0]);
            return;
        }
        command->run(words + 1);
        if (is_live()) save();
        return;
    }
    if (!strcmp(words[0], "help"))
        say("%s", HELP);
    else
        say("no command \"%s\"; \"help\" lists them", words[0]);
}

int main(int count, char **arguments) {
    char line[LINE] = "";
    const char *user = getenv("USER");
    if (count != 2 && count != 3) {
        fprintf(stderr, "usage: live STORE [NAME]\n");
        return 2;
    }
    open_list(arguments[1], count == 3 ? arguments[2] : user ? user : "unknown");
    say("Type \"help\" for the commands.");
    begin_keys();
    struct pollfd events[] = {{.fd = STDIN_FILENO, .events = POLLIN}, {.events = POLLIN}};
    TRY(cst_main_queue_descriptor(&events[1].fd, &error));
    draw();
    while (poll(events, 2, -1) >= 0) {
        if (events[1].revents) TRY(cst_main_queue_drain(0, NULL, &error));
        if (events[0].revents && read_key(line)) {
            if (!strcmp(line, "quit!")) { /* discards unsaved changes */
                TRY(cst_context_rollback(list.context, &error));
                break;
            }
            if (strcmp(line, "quit") != 0)
                run(line);
            else if (save()) /* the changes that were made offline */
                break;
            list.is_stale = true;
        }
        if (list.is_stale) draw();
    }
    printf("\n");
    close_list();
    return 0;
}
