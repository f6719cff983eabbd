/// A project in C: a program and its Makefile.
struct CTemplate: ProjectTemplate {
    let name: String
    private var file: String { "\(name.lowercased()).c" }

    var steps: String { "run it with make run; edit the model with corestone model" }

    var files: [(name: String, text: String)] { [(file, program), ("Makefile", makefile)] }

    private var makefile: String {
        """
        # The flags are those of the installed library; another one: make CORESTONE="-I… -L… -lcorestone"
        CORESTONE ?= $(shell pkg-config --cflags --libs corestone)
        CFLAGS ?= -O2 -g -Wall -Wextra

        \(name): \(file)
        \t$(CC) -std=c11 -D_GNU_SOURCE $(CFLAGS) -DMODEL='"$(CURDIR)/\(name).xcdatamodeld"' $< -o $@ $(CORESTONE)

        .PHONY: run clean
        run: \(name)
        \t./\(name)

        clean:
        \trm -f \(name)

        """
    }

    private var program: String {
        #"""
        /* ¶: keeps items in a store. */
        #include <corestone.h>
        #include <inttypes.h>
        #include <stdio.h>
        #include <stdlib.h>
        #include <sys/stat.h>
        #include <time.h>

        #define TEXT(string) ((cst_string){string, CST_NUL})
        /* Seconds from 1970 to 2001, where Core Data's dates begin. */
        #define EPOCH 978307200.0

        static cst_error *error;

        /* Ends the program when a call failed. */
        #define TRY(call) check((call), #call)
        static void check(cst_status status, const char *call) {
            if (status >= 0) return;
            cst_buffer text = {0};
            cst_error_copy_description(error, &text);
            fprintf(stderr, "%s: %s\n", call, text.data ? text.data : "failed");
            exit(1);
        }

        static struct {
            cst_coordinator *coordinator;
            cst_context *context;
            cst_entity *item;
            cst_key timestamp;
        } stack;

        static const char *store_path(void) {
            static char path[4096];
            const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
            if (data && *data)
                snprintf(path, sizeof path - 64, "%s", data);
            else
                snprintf(path, sizeof path - 64, "%s/.local/share", home ? home : ".");
            char *end = path + snprintf(NULL, 0, "%s", path);
            for (char *slash = path + 1; *slash; slash++)
                if (*slash == '/') {
                    *slash = 0;
                    mkdir(path, 0777);
                    *slash = '/';
                }
            mkdir(path, 0777);
            end += sprintf(end, "/¶");
            mkdir(path, 0777);
            sprintf(end, "/¶.sqlite");
            return path;
        }

        /* The model, its coordinator, the store and a context, set up when they are first used. */
        static void set_up(void) {
            if (stack.context) return;
            cst_model *model = NULL;
            TRY(cst_model_load(TEXT(MODEL), (cst_string){NULL, 0}, &model, &error));
            TRY(cst_model_entity(model, TEXT("Item"), &stack.item, &error));
            TRY(cst_entity_key(stack.item, TEXT("timestamp"), &stack.timestamp, &error));
            TRY(cst_coordinator_new(model, &stack.coordinator, &error));
            TRY(cst_coordinator_add_store(stack.coordinator, TEXT("SQLite"), TEXT(store_path()), NULL, NULL, &error));
            TRY(cst_context_new(stack.coordinator, CST_QUEUE_CALLER, &stack.context, &error));
            cst_release(model);
        }

        int main(void) {
            set_up();
            cst_object *item = NULL;
            const cst_value now = {CST_DATE, 0, {.date = (double)time(NULL) - EPOCH}};
            TRY(cst_context_insert(stack.context, stack.item, &item, &error));
            TRY(cst_object_set(item, stack.timestamp, &now, &error));
            TRY(cst_context_save(stack.context, &error));
            cst_release(item);

            cst_fetch_request *request = NULL;
            cst_results *results = NULL;
            uint64_t count = 0;
            const cst_sort newest = {TEXT("timestamp"), CST_SORT_DESCENDING, 0};
            TRY(cst_fetch_request_new(stack.item, &request, &error));
            TRY(cst_context_count(stack.context, request, &count, &error));
            TRY(cst_fetch_request_set_sort(request, 1, &newest, &error));
            TRY(cst_fetch_request_set_limit(request, 10, &error));
            TRY(cst_context_fetch(stack.context, request, &results, &error));
            for (size_t i = 0; i < cst_results_count(results); i++) {
                cst_value value;
                char text[32];
                TRY(cst_results_get_object(results, i, &item, &error));
                TRY(cst_object_get(item, stack.timestamp, &value, &error));
                time_t seconds = (time_t)(value.as.date + EPOCH);
                strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", gmtime(&seconds));
                puts(text);
            }
            printf("%" PRIu64 " items in %s\n", count, store_path());
            cst_release(results);
            cst_release(request);
            cst_release(stack.context);
            cst_release(stack.coordinator);
            return 0;
        }

        """#.replacing("¶", with: name)
    }
}
