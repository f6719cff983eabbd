#define _GNU_SOURCE
#include "crowd.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "measure.h"

static pthread_barrier_t prepared, begun;
static crowd_work the_work;

void crowd_ready(void) {
    pthread_barrier_wait(&prepared);
    pthread_barrier_wait(&begun);
}

static void *begin(void *reader) {
    the_work(reader);
    return NULL;
}

bool crowd_run(const char *peer, const char *workload, crowd_work work, void *shared) {
    int count;
    if (sscanf(workload, "readers_%d", &count) != 1 || count < 1 || count > CROWD_MOST) return false;
    pthread_t threads[CROWD_MOST];
    reader readers[CROWD_MOST], all = {0};
    the_work = work;
    pthread_barrier_init(&prepared, NULL, (unsigned)count + 1);
    pthread_barrier_init(&begun, NULL, (unsigned)count + 1);
    for (int i = 0; i < count; i++) {
        readers[i] = (reader){.shared = shared, .number = i};
        if (pthread_create(&threads[i], NULL, begin, &readers[i]) != 0) {
            fprintf(stderr, "%s: a thread could not be created\n", workload);
            exit(1);
        }
    }
    pthread_barrier_wait(&prepared);
    measure_begin();
    pthread_barrier_wait(&begun);
    for (int i = 0; i < count; i++) {
        pthread_join(threads[i], NULL);
        all.rows += readers[i].rows;
        all.check += readers[i].check;
    }
    measure_end(peer, workload, all.rows, all.check, 0);
    return true;
}
