/* The insertion of the employees with one batch request; see batch.c. */
#ifndef BATCH_H
#define BATCH_H

#include "host.h"

/* Inserts the employees of `data` and reports the time. The store must be empty. */
void insert_batch(const host *with, const char *data);

#endif
