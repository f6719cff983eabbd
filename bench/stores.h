/* What each type of store costs; see stores.c. */
#ifndef STORES_H
#define STORES_H

#include <stdbool.h>

/* Runs store_save_TYPE, store_load_TYPE or store_query_TYPE with a store of its own. False for another workload. */
bool run_store(const char *workload, const char *data, const char *path);

#endif
