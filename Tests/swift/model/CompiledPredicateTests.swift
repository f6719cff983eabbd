import CorestonePredicate
import CorestoneValues
import Foundation
import XCTest

@testable import CorestoneModel

private typealias Predicate = CorestonePredicate.Predicate
private typealias Expression = CorestonePredicate.Expression

/// Predicates of a model are compiled unchanged, or rejected.
final class CompiledPredicateTests: XCTestCase {
    private func model() throws -> Model {
        let model = Model()
        try model.addEntity(named: "Person").addAttribute(named: "name", type: .string)
        return model
    }

    private func request(_ predicate: PredicateText) -> FetchRequestTemplate {
        FetchRequestTemplate(entityName: "Person", predicate: predicate)
    }

    /// Compiles a predicate and reads it back.
    private func compiled(_ predicate: Predicate) throws -> Predicate? {
        let model = try model()
        try model.setFetchRequestTemplate(request(PredicateText(predicate)), forName: "t")
        let read = try Model(compiledModel: compiledModel(model, form: .file))
        return read.fetchRequestTemplates["t"]?.predicate?.predicate
    }

    /// The formats of the shared cases.
    private func formats() throws -> [String] {
        let file = try Fixtures.folder().deletingLastPathComponent().appendingPathComponent(
            "predicate-cases.json")
        let cases = try XCTUnwrap(JSONSerialization.jsonObject(with: Data(contentsOf: file)) as? [[String: Any]])
        return cases.compactMap { $0["format"] as? String }.filter { !$0.isEmpty }
    }

    func testEverySampleCaseRoundTrips() throws {
        let arguments = Array(repeating: PropertyValue.string("x"), count: 20)
        var (predicates, expressions) = (0, 0)
        for format in try formats() {
            let texts = (0...20).lazy.map { Array(arguments[..<$0]) }
            if let predicate = texts.compactMap({ try? Predicate.parse(format, arguments: $0) }).first {
                XCTAssertEqual(try compiled(predicate)?.format, predicate.format, format)
                predicates += 1
            } else if let expression = texts.compactMap({ try? Expression.parse(format, arguments: $0) }).first {
                let inPredicate = Predicate.comparison(Comparison(expression, .equal, .integer(1)))
                XCTAssertEqual(try compiled(inPredicate)?.format, inPredicate.format, format)
                expressions += 1
            }
        }
        XCTAssertGreaterThan(predicates, 350)
        XCTAssertGreaterThan(expressions, 50)
    }

    func testEveryFormOfExpressionRoundTrips() throws {
        for text in [
            "a == SELF.b", "a.b == SELF", "y[FIRST] == 1", "y[LAST] == y[SIZE]", "(a.b)[0] == y['k']", "a.$k == 1",
            "CAST(x, 'NSNumber') == 3", "FUNCTION(x, 'foo:', 3, y) == FUNCTION($m, 'bar')",
            "TERNARY(x == 1 OR y != nil, 2, z) == 3", "SUBQUERY(a, $b, $b.c == $V AND $b.d > x).@count > 0",
            "a UNION b == c", "(a MINUS b) INTERSECT c == d", "FETCH(x, y, TRUE) == 3", "ANYKEY == 3", "$v := 2 == a",
            "a TOKENMATCHES[w] 'b'", "a UTI-CONFORMS-TO 'b'", "a isKindOfClass: b", "x BETWEEN[c] {1, y}", "now() > x",
            "objectFrom:withIndex:(a, 1) == 2", "x == CAST('nan', 'NSNumber')", "{1, a} == b", "TRUEPREDICATE",
        ] {
            let predicate = try Predicate.parse(text)
            let read = try compiled(predicate)
            XCTAssertEqual(read?.format, predicate.format, text)
            if text.contains("nan") { continue }
            XCTAssertEqual(read, predicate, text)
        }
    }

    func testEveryConstantRoundTrips() throws {
        for value in [
            PropertyValue.int(.min), .double(.infinity), .double(5e-324), .date(0.3), .uuid(UUIDValue(high: 0, low: 1)),
            .bytes(Bytes([0, 1])), .uri(Text("https://example.org")), .set([.int(1), .null]), .array([.array([])]),
            .decimal(DecimalNumber(mantissa: 100_000_000_000_000_000_001, exponent: -20)),
            .dictionary(["a": .array([.date(1)])]), .string("\u{1}\n\"\\%@$x"),
        ] {
            let predicate = Predicate.comparison(Comparison(.key("name"), .equal, .constant(value)))
            XCTAssertEqual(try compiled(predicate), predicate)
            // The predicate that is parsed from the text of the model equals the original one.
            XCTAssertEqual(PredicateText(PredicateText(predicate).text).predicate, predicate)
        }
    }

    func testDeepPredicateRoundTrips() throws {
        var deep = try Predicate.parse(
            String(repeating: "(", count: 100) + "a" + String(repeating: " + 1)", count: 100) + " == 1")
        for _ in 0..<290 { deep = try .not(deep) }
        XCTAssertEqual(try compiled(deep), deep)
    }

    func testUncommonOptionsOfFetchRequestsRoundTrip() throws {
        let model = try model()
        var request = request(PredicateText("name != nil"))
        (request.includesSubentities, request.includesPropertyValues) = (false, false)
        (request.returnsObjectsAsFaults, request.returnsDistinctResults) = (false, true)
        try model.setFetchRequestTemplate(request, forName: "t")
        let read = try Model(compiledModel: compiledModel(model))
        XCTAssertEqual(read.fetchRequestTemplates["t"], request)
        XCTAssertTrue(
            model.extrapolations.contains { $0.text.hasPrefix("the fetch request template \"t\": the compiled form") })
    }

    /// Indexes over expressions are kept, so that a compiled model remains usable.
    func testIndexesOverExpressionsRoundTrip() throws {
        let model = try model()
        let entity = try XCTUnwrap(model.entity(named: "Person"))
        for (place, text) in ["TERNARY(name == nil, 1, 0)", "CAST(name, 'NSNumber')"].enumerated() {
            try entity.addIndex(
                FetchIndex(
                    name: "e\(place)",
                    elements: [.init(expression: ExpressionText(text), named: "expression1", type: .integer32)],
                    partialPredicate: PredicateText("name[FIRST] != nil")))
        }
        let read = try Model(compiledModel: compiledModel(model, form: .file))
        try read.freeze()
        let indexes = try XCTUnwrap(read.entity(named: "Person")?.indexes)
        XCTAssertEqual(
            indexes.map { $0.elements[0].expression?.text },
            ["TERNARY(name == nil, 1, 0)", "CAST(name, \"NSNumber\")"])
        XCTAssertEqual(indexes.map { $0.partialPredicate?.text }, Array(repeating: "name[FIRST] != nil", count: 2))
        XCTAssertEqual(
            model.extrapolations.map(\.text).first,
            "the index \"e0\": the compiled form of TERNARY, an index in brackets is not confirmed")
    }

    // MARK: - Rejected predicates

    private func refusal(_ change: (Model) throws -> Void) throws -> CoreError? {
        let model = try model()
        do {
            try change(model)
            _ = try compiledModel(model)
        } catch { return error as? CoreError }
        return nil
    }

    func testUnreadablePredicatesAreRejected() throws {
        let unreadable = try XCTUnwrap(
            try refusal { try $0.setFetchRequestTemplate(request(PredicateText("name ==")), forName: "t") })
        XCTAssertEqual(unreadable.status, .model)
        XCTAssertEqual(unreadable.entity, "Person")
        XCTAssertEqual(unreadable.key, "t")
        XCTAssertEqual(unreadable.predicate, "name ==")
        XCTAssertTrue(
            unreadable.message.hasPrefix("the fetch request template \"t\" cannot be compiled"),
            unreadable.message)
        let rule = try XCTUnwrap(
            try refusal { model in
                try model.entity(named: "Person")?.ownAttributes[0].addValidation(
                    PredicateText("FUNCTION(SELF, name) == 1"), warning: "w")
            })
        XCTAssertEqual(rule.status, .model)
        XCTAssertEqual(rule.key, "name")
        XCTAssertTrue(
            rule.message.hasPrefix("a validation predicate of Person.name cannot be compiled"),
            rule.message)
        let long = PropertyValue.array((0..<20_000).map { .int($0) })
        let list = try XCTUnwrap(
            try refusal {
                let predicate = Predicate.comparison(Comparison(.key("name"), .in, .constant(long)))
                try $0.setFetchRequestTemplate(request(PredicateText(predicate)), forName: "long")
            })
        XCTAssertEqual(list.key, "long")
    }

    func testPredicatesWithObjectsAreRejected() throws {
        let object = PropertyValue.object(ArchivedObject(className: "Thing", classes: nil, fields: [:]))
        let predicate = PredicateText(.comparison(Comparison(.key("name"), .in, .constant(.array([object])))))
        let error = try XCTUnwrap(try refusal { try $0.setFetchRequestTemplate(request(predicate), forName: "t") })
        XCTAssertEqual(error.status, .model)
        XCTAssertEqual(error.entity, "Person")
        XCTAssertEqual(error.key, "t")
        XCTAssertEqual(error.value, object)
        XCTAssertEqual(
            try refusal { try $0.entity(named: "Person")?.ownAttributes[0].addValidation(predicate, warning: "w") }?
                .key,
            "name")
        XCTAssertEqual(
            try refusal {
                try $0.entity(named: "Person")?.addFetchedProperty(named: "f", fetchRequest: request(predicate))
            }?.key, "f")
        XCTAssertEqual(
            try refusal {
                try $0.entity(named: "Person")?.addIndex(
                    FetchIndex(name: "i", elements: [.init(property: "name")], partialPredicate: predicate))
            }?.key, "i")
    }
}
