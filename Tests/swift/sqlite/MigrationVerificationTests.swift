import CSQLite
import CorestoneModel
import CorestoneContainers
import CorestoneValues
import Foundation
import XCTest

@testable import CorestoneGraph
@testable import CorestoneSQLite

/// The comparison of migrated objects with the former ones.
final class MigrationVerificationTests: StoreTestCase {
    private func hash(_ name: String = "a.sqlite") throws -> String {
        try shell(name, "SELECT hex(Z_PLIST) FROM Z_METADATA")
    }

    /// The error of a migration in which SQL plants a difference before the verification.
    private func planted(
        _ sql: String, _ change: @escaping (inout MigrationOptions) -> Void = { _ in }, line: UInt = #line
    ) throws -> CoreError {
        try? FileManager.default.removeItem(atPath: folder)
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try makeFormer()
        let before = try hash()
        let error = failure(
            {
                try migrateFormer {
                    $0.verifies = true
                    $0.willVerify = { try $0(sql) }
                    change(&$0)
                }
            }, line: line)
        XCTAssertEqual(error.code, CocoaCode.migration.rawValue, line: line)
        XCTAssertTrue(
            error.message.hasPrefix("the verification of the migration of \(path("a.sqlite")) failed: "), error.message,
            line: line)
        XCTAssertEqual(try hash(), before, line: line)
        XCTAssertEqual(try shell("a.sqlite", "SELECT count(ZLEGACY) FROM ZANIMAL"), "5", line: line)
        return error
    }

    private func text(_ error: CoreError) -> String {
        let parts = error.message.components(separatedBy: " failed: ")
        return parts.last?.components(separatedBy: "; report the difference").first ?? ""
    }

    // MARK: - In place

    func testVerifiedMigrationSucceeds() throws {
        for defers in [false, true] {
            let name = defers ? "b.sqlite" : "a.sqlite"
            try makeFormer(name)
            let coordinator = try migrateFormer(name) {
                ($0.verifies, $0.defersCleanup) = (true, defers)
            }
            try closeAll(coordinator)
            XCTAssertEqual(try shell(name, "SELECT count(ZTITLE) FROM ZANIMAL"), "5")
            XCTAssertEqual(try shell(name, "SELECT count(*) FROM sqlite_master WHERE name LIKE 'CST_SAMPLE%'"), "0")
        }
    }

    func testVerificationFindsMissingObject() throws {
        let error = try planted("DELETE FROM ZTAG WHERE ZLABEL = 'a'")
        XCTAssertEqual(text(error), "Tag has 1 object, but 2 were expected")
        XCTAssertEqual(error.entity, "Tag")
    }

    func testVerificationFindsChangedKey() throws {
        let error = try planted("UPDATE ZTAG SET Z_PK = 99 WHERE ZLABEL = 'a'")
        XCTAssertEqual(text(error), "objects of Tag have other primary keys or versions than before")
    }

    func testVerificationFindsLostValue() throws {
        let error = try planted("UPDATE ZANIMAL SET ZTITLE = NULL WHERE ZTITLE = 'animal 3'")
        XCTAssertEqual(text(error), "Dog.title has 1 value, but 2 were expected")
        XCTAssertEqual(error.entity, "Dog")
        XCTAssertEqual(error.key, "title")
        XCTAssertEqual(error.value, .string("1"))
    }

    func testVerificationFindsADifferentSum() throws {
        let whole = try planted("UPDATE ZANIMAL SET ZAGE = ZAGE + 1 WHERE ZAGE = 3")
        XCTAssertEqual(text(whole), "Dog.age has the sum 6, but 5 was expected")
        // The smallest difference of two doubles.
        let real = try planted("UPDATE ZANIMAL SET ZWEIGHT = 0.30000000000000010 WHERE ZAGE = 3")
        XCTAssertTrue(text(real).hasPrefix("Dog.weight has the sum "), real.message)
    }

    func testVerificationFindsDifferentTexts() throws {
        let longer = try planted("UPDATE ZPERSON SET ZNAME = 'Adam' WHERE ZNAME = 'Ada'")
        XCTAssertEqual(text(longer), "Person.name has 7 bytes, but 6 were expected")
        let other = try planted("UPDATE ZPERSON SET ZNAME = 'Eve' WHERE ZNAME = 'Ada'")
        XCTAssertTrue(text(other).hasPrefix("Person.name has other values than expected (hash "), other.message)
    }

    func testVerificationFindsExchangedValuesInSample() throws {
        let error = try planted(
            "UPDATE ZPERSON SET ZNAME = CASE ZNAME WHEN 'Ada' THEN 'Bob' ELSE 'Ada' END")
        XCTAssertTrue(text(error).contains("Person.name of x-coredata://"), error.message)
        XCTAssertTrue(text(error).contains("but \"") && text(error).hasSuffix("was expected"), error.message)
        XCTAssertNotNil(error.objectURI)
    }

    func testVerificationFindsLostAndDifferentPairs() throws {
        let toOne = try planted("UPDATE ZANIMAL SET ZOWNER = NULL WHERE ZTITLE = 'animal 3'")
        XCTAssertEqual(text(toOne), "Animal.owner has 3 pairs of objects, but 4 were expected")
        XCTAssertEqual(toOne.key, "owner")
        let order = try planted("UPDATE ZANIMAL SET Z_FOK_OWNER = Z_FOK_OWNER + 1")
        XCTAssertEqual(text(order), "Animal.owner has other pairs of objects than before")
        let table = "(SELECT name FROM sqlite_master WHERE name GLOB 'Z_[0-9]*' AND type = 'table')"
        try makeFormer("b.sqlite")
        try closeAll(migrateFormer("b.sqlite"))
        let join = try shell("b.sqlite", "SELECT name FROM \(table)")
        let many = try planted("DELETE FROM \(join) WHERE rowid = 1")
        XCTAssertTrue(text(many).hasSuffix("has 2 pairs of objects, but 3 were expected"), many.message)
    }

    func testVerificationFindsDanglingReference() throws {
        // The number of complete pairs is unchanged.
        let error = try planted("UPDATE ZANIMAL SET ZOWNER = 77 WHERE ZTITLE = 'animal 4'")
        XCTAssertEqual(text(error), "Animal.owner has 1 reference to missing objects, but 0 were expected")
    }

    func testVerificationAcceptsExistingDanglingReferences() throws {
        try makeFormer()
        try shell("a.sqlite", "UPDATE ZANIMAL SET ZOWNER = 77 WHERE ZAGE = 3")
        try closeAll(migrateFormer { $0.verifies = true })
        XCTAssertEqual(try shell("a.sqlite", "SELECT ZOWNER FROM ZANIMAL WHERE ZAGE = 3"), "77")
    }

    func testVerificationAcceptsConversionsDefaultsAndInlinedValues() throws {
        let former = Model()
        let note = try former.addEntity(named: "Note")
        for (name, type) in [
            ("count", AttributeType.integer32), ("flag", .boolean), ("price", .decimal), ("when", .date),
        ] {
            try note.addAttribute(named: name, type: type, isOptional: true)
        }
        try note.addAttribute(named: "image", type: .binary, isOptional: true).setAllowsExternalStorage(true)
        try note.addAttribute(named: "small", type: .binary, isOptional: true)
        try former.freeze()
        let first = try Coordinator(model: former)
        try first.addStore(at: path("a.sqlite"))
        let context = Context(coordinator: first)
        for number in 0..<250 {
            let object = try context.insert("Note")
            if number % 3 > 0 { try object.setValue(.int(Int64(number)), forKey: "count") }
            try object.setValue(.bool(number % 2 == 0), forKey: "flag")
            try object.setValue(.decimal(DecimalNumber("\(number).25")), forKey: "price")
            try object.setValue(.date(Double(number)), forKey: "when")
            try object.setValue(.bytes(Bytes([UInt8(number)])), forKey: "small")
            if number == 7 { try object.setValue(.bytes(Bytes(StoreTestCase.large)), forKey: "image") }
        }
        try context.save()
        try closeAll(first)
        let wanted = Model()
        let new = try wanted.addEntity(named: "Note")
        try new.addAttribute(named: "count", type: .string, isOptional: false).setDefaultValue(.string("none"))
        try new.addAttribute(named: "flag", type: .integer64, isOptional: true)
        try new.addAttribute(named: "price", type: .decimal, isOptional: false).setDefaultValue(
            .decimal(DecimalNumber("1.5")))
        try new.addAttribute(named: "when", type: .double, isOptional: true)
        try new.addAttribute(named: "image", type: .binary, isOptional: true)
        try new.addAttribute(named: "small", type: .binary, isOptional: true).setAllowsExternalStorage(true)
        var options = StoreOptions()
        options.migration = .inferred
        options.migration?.verifies = true
        options.migration?.allowsTypeChanges = true
        let coordinator = try Coordinator(model: wanted)
        try coordinator.addStore(at: path("a.sqlite"), options: options)
        try closeAll(coordinator)
        XCTAssertEqual(try shell("a.sqlite", "SELECT count(*) FROM ZNOTE WHERE ZCOUNT = 'none'"), "84")
    }

    // MARK: - Routes

    /// The error of a migration by a route that is verified.
    private func routed(
        _ middle: @escaping (String, String) throws -> Void = { _, _ in }, planting sql: String? = nil,
        spoiling: String? = nil
    ) throws {
        try? FileManager.default.removeItem(atPath: folder)
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let coordinator = try Coordinator(model: ConversionModels.former())
        let store = try coordinator.addSQLiteStore(at: path("a.sqlite"))
        let context = Context(coordinator: coordinator)
        for name in ["Ada", "Bob"] {
            let person = try context.insert("Person")
            try person.setValue(.string(name), forKey: "name")
            try person.setValue(.bytes(Bytes(StoreTestCase.large)), forKey: "photo")
            let pet = try context.insert("Pet")
            try pet.setValue(.string("pet of \(name)"), forKey: "name")
            try pet.setValue(.object(person), forKey: "owner")
        }
        try context.save()
        try coordinator.remove(store)
        let wanted = try ConversionModels.wanted()
        var options = StoreOptions()
        options.migration = .inferred
        options.migration?.conversion = SpoiledConversion(
            conversion: FakeConversion(wanted: wanted, middle: middle), spoiling: spoiling)
        options.migration?.verifies = true
        if let sql { options.migration?.willVerify = { try $0(sql) } }
        let new = try Coordinator(model: wanted)
        try new.addStore(at: path("a.sqlite"), options: options)
        try closeAll(new)
    }

    func testVerifiedRouteSucceeds() throws {
        try routed()
        XCTAssertEqual(try shell("a.sqlite", "SELECT count(*) FROM ZPERSON JOIN ZANIMAL ON ZOWNER = ZPERSON.Z_PK"), "2")
    }

    func testVerificationFindsValuesObjectsAndPairsThatARouteLost() throws {
        let value = failure { try routed(spoiling: "UPDATE ZPERSON SET ZFULLNAME = 'Eve' WHERE ZFULLNAME = 'Ada'") }
        XCTAssertTrue(text(value).hasPrefix("Person.fullName of the object made from Person/p"), value.message)
        XCTAssertTrue(text(value).hasSuffix("is \"Eve\", but \"Ada\" was expected (1 value differs)"), value.message)
        let object = failure { try routed(spoiling: "DELETE FROM ZBADGE WHERE ZLABEL = 'Ada'") }
        XCTAssertEqual(text(object), "Badge has 1 of 2 objects made from Person")
        let pair = failure { try routed(spoiling: "UPDATE ZANIMAL SET ZOWNER = NULL WHERE Z_PK = 1") }
        XCTAssertTrue(text(pair).contains("has 1 of 2 pairs of objects that"), pair.message)
        let target = failure {
            try routed(
                spoiling: "INSERT INTO ZANIMAL (Z_PK, Z_ENT, Z_OPT, ZOWNER) SELECT 9, Z_ENT, 1, 77 FROM ZANIMAL LIMIT 1"
            )
        }
        XCTAssertEqual(text(target), "Animal.owner has 1 reference to missing objects")
        XCTAssertEqual(try shell("a.sqlite", "SELECT count(*) FROM ZPET"), "2")
    }

    func testVerificationFindsDifferenceAfterReplacement() throws {
        let rows = failure { try routed(planting: "DELETE FROM main.ZBADGE WHERE ZLABEL = 'Ada'") }
        XCTAssertEqual(text(rows), "the table ZBADGE has 1 row, but 2 were expected")
        let values = failure { try routed(planting: "UPDATE main.ZBADGE SET ZLABEL = 'Eve' WHERE ZLABEL = 'Ada'") }
        XCTAssertEqual(text(values), "the rows of the table ZBADGE differ from those that were migrated")
    }

    // MARK: - Measures

    private func measure(_ values: String) throws -> ColumnMeasure {
        let connection = try Connection(":memory:", path: "memory", flags: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)
        let functions = try MeasureFunctions(connection, externalFolder: "")
        defer { functions.end() }
        let list =
            values.isEmpty
            ? "SELECT NULL" : values.split(separator: ",").map { "SELECT \($0)" }.joined(separator: " UNION ALL ")
        let statement = try connection.prepare("WITH T(V) AS (\(list)) SELECT cst_measure(V) FROM T", "test")
        XCTAssertTrue(try statement.step("test"))
        return try XCTUnwrap(ColumnMeasure(statement.text(0)))
    }

    func testMeasureIsExactAndIndependentOfOrder() throws {
        XCTAssertEqual(try measure("1e300,1,-1e300"), try measure("-1e300,1e300,1.0"))
        XCTAssertEqual(try measure("1e300,1,-1e300").shownSum, "1")
        XCTAssertNotEqual(try measure("1e300,1,-1e300").sum, try measure("1e300,-1e300").sum)
        XCTAssertEqual(try measure("0.1,0.2,0.3").sum, try measure("0.3,0.2,0.1").sum)
        XCTAssertEqual(try measure("-5,3").shownSum, "-2")
        XCTAssertEqual(try measure("-9223372036854775807,-9223372036854775807").shownSum, "-1.8446744073709552e+19")
        XCTAssertEqual(try measure("5e-324,5e-324").shownSum, "1e-323")
        XCTAssertEqual(try measure("").count, 0)
        XCTAssertEqual(try measure("NULL,'ab',x'00'").count, 2)
        XCTAssertEqual(try measure("NULL,'ab',x'00'").length, 3)
        XCTAssertNotEqual(try measure("'ab'").hash, try measure("x'6162'").hash)
        XCTAssertEqual(try measure("2").hash, try measure("2.0").hash)
        XCTAssertEqual(try measure("9e999").shownSum, "infinite")
    }
}

/// A route whose result is changed by SQL after it has run.
private struct SpoiledConversion: StoreConversion, ConversionRoute {
    var conversion: FakeConversion
    let spoiling: String?
    var steps: [String] { conversion.steps }

    func route(
        from source: Model, to destination: Model, ofStoreAt path: String, _ options: MigrationOptions
    ) throws -> (any ConversionRoute)? {
        var route = self
        route.conversion.source = source
        return route
    }

    func run(
        from path: String, named given: String, to result: String, limits: StoreLimits,
        progress: @escaping (Int, Int) -> Bool
    ) throws -> ConvertedContent {
        let content = try conversion.run(from: path, named: given, to: result, limits: limits, progress: progress)
        if let spoiling {
            let connection = try Connection(result, path: result, flags: SQLITE_OPEN_READWRITE)
            defer { connection.close() }
            try connection.execute(spoiling, "test")
        }
        return content
    }
}
