/* corestone/model.h: models: building, reading, writing, comparing.
 *
 * A model describes entities and their properties. Build one from a text (cst_model_new_from_text) or in code
 * (cst_model_new, cst_model_add_entity), or read one that Xcode or Apple's framework wrote (cst_model_load). The first
 * coordinator freezes the model; until then every part of it can be changed. The other functions write models
 * (cst_model_write, cst_model_convert), merge them, compare them (cst_model_copy_diff), check them
 * (cst_model_copy_lint), and manage fetch request templates, configurations and localisations.
 *
 * A model that is not frozen is used by one thread at a time. A frozen model is usable on any thread; apart from the
 * user info of fetched properties, changes fail with CST_E_MODEL. An error during construction is permanent: each later
 * change of the model fails with the first error again, and so does cst_coordinator_new. The caller owns models;
 * entities and text are borrowed from their model.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_MODEL_H
#define CORESTONE_MODEL_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Creates a model without entities. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_new(cst_model **out_model CST_OWNED, cst_error **error);

/* Creates a model from JSON text: an object of entities, each an object of properties. Most properties are a line:
 * "string", "int16? min 0 = 18", "to-many Person inverse friends". docs/reference/model.md documents the grammar. The
 * model is not frozen: it can be changed, also by cst_model_add_text. The text may be untrusted; it is limited to 64 MB
 * and 1,000,000 values.
 *
 * CST_E_MODEL for an error in the text. The message names entity, key and word; cst_error_entity and cst_error_key are
 * set. For text that is not JSON, the message has line and column, and cst_error_offset returns the byte offset.
 * CST_E_PREDICATE_SYNTAX for an expression or a predicate that cannot be parsed.
 * CST_E_TYPE_MISMATCH or CST_E_VALIDATION for a default that its attribute does not accept
 * (cst_attribute_set_default). */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_new_from_text(cst_string text, cst_model **out_model CST_OWNED,
                                                             cst_error **error);

/* Adds the entities of a text to a model. The text has the form of cst_model_new_from_text. An entity that already
 * exists is extended by the properties and options of the text. Destinations of relationships may be in the text or in
 * the model. An error is permanent, like every error during construction.
 *
 * `out_missing` is for models that are built in several steps. If `out_missing` is NULL, a relationship whose
 * destination or inverse is missing in the model is an error. Otherwise `out_missing` receives a JSON array of these
 * relationships, each an object with `entity`, `key`, `destination` and `inverse` (may be null). Such a relationship
 * does not have an inverse. If its destination is missing, the destination is the relationship's own entity, and
 * cst_model_freeze fails until cst_relationship_set_destination has set another one. */
CST_EXPORT CST_ONE_THREAD cst_status cst_model_add_text(cst_model *model, cst_string text, cst_buffer *out_missing,
                                                        cst_error **error);

/* Adds an entity to the model. Its name must be an identifier, and unique within the model. The entity is borrowed from
 * the model. */
CST_EXPORT CST_ONE_THREAD cst_status cst_model_add_entity(cst_model *model, cst_string name,
                                                          cst_entity **out_entity CST_BORROWED, cst_error **error);

/* Checks the model as a coordinator does, and freezes it. */
CST_EXPORT CST_ONE_THREAD cst_status cst_model_freeze(cst_model *model, cst_error **error);

/* Whether the model is frozen and usable. False for a draft with problems (cst_model_load_draft). */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_is_frozen(const cst_model *model, bool *out_frozen, cst_error **error);

/* Adds a version identifier, a label of the model's version. The metadata of a store contains the identifiers under
 * NSStoreModelVersionIdentifiers. */
CST_EXPORT CST_ONE_THREAD cst_status cst_model_add_version_identifier(cst_model *model, cst_string identifier,
                                                                      cst_error **error);

/* Removes a version identifier. Returns CST_NOT_FOUND if the model does not have it. */
CST_EXPORT CST_ONE_THREAD cst_status cst_model_remove_version_identifier(cst_model *model, cst_string identifier,
                                                                         cst_error **error);

/* Returns the number of entities, or 0 for an invalid handle. */
CST_EXPORT CST_ANY_THREAD size_t cst_model_entity_count(const cst_model *model);

/* Returns the entity at an index, in order of creation. Returns CST_END past the last one. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_entity_at(const cst_model *model, size_t index,
                                                         cst_entity **out_entity CST_BORROWED, cst_error **error);

/* Returns the entity named `name`. Returns CST_NOT_FOUND if there is no such entity. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_entity(const cst_model *model, cst_string name,
                                                      cst_entity **out_entity CST_BORROWED, cst_error **error);

/* Reads a model from a file or folder of any of Apple's kinds.
 *
 * The kinds are .xcdatamodeld, .xcdatamodel and its contents, .momd and .mom. The kind is recognised by the content.
 * `version` selects one version of a bundle; null selects the current one. The model is not frozen yet.
 *
 * CST_E_STORE_IO if a file cannot be read or is too large.
 * CST_E_MODEL if the model is damaged or exceeds another limit, which the message names.
 * CST_E_INVALID_ARGUMENT for an empty file, a store or a mapping model, and for an unknown version. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_load(cst_string path, cst_string version,
                                                    cst_model **out_model CST_OWNED, cst_error **error);

/* Reads a source model that may be incomplete, as an editor saves it.
 *
 * A relationship may lack its destination, an attribute its type, or an entity its superentity. Parts that a model
 * cannot have are left out. Otherwise like cst_model_load. `out_problems` receives a JSON array of the problems, each
 * an object with `entity`, `key` (both may be null) and `message`; the array is empty for a usable model. A model with
 * problems can only be inspected: every other use fails with the first problem. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_load_draft(cst_string path, cst_string version,
                                                          cst_model **out_model CST_OWNED, cst_buffer *out_problems,
                                                          cst_error **error);

/* Reads a model for opening a store. From a bundle with several versions, the call reads the version with which the
 * store was written, found by the version hashes of all entities (cst_model_version_name). For other models, and if the
 * version of the store cannot be determined, the call reads the model like cst_model_load without a version. The model
 * is frozen. The store is only read. Fails with CST_E_MODEL_MISMATCH if the store was written with another model; the
 * message names the nearest version and the differences. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_load_for_store(cst_string path, cst_string store_path,
                                                              cst_model **out_model CST_OWNED, cst_error **error);

/* Returns the name of the version of a bundle from which the model was read, or a null string for other models. */
CST_EXPORT CST_ANY_THREAD CST_BORROWED cst_string cst_model_version_name(const cst_model *model);

/* Reads a model from the content of one file, or from the Z_MODELCACHE of a store. Otherwise like cst_model_load.
 * Fails with CST_E_STORE_CORRUPT if the content is damaged. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_load_bytes(cst_bytes content, cst_model **out_model CST_OWNED,
                                                          cst_error **error);

/* Fills a buffer with the names of the versions in a bundle, each terminated by a NUL, in natural order. For a model
 * that is not a bundle, the model itself is the only version. `out_current` receives the index of the current version,
 * or the number of versions if the current version is missing. `out_count` and `out_current` may be NULL. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_copy_versions(cst_string path, cst_buffer *out_names, size_t *out_count,
                                                             size_t *out_current, cst_error **error);

/* Creates a copy of a model that can be changed, even if the original is frozen. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_copy(const cst_model *model, cst_model **out_model CST_OWNED,
                                                    cst_error **error);

/* Creates a model with the entities of several models. Equal entities of several models are merged into one.
 *
 * If `store_path` is not null, the new model has the entities with which that store was written, found by their version
 * hashes, and all models are frozen.
 *
 * CST_E_MODEL if entities or fetch requests of the same name differ; the message names the difference.
 * CST_E_MODEL_MISMATCH for entities of the store that are missing in all models; the message names them. */
CST_EXPORT CST_ONE_THREAD cst_status cst_model_merge(size_t count, cst_model *const *models, cst_string store_path,
                                                     cst_model **out_model CST_OWNED, cst_error **error);

/* Fills a buffer with the whole model as JSON.
 *
 * The JSON contains entities and their properties, indexes, constraints, derivations, fetched properties, fetch
 * requests, configurations, and the further content of a source model. docs/reference/model.md lists the keys. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_copy_json(const cst_model *model, cst_buffer *out_json,
                                                         cst_error **error);

/* Fills a buffer with a diagram of the model in DOT, the language of Graphviz. The diagram has a box for each entity
 * with its properties, and one line for a relationship and its inverse. A double arrowhead represents a to-many
 * relationship, a hollow one inheritance. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_copy_diagram(const cst_model *model, cst_buffer *out_dot,
                                                            cst_error **error);

/* Sets the fetch request template named `name` of the model. $names in its predicate are variables. The request is
 * copied. NULL removes the template. */
CST_EXPORT CST_ONE_THREAD cst_status cst_model_set_template(cst_model *model, cst_string name,
                                                            const cst_fetch_request *request, cst_error **error);

/* Creates a request from a fetch request template, with unbound variables. Returns CST_NOT_FOUND if there is no such
 * template. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_copy_template(const cst_model *model, cst_string name,
                                                             cst_fetch_request **out_request CST_OWNED,
                                                             cst_error **error);

/* Creates a request from a fetch request template, with `count` values for its variables.
 *
 * A null value binds its variable to nil.
 *
 * CST_E_PREDICATE if a variable does not have a value (cst_error_key returns its name).
 * CST_E_INVALID_ARGUMENT for an unknown template. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_copy_bound_template(const cst_model *model, cst_string name,
                                                                   size_t count, const cst_string *variables,
                                                                   const cst_value *values,
                                                                   cst_fetch_request **out_request CST_OWNED,
                                                                   cst_error **error);

/* Sets the entities of a configuration, a subset of the model for one of several stores. Adds the configuration if
 * it does not exist. */
CST_EXPORT CST_ONE_THREAD cst_status cst_model_set_configuration(cst_model *model, cst_string name, size_t count,
                                                                 const cst_string *entities, cst_error **error);

/* Removes a configuration. Returns CST_NOT_FOUND if there is no configuration of that name. */
CST_EXPORT CST_ONE_THREAD cst_status cst_model_remove_configuration(cst_model *model, cst_string name,
                                                                    cst_error **error);

/* Fills a buffer with the names of the entities of a configuration, each terminated by a NUL. A null name and "Default"
 * select the whole model. `out_count` receives the number of names. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_copy_configuration(const cst_model *model, cst_string name,
                                                                  cst_buffer *out_names, size_t *out_count,
                                                                  cst_error **error);

/* The kinds of names that cst_model_copy_names returns. */
enum { CST_NAMES_TEMPLATES = 1, CST_NAMES_CONFIGURATIONS = 2, CST_NAMES_VERSION_IDENTIFIERS = 3 };

/* Fills a buffer with the names of a model's templates or configurations, or with its version identifiers.
 *
 * Names of templates are sorted. Each name is terminated by a NUL. `which` is a CST_NAMES_ constant. `out_count`
 * receives the number of names. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_copy_names(const cst_model *model, uint32_t which, cst_buffer *out_names,
                                                          size_t *out_count, cst_error **error);

/* Fills a buffer with the errors and likely errors of a model as JSON.
 *
 * The JSON is an array of objects with `rule`, `severity` (error, warning, note), `entity`, `key`, `message` and
 * `remedy`. docs/reference/lint.md explains each rule. `profile` is null, "standard" or "cloudkit". The model may be
 * frozen or not, and need not be valid. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_copy_lint(const cst_model *model, cst_string profile,
                                                         cst_buffer *out_json, cst_error **error);

/* Fills a buffer with the findings of cst_model_copy_lint and of a comparison with earlier versions.
 *
 * The comparison covers the renaming identifiers of the model. `former` are `count` earlier versions, the oldest first.
 * An identifier that is the previous name instead of the first one is reported, because a migration from an earlier
 * version would remove the values. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_copy_version_lint(const cst_model *model, cst_string profile,
                                                                 size_t count, cst_model *const *former,
                                                                 cst_buffer *out_json, cst_error **error);

/* Fills a buffer with the differences between `model` and `newer`, as a JSON array. Each is an object with `action`
 * (added, removed, changed, renamed), `part`, `entity`, `name`, `field`, `old`, `new`, `changesHash` (whether stores
 * need a migration) and `text`. The array is empty for equal models. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_copy_diff(const cst_model *model, const cst_model *newer,
                                                         cst_buffer *out_json, cst_error **error);

/* Sets the localised name of a part of the model, or the localised text of a failed validation. The key is `Entity/E`,
 * `Property/P/Entity/E`, `Property/P` or `ErrorString/W`. A null text removes the entry. */
CST_EXPORT CST_ONE_THREAD cst_status cst_model_set_localization(cst_model *model, cst_string key, cst_string text,
                                                                cst_error **error);

/* Returns the text of a key in the localisation, borrowed from the model. Returns CST_NOT_FOUND if the key does not
 * have a text. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_localization(const cst_model *model, cst_string key,
                                                            cst_string *out_text CST_BORROWED, cst_error **error);

/* Fills a buffer with the compiled model: the bytes of a .mom file, as in Z_MODELCACHE of a store. Freezes the model.
 */
CST_EXPORT CST_ONE_THREAD cst_status cst_model_copy_compiled(cst_model *model, cst_buffer *out_bytes,
                                                             cst_error **error);

/* Flags for writing models. */
enum {
    CST_MODEL_KEEP_CURRENT = 1u << 0, /* the current version of a bundle does not change */
    CST_MODEL_LOSSY = 1u << 1 /* parts that a source cannot express are left out, instead of making the call fail */
};

/* Fills a buffer with the model as the `contents` of an .xcdatamodel, the XML that Xcode edits. Text that was read from
 * a `contents` file keeps its order and wording where the model is unchanged. Fails with CST_E_MODEL for a part that a
 * source cannot express, for example a validation predicate that is neither a bound nor a pattern, unless
 * CST_MODEL_LOSSY is set. A model that cst_model_freeze rejects is written too, so that its errors can be corrected one
 * by one. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_copy_source(const cst_model *model, uint32_t flags, cst_buffer *out_text,
                                                           cst_error **error);

/* Writes the model to a path. The extension selects the format: .xcdatamodel, .mom, or .xcdatamodeld and .momd, bundles
 * of versions. In a bundle, `version` is added or replaced and becomes the current version, unless
 * CST_MODEL_KEEP_CURRENT is set. A null `version` selects the version from which the model was read, or else the
 * current version; in both cases the current version stays the same.
 *
 * Other files in a bundle are kept, and permissions as far as the system allows; a symbolic link is followed. At any
 * time, even after a crash, the path has either the complete former content or the complete new content (for a folder,
 * only if the file system can exchange two folders). Concurrent writes are serialised.
 *
 * CST_E_INVALID_ARGUMENT for another extension and for a version that cannot be a file name.
 * CST_E_STORE_BUSY if another process or coordinator still holds the lock of the folder after 30 seconds. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_write(const cst_model *model, cst_string path, cst_string version,
                                                     uint32_t flags, cst_error **error);

/* Compiles a source with all its versions, or converts a compiled model to a source. Reads `path` like cst_model_load
 * and writes `target`, whose extension selects the format; .xcdatamodel and .mom receive the current version only.
 * `module` is the Swift module of classes whose module a source does not name; null means no module. In an existing
 * compiled bundle all versions are replaced and other files are kept. An existing .mom is replaced. Fails with
 * CST_E_INVALID_ARGUMENT for a target that contains `path`, an existing source, or a .momd with other files than those
 * of a model. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_convert(cst_string path, cst_string target, cst_string module,
                                                       uint32_t flags, cst_error **error);

/* Merges all models in a folder, like Apple's mergedModelFromBundles.
 *
 * The current version of each bundle is merged, or every version if `store_path` is not null. Of a source and its
 * compiled form, only one is read. Fails with CST_E_MODEL if the folder does not have a model. Otherwise like
 * cst_model_merge. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_merge_folder(cst_string path, cst_string store_path,
                                                            cst_model **out_model CST_OWNED, cst_error **error);

/* Fills a buffer with the version checksum of a model, a text computed from the version hashes of all entities. The
 * metadata of a store contains the checksum under NSStoreModelVersionChecksumKey. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_copy_checksum(const cst_model *model, cst_buffer *out_text,
                                                             cst_error **error);

/* Fills a buffer with the name and the checksum of every version in a bundle, alternately, each terminated by a NUL.
 * `out_count` receives the number of versions and may be NULL. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_copy_version_checksums(cst_string path, cst_buffer *out_texts,
                                                                      size_t *out_count, cst_error **error);

/* Whether the store at `store_path` has exactly the entities of a configuration.
 *
 * The entities must have the version hashes of the model, as for isConfiguration:compatibleWithStoreMetadata:. A null
 * `configuration` stands for all entities. A store without version hashes is never compatible. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_is_compatible(const cst_model *model, cst_string configuration,
                                                             cst_string store_path, bool *out_compatible,
                                                             cst_error **error);

/* Whether a store with `metadata` would be compatible, like cst_model_is_compatible. `metadata` is a binary or
 * XML property list, the content of Z_METADATA. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_is_compatible_metadata(const cst_model *model, cst_string configuration,
                                                                      cst_bytes metadata, bool *out_compatible,
                                                                      cst_error **error);

/* Loads the localisation of a model from a .strings file. `path` is that file, or the path of a model. For a model, the
 * file is <Model>Model.strings in the folder of the model or in the subfolder <language>.lproj. cst_model_load does
 * this automatically. `language` is for example "de" or "zh-Hans"; null selects the user's language, from LANGUAGE,
 * LC_ALL, LC_MESSAGES, LANG. Returns CST_NOT_FOUND if the model does not have such a file. A missing .strings
 * file fails with CST_E_STORE_IO. */
CST_EXPORT CST_ONE_THREAD cst_status cst_model_load_strings(cst_model *model, cst_string path, cst_string language,
                                                            cst_error **error);

#ifdef __cplusplus
}
#endif
#endif
