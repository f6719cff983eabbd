/* Timing of a workload, reported as a line of JSON on standard output. */
#ifndef MEASURE_H
#define MEASURE_H

/* Starts the clocks and resets the peak of resident memory. */
void measure_begin(void);
/* Stops the clocks. The caller may then compute `check`, and call measure_report, which prints the line. */
void measure_stop(void);
void measure_report(const char *peer, const char *workload, long rows, double check, long text);
/* Calls measure_stop and measure_report. `check` must be the same for every peer, and `text` (sizes and first bytes of
 * strings, and dates) for every peer that reports it; 0 means that it is not reported. */
void measure_end(const char *peer, const char *workload, long rows, double check, long text);
/* Returns the seconds of a monotonic clock. */
double measure_now(void);

/* Results that are not used otherwise are assigned to this, so that the compiler cannot remove their computation. */
extern volatile long measure_sink;

#endif
