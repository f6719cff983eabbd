/// A JSON value. The members of objects keep their order.
indirect enum JSON {
    case null
    case bool(Bool)
    /// A number with the exact digits to be written.
    case number(String)
    case string(String)
    case array([JSON])
    case object([(String, JSON)])

    static func number(_ value: Int) -> JSON { .number(String(value)) }
    static func optional(_ text: String?) -> JSON { text.map { .string($0) } ?? .null }

    /// Returns a finite number, or otherwise its name as a string.
    static func double(_ value: Double) -> JSON {
        if value.isNaN { return .string("NaN") }
        if value.isInfinite { return .string(value < 0 ? "-Infinity" : "Infinity") }
        return .number(value.description)
    }
}

extension JSON {
    /// The value on one line.
    var line: String {
        var text = ""
        write(to: &text)
        return text
    }

    /// Returns the value on one line, or nil if that needs more than `limit` bytes. Stops at the limit.
    private func line(within limit: Int) -> String? {
        var text = ""
        return write(to: &text, within: limit) ? text : nil
    }

    @discardableResult
    func write(to text: inout String, within limit: Int = .max) -> Bool {
        switch self {
        case .null: text += "null"
        case .bool(let flag): text += flag ? "true" : "false"
        case .number(let digits): text += digits
        case .string(let string):
            guard string.utf8.count <= limit - text.utf8.count else { return false }
            text.appendJSON(string)
        case .array(let items):
            text += "["
            for (place, item) in items.enumerated() {
                if place > 0 { text += ", " }
                guard item.write(to: &text, within: limit) else { return false }
            }
            text += "]"
        case .object(let members):
            text += "{"
            for (place, member) in members.enumerated() {
                if place > 0 { text += ", " }
                text.appendJSON(member.0)
                text += ": "
                guard member.1.write(to: &text, within: limit) else { return false }
            }
            text += "}"
        }
        return text.utf8.count <= limit
    }

    /// Writes the value in pieces. Values that do not fit on one line have one member per line.
    func pretty(indent: Int = 0, _ put: (String) throws -> Void) rethrows {
        if let line = line(within: 100 - indent) { return try put(line) }
        let margin = String(repeating: " ", count: indent)
        switch self {
        case .array(let items) where !items.isEmpty:
            for (place, item) in items.enumerated() {
                try put((place == 0 ? "[\n" : ",\n") + margin + "  ")
                try item.pretty(indent: indent + 2, put)
            }
            try put("\n\(margin)]")
        case .object(let members) where !members.isEmpty:
            for (place, member) in members.enumerated() {
                try put((place == 0 ? "{\n" : ",\n") + margin + "  \(JSON.string(member.0).line): ")
                try member.1.pretty(indent: indent + 2, put)
            }
            try put("\n\(margin)}")
        default: try put(line)
        }
    }
}
