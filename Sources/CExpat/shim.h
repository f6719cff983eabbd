#pragma once
#define XML_DTD 1 /* without it the limits on entity expansion are invisible */
#include <expat.h>
