import CSQLite
import CorestoneGraph
import CorestoneModel
import CorestonePredicate
import CorestoneValues
import Foundation
import XCTest

@testable import CorestoneSQLite

final class RowTests: StoreTestCase {
    func testSavedRowsAreReadBySQLiteShell() throws {
        let zoo = try Zoo()
        let store = try open("zoo.sqlite", zoo.model)
        var rows = Rows()
        try store.save { save in
            let keeper = try save.reservePrimaryKeys(of: zoo.keeper, count: 1)
            let first = try save.reservePrimaryKeys(of: zoo.animal, count: 3)
            XCTAssertEqual(first, 1)
            let animals = [
                rows.add(
                    zoo.animal, first, ["name": .string("Ada"), "legs": .int(4)],
                    targets: ["keeper": (keeper, zoo.keeper)]),
                rows.add(zoo.animal, first + 1, ["name": .string("Bo")], targets: ["keeper": (keeper, zoo.keeper)]),
            ]
            let birds = [
                rows.add(
                    zoo.bird, first + 2, ["name": .string("Çelik"), "wingspan": .double(1.5)],
                    targets: ["keeper": (keeper, zoo.keeper)])
            ]
            try save.insert(
                [rows.add(zoo.keeper, keeper, ["name": .string("Kim")], targets: ["favourite": (3, zoo.bird)])],
                entity: zoo.keeper)
            try save.insert(animals, entity: zoo.animal)
            try save.insert(birds, entity: zoo.bird)
            try save.setOrder(zoo.relationship(zoo.keeper, "animals"), owners: [(keeper, [3, 1, 2])])
        }
        XCTAssertEqual(
            try shell(
                "zoo.sqlite", "SELECT Z_PK, Z_ENT, Z_OPT, ZNAME, ZLEGS, ZWINGSPAN, ZKEEPER, Z_FOK_KEEPER FROM ZANIMAL"),
            "1|1|1|Ada|4||1|3072\n2|1|1|Bo|||1|4096\n3|2|1|Çelik||1.5|1|2048")
        XCTAssertEqual(try shell("zoo.sqlite", "SELECT ZNAME, ZFAVOURITE, Z1_FAVOURITE FROM ZKEEPER"), "Kim|3|2")
        XCTAssertEqual(
            try shell("zoo.sqlite", "SELECT * FROM Z_PRIMARYKEY"),
            "1|Animal|0|3\n2|Bird|1|0\n3|Cage|0|0\n4|Everything|0|0\n5|Keeper|0|1")
        XCTAssertEqual(try shell("zoo.sqlite", "PRAGMA integrity_check"), "ok")
        XCTAssertEqual(try shell("zoo.sqlite", "PRAGMA auto_vacuum"), "2")

        let members = try store.members(of: zoo.relationship(zoo.keeper, "animals"), owners: [1], includingRows: true)
        XCTAssertEqual(members.members.map(\.primaryKey), [3, 1, 2])
        XCTAssertEqual(members.members.map(\.entity), [zoo.bird.index, zoo.animal.index, zoo.animal.index])
        XCTAssertEqual(zoo.bird.value("name", of: members.batch.records[0]), .string("Çelik"))
        let keeper = try XCTUnwrap(try store.rows(of: zoo.keeper, primaryKeys: [1]).records.first)
        XCTAssertEqual(zoo.keeper.target("favourite", of: keeper), 3)
        store.close()
        XCTAssertEqual(try files(), ["zoo.sqlite"])
    }

    func testValuesOfEveryTypeRoundTrip() throws {
        let zoo = try Zoo()
        let store = try open("all.sqlite", zoo.model)
        let uuid = UUIDValue(high: 0x0011_2233_4455_6677, low: 0x8899_aabb_ccdd_eeff)
        let values: [String: PropertyValue] = [
            "small": .int(-32768), "middle": .int(2_147_483_647), "wide": .int(.min), "flag": .bool(true),
            "real": .double(-0.1),
            "single": .double(1.5), "text": .string("naïve\u{0}日本 🦜"), "moment": .date(-86400.25),
            "data": .bytes(Bytes([0, 1, 255])),
            "uid": .uuid(uuid), "link": .uri(Text("https://example.org/ä")),
            "price": .decimal(DecimalNumber(mantissa: 1250, exponent: -2)),
            "thing": .bytes(Bytes([9])), "large": .bytes(Bytes([1, 2, 3])),
        ]
        let zero: [String: PropertyValue] = [
            "small": .int(0), "middle": .int(0), "wide": .int(0), "flag": .bool(false), "real": .double(0),
            "single": .double(0),
            "text": .string(""), "moment": .date(0), "data": .bytes(Bytes([])),
            "uid": .uuid(UUIDValue(high: 0, low: 0)),
            "link": .uri(Text("")), "price": .decimal(DecimalNumber(0)), "thing": .bytes(Bytes([])),
            "large": .bytes(Bytes([])),
        ]
        var rows = Rows()
        try store.save { save in
            _ = try save.reservePrimaryKeys(of: zoo.everything, count: 3)
            try save.insert(
                [
                    rows.add(zoo.everything, 1, values), rows.add(zoo.everything, 2, [:]),
                    rows.add(zoo.everything, 3, zero),
                ],
                entity: zoo.everything)
        }
        let found = try store.rows(of: zoo.everything, primaryKeys: [1, 2, 3])
        XCTAssertEqual(found.records.count, 3)
        for property in zoo.everything.attributes where !property.isTransient {
            let name = property.name
            XCTAssertEqual(zoo.everything.value(name, of: found.records[0]), values[name], name)
            XCTAssertEqual(zoo.everything.value(name, of: found.records[1]), .null, name)
            XCTAssertEqual(zoo.everything.value(name, of: found.records[2]), zero[name], name)
        }
        XCTAssertEqual(
            try shell(
                "all.sqlite",
                "SELECT typeof(ZSMALL), typeof(ZWIDE), ZFLAG, typeof(ZREAL), typeof(ZMOMENT), length(ZUID), typeof(ZLINK), "
                    + "ZPRICE, hex(ZLARGE), hex(ZUID) FROM ZEVERYTHING WHERE Z_PK = 1"),
            "integer|integer|1|real|real|16|text|12.5|01010203|00112233445566778899AABBCCDDEEFF")
        // Whole seconds are stored as integers, as in Apple's files.
        XCTAssertEqual(
            try shell("all.sqlite", "SELECT typeof(ZMOMENT), typeof(ZTEXT) FROM ZEVERYTHING WHERE Z_PK = 3"),
            "integer|text")
    }

    /// Unusual values of a foreign writer are converted if possible and otherwise null; they never cause an error.
    func testUnusualValuesAreConvertedOrNull() throws {
        let zoo = try Zoo()
        let store = try open("odd.sqlite", zoo.model)
        _ = try shell(
            "odd.sqlite",
            """
            INSERT INTO ZEVERYTHING (Z_PK, Z_ENT, Z_OPT, ZSMALL, ZMIDDLE, ZWIDE, ZFLAG, ZREAL, ZTEXT, ZMOMENT, ZDATA, ZUID, ZLINK, ZPRICE, ZLARGE)
            VALUES (1, 4, NULL, 70000, 'many', 1e300, 'x', x'00', x'ff41', 12, 'abc', '00112233-4455-6677-8899-aabbccddeeff', 7, 'no number', x'02'),
                   (2, 4, 3, '12', 5.9, '7', 2, 'real', 99, 'x', 5, x'0102', x'c3a9', '12.25', x'');
            INSERT INTO ZANIMAL (Z_PK, Z_ENT, Z_OPT, ZNAME, ZKEEPER) VALUES (1, 99, 1, 'unknown entity', 5), (2, 2, 1, 'dangling', 77), (3, NULL, NULL, 'none', -1);
            INSERT INTO ZKEEPER (Z_PK, Z_ENT, Z_OPT, ZFAVOURITE, Z1_FAVOURITE) VALUES (1, 5, 1, 2, 4242), (2, 5, 1, 2, 'z');
            """)
        let found = try store.rows(of: zoo.everything, primaryKeys: [1, 2])
        let names = [
            "small", "middle", "wide", "flag", "real", "text", "moment", "data", "uid", "link", "price", "large",
        ]
        func values(_ record: Record) -> [PropertyValue] { names.map { zoo.everything.value($0, of: record) } }
        XCTAssertEqual(found.records[0].version, 0)
        XCTAssertEqual(
            values(found.records[0]),
            [
                .null, .null, .int(.max), .null, .null, .string("\u{fffd}A"), .date(12),
                .bytes(Bytes(Array("abc".utf8))),
                .uuid(UUIDValue(high: 0x0011_2233_4455_6677, low: 0x8899_aabb_ccdd_eeff)), .uri(Text("7")), .null,
                .null,
            ])
        XCTAssertEqual(
            values(found.records[1]),
            [
                .int(12), .int(5), .int(7), .bool(true), .null, .string("99"), .null,
                .bytes(Bytes(Array("5".utf8))), .null,
                .uri(Text("é")), .decimal(DecimalNumber(mantissa: 1225, exponent: -2)), .bytes(Bytes([])),
            ])
        XCTAssertEqual(try store.rows(of: zoo.animal, primaryKeys: [1, 2, 3]).records.map(\.primaryKey), [2])
        let keepers = try store.rows(of: zoo.keeper, primaryKeys: [1, 2])
        XCTAssertEqual(keepers.records.map { zoo.keeper.target("favourite", of: $0) }, [2, 2])
        XCTAssertEqual(try store.rows(of: zoo.everything, primaryKeys: [404]).records.count, 0)

        let report = try StoreReport(ofStoreAt: path("odd.sqlite"), model: zoo.model)
        let misfits = report.problems.filter { $0.kind == .row && $0.entity == "Everything" && $0.key != nil }
        XCTAssertEqual(
            Dictionary(grouping: misfits, by: { $0.key ?? "" }).mapValues(\.count),
            [
                "small": 1, "middle": 1, "wide": 1, "flag": 2, "real": 2, "text": 1, "moment": 1, "uid": 1, "link": 1,
                "price": 1,
            ])
        XCTAssertEqual(
            misfits.first { $0.key == "small" }?.message.hasSuffix(
                "/Everything/p1 is the integer 70000, but its type is Integer 16 (-32768 to 32767)"), true)
    }

    func testObjectsAndDictionariesReadUnusualValuesAlike() throws {
        let zoo = try Zoo()
        try open("odd.sqlite", zoo.model).close()
        let (array, large) = ("'[1, 2]'", "3000000000")
        _ = try shell(
            "odd.sqlite",
            """
            INSERT INTO ZEVERYTHING (Z_PK, Z_ENT, Z_OPT, ZSMALL, ZMIDDLE, ZWIDE, ZFLAG, ZREAL, ZSINGLE, ZTEXT, ZMOMENT, ZUID, ZLINK, ZPRICE)
            VALUES (1, 4, 1, 70000, \(large), \(large), 2, 70000, 1, 70000, 1, 1, 1, 70000),
                   (2, 4, 1, -32769, -2147483649, 1e300, 'x', x'00', 'x', x'ff41', 'x', x'01', x'c3a9', 'x'),
                   (3, 4, 1, -32768, 2147483647, '7', '1', '2.5', '0', '', '12', '', '', '12.25'),
                   (4, 4, 1, \(array), \(array), \(array), \(array), \(array), \(array), \(array), \(array), \(array), \(array), \(array));
            """)
        let coordinator = try Coordinator(model: zoo.model)
        try coordinator.addSQLiteStore(at: path("odd.sqlite"))
        let context = Context(coordinator: coordinator)
        let names = ["small", "middle", "wide", "flag", "real", "single", "text", "moment", "uid", "link", "price"]
        let request = FetchRequest(entity: zoo.everything)
        request.sortDescriptors = [SortDescriptor("text")]
        let objects = try context.fetch(request)
        request.propertiesToFetch = names.map { FetchedColumn.property($0) }
        let rows = try context.fetchDictionaries(request).rows
        XCTAssertEqual(objects.count, 4)
        XCTAssertEqual(rows.count, 4)
        for (object, row) in zip(objects, rows) {
            for (name, value) in zip(names, row) {
                XCTAssertEqual(value, try object.value(forKey: name), "\(name) of \(object.objectID.uri)")
            }
        }
        let number = try XCTUnwrap(objects.first { $0.objectID.uri.hasSuffix("/p1") })
        XCTAssertEqual(try number.value(forKey: "small"), .null)
        XCTAssertEqual(try number.value(forKey: "wide"), .int(3_000_000_000))
        withExtendedLifetime(context) {}
    }

    func testManyRowsAndLongTextsRoundTrip() throws {
        let zoo = try Zoo()
        let store = try open("many.sqlite", zoo.model)
        var rows = Rows()
        let long = String(repeating: "æøå", count: 400_000)
        try store.save { save in
            XCTAssertEqual(try save.reservePrimaryKeys(of: zoo.keeper, count: 1000), 1)
            try save.insert(
                (1...1000).map {
                    rows.add(zoo.keeper, $0, ["name": .string($0 == 500 ? long : "Keeper \($0)"), "badge": .int($0)])
                },
                entity: zoo.keeper)
        }
        for count in [1, 3, 5, 24, 25, 99, 100, 101, 333, 1000] {
            let keys = (1...1000).map(Int64.init).shuffled().prefix(count)
            let found = try store.rows(of: zoo.keeper, primaryKeys: Array(keys))
            XCTAssertEqual(found.records.map(\.primaryKey).sorted(), keys.sorted())
            for record in found.records {
                XCTAssertEqual(zoo.keeper.value("badge", of: record), .int(record.primaryKey))
                let isLong = record.primaryKey == 500
                XCTAssertEqual(
                    zoo.keeper.value("name", of: record), .string(isLong ? long : "Keeper \(record.primaryKey)"))
                XCTAssert(found.chunks.contains { $0 === record.chunk.takeUnretainedValue() })
            }
        }
        let all = try store.fetch(StoreFetch(entity: zoo.keeper))
        XCTAssertEqual(all.batch.records.count, 1000)
        var walked = 0
        for chunk in all.batch.chunks { chunk.forEachRecord { _ in walked += 1 } }
        XCTAssertEqual(walked, 1000)
    }
}
