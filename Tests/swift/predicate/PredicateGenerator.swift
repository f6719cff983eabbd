import CorestonePredicate
import CorestoneValues

/// Generates random predicates that have a text, and values to evaluate them on.
struct PredicateGenerator {
    /// Uses constants of every kind, which round-trip only in the exact style.
    var usesAllConstants = false
    /// Uses functions with any number of arguments, and blocks, which do not have a text.
    var isWild = false
    private var state: UInt64

    init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 | 1 }

    mutating func below(_ bound: Int) -> Int {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return Int(state % UInt64(bound))
    }

    private mutating func pick<T>(_ values: [T]) -> T { values[below(values.count)] }

    mutating func predicate(depth: Int) throws -> Predicate {
        switch depth > 0 ? below(8) : 7 {
        case 0: return .constant(below(2) == 0)
        case 1: return try .not(try predicate(depth: depth - 1))
        case 2, 3:
            let parts = try (0..<(2 + below(3))).map { _ in try predicate(depth: depth - 1) }
            return below(2) == 0 ? try .and(parts) : try .or(parts)
        case 4 where isWild:
            return .block(BlockPredicate { value, variables in value.isNull || variables.isEmpty })
        default: return .comparison(try comparison(depth: depth))
        }
    }

    private mutating func comparison(depth: Int) throws -> Comparison {
        let operation: Comparison.Operator = pick([
            .equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual, .between, .in, .contains, .beginsWith,
            .endsWith, .like, .matches, .tokenMatches, .utiConformsTo, .utiEquals, .custom("isKindOfClass:"),
            .custom("isEqual:"), .custom("nobodyKnows:"),
        ])
        let options = Comparison.Options(rawValue: below(3) == 0 ? UInt8(below(32)) : 0)
        let left = try expression(depth: depth - 1)
        var right = try expression(depth: depth - 1)
        // A set as the right operand of IN is printed as a list.
        if operation == .in, case .constant(.set(let values)) = right { right = .constant(.array(Array(values))) }
        return Comparison(
            left, operation, right,
            modifier: pick([.direct, .direct, .any, .all]), options: options)
    }

    mutating func expression(depth: Int) throws -> Expression {
        if depth <= 0 { return leaf() }
        switch below(18) {
        case 0: return try function(depth: depth - 1)
        case 1: return try function(depth: depth - 1)
        case 2:
            return .ternary(
                try predicate(depth: depth - 1), try expression(depth: depth - 1), try expression(depth: depth - 1))
        case 3: return .subquery(try collection(depth: depth - 1), variable: "x", try predicate(depth: depth - 1))
        case 4: return .path(.subquery(key(), variable: "x", try predicate(depth: depth - 1)), KeyPath("@count"))
        case 5: return .setOperation(pick(SetOperator.allCases), try collection(depth: depth - 1), key())
        case 6: return .indexed(try collection(depth: depth - 1), try index(depth: depth - 1))
        case 7: return .aggregate([try expression(depth: depth - 1), key()])
        case 8:
            return .message(
                receiver: try expression(depth: depth - 1),
                selector: .string(
                    pick(["length", "description", "stringByAppendingString:", "nope", "objectAtIndex:"])),
                arguments: try (0..<below(3)).map { _ in try expression(depth: depth - 1) })
        case 9: return .dynamicKey(key(), variable: "k")
        case 10: return .computedKey(key(), key: .indexed(.key(pick(["a", "like", "größe"])), .value(leaf())))
        case 11: return .cast(key(), type: .string(pick(["NSDate", "NSNumber", "NSString", "Class", "Thing"])))
        case 12: return .assignment(variable: "v", try expression(depth: depth - 1))
        case 13: return .fetch(try expression(depth: depth - 1), context: key(), countOnly: leaf())
        case 14:
            let base = pick([.selfObject, .variable("x"), .anyKey, .indexed(key(), .first)] as [Expression])
            return .path(base, KeyPath(pick(["name", "b.@max.self", "like.in", "@sum.price"])))
        case 15 where isWild:
            return .block(BlockExpression { value, arguments, _ in .array([value] + arguments) }, [leaf()])
        default: return leaf()
        }
    }

    private mutating func collection(depth: Int) throws -> Expression {
        below(3) == 0 ? try expression(depth: depth) : key()
    }

    private mutating func index(depth: Int) throws -> ElementIndex {
        pick([.first, .last, .size, .value(try expression(depth: depth)), .value(.integer(Int64(below(5)) - 1))])
    }

    /// All functions except those that are printed differently; a sign before a constant is a constant.
    private static let functions = Function.allCases.filter { ![.elementAt, .castObject].contains($0) }

    private mutating func function(depth: Int) throws -> Expression {
        let function = isWild ? pick(Function.allCases) : pick(PredicateGenerator.functions)
        if isWild, below(8) == 0 {
            return .function(function, try (0..<below(4)).map { _ in try expression(depth: depth) })
        }
        if function == .negate { return .function(.negate, [key()]) }
        let counts = function.argumentCounts
        let count = counts.lowerBound + (counts.upperBound > counts.lowerBound ? below(3) : 0)
        return .function(function, try (0..<count).map { _ in try expression(depth: depth) })
    }

    private mutating func leaf() -> Expression {
        switch below(10) {
        case 0: return .integer(Int64(below(2_000)) - 1_000)
        case 1: return .constant(.double(Double(below(1_000)) / 8))
        case 2: return .string(text())
        case 3:
            if usesAllConstants { return .constant(value(depth: 2)) }
            return .constant(
                pick([.null, .bool(true), .array([.int(1), .string("a")]), .date(-978_250_148), .date(0.25)]))
        case 4: return .variable(pick(["x", "name", "v"]))
        case 5: return .selfObject
        case 6: return .anyKey
        default: return key()
        }
    }

    private mutating func text() -> String {
        pick([
            "", "plain", #"quo"te"#, #"back\slash"#, "Grüße, 世界", "two\nlines", "%@ $x", "a*b?", "^[a-z]+$",
            "cafe\u{301}",
            "public.jpeg", "NSString",
        ])
    }

    private mutating func key() -> Expression {
        .key(
            pick([
                "a", "name", "department.name", "like", "first.last", "items.@count", "items.@sum.price", "größe",
                "items.@unionOfArrays.price", "items.@distinctUnionOfObjects.self", "@max.self", "_x1", "any.size",
            ]))
    }
}

// MARK: - Values

extension PredicateGenerator {
    /// A value that predicates may meet, of any kind.
    mutating func value(depth: Int) -> PropertyValue {
        switch below(depth > 0 ? 16 : 12) {
        case 0: return .null
        case 1: return .bool(below(2) == 0)
        case 2: return .int(pick([0, 1, -1, 7, .max, .min, 64, -63]))
        case 3: return .double(pick([0, -0.5, 1e300, .infinity, -.infinity, 5, 9.3e18, 5e-324]))
        case 4:
            // Decimals are read back as equal doubles; `LiteralTests` tests them.
            guard isWild else { return .int(4) }
            return .decimal(
                DecimalNumber(
                    mantissa: UInt128(below(1 << 40)) * pick([1, 1 << 80]), exponent: Int8(below(100) - 50),
                    isNegative: below(2) == 0))
        case 5, 6, 7: return .string(text())
        case 8: return .date(pick([0, 0.1, 1e9, -1e15, 1e300]))
        case 9: return .bytes(Bytes([UInt8(below(256)), 0]))
        case 10: return .uuid(UUIDValue(high: 1, low: UInt64(below(3))))
        case 11: return .uri(Text("https://example.org/\(below(3))"))
        case 12: return .array((0..<below(4)).map { _ in value(depth: depth - 1) })
        case 13: return .set(Set((0..<below(4)).map { _ in value(depth: depth - 1) }))
        default: return object(depth: depth)
        }
    }

    /// A dictionary with the keys that the predicates use.
    mutating func object(depth: Int) -> PropertyValue {
        var values: [String: PropertyValue] = [:]
        for key in ["a", "name", "department", "like", "first", "items", "größe", "price", "last", "_x1"]
        where below(3) > 0 {
            values[key] = value(depth: depth - 1)
        }
        return .dictionary(values)
    }
}
