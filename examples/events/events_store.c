/* The events in their store: opening, saving, searching, values, and the check of the table.
 *
 * SPDX-License-Identifier: MIT
 */
#define _POSIX_C_SOURCE 200809L

#include "events.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { REFERENCE_DATE = 978307200 };

struct calendar calendar;
cst_error *error;

void give_up(const char *why) {
    fprintf(stderr, "events: %s%s%s\n", why, error ? ": " : "", error ? cst_error_message(error).data : "");
    exit(1);
}

bool say(const char *format, ...) {
    const size_t used = strlen(calendar.message);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(calendar.message + used, MESSAGE - used, format, arguments);
    va_end(arguments);
    return false;
}

bool done(cst_status status) {
    if (status >= 0) return true;
    say("%s", cst_error_message(error).data);
    cst_release(error);
    error = NULL;
    return false;
}

/* ---- values ---- */

cst_value get(const cst_object *event, const char *name) {
    cst_value value;
    TRY(cst_object_get_path(event, TEXT(name), &value, &error));
    return value;
}

bool set(cst_object *event, const char *name, cst_value value) {
    return done(cst_object_set_path(event, TEXT(name), &value, &error));
}

void print_date(char *into, size_t size, const char *format, cst_value date) {
    struct tm parts;
    const time_t seconds = (time_t)date.as.date + REFERENCE_DATE;
    strftime(into, size, format, gmtime_r(&seconds, &parts));
}

void print_day(char day[DAY], const cst_object *event) { print_date(day, DAY, "%Y-%m-%d", get(event, "date")); }

/* ---- the controller ---- */

/* Returns the section name of an event for the controller. */
static cst_status day_of(void *userdata, cst_object *event, cst_value *out_name, cst_error **out_error) {
    static char day[DAY];
    (void)userdata, (void)out_error;
    print_day(day, event);
    *out_name = (cst_value){.type = CST_STRING, .as.string = TEXT(day)};
    return CST_OK;
}

static void fetch_events(void) {
    TRY(cst_controller_perform_fetch(calendar.controller, &error));
    load_table(calendar.controller);
}

void search(const char *text) {
    cst_predicate *predicate = NULL;
    const cst_value texts[] = {{.type = CST_STRING, .as.string = TEXT(text)},
                               {.type = CST_STRING, .as.string = TEXT(text)}};
    if (*text) {
        const cst_string format = TEXT("title CONTAINS[cd] %@ OR notes CONTAINS[cd] %@");
        TRY(cst_predicate_parse(format, 2, texts, &predicate, &error));
    }
    TRY(cst_fetch_request_set_predicate(calendar.request, predicate, &error));
    cst_release(predicate);
    snprintf(calendar.searched, LINE, "%s", text);
    fetch_events();
}

bool is_table_right(void) {
    cst_results *found;
    char day[DAY];
    size_t place = 0;
    bool is_right = true;
    TRY(cst_context_fetch(calendar.context, calendar.request, &found, &error));
    for (size_t i = 0; i < table.count; i++) {
        const struct section *section = &table.sections[i];
        is_right = is_right && section->count > 0 && (i == 0 || strcmp(section->day, section[-1].day) != 0);
        for (size_t j = 0; is_right && j < section->count; j++) {
            cst_object *event;
            is_right = place < cst_results_count(found);
            if (!is_right) break;
            TRY(cst_results_get_object(found, place++, &event, &error));
            char *text = cell(event);
            print_day(day, event);
            is_right =
                event == section->rows[j].event && !strcmp(text, section->rows[j].text) && !strcmp(day, section->day);
            free(text);
        }
    }
    is_right = is_right && place == cst_results_count(found);
    cst_release(found);
    return is_right;
}

/* ---- saving ---- */

bool has_changes(void) {
    bool has;
    TRY(cst_context_has_changes(calendar.context, &has, &error));
    return has;
}

/* Returns the number of the event that an error concerns; 0 if the event is not shown. */
static size_t number_of(const cst_error *failure) {
    const cst_string uri = cst_error_object_uri(failure);
    const struct row *row;
    for (size_t number = 1; uri.data && (row = row_at(number)); number++) {
        cst_object_id *id;
        cst_buffer found = {NULL, 0, 0};
        TRY(cst_object_copy_id(row->event, &id, &error));
        TRY(cst_object_id_copy_uri(id, &found, &error));
        const bool is_it = !strcmp(found.data, uri.data);
        cst_buffer_dispose(&found);
        cst_release(id);
        if (is_it) return number;
    }
    return 0;
}

static void say_problem(const cst_error *failure) {
    const size_t number = number_of(failure);
    if (number)
        say("\n  %zu: %s", number, cst_error_message(failure).data);
    else
        say("\n  %s", cst_error_message(failure).data);
}

void save(void) {
    cst_error *failure = NULL;
    if (cst_context_save(calendar.context, &failure) >= 0) {
        say("Saved.");
        return;
    }
    const size_t count = cst_error_detail_count(failure);
    say("Not saved:");
    for (size_t i = 0; i < count; i++)
        say_problem(cst_error_detail_at(failure, i));
    if (count == 0) say_problem(failure);
    cst_release(failure);
}

/* ---- the store ---- */

void open_store(const char *path) {
    static const cst_sort sort[] = {{.key_path = {"date", CST_NUL}}, {.key_path = {"title", CST_NUL}}};
    char model[4096];
    const char *end = strrchr(__FILE__, '/');
    snprintf(model, sizeof model, "%.*sEvents.xcdatamodeld", end ? (int)(end - __FILE__ + 1) : 0, __FILE__);
    calendar.path = path;
    TRY(cst_model_load(TEXT(model), (cst_string){NULL, 0}, &calendar.model, &error));
    TRY(cst_model_entity(calendar.model, TEXT("Event"), &calendar.event, &error));
    TRY(cst_coordinator_new(calendar.model, &calendar.coordinator, &error));
    TRY(cst_coordinator_add_store(calendar.coordinator, TEXT("SQLite"), TEXT(path), NULL, NULL, &error));
    TRY(cst_main_queue_bind(&error));
    TRY(cst_context_new(calendar.coordinator, CST_QUEUE_MAIN, &calendar.context, &error));
    TRY(cst_context_set_merges_remote_changes(calendar.context, true, &error));
    TRY(cst_merge_policy_new(CST_MERGE_OBJECT_TRUMP, NULL, NULL, NULL, &calendar.policy, &error));
    TRY(cst_context_set_merge_policy(calendar.context, calendar.policy, &error));
    TRY(cst_undo_manager_new(&calendar.undo, &error));
    TRY(cst_context_set_undo_manager(calendar.context, calendar.undo, &error));
    TRY(cst_fetch_request_new(calendar.event, &calendar.request, &error));
    TRY(cst_fetch_request_set_sort(calendar.request, sizeof sort / sizeof *sort, sort, &error));
    TRY(cst_controller_new_with_sections(calendar.context, calendar.request, day_of, NULL, NULL, &calendar.controller,
                                         &error));
    follow(calendar.controller);
    fetch_events();
}

void close_store(void) {
    clear_table();
    void *handles[] = {calendar.controller, calendar.request,     calendar.undo, calendar.context,
                       calendar.policy,     calendar.coordinator, calendar.model};
    for (size_t i = 0; i < sizeof handles / sizeof *handles; i++)
        cst_release(handles[i]);
}
