/* corestone/mapping.h: mapping models.
 *
 * A mapping model describes how objects are migrated from one version of a model to another. These functions read
 * mapping models that Xcode wrote or compiled, and create mapping models from JSON or by inference. Further functions
 * find the mapping model for two versions, and check, describe and write a mapping model. The caller owns the handles.
 * A mapping model never changes, and any thread may use it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_MAPPING_H
#define CORESTONE_MAPPING_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Reads a mapping model: an .xcmappingmodel, its xcmapping.xml or a compiled .cdm. The kind is recognised by the
 * content.
 *
 * CST_E_STORE_IO if the path cannot be read.
 * CST_E_MODEL if the file is damaged or exceeds a limit. */
CST_EXPORT CST_ANY_THREAD cst_status cst_mapping_model_load(cst_string path, cst_mapping_model **out_mapping CST_OWNED,
                                                            cst_error **error);

/* Reads a mapping model from the content of one file. Fails with CST_E_STORE_CORRUPT if the content is damaged. */
CST_EXPORT CST_ANY_THREAD cst_status cst_mapping_model_load_bytes(cst_bytes content,
                                                                  cst_mapping_model **out_mapping CST_OWNED,
                                                                  cst_error **error);

/* Creates a mapping model from JSON in the form of cst_mapping_model_copy_json. docs/reference/mapping.md lists the
 * keys. The JSON may be untrusted; it is limited to 64 MB.
 *
 * The mapping model contains copies of the two models, each of which may be NULL. Version hashes that the JSON omits
 * are those of the models. cst_mapping_model_validate compares the names in the JSON with the models; this function
 * does not.
 *
 * CST_E_MODEL for an error in the JSON; the message names the entity mapping and the key.
 * CST_E_PREDICATE_SYNTAX for an expression that cannot be read. */
CST_EXPORT CST_ANY_THREAD cst_status cst_mapping_model_new_from_json(cst_string json, const cst_model *source,
                                                                     const cst_model *destination,
                                                                     cst_mapping_model **out_mapping CST_OWNED,
                                                                     cst_error **error);

/* Options of cst_mapping_model_new_inferred. */
enum {
    /* Allows attributes to change their type where values can be converted exactly.
     *
     * CST_STORE_ALLOW_TYPE_CHANGES has the same effect in a migration. */
    CST_MAPPING_ALLOW_TYPE_CHANGES = 1u << 0
};

/* Infers the mapping model of a lightweight migration between two models, and freezes both models.
 *
 * The mapping is inferred from the names and renaming identifiers of the models. `flags` is 0 or
 * CST_MAPPING_ALLOW_TYPE_CHANGES. The mapping model contains both models.
 *
 * CST_E_MIGRATION (134190) for changes that cannot be inferred; the details list all of them. */
CST_EXPORT CST_ANY_THREAD cst_status cst_mapping_model_new_inferred(cst_model *source, cst_model *destination,
                                                                    uint32_t flags,
                                                                    cst_mapping_model **out_mapping CST_OWNED,
                                                                    cst_error **error);

/* Checks the kinds, names and references in a mapping model.
 *
 * These are the kinds of mappings, the names of entities and properties, and references to entity mappings.
 *
 * `source` and `destination` are the two models; NULL selects the model that the mapping model contains. Names are not
 * checked without a model. cst_mapping_model_matches compares version hashes; this function does not.
 *
 * CST_E_MIGRATION for a problem. If there are several problems, the error has a detail for each. The code is 134170 for
 * a custom mapping without a policy class, otherwise 134110. */
CST_EXPORT CST_ANY_THREAD cst_status cst_mapping_model_validate(const cst_mapping_model *mapping,
                                                                const cst_model *source, const cst_model *destination,
                                                                cst_error **error);

/* Whether the version hashes of all entity mappings of a mapping model equal those of two models. False if an
 * entity mapping does not have a hash, and for a mapping model without entity mappings. */
CST_EXPORT CST_ANY_THREAD cst_status cst_mapping_model_matches(const cst_mapping_model *mapping,
                                                               const cst_model *source, const cst_model *destination,
                                                               bool *out_matches, cst_error **error);

/* Returns the first mapping model in files and folders that matches two models. Each path is a mapping model or a
 * folder. A folder is searched for files with the extensions .cdm and .xcmappingmodel in the order of names, including
 * bundles in it (.momd, .bundle, .framework, .app). Files that cannot be read are skipped, with a warning in the log.
 * Returns CST_NOT_FOUND if no mapping model matches. */
CST_EXPORT CST_ANY_THREAD cst_status cst_mapping_model_find(const cst_string *paths, size_t path_count,
                                                            const cst_model *source, const cst_model *destination,
                                                            cst_mapping_model **out_mapping CST_OWNED,
                                                            cst_error **error);

/* Writes a mapping model in the compiled form, or as the folder of Xcode's editor.
 *
 * A path with the extension .cdm selects the compiled form, .xcmappingmodel the folder. A file or folder at the path is
 * replaced atomically; other files in the folder are kept.
 *
 * CST_E_INVALID_ARGUMENT for another extension.
 * CST_E_MODEL if an .xcmappingmodel cannot represent the mapping model. This format contains the two models instead of
 * version hashes, so a mapping model that was read from a .cdm must first be created with its models
 * (cst_mapping_model_new_from_json).
 * CST_E_UNSUPPORTED for an expression that the library cannot write. */
CST_EXPORT CST_ANY_THREAD cst_status cst_mapping_model_write(const cst_mapping_model *mapping, cst_string path,
                                                             cst_error **error);

/* Fills a buffer with the whole mapping model as JSON. docs/reference/mapping.md lists the keys. */
CST_EXPORT CST_ANY_THREAD cst_status cst_mapping_model_copy_json(const cst_mapping_model *mapping, cst_buffer *out_json,
                                                                 cst_error **error);

/* Creates a copy of the source model of a mapping model. Returns CST_NOT_FOUND if the mapping model does not contain
 * the model, for example if it was compiled. */
CST_EXPORT CST_ANY_THREAD cst_status cst_mapping_model_source(const cst_mapping_model *mapping,
                                                              cst_model **out_model CST_OWNED, cst_error **error);

/* Creates a copy of the destination model of a mapping model. Returns CST_NOT_FOUND if the mapping model does not
 * contain the model, for example if it was compiled. */
CST_EXPORT CST_ANY_THREAD cst_status cst_mapping_model_destination(const cst_mapping_model *mapping,
                                                                   cst_model **out_model CST_OWNED, cst_error **error);

#ifdef __cplusplus
}
#endif
#endif
