import CorestoneGraph
import CorestoneModel
import CorestoneSQLite
import CorestoneContainers
import Glibc

/// Opens a store with its cached or an inferred model, and reads twenty objects of each entity with all their values.
func readStore(_ bytes: [UInt8]) throws {
    try withFile(bytes) { path in exercise(try Coordinator.open(path)) }
}

/// An XML store of a model with properties of every kind.
func readXMLStore(_ bytes: [UInt8]) throws { try withFile(bytes) { try readWhole(.xml, $0) } }

/// The content of a binary store, which gets the correct checksum.
func readBinaryStore(_ bytes: [UInt8]) throws {
    let file: [String: PropertyListValue] = [
        StoreType.binaryMark: .integer(1), "checksum": .integer(Int64(checksum(bytes))), "content": .data(bytes),
    ]
    try withFile(encodePropertyList(.dictionary(file))) { try readWhole(.binary, $0) }
}

/// Reads a store, writes it, and reads it again: no object may be lost or rejected.
private func readWhole(_ type: StoreType, _ path: String) throws {
    let coordinator = try Coordinator(model: wholeModel)
    var options = StoreOptions()
    options.mustExist = true
    try coordinator.addStore(type, at: path, options: options)
    exercise(coordinator)
    let context = Context(coordinator: coordinator)
    let before = try thingCount(context)
    guard let owner = coordinator.model.entity(named: "Owner") else { fatalError("no Owner") }
    try context.insert(owner)
    do {
        try context.save()
        let again = try Coordinator(model: wholeModel)
        try again.addStore(type, at: path, options: options)
        guard try thingCount(Context(coordinator: again)) == before else { fatalError("objects were lost") }
    } catch {
        fatalError("a store that was read cannot be written and read again: \(error)")
    }
}

private func thingCount(_ context: Context) throws -> Int {
    guard let thing = context.coordinator.model.entity(named: "Thing") else { fatalError("no Thing") }
    return try context.count(FetchRequest(entity: thing))
}

/// Contains the names of the mapping models too, so that these are read completely.
nonisolated(unsafe) private let wholeModel: Model = {
    do {
        let model = Model()
        let (thing, owner) = (try model.addEntity(named: "Thing"), try model.addEntity(named: "Owner"))
        for type in AttributeType.allCases where ![.undefined, .objectID, .composite].contains(type) {
            try thing.addAttribute(named: "a\(type.rawValue)", type: type)
        }
        let things = try owner.addRelationship(named: "things", destination: thing, isToMany: true, isOrdered: true)
        try things.setInverse(try thing.addRelationship(named: "owner", destination: owner))
        let friends = try thing.addRelationship(named: "friends", destination: thing, isToMany: true)
        try friends.setInverse(friends)
        try owner.addRelationship(named: "likes", destination: thing, isToMany: true)
        return model
    } catch { fatalError("\(error)") }
}()

private func withFile(_ bytes: [UInt8], _ body: (String) throws -> Void) throws {
    let path = "/dev/shm/corestone-fuzz-\(getpid())"
    let file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    guard file >= 0, write(file, bytes, bytes.count) == bytes.count, close(file) == 0 else {
        fatalError("cannot write \(path)")
    }
    defer { unlink(path) }
    try body(path)
}

private func exercise(_ coordinator: Coordinator) {
    let context = Context(coordinator: coordinator)
    for entity in coordinator.model.entities {
        let request = FetchRequest(entity: entity)
        request.limit = 20
        for object in (try? context.fetch(request)) ?? [] {
            for property in object.objectID.entity.properties { _ = try? object.value(forKey: property.name) }
        }
    }
}
