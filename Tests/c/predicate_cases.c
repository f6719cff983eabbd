/* Runs the cases that predicate_cases.py writes to its standard input; passes when 99 of 100 hold.
 *
 * SPDX-License-Identifier: MIT
 */
#include <corestone.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LINE = 1 << 20, MAX_KINDS = 32, MAX_SORTS = 8, MAX_ARGUMENTS = 64 };

/* The expected result can be something other than a value. */
enum { EXPECT_ANY_ORDER = 100, EXPECT_COUNT = 101 };

static char line[MAX_LINE], *rest;
static const char *word(void) {
    char *begin = rest;
    rest = strchr(begin, ' ');
    if (!rest) return rest = begin + strlen(begin), begin;
    *rest++ = 0;
    return begin;
}

/* The memory of a case is freed after it. */
struct block {
    struct block *next;
    max_align_t content[];
};
static struct block *blocks;

static void *memory(size_t size) {
    struct block *block = calloc(1, sizeof *block + size);
    if (!block) abort();
    block->next = blocks;
    blocks = block;
    return block->content;
}

static void free_memory(void) {
    while (blocks) {
        struct block *next = blocks->next;
        free(blocks);
        blocks = next;
    }
}

/* "x…" in hexadecimal. */
static cst_string unhex(const char *digits) {
    size_t size = (strlen(digits) - 1) / 2;
    char *text = memory(size + 1);
    for (size_t i = 0; i < size; i++) {
        unsigned byte = 0;
        if (sscanf(digits + 1 + 2 * i, "%2x", &byte) != 1) abort();
        text[i] = (char)byte;
    }
    return (cst_string){text, size};
}

static cst_value read_value(void) {
    const char *token = word(), *more = token + 1;
    cst_value value;
    memset(&value, 0, sizeof value);
    switch (token[0]) {
    case 'n':
        break;
    case 't':
    case 'f':
        value.type = CST_BOOL;
        value.as.boolean = token[0] == 't';
        break;
    case 'i':
        value.type = CST_INT;
        value.as.integer = strtoll(more, NULL, 10);
        break;
    case 'd':
        value.type = CST_DOUBLE;
        value.as.real = strtod(more, NULL);
        break;
    case 'D':
        value.type = CST_DATE;
        value.as.date = strtod(more, NULL);
        break;
    case 's':
        value.type = CST_STRING;
        value.as.string = unhex(more);
        break;
    case 'b': {
        cst_string bytes = unhex(more);
        value.type = CST_BYTES;
        value.as.bytes = (cst_bytes){(const uint8_t *)bytes.data, bytes.size};
        break;
    }
    case 'u':
        value.type = CST_UUID;
        memcpy(value.as.uuid, unhex(more).data, 16);
        break;
    case 'C':
        value.type = EXPECT_COUNT;
        value.as.integer = strtoll(more, NULL, 10);
        break;
    default: {
        size_t count = strtoul(more, NULL, 10);
        cst_value *members = memory(count * sizeof *members);
        for (size_t i = 0; i < count; i++)
            members[i] = read_value();
        value.type = token[0] == 'a'   ? CST_ARRAY
                     : token[0] == 'S' ? CST_SET
                     : token[0] == 'O' ? EXPECT_ANY_ORDER
                                       : CST_DICTIONARY;
        value.as.values = (cst_values){members, count};
    }
    }
    return value;
}

static bool number(const cst_value *value, double *out) {
    switch (value->type) {
    case CST_BOOL:
        *out = value->as.boolean;
        return true;
    case CST_INT:
        *out = (double)value->as.integer;
        return true;
    case CST_DOUBLE:
        *out = value->as.real;
        return true;
    case CST_DECIMAL:
        *out =
            ((double)value->as.decimal.mantissa[1] * 18446744073709551616.0 + (double)value->as.decimal.mantissa[0]) *
            pow(10, CST_DECIMAL_EXPONENT(value->aux)) * (CST_DECIMAL_NEGATIVE(value->aux) ? -1 : 1);
        return true;
    default:
        return false;
    }
}

static bool same(const cst_value *found, const cst_value *expected);

static bool same_members(const cst_values *found, const cst_values *expected, bool in_order) {
    if (found->size != expected->size) return false;
    for (size_t i = 0; i < expected->size; i++) {
        bool holds = in_order && same(&found->data[i], &expected->data[i]);
        for (size_t j = 0; !in_order && !holds && j < found->size; j++)
            holds = same(&found->data[j], &expected->data[i]);
        if (!holds) return false;
    }
    return true;
}

static bool same_entries(const cst_values *found, const cst_values *expected) {
    if (found->size != expected->size) return false;
    for (size_t i = 0; i < expected->size; i += 2) {
        bool holds = false;
        for (size_t j = 0; !holds && j < found->size; j += 2)
            holds = same(&found->data[j], &expected->data[i]) && same(&found->data[j + 1], &expected->data[i + 1]);
        if (!holds) return false;
    }
    return true;
}

static bool same(const cst_value *found, const cst_value *expected) {
    double a, b;
    if (number(found, &a) && number(expected, &b)) return fabs(a - b) <= 1e-12 * fmax(1, fabs(b));
    if (expected->type == EXPECT_COUNT)
        return (found->type == CST_ARRAY || found->type == CST_SET) &&
               found->as.values.size == (size_t)expected->as.integer;
    if (expected->type == EXPECT_ANY_ORDER)
        return (found->type == CST_ARRAY || found->type == CST_SET) &&
               same_members(&found->as.values, &expected->as.values, false);
    if (found->type != expected->type) return false;
    switch (found->type) {
    case CST_STRING:
    case CST_BYTES:
    case CST_URI:
        return found->as.bytes.size == expected->as.bytes.size &&
               memcmp(found->as.bytes.data, expected->as.bytes.data, found->as.bytes.size) == 0;
    case CST_DATE:
        return found->as.date == expected->as.date;
    case CST_UUID:
        return memcmp(found->as.uuid, expected->as.uuid, 16) == 0;
    case CST_ARRAY:
    case CST_SET:
        return same_members(&found->as.values, &expected->as.values, found->type == CST_ARRAY);
    case CST_DICTIONARY:
        return same_entries(&found->as.values, &expected->as.values);
    default:
        return true;
    }
}

struct test_case {
    const char *id, *kind, *mode;
    cst_string format;
    cst_value arguments, variables, object, expected, composed, substituted;
    bool throws;
    size_t sort_count;
    cst_sort sorts[MAX_SORTS];
    bool has_unknown_selector;
    const char *operation;
};

static void read_sorts(struct test_case *t) {
    static const struct {
        const char *selector;
        uint32_t flags;
    } known[] = {{"compare:", 0},
                 {"caseInsensitiveCompare:", CST_SORT_CASE_INSENSITIVE},
                 {"localizedCompare:", CST_SORT_LOCALIZED},
                 {"localizedCaseInsensitiveCompare:", CST_SORT_LOCALIZED | CST_SORT_CASE_INSENSITIVE},
                 {"localizedStandardCompare:", CST_SORT_LOCALIZED_STANDARD}};
    t->sort_count = strtoul(word(), NULL, 10);
    for (size_t i = 0; i < t->sort_count && i < MAX_SORTS; i++) {
        cst_value key = read_value();
        t->sorts[i].key_path = key.as.string;
        t->sorts[i].flags = strcmp(word(), "down") == 0 ? CST_SORT_DESCENDING : 0;
        const char *selector = word();
        size_t n = 0;
        while (n < sizeof known / sizeof *known && strcmp(known[n].selector, selector) != 0)
            n++;
        if (n == sizeof known / sizeof *known)
            t->has_unknown_selector = true;
        else
            t->sorts[i].flags |= known[n].flags;
    }
}

static struct test_case read_case(void) {
    struct test_case t;
    memset(&t, 0, sizeof t);
    rest = line;
    t.id = word(), t.kind = word(), t.mode = word();
    t.format = unhex(word());
    t.arguments = read_value(), t.variables = read_value(), t.object = read_value();
    t.throws = strncmp(rest, "throws ", 7) == 0;
    if (t.throws)
        word();
    else
        t.expected = read_value();
    read_sorts(&t);
    t.operation = word();
    t.composed = read_value(), t.substituted = read_value();
    return t;
}

static cst_status make_predicate(const struct test_case *t, cst_predicate **out, cst_error **error) {
    if (strcmp(t->operation, "none") == 0)
        return cst_predicate_parse(t->format, t->arguments.as.values.size, t->arguments.as.values.data, out, error);
    cst_predicate *parts[MAX_ARGUMENTS] = {NULL};
    cst_status status = CST_OK;
    for (size_t i = 0; status == CST_OK && i < t->composed.as.values.size; i++)
        status = cst_predicate_parse(t->composed.as.values.data[i].as.string, 0, NULL, &parts[i], error);
    uint32_t type = strcmp(t->operation, "and") == 0  ? CST_PREDICATE_AND
                    : strcmp(t->operation, "or") == 0 ? CST_PREDICATE_OR
                                                      : CST_PREDICATE_NOT;
    if (status == CST_OK)
        status = cst_predicate_new_compound(type, t->composed.as.values.size, (const cst_predicate *const *)parts, out,
                                            error);
    for (size_t i = 0; i < t->composed.as.values.size; i++)
        cst_release(parts[i]);
    return status;
}

static cst_status filter(const struct test_case *t, const cst_predicate *predicate, cst_value *out, cst_error **error) {
    const cst_values *all = &t->object.as.values;
    bool *holds = memory(all->size);
    cst_status status = cst_predicate_filter(predicate, all->size, all->data, &t->variables, holds, error);
    cst_value *chosen = memory(all->size * sizeof *chosen);
    size_t count = 0;
    for (size_t i = 0; i < all->size; i++)
        if (holds[i]) chosen[count++] = all->data[i];
    *out = (cst_value){CST_ARRAY, 0, {.values = {chosen, count}}};
    return status;
}

static cst_status sorted(const struct test_case *t, cst_value *out, cst_error **error) {
    const cst_values *all = &t->object.as.values;
    size_t *order = memory(all->size * sizeof *order);
    cst_status status = cst_sort_values(all->size, all->data, t->sort_count, t->sorts, NULL, NULL, order, error);
    cst_value *members = memory(all->size * sizeof *members);
    for (size_t i = 0; i < all->size; i++)
        members[i] = all->data[order[i]];
    *out = (cst_value){CST_ARRAY, 0, {.values = {members, all->size}}};
    return status;
}

/* The value of an expression, the truth of a predicate, or the text of either. */
static cst_status answer(const struct test_case *t, cst_value *out, cst_error **error) {
    bool prints = strcmp(t->kind, "format_roundtrip") == 0, parses = strncmp(t->kind, "parse", 5) == 0;
    cst_buffer text = {NULL, 0, 0};
    cst_status status;
    if (!parses && strcmp(t->mode, "keypath") == 0)
        return cst_value_copy_at_key_path(&t->object, t->format, out, error);
    if (!parses && strcmp(t->mode, "sort") == 0)
        return t->has_unknown_selector ? CST_E_UNSUPPORTED : sorted(t, out, error);
    if (strcmp(t->mode, "expression") == 0) {
        cst_expression *expression = NULL;
        status = cst_expression_parse(t->format, t->arguments.as.values.size, t->arguments.as.values.data, &expression,
                                      error);
        if (status == CST_OK && prints) status = cst_expression_copy_format(expression, &text, error);
        if (status == CST_OK && !prints && !parses)
            status = cst_expression_value(expression, &t->object, &t->variables, out, error);
        cst_release(expression);
    } else {
        cst_predicate *predicate = NULL, *bound = NULL;
        status = make_predicate(t, &predicate, error);
        if (status == CST_OK && t->substituted.type == CST_DICTIONARY) {
            status = cst_predicate_new_substituted(predicate, &t->substituted, &bound, error);
            if (status == CST_OK) cst_release(predicate), predicate = bound;
        }
        if (status == CST_OK && prints) status = cst_predicate_copy_format(predicate, &text, error);
        if (status == CST_OK && !prints && !parses && strcmp(t->mode, "filter") == 0)
            status = filter(t, predicate, out, error);
        else if (status == CST_OK && !prints && !parses) {
            out->type = CST_BOOL;
            status = cst_predicate_evaluate_value(predicate, &t->object, &t->variables, &out->as.boolean, error);
        }
        cst_release(predicate);
    }
    if (prints && text.data) {
        char *copy = memory(text.size + 1);
        memcpy(copy, text.data, text.size);
        *out = (cst_value){CST_STRING, 0, {.string = {copy, text.size}}};
    }
    cst_buffer_dispose(&text);
    return status;
}

static bool holds(const struct test_case *t) {
    cst_value found;
    memset(&found, 0, sizeof found);
    cst_error *error = NULL;
    cst_status status = answer(t, &found, &error);
    bool passed;
    if (strcmp(t->kind, "parse_ok") == 0)
        passed = status == CST_OK;
    else if (strcmp(t->kind, "parse_error") == 0)
        passed = status == CST_E_PREDICATE_SYNTAX && cst_error_offset(error) >= 0;
    else
        passed = t->throws ? status < 0 : status == CST_OK && same(&found, &t->expected);
    if (!passed)
        printf("predicate_cases: FAILED %s %s: status %d %s\n", t->id, t->format.data, status,
               error ? cst_error_message(error).data : "");
    cst_value_dispose(&found);
    cst_release(error);
    return passed;
}

int main(void) {
    static struct {
        char name[64];
        int passed, total;
    } kinds[MAX_KINDS];
    int passed = 0, total = 0;
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = 0;
        struct test_case t = read_case();
        char name[64];
        snprintf(name, sizeof name, "%.30s %.30s", t.kind, strcmp(t.kind, "evaluate") == 0 ? t.mode : "");
        int place = 0;
        while (kinds[place].total && strcmp(kinds[place].name, name) != 0 && place < MAX_KINDS - 1)
            place++;
        memcpy(kinds[place].name, name, sizeof name);
        bool one = holds(&t);
        kinds[place].total++, total++;
        kinds[place].passed += one, passed += one;
        free_memory();
    }
    for (int place = 0; place < MAX_KINDS && kinds[place].total; place++)
        printf("predicate_cases: %s: %d of %d\n", kinds[place].name, kinds[place].passed, kinds[place].total);
    printf("predicate_cases: %d handles left\n", (int)cst_handle_count());
    bool enough = total > 0 && passed * 100 >= total * 99 && cst_handle_count() == 0;
    printf("predicate_cases: %d of %d\n%d passed, %d failed\n", passed, total, passed, total - passed);
    return enough ? 0 : 1;
}
