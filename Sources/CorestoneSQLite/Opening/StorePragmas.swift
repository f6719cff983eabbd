import CorestoneGraph
import CorestoneValues

/// The settings of SQLite that a host named for a store, each looked up in a list and its value put in SQLite's own words: nothing
/// of a host's text becomes SQL.
///
/// What could damage a store, as a journal in memory, or take it away from others, as exclusive locks, is not in the list.
struct StorePragmas {
    /// By their names, in lower case.
    private let values: [String: String]

    fileprivate enum Rule {
        /// Some words, the first of which is 0, the next one 1.
        case numbered([String])
        case words([String])
        case number(ClosedRange<Int>)
        case powerOfTwo(ClosedRange<Int>)
        static let flag = numbered(["off", "on"])
    }

    private static let mostPages = 1 << 30
    private static let rules: [(name: String, rule: Rule)] = [
        ("analysis_limit", .number(0...1_000_000)),
        ("auto_vacuum", .numbered(["none", "full", "incremental"])),
        ("automatic_index", .flag),
        ("busy_timeout", .number(0...Int(Int32.max))),
        ("cache_size", .number(-mostPages...mostPages)),
        ("cache_spill", .flag),
        ("cell_size_check", .flag),
        ("checkpoint_fullfsync", .flag),
        ("fullfsync", .flag),
        ("journal_mode", .words(["wal", "delete", "truncate", "persist"])),
        ("journal_size_limit", .number(-1...(1 << 40))),
        ("page_size", .powerOfTwo(512...65536)),
        // Of a number SQLite takes only whether it is 0.
        ("secure_delete", .words(["off", "on", "fast"])),
        ("synchronous", .numbered(["off", "normal", "full", "extra"])),
        ("temp_store", .numbered(["default", "file", "memory"])),
        ("threads", .number(0...8)),
        ("wal_autocheckpoint", .number(0...mostPages)),
    ]
    /// Those that have their own place in opening a store.
    private static let special: Set = [
        "auto_vacuum", "busy_timeout", "cache_size", "journal_mode", "page_size", "synchronous", "temp_store",
        "wal_autocheckpoint",
    ]

    /// - Throws: `.invalidArgument` with key and value for what is not in the list, and for what contradicts another option.
    init(_ options: StoreOptions, path: String) throws {
        var values: [String: String] = [:]
        var given: [String: (name: String, value: String)] = [:]
        for (name, value) in options.pragmas.sorted(by: { $0.key < $1.key }) {
            let key = name.lowercased()
            guard let rule = StorePragmas.rules.first(where: { $0.name == key })?.rule else {
                throw StorePragmas.unknown(name, value, path)
            }
            guard values[key] == nil else {
                throw StorePragmas.refusal(
                    "the pragma \(key) is set twice for \(path), as \"\(given[key]?.name ?? key)\" and \"\(name)\"; leave out one of "
                        + "them", name, value, path)
            }
            guard let word = rule.word(for: value) else {
                throw StorePragmas.refusal(
                    "the pragma \(name) of \(path) is \"\(value)\", but must be \(rule.text)", name, value, path)
            }
            values[key] = word
            given[key] = (name, value)
        }
        self.values = values
        if options.rollbackJournal, self["journal_mode"] == "wal", let (name, value) = given["journal_mode"] {
            throw StorePragmas.refusal(
                "the options for \(path) request a rollback journal, but the pragma \(name) is \"\(value)\"; leave out "
                    + "the pragma or CST_STORE_ROLLBACK_JOURNAL (journal=\"rollback\")",
                name, value, path)
        }
        if options.normalSync, self["synchronous"] != "1", let (name, value) = given["synchronous"] {
            throw StorePragmas.refusal(
                "the options for \(path) request normal synchronisation, but the pragma \(name) is \"\(value)\"; leave "
                    + "out the pragma or CST_STORE_NORMAL_SYNC (sync=\"normal\")",
                name, value, path)
        }
    }

    subscript(name: String) -> String? { values[name] }

    /// The number of a setting, or what it is without one.
    func number(_ name: String, else usual: Int) -> Int { values[name].flatMap { Int($0) } ?? usual }

    /// What sets, for a connection, all that has no place of its own.
    var statements: String {
        values.sorted { $0.key < $1.key }.filter { !StorePragmas.special.contains($0.key) }
            .map { ";PRAGMA \($0.key)=\($0.value)" }.joined()
    }

    private static func unknown(_ name: String, _ value: String, _ path: String) -> CoreError {
        let names = rules.map(\.name)
        let near = nearestName(to: name.lowercased(), among: names).map { "did you mean \"\($0)\"?" }
        return refusal(
            "the pragma \"\(name)\" of \(path) is not supported; \(near ?? "use one of \(names.joined(separator: ", "))")",
            name, value, path)
    }

    private static func refusal(_ message: String, _ name: String, _ value: String, _ path: String) -> CoreError {
        CoreError(
            .invalidArgument, code: .persistentStoreOpen, message, key: name, value: .string(value), file: path)
    }
}

extension StorePragmas.Rule {
    /// What SQLite is told for a value; nil for one that the setting does not take.
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
