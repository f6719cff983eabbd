/* SPDX-License-Identifier: MIT */
#include "expect.h"

#include <stdio.h>
#include <string.h>

size_t cases;

bool takes_destroy(const struct call *call) {
    for (int i = 0; i < call->parameter_count; i++) {
        if (call->parameters[i].kind == KIND_DESTROY) return true;
    }
    return false;
}

int error_position(const struct call *call) {
    for (int i = 0; i < call->parameter_count; i++) {
        if (call->parameters[i].kind == KIND_ERROR) return i;
    }
    return -1;
}

void complain(const struct call *call, const struct parameter *parameter, const char *what, const char *got) {
    check_fail(__FILE__, __LINE__, "%s, %s %s: %s", call->name, parameter ? parameter->name : "-", what, got);
}

void expect_failure(const struct call *call, const struct parameter *parameter, const char *what, cst_status expected,
                    union argument *arguments, struct storage *storage) {
    cases++;
    int before = destroy_count;
    struct result result = call->invoke(arguments);
    switch (call->returns) {
    case RETURNS_STATUS: {
        if (result.status != expected) {
            cst_string why = cst_error_message(storage->error);
            char got[512];
            snprintf(got, sizeof got, "%s, expected %s%s%.300s", check_status_name(result.status),
                     check_status_name(expected), why.data ? "; " : "", why.data ? why.data : "");
            complain(call, parameter, what, got);
        }
        int position = error_position(call);
        if (result.status < 0 && position >= 0 && arguments[position].pointer) {
            if (cst_error_status(storage->error) != result.status || cst_error_message(storage->error).size == 0) {
                complain(call, parameter, what, "failed without an error of that status");
            }
        }
        break;
    }
    case RETURNS_STRING:
        if (result.string.data) complain(call, parameter, what, "returned a string");
        break;
    case RETURNS_NUMBER:
        if (result.number != 0 && !(result.number == -1 && strstr(call->name, "offset"))) {
            complain(call, parameter, what, "returned a number");
        }
        break;
    case RETURNS_POINTER:
        if (result.pointer) complain(call, parameter, what, "returned a pointer");
        break;
    case RETURNS_NOTHING:
        break;
    }
    if (takes_destroy(call) && destroy_count != before + 1) {
        char got[64];
        snprintf(got, sizeof got, "destroy ran %d times", destroy_count - before);
        bool removed = parameter && (parameter->kind == KIND_DESTROY);
        if (!removed) complain(call, parameter, what, got);
    }
    world_clean(call, arguments, storage, result);
}
