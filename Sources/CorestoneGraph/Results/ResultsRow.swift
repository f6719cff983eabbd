import CorestonePredicate
import CorestoneValues

/// The data that determines the position of an object in results without reading the object.
///
/// Immutable, so lists of rows can be used on any thread.
final class ResultsRow: Sendable {
    let id: ObjectID
    let tiebreaker: SortTiebreaker
    /// The values of the sort keys.
    let keys: [PropertyValue]
    /// The name of the object's section; empty without sections.
    let section: SectionName

    init(id: ObjectID, tiebreaker: SortTiebreaker, keys: [PropertyValue], section: SectionName) {
        (self.id, self.tiebreaker, self.keys, self.section) = (id, tiebreaker, keys, section)
    }

    /// Whether the ID, section, sort keys and tie-breaker are those of another row.
    func hasPlace(of other: ResultsRow, _ descriptors: [SortDescriptor]) throws -> Bool {
        try tiebreaker == other.tiebreaker && section == other.section && id == other.id
            && descriptors.order(keys, other.keys) == 0
    }
}

extension [SortDescriptor] {
    /// Compares two rows in a total order.
    func order(_ a: ResultsRow, _ b: ResultsRow) throws -> Int {
        let order = try order(a.keys, b.keys)
        return order != 0 ? order : a.tiebreaker == b.tiebreaker ? 0 : a.tiebreaker < b.tiebreaker ? -1 : 1
    }

    func precedes(_ a: ResultsRow, _ b: ResultsRow) throws -> Bool { try order(a, b) < 0 }
}
