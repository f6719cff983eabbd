import CorestoneGraph
import CorestoneModel
import CorestonePredicate
import CorestoneSQLite
import CorestoneValues
import Foundation
import XCTest

/// Windows of a fetch whose sort key path includes an object with unsaved changes.
final class WindowTests: XCTestCase {
    func testPagesAreConsistentWithAnUnsavedSortKey() throws {
        let model = Model()
        let person = try model.addEntity(named: "Person")
        try person.addAttribute(named: "name", type: .string)
        let boss = try person.addRelationship(named: "boss", destination: person)
        try boss.setInverse(try person.addRelationship(named: "staff", destination: person, isToMany: true))
        let path = NSTemporaryDirectory() + UUID().uuidString + ".sqlite"
        defer { for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) } }
        let coordinator = try Coordinator(model: model)
        try coordinator.addSQLiteStore(at: path)
        let context = Context(coordinator: coordinator)
        let bosses = try ["m1", "m2"].map { name in
            let object = try context.insert(person)
            try object.setValue(.string(name), forKey: "name")
            return object
        }
        for number in 0..<60 {
            let object = try context.insert(person)
            try object.setValue(.string("p\(number)"), forKey: "name")
            try object.setValue(.object(bosses[number / 30]), forKey: "boss")
        }
        try context.save()
        try bosses[0].setValue(.string("zz"), forKey: "name")

        let request = FetchRequest(
            entity: person, predicate: try Predicate.parse("boss != nil"),
            sortDescriptors: [SortDescriptor("boss.name")])
        let whole = try context.fetch(request)
        XCTAssertEqual(whole.count, 60)
        var pages: [ManagedObject] = []
        request.limit = 20
        for offset in stride(from: 0, to: 60, by: 20) {
            request.offset = offset
            pages += try context.fetch(request)
        }
        XCTAssertTrue(pages.elementsEqual(whole) { $0 === $1 })
    }
}
