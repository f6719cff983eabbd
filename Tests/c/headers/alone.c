/* The header alone, twice, in every C that it promises. */
#include <corestone.h>

static const cst_string paths[] = {CST_TEXT_INIT("name"), CST_TEXT_INIT("department.name")};

int use(void);
int use(void) {
    cst_store_options options = CST_STORE_OPTIONS_INIT;
    cst_property_info info = CST_PROPERTY_INFO_INIT;
    cst_string string = CST_TEXT("text");
    cst_value value = {CST_STRING, 0, {0}};
    value.as.string = string;
    value = cst_value_string(paths[1]);
    return CST_DECIMAL_EXPONENT(CST_DECIMAL_AUX(1, -3)) + (int)(options.struct_size + info.struct_size + value.aux);
}
