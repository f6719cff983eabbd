/* The counters of libcounting.so, which a program finds with dlsym if the library is preloaded (measure.c). */
#ifndef COUNTING_H
#define COUNTING_H

typedef struct counting {
    long allocations; /* calls of malloc, calloc, realloc, posix_memalign and aligned_alloc */
    long requested;   /* the bytes that these calls requested */
    long live;        /* the bytes of all blocks that are not freed, with the padding of malloc */
    long peak;        /* the greatest value of `live` since counting_restart */
} counting;

/* Begins a new peak. */
void counting_restart(void);
void counting_read(counting *out_counters);

#endif
