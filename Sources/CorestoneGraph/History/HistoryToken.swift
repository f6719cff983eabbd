import CorestonePredicate
import CorestoneValues

/// A place in the histories of one or more stores: for each store, the number of the last transaction before that place.
///
/// A token is a value. It may be kept in a file and compared with tokens of another process: two coordinators that have the same
/// file open give equal tokens for equal states. A store is known by its UUID.
public struct HistoryToken: Sendable, Hashable {
    /// By the UUID of a store: the number of the last transaction before the place; 0 before the first.
    public let transactionNumbers: [String: Int64]

    public init(transactionNumbers: [String: Int64]) { self.transactionNumbers = transactionNumbers }

    public init(storeIdentifier: String, transactionNumber: Int64) {
        self.init(transactionNumbers: [storeIdentifier: transactionNumber])
    }

    /// The number for a store; nil for a store that the token does not know.
    public func transactionNumber(ofStore identifier: String) -> Int64? {
        transactionNumbers[identifier] ?? UUIDValue(identifier).flatMap { transactionNumbers[$0.description] }
    }

    /// The UUIDs of the stores, in order.
    public var storeIdentifiers: [String] { transactionNumbers.keys.sorted() }

    /// This token with the numbers of another one for the stores of that one.
    public func updated(with later: HistoryToken) -> HistoryToken {
        HistoryToken(transactionNumbers: transactionNumbers.merging(later.transactionNumbers) { $1 })
    }

    /// The order of two tokens: negative if every store is at an earlier or the same place here, positive if at a later one,
    /// zero for equal places. nil if one store is earlier and another one later, as with tokens of different stores.
    ///
    /// A store that only one of the tokens knows counts as at its beginning in the other one.
    public func order(against other: HistoryToken) -> Int? {
        var (isEarlier, isLater) = (false, false)
        for store in Set(transactionNumbers.keys).union(other.transactionNumbers.keys) {
            let (here, there) = (transactionNumbers[store] ?? 0, other.transactionNumbers[store] ?? 0)
            if here < there { isEarlier = true }
            if here > there { isLater = true }
        }
        if isEarlier && isLater { return nil }
        return isEarlier ? -1 : isLater ? 1 : 0
    }

    // Tokens that have no order are neither before nor after each other.
    public static func < (one: HistoryToken, other: HistoryToken) -> Bool { one.order(against: other) == -1 }
    public static func > (one: HistoryToken, other: HistoryToken) -> Bool { other < one }
    public static func <= (one: HistoryToken, other: HistoryToken) -> Bool {
        one.order(against: other).map { $0 <= 0 } ?? false
    }
    public static func >= (one: HistoryToken, other: HistoryToken) -> Bool { other <= one }
}

// MARK: - As text

extension HistoryToken: CustomStringConvertible {
    /// The text to keep: JSON with the number of each store, in the order of the UUIDs.
    public var json: String {
        var text = "{"
        for (place, store) in storeIdentifiers.enumerated() {
            if place > 0 { text += ", " }
            text.appendJSON(store)
            text += ": \(transactionNumbers[store] ?? 0)"
        }
        return text + "}"
    }

    public var description: String { json }

    /// Reads the text that `json` writes.
    ///
    /// - Throws: `.invalidArgument` for another text.
    public init(json: String) throws {
        let value: PropertyValue
        do { value = try decodeJSON(Array(json.utf8), allowsTwins: false) } catch let error as CoreError {
            throw HistoryToken.unreadable(error.message.withoutRemedy, json)
        }
        guard case .dictionary(let stores) = value else {
            throw HistoryToken.unreadable("it is not a JSON object", json)
        }
        var numbers: [String: Int64] = [:]
        for (store, number) in stores {
            guard let identifier = UUIDValue(store)?.description else {
                throw HistoryToken.unreadable("\"\(store)\" is not a UUID", json)
            }
            guard case .int(let last) = number, last >= 0 else {
                throw HistoryToken.unreadable(
                    "the number of the store \"\(store)\" is \(number.excerpt), not an integer of at least 0", json)
            }
            numbers[identifier] = last
        }
        self.init(transactionNumbers: numbers)
    }

    private static func unreadable(_ reason: String, _ text: String) -> CoreError {
        CoreError(
            .invalidArgument,
            "cannot read the history token: \(reason); pass the text that cst_history_token_copy_json (to_json, json) returned",
            value: .string(text))
    }
}

extension HistoryToken: Codable {
    public init(from decoder: any Decoder) throws {
        self.init(transactionNumbers: try decoder.singleValueContainer().decode([String: Int64].self))
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(transactionNumbers)
    }
}

// MARK: - As a value

/// A history token as a value of predicates: `token >= %@`.
public final class HistoryTokenValue: KeyValueCoding, Sendable {
    public let token: HistoryToken

    public init(_ token: HistoryToken) { self.token = token }

    public func isEqual(to other: any ValueObject) -> Bool {
        guard let other = other as? HistoryTokenValue else { return false }
        return placed(against: other) == 0
    }
    /// A transaction equals a token of several stores that has its number, so the hash does not depend on the numbers.
    public func hashIdentity(into hasher: inout Hasher) {}
    public var valueDescription: String { token.json }

    public func value(forKey key: String) throws -> PropertyValue {
        throw CoreError(
            .predicate, "a history token has no key \"\(key)\"; compare the token itself with another one", key: key)
    }

    public func order(against other: any ValueObject) throws -> Int? {
        guard let other = other as? HistoryTokenValue else { return nil }
        return placed(against: other)
    }

    /// The order of a transaction's token against one that may be of several stores: by the stores that both have. Without one, the
    /// transaction is of a store that the token does not know, and so comes after it.
    private func placed(against other: HistoryTokenValue) -> Int? {
        let (mine, others) = (token.transactionNumbers, other.token.transactionNumbers)
        let common = Set(mine.keys).intersection(others.keys)
        guard !common.isEmpty else { return mine.count < others.count ? -1 : 1 }
        func part(_ numbers: [String: Int64]) -> HistoryToken {
            HistoryToken(transactionNumbers: numbers.filter { common.contains($0.key) })
        }
        return part(mine).order(against: part(others))
    }
}
