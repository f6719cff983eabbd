import CorestoneGraph
import CorestoneSQLite
import Glibc

/// A store that is opened by the model that it carries, or by one inferred, and read: twenty objects of each entity with
/// all that they have.
func readStore(_ bytes: [UInt8]) throws {
    let path = "/dev/shm/corestone-fuzz-\(getpid())"
    let file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    guard file >= 0, write(file, bytes, bytes.count) == bytes.count, close(file) == 0 else {
        fatalError("cannot write \(path)")
    }
    defer { unlink(path) }
    let coordinator = try Coordinator.open(path)
    let context = Context(coordinator: coordinator)
    for entity in coordinator.model.entities {
        let request = FetchRequest(entity: entity)
        request.limit = 20
        for object in (try? context.fetch(request)) ?? [] {
            for property in object.objectID.entity.properties { _ = try? object.value(forKey: property.name) }
        }
    }
}
