#pragma once
#include <sha2.h>
#include <sys/types.h>
