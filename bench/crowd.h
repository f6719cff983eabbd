/* Several threads that do the same work at the same time, for the workloads readers_1, readers_2 and readers_4. */
#ifndef CROWD_H
#define CROWD_H

#include <stdbool.h>

#include "company.h"

enum { CROWD_MOST = 4, CROWD_QUERIES = 500 / BENCH_SCALE };

/* One thread and its results. crowd_run adds the results of all threads. */
typedef struct reader {
    void *shared; /* data of the program, the same for all threads */
    int number;
    long rows;
    double check;
} reader;

/* Prepares the reader (not timed), calls crowd_ready once, then does the work that is timed. */
typedef void (*crowd_work)(reader *reader);
void crowd_ready(void);

/* Runs readers_N on N threads and reports the time. Returns false for another workload. */
bool crowd_run(const char *peer, const char *workload, crowd_work work, void *shared);

#endif
