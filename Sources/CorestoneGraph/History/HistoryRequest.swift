import CorestonePredicate
import CorestoneValues

/// A description of a part of the coordinator's history.
public struct HistoryRequest: Sendable {
    /// The start position.
    public enum Start: Sendable {
        /// The first remaining transaction.
        case beginning
        /// The position of a token. In stores that the token does not contain, the first remaining transaction.
        case token(HistoryToken)
        /// The first transaction after a date, in seconds since 2001-01-01 00:00:00 UTC.
        ///
        /// All following transactions are included, even if the clock was set back.
        case date(Double)
        /// The position after a transaction, and in other stores after the transaction's date.
        case transaction(HistoryTransaction)
    }

    /// The subject of the predicate and the sort descriptors. Their keys are in `HistoryKeys`.
    public enum Subject: UInt32, Sendable {
        case transactions = 0
        case changes
    }

    /// The type of the result, with the values of Core Data's `NSPersistentHistoryResultType`.
    public enum ResultType: UInt32, Sendable {
        case status = 0
        /// The IDs of all changed objects, each once.
        case objectIDs
        /// The number of transactions, or of changes if they are the subject.
        case count
        /// Transactions without their changes; `changes` is nil.
        case transactions
        /// The changes of all transactions in one list.
        case changes
        case transactionsAndChanges
    }

    public var start = Start.beginning
    public var subject = Subject.transactions
    /// The predicate for transactions or changes; nil for all.
    public var predicate: Predicate?
    public var sortDescriptors: [SortDescriptor] = []
    /// The author whose transactions are skipped. Transactions without an author are included.
    public var excludedAuthor: String?
    /// The stores to read; if empty, all stores of the coordinator.
    public var affectedStores: [Store] = []
    public var resultType = ResultType.transactionsAndChanges
    /// The maximum number of transactions, or of changes if they are the subject; 0 for no limit.
    ///
    /// A cursor ends with the transaction that reaches the limit, and returns all of its matching changes.
    public var limit = 0
    /// The number of transactions per read; 0 for a suitable default.
    public var batchSize = 0

    public init(after start: Start = .beginning) { self.start = start }

    var includesChanges: Bool {
        if subject == .changes { return true }
        switch resultType {
        case .objectIDs, .changes, .transactionsAndChanges: return true
        case .status, .count, .transactions: return false
        }
    }
}

/// The result of a `HistoryRequest`, by its result type.
public enum HistoryResult: Sendable {
    case status(Bool)
    case objectIDs([ObjectID])
    case count(Int)
    case transactions([HistoryTransaction])
    case changes([HistoryChange])
}
