/// A value of JSON; members of objects keep their order.
indirect enum JSON {
    case null
    case bool(Bool)
    /// Digits as they are to be written.
    case number(String)
    case string(String)
    case array([JSON])
    case object([(String, JSON)])

    static func number(_ value: Int) -> JSON { .number(String(value)) }
    static func optional(_ text: String?) -> JSON { text.map { .string($0) } ?? .null }

    /// A number where JSON has one, else its name.
    static func double(_ value: Double) -> JSON {
        if value.isNaN { return .string("NaN") }
        if value.isInfinite { return .string(value < 0 ? "-Infinity" : "Infinity") }
        return .number(value.description)
    }
}

extension JSON {
    /// On one line.
    var line: String {
        var text = ""
        write(to: &text)
        return text
    }

    func write(to text: inout String) {
        switch self {
        case .null: text += "null"
        case .bool(let flag): text += flag ? "true" : "false"
        case .number(let digits): text += digits
        case .string(let string): text.appendJSON(string)
        case .array(let items):
            text += "["
            for (place, item) in items.enumerated() {
                if place > 0 { text += ", " }
                item.write(to: &text)
            }
            text += "]"
        case .object(let members):
            text += "{"
            for (place, member) in members.enumerated() {
                if place > 0 { text += ", " }
                text.appendJSON(member.0)
                text += ": "
                member.1.write(to: &text)
            }
            text += "}"
        }
    }

    /// With one member a line where there is more than fits one.
    func pretty(indent: Int = 0) -> String {
        let line = self.line
        if line.utf8.count + indent <= 100 { return line }
        let margin = String(repeating: " ", count: indent)
        switch self {
        case .array(let items) where !items.isEmpty:
            let inner = items.map { "\(margin)  \($0.pretty(indent: indent + 2))" }
            return "[\n\(inner.joined(separator: ",\n"))\n\(margin)]"
        case .object(let members) where !members.isEmpty:
            let inner = members.map { "\(margin)  \(JSON.string($0.0).line): \($0.1.pretty(indent: indent + 2))" }
            return "{\n\(inner.joined(separator: ",\n"))\n\(margin)}"
        default: return line
        }
    }
}
