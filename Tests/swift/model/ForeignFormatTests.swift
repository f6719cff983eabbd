import CorestonePredicate
import CorestoneValues
import XCTest

@testable import CorestoneModel

/// Predicates of unknown classes, in archives of other applications.
final class ForeignFormatTests: XCTestCase {
    /// A compiled model with every kind of predicate, in which each `NSTruePredicate` has an unknown class instead.
    private func foreign() throws -> [UInt8] {
        let yes = PredicateText("TRUEPREDICATE")
        let model = Model()
        let person = try model.addEntity(named: "Person")
        let name = try person.addAttribute(named: "name", type: .string)
        try name.addValidation(yes, warning: "never")
        try name.addValidation(PredicateText("SELF != 'x'"), warning: "no x")
        try person.addIndex(FetchIndex(name: "byName", elements: [.init(property: "name")], partialPredicate: yes))
        try model.setFetchRequestTemplate(FetchRequestTemplate(entityName: "Person", predicate: yes), forName: "all")
        return try renamed(compiledModel(model, form: .file))
    }

    private func renamed(_ bytes: [UInt8]) -> [UInt8] {
        let (old, new) = (Array("NSTruePredicate".utf8), Array("XYFooBPredicate".utf8))
        var bytes = bytes
        for place in 0..<bytes.count - old.count where bytes[place..<place + old.count].elementsEqual(old) {
            bytes.replaceSubrange(place..<place + old.count, with: new)
        }
        return bytes
    }

    private func text(_ model: Model) -> PredicateText? { model.fetchRequestTemplates["all"]?.predicate }

    func testUnknownPredicatesAreKeptAndWrittenBack() throws {
        let model = try Model(compiledModel: foreign())
        try model.freeze()
        XCTAssertNil(text(model)?.predicate)
        XCTAssert(text(model)?.text.hasPrefix("<archived XYFooBPredicate ") == true, text(model)?.text ?? "")
        let attribute = try XCTUnwrap(model.entity(named: "Person")?.property(named: "name"))
        XCTAssertEqual(attribute.validationRules.map { $0.predicate.predicate == nil }, [true, false])
        let again = try Model(compiledModel: compiledModel(model, form: .file))
        XCTAssertEqual(text(again), text(model))
        XCTAssertEqual(again.summary, model.summary)
        // A copy of the model has them, too, and writing it twice results in the same bytes.
        let copy = try compiledModel(again, form: .file)
        XCTAssertEqual(try compiledModel(Model(compiledModel: copy), form: .file), copy)
        XCTAssertEqual(text(try again.copy()), text(model))
    }

    func testUsingAnUnknownPredicateFails() throws {
        let model = try Model(compiledModel: foreign())
        XCTAssertThrowsError(try text(model)?.required()) { error in
            let message = (error as? CoreError)?.message ?? ""
            XCTAssertEqual((error as? CoreError)?.status, .predicateSyntax)
            XCTAssert(message.contains("<archived XYFooBPredicate"), message)
            XCTAssert(message.contains("it contains the unknown class"), message)
        }
    }

    func testLintAndSourceLossesReportUnknownPredicates() throws {
        let model = try Model(compiledModel: foreign())
        let findings = model.lint().filter { $0.rule == .unreadablePredicate }
        XCTAssertEqual(findings.count, 3, "\(findings)")
        let losses = model.sourceLosses.joined(separator: "; ")
        XCTAssert(losses.contains("the predicate \"<archived XYFooBPredicate"), losses)
        XCTAssert(losses.contains("the archived index \"byName\" of Person"), losses)
    }
}
