#define _GNU_SOURCE
#include "measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#if defined(__has_include)
#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#endif
#endif
#ifndef CALLGRIND_START_INSTRUMENTATION
#define CALLGRIND_START_INSTRUMENTATION
#define CALLGRIND_STOP_INSTRUMENTATION
#endif

volatile long measure_sink;
static double wall, user, kernel;
static long peak_kb, base_kb, base_faults;

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

/* Turns the recording for where.py on or off: in perf through a named pipe, and in callgrind. */
static void watch(int on) {
    const char *control = getenv("MEASURE_CONTROL");
    FILE *pipe = control ? fopen(control, "w") : NULL;
    if (pipe) {
        fputs(on ? "enable\n" : "disable\n", pipe);
        fclose(pipe);
        struct timespec a_moment = {0, 50000000};
        nanosleep(&a_moment, NULL);
    }
    if (on)
        CALLGRIND_START_INSTRUMENTATION;
    else
        CALLGRIND_STOP_INSTRUMENTATION;
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
    wall = measure_now();
}

void measure_stop(void) {
    wall = measure_now() - wall;
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    watch(0);
    user = seconds(usage.ru_utime) - user;
    kernel = seconds(usage.ru_stime) - kernel;
    base_faults = usage.ru_minflt - base_faults;
    peak_kb = status_kb("VmHWM:");
}

void measure_report(const char *peer, const char *workload, long rows, double check, long text) {
    printf("{\"peer\":\"%s\",\"workload\":\"%s\",\"seconds\":%.6f,\"user_seconds\":%.6f,\"kernel_seconds\":%.6f,"
           "\"page_faults\":%ld,\"rows\":%ld,\"peak_kb\":%ld,\"base_kb\":%ld,\"check\":%.2f,\"text\":%ld}\n",
           peer, workload, wall, user, kernel, base_faults, rows, peak_kb, base_kb, check, text);
    fflush(stdout);
}

void measure_end(const char *peer, const char *workload, long rows, double check, long text) {
    measure_stop();
    measure_report(peer, workload, rows, check, text);
}
