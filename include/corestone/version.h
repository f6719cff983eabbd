/* corestone/version.h: the version of these headers.
 *
 * A program can compare these numbers with cst_version, which returns the version of the loaded library. The build
 * reads them here; no other file contains them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_VERSION_H
#define CORESTONE_VERSION_H

/* Before 1.0, a new minor version may change the interface; afterwards only a new major version may. */
#define CST_VERSION_MAJOR 0
/* Counts versions with new functions. */
#define CST_VERSION_MINOR 1
/* Counts versions with corrections only. */
#define CST_VERSION_PATCH 0

#endif
