/* The workloads of queues and of contexts on contexts; see queues.c. */
#ifndef QUEUES_H
#define QUEUES_H

#include <stdbool.h>

#include "host.h"

/* Runs a workload, and saves nothing in the store. False when it is none of these. */
bool run_on_queues(const host *with, const char *workload);

#endif
