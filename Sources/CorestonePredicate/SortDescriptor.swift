import CorestoneValues

/// One criterion of an order: by the value at a key path, up or down.
public struct SortDescriptor: Hashable, Sendable {
    /// How two values are compared: strings by the rule, everything else by value.
    ///
    /// The raw value is the selector's name in Core Data.
    public enum Selector: String, Sendable, CaseIterable {
        /// Strings by code units.
        case compare = "compare:"
        /// Strings without regard to case, by code units.
        case caseInsensitive = "caseInsensitiveCompare:"
        /// Strings as a reader of the locale expects them; see `Collation`.
        case localized = "localizedCompare:"
        /// The same without regard to case.
        case localizedCaseInsensitive = "localizedCaseInsensitiveCompare:"
        /// As a file manager lists names: `file-2` before `file-10`.
        case localizedStandard = "localizedStandardCompare:"
    }

    /// `self` sorts the values themselves.
    public let path: KeyPath
    public let ascending: Bool
    public let selector: Selector
    /// Takes the selector's place, in memory only: no store can order by code of the host.
    public let comparator: SortComparator?

    public init(
        path: KeyPath, ascending: Bool = true, selector: Selector = .compare, comparator: SortComparator? = nil
    ) {
        self.path = path
        self.ascending = ascending
        self.selector = selector
        self.comparator = comparator
    }

    /// - Parameter keyPath: keys joined by dots; a leading `-` turns the direction round.
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

/// A host's own order of values; equal only to itself.
public final class SortComparator: Hashable, Sendable {
    /// Negative when the first value comes first, positive when the second does, else zero. Neither is nil.
    let order: @Sendable (PropertyValue, PropertyValue) throws -> Int

    public init(_ order: @escaping @Sendable (PropertyValue, PropertyValue) throws -> Int) { self.order = order }

    public static func == (a: SortComparator, b: SortComparator) -> Bool { a === b }
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

// MARK: - Sorting

extension [SortDescriptor] {
    /// The order of two things whose values at the key paths are these: the first descriptor that tells them apart decides.
    ///
    /// - Throws: what a comparator throws.
    package func order(_ a: [PropertyValue], _ b: [PropertyValue]) throws -> Int {
        for (index, descriptor) in enumerated() {
            let order = try descriptor.compare(a[index], b[index])
            if order != 0 { return order }
        }
        return 0
    }
}

extension SortDescriptor {
    /// The order of two values at the key path: negative when `a` comes first. Nil is the least of all.
    ///
    /// - Throws: what the comparator throws.
    public func compare(_ a: PropertyValue, _ b: PropertyValue) throws -> Int {
        let order = try sortOrder(a, b)
        return ascending ? order : -order.signum()
    }

    /// Sorts by several criteria: where one finds no difference, the next decides. Equal values keep their order.
    ///
    /// - Throws: what reading a key and what a comparator throws.
    public static func sorted(
        _ values: [PropertyValue], by descriptors: [SortDescriptor]
    ) throws -> [PropertyValue] { try order(of: values, by: descriptors).map { values[$0] } }

    /// The same as the places of the values: that of the first one first.
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
    /// The order of two strings.
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
    /// A total order: numbers, strings, dates and so on by kind, then by value.
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
