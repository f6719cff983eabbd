/* Calls that must fail, through the table of all functions.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EXPECT_H
#define EXPECT_H

#include "calls.h"

/* The number of deliberate cases. */
extern size_t cases;

bool takes_destroy(const struct call *call);
/* The index of the parameter `error`, -1 without one. */
int error_position(const struct call *call);
void complain(const struct call *call, const struct parameter *parameter, const char *what, const char *got);
/* Makes the call and checks that it fails as expected, with an error, and destroys its arguments exactly once. */
void expect_failure(const struct call *call, const struct parameter *parameter, const char *what, cst_status expected,
                    union argument *arguments, struct storage *storage);

#endif
