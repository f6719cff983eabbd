/* Values: each attribute type, conversions, refused values, and values after save and reopen.
 *
 * SPDX-License-Identifier: MIT
 */
#include "company.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const uint8_t uuid[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 255};
static const uint8_t bytes[5] = {0, 255, 1, 0, 128};

static void fill(const struct company *c, cst_object *object) {
    set(object, c->name, value_text("Zoë \xf0\x9f\x98\x80 日本"));
    set(object, c->level, value_int(INT16_MIN));
    set(object, c->floor, value_int(INT32_MIN));
    set(object, c->number, value_int(INT64_MIN));
    set(object, c->salary, value_decimal(1234567890123, -2, true));
    set(object, c->rating, value_real(0.1));
    set(object, c->factor, value_real(0.5));
    set(object, c->notes, value_text(""));
    set(object, c->active, value_bool(true));
    set(object, c->hired, value_date(-978307200.25));
    set(object, c->photo, value_bytes(bytes, sizeof bytes));
    set(object, c->badge, value_uuid(uuid));
    set(object, c->site, value_uri("https://example.org/a?b=c#d"));
    set(object, c->blob, value_bytes(bytes, 3));
}

static void verify(const struct company *c, const cst_object *object) {
    CHECK_TEXT("Zoë \xf0\x9f\x98\x80 日本", get_text(object, c->name));
    CHECK_INT(INT16_MIN, get_int(object, c->level));
    CHECK_INT(INT32_MIN, get_int(object, c->floor));
    CHECK_INT(INT64_MIN, get_int(object, c->number));
    cst_value value = get(object, c->rating);
    CHECK_INT(CST_DOUBLE, value.type);
    CHECK_REAL(0.1, value.as.real);
    value = get(object, c->factor);
    CHECK_INT(CST_DOUBLE, value.type);
    CHECK_REAL(0.5, value.as.real);
    CHECK_TEXT("", get_text(object, c->notes));
    value = get(object, c->active);
    CHECK_INT(CST_BOOL, value.type);
    CHECK(value.as.boolean);
    value = get(object, c->hired);
    CHECK_INT(CST_DATE, value.type);
    CHECK_REAL(-978307200.25, value.as.date);
    value = get(object, c->photo);
    CHECK_INT(CST_BYTES, value.type);
    CHECK(value.as.bytes.size == sizeof bytes && memcmp(value.as.bytes.data, bytes, sizeof bytes) == 0);
    value = get(object, c->badge);
    CHECK_INT(CST_UUID, value.type);
    CHECK(memcmp(value.as.uuid, uuid, 16) == 0);
    value = get(object, c->site);
    CHECK_INT(CST_URI, value.type);
    CHECK_TEXT("https://example.org/a?b=c#d", value.as.string);
    value = get(object, c->blob);
    CHECK_INT(CST_BYTES, value.type);
    CHECK_INT(3, value.as.bytes.size);
    value = get(object, c->salary);
    CHECK_INT(CST_DECIMAL, value.type);
    double decimal = (double)value.as.decimal.mantissa[0] * pow(10, CST_DECIMAL_EXPONENT(value.aux));
    CHECK(CST_DECIMAL_NEGATIVE(value.aux));
    CHECK(fabs(decimal - 12345678901.23) < 0.001);
    CHECK_INT(0, value.as.decimal.mantissa[1]);
}

static void every_type_survives_save_and_reopen(void) {
    const char *path = check_path("a.sqlite");
    struct company company = company_open(path);
    cst_object *object = NULL;
    OK(cst_context_insert(company.context, company.employee, &object, E));
    fill(&company, object);
    verify(&company, object);
    save(company.context);
    verify(&company, object);
    OK(cst_object_refresh(object, false, E));
    CHECK(state(object) & CST_OBJECT_FAULT);
    verify(&company, object);
    OK(cst_release(object));
    company_close(&company);

    company = company_open(path);
    cst_results *results = company_fetch(company.context, company.employee, NULL, NULL);
    CHECK_INT(1, cst_results_count(results));
    verify(&company, object_at(results, 0));
    OK(cst_release(results));
    company_close(&company);
}

static void every_type_keeps_null_after_a_save(void) {
    struct company c = company_open(check_path("a.sqlite"));
    const cst_key keys[] = {c.level, c.floor, c.number, c.salary, c.rating, c.factor,        c.notes,   c.active,
                            c.hired, c.photo, c.badge,  c.site,   c.blob,   c.to_department, c.manager, c.scratch};
    cst_object *object = NULL;
    OK(cst_context_insert(c.context, c.employee, &object, E));
    fill(&c, object);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        set(object, keys[i], value_null());
        CHECK_INT(CST_NULL, get(object, keys[i]).type);
    }
    save(c.context);
    OK(cst_object_refresh(object, false, E));
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        CHECK_INT(CST_NULL, get(object, keys[i]).type);
    OK(cst_release(object));
    company_close(&c);
}

static void a_string_without_data_is_null(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *object = company_employee(&c, c.context, "Ada", 1);
    cst_value value = value_text("x");
    value.as.string = text_of_size(NULL, 0);
    set(object, c.notes, value);
    CHECK_INT(CST_NULL, get(object, c.notes).type);
    value.as.string = text_of_size("", 0);
    set(object, c.notes, value);
    CHECK_TEXT("", get_text(object, c.notes));
    value.as.string = text_of_size("abc", 2);
    set(object, c.notes, value);
    CHECK_TEXT("ab", get_text(object, c.notes));
    OK(cst_release(object));
    company_close(&c);
}

static void text_can_contain_nul(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *object = company_employee(&c, c.context, "Ada", 1);
    cst_value value = value_text("x");
    value.as.string = text_of_size("a\0b", 3);
    set(object, c.notes, value);
    save(c.context);
    OK(cst_object_refresh(object, false, E));
    cst_string view = get_text(object, c.notes);
    CHECK(view.size == 3 && memcmp(view.data, "a\0b", 4) == 0);
    OK(cst_release(object));
    company_close(&c);
}

static void integers_and_whole_doubles_are_converted(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *object = company_employee(&c, c.context, "Ada", 1);
    set(object, c.rating, value_int(7));
    CHECK_REAL(7.0, get(object, c.rating).as.real);
    set(object, c.level, value_real(-3.0));
    CHECK_INT(-3, get_int(object, c.level));
    cst_value value = value_real(2.5);
    CHECK_STATUS(CST_E_TYPE_MISMATCH, cst_object_set(object, c.level, &value, E));
    value = value_real(1e300);
    CHECK_STATUS(CST_E_TYPE_MISMATCH, cst_object_set(object, c.number, &value, E));
    value = value_real(NAN);
    CHECK_STATUS(CST_E_TYPE_MISMATCH, cst_object_set(object, c.number, &value, E));
    set(object, c.site, value_text("https://example.org/"));
    CHECK_INT(CST_URI, get(object, c.site).type);
    CHECK_INT(-3, get_int(object, c.level));
    OK(cst_release(object));
    company_close(&c);
}

static void values_of_other_types_are_refused(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *object = company_employee(&c, c.context, "Ada", 1);
    const cst_key keys[] = {c.name, c.number, c.rating, c.active, c.hired, c.photo, c.badge};
    const cst_value values[] = {value_text("1"), value_int(5),       value_real(1.5), value_bool(true),
                                value_date(0),   value_bytes("", 0), value_uuid(uuid)};
    /* Rows: the type of the attribute; columns: the given type. An integer suits a double, a boolean an integer. */
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
            bool converted = k == v || (k == 2 && v == 1) || (k == 1 && v == 3);
            if (converted) continue;
            cst_status status = cst_object_set(object, keys[k], &values[v], E);
            if (status != CST_E_TYPE_MISMATCH) {
                check_fail(__FILE__, __LINE__, "value %zu for key %zu: %s", v, k, check_status_name(status));
                continue;
            }
            CHECK_TEXT("Employee", cst_error_entity(check_error()));
            CHECK(cst_error_key(check_error()).size > 0);
        }
    }
    CHECK_TEXT("Ada", get_text(object, c.name));
    const cst_key every[] = {c.number, c.notes, c.to_department, c.scratch};
    const uint32_t unknown[] = {99, 255, 256, UINT32_MAX};
    for (size_t i = 0; i < 4; i++) {
        for (size_t k = 0; k < 4; k++) {
            cst_value bad = value_int(1);
            bad.type = unknown[i];
            CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_object_set(object, every[k], &bad, E));
        }
    }
    OK(cst_release(object));
    company_close(&c);
}

static void numbers_out_of_range_are_refused_when_set(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *object = company_employee(&c, c.context, "Ada", 1);
    const struct {
        cst_key key;
        int64_t number;
        int code;
    } cases[] = {
        {c.level, 32768, CST_CODE_VALIDATION_NUMBER_TOO_LARGE},
        {c.level, -32769, CST_CODE_VALIDATION_NUMBER_TOO_SMALL},
        {c.floor, 2147483648, CST_CODE_VALIDATION_NUMBER_TOO_LARGE},
        {c.floor, -2147483649, CST_CODE_VALIDATION_NUMBER_TOO_SMALL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cst_value value = value_int(cases[i].number);
        CHECK_STATUS(CST_E_VALIDATION, cst_object_set(object, cases[i].key, &value, E));
        CHECK_INT(cases[i].code, cst_error_code(check_error()));
        CHECK_INT(CST_NULL, get(object, cases[i].key).type);
    }
    OK(cst_release(object));
    company_close(&c);
}

static void numbers_at_their_limits_survive_a_save(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *object = company_employee(&c, c.context, "Ada", 1);
    const cst_key keys[] = {c.level, c.level, c.level, c.floor, c.floor, c.number, c.number};
    const int64_t numbers[] = {-1, INT16_MAX, INT16_MIN, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        set(object, keys[i], value_int(numbers[i]));
        CHECK_INT(numbers[i], get_int(object, keys[i]));
        save(c.context);
        OK(cst_object_refresh(object, false, E));
        CHECK_INT(numbers[i], get_int(object, keys[i]));
    }
    const double reals[] = {0, -0.5, 1e300, DBL_TRUE_MIN};
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++) {
        set(object, c.rating, value_real(reals[i]));
        save(c.context);
        OK(cst_object_refresh(object, false, E));
        CHECK_REAL(reals[i], get(object, c.rating).as.real);
    }
    set(object, c.factor, value_real(0.1));
    CHECK_REAL((double)0.1f, get(object, c.factor).as.real);
    set(object, c.active, value_bool(false));
    save(c.context);
    OK(cst_object_refresh(object, false, E));
    CHECK_REAL((double)0.1f, get(object, c.factor).as.real);
    CHECK(get(object, c.active).type == CST_BOOL && !get(object, c.active).as.boolean);
    OK(cst_release(object));
    company_close(&c);
}

static void nan_and_infinities_fail_validation(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *object = company_employee(&c, c.context, "Ada", 1);
    const double reals[] = {NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < 3; i++) {
        cst_value value = value_real(reals[i]);
        cst_status status = cst_object_set(object, c.rating, &value, E);
        if (status == CST_OK) status = cst_context_save(c.context, E);
        CHECK_INT(CST_E_VALIDATION, status);
        CHECK_TEXT("rating", cst_error_key(check_error()));
    }
    set(object, c.rating, value_real(DBL_MAX));
    save(c.context);
    OK(cst_object_refresh(object, false, E));
    CHECK_REAL(DBL_MAX, get(object, c.rating).as.real);
    set(object, c.rating, value_real(-0.0));
    CHECK(signbit(get(object, c.rating).as.real));
    OK(cst_release(object));
    company_close(&c);
}

static void dates_must_be_finite(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *object = company_employee(&c, c.context, "Ada", 1);
    cst_value value = value_date(NAN);
    cst_status status = cst_object_set(object, c.hired, &value, E);
    if (status == CST_OK) status = cst_context_save(c.context, E);
    CHECK_INT(CST_E_VALIDATION, status);
    OK(cst_release(object));
    company_close(&c);
}

static void decimals_have_up_to_38_digits(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *object = company_employee(&c, c.context, "Ada", 1);
    /* 10^38 - 1 = 0x4B3B4CA85A86C47A_098A223FFFFFFFFF */
    cst_value value = value_decimal(0x098A223FFFFFFFFFu, 0, false);
    value.as.decimal.mantissa[1] = 0x4B3B4CA85A86C47Au;
    set(object, c.salary, value);
    cst_value back = get(object, c.salary);
    CHECK(back.as.decimal.mantissa[0] == 0x098A223FFFFFFFFFu && back.as.decimal.mantissa[1] == 0x4B3B4CA85A86C47Au);
    CHECK_INT(0, CST_DECIMAL_EXPONENT(back.aux));
    value.as.decimal.mantissa[0]++; /* 10^38: one digit more */
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_object_set(object, c.salary, &value, E));
    value = value_decimal(1, 127, false);
    set(object, c.salary, value);
    CHECK_INT(127, CST_DECIMAL_EXPONENT(get(object, c.salary).aux));
    value = value_decimal(5, -128, true);
    set(object, c.salary, value);
    CHECK_INT(-128, CST_DECIMAL_EXPONENT(get(object, c.salary).aux));
    value = value_decimal(UINT64_MAX, -128, true);
    value.as.decimal.mantissa[1] = UINT64_MAX;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_object_set(object, c.salary, &value, E));
    value = value_decimal(0x098A223FFFFFFFFFu, -4, true);
    value.as.decimal.mantissa[1] = 0x4B3B4CA85A86C47Au;
    set(object, c.salary, value);
    CHECK_INT(0x1FC, get(object, c.salary).aux);
    /* A column holds a floating-point number, as in Apple's stores. */
    set(object, c.salary, value_decimal(1234, -2, false));
    save(c.context);
    OK(cst_object_refresh(object, false, E));
    back = get(object, c.salary);
    CHECK_INT(1234, back.as.decimal.mantissa[0]);
    CHECK_INT(0xFE, back.aux);
    /* Until the row is read from the store, every digit is there, also in another context. */
    cst_object *precise = company_employee(&c, c.context, "Bob", 2), *twin = NULL;
    cst_object_id *id = NULL;
    value = value_decimal(0x098A223FFFFFFFFFu, -10, true);
    value.as.decimal.mantissa[1] = 0x4B3B4CA85A86C47Au;
    set(precise, c.salary, value);
    save(c.context);
    cst_context *other = company_context(&c, CST_QUEUE_CALLER);
    OK(cst_object_copy_id(precise, &id, E));
    OK(cst_context_existing_object(other, id, &twin, E));
    back = get(twin, c.salary);
    CHECK(back.as.decimal.mantissa[0] == 0x098A223FFFFFFFFFu && back.as.decimal.mantissa[1] == 0x4B3B4CA85A86C47Au);
    CHECK(CST_DECIMAL_EXPONENT(back.aux) == -10 && CST_DECIMAL_NEGATIVE(back.aux));
    cst_release(twin), cst_release(id), cst_release(precise), cst_release(other);
    OK(cst_release(object));
    company_close(&c);
}

static void new_objects_have_the_default_values(void) {
    cst_model *model = NULL;
    cst_entity *entity = NULL;
    cst_attribute *number = NULL, *label = NULL;
    OK(cst_model_new(&model, E));
    OK(cst_model_add_entity(model, text("Item"), &entity, E));
    OK(cst_entity_add_attribute(entity, text("number"), CST_ATTRIBUTE_INTEGER_16, 0, &number, E));
    OK(cst_entity_add_attribute(entity, text("label"), CST_ATTRIBUTE_STRING, 0, &label, E));
    char buffer[] = "fresh";
    cst_value value = value_int(7);
    OK(cst_attribute_set_default(number, &value, E));
    value = value_text(buffer);
    OK(cst_attribute_set_default(label, &value, E));
    memset(buffer, 'x', sizeof buffer - 1); /* the library keeps a copy */
    cst_key number_key, label_key;
    OK(cst_entity_key(entity, text("number"), &number_key, E));
    OK(cst_entity_key(entity, text("label"), &label_key, E));
    cst_object *object = NULL;
    OK(cst_object_new(entity, &object, E));
    CHECK_INT(7, get_int(object, number_key));
    CHECK_TEXT("fresh", get_text(object, label_key));
    OK(cst_release(object));
    OK(cst_release(model));
}

/* The documented combinations, and the type of value that the attribute then has. */
static void attributes_accept_the_documented_types_of_values(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *object = company_employee(&c, c.context, "Ada", 1), *other = company_employee(&c, c.context, "Bo", 2);
    cst_object_id *id = NULL;
    OK(cst_object_copy_id(other, &id, E));
    const cst_value one = value_int(1), pair[] = {value_text("a"), one};
    cst_value id_value = {.type = CST_OBJECT_ID}, list = {.type = CST_ARRAY}, set_value = {.type = CST_SET};
    cst_value dictionary = {.type = CST_DICTIONARY}, by_default = {.type = CST_DEFAULT};
    id_value.as.object_id = id;
    list.as.values = set_value.as.values = (cst_values){&one, 1};
    dictionary.as.values = (cst_values){pair, 2};
    enum { LEVEL, NUMBER, RATING, FACTOR, SALARY, ACTIVE, HIRED, NAME, SITE, PHOTO, BLOB, BADGE, BOSS, KEYS };
    const cst_key keys[KEYS] = {c.level, c.number, c.rating, c.factor, c.salary, c.active, c.hired,
                                c.notes, c.site,   c.photo,  c.blob,   c.badge,  c.manager};
    const uint32_t held[KEYS] = {CST_INT,    CST_INT, CST_DOUBLE, CST_DOUBLE, CST_DECIMAL, CST_BOOL,  CST_DATE,
                                 CST_STRING, CST_URI, CST_BYTES,  CST_BYTES,  CST_UUID,    CST_OBJECT};
    const struct {
        cst_value value;
        const char *suits; /* in the order of the keys */
    } rows[] = {
        {value_bool(true), "xx...x......."},
        {value_int(1), "xxxxxx......."},
        {value_int(2), "xxxxx........"},
        {value_int(-1), "xxxxx........"},
        {value_real(1), "xxxxx........"},
        {value_real(2.5), "..xxx........"},
        {value_decimal(15, -1, false), "....x........"},
        {value_text("a:b"), ".......xx...."},
        {value_uri("a:b"), "........x...."},
        {value_bytes(bytes, 3), ".........xx.."},
        {value_date(1), "......x......"},
        {value_uuid(uuid), "...........x."},
        {value_object(other), "............x"},
        {id_value, "............."},
        {list, "............."},
        {set_value, "............."},
        {dictionary, "............."},
        {by_default, "............."},
    };
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
        for (int k = 0; k < KEYS; k++) {
            set(object, keys[k], value_null());
            cst_status status = cst_object_set(object, keys[k], &rows[row].value, E);
            bool is_suited = rows[row].suits[k] == 'x';
            /* Types that no property can have are invalid arguments. */
            cst_status refusal = rows[row].value.type >= CST_ARRAY ? CST_E_INVALID_ARGUMENT : CST_E_TYPE_MISMATCH;
            if (status != (is_suited ? CST_OK : refusal)) {
                check_fail(__FILE__, __LINE__, "row %zu, key %d: %s", row, k, check_status_name(status));
                continue;
            }
            if (!is_suited && refusal == CST_E_TYPE_MISMATCH) {
                cst_value refused = value_null();
                CHECK_TEXT("Employee", cst_error_entity(check_error()));
                CHECK(cst_error_key(check_error()).data != NULL);
                CHECK_INT(CST_OK, cst_error_value(check_error(), &refused));
                CHECK_INT(rows[row].value.type == CST_OBJECT ? CST_OBJECT_ID : rows[row].value.type, refused.type);
            }
            CHECK_INT(is_suited ? held[k] : CST_NULL, get(object, keys[k]).type);
        }
    }
    OK(cst_release(id));
    OK(cst_release(other));
    OK(cst_release(object));
    company_close(&c);
}

/* The message names the expected type. */
static void type_mismatch_errors_name_the_expected_type(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *object = company_employee(&c, c.context, "Ada", 1);
    const struct {
        cst_key key;
        const char *name, *wanted;
    } cases[] = {
        {c.level, "level", "Integer 16"}, {c.floor, "floor", "Integer 32"}, {c.number, "number", "Integer 64"},
        {c.salary, "salary", "Decimal"},  {c.rating, "rating", "Double"},   {c.factor, "factor", "Float"},
        {c.active, "active", "Boolean"},  {c.hired, "hired", "Date"},       {c.photo, "photo", "Binary"},
        {c.badge, "badge", "UUID"},
    };
    const cst_value words = value_text("words");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cst_value value = value_null();
        CHECK_STATUS(CST_E_TYPE_MISMATCH, cst_object_set(object, cases[i].key, &words, E));
        CHECK_TEXT(cases[i].name, cst_error_key(check_error()));
        CHECK_CONTAINS(cases[i].wanted, cst_error_message(check_error()));
        OK(cst_error_value(check_error(), &value));
        CHECK_TEXT("words", value.as.string);
    }
    const cst_value number = value_int(7), large = value_int(40000);
    CHECK_STATUS(CST_E_TYPE_MISMATCH, cst_object_set(object, c.notes, &number, E));
    CHECK_CONTAINS("String", cst_error_message(check_error()));
    set(object, c.level, value_int(3));
    CHECK_STATUS(CST_E_VALIDATION, cst_object_set(object, c.level, &large, E));
    cst_value value = value_null();
    CHECK_TEXT("Employee", cst_error_entity(check_error()));
    CHECK_TEXT("level", cst_error_key(check_error()));
    OK(cst_error_value(check_error(), &value));
    CHECK_INT(40000, value.as.integer);
    CHECK_INT(3, get_int(object, c.level));
    value = value_text("x");
    value.as.string = text_of_size("\xff", 1);
    set(object, c.notes, value_text("kept"));
    CHECK_STATUS(CST_E_INVALID_UTF8, cst_object_set(object, c.notes, &value, E));
    CHECK_INT(0, cst_error_offset(check_error()));
    value.as.string = text_of_size("a\x80", 2);
    CHECK_STATUS(CST_E_INVALID_UTF8, cst_object_set(object, c.notes, &value, E));
    CHECK_INT(1, cst_error_offset(check_error()));
    value.as.string = text_of_size("x", (size_t)1 << 40);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_object_set(object, c.notes, &value, E));
    CHECK_TEXT("kept", get_text(object, c.notes));
    OK(cst_release(object));
    company_close(&c);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(every_type_survives_save_and_reopen);
    RUN(every_type_keeps_null_after_a_save);
    RUN(a_string_without_data_is_null);
    RUN(text_can_contain_nul);
    RUN(integers_and_whole_doubles_are_converted);
    RUN(values_of_other_types_are_refused);
    RUN(numbers_out_of_range_are_refused_when_set);
    RUN(numbers_at_their_limits_survive_a_save);
    RUN(nan_and_infinities_fail_validation);
    RUN(dates_must_be_finite);
    RUN(decimals_have_up_to_38_digits);
    RUN(new_objects_have_the_default_values);
    RUN(attributes_accept_the_documented_types_of_values);
    RUN(type_mismatch_errors_name_the_expected_type);
    return check_end();
}
