/// A C project: a program and its Makefile.
struct CTemplate: ProjectTemplate {
    let name: String
    let installation: Installation
    private var file: String { "\(name.lowercased()).c" }

    var steps: String { "run it with make run; edit the model with corestone model" }

    var files: [(name: String, text: String)] { [(file, program), ("Makefile", makefile)] }

    private var makefile: String {
        """
        # To use another installation of Corestone: make CORESTONE="-I… -L… -Wl,-rpath,… -lcorestone"
        CORESTONE ?= \(flags)
        CFLAGS ?= -O2 -g -Wall -Wextra

        \(name): \(file)
        \t$(CC) -std=c11 -D_GNU_SOURCE $(CFLAGS) $< -o $@ $(CORESTONE)

        .PHONY: run clean
        run: \(name)
        \t./\(name)

        clean:
        \trm -f \(name)

        """
    }

    private var flags: String {
        var words: [String] = []
        if let headers = installation.headers { words.append("-I\(headers)") }
        if let library = installation.library { words += ["-L\(library)", "-Wl,-rpath,\(library)"] }
        let quoted = words.map { "'\($0.replacing("'", with: "'\\''").replacing("$", with: "$$"))'" }
        return (quoted + ["-l:\(Installation.libraryName)"]).joined(separator: " ")
    }

    private var program: String {
        #"""
        /* ¶: keeps items in a store. */
        #include <corestone/example.h>
        #include <inttypes.h>
        #include <time.h>

        /* Seconds from 1970 to Core Data's reference date, 1 January 2001 UTC. */
        #define EPOCH 978307200.0

        int main(void) {
            int result = EXIT_FAILURE;
            cst_error *error = NULL;
            cst_container *container = NULL;
            cst_coordinator *coordinator = NULL; /* borrowed, like store, model, entity and context */
            cst_store *store = NULL;
            cst_model *model = NULL;
            cst_entity *entity = NULL;
            cst_context *context = NULL;
            cst_object *item = NULL;
            cst_fetch_request *request = NULL;
            cst_results *results = NULL;
            cst_key timestamp;
            uint64_t count = 0;

            /* The model ¶.xcdatamodeld beside this program; the store ¶.sqlite in the user's data folder. */
            CST_TRY(cst_container_new(CST_TEXT("¶"), NULL, NULL, &container, &error));
            CST_TRY(cst_container_load(container, NULL, NULL, NULL, &error));
            CST_TRY(cst_container_view_context(container, &context, &error));
            CST_TRY(cst_container_coordinator(container, &coordinator, &error));
            CST_TRY(cst_coordinator_store(coordinator, 0, &store, &error));
            CST_TRY(cst_coordinator_model(coordinator, &model, &error));
            CST_TRY(cst_model_entity(model, CST_TEXT("Item"), &entity, &error));
            CST_TRY(cst_entity_key(entity, CST_TEXT("timestamp"), &timestamp, &error));

            const cst_value now = cst_value_date((double)time(NULL) - EPOCH);
            CST_TRY(cst_context_insert(context, entity, &item, &error));
            CST_TRY(cst_object_set(item, timestamp, &now, &error));
            CST_TRY(cst_context_save(context, &error));

            const cst_sort newest = {CST_TEXT_INIT("timestamp"), CST_SORT_DESCENDING, 0};
            CST_TRY(cst_fetch_request_new(entity, &request, &error));
            CST_TRY(cst_context_count(context, request, &count, &error));
            CST_TRY(cst_fetch_request_set_sort(request, 1, &newest, &error));
            CST_TRY(cst_fetch_request_set_limit(request, 10, &error));
            CST_TRY(cst_context_fetch(context, request, &results, &error));
            for (size_t i = 0; i < cst_results_count(results); i++) {
                cst_object *each;
                cst_value value;
                char text[32];
                CST_TRY(cst_results_get_object(results, i, &each, &error));
                CST_TRY(cst_object_get(each, timestamp, &value, &error));
                time_t seconds = (time_t)(value.as.date + EPOCH);
                strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", gmtime(&seconds));
                puts(text);
            }
            printf("%" PRIu64 " items in %s\n", count, cst_store_path(store).data);
            CST_TRY(cst_container_close(container, CST_UNSAVED_REFUSE, &error));
            result = EXIT_SUCCESS;

        failed:
            cst_release(results);
            cst_release(request);
            cst_release(item);
            cst_release(container);
            return result;
        }

        """#.replacing("¶", with: name)
    }
}
