/* Misuse of data: invalid UTF-8 and null strings for every string, counts without arrays; userdata is destroyed
 * exactly once.
 *
 * SPDX-License-Identifier: MIT
 */
#include "expect.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static const struct {
    const char *data;
    size_t size;
} bad_texts[] = {
    {"\xff", 1},
    {"abc\xc3", 4},          /* truncated */
    {"\xe2\x82", 2},         /* truncated */
    {"\xc0\xaf", 2},         /* overlong */
    {"\xed\xa0\x80", 3},     /* a surrogate */
    {"\xf4\x90\x80\x80", 4}, /* beyond U+10FFFF */
    {"\x80", CST_NUL},       /* a continuation byte alone */
    {"name\xf0\x9f\x98", CST_NUL},
    {"12345678901234567890123456789012345678901234567890123456789\xfe", CST_NUL},
};

static void bad_utf8(struct world *world, const struct call *call) {
    union argument arguments[MAX_PARAMETERS];
    struct storage storage;
    for (int i = 0; i < call->parameter_count; i++) {
        const struct parameter *p = &call->parameters[i];
        for (size_t n = 0; n < sizeof bad_texts / sizeof *bad_texts; n++) {
            cst_string bad = text_of_size(bad_texts[n].data, bad_texts[n].size);
            world_renew_draft(world);
            world_fill(world, call, arguments, &storage);
            if (p->kind == KIND_STRING)
                arguments[i].string = bad;
            else if (p->kind == KIND_STRINGS)
                storage.strings[0] = bad;
            else if (p->kind == KIND_SORTS)
                storage.sorts[0].key_path = bad;
            else if (p->kind == KIND_VALUE || p->kind == KIND_VALUES)
                storage.values[0] = (cst_value){CST_STRING, 0, {.string = bad}};
            else {
                world_clean(call, arguments, &storage, (struct result){0, 0, NULL, {NULL, 0}});
                if (p->kind == KIND_ANY_HANDLE) cst_release(arguments[i].pointer);
                break;
            }
            char what[32];
            snprintf(what, sizeof what, "bad UTF-8 number %zu", n);
            expect_failure(call, p, what, CST_E_INVALID_UTF8, arguments, &storage);
        }
    }
}

static void invalid_utf8_is_refused_in_every_string(void) {
    struct world world;
    world_open(&world, check_path("."));
    for (size_t i = 0; i < call_count; i++) {
        if (strcmp(calls[i].name, "cst_retain") != 0 && strcmp(calls[i].name, "cst_release") != 0) {
            bad_utf8(&world, &calls[i]);
        }
    }
    world_close(&world);
}

/* A null string is refused or means a missing value; it never crashes. */
static void null_strings_do_not_crash(void) {
    struct world world;
    union argument arguments[MAX_PARAMETERS];
    struct storage storage;
    static const cst_string nulls[] = {{NULL, 0}, {NULL, 5}, {NULL, CST_NUL}};
    world_open(&world, check_path("."));
    for (size_t i = 0; i < call_count; i++) {
        const struct call *call = &calls[i];
        for (int k = 0; k < call->parameter_count; k++) {
            const struct parameter *p = &call->parameters[k];
            if (p->kind != KIND_STRING && p->kind != KIND_STRINGS && p->kind != KIND_SORTS) continue;
            for (size_t n = 0; n < sizeof nulls / sizeof *nulls; n++) {
                world_renew_draft(&world);
                world_fill(&world, call, arguments, &storage);
                if (p->kind == KIND_STRING)
                    arguments[k].string = nulls[n];
                else if (p->kind == KIND_STRINGS)
                    storage.strings[0] = nulls[n];
                else
                    storage.sorts[0].key_path = nulls[n];
                struct result result = call->invoke(arguments);
                cases++;
                cst_status status = result.status;
                /* Without a path it is the newest backup, and the store does not have backups. */
                if (status == CST_E_STORE_IO && strcmp(p->name, "backup") == 0) status = CST_OK;
                if (status < 0 && status != CST_E_INVALID_ARGUMENT && status != CST_E_MODEL &&
                    status != CST_E_PREDICATE_SYNTAX) {
                    complain(call, p, "a null string", check_status_name(status));
                }
                world_clean(call, arguments, &storage, result);
            }
        }
    }
    world_close(&world);
}

static void destroy_runs_once_after_success(void) {
    struct world world;
    union argument arguments[MAX_PARAMETERS];
    struct storage storage;
    int expected = 0;
    world_open(&world, check_path("."));
    destroy_count = 0;
    for (size_t i = 0; i < call_count; i++) {
        if (!takes_destroy(&calls[i])) continue;
        world_fill(&world, &calls[i], arguments, &storage);
        struct result result = calls[i].invoke(arguments);
        CHECK_INT(CST_OK, result.status);
        world_clean(&calls[i], arguments, &storage, result);
        expected++;
        cases++;
    }
    world_close(&world);
    const struct timespec pause = {0, 1000 * 1000};
    for (int i = 0; i < 60000 && destroy_count < expected; i++)
        nanosleep(&pause, NULL);
    CHECK(expected >= 3);
    CHECK_INT(expected, destroy_count);
}

static void huge_counts_without_arrays_are_refused(void) {
    struct world world;
    union argument arguments[MAX_PARAMETERS];
    struct storage storage;
    world_open(&world, check_path("."));
    for (size_t i = 0; i < call_count; i++) {
        const struct call *call = &calls[i];
        bool has_array = false;
        world_renew_draft(&world);
        world_fill(&world, call, arguments, &storage);
        for (int k = 0; k < call->parameter_count; k++) {
            switch (call->parameters[k].kind) {
            case KIND_STRINGS:
            case KIND_SORTS:
            case KIND_KEYS:
            case KIND_VALUES:
            case KIND_HANDLES:
                arguments[k].pointer = NULL;
                has_array = true;
                break;
            case KIND_COUNT:
                arguments[k].number = UINT64_MAX;
                break;
            default:
                break;
            }
        }
        if (has_array) {
            expect_failure(call, NULL, "a huge count of nothing", CST_E_INVALID_ARGUMENT, arguments, &storage);
        } else {
            world_clean(call, arguments, &storage, (struct result){0, 0, NULL, {NULL, 0}});
            for (int k = 0; k < call->parameter_count; k++) {
                if (call->parameters[k].kind == KIND_ANY_HANDLE) cst_release(arguments[k].pointer);
            }
        }
    }
    world_close(&world);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(invalid_utf8_is_refused_in_every_string);
    RUN(null_strings_do_not_crash);
    RUN(destroy_runs_once_after_success);
    RUN(huge_counts_without_arrays_are_refused);
    printf("misuse_data: %zu functions, %zu deliberate cases\n", call_count, cases);
    return check_end();
}
