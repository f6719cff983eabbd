import CorestoneValues

/// How much a store's file may have this process do, whoever wrote it. What goes beyond is an error that names the limit, its
/// value and the option; nothing is cut off unseen.
public struct StoreLimits: Sendable, Equatable {
    /// Bytes of one value or row that SQLite takes from a file or writes into it, and of the holes of a file with a large value.
    public var valueBytes = 64 << 20
    /// Bytes that expressions of an SQLite file's schema (generated columns, CHECK constraints, conditions of indexes, triggers) may
    /// take together, while one statement runs.
    public var expressionBytes = 128 << 20
    /// Instructions of SQLite's machine that one statement which writes may take, besides `stepsPerByte` for each byte of the file.
    public var steps = 200_000_000
    /// Bytes of one file with a large value that are read, or copied with the store.
    public var externalBytes = Int(Int32.max)

    /// A row of a sound file takes at least a few bytes, and what is done for it a few hundred instructions.
    package static let stepsPerByte = 100
    /// SQLite's own.
    package static let mostValueBytes = 1_000_000_000

    /// What is not said of a store; the documented numbers, unless this process has others for all stores.
    public init() { if let usual = StoreLimits.usual.withLock({ $0 }) { self = usual } }

    private static let usual = Locked<StoreLimits?>(nil)

    /// Has stores without limits of their own be opened with these from now on, whatever for. Of a program, not of a library.
    package static func beUsual(_ limits: StoreLimits) { usual.withLock { $0 = limits } }

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

    /// By the name of the option; false for a name that is none.
    package mutating func set(_ name: String, to value: Int) -> Bool {
        guard let limit = StoreLimits.all.first(where: { $0.name == name }) else { return false }
        self[keyPath: limit.value] = value
        return true
    }

    /// The values of a limit, as "10000 or more"; by the name of the option.
    package static func range(of name: String) -> String {
        all.first { $0.name == name }.map { text(of: $0.range) } ?? ""
    }

    private static func text(of range: ClosedRange<Int>) -> String {
        "\(range.lowerBound)" + (range.upperBound == .max ? " or more" : " to \(range.upperBound)")
    }

    /// Throws for a limit with which nothing could be read.
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
