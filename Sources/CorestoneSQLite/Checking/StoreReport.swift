import CorestoneGraph
import CorestoneValues

/// What a check of a store found.
public struct StoreReport: Sendable {
    /// What a check looked at: a name for people, and how many of it there were.
    public struct Examined: Sendable {
        public let what: String
        public let count: Int
    }

    /// In the order in which they were found, those of one kind together.
    public fileprivate(set) var problems: [StoreProblem] = []
    /// What does no harm to what the store keeps.
    public fileprivate(set) var warnings: [StoreProblem] = []
    public fileprivate(set) var examined: [Examined] = []
    /// By which model the store was judged; nil when it could not be read that far.
    package fileprivate(set) var modelSource: ModelSource?

    /// Of one kind and one table or property no more are listed, so that a ruined store gives a short report.
    static let limit = 20

    /// All problems and warnings as one error of status `storeCorrupt`, each a detail of it with its kind as code; nil
    /// when there are none.
    public func error(file: String) -> CoreError? {
        if problems.isEmpty && warnings.isEmpty { return nil }
        let children = (problems + warnings).map { problem in
            CoreError(
                .storeCorrupt, problem.message, domain: StoreProblem.domain, customCode: problem.kind.rawValue,
                entity: problem.entity,
                key: problem.key, objectURI: problem.objectURI, file: file)
        }
        let count = problems.count == 1 ? "1 problem" : "\(problems.count) problems"
        let what =
            problems.isEmpty
            ? "is intact, with \(warnings.count == 1 ? "1 warning" : "\(warnings.count) warnings")" : "has \(count)"
        return CoreError(.storeCorrupt, code: .coreData, "\(file) \(what)", children: children, file: file)
    }
}

/// One thing that is not as it should be in a store.
public struct StoreProblem: Sendable {
    /// Which promise of a store is broken.
    public enum Kind: Int, Sendable, CaseIterable {
        /// The SQLite database itself is damaged.
        case database = 1
        /// A row is of no entity of its table, or has no version or no key, or nothing keeps the keys apart.
        case row
        /// A to-one relationship leads to a row that is not there, or to one of another entity.
        case reference
        /// A pair of a many-to-many relationship leads to a row that is not there.
        case pair
        /// A primary key would be given out again.
        case primaryKey
        /// The metadata contradicts itself or the model that the store carries, or that model does not fit its tables or
        /// cannot be read.
        case metadata
        /// A file with external data is missing.
        case externalData
        /// The history of changes refers to what is not there.
        case history
        /// Objects have values that must be unique and are not, or nothing keeps them so.
        case constraint
        /// A derived attribute has another value than its derivation gives, or nothing computes it.
        case derived
        /// Nothing keeps an R-tree index up to date.
        case spatial
        /// An index is missing, without which fetches are slow. Nothing else is wrong: a warning.
        case speed
        /// The write-ahead log has lost what was saved in it.
        case log
        /// A trigger on a table is none of Core Data's: the store opens read-only. Nothing else is wrong: a warning.
        case trigger

        /// Whether there may be rows that cannot be seen.
        package var hidesRows: Bool { self == .database || self == .log }

        /// Whether the store is whole all the same.
        public var isWarning: Bool { self == .speed || self == .trigger }
    }

    /// Of the errors that stand for problems; their codes are kinds.
    static let domain = "CorestoneStoreProblem"

    public let kind: Kind
    /// One sentence: what is wrong, named.
    public let message: String
    public let entity: String?
    public let key: String?
    public let objectURI: String?
}

/// Gathers what the checks find.
struct StoreFindings {
    private(set) var report = StoreReport()

    mutating func examined(_ count: Int, _ what: String) {
        report.examined.append(StoreReport.Examined(what: what, count: count))
    }

    mutating func judged(by source: ModelSource) { report.modelSource = source }

    /// The report of a check that was given up.
    mutating func endless(_ file: String) -> StoreReport {
        add(.database, "\(file) is damaged: its pages form a cycle; restore it from a backup")
        return report
    }

    mutating func add(
        _ kind: StoreProblem.Kind, _ message: String, entity: String? = nil, key: String? = nil,
        objectURI: String? = nil
    ) {
        let found = StoreProblem(kind: kind, message: message, entity: entity, key: key, objectURI: objectURI)
        if kind.isWarning { report.warnings.append(found) } else { report.problems.append(found) }
    }
}
