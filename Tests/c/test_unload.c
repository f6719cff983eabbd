/* dlclose keeps the library in memory, so that the code of its threads, their destructors and its fork handlers
 * remains valid.
 *
 * Unlike the other tests, this program loads the library with dlopen: a program that is linked with it never
 * unloads it.
 *
 * SPDX-License-Identifier: MIT
 */
#include <corestone.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int passed, failed;
static bool holds(bool condition, const char *expression, int line) {
    if (!condition) printf("%s:%d: %s\n", __FILE__, line, expression);
    return condition;
}
#define REQUIRE(condition)                                                                                             \
    if (!holds((condition), #condition, __LINE__)) return false
#define OK(call) REQUIRE((call) == CST_OK)

/* The functions that the tests call; `load` looks them up each time. */
#define FUNCTIONS(X)                                                                                                   \
    X(cst_model_new)                                                                                                   \
    X(cst_model_add_entity)                                                                                            \
    X(cst_coordinator_new)                                                                                             \
    X(cst_coordinator_add_store)                                                                                       \
    X(cst_context_new)                                                                                                 \
    X(cst_context_perform)                                                                                             \
    X(cst_context_perform_and_wait)                                                                                    \
    X(cst_release)                                                                                                     \
    X(cst_handle_count)

static struct {
#define MEMBER(name) __typeof__(name) *name;
    FUNCTIONS(MEMBER)
} lib;

static void *load(void) {
    void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        puts(dlerror());
        return NULL;
    }
#define FIND(name) *(void **)&lib.name = dlsym(handle, #name);
    FUNCTIONS(FIND)
    return handle;
}

static bool is_loaded(void) {
    void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_NOLOAD);
    if (handle) dlclose(handle);
    return handle != NULL;
}

static atomic_int began, ended;
static atomic_bool may_end;

static void nap(void) {
    const struct timespec pause = {0, 1000 * 1000};
    nanosleep(&pause, NULL);
}

static cst_status run_until_allowed(void *userdata, cst_context *context, cst_error **error) {
    (void)userdata, (void)context, (void)error;
    began++;
    for (int i = 0; i < 60 * 1000 && !may_end; i++)
        nap();
    ended++;
    return CST_OK;
}

static cst_status nothing(void *userdata, cst_context *context, cst_error **error) {
    (void)userdata, (void)context, (void)error;
    return CST_OK;
}

struct world {
    cst_model *model;
    cst_coordinator *coordinator;
    cst_context *context;
};

static bool open_world(struct world *world) {
    cst_entity *entity = NULL;
    const cst_string name = {"Thing", CST_NUL}, memory = {"InMemory", CST_NUL};
    OK(lib.cst_model_new(&world->model, NULL));
    OK(lib.cst_model_add_entity(world->model, name, &entity, NULL));
    OK(lib.cst_coordinator_new(world->model, &world->coordinator, NULL));
    OK(lib.cst_coordinator_add_store(world->coordinator, memory, (cst_string){NULL, 0}, NULL, NULL, NULL));
    OK(lib.cst_context_new(world->coordinator, CST_QUEUE_PRIVATE, &world->context, NULL));
    return true;
}

static void close_world(struct world *world) {
    lib.cst_release(world->context);
    lib.cst_release(world->coordinator);
    lib.cst_release(world->model);
}

static bool the_library_stays_loaded_without_workers(void) {
    void *handle = load();
    REQUIRE(handle != NULL);
    const size_t before = lib.cst_handle_count();
    struct world world;
    REQUIRE(open_world(&world));
    OK(lib.cst_context_perform_and_wait(world.context, nothing, NULL, NULL));
    close_world(&world);
    REQUIRE(lib.cst_handle_count() == before);
    REQUIRE(dlclose(handle) == 0);
    REQUIRE(is_loaded());
    return true;
}

static bool the_library_stays_loaded_with_workers_and_can_be_loaded_again(void) {
    void *handle = load();
    REQUIRE(handle != NULL);
    struct world world;
    REQUIRE(open_world(&world));
    began = ended = 0;
    may_end = false;
    for (int i = 0; i < 2; i++)
        OK(lib.cst_context_perform(world.context, run_until_allowed, NULL, NULL, NULL));
    while (began == 0)
        nap();
    REQUIRE(dlclose(handle) == 0); /* while the first function runs */
    may_end = true;
    for (int i = 0; i < 60 * 1000 && ended < 2; i++)
        nap();
    REQUIRE(ended == 2); /* enqueued blocks are run */
    for (int i = 0; i < 1500; i++)
        nap(); /* idle threads end, in code of the library */
    handle = load();
    REQUIRE(handle != NULL);
    OK(lib.cst_context_perform_and_wait(world.context, nothing, NULL, NULL)); /* the same library: handles are good */
    close_world(&world);
    REQUIRE(dlclose(handle) == 0);
    return true;
}

static void *open_and_close(void *argument) {
    for (int i = 0; i < 50; i++) {
        void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
        if (handle) dlclose(handle);
    }
    return argument;
}

static bool threads_can_end_after_the_library_is_closed(void) {
    pthread_t threads[8];
    for (int i = 0; i < 8; i++)
        REQUIRE(pthread_create(&threads[i], NULL, open_and_close, NULL) == 0);
    for (int i = 0; i < 8; i++)
        REQUIRE(pthread_join(threads[i], NULL) == 0);
    fflush(NULL);
    pid_t child = fork(); /* the library's handler of it is called */
    if (child == 0) _exit(7);
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    return true;
}

static void run(const char *name, bool (*test)(void)) {
    bool passes = test();
    if (!passes) printf("FAILED %s\n", name);
    *(passes ? &passed : &failed) += 1;
}

int main(void) {
    run("the_library_stays_loaded_without_workers", the_library_stays_loaded_without_workers);
    run("the_library_stays_loaded_with_workers_and_can_be_loaded_again",
        the_library_stays_loaded_with_workers_and_can_be_loaded_again);
    run("threads_can_end_after_the_library_is_closed", threads_can_end_after_the_library_is_closed);
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
