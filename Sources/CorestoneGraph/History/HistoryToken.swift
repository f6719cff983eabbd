import CorestoneFormats
import CorestonePredicate
import CorestoneValues

/// A position in the histories of one or more stores.
///
/// It contains the number of the last transaction before the position in each store.
///
/// A token is a value. It can be stored in a file and compared with tokens of another process. Two coordinators with
/// the same file return equal tokens for equal states. Stores are identified by UUID.
public struct HistoryToken: Sendable, Hashable {
    /// The number of the last transaction before the position, by store UUID.
    ///
    /// The number is 0 before the first transaction.
    public let transactionNumbers: [String: Int64]

    public init(transactionNumbers: [String: Int64]) { self.transactionNumbers = transactionNumbers }

    public init(storeIdentifier: String, transactionNumber: Int64) {
        self.init(transactionNumbers: [storeIdentifier: transactionNumber])
    }

    /// Returns the number for a store; nil if the token does not contain the store.
    public func transactionNumber(ofStore identifier: String) -> Int64? {
        transactionNumbers[identifier] ?? UUIDValue(identifier).flatMap { transactionNumbers[$0.description] }
    }

    /// The UUIDs of the stores, sorted.
    public var storeIdentifiers: [String] { transactionNumbers.keys.sorted() }

    /// Returns this token with the numbers of `later` for the stores in `later`.
    public func updated(with later: HistoryToken) -> HistoryToken {
        HistoryToken(transactionNumbers: transactionNumbers.merging(later.transactionNumbers) { $1 })
    }

    /// Compares two tokens.
    ///
    /// The result is negative if this token is earlier in at least one store and not later in any. It is positive in
    /// the opposite case, and zero for equal positions. Returns nil if this token is earlier in one store and later in
    /// another, as with tokens of different stores that have transactions.
    ///
    /// If only one of the tokens contains a store, the other token counts as the beginning of the store's history.
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

    // Without an order, all of these comparisons are false.
    public static func < (one: HistoryToken, other: HistoryToken) -> Bool { one.order(against: other) == -1 }
    public static func > (one: HistoryToken, other: HistoryToken) -> Bool { other < one }
    public static func <= (one: HistoryToken, other: HistoryToken) -> Bool {
        one.order(against: other).map { $0 <= 0 } ?? false
    }
    public static func >= (one: HistoryToken, other: HistoryToken) -> Bool { other <= one }
}

// MARK: - Text

extension HistoryToken: CustomStringConvertible {
    /// The token as JSON, for storage: the number of each store, in the order of the UUIDs.
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

    /// Creates a token from the text that `json` returned.
    ///
    /// - Throws: `.invalidArgument` if the text is not a JSON object of UUIDs and integers of at least 0.
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
                    "the number of the store \"\(store)\" is \(number.excerpt), but must be an integer from 0 to "
                        + "\(Int64.max) without a fraction", json)
            }
            numbers[identifier] = last
        }
        self.init(transactionNumbers: numbers)
    }

    private static func unreadable(_ reason: String, _ text: String) -> CoreError {
        CoreError(
            .invalidArgument,
            "cannot read the history token: \(reason); pass the text that cst_history_token_copy_json (to_json, json) returned",
            key: "json", value: .string(text))
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

// MARK: - Values

/// A history token as a value of predicates: `token >= %@`.
public final class HistoryTokenValue: KeyValueCoding, Sendable {
    public let token: HistoryToken

    public init(_ token: HistoryToken) { self.token = token }

    public func isEqual(to other: any ValueObject) -> Bool {
        guard let other = other as? HistoryTokenValue else { return false }
        return placed(against: other) == 0
    }
    /// Adds nothing to the hash.
    ///
    /// A transaction's token equals a token of several stores that has the same number for the transaction's store. The
    /// hash must therefore not depend on the numbers.
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

    /// Compares a transaction's token with a token of several stores, by their common stores.
    ///
    /// Without a common store, this token precedes a token of more stores, and follows any other token.
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
