/* Random legal calls from within every kind of callback, nested, with callbacks that fail, return nonsense, release
 * borrowed handles, and release the last handle of objects in use. The process must survive, each destroy function
 * must be called once, and no handle must be left when the program has released its own.
 *
 * usage: reentrancy [--first SEED] [--count N] [--folder DIR] [--calls N] [--verbose]
 *
 * A seed is deterministic, except for those with interrupts and asynchronous fetches (one in four). A crash report
 * names the seed, and the calls and callbacks in progress.
 */
#include "reentrancy.h"

#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <time.h>
#include <unistd.h>

enum { DEEPEST = 6, OUTER_CALLS = 150, INNER_CALLS = 40, SECONDS_FOR_A_SEED = 120 };

static const char *const kind_names[] = {
#define X(name) #name,
    CALLBACK_KINDS(X)
#undef X
};

static uint64_t chance;
static int depth, budget;
static long long made;
static uint64_t called[KIND_COUNT];
static bool verbose, seed_failed;
static int outer_calls = OUTER_CALLS;
static long long passed, failed;

/* The current seed and the calls in progress, for the report of a crash. */
static volatile uint64_t seed_now;
static const char *volatile trail[2 * DEEPEST + 2];
static volatile int trail_length;

/* ---- chance ---- */

static uint64_t next(void) { /* splitmix64 */
    uint64_t z = (chance += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}
size_t below(size_t bound) { return (size_t)(next() % bound); }
bool one_in(size_t n) { return below(n) == 0; }

void complain(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    printf("reentrancy: seed %llu: ", (unsigned long long)world.seed);
    vprintf(format, arguments);
    putchar('\n');
    va_end(arguments);
    seed_failed = true;
}

/* ---- turns ---- */

static _Thread_local char own_place;
static _Atomic(const void *) turn;
static pthread_t main_thread;

const void *turn_take(void) { return atomic_exchange(&turn, &own_place); }
void turn_give_back(const void *former) { atomic_store(&turn, former); }
bool has_turn(void) { return atomic_load(&turn) == &own_place; }
bool is_main_thread(void) { return pthread_equal(main_thread, pthread_self()); }

/* ---- calls ---- */

static const struct act *choose(void) {
    static const struct {
        const struct act *acts;
        const size_t *count;
    } groups[] = {{graph_acts, &graph_act_count},
                  {request_acts, &request_act_count},
                  {host_acts, &host_act_count},
                  {story_acts, &story_act_count}};
    enum { GROUPS = sizeof groups / sizeof *groups };
    static const struct act push = {"push_rows", 0, stores_push};
    /* Sinks are open for a few calls only. */
    if (stores_await_rows() && one_in(4)) return &push;
    size_t total = 0;
    for (size_t g = 0; g < GROUPS; g++) {
        for (size_t i = 0; i < *groups[g].count; i++)
            total += groups[g].acts[i].weight;
    }
    size_t place = below(total);
    for (size_t g = 0; g < GROUPS; g++) {
        for (size_t i = 0; i < *groups[g].count; i++) {
            if (place < groups[g].acts[i].weight) return &groups[g].acts[i];
            place -= groups[g].acts[i].weight;
        }
    }
    return &graph_acts[0];
}

static void note(const char *name) {
    if (trail_length < (int)(sizeof trail / sizeof *trail)) trail[trail_length] = name;
    trail_length++;
}

long long calls_made(void) { return made; }

void count_call(void) { made++; }

static void act_once(void) {
    const struct act *act = choose();
    depth++;
    budget--;
    made++;
    note(act->name);
    if (verbose) fprintf(stderr, "%*s%s\n", 2 * trail_length, "", act->name);
    cst_error *error = NULL;
    act->run(&error);
    if (error && one_in(8))
        keep(SLOT_ERROR, error);
    else
        cst_release(error);
    trail_length--;
    depth--;
}

bool within(enum kind kind) {
    if (!has_turn()) return false;
    called[kind]++;
    if (depth >= DEEPEST || budget <= 0) return true;
    note(kind_names[kind]);
    for (size_t calls = below(3); calls > 0 && budget > 0; calls--)
        act_once();
    trail_length--;
    return true;
}

void set_budget(int calls) {
    budget = calls;
    depth = 0;
}

/* ---- seeds ---- */

/* Private queues end on their own threads, so their handles may be released a moment after the call that caused it,
 * and the result of an asynchronous fetch may arrive as late. */
static size_t settled_handle_count(size_t expected) {
    for (int i = 0; i < 300; i++) {
        if (cst_handle_count() == expected && hosts_are_free() && stores_are_closed()) break;
        cst_main_queue_drain(0, NULL, NULL);
        let_all_go();
        nanosleep(&(struct timespec){.tv_nsec = (i < 20 ? 1 : 10) * 1000000}, NULL);
    }
    return cst_handle_count();
}

static void run_seed(uint64_t seed, const char *folder) {
    seed_now = seed;
    seed_failed = false;
    chance = seed * 0x2545f4914f6cdd1du + 1;
    trail_length = 0;
    set_budget(0);
    size_t before = cst_handle_count();
    alarm(SECONDS_FOR_A_SEED);
    hosts_begin();
    stores_begin();
    if (!world_open(seed, folder)) complain("the world of the seed could not be created");
    for (int i = 0; i < outer_calls; i++) {
        set_budget(INNER_CALLS);
        world_refill();
        act_once();
    }
    set_budget(INNER_CALLS);
    world_close(one_in(2));
    size_t after = settled_handle_count(before);
    if (after != before) complain("%+ld handles leaked", (long)after - (long)before);
    stores_end();
    hosts_end();
    alarm(0);
    if (seed_failed)
        failed++;
    else
        passed++;
}

/* ---- crashes ---- */

static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGFPE, SIGABRT, SIGALRM};
static struct sigaction former[sizeof signals / sizeof *signals];

static void tell(const char *words) {
    if (write(STDOUT_FILENO, words, strlen(words)) < 0) return;
}

static void tell_number(uint64_t number) {
    char digits[24], *place = digits + sizeof digits - 1;
    *place = 0;
    do {
        *--place = (char)('0' + number % 10);
    } while ((number /= 10) > 0);
    tell(place);
}

/* Prints the seed, and then lets the signal have its default effect. */
static void on_signal(int number) {
    tell("reentrancy: seed ");
    tell_number(seed_now);
    tell(number == SIGALRM ? " hangs in" : " ended the process with signal ");
    if (number != SIGALRM) tell_number((uint64_t)number);
    for (int i = 0; i < trail_length && i < (int)(sizeof trail / sizeof *trail); i++) {
        tell(i == 0 ? ": " : " > ");
        tell(trail[i]);
    }
    tell("\n");
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        if (signals[i] == number) sigaction(number, &former[i], NULL);
    }
    if (number == SIGALRM || number == SIGABRT) raise(number);
}

static void watch_signals(void) {
    /* Uses an alternate stack, so that a stack overflow is reported too. */
    static char stack[64 * 1024];
    sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof stack}, NULL);
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        sigaction(signals[i], &action, &former[i]);
}

/* Restarts the program with fixed hashing and memory addresses: with random ones a seed would not reproduce a run. */
static void start_alike(char **argv) {
    if (getenv("SWIFT_DETERMINISTIC_HASHING")) return;
    setenv("SWIFT_DETERMINISTIC_HASHING", "1", 1);
    personality(ADDR_NO_RANDOMIZE); /* where that is refused, it is only less alike */
    execv("/proc/self/exe", argv);
}

int main(int argc, char **argv) {
    start_alike(argv);
    uint64_t first = 1, count = 200;
    const char *environment = getenv("CORESTONE_REENTRANCY_SEEDS");
    char made_folder[300] = "";
    const char *folder = NULL, *base = getenv("TMPDIR");
    /* In a memory file system if there is one, because the disk is not under test. */
    if (access("/dev/shm", W_OK) == 0) base = "/dev/shm";
    if (environment) count = strtoull(environment, NULL, 0);
    for (int i = 1; i < argc; i++) {
        bool has_value = i + 1 < argc;
        if (strcmp(argv[i], "--first") == 0 && has_value)
            first = strtoull(argv[++i], NULL, 0);
        else if (strcmp(argv[i], "--count") == 0 && has_value)
            count = strtoull(argv[++i], NULL, 0);
        else if (strcmp(argv[i], "--folder") == 0 && has_value)
            folder = argv[++i];
        else if (strcmp(argv[i], "--calls") == 0 && has_value)
            outer_calls = atoi(argv[++i]);
        else if (strcmp(argv[i], "--verbose") == 0)
            verbose = true;
        else {
            fprintf(stderr, "usage: reentrancy [--first SEED] [--count N] [--folder DIR] [--calls N] [--verbose]\n");
            return 2;
        }
    }
    if (!folder) {
        snprintf(made_folder, sizeof made_folder, "%.250s/corestone-XXXXXX", base && *base ? base : "/tmp");
        folder = mkdtemp(made_folder);
        if (!folder) return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    main_thread = pthread_self();
    turn_take();
    watch_signals();
    /* The log would have many lines, most of them about failures that the callbacks cause on purpose. */
    const char *const quiet[] = {"-com.apple.CoreData.Logging.stderr", "0"};
    cst_log_take_arguments(2, quiet, NULL, NULL);
    cst_main_queue_bind(NULL);
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (uint64_t seed = first; seed < first + count; seed++)
        run_seed(seed, folder);
    clock_gettime(CLOCK_MONOTONIC, &end);
    double seconds = (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) / 1e9;
    size_t kinds = 0;
    for (size_t i = 0; i < KIND_COUNT; i++) {
        kinds += called[i] > 0;
        if (verbose || (count >= 200 && called[i] == 0))
            printf("reentrancy: %s was called %llu times\n", kind_names[i], (unsigned long long)called[i]);
    }
    printf("reentrancy: %llu seeds, %lld calls, from %zu kinds of callbacks; seeds per second: %.1f\n",
           (unsigned long long)count, made, kinds, (double)count / seconds);
    if (*made_folder) rmdir(made_folder);
    printf("%lld passed, %lld failed\n", passed, failed);
    return failed == 0 ? 0 : 1;
}
