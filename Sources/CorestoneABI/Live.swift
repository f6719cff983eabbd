import CCorestone
import CorestoneGraph
import CorestoneValues

@_cdecl("cst_context_observe_fetch") @implementation
public func cst_context_observe_fetch(
    _ pointer: OpaquePointer?, _ requestPointer: OpaquePointer?, _ sectionKeyPath: cst_string, _ count: Int,
    _ paths: UnsafePointer<cst_string>?, _ observe: cst_observe_fetch_fn?, _ userdata: UnsafeMutableRawPointer?,
    _ destroy: cst_destroy_fn?, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    let payload = Userdata(userdata, destroy)
    return boundary(error) {
        let out = try place(out, "out_observation")
        let context = try onQueue(pointer).context
        let request = try request(requestPointer)
        let sections = try sectionKeyPath.optionalString("section_key_path").map { SectionNaming.keyPath($0) }
        let dependencies = try strings(paths, count, "paths")
        guard let observe else { throw missingObserver() }
        let token = try context.observe(request, sections: sections, dependencies: dependencies) {
            guard let box = try? contextBox($0) else { return }
            withExtendedLifetime(box) { [difference = $1, objects = $2] in
                withBorrowedDifference(difference, objects, box) { observe(payload.pointer, box.handle, $0) }
            }
        }
        out.pointee = try HandleTable.make(token, .observation)
    }
}

/// A snapshot, and its section names as C strings that are valid as long as the box.
final class SnapshotBox {
    let snapshot: ResultsSnapshot
    let names: [Text]
    /// The box of the context. It is alive as long as the host has a handle of the snapshot, because it is the owner of
    /// that handle.
    unowned(unsafe) let box: ContextBox

    init(_ snapshot: ResultsSnapshot, _ box: ContextBox) {
        self.snapshot = snapshot
        self.box = box
        names = snapshot.sectionNames.map { Text($0) }
    }

    func makeHandle() throws -> Handle? { try HandleTable.make(self, .snapshot, owner: box) }
}

private func snapshotBox(_ pointer: OpaquePointer?) throws -> SnapshotBox { try resolve(pointer, .snapshot) }

@_cdecl("cst_snapshot_section_count") @implementation
public func cst_snapshot_section_count(_ pointer: OpaquePointer?) -> Int {
    (try? snapshotBox(pointer).names.count) ?? 0
}

@_cdecl("cst_snapshot_section_name") @implementation
public func cst_snapshot_section_name(_ pointer: OpaquePointer?, _ section: Int) -> cst_string {
    guard let names = try? snapshotBox(pointer).names, names.indices.contains(section) else { return .null }
    return cst_string(names[section])
}

@_cdecl("cst_snapshot_object_count") @implementation
public func cst_snapshot_object_count(_ pointer: OpaquePointer?, _ section: Int) -> Int {
    guard let box = try? snapshotBox(pointer) else { return 0 }
    if section == -1 { return box.snapshot.count }
    return box.names.indices.contains(section) ? box.snapshot.numberOfObjects(inSection: section) : 0
}

@_cdecl("cst_snapshot_copy_ids") @implementation
public func cst_snapshot_copy_ids(
    _ pointer: OpaquePointer?, _ section: Int, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_ids")
        let box = try snapshotBox(pointer)
        try box.box.enter()
        guard section == -1 || box.names.indices.contains(section) else {
            throw noSection(section, of: box.names.count)
        }
        let ids = section == -1 ? box.snapshot.objectIDs : box.snapshot.objectIDs(inSection: section)
        out.pointee = try ResultList([], ids: ids, entity: nil, box: box.box).makeHandle()
    }
}

func noSection(_ section: Int, of count: Int) -> CoreError {
    let choices =
        count == 0
        ? "but the results do not have sections; pass" : "but must be \(count == 1 ? "0" : "0 to \(count - 1)"), or"
    return CoreError(
        .invalidArgument, "section is \(UInt(bitPattern: section)), \(choices) SIZE_MAX (None) for all objects",
        key: "section",
        value: sizeValue(section))
}

// MARK: - Borrowed differences

extension cst_index_path {
    init(_ path: ResultsIndexPath?) {
        self.init(
            section: path?.section ?? Int(bitPattern: UInt.max), row: path?.row ?? Int(bitPattern: UInt.max))
    }
}

extension cst_object_change {
    init(_ change: ResultsChange, _ object: OpaquePointer?) {
        self.init(
            kind: change.kind.rawValue, object: object, path: cst_index_path(change.indexPath),
            new_path: cst_index_path(change.newIndexPath))
    }
}

/// Passes a difference to a callback, borrowed until the callback returns.
func withBorrowedDifference(
    _ difference: ResultsDifference, _ objects: [ManagedObject], _ box: ContextBox,
    to body: (UnsafePointer<cst_difference>) -> Void
) {
    var borrowed: [BorrowedHandle] = []
    defer { for handle in borrowed { handle.end() } }
    func borrow(_ handle: BorrowedHandle?) -> OpaquePointer? {
        if let handle { borrowed.append(handle) }
        return handle?.handle
    }
    func borrowNew(_ made: () throws -> OpaquePointer?) -> OpaquePointer? { borrow(try? BorrowedHandle(of: 0, made)) }
    let names = difference.sectionChanges.map { Text($0.name) }
    let sections = zip(difference.sectionChanges, names).map {
        cst_section_change(kind: $0.kind.rawValue, index: $0.index, name: cst_string($1))
    }
    let changes = zip(difference.changes, objects).map { cst_object_change($0, borrow(try? BorrowedHandle($1))) }
    func borrowID(_ id: ObjectID) -> OpaquePointer? { borrowNew { try HandleTable.make(ObjectIDBox(id), .objectID) } }
    let renamed = difference.renamed.map { cst_renamed_id(former: borrowID($0.former), id: borrowID($0.id)) }
    var output = cst_difference()
    output.snapshot = borrowNew { try SnapshotBox(difference.snapshot, box).makeHandle() }
    output.is_reset = difference.isReset
    if let failure = difference.error { output.error = borrowNew { try HandleTable.make(ErrorBox(failure), .error) } }
    withExtendedLifetime(names) {
        sections.withUnsafeBufferPointer { sections in
            changes.withUnsafeBufferPointer { changes in
                (output.section_count, output.sections) = (sections.count, sections.baseAddress)
                (output.change_count, output.changes) = (changes.count, changes.baseAddress)
                renamed.withUnsafeBufferPointer { renamed in
                    (output.renamed_count, output.renamed) = (renamed.count, renamed.baseAddress)
                    body(&output)
                }
            }
        }
    }
}
