#pragma once
#include <ffi.h>

/* Accessors for the types of libffi: they are mutable global variables, which Swift 6 does not read directly. */
static inline ffi_type *corestone_ffi_int8(void) { return &ffi_type_uint8; }
static inline ffi_type *corestone_ffi_int16(void) { return &ffi_type_sint16; }
static inline ffi_type *corestone_ffi_int32(void) { return &ffi_type_sint32; }
static inline ffi_type *corestone_ffi_int64(void) { return &ffi_type_sint64; }
static inline ffi_type *corestone_ffi_float(void) { return &ffi_type_float; }
static inline ffi_type *corestone_ffi_double(void) { return &ffi_type_double; }
static inline ffi_type *corestone_ffi_pointer(void) { return &ffi_type_pointer; }

/* Returns the type for a letter of a signature: a letter of Python's struct module, or 's' or 'o' for a pointer. NULL
   for an unknown letter. */
static inline ffi_type *corestone_ffi_type(char letter) {
    switch (letter) {
    case '?':
    case 'B':
        return &ffi_type_uint8;
    case 'b':
        return &ffi_type_sint8;
    case 'h':
        return &ffi_type_sint16;
    case 'H':
        return &ffi_type_uint16;
    case 'i':
        return &ffi_type_sint32;
    case 'I':
        return &ffi_type_uint32;
    case 'q':
        return &ffi_type_sint64;
    case 'Q':
        return &ffi_type_uint64;
    case 'f':
        return &ffi_type_float;
    case 'd':
        return &ffi_type_double;
    case 's':
    case 'o':
        return &ffi_type_pointer;
    default:
        return NULL;
    }
}
