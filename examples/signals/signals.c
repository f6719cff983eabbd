/* Saves notes at the end of the program, even after a signal. Each line of the input is a note.
 *
 *   cc signals.c -o signals -lcorestone && ./signals notes.store
 *
 * With --document, the notes are in a document, which is saved automatically half a second after the last change. So a
 * power cut loses only the newest notes.
 *
 * SIGTERM and SIGINT are blocked before the library creates threads, which inherit the mask. The main loop reads the
 * signals from a descriptor, between two calls of the library. A signal handler might interrupt such a call, and could
 * call almost no functions. Any other exit calls `at_exit`. Both ways close the container or document, which saves the
 * notes. Notes that cannot be saved are printed with the reason, and the program ends with status 1.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE

#include <corestone.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define TEXT(string) ((cst_string){string, CST_NUL})
#define LONGEST 2000 /* the maximum number of characters in a note */

static cst_container *container; /* either the container or the document is open */
static cst_document *document;
static cst_context *context; /* borrowed from the container or document */
static cst_entity *note;
static cst_key body;

static void stop(const cst_error *error) {
    const cst_string why = cst_error_message(error);
    fprintf(stderr, "%s\n", why.data ? why.data : "the call failed without a message");
    exit(1);
}

#define TRY(call)                                                                                                      \
    if ((call) < 0) stop(error)

/* ---- the end ------------------------------------------------------------------------------------------- */

static cst_status close_all(uint32_t unsaved, cst_error **error) {
    return container ? cst_container_close(container, unsaved, error) : cst_document_close(document, unsaved, error);
}

/* Prints the unsaved notes. Called on the queue of the context. */
static cst_status print_unsaved(void *userdata, cst_context *of, cst_error **error) {
    cst_results *unsaved = NULL;
    cst_object *each = NULL;
    cst_value value;
    (void)userdata;
    if (cst_context_copy_changed(of, CST_CHANGED_INSERTED, &unsaved, error) < 0) return CST_E_CALLBACK;
    for (size_t i = 0; i < cst_results_count(unsaved); i++)
        if (cst_results_get_object(unsaved, i, &each, NULL) == CST_OK &&
            cst_object_get(each, body, &value, NULL) == CST_OK)
            fprintf(stderr, "not saved: %.*s\n", (int)value.as.string.size, value.as.string.data);
    cst_release(unsaved);
    return CST_OK;
}

/* Closes the container or document, once. Saves unsaved notes, or prints them. */
static void at_exit(void) {
    cst_error *error = NULL;
    if (!container && !document) return;
    if (close_all(CST_UNSAVED_SAVE, &error) < 0) {
        fprintf(stderr, "%s\n", cst_error_message(error).data);
        cst_release(error);
        cst_context_perform_and_wait(context, print_unsaved, NULL, NULL);
        close_all(CST_UNSAVED_DISCARD, NULL);
        fflush(NULL);
        _exit(1); /* replaces the status that was passed to exit */
    }
    cst_release(container);
    cst_release(document);
    container = NULL;
    document = NULL;
    printf("saved\n");
    fflush(stdout);
}

/* ---- notes --------------------------------------------------------------------------------------------- */

static cst_status insert(void *userdata, cst_context *into, cst_error **error) {
    cst_object *object = NULL;
    const cst_value value = {CST_STRING, 0, {.string = *(cst_string *)userdata}};
    cst_status status = cst_context_insert(into, note, &object, error);
    if (status == CST_OK) status = cst_object_set(object, body, &value, error);
    cst_release(object);
    return status;
}

static void add(const char *line, size_t size) {
    static int notes;
    cst_error *error = NULL;
    cst_string text = {line, size};
    TRY(cst_context_perform_and_wait(context, insert, &text, &error));
    printf("%d unsaved\n", ++notes);
    fflush(stdout);
}

static void open_container(cst_string path, cst_model *model) {
    cst_error *error = NULL;
    cst_store_description store = CST_STORE_DESCRIPTION_INIT;
    store.path = path;
    TRY(cst_container_new(TEXT("Notes"), model, NULL, &container, &error));
    TRY(cst_container_add_description(container, &store, &error));
    TRY(cst_container_load(container, NULL, NULL, NULL, &error));
    TRY(cst_container_view_context(container, &context, &error));
}

static void open_document(cst_string path, cst_model *model) {
    cst_error *error = NULL;
    if (access(path.data, F_OK) == 0) {
        TRY(cst_document_open(path, model, NULL, CST_QUEUE_PRIVATE, &document, &error));
    } else {
        TRY(cst_document_new(model, TEXT("SQLite"), CST_QUEUE_PRIVATE, &document, &error));
        TRY(cst_document_save_as(document, (cst_string){NULL, 0}, path, false, &error));
    }
    TRY(cst_document_set_autosave(document, 100, 500, &error));
    TRY(cst_document_context(document, &context, &error));
}

/* Adds each line of the input, until its end or a signal; then adds the incomplete last line. */
static void read_lines(int signalled) {
    struct pollfd waiting[2] = {{STDIN_FILENO, POLLIN, 0}, {signalled, POLLIN, 0}};
    size_t size = 0, room = 4096;
    char *lines = malloc(room);
    while (lines) {
        if (poll(waiting, 2, -1) < 0) {
            if (errno == EINTR) continue;
            break;
        }
        if (waiting[0].revents) {
            if (size == room && !(lines = realloc(lines, room *= 2))) break;
            const ssize_t got = read(STDIN_FILENO, lines + size, room - size);
            if (got <= 0) break;
            size += (size_t)got;
            for (char *end; (end = memchr(lines, '\n', size)) != NULL;) {
                const size_t length = (size_t)(end - lines);
                add(lines, length);
                memmove(lines, end + 1, size -= length + 1);
            }
        }
        if (waiting[1].revents) break;
    }
    if (lines && size) add(lines, size);
    free(lines);
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
    cst_attribute *text = NULL;
    const cst_value longest = {CST_INT, 0, {.integer = LONGEST}};
    TRY(cst_model_new(&model, &error));
    TRY(cst_model_add_entity(model, TEXT("Note"), &note, &error));
    TRY(cst_entity_add_attribute(note, TEXT("body"), CST_ATTRIBUTE_STRING, 0, &text, &error));
    TRY(cst_attribute_set_bounds(text, NULL, &longest, &error));

    const int is_document = count > 1 && strcmp(arguments[1], "--document") == 0;
    const cst_string path = TEXT(count > 1 + is_document ? arguments[1 + is_document] : "notes.store");
    (is_document ? open_document : open_container)(path, model);
    atexit(at_exit);
    TRY(cst_entity_key(note, TEXT("body"), &body, &error));
    cst_release(model);
    read_lines(signalled);
    return 0; /* at_exit saves */
}
