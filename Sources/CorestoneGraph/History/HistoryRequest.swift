import CorestonePredicate
import CorestoneValues

/// Asks for a part of the history of the coordinator's stores.
public struct HistoryRequest: Sendable {
    /// Where the part begins.
    public enum Start: Sendable {
        /// With the first transaction that is left.
        case beginning
        /// After the place of a token. A store that the token does not know begins with its first transaction.
        case token(HistoryToken)
        /// With the first transaction later than a date, in seconds since 2001-01-01 00:00:00 UTC. Later ones count even if the
        /// clock was set back.
        case date(Double)
        /// After a transaction, and in other stores after its date.
        case transaction(HistoryTransaction)
    }

    /// Which entity the predicate and the sort descriptors are about. Their keys are in `HistoryKeys`.
    public enum Subject: UInt32, Sendable {
        case transactions = 0
        case changes
    }

    /// Core Data's `NSPersistentHistoryResultType`, with its numbers.
    public enum ResultType: UInt32, Sendable {
        case status = 0
        /// The IDs of all changed objects, each once.
        case objectIDs
        /// The number of transactions, or of changes if the predicate is about changes.
        case count
        /// Transactions whose `changes` are nil.
        case transactions
        /// Changes of all transactions in one list.
        case changes
        case transactionsAndChanges
    }

    public var start = Start.beginning
    public var subject = Subject.transactions
    /// Which transactions, or which changes, are in the result; nil for all.
    public var predicate: Predicate?
    public var sortDescriptors: [SortDescriptor] = []
    /// Transactions of this author are left out. Those without author stay.
    public var excludedAuthor: String?
    /// The stores to read; empty for all of the coordinator.
    public var affectedStores: [Store] = []
    public var resultType = ResultType.transactionsAndChanges
    /// The most transactions, or changes if the predicate is about changes; 0 for no limit. A cursor ends with the transaction that
    /// reaches the limit, and returns that one whole.
    public var limit = 0
    /// How many transactions one step reads; 0 for a size that suits most programs.
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

/// The answer to a `HistoryRequest`, by its result type.
public enum HistoryResult: Sendable {
    case status(Bool)
    case objectIDs([ObjectID])
    case count(Int)
    case transactions([HistoryTransaction])
    case changes([HistoryChange])
}
