import CorestonePredicate
import CorestoneValues

/// Makes random predicates of everything that can be written down.
struct PredicateGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 | 1 }

    private mutating func below(_ bound: Int) -> Int {
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
        default: return .comparison(try comparison(depth: depth))
        }
    }

    private mutating func comparison(depth: Int) throws -> Comparison {
        let operation: Comparison.Operator = pick([
            .equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual, .between, .in, .contains, .beginsWith,
            .endsWith, .like, .matches, .utiEquals, .custom("isKindOfClass:"),
        ])
        let options = Comparison.Options(rawValue: below(3) == 0 ? UInt8(below(16)) : 0)
        return Comparison(
            try expression(depth: depth - 1), operation, try expression(depth: depth - 1),
            modifier: pick([.direct, .any, .all]),
            options: options)
    }

    private mutating func expression(depth: Int) throws -> Expression {
        if depth <= 0 { return leaf() }
        switch below(12) {
        case 0:
            let function: Function = pick([
                .add, .subtract, .multiply, .divide, .power, .bitwiseAnd, .leftShift, .bitwiseOr,
            ])
            return .function(function, [try expression(depth: depth - 1), try expression(depth: depth - 1)])
        case 1: return .function(pick([.abs, .sum, .uppercase, .noIndex]), [try expression(depth: depth - 1)])
        case 2: return .ternary(try predicate(depth: depth - 1), try expression(depth: depth - 1), leaf())
        case 3: return .path(.subquery(key(), variable: "x", try predicate(depth: depth - 1)), KeyPath("@count"))
        case 4: return .setOperation(pick(SetOperator.allCases), key(), try expression(depth: depth - 1))
        case 5: return .indexed(key(), pick([.first, .last, .size, .value(.integer(2))]))
        case 6: return .aggregate([try expression(depth: depth - 1), key()])
        case 7: return .message(receiver: key(), selector: .string("length"), arguments: below(2) == 0 ? [] : [leaf()])
        case 8: return .function(.negate, [key()])
        case 9: return .dynamicKey(key(), variable: "k")
        default: return leaf()
        }
    }

    private mutating func leaf() -> Expression {
        switch below(9) {
        case 0: .integer(Int64(below(2_000)) - 1_000)
        case 1: .constant(.double(Double(below(1_000)) / 8))
        case 2: .string(pick(["", "plain", #"quo"te"#, #"back\slash"#, "Grüße, 世界", "two\nlines", "%@ $x"]))
        case 3:
            .constant(pick([.null, .bool(true), .array([.int(1), .string("a")]), .date(-978_250_148), .date(0.25)]))
        case 4: .variable(pick(["x", "name"]))
        case 5: .selfObject
        default: key()
        }
    }

    private mutating func key() -> Expression {
        .key(pick(["a", "name", "department.name", "like", "first.last", "items.@count", "items.@sum.price", "größe"]))
    }
}
