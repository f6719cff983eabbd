#include "company.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fail(const char *directory, const char *file, const char *why) {
    fprintf(stderr, "bench: %s/%s: %s (generate.py writes it)\n", directory, file, why);
    exit(2);
}

typedef struct reader {
    const char *directory, *file;
    char *at, *end;
} reader;

static reader open_file(const char *directory, const char *file) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", directory, file);
    FILE *handle = fopen(path, "rb");
    if (!handle) fail(directory, file, "cannot be read");
    fseek(handle, 0, SEEK_END);
    long size = ftell(handle);
    rewind(handle);
    char *text = malloc((size_t)size + 1);
    if (!text || fread(text, 1, (size_t)size, handle) != (size_t)size) fail(directory, file, "cannot be read");
    fclose(handle);
    text[size] = 0;
    return (reader){directory, file, text, text + size};
}

/* Returns the next field, terminated with NUL in place. */
static char *field(reader *from, size_t *out_size) {
    char *start = from->at;
    if (start >= from->end) fail(from->directory, from->file, "is too short");
    while (from->at < from->end && *from->at != '\t' && *from->at != '\n')
        from->at++;
    if (out_size) *out_size = (size_t)(from->at - start);
    *from->at++ = 0;
    return start;
}

static int32_t integer(reader *from) { return (int32_t)strtol(field(from, NULL), NULL, 10); }

static void load_groups(const char *directory, const char *file, group *groups, int count) {
    reader from = open_file(directory, file);
    for (int i = 0; i < count; i++) {
        if (integer(&from) != i + 1) fail(directory, file, "has unexpected keys");
        groups[i].name = field(&from, &groups[i].name_size);
        groups[i].budget = strtod(field(&from, NULL), NULL);
    }
}

company *company_load(const char *directory) {
    company *all = calloc(1, sizeof *all);
    all->employees = calloc(EMPLOYEES, sizeof *all->employees);
    all->links = calloc(MOST_LINKS, sizeof *all->links);
    load_groups(directory, "dept.tsv", all->departments, DEPARTMENTS);
    load_groups(directory, "proj.tsv", all->projects, PROJECTS);
    reader from = open_file(directory, "emp.tsv");
    for (int i = 0; i < EMPLOYEES; i++) {
        employee *one = &all->employees[i];
        if (integer(&from) != i + 1) fail(directory, "emp.tsv", "has unexpected keys");
        one->name = field(&from, &one->name_size);
        one->email = field(&from, &one->email_size);
        one->age = integer(&from);
        one->salary = strtod(field(&from, NULL), NULL);
        one->hired = strtod(field(&from, NULL), NULL);
        one->active = integer(&from);
        one->department = integer(&from);
    }
    from = open_file(directory, "ep.tsv");
    while (from.at < from.end && all->link_count < MOST_LINKS) {
        assignment *next = &all->links[all->link_count++];
        next->employee = integer(&from);
        next->project = integer(&from);
    }
    return all;
}

int32_t *company_load_keys(const char *directory) {
    int32_t *keys = malloc(EMPLOYEES * sizeof *keys);
    reader from = open_file(directory, "ids.tsv");
    for (int i = 0; i < EMPLOYEES; i++)
        keys[i] = integer(&from);
    return keys;
}

size_t company_query_name(int repetition, char *out_name) {
    return (size_t)snprintf(out_name, 32, "Department %03d", repetition % DEPARTMENTS + 1);
}

mixed_change company_mixed_change(int index) {
    switch (index % 40) {
    case 3:
    case 23:
        return MIXED_RAISE;
    case 13:
        return MIXED_DISMISS;
    case 33:
        return MIXED_HIRE;
    default:
        return MIXED_NONE;
    }
}

double company_raised(double salary) { return salary * 1.05 + 1; }

void company_copy_store(const char *path, const char *workload, char *out_path, size_t size) {
    static const char *const sides[] = {"-wal", "-shm"};
    for (int i = 0; i < 2; i++) {
        snprintf(out_path, size, "%s-%s%s", path, workload, sides[i]);
        remove(out_path);
    }
    snprintf(out_path, size, "%s-%s", path, workload);
    FILE *from = fopen(path, "rb"), *to = fopen(out_path, "wb");
    if (!from || !to) fail(path, "", "cannot be copied");
    static char block[1 << 16];
    for (size_t got; (got = fread(block, 1, sizeof block, from)) > 0;)
        if (fwrite(block, 1, got, to) != got) fail(out_path, "", "cannot be written");
    if (ferror(from) || fclose(from) || fclose(to)) fail(path, "", "cannot be copied");
}
