/// Names in the order in which they are given out: the first of several equal ones stays plain, the next get 1, 2, 3…
struct UniqueNames {
    private var taken: Set<String>
    private var counts: [String: Int] = [:]

    init(taken: [String] = []) { self.taken = Set(taken) }

    mutating func take(_ name: String) -> String {
        if taken.insert(name).inserted { return name }
        var number = counts[name, default: 0]
        var candidate: String
        repeat {
            number += 1
            candidate = name + String(number)
        } while !taken.insert(candidate).inserted
        counts[name] = number
        return candidate
    }
}

/// A name with the number of an entity in it, such as `Z_3TAGS`. Migrations and older frameworks may have numbered
/// otherwise than the rules say, and what is equal otherwise gets a count behind it.
struct NumberedName {
    let prefix: String
    let number: Int64
    let tail: String

    var text: String { "\(prefix)\(number)\(tail)" }

    /// Whether `name` is this one, perhaps with another number and with a count behind it.
    func resembles(_ name: String) -> Bool {
        guard name.hasPrefix(prefix) else { return false }
        let rest = name.dropFirst(prefix.count).drop { $0.isASCII && $0.isNumber }
        guard rest.count < name.count - prefix.count, rest.hasPrefix(tail) else { return false }
        return rest.dropFirst(tail.count).allSatisfy { $0.isASCII && $0.isNumber }
    }

    /// `expected`, unless the file has another name instead that resembles this one. `existing` nil is no file.
    func choose(_ expected: String, existing: [String: String]?, taken: (String) -> Bool) -> String {
        guard let existing, existing[expected] == nil else { return expected }
        return existing.keys.filter { resembles($0) && !taken($0) }.min(by: byteOrder) ?? expected
    }
}

extension String {
    /// As the name of a table or column in SQL, whatever it consists of.
    var asIdentifier: String {
        "\"" + split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
    }
}
