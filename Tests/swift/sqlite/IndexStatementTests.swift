import CorestoneGraph
import CorestoneModel
import CorestoneValues
import Foundation
import XCTest

@testable import CorestoneSQLite

/// The SQL of indexes, R-trees and derived attributes of a model.
final class IndexStatementTests: StoreTestCase {
    private let head = "CREATE INDEX Z_Item_i ON ZITEM "

    private func item(_ change: (Entity) throws -> Void) throws -> StoreSchema {
        let model = Model()
        let item = try model.addEntity(named: "Item")
        let box = try model.addEntity(named: "Box")
        let attributes: [(String, AttributeType)] = [
            ("name", .string), ("mass", .integer32), ("price", .double), ("isOn", .boolean), ("made", .date),
        ]
        for (name, type) in attributes { try item.addAttribute(named: name, type: type) }
        try item.addAttribute(named: "note", type: .string, isTransient: true)
        let items = try box.addRelationship(named: "items", destination: item, isToMany: true)
        try items.setInverse(item.addRelationship(named: "box", destination: box))
        try change(item)
        try model.freeze()
        return StoreSchema(model: model)
    }

    private func indexes(_ schema: StoreSchema) -> [String] {
        schema.tables.flatMap(\.modelIndexes).map(\.creationStatement)
    }

    private func index(_ elements: [FetchIndex.Element], _ predicate: PredicateText? = nil) throws -> [String] {
        indexes(
            try item { try $0.addIndex(FetchIndex(name: "i", elements: elements, partialPredicate: predicate)) })
    }

    func testIndexElementsBecomeColumnsAndExpressions() throws {
        func computed(_ text: String) -> FetchIndex.Element {
            FetchIndex.Element(expression: ExpressionText(text), named: "expression1")
        }
        let cases: [([FetchIndex.Element], String?)] = [
            ([.init(property: "name")], "(ZNAME COLLATE BINARY ASC)"),
            (
                [.init(property: "mass", isAscending: false), .init(property: "name")],
                "(ZMASS COLLATE BINARY DESC, ZNAME COLLATE BINARY ASC)"
            ),
            // A relationship already has an index, but may be combined with an attribute.
            ([.init(property: "box")], nil),
            ([.init(property: "box"), .init(property: "name")], "(ZBOX COLLATE BINARY ASC, ZNAME COLLATE BINARY ASC)"),
            ([computed("entity")], "(Z_ENT COLLATE BINARY ASC)"), ([computed("self")], "(Z_PK COLLATE BINARY ASC)"),
            ([computed("objectID")], "(Z_PK COLLATE BINARY ASC)"), ([computed("mass")], "(ZMASS COLLATE BINARY ASC)"),
            ([computed("mass + 2")], "((ZMASS + 2) COLLATE BINARY ASC)"),
            ([computed("mass - price")], "((ZMASS - ZPRICE) COLLATE BINARY ASC)"),
            ([computed("mass * mass")], "((ZMASS * ZMASS) COLLATE BINARY ASC)"),
            ([computed("abs:(mass)")], "(abs(ZMASS) COLLATE BINARY ASC)"),
            // An index with an unsupported expression is not created.
            ([computed("mass / 2")], nil), ([computed("lowercase:(name)"), .init(property: "mass")], nil),
            ([computed("box.items")], nil),
        ]
        for (elements, expected) in cases {
            XCTAssertEqual(
                try index(elements), expected.map { [head + $0] } ?? [],
                elements.map { $0.expression?.text ?? $0.property }.joined(separator: ", "))
        }
    }

    func testPartialIndexConditionsBecomeSQL() throws {
        let cases: [(String, String?)] = [
            ("name == nil", "ZNAME IS NULL"), ("name != nil", "ZNAME IS NOT NULL"), ("mass == 3", "ZMASS = 3"),
            ("mass != 3", "ZMASS <> 3"), ("mass < 3", "ZMASS < 3"), ("mass <= 3", "ZMASS <= 3"),
            ("mass > 3", "ZMASS > 3"), ("mass >= 3", "ZMASS >= 3"), ("price > 1.5", "ZPRICE > 1.5"),
            ("isOn == YES", "ZISON = 1"), ("isOn == NO", "ZISON = 0"), ("name == \"it's\"", "ZNAME = 'it''s'"),
            ("box != nil", "ZBOX IS NOT NULL"), ("mass > 1 AND mass < 9", "(ZMASS > 1 AND ZMASS < 9)"),
            ("mass < 1 OR mass > 9", "(ZMASS < 1 OR ZMASS > 9)"), ("NOT (mass == 3)", "NOT (ZMASS = 3)"),
            // An index with an unsupported condition is not created.
            ("mass > nil", nil), ("name ==[c] 'a'", nil), ("name BEGINSWITH 'a'", nil), ("3 == mass", nil),
            ("mass == price", nil), ("note == 'a'", nil), ("mass IN {1, 2}", nil), ("TRUEPREDICATE", nil),
            ("mass == 3 AND name LIKE 'a'", nil), ("box.items.@count > 1", nil),
        ]
        for (format, condition) in cases {
            XCTAssertEqual(
                try index([.init(property: "mass")], PredicateText(format)),
                condition.map { [head + "(ZMASS COLLATE BINARY ASC) WHERE " + $0] } ?? [], format)
        }
    }

    func testConstraintsOverSeveralKeysFollowTheIndexes() throws {
        let schema = try item { item in
            try item.addUniqueConstraint(["name", "mass"])
            try item.addUniqueConstraint(["box"])
            try item.addIndex(FetchIndex(name: "z", elements: [.init(property: "mass")]))
            try item.addIndex(FetchIndex(name: "a", elements: [.init(property: "price")]))
        }
        // In the order of the model: indexes first, then constraints.
        XCTAssertEqual(
            indexes(schema),
            [
                "CREATE INDEX Z_Item_z ON ZITEM (ZMASS COLLATE BINARY ASC)",
                "CREATE INDEX Z_Item_a ON ZITEM (ZPRICE COLLATE BINARY ASC)",
                "CREATE UNIQUE INDEX Z_Item_UNIQUE_name_mass ON ZITEM (ZNAME COLLATE BINARY ASC, ZMASS COLLATE BINARY ASC)",
                "CREATE UNIQUE INDEX Z_Item_UNIQUE_box ON ZITEM (ZBOX COLLATE BINARY ASC)",
            ])
        XCTAssertEqual(
            schema.tables.flatMap(\.propertyIndexes).map(\.creationStatement),
            ["CREATE INDEX ZITEM_ZBOX_INDEX ON ZITEM (ZBOX)"])
    }

    func testRTreeIndexBecomesAVirtualTableWithTriggers() throws {
        let schema = try item { item in
            let elements = ["mass", "price"].map { FetchIndex.Element(property: $0, collation: .rTree) }
            try item.addIndex(FetchIndex(name: "t", elements: elements))
        }
        let tree = try XCTUnwrap(schema.spatialIndexes.first)
        XCTAssertEqual(schema.spatialIndexes.count, 1)
        XCTAssertEqual(indexes(schema), [])
        let columns = "ZMASS_MIN, ZMASS_MAX, ZPRICE_MIN, ZPRICE_MAX"
        let insertion =
            "INTO Z_RT_Item_t (Z_PK, \(columns)) VALUES (NEW.Z_PK, NEW.ZMASS ,NEW.ZMASS, NEW.ZPRICE, NEW.ZPRICE) ; END"
        XCTAssertEqual(
            [tree.creationStatement] + tree.triggerStatements + tree.refillingStatements,
            [
                "CREATE VIRTUAL TABLE Z_RT_Item_t USING RTREE (Z_PK INTEGER PRIMARY KEY, ZMASS_MIN FLOAT, "
                    + "ZMASS_MAX FLOAT, ZPRICE_MIN FLOAT, ZPRICE_MAX FLOAT)",
                "CREATE TRIGGER Z_RT_Item_t_INSERT AFTER INSERT ON ZITEM FOR EACH ROW BEGIN INSERT OR REPLACE \(insertion)",
                "CREATE TRIGGER Z_RT_Item_t_UPDATE AFTER UPDATE ON ZITEM FOR EACH ROW BEGIN DELETE FROM Z_RT_Item_t "
                    + "WHERE Z_PK = NEW.Z_PK ; INSERT \(insertion)",
                "CREATE TRIGGER Z_RT_Item_t_DELETE AFTER DELETE ON ZITEM FOR EACH ROW BEGIN DELETE FROM Z_RT_Item_t "
                    + "WHERE Z_PK = OLD.Z_PK ; END",
                "DELETE FROM Z_RT_Item_t",
                "INSERT INTO Z_RT_Item_t SELECT Z_PK, ZMASS, ZMASS, ZPRICE, ZPRICE FROM ZITEM",
            ])
        XCTAssertEqual(tree.mapping.name, "t")
        XCTAssertEqual(tree.mapping.table, "Z_RT_Item_t")
        XCTAssertEqual(tree.mapping.bounds["price"]?.least, "ZPRICE_MIN")
        XCTAssertEqual(tree.mapping.bounds["price"]?.greatest, "ZPRICE_MAX")
        XCTAssertEqual(tree.mapping.bounds.count, 2)
    }

    // MARK: Derived attributes

    /// Compares the statement that computes a derived attribute of existing rows with the values of the triggers.
    func testFillingStatementsMatchTheTriggers() throws {
        let books = try BookModel(weight: .integer32)
        let (model, person, writer, book, tag) = (books.model, books.person, books.writer, books.book, books.tag)
        try books.derive(book, "pagesAgain", .integer32, "pages")
        try model.freeze()
        let store = try open("a.sqlite", model)
        var rows = Rows()
        let relationship = try XCTUnwrap(book.property(named: "tags") as? Relationship)
        try store.save { save in
            try save.insert([rows.add(writer, 1, ["name": .string("Ada")])], entity: writer)
            try save.insert([rows.add(person, 2, ["name": .string("Bob")])], entity: person)
            try save.insert((1...2).map { rows.add(tag, $0, ["weight": .int($0 * 10)]) }, entity: tag)
            try save.insert(
                [
                    rows.add(book, 1, ["pages": .int(5)], targets: ["author": (1, writer)]),
                    rows.add(book, 2, ["pages": .int(7)], targets: ["author": (1, writer)]),
                    rows.add(book, 3, ["pages": .int(9)]),
                ], entity: book)
            try save.link(
                relationship, added: [Link(owner: 1, member: 1), Link(owner: 1, member: 2), Link(owner: 2, member: 2)],
                removed: [])
        }
        let derived = store.schema.derivedAttributes
        store.close()
        let query =
            "SELECT ZBOOKCOUNT, ZPAGECOUNT FROM ZPERSON WHERE Z_PK = 1; SELECT Z_PK, ZTAGCOUNT, ZTAGWEIGHT, ZAUTHORNAME, ZPAGESAGAIN "
            + "FROM ZBOOK ORDER BY Z_PK"
        let expected = "2|12\n1|2|30|Ada|5\n2|1|20|Ada|7\n3|0|0||9"
        XCTAssertEqual(try shell("a.sqlite", query), expected)
        _ = try shell(
            "a.sqlite",
            """
            PRAGMA writable_schema = ON; DELETE FROM sqlite_schema WHERE type = 'trigger'; PRAGMA writable_schema = RESET;
            UPDATE ZPERSON SET ZBOOKCOUNT = 99, ZPAGECOUNT = 99;
            UPDATE ZBOOK SET ZTAGCOUNT = 99, ZTAGWEIGHT = 99, ZAUTHORNAME = 'x', ZPAGESAGAIN = 99
            """)
        let filling = derived.compactMap(\.fillingStatement)
        XCTAssertEqual(filling.count, 6)
        XCTAssertNil(derived.first { $0.attribute.name == "changed" }?.fillingStatement)
        _ = try shell("a.sqlite", filling.joined(separator: ";"))
        XCTAssertEqual(try shell("a.sqlite", query), expected)
        // In a shared table, only rows of entities that have the attribute are filled.
        XCTAssertEqual(try shell("a.sqlite", "SELECT ZBOOKCOUNT FROM ZPERSON WHERE Z_PK = 2"), "99")
    }
}
