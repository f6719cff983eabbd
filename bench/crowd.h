/* Some threads that do the same work side by side: what the workloads readers_1, readers_2 and readers_4 share. */
#ifndef CROWD_H
#define CROWD_H

#include <stdbool.h>

enum { CROWD_MOST = 4, CROWD_QUERIES = 500 };

/* What one thread does; the sums are added up at the end. */
typedef struct reader {
    void *shared; /* whatever the program needs */
    int number;
    long rows;
    double check;
} reader;

/* Prepares the reader (not timed), calls crowd_ready once, then does the timed work. */
typedef void (*crowd_work)(reader *reader);
void crowd_ready(void);

/* Runs readers_N on N threads and reports it. False for another workload. */
bool crowd_run(const char *peer, const char *workload, crowd_work work, void *shared);

#endif
