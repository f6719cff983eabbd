/* A host object for tests: a person with a name and an age, read through callbacks.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HOST_H
#define HOST_H

#include "company.h"

#include <string.h>

struct person {
    const char *name;
    int64_t age;
    int kept; /* the number of references of the library */
};

static inline cst_status person_value(void *object, cst_string key, cst_value *out_value, cst_error **error) {
    const struct person *person = object;
    (void)error;
    if (key.size == 4 && memcmp(key.data, "name", 4) == 0) {
        *out_value = value_text(person->name);
        return CST_OK;
    }
    if (key.size == 3 && memcmp(key.data, "age", 3) == 0) {
        *out_value = value_int(person->age);
        return CST_OK;
    }
    if (key.size == 4 && memcmp(key.data, "fail", 4) == 0) {
        cst_error_new_custom(text("App"), 7, text("no luck"), NULL, NULL, error);
        return CST_E_CALLBACK;
    }
    return CST_NOT_FOUND;
}
static inline const char *person_class(void *object) {
    (void)object;
    return "Person";
}
static inline bool person_equal(void *object, void *other) {
    return strcmp(((struct person *)object)->name, ((struct person *)other)->name) == 0;
}
static inline cst_status person_compare(void *object, void *other, int32_t *out_order, cst_error **error) {
    (void)error;
    int64_t a = ((struct person *)object)->age, b = ((struct person *)other)->age;
    *out_order = (a > b) - (a < b);
    return CST_OK;
}
static inline void person_retain(void *object) { ((struct person *)object)->kept++; }
static inline void person_release(void *object) { ((struct person *)object)->kept--; }

static const cst_host_callbacks person_callbacks = {sizeof(cst_host_callbacks),
                                                    person_value,
                                                    NULL,
                                                    NULL,
                                                    person_class,
                                                    person_equal,
                                                    NULL,
                                                    person_compare,
                                                    person_retain,
                                                    person_release};

static inline cst_value value_person(struct person *person) {
    return (cst_value){CST_HOST, 0, {.host = {&person_callbacks, person}}};
}
static inline cst_value value_list(cst_type type, const cst_value *members, size_t count) {
    return (cst_value){type, 0, {.values = {members, count}}};
}

#endif
