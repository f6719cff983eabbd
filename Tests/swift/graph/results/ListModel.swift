import Corestone
import XCTest

/// A list that is updated only by a controller's delegate calls, like the model of a table view.
final class ListModel: FetchedResultsControllerDelegate {
    private(set) var names: [String] = []
    private(set) var rows: [[ManagedObject]] = []
    private(set) var events = 0
    private(set) var resets = 0
    var willChange: () -> Void = {}
    var didChange: () -> Void = {}
    /// The notifications since `take`.
    private var told: [String] = []
    private var sections: [(kind: ResultsChangeKind, index: Int, name: String)] = []
    private var objects:
        [(kind: ResultsChangeKind, object: ManagedObject, old: ResultsIndexPath?, new: ResultsIndexPath?)] = []
    private var isChanging = false

    func load(_ controller: FetchedResultsController) throws {
        let sections = try XCTUnwrap(controller.sections)
        names = sections.map(\.name)
        rows = sections.map(\.objects)
        isChanging = false
        (self.sections, objects) = ([], [])
    }

    func take() -> [String] {
        defer { told = [] }
        return told
    }

    func controllerWillChangeContent(_ controller: FetchedResultsController) {
        XCTAssertFalse(isChanging)
        isChanging = true
        events += 1
        told.append("will")
        XCTAssertEqual(controller.snapshot?.count, rows.joined().count, "results change too early")
        willChange()
    }

    func controller(
        _ controller: FetchedResultsController, didChange section: ResultsSection, atSectionIndex index: Int,
        for kind: ResultsChangeKind
    ) {
        XCTAssert(objects.allSatisfy { $0.0 == .delete }, "sections are reported before objects, except deletions")
        sections.append((kind, index, section.name))
        told.append("section \(kind) \(section.name) \(index)")
    }

    func controller(
        _ controller: FetchedResultsController, didChange object: ManagedObject, at indexPath: ResultsIndexPath?,
        for kind: ResultsChangeKind, newIndexPath: ResultsIndexPath?
    ) {
        XCTAssertFalse(kind == .move && indexPath == newIndexPath, "a move to the same index path")
        objects.append((kind, object, indexPath, newIndexPath))
        let paths = [indexPath, newIndexPath].map { $0?.description ?? "-" }.joined(separator: " ")
        let name = object.isGone || object.isDeleted ? nil : (try? object.get("name", as: String.self)) ?? nil
        told.append("\(kind) \(name ?? "?") \(paths)")
    }

    func controllerDidChangeContent(_ controller: FetchedResultsController) {
        XCTAssert(isChanging)
        isChanging = false
        told.append("did")
        replay()
        didChange()
    }

    func controllerDidReset(_ controller: FetchedResultsController, error: CoreError?) {
        resets += 1
        told.append("reset")
        if let error { told.append(error.message) }
        isChanging = false
        (sections, objects) = ([], [])
    }

    /// Applies the changes by the rules of table views: removals by old index paths, then insertions by new ones.
    private func replay() {
        var gone: [ResultsIndexPath] = [], come: [(ResultsIndexPath, ManagedObject)] = []
        var used: Set<ResultsIndexPath> = []
        for (kind, object, old, new) in objects {
            if kind == .delete || kind == .move, let old { gone.append(old) }
            if kind == .insert || kind == .move, let new { come.append((new, object)) }
            if kind == .update { XCTAssertNotNil(new) }
            if let old { XCTAssert(used.insert(old).inserted, "\(old) is reported twice") }
        }
        for path in gone.sorted().reversed() { rows[path.section].remove(at: path.row) }
        for section in sections.filter({ $0.kind == .delete }).sorted(by: { $0.index > $1.index }) {
            XCTAssertEqual(names.remove(at: section.index), section.name)
            XCTAssertEqual(rows.remove(at: section.index), [], "a section with rows is deleted")
        }
        for section in sections.filter({ $0.kind == .insert }).sorted(by: { $0.index < $1.index }) {
            names.insert(section.name, at: section.index)
            rows.insert([], at: section.index)
        }
        for (path, object) in come.sorted(by: { $0.0 < $1.0 }) { rows[path.section].insert(object, at: path.row) }
        (sections, objects) = ([], [])
    }
}
