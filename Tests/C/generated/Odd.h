/* The model Odd: what people write. */
#ifndef ODD_H
#define ODD_H

#include "_Odd.h"

#endif
