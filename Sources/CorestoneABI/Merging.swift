import CCorestone
import CPlatform
import CorestoneGraph
import CorestoneModel
import CorestoneValues

// MARK: Policies

@_cdecl("cst_merge_policy_new") @implementation
public func cst_merge_policy_new(
    _ type: Int32, _ resolve: cst_resolve_conflicts_fn?, _ userdata: UnsafeMutableRawPointer?,
    _ destroy: cst_destroy_fn?, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    // The userdata is freed with its last reference: immediately on failure, otherwise with the policy.
    let callback = HostCallback(resolve, Userdata(userdata, destroy))
    return boundary(error) {
        let out = try place(out, "out_policy")
        let type = try mergePolicyType(type)
        let policy = resolve == nil ? MergePolicy.standard(type) : HostMergePolicy(type, callback)
        out.pointee = try HandleTable.make(MergePolicyBox(policy, callback), .mergePolicy)
    }
}

@_cdecl("cst_merge_policy_type") @implementation
public func cst_merge_policy_type(_ policy: OpaquePointer?) -> Int32 {
    (try? resolve(policy, .mergePolicy, as: MergePolicyBox.self).policy.type.rawValue) ?? 0
}

@_cdecl("cst_context_set_merge_policy") @implementation
public func cst_context_set_merge_policy(_ pointer: OpaquePointer?, _ policy: OpaquePointer?, _ error: ErrorOut)
    -> cst_status
{
    boundary(error) {
        let context = try onQueue(pointer).context
        let box = try policy.map { try resolve($0, .mergePolicy, as: MergePolicyBox.self) }
        context.mergePolicy = box?.policy ?? .error
    }
}

@_cdecl("cst_context_merge_policy") @implementation
public func cst_context_merge_policy(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_policy")
        let policy = try onQueue(pointer).context.mergePolicy
        out.pointee = try HandleTable.make(MergePolicyBox(policy, nil), .mergePolicy)
    }
}

@_cdecl("cst_context_detect_conflicts") @implementation
public func cst_context_detect_conflicts(_ pointer: OpaquePointer?, _ item: OpaquePointer?, _ error: ErrorOut)
    -> cst_status
{
    boundary(error) { try onQueue(pointer).context.detectConflicts(for: try argument(item)) }
}

private func mergePolicyType(_ number: Int32) throws -> MergePolicyType {
    guard let type = MergePolicyType(rawValue: number) else {
        throw CoreError(
            .invalidArgument,
            "\(number) is not a merge policy type; use a type from CST_MERGE_ERROR to CST_MERGE_ROLLBACK",
            key: "type", value: .int(Int64(number)))
    }
    return type
}

/// A policy, and the callback and userdata that the host passed for it. A standard policy does not use the callback.
private final class MergePolicyBox {
    let policy: MergePolicy
    private let callback: HostCallback<cst_resolve_conflicts_fn?>?

    init(_ policy: MergePolicy, _ callback: HostCallback<cst_resolve_conflicts_fn?>?) {
        (self.policy, self.callback) = (policy, callback)
    }
}

/// A policy that passes the conflicts to a callback of the host, and then resolves them by the policy's type.
private final class HostMergePolicy: MergePolicy, @unchecked Sendable {
    private let callback: HostCallback<cst_resolve_conflicts_fn?>

    init(_ type: MergePolicyType, _ callback: HostCallback<cst_resolve_conflicts_fn?>) {
        self.callback = callback
        super.init(type: type)
    }

    override func resolve(_ conflicts: [SaveConflict]) throws {
        guard let function = callback.function else { return }
        let context = conflicts.first?.context.map { handle(HandleToken($0.hostSlot.value)) } ?? nil
        let handles = try conflicts.map { try HandleTable.make(ConflictBox($0), .conflict) }
        defer { for each in handles { HandleTable.releaseForHost(token(each)) } }
        try callHost("the callback resolve of the merge policy") { error in
            handles.withUnsafeBufferPointer {
                function(callback.userdata, context, conflicts.count, $0.baseAddress, error)
            }
        }
        try super.resolve(conflicts)
    }
}

// MARK: Conflicts

/// A conflict, with its texts and values as C strings and `cst_value`s. It can be used on any thread.
final class ConflictBox: @unchecked Sendable {
    let conflict: SaveConflict
    let message: Text
    let properties: [Text]
    let objectIDs: [HandleToken]
    let databaseID: HandleToken
    private let lock = RecursiveLock(.leaf)
    private let kept = ComputedValueCache()

    init(_ conflict: SaveConflict) throws {
        self.conflict = conflict
        message = Text(conflict.message)
        let merge = conflict as? MergeConflict
        let constraint = conflict as? ConstraintConflict
        properties = (merge?.differences.map(\.key) ?? constraint?.constraint ?? []).map { Text($0) }
        objectIDs = try conflict.objectIDs.map { try HandleTable.makeInner(ObjectIDBox($0), .objectID) }
        databaseID = try constraint?.databaseObjectID.map { try HandleTable.makeInner(ObjectIDBox($0), .objectID) } ?? 0
    }

    deinit {
        for token in objectIDs { HandleTable.release(token) }
        if databaseID != 0 { HandleTable.release(databaseID) }
    }

    /// Returns the snapshot of a `CST_SNAPSHOT_` constant, or nil if the conflict does not have the snapshot.
    private func snapshot(_ number: Int32, _ index: Int) throws -> ConflictSnapshot? {
        let merge = conflict as? MergeConflict
        let constraint = conflict as? ConstraintConflict
        guard conflict.objectIDs.indices.contains(index) else { return nil }
        switch number {
        case 0: return merge?.objectSnapshot ?? constraint?.conflictingSnapshots[index]
        case 1: return merge?.currentSnapshot ?? constraint?.conflictingSnapshots[index]
        case 2: return merge?.cachedSnapshot
        case 3: return merge?.persistedSnapshot
        case 4:
            guard let merge else { return constraint?.databaseSnapshot }
            return merge.newVersion == 0 ? nil : merge.persistedSnapshot ?? merge.cachedSnapshot
        default:
            throw CoreError(
                .invalidArgument,
                "\(number) is not a snapshot; use a snapshot from CST_SNAPSHOT_OBJECT to CST_SNAPSHOT_THEIRS",
                entity: conflict.objectIDs[index].entity.name, key: "snapshot", value: .int(Int64(number)),
                objectURI: conflict.objectIDs[index].uri)
        }
    }

    /// Writes a value of a snapshot. Returns false if the conflict does not have the snapshot or the value.
    func put(_ number: Int32, _ index: Int, _ property: String, _ out: UnsafeMutablePointer<cst_value>) throws -> Bool {
        guard let value = try snapshot(number, index)?[property] else { return false }
        let id = conflict.objectIDs[index]
        try lock.with {
            try kept.put(
                value, "\(number) \(property)", row: index,
                of: ComputedValueCache.Source(
                    entity: id.entity.name, key: property, objectURI: id.uri, prefix: "the snapshot of "), out)
        }
        return true
    }
}

private func box(_ conflict: OpaquePointer?) -> ConflictBox? { try? resolve(conflict, .conflict) }

@_cdecl("cst_error_conflict_count") @implementation
public func cst_error_conflict_count(_ error: OpaquePointer?) -> Int {
    (try? resolve(error, .error, as: ErrorBox.self).conflicts.count) ?? 0
}

@_cdecl("cst_error_conflict_at") @implementation
public func cst_error_conflict_at(_ error: OpaquePointer?, _ index: Int) -> OpaquePointer? {
    guard !platform_is_forked(), let box = try? resolve(error, .error, as: ErrorBox.self),
        box.conflicts.indices.contains(index)
    else { return nil }
    return handle(box.conflicts[index])
}

@_cdecl("cst_conflict_kind") @implementation
public func cst_conflict_kind(_ conflict: OpaquePointer?) -> Int32 {
    box(conflict).map { ($0.conflict as? MergeConflict)?.kind.rawValue ?? 3 } ?? 0
}

@_cdecl("cst_conflict_message") @implementation
public func cst_conflict_message(_ conflict: OpaquePointer?) -> cst_string { cst_string(box(conflict)?.message) }

@_cdecl("cst_conflict_object_count") @implementation
public func cst_conflict_object_count(_ conflict: OpaquePointer?) -> Int { box(conflict)?.objectIDs.count ?? 0 }

@_cdecl("cst_conflict_object_id_at") @implementation
public func cst_conflict_object_id_at(_ conflict: OpaquePointer?, _ index: Int) -> OpaquePointer? {
    guard let box = box(conflict), box.objectIDs.indices.contains(index) else { return nil }
    return handle(box.objectIDs[index])
}

@_cdecl("cst_conflict_database_id") @implementation
public func cst_conflict_database_id(_ conflict: OpaquePointer?) -> OpaquePointer? {
    handle(box(conflict)?.databaseID ?? 0)
}

@_cdecl("cst_conflict_old_version") @implementation
public func cst_conflict_old_version(_ conflict: OpaquePointer?) -> Int64 {
    Int64((box(conflict)?.conflict as? MergeConflict)?.oldVersion ?? 0)
}

@_cdecl("cst_conflict_new_version") @implementation
public func cst_conflict_new_version(_ conflict: OpaquePointer?) -> Int64 {
    Int64((box(conflict)?.conflict as? MergeConflict)?.newVersion ?? 0)
}

@_cdecl("cst_conflict_property_count") @implementation
public func cst_conflict_property_count(_ conflict: OpaquePointer?) -> Int { box(conflict)?.properties.count ?? 0 }

@_cdecl("cst_conflict_property_at") @implementation
public func cst_conflict_property_at(_ conflict: OpaquePointer?, _ index: Int) -> cst_string {
    guard let box = box(conflict), box.properties.indices.contains(index) else { return .null }
    return cst_string(box.properties[index])
}

@_cdecl("cst_conflict_value") @implementation
public func cst_conflict_value(
    _ conflict: OpaquePointer?, _ snapshot: Int32, _ index: Int, _ property: cst_string,
    _ out: UnsafeMutablePointer<cst_value>?, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let out = try required(out, "out_value")
        putNull(out)
        let box = try resolve(conflict, .conflict, as: ConflictBox.self)
        return try box.put(snapshot, index, try property.string("property"), out) ? .ok : .notFound
    }
}

@_cdecl("cst_conflict_resolve") @implementation
public func cst_conflict_resolve(_ conflict: OpaquePointer?, _ type: Int32, _ error: ErrorOut) -> cst_status {
    boundary(error) {
        let box = try resolve(conflict, .conflict, as: ConflictBox.self)
        try box.conflict.resolve(as: try mergePolicyType(type))
    }
}
