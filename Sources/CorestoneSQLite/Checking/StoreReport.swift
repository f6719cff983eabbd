import CorestoneGraph
import CorestoneValues

/// The report of a store check.
public struct StoreReport: Sendable {
    /// A kind of items that a check examined, as shown to users, and the number of these items.
    public struct Examined: Sendable {
        public let what: String
        public let count: Int
    }

    /// The problems in the order in which they were found.
    public fileprivate(set) var problems: [StoreProblem] = []
    /// Findings that do not affect the data of the store.
    public fileprivate(set) var warnings: [StoreProblem] = []
    public fileprivate(set) var examined: [Examined] = []
    /// Whether the lists are cut, so that there may be more problems or warnings than they contain.
    fileprivate var isCut = (problems: false, warnings: false)
    /// The source of the model that the store was checked with; nil if the check ended before it read a model.
    package fileprivate(set) var modelSource: ModelSource?

    /// The maximum number of listed problems of one kind for one table or property.
    ///
    /// The limit keeps the report of a badly damaged store short.
    static let limit = 20

    /// Returns all problems and warnings as one error of status `storeCorrupt`, or nil without problems and warnings.
    ///
    /// Each problem or warning is a child of the error, with its kind as code.
    public func error(file: String) -> CoreError? {
        if problems.isEmpty && warnings.isEmpty { return nil }
        let children = (problems + warnings).map { problem in
            CoreError(
                .storeCorrupt, problem.message, domain: StoreProblem.domain, customCode: problem.kind.rawValue,
                entity: problem.entity,
                key: problem.key, objectURI: problem.objectURI, file: file)
        }
        let count = problems.count == 1 ? "1 problem" : "\(problems.count) problems"
        let others = warnings.count == 1 ? "1 warning" : "\(warnings.count) warnings"
        let verdict =
            problems.isEmpty
            ? "is intact, with \(isCut.warnings ? "at least " : "")\(others)"
            : "has \(isCut.problems ? "at least " : "")\(count)"
        return CoreError(.storeCorrupt, code: .coreData, "\(file) \(verdict)", children: children, file: file)
    }
}

/// A problem or a warning of a store check.
public struct StoreProblem: Sendable {
    /// The kind of a problem, which is the condition that the store violates.
    public enum Kind: Int, Sendable, CaseIterable {
        /// The SQLite database itself is damaged.
        case database = 1
        /// A row is invalid, or nothing prevents duplicate keys.
        ///
        /// An invalid row lacks a version, a key or an entity of its table, or has an invalid value.
        case row
        /// A to-one relationship refers to a row that does not exist, or that has an unsuitable entity.
        case reference
        /// A pair of a many-to-many relationship refers to a row that does not exist.
        case pair
        /// A primary key would be assigned a second time, or `Z_PRIMARYKEY` does not match the entities of the model.
        case primaryKey
        /// The metadata contradicts itself, the model or the tasks of a deferred migration. Or the cached model does
        /// not match the tables or cannot be read.
        case metadata
        /// A backing file is missing or cannot be read.
        case externalData
        /// The history is inconsistent or cannot be checked.
        ///
        /// An inconsistent history refers to transactions or names that do not exist, or contains invalid changes.
        case history
        /// Unique constraints are violated, or nothing enforces them.
        case constraint
        /// A derived attribute does not have the value of its derivation, or nothing computes it.
        case derived
        /// An R-tree index is missing or outdated, or nothing keeps it up to date.
        case spatial
        /// A missing index makes fetches slow. A warning.
        case speed
        /// Saves in the write-ahead log are lost.
        case log
        /// A table has a trigger that does not belong to Core Data, so the store opens read-only. A warning.
        case trigger

        /// Whether queries of a store with this problem may return too few rows.
        package var hidesRows: Bool { self == .database || self == .log }

        /// Whether the store is intact despite the finding.
        public var isWarning: Bool { self == .speed || self == .trigger }
    }

    /// The domain of the errors that represent problems; their codes are kinds.
    static let domain = "CorestoneStoreProblem"

    public let kind: Kind
    /// The description of the problem, in the form of an error message.
    public let message: String
    public let entity: String?
    public let key: String?
    public let objectURI: String?
}

/// The findings of the checks so far.
struct StoreFindings {
    private(set) var report = StoreReport()

    mutating func addExamined(_ count: Int, _ kind: String) {
        report.examined.append(StoreReport.Examined(what: kind, count: count))
    }

    mutating func setModelSource(_ source: ModelSource) { report.modelSource = source }

    /// Adds the problem of a check that exceeded its budget, and returns the report.
    mutating func reportPageCycle(_ file: String) -> StoreReport {
        add(.database, "\(file) is damaged: its pages form a cycle; restore it from a backup")
        return report
    }

    /// Adds a problem or a warning.
    ///
    /// - Parameter isCut: Whether there may be further findings that are not listed.
    mutating func add(
        _ kind: StoreProblem.Kind, _ message: String, entity: String? = nil, key: String? = nil,
        objectURI: String? = nil, isCut: Bool = false
    ) {
        let found = StoreProblem(kind: kind, message: message, entity: entity, key: key, objectURI: objectURI)
        if kind.isWarning { report.warnings.append(found) } else { report.problems.append(found) }
        if isCut && kind.isWarning { report.isCut.warnings = true }
        if isCut && !kind.isWarning { report.isCut.problems = true }
    }
}
