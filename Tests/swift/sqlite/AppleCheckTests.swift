import CorestoneGraph
import CorestoneModel
import CorestoneValues
import Foundation
import XCTest

@testable import CorestoneSQLite

final class AppleCheckTests: StoreTestCase {
    func testCheckAcceptsAppleStores() throws {
        try Fixtures.require()
        var (accepted, extrapolated) = (0, 0)
        var refused: [String: [String]] = [:]
        for (file, _) in try Fixtures.storesWithModel() {
            let check = try AppleCheck(storeAt: Fixtures.folder + "/" + file)
            if check.isAccepted { accepted += 1 } else { refused[file] = check.problems.map(\.text) }
            if !check.extrapolations.isEmpty { extrapolated += 1 }
        }
        print(
            "stores of Apple's that the check accepts: \(accepted); with extrapolation \(extrapolated); refused \(refused)"
        )
        // The write-ahead log of this store, with its newest state, is missing.
        XCTAssertEqual(refused.keys.sorted(), ["stores/coredataplus/SampleModel_V2.sqlite"])
    }

    func testCheckAcceptsOwnStores() throws {
        let zoo = try Zoo()
        try open("zoo.sqlite", zoo.model).close()
        let check = try AppleCheck(storeAt: path("zoo.sqlite"), model: zoo.model)
        XCTAssertEqual(check.problems, [])
        XCTAssertEqual(check.extrapolations, [])
        XCTAssertEqual(try files(), ["zoo.sqlite"])
    }

    /// Triggers of derived attributes call only functions that SQLite allows in an untrusted file, too.
    func testTriggersCallOnlyFunctionsThatTheLibraryHas() throws {
        let model = Model()
        let note = try model.addEntity(named: "Note")
        try note.addAttribute(named: "title", type: .string)
        try note.addAttribute(named: "stamp", type: .date).setDerivation(
            Derivation(ExpressionText("now()")))
        try model.freeze()
        try open("notes.sqlite", model).close()
        let check = try AppleCheck(storeAt: path("notes.sqlite"))
        XCTAssertEqual(check.problems, [])
        XCTAssertFalse(check.extrapolations.contains { $0.text.contains("missing from") }, "\(check.extrapolations)")
    }

    func testCheckNamesTheProblems() throws {
        let zoo = try Zoo()
        try open("zoo.sqlite", zoo.model).close()
        _ = try shell(
            "zoo.sqlite",
            "INSERT INTO ZCAGE (Z_PK, Z_ENT, Z_OPT) VALUES (4, 3, 1); UPDATE Z_PRIMARYKEY SET Z_SUPER = 0 WHERE Z_NAME = 'Bird'"
        )
        let check = try AppleCheck(storeAt: path("zoo.sqlite"))
        XCTAssertEqual(Set(check.problems.map(\.entity)), ["Cage", "Bird"])
        XCTAssert(check.problems.contains { $0.text.contains("4 is in use") }, "\(check.problems)")

        let other = Model()
        try other.addEntity(named: "Cage").addAttribute(named: "number", type: .integer16)
        let mismatch = try AppleCheck(storeAt: path("zoo.sqlite"), model: other)
        XCTAssert(
            mismatch.problems.contains { $0.entity == "Cage" && $0.text.contains("hash") }, "\(mismatch.problems)")
        XCTAssert(mismatch.problems.contains { $0.entity == "Animal" && $0.text.contains("missing from the model") })
    }

    func testCheckNamesExtrapolations() throws {
        let model = Model()
        let thing = try model.addEntity(named: "Thing")
        let (other, child) = (try model.addEntity(named: "Öther"), try model.addEntity(named: "Child"))
        try child.setParent(thing)
        try thing.addAttribute(named: "name", type: .string)
        try thing.addUniqueConstraint(["name"])
        try thing.addAttribute(named: "loud", type: .string).setDerivation(
            Derivation(ExpressionText("uppercase:(name)")))
        let data = try thing.addAttribute(named: "data", type: .binary)
        try data.setAllowsExternalStorage(true)
        try data.setPreservesValueInHistory(true)
        try thing.addAttribute(named: "secret", type: .string).setAllowsCloudEncryption(true)
        try thing.addRelationship(named: "others", destination: other, isToMany: true)
        try thing.addAttribute(named: "price", type: .decimal)
        // The bits of composite attributes in a history.
        try thing.addAttribute(named: "place", type: .composite).addElement(named: "street", type: .string)
        try model.freeze()
        var options = StoreOptions()
        options.keepsHistory = true
        try open("a.sqlite", model, options: options).close()
        let check = try AppleCheck(storeAt: path("a.sqlite"), model: model)
        XCTAssertEqual(check.problems, [])
        XCTAssertEqual(
            Set(check.extrapolations.map { "\($0.entity ?? "").\($0.property ?? "")" }),
            ["Thing.loud", "Thing.data", "Thing.secret", "Thing.place", "Öther.", "."])
    }

    func testCheckFailsForFilesThatAreNotStores() throws {
        XCTAssertEqual(failure { _ = try AppleCheck(storeAt: path("missing")) }.status, .storeIO)
        try Data("nonsense".utf8).write(to: URL(fileURLWithPath: path("text")))
        XCTAssertEqual(failure { _ = try AppleCheck(storeAt: path("text")) }.status, .notAStore)
    }
}
