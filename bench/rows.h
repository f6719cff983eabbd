/* The workloads of counts, groups and the projects of many employees; see rows.c. */
#ifndef ROWS_H
#define ROWS_H

#include <stdbool.h>

#include "host.h"

/* Runs W8, W11, W11_objects or W11_lazy. Returns false for another workload. */
bool run_rows(host *with, const char *workload);

#endif
