/* Runs a workload through Corestone's C ABI.
 *
 *   corestone WORKLOAD DATA STORE
 *
 * W1 W1_full            insert, set_many, add_members, release, one save; W1_full with the store's default durability
 * W1_single             the same with one call per property and per project
 * W1_bulk               the same with insert_many, 1,000 rows a call
 * batch_insert          the employees only, as columns of one batch request; see batch.c
 * W3                    fetch all, then six cst_object_get for each object
 * W3_many               the same with one cst_object_get_many for each object
 * W3_columns            the same with one cst_results_copy_columns
 * W3_arrow              export the six attributes of all as Arrow record batches
 * W4                    1,000 predicate fetches
 * W4_any, W4_subquery   200 with ANY or SUBQUERY over a many-to-many relationship
 * W5a                   fetch all with a prefetched to-one relationship, then follow it
 * W9                    each object once by ID, not loaded (W9_cold), then again in reverse (W9_hot)
 * W6 W7 save_mixed      see changes.c
 * queues                see queues.c
 * controller            see live.c
 * readers_1 … readers_4 see readers.c
 *
 * A process runs one workload. Model, keys and store are ready before the clock starts, as in the raw program.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "batch.h"
#include "changes.h"
#include "company.h"
#include "host.h"
#include "live.h"
#include "measure.h"
#include "queues.h"
#include "readers.h"
#include "rows.h"
#include "stores.h"

enum { BLOCK = 1000, ATTRIBUTES = 6, VALUES = 7 };

static cst_value text_value(const char *text, size_t size) {
    return (cst_value){.type = CST_STRING, .as.string = {text, size}};
}
static cst_value real_value(double real) { return (cst_value){.type = CST_DOUBLE, .as.real = real}; }

static cst_object *insert_group(host *with, cst_entity *entity, const cst_key *keys, const group *from) {
    cst_object *object;
    MUST(cst_context_insert(with->context, entity, &object, &host_error));
    cst_value values[] = {text_value(from->name, from->name_size), real_value(from->budget)};
    MUST(cst_object_set_many(object, 2, keys, values, &host_error));
    return object;
}

static void employee_values(const employee *from, cst_object *department, cst_value *values) {
    values[0] = text_value(from->name, from->name_size);
    values[1] = text_value(from->email, from->email_size);
    values[2] = (cst_value){.type = CST_INT, .as.integer = from->age};
    values[3] = real_value(from->salary);
    values[4] = (cst_value){.type = CST_DATE, .as.date = from->hired};
    values[5] = (cst_value){.type = CST_BOOL, .as.boolean = from->active != 0};
    values[6] = (cst_value){.type = CST_OBJECT, .as.object = department};
}

static void insert_company(host *with, const char *workload, const char *data) {
    company *all = company_load(data);
    const cst_key department_keys[] = {with->department_name, with->department_budget};
    const cst_key project_keys[] = {with->project_title, with->project_budget};
    const cst_key keys[VALUES] = {with->name,  with->email,  with->age,           with->salary,
                                  with->hired, with->active, with->department_key};
    const int single = !strcmp(workload, "W1_single"), bulk = !strcmp(workload, "W1_bulk");
    static cst_object *departments[DEPARTMENTS], *projects[PROJECTS], *members[PROJECTS], *block[BLOCK];
    static cst_value values[BLOCK * VALUES];

    measure_begin();
    for (int i = 0; i < DEPARTMENTS; i++)
        departments[i] = insert_group(with, with->department, department_keys, &all->departments[i]);
    for (int i = 0; i < PROJECTS; i++)
        projects[i] = insert_group(with, with->project, project_keys, &all->projects[i]);

    const assignment *next = all->links, *end = all->links + all->link_count;
    for (int i = 0; i < EMPLOYEES; i++) {
        const employee *one = &all->employees[i];
        cst_object *object;
        if (bulk) {
            if (i % BLOCK == 0) {
                for (int j = 0; j < BLOCK; j++)
                    employee_values(one + j, departments[one[j].department - 1], values + j * VALUES);
                MUST(cst_context_insert_many(with->context, with->employee, BLOCK, VALUES, keys, values, block,
                                             &host_error));
            }
            object = block[i % BLOCK];
        } else {
            MUST(cst_context_insert(with->context, with->employee, &object, &host_error));
            employee_values(one, departments[one->department - 1], values);
            if (single)
                for (int j = 0; j < VALUES; j++)
                    MUST(cst_object_set(object, keys[j], &values[j], &host_error));
            else
                MUST(cst_object_set_many(object, VALUES, keys, values, &host_error));
        }
        size_t count = 0;
        for (; next < end && next->employee == i + 1; next++) {
            if (single)
                MUST(cst_object_add_member(object, with->projects, projects[next->project - 1], &host_error));
            else
                members[count++] = projects[next->project - 1];
        }
        if (!single) MUST(cst_object_add_members(object, with->projects, count, members, &host_error));
        cst_release(object);
    }
    MUST(cst_context_save(with->context, &host_error));
    measure_end("corestone", workload, EMPLOYEES, (double)all->link_count, 0);
}

static cst_results *fetch(host *with, cst_fetch_request *request) {
    cst_results *results;
    MUST(cst_context_fetch(with->context, request, &results, &host_error));
    return results;
}

static cst_object *at(const cst_results *results, size_t index) {
    cst_object *object;
    MUST(cst_results_get_object(results, index, &object, &host_error));
    return object;
}

static cst_value get(const cst_object *object, cst_key key) {
    cst_value value;
    MUST(cst_object_get(object, key, &value, &host_error));
    return value;
}

static long text_of(const cst_value *value) {
    return (long)value->as.string.size + (unsigned char)value->as.string.data[0];
}

static void read_all(host *with) {
    measure_begin();
    cst_fetch_request *request = host_all_employees(with);
    cst_results *results = fetch(with, request);
    size_t count = cst_results_count(results);
    double check = 0;
    long text = 0;
    for (size_t i = 0; i < count; i++) {
        cst_object *object = at(results, i);
        cst_value name = get(object, with->name), email = get(object, with->email);
        text += text_of(&name) + text_of(&email) + (long)get(object, with->hired).as.date;
        check += (double)get(object, with->age).as.integer + get(object, with->salary).as.real +
                 get(object, with->active).as.boolean;
    }
    measure_end("corestone", "W3", (long)count, check, text);
    cst_release(results);
    cst_release(request);
}

static void read_many(host *with) {
    const cst_key keys[ATTRIBUTES] = {with->name, with->email, with->hired, with->age, with->salary, with->active};
    static cst_object *objects[BLOCK];
    measure_begin();
    cst_fetch_request *request = host_all_employees(with);
    cst_results *results = fetch(with, request);
    size_t count = 0, got;
    double check = 0;
    long text = 0;
    for (;; count += got) {
        cst_status status = cst_results_get_objects(results, count, BLOCK, objects, &got, &host_error);
        if (status == CST_END || got == 0) break;
        MUST(status);
        for (size_t i = 0; i < got; i++) {
            cst_value v[ATTRIBUTES];
            MUST(cst_object_get_many(objects[i], ATTRIBUTES, keys, v, &host_error));
            text += text_of(&v[0]) + text_of(&v[1]) + (long)v[2].as.date;
            check += (double)v[3].as.integer + v[4].as.real + v[5].as.boolean;
        }
    }
    measure_end("corestone", "W3_many", (long)count, check, text);
    cst_release(results);
    cst_release(request);
}

/* Returns the values of the column at the cursor (see cst_results_copy_columns), and advances the cursor. */
static const char *column(const char **cursor, uint64_t rows) {
    uint64_t form, size = 8 * rows;
    memcpy(&form, *cursor, 8);
    const char *values = *cursor + 8 + (rows + 7) / 8 * 8;
    if (form == 3 || form == 4) {
        memcpy(&size, values, 8);
        values += 8 + 8 * (rows + 1);
        size = (size + 7) / 8 * 8;
    }
    *cursor = values + size;
    return values;
}

static double sum_batch(const struct ArrowArray *batch) {
    const int32_t *age = batch->children[3]->buffers[1];
    const double *salary = batch->children[4]->buffers[1];
    const uint8_t *active = batch->children[5]->buffers[1];
    double check = 0;
    for (int64_t i = 0; i < batch->length; i++)
        check += age[i] + salary[i] + (active[i / 8] >> i % 8 & 1);
    return check;
}

static long text_of_column(const struct ArrowArray *column) {
    return ((const int32_t *)column->buffers[1])[column->length];
}

static void export_arrow(host *with) {
    static const char *const names[ATTRIBUTES] = {"name", "email", "hireDate", "age", "salary", "active"};
    cst_string paths[ATTRIBUTES];
    for (int i = 0; i < ATTRIBUTES; i++)
        paths[i] = (cst_string){names[i], CST_NUL};
    measure_begin();
    cst_fetch_request *request = host_all_employees(with);
    struct ArrowArrayStream stream;
    struct ArrowArray batch;
    MUST(cst_context_fetch_arrow(with->context, request, 0, 0, ATTRIBUTES, paths, &stream, &host_error));
    long count = 0, text = 0;
    double check = 0;
    while (stream.get_next(&stream, &batch) == 0 && batch.release) {
        count += (long)batch.length;
        check += sum_batch(&batch);
        text += text_of_column(batch.children[0]) + text_of_column(batch.children[1]);
        batch.release(&batch);
    }
    stream.release(&stream);
    measure_end("corestone", "W3_arrow", count, check, text);
    cst_release(request);
}

static void read_columns(host *with) {
    const cst_key keys[ATTRIBUTES] = {with->name, with->email, with->hired, with->age, with->salary, with->active};
    measure_begin();
    cst_fetch_request *request = host_all_employees(with);
    cst_results *results = fetch(with, request);
    size_t count = cst_results_count(results);
    cst_buffer packed = {0};
    MUST(cst_results_copy_columns(results, 0, count, ATTRIBUTES, keys, &packed, &host_error));
    const char *cursor = packed.data + 16;
    const char *columns[ATTRIBUTES];
    for (int i = 0; i < ATTRIBUTES; i++)
        columns[i] = column(&cursor, count);
    double check = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t age, active;
        double salary;
        memcpy(&age, columns[3] + 8 * i, 8);
        memcpy(&salary, columns[4] + 8 * i, 8);
        memcpy(&active, columns[5] + 8 * i, 8);
        check += (double)age + salary + (double)active;
    }
    measure_sink = columns[0][0] + columns[1][0] + columns[2][0];
    measure_end("corestone", "W3_columns", (long)count, check, 0);
    cst_buffer_dispose(&packed);
    cst_release(results);
    cst_release(request);
}

static void query(host *with, const char *workload, const char *format, int repetitions) {
    const cst_sort by_salary = {.key_path = {"salary", CST_NUL}, .flags = CST_SORT_DESCENDING};
    measure_begin();
    cst_fetch_request *request = host_all_employees(with);
    MUST(cst_fetch_request_set_sort(request, 1, &by_salary, &host_error));
    MUST(cst_fetch_request_set_limit(request, 50, &host_error));
    long total = 0;
    double check = 0;
    for (int i = 0; i < repetitions; i++) {
        char name[32];
        cst_value argument = text_value(name, company_query_name(i, name));
        cst_predicate *predicate;
        MUST(cst_predicate_parse(host_text(format), 1, &argument, &predicate, &host_error));
        MUST(cst_fetch_request_set_predicate(request, predicate, &host_error));
        cst_results *results = fetch(with, request);
        size_t count = cst_results_count(results);
        for (size_t j = 0; j < count; j++)
            check += get(at(results, j), with->salary).as.real;
        total += (long)count;
        cst_release(results);
        cst_release(predicate);
    }
    cst_release(request);
    measure_end("corestone", workload, total, check, 0);
}

static void follow(host *with) {
    const cst_string prefetch = {"department", CST_NUL};
    measure_begin();
    cst_fetch_request *request = host_all_employees(with);
    MUST(cst_fetch_request_set_prefetch(request, 1, &prefetch, &host_error));
    cst_results *results = fetch(with, request);
    size_t count = cst_results_count(results);
    double check = 0;
    for (size_t i = 0; i < count; i++) {
        cst_object *department = get(at(results, i), with->department_key).as.object;
        check += (double)get(department, with->department_name).as.string.size;
    }
    measure_end("corestone", "W5a", (long)count, check, 0);
    cst_release(results);
    cst_release(request);
}

static cst_object *object_of(host *with, const cst_object_id *id) {
    cst_object *object;
    MUST(cst_context_object_with_id(with->context, id, &object, &host_error));
    return object;
}

static void look_up(host *with, const char *data) {
    int32_t *keys = company_load_keys(data);
    cst_object_id **ids = malloc(EMPLOYEES * sizeof *ids);
    cst_object **objects = malloc(EMPLOYEES * sizeof *objects);
    cst_string store = cst_store_identifier(with->store);
    for (int i = 0; i < EMPLOYEES; i++) {
        char uri[128];
        snprintf(uri, sizeof uri, "x-coredata://%s/Employee/p%d", store.data, keys[i]);
        MUST(cst_coordinator_object_id(with->coordinator, host_text(uri), &ids[i], &host_error));
    }
    measure_begin();
    double check = 0;
    for (int i = 0; i < EMPLOYEES; i++) {
        objects[i] = object_of(with, ids[i]);
        check += get(objects[i], with->salary).as.real;
    }
    measure_end("corestone", "W9_cold", EMPLOYEES, check, 0);

    measure_begin();
    check = 0;
    for (int i = EMPLOYEES - 1; i >= 0; i--) {
        cst_object *object = object_of(with, ids[i]);
        check += get(object, with->salary).as.real;
        cst_release(object);
    }
    measure_end("corestone", "W9_hot", EMPLOYEES, check, 0);
}

int main(int count, char **arguments) {
    if (count != 4) {
        fprintf(stderr, "usage: corestone WORKLOAD DATA STORE\n");
        return 2;
    }
    const char *workload = arguments[1], *data = arguments[2], *path = arguments[3];
    if (run_store(workload, data, path)) return 0;
    const int batch = !strcmp(workload, "batch_insert");
    const int writes = batch || (!strncmp(workload, "W1", 2) && workload[2] != '1');
    static host with;
    char copy[4200];
    if (!strcmp(workload, "W6") || !strcmp(workload, "W7") || !strcmp(workload, "save_mixed")) {
        company_copy_store(path, workload, copy, sizeof copy);
        path = copy;
    }
    if (writes) host_remove(path);
    host_open(&with, path,
              !strcmp(workload, "W1_full") ? 0 : CST_STORE_NORMAL_SYNC | (writes ? 0 : CST_STORE_MUST_EXIST));
    if (batch)
        insert_batch(&with, data);
    else if (writes)
        insert_company(&with, workload, data);
    else if (!strcmp(workload, "W3"))
        read_all(&with);
    else if (!strcmp(workload, "W3_arrow"))
        export_arrow(&with);
    else if (!strcmp(workload, "W3_many"))
        read_many(&with);
    else if (!strcmp(workload, "W3_columns"))
        read_columns(&with);
    else if (!strcmp(workload, "W4"))
        query(&with, workload, "age > 40 AND department.name == %@", QUERY_REPETITIONS);
    else if (!strcmp(workload, "W4_any"))
        query(&with, workload, "department.name == %@ AND ANY projects.budget > 400000", FEWER_REPETITIONS);
    else if (!strcmp(workload, "W4_subquery"))
        query(&with, workload, "department.name == %@ AND SUBQUERY(projects, $p, $p.budget > 400000).@count > 1",
              FEWER_REPETITIONS);
    else if (!strcmp(workload, "W5a"))
        follow(&with);
    else if (!strcmp(workload, "W9"))
        look_up(&with, data);
    else if (!change(&with, workload) && !run_on_queues(&with, workload) && !run_readers(&with, workload) &&
             !run_rows(&with, workload) && !run_live(&with, workload)) {
        fprintf(stderr, "corestone: there is no workload %s\n", workload);
        return 2;
    }
    cst_release(with.context);
    MUST(cst_coordinator_remove_store(with.coordinator, with.store, &host_error));
    cst_release(with.store);
    cst_release(with.coordinator);
    cst_release(with.model);
    return 0;
}
