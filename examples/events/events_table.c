/* The table: sections of rows, which the calls of the controller's delegate update.
 *
 * The table reads the controller's results only after a new fetch. It collects the changes of an event until
 * did_change, and applies them in the order of table views: first updates, deletions and the removals of moves, by
 * former index paths; then deleted and new sections; then insertions, including those of moves, by new index paths.
 *
 * SPDX-License-Identifier: MIT
 */
#include "events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct table table;

/* The changes of the current event. */
static struct {
    size_t section_count, row_count;
    struct section_change {
        uint32_t kind;
        size_t index;
        char day[DAY];
    } *sections;
    struct row_change {
        uint32_t kind;
        cst_object *event; /* owned */
        cst_index_path path, new_path;
    } *rows;
} told;

/* ---- arrays ---- */

static void *sized(void *array, size_t size) {
    array = realloc(array, size);
    if (!array) give_up("out of memory");
    return array;
}

/* Inserts a zeroed element into an array of `count` elements, and returns the array. */
static void *opened(void *array, size_t count, size_t size, size_t place) {
    char *bytes = sized(array, (count + 1) * size);
    memmove(bytes + (place + 1) * size, bytes + place * size, (count - place) * size);
    memset(bytes + place * size, 0, size);
    return bytes;
}

static void close_up(void *array, size_t count, size_t size, size_t place) {
    char *bytes = array;
    memmove(bytes + place * size, bytes + (place + 1) * size, (count - place - 1) * size);
}

static void must(bool holds) {
    if (!holds) give_up("the changes of the controller do not fit the table");
}

/* ---- rows ---- */

char *cell(const cst_object *event) {
    char time[8];
    print_date(time, sizeof time, "%H:%M", get(event, "date"));
    const cst_value title = get(event, "title"), notes = get(event, "notes");
    const bool has_notes = notes.type == CST_STRING;
    const char *format = has_notes ? "%s  %s (%s)" : "%s  %s%s", *last = has_notes ? notes.as.string.data : "";
    const int size = snprintf(NULL, 0, format, time, title.as.string.data, last) + 1;
    char *text = sized(NULL, (size_t)size);
    snprintf(text, (size_t)size, format, time, title.as.string.data, last);
    return text;
}

static void fill_row(struct row *row, cst_object *event, char mark) {
    free(row->text);
    row->text = cell(event);
    row->event = event;
    row->mark = mark;
}

static struct row *row_of(cst_index_path path) {
    must(path.section < table.count && path.row < table.sections[path.section].count);
    return &table.sections[path.section].rows[path.row];
}

static void insert_row(cst_index_path path, cst_object *event, char mark) {
    must(path.section < table.count && path.row <= table.sections[path.section].count);
    struct section *section = &table.sections[path.section];
    section->rows = opened(section->rows, section->count++, sizeof *section->rows, path.row);
    cst_retain(event);
    fill_row(&section->rows[path.row], event, mark);
}

static void delete_row(cst_index_path path) {
    struct row *row = row_of(path);
    struct section *section = &table.sections[path.section];
    cst_release(row->event);
    free(row->text);
    close_up(section->rows, section->count--, sizeof *section->rows, path.row);
}

struct row *row_at(size_t number) {
    for (size_t i = 0; number > 0 && i < table.count; i++) {
        if (number <= table.sections[i].count) return &table.sections[i].rows[number - 1];
        number -= table.sections[i].count;
    }
    return NULL;
}

/* ---- sections ---- */

static void insert_section(size_t index, const char *day) {
    must(index <= table.count);
    table.sections = opened(table.sections, table.count++, sizeof *table.sections, index);
    snprintf(table.sections[index].day, DAY, "%s", day);
}

static void delete_section(size_t index) {
    must(index < table.count && table.sections[index].count == 0);
    free(table.sections[index].rows);
    close_up(table.sections, table.count--, sizeof *table.sections, index);
}

void clear_table(void) {
    while (table.count > 0) {
        struct section *last = &table.sections[table.count - 1];
        while (last->count > 0)
            delete_row((cst_index_path){table.count - 1, last->count - 1});
        delete_section(table.count - 1);
    }
}

void load_table(cst_controller *controller) {
    cst_snapshot *snapshot;
    clear_table();
    TRY(cst_controller_copy_snapshot(controller, &snapshot, &error));
    for (size_t i = 0; i < cst_snapshot_section_count(snapshot); i++) {
        cst_results *events;
        TRY(cst_controller_copy_objects(controller, i, &events, &error));
        insert_section(i, cst_snapshot_section_name(snapshot, i).data);
        for (size_t j = 0; j < cst_results_count(events); j++) {
            cst_object *event;
            TRY(cst_results_get_object(events, j, &event, &error));
            insert_row((cst_index_path){i, j}, event, ' ');
        }
        cst_release(events);
    }
    cst_release(snapshot);
    calendar.is_stale = true;
}

/* ---- the delegate of the controller ---- */

static void will_change(void *userdata, cst_controller *controller) {
    (void)userdata, (void)controller;
    for (size_t i = 0; i < table.count; i++)
        for (size_t j = 0; j < table.sections[i].count; j++)
            table.sections[i].rows[j].mark = ' ';
}

static void did_change_section(void *userdata, cst_controller *controller, const cst_section_change *change) {
    (void)userdata, (void)controller;
    told.sections = opened(told.sections, told.section_count, sizeof *told.sections, told.section_count);
    struct section_change *kept = &told.sections[told.section_count++];
    kept->kind = change->kind;
    kept->index = change->index;
    snprintf(kept->day, DAY, "%s", change->name.data);
}

static void did_change_object(void *userdata, cst_controller *controller, const cst_object_change *change) {
    (void)userdata, (void)controller;
    told.rows = opened(told.rows, told.row_count, sizeof *told.rows, told.row_count);
    told.rows[told.row_count++] =
        (struct row_change){change->kind, cst_retain(change->object), change->path, change->new_path};
}

static int by_index(const void *a, const void *b) {
    const struct section_change *one = a, *other = b;
    return (one->index > other->index) - (one->index < other->index);
}

static int by_place(cst_index_path one, cst_index_path other) {
    if (one.section != other.section) return one.section < other.section ? -1 : 1;
    return (one.row > other.row) - (one.row < other.row);
}

static int last_former_first(const void *a, const void *b) {
    return by_place(((const struct row_change *)b)->path, ((const struct row_change *)a)->path);
}

static int first_new_first(const void *a, const void *b) {
    return by_place(((const struct row_change *)a)->new_path, ((const struct row_change *)b)->new_path);
}

/* Updates and removes rows and sections, the last ones first, so that the former indexes of the others stay valid. */
static void take_out(void) {
    qsort(told.rows, told.row_count, sizeof *told.rows, last_former_first);
    qsort(told.sections, told.section_count, sizeof *told.sections, by_index);
    for (size_t i = 0; i < told.row_count; i++) {
        const struct row_change *change = &told.rows[i];
        if (change->kind == CST_RESULT_UPDATE) fill_row(row_of(change->path), change->event, '*');
        if (change->kind == CST_RESULT_DELETE || change->kind == CST_RESULT_MOVE) delete_row(change->path);
    }
    for (size_t i = told.section_count; i > 0; i--)
        if (told.sections[i - 1].kind == CST_RESULT_DELETE) delete_section(told.sections[i - 1].index);
}

/* Inserts sections and rows, the first ones first, by their new index paths. */
static void put_in(void) {
    qsort(told.rows, told.row_count, sizeof *told.rows, first_new_first);
    for (size_t i = 0; i < told.section_count; i++)
        if (told.sections[i].kind == CST_RESULT_INSERT) insert_section(told.sections[i].index, told.sections[i].day);
    for (size_t i = 0; i < told.row_count; i++) {
        const struct row_change *change = &told.rows[i];
        if (change->kind == CST_RESULT_INSERT) insert_row(change->new_path, change->event, '+');
        if (change->kind == CST_RESULT_MOVE) insert_row(change->new_path, change->event, '>');
    }
}

static void did_change(void *userdata, cst_controller *controller) {
    (void)userdata, (void)controller;
    take_out();
    put_in();
    for (size_t i = 0; i < told.row_count; i++)
        cst_release(told.rows[i].event);
    told.section_count = told.row_count = 0;
    calendar.is_stale = true;
}

static void did_reset(void *userdata, cst_controller *controller, const cst_error *failure) {
    (void)userdata;
    if (failure) say("%s ", cst_error_message(failure).data);
    clear_table();
    calendar.is_stale = true;
    if (done(cst_controller_perform_fetch(controller, &error))) load_table(controller);
}

void follow(cst_controller *controller) {
    cst_controller_delegate delegate = CST_CONTROLLER_DELEGATE_INIT;
    delegate.will_change = will_change;
    delegate.did_change_section = did_change_section;
    delegate.did_change_object = did_change_object;
    delegate.did_change = did_change;
    delegate.did_reset = did_reset;
    TRY(cst_controller_set_delegate(controller, &delegate, &error));
}
