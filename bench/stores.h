/* The workloads of each type of store; see stores.c. */
#ifndef STORES_H
#define STORES_H

#include <stdbool.h>

/* Runs store_save_TYPE, store_load_TYPE or store_query_TYPE with a new store. Returns false for another workload. */
bool run_store(const char *workload, const char *data, const char *path);

#endif
