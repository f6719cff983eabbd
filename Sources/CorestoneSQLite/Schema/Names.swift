import CorestoneValues

/// Names in the order in which they are given out: the first of several equal ones stays plain, the next get 1, 2, 3…
/// Names are equal by bytes, as SQL has it.
struct UniqueNames {
    private var taken: Set<Text>
    private var counts: [Text: Int] = [:]

    init(taken: [String] = []) { self.taken = Set(taken.map { Text($0) }) }

    mutating func take(_ name: String) -> String {
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

/// A name with the number of an entity in it, such as `Z_3TAGS`. Migrations and older frameworks may have numbered
/// otherwise than the rules say, and what is equal otherwise gets a count behind it.
struct NumberedName {
    let prefix: String
    let number: Int64
    let tail: String

    var text: String { "\(prefix)\(number)\(tail)" }

    /// Whether `name` is this one, perhaps with another number and with a count behind it.
    func resembles(_ name: String) -> Bool {
        // By bytes: an accent behind the number is one character with its last digit.
        let isDigit = { (byte: UInt8) in 0x30...0x39 ~= byte }
        guard name.utf8.starts(with: prefix.utf8) else { return false }
        let number = name.utf8.dropFirst(prefix.utf8.count)
        let rest = number.drop(while: isDigit)
        guard rest.count < number.count, rest.starts(with: tail.utf8) else { return false }
        return rest.dropFirst(tail.utf8.count).allSatisfy(isDigit)
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
        // By bytes: a quote that an accent follows is one character with it.
        var bytes = [UInt8(ascii: "\"")]
        for byte in utf8 {
            if byte == UInt8(ascii: "\"") { bytes.append(byte) }
            bytes.append(byte)
        }
        return String(decoding: bytes, as: UTF8.self) + "\""
    }
}
