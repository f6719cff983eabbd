import CorestonePredicate
import CorestoneValues
import XCTest
@testable import CorestoneModel

/// The slots of an entity's values in its records, and the conditions of each slot.
final class RecordLayoutTests: XCTestCase {
    private func frozen(_ build: (Entity) throws -> Void) throws -> (Model, Entity) {
        let model = Model()
        let entity = try model.addEntity(named: "E")
        try build(entity)
        try model.freeze()
        return (model, entity)
    }

    private func slot(_ entity: Entity, _ name: String) throws -> SlotLayout {
        entity.layout.slots[Int(try entity.requireProperty(named: name).slot)]
    }

    func testEveryTypeHasItsSlotKindAndWidth() throws {
        let kinds: [(AttributeType, SlotKind, Int)] = [
            (.boolean, .bool, 1), (.integer16, .int16, 2), (.integer32, .int32, 4), (.integer64, .int64, 8),
            (.double, .double, 8), (.float, .double, 8), (.date, .date, 8), (.string, .text, 8), (.uri, .uri, 8),
            (.binary, .bytes, 8), (.transformable, .bytes, 8), (.uuid, .uuid, 16), (.decimal, .decimal, 24),
        ]
        for (type, kind, width) in kinds {
            let (model, entity) = try frozen {
                try $0.addAttribute(named: "a", type: type)
                try $0.addAttribute(named: "z", type: .boolean)
            }
            let slot = try slot(entity, "a")
            XCTAssertEqual(slot.kind, kind, "\(type)")
            // The header and one word of the bitmap precede the values, and wide values precede narrow ones.
            XCTAssertEqual(slot.offset, 32, "\(type)")
            XCTAssertEqual(try self.slot(entity, "z").offset, UInt32(32 + width), "\(type)")
            XCTAssertEqual(entity.layout.fixedSize, (32 + width + 1 + 7) / 8 * 8, "\(type)")
            withExtendedLifetime(model) {}
        }
    }

    func testWideValuesPrecedeNarrowValues() throws {
        let names: [(String, AttributeType)] = [
            ("b", .boolean), ("s", .integer16), ("d", .decimal), ("i", .integer32), ("u", .uuid), ("t", .string),
            ("b2", .boolean), ("d2", .decimal),
        ]
        let (model, entity) = try frozen { entity in
            for (name, type) in names { try entity.addAttribute(named: name, type: type) }
            try entity.addRelationship(named: "one", destination: entity)
            try entity.addRelationship(named: "many", destination: entity, isToMany: true)
            try entity.addAttribute(named: "temporary", type: .decimal, isTransient: true)
        }
        let offsets = try ["d", "d2", "u", "one", "t", "i", "s", "b", "b2"].map { try slot(entity, $0).offset }
        XCTAssertEqual(offsets, [32, 56, 80, 96, 112, 120, 124, 126, 127])
        XCTAssertEqual(entity.layout.fixedSize, 128)
        XCTAssertEqual(entity.layout.slotCount, 11)
        XCTAssertEqual(entity.slotCount, 11)
        for name in ["many", "temporary"] { XCTAssertEqual(try slot(entity, name).kind, SlotKind.none, name) }
        withExtendedLifetime(model) {}
    }

    func testBitmapHasAWordForEach64Slots() throws {
        for (count, words) in [(0, 0), (1, 1), (64, 1), (65, 2), (128, 2), (129, 3)] {
            let (model, entity) = try frozen { entity in
                for place in 0..<count { try entity.addAttribute(named: "a\(place)", type: .integer64) }
            }
            XCTAssertEqual(entity.layout.fixedSize, 24 + 8 * words + 8 * count)
            XCTAssertEqual(entity.layout.clearedWords, words)
            if count > 0 { XCTAssertEqual(try slot(entity, "a0").offset, UInt32(24 + 8 * words)) }
            withExtendedLifetime(model) {}
        }
    }

    func testSlotsHaveRolesAndPositions() throws {
        let (model, entity) = try frozen { entity in
            try entity.addAttribute(named: "a", type: .string)
            try entity.addAttribute(named: "file", type: .binary).setAllowsExternalStorage(true)
            try entity.addRelationship(named: "one", destination: entity)
            try entity.addAttribute(named: "t", type: .binary, isTransient: true).setAllowsExternalStorage(true)
            try entity.addRelationship(named: "many", destination: entity, isToMany: true)
            let place = try entity.addAttribute(named: "place", type: .composite)
            try place.addElement(named: "x", type: .double)
            try entity.addAttribute(named: "b", type: .string)
            try entity.addRelationship(named: "two", destination: entity)
            try entity.addRelationship(named: "more", destination: entity, isToMany: true)
        }
        let expected: [(String, SlotRole, UInt16)] = [
            ("a", .attribute, 0), ("file", .external, 0), ("one", .toOne, 0), ("t", .transient, 0),
            ("many", .toMany, 0),
            ("place", .composite, 0), ("place.x", .attribute, 1), ("b", .attribute, 2), ("two", .toOne, 1),
            ("more", .toMany, 1),
        ]
        for (name, role, ordinal) in expected {
            XCTAssertEqual(try slot(entity, name).role, role, name)
            XCTAssertEqual(try slot(entity, name).ordinal, ordinal, name)
        }
        XCTAssertEqual(entity.layout.toOneCount, 2)
        XCTAssertEqual(entity.layout.toManyCount, 2)
        // If null values matter, the fixed part is cleared too.
        XCTAssertEqual(entity.layout.clearedWords, (entity.layout.fixedSize - 24) / 8)
        withExtendedLifetime(model) {}
    }

    func testSlotsHaveTheConditionsOfTheirValues() throws {
        let (model, entity) = try frozen { entity in
            try entity.addAttribute(named: "free", type: .string)
            try entity.addAttribute(named: "required", type: .string, isOptional: false)
            try entity.addAttribute(named: "single", type: .float)
            try entity.addAttribute(named: "nan", type: .double).setAllowsNaN(true)
            try entity.addAttribute(named: "ruled", type: .integer16).setBounds(least: .int(1), greatest: nil)
            try entity.addAttribute(named: "ignored", type: .string, isTransient: true).setIgnoresChanges(true)
            let derived = try entity.addAttribute(named: "derived", type: .string)
            try derived.setDerivation(Derivation(ExpressionText("free")))
            try derived.addValidation(PredicateText("SELF != 'x'"), warning: "w")
            let needed = try entity.addAttribute(named: "needed", type: .string, isOptional: false)
            try needed.setDerivation(Derivation(ExpressionText("free")))
            let passing = try entity.addAttribute(named: "passing", type: .string, isTransient: true)
            try passing.setDerivation(Derivation(ExpressionText("free")))
            try entity.addRelationship(named: "one", destination: entity)
            try entity.addRelationship(named: "needsOne", destination: entity, isOptional: false)
            try entity.addRelationship(named: "many", destination: entity, isToMany: true)
            try entity.addRelationship(named: "needsMany", destination: entity, isToMany: true, isOptional: false)
            for (name, least, most) in [("least", 1, 0), ("most", 0, 5)] as [(String, UInt32, UInt32)] {
                try entity.addRelationship(named: name, destination: entity, isToMany: true)
                    .setCounts(minimum: least, maximum: most)
            }
            try entity.addRelationship(named: "check", destination: entity)
                .addValidation(PredicateText("free != 'x'"), warning: "w")
        }
        let expected: [(String, SlotConditions)] = [
            ("free", []), ("required", .required), ("single", .single), ("nan", .allowsNaN), ("ruled", .ruled),
            ("ignored", .ignored), ("derived", .derived), ("needed", [.derived, .required]), ("passing", []),
            ("one", []), ("needsOne", .required), ("many", []), ("needsMany", [.required, .bounded]),
            ("least", .bounded), ("most", .bounded), ("check", .ruled),
        ]
        for (name, conditions) in expected { XCTAssertEqual(try slot(entity, name).conditions, conditions, name) }
        withExtendedLifetime(model) {}
    }

    func testSubentitiesShareSlotsAndKeysOfTheirSuperentity() throws {
        let model = Model()
        let (zoo, base) = (try model.addEntity(named: "zoo"), try model.addEntity(named: "Base"))
        let (second, first) = (try model.addEntity(named: "b"), try model.addEntity(named: "A"))
        for child in [second, first] { try child.setParent(base) }
        try base.addAttribute(named: "x", type: .integer16).setDefaultValue(.int(4))
        let link = try base.addRelationship(named: "link", destination: zoo)
        try second.addAttribute(named: "y", type: .string).setDefaultValue(.string("d"))
        try first.addAttribute(named: "w", type: .string)
        try model.freeze()
        XCTAssertEqual(second.properties.map(\.name), ["x", "link", "y"])
        XCTAssertEqual(first.properties.map(\.name), ["x", "link", "w"])
        XCTAssertEqual(second.properties.map(\.slot), [0, 1, 2])
        XCTAssertEqual(second.properties.map { $0.key & 0xFFF }, [0, 1, 2])
        XCTAssertEqual(Set((second.properties + first.properties).map(\.key)).count, 4)
        XCTAssertEqual((0..<3).map { second.slotKeys[$0] }, second.properties.map(\.key))
        XCTAssertEqual(second.defaults.map(\.slot), [0, 2])
        XCTAssertEqual(second.defaults.map(\.value), [.int(4), .string("d")])
        XCTAssertEqual(first.defaults.map(\.slot), [0])
        // Ordered by name, ignoring case, with superentities first.
        XCTAssertEqual(model.preorder.map(\.name), ["Base", "A", "b", "zoo"])
        XCTAssertEqual([zoo, base, second, first].map(\.number), [4, 1, 3, 2])
        XCTAssertEqual([zoo, base, second, first].map(\.index), [0, 1, 2, 3])
        XCTAssertEqual([zoo, base, second, first].map(\.rootIndex), [0, 1, 1, 1])
        XCTAssertTrue(first.root === base && base.root === base)
        XCTAssertEqual(link.destinationIndex, 0)
        XCTAssertTrue(link.resolvedDestination === zoo)
        XCTAssertNil(link.resolvedInverse)
    }

    func testManyToManyPairsAreWrittenByOneSide() throws {
        let model = Model()
        let (b, a) = (try model.addEntity(named: "B"), try model.addEntity(named: "A"))
        func pair(_ one: Entity, _ name: String, _ isToMany: Bool, _ other: Entity, _ back: String, _ backToMany: Bool)
            throws -> (Relationship, Relationship)
        {
            let there = try one.addRelationship(named: name, destination: other, isToMany: isToMany)
            let back = try other.addRelationship(named: back, destination: one, isToMany: backToMany)
            try there.setInverse(back)
            return (there, back)
        }
        let manyToMany = try pair(b, "as", true, a, "bs", true)
        let withinOne = try pair(a, "to", true, a, "from", true)
        let oneToMany = try pair(a, "ones", true, b, "a", false)
        let itself = try a.addRelationship(named: "friends", destination: a, isToMany: true)
        try itself.setInverse(itself)
        let alone = try a.addRelationship(named: "alone", destination: b, isToMany: true)
        let toOne = try a.addRelationship(named: "one", destination: b)
        try model.freeze()
        XCTAssertEqual(
            [manyToMany.0.ownsJoinRows, manyToMany.1.ownsJoinRows], [false, true], "the lower entity number")
        XCTAssertEqual([withinOne.0.ownsJoinRows, withinOne.1.ownsJoinRows], [false, true], "the first name in order")
        XCTAssertEqual([oneToMany.0.ownsJoinRows, oneToMany.1.ownsJoinRows], [false, false])
        XCTAssertEqual([itself.ownsJoinRows, alone.ownsJoinRows, toOne.ownsJoinRows], [true, true, false])
        XCTAssertTrue(manyToMany.0.resolvedInverse === manyToMany.1)
    }

    func testConfigurationIncludesSubentities() throws {
        let model = Model()
        for name in ["Other", "Base", "Child", "Alone"] { try model.addEntity(named: name) }
        try model.requireEntity(named: "Child").setParent(try model.requireEntity(named: "Base"))
        try model.setConfiguration(ModelConfiguration(name: "C", entityNames: ["Base", "Gone"]))
        try model.freeze()
        XCTAssertEqual(try model.holdings(ofConfiguration: "C"), [1, 2])
        XCTAssertNil(try model.holdings(ofConfiguration: nil))
        XCTAssertNil(try model.holdings(ofConfiguration: "Default"))
        XCTAssertThrowsError(try model.holdings(ofConfiguration: "D"))
    }
}
