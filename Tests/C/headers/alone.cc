// The header alone, twice, in C++.
#include <corestone.h>
#include <corestone.h>

static_assert(CST_DECIMAL_EXPONENT(CST_DECIMAL_AUX(1, -3)) == -3, "the exponent survives");
static_assert(CST_DECIMAL_NEGATIVE(CST_DECIMAL_AUX(1, -3)), "the sign survives");

int use();
int use() {
    cst_store_options options = CST_STORE_OPTIONS_INIT;
    cst_property_info info = CST_PROPERTY_INFO_INIT;
    cst_string string = {"text", CST_NUL};
    cst_value value = {};
    value.type = CST_STRING;
    value.as.string = string;
    return static_cast<int>(options.struct_size + info.struct_size + value.aux);
}
