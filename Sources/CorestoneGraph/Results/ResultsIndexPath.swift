/// The place of an object among results: its section, and its place in there. Not called `IndexPath`, which Foundation has.
public struct ResultsIndexPath: Hashable, Comparable, Sendable, CustomStringConvertible {
    public var section: Int
    public var row: Int
    /// The same as `row`.
    public var item: Int { row }

    public init(row: Int, section: Int) { (self.section, self.row) = (section, row) }

    public static func < (a: ResultsIndexPath, b: ResultsIndexPath) -> Bool { (a.section, a.row) < (b.section, b.row) }

    public var description: String { "(\(section), \(row))" }
}
