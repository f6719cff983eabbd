/* The workload of results controllers; see live.c. */
#ifndef LIVE_H
#define LIVE_H

#include <stdbool.h>

#include "host.h"

/* Runs the workload without saving. Returns false for another workload. */
bool run_live(const host *with, const char *workload);

#endif
