import CorestoneModel
import CorestonePredicate
import CorestoneValues
import XCTest

@testable import CorestoneGraph
@testable import CorestoneSQL

/// The single statement of a batch update, and updates that are computed in memory instead.
final class UpdateTests: CompilerTestCase {
    private let head =
        "UPDATE ZEMPLOYEE AS t0 SET Z_OPT = max(ifnull(Z_OPT, 0), 0) % 2147483647 + 1"

    private func slot(_ name: String) throws -> Int {
        Int(try XCTUnwrap(model.entity(named: "Employee")?.property(named: name)).slot)
    }

    private func update(
        _ settings: [(key: String, value: String)], _ format: String? = nil, isUnique: Bool = false
    ) throws -> CompiledUpdate? {
        let fetch = StoreFetch(
            entity: try XCTUnwrap(model.entity(named: "Employee")),
            predicate: try format.map { try Predicate.parse($0) })
        let settings = try settings.map { setting in
            BatchSetting(slot: try slot(setting.key), value: try Expression.parse(setting.value))
        }
        return try compiler.compile(fetch, setting: settings) { _ in isUnique }
    }

    func testBatchUpdateSetsConstantsAndComputedValues() throws {
        let constants = try XCTUnwrap(update([("name", "'x'"), ("age", "nil"), ("active", "YES")], "age > 3"))
        XCTAssertEqual(
            constants.query.text,
            head
                + ", ZNAME = ?, ZAGE = ?, ZACTIVE = ? WHERE Z_PK IN (SELECT t0.Z_PK FROM ZEMPLOYEE t0 WHERE t0.ZAGE > ?) "
                + "RETURNING Z_PK, Z_ENT")
        XCTAssertEqual(constants.query.bindings.described, ["'x'", "NULL", "1", "3"])
        XCTAssertEqual(constants.computed, [])
        // Computed values are returned after key and entity.
        let computed = try XCTUnwrap(
            update([("salary", "salary * 2"), ("name", "'x'"), ("age", "age + 1"), ("email", "uppercase(name)")]))
        XCTAssertEqual(
            computed.query.text,
            head + ", ZSALARY = (t0.ZSALARY * ?), ZNAME = ?, ZAGE = (t0.ZAGE + ?), ZEMAIL = cst_uppercase(t0.ZNAME) "
                + "WHERE Z_PK IN (SELECT t0.Z_PK FROM ZEMPLOYEE t0) RETURNING Z_PK, Z_ENT, ZSALARY, ZAGE, ZEMAIL")
        XCTAssertEqual(computed.query.bindings.described, ["2", "'x'", "1"])
        XCTAssertEqual(computed.computed, try ["salary", "age", "email"].map { try slot($0) })
    }

    func testUpdatesWithoutSQLAreComputedInMemory() throws {
        let cases: [(key: String, value: String, isOne: Bool)] = [
            ("age", "age + 1", true), ("age", "serial", true), ("age", "salary", false), ("age", "rate", false),
            ("salary", "age", true), ("salary", "salary / 2", true), ("salary", "age + 1", true),
            ("salary", "rate", false),
            ("serial", "name.length", true), ("name", "email", true), ("name", "homepage", false),
            ("name", "age", false),
            ("active", "active", false), ("hired", "hired", false), ("rate", "rate", false), ("badge", "badge", false),
            // Values of another table, and values without a column.
            ("name", "department.name", false), ("name", "mood", false), ("age", "reports.@count", true),
        ]
        for (key, value, isOne) in cases {
            XCTAssertEqual(try update([(key, value)]) != nil, isOne, "\(key) = \(value)")
        }
        XCTAssertNil(try update([("name", "'x'")], "mood == 'x'"))
        XCTAssertNil(try update([("mood", "'x'")]))
        // Computed unique values might collide during the update; a constant does not.
        XCTAssertNil(try update([("age", "age + 1")], isUnique: true))
        XCTAssertNotNil(try update([("age", "3")], isUnique: true))
    }
}
