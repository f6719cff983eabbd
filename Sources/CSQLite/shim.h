#pragma once
#include <sqlite3.h>

/* SQLITE_STATIC and SQLITE_TRANSIENT are casts that Swift does not import. A null address is an empty value, not
   NULL. */
static inline int cst_sqlite3_bind_text_static(sqlite3_stmt *s, int i, const char *p, int n) {
    return sqlite3_bind_text(s, i, p ? p : "", n, SQLITE_STATIC);
}
static inline int cst_sqlite3_bind_text_copy(sqlite3_stmt *s, int i, const char *p, int n) {
    return sqlite3_bind_text(s, i, p ? p : "", n, SQLITE_TRANSIENT);
}
static inline int cst_sqlite3_bind_blob_static(sqlite3_stmt *s, int i, const void *p, int n) {
    return sqlite3_bind_blob(s, i, p ? p : "", n, SQLITE_STATIC);
}
static inline int cst_sqlite3_bind_blob_copy(sqlite3_stmt *s, int i, const void *p, int n) {
    return sqlite3_bind_blob(s, i, p ? p : "", n, SQLITE_TRANSIENT);
}
static inline void cst_sqlite3_result_text_copy(sqlite3_context *c, const char *p, int n) {
    sqlite3_result_text(c, p ? p : "", n, SQLITE_TRANSIENT);
}
static inline void cst_sqlite3_result_blob_copy(sqlite3_context *c, const void *p, int n) {
    sqlite3_result_blob(c, p ? p : "", n, SQLITE_TRANSIENT);
}

/* Variadic, hence invisible to Swift: whether closing the last connection empties the write-ahead log. */
static inline int cst_sqlite3_checkpoint_on_close(sqlite3 *db, int on) {
    return sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, on ? 0 : 1, (int *)0);
}

/* While it is on, the database looks empty, and VACUUM makes it so. */
static inline int cst_sqlite3_reset_database(sqlite3 *db, int on) {
    return sqlite3_db_config(db, SQLITE_DBCONFIG_RESET_DATABASE, on, (int *)0);
}

/* What a file's schema may not do when the file comes from anywhere: write into shadow tables, call functions that are
   not harmless. */
static inline void cst_sqlite3_distrust(sqlite3 *db) {
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, (int *)0);
    sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, (int *)0);
}
/* Whether triggers of the file and of the connection run. */
static inline int cst_sqlite3_enable_triggers(sqlite3 *db, int on) {
    return sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, on, (int *)0);
}
static inline void cst_sqlite3_trust_schema(sqlite3 *db) {
    sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 1, (int *)0);
}
