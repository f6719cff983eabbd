import CorestoneValues

extension PropertyValue {
    /// Compares two values of one type.
    ///
    /// Returns a negative number, zero or a positive number; nil if the values do not have an order.
    ///
    /// Strings are compared by code units, dates by time, binary data by bytes, and numbers of all types by value.
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

    /// Compares two values as `ordered` does, and also objects that have an order.
    func order(against other: PropertyValue) throws -> Int? {
        if case .object(let a as any KeyValueCoding) = self, case .object(let b) = other {
            return try a.order(against: b)
        }
        return ordered(against: other)
    }
}
