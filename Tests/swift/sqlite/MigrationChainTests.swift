import CorestoneGraph
import CorestoneModel
import CorestoneValues
import Foundation
import XCTest

@testable import CorestoneSQLite

/// Stores that Apple's framework migrated in place, step by step: migrated here, the older file becomes the newer one.
final class MigrationChainTests: StoreTestCase {
    private func store(_ number: Int) throws -> String {
        try Fixtures.require()
        return Fixtures.folder + "/chains/wire/store2-\(number)-0.wiredatabase"
    }

    private func cachedModel(_ path: String) throws -> Model {
        let place = try StoreLocation(path)
        let connection = try ReadOnlyFile(place).connection
        let model = try XCTUnwrap(StoreContents(connection, place: place).cachedModel(connection))
        try model.freeze()
        return model
    }

    /// Migrates a copy of one store to the model of another one.
    private func migrate(_ from: Int, to: Int) throws -> (name: String, model: Model) {
        let name = "\(from).sqlite"
        try FileManager.default.copyItem(atPath: store(from), toPath: path(name))
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path(name))
        let model = try cachedModel(store(to))
        var options = StoreOptions()
        options.migration = .inferred
        options.migration?.allowsRemovals = true
        try open(name, model, options: options).close()
        return (name, model)
    }

    /// Returns the lines that `sqlite3` prints for a query, sorted and without differences of table names.
    ///
    /// For a relationship and its inverse within one entity, Apple's framework names the table after either, without a
    /// reason in the model. These names are treated as equal, and the quotes that a rename leaves are ignored.
    private func rows(_ path: String, _ sql: String) throws -> [String] {
        let output = try Fixtures.run("sqlite3", ["-readonly", "file:\(path)?immutable=1", sql])
        let settled = output.replacingOccurrences(of: "\n", with: "\u{1}")
            .replacingOccurrences(of: "Z_25TRUSTEDBYCLIENTS|", with: "Z_25TRUSTEDCLIENTS|")
            .replacingOccurrences(of: "TABLE \"Z_25TRUSTEDBYCLIENTS\"", with: "TABLE Z_25TRUSTEDCLIENTS")
            .replacingOccurrences(of: "TABLE \"Z_25TRUSTEDCLIENTS\"", with: "TABLE Z_25TRUSTEDCLIENTS")
        return settled.split(separator: "\u{1}").map(String.init).sorted()
    }

    private func compare(_ from: Int, _ to: Int, onlyColumns: Bool = false) throws {
        let (name, model) = try migrate(from, to: to)
        let (mine, theirs) = (path(name), try store(to))
        let tables = "SELECT name, sql FROM sqlite_master WHERE type = 'table' AND name LIKE 'Z%' ORDER BY name"
        let columns =
            "SELECT m.name, c.name, c.type FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table' "
            + "AND m.name LIKE 'Z%' ORDER BY m.name, c.name"
        XCTAssertEqual(try rows(mine, columns), try rows(theirs, columns), "columns \(from) -> \(to)")
        let keys = "SELECT Z_ENT, Z_NAME, Z_SUPER FROM Z_PRIMARYKEY ORDER BY Z_ENT"
        XCTAssertEqual(try rows(mine, keys), try rows(theirs, keys), "entities \(from) -> \(to)")
        if !onlyColumns {
            for (a, b) in zip(try rows(mine, tables), try rows(theirs, tables)) where a != b { XCTFail("\(a)\n\(b)") }
        }
        let metadata = try StoreMetadata(decoding: plist(mine)), wanted = try StoreMetadata(decoding: plist(theirs))
        XCTAssertEqual(metadata.entityVersionHashes, wanted.entityVersionHashes)
        if let digest = wanted.digest { XCTAssertEqual(metadata.digest, digest) }
        let carried = try cachedModel(mine)
        XCTAssert(carried.summary == model.summary, "the model of \(from) -> \(to)")
    }

    private func plist(_ path: String) throws -> [UInt8] {
        let connection = try ReadOnlyFile(StoreLocation(path)).connection
        let statement = try connection.prepare("SELECT Z_PLIST FROM Z_METADATA", "read")
        XCTAssert(try statement.step("read"))
        return try XCTUnwrap(statement.blob(0))
    }

    func testMigrationMatchesFrameworksThatAlterTables() throws {
        for (from, to) in [(87, 88), (92, 93), (95, 96), (99, 100)] { try compare(from, to) }
    }

    func testMigrationMatchesFrameworksThatRebuildTables() throws {
        for (from, to) in [(64, 65), (65, 66), (66, 67)] { try compare(from, to, onlyColumns: true) }
    }
}
