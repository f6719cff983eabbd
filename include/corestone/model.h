/* corestone/model.h: models: building, reading, writing, comparing
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_MODEL_H
#define CORESTONE_MODEL_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ======== model ========================================================================================== */
/* A model is built by one thread, then frozen by its first coordinator; from then on it may be read by any thread, and a
 * change is CST_E_MODEL. A mistake in construction sticks: each later change of that model returns the first error
 * again, and so does cst_coordinator_new. */

/* A model without entities. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_new(cst_model **out_model CST_OWNED, cst_error **error);
/* Adds an entity; its name must be an identifier, unique within the model. */
CST_EXPORT CST_ONE_THREAD cst_status cst_model_add_entity(cst_model *model, cst_string name,
                                                          cst_entity **out_entity CST_BORROWED, cst_error **error);
/* Checks the model as a coordinator will, and freezes it. */
CST_EXPORT CST_ONE_THREAD cst_status cst_model_freeze(cst_model *model, cst_error **error);
CST_EXPORT CST_ANY_THREAD cst_status cst_model_is_frozen(const cst_model *model, bool *out_frozen, cst_error **error);
/* Labels the version of the model; goes into NSStoreModelVersionIdentifiers. */
CST_EXPORT CST_ONE_THREAD cst_status cst_model_add_version_identifier(cst_model *model, cst_string identifier,
                                                                      cst_error **error);
/* CST_NOT_FOUND when the model has no such label. */
CST_EXPORT CST_ONE_THREAD cst_status cst_model_remove_version_identifier(cst_model *model, cst_string identifier,
                                                                         cst_error **error);
CST_EXPORT CST_ANY_THREAD size_t cst_model_entity_count(const cst_model *model);
/* Entities in order of creation. CST_END past the last one. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_entity_at(const cst_model *model, size_t index,
                                                         cst_entity **out_entity CST_BORROWED, cst_error **error);
/* The entity of that name; CST_NOT_FOUND when there is none. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_entity(const cst_model *model, cst_string name,
                                                      cst_entity **out_entity CST_BORROWED, cst_error **error);
/* Reads a model from a file or folder of any of Apple's kinds: .xcdatamodeld, .xcdatamodel and its contents, .momd, .mom.
 * What it is is told from the content. `version` names one version of a bundle; null is the current one. The model is not
 * frozen yet. CST_E_STORE_IO when there is nothing to read, CST_E_MODEL when it is damaged or beyond a limit, which the
 * message names, CST_E_INVALID_ARGUMENT for a store, and for a version that the bundle does not have. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_load(cst_string path, cst_string version,
                                                    cst_model **out_model CST_OWNED, cst_error **error);
/* As cst_model_load, for a source model that may be half-finished, as an editor saves it: with a relationship that leads nowhere,
 * an attribute without a type, an entity whose parent is gone. What cannot stand in a model is left out. `out_problems` gets a JSON
 * array of what is wrong, each an object with `entity`, `key` (both may be null) and `message`; an empty one for a model that can
 * be used. One with problems can only be looked at: whatever would use it is refused with the first of them. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_load_draft(cst_string path, cst_string version,
                                                          cst_model **out_model CST_OWNED, cst_buffer *out_problems,
                                                          cst_error **error);
/* Reads a model for a store that is to be opened with it: of a bundle with several versions the one that the store was
 * written with, told by the version hashes of all entities (cst_model_version_name tells which); anything else, and when
 * the store does not tell, as cst_model_load without a version. The model is frozen. The store does not change.
 * CST_E_MODEL_MISMATCH when it was written with none of the versions: the nearest one is named, and what differs. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_load_for_store(cst_string path, cst_string store_path,
                                                              cst_model **out_model CST_OWNED, cst_error **error);
/* Which version of a bundle the model was read from; null for any other model. */
CST_EXPORT CST_ANY_THREAD CST_BORROWED cst_string cst_model_version_name(const cst_model *model);
/* As cst_model_load, from the content of one file, or of a store's Z_MODELCACHE. CST_E_STORE_CORRUPT when it is damaged. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_load_bytes(cst_bytes content, cst_model **out_model CST_OWNED,
                                                          cst_error **error);
/* The names of the versions that a bundle holds, each ended by a NUL, in their natural order; a model that is no bundle
 * is its own only version. out_current is the place of the current one, or the count when it is not there; out_count and
 * out_current may be NULL. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_copy_versions(cst_string path, cst_buffer *out_names, size_t *out_count,
                                                             size_t *out_current, cst_error **error);
/* An equal model that can be changed, whether this one is frozen or not. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_copy(const cst_model *model, cst_model **out_model CST_OWNED,
                                                    cst_error **error);
/* A new model with the entities of several; what is the same in two of them is there once. CST_E_MODEL when entities or
 * fetch requests of one name differ: the message says in what. With the path of a store (null: none) it has the entities
 * that the store was written with, found by their version hashes, which freezes the models; CST_E_MODEL_MISMATCH names
 * those that are in none. */
CST_EXPORT CST_ONE_THREAD cst_status cst_model_merge(size_t count, cst_model *const *models, cst_string store_path,
                                                     cst_model **out_model CST_OWNED, cst_error **error);
/* All that the model says as JSON, of which docs/reference/model.md has the keys: entities with what they declare, indexes,
 * constraints, derivations, fetched properties, fetch requests, configurations, and what a source model says beyond. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_copy_json(const cst_model *model, cst_buffer *out_json,
                                                         cst_error **error);
/* A picture of the model in DOT, the language of Graphviz's `dot`, which makes SVG or PNG of it: a box for each entity with
 * what it declares, one line for a relationship and its inverse, double heads for to-many, hollow ones for inheritance. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_copy_diagram(const cst_model *model, cst_buffer *out_dot,
                                                            cst_error **error);
/* Fetch requests that belong to the model, by name. In their predicates, $names are variables. The request is copied; NULL
 * removes the template. */
CST_EXPORT CST_ONE_THREAD cst_status cst_model_set_template(cst_model *model, cst_string name,
                                                            const cst_fetch_request *request, cst_error **error);
/* A copy of a template, its variables unbound; CST_NOT_FOUND when there is none of that name. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_copy_template(const cst_model *model, cst_string name,
                                                             cst_fetch_request **out_request CST_OWNED,
                                                             cst_error **error);
/* A request made of a template, with values for its variables; a null value is nil. CST_E_PREDICATE names a variable
 * without a value (cst_error_key), CST_E_INVALID_ARGUMENT a template that is not there. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_copy_bound_template(const cst_model *model, cst_string name,
                                                                   size_t count, const cst_string *variables,
                                                                   const cst_value *values,
                                                                   cst_fetch_request **out_request CST_OWNED,
                                                                   cst_error **error);
/* Makes the entities of these names a configuration, or replaces the one of that name: a subset for one store of several. */
CST_EXPORT CST_ONE_THREAD cst_status cst_model_set_configuration(cst_model *model, cst_string name, size_t count,
                                                                 const cst_string *entities, cst_error **error);
/* CST_NOT_FOUND when there is no configuration of that name. */
CST_EXPORT CST_ONE_THREAD cst_status cst_model_remove_configuration(cst_model *model, cst_string name,
                                                                    cst_error **error);
/* The names of the entities of a configuration, each ended by a NUL; null or "Default" is the whole model. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_copy_configuration(const cst_model *model, cst_string name,
                                                                  cst_buffer *out_names, size_t *out_count,
                                                                  cst_error **error);
enum { CST_NAMES_TEMPLATES = 1, CST_NAMES_CONFIGURATIONS = 2, CST_NAMES_VERSION_IDENTIFIERS = 3 };
/* Names that the model has, each ended by a NUL: of templates (sorted), configurations, labels of its version. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_copy_names(const cst_model *model, uint32_t which, cst_buffer *out_names,
                                                          size_t *out_count, cst_error **error);
/* What is wrong or doubtful in a model, as a JSON list of objects with `rule`, `severity` (error, warning, note), `entity`,
 * `key`, `message` and `remedy`; docs/reference/lint.md explains each rule. `profile` is null or "standard", or "cloudkit".
 * The model may be frozen or not, and need not be right. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_copy_lint(const cst_model *model, cst_string profile,
                                                         cst_buffer *out_json, cst_error **error);
/* How `newer` differs, as a JSON list of objects with `action` (added, removed, changed, renamed), `part`, `entity`, `name`,
 * `field`, `old`, `new`, `changesHash` (stores need a migration) and `text`. The list is empty for equal models. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_copy_diff(const cst_model *model, const cst_model *newer,
                                                         cst_buffer *out_json, cst_error **error);
/* Sets what a part of the model is called for people, or what one of its conditions says when it is not met: the key is
 * `Entity/E`, `Property/P/Entity/E`, `Property/P` or `ErrorString/W`. A null text removes the entry. */
CST_EXPORT CST_ONE_THREAD cst_status cst_model_set_localization(cst_model *model, cst_string key, cst_string text,
                                                                cst_error **error);
/* CST_NOT_FOUND when the key has no text. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_localization(const cst_model *model, cst_string key,
                                                            cst_string *out_text CST_BORROWED, cst_error **error);
/* The model as a compiled model (the bytes of a .mom file, which Z_MODELCACHE holds too). Freezes it. */
CST_EXPORT CST_ONE_THREAD cst_status cst_model_copy_compiled(cst_model *model, cst_buffer *out_bytes,
                                                             cst_error **error);
enum {
    CST_MODEL_KEEP_CURRENT = 1u << 0, /* in a bundle, the version that is the current one stays it */
    CST_MODEL_LOSSY = 1u << 1         /* what a source has no way to say is left out, which is an error otherwise */
};
/* The model as the `contents` of an .xcdatamodel, the XML that Xcode edits: what was read from one comes back in its order
 * and its words, but for what was changed. CST_E_MODEL names what a source has no way to say, a condition in an author's own
 * words for example, unless CST_MODEL_LOSSY leaves it out. A model that cst_model_freeze would refuse is written as well, so
 * that it can be mended mistake by mistake. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_copy_source(const cst_model *model, uint32_t flags, cst_buffer *out_text,
                                                           cst_error **error);
/* Writes the model to a path whose extension says as what: .xcdatamodel, .mom, or into a bundle of versions, .xcdatamodeld
 * or .momd, as `version`, new or replaced, which becomes the current one unless CST_MODEL_KEEP_CURRENT says otherwise; null
 * is the version that it was read as, or else the current one, and the current one stays it. What else lies in a bundle
 * stays, and so do permissions; where a symbolic link leads is written. At any time the path has the whole of what was there
 * or of what is new, after a crash too. Several writers take turns. CST_E_INVALID_ARGUMENT for another extension and for a
 * version whose name cannot be that of a file, CST_E_STORE_BUSY when another program keeps the folder locked for long. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_write(const cst_model *model, cst_string path, cst_string version,
                                                     uint32_t flags, cst_error **error);
/* Compiles a source with all its versions, or makes a source of a compiled model: from `path`, which is read as by
 * cst_model_load, to `target`, whose extension says as what; .xcdatamodel and .mom get the current version alone. `module`
 * is the Swift module of classes that a source names without one (null: they stay so). Of a compiled bundle
 * that is there all versions are replaced, and what else lies in it stays; a source must not be there yet.
 * CST_E_INVALID_ARGUMENT for a target that contains `path` or holds anything but a compiled model. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_convert(cst_string path, cst_string target, cst_string module,
                                                       uint32_t flags, cst_error **error);
/* As cst_model_merge, of all models that lie in a folder, Apple's mergedModelFromBundles: the current version of each bundle,
 * or for a store every version. A source beside its compiled form counts once. CST_E_MODEL when there is none. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_merge_folder(cst_string path, cst_string store_path,
                                                            cst_model **out_model CST_OWNED, cst_error **error);
/* One text for the version hashes of all entities: NSStoreModelVersionChecksumKey of stores. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_copy_checksum(const cst_model *model, cst_buffer *out_text,
                                                             cst_error **error);
/* The name and the checksum of every version that a bundle holds, in turns, each ended by a NUL. out_count is how many
 * versions there are; it may be NULL. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_copy_version_checksums(cst_string path, cst_buffer *out_texts,
                                                                      size_t *out_count, cst_error **error);
/* Whether the store at `store_path` holds the entities of a configuration (null: all), and those alone, as the model has
 * them: isConfiguration:compatibleWithStoreMetadata:. A store that says nothing of itself is compatible with no model. */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_is_compatible(const cst_model *model, cst_string configuration,
                                                             cst_string store_path, bool *out_compatible,
                                                             cst_error **error);
/* The same for a store's metadata, a property list of either form (what Z_METADATA holds). */
CST_EXPORT CST_ANY_THREAD cst_status cst_model_is_compatible_metadata(const cst_model *model, cst_string configuration,
                                                                      cst_bytes metadata, bool *out_compatible,
                                                                      cst_error **error);
/* Takes over what the parts of a model are called for people. `path` is a .strings file, or the path of a model beside which
 * they lie, in <Model>Model.strings of <language>.lproj or of the model's folder; cst_model_load does that by itself.
 * `language` is "de" or "zh-Hans"; null is the user's, by LANGUAGE, LC_ALL, LC_MESSAGES, LANG. CST_NOT_FOUND when there are
 * none. */
CST_EXPORT CST_ONE_THREAD cst_status cst_model_load_strings(cst_model *model, cst_string path, cst_string language,
                                                            cst_error **error);

#ifdef __cplusplus
}
#endif
#endif
