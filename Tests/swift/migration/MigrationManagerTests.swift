import CorestoneGraph
import CorestoneModel
import CorestonePredicate
import CorestoneSQLite
import CorestoneValues
import XCTest

@testable import CorestoneMigration

/// Migration of objects by mapping models.
final class MigrationManagerTests: MigrationTestCase {
    private typealias M = MigrationManagerTests

    func testAttributesAreCopiedConvertedComputedOrKeptAtTheirDefaults() throws {
        let old = try M.model("Car plate:string doors:int64? colour:string? seats:int32? blob:transformable?")
        let new = try M.model(
            "Car plate:string doors:decimal? colour:string?=grey upper:string? made:string?=here blob:transformable?")
        let path = try fill(old) { context in
            for (plate, colour) in [("a", PropertyValue.string("red")), ("b", .null)] {
                let car = try context.insert("Car")
                try car.setValue(.string(plate), forKey: "plate")
                try car.setValue(colour, forKey: "colour")
                try car.setValue(.int(4), forKey: "doors")
                try car.setValue(.bytes(Bytes([1, 2, 255])), forKey: "blob")
            }
        }
        let mapping = MappingModel([
            EntityMapping(
                name: "CarToCar", kind: .transform, sourceName: "Car", destinationName: "Car",
                attributeMappings: [
                    M.copy("plate"), M.copy("doors"), M.copy("colour"),
                    M.property("upper", "uppercase:($source.plate)"),
                    PropertyMapping(name: "made"), M.copy("blob"),
                ])
        ])
        for inBatches in [true, false] {
            let context = try migrate(path, mapping, from: old, to: new, inBatches: inBatches)
            XCTAssertEqual(try values(context, "Car", "plate"), ["\"a\"", "\"b\""])
            XCTAssertEqual(try values(context, "Car", "upper"), ["\"A\"", "\"B\""])
            XCTAssertEqual(
                try values(context, "Car", "made"), ["\"here\"", "\"here\""], "a nil expression leaves the default")
            XCTAssertEqual(
                try values(context, "Car", "colour"), ["\"red\"", "nil"], "a nil value replaces the default")
            XCTAssertEqual(try values(context, "Car", "doors"), ["4", "4"])
            let car = try XCTUnwrap(context.fetch(FetchRequest(entityName: "Car")).first)
            XCTAssertEqual(try car.value(forKey: "blob"), .bytes(Bytes([1, 2, 255])))
        }
    }

    func testRelationshipsAreMigratedByMappingNameAndByRelationship() throws {
        let old = try M.model(
            "Person name:string", "Car plate:string owner:Person? drivers:[Person] parts:<Part>", "Part name:string")
        let new = try M.model(
            "Person name:string", "Car plate:string owner:Person? drivers:[Person] parts:<Part>", "Part name:string")
        let path = try fill(old) { context in
            let people = try ["x", "y", "z"].map { name in
                let person = try context.insert("Person")
                try person.setValue(.string(name), forKey: "name")
                return person
            }
            for index in 0..<3 {
                let car = try context.insert("Car")
                try car.setValue(.string("car\(index)"), forKey: "plate")
                try car.setValue(.object(people[index]), forKey: "owner")
                try car.setValue(.array(people.prefix(index).map { .object($0) }), forKey: "drivers")
                let parts = try (0..<4).map { number in
                    let part = try context.insert("Part")
                    try part.setValue(.string("p\((number * 7 + index) % 4)"), forKey: "name")
                    return part
                }
                try car.setValue(.array(parts.map { .object($0) }), forKey: "parts")
            }
        }
        let mapping = MappingModel([
            EntityMapping(
                name: "CarToCar", kind: .copy, sourceName: "Car", destinationName: "Car",
                attributeMappings: [M.copy("plate")],
                relationshipMappings: [
                    PropertyMapping(
                        name: "owner",
                        valueExpression: MappingExpressions.destinations(
                            of: MappingExpressions.source("owner"), byMapping: "PersonToPerson")),
                    PropertyMapping(
                        name: "drivers", valueExpression: MappingExpressions.destinations(ofRelationship: "drivers")),
                    PropertyMapping(
                        name: "parts", valueExpression: MappingExpressions.destinations(ofRelationship: "parts")),
                ]),
            EntityMapping(
                name: "PersonToPerson", kind: .copy, sourceName: "Person", destinationName: "Person",
                attributeMappings: [M.copy("name")], sourceExpression: MappingExpressions.objects(of: "Person")),
            EntityMapping(
                name: "PartToPart", kind: .copy, sourceName: "Part", destinationName: "Part",
                attributeMappings: [M.copy("name")]),
        ])
        for inBatches in [true, false] {
            let context = try migrate(path, mapping, from: old, to: new, inBatches: inBatches)
            XCTAssertEqual(try values(context, "Car", "owner.name"), ["\"x\"", "\"y\"", "\"z\""])
            XCTAssertEqual(
                try values(context, "Car", "drivers.name"), ["[\"\\\"x\\\"\", \"\\\"y\\\"\"]", "[]", "[]"],
                "x has moved to the last car")
            for car in try context.fetch(FetchRequest(entityName: "Car")) {
                let index = Int(String(try car.value(forKey: "plate").excerpt.dropFirst(4).dropLast())) ?? 0
                let names = try car.value(forKey: "parts").managedObjects.map { try $0.value(forKey: "name") }
                XCTAssertEqual(names, (0..<4).map { .string("p\(($0 * 7 + index) % 4)") }, "the order is kept")
            }
        }
    }

    /// Two mappings of one source entity, one of them filtered (M078).
    func testTwoMappingsSplitAnEntityIntoTwo() throws {
        let old = try M.model("Note title:string image:binary?")
        let new = try M.model(
            "Note title:string attachments:[Attachment]", "Attachment image:binary? note:Note?/attachments",
            "Attachment2 x:string?")
        let path = try fill(old) { context in
            for number in 0..<5 {
                let note = try context.insert("Note")
                try note.setValue(.string("n\(number)"), forKey: "title")
                if number % 2 == 0 { try note.setValue(.bytes(Bytes([UInt8(number)])), forKey: "image") }
            }
        }
        let mapping = MappingModel([
            EntityMapping(
                name: "NoteToNote", kind: .copy, sourceName: "Note", destinationName: "Note",
                attributeMappings: [M.copy("title")],
                relationshipMappings: [
                    M.property(
                        "attachments",
                        #"FUNCTION($manager, "destinationInstancesForEntityMappingNamed:sourceInstances:", "NoteToAttachment", $source)"#
                    )
                ]),
            EntityMapping(
                name: "NoteToAttachment", kind: .transform, sourceName: "Note", destinationName: "Attachment",
                attributeMappings: [M.copy("image")],
                relationshipMappings: [
                    M.property(
                        "note",
                        #"FUNCTION($manager, "destinationInstancesForEntityMappingNamed:sourceInstances:", "NoteToNote", $source)"#
                    )
                ],
                sourceExpression: M.expression(
                    #"FETCH(FUNCTION($manager, "fetchRequestForSourceEntityNamed:predicateString:", "Note", "image != nil"), $manager.sourceContext, NO)"#
                )),
            EntityMapping(name: "Attachment2", kind: .add, destinationName: "Attachment2"),
        ])
        for inBatches in [true, false] {
            let context = try migrate(path, mapping, from: old, to: new, inBatches: inBatches)
            XCTAssertEqual(try values(context, "Attachment", "note.title"), ["\"n0\"", "\"n2\"", "\"n4\""])
            XCTAssertEqual(try context.count(FetchRequest(entityName: "Note")), 5)
            XCTAssertEqual(try context.count(FetchRequest(entityName: "Attachment2")), 0)
        }
    }

    /// Collection operators run on objects of the source (M041).
    func testCollectionOperatorsInExpressionsUseTheSourceObjects() throws {
        let old = try M.model(
            "Continent name:string countries:[Country]",
            "Country name:string continent:Continent?/countries moods:[Mood]",
            "Mood name:string country:Country?/moods")
        let new = try M.model(
            "Continent name:string countries:[Country] moods:[Mood]",
            "Country name:string continent:Continent?/countries",
            "Mood name:string continent:Continent?/moods")
        let path = try fill(old) { context in
            for number in 0..<2 {
                let continent = try context.insert("Continent")
                try continent.setValue(.string("C\(number)"), forKey: "name")
                for second in 0..<2 {
                    let country = try context.insert("Country")
                    try country.setValue(.string("c\(number)\(second)"), forKey: "name")
                    try country.setValue(.object(continent), forKey: "continent")
                    for third in 0..<2 {
                        let mood = try context.insert("Mood")
                        try mood.setValue(.string("m\(number)\(second)\(third)"), forKey: "name")
                        try mood.setValue(.object(country), forKey: "country")
                    }
                }
            }
        }
        let function = "FUNCTION($manager, \"destinationInstancesForEntityMappingNamed:sourceInstances:\", "
        let mapping = MappingModel([
            EntityMapping(
                name: "ContinentToContinent", kind: .copy, sourceName: "Continent", destinationName: "Continent",
                attributeMappings: [M.copy("name")],
                relationshipMappings: [
                    M.property("moods", function + "\"MoodToMood\", $source.countries.@distinctUnionOfSets.moods)")
                ]),
            EntityMapping(
                name: "CountryToCountry", kind: .copy, sourceName: "Country", destinationName: "Country",
                attributeMappings: [M.copy("name")],
                relationshipMappings: [
                    PropertyMapping(
                        name: "continent", valueExpression: MappingExpressions.destinations(ofRelationship: "continent")
                    )
                ]),
            EntityMapping(
                name: "MoodToMood", kind: .copy, sourceName: "Mood", destinationName: "Mood",
                attributeMappings: [M.copy("name")],
                relationshipMappings: [
                    M.property("continent", function + "\"ContinentToContinent\", $source.country.continent)")
                ]),
        ])
        for inBatches in [true, false] {
            let context = try migrate(path, mapping, from: old, to: new, inBatches: inBatches)
            for mood in try context.fetch(FetchRequest(entityName: "Mood")) {
                let (name, continent) = (
                    try mood.value(forKey: "name").excerpt, try mood.value(forKeyPath: "continent.name").excerpt
                )
                XCTAssertEqual(continent.dropFirst(2).first, name.dropFirst(2).first)
            }
            XCTAssertEqual(try values(context, "Continent", "countries.@count"), ["2", "2"])
            XCTAssertEqual(try values(context, "Continent", "moods.@count"), ["4", "4"])
        }
    }

    func testMissingRequiredValuesFailAtTheEndOfTheMigration() throws {
        let old = try M.model("Car plate:string?")
        let new = try M.model("Car plate:string label:string")
        let path = try fill(old) { context in
            for plate in ["a", "b"] { try context.insert("Car").setValue(.string(plate), forKey: "plate") }
        }
        let mapping = MappingModel([
            EntityMapping(
                name: "CarToCar", kind: .copy, sourceName: "Car", destinationName: "Car",
                attributeMappings: [M.copy("plate")])
        ])
        for inBatches in [true, false] {
            XCTAssertThrowsError(try migrate(path, mapping, from: old, to: new, inBatches: inBatches)) { error in
                let error = error as? CoreError
                XCTAssertEqual(error?.code, CocoaCode.migration.rawValue)
                XCTAssertEqual(error?.children.first?.code, CocoaCode.validationMultipleErrors.rawValue)
                XCTAssertEqual(error?.children.first?.children.first?.code, 1570)
                XCTAssertEqual(error?.children.first?.children.first?.key, "label")
            }
        }
    }

    func testErrorNamesMappingAndProperty() throws {
        let old = try M.model("Car plate:string?")
        let new = try M.model("Car plate:string? doors:int16?")
        let path = try fill(old) { try $0.insert("Car").setValue(.string("a"), forKey: "plate") }
        func failure(_ attribute: PropertyMapping, kind: EntityMapping.Kind = .copy, policy: String? = nil) throws
            -> CoreError
        {
            let mapping = MappingModel([
                EntityMapping(
                    name: "CarToCar", kind: kind, sourceName: "Car", destinationName: "Car",
                    attributeMappings: [attribute],
                    policyClassName: policy)
            ])
            var found: CoreError?
            XCTAssertThrowsError(try migrate(path, mapping, from: old, to: new)) { found = $0 as? CoreError }
            return try XCTUnwrap(found)
        }
        let mismatch = try failure(M.copy("doors", "plate"))
        XCTAssertEqual(mismatch.message.prefix(53), "the entity mapping \"CarToCar\" cannot set Car.doors: C")
        XCTAssertEqual([mismatch.entity, mismatch.key], ["Car", "doors"])
        XCTAssertNotNil(mismatch.objectURI)
        let unknown = try failure(M.property("doors", #"FUNCTION($manager, "destinationInstances:", 1)"#))
        XCTAssert(unknown.message.contains("destinationInstances"), unknown.message)
        XCTAssertEqual(try failure(M.copy("dors")).code, CocoaCode.migrationMissingMappingModel.rawValue)
        XCTAssertEqual(try failure(M.copy("plate"), kind: .custom).code, CocoaCode.entityMigrationPolicy.rawValue)
        let missing = try failure(M.copy("plate"), kind: .custom, policy: "Nowhere.NoPolicy")
        XCTAssertEqual(missing.code, CocoaCode.entityMigrationPolicy.rawValue)
        XCTAssert(missing.message.contains("\"Nowhere.NoPolicy\""), missing.message)
        let unreadable = try failure(PropertyMapping(name: "plate", isUnreadable: true))
        XCTAssert(
            unreadable.message.hasSuffix(
                "cannot be read; replace the expression, or remove it and set the value in a migration policy"),
            unreadable.message)
        XCTAssertEqual([unreadable.entity, unreadable.key], ["Car", "plate"])
        let key = try failure(M.property("plate", "$source.plat"))
        XCTAssertEqual(key.children.first?.key, "plat")
        let wrongName =
            #"FUNCTION($manager, "destinationInstancesForEntityMappingNamed:sourceInstances:", "CarToCra", $source)"#
        let cases: [(expression: String, key: String?, value: PropertyValue?)] = [
            ("$manager.userInf", "userInf", nil), (wrongName, nil, .string("CarToCra")),
        ]
        for (expression, key, value) in cases {
            let error = try failure(M.property("plate", expression))
            let cause = error.children.first ?? error
            XCTAssertEqual(cause.key, key)
            XCTAssertEqual(cause.value, value)
        }
    }

    func testProgressIsReportedAndCancelsTheMigration() throws {
        let old = try M.model("Car plate:string?")
        let path = try fill(old) { context in
            for number in 0..<1200 { try context.insert("Car").setValue(.string("\(number)"), forKey: "plate") }
        }
        let mapping = MappingModel([
            EntityMapping(
                name: "CarToCar", kind: .copy, sourceName: "Car", destinationName: "Car",
                attributeMappings: [M.copy("plate")])
        ])
        var reports: [(Int, Int)] = []
        var kept: MigrationManager?
        _ = try migrate(path, mapping, from: old, to: old) { manager in
            kept = manager
            manager.report = {
                reports.append(($0, $1))
                return true
            }
        }
        XCTAssertEqual(kept?.progress, 0)
        XCTAssertEqual(reports.map(\.0), reports.map(\.0).sorted())
        XCTAssertGreaterThan(reports.count, 3)
        XCTAssertEqual(Set(reports.map(\.1)), [1200])
        let mine = CoreError(.cancelled, code: .migrationCancelled, "stopped")
        for (number, own) in [(1, nil), (2, mine), (3, nil)] as [(Int, CoreError?)] {
            var count = 0
            XCTAssertThrowsError(
                try migrate(path, mapping, from: old, to: old) { manager in
                    manager.report = { _, _ in
                        count += 1
                        guard count == number, let own else { return count < number }
                        manager.cancel(with: own)
                        return true
                    }
                }
            ) { error in
                XCTAssertEqual((error as? CoreError)?.code, CocoaCode.migrationCancelled.rawValue)
                if let own { XCTAssert(error as? CoreError === own) }
            }
        }
    }
}
