/* The workloads of several readers at the same time; see readers.c. */
#ifndef READERS_H
#define READERS_H

#include <stdbool.h>

#include "host.h"

/* Runs readers_1, readers_2 or readers_4. Returns false for another workload. */
bool run_readers(host *with, const char *workload);

#endif
