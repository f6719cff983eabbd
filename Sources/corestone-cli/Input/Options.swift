import Corestone

/// The parsed operands and options of a command line.
struct Options {
    fileprivate(set) var operands: [String] = []
    fileprivate var values: [String: [String]] = [:]
    fileprivate(set) var asksForHelp = false

    /// The last value of an option; nil if the option was not passed.
    subscript(name: String) -> String? { values[name]?.last }
    /// Returns all values of a repeatable option, in order.
    func all(_ name: String) -> [String] { values[name] ?? [] }
    func has(_ name: String) -> Bool { values[name] != nil }

    /// Returns an operand by index, or nil if it was omitted.
    func operand(_ place: Int) -> String? { place < operands.count ? operands[place] : nil }

    /// Returns the value as an integer of at least `least`, or `fallback` if the option was not passed.
    func number(_ name: String, or fallback: Int, from least: Int = 0) throws -> Int {
        guard let text = self[name] else { return fallback }
        guard let number = Int(text), number >= least else {
            throw UsageError("--\(name) must be an integer from \(least) to \(Int.max), not \"\(text)\"")
        }
        return number
    }

    /// Returns the model of `--model`. For a bundle, it is the current version.
    func model() throws -> Model? { try self["model"].map { try carried(by: $0) ?? Model(contentsOf: $0) } }

    /// Returns the model of `--model` for a store. For a bundle, it is the version with which the store was written.
    func model(forStoreAt path: String) throws -> Model? {
        try self["model"].map { try carried(by: $0) ?? Model.load($0, forStoreAt: path) }
    }

    /// Returns the model in an SQLite store, or nil for any other file.
    private func carried(by path: String) throws -> Model? {
        guard !looksLikeModel(path), (try? StoreType(ofStoreAt: path)) == .some(.sqlite) else { return nil }
        return try Coordinator.open(path, options: .readOnly).model
    }
}

extension Manual {
    /// Parses a command line. After `--`, all arguments are operands.
    func parse(_ arguments: [String]) throws -> Options {
        var result = Options()
        var rest = arguments[...]
        var takesOptions = true
        while let word = rest.popFirst() {
            if !takesOptions || !word.hasPrefix("-") || word == "-" {
                result.operands.append(word)
            } else if word == "--" {
                takesOptions = false
            } else if word == "--help" || word == "-h" {
                result.asksForHelp = true
            } else {
                let (option, value) = try read(word, &rest)
                if !option.isRepeatable, result.values[option.name] != nil {
                    throw failure("--\(option.name) can only be used once")
                }
                result.values[option.name, default: []].append(value)
            }
        }
        if !result.asksForHelp {
            try checkCount(of: result.operands)
            let paths = ["FILE", "DIR", "MODEL", "STORE", "COPY", "BACKUP"]
            for option in options where paths.contains(option.value ?? "") && result.all(option.name).contains("") {
                throw failure("--\(option.name) is empty; pass a path")
            }
        }
        return result
    }

    private func read(_ word: String, _ rest: inout ArraySlice<String>) throws -> (Option, String) {
        let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let name = String(parts[0].drop { $0 == "-" })
        let isLong = word.hasPrefix("--")
        guard let option = options.first(where: { isLong ? $0.name == name : $0.letter.map { String($0) } == name })
        else {
            let hint = nearestName(to: name, among: options.map(\.name)).map { "; did you mean --\($0)?" } ?? ""
            throw failure("\(command) does not have an option \"\(parts[0])\"\(hint)")
        }
        guard let wanted = option.value else {
            guard parts.count == 1 else { throw failure("\(parts[0]) does not take a value, but has \"\(parts[1])\"") }
            return (option, "")
        }
        if parts.count == 2 { return (option, String(parts[1])) }
        if option.isValueOptional { return (option, "") }
        guard let value = rest.popFirst() else { throw failure("\(parts[0]) requires a value: \(wanted)") }
        return (option, value)
    }

    private func checkCount(of given: [String]) throws {
        if given.count > operands.count, operands.last?.isRepeatable != true {
            throw failure(
                "unexpected argument \"\(given[operands.count])\"; omit it, or put quotes around an argument that "
                    + "contains spaces")
        }
        let missing = operands.dropFirst(given.count).filter { !$0.isOptional }
        if let first = missing.first {
            // Notes of the manual follow the first semicolon of a meaning.
            let meaning = first.meaning.prefix { $0 != ";" }
            throw failure("\(command) requires \(first.name): \(meaning)")
        }
        let paths = ["STORE", "STORE|MODEL", "MODEL", "OLDER", "NEWER", "OLD", "NEW", "FOLDER", "FILE", "TO"]
        for (place, text) in given.enumerated() where text.isEmpty {
            let name = operands[min(place, operands.count - 1)].name
            if paths.contains(name) { throw failure("\(name) is an empty string; pass a path") }
        }
    }

    private func failure(_ message: String) -> UsageError {
        UsageError(message, usage: "usage: \(usage)\nrun \(Tool.name) \(command) --help for details\n")
    }
}
