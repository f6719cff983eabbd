import CorestoneGraph
import CorestoneValues

/// The SQLite pragmas that the application sets for a store.
///
/// Each name is looked up in a list and each value is converted, so that no text of the application becomes SQL. The
/// list does not contain settings that could damage a store, such as a journal in memory. Settings that block other
/// processes, such as exclusive locks, are not in the list either.
struct StorePragmas {
    /// The converted values by lower-case name.
    private let values: [String: String]

    fileprivate enum Rule {
        /// Words that are converted to their index.
        case numbered([String])
        case words([String])
        case number(ClosedRange<Int>)
        case powerOfTwo(ClosedRange<Int>)
        static let flag = numbered(["off", "on"])
    }

    private static let maximumPages = 1 << 30
    private static let rules: [(name: String, rule: Rule)] = [
        ("analysis_limit", .number(0...1_000_000)),
        ("auto_vacuum", .numbered(["none", "full", "incremental"])),
        ("automatic_index", .flag),
        ("busy_timeout", .number(0...Int(Int32.max))),
        ("cache_size", .number(-maximumPages...maximumPages)),
        ("cache_spill", .flag),
        ("cell_size_check", .flag),
        ("checkpoint_fullfsync", .flag),
        ("fullfsync", .flag),
        ("journal_mode", .words(["wal", "delete", "truncate", "persist"])),
        ("journal_size_limit", .number(-1...(1 << 40))),
        ("page_size", .powerOfTwo(512...65536)),
        // SQLite interprets a number as a flag, so "fast" can be set only as a word.
        ("secure_delete", .words(["off", "on", "fast"])),
        ("synchronous", .numbered(["off", "normal", "full", "extra"])),
        ("temp_store", .numbered(["default", "file", "memory"])),
        ("threads", .number(0...8)),
        ("wal_autocheckpoint", .number(0...maximumPages)),
    ]
    /// The pragmas that are set in separate steps of opening a store.
    private static let special: Set = [
        "auto_vacuum", "busy_timeout", "cache_size", "journal_mode", "page_size", "synchronous", "temp_store",
        "wal_autocheckpoint",
    ]

    /// Checks and converts the pragmas of the options.
    ///
    /// - Throws: `.invalidArgument` with key and value for an unsupported pragma or value, and for a pragma that
    ///   contradicts another option.
    init(_ options: StoreOptions, path: String) throws {
        var values: [String: String] = [:]
        var givenPragmas: [String: (name: String, value: String)] = [:]
        for (name, value) in options.pragmas.sorted(by: { $0.key < $1.key }) {
            let key = name.lowercased()
            guard let rule = StorePragmas.rules.first(where: { $0.name == key })?.rule else {
                throw StorePragmas.unknown(name, value, path)
            }
            guard values[key] == nil else {
                throw StorePragmas.refusal(
                    "the pragma \(key) is set twice for \(path), as \"\(givenPragmas[key]?.name ?? key)\" and \"\(name)\"; leave out one of "
                        + "them", name, value, path)
            }
            guard let word = rule.word(for: value) else {
                throw StorePragmas.refusal(
                    "the pragma \(name) of \(path) is \"\(value)\", but must be \(rule.text)", name, value, path)
            }
            values[key] = word
            givenPragmas[key] = (name, value)
        }
        self.values = values
        if options.rollbackJournal, self["journal_mode"] == "wal", let (name, value) = givenPragmas["journal_mode"] {
            throw StorePragmas.refusal(
                "the options for \(path) request a rollback journal, but the pragma \(name) is \"\(value)\"; leave out "
                    + "the pragma or CST_STORE_ROLLBACK_JOURNAL (journal=\"rollback\")",
                name, value, path)
        }
        if options.normalSync, self["synchronous"] != "1", let (name, value) = givenPragmas["synchronous"] {
            throw StorePragmas.refusal(
                "the options for \(path) request normal synchronisation, but the pragma \(name) is \"\(value)\"; leave "
                    + "out the pragma or CST_STORE_NORMAL_SYNC (sync=\"normal\")",
                name, value, path)
        }
    }

    subscript(name: String) -> String? { values[name] }

    /// Returns the number of a setting, or `usual` if it is not set.
    func number(_ name: String, else usual: Int) -> Int { values[name].flatMap { Int($0) } ?? usual }

    /// The statements that set all pragmas that are not special, for a connection.
    var statements: String {
        values.sorted { $0.key < $1.key }.filter { !StorePragmas.special.contains($0.key) }
            .map { ";PRAGMA \($0.key)=\($0.value)" }.joined()
    }

    private static func unknown(_ name: String, _ value: String, _ path: String) -> CoreError {
        let names = rules.map(\.name)
        let near = nearestName(to: name.lowercased(), among: names).map { "did you mean \"\($0)\"?" }
        return refusal(
            "the pragma \"\(name)\" of \(path) is not supported; "
                + (near ?? "use one of \(names.abridged)"), name, value, path)
    }

    private static func refusal(_ message: String, _ name: String, _ value: String, _ path: String) -> CoreError {
        CoreError(
            .invalidArgument, code: .persistentStoreOpen, message, key: name, value: .string(value), file: path)
    }
}

extension StorePragmas.Rule {
    /// Returns the value for SQLite, or nil for an invalid value.
    fileprivate func word(for value: String) -> String? {
        let value = value.lowercased()
        switch self {
        case .words(let words): return words.contains(value) ? value : nil
        case .numbered(let words):
            let synonyms = ["no": "off", "false": "off", "yes": "on", "true": "on"]
            let word = words.contains(value) ? value : synonyms[value] ?? value
            return (words.firstIndex(of: word) ?? Int(value)).flatMap { words.indices.contains($0) ? "\($0)" : nil }
        case .number(let range): return Int(value).flatMap { range.contains($0) ? "\($0)" : nil }
        case .powerOfTwo(let range):
            return Int(value).flatMap { range.contains($0) && $0 & ($0 - 1) == 0 ? "\($0)" : nil }
        }
    }

    fileprivate var text: String {
        switch self {
        case .words(let words), .numbered(let words):
            "\(words.dropLast().map { "\"\($0)\"" }.joined(separator: ", ")) or \"\(words.last ?? "")\""
        case .number(let range): "an integer from \(range.lowerBound) to \(range.upperBound)"
        case .powerOfTwo(let range): "a power of two from \(range.lowerBound) to \(range.upperBound)"
        }
    }
}
