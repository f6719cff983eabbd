/* The terminal: draws the list, and reads one key at a time, so that the list can be drawn while the user types.
 *
 * SPDX-License-Identifier: MIT
 */
#define _POSIX_C_SOURCE 200809L

#include "live.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

static struct termios former;
static char typed[LINE];
static size_t length;

/* ---- drawing ---- */

static bool is_fresh(const cst_object *item) {
    bool found = false;
    cst_object_id *id, *other;
    if (!list.fresh) return false;
    TRY(cst_object_copy_id(item, &id, &error));
    for (size_t i = 0; i < cst_results_count(list.fresh) && !found; i++) {
        TRY(cst_results_copy_id(list.fresh, i, &other, &error));
        found = cst_object_id_equal(id, other);
        cst_release(other);
    }
    cst_release(id);
    return found;
}

static void draw_item(size_t number, const cst_object *item) {
    const cst_value author = get(item, "author");
    printf("  %2zu %s %3d x %-24s %-10s%s\n", number, get(item, "bought").as.boolean ? "[x]" : "[ ]",
           (int)get(item, "amount").as.integer, get(item, "name").as.string.data,
           author.type == CST_STRING ? author.as.string.data : "", is_fresh(item) ? "  <- new" : "");
}

static void draw_list(void) {
    const char *name = strrchr(list.path, '/');
    printf("Shopping list of %s (%s)\n\n", name ? name + 1 : list.path, is_live() ? "live" : "offline");
    fetch_items();
    for (size_t i = 0; i < cst_results_count(list.items); i++) {
        cst_object *item;
        TRY(cst_results_get_object(list.items, i, &item, &error));
        draw_item(i + 1, item);
    }
    printf("\n%s\n\n", list.message);
}

void draw(void) {
    if (isatty(STDOUT_FILENO)) printf("\033[2J\033[H");
    draw_list();
    printf("%s> %s", list.author, typed);
    fflush(stdout);
    list.is_stale = false;
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

static void take_out(void) {
    /* Removes all bytes of the last character. */
    while (length > 0 && ((unsigned char)typed[--length] & 0xC0) == 0x80) {
    }
}

bool read_key(char *line) {
    enum { END = 4, BACKSPACE = 8, KILL = 21, DELETE = 127 };
    unsigned char key;
    if (read(STDIN_FILENO, &key, 1) != 1) key = END;
    const bool is_finished = key == END || key == '\n' || key == '\r';
    if (is_finished) snprintf(line, LINE, "%s", key == END ? "quit" : typed);
    if (is_finished || key == KILL) {
        length = 0;
    } else if (key == BACKSPACE || key == DELETE) {
        take_out();
    } else if (key >= ' ' && length + 1 < sizeof typed) {
        typed[length++] = (char)key;
    }
    typed[length] = 0;
    list.is_stale = true;
    return is_finished;
}
