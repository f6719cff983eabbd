import CSQLite
import CorestoneModel
import CorestoneValues
import Foundation
import XCTest

@testable import CorestoneSQLite

/// The statements that Apple's framework wrote into its stores, from the models that it cached in them.
final class SchemaParityTests: XCTestCase {
    /// The reason why a statement differs from that of the current framework.
    private enum Exception: String, CaseIterable {
        case altered = "tables altered by a migration"
        case formerName = "indexes that kept their names when a migration renumbered entities"
        case orderOfKeys = "tables that differ in the order of Z_FOK_ columns only"
        case olderIndex = "indexes of frameworks without fetch indexes"
        case olderConstraint = "unique constraints in the table"
        case privateSpatial = "the R-tree that Photos installs itself"
        case privateTrigger = "triggers that Photos installs itself"
        case privateIndex = "indexes that Photos installs itself (RADAR_…)"
    }

    private struct Statement {
        let type: String
        let table: String
        let text: String
    }

    func testSchemaStatementsMatchAppleStores() throws {
        try Fixtures.require()
        var totals: [String: (equal: Int, all: Int)] = [:]
        var exceptions: [Exception: Int] = [:]
        var unexplained: [String] = []
        for (file, framework) in try Fixtures.storesWithModel() {
            let store = try AppleStore(Fixtures.folder + "/" + file)
            let schema = try store.schema()
            let modelStatements = schema.creationStatements
            let ours = Set(modelStatements + HistorySchema.creationStatements(for: schema.model))
            let older = OlderStatements(schema)
            for statement in store.statements {
                totals[statement.type, default: (0, 0)].all += 1
                if ours.contains(statement.text) {
                    totals[statement.type, default: (0, 0)].equal += 1
                } else if let exception = explain(statement, ours, older, framework) {
                    exceptions[exception, default: 0] += 1
                } else {
                    unexplained.append("\(file): \(statement.text)")
                }
            }
            let present = Set(store.statements.map(\.text))
            let replaced = Set(store.statements.filter { !ours.contains($0.text) }.map(\.table))
            for statement in modelStatements where !present.contains(statement) {
                // Its replacement was explained above.
                let table = tableName(of: statement)
                if !replaced.contains(table) { unexplained.append("\(file) lacks \(statement)") }
            }
        }
        let parts = totals.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value.equal)/\($0.value.all)" }
        print("schema parity: \(parts.joined(separator: ", ")); unexplained \(unexplained.count)")
        for (exception, count) in exceptions.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            print("    \(count) \(exception.rawValue)")
        }
        XCTAssertEqual(unexplained, [])
        XCTAssertGreaterThan(totals["table"]?.equal ?? 0, 270)
        XCTAssertGreaterThan(totals["index"]?.equal ?? 0, 530)
        XCTAssertEqual(totals["trigger"]?.equal, 9)
    }

    private func explain(
        _ statement: Statement, _ ours: Set<String>, _ older: OlderStatements, _ framework: Int
    ) -> Exception? {
        let text = statement.text
        switch statement.type {
        case "trigger":
            if text.contains("TRIGGER Z_RT_Asset_boundedByRect_") { return .privateSpatial }
            return text.contains("TRIGGER ZT_") && text.contains("NSCoreDataTrigger") ? .privateTrigger : nil
        case "index":
            if text.contains("INDEX RADAR_") { return .privateIndex }
            if older.indexes.contains(text) { return .olderIndex }
            // The same columns of the same table under another name; of a renamed pair of one entity's two relationships
            // also in the other order.
            let isRenamed = text.contains("\"")
            let target = { (text: String) in
                let parts = (text.replacingOccurrences(of: "\"", with: "").components(separatedBy: " ON ").last ?? "")
                    .components(separatedBy: CharacterSet(charactersIn: " (),")).filter { !$0.isEmpty }
                return isRenamed ? parts.sorted() : parts
            }
            return ours.contains { $0.hasPrefix("CREATE INDEX") && target($0) == target(text) } ? .formerName : nil
        default:
            if text.contains("Z_RT_Asset_boundedByRect") { return .privateSpatial }
            if framework < 800, older.tables.contains(text) { return .olderConstraint }
            guard let own = ours.first(where: { $0.hasPrefix("CREATE TABLE \(statement.table) (") }) else { return nil }
            let (theirColumns, ourColumns) = (columns(text), columns(own))
            guard theirColumns.sorted() == ourColumns.sorted() else { return nil }
            if text.hasPrefix("CREATE TABLE \"") || text.contains(" , Z") { return .altered }
            let others = { (list: [String]) in list.filter { !$0.hasPrefix("Z_FOK_") } }
            return others(theirColumns) == others(ourColumns) ? .orderOfKeys : nil
        }
    }

    private func columns(_ statement: String) -> [String] {
        let start = statement.firstIndex(of: "(").map { statement.index(after: $0) } ?? statement.startIndex
        let inside = String(statement[start...].dropLast()).components(separatedBy: "PRIMARY KEY (")[0]
        return inside.components(separatedBy: ",").map { $0.trimmingCharacters(in: .whitespaces) }.filter {
            !$0.isEmpty
        }
    }

    private func tableName(of statement: String) -> String {
        let marker = statement.hasPrefix("CREATE TABLE ") ? "CREATE TABLE " : " ON "
        return statement.components(separatedBy: marker).last.map { String($0.prefix { $0 != " " }) } ?? ""
    }

    /// The R-tree that Photos installs equals the R-tree of a declared index.
    func testSpatialIndexOfPhotosMatchesADeclaredIndex() throws {
        try Fixtures.require()
        let store = try AppleStore(Fixtures.folder + "/stores/osxphotos/Photos.sqlite")
        let schema = try store.schema()
        let asset = try schema.model.requireEntity(named: "Asset")
        let index = FetchIndex(
            name: "boundedByRect",
            elements: ["latitude", "longitude"].map { FetchIndex.Element(property: $0, collation: .rTree) })
        let spatial = try XCTUnwrap(SpatialIndex(index, of: asset, in: schema.table(of: asset)))
        let theirs = store.statements.map(\.text).filter {
            $0.contains("Z_RT_Asset_boundedByRect") && !$0.contains("TABLE \"")
        }
        XCTAssertEqual(Set(theirs), Set([spatial.creationStatement] + spatial.triggerStatements))
    }

    /// The cached model and schema of a store, read without opening the store.
    private struct AppleStore {
        let statements: [Statement]
        private let cache: [UInt8]
        private let numbers: [String: Int64]

        init(_ path: String) throws {
            let connection = try Connection(
                "file:\(path)?immutable=1&mode=ro", path: path, flags: SQLITE_OPEN_READONLY | SQLITE_OPEN_URI)
            let master = try connection.prepare(
                "SELECT type, tbl_name, sql FROM sqlite_master WHERE sql IS NOT NULL", "read")
            var statements: [Statement] = []
            while try master.step("read") {
                statements.append(
                    Statement(type: master.text(0) ?? "", table: master.text(1) ?? "", text: master.text(2) ?? ""))
            }
            self.statements = statements
            let content = try connection.prepare("SELECT Z_CONTENT FROM Z_MODELCACHE", "read")
            cache = try content.step("read") ? content.blob(0) ?? [] : []
            let keys = try connection.prepare("SELECT Z_NAME, Z_ENT FROM Z_PRIMARYKEY WHERE Z_ENT < 16000", "read")
            var numbers: [String: Int64] = [:]
            while try keys.step("read") { numbers[keys.text(0) ?? ""] = keys.integer(1) }
            self.numbers = numbers
        }

        func schema() throws -> StoreSchema {
            let model = try Model(modelCache: cache)
            try model.freeze()
            return StoreSchema(
                model: model, numbers: model.entities.map { numbers[$0.name] ?? 0 },
                tables: Dictionary(
                    statements.filter { $0.type == "table" }.map { ($0.table, [:]) }, uniquingKeysWith: { $1 }))
        }
    }

    /// The indexes by column and table constraints that frameworks before fetch indexes (about version 800) wrote.
    private struct OlderStatements {
        var indexes: Set<String> = []
        var tables: Set<String> = []

        init(_ schema: StoreSchema) {
            for table in schema.tables {
                for entity in table.entities { addIndexes(of: entity, table) }
                let constraints = table.entities.flatMap(\.ownUniqueConstraints).map { constraint in
                    let names = constraint.map { "Z" + $0.uppercased() }
                    return ", CONSTRAINT \(names.joined(separator: "_")) UNIQUE (\(names.joined(separator: ", ")))"
                }
                tables.insert(String(table.creationStatement.dropLast(2)) + constraints.joined() + ")")
            }
        }

        private mutating func addIndexes(of entity: Entity, _ table: TableSchema) {
            for index in entity.indexes {
                let columns = index.elements.compactMap { element in
                    entity.property(named: element.property).flatMap { table.column(of: $0)?.name }
                }
                let name = columns.joined(separator: "_") + (columns.count == 1 ? "_INDEX" : "")
                indexes.insert(
                    "CREATE INDEX \(table.name)_\(name) ON \(table.name) (\(columns.joined(separator: ", ")))")
            }
        }
    }
}
