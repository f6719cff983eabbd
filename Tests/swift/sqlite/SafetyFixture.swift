import CorestoneModel
import CorestoneContainers
import CorestoneValues
import Foundation
import XCTest

@testable import CorestoneGraph
@testable import CorestoneSQLite

/// Two models with every kind of removal, and a store of the first one.
enum SafetyModels {
    static func former() throws -> Model {
        let model = Model()
        let animal = try model.addEntity(named: "Animal")
        try animal.addAttribute(named: "age", type: .integer32)
        try animal.addAttribute(named: "legacy", type: .string)
        try animal.addAttribute(named: "name", type: .string)
        try animal.addAttribute(named: "photo", type: .binary).setAllowsExternalStorage(true)
        try animal.addAttribute(named: "portrait", type: .binary).setAllowsExternalStorage(true)
        try animal.addAttribute(named: "weight", type: .double)
        let dog = try model.addEntity(named: "Dog")
        try dog.setParent(animal)
        try dog.addAttribute(named: "breed", type: .string)
        try dog.addAttribute(named: "chip", type: .string)
        let person = try model.addEntity(named: "Person")
        try person.addAttribute(named: "name", type: .string)
        try person.addAttribute(named: "nick", type: .string)
        let tag = try model.addEntity(named: "Tag")
        try tag.addAttribute(named: "label", type: .string)
        let old = try model.addEntity(named: "Old")
        try old.addAttribute(named: "scan", type: .binary).setAllowsExternalStorage(true)
        let owner = try animal.addRelationship(named: "owner", destination: person)
        let pets = try person.addRelationship(named: "pets", destination: animal, isToMany: true, isOrdered: true)
        try owner.setInverse(pets)
        let tags = try person.addRelationship(named: "tags", destination: tag, isToMany: true, isOrdered: true)
        let people = try tag.addRelationship(named: "people", destination: person, isToMany: true)
        try tags.setInverse(people)
        try animal.addIndex(FetchIndex(name: "byName", elements: [.init(property: "name")]))
        try animal.addIndex(FetchIndex(name: "byLegacy", elements: [.init(property: "legacy")]))
        for attribute in model.entities.flatMap(\.ownAttributes) { try attribute.setOptional(true) }
        try model.freeze()
        return model
    }

    /// The new model.
    ///
    /// It lacks Old, Animal.legacy, Animal.photo and Dog.chip. Person.tags is unordered, Person.nick is another
    /// attribute of that name, and Animal.title was Animal.name.
    static func wanted() throws -> Model {
        let model = Model()
        let animal = try model.addEntity(named: "Animal")
        try animal.addAttribute(named: "age", type: .integer32)
        try animal.addAttribute(named: "born", type: .date)
        try animal.addAttribute(named: "portrait", type: .binary).setAllowsExternalStorage(true)
        try animal.addAttribute(named: "title", type: .string).setRenamingIdentifier("name")
        try animal.addAttribute(named: "weight", type: .double)
        let dog = try model.addEntity(named: "Dog")
        try dog.setParent(animal)
        try dog.addAttribute(named: "breed", type: .string)
        let person = try model.addEntity(named: "Person")
        try person.addAttribute(named: "name", type: .string)
        try person.addAttribute(named: "nick", type: .string).setRenamingIdentifier("alias")
        try person.addAttribute(named: "count", type: .integer64).setDerivation(
            Derivation(ExpressionText("pets.@count")))
        let tag = try model.addEntity(named: "Tag")
        try tag.addAttribute(named: "label", type: .string)
        let owner = try animal.addRelationship(named: "owner", destination: person)
        let pets = try person.addRelationship(named: "pets", destination: animal, isToMany: true, isOrdered: true)
        try owner.setInverse(pets)
        let tags = try person.addRelationship(named: "tags", destination: tag, isToMany: true)
        let people = try tag.addRelationship(named: "people", destination: person, isToMany: true)
        try tags.setInverse(people)
        try animal.addIndex(FetchIndex(name: "byTitle", elements: [.init(property: "title")]))
        for attribute in model.entities.flatMap(\.ownAttributes) { try attribute.setOptional(true) }
        try model.freeze()
        return model
    }
}

extension StoreTestCase {
    static let large = [UInt8](repeating: 7, count: 200_000)

    /// Creates a store of the former model.
    ///
    /// It contains two people, five animals with two dogs (all but the last with an owner), two tags, and a scan in a
    /// file.
    func makeFormer(_ name: String = "a.sqlite", type: StoreType = .sqlite, rollback: Bool = false) throws {
        let coordinator = try Coordinator(model: SafetyModels.former())
        var options = StoreOptions()
        options.rollbackJournal = rollback
        let store = try coordinator.addStore(type, at: path(name), options: options)
        let context = Context(coordinator: coordinator)
        func insert(_ entity: String, _ values: [String: PropertyValue]) throws -> ManagedObject {
            let object = try context.insert(entity)
            for (key, value) in values { try object.setValue(value, forKey: key) }
            return object
        }
        func members(_ objects: [ManagedObject]) -> PropertyValue { .array(objects.map { .object($0) }) }
        let tags = try ["a", "b"].map { try insert("Tag", ["label": .string($0)]) }
        let animals = try (0..<5).map { number in
            try insert(
                [2, 3].contains(number) ? "Dog" : "Animal",
                [
                    "name": .string("animal \(number)"), "age": .int(Int64(number)), "legacy": .string("old \(number)"),
                    "weight": .double(Double(number) * 0.1),
                ])
        }
        try animals[0].setValue(.bytes(Bytes(StoreTestCase.large)), forKey: "photo")
        try animals[1].setValue(.bytes(Bytes(StoreTestCase.large)), forKey: "portrait")
        try animals[3].setValue(.string("chip 3"), forKey: "chip")
        let ada = try insert("Person", ["name": .string("Ada"), "nick": .string("Countess")])
        let bob = try insert("Person", ["name": .string("Bob")])
        try ada.setValue(members([animals[2], animals[0], animals[1]]), forKey: "pets")
        try bob.setValue(members([animals[3]]), forKey: "pets")
        try ada.setValue(members([tags[1], tags[0]]), forKey: "tags")
        try bob.setValue(members([tags[1]]), forKey: "tags")
        let scan = try insert("Old", [:])
        try scan.setValue(.bytes(Bytes(StoreTestCase.large)), forKey: "scan")
        try context.save()
        try coordinator.remove(store)
    }

    /// Migrates the store to the wanted model and returns the coordinator that has it open.
    @discardableResult
    func migrateFormer(
        _ name: String = "a.sqlite", _ change: (inout MigrationOptions) -> Void = { _ in }
    ) throws -> Coordinator {
        var migration = MigrationOptions.inferred
        migration.allowsRemovals = true
        change(&migration)
        var options = StoreOptions()
        options.migration = migration
        let coordinator = try Coordinator(model: SafetyModels.wanted())
        try coordinator.addStore(at: path(name), options: options)
        return coordinator
    }

    func closeAll(_ coordinator: Coordinator) throws {
        for store in coordinator.stores { try coordinator.remove(store) }
    }

    func backingFiles(_ stem: String = "a") -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: path(".\(stem)_SUPPORT/_EXTERNAL_DATA")).sorted()) ?? []
    }
}
