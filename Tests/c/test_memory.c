/* Memory: objects that are faulted in and released repeatedly do not increase memory use.
 *
 * Live bytes are those of the C allocator (mallinfo2), which include the records of rows. The library's own count of
 * the records is checked too. Under a sanitizer, whose allocator mallinfo2 does not measure, only that count is
 * checked.
 *
 * SPDX-License-Identifier: MIT
 */
#include "company.h"

#include <malloc.h>
#include <stdio.h>

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

enum { OBJECTS = SANITIZED ? 10000 : 100000, ROUNDS = 10, BLOCK = 1000 };

struct memory {
    size_t allocated, rows;
};

static struct memory live(const struct company *c) {
    cst_statistics statistics = CST_STATISTICS_INIT;
    OK(cst_coordinator_statistics(c->coordinator, &statistics, E));
    struct mallinfo2 info = mallinfo2();
    return (struct memory){info.uordblks + info.hblkhd, statistics.row_bytes};
}

static void fill(const struct company *c) {
    static cst_value values[BLOCK * 2];
    cst_key keys[] = {c->name, c->number};
    for (int done = 0; done < OBJECTS; done += BLOCK) {
        for (int i = 0; i < BLOCK; i++) {
            values[2 * i] = value_text("somebody with a name of some length");
            values[2 * i + 1] = value_int(done + i);
        }
        OK(cst_context_insert_many(c->context, c->employee, BLOCK, 2, keys, values, NULL, E));
        OK(cst_context_save(c->context, E));
    }
}

/* Faults in every object one by one, by its ID, or by a fetch; reads a value; releases all. */
static void round_of_faults(const struct company *c, const cst_results *ids, bool by_id) {
    cst_results *fetched = by_id ? NULL : company_fetch(c->context, c->employee, NULL, NULL);
    size_t count = cst_results_count(by_id ? ids : fetched);
    REQUIRE(count == OBJECTS);
    int64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        cst_value value;
        cst_object *object = NULL;
        if (by_id) {
            cst_object_id *id = NULL;
            OK(cst_results_copy_id(ids, i, &id, E));
            OK(cst_context_object_with_id(c->context, id, &object, E));
            cst_release(id);
        } else {
            object = object_at(fetched, i);
        }
        OK(cst_object_get(object, c->number, &value, E));
        sum += value.as.integer;
        if (by_id) cst_release(object);
    }
    CHECK_INT((int64_t)OBJECTS * (OBJECTS - 1) / 2, sum);
    cst_release(fetched);
}

static void stays_level(const struct company *c, bool by_id) {
    cst_fetch_request *request = NULL;
    cst_results *ids = NULL;
    OK(cst_fetch_request_new(c->employee, &request, E));
    OK(cst_context_fetch_ids(c->context, request, &ids, E));
    cst_release(request);
    for (int i = 0; i < 2; i++)
        round_of_faults(c, ids, by_id);
    struct memory before = live(c);
    for (int i = 0; i < ROUNDS; i++)
        round_of_faults(c, ids, by_id);
    struct memory after = live(c);
    cst_release(ids);
    if (!SANITIZED && after.allocated > before.allocated + before.allocated / 20)
        check_fail(__FILE__, __LINE__, "%zu live bytes became %zu (rows: %zu, %zu)", before.allocated, after.allocated,
                   before.rows, after.rows);
    /* The row cache keeps unused rows up to a limit: 64 MB, or twice the size of the rows in use. */
    if (after.rows > before.rows + before.rows / 20 && after.rows > ((size_t)64 << 20))
        check_fail(__FILE__, __LINE__, "%zu bytes of rows became %zu", before.rows, after.rows);
    printf("    %d objects, %d times, %s: %.1f MB live before, %.1f after; rows %.1f and %.1f\n", OBJECTS, ROUNDS,
           by_id ? "by ID" : "fetched", (double)before.allocated / 1e6, (double)after.allocated / 1e6,
           (double)before.rows / 1e6, (double)after.rows / 1e6);
}

static void repeated_faulting_does_not_increase_memory_use(void) {
    struct company c = company_open(check_path("s.sqlite"));
    fill(&c);
    OK(cst_context_reset(c.context, E));
    stays_level(&c, false);
    stays_level(&c, true);
    company_close(&c);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(repeated_faulting_does_not_increase_memory_use);
    return check_end();
}
