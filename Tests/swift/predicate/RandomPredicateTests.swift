import CorestoneValues
import XCTest

@testable import CorestonePredicate

/// Random predicates of every kind: their format is parsed into an equal predicate, and their evaluation does not trap.
final class RandomPredicateTests: XCTestCase {
    /// CORESTONE_SEED selects another run; failures name the seed.
    private var seed: UInt64 {
        ProcessInfo.processInfo.environment["CORESTONE_SEED"].flatMap { UInt64($0) } ?? 7
    }

    func testRandomPredicatesRoundTrip() throws {
        for (style, all) in [(LiteralStyle.plain, false), (.exact, true)] {
            var generator = PredicateGenerator(seed: seed)
            generator.usesAllConstants = all
            for _ in 0..<3_000 {
                let predicate = try generator.predicate(depth: 4)
                let text = predicate.format(style)
                do {
                    let again = try Predicate.parse(text)
                    if again != predicate || again.format(style) != text {
                        return XCTFail("seed \(seed): \(text)\nis read as \(again.format(style))")
                    }
                } catch { return XCTFail("seed \(seed): \(text): \(error)") }
            }
        }
    }

    func testRandomExpressionsRoundTrip() throws {
        var generator = PredicateGenerator(seed: seed)
        for _ in 0..<3_000 {
            let expression = try generator.expression(depth: 4)
            XCTAssertEqual(try Expression.parse(expression.format), expression, "seed \(seed): \(expression.format)")
        }
    }

    /// An object that has a few keys and rejects others, like objects of an application.
    private final class Host: KeyValueCoding {
        let values: [String: PropertyValue]
        init(_ values: [String: PropertyValue]) { self.values = values }

        func value(forKey key: String) throws -> PropertyValue {
            if let value = values[key] { return value }
            throw CoreError(.predicate, "no key \(key)", key: key)
        }

        func isEqual(to other: any ValueObject) -> Bool { self === other }
        func hashIdentity(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
        var valueDescription: String { "a host's object" }
        var classNames: [String] { ["Host"] }
    }

    func testEvaluationOfRandomPredicatesDoesNotTrap() throws {
        var generator = PredicateGenerator(seed: seed)
        generator.usesAllConstants = true
        generator.isWild = true
        var (answers, errors) = (0, 0)
        for round in 0..<20_000 {
            let predicate = try generator.predicate(depth: 4)
            var object = generator.object(depth: 3)
            if case .dictionary(let values) = object, round % 3 == 0 { object = .object(Host(values)) }
            if round % 11 == 0 { object = generator.value(depth: 2) }
            var variables: [String: PropertyValue] = ["x": generator.value(depth: 2), "k": .string("name")]
            if round % 5 == 0 { variables["name"] = .object(ExpressionValue(try generator.expression(depth: 2))) }
            do {
                _ = try predicate.evaluate(
                    with: object, variables: variables, arithmetic: round % 2 == 0 ? .strict : .nilPropagating)
                answers += 1
            } catch let error as CoreError {
                XCTAssertFalse(error.message.isEmpty)
                errors += 1
            }
            if round % 10 == 0 {
                _ = predicate.format
                _ = predicate.keyPaths
                _ = predicate.freeVariables
                _ = try? predicate.binding(variables)
                _ = try? predicate.substituting(variables)
            }
        }
        print("seed \(seed): \(answers) evaluations of random predicates, \(errors) errors")
        XCTAssertGreaterThan(answers, 4_000)
        XCTAssertGreaterThan(errors, 4_000)
    }
}
