/* A calendar grouped by day: events.py in C, for the same stores.
 *
 * usage: events STORE
 *
 * A fetched results controller notifies the table (events_table.c) of changes: by a command, an undo, a revert, or
 * another program that has the same store open in another terminal. Times are UTC. If EVENTS_CHECK is set in the
 * environment, the program compares the table with a fetch after every command, and ends if they differ; other programs
 * must not save during this check.
 *
 * SPDX-License-Identifier: MIT
 */
#define _DEFAULT_SOURCE
#define _XOPEN_SOURCE 700

#include "events.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { WORDS = 8, REFERENCE_DATE = 978307200 };

static const char *const HELP = "  add TITLE DATE TIME [NOTES]  a new event: add \"Dentist\" 2026-11-24 9:30\n"
                                "  title NUMBER TITLE           changes the title\n"
                                "  move NUMBER DATE [TIME]      moves it to another day or time\n"
                                "  notes NUMBER [NOTES]         sets or removes its notes\n"
                                "  delete NUMBER                deletes it\n"
                                "  undo   redo                  undoes or redoes a command\n"
                                "  save   revert                saves or discards all changes\n"
                                "  reload                       discards all changes, and reads the store again\n"
                                "  search [TEXT]                shows the events with a text, or all events\n"
                                "  check                        compares the table with a fetch\n"
                                "  quit                         ends; \"quit!\" discards unsaved changes";

static cst_value text_value(const char *text) {
    return text && *text ? (cst_value){.type = CST_STRING, .as.string = TEXT(text)} : (cst_value){.type = CST_NULL};
}

/* Returns the row with a typed number; NULL, with a message, if there is no such row. */
static struct row *row_named(const char *number) {
    char *end;
    const unsigned long place = strtoul(number, &end, 10);
    struct row *row = *number && !*end ? row_at(place) : NULL;
    if (!row) say("there is no event %s", number);
    return row;
}

static bool read_date(const char *day, const char *time, cst_value *out) {
    char text[32];
    struct tm parts = {0};
    snprintf(text, sizeof text, "%s %s", day, time);
    const char *end = strptime(text, "%Y-%m-%d %H:%M", &parts);
    const int asked = parts.tm_mday;
    out->type = CST_DATE;
    out->as.date = (double)(timegm(&parts) - REFERENCE_DATE); /* changes the 30th of February to a day in March */
    const bool is_date = end && !*end && strcspn(day, "-") == 4 && parts.tm_mday == asked;
    return is_date ? true : say("\"%s\" is not a date and time; type it like 2026-11-24 9:30", text);
}

/* Sets the name of the undo step of a command. */
static void name_step(const char *verb, const cst_object *event) {
    char name[LINE];
    const char *title = get(event, "title").as.string.data;
    snprintf(name, sizeof name, "%s%s%s", verb, *title ? " " : "", title);
    TRY(cst_undo_manager_set_action_name(calendar.undo, TEXT(name), &error));
}

/* ---- the commands; the parameter has the words after the command ---- */

static void add(char **words) {
    cst_object *event;
    cst_value date;
    if (!read_date(words[1], words[2], &date)) return;
    if (!done(cst_context_insert(calendar.context, calendar.event, &event, &error))) return;
    set(event, "title", (cst_value){.type = CST_STRING, .as.string = TEXT(words[0])});
    set(event, "date", date);
    set(event, "notes", text_value(words[3]));
    name_step("add", event);
    cst_release(event);
}

static void change_title(char **words) {
    const struct row *row = row_named(words[0]);
    if (row && set(row->event, "title", (cst_value){.type = CST_STRING, .as.string = TEXT(words[1])}))
        name_step("title", row->event);
}

static void move(char **words) {
    char time[8];
    cst_value date;
    const struct row *row = row_named(words[0]);
    if (!row) return;
    print_date(time, sizeof time, "%H:%M", get(row->event, "date"));
    if (!read_date(words[1], words[2] ? words[2] : time, &date)) return;
    if (set(row->event, "date", date)) name_step("move", row->event);
}

static void change_notes(char **words) {
    const struct row *row = row_named(words[0]);
    if (row && set(row->event, "notes", text_value(words[1]))) name_step("notes", row->event);
}

static void delete_event(char **words) {
    const struct row *row = row_named(words[0]);
    if (row && done(cst_context_delete(calendar.context, row->event, &error))) name_step("delete", row->event);
}

static void step(const char *verb, uint32_t text, cst_status (*run)(cst_context *, cst_error **)) {
    cst_buffer name = {NULL, 0, 0};
    TRY(cst_undo_manager_copy_text(calendar.undo, text, &name, &error));
    const cst_status status = run(calendar.context, &error);
    if (status == CST_UNCHANGED)
        say("nothing to %s", verb);
    else if (done(status))
        say("%s: %.*s", verb, (int)name.size, (const char *)name.data);
    cst_buffer_dispose(&name);
}

static void undo(char **words) {
    (void)words;
    step("undo", CST_UNDO_NAME, cst_context_undo);
}

static void redo(char **words) {
    (void)words;
    step("redo", CST_REDO_NAME, cst_context_redo);
}

static void save_all(char **words) {
    (void)words;
    save();
}

static void revert(char **words) {
    (void)words;
    if (done(cst_context_rollback(calendar.context, &error))) say("All unsaved changes are gone.");
}

static void reload(char **words) {
    (void)words;
    if (done(cst_context_reset(calendar.context, &error))) say("Read again.");
}

static void search_text(char **words) { search(words[0] ? words[0] : ""); }

static void check(char **words) {
    (void)words;
    say(is_table_right() ? "The table equals a fetch." : "The table does NOT equal a fetch.");
}

static const struct command {
    const char *name;
    int least, most; /* the number of words after the command */
    void (*run)(char **words);
} COMMANDS[] = {
    {"add", 3, 4, add},
    {"title", 2, 2, change_title},
    {"move", 2, 3, move},
    {"notes", 1, 2, change_notes},
    {"delete", 1, 1, delete_event},
    {"undo", 0, 0, undo},
    {"redo", 0, 0, redo},
    {"save", 0, 0, save_all},
    {"revert", 0, 0, revert},
    {"reload", 0, 0, reload},
    {"search", 0, 1, search_text},
    {"check", 0, 0, check},
};

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

static void perform(char **words, int count) {
    for (size_t i = 0; i < sizeof COMMANDS / sizeof *COMMANDS; i++) {
        const struct command *command = &COMMANDS[i];
        if (strcmp(words[0], command->name) != 0) continue;
        if (count - 1 < command->least || count - 1 > command->most) {
            say("wrong arguments for \"%s\"; type \"help\" for a list", words[0]);
            return;
        }
        /* The changes of a command are one event: the table is notified now, and they are one undo step. */
        command->run(words + 1);
        done(cst_context_process_pending_changes(calendar.context, &error));
        return;
    }
    if (!strcmp(words[0], "help"))
        say("%s", HELP);
    else
        say("no command \"%s\"; \"help\" lists them", words[0]);
}

/* Executes a line. Returns false if it quits the program. */
static bool run(char *line) {
    char *words[WORDS + 1] = {NULL};
    const int count = split(line, words);
    *calendar.message = 0;
    calendar.is_stale = true;
    if (count == 0) return true;
    if (!strcmp(words[0], "quit!") || (!strcmp(words[0], "quit") && !has_changes())) {
        TRY(cst_context_rollback(calendar.context, &error)); /* closing with unsaved changes logs a warning */
        return false;
    }
    if (!strcmp(words[0], "quit"))
        say("there are unsaved changes; type \"save\" to keep them, or \"quit!\" to discard them");
    else
        perform(words, count);
    if (getenv("EVENTS_CHECK") && !is_table_right()) give_up("the table does not equal a fetch");
    return true;
}

static void hear_others(void) {
    const bool was_stale = calendar.is_stale;
    calendar.is_stale = false;
    TRY(cst_main_queue_drain(0, NULL, &error));
    if (calendar.is_stale) {
        *calendar.message = 0;
        say("Another program saved.");
    }
    calendar.is_stale |= was_stale;
}

int main(int count, char **arguments) {
    char line[LINE] = "";
    if (count != 2) {
        fprintf(stderr, "usage: events STORE\n");
        return 2;
    }
    open_store(arguments[1]);
    say("Type \"help\" for the commands.");
    begin_keys();
    struct pollfd input[] = {{.fd = STDIN_FILENO, .events = POLLIN}, {.events = POLLIN}};
    TRY(cst_main_queue_descriptor(&input[1].fd, &error));
    draw();
    while (poll(input, 2, -1) >= 0) {
        if (input[1].revents) hear_others();
        if (input[0].revents && read_key(line) && !run(line)) break;
        if (calendar.is_stale) draw();
    }
    printf("\n");
    close_store();
    return 0;
}
