#pragma once
#include <ffi.h>

/* The types are global variables, which Swift 6 refuses to look at. */
static inline ffi_type *corestone_ffi_int8(void) { return &ffi_type_uint8; }
static inline ffi_type *corestone_ffi_int16(void) { return &ffi_type_sint16; }
static inline ffi_type *corestone_ffi_int32(void) { return &ffi_type_sint32; }
static inline ffi_type *corestone_ffi_int64(void) { return &ffi_type_sint64; }
static inline ffi_type *corestone_ffi_float(void) { return &ffi_type_float; }
static inline ffi_type *corestone_ffi_double(void) { return &ffi_type_double; }
static inline ffi_type *corestone_ffi_pointer(void) { return &ffi_type_pointer; }
