/* The employees as one batch request; see batch.c. */
#ifndef BATCH_H
#define BATCH_H

#include "host.h"

/* Into an empty store. */
void insert_batch(const host *with, const char *data);

#endif
