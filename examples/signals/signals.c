/* Notes that are kept whatever ends the program: each line of the input is one, and nothing is saved before the end.
 *
 *   cc signals.c -o signals -lcorestone && ./signals notes.store
 *
 * SIGTERM and SIGINT are blocked before the library makes threads, which inherit that, and come out of a descriptor that the main
 * loop waits for, between two calls of the library: a handler of its own might interrupt one, and may call next to nothing. An exit
 * from anywhere else ends in `at_exit`. Both close the container, which saves.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE

#include <corestone.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define TEXT(string) ((cst_string){string, CST_NUL})

static cst_container *container;

static void stop(const cst_error *error) {
    const cst_string why = cst_error_message(error);
    fprintf(stderr, "%s\n", why.data ? why.data : "the library gave no reason");
    exit(1);
}

#define TRY(call)                                                                                                      \
    if ((call) < 0) stop(error)

/* Closes the container, once: what is unsaved is saved, or it is said why not. */
static void at_exit(void) {
    cst_error *error = NULL;
    if (!container) return;
    if (cst_container_close(container, CST_UNSAVED_SAVE, &error) < 0) {
        fprintf(stderr, "%s\n", cst_error_message(error).data);
        cst_release(error);
        cst_container_close(container, CST_UNSAVED_DISCARD, NULL);
        _exit(1);
    }
    cst_release(container);
    container = NULL;
    printf("saved\n");
    fflush(stdout);
}

static void add(cst_context *context, const cst_entity *note, cst_key body, const char *line, size_t size) {
    cst_error *error = NULL;
    cst_object *object = NULL;
    const cst_value value = {CST_STRING, 0, {.string = {line, size}}};
    TRY(cst_context_insert(context, note, &object, &error));
    TRY(cst_object_set(object, body, &value, &error));
    cst_release(object);
}

int main(int count, char **arguments) {
    cst_error *error = NULL;
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    const int signalled = signalfd(-1, &signals, SFD_CLOEXEC);

    cst_model *model = NULL;
    cst_entity *note = NULL;
    cst_key body = CST_NO_KEY;
    cst_context *context = NULL;
    cst_store_description store = CST_STORE_DESCRIPTION_INIT;
    store.path = TEXT(count > 1 ? arguments[1] : "notes.store");
    TRY(cst_model_new(&model, &error));
    TRY(cst_model_add_entity(model, TEXT("Note"), &note, &error));
    TRY(cst_entity_add_attribute(note, TEXT("body"), CST_ATTRIBUTE_STRING, 0, NULL, &error));
    TRY(cst_container_new(TEXT("Notes"), model, NULL, &container, &error));
    TRY(cst_container_add_description(container, &store, &error));
    TRY(cst_container_load(container, NULL, NULL, NULL, &error));
    TRY(cst_container_view_context(container, &context, &error));
    TRY(cst_entity_key(note, TEXT("body"), &body, &error));
    cst_release(model);
    atexit(at_exit);

    struct pollfd waiting[2] = {{STDIN_FILENO, POLLIN, 0}, {signalled, POLLIN, 0}};
    char line[4096];
    size_t size = 0;
    for (int notes = 0; poll(waiting, 2, -1) >= 0;) {
        if (waiting[1].revents) exit(0); /* at_exit saves */
        if (!waiting[0].revents) continue;
        const ssize_t got = read(STDIN_FILENO, line + size, sizeof line - size);
        if (got <= 0) exit(0);
        size += (size_t)got;
        for (char *end; (end = memchr(line, '\n', size)) != NULL || size == sizeof line;) {
            const size_t length = end ? (size_t)(end - line) : size, taken = end ? length + 1 : size;
            add(context, note, body, line, length);
            memmove(line, line + taken, size -= taken);
            printf("%d unsaved\n", ++notes);
            fflush(stdout);
        }
    }
    return 1;
}
