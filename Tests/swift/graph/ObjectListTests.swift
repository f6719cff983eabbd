import Corestone
import XCTest

@testable import CorestoneGraph

/// Lists of distinct objects, and ordered relationships.
final class ObjectListTests: GraphTestCase {
    private func tasks(_ count: Int) throws -> [ManagedObject] {
        try (0..<count).map { _ in try context.insert("Task") }
    }

    /// Compared with an array: every member has the correct index after insertions, moves and removals.
    func testObjectListMatchesAnArray() throws {
        let all = try tasks(60)
        for seed in 1...20 {
            var random = UInt64(seed) &* 0x9E37_79B9_7F4A_7C15
            func next(_ below: Int) -> Int {
                random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                return Int(random >> 33) % below
            }
            var (model, list, copy) = (all, ObjectList(all), ObjectList())
            for _ in 0..<400 {
                let object = all[next(all.count)]
                let place = model.firstIndex { $0 === object }
                switch next(8) {
                case 0...2:
                    XCTAssertEqual(list.remove(object, keepingOrder: true), place != nil)
                    if let place { model.remove(at: place) }
                case 3:
                    XCTAssertEqual(list.remove(object, keepingOrder: false), place != nil)
                    if let place {
                        model.swapAt(place, model.count - 1)
                        model.removeLast()
                    }
                case 4:
                    let to = next(model.count + (place == nil ? 1 : 0))
                    if let place {
                        model.insert(model.remove(at: place), at: to)
                        list.move(from: place, to: to)
                    } else {
                        model.insert(object, at: to)
                        list.insert(object, at: to)
                    }
                case 5: copy = list
                default:
                    XCTAssertEqual(list.append(object), place == nil)
                    if place == nil { model.append(object) }
                }
                XCTAssertTrue(list.objects.elementsEqual(model, by: ===))
                if let one = model.last { XCTAssertEqual(list.place(of: one), model.count - 1) }
                let other = all[next(all.count)]
                XCTAssertEqual(list.place(of: other), model.firstIndex { $0 === other })
            }
            for (place, object) in copy.objects.enumerated() { XCTAssertEqual(copy.place(of: object), place) }
        }
    }

    /// The index is built once for many removals from either end, also if members are appended in between.
    func testRemovalKeepsTheIndexOfAnObjectList() throws {
        let all = try tasks(1000)
        for order in [all, all.reversed()] {
            var list = ObjectList(all)
            for object in order {
                XCTAssertTrue(list.remove(object, keepingOrder: true))
                if list.count > 12 { XCTAssertTrue(list.isIndexed) }
            }
            XCTAssertTrue(list.isEmpty)
        }
        var list = ObjectList(all)
        for object in all {
            XCTAssertTrue(list.remove(object, keepingOrder: true))
            XCTAssertTrue(list.append(object))
            XCTAssertTrue(list.isIndexed)
        }
        XCTAssertTrue(list.objects.elementsEqual(all, by: ===))
    }

    /// After insertions in the middle, membership is known without a new index, and positions after a few searches.
    func testInsertionKeepsTheIndexOfAnObjectList() throws {
        let all = try tasks(1000)
        var (list, model) = (ObjectList(Array(all[..<100])), Array(all[..<100]))
        XCTAssertTrue(list.contains(all[0]))
        for object in all[100..<200] {
            XCTAssertFalse(list.contains(object))
            list.insert(object, at: 0)
            model.insert(object, at: 0)
            XCTAssertTrue(list.isIndexed)
            XCTAssertTrue(list.contains(object))
        }
        list.move(from: 3, to: 90)
        model.insert(model.remove(at: 3), at: 90)
        XCTAssertTrue(list.isIndexed)
        for object in model { XCTAssertEqual(list.place(of: object), model.firstIndex { $0 === object }) }
        XCTAssertNil(list.place(of: all[300]))
        list.insert(all[300], at: 50)
        model.insert(all[300], at: 50)
        var copy = list
        for (keepingOrder, object) in [(true, all[0]), (false, all[50]), (true, all[300])] {
            XCTAssertTrue(list.remove(object, keepingOrder: keepingOrder))
            XCTAssertFalse(list.contains(object))
            XCTAssertNil(list.place(of: object))
        }
        XCTAssertTrue(copy.objects.elementsEqual(model, by: ===))
        for object in model { XCTAssertEqual(copy.place(of: object), model.firstIndex { $0 === object }) }
    }

    func testOrderedMembersAreRemovedThroughTheInverse() throws {
        let project = try context.insert("Project")
        let all = try tasks(3000)
        try project.setMembers(all, of: "tasks")
        try context.save()
        func leave(_ tasks: [ManagedObject]) throws { for task in tasks { try task.set("project", nil) } }
        try leave(Array(all[..<1000]))
        try leave(all[2000...].reversed())
        for task in all[1000..<1500] { try project.remove(task, from: "tasks") }
        XCTAssertTrue(try project.members("tasks").elementsEqual(all[1500..<2000], by: ===))
        try context.save()
        XCTAssertTrue(try project.members("tasks").elementsEqual(all[1500..<2000], by: ===))
        XCTAssertEqual(try other().object(with: project.objectID).members("tasks").count, 500)
    }

    func testInsertionAtTheSameIndexIsNotAChange() throws {
        let project = try context.insert("Project")
        let all = try tasks(20)
        try project.setMembers(all, of: "tasks")
        try context.save()
        try project.insert(all[3], at: 3, in: "tasks")
        XCTAssertFalse(context.hasChanges)
        try project.insert(all[3], at: 4, in: "tasks")
        XCTAssertTrue(context.hasChanges)
        XCTAssertTrue(try project.members("tasks")[4] === all[3])
    }
}
