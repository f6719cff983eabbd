/* The model Odd: manual additions. */
#ifndef ODD_H
#define ODD_H

#include "_Odd.h"

#endif
