/* Draws an order with the problems of its fields, saves, and asks how to resolve conflicts.
 *
 * SPDX-License-Identifier: MIT
 */
#define _POSIX_C_SOURCE 200809L

#include "orders.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- the screen ---- */

static const char *problem_of(const cst_object *object, const char *key) {
    static char text[320];
    cst_object_id *id;
    cst_buffer uri = {NULL, 0, 0};
    TRY(cst_object_copy_id(object, &id, &error));
    TRY(cst_object_id_copy_uri(id, &uri, &error));
    *text = 0;
    for (size_t i = 0; i < editor.problem_count; i++)
        if (!strcmp(editor.problems[i].uri, uri.data) && !strcmp(editor.problems[i].key, key))
            snprintf(text, sizeof text, "   <-- %s", editor.problems[i].message);
    cst_buffer_dispose(&uri);
    cst_release(id);
    return text;
}

static void draw_field(const char *label, const char *key, const char *path) {
    char text[256];
    const cst_value value = get(editor.order, path);
    print_value(text, sizeof text, &value);
    printf("  %-9s %s%s\n", label, text, problem_of(editor.order, key));
}

static void draw_lines(void) {
    cst_results *lines;
    TRY(cst_object_copy_members(editor.order, editor.lines, &lines, &error));
    for (size_t i = 0; i < cst_results_count(lines); i++) {
        cst_object *line;
        char product[128];
        TRY(cst_results_get_object(lines, i, &line, &error));
        const cst_value name = get(line, "product");
        print_value(product, sizeof product, &name);
        printf("  %3zu  %-30s %4.0f x %9.2f = %10.2f", i + 1, product, number(get(line, "quantity")),
               number(get(line, "price")), cost(line));
        printf("%s", problem_of(line, "product"));
        printf("%s", problem_of(line, "quantity"));
        printf("%s\n", problem_of(line, "price"));
    }
    cst_release(lines);
}

static void draw_step(const char *verb, uint32_t text) {
    cst_buffer name = {NULL, 0, 0};
    TRY(cst_undo_manager_copy_text(editor.undo, text, &name, &error));
    if (name.size > 0) printf("  %s: %.*s", verb, (int)name.size, (const char *)name.data);
    cst_buffer_dispose(&name);
}

void draw(void) {
    bool has_changes;
    TRY(cst_context_has_changes(editor.context, &has_changes, &error));
    if (isatty(STDOUT_FILENO)) printf("\033[2J\033[H");
    printf("Orders (%s)", has_changes ? "unsaved changes" : "saved");
    draw_step("undo", CST_UNDO_NAME);
    draw_step("redo", CST_REDO_NAME);
    printf("\n\n");
    if (editor.order) {
        const double placed = get(editor.order, "placedOn").as.date;
        const time_t seconds = (time_t)placed + REFERENCE_DATE;
        char date[32];
        strftime(date, sizeof date, "%Y-%m-%d %H:%M", gmtime(&seconds));
        draw_field("number", "number", "number");
        draw_field("customer", "customer", "customer.name");
        printf("  placed    %s\n", date);
        draw_field("paid", "paid", "paid");
        draw_field("note", "note", "note");
        printf("\n");
        draw_lines();
        printf("       %-46s   %10.2f%s\n", "total", total(editor.order), problem_of(editor.order, "lines"));
    }
    printf("\n%s\n", editor.message);
}

/* ---- saving ---- */

static void add_problem(const cst_error *failure) {
    if (editor.problem_count == PROBLEMS) return;
    struct problem *problem = &editor.problems[editor.problem_count++];
    snprintf(problem->uri, sizeof problem->uri, "%s", cst_error_object_uri(failure).data);
    snprintf(problem->key, sizeof problem->key, "%s", cst_error_key(failure).data);
    snprintf(problem->message, sizeof problem->message, "%s", cst_error_message(failure).data);
}

bool ask(const char *question, char *answer, int size) {
    printf("%s", question);
    fflush(stdout);
    return fgets(answer, size, stdin) != NULL;
}

/* Shows the conflicts, asks how to resolve them, and returns the letter of the answer. */
static char ask_whose(const cst_error *conflicts) {
    static const int32_t snapshots[] = {CST_SNAPSHOT_OBJECT, CST_SNAPSHOT_CURRENT, CST_SNAPSHOT_THEIRS};
    char text[64], answer[16];
    printf("\nAnother editor saved the same objects meanwhile.\n\n");
    printf("  %-20s %16s %16s %16s\n", "", "before", "here", "there");
    for (size_t i = 0; i < cst_error_conflict_count(conflicts); i++) {
        const cst_conflict *conflict = cst_error_conflict_at(conflicts, i);
        for (size_t j = 0; j < cst_conflict_property_count(conflict); j++) {
            const cst_string name = cst_conflict_property_at(conflict, j);
            printf("  %-20s", name.data);
            for (int k = 0; k < 3; k++) {
                cst_value value = {0};
                TRY(cst_conflict_value(conflict, snapshots[k], 0, name, &value, &error));
                print_value(text, sizeof text, &value);
                printf(" %16s", text);
            }
            printf("\n");
        }
    }
    return ask("\nKeep [m]ine, take [t]heirs, [d]rop all of my changes, or [c]ancel? ", answer, sizeof answer) ? *answer
                                                                                                               : 'c';
}

static void save_by(int32_t type, const char *message) {
    cst_merge_policy *policy;
    TRY(cst_merge_policy_new(type, NULL, NULL, NULL, &policy, &error));
    TRY(cst_context_set_merge_policy(editor.context, policy, &error));
    if (done(cst_context_save(editor.context, &error))) say("%s", message);
    TRY(cst_context_set_merge_policy(editor.context, NULL, &error));
    cst_release(policy);
}

static void settle(void) {
    const char answer = ask_whose(error);
    cst_release(error);
    error = NULL;
    switch (answer) {
    case 'm':
        save_by(CST_MERGE_OBJECT_TRUMP, "Saved; your values won the conflict.");
        break;
    case 't':
        save_by(CST_MERGE_STORE_TRUMP, "Saved; their values won the conflict.");
        break;
    case 'd':
        TRY(cst_context_rollback(editor.context, &error));
        TRY(cst_context_refresh_all(editor.context, &error));
        say("Your changes were discarded.");
        break;
    default:
        say("Not saved.");
    }
}

void save(void) {
    editor.problem_count = 0;
    const cst_status status = cst_context_save(editor.context, &error);
    if (status == CST_E_CONFLICT) {
        settle();
    } else if (status == CST_E_VALIDATION) {
        const size_t count = cst_error_detail_count(error);
        for (size_t i = 0; i < count; i++)
            add_problem(cst_error_detail_at(error, i));
        if (count == 0) add_problem(error);
        cst_release(error);
        error = NULL;
        say("Not saved: %zu to correct.", editor.problem_count);
    } else if (done(status)) {
        say("Saved.");
    }
}
