/* Timing of one workload, reported as one line of JSON on standard output. */
#ifndef MEASURE_H
#define MEASURE_H

/* Starts the clocks and the watch over the peak of resident memory. */
void measure_begin(void);
/* Stops the clocks; measure_report then prints the line. For those who compute `check` in between. */
void measure_stop(void);
void measure_report(const char *peer, const char *workload, long rows, double check, long text);
/* Both in one. `check` must be the same for every peer; `text` (sizes and first bytes of texts, and
 * dates) for those that report it, 0 for "not reported". */
void measure_end(const char *peer, const char *workload, long rows, double check, long text);
/* Seconds of a monotonic clock. */
double measure_now(void);

/* Values that nobody needs go here, so that the compiler cannot leave out the reading of them. */
extern volatile long measure_sink;

#endif
