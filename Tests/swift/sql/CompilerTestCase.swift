import CorestoneGraph
import CorestoneModel
import CorestonePredicate
import CorestoneSQL
import CorestoneValues
import XCTest

/// Compiles predicates over the company's entities.
class CompilerTestCase: XCTestCase {
    typealias Row = (entity: String, format: String, sql: String, bindings: [String])

    private(set) var model: Model!
    private(set) var compiler: FetchCompiler!
    /// Whether the store has the R-trees of employees.
    var hasTrees: Bool { false }

    override func setUpWithError() throws {
        model = try Company.model()
        compiler = FetchCompiler(schema: Company.Schema(model: model, hasTrees: hasTrees), storeIdentifier: "S")
    }

    func compile(_ entity: String, _ format: String) throws -> CompiledFetch {
        try compiler.compile(
            StoreFetch(entity: try XCTUnwrap(model.entity(named: entity)), predicate: try Predicate.parse(format)))
    }

    /// Checks the SQL after FROM and the bindings of each predicate, none of which is evaluated in memory.
    func check(_ rows: [Row], line: UInt = #line) throws {
        for row in rows {
            let compiled = try compile(row.entity, row.format)
            XCTAssertNil(compiled.remainder, "\(row.format): \(compiled.remainder?.reasons ?? [])", line: line)
            let query = compiled.query
            XCTAssertEqual(query.text, " FROM " + row.sql, row.format, line: line)
            XCTAssertEqual(query.bindings.described, row.bindings, row.format, line: line)
        }
    }

    /// Checks that each predicate is evaluated in memory, and the reason.
    func checkMemory(_ rows: [(entity: String, format: String, reason: String)], line: UInt = #line) throws {
        for (entity, format, reason) in rows {
            let compiled = try compile(entity, format)
            XCTAssertEqual(compiled.query.text, " FROM Z\(entity.uppercased()) t0", format, line: line)
            XCTAssertEqual(compiled.query.bindings, [], format, line: line)
            XCTAssertEqual(
                compiled.remainder?.predicate?.format, try Predicate.parse(format).format, format, line: line)
            XCTAssertEqual(compiled.remainder?.reasons, [reason], format, line: line)
            XCTAssertEqual(compiled.remainder?.isUnordered, false, format, line: line)
        }
    }

    typealias Mistake = (entity: String, format: String, errorEntity: String?, key: String?, message: String)

    func checkErrors(_ rows: [Mistake], line: UInt = #line) {
        for row in rows {
            XCTAssertThrowsError(try compile(row.entity, row.format), row.format, line: line) {
                let error = $0 as? CoreError
                XCTAssertEqual(error?.status, .predicate, row.format, line: line)
                XCTAssertEqual(error?.message, row.message, row.format, line: line)
                XCTAssertEqual(error?.entity, row.errorEntity, row.format, line: line)
                XCTAssertEqual(error?.key, row.key, row.format, line: line)
            }
        }
    }
}

extension [SQLValue] {
    /// Texts in quotes, numbers as they are.
    var described: [String] {
        map { value in
            switch value {
            case .null: "NULL"
            case .integer(let number): String(number)
            case .real(let number): String(number)
            case .text(let text): "'\(text)'"
            case .blob(let bytes): "\(bytes.count) bytes"
            }
        }
    }
}
