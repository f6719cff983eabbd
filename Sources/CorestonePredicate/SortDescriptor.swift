import CorestoneValues

/// One criterion of an order: the value at a key path, ascending or descending.
public struct SortDescriptor: Hashable, Sendable {
    /// The comparison of strings. Other values are compared by value.
    ///
    /// The raw value is the selector's name in Core Data.
    public enum Selector: String, Sendable, CaseIterable {
        /// Strings by code units.
        case compare = "compare:"
        /// Strings without regard to case, by code units.
        case caseInsensitive = "caseInsensitiveCompare:"
        /// Strings by the rules of the current locale; see `Collation`.
        case localized = "localizedCompare:"
        /// Strings by the rules of the current locale, without regard to case.
        case localizedCaseInsensitive = "localizedCaseInsensitiveCompare:"
        /// Names as a file manager orders them: `file-2` before `file-10`.
        case localizedStandard = "localizedStandardCompare:"
    }

    /// The key path; `self` sorts the values themselves.
    public let path: KeyPath
    public let ascending: Bool
    public let selector: Selector
    /// The application's comparator, which replaces the selector.
    ///
    /// Only for sorting in memory, because a store cannot call code of the application to order rows.
    public let comparator: SortComparator?

    public init(
        path: KeyPath, ascending: Bool = true, selector: Selector = .compare, comparator: SortComparator? = nil
    ) {
        self.path = path
        self.ascending = ascending
        self.selector = selector
        self.comparator = comparator
    }

    /// Creates a sort descriptor.
    ///
    /// - Parameter keyPath: keys joined by dots; a leading `-` reverses the direction.
    public init(_ keyPath: String, ascending: Bool = true, caseInsensitive: Bool = false) {
        let turns = keyPath.utf8.first == UInt8(ascii: "-")
        self.init(
            path: KeyPath(turns ? String(keyPath.dropFirst()) : keyPath), ascending: ascending != turns,
            selector: caseInsensitive ? .caseInsensitive : .compare)
    }

    /// The keys joined by dots.
    public var keyPath: String { path.text }

    /// The same criterion in the other direction.
    public var reversed: SortDescriptor {
        SortDescriptor(path: path, ascending: !ascending, selector: selector, comparator: comparator)
    }
}

/// An order of values that the application defines. Comparators are equal only if they are identical.
public final class SortComparator: Hashable, Sendable {
    /// The application's function.
    ///
    /// It returns a negative number if the first value precedes the second, a positive number if the first value
    /// follows the second, otherwise zero. Neither value is nil.
    let order: @Sendable (PropertyValue, PropertyValue) throws -> Int

    public init(_ order: @escaping @Sendable (PropertyValue, PropertyValue) throws -> Int) { self.order = order }

    public static func == (a: SortComparator, b: SortComparator) -> Bool { a === b }
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

// MARK: - Sorting

extension [SortDescriptor] {
    /// Compares two rows of values, one value per descriptor.
    ///
    /// The first descriptor with a difference determines the order.
    ///
    /// - Throws: errors of a comparator.
    package func order(_ a: [PropertyValue], _ b: [PropertyValue]) throws -> Int {
        for (index, descriptor) in enumerated() {
            let order = try descriptor.compare(a[index], b[index])
            if order != 0 { return order }
        }
        return 0
    }
}

extension SortDescriptor {
    /// Compares two values of the key path. Returns a negative number if `a` precedes `b`. Nil is the least value.
    ///
    /// - Throws: errors of the comparator.
    public func compare(_ a: PropertyValue, _ b: PropertyValue) throws -> Int {
        let order = try sortOrder(a, b)
        return ascending ? order : -order.signum()
    }

    /// Sorts by several criteria: the first one with a difference determines the order. The sort is stable.
    ///
    /// - Throws: errors of reading a key path or of a comparator.
    public static func sorted(
        _ values: [PropertyValue], by descriptors: [SortDescriptor]
    ) throws -> [PropertyValue] { try order(of: values, by: descriptors).map { values[$0] } }

    /// Returns the indexes of the values in sorted order.
    public static func order(of values: [PropertyValue], by descriptors: [SortDescriptor]) throws -> [Int] {
        let keyed = try values.enumerated().map { place, value in
            (place: place, keys: try descriptors.map { try KeyPathEvaluation.value(of: value, path: $0.path) })
        }
        return try keyed.sorted { a, b in
            let order = try descriptors.order(a.keys, b.keys)
            if order != 0 { return order < 0 }
            return a.place < b.place
        }.map(\.place)
    }

    private func sortOrder(_ a: PropertyValue, _ b: PropertyValue) throws -> Int {
        if a.isNull || b.isNull { return a.isNull ? (b.isNull ? 0 : -1) : 1 }
        if let comparator { return try comparator.order(a, b) }
        if let x = a.textual, let y = b.textual { return selector.order(x.utf8, y.utf8) }
        return try a.sortOrder(b)
    }
}

extension SortDescriptor.Selector {
    /// Compares two strings. Returns a negative number, zero or a positive number.
    package func order(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer) -> Int {
        switch self {
        case .compare: compareBytes(a, b)
        case .caseInsensitive: compareFolded(a, b, caseInsensitive: true, diacriticInsensitive: false)
        case .localized: Collation.current.compare(a, b)
        case .localizedCaseInsensitive: Collation.current.compare(a, b, .caseInsensitive)
        case .localizedStandard: Collation.current.compareNames(a, b)
        }
    }
}

extension PropertyValue {
    /// Compares two values by type (numbers, strings, dates and so on), then by value; 0 without an order.
    fileprivate func sortOrder(_ other: PropertyValue) throws -> Int {
        if let order = try order(against: other) { return order }
        let (kind, otherKind) = (sortRank, other.sortRank)
        if kind != otherKind { return kind < otherKind ? -1 : 1 }
        return 0
    }

    private var sortRank: Int {
        switch self {
        case .null: 0
        case .bool, .int, .double, .decimal: 1
        case .text, .uri: 2
        case .date: 3
        case .bytes: 4
        case .uuid: 5
        case .object: 6
        case .array, .set, .dictionary: 7
        }
    }
}
