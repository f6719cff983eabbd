import Corestone
import XCTest

@testable import CorestoneGraph

/// Validation failures of a save, with the codes of Core Data.
final class ValidationTests: XCTestCase {
    private var model: Model!
    private var coordinator: Coordinator!
    private var store: MemoryStore!
    private var context: Context!

    override func setUpWithError() throws {
        model = Model()
        let thing = try model.addEntity(named: "Thing")
        try thing.addAttribute(named: "count", type: .integer32).setBounds(least: .int(1), greatest: .int(10))
        try thing.addAttribute(named: "ratio", type: .double).setBounds(least: .int(0), greatest: nil)
        try thing.addAttribute(named: "price", type: .decimal).setBounds(least: nil, greatest: .int(100))
        try thing.addAttribute(named: "day", type: .date).setBounds(least: .date(0), greatest: .date(1000))
        let word = try thing.addAttribute(named: "word", type: .string)
        try word.setBounds(least: .int(2), greatest: .int(5))
        try word.setPattern("[a-zé]+")
        try thing.addAttribute(named: "site", type: .uri)
        try thing.addAttribute(named: "label", type: .string, isOptional: false).setDefaultValue(.string("none"))
        let others = try thing.addRelationship(named: "others", destination: thing, isToMany: true)
        try others.setCounts(minimum: 2, maximum: 3)
        let owner = try thing.addRelationship(named: "owner", destination: thing)
        try owner.addValidation(PredicateText("label != 'nobody'"), warning: "An owner is somebody.")
        try model.freeze()
        coordinator = try Coordinator(model: model)
        store = MemoryStore(model: model)
        _ = try coordinator.add(store)
        context = Context(coordinator: coordinator)
    }

    /// Both bounds are valid values, for each type that has bounds.
    func testBoundsAreInclusive() throws {
        let bounds: [(String, PropertyValue, PropertyValue)] = [
            ("count", .int(1), .int(10)), ("ratio", .double(0), .double(0)), ("price", .int(100), .int(100)),
            ("day", .date(0), .date(1000)), ("word", .string("ab"), .string("abcde")),
        ]
        for (key, least, greatest) in bounds {
            for value in [least, greatest] {
                let thing = try context.insert("Thing")
                try thing.setValue(value, forKey: key)
                XCTAssertNil(failure { try thing.validateForInsert() }, "\(key) \(value)")
            }
        }
        for (key, value) in [("day", PropertyValue.date(-0.001)), ("day", .date(1000.001)), ("price", .double(100.01))]
        {
            let thing = try context.insert("Thing")
            try thing.setValue(value, forKey: key)
            XCTAssertNotNil(failure { try thing.validateForInsert() }, "\(key) \(value)")
        }
    }

    private func failure(_ body: () throws -> Void) -> CoreError? {
        do { try body() } catch { return error as? CoreError }
        return nil
    }

    /// The code with which a new Thing with that value fails, or 0 if it is valid.
    private func code(_ key: String, _ value: PropertyValue) throws -> Int {
        try context.rollback()
        let thing = try context.insert("Thing")
        try thing.setValue(value, forKey: key)
        let error = failure { try context.save() }
        if let error {
            XCTAssertEqual(error.status, .validation)
            XCTAssertEqual(error.entity, "Thing")
            XCTAssertEqual(error.key, key)
            XCTAssertEqual(error.objectURI, thing.objectID.uri)
            XCTAssertEqual(error.value, value.isNull ? nil : try thing.value(forKey: key))
        }
        return error?.code ?? 0
    }

    func testAttributeFailuresHaveTheirCodes() throws {
        XCTAssertEqual(try code("count", .int(0)), 1620)
        XCTAssertEqual(try code("count", .int(1)), 0)
        XCTAssertEqual(try code("count", .int(10)), 0)
        XCTAssertEqual(try code("count", .int(11)), 1610)
        XCTAssertEqual(try code("count", .null), 0, "null is not too small")
        XCTAssertEqual(try code("ratio", .double(-0.5)), 1620)
        XCTAssertEqual(try code("ratio", .double(.infinity)), 1550, "infinity is not a number")
        XCTAssertEqual(try code("price", .decimal(DecimalNumber("100.01"))), 1610)
        XCTAssertEqual(try code("day", .date(-1)), 1640)
        XCTAssertEqual(try code("day", .date(1001)), 1630)
        XCTAssertEqual(try code("word", .string("a")), 1670)
        XCTAssertEqual(try code("word", .string("abcdef")), 1660)
        XCTAssertEqual(try code("word", .string("été")), 0, "lengths count characters, not bytes")
        XCTAssertEqual(try code("word", .string("AB")), 1680)
        XCTAssertEqual(try code("site", .uri(Text("http://a b"))), 1690)
        XCTAssertEqual(try code("site", .uri(Text("http://a/%e4?q=%zz"))), 1690)
        XCTAssertEqual(try code("site", .uri(Text("http://a/%E4?q=1#f"))), 0)
        XCTAssertEqual(try code("label", .null), 1570, "the default does not refill an explicit nil")
    }

    func testRelationshipCountsAndConditionsAreValidated() throws {
        let things = try (0..<5).map { _ in try context.insert("Thing") }
        XCTAssertNil(failure { try context.validate() }, "an optional relationship may be empty")
        try things[0].setMembers([things[1]], of: "others")
        XCTAssertEqual(failure { try context.validate() }?.code, 1580)
        try things[0].setMembers([things[1], things[2], things[3], things[4]], of: "others")
        XCTAssertEqual(failure { try context.validate() }?.code, 1590)
        try things[0].setMembers([things[1], things[2]], of: "others")
        XCTAssertNil(failure { try context.validate() })
        try things[1].set("label", "nobody")
        try things[0].set("owner", things[1])
        let error = failure { try context.validate() }
        XCTAssertEqual(error?.code, 1550)
        XCTAssertEqual(error?.message, "An owner is somebody.")
        XCTAssertEqual(error?.key, "owner")
    }

    func testValidationMessagesFormatDatesAndNaN() throws {
        let model = Model()
        let entity = try model.addEntity(named: "A")
        try entity.addAttribute(named: "day", type: .date).setBounds(least: .date(599_616_000), greatest: nil)
        let number = try entity.addAttribute(named: "number", type: .double)
        try number.setAllowsNaN(true)
        try number.setBounds(least: nil, greatest: .double(3))
        let coordinator = try Coordinator(model: model)
        _ = try coordinator.add(MemoryStore(model: model))
        let context = Context(coordinator: coordinator)
        let object = try context.insert(
            "A", ["day": ReferenceDate(secondsSinceReference: 567_993_600), "number": Double.nan])
        let error = try XCTUnwrap(failure { try object.validateForInsert() })
        let messages = ([error] + error.children).map(\.message)
        for expected in [
            "A.day is 2019-01-01T00:00:00Z, which is too soon; set a value that satisfies "
                + "\"SELF >= CAST(599616000.000000, \"NSDate\")\"",
            "A.number is nan, which is not a number; set a value that satisfies \"SELF <= 3\"",
        ] {
            XCTAssertTrue(messages.contains(expected), "\(messages)")
        }
    }

    func testValidationErrorContainsMessagePredicateAndValue() throws {
        let thing = try context.insert("Thing", ["count": 11])
        var error = try XCTUnwrap(failure { try thing.validateForInsert() })
        XCTAssertEqual(
            error.message, "Thing.count is 11, which is too large; set a value that satisfies \"SELF <= 10\"")
        XCTAssertEqual(error.predicate, "SELF <= 10")
        XCTAssertEqual(error.value, .int(11))
        try thing.set("word", "THIS IS MUCH TOO LONG FOR A WORD")
        error = try XCTUnwrap(failure { try thing.validateForInsert() })
        XCTAssertEqual(error.code, 1560)
        XCTAssertEqual(error.children.map(\.code), [1610, 1660, 1680])
        XCTAssertTrue(store.rows.values.allSatisfy(\.isEmpty))
    }

    /// As Core Data documents, every property is validated, not only the changed ones.
    func testUpdateValidatesUnchangedProperties() throws {
        _ = try context.insert("Thing", ["count": 5])
        try context.save()
        let slot = Int(try XCTUnwrap(model.requireEntity(named: "Thing").property(named: "count")).slot)
        let (root, row) = try XCTUnwrap(store.rows.first)
        store.rows[root]?[try XCTUnwrap(row.keys.first)]?.values[slot] = .int(99)
        let fresh = try Coordinator(model: model)
        _ = try fresh.add(store)
        let second = Context(coordinator: fresh)
        let again = try XCTUnwrap(second.fetch("Thing").first)
        XCTAssertEqual(try again.get("count"), 99)
        XCTAssertNil(failure { try second.save() }, "nothing to save")
        try again.set("label", "changed")
        XCTAssertEqual(failure { try second.save() }?.code, 1610)
        XCTAssertEqual(failure { try again.validateForUpdate() }?.key, "count")
        XCTAssertNil(failure { try again.validateForDelete() })
    }

    func testValidateValueConvertsOrRefusesASingleValue() throws {
        let thing = try context.insert("Thing")
        XCTAssertEqual(try thing.validateValue(.int(3), forKey: "ratio"), .double(3))
        XCTAssertEqual(failure { _ = try thing.validateValue(.int(0), forKey: "count") }?.code, 1620)
        XCTAssertEqual(failure { _ = try thing.validateValue(.null, forKey: "label") }?.code, 1570)
        XCTAssertEqual(failure { _ = try thing.validateValue(.string("x"), forKey: "count") }?.status, .typeMismatch)
        XCTAssertEqual(failure { _ = try thing.validateValue(.int(1), forKey: "cuont") }?.status, .invalidArgument)
        XCTAssertEqual(
            failure { _ = try thing.validateValue(.array([.object(thing)]), forKey: "others") }?.code, 1580)
        XCTAssertEqual(failure { _ = try thing.validateValue(.object(thing), forKey: "others") }?.status, .typeMismatch)
        XCTAssertEqual(try thing.validateValue(.null, forKey: "owner"), .null)
        XCTAssertNil(try thing.get("count", as: Int.self), "the object did not change")
    }

    func testInvalidConditionOfTheModelFailsValidation() throws {
        for (text, reason) in [("SELF.nowhere > 1", "nowhere"), ("this is no predicate", "predicate")] {
            let model = Model()
            let entity = try model.addEntity(named: "E")
            let number = try entity.addAttribute(named: "n", type: .integer16)
            try number.addValidation(PredicateText(text), warning: "never shown")
            let context = Context(coordinator: try Coordinator(model: model))
            let object = try context.insert("E", ["n": 1])
            let error = try XCTUnwrap(failure { try object.validateForInsert() })
            XCTAssertEqual(error.code, 1550)
            XCTAssertEqual(error.predicate, text)
            XCTAssertTrue(error.message.hasPrefix("cannot check E.n against the model's predicate \"\(text)\": "))
            XCTAssertTrue(error.message.contains(reason), error.message)
        }
    }

    func testInvalidBoundsAndPatternsAreRefused() throws {
        let model = Model()
        let entity = try model.addEntity(named: "E")
        let flag = try entity.addAttribute(named: "flag", type: .boolean)
        let number = try entity.addAttribute(named: "number", type: .integer16)
        let text = try entity.addAttribute(named: "text", type: .string)
        for attempt in [
            { try flag.setBounds(least: .int(0), greatest: nil) },
            { try number.setBounds(least: .int(2), greatest: .int(1)) },
            { try number.setBounds(least: .string("a"), greatest: nil) },
            { try number.setBounds(least: .int(40_000), greatest: nil) },
            { try text.setBounds(least: .int(-1), greatest: nil) },
            { try text.setBounds(least: .string("a"), greatest: nil) },
            { try number.setPattern("[0-9]") },
            { try text.setPattern("(") },
        ] { XCTAssertThrowsError(try attempt()) }
    }

    func testLocalizedNamesAndWarningsAppearInErrors() throws {
        let model = Model()
        let base = try model.addEntity(named: "Base")
        let run = try model.addEntity(named: "Run")
        try run.setParent(base)
        let process = try base.addAttribute(named: "processID", type: .integer32, isOptional: false)
        try process.setDefaultValue(.int(-1))
        try process.addValidation(PredicateText("SELF > 0"), warning: "Process ID < 1")
        XCTAssertEqual(process.localizedName(in: run), "processID")
        try model.setLocalization("number", forKey: "Property/processID")
        XCTAssertEqual(process.localizedName(in: run), "number")
        try model.setLocalization("basic number", forKey: "Property/processID/Entity/Base")
        XCTAssertEqual(process.localizedName(in: run), "basic number")
        try model.setLocalization("进程号", forKey: "Property/processID/Entity/Run")
        XCTAssertEqual(process.localizedName(in: run), "进程号")
        XCTAssertEqual(process.localizedName(in: base), "basic number")
        try model.setLocalization("运行", forKey: "Entity/Run")
        try model.setLocalization("进程号不能小于 1", forKey: "ErrorString/Process ID < 1")
        let context = Context(coordinator: try Coordinator(model: model))
        let object = try context.insert("Run")
        let error = try XCTUnwrap(failure { try object.validateForInsert() })
        XCTAssertEqual(error.message, "进程号不能小于 1")
        XCTAssertEqual(error.key, "processID")
        XCTAssertEqual(error.entity, "Run")
        XCTAssertEqual(error.value, .int(-1))
        try object.set("processID", nil)
        XCTAssertEqual(
            failure { try object.validateForInsert() }?.message,
            "运行.进程号 is required and cannot be null; set it before saving")
    }
}
