import CorestonePredicate
import CorestoneValues

/// What is kept of an object among results, so that its place is found without reading it again: never changed, so lists of
/// rows may cross threads.
final class ResultsRow: Sendable {
    let id: ObjectID
    let tie: FetchTie
    /// The values of the sort keys.
    let keys: [PropertyValue]
    /// The name of its section; empty where there are none.
    let section: SectionName

    init(id: ObjectID, tie: FetchTie, keys: [PropertyValue], section: SectionName) {
        (self.id, self.tie, self.keys, self.section) = (id, tie, keys, section)
    }

    /// Whether the object stands where it stood.
    func hasPlace(of other: ResultsRow, _ descriptors: [SortDescriptor]) throws -> Bool {
        try tie == other.tie && section == other.section && id == other.id && descriptors.order(keys, other.keys) == 0
    }
}

extension [SortDescriptor] {
    /// The order of rows, in which no two are equal.
    func order(_ a: ResultsRow, _ b: ResultsRow) throws -> Int {
        let order = try order(a.keys, b.keys)
        return order != 0 ? order : a.tie == b.tie ? 0 : a.tie < b.tie ? -1 : 1
    }

    func precedes(_ a: ResultsRow, _ b: ResultsRow) throws -> Bool { try order(a, b) < 0 }
}
