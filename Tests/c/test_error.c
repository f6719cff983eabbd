/* Errors: their fields, their details, and errors of the host.
 *
 * SPDX-License-Identifier: MIT
 */
#include "company.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int destroyed;
static void count_destroy(void *userdata) {
    (void)userdata;
    destroyed++;
}

static void custom_errors_keep_their_domain_code_and_userdata(void) {
    int payload = 0;
    cst_error *error = NULL;
    destroyed = 0;
    CHECK_STATUS(CST_OK,
                 cst_error_new_custom(text("App"), -77, text("the disk is on fire"), &payload, count_destroy, &error));
    CHECK_STATUS(CST_E_CALLBACK, cst_error_status(error));
    CHECK_INT(-77, cst_error_code(error));
    CHECK_TEXT("App", cst_error_domain(error));
    CHECK_TEXT("the disk is on fire", cst_error_message(error));
    CHECK_TEXT(NULL, cst_error_entity(error));
    CHECK_TEXT(NULL, cst_error_key(error));
    CHECK_TEXT(NULL, cst_error_object_uri(error));
    CHECK_TEXT(NULL, cst_error_file(error));
    cst_value value;
    CHECK_STATUS(CST_NOT_FOUND, cst_error_value(error, &value));
    CHECK_INT(CST_NULL, value.type);
    CHECK_INT(0, cst_error_sqlite_code(error));
    CHECK_INT(-1, cst_error_offset(error));
    CHECK_INT(0, cst_error_detail_count(error));
    CHECK(cst_error_detail_at(error, 0) == NULL);
    CHECK(cst_error_userdata(error) == &payload);
    CHECK(cst_retain(error) == error);
    CHECK_STATUS(CST_OK, cst_release(error));
    CHECK_INT(0, destroyed);
    CHECK_STATUS(CST_OK, cst_release(error));
    CHECK_INT(1, destroyed);
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_release(error));
    CHECK_INT(1, destroyed);
}

static void a_custom_error_without_a_domain_has_the_domain_host(void) {
    cst_error *error = NULL;
    CHECK_STATUS(CST_OK, cst_error_new_custom(text_of_size(NULL, 0), INT64_MAX, text(""), NULL, NULL, &error));
    CHECK_TEXT("Host", cst_error_domain(error));
    CHECK_TEXT("", cst_error_message(error));
    CHECK_INT(INT64_MAX, cst_error_code(error));
    CHECK(cst_error_userdata(error) == NULL);
    CHECK_STATUS(CST_OK, cst_release(error));
    CHECK_STATUS(CST_OK, cst_error_new_custom(text_of_size(NULL, 0), INT64_MIN, text(""), NULL, NULL, &error));
    CHECK_INT(INT64_MIN, cst_error_code(error));
    CHECK_STATUS(CST_OK, cst_release(error));
}

static void control_characters_in_messages_are_escaped(void) {
    /* A message of the host is not changed. */
    cst_error *error = NULL;
    CHECK_STATUS(CST_OK, cst_error_new_custom(text("App"), 1, text("a\nb\x1b[2J"), NULL, NULL, &error));
    CHECK_TEXT("a\nb\x1b[2J", cst_error_message(error));
    CHECK_STATUS(CST_OK, cst_release(error));

    /* Names from outside the library are escaped in its messages. */
    cst_model *model = NULL;
    cst_entity *entity = NULL;
    OK(cst_model_new(&model, E));
    CHECK_STATUS(CST_E_MODEL, cst_model_add_entity(model, text("a\nb\x1b[2J\xc2\x9b\x7f"), &entity, E));
    CHECK_TEXT("\"a⏎b␛[2J\\u{9B}␡\" is not a valid name for an entity; use letters, digits and underscores, without a "
               "leading digit",
               cst_error_message(check_error()));
    CHECK_TEXT("a\nb\x1b[2J\xc2\x9b\x7f", cst_error_key(check_error()));
    OK(cst_release(model));
}

static void destroy_runs_once_when_creating_an_error_fails(void) {
    destroyed = 0;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_error_new_custom(text("App"), 1, text("m"), NULL, count_destroy, NULL));
    CHECK_INT(1, destroyed);
    cst_error *error = NULL;
    CHECK_STATUS(CST_E_INVALID_UTF8, cst_error_new_custom(text("App"), 1, text("\xff"), NULL, count_destroy, &error));
    CHECK_INT(2, destroyed);
    CHECK(error == NULL);
}

static void validation_errors_have_a_detail_for_each_property(void) {
    struct company company = company_open(check_path("a.sqlite"));
    cst_object *employee = NULL, *department = NULL;
    OK(cst_context_insert(company.context, company.employee, &employee, E));
    OK(cst_context_insert(company.context, company.department, &department, E));
    CHECK_STATUS(CST_E_VALIDATION, cst_context_save(company.context, E));
    cst_error *error = check_error();
    CHECK_INT(CST_CODE_VALIDATION_MULTIPLE_ERRORS, cst_error_code(error));
    CHECK_TEXT("NSCocoaErrorDomain", cst_error_domain(error));
    CHECK_INT(2, cst_error_detail_count(error));
    bool seen_employee = false, seen_department = false;
    for (size_t i = 0; i < cst_error_detail_count(error); i++) {
        const cst_error *detail = cst_error_detail_at(error, i);
        CHECK_STATUS(CST_E_VALIDATION, cst_error_status(detail));
        CHECK_INT(CST_CODE_VALIDATION_MISSING_MANDATORY_PROPERTY, cst_error_code(detail));
        CHECK_TEXT("name", cst_error_key(detail));
        CHECK_CONTAINS("x-coredata:", cst_error_object_uri(detail));
        cst_string entity = cst_error_entity(detail);
        seen_employee |= entity.data && strcmp(entity.data, "Employee") == 0;
        seen_department |= entity.data && strcmp(entity.data, "Department") == 0;
    }
    CHECK(seen_employee && seen_department);
    cst_buffer out = {NULL, 0, 0};
    CHECK_STATUS(CST_OK, cst_error_copy_description(error, &out));
    CHECK(out.data && strchr(out.data, '\n') && strstr(out.data, "1560") && strstr(out.data, "1570"));
    cst_buffer_dispose(&out);
    /* A single failure is not wrapped in a list. */
    set(department, company.department_name, value_text("R&D"));
    CHECK_STATUS(CST_E_VALIDATION, cst_context_save(company.context, E));
    CHECK_INT(CST_CODE_VALIDATION_MISSING_MANDATORY_PROPERTY, cst_error_code(check_error()));
    CHECK_TEXT("Employee", cst_error_entity(check_error()));
    CHECK_TEXT("name", cst_error_key(check_error()));
    OK(cst_release(employee));
    OK(cst_release(department));
    company_close(&company);
}

static void a_detail_is_invalid_after_its_error_is_released(void) {
    struct company company = company_open(check_path("a.sqlite"));
    cst_object *employee = NULL, *department = NULL;
    OK(cst_context_insert(company.context, company.employee, &employee, E));
    OK(cst_context_insert(company.context, company.department, &department, E));
    cst_error *error = NULL;
    CHECK_STATUS(CST_E_VALIDATION, cst_context_save(company.context, &error));
    const cst_error *detail = cst_error_detail_at(error, 0);
    CHECK(detail && cst_error_detail_at(error, 0) == detail);
    CHECK(cst_error_detail_at(error, 2) == NULL);
    CHECK(cst_error_detail_at(error, SIZE_MAX) == NULL);
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_release((void *)(uintptr_t)detail)); /* borrowed */
    CHECK_STATUS(CST_E_VALIDATION, cst_error_status(detail));
    CHECK_STATUS(CST_OK, cst_release(error));
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_error_status(detail));
    CHECK_TEXT(NULL, cst_error_message(detail));
    CHECK_INT(-1, cst_error_offset(detail));
    cst_value value = value_int(7);
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_error_value(detail, &value));
    CHECK_INT(CST_NULL, value.type);
    OK(cst_release(employee));
    OK(cst_release(department));
    company_close(&company);
}

static void a_retained_detail_outlives_its_error(void) {
    struct company company = company_open(check_path("a.sqlite"));
    cst_object *employee = NULL, *department = NULL;
    OK(cst_context_insert(company.context, company.employee, &employee, E));
    OK(cst_context_insert(company.context, company.department, &department, E));
    cst_error *error = NULL;
    CHECK_STATUS(CST_E_VALIDATION, cst_context_save(company.context, &error));
    cst_error *detail = cst_retain((void *)(uintptr_t)cst_error_detail_at(error, 1));
    CHECK_STATUS(CST_OK, cst_release(error));
    CHECK_STATUS(CST_E_VALIDATION, cst_error_status(detail));
    CHECK_TEXT("name", cst_error_key(detail));
    CHECK_STATUS(CST_OK, cst_release(detail));
    OK(cst_release(employee));
    OK(cst_release(department));
    company_close(&company);
}

static void an_error_contains_the_refused_value(void) {
    struct company company = company_open(check_path("a.sqlite"));
    cst_object *employee = company_employee(&company, company.context, "Ada", 1);
    cst_value value = value_int(40000);
    CHECK(cst_object_set(employee, company.level, &value, E) == CST_E_VALIDATION);
    cst_value refused = value_null();
    CHECK_STATUS(CST_OK, cst_error_value(check_error(), &refused));
    CHECK_INT(CST_INT, refused.type);
    CHECK_INT(40000, refused.as.integer);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_error_value(check_error(), NULL));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_error_copy_description(check_error(), NULL));
    OK(cst_release(employee));
    company_close(&company);
}

static void a_failure_without_an_error_slot_creates_no_error(void) {
    size_t handles = cst_handle_count();
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_model_new(NULL, NULL));
    CHECK_STATUS(CST_E_PREDICATE_SYNTAX, cst_predicate_parse(text("a =="), 0, NULL, &(cst_predicate *){NULL}, NULL));
    CHECK_INT(handles, cst_handle_count());
}

static void a_success_does_not_change_the_error_slot(void) {
    cst_model *model = company_model();
    cst_error *const former = (cst_error *)(uintptr_t)0x77;
    cst_error *error = former;
    CHECK_STATUS(CST_OK, cst_model_freeze(model, &error));
    CHECK(error == former);
    OK(cst_release(model));
}

static void *read_error(void *argument) {
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_error_status(argument));
    CHECK(cst_error_message(argument).size > 0);
    return NULL;
}

static void errors_are_readable_on_other_threads(void) {
    cst_error *error = NULL;
    pthread_t thread;
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_model_freeze(NULL, &error));
    REQUIRE(pthread_create(&thread, NULL, read_error, error) == 0);
    REQUIRE(pthread_join(thread, NULL) == 0);
    OK(cst_release(error));
}

static void check_description(const char *expected, const cst_error *error) {
    cst_buffer out = {NULL, 0, 0};
    CHECK_STATUS(CST_OK, cst_error_copy_description(error, &out));
    CHECK_TEXT(expected, text_of_size(out.data, out.size));
    cst_buffer_dispose(&out);
}

static void a_description_contains_message_code_and_details(void) {
    struct company company = company_open(check_path("a.sqlite"));
    cst_object *employee = NULL, *department = NULL;
    OK(cst_context_insert(company.context, company.employee, &employee, E));
    OK(cst_context_insert(company.context, company.department, &department, E));
    CHECK_STATUS(CST_E_VALIDATION, cst_context_save(company.context, E));
    const cst_error *error = check_error();
    char expected[1000];
    REQUIRE(cst_error_detail_count(error) == 2);
    snprintf(expected, sizeof expected,
             "%s [NSCocoaErrorDomain 1560]\n  - %s [NSCocoaErrorDomain 1570]\n  - %s [NSCocoaErrorDomain 1570]",
             cst_error_message(error).data, cst_error_message(cst_error_detail_at(error, 0)).data,
             cst_error_message(cst_error_detail_at(error, 1)).data);
    check_description(expected, error);

    /* An error without a code has only a message; an error of the host has its domain. */
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_log_set_sql_detail(5, E));
    check_description("detail is 5, but must be 0 (no SQL) to 4 (all details)", check_error());
    cst_error *custom = NULL;
    OK(cst_error_new_custom(text("App"), -7, text("no"), NULL, NULL, &custom));
    check_description("no [App -7]", custom);
    OK(cst_release(custom));
    OK(cst_release(employee));
    OK(cst_release(department));
    company_close(&company);
}

static void error_fields_that_do_not_apply_are_empty(void) {
    struct company company = company_open(check_path("a.sqlite"));
    cst_object *employee = company_employee(&company, company.context, "Ada", 1);
    cst_value value = value_int(40000);
    CHECK_STATUS(CST_E_VALIDATION, cst_object_set(employee, company.level, &value, E));
    const cst_error *error = check_error();
    CHECK_INT(CST_CODE_VALIDATION_NUMBER_TOO_LARGE, cst_error_code(error));
    CHECK_TEXT("NSCocoaErrorDomain", cst_error_domain(error));
    CHECK_TEXT("Employee", cst_error_entity(error));
    CHECK_TEXT("level", cst_error_key(error));
    CHECK_TEXT(NULL, cst_error_predicate(error));
    CHECK_TEXT(NULL, cst_error_file(error));
    CHECK_INT(0, cst_error_sqlite_code(error));
    CHECK_INT(-1, cst_error_offset(error));
    CHECK_INT(0, cst_error_detail_count(error));
    CHECK_INT(0, cst_error_conflict_count(error));
    CHECK(cst_error_userdata(error) == NULL);

    cst_predicate *predicate = NULL;
    CHECK_STATUS(CST_E_PREDICATE_SYNTAX, cst_predicate_parse(text("name == ="), 0, NULL, &predicate, E));
    error = check_error();
    CHECK_INT(0, cst_error_code(error));
    CHECK_TEXT("NSCocoaErrorDomain", cst_error_domain(error));
    CHECK_INT(8, cst_error_offset(error));
    CHECK_TEXT(NULL, cst_error_entity(error));
    CHECK_TEXT(NULL, cst_error_key(error));
    CHECK_TEXT(NULL, cst_error_object_uri(error));
    CHECK_STATUS(CST_NOT_FOUND, cst_error_value(error, &value));
    CHECK(predicate == NULL);
    OK(cst_release(employee));
    company_close(&company);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(custom_errors_keep_their_domain_code_and_userdata);
    RUN(a_custom_error_without_a_domain_has_the_domain_host);
    RUN(control_characters_in_messages_are_escaped);
    RUN(destroy_runs_once_when_creating_an_error_fails);
    RUN(validation_errors_have_a_detail_for_each_property);
    RUN(a_detail_is_invalid_after_its_error_is_released);
    RUN(a_retained_detail_outlives_its_error);
    RUN(an_error_contains_the_refused_value);
    RUN(a_failure_without_an_error_slot_creates_no_error);
    RUN(a_success_does_not_change_the_error_slot);
    RUN(errors_are_readable_on_other_threads);
    RUN(a_description_contains_message_code_and_details);
    RUN(error_fields_that_do_not_apply_are_empty);
    return check_end();
}
