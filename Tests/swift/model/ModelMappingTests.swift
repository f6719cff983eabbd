import CorestoneValues
import XCTest

@testable import CorestoneModel

/// Mappings between two versions of a model.
final class ModelMappingTests: XCTestCase {
    /// Entities by name, each with attributes by name; "name<former" has a renaming identifier.
    private func model(_ entities: [String: [String: AttributeType]], parents: [String: String] = [:]) throws -> Model {
        let model = Model()
        for (name, attributes) in entities.sorted(by: { $0.key < $1.key }) {
            let parts = name.split(separator: "<").map(String.init)
            let entity = try model.addEntity(named: parts[0])
            if parts.count > 1 { try entity.setRenamingIdentifier(parts[1]) }
            for (name, type) in attributes.sorted(by: { $0.key < $1.key }) {
                let parts = name.split(separator: "<").map(String.init)
                let attribute = try entity.addAttribute(named: parts[0], type: type)
                if parts.count > 1 { try attribute.setRenamingIdentifier(parts[1]) }
            }
        }
        for (child, parent) in parents {
            try XCTUnwrap(model.entity(named: child)).setParent(XCTUnwrap(model.entity(named: parent)))
        }
        return model
    }

    private func refusal(
        _ source: Model, _ destination: Model, _ types: TypeChanges = .refused, line: UInt = #line
    ) -> CoreError? {
        do {
            _ = try ModelMapping.inferred(from: source, to: destination, typeChanges: types)
            XCTFail("the mapping did not fail", line: line)
        } catch let error as CoreError {
            XCTAssertEqual(error.code, 134190, line: line)
            XCTAssertEqual(error.status, .migration, line: line)
            return error
        } catch { XCTFail("\(error)", line: line) }
        return nil
    }

    private func kinds(_ mapping: ModelMapping) -> [String] {
        mapping.entities.map { "\($0.kind) \($0.source?.name ?? "-") \($0.destination?.name ?? "-")" }
    }

    func testEntitiesAreAddedRemovedCopiedAndTransformed() throws {
        let mapping = try ModelMapping.inferred(
            from: model(["A": ["x": .string], "B": ["x": .string], "Gone": [:]]),
            to: model(["A": ["x": .string], "B": ["x": .string, "y": .date], "New": [:]]))
        XCTAssertEqual(kinds(mapping), ["copy A A", "transform B B", "add - New", "remove Gone -"])
        XCTAssertEqual(mapping.entities[1].added.map(\.name), ["y"])
        XCTAssertEqual(mapping.removals, ["Gone"])
        XCTAssertFalse(mapping.onlyRemoves)
        XCTAssertFalse(mapping.isIdentity)
    }

    func testRenamesFollowIdentifiersOfBothSides() throws {
        let second = try model(["Entry<Note": ["headline<title": .string]])
        let first = try ModelMapping.inferred(from: model(["Note": ["title": .string]]), to: second)
        XCTAssertEqual(kinds(first), ["transform Note Entry"])
        XCTAssertEqual(
            first.entities[0].properties.map { "\($0.source.name) \($0.destination.name)" }, ["title headline"])
        // A third version keeps the first names.
        let third = try ModelMapping.inferred(from: second, to: model(["Item<Note": ["caption<title": .string]]))
        XCTAssertEqual(
            third.entities[0].properties.map { "\($0.source.name) \($0.destination.name)" }, ["headline caption"])
        XCTAssertEqual(third.warnings, [])
    }

    func testChainedIdentifiersLoseValuesWithAWarning() throws {
        let mapping = try ModelMapping.inferred(
            from: model(["Note": ["b<a": .string]]), to: model(["Note": ["c<b": .string]]))
        XCTAssertEqual(mapping.entities[0].added.map(\.name), ["c"])
        XCTAssertEqual(mapping.entities[0].removed.map(\.name), ["b"])
        XCTAssertEqual(mapping.warnings.count, 1)
        XCTAssert(mapping.warnings[0].contains("use \"a\""), mapping.warnings[0])
        let dropped = try ModelMapping.inferred(
            from: model(["Note": ["b<a": .string]]), to: model(["Note": ["b": .string, "n": .date]]))
        XCTAssert(dropped.warnings[0].contains("use the renaming identifier \"a\""), dropped.warnings[0])
    }

    func testSwappedNamesAreMappedByIdentifier() throws {
        let mapping = try ModelMapping.inferred(
            from: model(["Note": ["x": .string, "y": .date]]), to: model(["Note": ["x<y": .date, "y<x": .string]]))
        XCTAssertEqual(
            mapping.entities[0].properties.map { "\($0.source.name) \($0.destination.name)" }.sorted(), ["x y", "y x"])
    }

    func testDuplicateRenamingIdentifiersAreRejected() throws {
        let source = try model(["Note": ["x": .string]])
        let twice = refusal(source, try model(["Note": ["a<x": .string, "b<x": .string]]))
        XCTAssertEqual(twice?.entity, "Note")
        XCTAssert(twice?.message.contains("a and b") == true, twice?.message ?? "")
        XCTAssertEqual(refusal(source, try model(["A<Note": [:], "B<Note": [:]]))?.entity, "A")
    }

    func testTypesChangeOnlyOnRequest() throws {
        let (narrow, wide) = (try model(["N": ["x": .integer16]]), try model(["N": ["x": .integer64]]))
        let error = refusal(narrow, wide)
        XCTAssertEqual(error?.key, "x")
        XCTAssert(error?.message.contains("Integer 16 in the store, but Integer 64") == true, error?.message ?? "")
        let mapping = try ModelMapping.inferred(from: narrow, to: wide, typeChanges: .exact)
        XCTAssertEqual(mapping.entities[0].properties[0].typeChange?.to, .integer64)
        XCTAssertEqual(refusal(narrow, try model(["N": ["x": .binary]]), .exact)?.key, "x")
    }

    func testEntityTreesDoNotMerge() throws {
        let error = refusal(
            try model(["A": ["x": .string], "B": ["y": .string]]),
            try model(["A": ["x": .string], "B": ["y": .string], "Top": [:]], parents: ["A": "Top", "B": "Top"]))
        XCTAssert(error?.message.contains("do not have a common superentity") == true, error?.message ?? "")
        // One tree may get a new root, and may be split.
        let single = try model(["A": ["x": .string]])
        let below = try model(["A": ["x": .string], "Top": [:]], parents: ["A": "Top"])
        XCTAssertNoThrow(try ModelMapping.inferred(from: single, to: below))
        XCTAssertNoThrow(try ModelMapping.inferred(from: below, to: model(["A": ["x": .string], "Top": ["t": .date]])))
    }

    func testPropertiesMoveWithinAnEntityTree() throws {
        let parents = ["Sub": "Top"]
        let mapping = try ModelMapping.inferred(
            from: model(["Sub": ["x": .string], "Top": [:]], parents: parents),
            to: model(["Sub": [:], "Top": ["x": .string]], parents: parents))
        let sub = try XCTUnwrap(mapping.destination.entity(named: "Sub"))
        XCTAssertEqual(mapping.pair(to: sub).properties.map(\.source.name), ["x"])
        XCTAssertEqual(mapping.pair(to: try XCTUnwrap(sub.parent)).added.map(\.name), ["x"])
    }

    /// The property belongs to the superentity now, which did not have it before.
    func testTypesOfPropertiesThatMoveUpAreChecked() throws {
        let parents = ["Sub": "Top"]
        let source = try model(["Sub": ["x": .date], "Top": [:]], parents: parents)
        let error = refusal(source, try model(["Sub": [:], "Top": ["x": .integer16]], parents: parents))
        XCTAssertEqual(error?.entity, "Sub")
        XCTAssertEqual(error?.key, "x")
    }

    func testToManyDoesNotBecomeToOne() throws {
        func model(toMany: Bool) throws -> Model {
            let model = try self.model(["A": [:], "B": [:]])
            let (a, b) = (try XCTUnwrap(model.entity(named: "A")), try XCTUnwrap(model.entity(named: "B")))
            try a.addRelationship(named: "b", destination: b, isToMany: toMany)
            return model
        }
        let error = refusal(try model(toMany: true), try model(toMany: false))
        XCTAssertEqual(error?.key, "b")
        XCTAssertNoThrow(try ModelMapping.inferred(from: model(toMany: false), to: model(toMany: true)))
    }

    func testMappingReportsWhetherItOnlyRemoves() throws {
        let full = try model(["A": ["x": .string, "y": .string], "B": [:]])
        func onlyRemoves(_ wanted: Model) throws -> Bool {
            try ModelMapping.inferred(from: full, to: wanted).onlyRemoves
        }
        XCTAssert(try onlyRemoves(model(["A": ["x": .string, "y": .string]])))
        XCTAssert(try onlyRemoves(model(["A": ["x": .string], "B": [:]])))
        XCTAssertFalse(try onlyRemoves(model(["A": ["x": .string, "z": .date]])))
        // The new model names a property that the store has: it is the newer one.
        XCTAssertFalse(try onlyRemoves(model(["A": ["z<x": .string]])))
        XCTAssertFalse(try onlyRemoves(model(["A": ["x": .string, "y": .string], "B": [:]])))
    }

    func testExactConversionsConvertOrReturnNil() {
        func convert(_ value: PropertyValue, _ from: AttributeType, _ to: AttributeType) -> PropertyValue? {
            from.converts(to: to) ? from.exactConversion(of: value, to: to) : nil
        }
        XCTAssertEqual(convert(.int(7), .integer64, .integer16), .int(7))
        XCTAssertNil(convert(.int(40000), .integer64, .integer16))
        XCTAssertEqual(convert(.double(2), .double, .integer32), .int(2))
        XCTAssertNil(convert(.double(2.5), .double, .integer32))
        XCTAssertEqual(convert(.bool(true), .boolean, .integer16), .int(1))
        XCTAssertNil(convert(.int(2), .integer16, .boolean))
        XCTAssertNil(convert(.int(1 << 53 + 1), .integer64, .double))
        XCTAssertEqual(convert(.double(0.1), .double, .string), .string("0.1"))
        XCTAssertEqual(convert(.string("0.1"), .string, .double), .double(0.1))
        XCTAssertNil(convert(.string("0.10"), .string, .double))
        XCTAssertNil(convert(.string("x"), .string, .integer16))
        XCTAssertNil(convert(.double(0.1), .double, .float))
        XCTAssertEqual(convert(.null, .integer16, .string), .null)
        XCTAssertNil(convert(.date(0), .date, .string))
    }
}
