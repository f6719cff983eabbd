/* Damaged copies of stores that Apple's framework wrote: flipped bits, truncated files, pages in the wrong place,
 * bytes changed within the metadata and within the cached model. Opening and reading each returns objects or an
 * error: it never crashes, hangs, or uses more than 512 MB.
 *
 * Child processes do the work, each for a range of numbers. A seed and a number reproduce a damaged copy:
 *     damaged_stores --part SEED FIRST COUNT FOLDER
 * CORESTONE_DAMAGED_STORES sets the total number of copies.
 *
 * SPDX-License-Identifier: MIT
 */
#include "check.h"

#include <glob.h>
#include <signal.h>
#include <spawn.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

enum { MOST_STORES = 100, CHILDREN = 2, PART = 250, SECONDS = 10, ROWS = 20 };

/* AddressSanitizer keeps freed memory for a while, which counts too: 32 MB become 500. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#if defined(SANITIZED) || defined(__SANITIZE_ADDRESS__)
enum { MOST_KILOBYTES = 2048 * 1024 };
#else
enum { MOST_KILOBYTES = 512 * 1024 };
#endif

struct file {
    const char *path;
    uint8_t *bytes;
    size_t size;
};

static struct file stores[MOST_STORES];
static size_t store_count;
static unsigned long opened, refused, objects, values;

/* -------- what a child does ------------------------------------------------------------------------------------ */

static uint64_t dice;
static char current[600];

static uint64_t roll(void) { /* splitmix64 */
    uint64_t z = dice += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static size_t below(size_t bound) { return bound ? (size_t)(roll() % bound) : 0; }

static void say_where(int number) {
    ssize_t ignored = write(STDERR_FILENO, current, strlen(current));
    (void)ignored;
    _exit(number == SIGALRM ? 98 : 99);
}

static void load(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file || store_count == MOST_STORES) exit(2);
    struct file *store = &stores[store_count++];
    store->path = strdup(path);
    fseek(file, 0, SEEK_END);
    store->size = (size_t)ftell(file);
    rewind(file);
    store->bytes = malloc(store->size);
    if (!store->bytes || fread(store->bytes, 1, store->size, file) != store->size) exit(2);
    fclose(file);
}

static void put(const char *path, const uint8_t *bytes, size_t size) {
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(bytes, 1, size, file) != size || fclose(file) != 0) exit(2);
}

/* Flips bits, changes a run of bytes, moves a piece, or truncates the end. */
static size_t damage_bytes(uint8_t *bytes, size_t size) {
    if (size == 0) return 0;
    switch (below(4)) {
    case 0:
        for (size_t n = 1 + below(16); n > 0; n--)
            bytes[below(size)] ^= (uint8_t)(1u << below(8));
        return size;
    case 1:
        for (size_t at = below(size), n = 1 + below(24); n > 0 && at < size; n--)
            bytes[at++] = (uint8_t)roll();
        return size;
    case 2: {
        size_t from = below(size), to = below(size), count = 1 + below(size / 4 + 1);
        if (count > size - from) count = size - from;
        if (count > size - to) count = size - to;
        memmove(bytes + to, bytes + from, count);
        return size;
    }
    default:
        return below(size);
    }
}

/* A page over another one, from this store or from the next, two pages swapped, or the end cut at a page. */
static size_t damage_pages(uint8_t *bytes, size_t size, const struct file *other) {
    size_t page = size > 18 ? (size_t)bytes[16] << 8 | bytes[17] : 0;
    if (page < 512 || size < 2 * page) return damage_bytes(bytes, size);
    size_t pages = size / page, to = below(pages), from = below(pages);
    static uint8_t kept[65536];
    switch (below(4)) {
    case 0:
        memmove(bytes + to * page, bytes + from * page, page);
        return size;
    case 1:
        if (other->size >= page) memcpy(bytes + to * page, other->bytes + below(other->size / page) * page, page);
        return size;
    case 2:
        memcpy(kept, bytes + to * page, page);
        memcpy(bytes + to * page, bytes + from * page, page);
        memcpy(bytes + from * page, kept, page);
        return size;
    default:
        return page * (1 + below(pages));
    }
}

static uint8_t *inflated(const uint8_t *bytes, size_t size, size_t *out_size) {
    size_t room = 8 << 20;
    uint8_t *result = malloc(room);
    z_stream stream;
    memset(&stream, 0, sizeof stream);
    stream.next_in = (uint8_t *)(uintptr_t)bytes;
    stream.avail_in = (uInt)size;
    stream.next_out = result;
    stream.avail_out = (uInt)room;
    if (!result || inflateInit2(&stream, -15) != Z_OK) exit(2);
    inflate(&stream, Z_FINISH);
    *out_size = stream.total_out;
    inflateEnd(&stream);
    return result;
}

static uint8_t *deflated(const uint8_t *bytes, size_t size, size_t *out_size) {
    z_stream stream;
    memset(&stream, 0, sizeof stream);
    if (deflateInit2(&stream, 1, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) != Z_OK) exit(2);
    size_t room = deflateBound(&stream, size) + 64;
    uint8_t *result = malloc(room);
    if (!result) exit(2);
    stream.next_in = (uint8_t *)(uintptr_t)bytes;
    stream.avail_in = (uInt)size;
    stream.next_out = result;
    stream.avail_out = (uInt)room;
    deflate(&stream, Z_FINISH);
    *out_size = stream.total_out;
    deflateEnd(&stream);
    return result;
}

/* Damages the value of the one row of a table in the file, within its compression if it has any. */
static void damage_value(const char *path, const char *table, const char *column, bool is_packed) {
    sqlite3 *database = NULL;
    sqlite3_stmt *statement = NULL;
    char sql[200];
    if (sqlite3_open(path, &database) != SQLITE_OK) exit(2);
    snprintf(sql, sizeof sql, "SELECT CAST(%s AS BLOB) FROM %s LIMIT 1", column, table);
    if (sqlite3_prepare_v2(database, sql, -1, &statement, NULL) == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW &&
        sqlite3_column_bytes(statement, 0) > 0) {
        size_t size = (size_t)sqlite3_column_bytes(statement, 0);
        uint8_t *bytes = NULL;
        if (is_packed) {
            size_t expanded = 0;
            uint8_t *model = inflated(sqlite3_column_blob(statement, 0), size, &expanded);
            expanded = damage_bytes(model, expanded);
            bytes = deflated(model, expanded, &size);
            free(model);
        } else {
            bytes = malloc(size);
            if (!bytes) exit(2);
            memcpy(bytes, sqlite3_column_blob(statement, 0), size);
            size = damage_bytes(bytes, size);
        }
        sqlite3_finalize(statement);
        snprintf(sql, sizeof sql, "UPDATE %s SET %s = ?", table, column);
        sqlite3_prepare_v2(database, sql, -1, &statement, NULL);
        sqlite3_bind_blob(statement, 1, bytes, (int)size, SQLITE_TRANSIENT);
        sqlite3_step(statement);
        free(bytes);
    }
    sqlite3_finalize(statement);
    sqlite3_close(database);
}

static void damage(const char *path) {
    const struct file *store = &stores[below(store_count)];
    snprintf(current + strlen(current), 300, "%s\n", store->path);
    uint8_t *bytes = malloc(store->size);
    if (!bytes) exit(2);
    memcpy(bytes, store->bytes, store->size);
    size_t size = store->size, kind = below(8);
    if (kind < 2) size = damage_bytes(bytes, size);
    if (kind == 2 || kind == 3) size = damage_pages(bytes, size, &stores[below(store_count)]);
    if (kind >= 4 && size > 19) bytes[18] = bytes[19] = 1; /* so that plain SQLite leaves no log file */
    put(path, bytes, size);
    free(bytes);
    if (kind == 4) damage_value(path, "Z_METADATA", "Z_PLIST", false);
    if (kind == 5) damage_value(path, "Z_MODELCACHE", "Z_CONTENT", false);
    if (kind >= 6) damage_value(path, "Z_MODELCACHE", "Z_CONTENT", true);
}

static void read_object(cst_object *object, const cst_entity *entity) {
    objects++;
    for (size_t i = 0; i < cst_entity_property_count(entity); i++) {
        cst_property_info info = CST_PROPERTY_INFO_INIT;
        if (cst_entity_property_at(entity, i, &info, NULL) != CST_OK) continue;
        cst_value value;
        size_t count = 0;
        if (info.flags & CST_PROPERTY_TO_MANY) {
            cst_object_member_count(object, info.key, &count, NULL);
        } else if (cst_object_get(object, info.key, &value, NULL) == CST_OK && value.type == CST_OBJECT) {
            uint32_t state = 0;
            cst_object_state(value.as.object, &state, NULL);
        }
        values++;
    }
}

static void read_store(const char *path) {
    cst_coordinator *coordinator = NULL;
    cst_context *context = NULL;
    cst_model *model = NULL;
    cst_error *error = NULL;
    cst_status status = cst_coordinator_open_store(text(path), NULL, NULL, &coordinator, NULL, &error);
    if (status != CST_OK) {
        refused++;
        cst_string file = cst_error_file(error), message = cst_error_message(error);
        if (status == CST_E_INTERNAL || !file.data || strcmp(file.data, path) != 0 || !message.size) {
            fprintf(stderr, "%s    %s: %s\n", current, check_status_name(status), message.data ? message.data : "");
            exit(97);
        }
        cst_release(error);
        return;
    }
    opened++;
    cst_coordinator_model(coordinator, &model, NULL);
    cst_context_new(coordinator, CST_QUEUE_CALLER, &context, NULL);
    for (size_t i = 0; i < cst_model_entity_count(model); i++) {
        cst_entity *entity = NULL;
        cst_fetch_request *request = NULL;
        cst_results *results = NULL;
        cst_model_entity_at(model, i, &entity, NULL);
        cst_fetch_request_new(entity, &request, NULL);
        cst_fetch_request_set_limit(request, ROWS, NULL);
        if (cst_context_fetch(context, request, &results, NULL) == CST_OK) {
            for (size_t n = 0; n < cst_results_count(results); n++) {
                cst_object *object = NULL;
                cst_entity *concrete = NULL;
                if (cst_results_get_object(results, n, &object, NULL) != CST_OK) continue;
                if (cst_object_entity(object, &concrete, NULL) == CST_OK) read_object(object, concrete);
            }
        }
        cst_release(results);
        cst_release(request);
    }
    cst_release(context);
    cst_release(coordinator);
}

static int part(uint64_t seed, unsigned long first, unsigned long count, const char *folder) {
    char path[600];
    snprintf(path, sizeof path, "%s/damaged%lu.sqlite", folder, first);
    const int fatal[] = {SIGALRM, SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGTRAP};
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++)
        signal(fatal[i], say_where);
    for (unsigned long n = first; n < first + count; n++) {
        dice = seed ^ n * 0xd1342543de82ef95u;
        snprintf(current, 200, "damage %lu of seed %llu: ", n, (unsigned long long)seed);
        damage(path);
        alarm(SECONDS);
        read_store(path);
        alarm(0);
    }
    unlink(path);
    if (cst_handle_count() != 0) {
        fprintf(stderr, "%zu handles leaked by damages %lu to %lu of seed %llu\n", cst_handle_count(), first,
                first + count - 1, (unsigned long long)seed);
        return 96;
    }
    printf("%lu %lu %lu %lu\n", opened, refused, objects, values);
    return 0;
}

/* -------- the test ---------------------------------------------------------------------------------------------- */

static glob_t found;
static const char *program;

static FILE *start(uint64_t seed, unsigned long first, unsigned long count, const char *folder) {
    char command[1500];
    snprintf(command, sizeof command, "exec '%s' --part %llu %lu %lu '%s'", program, (unsigned long long)seed, first,
             count, folder);
    return popen(command, "r");
}

static void finish(FILE *child, unsigned long first) {
    unsigned long part_opened = 0, part_refused = 0, part_objects = 0, part_values = 0;
    int read = fscanf(child, "%lu %lu %lu %lu", &part_opened, &part_refused, &part_objects, &part_values);
    int status = pclose(child);
    if (status != 0 || read != 4) {
        const char *why = WIFSIGNALED(status)         ? "was killed"
                          : WEXITSTATUS(status) == 98 ? "took longer than 10 s"
                          : WEXITSTATUS(status) == 97 ? "returned an error without file or reason"
                          : WEXITSTATUS(status) == 96 ? "leaked handles"
                                                      : "crashed";
        check_fail(__FILE__, __LINE__, "the part from damage %lu on %s (status %d)", first, why, status);
    }
    opened += part_opened;
    refused += part_refused;
    objects += part_objects;
    values += part_values;
}

static void damaged_stores_return_objects_or_errors(void) {
    if (found.gl_pathc == 0) {
        const char *required = getenv("CORESTONE_REQUIRE_FIXTURES");
        REQUIRE(!required || strcmp(required, "1") != 0);
        check_skip("no fixtures; set CORESTONE_FIXTURES");
    }
    const char *wanted = getenv("CORESTONE_DAMAGED_STORES"), *from = getenv("CORESTONE_SEED");
    unsigned long total = wanted ? strtoul(wanted, NULL, 10) : 6000;
    uint64_t seed = from ? strtoull(from, NULL, 10) : 20010101;
    FILE *children[CHILDREN] = {NULL};
    unsigned long firsts[CHILDREN] = {0};
    char folder[500];
    snprintf(folder, sizeof folder, "%s", check_path("."));
    size_t turn = 0;
    for (unsigned long first = 0; first < total; first += PART, turn++) {
        size_t place = turn % CHILDREN;
        if (children[place]) finish(children[place], firsts[place]);
        firsts[place] = first;
        children[place] = start(seed, first, total - first < PART ? total - first : PART, folder);
        REQUIRE(children[place] != NULL);
    }
    for (size_t i = 0; i < CHILDREN; i++) {
        if (children[i]) finish(children[i], firsts[i]);
    }
    struct rusage usage;
    getrusage(RUSAGE_CHILDREN, &usage);
    printf(
        "damaged stores: %lu damages of %zu stores, seed %llu: %lu opened (%lu objects, %lu values), %lu refused, at "
        "most %ld MB\n",
        total, found.gl_pathc, (unsigned long long)seed, opened, objects, values, refused, usage.ru_maxrss / 1024);
    CHECK(usage.ru_maxrss < MOST_KILOBYTES);
    CHECK(opened > total / 10 && refused > total / 10);
}

int main(int argc, char **argv) {
    const char *fixtures = getenv("CORESTONE_FIXTURES");
    char pattern[1000];
    snprintf(pattern, sizeof pattern, "%s/stores/*/*", fixtures ? fixtures : "../../../shared/fixtures");
    glob(pattern, 0, NULL, &found);
    if (argc == 6 && strcmp(argv[1], "--part") == 0) {
        for (size_t i = 0; i < found.gl_pathc; i++)
            load(found.gl_pathv[i]);
        if (store_count == 0) return 2;
        return part(strtoull(argv[2], NULL, 10), strtoul(argv[3], NULL, 10), strtoul(argv[4], NULL, 10), argv[5]);
    }
    program = argv[0];
    check_begin(argc, argv);
    RUN(damaged_stores_return_objects_or_errors);
    globfree(&found);
    return check_end();
}
