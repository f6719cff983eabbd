import CorestonePredicate
import CorestoneValues

extension PredicateCompiler {
    /// Compiles BEGINSWITH, ENDSWITH, LIKE, MATCHES and UTI-EQUALS.
    func strings(_ left: Operand, _ right: Operand, _ comparison: Comparison) throws -> Condition {
        if left.kind == .null || right.kind == .null { return .constant(false) }
        try requireTexts(left, right, comparison)
        let options = comparison.options
        if let a = left.constant, let b = right.constant {
            let both = Comparison(.constant(a), comparison.operator, .constant(b), options: options)
            return .constant(try Predicate.comparison(both).evaluate(with: .null))
        }
        let constant = right.constant?.textual
        switch comparison.operator {
        case .beginsWith:
            if let constant, !options.folds { return beginning(left, right, constant, options) }
            return call(.beginsWith, left, right, options)
        case .endsWith:
            if constant?.isEmpty == true { return .constant(false) }
            return call(.endsWith, left, right, options)
        case .like:
            if let constant, !options.folds, let simple = simpleLike(left, constant) { return simple }
            return call(.like, left, right, options)
        case .matches:
            if let constant {
                if constant.isEmpty { return .constant(false) }
                _ = try compilePattern(constant, options, isCached: true)
            }
            return call(.matches, left, right, options)
        default:
            return Condition(sql: "cst_compare(\(left.sql), \(right.sql), 1) = 0")
        }
    }

    /// Compiles the condition that a string contains another one, for CONTAINS, and for IN with a string on the right.
    func substring(_ part: Operand, in text: Operand, _ comparison: Comparison) throws -> Condition {
        if part.kind == .null || text.kind == .null { return .constant(false) }
        guard text.kind.isTextual else {
            throw CoreError(
                .predicate,
                "\"\(Predicate.comparison(comparison).format)\" cannot be evaluated: \(comparison.operator.symbol) needs a collection "
                    + "or a string\(text.mismatch())",
                entity: text.attribute?.entity.name, key: text.attribute?.path, value: text.constant)
        }
        guard part.kind.isTextual else {
            let found = (part.attributeName ?? part.constant?.excerpt).map { " (\($0))" } ?? ""
            // A text that does not name both sides begins with the comparison.
            let start =
                text.attributeName == nil || found.isEmpty
                ? "\"\(Predicate.comparison(comparison).format)\" cannot be evaluated: " : ""
            let remedy =
                part.constant == nil ? "use a string, or convert with CAST(…, \"NSString\")" : "pass a string instead"
            throw CoreError(
                .predicate,
                "\(start)cannot search \(text.attributeName ?? "a string") for \(part.kind.name)\(found); \(remedy)",
                entity: text.attribute?.entity.name, key: text.attribute?.path, value: part.constant)
        }
        if let constant = part.constant?.textual {
            if constant.isEmpty { return .constant(false) }
            if let whole = text.constant?.textual {
                return .constant(
                    TextSearch.contains(whole.utf8, constant.utf8, options: comparison.options, anchor: .anywhere))
            }
            if !comparison.options.folds { return holding(text, part, constant, comparison.options) }
        }
        return call(.contains, text, part, comparison.options)
    }

    /// Compiles BEGINSWITH with a constant.
    ///
    /// A range condition, which can use an index, selects the strings that begin with the bytes common to all Unicode
    /// forms of the constant. On the rows in this range, the registered function compares composed and decomposed
    /// forms.
    private func beginning(
        _ left: Operand, _ right: Operand, _ constant: Text, _ options: Comparison.Options
    ) -> Condition {
        if options.contains(.normalized) || constant.isEmpty { return prefix(left.sql, constant) }
        let exact = call(.beginsWith, left, right, options)
        let head = constant.commonHead
        if head.isEmpty { return exact }
        return Condition(
            sql: "\(prefix(left.sql, head).sql) AND \(exact.sql)", isAtom: false, isConjunct: true)
    }

    /// Compiles CONTAINS with a constant.
    ///
    /// For an ASCII constant, the database's own search excludes rows before the registered function is called.
    private func holding(
        _ text: Operand, _ part: Operand, _ constant: Text, _ options: Comparison.Options
    ) -> Condition {
        let literal = dialect.contains(text.sql, part.sql)
        if options.contains(.normalized) { return Condition(sql: literal) }
        let exact = call(.contains, text, part, options)
        if !constant.isASCII { return exact }
        return Condition(sql: "\(literal) AND \(exact.sql)", isAtom: false, isConjunct: true)
    }

    private func call(
        _ function: StoreFunction, _ text: Operand, _ pattern: Operand, _ options: Comparison.Options
    ) -> Condition {
        Condition(sql: "\(function.name)(\(text.sql), \(pattern.sql), \(number: options.foldFlags))")
    }

    /// Returns a range that can use an index: from the prefix up to the next text that does not begin with it.
    private func prefix(_ column: SQLFragment, _ prefix: Text) -> Condition {
        if prefix.isEmpty { return .constant(false) }
        let start: SQLFragment = "\(column) >= \(bind: .text(prefix))"
        guard let end = prefix.successor else { return Condition(sql: start) }
        return Condition(sql: "\(start) AND \(column) < \(bind: .text(end))", isAtom: false, isConjunct: true)
    }

    /// Compiles LIKE without wildcards, or with only a `*` at the end, or returns nil for other patterns.
    ///
    /// SQL evaluates these patterns without a call of a registered function for each row.
    private func simpleLike(_ left: Operand, _ pattern: Text) -> Condition? {
        let wildcards = [UInt8(ascii: "*"), UInt8(ascii: "?"), UInt8(ascii: "\\")]
        let bytes = Array(pattern.utf8)
        guard let first = bytes.firstIndex(where: { wildcards.contains($0) }) else {
            return Condition(sql: "\(left.sql) = \(bind: .text(pattern))")
        }
        guard first == bytes.count - 1, bytes[first] == UInt8(ascii: "*") else { return nil }
        if first == 0 { return Condition(sql: "\(left.sql) IS NOT NULL", isTwoValued: true) }
        return prefix(left.sql, bytes[..<first].withUnsafeBytes { Text(utf8: $0) })
    }

    private func requireTexts(_ left: Operand, _ right: Operand, _ comparison: Comparison) throws {
        let sides = [(left, right, comparison.left), (right, left, comparison.right)]
        for (operand, other, expression) in sides where !operand.kind.isTextual {
            if let attribute = operand.attribute {
                // With ANY or ALL, the expression is a collection, which cannot be cast.
                let path = comparison.modifier == .direct ? expression.format : "…"
                throw mismatch(
                    comparison, attribute, operand, beside: other,
                    "and \(comparison.operator.symbol) compares strings; compare a string, or CAST(\(path), \"NSString\")"
                )
            }
            throw CoreError(
                .predicate,
                "\"\(Predicate.comparison(comparison).format)\" cannot be evaluated: \(comparison.operator.symbol) compares strings, "
                    + "not \(left.kind.name) with \(right.kind.name); compare two strings, or convert with CAST(…, \"NSString\")",
                value: operand.constant)
        }
    }
}

extension StoreFunction {
    fileprivate var name: SQLFragment {
        switch self {
        case .compare: "cst_compare"
        case .contains: "cst_contains"
        case .beginsWith: "cst_begins"
        case .endsWith: "cst_ends"
        case .like: "cst_like"
        case .matches: "cst_matches"
        }
    }
}

extension Text {
    /// The bytes that every Unicode form of the text begins with, composed or decomposed.
    ///
    /// These are its ASCII prefix, without a last letter that a combining mark follows.
    fileprivate var commonHead: Text {
        let ascii = asciiCount
        if ascii == count { return self }
        let head = UnsafeRawBufferPointer(rebasing: utf8[..<ascii])
        let rest = string.unicodeScalars.dropFirst(ascii)
        let isAccented = rest.first.map { $0.properties.canonicalCombiningClass != .notReordered } ?? false
        return Text(utf8: isAccented && ascii > 0 ? UnsafeRawBufferPointer(rebasing: head.dropLast()) : head)
    }

    /// The least text that is greater than every text that begins with this one; nil if there is no such text.
    ///
    /// UTF-8 sorts as the code points do. The last code point that has a successor is therefore replaced with the
    /// successor, and the code points after it are removed.
    fileprivate var successor: Text? {
        var scalars = Array(string.unicodeScalars)
        while let last = scalars.popLast() {
            if last.value == 0x10FFFF { continue }
            guard let next = UnicodeScalar(last.value == 0xD7FF ? 0xE000 : last.value + 1) else { continue }
            scalars.append(next)
            return Text(String(String.UnicodeScalarView(scalars)))
        }
        return nil
    }
}
