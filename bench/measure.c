#define _GNU_SOURCE
#include "measure.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "counting.h"
#if defined(__has_include)
#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#endif
#endif
#ifndef CALLGRIND_START_INSTRUMENTATION
#define CALLGRIND_START_INSTRUMENTATION
#define CALLGRIND_STOP_INSTRUMENTATION
#define CALLGRIND_TOGGLE_COLLECT
#define CALLGRIND_DUMP_STATS_AT(name) ((void)(name))
#endif

volatile long measure_sink;
static double wall, user, kernel;
static long peak_kb, base_kb, base_faults;
/* Allocations before and, after measure_stop, during the timed part. Zero unless libcounting.so is preloaded. */
static counting heap;
static void (*read_heap)(counting *);

double measure_now(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec + (double)at.tv_nsec * 1e-9;
}

static long status_kb(const char *key) {
    FILE *status = fopen("/proc/self/status", "r");
    if (!status) return 0;
    char line[256];
    long kb = 0;
    while (fgets(line, sizeof line, status))
        if (!strncmp(line, key, strlen(key))) kb = atol(line + strlen(key));
    fclose(status);
    return kb;
}

static double seconds(struct timeval at) { return (double)at.tv_sec + (double)at.tv_usec * 1e-6; }

/* Turns the recording of perf for where.py on or off, through a named pipe. */
static void watch(int on) {
    const char *control = getenv("MEASURE_CONTROL");
    FILE *pipe = control ? fopen(control, "w") : NULL;
    if (!pipe) return;
    fputs(on ? "enable\n" : "disable\n", pipe);
    fclose(pipe);
    struct timespec a_moment = {0, 50000000};
    nanosleep(&a_moment, NULL);
}

/* Whether callgrind counts all the time and collects only the timed parts, each for a dump of its own. This is faster
 * if a process has many timed parts, because a change of the instrumentation discards all translated code. */
static int makes_dumps(void) { return getenv("MEASURE_DUMPS") != NULL; }

static void count_instructions(int on) {
    if (makes_dumps())
        CALLGRIND_TOGGLE_COLLECT;
    else if (on)
        CALLGRIND_START_INSTRUMENTATION;
    else
        CALLGRIND_STOP_INSTRUMENTATION;
}

static void begin_counting(void) {
    void (*restart)(void);
    *(void **)&restart = dlsym(RTLD_DEFAULT, "counting_restart");
    *(void **)&read_heap = dlsym(RTLD_DEFAULT, "counting_read");
    if (!restart || !read_heap) return;
    restart();
    read_heap(&heap);
}

static void end_counting(void) {
    counting now;
    if (!read_heap) return;
    read_heap(&now);
    heap = (counting){now.allocations - heap.allocations, now.requested - heap.requested, now.live - heap.live,
                      now.peak - heap.live};
}

void measure_begin(void) {
    watch(1);
    FILE *reset = fopen("/proc/self/clear_refs", "w"); /* "5" resets the peak */
    if (reset) {
        fputs("5", reset);
        fclose(reset);
    }
    base_kb = status_kb("VmRSS:");
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    user = seconds(usage.ru_utime);
    kernel = seconds(usage.ru_stime);
    base_faults = usage.ru_minflt;
    begin_counting();
    wall = measure_now();
    count_instructions(1);
}

void measure_stop(void) {
    count_instructions(0);
    wall = measure_now() - wall;
    struct rusage usage;
    end_counting();
    getrusage(RUSAGE_SELF, &usage);
    watch(0);
    user = seconds(usage.ru_utime) - user;
    kernel = seconds(usage.ru_stime) - kernel;
    base_faults = usage.ru_minflt - base_faults;
    peak_kb = status_kb("VmHWM:");
}

void measure_report(const char *peer, const char *workload, long rows, double check, long text) {
    printf("{\"peer\":\"%s\",\"workload\":\"%s\",\"seconds\":%.6f,\"user_seconds\":%.6f,\"kernel_seconds\":%.6f,"
           "\"page_faults\":%ld,\"rows\":%ld,\"peak_kb\":%ld,\"base_kb\":%ld,\"check\":%.2f,\"text\":%ld",
           peer, workload, wall, user, kernel, base_faults, rows, peak_kb, base_kb, check, text);
    if (read_heap)
        printf(",\"allocations\":%ld,\"requested_bytes\":%ld,\"kept_bytes\":%ld,\"peak_bytes\":%ld", heap.allocations,
               heap.requested, heap.live, heap.peak);
    puts("}");
    fflush(stdout);
    if (makes_dumps()) CALLGRIND_DUMP_STATS_AT(workload);
}

void measure_end(const char *peer, const char *workload, long rows, double check, long text) {
    measure_stop();
    measure_report(peer, workload, rows, check, text);
}
