/* corestone/mapping.h: mapping models.
 *
 * A mapping model describes how the objects of one version of a model become objects of another. These functions read
 * mapping models that Xcode wrote or compiled, create them from JSON or by inference, check them, find the one for two
 * versions, report their content, and write them. The caller owns the handles. A mapping model never changes, and any
 * thread may use it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_MAPPING_H
#define CORESTONE_MAPPING_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Reads an .xcmappingmodel, its xcmapping.xml or a compiled .cdm. The kind is recognised by the content. Fails with
 * CST_E_STORE_IO if there is nothing to read, and with CST_E_MODEL if the file is damaged or beyond a limit. */
CST_EXPORT CST_ANY_THREAD cst_status cst_mapping_model_load(cst_string path, cst_mapping_model **out_mapping CST_OWNED,
                                                            cst_error **error);

/* Reads a mapping model from the content of one file. Fails with CST_E_STORE_CORRUPT if the content is damaged. */
CST_EXPORT CST_ANY_THREAD cst_status cst_mapping_model_load_bytes(cst_bytes content,
                                                                  cst_mapping_model **out_mapping CST_OWNED,
                                                                  cst_error **error);

/* Creates a mapping model from JSON in the form of cst_mapping_model_copy_json; docs/reference/mapping.md lists the
 * keys. The JSON may come from an unknown source; it has at most 64 MB.
 *
 * The mapping model contains copies of the two models, each of which may be NULL. Version hashes that the JSON omits are
 * those of the models. The names in the JSON are not compared with the models: cst_mapping_model_validate does that.
 *
 * CST_E_MODEL for a mistake in the JSON: the message names the entity mapping and the key.
 * CST_E_PREDICATE_SYNTAX for an expression that cannot be read. */
CST_EXPORT CST_ANY_THREAD cst_status cst_mapping_model_new_from_json(cst_string json, const cst_model *source,
                                                                     const cst_model *destination,
                                                                     cst_mapping_model **out_mapping CST_OWNED,
                                                                     cst_error **error);

/* Options of cst_mapping_model_new_inferred. */
enum {
    /* Allows attributes to change their type where values can be converted exactly, as CST_STORE_ALLOW_TYPE_CHANGES
     * does in a migration. */
    CST_MAPPING_ALLOW_TYPE_CHANGES = 1u << 0
};

/* Infers the mapping model of a lightweight migration from the names and renaming identifiers of two models, and
 * freezes both. `flags` is 0 or CST_MAPPING_ALLOW_TYPE_CHANGES. The mapping model contains both models.
 *
 * CST_E_MIGRATION (134190) for changes that cannot be inferred; the details list each. */
CST_EXPORT CST_ANY_THREAD cst_status cst_mapping_model_new_inferred(cst_model *source, cst_model *destination,
                                                                    uint32_t flags,
                                                                    cst_mapping_model **out_mapping CST_OWNED,
                                                                    cst_error **error);

/* Checks the kinds, the names of entities and properties, and references to entity mappings in a mapping model.
 *
 * `source` and `destination` are the two models; NULL stands for the one that the mapping model contains. Names are not
 * checked where there is no model. Version hashes are not compared: cst_mapping_model_matches does that.
 *
 * CST_E_MIGRATION for a problem; the details list each, if there are several. The code is 134170 for a custom mapping
 * without a policy class, otherwise 134110. */
CST_EXPORT CST_ANY_THREAD cst_status cst_mapping_model_validate(const cst_mapping_model *mapping,
                                                                const cst_model *source, const cst_model *destination,
                                                                cst_error **error);

/* Reports whether a mapping model was created for these two models: whether the version hashes of all of its entity
 * mappings equal those of the models. False if an entity mapping lacks a hash, and for one without entity mappings. */
CST_EXPORT CST_ANY_THREAD cst_status cst_mapping_model_matches(const cst_mapping_model *mapping,
                                                               const cst_model *source, const cst_model *destination,
                                                               bool *out_matches, cst_error **error);

/* Finds the first mapping model that matches two models. Each path is that of a mapping model, or of a folder that is
 * searched for files with the extensions .cdm and .xcmappingmodel in the order of names, including bundles in it (.momd,
 * .bundle, .framework, .app). Files that cannot be read are skipped, with a warning in the log. Returns CST_NOT_FOUND if
 * there is none. */
CST_EXPORT CST_ANY_THREAD cst_status cst_mapping_model_find(const cst_string *paths, size_t path_count,
                                                            const cst_model *source, const cst_model *destination,
                                                            cst_mapping_model **out_mapping CST_OWNED,
                                                            cst_error **error);

/* Writes a mapping model: a path with the extension .cdm receives the compiled form, one with .xcmappingmodel the folder
 * of Xcode's editor. A file or folder at the path is replaced in one step; other files in the folder stay.
 *
 * CST_E_INVALID_ARGUMENT for another extension.
 * CST_E_MODEL if an .xcmappingmodel cannot represent the mapping model. It contains no version hashes but the two models,
 * so a mapping model that was read from a .cdm must be created with its models first (cst_mapping_model_new_from_json).
 * CST_E_UNSUPPORTED for an expression that the library cannot write. */
CST_EXPORT CST_ANY_THREAD cst_status cst_mapping_model_write(const cst_mapping_model *mapping, cst_string path,
                                                             cst_error **error);

/* Fills a buffer with the whole mapping model as JSON. docs/reference/mapping.md lists the keys. */
CST_EXPORT CST_ANY_THREAD cst_status cst_mapping_model_copy_json(const cst_mapping_model *mapping, cst_buffer *out_json,
                                                                 cst_error **error);

/* Creates a copy of the source model, for which the mapping model was created. Returns CST_NOT_FOUND for a compiled one,
 * which does not contain it. */
CST_EXPORT CST_ANY_THREAD cst_status cst_mapping_model_source(const cst_mapping_model *mapping,
                                                              cst_model **out_model CST_OWNED, cst_error **error);

/* Creates a copy of the destination model. Returns CST_NOT_FOUND for a compiled mapping model. */
CST_EXPORT CST_ANY_THREAD cst_status cst_mapping_model_destination(const cst_mapping_model *mapping,
                                                                   cst_model **out_model CST_OWNED, cst_error **error);

#ifdef __cplusplus
}
#endif
#endif
