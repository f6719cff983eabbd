import CorestoneValues
import XCTest

@testable import CorestoneModel

final class VersionHashTests: XCTestCase {
    func testDigestsOfKnownTexts() {
        XCTAssertEqual(
            hex(sha256(Array("abc".utf8))), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        XCTAssertEqual(hex(sha512([])).prefix(16), "cf83e1357eefb8bd")
        for (text, expected) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")] {
            XCTAssertEqual(base64(Array(text.utf8)), expected)
        }
        XCTAssertEqual(base64([0xFB, 0xFF, 0xFE]), "+//+")
    }

    /// The example of the format's description.
    func testHashOfOneRequiredString() throws {
        let model = Model()
        try model.addEntity(named: "FilePath").addAttribute(named: "path", type: .string, isOptional: false)
        let hash = try XCTUnwrap(entityVersionHashes(of: model)["FilePath"])
        XCTAssertEqual(hex(hash).prefix(16), "78fdd03879aa96b6")
        try model.freeze()
        XCTAssertEqual(entityVersionHashes(of: model)["FilePath"], hash)
    }

    func testHashesAndDigestsAgreeWithTheIndependentCalculator() throws {
        let model = try SampleModels.everything()
        let ours = entityVersionHashes(of: model)
        let program = """
            import sys, hashlib, base64
            from decode_model import unarchive
            from version_hash import entity_hashes
            h = entity_hashes(unarchive(open(sys.argv[1], 'rb').read())[0])
            for n in sorted(h): print(n, h[n].hex())
            print(base64.b64encode(hashlib.sha512(b''.join(n.encode() + h[n] for n in sorted(h))).digest()).decode())
            print(base64.b64encode(hashlib.sha256(b''.join(h[n] for n in sorted(h))).digest()).decode())
            """
        // Of files, where entities do not list what they inherit, the calculator gets Apple's own hashes wrong too.
        let file = try Fixtures.temporaryFile(compiledModel(model))
        defer { try? FileManager.default.removeItem(at: file) }
        let expected =
            sortedByBytes(ours.keys).map { "\($0) \(hex(ours[$0] ?? []))" }
            + [modelVersionDigest(ours), modelVersionChecksum(ours)]
        let lines = try Fixtures.python(program, [file.path]).split(separator: "\n").map(String.init)
        XCTAssertEqual(lines, expected)
        XCTAssertEqual(lines.count, 6)
    }

    func testEveryInputOfTheHashChangesIt() throws {
        func hashes(_ change: (Entity, Attribute, Relationship, Entity) throws -> Void) throws -> [UInt8] {
            let model = Model()
            let (entity, other) = (try model.addEntity(named: "E"), try model.addEntity(named: "F"))
            let attribute = try entity.addAttribute(named: "a", type: .binary)
            let relationship = try entity.addRelationship(named: "r", destination: other, isToMany: true)
            try change(entity, attribute, relationship, other)
            return try XCTUnwrap(entityVersionHashes(of: model)["E"])
        }
        let plain = try hashes { _, _, _, _ in }
        let changed = [
            try hashes { entity, _, _, _ in try entity.setAbstract(true) },
            try hashes { entity, _, _, _ in try entity.setVersionHashModifier("m") },
            try hashes { entity, _, _, _ in try entity.addUniqueConstraint(["a"]) },
            try hashes { entity, _, _, other in try entity.setParent(other) },
            try hashes { _, attribute, _, _ in try attribute.setOptional(false) },
            try hashes { _, attribute, _, _ in try attribute.setVersionHashModifier("m") },
            try hashes { _, attribute, _, _ in try attribute.setAllowsExternalStorage(true) },
            try hashes { _, attribute, _, _ in try attribute.setTransient(true) },
            try hashes { _, attribute, _, _ in try attribute.setDerivation(Derivation(ExpressionText("r.@count"))) },
            try hashes { _, attribute, _, _ in try attribute.setDerivation(Derivation(ExpressionText("r.a.@sum"))) },
            try hashes { _, _, relationship, _ in try relationship.setCounts(minimum: 1, maximum: 0) },
            try hashes { _, _, relationship, _ in try relationship.setCounts(minimum: 0, maximum: 3) },
            try hashes { entity, _, relationship, other in
                try relationship.setInverse(try other.addRelationship(named: "back", destination: entity))
            },
        ]
        XCTAssertEqual(Set(changed + [plain]).count, changed.count + 1)
        let same = [
            try hashes { entity, _, _, _ in try entity.setClassName("C") },
            try hashes { entity, _, _, _ in try entity.setRenamingIdentifier("R") },
            try hashes { entity, _, _, _ in try entity.setUserInfo("v", forKey: "k") },
            try hashes { _, attribute, _, _ in try attribute.setDefaultValue(.bytes(Bytes([1]))) },
            try hashes { _, _, relationship, _ in try relationship.setDeleteRule(.cascade) },
        ]
        XCTAssertEqual(Set(same), [plain])
    }
}
