/* The workloads that change what is there; see changes.c. */
#ifndef CHANGES_H
#define CHANGES_H

#include <stdbool.h>

#include "host.h"

/* Runs a workload, on a store that is a copy. False when it is none of these. */
bool change(host *with, const char *workload);

#endif
