import CorestoneValues

extension Predicate {
    /// The predicate as text in Core Data's spelling: canonical operators, words in capitals, compounds within compounds
    /// in parentheses.
    public var format: String {
        switch self {
        case .constant(let value): return value ? "TRUEPREDICATE" : "FALSEPREDICATE"
        case .comparison(let comparison): return comparison.format
        case .compound(let compound): return compound.format
        }
    }
}

extension Predicate: CustomStringConvertible {
    public var description: String { format }
}

extension Compound {
    var format: String {
        switch type {
        case .not: return "NOT " + operand(parts[0])
        case .and where parts.isEmpty: return "TRUEPREDICATE"
        case .or where parts.isEmpty: return "FALSEPREDICATE"
        case .and, .or:
            if parts.count == 1 { return parts[0].format }
            return parts.map(operand).joined(separator: type == .and ? " AND " : " OR ")
        }
    }

    private func operand(_ part: Predicate) -> String {
        if case .compound(let compound) = part, !compound.printsAsWord { return "(\(part.format))" }
        return part.format
    }

    /// An empty compound is a single word.
    private var printsAsWord: Bool { type != .not && parts.isEmpty }
}

extension Comparison {
    var format: String {
        let prefix =
            switch modifier {
            case .direct: ""
            case .any: "ANY "
            case .all: "ALL "
            }
        return "\(prefix)\(left.format) \(`operator`.symbol)\(options.suffix) \(right.format)"
    }
}
