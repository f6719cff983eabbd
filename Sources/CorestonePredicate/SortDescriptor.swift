import CorestoneValues

/// One criterion of an order: by the value at a key path, up or down.
public struct SortDescriptor: Hashable, Sendable {
    /// How two values are compared.
    ///
    /// The raw value is the selector's name in Core Data.
    public enum Selector: String, Sendable {
        /// By value; strings by code units.
        case compare = "compare:"
        /// Strings without regard to case, everything else by value.
        case caseInsensitive = "caseInsensitiveCompare:"
    }

    /// `self` sorts the values themselves.
    public let path: KeyPath
    public let ascending: Bool
    public let selector: Selector

    public init(path: KeyPath, ascending: Bool = true, selector: Selector = .compare) {
        self.path = path
        self.ascending = ascending
        self.selector = selector
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
    public var reversed: SortDescriptor { SortDescriptor(path: path, ascending: !ascending, selector: selector) }

    /// The order of two values at the key path: negative when `a` comes first. Nil is the least of all.
    public func compare(_ a: PropertyValue, _ b: PropertyValue) -> Int {
        let order = sortOrder(a, b)
        return ascending ? order : -order
    }

    /// Sorts by several criteria: where one finds no difference, the next decides. Equal values keep their order.
    ///
    /// - Throws: what reading a key throws.
    public static func sorted(
        _ values: [PropertyValue], by descriptors: [SortDescriptor]
    ) throws -> [PropertyValue] {
        let keyed = try values.enumerated().map { place, value in
            (
                place: place, value: value,
                keys: try descriptors.map { try KeyPathEvaluation.value(of: value, path: $0.path) }
            )
        }
        return keyed.sorted { a, b in
            for (index, descriptor) in descriptors.enumerated() {
                let order = descriptor.compare(a.keys[index], b.keys[index])
                if order != 0 { return order < 0 }
            }
            return a.place < b.place
        }.map(\.value)
    }

    private func sortOrder(_ a: PropertyValue, _ b: PropertyValue) -> Int {
        if selector == .caseInsensitive, let x = a.textual, let y = b.textual {
            return compareFolded(x.utf8, y.utf8, caseInsensitive: true, diacriticInsensitive: false)
        }
        return a.sortOrder(b)
    }
}

extension PropertyValue {
    /// A total order: nil, numbers, strings, dates and so on by kind, then by value.
    fileprivate func sortOrder(_ other: PropertyValue) -> Int {
        if let order = ordered(against: other) { return order }
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
