/* corestone/version.h: the version of these headers
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_VERSION_H
#define CORESTONE_VERSION_H

#define CST_VERSION_MAJOR 0
#define CST_VERSION_MINOR 1
#define CST_VERSION_PATCH 0

#endif
