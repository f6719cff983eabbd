/* The terminal: draws the table, and reads one key at a time, so that the table can be drawn while the user types.
 *
 * SPDX-License-Identifier: MIT
 */
#define _XOPEN_SOURCE 700

#include "events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

static struct termios former;
static char typed[LINE];
static size_t length;

/* ---- drawing ---- */

static void draw_step(const char *verb, uint32_t text) {
    cst_buffer name = {NULL, 0, 0};
    TRY(cst_undo_manager_copy_text(calendar.undo, text, &name, &error));
    if (name.size > 0) printf("  %s: %.*s", verb, (int)name.size, (const char *)name.data);
    cst_buffer_dispose(&name);
}

static void draw_day(const char *day) {
    struct tm parts = {0};
    char text[64];
    strptime(day, "%Y-%m-%d", &parts);
    strftime(text, sizeof text, "%A %d %B %Y", &parts);
    printf("\n%s\n", text);
}

static void draw_table(void) {
    size_t number = 0;
    for (size_t i = 0; i < table.count; i++) {
        const struct section *section = &table.sections[i];
        draw_day(section->day);
        for (size_t j = 0; j < section->count; j++)
            printf(" %c%2zu  %s\n", section->rows[j].mark, ++number, section->rows[j].text);
    }
    if (table.count == 0) printf("\nNo events.\n");
}

void draw(void) {
    const char *name = strrchr(calendar.path, '/');
    if (isatty(STDOUT_FILENO)) printf("\033[2J\033[H");
    printf("Events of %s (%s)", name ? name + 1 : calendar.path, has_changes() ? "unsaved changes" : "saved");
    draw_step("undo", CST_UNDO_NAME);
    draw_step("redo", CST_REDO_NAME);
    if (*calendar.searched) printf("\nwith \"%s\"", calendar.searched);
    printf("\n");
    draw_table();
    printf("\n%s\n\n> %s", calendar.message, typed);
    fflush(stdout);
    calendar.is_stale = false;
}

/* ---- keys ---- */

static void end_keys(void) { tcsetattr(STDIN_FILENO, TCSADRAIN, &former); }

void begin_keys(void) {
    if (!isatty(STDIN_FILENO) || tcgetattr(STDIN_FILENO, &former) != 0) return;
    struct termios single = former;
    single.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    tcsetattr(STDIN_FILENO, TCSADRAIN, &single);
    atexit(end_keys);
}

static void take_back(void) {
    /* Removes all bytes of the last character. */
    while (length > 0 && ((unsigned char)typed[--length] & 0xC0) == 0x80) {
    }
}

bool read_key(char *line) {
    enum { END = 4, BACKSPACE = 8, KILL = 21, DELETE = 127 };
    unsigned char key;
    if (read(STDIN_FILENO, &key, 1) != 1) key = END;
    const bool is_finished = key == END || key == '\n' || key == '\r';
    if (is_finished) snprintf(line, LINE, "%s", key == END ? "quit!" : typed);
    if (is_finished || key == KILL) {
        length = 0;
    } else if (key == BACKSPACE || key == DELETE) {
        take_back();
    } else if (key >= ' ' && length + 1 < sizeof typed) {
        typed[length++] = (char)key;
    }
    typed[length] = 0;
    calendar.is_stale = true;
    return is_finished;
}
