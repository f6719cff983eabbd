import CorestoneGraph
import CorestoneModel
import CorestonePredicate
import CorestoneValues
import XCTest

@testable import CorestoneSQLite

/// The members of to-many relationships, read for many owners at once.
final class MembersTests: StoreTestCase {
    private func spans(_ keys: [Int64]) -> [String] {
        KeyPart.parts(of: keys).map {
            switch $0 {
            case .one(let key): "\(key)"
            case .list(let keys): "(\(keys.map(String.init).joined(separator: " ")))"
            case .span(let keys): "\(keys.lowerBound)-\(keys.upperBound)"
            }
        }
    }

    func testKeysAreSplitIntoRangesAndLists() {
        XCTAssertEqual(spans([]), [])
        XCTAssertEqual(spans([7]), ["7"])
        XCTAssertEqual(spans([9, 3, 9]), ["(3 9)"])
        XCTAssertEqual(spans(Array(1...8)), ["1-8"])
        XCTAssertEqual(spans([3, 4]), ["3-4"])
        // Few keys are read with one statement, regardless of gaps.
        XCTAssertEqual(
            spans([20] + Array((1...12).reversed()) + [5]), ["(1 2 3 4 5 6 7 8 9 10 11 12 20)"])
        XCTAssertEqual(spans([60] + Array(1...40)), ["1-40", "60"])
        XCTAssertEqual(spans(Array(1...7) + Array(11...40)), ["11-40", "(1 2 3 4 5 6 7)"])
        XCTAssertEqual(spans([.max, .max - 1, 1, 2]), ["(1 2 \(Int64.max - 1) \(Int64.max))"])
        for count in 0..<320 {
            let keys = (0..<Int64(count)).map { $0 * 2 + 1 }
            let parts = KeyPart.parts(of: keys)
            let all = parts.flatMap { part -> [Int64] in
                switch part {
                case .one(let key): [key]
                case .list(let keys): Array(keys)
                case .span(let keys): Array(keys)
                }
            }
            XCTAssertEqual(all, keys)
            XCTAssertLessThanOrEqual(parts.count, count / 100 + 3)
        }
    }

    private struct School {
        let model = Model()
        let course, pupil: Entity
        let names = ["pupils", "guests", "queue", "ranking", "friends"]

        /// Creates relationships with every kind of storage.
        ///
        /// These are a column and a join table, each without and with an order, members of subentities, and a
        /// relationship that is its own inverse.
        init() throws {
            course = try model.addEntity(named: "Course")
            pupil = try model.addEntity(named: "Pupil")
            let special = try model.addEntity(named: "SpecialPupil")
            try special.setParent(pupil)
            try special.addAttribute(named: "need", type: .string)
            for entity in [course, pupil] { try entity.addAttribute(named: "number", type: .integer32) }
            for (name, inverse, isMany, isOrdered) in [
                ("pupils", "course", false, false), ("guests", "visits", true, false),
                ("queue", "waitsFor", false, true), ("ranking", "ranked", true, true),
            ] {
                let members = try course.addRelationship(
                    named: name, destination: pupil, isToMany: true, isOrdered: isOrdered)
                let owners = try pupil.addRelationship(named: inverse, destination: course, isToMany: isMany)
                try members.setInverse(owners)
            }
            let friends = try course.addRelationship(named: "friends", destination: course, isToMany: true)
            try friends.setInverse(friends)
        }
    }

    private func number(_ object: ManagedObject) throws -> Int {
        guard case .int(let number) = try object.value(forKey: "number") else { return -1 }
        return Int(number)
    }

    /// Prefetched members of owners with gaps between their keys are those that were set, and no others.
    func testPrefetchedMembersBelongToTheRequestedOwners() throws {
        let school = try School()
        let coordinator = try Coordinator(model: school.model)
        try coordinator.addSQLiteStore(at: path("school.sqlite"))
        let writer = Context(coordinator: coordinator)
        var random = SeededNumbers(state: 11)
        let special = try school.model.requireEntity(named: "SpecialPupil")
        let pupils = try (0..<200).map { place in
            let pupil = try writer.insert(place % 3 == 0 ? special : school.pupil)
            try pupil.setValue(.int(Int64(place)), forKey: "number")
            return pupil
        }
        let courses = try (0..<260).map { place in
            let course = try writer.insert(school.course)
            try course.setValue(.int(Int64(place)), forKey: "number")
            return course
        }
        for course in courses {
            for name in school.names {
                let source = name == "friends" ? courses : pupils
                let members = (0..<Int.random(in: 0...4, using: &random)).map { _ in
                    source[Int.random(in: 0..<source.count, using: &random)]
                }
                let key = try school.course.requireProperty(named: name).key
                for member in members { try course.addMember(member, key: key) }
            }
        }
        try writer.save()
        for place in stride(from: 0, to: 260, by: 23) { try writer.delete(courses[place]) }
        try writer.save()
        for (format, isReversed) in [
            ("TRUEPREDICATE", false), ("number < 30", true), ("modulus:by:(number, 3) == 0", false),
            ("number IN {3, 4, 5, 77, 250}", false), ("number > 40 AND number != 99 AND number != 101", true),
        ] {
            try check(school, coordinator, writer, format, isReversed: isReversed)
        }
    }

    private func check(
        _ school: School, _ coordinator: Coordinator, _ writer: Context, _ format: String, isReversed: Bool
    ) throws {
        let request = FetchRequest(entity: school.course)
        request.predicate = try Predicate.parse(format, arguments: [])
        request.relationshipKeyPathsForPrefetching = school.names
        request.sortDescriptors = [CorestonePredicate.SortDescriptor("number", ascending: !isReversed)]
        let reader = Context(coordinator: coordinator)
        for course in try reader.fetch(request) {
            let known = try writer.object(with: course.objectID)
            for name in school.names {
                let relationship = try XCTUnwrap(school.course.requireProperty(named: name) as? Relationship)
                var found = try course.members(key: relationship.key).map(number)
                var expected = try known.members(key: relationship.key).map(number)
                if !relationship.isOrdered { (found, expected) = (found.sorted(), expected.sorted()) }
                XCTAssertEqual(found, expected, "\(format) \(name) of \(course.objectID.uri)")
            }
        }
        // Duplicate or unordered owners return each member once.
        let again = Context(coordinator: coordinator)
        request.relationshipKeyPathsForPrefetching = []
        let owners = try again.fetch(request)
        try again.loadMembers(of: "guests", of: owners + owners.reversed(), entity: school.course)
        let guests = try school.course.requireProperty(named: "guests").key
        for course in owners {
            let known = try writer.object(with: course.objectID)
            XCTAssertEqual(
                try course.members(key: guests).map(number).sorted(),
                try known.members(key: guests).map(number).sorted())
        }
    }
}

private struct SeededNumbers: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}
