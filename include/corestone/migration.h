/* corestone/migration.h: migration managers, policies, staged migrations, backups and deferred migrations.
 *
 * Most migrations are inferred when a store is added (CST_STORE_MIGRATE in store.h). Others need stages, or mapping
 * models (mapping.h), which a migration manager executes. Stages migrate a store from version to version and run code
 * of the host between the versions. Stages and mapping models are options of the store: `mapping_models`, `stages` and
 * `manager_will_start` of cst_store_options. cst_migration_manager_migrate_store migrates a store into another file
 * instead.
 *
 * A policy is code of the host for the objects of one entity mapping. A policy is registered for the whole process by
 * the class name in the mapping model, and receives the manager and objects of two contexts. Managers, contexts and
 * objects that callbacks receive are used on the thread of the migration. After the migration the contexts are closed,
 * and calls with their handles fail.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_MIGRATION_H
#define CORESTONE_MIGRATION_H

#include "function.h"
#include "store.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Creates a migration manager for migrations from one model to another, and freezes both models. */
CST_EXPORT CST_ANY_THREAD cst_status cst_migration_manager_new(cst_model *source, cst_model *destination,
                                                               cst_migration_manager **out_manager CST_OWNED,
                                                               cst_error **error);

/* Migrates the store at `source_path` into the store at `path` by a mapping model. The source store is only read. A
 * store that exists at `path` keeps its objects, and the migrated objects are added. A store that this call created is
 * removed if the migration fails. A null `source_type` is the type of the file; a null `type` is that of the source
 * store. The options of the two stores may be NULL; their migration options have no effect.
 *
 * CST_E_MIGRATION (134110) with the cause as its detail.
 * CST_E_MIGRATION (134111) for values that must be unique.
 * CST_E_MIGRATION (134140) if the mapping model does not fit the models.
 * Code 134150 if the source store cannot be opened.
 * Code 134160 if the destination store cannot be opened.
 * CST_E_MIGRATION (134170) for a failed policy.
 * CST_E_CANCELLED (134120) after cst_migration_manager_cancel without an error.
 * CST_E_INVALID_ARGUMENT while the manager runs a migration. */
CST_EXPORT CST_ONE_THREAD cst_status cst_migration_manager_migrate_store(
    cst_migration_manager *manager, cst_string source_type, cst_string source_path,
    const cst_store_options *source_options, const cst_mapping_model *mapping, cst_string type, cst_string path,
    const cst_store_options *options, cst_error **error);

/* Cancels the running migration of a manager at the next object, and all later migrations of the manager.
 *
 * Later migrations fail immediately. All of these migrations fail with `reason`, or with CST_E_CANCELLED (134120) if
 * `reason` is NULL. Further calls have no effect. */
CST_EXPORT CST_ANY_THREAD cst_status cst_migration_manager_cancel(cst_migration_manager *manager,
                                                                  const cst_error *reason, cst_error **error);

/* Returns the progress of the running migration, 0 to 1, or 0 between migrations. */
CST_EXPORT CST_ANY_THREAD cst_status cst_migration_manager_progress(const cst_migration_manager *manager,
                                                                    double *out_progress, cst_error **error);

/* Fills a buffer with the name of the current entity mapping. Each mapping is current three times: when objects are
 * created, when relationships are set, and when the result is validated. Returns CST_NOT_FOUND between migrations. */
CST_EXPORT CST_ANY_THREAD cst_status cst_migration_manager_copy_current_mapping(const cst_migration_manager *manager,
                                                                                cst_buffer *out_name,
                                                                                cst_error **error);

/* Returns the source model of a migration manager. */
CST_EXPORT CST_ANY_THREAD cst_status cst_migration_manager_source_model(const cst_migration_manager *manager,
                                                                        cst_model **out_model CST_BORROWED,
                                                                        cst_error **error);

/* Returns the destination model of a migration manager. */
CST_EXPORT CST_ANY_THREAD cst_status cst_migration_manager_destination_model(const cst_migration_manager *manager,
                                                                             cst_model **out_model CST_BORROWED,
                                                                             cst_error **error);

/* Returns the mapping model of the running migration. Returns CST_NOT_FOUND between migrations. */
CST_EXPORT CST_ONE_THREAD cst_status cst_migration_manager_mapping_model(const cst_migration_manager *manager,
                                                                         cst_mapping_model **out_mapping CST_OWNED,
                                                                         cst_error **error);

/* Sets a function that is called with the number of migrated rows and of all rows, on the thread of the migration. If
 * it returns false, the migration is cancelled. When a store is added, the function replaces `migration_progress` of
 * the store's options. NULL removes the function. */
CST_EXPORT CST_ONE_THREAD cst_status cst_migration_manager_set_report(cst_migration_manager *manager,
                                                                      cst_progress_fn report, void *userdata,
                                                                      cst_destroy_fn destroy, cst_error **error);

/* Sets a function of the manager. FUNCTION($manager, "name", …) in a mapping model calls the function with a null
 * receiver. Built-in selectors of the manager cannot be replaced. NULL removes the function. The arguments $manager and
 * $entityPolicy are null, $entityMapping and $propertyMapping are the names of the mappings. */
CST_EXPORT CST_ONE_THREAD cst_status cst_migration_manager_set_function(cst_migration_manager *manager, cst_string name,
                                                                        cst_function_fn call, void *userdata,
                                                                        cst_destroy_fn destroy, cst_error **error);

/* Returns a value that the host set for its policies. Expressions read the value as $manager.userInfo.key. A null key
 * returns a dictionary of all values. Returns CST_NOT_FOUND if there is no value. The caller frees the value with
 * cst_value_dispose. */
CST_EXPORT CST_ONE_THREAD cst_status cst_migration_manager_copy_user_info(const cst_migration_manager *manager,
                                                                          cst_string key,
                                                                          cst_value *out_value CST_OWNED,
                                                                          cst_error **error);

/* Sets a value of the host for its policies; NULL removes the value. */
CST_EXPORT CST_ONE_THREAD cst_status cst_migration_manager_set_user_info(cst_migration_manager *manager, cst_string key,
                                                                         const cst_value *value, cst_error **error);

/* ======== during a migration ============================================================================= */

/* The following functions are for callbacks of a migration, on its thread: policies, functions of the manager, reports.
 * Elsewhere they fail with CST_E_INVALID_ARGUMENT or CST_E_WRONG_THREAD. `mapping` is the name of an entity mapping; an
 * unknown name fails with CST_E_MIGRATION. */

/* Returns the context of the source store, which is only read. The context is closed when the migration ends. */
CST_EXPORT CST_ONE_THREAD cst_status cst_migration_manager_source_context(const cst_migration_manager *manager,
                                                                          cst_context **out_context CST_BORROWED,
                                                                          cst_error **error);

/* Returns the context of the destination store. Until the end of the migration the context may have objects that the
 * model's validation would reject. It is closed when the migration ends. */
CST_EXPORT CST_ONE_THREAD cst_status cst_migration_manager_destination_context(const cst_migration_manager *manager,
                                                                               cst_context **out_context CST_BORROWED,
                                                                               cst_error **error);

/* Records that an object was created for an object of the source store. Relationships are resolved by these records, so
 * a policy that creates objects without cst_migration_manager_create_destination_instance must call this function for
 * each object. */
CST_EXPORT CST_ONE_THREAD cst_status cst_migration_manager_associate(cst_migration_manager *manager, cst_string mapping,
                                                                     cst_object *source, cst_object *destination,
                                                                     cst_error **error);

/* Creates the destination object of a mapping for an object of the source store. Sets the attributes of the new object
 * by the expressions of the mapping, and associates the two objects. This is the default of
 * `create_destination_instances`. Returns CST_NOT_FOUND for a mapping without a destination. `out_object` may be
 * NULL. */
CST_EXPORT CST_ONE_THREAD cst_status cst_migration_manager_create_destination_instance(
    cst_migration_manager *manager, cst_string mapping, cst_object *source, cst_object **out_object CST_OWNED,
    cst_error **error);

/* Sets the relationships of an object that a mapping created, by the expressions of the mapping. This is the default of
 * `create_relationships`. */
CST_EXPORT CST_ONE_THREAD cst_status cst_migration_manager_create_relationships(cst_migration_manager *manager,
                                                                                cst_string mapping,
                                                                                cst_object *destination,
                                                                                cst_error **error);

/* Returns the objects that a mapping created for objects of the source store, in the order of `sources`. If `sources`
 * is NULL and `count` is 0, all objects of the mapping are returned. */
CST_EXPORT CST_ONE_THREAD cst_status cst_migration_manager_destination_instances(const cst_migration_manager *manager,
                                                                                 cst_string mapping, size_t count,
                                                                                 cst_object *const *sources,
                                                                                 cst_results **out_results CST_OWNED,
                                                                                 cst_error **error);

/* Returns the objects of the source store for which a mapping created objects, in the order of `destinations`. */
CST_EXPORT CST_ONE_THREAD cst_status cst_migration_manager_source_instances(const cst_migration_manager *manager,
                                                                            cst_string mapping, size_t count,
                                                                            cst_object *const *destinations,
                                                                            cst_results **out_results CST_OWNED,
                                                                            cst_error **error);

/* Resets both contexts of the migration: unsaved objects of the destination store are lost. A migration in batches
 * resets the contexts automatically. */
CST_EXPORT CST_ONE_THREAD cst_status cst_migration_manager_reset(cst_migration_manager *manager, cst_error **error);

/* ======== policies ======================================================================================= */

/* Code of the host for the objects of an entity mapping. The functions run on the thread of the migration. `instance`
 * is the value that `create` created, or `userdata` without `create`. Manager, objects and text are borrowed for the
 * call.
 *
 * The order for each mapping is `begin`, `create_destination_instances` for each source object, and
 * `end_instance_creation`. When these have run for all mappings, `create_relationships` is called for each object that
 * the mapping created, and then `end_relationship_creation`. The last calls are `perform_custom_validation` and `end`.
 * A stage whose function is NULL has the effect of a mapping without a policy. If a function returns a negative status,
 * with or without *error, the migration fails with 134170 and the cause as its detail. Start from
 * CST_MIGRATION_POLICY_CALLBACKS_INIT. */
typedef struct cst_migration_policy_callbacks {
    size_t struct_size;
    /* Whether the stages do not need objects of other batches. If so, the mapping runs in batches, each of which is
     * saved and released. Otherwise all objects of the migration are in memory until one save at the end. Objects that
     * were created before are then registered in the context (cst_context_copy_changed). */
    bool batch_safe;
    /* May be NULL. Called once for each mapping and migration: creates a value for the stages. */
    cst_status (*create)(void *userdata, cst_string mapping, void **out_instance, cst_error **error);
    /* May be NULL. Called once for each value that `create` created, after its migration. */
    void (*free_instance)(void *userdata, void *instance);
    cst_status (*begin)(void *instance, cst_migration_manager *manager, cst_string mapping, cst_error **error);
    /* Default: cst_migration_manager_create_destination_instance. */
    cst_status (*create_destination_instances)(void *instance, cst_migration_manager *manager, cst_string mapping,
                                               cst_object *source, cst_error **error);
    cst_status (*end_instance_creation)(void *instance, cst_migration_manager *manager, cst_string mapping,
                                        cst_error **error);
    /* Default: cst_migration_manager_create_relationships. */
    cst_status (*create_relationships)(void *instance, cst_migration_manager *manager, cst_string mapping,
                                       cst_object *destination, cst_error **error);
    cst_status (*end_relationship_creation)(void *instance, cst_migration_manager *manager, cst_string mapping,
                                            cst_error **error);
    cst_status (*perform_custom_validation)(void *instance, cst_migration_manager *manager, cst_string mapping,
                                            cst_error **error);
    cst_status (*end)(void *instance, cst_migration_manager *manager, cst_string mapping, cst_error **error);
    /* Computes FUNCTION($entityPolicy, "selector:", …) in an expression of the mapping. CST_NOT_FOUND means that the
     * function does not exist, and fails the migration. `out_value` must stay valid until the next call on the same
     * thread. The arguments are those of cst_migration_manager_set_function. */
    cst_status (*call)(void *instance, cst_migration_manager *manager, cst_string selector, size_t count,
                       const cst_value *arguments, cst_value *out_value, cst_error **error);
    void *userdata;
    /* May be NULL. Called once, after the policy was replaced or deregistered and its last migration has ended. */
    cst_destroy_fn destroy;
} cst_migration_policy_callbacks;
#define CST_MIGRATION_POLICY_CALLBACKS_INIT                                                                            \
    {sizeof(cst_migration_policy_callbacks),                                                                           \
     false,                                                                                                            \
     NULL,                                                                                                             \
     NULL,                                                                                                             \
     NULL,                                                                                                             \
     NULL,                                                                                                             \
     NULL,                                                                                                             \
     NULL,                                                                                                             \
     NULL,                                                                                                             \
     NULL,                                                                                                             \
     NULL,                                                                                                             \
     NULL,                                                                                                             \
     NULL,                                                                                                             \
     NULL}

/* Registers a migration policy by its class name in mapping models, and replaces a former policy of that name.
 * "MakerPolicy" is also used for a name with a module ("Garage.MakerPolicy") if the full name is not registered. On
 * failure `destroy` is called too. */
CST_EXPORT CST_ANY_THREAD cst_status cst_migration_policy_register(cst_string name,
                                                                   const cst_migration_policy_callbacks *callbacks,
                                                                   cst_error **error);

/* Deregisters a migration policy. Running migrations continue to use the policy. Returns CST_NOT_FOUND if no policy of
 * that name is registered. */
CST_EXPORT CST_ANY_THREAD cst_status cst_migration_policy_unregister(cst_string name, cst_error **error);

/* Whether a migration policy is registered under exactly this name, by code in any language. */
CST_EXPORT CST_ANY_THREAD cst_status cst_migration_policy_is_registered(cst_string name, bool *out_registered,
                                                                        cst_error **error);

/* ======== staged migrations ============================================================================== */

/* Creates a reference to a model, and freezes the model. `checksum` is the version checksum that the model must have,
 * or null. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_reference_new(cst_model *model, cst_string checksum,
                                                             cst_model_reference **out_reference CST_OWNED,
                                                             cst_error **error);

/* Creates a reference to a model in a file of any kind that cst_model_load reads. `version` is the version of a bundle,
 * or null for its current one. The file is read when the reference is resolved. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_reference_new_with_path(cst_string path, cst_string version,
                                                                       cst_string checksum,
                                                                       cst_model_reference **out_reference CST_OWNED,
                                                                       cst_error **error);

/* Creates a reference to the model whose entities have `count` names and version hashes.
 *
 * The metadata of a store lists these names and hashes. The model is searched for in files, bundles and folders when
 * the reference is resolved. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_reference_new_with_hashes(size_t count, const cst_string *names,
                                                                         const cst_bytes *hashes, size_t path_count,
                                                                         const cst_string *paths, cst_string checksum,
                                                                         cst_model_reference **out_reference CST_OWNED,
                                                                         cst_error **error);

/* Returns the model of a reference, frozen.
 *
 * CST_E_MIGRATION (134504) if the model is not found or has another checksum. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_reference_resolve(const cst_model_reference *reference,
                                                                 cst_model **out_model CST_OWNED, cst_error **error);

/* Code of the host that changes a store in a staged migration. The context is confined to the thread of the migration,
 * and is closed afterwards; its changes are saved when the function returns. If the function returns a negative status,
 * the migration fails (134110), and the store is unchanged. */
typedef cst_status (*cst_migration_stage_fn)(void *userdata, cst_context *context, cst_error **error);

/* Code of the host that fills the destination store from the source store. Only `new_context` is saved. */
typedef cst_status (*cst_migration_transformation_fn)(void *userdata, cst_context *old_context,
                                                      cst_context *new_context, cst_error **error);

/* Creates an empty list of stages. */
CST_EXPORT CST_ANY_THREAD cst_status cst_migration_stages_new(cst_migration_stages **out_stages CST_OWNED,
                                                              cst_error **error);

/* Adds a stage that migrates through versions of the model by inferred mappings. `checksums` are the version checksums
 * of the models, in their order. `label` is the name of the stage in errors and plans; it may be null. */
CST_EXPORT CST_ONE_THREAD cst_status cst_migration_stages_add_lightweight(cst_migration_stages *stages, size_t count,
                                                                          const cst_string *checksums, cst_string label,
                                                                          cst_error **error);

/* Adds a stage with an inferred mapping between two versions, and code of the host.
 *
 * `will_migrate` runs before the mapping and receives the store of the current version. `did_migrate` runs after the
 * mapping and receives that of the next version. Both may be NULL. `destroy` is called when the stage is no longer
 * used. */
CST_EXPORT CST_ONE_THREAD cst_status cst_migration_stages_add_custom(cst_migration_stages *stages,
                                                                     const cst_model_reference *current,
                                                                     const cst_model_reference *next, cst_string label,
                                                                     cst_migration_stage_fn will_migrate,
                                                                     cst_migration_stage_fn did_migrate, void *userdata,
                                                                     cst_destroy_fn destroy, cst_error **error);

/* Adds a stage in which code of the host creates the objects of the next version, with both versions open. There is no
 * inferred mapping: the new store has only the objects that this code creates. */
CST_EXPORT CST_ONE_THREAD cst_status cst_migration_stages_add_transformation(
    cst_migration_stages *stages, const cst_model_reference *current, const cst_model_reference *next, cst_string label,
    cst_migration_transformation_fn transform, void *userdata, cst_destroy_fn destroy, cst_error **error);

/* Adds a stage with a mapping model between two versions. The mapping model need not have version hashes. */
CST_EXPORT CST_ONE_THREAD cst_status cst_migration_stages_add_mapping(cst_migration_stages *stages,
                                                                      const cst_model_reference *current,
                                                                      const cst_model_reference *next, cst_string label,
                                                                      const cst_mapping_model *mapping,
                                                                      cst_error **error);

/* Creates the list of the stages in a JSON file. docs/reference/migration.md lists the keys. The file refers to
 * versions of a model by their names in a bundle, checksums or identifiers. The versions are searched for in the
 * `count` models, which are frozen, then in files, bundles and folders. Mapping models are read; their paths are
 * relative to the folder of the file.
 *
 * CST_E_STORE_IO if the file cannot be read.
 * CST_E_MODEL for an error in the file, with its key.
 * CST_E_MIGRATION (134504) for a version that is not found.
 * The errors of cst_migration_stages_validate. */
CST_EXPORT CST_ANY_THREAD cst_status cst_migration_stages_load(cst_string path, size_t count, cst_model *const *models,
                                                               size_t path_count, const cst_string *paths,
                                                               cst_migration_stages **out_stages CST_OWNED,
                                                               cst_error **error);

/* Adds the stage at an index of another list, or of this list, with its functions and label.
 *
 * CST_E_INVALID_ARGUMENT if the other list does not have the index. */
CST_EXPORT CST_ONE_THREAD cst_status cst_migration_stages_add_stage(cst_migration_stages *stages,
                                                                    const cst_migration_stages *other, size_t index,
                                                                    cst_error **error);

/* Returns the number of stages, or 0 for an invalid handle. */
CST_EXPORT CST_ONE_THREAD size_t cst_migration_stages_count(const cst_migration_stages *stages);

/* Fills a buffer with the label of the stage at an index. Returns CST_NOT_FOUND for a stage without a label, and
 * CST_END past the last stage. */
CST_EXPORT CST_ONE_THREAD cst_status cst_migration_stages_copy_label(const cst_migration_stages *stages, size_t index,
                                                                     cst_buffer *out_label, cst_error **error);

/* Checks a list of stages, as when a store is opened with it.
 *
 * CST_E_INVALID_ARGUMENT if the list is empty, if a lightweight stage does not have a version, or if a mapping model
 * does not have an entity mapping.
 * CST_E_INVALID_ARGUMENT if the two references of a stage are equal, if two stages have the same source or destination
 * version, or if a stage returns to the source version of an earlier stage.
 * CST_E_MIGRATION (134504) if a model is not found. */
CST_EXPORT CST_ONE_THREAD cst_status cst_migration_stages_validate(const cst_migration_stages *stages,
                                                                   cst_error **error);

/* ======== backups ======================================================================================== */

/* Fills a buffer with the paths of the copies of a store that migrations made.
 *
 * `backup` of cst_store_options makes migrations copy the store. The newest copy is the first. Each path is terminated
 * by a NUL. The store need not exist. `folder` is the folder of the copies; null is that of the store. `out_count`
 * receives their number and may be NULL.
 *
 * CST_E_STORE_IO if the folder cannot be read. */
CST_EXPORT CST_ANY_THREAD cst_status cst_store_copy_backups(cst_string path, cst_string folder, cst_buffer *out_paths,
                                                            size_t *out_count, cst_error **error);

/* Replaces the store at `path` atomically with a copy that a migration made, including the backing files. Otherwise
 * like cst_coordinator_replace_store. The copy is kept. The store need not exist; if the coordinator has it open, the
 * store is first removed from the coordinator. `backup` is the path of the copy; null selects the newest copy in
 * `folder`. A null `folder` is the folder of the store. `out_backup` receives the path of the copy and may be NULL. Of
 * the options, which may be NULL, only busy_timeout_ms and file_mode have an effect.
 *
 * CST_E_STORE_IO if there is no copy.
 * CST_E_INVALID_ARGUMENT for a copy of another store; the store is then unchanged. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_restore_store(cst_coordinator *coordinator, cst_string path,
                                                                   cst_string backup, cst_string folder,
                                                                   const cst_store_options *options,
                                                                   cst_buffer *out_backup, cst_error **error);

/* ======== deferred migrations ============================================================================ */

/* Returns the number of tasks that a deferred migration left in an open store, or 0 for other stores.
 *
 * CST_STORE_DEFER_MIGRATION_CLEANUP defers tasks. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_deferred_migration_task_count(const cst_coordinator *coordinator,
                                                                                   const cst_store *store,
                                                                                   size_t *out_count,
                                                                                   cst_error **error);

/* Performs the next task that a deferred migration left in a store.
 *
 * A task removes the leftover columns of one table, or one leftover table. The function corresponds to Apple's
 * finishDeferredLightweightMigrationTask. A task is one transaction. `out_more` receives whether more tasks are left.
 *
 * CST_E_STORE_BUSY while another process writes.
 * CST_E_STORE_READ_ONLY for a store that is open read-only. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_finish_deferred_migration_task(cst_coordinator *coordinator,
                                                                                    cst_store *store, bool *out_more,
                                                                                    cst_error **error);

/* Performs all tasks that a deferred migration left in a store. Other threads and processes can save between two tasks.
 * `progress` is called with the numbers of finished tasks and of all tasks, and may be NULL. If it returns false, the
 * call fails with CST_E_CANCELLED (134120), and the remaining tasks are kept. Other errors are those of
 * cst_coordinator_finish_deferred_migration_task. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_finish_deferred_migration(cst_coordinator *coordinator,
                                                                               cst_store *store,
                                                                               cst_progress_fn progress, void *userdata,
                                                                               cst_error **error);

#ifdef __cplusplus
}
#endif
#endif
