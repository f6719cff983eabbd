import CorestoneValues
import Foundation
import XCTest

@testable import CorestoneModel

/// Checksums, hashes of properties, compatibility, models of a folder.
final class ModelVersionTests: XCTestCase {
    private var folder = URL(fileURLWithPath: "/")

    override func setUpWithError() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    override func tearDownWithError() throws { try FileManager.default.removeItem(at: folder) }

    private func path(_ name: String) -> String { folder.appendingPathComponent(name).path }

    private func staff(title: Bool) throws -> Model {
        let model = Model()
        let employee = try model.addEntity(named: "Employee")
        let department = try model.addEntity(named: "Department")
        try employee.addAttribute(named: "name", type: .string)
        try employee.addAttribute(named: "salary", type: .integer32)
        try employee.addAttribute(named: title ? "title" : "hireDate", type: title ? .string : .date)
        try department.addAttribute(named: "name", type: .string)
        try employee.addRelationship(named: "department", destination: department).setInverse(
            try department.addRelationship(named: "employees", destination: employee, isToMany: true))
        return model
    }

    func testS332EmptyMetadataIsIncompatible() throws {
        let (first, second) = (try staff(title: false), try staff(title: true))
        let metadata = StoreMetadata(model: first)
        XCTAssert(try first.isCompatible(with: metadata))
        XCTAssertFalse(try second.isCompatible(with: metadata))
        XCTAssertFalse(try first.isCompatible(with: StoreMetadata(uuid: .random())))
    }

    func testCompatibleConfigurationHasExactlyTheEntitiesOfTheStore() throws {
        let model = try staff(title: false)
        try model.setConfiguration(ModelConfiguration(name: "People", entityNames: ["Employee"]))
        var metadata = StoreMetadata(model: model)
        XCTAssertFalse(try model.isCompatible(with: metadata, configuration: "People"))
        XCTAssert(try model.isCompatible(with: metadata, configuration: "Default"))
        let hash = try XCTUnwrap(entityVersionHashes(of: model)["Employee"])
        metadata.values[StoreMetadata.Key.hashes] = .dictionary(["Employee": .data(hash)])
        XCTAssert(try model.isCompatible(with: metadata, configuration: "People"))
        XCTAssertFalse(try model.isCompatible(with: metadata))
        XCTAssertThrowsError(try model.isCompatible(with: metadata, configuration: "Nobody"))
    }

    func testS325VersionIdentifiersAreNotHashedAndAreMerged() throws {
        let (one, other) = (try staff(title: false), try staff(title: false))
        XCTAssertEqual(one.versionIdentifiers, [])
        try one.addVersionIdentifier("2")
        XCTAssertEqual(one.versionChecksum, other.versionChecksum)
        try other.addVersionIdentifier("3")
        XCTAssertEqual(Set(try Model.merging([one, other]).versionIdentifiers), ["2", "3"])
    }

    func testChecksumsMatchTheFixtures() throws {
        let root = try Fixtures.folder().appendingPathComponent("compiled-models")
        var (recorded, equal) = (0, 0)
        for name in ["coredataplus/SampleModel3.momd", "coredataplus/SampleModel.momd", "blobjot/GMSCacheStorage.momd"]
        {
            let bundle = root.appendingPathComponent(name).path
            let checksums = try Model.versionChecksums(of: bundle)
            for (version, checksum) in zip(try Model.versions(of: bundle), checksums) {
                let computed = try Model(contentsOf: version.path).versionChecksum
                XCTAssertEqual(checksum.checksum, computed, "\(name) \(version.name)")
                recorded += version.recordedChecksum == nil ? 0 : 1
                equal += version.recordedChecksum == computed ? 1 : 0
            }
        }
        print("checksums on record in bundles: \(equal) of \(recorded) recomputed")
        XCTAssertEqual(recorded, 3)
        XCTAssertEqual(equal, recorded)
    }

    func testPropertyHashDiffersOnlyForTheChangedProperty() throws {
        let (one, two) = (try staff(title: false), try staff(title: false))
        try two.requireEntity(named: "Employee").ownAttributes[1].setOptional(false)
        for (a, b) in zip(one.entities[0].ownProperties, two.entities[0].ownProperties) {
            XCTAssertEqual(a.versionHash == b.versionHash, a.name != "salary", a.name)
            XCTAssertEqual(a.versionHash.count, 32)
        }
    }

    func testModelsOfAFolderAreMerged() throws {
        XCTAssertThrowsError(try Model.merging(folder: folder.path)) { error in
            XCTAssertEqual((error as? CoreError)?.status, .model)
        }
        let staff = try staff(title: false)
        try staff.write(to: path("Staff.xcdatamodeld"))
        try Model.convert(path("Staff.xcdatamodeld"), to: path("Staff.momd"))
        // The source differs from the compiled form, which is preferred.
        try self.staff(title: true).write(to: path("Staff.xcdatamodeld"))
        let book = Model()
        try book.addEntity(named: "Book")
        try book.write(to: path("Books.mom"))
        try Data().write(to: URL(fileURLWithPath: path("notes.txt")))
        let merged = try Model.merging(folder: folder.path)
        XCTAssertEqual(Set(merged.entities.map(\.name)), ["Book", "Department", "Employee"])
        XCTAssertEqual(
            entityVersionHashes(of: merged)["Employee"], entityVersionHashes(of: staff)["Employee"])

        // For a store, every version is considered, not only the current one.
        let newer = try self.staff(title: true)
        try newer.write(to: path("Staff.momd"), version: "Staff 2")
        let former = try Model.merging(folder: folder.path, forHashes: entityVersionHashes(of: staff))
        XCTAssertEqual(entityVersionHashes(of: former), entityVersionHashes(of: staff))

        try self.staff(title: false).write(to: path("Other.mom"))
        XCTAssertThrowsError(try Model.merging(folder: folder.path)) { error in
            let message = (error as? CoreError)?.message ?? ""
            XCTAssert(message.contains("Employee") && message.contains("hireDate"), message)
        }
    }
}
