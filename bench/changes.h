/* The workloads that change existing objects; see changes.c. */
#ifndef CHANGES_H
#define CHANGES_H

#include <stdbool.h>

#include "host.h"

/* Runs a workload on a store, which must be a copy. Returns false for a workload of another file. */
bool change(host *with, const char *workload);

#endif
