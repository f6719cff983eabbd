/* Several readers at the same time, each with its own connection. */
#include "crowd.h"
#include "raw.h"

static void work(reader *reader) {
    double ignored = 0;
    sqlite3_stmt *select;
    sqlite3 *own = connect_to(reader->shared);
    sqlite3_exec(own, "PRAGMA cache_size=-32768; PRAGMA temp_store=MEMORY", NULL, NULL, NULL);
    if (sqlite3_prepare_v2(own, QUERY("e.ZAGE > 40"), -1, &select, NULL) != SQLITE_OK) fail(sqlite3_errmsg(own));
    ask(select, 0, &ignored);
    crowd_ready();
    for (int i = 0; i < CROWD_QUERIES; i++)
        reader->rows += ask(select, i, &reader->check);
    sqlite3_finalize(select);
    sqlite3_close(own);
}

bool run_readers(const char *workload, const char *path) {
    return crowd_run("raw", workload, work, (void *)(uintptr_t)path);
}
