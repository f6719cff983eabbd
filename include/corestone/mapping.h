/* corestone/mapping.h: mapping models
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_MAPPING_H
#define CORESTONE_MAPPING_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ======== mapping ======================================================================================== */
/* How the objects of one version of a model become those of another. Immutable; any thread may read it. */

/* Reads an .xcmappingmodel, its xcmapping.xml or a compiled .cdm; what it is is told from the content. CST_E_STORE_IO when
 * there is nothing to read, CST_E_MODEL when it is damaged or beyond a limit. */
CST_EXPORT CST_ANY_THREAD cst_status cst_mapping_model_load(cst_string path, cst_mapping_model **out_mapping CST_OWNED,
                                                            cst_error **error);
/* The same from the content of one file. CST_E_STORE_CORRUPT when it is damaged. */
CST_EXPORT CST_ANY_THREAD cst_status cst_mapping_model_load_bytes(cst_bytes content,
                                                                  cst_mapping_model **out_mapping CST_OWNED,
                                                                  cst_error **error);
/* All that it says as JSON, of which docs/reference/mapping.md has the keys. */
CST_EXPORT CST_ANY_THREAD cst_status cst_mapping_model_copy_json(const cst_mapping_model *mapping, cst_buffer *out_json,
                                                                 cst_error **error);
/* A copy of the model that an .xcmappingmodel was made for; CST_NOT_FOUND for a compiled one, which keeps none. */
CST_EXPORT CST_ANY_THREAD cst_status cst_mapping_model_source(const cst_mapping_model *mapping,
                                                              cst_model **out_model CST_OWNED, cst_error **error);
/* The same of the model that it leads to. */
CST_EXPORT CST_ANY_THREAD cst_status cst_mapping_model_destination(const cst_mapping_model *mapping,
                                                                   cst_model **out_model CST_OWNED, cst_error **error);

#ifdef __cplusplus
}
#endif
#endif
