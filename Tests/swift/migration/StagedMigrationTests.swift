import CorestoneGraph
import CorestoneModel
import CorestonePredicate
import CorestoneSQLite
import CorestoneContainers
import CorestoneValues
import Foundation
import XCTest

@testable import CorestoneMigration

/// Staged migrations.
final class StagedMigrationTests: MigrationTestCase {
    private typealias M = StagedMigrationTests

    /// The three versions of M029: a name of a pet becomes an object, whose name is required in the last one.
    private func versions() throws -> [Model] {
        [
            try M.model("User name:string petName:string?"),
            try M.model("User name:string petName:string? pet:Pet?", "Pet name:string?"),
            try M.model("User name:string pet:Pet?", "Pet name:string"),
        ]
    }

    private func users(_ model: Model) throws -> String {
        try fill(model) { context in
            for number in 0..<3 {
                let user = try context.insert("User")
                try user.setValue(.string("user \(number)"), forKey: "name")
                if number != 1 { try user.setValue(.string("pet \(number)"), forKey: "petName") }
            }
        }
    }

    private func open(_ path: String, _ model: Model, _ stages: [MigrationStage], models: [Model]) throws -> Context {
        var options = StoreOptions()
        var migration = MigrationOptions.inferred
        migration.stages = try StagedMigration(stages)
        migration.sourceModels = models
        options.migration = migration
        let coordinator = try Coordinator(model: model)
        try coordinator.addStore(at: path, options: options)
        return Context(coordinator: coordinator)
    }

    private func splitPets(_ context: Context) throws {
        for user in try context.fetch(FetchRequest(entityName: "User")) {
            let name = try user.value(forKey: "petName")
            if name.isNull { continue }
            let pet = try context.insert("Pet")
            try pet.setValue(name, forKey: "name")
            try user.setValue(.object(pet), forKey: "pet")
        }
    }

    func testCustomAndLightweightStagesMigrateTheStore() throws {
        let models = try versions()
        let path = try users(models[0])
        var order: [String] = []
        let stages = [
            MigrationStage.custom(
                from: ModelReference(models[0]), to: ModelReference(models[1], checksum: models[1].versionChecksum),
                label: "pets",
                willMigrate: {
                    order.append("will \(try $0.count(FetchRequest(entityName: "User")))")
                },
                didMigrate: {
                    order.append("did")
                    try self.splitPets($0)
                }),
            MigrationStage.lightweight([models[2].versionChecksum]),
        ]
        let context = try open(path, models[2], stages, models: models)
        XCTAssertEqual(try values(context, "Pet", "name"), ["\"pet 0\"", "\"pet 2\""])
        XCTAssertEqual(try values(context, "User", "pet.name"), ["\"pet 0\"", "\"pet 2\"", "nil"])
        XCTAssertEqual(order, ["will 3", "did"])
        try context.coordinator.remove(XCTUnwrap(context.coordinator.stores.first))
        XCTAssertEqual(try open(path, models[2], stages, models: models).count(FetchRequest(entityName: "User")), 3)
        XCTAssertEqual(order.count, 2, "no stage runs for a migrated store")
    }

    func testStoreOfAnIntermediateVersionSkipsEarlierStages() throws {
        let models = try versions()
        let path = try users(models[1])
        let stages = [
            MigrationStage.custom(
                from: ModelReference(models[0]), to: ModelReference(models[1]),
                didMigrate: { _ in XCTFail("the store already has the next version") }),
            MigrationStage.lightweight([models[2].versionChecksum]),
        ]
        XCTAssertEqual(try open(path, models[2], stages, models: models).count(FetchRequest(entityName: "User")), 3)
    }

    func testTransformationStageReadsTheOldStoreAndFillsTheNewOne() throws {
        let models = try versions()
        let path = try users(models[0])
        let stages = [
            MigrationStage.transformation(from: ModelReference(models[0]), to: ModelReference(models[2])) { old, new in
                for user in try old.fetch(FetchRequest(entityName: "User")) {
                    let made = try new.insert("User")
                    try made.setValue(user.value(forKey: "name"), forKey: "name")
                    let name = try user.value(forKey: "petName")
                    if name.isNull { continue }
                    let pet = try new.insert("Pet")
                    try pet.setValue(name, forKey: "name")
                    try made.setValue(.object(pet), forKey: "pet")
                }
            }
        ]
        let identifier = try StoreMetadata(ofStoreAt: path).uuid
        let context = try open(path, models[2], stages, models: [])
        XCTAssertEqual(try values(context, "User", "pet.name"), ["\"pet 0\"", "\"pet 2\"", "nil"])
        XCTAssertEqual(try StoreMetadata(ofStoreAt: path).uuid, identifier)
    }

    /// Each step to the next version can be inferred, and V2 to V4; V1 to V3 and V1 to V4 cannot, because `a` has another type.
    private func versionChain() throws -> [Model] {
        [
            try M.model("A keep:string? a:string?"), try M.model("A keep:string?"),
            try M.model("A keep:string? a:int32?"),
            try M.model("A keep:string? a:int32? b:string?"),
        ]
    }

    private func migrationSteps(_ models: [Model], to goal: Int, _ stages: [MigrationStage]) throws -> [String] {
        let path = try fill(models[0]) { try $0.insert("A").setValue(.string("one"), forKey: "keep") }
        var migration = MigrationOptions.inferred
        migration.stages = try StagedMigration(stages)
        migration.sourceModels = models
        var options = StoreOptions()
        options.migration = migration
        let steps = try MigrationReport(ofStoreAt: path, to: models[goal], options: options).steps
        let context = try open(path, models[goal], stages, models: models)
        XCTAssertEqual(try values(context, "A", "keep"), ["\"one\""])
        try context.coordinator.remove(XCTUnwrap(context.coordinator.stores.first))
        return steps
    }

    func testLightweightVersionsAreChainedByTheShortestPath() throws {
        let models = try versionChain()
        let checksums = models.map(\.versionChecksum)
        let stages = [MigrationStage.lightweight([checksums[0], checksums[1]]), .lightweight([checksums[2]])]
        XCTAssertEqual(try migrationSteps(models, to: 2, stages).count, 2)
        XCTAssertEqual(
            try migrationSteps(models, to: 3, [.lightweight(checksums)]).count, 2, "the shortest chain skips V3")
    }

    func testLightweightVersionsAreSkippedWhenOneStepSuffices() throws {
        let models = [
            try M.model("A keep:string?"), try M.model("A keep:string? x:int32?"),
            try M.model("A keep:string? x:int32? y:int32?"),
        ]
        let steps = try migrationSteps(models, to: 2, [.lightweight(models.map(\.versionChecksum), label: "numbers")])
        XCTAssertEqual(steps.count, 1)
        XCTAssertEqual(steps.first?.hasSuffix(", the stage \"numbers\""), true, steps.first ?? "no step")
    }

    func testLaterStageDoesNotRunForAnEarlierModel() throws {
        let models = try versionChain()
        let stages = [
            MigrationStage.lightweight(Array(models[..<3].map(\.versionChecksum))),
            .custom(
                from: ModelReference(models[2]), to: ModelReference(models[3]),
                willMigrate: { _ in XCTFail("the model has the version before") }),
        ]
        XCTAssertEqual(try migrationSteps(models, to: 2, stages).count, 2)
    }

    func testErrorNamesTheVersionThatIsNotReached() throws {
        let models = try versionChain()
        let checksums = models.map(\.versionChecksum)
        XCTAssertThrowsError(try migrationSteps(models, to: 3, [.lightweight([checksums[0], checksums[3]])])) {
            let error = $0 as? CoreError
            XCTAssertEqual(error?.code, CocoaCode.migrationMissingMappingModel.rawValue)
            XCTAssertEqual(error?.value, .string(checksums[3]))
            XCTAssert(error?.message.contains("name the versions between them in a lightweight stage") == true, "\($0)")
        }
    }

    func testInvalidStagesFailWithTheirCodes() throws {
        let models = try versions()
        let path = try users(models[0])
        let before = FileManager.default.contents(atPath: path)
        func failure(_ stages: @autoclosure () throws -> [MigrationStage], _ known: [Model]? = nil) -> CoreError? {
            do {
                _ = try open(path, models[2], stages(), models: known ?? models)
                return nil
            } catch { return error as? CoreError }
        }
        let (first, second, third) = (ModelReference(models[0]), ModelReference(models[1]), ModelReference(models[2]))
        let equal = failure([.custom(from: first, to: first)])
        XCTAssert(
            equal?.message.contains("must differ, but both have the checksum") == true, equal?.message ?? "no failure")
        let checksum = models[1].versionChecksum
        let twice = failure([.lightweight([checksum, checksum])])
        XCTAssertEqual(
            twice?.message,
            "stage 1 names the version with the checksum \"\(checksum)\" twice; remove one of the two")
        XCTAssertEqual(failure([])?.status, .invalidArgument)
        XCTAssertEqual(failure([.lightweight([])])?.status, .invalidArgument)
        XCTAssertEqual(
            failure([.custom(from: first, to: third), .lightweight([models[2].versionChecksum])])?.status,
            .invalidArgument,
            "two stages end at one version")
        let unknown = failure([.custom(from: second, to: third)])
        XCTAssertEqual(unknown?.code, CocoaCode.migration.rawValue)
        XCTAssert(
            unknown?.message.contains("the stages do not contain one that starts at") == true,
            unknown?.message ?? "no failure")
        XCTAssertEqual(unknown?.value, .string(models[0].versionChecksum))
        XCTAssertEqual(
            failure([.lightweight([models[1].versionChecksum, models[2].versionChecksum])], [])?.code,
            CocoaCode.managedObjectModelReferenceNotFound.rawValue)
        XCTAssertEqual(
            failure([.custom(from: ModelReference(models[0], checksum: "x"), to: third)])?.code,
            CocoaCode.managedObjectModelReferenceNotFound.rawValue)
        XCTAssertEqual(
            failure([.custom(from: ModelReference(contentsOf: "\(folder)/none.mom"), to: third)])?.code,
            CocoaCode.managedObjectModelReferenceNotFound.rawValue)
        let broken = failure([
            .custom(
                from: first, to: third, label: "pets",
                didMigrate: { _ in throw CoreError(.invalidArgument, "no pet", entity: "Pet", key: "name") })
        ])
        XCTAssertEqual(broken?.code, CocoaCode.migration.rawValue)
        XCTAssertEqual(broken?.key, "name")
        XCTAssert(
            broken?.message.contains("did_migrate (didMigrate) of the stage \"pets\" failed: no pet") == true,
            broken?.message ?? "")
        XCTAssertEqual(FileManager.default.contents(atPath: path), before)
    }

    func testMappingModelsAndStagesKeepTheManagerCallbackWhenTheyReplaceEachOther() throws {
        let mapping = MappingModel([])
        let stages = try StagedMigration([.lightweight([versions()[0].versionChecksum])])
        var options = MigrationOptions.inferred
        options.stages = stages
        options.managerWillStart = { _ in }
        options.mappingModels = [mapping]
        XCTAssertNil(options.stages)
        XCTAssertNotNil(options.managerWillStart)
        options.stages = stages
        XCTAssertEqual(options.mappingModels.count, 0)
        XCTAssertNotNil(options.managerWillStart)
        options.stages = nil
        XCTAssertNotNil(options.managerWillStart)
    }

    func testStagedMigrationToAnOlderModelFails() throws {
        let models = try versions()
        let path = try users(models[0])
        let stages = [MigrationStage.lightweight([models[1].versionChecksum, models[2].versionChecksum])]
        _ = try open(path, models[2], stages, models: models)
        XCTAssertThrowsError(try open(path, models[1], stages, models: models)) {
            XCTAssertEqual(($0 as? CoreError)?.code, CocoaCode.stagedMigrationBackwardMigration.rawValue)
        }
    }
}
