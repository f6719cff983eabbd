import CorestoneGraph
import CorestoneModel
import CorestoneValues
import Foundation
import XCTest

@testable import CorestoneSQLite

/// Creates a folder for each test and removes it afterwards.
class StoreTestCase: XCTestCase {
    private(set) var folder = ""

    override func setUpWithError() throws {
        folder = NSTemporaryDirectory() + "corestone-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }

    override func tearDown() {
        try? FileManager.default.removeItem(atPath: folder)
    }

    func path(_ name: String) -> String { folder + "/" + name }

    /// The names of the files in the test's folder.
    func files() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: folder).sorted() }

    func open(_ name: String, _ model: Model, options: StoreOptions = StoreOptions()) throws -> SQLiteStore {
        try SQLiteStore(StoreOpener(path(name), model: model, options: options).run())
    }

    /// Returns the output of the sqlite3 shell: one row per line, columns separated by bars.
    func shell(_ name: String, _ sql: String) throws -> String {
        try Fixtures.run("sqlite3", [path(name), sql]).trimmingCharacters(in: .newlines)
    }

    /// The error that `body` throws.
    func failure(_ body: () throws -> Void, line: UInt = #line) -> CoreError {
        do { try body() } catch let error as CoreError { return error } catch {
            XCTFail("\(error) is not a CoreError", line: line)
            return CoreError(.ok, "")
        }
        XCTFail("nothing was thrown", line: line)
        return CoreError(.ok, "")
    }
}

/// Rows to be written, with their memory.
struct Rows {
    private var writer = RecordWriter(expectedBytes: 1 << 16)

    mutating func add(
        _ entity: Entity, _ key: Int64, version: Int32 = 1, _ values: [String: PropertyValue],
        targets: [String: (Int64, Entity)] = [:]
    ) -> Record {
        // Without a save no value is stored in a file.
        add(entity, key, version: version, values, targets: targets) { _ in nil }
    }

    /// Adds a row. `fileName` returns the name of a value's backing file, or nil if the row contains the value.
    mutating func add(
        _ entity: Entity, _ key: Int64, version: Int32 = 1, _ values: [String: PropertyValue],
        targets: [String: (Int64, Entity)] = [:], fileName: (Bytes) throws -> String?
    ) rethrows -> Record {
        writer.begin(primaryKey: key, version: version, entity: entity)
        for property in entity.properties {
            let slot = Int(property.slot)
            let layout = entity.layout.slots[slot]
            if let (target, targetEntity) = targets[property.name] {
                writer.setTarget(target, entity: targetEntity.index, slot, layout)
            } else if layout.role == .external, case .bytes(let bytes)? = values[property.name],
                var name = try fileName(bytes)
            {
                name.withUTF8 { writer.setFileName(UnsafeRawBufferPointer($0), slot, layout) }
            } else if let value = values[property.name] {
                withExtendedLifetime(value) { writer.set(ValueView(value), slot, layout) }
            }
        }
        return writer.finish()
    }

    var chunks: [RecordChunk] { writer.chunks }
}

extension Entity {
    func value(_ name: String, of record: Record) -> PropertyValue {
        guard let property = property(named: name) else { return .null }
        return record.view(Int(property.slot), layout.slots[Int(property.slot)]).propertyValue
    }

    func target(_ name: String, of record: Record) -> Int64? {
        guard let property = property(named: name) else { return nil }
        return record.target(Int(property.slot), layout.slots[Int(property.slot)])?.primaryKey
    }
}

/// A model with every kind of attribute and relationship.
final class Zoo {
    let model = Model()
    let animal: Entity
    let bird: Entity
    let keeper: Entity
    let cage: Entity
    let everything: Entity

    init() throws {
        animal = try model.addEntity(named: "Animal")
        bird = try model.addEntity(named: "Bird")
        keeper = try model.addEntity(named: "Keeper")
        cage = try model.addEntity(named: "Cage")
        everything = try model.addEntity(named: "Everything")
        try bird.setParent(animal)
        try animal.addAttribute(named: "name", type: .string)
        try animal.addAttribute(named: "legs", type: .integer16)
        try bird.addAttribute(named: "wingspan", type: .double)
        try keeper.addAttribute(named: "name", type: .string)
        try keeper.addAttribute(named: "badge", type: .integer64)
        try keeper.addUniqueConstraint(["badge"])
        let animals = try keeper.addRelationship(named: "animals", destination: animal, isToMany: true, isOrdered: true)
        let keeperOf = try animal.addRelationship(named: "keeper", destination: keeper)
        try animals.setInverse(keeperOf)
        let favourite = try keeper.addRelationship(named: "favourite", destination: animal)
        _ = favourite
        let cages = try animal.addRelationship(named: "cages", destination: cage, isToMany: true)
        let inhabitants = try cage.addRelationship(
            named: "inhabitants", destination: animal, isToMany: true, isOrdered: true)
        try cages.setInverse(inhabitants)
        let friends = try animal.addRelationship(named: "friends", destination: animal, isToMany: true)
        try friends.setInverse(friends)
        try keeper.addRelationship(named: "watched", destination: animal, isToMany: true)
        try cage.addAttribute(named: "number", type: .integer32)
        for (name, type) in Zoo.kinds { try everything.addAttribute(named: name, type: type) }
        let large = try everything.addAttribute(named: "large", type: .binary)
        try large.setAllowsExternalStorage(true)
        try everything.addAttribute(named: "scratch", type: .string, isTransient: true)
        try model.freeze()
    }

    static let kinds: [(String, AttributeType)] = [
        ("small", .integer16), ("middle", .integer32), ("wide", .integer64), ("flag", .boolean), ("real", .double),
        ("single", .float), ("text", .string), ("moment", .date), ("data", .binary), ("uid", .uuid), ("link", .uri),
        ("price", .decimal), ("thing", .transformable),
    ]

    func relationship(_ entity: Entity, _ name: String) throws -> Relationship {
        try XCTUnwrap(entity.property(named: name) as? Relationship)
    }
}
