#pragma once
#include <stddef.h>
#include <utf8proc.h>

/* glibc and musl have it, but glibc hides the declaration without _GNU_SOURCE, which Swift's Glibc module lacks. */
void *memmem(const void *text, size_t text_size, const void *part, size_t part_size);
