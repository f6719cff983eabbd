import CorestonePredicate
import CorestoneValues
import XCTest

/// Predicates, expressions, functions and comparators that are implemented by the application.
final class HostCodeTests: XCTestCase {
    private let person = PropertyValue.dictionary(["name": .string("Ada"), "age": .int(36)])

    func testBlockPredicateReceivesObjectAndVariables() throws {
        let block = BlockPredicate { object, variables in
            guard case .dictionary(let values) = object else { return false }
            return values["age"] == variables["age"]
        }
        let whole = try Predicate.and([.block(block), try Predicate.parse("name == 'Ada'")])
        XCTAssertTrue(try whole.evaluate(with: person, variables: ["age": .int(36)]))
        XCTAssertFalse(try whole.evaluate(with: person, variables: ["age": .int(37)]))
        XCTAssertFalse(try Predicate.not(whole).evaluate(with: person, variables: ["age": .int(36)]))
    }

    func testBlockPredicateReceivesTheVariablesOfItsSubquery() throws {
        let block = BlockPredicate { _, variables in variables["x"] == variables["wanted"] }
        let chosen = Expression.subquery(.constant(.array([.int(1), .int(2)])), variable: "x", .block(block))
        XCTAssertEqual(try chosen.value(with: .null, variables: ["wanted": .int(2)]), .array([.int(2)]))
    }

    func testBlockPredicateEqualsOnlyItselfAndHasAFormat() throws {
        let (a, b) = (BlockPredicate { _, _ in true }, BlockPredicate { _, _ in true })
        XCTAssertEqual(Predicate.block(a), .block(a))
        XCTAssertNotEqual(Predicate.block(a), .block(b))
        XCTAssertNotEqual(Predicate.block(a).format, Predicate.block(b).format)
        let format = try Predicate.not(.block(a)).format
        XCTAssertTrue(format.hasPrefix("NOT BLOCKPREDICATE(0x"), format)
        XCTAssertThrowsError(try Predicate.parse(format))
    }

    func testBlockExpressionReceivesItsArguments() throws {
        let block = BlockExpression { object, arguments, variables in
            .array([.string(object.kind), .array(arguments), .int(Int64(variables.count))])
        }
        let expression = Expression.block(block, [.key("age"), .integer(2)])
        XCTAssertEqual(
            try expression.value(with: person, variables: ["v": .null]),
            .array([.string("a dictionary"), .array([.int(36), .int(2)]), .int(1)]))
        XCTAssertTrue(expression.format.hasPrefix("BLOCK(0x"))
        XCTAssertTrue(expression.format.hasSuffix(", age, 2)"), expression.format)
    }

    func testErrorOfABlockIsRethrown() throws {
        struct Trouble: Error {}
        let predicate = try Predicate.not(.block(BlockPredicate { _, _ in throw Trouble() }))
        XCTAssertThrowsError(try predicate.evaluate(with: .null)) { XCTAssertTrue($0 is Trouble) }
    }

    func testRegisteredFunctionIsCalledReplacedAndRemoved() throws {
        let call = try Expression.parse("FUNCTION(name, 'greet:', age)")
        FunctionRegistry.register("greet:") { receiver, arguments in .array([receiver] + arguments) }
        XCTAssertEqual(try call.value(with: person), .array([.string("Ada"), .int(36)]))
        FunctionRegistry.register("greet:") { _, _ in .int(1) }
        XCTAssertEqual(try call.value(with: person), .int(1))
        XCTAssertEqual(try call.value(with: .dictionary([:])), .null, "a call on nil returns nil")
        XCTAssertTrue(FunctionRegistry.unregister("greet:"))
        XCTAssertFalse(FunctionRegistry.unregister("greet:"))
        XCTAssertThrowsError(try call.value(with: person))
    }

    func testErrorOfAnUnknownFunctionSuggestsASimilarName() throws {
        FunctionRegistry.register("slugify") { receiver, _ in receiver }
        defer { FunctionRegistry.unregister("slugify") }
        XCTAssertThrowsError(try Expression.parse("FUNCTION(name, 'slugfy')").value(with: person)) {
            let message = ($0 as? CoreError)?.message ?? ""
            XCTAssertTrue(message.contains("slugfy") && message.contains("did you mean \"slugify\"?"), message)
        }
    }

    func testRegisteredFunctionIsAnOperator() throws {
        FunctionRegistry.register("isTwice:") { left, right in .bool(left.number == (right[0].number ?? 0) * 2) }
        defer { FunctionRegistry.unregister("isTwice:") }
        XCTAssertTrue(try Predicate.parse("age isTwice: 18").evaluate(with: person))
        XCTAssertFalse(try Predicate.parse("age isTwice: 17").evaluate(with: person))
    }

    func testUnregisteredFunctionMayRegisterAnotherOneInItsDeinit() {
        final class Witness: Sendable {
            deinit { FunctionRegistry.register("again") { _, _ in .int(2) } }
        }
        let witness = Witness()
        FunctionRegistry.register("again") { [witness] _, _ in .string("\(witness)") }
        FunctionRegistry.register("other") { receiver, _ in receiver }
        FunctionRegistry.unregister("again")
        FunctionRegistry.unregister("other")
    }

    func testComparisonMethodsAreOperators() throws {
        let cases: [(String, Bool)] = [
            ("name isEqualToString: 'Ada'", true), ("age isGreaterThan: 35", true), ("name hasPrefix: 'Ad'", true),
            ("name isKindOfClass: 'NSString'", true), ("name isKindOfClass: 'NSNumber'", false),
            ("age isMemberOfClass: 'NSNumber'", true), ("age isMemberOfClass: 'NSObject'", false),
            ("name isLike: 'A*'", true), ("name isCaseInsensitiveLike: 'a*'", true), ("name doesContain: 'da'", true),
        ]
        for (format, holds) in cases {
            XCTAssertEqual(try Predicate.parse(format).evaluate(with: person), holds, format)
        }
    }
}
