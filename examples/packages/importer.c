/* Imports a Debian package database into a new store.
 *
 * usage: importer STORE [STATUS]
 *
 * STATUS is /var/lib/dpkg/status by default. Keys are looked up once, all packages are inserted in one call, and one
 * save writes everything.
 *
 * SPDX-License-Identifier: MIT
 */
#define _POSIX_C_SOURCE 200809L

#include "packages_model.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static cst_error *error; /* the error of the call that TRY checks */

static void die(const char *what, const char *about) {
    fprintf(stderr, "importer: %s: %s\n", what, about);
    exit(1);
}

static void *allocate(size_t count, size_t size) {
    void *memory = calloc(count ? count : 1, size);
    if (!memory) die("out of memory", "importer");
    return memory;
}

/* ---- a hash table from strings to handles ---- */

struct table {
    struct entry {
        const char *key;
        size_t size;
        cst_object *value;
    } *entries;
    size_t capacity, count; /* capacity is a power of two */
};

static struct entry *place(const struct table *table, const char *key, size_t size) {
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ (unsigned char)key[i]) * 1099511628211u;
    size_t at = (size_t)(hash ^ hash >> 32) & (table->capacity - 1);
    while (table->entries[at].key &&
           (table->entries[at].size != size || memcmp(table->entries[at].key, key, size) != 0)) {
        at = (at + 1) & (table->capacity - 1);
    }
    return &table->entries[at];
}

static cst_object *look_up(const struct table *table, const char *key, size_t size) {
    return table->capacity ? place(table, key, size)->value : NULL;
}

/* Adds an entry. The table does not copy the key, which must stay valid. */
static void put(struct table *table, const char *key, size_t size, cst_object *value) {
    if (table->count * 2 >= table->capacity) {
        struct table larger = {NULL, table->capacity ? table->capacity * 2 : 1024, 0};
        larger.entries = allocate(larger.capacity, sizeof *larger.entries);
        for (size_t i = 0; i < table->capacity; i++) {
            if (table->entries[i].key) {
                *place(&larger, table->entries[i].key, table->entries[i].size) = table->entries[i];
                larger.count++;
            }
        }
        free(table->entries);
        *table = larger;
    }
    struct entry *entry = place(table, key, size);
    if (!entry->key) table->count++;
    entry->key = key;
    entry->size = size;
    entry->value = value;
}

/* ---- the package database ---- */

enum { NAME, STATUS, VERSION, ARCHITECTURE, DESCRIPTION, HOMEPAGE, SIZE, ESSENTIAL, MAINTAINER, SECTION, FIELDS };
static const char *const field_names[FIELDS] = {"Package",     "Status",   "Version",        "Architecture",
                                                "Description", "Homepage", "Installed-Size", "Essential",
                                                "Maintainer",  "Section"};

struct database {
    char *text;
    struct package { /* NULL for a missing field; values include their continuation lines */
        char *field[FIELDS];
        char *depends, *pre_depends, *provides;
        cst_object *object;
    } *packages;
    size_t count, capacity;
};

static char *read_file(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) die("cannot read", path);
    size_t size = 0, capacity = 1 << 20, got;
    char *text = allocate(capacity + 1, 1);
    while ((got = fread(text + size, 1, capacity - size, file)) > 0) {
        size += got;
        if (size == capacity) {
            text = realloc(text, (capacity *= 2) + 1);
            if (!text) die("out of memory", path);
        }
    }
    if (ferror(file)) die("cannot read", path);
    fclose(file);
    text[size] = 0;
    return text;
}

static char *trim(char *text) {
    while (isspace((unsigned char)*text))
        text++;
    size_t size = strlen(text);
    while (size > 0 && isspace((unsigned char)text[size - 1]))
        text[--size] = 0;
    return text;
}

static void take_field(struct package *package, const char *name, char *value) {
    value = trim(value);
    if (strcmp(name, "Depends") == 0) package->depends = value;
    if (strcmp(name, "Pre-Depends") == 0) package->pre_depends = value;
    if (strcmp(name, "Provides") == 0) package->provides = value;
    for (size_t i = 0; i < FIELDS; i++) {
        if (strcmp(name, field_names[i]) == 0) package->field[i] = value;
    }
}

static bool is_installed(const struct package *package) {
    static const char wanted[] = " installed";
    const char *status = package->field[STATUS];
    size_t size = status ? strlen(status) : 0, tail = sizeof wanted - 1;
    return package->field[NAME] && size >= tail && strcmp(status + size - tail, wanted) == 0;
}

/* Splits the text in place into fields, and stores the installed packages. */
static void parse(struct database *database) {
    struct package blank, package;
    memset(&blank, 0, sizeof blank);
    package = blank;
    for (char *line = database->text, *next; line; line = next) {
        char *end = strchr(line, '\n');
        while (end && (end[1] == ' ' || end[1] == '\t'))
            end = strchr(end + 1, '\n'); /* continued */
        next = end ? end + 1 : NULL;
        if (end) *end = 0;
        char *colon = strchr(line, ':');
        if (*line && colon) {
            *colon = 0;
            take_field(&package, line, colon + 1);
        }
        if (!*line || !next) {
            if (is_installed(&package)) {
                if (database->count == database->capacity) {
                    database->capacity = database->capacity ? database->capacity * 2 : 1024;
                    database->packages = realloc(database->packages, database->capacity * sizeof *database->packages);
                    if (!database->packages) die("out of memory", "packages");
                }
                database->packages[database->count++] = package;
            }
            package = blank;
        }
    }
}

/* ---- objects ---- */

struct import {
    struct packages_model model;
    cst_context *context;
    struct table maintainers, sections, provided;
    size_t links;
};

static cst_value text_value(const char *text) {
    cst_value value = {CST_NULL, 0, {0}};
    if (text) {
        value.type = CST_STRING;
        value.as.string = TEXT(text);
    }
    return value;
}

static cst_value object_value(cst_object *object) {
    cst_value value = {CST_NULL, 0, {0}};
    if (object) {
        value.type = CST_OBJECT;
        value.as.object = object;
    }
    return value;
}

static cst_object *section_of(struct import *import, const char *name) {
    if (!name) return NULL;
    cst_object *section = look_up(&import->sections, name, strlen(name));
    if (section) return section;
    const cst_value value = text_value(name);
    TRY(cst_context_insert(import->context, import->model.section, &section, &error));
    TRY(cst_object_set(section, import->model.section_key.name, &value, &error));
    put(&import->sections, name, strlen(name), section);
    return section;
}

/* Returns the maintainer of a field: "Name <address>", or only a name. */
static cst_object *maintainer_of(struct import *import, const char *field) {
    if (!field) return NULL;
    size_t size = strlen(field);
    char *name = allocate(size + 1, 1), *email = NULL;
    memcpy(name, field, size);
    char *bracket = strchr(name, '<');
    if (bracket && name[size - 1] == '>') {
        name[size - 1] = 0;
        email = bracket + 1;
        while (bracket > name && strchr(" \t\"", bracket[-1]))
            bracket--;
        *bracket = 0;
        size_t quotes = strspn(name, "\"");
        memmove(name, name + quotes, strlen(name + quotes) + 1);
    }
    char *key = allocate(size + 2, 1); /* the table owns it */
    sprintf(key, "%s%s%s", name, email ? "\n" : "", email ? email : "");
    cst_object *maintainer = look_up(&import->maintainers, key, strlen(key));
    if (maintainer) {
        free(key);
    } else {
        const cst_key keys[] = {import->model.maintainer_key.name, import->model.maintainer_key.email};
        const cst_value values[] = {text_value(name), text_value(email)};
        TRY(cst_context_insert(import->context, import->model.maintainer, &maintainer, &error));
        TRY(cst_object_set_many(maintainer, 2, keys, values, &error));
        put(&import->maintainers, key, strlen(key), maintainer);
    }
    free(name);
    return maintainer;
}

enum { COLUMNS = 10 };

static void insert_packages(struct import *import, struct database *database) {
    const struct packages_model *m = &import->model;
    const cst_key keys[COLUMNS] = {m->package_key.name,      m->package_key.version,     m->package_key.architecture,
                                   m->package_key.summary,   m->package_key.homepage,    m->package_key.installed_size,
                                   m->package_key.essential, m->package_key.imported_at, m->package_key.maintainer,
                                   m->package_key.section};
    cst_value *values = allocate(database->count * COLUMNS, sizeof *values), *row = values;
    cst_object **objects = allocate(database->count, sizeof *objects);
    const cst_value now = {CST_DATE, 0, {.date = (double)time(NULL) - 978307200}};
    for (size_t i = 0; i < database->count; i++, row += COLUMNS) {
        char **field = database->packages[i].field;
        if (field[DESCRIPTION]) { /* only its first line is imported */
            field[DESCRIPTION][strcspn(field[DESCRIPTION], "\n")] = 0;
            field[DESCRIPTION] = trim(field[DESCRIPTION]);
        }
        row[0] = text_value(field[NAME]);
        row[1] = text_value(field[VERSION] ? field[VERSION] : "");
        row[2] = text_value(field[ARCHITECTURE] ? field[ARCHITECTURE] : "all");
        row[3] = text_value(field[DESCRIPTION] && *field[DESCRIPTION] ? field[DESCRIPTION] : NULL);
        row[4] = text_value(field[HOMEPAGE]);
        row[5].type = CST_INT;
        row[5].as.integer = field[SIZE] ? strtoll(field[SIZE], NULL, 10) : 0;
        row[6].type = CST_BOOL;
        row[6].as.boolean = field[ESSENTIAL] && strcmp(field[ESSENTIAL], "yes") == 0;
        row[7] = now;
        row[8] = object_value(maintainer_of(import, field[MAINTAINER]));
        row[9] = object_value(section_of(import, field[SECTION]));
    }
    TRY(cst_context_insert_many(import->context, m->package, database->count, COLUMNS, keys, values, objects, &error));
    for (size_t i = 0; i < database->count; i++)
        database->packages[i].object = objects[i];
    free(values);
    free(objects);
}

/* Returns the length of the name at the beginning of "name:any (>= 1) [amd64]". */
static size_t name_size(const char *text) { return strcspn(text, " \t\n(:[<,|"); }

static void provide(struct import *import, struct database *database) {
    for (size_t i = 0; i < database->count; i++) {
        const char *name = database->packages[i].field[NAME];
        put(&import->provided, name, strlen(name), database->packages[i].object);
    }
    for (size_t i = 0; i < database->count; i++) {
        for (const char *at = database->packages[i].provides; at && *at;) {
            at += strspn(at, " \t\n");
            size_t size = name_size(at);
            if (size > 0 && !look_up(&import->provided, at, size)) {
                put(&import->provided, at, size, database->packages[i].object);
            }
            at = strchr(at, ',');
            if (at) at++;
        }
    }
}

/* Adds the dependencies of a field, for "a | b, c" the first known package of a and b, and c. Returns the new count. */
static size_t add_dependencies(const struct import *import, const struct package *package, const char *field,
                               cst_object **found, size_t count, size_t capacity) {
    for (const char *group = field; group && *group && count < capacity;) {
        size_t size = strcspn(group, ",");
        for (const char *choice = group; choice && choice < group + size;) {
            choice += strspn(choice, " \t\n");
            cst_object *object = look_up(&import->provided, choice, name_size(choice));
            if (object) {
                bool known = object == package->object;
                for (size_t i = 0; i < count; i++)
                    known = known || found[i] == object;
                if (!known) found[count++] = object;
                break;
            }
            choice = strchr(choice, '|');
            if (choice) choice++;
        }
        group += size + (group[size] == ',');
    }
    return count;
}

static void link_dependencies(struct import *import, const struct database *database) {
    enum { CAPACITY = 4096 };
    static cst_object *found[CAPACITY];
    for (size_t i = 0; i < database->count; i++) {
        const struct package *package = &database->packages[i];
        size_t count = add_dependencies(import, package, package->pre_depends, found, 0, CAPACITY);
        count = add_dependencies(import, package, package->depends, found, count, CAPACITY);
        if (count > 0) {
            TRY(cst_object_add_members(package->object, import->model.package_key.dependencies, count, found, &error));
        }
        import->links += count;
    }
}

static void release_table(struct table *table, bool owns_keys) {
    for (size_t i = 0; i < table->capacity; i++) {
        cst_release(table->entries[i].value);
        if (owns_keys) free((char *)(uintptr_t)table->entries[i].key);
    }
    free(table->entries);
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(int argc, char **argv) {
    if (argc != 2 && argc != 3) {
        fprintf(stderr, "usage: importer STORE [STATUS]\n");
        return 2;
    }
    const char *status = argc == 3 ? argv[2] : "/var/lib/dpkg/status";
    const double start = seconds();
    struct database database = {read_file(status), NULL, 0, 0};
    parse(&database);
    if (database.count == 0) die("no installed package found in", status);

    struct import import;
    memset(&import, 0, sizeof import);
    cst_coordinator *coordinator = NULL;
    TRY(packages_model_load(&import.model, &error));
    TRY(cst_coordinator_new(import.model.model, &coordinator, &error));
    TRY(cst_coordinator_add_store(coordinator, TEXT("SQLite"), TEXT(argv[1]), NULL, NULL, &error));
    TRY(cst_context_new(coordinator, CST_QUEUE_CALLER, &import.context, &error));

    cst_fetch_request *everything = NULL;
    uint64_t before = 0;
    TRY(cst_fetch_request_new(import.model.package, &everything, &error));
    TRY(cst_context_count(import.context, everything, &before, &error));
    cst_release(everything);
    if (before > 0) die("the store already has packages; pass the path of a new store instead of", argv[1]);

    insert_packages(&import, &database);
    provide(&import, &database);
    link_dependencies(&import, &database);
    TRY(cst_context_save(import.context, &error));
    printf("C imported %s: %zu packages, %zu maintainers, %zu sections, %zu dependencies in %.2f s\n", status,
           database.count, import.maintainers.count, import.sections.count, import.links, seconds() - start);

    for (size_t i = 0; i < database.count; i++)
        cst_release(database.packages[i].object);
    release_table(&import.maintainers, true);
    release_table(&import.sections, false);
    free(import.provided.entries); /* its packages were released above */
    cst_release(import.context);
    cst_release(coordinator);
    cst_release(import.model.model);
    free(database.packages);
    free(database.text);
    return 0;
}
