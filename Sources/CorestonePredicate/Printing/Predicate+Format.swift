import CorestoneValues

extension Predicate {
    /// The predicate as text in Core Data's spelling.
    ///
    /// Operators are canonical, keywords are in capitals, and nested compounds are in parentheses.
    public var format: String { format(.plain) }

    package func format(_ style: LiteralStyle) -> String {
        switch self {
        case .constant(let value): return value ? "TRUEPREDICATE" : "FALSEPREDICATE"
        case .comparison(let comparison): return comparison.format(style)
        case .compound(let compound): return compound.format(style)
        case .block(let block): return "BLOCKPREDICATE(0x\(String(block.identity, radix: 16)))"
        }
    }
}

extension Predicate: CustomStringConvertible {
    public var description: String { format }
}

extension Compound {
    fileprivate func format(_ style: LiteralStyle) -> String {
        switch type {
        case .not: return "NOT " + operand(parts[0], style)
        case .and where parts.isEmpty: return "TRUEPREDICATE"
        case .or where parts.isEmpty: return "FALSEPREDICATE"
        case .and, .or:
            if parts.count == 1 { return parts[0].format(style) }
            return parts.map { operand($0, style) }.joined(separator: type == .and ? " AND " : " OR ")
        }
    }

    private func operand(_ part: Predicate, _ style: LiteralStyle) -> String {
        if case .compound(let compound) = part, !compound.printsAsWord { return "(\(part.format(style)))" }
        return part.format(style)
    }

    /// Whether the compound is printed as a single word, because it is empty.
    private var printsAsWord: Bool { type != .not && parts.isEmpty }
}

extension Comparison {
    fileprivate func format(_ style: LiteralStyle) -> String {
        let prefix =
            switch modifier {
            case .direct: ""
            case .any: "ANY "
            case .all: "ALL "
            }
        return "\(prefix)\(left.format(style)) \(`operator`.symbol)\(options.suffix) \(collection(style))"
    }

    /// Returns the right side. A set on the right of IN is printed as a list, which is equivalent there.
    private func collection(_ style: LiteralStyle) -> String {
        if case .constant(.set(let values)) = right, `operator` == .in, style != .blank {
            return PropertyValue.list(values, style)
        }
        return right.format(style)
    }
}
