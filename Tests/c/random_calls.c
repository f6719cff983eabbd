/* Random calls: every function with random handles (live, freed, of the wrong type, NULL, garbage), keys, indexes,
 * strings, values. The only expectation is that the process survives.
 *
 * usage: random_calls [COUNT [SEED]]; the seed is printed, so that a crash can be reproduced.
 */
#include "calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { POOL = 256, CALLS_PER_WORLD = 2000, NEAR = 8 };

struct entry {
    void *handle;
    enum handle_type type;
    bool owned;
};

static struct entry pool[POOL];
static size_t pool_count;
static uint64_t seed, number_of_call;
static long long wanted = 200000;
static bool verbose;
static size_t outcomes[3]; /* done, expected outcome, failure */

static uint64_t next(void) { /* splitmix64 */
    uint64_t z = (seed += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}
static size_t below(size_t bound) { return (size_t)(next() % bound); }
static bool one_in(size_t n) { return below(n) == 0; }

/* Releases all locks of a context before its last handle is released: blocks on its queue would wait forever. */
static void unlock(void *handle) {
    cst_context *context = NULL;
    if (cst_document_context(handle, &context, NULL) == CST_OK) handle = context; /* borrowed from the document */
    while (cst_context_unlock(handle, NULL) == CST_OK)
        ;
}

/* Objects without a context retain each other: a cycle of them would leak. */
static void untie(const struct world *world, cst_object *object) {
    const struct company *c = &world->company;
    const cst_key relationships[] = {c->friends, c->reports,   c->reviews,       c->reviewers,  c->tasks,
                                     c->manager, c->employees, c->to_department, c->to_project, c->watcher};
    cst_context *context = NULL;
    if (cst_object_context(object, &context, NULL) != CST_NOT_FOUND) return;
    for (size_t i = 0; i < sizeof relationships / sizeof *relationships; i++) {
        const cst_value nothing = {CST_NULL, 0, {0}};
        if (cst_object_set_members(object, relationships[i], 0, NULL, NULL) < 0)
            cst_object_set(object, relationships[i], &nothing, NULL);
    }
}

static void let_go(const struct world *world, const struct entry *entry) {
    if (entry->type == TYPE_CONTEXT || entry->type == TYPE_DOCUMENT || entry->type == TYPE_NONE) unlock(entry->handle);
    if (entry->type == TYPE_OBJECT || entry->type == TYPE_NONE) untie(world, entry->handle);
    if (entry->owned) cst_release(entry->handle);
}

static void keep(const struct world *world, void *handle, enum handle_type type, bool owned) {
    if (!handle) return;
    if (pool_count < POOL) {
        pool[pool_count++] = (struct entry){handle, type, owned};
        return;
    }
    size_t place = below(POOL);
    let_go(world, &pool[place]);
    pool[place] = (struct entry){handle, type, owned};
}

static void *random_handle(const struct world *world, enum handle_type type) {
    switch (below(20)) {
    case 0:
        return NULL;
    case 1:
        return (void *)(uintptr_t)next();
    case 2:
        return (void *)((uintptr_t)world->live[type] ^ ((uintptr_t)1 << (40 + below(24))));
    case 3: /* any type, dead or alive */
        return pool_count ? pool[below(pool_count)].handle : NULL;
    case 4:
    case 5:
        if (world->second[type]) return world->second[type];
        break;
    case 6:
    case 7:
        if (world->second_draft[type]) return world->second_draft[type];
        if (world->draft[type]) return world->draft[type];
        break;
    case 8:
        if (type == TYPE_CONTEXT) return world->private_context;
        if (type == TYPE_OBJECT) return one_in(2) ? world->project : world->unattached;
        break;
    default:
        break;
    }
    for (int tries = 0; tries < 6 && pool_count; tries++) {
        const struct entry *entry = &pool[below(pool_count)];
        if (entry->type == type) return entry->handle;
    }
    return world->live[type];
}

static cst_string random_path(const struct world *world) {
    static char path[700];
    static const char *const names[] = {"world.sqlite",         "one.sqlite", "two.sqlite",
                                        "missing/three.sqlite", ".",          "text"};
    snprintf(path, sizeof path, "%s/%s", world->folder, names[below(6)]);
    return text(path);
}

static cst_string random_string(const struct world *world) {
    static const char *const words[] = {
        "name",
        "number",
        "level",
        "salary",
        "notes",
        "department",
        "department.name",
        "friends",
        "friends.@count",
        "friends.@sum.number",
        "manager.manager.name",
        "reviews.title",
        "title",
        "reviewers",
        "Employee",
        "Department",
        "Person",
        "fresh",
        "x",
        "",
        ".",
        "..",
        "@count",
        "%@",
        "%K == %@",
        "name == 'Ada'",
        "number > %d",
        "ANY friends.name LIKE 'A*'",
        "name MATCHES '(a+)+$'",
        "number BETWEEN {1, 2}",
        "name IN %@",
        "department == %@",
        "NOT (name CONTAINS[cd] 'd')",
        "name ==",
        "((((",
        "SUBQUERY(friends, $x, $x.number > 1).@count > 0",
        "'",
        "\"",
        "SQLite",
        "x-coredata:///Employee/p1",
        "first name",
        "1",
        "\xc3\xa9t\xc3\xa9",
        "\xff\xfe",
        "\xf0\x9f\x98\x80",
        "number ** 2 > 1",
        "number / 0 == 1",
        "1 == 1",
        "name; DROP TABLE ZPERSON",
        "Z_PK",
        "self",
        "SELF == %@",
        "entity",
        "objectID",
    };
    static char random_bytes[300], deep[20001];
    switch (below(12)) {
    case 0:
        for (size_t i = 0; i < sizeof random_bytes; i++)
            random_bytes[i] = (char)next();
        return text_of_size(random_bytes, below(sizeof random_bytes));
    case 1:
        memset(deep, one_in(2) ? '(' : '!', sizeof deep - 1);
        return text_of_size(deep, below(sizeof deep - 1));
    case 2:
        return text_of_size(NULL, one_in(2) ? 0 : below(9));
    case 3:
        return world->uri.data ? text_of_size(world->uri.data, below(world->uri.size + 1)) : text("");
    default: {
        const char *word = words[below(sizeof words / sizeof *words)];
        return one_in(4) ? text_of_size(word, below(strlen(word) + 1)) : text(word);
    }
    }
}

static cst_key random_key(const struct world *world) {
    const struct company *c = &world->company;
    const cst_key keys[] = {
        c->name,        c->level,   c->floor,     c->number,          c->salary,  c->rating,  c->factor,
        c->notes,       c->active,  c->hired,     c->photo,           c->badge,   c->site,    c->blob,
        c->scratch,     c->manager, c->friends,   c->to_department,   c->reports, c->reviews, c->title,
        c->reviewers,   c->tasks,   c->employees, c->department_name, CST_NO_KEY, 0,          c->name + 1,
        (cst_key)next()};
    return keys[below(sizeof keys / sizeof *keys)];
}

/* A store type without the required callbacks. */
static const cst_store_callbacks store_callbacks = {.struct_size = sizeof store_callbacks,
                                                    .kind = CST_STORE_INCREMENTAL};
static cst_row host_rows[1];

static cst_value random_value(const struct world *world) {
    static cst_value members[NEAR]; /* sometimes of themselves */
    static const cst_host_callbacks callbacks = {
        sizeof callbacks, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL};
    cst_value value;
    memset(&value, 0, sizeof value);
    value.type = one_in(20) ? (cst_type)next() : (cst_type)below(19);
    if (one_in(20)) value.aux = (uint32_t)next();
    switch (value.type) {
    case CST_BOOL:
        value.as.boolean = one_in(2);
        break;
    case CST_INT:
        value.as.integer = one_in(2) ? (int64_t)below(100) : (int64_t)next();
        break;
    case CST_DOUBLE:
    case CST_DATE: {
        uint64_t bits = next();
        if (one_in(2))
            memcpy(&value.as.real, &bits, sizeof bits); /* any pattern: NaN, infinities, subnormals */
        else
            value.as.real = (double)below(1000) / 8;
        break;
    }
    case CST_DECIMAL:
        value.aux = one_in(2) ? (uint32_t)next() : CST_DECIMAL_AUX(one_in(2), (int)below(20) - 10);
        value.as.decimal.mantissa[0] = next();
        value.as.decimal.mantissa[1] = one_in(3) ? next() : 0;
        break;
    case CST_STRING:
    case CST_URI:
        value.as.string = random_string(world);
        break;
    case CST_BYTES:
        value.as.bytes.data = (const uint8_t *)"0123456789";
        value.as.bytes.size = below(11);
        if (one_in(10)) value.as.bytes.data = NULL;
        break;
    case CST_UUID:
        memcpy(value.as.uuid, &seed, sizeof seed);
        break;
    case CST_OBJECT:
        value.as.object = random_handle(world, TYPE_OBJECT);
        break;
    case CST_OBJECT_ID:
        value.as.object_id = random_handle(world, TYPE_OBJECT_ID);
        break;
    case CST_ARRAY:
    case CST_SET:
    case CST_DICTIONARY:
        value.as.values = (cst_values){members, below(NEAR)};
        members[below(NEAR)] = one_in(4) ? value : (cst_value){CST_STRING, 0, {.string = text("name")}};
        break;
    case CST_HOST:
        value.as.host = (cst_host){one_in(9) ? NULL : &callbacks, members};
        break;
    case CST_HISTORY_TOKEN:
        value.as.history_token = random_handle(world, TYPE_HISTORY_TOKEN);
        break;
    case CST_EXPRESSION:
        value.as.expression = random_handle(world, TYPE_EXPRESSION);
        break;
    default:
        break;
    }
    return value;
}

static uint64_t random_scalar(const struct world *world, const struct parameter *parameter) {
    static const int types[] = {0, 100, 200, 300, 400, 500, 600, 700, 800, 900, 1000, 1100, 1200, 1800};
    if (strcmp(parameter->name, "timeout_ms") == 0 || strcmp(parameter->name, "milliseconds") == 0) return 0;
    if (strcmp(parameter->name, "key") == 0) return random_key(world);
    if (strcmp(parameter->name, "type") == 0 && !one_in(5)) return (uint64_t)types[below(14)];
    switch (below(8)) {
    case 0:
        return next();
    case 1:
        return UINT64_MAX;
    case 2:
        return UINT64_MAX >> below(64);
    default:
        return below(NEAR);
    }
}

static void fill_fetch(const struct world *world, struct storage *s) {
    for (int n = 0; n < NEAR; n++)
        s->out_handles[n] = random_handle(world, TYPE_STORE); /* no call fills them */
    s->fetch_options = (cst_fetch_options){
        .struct_size = one_in(4) ? below(sizeof s->fetch_options + 1) : sizeof s->fetch_options,
        .flags = (uint32_t)below(one_in(9) ? 1u << 12 : 1u << 8),
        .result_type = (uint32_t)below(one_in(9) ? 99 : 3),
        .nulls = (uint32_t)below(one_in(9) ? 99 : 2),
        .reserved = one_in(20),
        .entity = one_in(2) ? random_handle(world, TYPE_ENTITY) : NULL,
        .entity_name = one_in(3) ? random_string(world) : text_of_size(NULL, 0),
        .predicate = one_in(3) ? random_handle(world, TYPE_PREDICATE) : NULL,
        .sort_count = one_in(4) ? below(NEAR) : 0,
        .sort = s->sorts,
        .limit = next() >> below(64),
        .offset = next() >> below(64),
        .batch_size = one_in(4) ? next() >> below(64) : 0,
        .prefetch_count = one_in(4) ? below(NEAR) : 0,
        .prefetch = s->strings,
        .column_count = one_in(4) ? below(NEAR) : 0,
        .columns = s->columns,
        .group_by_count = one_in(6) ? below(NEAR) : 0,
        .group_by = s->strings,
        .having = one_in(6) ? random_handle(world, TYPE_PREDICATE) : NULL,
        .store_count = one_in(6) ? below(NEAR) : 0,
        .stores = one_in(6) ? (const cst_store *const *)(void *)s->out_handles : NULL,
    };
}

static void fill_history(const struct world *world, struct storage *s) {
    for (int n = 0; n < NEAR; n++)
        s->out_handles[n] = random_handle(world, TYPE_STORE); /* no call with these options fills them */
    s->history_options = (cst_history_options){
        .struct_size = one_in(4) ? below(sizeof s->history_options + 1) : sizeof s->history_options,
        .after = one_in(2) ? random_handle(world, TYPE_HISTORY_TOKEN) : NULL,
        .has_after_date = one_in(4),
        .omits_changes = one_in(4),
        .subject = (uint32_t)below(one_in(9) ? 99 : 2),
        .after_date = random_value(world).as.real,
        .predicate = one_in(3) ? random_handle(world, TYPE_PREDICATE) : NULL,
        .excluded_author = one_in(3) ? random_string(world) : text_of_size(NULL, 0),
        .store_count = one_in(4) ? below(NEAR) : 0,
        .stores = (cst_store *const *)(void *)s->out_handles,
        .sort_count = one_in(4) ? below(NEAR) : 0,
        .sort = s->sorts,
        .limit = one_in(3) ? (size_t)next() : below(NEAR),
        .batch_size = one_in(3) ? (size_t)next() : below(NEAR)};
    if (one_in(2)) s->sorts[0].key_path = text("transactionNumber");
}

/* The arguments of one call. Arrays have room for every count below NEAR. */
static void fill(const struct world *world, const struct call *call, union argument *arguments, struct storage *s) {
    memset(s, 0, sizeof *s);
    memset(arguments, 0, sizeof *arguments * MAX_PARAMETERS);
    for (int i = 0; i < MAX_ITEMS; i++) {
        s->values[i] = random_value(world);
        s->keys[i] = random_key(world);
        s->strings[i] = random_string(world);
        s->sorts[i] = (cst_sort){random_string(world), (uint32_t)below(one_in(9) ? 99 : 32), one_in(20)};
        if (one_in(3)) s->sorts[i].key_path = text("name");
    }
    s->statistics.struct_size = one_in(4) ? below(sizeof s->statistics + 1) : sizeof s->statistics;
    s->undo_state.struct_size = one_in(4) ? below(sizeof s->undo_state + 1) : sizeof s->undo_state;
    s->info.struct_size = one_in(4) ? below(sizeof s->info + 1) : sizeof s->info;
    s->predicate_info.struct_size = one_in(4) ? below(sizeof s->predicate_info + 1) : sizeof s->predicate_info;
    s->options.struct_size = one_in(4) ? below(sizeof s->options + 1) : sizeof s->options;
    s->options.flags = CST_STORE_NORMAL_SYNC | (one_in(4) ? (uint32_t)below(32) : 0);
    s->options.busy_timeout_ms = 1;
    s->options.cache_kb = (uint32_t)below(100);
    for (int i = 0; i < call->parameter_count; i++) {
        const struct parameter *p = &call->parameters[i];
        union argument *a = &arguments[i];
        switch (p->kind) {
        case KIND_HANDLE:
            a->pointer = random_handle(world, p->type);
            break;
        case KIND_ANY_HANDLE:
            a->pointer = one_in(3) ? random_handle(world, (enum handle_type)(1 + below(TYPE_COUNT - 1)))
                                   : (pool_count ? pool[below(pool_count)].handle : NULL);
            break;
        case KIND_HANDLES:
            for (int n = 0; n < NEAR; n++)
                s->handles[n] = random_handle(world, p->type);
            a->pointer = s->handles;
            break;
        case KIND_ERROR:
            a->pointer = &s->error;
            break;
        case KIND_OUT_HANDLE:
            a->pointer = &s->out_handle[i];
            break;
        case KIND_OUT_HANDLES:
            a->pointer = s->out_handles;
            break;
        case KIND_OUT:
            a->pointer = strcmp(p->name, "out_info") == 0         ? (void *)&s->info
                         : strcmp(p->name, "out_statistics") == 0 ? (void *)&s->statistics
                                                                  : (void *)s->out;
            if (strcmp(call->name, "cst_predicate_get_info") == 0) a->pointer = &s->predicate_info;
            if (strcmp(call->name, "cst_undo_manager_state") == 0) a->pointer = &s->undo_state;
            if (strcmp(p->name, "out_count") == 0) a->pointer = &s->out[MAX_ITEMS - 1];
            break;
        case KIND_ARROW_SCHEMA:
            a->pointer = &s->arrow_schema;
            break;
        case KIND_ARROW_ARRAY:
            a->pointer = &s->arrow_array;
            break;
        case KIND_ARROW_STREAM:
            a->pointer = &s->arrow_stream;
            break;
        case KIND_ARROW_SOURCE:
            cst_results_export_arrow_stream(world->live[TYPE_RESULTS], 0, 0, 0, NULL, &s->arrow_source, NULL);
            a->pointer = &s->arrow_source;
            break;
        case KIND_BUFFER:
            a->pointer = &s->buffer;
            break;
        case KIND_STORE_CALLBACKS:
            a->pointer = (void *)&store_callbacks;
            break;
        case KIND_HOST_ROWS:
            host_rows[0] =
                (cst_row){world->company.employee, random_value(world), (int64_t)below(9), 0, NULL, NULL, NULL};
            a->pointer = host_rows;
            break;
        case KIND_SCALAR:
            a->number = random_scalar(world, p);
            break;
        case KIND_COUNT:
            a->number = below(NEAR);
            break;
        case KIND_STRING:
            a->string =
                ((strstr(call->name, "store") || strstr(call->name, "document")) && strcmp(p->name, "path") == 0) ||
                        strcmp(p->name, "folder") == 0
                    ? random_path(world)
                    : random_string(world);
            if (strcmp(p->name, "type") == 0 && !one_in(5)) a->string = text("SQLite");
            if ((strcmp(call->name, "cst_model_new_from_text") == 0 || strcmp(call->name, "cst_model_add_text") == 0) &&
                !one_in(3))
                a->string =
                    text("{\"A\": {\"more\": \"to-many New inverse back\"}, \"New\": {\"back\": \"to-one A?\"}}");
            break;
        case KIND_BYTES:
            a->bytes = check_archive();
            if (one_in(2)) a->bytes.size = below(a->bytes.size);
            break;
        case KIND_STRINGS:
            a->pointer = s->strings;
            break;
        case KIND_COLUMNS:
            for (int n = 0; n < NEAR; n++) {
                s->columns[n].name = random_string(world);
                s->columns[n].expression = one_in(2) ? random_handle(world, TYPE_EXPRESSION) : NULL;
            }
            a->pointer = s->columns;
            break;
        case KIND_BATCH_COLUMNS:
            for (int n = 0; n < NEAR; n++)
                s->batch_columns[n] = (cst_batch_column){s->keys[n], CST_COLUMN_VALUE, s->values, NULL};
            a->pointer = s->batch_columns;
            break;
        case KIND_SORTS:
            a->pointer = s->sorts;
            break;
        case KIND_ELEMENTS:
            for (int n = 0; n < NEAR; n++) {
                *(one_in(4) ? &s->elements[n].expression : &s->elements[n].property) = random_string(world);
                s->elements[n].flags = (uint32_t)below(5);
            }
            a->pointer = s->elements;
            break;
        case KIND_KEYS:
            a->pointer = s->keys;
            break;
        case KIND_VALUE:
        case KIND_VALUES:
        case KIND_VARIABLES:
            a->pointer = s->values;
            break;
        case KIND_OPTIONS:
            a->pointer = &s->options;
            break;
        case KIND_FETCH_OPTIONS:
            fill_fetch(world, s);
            a->pointer = &s->fetch_options;
            break;
        case KIND_HISTORY_OPTIONS:
            fill_history(world, s);
            a->pointer = &s->history_options;
            break;
        case KIND_HISTORY_RETENTION:
            s->history_retention.struct_size = sizeof s->history_retention;
            s->history_retention.has_age = one_in(3);
            s->history_retention.has_count = one_in(2);
            s->history_retention.has_bytes = one_in(3);
            s->history_retention.age = random_value(world).as.real;
            s->history_retention.count = one_in(2) ? below(NEAR) : next();
            s->history_retention.bytes = one_in(2) ? below(1 << 20) : next();
            a->pointer = &s->history_retention;
            break;
        case KIND_USERDATA:
        case KIND_CALLBACKS:
        case KIND_CALL_SITE:
        case KIND_PROGRESS:
        case KIND_CONTAINER_LOAD:
        case KIND_CONTAINER_OPTIONS:
        case KIND_RECORDS:
        case KIND_FAILURE:
        case KIND_DOCUMENT_OBSERVE:
        case KIND_DESCRIPTION:
        case KIND_INACCESSIBLE:
        case KIND_CLASS_CALLBACKS:
        case KIND_HOOKS:
        case KIND_DESTROY:
        case KIND_PERFORM:
        case KIND_DONE:
        case KIND_INTERRUPT:
        case KIND_VALIDATE:
        case KIND_RESOLVE:
        case KIND_LOG:
        case KIND_WORDS:
        case KIND_PREDICATE_BLOCK:
        case KIND_EXPRESSION_BLOCK:
        case KIND_COMPARE:
        case KIND_FUNCTION:
        case KIND_CODE:
        case KIND_CONTEXT_OBSERVE:
        case KIND_OBJECT_OBSERVE:
        case KIND_COORDINATOR_OBSERVE:
        case KIND_UNDO_ACTION:
        case KIND_UNDO_OBSERVE:
        case KIND_FETCH_DONE:
        case KIND_BATCH_ROWS:
        case KIND_BATCH_OBJECT:
        case KIND_HISTORY:
        case KIND_HISTORY_ENDED:
        case KIND_HISTORY_PROGRESS:
        case KIND_OBSERVE_FETCH:
        case KIND_SECTION_NAME:
        case KIND_DELEGATE:
        case KIND_STAGE:
        case KIND_TRANSFORMATION:
        case KIND_POLICY_CALLBACKS:
        case KIND_HASHES:
        case KIND_GUARD_OPTIONS:
        case KIND_IMPORT_OPTIONS:
            break; /* from world_fill, see call_once */
        }
        bool is_pointer =
            p->kind != KIND_SCALAR && p->kind != KIND_COUNT && p->kind != KIND_STRING && p->kind != KIND_BYTES;
        if (is_pointer && one_in(50)) memset(a, 0, sizeof *a);
    }
}

static void release_exports(struct storage *s) {
    if (s->arrow_schema.release) s->arrow_schema.release(&s->arrow_schema);
    if (s->arrow_array.release) s->arrow_array.release(&s->arrow_array);
    if (s->arrow_stream.release) s->arrow_stream.release(&s->arrow_stream);
    if (s->arrow_source.release) s->arrow_source.release(&s->arrow_source);
}

/* Callbacks and their userdata: the world supplies them, because they cannot be random. */
static bool is_from_world(enum kind kind) {
    return kind == KIND_DESTROY || kind == KIND_PERFORM || kind == KIND_DONE || kind == KIND_INTERRUPT ||
           kind == KIND_VALIDATE || kind == KIND_USERDATA || kind == KIND_LOG || kind == KIND_WORDS ||
           kind >= KIND_CALLBACKS;
}

static void call_once(struct world *world) {
    static struct storage storage, ready;
    union argument arguments[MAX_PARAMETERS], callbacks[MAX_PARAMETERS];
    const struct call *call = &calls[below(call_count)];
    bool takes_handle_away = strcmp(call->name, "cst_release") == 0;
    fill(world, call, arguments, &storage);
    bool is_ready = false; /* once for each call: prepared values must be released */
    for (int i = 0; i < call->parameter_count; i++) {
        if (!is_from_world(call->parameters[i].kind)) continue;
        if (!is_ready) world_fill(world, call, callbacks, &ready);
        is_ready = true;
        if (!one_in(20)) arguments[i] = callbacks[i];
    }
    if (verbose) {
        fprintf(stderr, "%llu %s", (unsigned long long)number_of_call, call->name);
        for (int i = 0; i < call->parameter_count; i++) {
            enum kind kind = call->parameters[i].kind;
            if (kind == KIND_HANDLE || kind == KIND_ANY_HANDLE) fprintf(stderr, " %p", arguments[i].pointer);
        }
        fputc('\n', stderr);
    }
    if (takes_handle_away) {
        unlock(arguments[0].pointer);
        untie(world, arguments[0].pointer);
    }
    struct result result = call->invoke(arguments);
    outcomes[result.status == 0 ? 0 : result.status > 0 ? 1 : 2]++;
    for (int i = 0; i < call->parameter_count; i++) {
        const struct parameter *p = &call->parameters[i];
        if (p->kind == KIND_OUT_HANDLE) {
            if (verbose && storage.out_handle[i]) fprintf(stderr, "    returned %p\n", storage.out_handle[i]);
            keep(world, storage.out_handle[i], p->type, p->owned);
        }
        if (p->kind == KIND_OUT_HANDLES) {
            for (int n = 0; n < MAX_ITEMS; n++)
                keep(world, storage.out_handles[n], p->type, p->owned);
        }
    }
    if (strcmp(call->name, "cst_retain") == 0 && result.pointer) {
        enum handle_type type = TYPE_NONE;
        for (size_t i = 0; i < pool_count; i++) {
            if (pool[i].handle == result.pointer) type = pool[i].type;
        }
        keep(world, result.pointer, type, true);
    }
    if (takes_handle_away && result.status == CST_OK) { /* stays in the pool as a handle that may be dead */
        for (size_t i = 0; i < pool_count; i++) {
            if (pool[i].handle != arguments[0].pointer || !pool[i].owned) continue;
            pool[i].owned = false; /* one reference was released, the host may have others */
            break;
        }
    }
    for (int i = 0; i < call->parameter_count; i++) {
        if (!call->parameters[i].owned || call->parameters[i].kind != KIND_OUT) continue;
        if (strcmp(call->parameters[i].name, "out_result") == 0) {
            keep(world, ((cst_request_result *)(void *)storage.out)->value, TYPE_RESULTS, true);
            continue;
        }
        for (int n = 0; n < MAX_ITEMS - 1; n++) /* the last may be a count */
            cst_value_dispose(&storage.out[n]);
    }
    release_exports(&storage);
    release_exports(&ready);
    cst_buffer_dispose(&storage.buffer);
    if (storage.error && one_in(4))
        keep(world, storage.error, TYPE_ERROR, true);
    else
        cst_release(storage.error);
}

/* Closes a world after random calls: its handles may have been released already, which is not a failure here. After
 * that no handle must be left. */
static void abandon(struct world *world) {
    unlock(world->private_context);
    unlock(world->live[TYPE_DOCUMENT]);
    for (size_t i = 0; i < pool_count; i++)
        let_go(world, &pool[i]);
    pool_count = 0;
    for (int type = TYPE_ERROR; type < TYPE_COUNT; type++) {
        if (type == TYPE_ENTITY || type == TYPE_ATTRIBUTE || type == TYPE_RELATIONSHIP) continue;
        cst_release(world->live[type]);
        cst_release(world->second[type]);
    }
    cst_release(world->project);
    cst_release(world->unattached);
    cst_release(world->unsaved);
    cst_release(world->private_context);
    cst_release(world->main_context);
    cst_release(world->insertion);
    cst_main_queue_drain(0, NULL, NULL); /* waiting blocks retain their context */
    cst_release(world->draft[TYPE_MODEL]);
    cst_release(world->draft[TYPE_FETCH_REQUEST]);
    cst_buffer_dispose(&world->uri);
    cst_buffer_dispose(&world->archived);
}

static void the_process_survives_random_calls(void) {
    static struct world world;
    OK(cst_main_queue_bind(E));
    for (long long done = 0; done < wanted;) {
        static const char *const files[] = {"world", "one", "two"};
        for (int i = 0; i < 3; i++) {
            static const char *const tails[] = {".sqlite", ".sqlite-wal", ".sqlite-shm", ".sqlite-journal"};
            for (int t = 0; t < 4; t++) {
                char name[64];
                snprintf(name, sizeof name, "%s%s", files[i], tails[t]);
                remove(check_path(name));
            }
        }
        FILE *not_a_store = fopen(check_path("text"), "w");
        REQUIRE(not_a_store != NULL);
        fputs("this is no store", not_a_store);
        fclose(not_a_store);
        world_open(&world, check_path("."));
        world.keeps_store = true;
        for (int i = 0; i < CALLS_PER_WORLD && done < wanted; i++, done++, number_of_call++)
            call_once(&world);
        abandon(&world);
        /* A thread may still run an enqueued block, and enqueue its result on the main queue. */
        for (int i = 0; i < 100 && cst_handle_count() > 0; i++)
            cst_main_queue_drain(10, NULL, NULL);
    }
    printf("random calls: %llu made, %zu done, %zu expected outcomes, %zu refused\n",
           (unsigned long long)number_of_call, outcomes[0], outcomes[1], outcomes[2]);
}

int main(int argc, char **argv) {
    const char *environment = getenv("CORESTONE_RANDOM_SEED"), *count = getenv("CORESTONE_RANDOM_CALLS");
    if (count) wanted = atoll(count);
    if (argc > 1) wanted = atoll(argv[1]);
    seed = argc > 2      ? strtoull(argv[2], NULL, 0)
           : environment ? strtoull(environment, NULL, 0)
                         : (uint64_t)time(NULL) << 20 ^ (uint64_t)getpid();
    verbose = getenv("CORESTONE_RANDOM_VERBOSE") != NULL;
    check_begin(1, argv);
    printf("random_calls: seed %llu\n", (unsigned long long)seed);
    /* The random calls include the log functions, which would print many lines. */
    const char *const quiet[] = {"-com.apple.CoreData.Logging.stderr", "0"};
    cst_log_take_arguments(2, quiet, NULL, NULL);
    RUN(the_process_survives_random_calls);
    return check_end();
}
