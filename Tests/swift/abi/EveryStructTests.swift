// Written by scripts/generate.py from include/corestone-api.json. `make generate` writes it again.

import CCorestone
import XCTest

/// Every struct of the headers has the same size and offsets in Swift as in C.
final class EveryStructTests: XCTestCase {
    private var structs = 0
    private var members = 0

    private func size<Kind>(_ kind: Kind.Type, _ bytes: Int, line: UInt = #line) {
        structs += 1
        XCTAssertEqual(MemoryLayout<Kind>.size, bytes, "\(kind)", line: line)
        XCTAssertEqual(MemoryLayout<Kind>.stride, bytes, "\(kind)", line: line)
    }

    private func member<Kind>(_ path: PartialKeyPath<Kind>, _ offset: Int, line: UInt = #line) {
        members += 1
        XCTAssertEqual(MemoryLayout<Kind>.offset(of: path), offset, "\(path)", line: line)
    }

    private func checkString() {
        size(cst_string.self, 16)
        member(\cst_string.data, 0)
        member(\cst_string.size, 8)
    }

    private func checkBytes() {
        size(cst_bytes.self, 16)
        member(\cst_bytes.data, 0)
        member(\cst_bytes.size, 8)
    }

    private func checkBuffer() {
        size(cst_buffer.self, 24)
        member(\cst_buffer.data, 0)
        member(\cst_buffer.size, 8)
        member(\cst_buffer.capacity, 16)
    }

    private func checkDecimal() {
        size(cst_decimal.self, 16)
        member(\cst_decimal.mantissa, 0)
    }

    private func checkValues() {
        size(cst_values.self, 16)
        member(\cst_values.data, 0)
        member(\cst_values.size, 8)
    }

    private func checkHost() {
        size(cst_host.self, 16)
        member(\cst_host.callbacks, 0)
        member(\cst_host.object, 8)
    }

    private func checkValue() {
        size(cst_value.self, 24)
        member(\cst_value.type, 0)
        member(\cst_value.aux, 4)
        member(\cst_value.as, 8)
    }

    private func checkIndexElement() {
        size(cst_index_element.self, 40)
        member(\cst_index_element.property, 0)
        member(\cst_index_element.expression, 16)
        member(\cst_index_element.type, 32)
        member(\cst_index_element.flags, 36)
    }

    private func checkPropertyInfo() {
        size(cst_property_info.self, 88)
        member(\cst_property_info.struct_size, 0)
        member(\cst_property_info.name, 8)
        member(\cst_property_info.kind, 24)
        member(\cst_property_info.flags, 28)
        member(\cst_property_info.attribute_type, 32)
        member(\cst_property_info.key, 36)
        member(\cst_property_info.destination, 40)
        member(\cst_property_info.inverse, 48)
        member(\cst_property_info.delete_rule, 64)
        member(\cst_property_info.minimum_count, 68)
        member(\cst_property_info.maximum_count, 72)
        member(\cst_property_info.entity, 80)
    }

    private func checkUuid() {
        size(cst_uuid.self, 16)
        member(\cst_uuid.bytes, 0)
    }

    private func checkHostCallbacks() {
        size(cst_host_callbacks.self, 80)
        member(\cst_host_callbacks.struct_size, 0)
        member(\cst_host_callbacks.value_for_key, 8)
        member(\cst_host_callbacks.count, 16)
        member(\cst_host_callbacks.element, 24)
        member(\cst_host_callbacks.class_name, 32)
        member(\cst_host_callbacks.is_equal, 40)
        member(\cst_host_callbacks.hash, 48)
        member(\cst_host_callbacks.compare, 56)
        member(\cst_host_callbacks.retain, 64)
        member(\cst_host_callbacks.release, 72)
    }

    private func checkArchiveClassCallbacks() {
        size(cst_archive_class_callbacks.self, 48)
        member(\cst_archive_class_callbacks.struct_size, 0)
        member(\cst_archive_class_callbacks.to_fields, 8)
        member(\cst_archive_class_callbacks.from_fields, 16)
        member(\cst_archive_class_callbacks.free_value, 24)
        member(\cst_archive_class_callbacks.userdata, 32)
        member(\cst_archive_class_callbacks.destroy, 40)
    }

    private func checkTransformerCallbacks() {
        size(cst_transformer_callbacks.self, 48)
        member(\cst_transformer_callbacks.struct_size, 0)
        member(\cst_transformer_callbacks.transform, 8)
        member(\cst_transformer_callbacks.reverse, 16)
        member(\cst_transformer_callbacks.free_value, 24)
        member(\cst_transformer_callbacks.userdata, 32)
        member(\cst_transformer_callbacks.destroy, 40)
    }

    private func checkLifecycleHooks() {
        size(cst_lifecycle_hooks.self, 128)
        member(\cst_lifecycle_hooks.struct_size, 0)
        member(\cst_lifecycle_hooks.awake_from_insert, 8)
        member(\cst_lifecycle_hooks.awake_from_fetch, 16)
        member(\cst_lifecycle_hooks.awake_from_snapshot_events, 24)
        member(\cst_lifecycle_hooks.will_save, 32)
        member(\cst_lifecycle_hooks.did_save, 40)
        member(\cst_lifecycle_hooks.prepare_for_deletion, 48)
        member(\cst_lifecycle_hooks.will_turn_into_fault, 56)
        member(\cst_lifecycle_hooks.did_turn_into_fault, 64)
        member(\cst_lifecycle_hooks.set_nil_value, 72)
        member(\cst_lifecycle_hooks.validate, 80)
        member(\cst_lifecycle_hooks.validate_value, 88)
        member(\cst_lifecycle_hooks.validated_count, 96)
        member(\cst_lifecycle_hooks.validated, 104)
        member(\cst_lifecycle_hooks.userdata, 112)
        member(\cst_lifecycle_hooks.destroy, 120)
    }

    private func checkPragma() {
        size(cst_pragma.self, 32)
        member(\cst_pragma.name, 0)
        member(\cst_pragma.value, 16)
    }

    private func checkMigrationBackup() {
        size(cst_migration_backup.self, 32)
        member(\cst_migration_backup.struct_size, 0)
        member(\cst_migration_backup.folder, 8)
        member(\cst_migration_backup.keep, 24)
    }

    private func checkStoreOptions() {
        size(cst_store_options.self, 248)
        member(\cst_store_options.struct_size, 0)
        member(\cst_store_options.flags, 8)
        member(\cst_store_options.busy_timeout_ms, 12)
        member(\cst_store_options.cache_kb, 16)
        member(\cst_store_options.watch_interval_ms, 20)
        member(\cst_store_options.configuration, 24)
        member(\cst_store_options.max_connections, 40)
        member(\cst_store_options.file_mode, 44)
        member(\cst_store_options.external_threshold, 48)
        member(\cst_store_options.pragma_count, 56)
        member(\cst_store_options.pragmas, 64)
        member(\cst_store_options.foreign_option_count, 72)
        member(\cst_store_options.foreign_options, 80)
        member(\cst_store_options.host_option_count, 88)
        member(\cst_store_options.host_option_names, 96)
        member(\cst_store_options.host_option_values, 104)
        member(\cst_store_options.value_limit, 112)
        member(\cst_store_options.memory_limit, 120)
        member(\cst_store_options.step_limit, 128)
        member(\cst_store_options.external_limit, 136)
        member(\cst_store_options.source_model_count, 144)
        member(\cst_store_options.source_models, 152)
        member(\cst_store_options.model_path_count, 160)
        member(\cst_store_options.model_paths, 168)
        member(\cst_store_options.migration_progress, 176)
        member(\cst_store_options.migration_userdata, 184)
        member(\cst_store_options.history_retention, 192)
        member(\cst_store_options.mapping_model_count, 200)
        member(\cst_store_options.mapping_models, 208)
        member(\cst_store_options.stages, 216)
        member(\cst_store_options.manager_will_start, 224)
        member(\cst_store_options.manager_will_start_userdata, 232)
        member(\cst_store_options.backup, 240)
    }

    private func checkRemoteChange() {
        size(cst_remote_change.self, 64)
        member(\cst_remote_change.store, 0)
        member(\cst_remote_change.store_identifier, 8)
        member(\cst_remote_change.path, 24)
        member(\cst_remote_change.has_history, 40)
        member(\cst_remote_change.transaction, 48)
        member(\cst_remote_change.is_own, 56)
        member(\cst_remote_change.file, 60)
    }

    private func checkStoreChanges() {
        size(cst_store_changes.self, 64)
        member(\cst_store_changes.added_count, 0)
        member(\cst_store_changes.added, 8)
        member(\cst_store_changes.removed_count, 16)
        member(\cst_store_changes.removed, 24)
        member(\cst_store_changes.old_store, 32)
        member(\cst_store_changes.new_store, 40)
        member(\cst_store_changes.migrated_ids, 48)
        member(\cst_store_changes.remote, 56)
    }

    private func checkStatistics() {
        size(cst_statistics.self, 120)
        member(\cst_statistics.struct_size, 0)
        member(\cst_statistics.fetches, 8)
        member(\cst_statistics.fetched_rows, 16)
        member(\cst_statistics.faults, 24)
        member(\cst_statistics.faulted_rows, 32)
        member(\cst_statistics.relationship_faults, 40)
        member(\cst_statistics.cache_hits, 48)
        member(\cst_statistics.cache_misses, 56)
        member(\cst_statistics.saves, 64)
        member(\cst_statistics.inserted, 72)
        member(\cst_statistics.updated, 80)
        member(\cst_statistics.deleted, 88)
        member(\cst_statistics.fetch_nanoseconds, 96)
        member(\cst_statistics.save_nanoseconds, 104)
        member(\cst_statistics.row_bytes, 112)
    }

    private func checkRequestResult() {
        size(cst_request_result.self, 24)
        member(\cst_request_result.type, 0)
        member(\cst_request_result.reserved, 4)
        member(\cst_request_result.count, 8)
        member(\cst_request_result.value, 16)
    }

    private func checkMigrationPolicyCallbacks() {
        size(cst_migration_policy_callbacks.self, 112)
        member(\cst_migration_policy_callbacks.struct_size, 0)
        member(\cst_migration_policy_callbacks.batch_safe, 8)
        member(\cst_migration_policy_callbacks.create, 16)
        member(\cst_migration_policy_callbacks.free_instance, 24)
        member(\cst_migration_policy_callbacks.begin, 32)
        member(\cst_migration_policy_callbacks.create_destination_instances, 40)
        member(\cst_migration_policy_callbacks.end_instance_creation, 48)
        member(\cst_migration_policy_callbacks.create_relationships, 56)
        member(\cst_migration_policy_callbacks.end_relationship_creation, 64)
        member(\cst_migration_policy_callbacks.perform_custom_validation, 72)
        member(\cst_migration_policy_callbacks.end, 80)
        member(\cst_migration_policy_callbacks.call, 88)
        member(\cst_migration_policy_callbacks.userdata, 96)
        member(\cst_migration_policy_callbacks.destroy, 104)
    }

    private func checkMigrationGuardOptions() {
        size(cst_migration_guard_options.self, 136)
        member(\cst_migration_guard_options.struct_size, 0)
        member(\cst_migration_guard_options.flags, 8)
        member(\cst_migration_guard_options.profile, 16)
        member(\cst_migration_guard_options.version_count, 32)
        member(\cst_migration_guard_options.versions, 40)
        member(\cst_migration_guard_options.version, 48)
        member(\cst_migration_guard_options.related_count, 64)
        member(\cst_migration_guard_options.related, 72)
        member(\cst_migration_guard_options.model_path_count, 80)
        member(\cst_migration_guard_options.model_paths, 88)
        member(\cst_migration_guard_options.store_count, 96)
        member(\cst_migration_guard_options.stores, 104)
        member(\cst_migration_guard_options.store_options, 112)
        member(\cst_migration_guard_options.progress, 120)
        member(\cst_migration_guard_options.progress_userdata, 128)
    }

    private func checkContainerOptions() {
        size(cst_container_options.self, 40)
        member(\cst_container_options.struct_size, 0)
        member(\cst_container_options.application, 8)
        member(\cst_container_options.model_folder_count, 24)
        member(\cst_container_options.model_folders, 32)
    }

    private func checkStoreDescription() {
        size(cst_store_description.self, 56)
        member(\cst_store_description.struct_size, 0)
        member(\cst_store_description.type, 8)
        member(\cst_store_description.path, 24)
        member(\cst_store_description.options, 40)
        member(\cst_store_description.flags, 48)
    }

    private func checkSort() {
        size(cst_sort.self, 24)
        member(\cst_sort.key_path, 0)
        member(\cst_sort.flags, 16)
        member(\cst_sort.reserved, 20)
    }

    private func checkColumn() {
        size(cst_column.self, 32)
        member(\cst_column.name, 0)
        member(\cst_column.expression, 16)
        member(\cst_column.type, 24)
        member(\cst_column.reserved, 28)
    }

    private func checkFetchOptions() {
        size(cst_fetch_options.self, 168)
        member(\cst_fetch_options.struct_size, 0)
        member(\cst_fetch_options.flags, 8)
        member(\cst_fetch_options.result_type, 12)
        member(\cst_fetch_options.nulls, 16)
        member(\cst_fetch_options.reserved, 20)
        member(\cst_fetch_options.entity, 24)
        member(\cst_fetch_options.entity_name, 32)
        member(\cst_fetch_options.predicate, 48)
        member(\cst_fetch_options.sort_count, 56)
        member(\cst_fetch_options.sort, 64)
        member(\cst_fetch_options.limit, 72)
        member(\cst_fetch_options.offset, 80)
        member(\cst_fetch_options.batch_size, 88)
        member(\cst_fetch_options.prefetch_count, 96)
        member(\cst_fetch_options.prefetch, 104)
        member(\cst_fetch_options.column_count, 112)
        member(\cst_fetch_options.columns, 120)
        member(\cst_fetch_options.group_by_count, 128)
        member(\cst_fetch_options.group_by, 136)
        member(\cst_fetch_options.having, 144)
        member(\cst_fetch_options.store_count, 152)
        member(\cst_fetch_options.stores, 160)
    }

    private func checkHistoryChange() {
        size(cst_history_change.self, 72)
        member(\cst_history_change.number, 0)
        member(\cst_history_change.kind, 8)
        member(\cst_history_change.reserved, 12)
        member(\cst_history_change.entity, 16)
        member(\cst_history_change.primary_key, 24)
        member(\cst_history_change.property_count, 32)
        member(\cst_history_change.properties, 40)
        member(\cst_history_change.tombstone_count, 48)
        member(\cst_history_change.tombstone_keys, 56)
        member(\cst_history_change.tombstone_values, 64)
    }

    private func checkHistoryTransaction() {
        size(cst_history_transaction.self, 112)
        member(\cst_history_transaction.number, 0)
        member(\cst_history_transaction.timestamp, 8)
        member(\cst_history_transaction.store_identifier, 16)
        member(\cst_history_transaction.author, 32)
        member(\cst_history_transaction.context_name, 48)
        member(\cst_history_transaction.bundle_identifier, 64)
        member(\cst_history_transaction.process_identifier, 80)
        member(\cst_history_transaction.change_count, 96)
        member(\cst_history_transaction.changes, 104)
    }

    private func checkHistoryOptions() {
        size(cst_history_options.self, 104)
        member(\cst_history_options.struct_size, 0)
        member(\cst_history_options.after, 8)
        member(\cst_history_options.has_after_date, 16)
        member(\cst_history_options.omits_changes, 17)
        member(\cst_history_options.subject, 20)
        member(\cst_history_options.after_date, 24)
        member(\cst_history_options.predicate, 32)
        member(\cst_history_options.excluded_author, 40)
        member(\cst_history_options.store_count, 56)
        member(\cst_history_options.stores, 64)
        member(\cst_history_options.sort_count, 72)
        member(\cst_history_options.sort, 80)
        member(\cst_history_options.limit, 88)
        member(\cst_history_options.batch_size, 96)
    }

    private func checkRevisionValue() {
        size(cst_revision_value.self, 24)
        member(\cst_revision_value.key, 0)
        member(\cst_revision_value.has_old, 16)
        member(\cst_revision_value.has_new, 17)
    }

    private func checkRevision() {
        size(cst_revision.self, 136)
        member(\cst_revision.kind, 0)
        member(\cst_revision.reserved, 4)
        member(\cst_revision.entity, 8)
        member(\cst_revision.primary_key, 16)
        member(\cst_revision.store_identifier, 24)
        member(\cst_revision.transaction, 40)
        member(\cst_revision.timestamp, 48)
        member(\cst_revision.author, 56)
        member(\cst_revision.context_name, 72)
        member(\cst_revision.bundle_identifier, 88)
        member(\cst_revision.process_identifier, 104)
        member(\cst_revision.value_count, 120)
        member(\cst_revision.values, 128)
    }

    private func checkHistoryRetention() {
        size(cst_history_retention.self, 40)
        member(\cst_history_retention.struct_size, 0)
        member(\cst_history_retention.has_age, 8)
        member(\cst_history_retention.has_count, 9)
        member(\cst_history_retention.has_bytes, 10)
        member(\cst_history_retention.age, 16)
        member(\cst_history_retention.count, 24)
        member(\cst_history_retention.bytes, 32)
    }

    private func checkObjectStamp() {
        size(cst_object_stamp.self, 24)
        member(\cst_object_stamp.struct_size, 0)
        member(\cst_object_stamp.changes, 8)
        member(\cst_object_stamp.thread, 16)
    }

    private func checkChanges() {
        size(cst_changes.self, 56)
        member(\cst_changes.inserted, 0)
        member(\cst_changes.updated, 8)
        member(\cst_changes.deleted, 16)
        member(\cst_changes.refreshed, 24)
        member(\cst_changes.invalidated, 32)
        member(\cst_changes.invalidated_all, 40)
        member(\cst_changes.query_generation, 48)
    }

    private func checkValueChange() {
        size(cst_value_change.self, 88)
        member(\cst_value_change.kind, 0)
        member(\cst_value_change.is_prior, 4)
        member(\cst_value_change.key_path, 8)
        member(\cst_value_change.old_value, 24)
        member(\cst_value_change.new_value, 48)
        member(\cst_value_change.indexes, 72)
        member(\cst_value_change.index_count, 80)
    }

    private func checkUndoState() {
        size(cst_undo_state.self, 32)
        member(\cst_undo_state.struct_size, 0)
        member(\cst_undo_state.can_undo, 8)
        member(\cst_undo_state.can_redo, 9)
        member(\cst_undo_state.is_undoing, 10)
        member(\cst_undo_state.is_redoing, 11)
        member(\cst_undo_state.is_enabled, 12)
        member(\cst_undo_state.groups_by_event, 13)
        member(\cst_undo_state.levels, 16)
        member(\cst_undo_state.grouping_level, 24)
    }

    private func checkPredicateInfo() {
        size(cst_predicate_info.self, 40)
        member(\cst_predicate_info.struct_size, 0)
        member(\cst_predicate_info.kind, 8)
        member(\cst_predicate_info.compound, 12)
        member(\cst_predicate_info.part_count, 16)
        member(\cst_predicate_info.operator_type, 24)
        member(\cst_predicate_info.modifier, 28)
        member(\cst_predicate_info.options, 32)
        member(\cst_predicate_info.reserved, 36)
    }

    private func checkArrowSchema() {
        size(ArrowSchema.self, 72)
        member(\ArrowSchema.format, 0)
        member(\ArrowSchema.name, 8)
        member(\ArrowSchema.metadata, 16)
        member(\ArrowSchema.flags, 24)
        member(\ArrowSchema.n_children, 32)
        member(\ArrowSchema.children, 40)
        member(\ArrowSchema.dictionary, 48)
        member(\ArrowSchema.release, 56)
        member(\ArrowSchema.private_data, 64)
    }

    private func checkArrowArray() {
        size(ArrowArray.self, 80)
        member(\ArrowArray.length, 0)
        member(\ArrowArray.null_count, 8)
        member(\ArrowArray.offset, 16)
        member(\ArrowArray.n_buffers, 24)
        member(\ArrowArray.n_children, 32)
        member(\ArrowArray.buffers, 40)
        member(\ArrowArray.children, 48)
        member(\ArrowArray.dictionary, 56)
        member(\ArrowArray.release, 64)
        member(\ArrowArray.private_data, 72)
    }

    private func checkArrowArrayStream() {
        size(ArrowArrayStream.self, 40)
        member(\ArrowArrayStream.get_schema, 0)
        member(\ArrowArrayStream.get_next, 8)
        member(\ArrowArrayStream.get_last_error, 16)
        member(\ArrowArrayStream.release, 24)
        member(\ArrowArrayStream.private_data, 32)
    }

    private func checkArrowColumn() {
        size(cst_arrow_column.self, 32)
        member(\cst_arrow_column.column, 0)
        member(\cst_arrow_column.property, 16)
    }

    private func checkArrowImportOptions() {
        size(cst_arrow_import_options.self, 64)
        member(\cst_arrow_import_options.struct_size, 0)
        member(\cst_arrow_import_options.flags, 8)
        member(\cst_arrow_import_options.column_count, 16)
        member(\cst_arrow_import_options.columns, 24)
        member(\cst_arrow_import_options.key_count, 32)
        member(\cst_arrow_import_options.keys, 40)
        member(\cst_arrow_import_options.progress, 48)
        member(\cst_arrow_import_options.progress_userdata, 56)
    }

    private func checkRow() {
        size(cst_row.self, 72)
        member(\cst_row.entity, 0)
        member(\cst_row.reference, 8)
        member(\cst_row.version, 32)
        member(\cst_row.count, 40)
        member(\cst_row.keys, 48)
        member(\cst_row.values, 56)
        member(\cst_row.targets, 64)
    }

    private func checkStoreOpening() {
        size(cst_store_opening.self, 112)
        member(\cst_store_opening.struct_size, 0)
        member(\cst_store_opening.type, 8)
        member(\cst_store_opening.path, 24)
        member(\cst_store_opening.model, 40)
        member(\cst_store_opening.configuration, 48)
        member(\cst_store_opening.read_only, 64)
        member(\cst_store_opening.must_exist, 65)
        member(\cst_store_opening.is_new, 66)
        member(\cst_store_opening.metadata, 72)
        member(\cst_store_opening.option_count, 88)
        member(\cst_store_opening.option_names, 96)
        member(\cst_store_opening.option_values, 104)
    }

    private func checkStoreFetch() {
        size(cst_store_fetch.self, 88)
        member(\cst_store_fetch.struct_size, 0)
        member(\cst_store_fetch.entity, 8)
        member(\cst_store_fetch.includes_subentities, 16)
        member(\cst_store_fetch.result_type, 20)
        member(\cst_store_fetch.predicate, 24)
        member(\cst_store_fetch.sort_count, 32)
        member(\cst_store_fetch.sort, 40)
        member(\cst_store_fetch.limit, 48)
        member(\cst_store_fetch.offset, 56)
        member(\cst_store_fetch.key_count, 64)
        member(\cst_store_fetch.keys, 72)
        member(\cst_store_fetch.request, 80)
    }

    private func checkRowUpdate() {
        size(cst_row_update.self, 96)
        member(\cst_row_update.row, 0)
        member(\cst_row_update.old_version, 72)
        member(\cst_row_update.changed_count, 80)
        member(\cst_row_update.changed, 88)
    }

    private func checkMemberChange() {
        size(cst_member_change.self, 128)
        member(\cst_member_change.owner, 0)
        member(\cst_member_change.relationship, 72)
        member(\cst_member_change.is_ordered, 76)
        member(\cst_member_change.added_count, 80)
        member(\cst_member_change.added, 88)
        member(\cst_member_change.removed_count, 96)
        member(\cst_member_change.removed, 104)
        member(\cst_member_change.member_count, 112)
        member(\cst_member_change.members, 120)
    }

    private func checkSaveChanges() {
        size(cst_save_changes.self, 144)
        member(\cst_save_changes.struct_size, 0)
        member(\cst_save_changes.request, 8)
        member(\cst_save_changes.inserted_count, 16)
        member(\cst_save_changes.inserted, 24)
        member(\cst_save_changes.updated_count, 32)
        member(\cst_save_changes.updated, 40)
        member(\cst_save_changes.deleted_count, 48)
        member(\cst_save_changes.deleted, 56)
        member(\cst_save_changes.locked_count, 64)
        member(\cst_save_changes.locked, 72)
        member(\cst_save_changes.member_change_count, 80)
        member(\cst_save_changes.member_changes, 88)
        member(\cst_save_changes.metadata, 96)
        member(\cst_save_changes.author, 112)
        member(\cst_save_changes.context_name, 128)
    }

    private func checkStoreCallbacks() {
        size(cst_store_callbacks.self, 168)
        member(\cst_store_callbacks.struct_size, 0)
        member(\cst_store_callbacks.kind, 8)
        member(\cst_store_callbacks.abilities, 12)
        member(\cst_store_callbacks.open, 16)
        member(\cst_store_callbacks.close, 24)
        member(\cst_store_callbacks.save, 32)
        member(\cst_store_callbacks.obtain_ids, 40)
        member(\cst_store_callbacks.move, 48)
        member(\cst_store_callbacks.fetch, 56)
        member(\cst_store_callbacks.values, 64)
        member(\cst_store_callbacks.relationship, 72)
        member(\cst_store_callbacks.did_register, 80)
        member(\cst_store_callbacks.did_unregister, 88)
        member(\cst_store_callbacks.load, 96)
        member(\cst_store_callbacks.copy_metadata, 104)
        member(\cst_store_callbacks.set_metadata, 112)
        member(\cst_store_callbacks.destroy_store, 120)
        member(\cst_store_callbacks.replace_store, 128)
        member(\cst_store_callbacks.userdata, 136)
        member(\cst_store_callbacks.destroy, 144)
        member(\cst_store_callbacks.did_add, 152)
        member(\cst_store_callbacks.will_remove, 160)
    }

    private func checkBatchColumn() {
        size(cst_batch_column.self, 24)
        member(\cst_batch_column.key, 0)
        member(\cst_batch_column.form, 4)
        member(\cst_batch_column.values, 8)
        member(\cst_batch_column.present, 16)
    }

    private func checkIndexPath() {
        size(cst_index_path.self, 16)
        member(\cst_index_path.section, 0)
        member(\cst_index_path.row, 8)
    }

    private func checkSectionChange() {
        size(cst_section_change.self, 32)
        member(\cst_section_change.kind, 0)
        member(\cst_section_change.index, 8)
        member(\cst_section_change.name, 16)
    }

    private func checkObjectChange() {
        size(cst_object_change.self, 48)
        member(\cst_object_change.kind, 0)
        member(\cst_object_change.object, 8)
        member(\cst_object_change.path, 16)
        member(\cst_object_change.new_path, 32)
    }

    private func checkRenamedId() {
        size(cst_renamed_id.self, 16)
        member(\cst_renamed_id.former, 0)
        member(\cst_renamed_id.id, 8)
    }

    private func checkDifference() {
        size(cst_difference.self, 72)
        member(\cst_difference.section_count, 0)
        member(\cst_difference.change_count, 8)
        member(\cst_difference.sections, 16)
        member(\cst_difference.changes, 24)
        member(\cst_difference.snapshot, 32)
        member(\cst_difference.is_reset, 40)
        member(\cst_difference.error, 48)
        member(\cst_difference.renamed_count, 56)
        member(\cst_difference.renamed, 64)
    }

    private func checkIdChange() {
        size(cst_id_change.self, 32)
        member(\cst_id_change.kind, 0)
        member(\cst_id_change.offset, 8)
        member(\cst_id_change.associated, 16)
        member(\cst_id_change.id, 24)
    }

    private func checkControllerDelegate() {
        size(cst_controller_delegate.self, 88)
        member(\cst_controller_delegate.struct_size, 0)
        member(\cst_controller_delegate.will_change, 8)
        member(\cst_controller_delegate.did_change_section, 16)
        member(\cst_controller_delegate.did_change_object, 24)
        member(\cst_controller_delegate.did_change, 32)
        member(\cst_controller_delegate.did_change_all, 40)
        member(\cst_controller_delegate.did_change_ids, 48)
        member(\cst_controller_delegate.did_reset, 56)
        member(\cst_controller_delegate.section_title, 64)
        member(\cst_controller_delegate.userdata, 72)
        member(\cst_controller_delegate.destroy, 80)
    }

    func testStructLayoutsMatchTheHeader() {
        checkString()
        checkBytes()
        checkBuffer()
        checkDecimal()
        checkValues()
        checkHost()
        checkValue()
        checkIndexElement()
        checkPropertyInfo()
        checkUuid()
        checkHostCallbacks()
        checkArchiveClassCallbacks()
        checkTransformerCallbacks()
        checkLifecycleHooks()
        checkPragma()
        checkMigrationBackup()
        checkStoreOptions()
        checkRemoteChange()
        checkStoreChanges()
        checkStatistics()
        checkRequestResult()
        checkMigrationPolicyCallbacks()
        checkMigrationGuardOptions()
        checkContainerOptions()
        checkStoreDescription()
        checkSort()
        checkColumn()
        checkFetchOptions()
        checkHistoryChange()
        checkHistoryTransaction()
        checkHistoryOptions()
        checkRevisionValue()
        checkRevision()
        checkHistoryRetention()
        checkObjectStamp()
        checkChanges()
        checkValueChange()
        checkUndoState()
        checkPredicateInfo()
        checkArrowSchema()
        checkArrowArray()
        checkArrowArrayStream()
        checkArrowColumn()
        checkArrowImportOptions()
        checkRow()
        checkStoreOpening()
        checkStoreFetch()
        checkRowUpdate()
        checkMemberChange()
        checkSaveChanges()
        checkStoreCallbacks()
        checkBatchColumn()
        checkIndexPath()
        checkSectionChange()
        checkObjectChange()
        checkRenamedId()
        checkDifference()
        checkIdChange()
        checkControllerDelegate()
        XCTAssertEqual(structs, 59)
        print("layout in Swift: \(structs) structs, \(members) members")
    }
}
