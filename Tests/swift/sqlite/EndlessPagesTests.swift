import CSQLite
import CorestoneGraph
import CorestoneModel
import CorestonePredicate
import CorestoneValues
import Foundation
import XCTest

@testable import CorestoneSQLite

/// Damaged files whose pages form cycles: every request ends with an error.
final class EndlessPagesTests: StoreTestCase {
    private let readOnly = StoreOptions.readOnly
    private var rollback: StoreOptions {
        var options = StoreOptions()
        options.rollbackJournal = true
        return options
    }

    /// A cycle of pages makes a small file appear to have millions of rows.
    func testFetchAndCountFailForACyclicTableTree() throws {
        let zoo = try Zoo()
        let made = try open("zoo.sqlite", zoo.model, options: rollback)
        var rows = Rows()
        try made.save { save in
            for key in 1...4000 as ClosedRange<Int64> {
                try save.insert([rows.add(zoo.cage, key, ["number": .int(key)])], entity: zoo.cage)
            }
        }
        made.close()
        _ = try shell("zoo.sqlite", "PRAGMA page_size=512; VACUUM")
        try makeCyclic("ZCAGE", in: "zoo.sqlite")
        let store = try open("zoo.sqlite", zoo.model, options: readOnly)
        let error = failure { _ = try store.fetch(StoreFetch(entity: zoo.cage)) }
        XCTAssertEqual(error.status, .storeCorrupt)
        XCTAssert(error.message.contains("more rows than fit in the file"), error.message)
        let keys = failure { _ = try store.fetch(StoreFetch(entity: zoo.cage, result: .identifiers)) }
        XCTAssertEqual(keys.status, .storeCorrupt)
        let count = failure { _ = try store.fetch(StoreFetch(entity: zoo.cage, result: .count)) }
        XCTAssertEqual(count.status, .storeCorrupt)
        XCTAssert(count.message.contains("Cage") && count.message.contains("form a cycle"), count.message)
        let part = StoreFetch(entity: zoo.cage, offset: 3, result: .count)
        XCTAssertEqual(failure { _ = try store.fetch(part) }.status, .storeCorrupt)
        // A sorted fetch returns no rows before the error.
        let sorted = StoreFetch(entity: zoo.cage, sortDescriptors: [CorestonePredicate.SortDescriptor("number")])
        let nothing = StoreFetch(entity: zoo.cage, predicate: try CorestonePredicate.Predicate.parse("number == -1"))
        for fetch in [sorted, nothing] {
            let error = failure { _ = try store.fetch(fetch) }
            XCTAssertEqual(error.status, .storeCorrupt)
            XCTAssert(error.message.contains("the file is damaged"), error.message)
            XCTAssertEqual(failure { _ = try store.cursor(fetch)?.rows.next(10) }.status, .storeCorrupt)
        }
        store.close()
    }

    /// The same with the pages of a member list.
    func testReadingMembersFailsForACyclicTableTree() throws {
        let zoo = try Zoo()
        let store = try open("zoo.sqlite", zoo.model, options: rollback)
        var rows = Rows()
        try store.save { save in
            try save.insert([rows.add(zoo.keeper, 1, ["badge": .int(1)])], entity: zoo.keeper)
            for key in 1...4000 as ClosedRange<Int64> {
                try save.insert(
                    [rows.add(zoo.animal, key, ["legs": .int(4)], targets: ["keeper": (1, zoo.keeper)])],
                    entity: zoo.animal)
            }
        }
        store.close()
        _ = try shell(
            "zoo.sqlite", "DROP INDEX ZANIMAL_ZKEEPER_INDEX; PRAGMA page_size=512; VACUUM")
        try makeCyclic("ZANIMAL", in: "zoo.sqlite")
        let damaged = try open("zoo.sqlite", zoo.model, options: readOnly)
        let animals = try zoo.relationship(zoo.keeper, "animals")
        for withRows in [false, true] {
            let error = failure { _ = try damaged.members(of: animals, owners: [1], includingRows: withRows) }
            XCTAssertEqual(error.status, .storeCorrupt, error.message)
        }
        damaged.close()
    }

    /// Makes each interior page of a table's tree refer to one next page, and the last one to one leaf.
    private func makeCyclic(_ table: String, in name: String) throws {
        let root = try XCTUnwrap(Int(shell(name, "SELECT rootpage FROM sqlite_master WHERE name = '\(table)'")))
        var bytes = try [UInt8](Data(contentsOf: URL(fileURLWithPath: path(name))))
        /// Where an interior page keeps the numbers of its children.
        func links(_ page: Int) -> [Int] {
            let start = (page - 1) * 512
            let cells = Int(bytes[start + 3]) << 8 | Int(bytes[start + 4])
            let places = (0..<cells).map { cell -> Int in
                let pointer = start + 12 + 2 * cell
                return start + (Int(bytes[pointer]) << 8 | Int(bytes[pointer + 1]))
            }
            return places + [start + 8]
        }
        func child(_ place: Int) -> Int { bytes[place..<place + 4].reduce(0) { $0 << 8 | Int($1) } }
        let middle = child(links(root)[0])
        XCTAssertEqual(bytes[(middle - 1) * 512], 5)
        let leaves = links(middle).prefix(6).map(child)
        // The middle page, and five leaves that become copies of it, each refer only to the next page.
        let copy = bytes[(middle - 1) * 512..<middle * 512]
        for leaf in leaves.dropLast() { bytes.replaceSubrange((leaf - 1) * 512..<leaf * 512, with: copy) }
        for (page, next) in zip([root, middle] + leaves, [middle] + leaves) {
            for place in links(page) {
                for byte in 0..<4 { bytes[place + byte] = UInt8(truncatingIfNeeded: next >> (24 - 8 * byte)) }
            }
        }
        try Data(bytes).write(to: URL(fileURLWithPath: path(name)))
    }
}
