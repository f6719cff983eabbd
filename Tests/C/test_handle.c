/* Handles: ownership, releasing, retaining, staleness; the version.
 *
 * SPDX-License-Identifier: MIT
 */
#include "company.h"

#include <pthread.h>
#include <string.h>

static void version_is_that_of_the_header(void) {
    int major = -1, minor = -1, patch = -1;
    cst_version(&major, &minor, &patch);
    CHECK_INT(CST_VERSION_MAJOR, major);
    CHECK_INT(CST_VERSION_MINOR, minor);
    CHECK_INT(CST_VERSION_PATCH, patch);
    cst_version(NULL, NULL, NULL);
    CHECK_TEXT("0.1.0", cst_version_string());
}

static void release_of_null_is_fine(void) {
    CHECK_STATUS(CST_OK, cst_release(NULL));
    CHECK(cst_retain(NULL) == NULL);
    cst_buffer_dispose(NULL);
}

static void double_release_is_refused(void) {
    cst_model *model = NULL;
    OK(cst_model_new(&model, E));
    CHECK_STATUS(CST_OK, cst_release(model));
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_release(model));
    CHECK(cst_retain(model) == NULL);
    CHECK_INT(0, cst_model_entity_count(model));
}

static void retain_makes_one_more_owner(void) {
    cst_model *model = NULL;
    size_t before = cst_handle_count();
    OK(cst_model_new(&model, E));
    CHECK(cst_retain(model) == model);
    CHECK_INT(before + 1, cst_handle_count());
    CHECK_STATUS(CST_OK, cst_release(model));
    OK(cst_model_freeze(model, E));
    CHECK_STATUS(CST_OK, cst_release(model));
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_release(model));
    CHECK_INT(before, cst_handle_count());
}

static void stale_handles_stay_stale_when_slots_are_reused(void) {
    enum { COUNT = 1000 };
    static cst_predicate *old[COUNT], *fresh[COUNT];
    for (size_t i = 0; i < COUNT; i++)
        OK(cst_predicate_parse(text("a == 1"), 0, NULL, &old[i], E));
    for (size_t i = 0; i < COUNT; i++)
        OK(cst_release(old[i]));
    for (size_t i = 0; i < COUNT; i++)
        OK(cst_predicate_parse(text("b == 2"), 0, NULL, &fresh[i], E));
    cst_buffer out = {NULL, 0, 0};
    for (size_t i = 0; i < COUNT; i++) {
        CHECK_STATUS(CST_E_INVALID_HANDLE, cst_predicate_copy_format(old[i], &out, E));
        CHECK_STATUS(CST_E_INVALID_HANDLE, cst_release(old[i]));
    }
    for (size_t i = 0; i < COUNT; i++)
        OK(cst_release(fresh[i]));
    cst_buffer_dispose(&out);
}

static void children_keep_their_parents_alive(void) {
    struct company company = company_open(check_path("a.sqlite"));
    cst_object *object = company_employee(&company, company.context, "Ada", 1);
    CHECK_STATUS(CST_OK, cst_release(company.model));
    CHECK_STATUS(CST_OK, cst_release(company.store));
    CHECK_STATUS(CST_OK, cst_release(company.coordinator));
    CHECK_STATUS(CST_OK, cst_release(company.context));
    CHECK_TEXT("Ada", get_text(object, company.name));
    cst_context *context = NULL;
    OK(cst_object_context(object, &context, E));
    save(context);
    CHECK_INT(1, company_count(context, company.employee, "name == 'Ada'"));
    CHECK_STATUS(CST_OK, cst_release(object));
}

static void a_retained_part_keeps_its_model_alive(void) {
    cst_model *model = NULL;
    cst_entity *entity = NULL, *other = NULL;
    cst_attribute *attribute = NULL;
    cst_relationship *relationship = NULL;
    OK(cst_model_new(&model, E));
    OK(cst_model_add_entity(model, text("A"), &entity, E));
    OK(cst_model_add_entity(model, text("B"), &other, E));
    OK(cst_entity_add_attribute(entity, text("name"), CST_ATTRIBUTE_STRING, 0, &attribute, E));
    OK(cst_entity_add_relationship(entity, text("b"), other, CST_PROPERTY_OPTIONAL, &relationship, E));
    void *parts[] = {entity, attribute, relationship};
    for (int i = 0; i < 3; i++)
        CHECK(cst_retain(parts[i]) == parts[i]);
    OK(cst_release(model));
    CHECK_STATUS(CST_OK, cst_attribute_set_user_info(attribute, text("k"), text("v"), E));
    CHECK_STATUS(CST_OK, cst_relationship_set_delete_rule(relationship, CST_DELETE_CASCADE, E));
    CHECK_STATUS(CST_OK, cst_entity_set_user_info(entity, text("k"), text("v"), E));
    CHECK_TEXT("A", cst_entity_name(entity));
    for (int i = 0; i < 3; i++)
        OK(cst_release(parts[i]));
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_entity_set_abstract(entity, true, E));
}

static void what_was_made_from_an_entity_keeps_the_model_alive(void) {
    cst_model *model = company_model();
    struct company c;
    memset(&c, 0, sizeof c);
    c.model = model;
    company_resolve(&c);
    cst_object *object = NULL;
    cst_fetch_request *request = NULL;
    cst_entity *entity = NULL;
    bool is_changed = true;
    OK(cst_object_new(c.employee, &object, E));
    OK(cst_fetch_request_new(c.employee, &request, E));
    OK(cst_release(model));
    set(object, c.name, value_text("Ada"));
    CHECK_TEXT("Ada", get_text(object, c.name));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_object_is_changed(object, c.title, &is_changed, E));
    OK(cst_object_entity(object, &entity, E));
    CHECK_TEXT("Employee", cst_entity_name(entity));
    OK(cst_fetch_request_set_limit(request, 1, E));
    OK(cst_release(request));
    OK(cst_release(object));
    CHECK_TEXT(NULL, cst_entity_name(entity));
}

static void equal_handles_mean_the_same_object(void) {
    struct company company = company_open(check_path("a.sqlite"));
    cst_object *object = company_employee(&company, company.context, "Ada", 1);
    save(company.context);
    cst_results *results = company_fetch(company.context, company.employee, "name == 'Ada'", NULL);
    CHECK(object_at(results, 0) == object);
    OK(cst_release(results));
    CHECK_TEXT("Ada", get_text(object, company.name));
    OK(cst_release(object));
    company_close(&company);
}

static void *release_there(void *handle) {
    CHECK_STATUS(CST_OK, cst_release(handle));
    return NULL;
}

static void release_is_legal_on_any_thread(void) {
    struct company company = company_open(check_path("a.sqlite"));
    cst_object *object = company_employee(&company, company.context, "Ada", 1);
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, release_there, object) == 0);
    REQUIRE(pthread_join(thread, NULL) == 0);
    save(company.context); /* the insertion is still there */
    CHECK_INT(1, company_count(company.context, company.employee, NULL));
    company_close(&company);
}

static void buffers_are_reused_and_zeroed(void) {
    cst_predicate *predicate = NULL;
    cst_buffer out;
    memset(&out, 0, sizeof out);
    OK(cst_predicate_parse(text("name == 'x'"), 0, NULL, &predicate, E));
    OK(cst_predicate_copy_format(predicate, &out, E));
    CHECK(out.size > 0 && out.capacity >= out.size && out.data[out.size] == 0);
    size_t size = out.size;
    OK(cst_predicate_copy_format(predicate, &out, E));
    CHECK_INT(size, out.size);
    cst_buffer_dispose(&out);
    CHECK(out.data == NULL && out.size == 0 && out.capacity == 0);
    cst_buffer_dispose(&out);
    OK(cst_release(predicate));
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(version_is_that_of_the_header);
    RUN(release_of_null_is_fine);
    RUN(double_release_is_refused);
    RUN(retain_makes_one_more_owner);
    RUN(stale_handles_stay_stale_when_slots_are_reused);
    RUN(children_keep_their_parents_alive);
    RUN(a_retained_part_keeps_its_model_alive);
    RUN(what_was_made_from_an_entity_keeps_the_model_alive);
    RUN(equal_handles_mean_the_same_object);
    RUN(release_is_legal_on_any_thread);
    RUN(buffers_are_reused_and_zeroed);
    return check_end();
}
