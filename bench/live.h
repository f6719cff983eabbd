/* The workload of results controllers; see live.c. */
#ifndef LIVE_H
#define LIVE_H

#include <stdbool.h>

#include "host.h"

/* Runs a workload, and saves nothing in the store. False when it is not this one. */
bool run_live(const host *with, const char *workload);

#endif
