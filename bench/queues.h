/* The workloads of queues and child contexts; see queues.c. */
#ifndef QUEUES_H
#define QUEUES_H

#include <stdbool.h>

#include "host.h"

/* Runs a workload without saving to the store. Returns false for a workload of another file. */
bool run_on_queues(const host *with, const char *workload);

#endif
