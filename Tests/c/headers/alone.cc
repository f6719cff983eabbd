// The header alone, twice, in C++.
#include <corestone.h>

static_assert(CST_DECIMAL_EXPONENT(CST_DECIMAL_AUX(1, -3)) == -3, "the exponent survives");
static_assert(CST_DECIMAL_NEGATIVE(CST_DECIMAL_AUX(1, -3)), "the sign survives");

static const cst_string paths[] = {CST_TEXT_INIT("name"), CST_TEXT("department.name")};
static_assert(CST_TEXT("name").size == 4, "the size is known at compile time");

int use();
int use() {
    cst_store_options options = CST_STORE_OPTIONS_INIT;
    cst_property_info info = CST_PROPERTY_INFO_INIT;
    cst_string string = CST_TEXT("text");
    cst_value value = {};
    value.type = CST_STRING;
    value.as.string = string;
    value = cst_value_string(paths[1]);
    return static_cast<int>(options.struct_size + info.struct_size + value.aux);
}
