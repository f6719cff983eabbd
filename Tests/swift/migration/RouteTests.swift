import CorestoneGraph
import CorestoneModel
import CorestonePredicate
import CorestoneSQLite
import CorestoneContainers
import CorestoneValues
import Foundation
import XCTest

@testable import CorestoneMigration

/// Stores that are migrated by mapping models and chains when they are added.
final class RouteTests: MigrationTestCase {
    private typealias M = RouteTests

    /// `doors` changes its type, so the first step cannot be inferred; the second one is a rename.
    private func versions() throws -> [Model] {
        let models = [
            try M.model("Car plate:string doors:string? owner:Person?", "Person name:string"),
            try M.model("Car plate:string doors:int16? owner:Person?", "Person name:string"),
            try M.model("Car number:string doors:int16? owner:Person?", "Person name:string"),
        ]
        try models[2].setRenamingIdentifier("plate", "Car", "number")
        return models
    }

    private func mapping(_ source: Model, _ destination: Model) throws -> MappingModel {
        MappingModel(
            [
                EntityMapping(
                    name: "CarToCar", kind: .transform, sourceName: "Car", destinationName: "Car",
                    attributeMappings: [M.copy("plate"), M.property("doors", #"CAST($source.doors, "NSNumber")"#)],
                    relationshipMappings: [
                        PropertyMapping(
                            name: "owner", valueExpression: MappingExpressions.destinations(ofRelationship: "owner"))
                    ]),
                EntityMapping(
                    name: "PersonToPerson", kind: .copy, sourceName: "Person", destinationName: "Person",
                    attributeMappings: [M.copy("name")]),
            ], source: source, destination: destination)
    }

    private func garage(_ model: Model, doors: [String] = ["3", "5"], type: StoreType = .sqlite) throws -> String {
        let path = "\(folder)/garage.\(type.rawValue)"
        let coordinator = try Coordinator(model: model)
        var options = StoreOptions()
        options.keepsHistory = type == .sqlite
        let store = try coordinator.addStore(type, at: path, options: options)
        let context = Context(coordinator: coordinator)
        let owner = try context.insert("Person")
        try owner.setValue(.string("Ada"), forKey: "name")
        for (place, count) in doors.enumerated() {
            let car = try context.insert("Car")
            try car.setValue(.string("car \(place)"), forKey: "plate")
            try car.setValue(.string(count), forKey: "doors")
            try car.setValue(.object(owner), forKey: "owner")
        }
        try context.save()
        try coordinator.remove(store)
        return path
    }

    private func open(_ path: String, _ model: Model, _ migration: MigrationOptions) throws -> Context {
        var options = StoreOptions()
        options.migration = migration
        let coordinator = try Coordinator(model: model)
        try coordinator.addStore(at: path, options: options)
        return Context(coordinator: coordinator)
    }

    func testGivenMappingModelMigratesEveryStoreType() throws {
        let models = try versions()
        for type in [StoreType.sqlite, .xml, .binary] {
            let path = try garage(models[0], type: type)
            let identifier = try StoreMetadata(ofStoreAt: path).uuid
            var migration = MigrationOptions.inferred
            migration.mappingModels = [try mapping(models[0], models[1])]
            let context = try open(path, models[1], migration)
            XCTAssertEqual(try values(context, "Car", "doors"), ["3", "5"], type.rawValue)
            XCTAssertEqual(try values(context, "Car", "owner.name"), ["\"Ada\"", "\"Ada\""])
            XCTAssertEqual(try StoreMetadata(ofStoreAt: path).uuid, identifier)
            if type == .sqlite {
                guard case .transactions(let history) = try context.coordinator.fetchHistory(HistoryRequest()) else {
                    return XCTFail("no history")
                }
                XCTAssertEqual(history.flatMap { $0.changes ?? [] }.count, 3, "the history is copied")
            }
        }
    }

    func testMappingModelIsFoundNextToTheModels() throws {
        let models = try versions()
        let path = try garage(models[0])
        try mapping(models[0], models[1]).write(to: "\(folder)/FirstToSecond.cdm")
        var migration = MigrationOptions.inferred
        XCTAssertThrowsError(try open(path, models[1], migration)) {
            XCTAssertEqual(($0 as? CoreError)?.code, CocoaCode.inferredMappingModel.rawValue)
        }
        migration.searchPaths = [folder]
        XCTAssertEqual(try values(open(path, models[1], migration), "Car", "doors"), ["3", "5"])
    }

    /// CoreStore's examples have mapping models in both directions.
    func testMappingModelMigratesToAnOlderVersion() throws {
        let models = try versions()
        let path = try garage(models[0])
        var migration = MigrationOptions.inferred
        migration.mappingModels = [
            try mapping(models[0], models[1]),
            MappingModel(
                [
                    EntityMapping(
                        name: "CarToCar", kind: .copy, sourceName: "Car", destinationName: "Car",
                        attributeMappings: [M.copy("plate"), M.property("doors", #"CAST($source.doors, "NSString")"#)])
                ], source: models[1], destination: models[0]),
        ]
        for model in [models[1], models[0], models[1]] {
            let context = try open(path, model, migration)
            XCTAssertEqual(try context.count(FetchRequest(entityName: "Car")), 2)
            try context.coordinator.remove(XCTUnwrap(context.coordinator.stores.first))
        }
    }

    func testChainOfMappingModelAndInferredMappingMigratesTheStore() throws {
        let models = try versions()
        let path = try garage(models[0])
        var migration = MigrationOptions.inferred
        migration.mappingModels = [try mapping(models[0], models[1])]
        XCTAssertThrowsError(try open(path, models[2], migration), "the intermediate version is unknown")
        migration.sourceModels = [models[1]]
        var options = StoreOptions()
        options.migration = migration
        let report = try MigrationReport(ofStoreAt: path, to: models[2], options: options)
        XCTAssertEqual(report.steps.count, 2, "\(report.steps)")
        let context = try open(path, models[2], migration)
        XCTAssertEqual(try values(context, "Car", "number"), ["\"car 0\"", "\"car 1\""])
        XCTAssertEqual(try values(context, "Car", "doors"), ["3", "5"])
        XCTAssertEqual(try values(context, "Car", "owner.name"), ["\"Ada\"", "\"Ada\""])
        XCTAssertThrowsError(try open(path, models[1], migration)) {
            XCTAssertEqual(($0 as? CoreError)?.code, CocoaCode.stagedMigrationBackwardMigration.rawValue)
        }
    }

    func testFailedChainLeavesTheStoreUnchanged() throws {
        let models = try versions()
        let path = try garage(models[0], doors: ["3", "many"])
        let before = FileManager.default.contents(atPath: path)
        var migration = MigrationOptions.inferred
        migration.mappingModels = [try mapping(models[0], models[1])]
        migration.sourceModels = [models[1]]
        XCTAssertThrowsError(try open(path, models[2], migration)) { error in
            let message = (error as? CoreError)?.message ?? ""
            XCTAssert(message.contains("step 1 of 2"), message)
            XCTAssert(message.contains("CarToCar"), message)
            XCTAssertFalse(message.contains("result"), message)
        }
        XCTAssertEqual(FileManager.default.contents(atPath: path), before)
        XCTAssertEqual(try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.contains("work") }, [])
        for stop in 1...2 {
            var count = 0
            nonisolated(unsafe) let next = {
                count += 1
                return count < stop
            }
            migration.progress = { _, _ in next() }
            XCTAssertThrowsError(try open(path, models[2], migration)) {
                XCTAssertEqual(($0 as? CoreError)?.code, CocoaCode.migrationCancelled.rawValue)
            }
            XCTAssertEqual(FileManager.default.contents(atPath: path), before)
        }
    }

    func testVerificationAcceptsValuesOfAnApplicationFunction() throws {
        let models = try versions()
        let path = try garage(models[0])
        var migration = MigrationOptions.inferred
        migration.verifies = true
        migration.mappingModels = [
            MappingModel(
                [
                    EntityMapping(
                        name: "PersonToPerson", kind: .transform, sourceName: "Person", destinationName: "Person",
                        attributeMappings: [
                            M.property("name", #"FUNCTION($manager, "title:of:", "Dr", $source.name)"#)
                        ])
                ], source: models[0], destination: models[1])
        ]
        migration.managerWillStart = { manager in
            manager.functions["title:of:"] = { arguments in
                guard case .text(let name)? = arguments.last else { return .null }
                return .string("Dr " + name.string)
            }
        }
        XCTAssertEqual(try values(open(path, models[1], migration), "Person", "name"), ["\"Dr Ada\""])
    }

    func testManagerMigratesIntoAnotherFile() throws {
        let models = try versions()
        let path = try garage(models[0])
        let result = "\(folder)/new.sqlite"
        let manager = try MigrationManager(source: models[0], destination: models[1])
        let mapping = try mapping(models[0], models[1])
        try manager.migrateStore(at: path, with: mapping, to: result)
        let context = try open(result, models[1], MigrationOptions())
        XCTAssertEqual(try values(context, "Car", "doors"), ["3", "5"])
        try context.coordinator.remove(XCTUnwrap(context.coordinator.stores.first))
        try manager.migrateStore(at: path, with: mapping, to: result)
        XCTAssertEqual(
            try values(open(result, models[1], MigrationOptions()), "Car", "doors"), ["3", "3", "5", "5"],
            "objects are added to an existing store")
        manager.report = { _, _ in false }
        XCTAssertThrowsError(try manager.migrateStore(at: path, with: mapping, to: "\(folder)/none.sqlite"))
        XCTAssertFalse(FileManager.default.fileExists(atPath: "\(folder)/none.sqlite"))
        XCTAssertThrowsError(
            try MigrationManager(source: models[0], destination: models[1]).migrateStore(
                at: "\(folder)/missing.sqlite", with: mapping, to: "\(folder)/none.sqlite")
        ) { XCTAssertEqual(($0 as? CoreError)?.code, CocoaCode.migrationManagerSourceStore.rawValue) }
    }
}

extension Model {
    fileprivate func setRenamingIdentifier(_ identifier: String, _ entity: String, _ property: String) throws {
        try requireEntity(named: entity).ownAttributes.first { $0.name == property }?.setRenamingIdentifier(identifier)
    }
}
