import CorestoneValues

/// The limits of the resources that this process uses for a store's file, which may be untrusted.
///
/// Exceeding a limit is an error that names the limit, its value and the option. Data is never truncated silently.
public struct StoreLimits: Sendable, Equatable {
    /// The maximum size in bytes of a value or row that SQLite reads or writes.
    ///
    /// It also limits the size of the holes of a sparse backing file.
    public var valueBytes = 64 << 20
    /// The maximum memory in bytes for expressions of an SQLite schema during one statement.
    ///
    /// Such expressions are in generated columns, CHECK constraints, conditions of indexes, and triggers.
    public var expressionBytes = 128 << 20
    /// The maximum number of SQLite's virtual machine instructions for one writing statement.
    ///
    /// `stepsPerByte` instructions are added for each byte of the file.
    public var steps = 200_000_000
    /// The maximum size in bytes of a backing file that is read, or copied with the store.
    public var externalBytes = Int(Int32.max)

    /// The additional instructions per byte.
    ///
    /// A row of a valid file has at least a few bytes and needs a few hundred instructions.
    package static let stepsPerByte = 100
    /// The highest value of `valueBytes` that SQLite supports.
    package static let mostValueBytes = 1_000_000_000

    /// Creates the default limits: the documented ones, unless the process has set defaults.
    public init() { if let defaults = StoreLimits.defaults.withLock({ $0 }) { self = defaults } }

    private static let defaults = Locked<StoreLimits?>(nil)

    /// Sets the default limits of all stores in this process. For programs, not for libraries.
    package static func setDefault(_ limits: StoreLimits) { defaults.withLock { $0 = limits } }

    private typealias Limit = (
        name: String, value: WritableKeyPath<StoreLimits, Int> & Sendable, range: ClosedRange<Int>
    )
    private static let all: [Limit] = [
        ("value_limit", \.valueBytes, 65536...mostValueBytes),
        ("memory_limit", \.expressionBytes, 1 << 20...Int.max),
        ("step_limit", \.steps, 10_000...Int.max),
        ("external_limit", \.externalBytes, 1...Int.max),
    ]
    package static let names = all.map(\.name)

    /// Sets a limit by the name of its option. Returns false for an unknown name.
    package mutating func set(_ name: String, to value: Int) -> Bool {
        guard let limit = StoreLimits.all.first(where: { $0.name == name }) else { return false }
        self[keyPath: limit.value] = value
        return true
    }

    /// Returns the range of a limit, such as "1 to 5", by the name of its option.
    package static func range(of name: String) -> String {
        all.first { $0.name == name }.map { "\($0.range.lowerBound) to \($0.range.upperBound)" } ?? ""
    }

    private static func text(of range: ClosedRange<Int>) -> String {
        "\(range.lowerBound)" + (range.upperBound == .max ? " or more" : " to \(range.upperBound)")
    }

    /// Throws if a limit is out of range.
    package func check(_ path: String) throws {
        for (name, limit, range) in StoreLimits.all where !range.contains(self[keyPath: limit]) {
            let value = self[keyPath: limit]
            throw CoreError(
                .invalidArgument, code: .persistentStoreOpen,
                "the \(name) for \(path) is \(value), but must be \(StoreLimits.text(of: range))", key: name,
                value: .int(Int64(value)), file: path)
        }
    }
}
