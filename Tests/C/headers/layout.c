/* Prints the layout of every struct that crosses the boundary, to be compared with what was promised. */
#include <corestone.h>
#include <stdio.h>

#define SIZE(type) printf("%s: %zu bytes, aligned to %zu\n", #type, sizeof(type), _Alignof(type))
#define FIELD(type, field)                                                                                             \
    printf("    %s at %zu, %zu bytes\n", #field, offsetof(type, field), sizeof(((type *)0)->field))

int main(void) {
    SIZE(cst_status);
    SIZE(cst_key);
    SIZE(cst_type);
    SIZE(cst_attribute_type);
    SIZE(cst_queue);
    SIZE(bool);
    SIZE(size_t);
    SIZE(cst_string);
    FIELD(cst_string, data);
    FIELD(cst_string, size);
    SIZE(cst_bytes);
    FIELD(cst_bytes, data);
    FIELD(cst_bytes, size);
    SIZE(cst_buffer);
    FIELD(cst_buffer, data);
    FIELD(cst_buffer, size);
    FIELD(cst_buffer, capacity);
    SIZE(cst_decimal);
    FIELD(cst_decimal, mantissa);
    SIZE(cst_value);
    FIELD(cst_value, type);
    FIELD(cst_value, aux);
    FIELD(cst_value, as);
    SIZE(cst_property_info);
    FIELD(cst_property_info, struct_size);
    FIELD(cst_property_info, name);
    FIELD(cst_property_info, kind);
    FIELD(cst_property_info, flags);
    FIELD(cst_property_info, attribute_type);
    FIELD(cst_property_info, key);
    FIELD(cst_property_info, destination);
    FIELD(cst_property_info, inverse);
    FIELD(cst_property_info, delete_rule);
    FIELD(cst_property_info, minimum_count);
    FIELD(cst_property_info, maximum_count);
    FIELD(cst_property_info, entity);
    SIZE(cst_store_options);
    FIELD(cst_store_options, struct_size);
    FIELD(cst_store_options, flags);
    FIELD(cst_store_options, busy_timeout_ms);
    FIELD(cst_store_options, cache_kb);
    FIELD(cst_store_options, watch_interval_ms);
    FIELD(cst_store_options, configuration);
    FIELD(cst_store_options, max_connections);
    FIELD(cst_store_options, file_mode);
    FIELD(cst_store_options, external_threshold);
    FIELD(cst_store_options, pragma_count);
    FIELD(cst_store_options, pragmas);
    FIELD(cst_store_options, foreign_option_count);
    FIELD(cst_store_options, foreign_options);
    SIZE(cst_pragma);
    FIELD(cst_pragma, name);
    FIELD(cst_pragma, value);
    SIZE(cst_index_element);
    FIELD(cst_index_element, property);
    FIELD(cst_index_element, expression);
    FIELD(cst_index_element, type);
    FIELD(cst_index_element, flags);
    SIZE(cst_sort);
    FIELD(cst_sort, key_path);
    FIELD(cst_sort, flags);
    FIELD(cst_sort, reserved);
    SIZE(cst_changes);
    FIELD(cst_changes, inserted);
    FIELD(cst_changes, updated);
    FIELD(cst_changes, deleted);
    FIELD(cst_changes, refreshed);
    FIELD(cst_changes, invalidated);
    FIELD(cst_changes, invalidated_all);
    FIELD(cst_changes, query_generation);
    SIZE(cst_value_change);
    FIELD(cst_value_change, kind);
    FIELD(cst_value_change, is_prior);
    FIELD(cst_value_change, key_path);
    FIELD(cst_value_change, old_value);
    FIELD(cst_value_change, new_value);
    FIELD(cst_value_change, indexes);
    FIELD(cst_value_change, index_count);
    return 0;
}
