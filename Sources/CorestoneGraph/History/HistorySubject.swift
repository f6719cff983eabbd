import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// The keys in predicates of a `HistoryRequest`, which are those of Core Data.
public enum HistoryKeys {
    public static let transaction = [
        "author", "bundleID", "contextName", "processID", "storeID", "timestamp", "token", "transactionNumber",
    ]
    /// The additional keys of a change, which also has those of its transaction.
    public static let change = [
        "changeID", "changeType", "changedEntity", "changedObjectID", "transaction", "updatedProperties",
    ]
}

/// A transaction or change to which a predicate is applied. A cursor reuses one subject for all transactions.
final class HistorySubject: KeyValueCoding, @unchecked Sendable {
    var head: HistoryHead
    var change: HistoryChange?
    private let subject: HistoryRequest.Subject
    /// Whether the subject is the transaction of a change.
    private let isNested: Bool

    init(_ subject: HistoryRequest.Subject, _ head: HistoryHead, isNested: Bool = false) {
        (self.subject, self.head, self.isNested) = (subject, head, isNested)
    }

    var nameOfEntity: String? { subject == .changes ? "Change" : "Transaction" }
    var valueDescription: String { "\(nameOfEntity ?? "") \(change?.id ?? head.number)" }
    func isEqual(to other: any ValueObject) -> Bool { other === self }
    func hashIdentity(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }

    func value(forKey key: String) throws -> PropertyValue {
        switch key {
        case "author": return text(head.author)
        case "bundleID": return text(head.bundleIdentifier)
        case "contextName": return text(head.contextName)
        case "processID": return text(head.processIdentifier)
        case "storeID": return .string(head.store.identifier)
        case "timestamp": return .date(head.timestamp)
        case "token": return .object(HistoryTokenValue(HistoryTransaction(head, nil).token))
        case "transactionNumber": return .int(head.number)
        default: break
        }
        if let change {
            switch key {
            case "changeID", "changedID": return .int(change.id)
            case "changeType": return .int(Int64(change.kind.rawValue))
            case "changedEntity": return .string(change.objectID.entity.name)
            case "changedObjectID": return .object(ObjectIDReference(change.objectID))
            case "transaction": return .object(HistorySubject(.transactions, head, isNested: true))
            case "updatedProperties": return .array(change.updatedProperties.map { .string($0.path) })
            default: break
            }
        }
        throw HistorySubject.unknown(key, subject, isNested: isNested)
    }

    private func text(_ text: String?) -> PropertyValue { text.map { .string($0) } ?? .null }

    /// Throws if the predicate has an unknown key, or compares with the token before the first transaction.
    static func check(_ predicate: Predicate, _ subject: HistoryRequest.Subject) throws {
        try predicate.requireHistoryTokens()
        for path in predicate.keyPaths { try check(path, subject) }
    }

    static func check(_ path: KeyPath, _ subject: HistoryRequest.Subject) throws {
        let keys = path.keys.map(\.text)
        guard let first = keys.first, first != "self" else { return }
        let isKnown =
            HistoryKeys.transaction.contains(first) || first.hasPrefix("@")
            || subject == .changes && (HistoryKeys.change.contains(first) || first == "changedID")
        guard isKnown else { throw unknown(first, subject) }
        if first == "transaction", keys.count > 1, !HistoryKeys.transaction.contains(keys[1]) {
            throw unknown(keys[1], .transactions, isNested: true)
        }
    }

    /// Creates the error for an unknown key.
    ///
    /// - Parameter isNested: Whether the key follows `transaction` in a key path of a change.
    static func unknown(_ key: String, _ subject: HistoryRequest.Subject, isNested: Bool = false) -> CoreError {
        let isChange = subject == .changes
        let remedy: String
        if !isChange, !isNested, HistoryKeys.change.contains(key) {
            remedy = "set the subject to changes (CST_HISTORY_CHANGES, \"changes\")"
        } else {
            let own = isChange ? HistoryKeys.change : HistoryKeys.transaction
            let near = nearestName(to: key, among: isChange ? own + HistoryKeys.transaction : own)
            remedy =
                near.map { "did you mean \"\($0)\"?" }
                ?? "use one of \(own.joined(separator: ", "))\(isChange ? ", or a key of the transaction" : "")"
        }
        return CoreError(
            .predicate, "a history \(isChange ? "change" : "transaction") has no key \"\(key)\"; \(remedy)",
            entity: isChange ? "Change" : "Transaction", key: key)
    }
}

extension Predicate {
    /// Throws if the predicate compares with the token before the first transaction.
    ///
    /// Core Data does so too, since iOS 18. Such a token is valid as the start of a request.
    func requireHistoryTokens() throws {
        switch self {
        case .constant, .block: return
        case .compound(let compound): for part in compound.parts { try part.requireHistoryTokens() }
        case .comparison(let comparison):
            for side in [comparison.left, comparison.right] {
                guard case .constant(.object(let object)) = side, let value = object as? HistoryTokenValue,
                    value.token.transactionNumbers.values.allSatisfy({ $0 == 0 })
                else { continue }
                throw CoreError(
                    .predicate, code: .persistentHistoryTokenExpired,
                    "a predicate cannot compare with the history token before the first transaction; leave the condition out, "
                        + "or start the request after that token", key: "token", value: .string(value.token.json))
            }
        }
    }
}
