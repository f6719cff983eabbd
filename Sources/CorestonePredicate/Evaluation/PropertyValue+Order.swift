import CorestoneValues

extension PropertyValue {
    /// The order of two values of a kind: negative, zero or positive. nil where the kinds have no order between them.
    ///
    /// Strings compare by code units, dates by instant, binary data by bytes, numbers of all kinds by value.
    package func ordered(against other: PropertyValue) -> Int? {
        switch (self, other) {
        case (.null, .null): 0
        case (.text(let a), .text(let b)): compareBytes(a.utf8, b.utf8)
        case (.uri(let a), .uri(let b)): compareBytes(a.utf8, b.utf8)
        case (.date(let a), .date(let b)): a < b ? -1 : a > b ? 1 : 0
        case (.bytes(let a), .bytes(let b)): compareBytes(a.rawBytes, b.rawBytes)
        case (.uuid(let a), .uuid(let b)):
            (a.high, a.low) == (b.high, b.low) ? 0 : (a.high, a.low) < (b.high, b.low) ? -1 : 1
        default: compareNumbers(self, other)
        }
    }

    /// The same, objects included that have an order among themselves.
    func order(against other: PropertyValue) throws -> Int? {
        if case .object(let a as any KeyValueCoding) = self, case .object(let b) = other {
            return try a.order(against: b)
        }
        return ordered(against: other)
    }
}
