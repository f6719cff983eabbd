/// How a store keeps its objects, by the name that Core Data gives it.
public struct StoreType: RawRepresentable, Hashable, Sendable {
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    /// A database.
    public static let sqlite = StoreType(rawValue: "SQLite")
    /// A file of XML, written as a whole.
    public static let xml = StoreType(rawValue: "XML")
    /// A binary file, written as a whole.
    public static let binary = StoreType(rawValue: "Binary")
    /// No file: what it holds ends with it.
    public static let inMemory = StoreType(rawValue: "InMemory")

    /// What every binary store has among its first bytes.
    package static let binaryMark = "CorestoneBinaryStore"
}
