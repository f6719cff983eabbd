import CorestoneValues

/// A source of unique names.
///
/// The first of several equal names is unchanged, the next ones are numbered 1, 2, 3… Names are compared by bytes, as
/// in SQL.
struct UniqueNames {
    private var taken: Set<Text>
    private var counts: [Text: Int] = [:]

    init(taken: [String] = []) { self.taken = Set(taken.map { Text($0) }) }

    mutating func makeUnique(_ name: String) -> String {
        if taken.insert(Text(name)).inserted { return name }
        var number = counts[Text(name), default: 0]
        var candidate: String
        repeat {
            number += 1
            candidate = name + String(number)
        } while !taken.insert(Text(candidate)).inserted
        counts[Text(name)] = number
        return candidate
    }
}

/// A name that contains an entity number, such as `Z_3TAGS`.
///
/// Migrations and older versions of Core Data may have used other numbers. Names that are otherwise equal end with a
/// count.
struct NumberedName {
    let prefix: String
    let number: Int64
    let tail: String

    var text: String { "\(prefix)\(number)\(tail)" }

    /// Whether `name` is equal to this name except for the entity number and a count at the end.
    func resembles(_ name: String) -> Bool {
        // The names are compared by bytes, because a combining mark after the number forms one character with its last
        // digit.
        let isDigit = { (byte: UInt8) in 0x30...0x39 ~= byte }
        guard name.utf8.starts(with: prefix.utf8) else { return false }
        let number = name.utf8.dropFirst(prefix.utf8.count)
        let rest = number.drop(while: isDigit)
        guard rest.count < number.count, rest.starts(with: tail.utf8) else { return false }
        return rest.dropFirst(tail.utf8.count).allSatisfy(isDigit)
    }

    /// Returns `expected`, unless the file has another name that resembles this one instead.
    ///
    /// - Parameter existing: The names in the file; nil without a file.
    func choose(_ expected: String, existing: [String: String]?, taken: (String) -> Bool) -> String {
        guard let existing, existing[expected] == nil else { return expected }
        return existing.keys.filter { resembles($0) && !taken($0) }.min(by: byteOrder) ?? expected
    }
}

extension String {
    /// The text as a quoted identifier in SQL.
    var asIdentifier: String {
        // The text is processed by bytes, because a quote and a following combining mark form one character.
        var bytes = [UInt8(ascii: "\"")]
        for byte in utf8 {
            if byte == UInt8(ascii: "\"") { bytes.append(byte) }
            bytes.append(byte)
        }
        return String(decoding: bytes, as: UTF8.self) + "\""
    }
}
