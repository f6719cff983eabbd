#include "arrow.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* A consumer may move a child, and then marks the original struct as released. Each node therefore frees its own data.
 * A parent's block contains only the structs of its children. */

static void release_schema(struct platform_arrow_schema *schema) {
    for (int64_t i = 0; i < schema->n_children; i++) {
        struct platform_arrow_schema *child = schema->children[i];
        if (child->release) child->release(child);
    }
    free(schema->private_data);
    schema->release = NULL;
    schema->private_data = NULL;
}

static void release_children(struct platform_arrow_array *array) {
    for (int64_t i = 0; i < array->n_children; i++) {
        struct platform_arrow_array *child = array->children[i];
        if (child->release) child->release(child);
    }
}

static void release_array(struct platform_arrow_array *array) {
    release_children(array);
    for (int64_t i = 0; i < array->n_buffers; i++)
        free((void *)array->buffers[i]);
    free(array->private_data);
    array->release = NULL;
    array->private_data = NULL;
}

bool platform_arrow_make_schema(struct platform_arrow_schema *out, const char *format, const char *name,
                                const void *metadata, size_t metadata_size, int64_t flags, int64_t children) {
    size_t count = (size_t)children, format_size = strlen(format) + 1, name_size = strlen(name) + 1;
    size_t places = count * (sizeof(struct platform_arrow_schema) + sizeof(struct platform_arrow_schema *));
    char *block = calloc(1, places + metadata_size + format_size + name_size);
    if (!block) return false;
    struct platform_arrow_schema *child = (struct platform_arrow_schema *)block;
    struct platform_arrow_schema **list = (struct platform_arrow_schema **)(child + count);
    for (size_t i = 0; i < count; i++)
        list[i] = child + i;
    char *facts = block + places, *text = facts + metadata_size;
    if (metadata_size) memcpy(facts, metadata, metadata_size);
    memcpy(text, format, format_size);
    memcpy(text + format_size, name, name_size);
    *out = (struct platform_arrow_schema){
        .format = text,
        .name = text + format_size,
        .metadata = metadata_size ? facts : NULL,
        .flags = flags,
        .n_children = children,
        .children = count ? list : NULL,
        .release = release_schema,
        .private_data = block,
    };
    return true;
}

bool platform_arrow_make_array(struct platform_arrow_array *out, int64_t length, int64_t null_count,
                               void *const *buffers, int64_t buffer_count, int64_t children) {
    size_t count = (size_t)children;
    size_t places = count * (sizeof(struct platform_arrow_array) + sizeof(struct platform_arrow_array *));
    char *block = calloc(1, places + (size_t)buffer_count * sizeof(void *) + 1);
    if (!block) return false;
    struct platform_arrow_array *child = (struct platform_arrow_array *)block;
    struct platform_arrow_array **list = (struct platform_arrow_array **)(child + count);
    const void **kept = (const void **)(list + count);
    for (size_t i = 0; i < count; i++)
        list[i] = child + i;
    for (int64_t i = 0; i < buffer_count; i++)
        kept[i] = buffers[i];
    *out = (struct platform_arrow_array){
        .length = length,
        .null_count = null_count,
        .n_buffers = buffer_count,
        .n_children = children,
        .buffers = buffer_count ? kept : NULL,
        .children = count ? list : NULL,
        .release = release_array,
        .private_data = block,
    };
    return true;
}

struct platform_shared_array {
    _Atomic int64_t users;
    struct platform_arrow_array array;
};

/* The header of the block with an array's children, for an array that uses the buffers of a shared array. */
struct user {
    struct platform_shared_array *shared;
};

struct platform_shared_array *platform_arrow_share(struct platform_arrow_array *array) {
    struct platform_shared_array *shared = malloc(sizeof *shared);
    if (!shared) return NULL;
    atomic_init(&shared->users, 1);
    shared->array = *array;
    array->release = NULL;
    return shared;
}

void platform_arrow_end_shared(struct platform_shared_array *shared) {
    if (atomic_fetch_sub_explicit(&shared->users, 1, memory_order_acq_rel) != 1) return;
    shared->array.release(&shared->array);
    free(shared);
}

static void release_user(struct platform_arrow_array *array) {
    release_children(array);
    struct user *user = array->private_data;
    platform_arrow_end_shared(user->shared);
    free(user);
    array->release = NULL;
    array->private_data = NULL;
}

static bool export_node(struct platform_shared_array *shared, const struct platform_arrow_array *node,
                        struct platform_arrow_array *out) {
    size_t count = (size_t)node->n_children;
    struct user *user =
        calloc(1, sizeof *user + count * (sizeof(struct platform_arrow_array) + sizeof(struct platform_arrow_array *)));
    if (!user) return false;
    user->shared = shared;
    atomic_fetch_add_explicit(&shared->users, 1, memory_order_relaxed);
    struct platform_arrow_array *child = (struct platform_arrow_array *)(user + 1);
    struct platform_arrow_array **list = (struct platform_arrow_array **)(child + count);
    for (size_t i = 0; i < count; i++)
        list[i] = child + i;
    *out = *node;
    out->children = count ? list : NULL;
    out->release = release_user;
    out->private_data = user;
    for (size_t i = 0; i < count; i++) {
        if (export_node(shared, node->children[i], list[i])) continue;
        out->release(out);
        return false;
    }
    return true;
}

bool platform_arrow_export_shared(struct platform_shared_array *shared, struct platform_arrow_array *out) {
    return export_node(shared, &shared->array, out);
}
