import CCorestone
import CorestoneGraph
import CorestoneModel
import CorestoneValues

@_cdecl("cst_coordinator_open_past") @implementation
public func cst_coordinator_open_past(
    _ pointer: OpaquePointer?, _ token: OpaquePointer?, _ count: Int, _ stores: UnsafePointer<OpaquePointer?>?,
    _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_past")
        let box = try coordinator(pointer)
        out.pointee = try openPast(.token(try historyToken(token)), try historyStores(stores, count), box)
    }
}

@_cdecl("cst_coordinator_open_past_at") @implementation
public func cst_coordinator_open_past_at(
    _ pointer: OpaquePointer?, _ date: Double, _ count: Int, _ stores: UnsafePointer<OpaquePointer?>?,
    _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_past")
        let box = try coordinator(pointer)
        let date = try historyDate(date, "date")
        out.pointee = try openPast(.date(date), try historyStores(stores, count), box)
    }
}

/// Opens a past state as a coordinator, which shares the model handle of `box`.
private func openPast(
    _ place: HistoryRequest.Start, _ stores: [Store], _ box: CoordinatorBox
) throws -> OpaquePointer? {
    try coordinatorHandle(try box.coordinator.past(at: place, of: stores), model: handle(box.modelToken))
}

@_cdecl("cst_coordinator_copy_past_token") @implementation
public func cst_coordinator_copy_past_token(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let out = try place(out, "out_token")
        return try putHandle(try coordinator(pointer).coordinator.past?.token, out)
    }
}

@_cdecl("cst_coordinator_is_past_complete") @implementation
public func cst_coordinator_is_past_complete(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<Bool>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try required(out, "out_complete")
        out.pointee = try coordinator(pointer).coordinator.past?.isComplete ?? true
    }
}

@_cdecl("cst_object_is_known") @implementation
public func cst_object_is_known(
    _ pointer: OpaquePointer?, _ key: cst_key, _ out: UnsafeMutablePointer<Bool>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try required(out, "out_known")
        out.pointee = try object(pointer).isKnown(key: key)
    }
}

// MARK: Revisions

@_cdecl("cst_object_fetch_history") @implementation
public func cst_object_fetch_history(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_revisions")
        let object = try object(pointer)
        out.pointee = try HandleTable.make(
            try Revisions(try object.history(), object.context?.coordinator.model), .revisions)
    }
}

@_cdecl("cst_coordinator_fetch_object_history") @implementation
public func cst_coordinator_fetch_object_history(
    _ pointer: OpaquePointer?, _ id: OpaquePointer?, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_revisions")
        let coordinator = try coordinator(pointer).coordinator
        let revisions = try coordinator.history(of: try resolve(id, .objectID, as: ObjectIDBox.self).id)
        out.pointee = try HandleTable.make(try Revisions(revisions, coordinator.model), .revisions)
    }
}

@_cdecl("cst_coordinator_diff_history") @implementation
public func cst_coordinator_diff_history(
    _ pointer: OpaquePointer?, _ from: OpaquePointer?, _ to: OpaquePointer?, _ count: Int,
    _ stores: UnsafePointer<OpaquePointer?>?, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_revisions")
        let coordinator = try coordinator(pointer).coordinator
        let start = try historyToken(from)
        let end = try to.map { try historyToken($0) }
        let differences = try coordinator.historyDifference(
            from: .token(start), to: end.map { .token($0) }, of: try historyStores(stores, count))
        out.pointee = try HandleTable.make(try Revisions(differences, coordinator.model), .revisions)
    }
}

@_cdecl("cst_revisions_count") @implementation
public func cst_revisions_count(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<Int>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try required(out, "out_count")
        out.pointee = try revisions(pointer).list.count
    }
}

@_cdecl("cst_revisions_at") @implementation
public func cst_revisions_at(
    _ pointer: OpaquePointer?, _ index: Int, _ out: UnsafeMutablePointer<UnsafePointer<cst_revision>?>?,
    _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try required(out, "out_revision")
        out.pointee = nil
        let revisions = try revisions(pointer)
        try revisions.requireIndex(index)
        out.pointee = UnsafePointer(revisions.views + index)
    }
}

@_cdecl("cst_revisions_copy_value") @implementation
public func cst_revisions_copy_value(
    _ pointer: OpaquePointer?, _ index: Int, _ place: Int, _ old: Bool, _ out: UnsafeMutablePointer<cst_value>?,
    _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let out = try required(out, "out_value")
        putNull(out)
        let revisions = try revisions(pointer)
        try revisions.requireIndex(index)
        let values = revisions.list[index].values
        guard values.indices.contains(place) else {
            throw CoreError(
                .invalidArgument,
                "value is \(UInt(bitPattern: place)), but the change "
                    + (values.isEmpty
                        ? "does not have values; check value_count first"
                        : "has \(values.count) \(values.count == 1 ? "value" : "values"); pass an index below value_count"),
                entity: revisions.list[index].objectID.entity.name, key: "value", value: sizeValue(place),
                objectURI: revisions.list[index].objectID.uri)
        }
        guard let value = old ? values[place].old : values[place].new else { return .notFound }
        try putOwned(value, out)
        return .ok
    }
}

@_cdecl("cst_revisions_copy_object_id") @implementation
public func cst_revisions_copy_object_id(
    _ pointer: OpaquePointer?, _ index: Int, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_id")
        let revisions = try revisions(pointer)
        try revisions.requireIndex(index)
        out.pointee = try HandleTable.make(ObjectIDBox(revisions.list[index].objectID), .objectID)
    }
}

private func revisions(_ pointer: OpaquePointer?) throws -> Revisions {
    try resolve(pointer, .revisions, as: Revisions.self)
}

/// Changes of objects as structs for the host.
private final class Revisions {
    let list: [ObjectRevision]
    let views: UnsafeMutablePointer<cst_revision>
    private let values: UnsafeMutablePointer<cst_revision_value>
    private var texts = TextBuffer()
    /// The model, which keeps the borrowed entities alive.
    private let model: Model?

    init(_ list: [ObjectRevision], _ model: Model?) throws {
        (self.list, self.model) = (list, model)
        views = .allocate(capacity: max(list.count, 1))
        values = .allocate(capacity: max(list.reduce(0) { $0 + $1.values.count }, 1))
        var place = 0
        for (index, revision) in list.enumerated() {
            let first = values + place
            for value in revision.values {
                var view = cst_revision_value()
                (view.key, view.has_old, view.has_new) = (texts.view(of: value.key), value.old != nil, value.new != nil)
                (values + place).initialize(to: view)
                place += 1
            }
            (views + index).initialize(to: try view(of: revision, UnsafePointer(first)))
        }
    }

    deinit {
        views.deallocate()
        values.deallocate()
    }

    private func view(of revision: ObjectRevision, _ values: UnsafePointer<cst_revision_value>) throws -> cst_revision {
        var view = cst_revision()
        view.kind = revision.kind.rawValue
        view.entity = try borrowedHandle(revision.objectID.entity)
        view.primary_key = revision.objectID.reference
        view.store_identifier = texts.view(of: revision.objectID.store?.identifier)
        (view.value_count, view.values) = (revision.values.count, values)
        guard let transaction = revision.transaction else { return view }
        (view.transaction, view.timestamp) = (transaction.number, transaction.timestamp)
        view.author = texts.view(of: transaction.author)
        view.context_name = texts.view(of: transaction.contextName)
        view.bundle_identifier = texts.view(of: transaction.bundleIdentifier)
        view.process_identifier = texts.view(of: transaction.processIdentifier)
        return view
    }

    func requireIndex(_ index: Int) throws {
        guard list.indices.contains(index) else {
            throw CoreError(
                .invalidArgument,
                "index is \(UInt(bitPattern: index)), but "
                    + (list.isEmpty
                        ? "the list of changes is empty; check cst_revisions_count first"
                        : "there \(list.count == 1 ? "is 1 change" : "are \(list.count) changes"); pass an index below "
                            + "cst_revisions_count"),
                key: "index", value: sizeValue(index))
        }
    }
}
