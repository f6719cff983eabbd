import CorestoneGraph
import CorestoneModel
import CorestonePredicate
import CorestoneValues
import Foundation
import TestSupport
import XCTest

@testable import CorestoneMigration

/// Entity migration policies.
final class MigrationPolicyTests: MigrationTestCase {
    private typealias M = MigrationPolicyTests

    /// Records the stages and calls the default implementation.
    private class Recorder: EntityMigrationPolicy {
        nonisolated(unsafe) static var stages: [String] = []
        private func note(_ stage: String, _ mapping: EntityMapping) {
            Recorder.stages.append("\(mapping.name) \(stage)")
        }

        override func begin(_ mapping: EntityMapping, manager: MigrationManager) { note("begin", mapping) }
        override func createDestinationInstances(
            forSource source: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
        ) throws {
            note("create", mapping)
            XCTAssertEqual(manager.currentEntityMapping?.name, mapping.name)
            try super.createDestinationInstances(forSource: source, in: mapping, manager: manager)
        }
        override func endInstanceCreation(_ mapping: EntityMapping, manager: MigrationManager) {
            note("created", mapping)
        }
        override func createRelationships(
            forDestination destination: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
        ) throws {
            note("relate", mapping)
            try super.createRelationships(forDestination: destination, in: mapping, manager: manager)
        }
        override func endRelationshipCreation(_ mapping: EntityMapping, manager: MigrationManager) {
            note("related", mapping)
        }
        override func performCustomValidation(_ mapping: EntityMapping, manager: MigrationManager) {
            note("validate", mapping)
        }
        override func end(_ mapping: EntityMapping, manager: MigrationManager) { note("end", mapping) }
        override func call(
            _ selector: String, _ arguments: [PropertyValue], manager: MigrationManager
        ) throws -> PropertyValue? {
            guard selector == "labelFor:manager:", case .text(let text) = arguments[0] else { return nil }
            XCTAssertEqual(arguments.count, 2)
            return .string("label of " + text.string)
        }
    }

    private final class SafeRecorder: Recorder { override var isBatchSafe: Bool { true } }

    func testPolicyStagesRunInThreePassesOverAllMappings() throws {
        let old = try M.model("Car plate:string?", "Van plate:string?")
        let new = try M.model("Car plate:string? label:string?", "Van plate:string? label:string?")
        let path = try fill(old) { context in
            for entity in ["Car", "Van"] {
                for plate in ["a", "b"] { try context.insert(entity).setValue(.string(plate), forKey: "plate") }
            }
        }
        MigrationPolicies.register("Recorder") { Recorder() }
        MigrationPolicies.register("Garage.SafeRecorder") { SafeRecorder() }
        defer { for name in ["Recorder", "Garage.SafeRecorder"] { MigrationPolicies.unregister(name) } }
        for policy in ["REPLACE_AT_RUNTIME.Recorder", "Garage.SafeRecorder"] {
            Recorder.stages = []
            let mapping = MappingModel(
                ["Car", "Van"].map {
                    EntityMapping(
                        name: $0, kind: .custom, sourceName: $0, destinationName: $0,
                        attributeMappings: [
                            M.copy("plate"),
                            M.property(
                                "label", #"FUNCTION($entityPolicy, "labelFor:manager:", $source.plate, $manager)"#),
                        ], policyClassName: policy)
                })
            let context = try migrate(path, mapping, from: old, to: new)
            let passes =
                ["Car", "Van"].flatMap { name in ["begin", "create", "create", "created"].map { "\(name) \($0)" } }
                + ["Car", "Van"].flatMap { name in ["relate", "relate", "related"].map { "\(name) \($0)" } }
                + ["Car", "Van"].flatMap { name in ["validate", "end"].map { "\(name) \($0)" } }
            XCTAssertEqual(Recorder.stages, passes)
            XCTAssertEqual(try values(context, "Van", "label"), ["\"label of a\"", "\"label of b\""])
        }
    }

    /// Nothing is saved during the first pass, so shared objects are found among the registered ones (M044).
    private final class Finder: EntityMigrationPolicy {
        override func createDestinationInstances(
            forSource source: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
        ) throws {
            try super.createDestinationInstances(forSource: source, in: mapping, manager: manager)
            let country = try XCTUnwrap(
                manager.destinationInstances(forEntityMappingNamed: mapping.name, sourceInstances: [source]).first)
            let code = try source.value(forKey: "isoContinent")
            let context = try XCTUnwrap(manager.destinationContext)
            var continent = try context.registeredObjects.first {
                try $0.entity.name == "Continent" && $0.value(forKey: "numericISO3166Code") == code
            }
            if continent == nil {
                continent = try context.insert("Continent")
                try continent?.setValue(code, forKey: "numericISO3166Code")
            }
            try country.setValue(.object(XCTUnwrap(continent)), forKey: "continent")
        }
        // The other side is set already.
        override func createRelationships(
            forDestination destination: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
        ) throws {}
    }

    func testPolicyFindsOrCreatesSharedObjects() throws {
        let old = try M.model("Country isoContinent:int16?")
        let new = try M.model("Continent numericISO3166Code:int16?", "Country continent:Continent?")
        let path = try fill(old) { context in
            for code in [10004, 10005, 10004] {
                try context.insert("Country").setValue(.int(Int64(code)), forKey: "isoContinent")
            }
        }
        MigrationPolicies.register("Country5ToCountry6Policy") { Finder() }
        defer { MigrationPolicies.unregister("Country5ToCountry6Policy") }
        let mapping = MappingModel([
            EntityMapping(
                name: "CountryToCountry", kind: .custom, sourceName: "Country", destinationName: "Country",
                policyClassName: "Migrations.Country5ToCountry6Policy"),
            EntityMapping(name: "Continent", kind: .add, destinationName: "Continent"),
        ])
        let context = try migrate(path, mapping, from: old, to: new)
        XCTAssertEqual(try values(context, "Continent", "numericISO3166Code"), ["10004", "10005"])
        XCTAssertEqual(try values(context, "Country", "continent.numericISO3166Code"), ["10004", "10004", "10005"])
    }

    /// Policies in C and Python are compared with the same file: Tests/migration/test_same_policy.py.
    func testSamePolicyInThreeLanguagesHasEqualResults() throws {
        let old = try M.model("Country name:string? isoContinent:int16?")
        let new = try M.model("Continent numericISO3166Code:int16?", "Country name:string? continent:Continent?")
        let path = try fill(old) { context in
            for (name, code) in [("Austria", 10004), ("Japan", 10005), ("Spain", 10004)] {
                let country = try context.insert("Country")
                try country.setValue(.string(name), forKey: "name")
                try country.setValue(.int(Int64(code)), forKey: "isoContinent")
            }
        }
        MigrationPolicies.register("Country5ToCountry6Policy") { Finder() }
        defer { MigrationPolicies.unregister("Country5ToCountry6Policy") }
        let mapping = MappingModel([
            EntityMapping(
                name: "CountryToCountry", kind: .custom, sourceName: "Country", destinationName: "Country",
                attributeMappings: [M.copy("name")], policyClassName: "Migrations.Country5ToCountry6Policy"),
            EntityMapping(name: "Continent", kind: .add, destinationName: "Continent"),
        ])
        let context = try migrate(path, mapping, from: old, to: new)
        var lines = try values(context, "Continent", "numericISO3166Code").map { "Continent \($0)" }
        lines += try context.fetch(FetchRequest(entityName: "Country")).map { country in
            guard case .text(let name) = try country.value(forKey: "name") else { return "Country without a name" }
            return "Country \(name.string) \(try country.value(forKeyPath: "continent.numericISO3166Code").excerpt)"
        }
        let expected = Checkout.root.appendingPathComponent("Tests/migration/same_policy.txt")
        XCTAssertEqual(
            lines.sorted().map { $0 + "\n" }.joined(), try String(contentsOf: expected, encoding: .utf8))
    }

    private final class Failing: EntityMigrationPolicy {
        override func performCustomValidation(_ mapping: EntityMapping, manager: MigrationManager) throws {
            throw CoreError(.invalidArgument, "three wheels", entity: "Car", key: "wheels")
        }
    }

    func testErrorOfAPolicyStageNamesPolicyAndMapping() throws {
        let old = try M.model("Car plate:string?")
        let path = try fill(old) { _ = try $0.insert("Car") }
        MigrationPolicies.register("Failing") { Failing() }
        defer { MigrationPolicies.unregister("Failing") }
        let mapping = MappingModel([
            EntityMapping(
                name: "CarToCar", kind: .custom, sourceName: "Car", destinationName: "Car", policyClassName: "Failing")
        ])
        XCTAssertThrowsError(try migrate(path, mapping, from: old, to: old)) { error in
            let error = error as? CoreError
            XCTAssertEqual(error?.code, CocoaCode.entityMigrationPolicy.rawValue)
            XCTAssertEqual(
                error?.message,
                "perform_custom_validation (performCustomValidation) of the migration policy \"Failing\" failed in the entity mapping \"CarToCar\": three wheels"
            )
            XCTAssertEqual(error?.key, "wheels")
        }
    }

    private final class Rejecting: EntityMigrationPolicy {
        override func createDestinationInstances(
            forSource source: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
        ) throws {
            throw CoreError(.invalidArgument, "the car is rejected", entity: "Car", value: .object(source))
        }
    }

    func testErrorsDoNotRetainObjectsOfTheMigration() throws {
        let old = try M.model("Car plate:string?")
        let path = try fill(old) { _ = try $0.insert("Car") }
        MigrationPolicies.register("Rejecting") { Rejecting() }
        defer { MigrationPolicies.unregister("Rejecting") }
        func failure(_ attributes: [PropertyMapping], policy: String?) throws -> CoreError {
            let mapping = MappingModel([
                EntityMapping(
                    name: "CarToCar", kind: policy == nil ? .copy : .custom, sourceName: "Car", destinationName: "Car",
                    attributeMappings: attributes, policyClassName: policy)
            ])
            var found: CoreError?
            XCTAssertThrowsError(try migrate(path, mapping, from: old, to: old)) { found = $0 as? CoreError }
            return try XCTUnwrap(found)
        }
        let rejected = try failure([], policy: "Rejecting")
        let mismatch = try failure([M.property("plate", "$source")], policy: nil)
        for error in [rejected, mismatch] {
            XCTAssertNil(error.value, error.message)
            XCTAssertNil(error.children.first?.value, error.message)
            XCTAssertNotNil(error.children.first, error.message)
        }
        XCTAssertEqual(rejected.children.first?.message, "the car is rejected")
    }
}
