import CorestoneModel
import CorestonePredicate
import CorestoneContainers
import CorestoneValues
import Foundation

@testable import CorestoneGraph
@testable import CorestoneSQLite

/// Two models without an inferable mapping: an age becomes text.
enum ConversionModels {
    static func former() throws -> Model {
        let model = Model()
        let person = try model.addEntity(named: "Person")
        try person.addAttribute(named: "name", type: .string).setPreservesValueInHistory(true)
        try person.addAttribute(named: "age", type: .integer32)
        try person.addAttribute(named: "photo", type: .binary).setAllowsExternalStorage(true)
        let pet = try model.addEntity(named: "Pet")
        try pet.addAttribute(named: "name", type: .string)
        let owner = try pet.addRelationship(named: "owner", destination: person)
        let pets = try person.addRelationship(named: "pets", destination: pet, isToMany: true)
        try owner.setInverse(pets)
        try model.addEntity(named: "Log").addAttribute(named: "line", type: .string)
        for attribute in model.entities.flatMap(\.ownAttributes) { try attribute.setOptional(true) }
        try model.freeze()
        return model
    }

    /// - Parameter derives: whether a person has a derived attribute, which XML stores cannot have.
    static func wanted(derives: Bool = true) throws -> Model {
        let model = Model()
        let animal = try model.addEntity(named: "Animal")
        try animal.addAttribute(named: "title", type: .string)
        let badge = try model.addEntity(named: "Badge")
        try badge.addAttribute(named: "label", type: .string)
        let person = try model.addEntity(named: "Person")
        try person.addAttribute(named: "about", type: .string).setPreservesValueInHistory(true)
        try person.addAttribute(named: "age", type: .string)
        try person.addAttribute(named: "fullName", type: .string).setPreservesValueInHistory(true)
        try person.addAttribute(named: "photo", type: .binary).setAllowsExternalStorage(true)
        let owner = try animal.addRelationship(named: "owner", destination: person)
        let animals = try person.addRelationship(named: "animals", destination: animal, isToMany: true)
        try owner.setInverse(animals)
        try animal.addAttribute(named: "weight", type: .double)
        try animal.addIndex(FetchIndex(name: "byWeight", elements: [.init(property: "weight", collation: .rTree)]))
        if derives {
            try person.addAttribute(named: "count", type: .integer64).setDerivation(
                Derivation(ExpressionText("animals.@count")))
        }
        try person.addIndex(FetchIndex(name: "byName", elements: [.init(property: "fullName")]))
        for attribute in model.entities.flatMap(\.ownAttributes) { try attribute.setOptional(true) }
        try model.freeze()
        return model
    }

    static let properties = [
        CopiedProperty(sourceEntity: "Person", source: "name", entity: "Person", destination: "fullName"),
        CopiedProperty(sourceEntity: "Person", source: "photo", entity: "Person", destination: "photo"),
        CopiedProperty(sourceEntity: "Person", source: "pets", entity: "Person", destination: "animals"),
        CopiedProperty(sourceEntity: "Person", source: "name", entity: "Badge", destination: "label"),
        CopiedProperty(sourceEntity: "Pet", source: "name", entity: "Animal", destination: "title"),
        CopiedProperty(sourceEntity: "Pet", source: "owner", entity: "Animal", destination: "owner"),
    ]
}

/// A route like that of a mapping model: it reads objects of the former model and inserts new objects.
struct FakeConversion: StoreConversion, ConversionRoute {
    let wanted: Model
    var isWanted = true
    var isComplete = false
    /// Called in the middle, with the store and the result.
    nonisolated(unsafe) var middle: (String, String) throws -> Void = { _, _ in }
    nonisolated(unsafe) var source: Model?

    let steps = ["Person to Person and Badge", "Pet to Animal"]

    func route(
        from source: Model, to destination: Model, ofStoreAt path: String, _ options: MigrationOptions
    ) throws -> (any ConversionRoute)? {
        guard isWanted else { return nil }
        var route = self
        route.source = source
        return route
    }

    func run(
        from path: String, named given: String, to result: String, limits: StoreLimits,
        progress: @escaping (Int, Int) -> Bool
    ) throws -> ConvertedContent {
        let former = Context(coordinator: try Coordinator(model: source ?? wanted))
        let old = try former.coordinator.addSQLiteStore(at: path, options: .readOnly)
        var options = StoreOptions()
        (options.rollbackJournal, options.keepsHistory) = (true, true)
        let new = Context(coordinator: try Coordinator(model: wanted))
        let store = try new.coordinator.addSQLiteStore(at: result, options: options)
        var pairs: [(ManagedObject, ManagedObject)] = []
        var became: [ObjectID: ManagedObject] = [:]
        func objects(_ entity: String) throws -> [ManagedObject] {
            let request = FetchRequest(entity: try former.coordinator.model.requireEntity(named: entity))
            request.sortDescriptors = [SortDescriptor("-name")]
            return try former.fetch(request)
        }
        let people = try objects("Person")
        for (done, person) in people.enumerated() {
            guard progress(done, people.count) else { throw CoreError(.cancelled, "stopped \(result)") }
            let copy = try new.insert("Person")
            try copy.setValue(person.value(forKey: "name"), forKey: "fullName")
            try copy.setValue(person.value(forKey: "photo"), forKey: "photo")
            if case .int(let age) = try person.value(forKey: "age") {
                try copy.setValue(.string("\(age) years"), forKey: "age")
            }
            let badge = try new.insert("Badge")
            try badge.setValue(person.value(forKey: "name"), forKey: "label")
            became[person.objectID] = copy
            pairs += [(person, copy), (person, badge)]
        }
        try middle(path, result)
        for pet in try objects("Pet") {
            let animal = try new.insert("Animal")
            try animal.setValue(pet.value(forKey: "name"), forKey: "title")
            try animal.setValue(.double(Double(pairs.count)), forKey: "weight")
            if case .object(let owner as ManagedObject) = try pet.value(forKey: "owner"),
                let copy = became[owner.objectID]
            {
                try animal.setValue(.object(copy), forKey: "owner")
            }
            pairs.append((pet, animal))
        }
        try new.save()
        let rows = pairs.map { former, new in
            "('\(former.entity.name)', \(former.primaryKey), '\(new.entity.name)', \(new.primaryKey))"
        }
        try new.coordinator.remove(store)
        try former.coordinator.remove(old)
        if isComplete { return .complete }
        let connection = try Connection(result, path: result, flags: 2)
        defer { connection.close() }
        try connection.execute(
            "CREATE TABLE CST_ASSOCIATION (SOURCE_ENTITY TEXT, SOURCE_KEY INTEGER, ENTITY TEXT, KEY INTEGER)", "test")
        for start in stride(from: 0, to: rows.count, by: 10_000) {
            let part = rows[start..<min(start + 10_000, rows.count)].joined(separator: ", ")
            try connection.execute("INSERT INTO CST_ASSOCIATION VALUES \(part)", "test")
        }
        return .rows(properties: ConversionModels.properties)
    }
}
