/* Prints a report about a store of packages, then changes a copy of it.
 *
 * usage: report STORE
 *
 * The store must come from importer.c or importer.py. If a part of the report has no rows, the program ends with
 * status 1.
 *
 * SPDX-License-Identifier: MIT
 */
#define _POSIX_C_SOURCE 200809L

#include "packages_model.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KIBIBYTES_OF_A_MEGABYTE = 1024, MAX_COLUMNS = 3, MAX_ROWS = 12, CELL = 56 };

static cst_error *error; /* the error of the call that TRY checks */
static char copy_path[] = "/tmp/packages-XXXXXX", wal_path[sizeof copy_path + 4], shm_path[sizeof copy_path + 4];

static void remove_copy(void) {
    unlink(copy_path);
    unlink(wal_path);
    unlink(shm_path);
}

static void give_up(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs("report: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(1);
}

/* ---- the store ---- */

struct opened {
    struct packages_model model;
    cst_coordinator *coordinator;
    cst_context *context;
};

static cst_context *new_context(const struct opened *store) {
    cst_context *context = NULL;
    TRY(cst_context_new(store->coordinator, CST_QUEUE_CALLER, &context, &error));
    return context;
}

static struct opened open_store(const char *path, uint32_t flags) {
    struct opened store;
    cst_store_options options = CST_STORE_OPTIONS_INIT;
    options.flags = CST_STORE_MUST_EXIST | flags;
    store.coordinator = NULL;
    TRY(packages_model_load(&store.model, &error));
    TRY(cst_coordinator_new(store.model.model, &store.coordinator, &error));
    TRY(cst_coordinator_add_store(store.coordinator, TEXT("SQLite"), TEXT(path), &options, NULL, &error));
    store.context = new_context(&store);
    return store;
}

static void close_store(struct opened *store) {
    cst_release(store->context);
    cst_release(store->coordinator);
    cst_release(store->model.model);
}

/* Fetches the objects that satisfy a predicate (NULL: all), ordered by a key path; a leading "-" means descending. */
static cst_results *fetch(cst_context *context, const cst_entity *entity, const char *format, size_t count,
                          const cst_value *arguments, const char *order, const char *prefetch) {
    cst_fetch_request *request = NULL;
    cst_predicate *predicate = NULL;
    cst_results *results = NULL;
    const bool descending = order && *order == '-';
    const cst_sort sort[] = {{TEXT(order + descending), descending ? CST_SORT_DESCENDING : 0, 0}, {TEXT("name"), 0, 0}};
    TRY(cst_fetch_request_new(entity, &request, &error));
    if (format) {
        TRY(cst_predicate_parse(TEXT(format), count, arguments, &predicate, &error));
        TRY(cst_fetch_request_set_predicate(request, predicate, &error));
    }
    TRY(cst_fetch_request_set_sort(request, 2, sort, &error));
    if (prefetch) TRY(cst_fetch_request_set_prefetch(request, 1, &TEXT(prefetch), &error));
    TRY(cst_context_fetch(context, request, &results, &error));
    cst_release(predicate);
    cst_release(request);
    return results;
}

static uint64_t count_of(cst_context *context, const cst_entity *entity) {
    cst_fetch_request *request = NULL;
    uint64_t count = 0;
    TRY(cst_fetch_request_new(entity, &request, &error));
    TRY(cst_context_count(context, request, &count, &error));
    cst_release(request);
    return count;
}

static cst_object *object_at(const cst_results *results, size_t index) {
    cst_object *object = NULL;
    TRY(cst_results_get_object(results, index, &object, &error));
    return object;
}

static const char *text_of(const cst_object *object, cst_key key) {
    cst_value value;
    TRY(cst_object_get(object, key, &value, &error));
    return value.type == CST_STRING || value.type == CST_URI ? value.as.string.data : "";
}

static double number_at(const cst_object *object, const char *path) {
    cst_value value;
    TRY(cst_object_get_path(object, TEXT(path), &value, &error));
    return value.type == CST_INT      ? (double)value.as.integer
           : value.type == CST_DOUBLE ? value.as.real
           : value.type == CST_DECIMAL
               ? (double)value.as.decimal.mantissa[0] * (CST_DECIMAL_NEGATIVE(value.aux) ? -1 : 1)
               : 0;
}

static size_t members(const cst_object *object, cst_key key) {
    size_t count = 0;
    TRY(cst_object_member_count(object, key, &count, &error));
    return count;
}

static void set_text(cst_object *object, cst_key key, const char *text) {
    const cst_value value = {CST_STRING, 0, {.string = TEXT(text)}};
    TRY(cst_object_set(object, key, &value, &error));
}

/* ---- printing ---- */

struct table {
    size_t columns, rows, left_out;
    char cells[MAX_ROWS + 1][MAX_COLUMNS][CELL];
};

static void heading(const char *format, ...) {
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    printf("\n%s\n", text);
    for (size_t i = 0; i < strlen(text); i++)
        putchar('-');
    putchar('\n');
}

/* Returns the number of characters, not bytes. */
static size_t width_of(const char *text) {
    size_t width = 0;
    for (; *text; text++)
        width += ((unsigned char)*text & 0xC0) != 0x80;
    return width;
}

/* Adds a row; the first one is the header. Long cells are truncated at a whole character. */
static void add_row(struct table *table, const char *one, const char *two, const char *three) {
    const char *const given[MAX_COLUMNS] = {one, two, three};
    if (table->rows > MAX_ROWS) {
        table->left_out++;
        return;
    }
    for (size_t i = 0; i < MAX_COLUMNS && given[i]; i++) {
        char *cell = table->cells[table->rows][i];
        size_t size = strlen(given[i]);
        if (size < CELL) {
            memcpy(cell, given[i], size + 1);
        } else {
            size = CELL - 4;
            while (((unsigned char)given[i][size] & 0xC0) == 0x80)
                size--;
            memcpy(cell, given[i], size);
            memcpy(cell + size, "...", 4);
        }
        table->columns = i + 1;
    }
    table->rows++;
}

/* Prints a table. Columns of numbers are right-aligned. */
static void print_table(const struct table *table) {
    size_t widths[MAX_COLUMNS] = {0};
    bool right[MAX_COLUMNS] = {false};
    if (table->rows < 2) give_up("the table \"%s\" does not have rows", table->cells[0][0]);
    for (size_t c = 0; c < table->columns; c++) {
        right[c] = true;
        for (size_t r = 0; r < table->rows; r++) {
            size_t width = width_of(table->cells[r][c]);
            if (width > widths[c]) widths[c] = width;
            if (r > 0 && !isdigit((unsigned char)table->cells[r][c][0])) right[c] = false;
        }
    }
    for (size_t r = 0; r < table->rows; r++) {
        for (size_t c = 0; c < table->columns; c++) {
            const char *cell = table->cells[r][c];
            int padding = (int)(widths[c] - width_of(cell));
            if (right[c])
                printf("  %*s%s", padding, "", cell);
            else
                printf("  %s%*s", cell, c + 1 < table->columns ? padding : 0, "");
        }
        putchar('\n');
    }
    if (table->left_out > 0) printf("  ... and %zu more\n", table->left_out);
}

static const char *number_text(uint64_t number) {
    static char texts[4][24];
    static unsigned next;
    char *text = texts[next++ % 4];
    snprintf(text, sizeof texts[0], "%llu", (unsigned long long)number);
    return text;
}

static const char *megabytes(double kibibytes) {
    static char text[32];
    snprintf(text, sizeof text, "%.1f MB", kibibytes / KIBIBYTES_OF_A_MEGABYTE);
    return text;
}

/* ---- the report ---- */

struct section_size {
    const char *name;
    size_t packages;
    double size;
};

static int by_packages(const void *a, const void *b) {
    const struct section_size *one = a, *other = b;
    if (one->packages != other->packages) return one->packages < other->packages ? 1 : -1;
    return strcmp(one->name, other->name);
}

static void sections(const struct opened *store) {
    heading("Packages and their size by section");
    struct table table = {0};
    cst_results *results = fetch(store->context, store->model.section, NULL, 0, NULL, "name", "packages");
    size_t count = cst_results_count(results);
    struct section_size *sizes = calloc(count + 1, sizeof *sizes);
    if (!sizes) give_up("out of memory");
    for (size_t i = 0; i < count; i++) {
        const cst_object *section = object_at(results, i);
        sizes[i].name = text_of(section, store->model.section_key.name);
        sizes[i].packages = members(section, store->model.section_key.packages);
        sizes[i].size = number_at(section, "packages.@sum.installedSize");
    }
    qsort(sizes, count, sizeof *sizes, by_packages);
    add_row(&table, "section", "packages", "size");
    for (size_t i = 0; i < count; i++) {
        add_row(&table, sizes[i].name, number_text(sizes[i].packages), megabytes(sizes[i].size));
    }
    print_table(&table);
    free(sizes);
    cst_release(results);
}

static void most_depended_on(const struct opened *store) {
    const struct packages_model *m = &store->model;
    cst_results *packages = fetch(store->context, m->package, NULL, 0, NULL, "name", "dependents");
    const cst_object *most = NULL;
    size_t needed_by = 0;
    for (size_t i = 0; i < cst_results_count(packages); i++) {
        const cst_object *package = object_at(packages, i);
        size_t dependents = members(package, m->package_key.dependents);
        if (!most || dependents >= needed_by) {
            most = package;
            needed_by = dependents;
        }
    }
    if (!most || needed_by == 0) give_up("no package depends on another");
    heading("The most depended-on package is %s %s: %zu packages need it", text_of(most, m->package_key.name),
            text_of(most, m->package_key.version), needed_by);
    printf("The dependents larger than 1 MB, by size:\n");
    cst_value arguments[2] = {{CST_STRING, 0, {.string = TEXT(text_of(most, m->package_key.name))}},
                              {CST_INT, 0, {.integer = KIBIBYTES_OF_A_MEGABYTE}}};
    cst_results *needing = fetch(store->context, m->package, "ANY dependencies.name == %@ AND installedSize > %d", 2,
                                 arguments, "-installedSize", NULL);
    struct table table = {0};
    add_row(&table, "package", "size", "summary");
    for (size_t i = 0; i < cst_results_count(needing); i++) {
        const cst_object *package = object_at(needing, i);
        add_row(&table, text_of(package, m->package_key.name), megabytes(number_at(package, "installedSize")),
                text_of(package, m->package_key.summary));
    }
    print_table(&table);
    cst_release(needing);
    cst_release(packages);
}

static void maintainers_of_libraries(const struct opened *store) {
    const struct packages_model *m = &store->model;
    heading("Maintainers of a package in section 'libs'");
    cst_results *people =
        fetch(store->context, m->maintainer, "ANY packages.section.name == 'libs'", 0, NULL, "name", NULL);
    struct table table = {0};
    add_row(&table, "maintainer", "packages", "e-mail");
    for (size_t i = 0; i < cst_results_count(people); i++) {
        const cst_object *person = object_at(people, i);
        add_row(&table, text_of(person, m->maintainer_key.name),
                number_text(members(person, m->maintainer_key.packages)), text_of(person, m->maintainer_key.email));
    }
    print_table(&table);
    cst_release(people);
}

/* ---- changes, in a copy ---- */

static bool copy_file(const char *from, int to) {
    FILE *source = fopen(from, "rb");
    if (!source) return false;
    char buffer[65536];
    size_t size;
    bool done = true;
    while (done && (size = fread(buffer, 1, sizeof buffer, source)) > 0) {
        for (size_t at = 0; done && at < size;) {
            ssize_t written = write(to, buffer + at, size - at);
            done = written > 0;
            if (done) at += (size_t)written;
        }
    }
    done = done && !ferror(source);
    fclose(source);
    return done;
}

static void copy_store(const char *path) {
    int copy = mkstemp(copy_path);
    if (copy < 0) give_up("cannot create %s", copy_path);
    snprintf(wal_path, sizeof wal_path, "%s-wal", copy_path);
    snprintf(shm_path, sizeof shm_path, "%s-shm", copy_path);
    atexit(remove_copy);
    if (!copy_file(path, copy)) give_up("cannot copy %s", path);
    close(copy);
}

static void change_and_reopen(void) {
    heading("A change, a save, a reopen");
    static const char summary[] = "The largest essential package";
    struct opened store = open_store(copy_path, 0);
    cst_results *packages =
        fetch(store.context, store.model.package, "essential == YES", 0, NULL, "-installedSize", NULL);
    if (cst_results_count(packages) == 0) give_up("there is no essential package");
    cst_object *package = object_at(packages, 0);
    char name[CELL];
    struct table table = {0};
    snprintf(name, sizeof name, "%s", text_of(package, store.model.package_key.name));
    add_row(&table, "when", name, NULL);
    add_row(&table, "before", text_of(package, store.model.package_key.summary), NULL);
    set_text(package, store.model.package_key.summary, summary);
    TRY(cst_context_save(store.context, &error));
    cst_release(packages);
    close_store(&store);

    store = open_store(copy_path, 0);
    const cst_value argument = {CST_STRING, 0, {.string = TEXT(name)}};
    packages = fetch(store.context, store.model.package, "name == %@", 1, &argument, "name", NULL);
    if (cst_results_count(packages) == 0) give_up("%s is missing after the reopen", name);
    const char *found = text_of(object_at(packages, 0), store.model.package_key.summary);
    add_row(&table, "after", found, NULL);
    print_table(&table);
    if (strcmp(found, summary) != 0) give_up("the change was not saved");
    cst_release(packages);
    close_store(&store);
}

static void delete_with_cascade(void) {
    heading("Deleting a maintainer cascades to the packages");
    struct opened store = open_store(copy_path, 0);
    const struct packages_model *m = &store.model;
    cst_results *people = fetch(store.context, m->maintainer, NULL, 0, NULL, "name", NULL);
    cst_object *person = NULL;
    size_t packages = 0;
    for (size_t i = 0; i < cst_results_count(people); i++) { /* the maintainer with the fewest packages, at least two */
        cst_object *each = object_at(people, i);
        size_t count = members(each, m->maintainer_key.packages);
        if (count > 1 && (!person || count < packages)) {
            person = each;
            packages = count;
        }
    }
    if (!person) give_up("there is no maintainer of two packages");
    printf("  Deleting %s, who maintains %zu packages:\n", text_of(person, m->maintainer_key.name), packages);
    struct table table = {0};
    uint64_t before = count_of(store.context, m->package), people_before = count_of(store.context, m->maintainer);
    TRY(cst_context_delete(store.context, person, &error));
    TRY(cst_context_save(store.context, &error));
    cst_context *other = new_context(&store);
    uint64_t after = count_of(other, m->package);
    add_row(&table, "when", "packages", "maintainers");
    add_row(&table, "before", number_text(before), number_text(people_before));
    add_row(&table, "after", number_text(after), number_text(count_of(other, m->maintainer)));
    print_table(&table);
    if (after + packages != before) give_up("the deletion did not cascade");
    cst_release(other);
    cst_release(people);
    close_store(&store);
}

static void print_conflict(const cst_error *conflict) {
    printf("  The second save failed: %s\n", cst_error_message(conflict).data);
    for (size_t i = 0; i < cst_error_detail_count(conflict); i++) {
        const cst_error *detail = cst_error_detail_at(conflict, i);
        cst_string entity = cst_error_entity(detail), key = cst_error_key(detail), uri = cst_error_object_uri(detail);
        printf("    %s%s%s%s%s\n", entity.data ? entity.data : "", key.data ? "." : "", key.data ? key.data : "",
               uri.data ? " of " : "", uri.data ? uri.data : "");
        printf("    %s\n", cst_error_message(detail).data);
    }
}

static void resolve_a_conflict(void) {
    heading("Two contexts save the same package");
    static const char homepage[] = "https://example.org/first", summary[] = "Changed by the second context";
    struct opened store = open_store(copy_path, 0);
    const struct packages_model *m = &store.model;
    cst_context *one = store.context, *other = new_context(&store);
    cst_results *packages = fetch(one, m->package, NULL, 0, NULL, "name", NULL);
    if (cst_results_count(packages) == 0) give_up("there is no package");
    cst_object *mine = object_at(packages, 0), *theirs = NULL;
    cst_object_id *id = NULL;
    TRY(cst_object_copy_id(mine, &id, &error));
    TRY(cst_context_existing_object(other, id, &theirs, &error));
    printf("  %s has the summary \"%s\"\n", text_of(theirs, m->package_key.name),
           text_of(theirs, m->package_key.summary));
    set_text(mine, m->package_key.homepage, homepage);
    set_text(mine, m->package_key.summary, "Changed by the first context");
    TRY(cst_context_save(one, &error));
    set_text(theirs, m->package_key.summary, summary);
    if (cst_context_save(other, &error) != CST_E_CONFLICT) give_up("the second save did not report a conflict");
    print_conflict(error);
    cst_release(error);
    error = NULL;
    TRY(cst_object_refresh(theirs, true, &error));
    TRY(cst_context_save(other, &error));
    printf("  The context refreshed the package, kept its own change, and saved again:\n");
    struct table table = {0};
    cst_context *third = new_context(&store);
    cst_object *final = NULL;
    TRY(cst_context_existing_object(third, id, &final, &error));
    add_row(&table, "property", "now", NULL);
    add_row(&table, "homepage", text_of(final, m->package_key.homepage), NULL);
    add_row(&table, "summary", text_of(final, m->package_key.summary), NULL);
    print_table(&table);
    if (strcmp(table.cells[1][1], homepage) != 0 || strcmp(table.cells[2][1], summary) != 0) {
        give_up("one of the changes was lost");
    }
    cst_release(final);
    cst_release(third);
    cst_release(theirs);
    cst_release(id);
    cst_release(packages);
    cst_release(other);
    close_store(&store);
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: report STORE\n");
        return 2;
    }
    struct opened store = open_store(argv[1], CST_STORE_READ_ONLY);
    heading("Contents of the store");
    struct table table = {0};
    add_row(&table, "entity", "objects", NULL);
    add_row(&table, "Package", number_text(count_of(store.context, store.model.package)), NULL);
    add_row(&table, "Maintainer", number_text(count_of(store.context, store.model.maintainer)), NULL);
    add_row(&table, "Section", number_text(count_of(store.context, store.model.section)), NULL);
    print_table(&table);
    sections(&store);
    most_depended_on(&store);
    maintainers_of_libraries(&store);
    close_store(&store);

    copy_store(argv[1]);
    change_and_reopen();
    delete_with_cascade();
    resolve_a_conflict();
    return 0;
}
