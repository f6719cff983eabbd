/* SPDX-License-Identifier: MIT */
#include "arrow_source.h"

#include <errno.h>
#include <stdlib.h>

static int live, streams_released;

int source_live(void) { return live; }

int source_streams_released(void) { return streams_released; }

/* A block for a number of structs and the list of their addresses. */
static void *structs(size_t count, size_t size, void ***list) {
    char *block = calloc(count + 1, size + sizeof(void *));
    REQUIRE(block);
    *list = (void **)(block + (count + 1) * size);
    for (size_t i = 0; i < count; i++)
        (*list)[i] = block + i * size;
    return block;
}

static void release_schema(struct ArrowSchema *schema) {
    if (!schema->private_data) {
        check_fail(__FILE__, __LINE__, "a schema was released twice");
        return;
    }
    void **blocks = schema->private_data;
    for (int64_t i = 0; i < (int64_t)(intptr_t)blocks[2]; i++) {
        struct ArrowSchema *child = schema->children[i];
        if (child->release) child->release(child);
    }
    if (schema->dictionary && schema->dictionary->release) schema->dictionary->release(schema->dictionary);
    free(schema->dictionary);
    free(blocks[0]);
    free(blocks);
    schema->release = NULL;
    schema->private_data = NULL;
    live--;
}

static void export_schema(const struct source_column *column, struct ArrowSchema *out) {
    void **list, **blocks = calloc(3, sizeof *blocks);
    const size_t count =
        column->child_count > 0 && column->child_count <= SOURCE_CHILDREN ? (size_t)column->child_count : 0;
    blocks[0] = structs(count, sizeof *out, &list);
    blocks[2] = (void *)(intptr_t)count;
    *out = (struct ArrowSchema){.format = column->format,
                                .name = column->name,
                                .flags = ARROW_FLAG_NULLABLE,
                                .n_children = column->child_count,
                                .children = (struct ArrowSchema **)list,
                                .release = release_schema,
                                .private_data = blocks};
    for (size_t i = 0; i < count; i++)
        export_schema(column->children[i], list[i]);
    if (column->dictionary) {
        out->dictionary = calloc(1, sizeof *out);
        export_schema(column->dictionary, out->dictionary);
    }
    live++;
}

static void release_array(struct ArrowArray *array) {
    if (!array->private_data) {
        check_fail(__FILE__, __LINE__, "an array was released twice");
        return;
    }
    void **blocks = array->private_data;
    for (int64_t i = 0; i < (int64_t)(intptr_t)blocks[2]; i++) {
        struct ArrowArray *child = ((struct ArrowArray **)blocks[1])[i];
        if (child->release) child->release(child);
    }
    if (array->dictionary && array->dictionary->release) array->dictionary->release(array->dictionary);
    free(array->dictionary);
    free(blocks[0]);
    free(blocks);
    array->release = NULL;
    array->private_data = NULL;
    live--;
}

static void export_array(const struct source_column *column, struct ArrowArray *out) {
    void **list, **blocks = calloc(3, sizeof *blocks);
    const size_t count =
        column->child_count > 0 && column->child_count <= SOURCE_CHILDREN ? (size_t)column->child_count : 0;
    blocks[0] = structs(count, sizeof *out, &list);
    blocks[1] = list;
    blocks[2] = (void *)(intptr_t)count;
    *out = (struct ArrowArray){.length = column->length,
                               .null_count = column->null_count,
                               .offset = column->offset,
                               .n_buffers = column->buffer_count,
                               .n_children = column->child_count,
                               .buffers = (const void **)column->buffers,
                               .children = (struct ArrowArray **)list,
                               .release = release_array,
                               .private_data = blocks};
    for (size_t i = 0; i < count; i++)
        export_array(column->children[i], list[i]);
    if (column->dictionary) {
        out->dictionary = calloc(1, sizeof *out);
        export_array(column->dictionary, out->dictionary);
    }
    live++;
}

struct stream_state {
    struct source *source;
    size_t next;
    bool failed;
};

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out) {
    struct stream_state *state = stream->private_data;
    const struct source *source = state->source;
    if (source->schema_fails) {
        state->failed = true;
        return EIO;
    }
    if (source->schema_is_released) {
        out->release = NULL;
        return 0;
    }
    void **list, **blocks = calloc(3, sizeof *blocks);
    const struct source_batch *batch = &source->batches[0];
    size_t count = 0;
    while (count < SOURCE_COLUMNS && batch->columns[count])
        count++;
    blocks[0] = structs(count, sizeof *out, &list);
    blocks[2] = (void *)(intptr_t)count;
    *out = (struct ArrowSchema){.format = source->format ? source->format : "+s",
                                .name = "",
                                .n_children = (int64_t)count,
                                .children = (struct ArrowSchema **)list,
                                .release = release_schema,
                                .private_data = blocks};
    for (size_t i = 0; i < count; i++)
        export_schema(batch->columns[i], list[i]);
    live++;
    return 0;
}

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *out) {
    struct stream_state *state = stream->private_data;
    const struct source *source = state->source;
    const size_t number = state->next++;
    if (source->before_batch) source->before_batch(source->userdata, number);
    if (state->failed) check_fail(__FILE__, __LINE__, "a stream was read after it failed");
    if (source->fails_at == (int)number + 1) {
        state->failed = true;
        return EIO;
    }
    if (number >= source->batch_count) {
        out->release = NULL;
        return 0;
    }
    const struct source_batch *batch = &source->batches[number];
    void **list, **blocks = calloc(3, sizeof *blocks);
    size_t count = 0;
    while (count < SOURCE_COLUMNS && batch->columns[count])
        count++;
    blocks[0] = structs(count, sizeof *out, &list);
    blocks[1] = list;
    blocks[2] = (void *)(intptr_t)count;
    static const void *no_buffers[1];
    *out = (struct ArrowArray){.length = batch->length,
                               .null_count = batch->null_count,
                               .offset = batch->offset,
                               .n_buffers = batch->buffer_count,
                               .n_children = batch->column_count,
                               .buffers = no_buffers,
                               .children = (struct ArrowArray **)list,
                               .release = release_array,
                               .private_data = blocks};
    for (size_t i = 0; i < count; i++)
        export_array(batch->columns[i], list[i]);
    live++;
    return 0;
}

static const char *get_last_error(struct ArrowArrayStream *stream) {
    const struct stream_state *state = stream->private_data;
    return state->failed ? state->source->message : NULL;
}

static void release_stream(struct ArrowArrayStream *stream) {
    if (!stream->private_data) {
        check_fail(__FILE__, __LINE__, "a stream was released twice");
        return;
    }
    free(stream->private_data);
    stream->private_data = NULL;
    stream->release = NULL;
    live--;
    streams_released++;
}

void source_export(struct source *source, struct ArrowArrayStream *stream) {
    struct stream_state *state = calloc(1, sizeof *state);
    REQUIRE(state);
    state->source = source;
    *stream = (struct ArrowArrayStream){get_schema, get_next, get_last_error, release_stream, state};
    live++;
}

struct source_batch source_batch_of(size_t count, const struct source_column *const *columns) {
    struct source_batch batch = {
        .length = count ? columns[0]->length : 0, .buffer_count = 1, .column_count = (int64_t)count};
    for (size_t i = 0; i < count; i++)
        batch.columns[i] = columns[i];
    return batch;
}
