/* corestone/mapping.h: mapping models.
 *
 * A mapping model describes how the objects of one version of a model become objects of another. These functions read
 * mapping models that Xcode wrote or compiled, and report their content. The caller owns the handles. A mapping model
 * never changes, and any thread may use it.
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

/* Fills a buffer with the whole mapping model as JSON. docs/reference/mapping.md lists the keys. */
CST_EXPORT CST_ANY_THREAD cst_status cst_mapping_model_copy_json(const cst_mapping_model *mapping, cst_buffer *out_json,
                                                                 cst_error **error);

/* Creates a copy of the source model, for which an .xcmappingmodel was made. Returns CST_NOT_FOUND for a compiled one,
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
