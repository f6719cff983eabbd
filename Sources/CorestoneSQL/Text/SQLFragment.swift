import CorestoneValues

/// A part of a statement: literal SQL, identifiers of the schema, and values to bind.
///
/// A fragment is written as a string literal with interpolations: `"\(t0, "ZNAME") = \(bind: value)"`. Interpolations
/// insert values only as bindings or as integer literals, so user input cannot become SQL.
package struct SQLFragment: Hashable, Sendable {
    package enum Segment: Hashable, Sendable {
        case sql(String)
        case identifier(String)
        case binding(SQLValue)
    }

    package private(set) var segments: [Segment]

    package init() { segments = [] }

    package var isEmpty: Bool { segments.isEmpty }

    package static func += (fragment: inout SQLFragment, other: SQLFragment) {
        for segment in other.segments { fragment.append(segment) }
    }

    private mutating func append(_ segment: Segment) {
        if case .sql(let text) = segment {
            if text.isEmpty { return }
            if case .sql(let before)? = segments.last {
                segments[segments.count - 1] = .sql(before + text)
                return
            }
        }
        segments.append(segment)
    }
}

/// The alias of a table in a statement, such as `t0`.
package struct Alias: Hashable, Sendable {
    let number: Int

    var text: String { "t\(number)" }
}

extension SQLFragment: ExpressibleByStringInterpolation {
    package struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var fragment = SQLFragment()

        package init(literalCapacity: Int, interpolationCount: Int) {}

        package mutating func appendLiteral(_ literal: String) { fragment.append(.sql(literal)) }
        package mutating func appendInterpolation(_ other: SQLFragment) { fragment += other }
        package mutating func appendInterpolation(_ alias: Alias) { fragment.append(.sql(alias.text)) }
        /// Appends a column of a table.
        package mutating func appendInterpolation(_ alias: Alias, _ column: String) {
            fragment.append(.sql(alias.text + "."))
            fragment.append(.identifier(column))
        }
        package mutating func appendInterpolation(identifier: String) { fragment.append(.identifier(identifier)) }
        package mutating func appendInterpolation(bind value: SQLValue) { fragment.append(.binding(value)) }
        /// Appends an integer literal, such as an entity number or a limit.
        package mutating func appendInterpolation(number: Int64) { fragment.append(.sql(String(number))) }
        /// Appends the name of a registered function.
        package mutating func appendInterpolation(function: ComputedFunction) { fragment.append(.sql(function.name)) }
        /// Appends a keyword or an operator.
        package mutating func appendInterpolation(word: StaticString) { fragment.append(.sql("\(word)")) }
    }

    package init(stringLiteral value: String) {
        segments = value.isEmpty ? [] : [.sql(value)]
    }

    package init(stringInterpolation: StringInterpolation) { self = stringInterpolation.fragment }
}

extension [SQLFragment] {
    func joined(separator: SQLFragment) -> SQLFragment {
        var whole = SQLFragment()
        for (index, part) in enumerated() {
            if index > 0 { whole += separator }
            whole += part
        }
        return whole
    }
}

/// The text of a statement, and the values of its placeholders in order.
package struct SQLQuery: Hashable, Sendable {
    package let text: String
    package let bindings: [SQLValue]
}

extension SQLFragment {
    package func rendered(_ dialect: some SQLDialect) -> SQLQuery {
        var text = ""
        var bindings: [SQLValue] = []
        for segment in segments {
            switch segment {
            case .sql(let part): text += part
            case .identifier(let name): text += dialect.quoted(name)
            case .binding(let value):
                bindings.append(value)
                text += dialect.placeholder(bindings.count)
            }
        }
        return SQLQuery(text: text, bindings: bindings)
    }
}
