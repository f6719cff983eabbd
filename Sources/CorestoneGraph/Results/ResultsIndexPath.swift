/// The position of an object in results: its section, and its row in the section.
///
/// The name avoids a conflict with Foundation's `IndexPath`.
public struct ResultsIndexPath: Hashable, Comparable, Sendable, CustomStringConvertible {
    public var section: Int
    public var row: Int
    /// The same as `row`.
    public var item: Int { row }

    public init(row: Int, section: Int) { (self.section, self.row) = (section, row) }

    public static func < (a: ResultsIndexPath, b: ResultsIndexPath) -> Bool { (a.section, a.row) < (b.section, b.row) }

    public var description: String { "(\(section), \(row))" }
}
