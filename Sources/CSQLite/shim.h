#pragma once
#include <sqlite3.h>

/* SQLITE_STATIC and SQLITE_TRANSIENT are casts that Swift does not import. A null pointer stands for an empty value,
   not for NULL. */
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

/* Sets whether closing the last connection checkpoints the write-ahead log. Swift does not import sqlite3_db_config,
   which is variadic. */
static inline int cst_sqlite3_checkpoint_on_close(sqlite3 *db, int on) {
    return sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, on ? 0 : 1, (int *)0);
}

/* While the option is on, the database appears empty, and VACUUM erases it. */
static inline int cst_sqlite3_reset_database(sqlite3 *db, int on) {
    return sqlite3_db_config(db, SQLITE_DBCONFIG_RESET_DATABASE, on, (int *)0);
}

/* Restricts a connection to an untrusted file.
 *
 * SQL cannot write to shadow tables, and the file's schema cannot call functions that are not marked as innocuous. */
static inline void cst_sqlite3_distrust(sqlite3 *db) {
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, (int *)0);
    sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, (int *)0);
}
/* Sets whether triggers of the database files run. TEMP triggers always run since SQLite 3.35. */
static inline int cst_sqlite3_enable_triggers(sqlite3 *db, int on) {
    return sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, on, (int *)0);
}
static inline void cst_sqlite3_trust_schema(sqlite3 *db) {
    sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 1, (int *)0);
}
