/// The type of a store, by its name in Core Data.
public struct StoreType: RawRepresentable, Hashable, Sendable {
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    /// An SQLite database.
    public static let sqlite = StoreType(rawValue: "SQLite")
    /// An XML file. The store is atomic.
    public static let xml = StoreType(rawValue: "XML")
    /// A binary file. The store is atomic.
    public static let binary = StoreType(rawValue: "Binary")
    /// A store without a file, whose contents are discarded when it is closed.
    public static let inMemory = StoreType(rawValue: "InMemory")

    /// A marker among the first bytes of every binary store.
    package static let binaryMark = "CorestoneBinaryStore"
}
