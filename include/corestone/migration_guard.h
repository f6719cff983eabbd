/* corestone/migration_guard.h: checks of the versions of a model, and releases.
 *
 * A migration guard reports obstacles to the migration of stores from earlier versions of a model to a newer one, and
 * data that a migration would lose unintentionally. It compares versions in files (cst_migration_guard_check) or models
 * in memory (cst_migration_guard_check_models), and migrates copies of real stores. A release is a version of a model
 * that is kept as a compiled file, which does not change. cst_model_release_keep writes a release, and
 * cst_model_release_check compares all releases in a folder with the current model.
 *
 * docs/reference/lint.md explains each rule. The functions read files and are usable on any thread.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_MIGRATION_GUARD_H
#define CORESTONE_MIGRATION_GUARD_H

#include "store.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Flags of a migration guard. */
enum {
    /* The application allows type changes if every value can be converted exactly (CST_STORE_ALLOW_TYPE_CHANGES). */
    CST_GUARD_ALLOW_TYPE_CHANGES = 1u << 0
};

/* Options of a migration guard. Start from CST_MIGRATION_GUARD_OPTIONS_INIT; 0 is the default of every member. */
typedef struct cst_migration_guard_options {
    size_t struct_size;
    uint32_t flags;     /* CST_GUARD_… */
    cst_string profile; /* null, "standard", or "cloudkit": changes must only add to the model */
    /* For cst_migration_guard_check: the versions of `path` from which stores are migrated.
     *
     * A count of 0 selects all versions. */
    size_t version_count;
    const cst_string *versions;
    /* For cst_migration_guard_check: the version to which stores are migrated; null selects the current one. */
    cst_string version;
    /* For cst_migration_guard_check_models: further versions, from which only the former names of parts are read. */
    size_t related_count;
    cst_model *const *related;
    /* Files, bundles and folders that are searched in addition to the paths of the call.
     *
     * They are searched for mapping models, intermediate versions and the models of stores. For a step with a mapping
     * model, there are no findings. */
    size_t model_path_count;
    const cst_string *model_paths;
    /* Stores, and folders that are searched for stores, with their subfolders. A copy of each store is migrated to the
     * newest version and opened; the store is only read. */
    size_t store_count;
    const cst_string *stores;
    const cst_store_options *store_options; /* limits and time-outs for these stores; may be NULL */
    /* Called with the numbers of checked stores and of all stores; may be NULL. If it returns false, the check fails
     * with CST_E_CANCELLED (134120). */
    cst_progress_fn progress;
    void *progress_userdata;
} cst_migration_guard_options;
#define CST_MIGRATION_GUARD_OPTIONS_INIT                                                                               \
    {sizeof(cst_migration_guard_options), 0, {NULL, 0}, 0, NULL, {NULL, 0}, 0, NULL, 0, NULL, 0, NULL, NULL, NULL, NULL}

/* Fills a buffer with the problems of migrations between versions in files, as JSON. "newest" is the name of the
 * version to which stores are migrated, and "older" are the names of the versions from which they are migrated, the
 * oldest first. "stores" is the number of stores. "findings" is a list of objects with "rule", "severity" ("error",
 * "warning", "note"), "versions", "store", "entity", "key", "message" and "remedy". "store", "entity" and "key" may be
 * null.
 *
 * `path` is a model, a bundle of versions, or a folder of releases, which are also compared with the versions of the
 * same name in `new_path`. `new_path` is a model or a bundle. If `new_path` is null, the earlier versions of the bundle
 * at `path` are checked. `options` may be NULL.
 *
 * CST_E_STORE_IO if a model, a store or a folder cannot be read.
 * CST_E_STORE_BUSY if another program wrote a store during the check.
 * CST_E_MODEL for a damaged model.
 * CST_E_INVALID_ARGUMENT for a version that does not exist, and for a folder without stores. */
CST_EXPORT CST_ANY_THREAD cst_status cst_migration_guard_check(cst_string path, cst_string new_path,
                                                               const cst_migration_guard_options *options,
                                                               cst_buffer *out_json, cst_error **error);

/* Fills a buffer with the problems of migrations between models in memory, as JSON like cst_migration_guard_check. The
 * models are frozen. `newest` is the version to which stores are migrated, and `name` is its name. `older` are `count`
 * earlier versions, the oldest first, and `names` are their names. */
CST_EXPORT CST_ANY_THREAD cst_status cst_migration_guard_check_models(cst_string name, cst_model *newest, size_t count,
                                                                      const cst_string *names, cst_model *const *older,
                                                                      const cst_migration_guard_options *options,
                                                                      cst_buffer *out_json, cst_error **error);

/* Writes a release, a version of a model, into a folder.
 *
 * The release consists of the compiled model, NAME.mom, and a manifest of its version hashes, NAME.json. The folder is
 * created if it does not exist. Put both files under version control; equal models have equal files. A null `name`
 * selects the name of the version from which the model was read. Returns CST_UNCHANGED if the folder already has the
 * version.
 *
 * CST_E_INVALID_ARGUMENT if the folder has another model of this name, and for a name that cannot be a file name.
 * CST_E_MODEL for a model with which a store cannot be created.
 * CST_E_STORE_IO if a file cannot be written. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_release_keep(const cst_model *model, cst_string name, cst_string folder,
                                                            cst_error **error);

/* Fills a buffer with the releases in a folder as a JSON array, in the order of their names. Each is an object with
 * "name", "path", "checksum" and "versionHashes" (in base64, by entity).
 *
 * CST_E_STORE_IO if there is no such folder.
 * CST_E_MODEL for a manifest that cannot be read. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_release_copy_list(cst_string folder, cst_buffer *out_json,
                                                                 cst_error **error);

/* Reads the model of a release in a folder. The model is not frozen yet. Returns CST_NOT_FOUND if the folder does not
 * have the release.
 *
 * CST_E_STORE_IO if there is no such folder.
 * CST_E_MODEL if the file does not match its manifest. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_release_load(cst_string folder, cst_string name,
                                                            cst_model **out_model CST_OWNED, cst_error **error);

/* Fills a buffer with the differences between the releases in a folder and the versions of the same name in a bundle.
 * Releases whose files were changed are included. The result is a JSON array of findings (cst_migration_guard_check),
 * which is empty if nothing changed. `path` is the bundle, or a model that is one version.
 *
 * CST_E_STORE_IO if the folder or the bundle cannot be read.
 * CST_E_MODEL for a manifest that cannot be read. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_release_check(cst_string folder, cst_string path, cst_buffer *out_json,
                                                             cst_error **error);

#ifdef __cplusplus
}
#endif
#endif
