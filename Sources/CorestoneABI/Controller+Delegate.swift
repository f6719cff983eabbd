import CCorestone
import CorestoneGraph
import CorestoneValues

/// The host's delegate functions and their userdata. The functions are called on the queue of the controller's context.
class HostDelegate: FetchedResultsControllerDelegate {
    fileprivate let functions: cst_controller_delegate
    fileprivate let userdata: Userdata
    /// The controller's handle. The host owns it as long as the functions can be called.
    var handle: Handle?
    fileprivate(set) unowned(unsafe) var owner: ContextBox?
    var box: ContextBox? {
        get { owner }
        set { owner = newValue }
    }

    static func of(_ functions: cst_controller_delegate) -> HostDelegate {
        if functions.did_change_all != nil { return HostSnapshotDelegate(functions) }
        return functions.did_change_ids == nil ? HostDelegate(functions) : HostDifferenceDelegate(functions)
    }

    fileprivate init(_ functions: cst_controller_delegate) {
        self.functions = functions
        userdata = Userdata(functions.userdata, functions.destroy)
    }

    func controllerWillChangeContent(_ controller: FetchedResultsController) {
        functions.will_change?(userdata.pointer, handle)
    }

    func controller(
        _ controller: FetchedResultsController, didChange section: ResultsSection, atSectionIndex index: Int,
        for kind: ResultsChangeKind
    ) {
        guard let callback = functions.did_change_section else { return }
        let name = Text(section.name)
        var change = cst_section_change(kind: kind.rawValue, index: index, name: cst_string(name))
        withExtendedLifetime(name) { callback(userdata.pointer, handle, &change) }
    }

    func controller(
        _ controller: FetchedResultsController, didChange object: ManagedObject, at indexPath: ResultsIndexPath?,
        for kind: ResultsChangeKind, newIndexPath: ResultsIndexPath?
    ) {
        guard let callback = functions.did_change_object else { return }
        try? withBorrowedHandle(object) { borrowed in
            var change = cst_object_change(
                kind: kind.rawValue, object: borrowed, path: cst_index_path(indexPath),
                new_path: cst_index_path(newIndexPath))
            callback(self.userdata.pointer, self.handle, &change)
        }
    }

    func controllerDidChangeContent(_ controller: FetchedResultsController) {
        functions.did_change?(userdata.pointer, handle)
    }

    func controller(
        _ controller: FetchedResultsController, sectionIndexTitleForSectionName name: String
    ) -> String? {
        let usual = FetchedResultsController.defaultIndexTitle(ofSection: name)
        guard let title = functions.section_title else { return usual }
        let text = Text(name)
        defer { withExtendedLifetime(text) {} }
        var answer = cst_value()
        // If the callback fails, the default title is used.
        guard
            (try? callHost("the host's section_title") {
                title(userdata.pointer, handle, cst_string(text), &answer, $0)
            }) != nil, let value = try? hostValue(answer)
        else { return usual }
        guard case .text(let found) = value else { return value.isNull ? nil : usual }
        return found.string
    }

    func controllerDidReset(_ controller: FetchedResultsController, error: CoreError?) {
        guard let callback = functions.did_reset else { return }
        let failure = error.flatMap { try? HandleTable.make(ErrorBox($0), .error) } ?? nil
        defer { if failure != nil { HandleTable.releaseForHost(token(failure)) } }
        callback(userdata.pointer, handle, failure)
    }
}

private final class HostSnapshotDelegate: HostDelegate, FetchedResultsSnapshotDelegate {
    func controller(
        _ controller: FetchedResultsController, didChangeContentWith snapshot: ResultsSnapshot,
        difference: ResultsDifference, objects: [ManagedObject]
    ) {
        guard let owner else { return }
        withBorrowedDifference(difference, objects, owner) {
            self.functions.did_change_all?(self.userdata.pointer, self.handle, $0)
        }
    }
}

private final class HostDifferenceDelegate: HostDelegate, FetchedResultsDifferenceDelegate {
    func controller(_ controller: FetchedResultsController, didChangeContentWith difference: ResultsDifference) {
        let changes = difference.idChanges.map { change in
            cst_id_change(
                kind: change.kind.rawValue, offset: change.offset,
                associated: change.associatedOffset ?? Int(bitPattern: UInt.max),
                id: (try? HandleTable.make(ObjectIDBox(change.objectID), .objectID)) ?? nil)
        }
        defer { for change in changes { HandleTable.releaseForHost(token(change.id)) } }
        changes.withUnsafeBufferPointer {
            functions.did_change_ids?(userdata.pointer, handle, $0.count, $0.baseAddress)
        }
    }
}
