import CorestoneFormats
@testable import CorestoneModel
import CorestoneValues
import XCTest

final class VersionHashTests: XCTestCase {
    func testDigestsAndBase64OfKnownTextsAreCorrect() {
        XCTAssertEqual(
            hex(sha256(Array("abc".utf8))), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        XCTAssertEqual(hex(sha512([])).prefix(16), "cf83e1357eefb8bd")
        for (text, expected) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")] {
            XCTAssertEqual(base64(Array(text.utf8)), expected)
        }
        XCTAssertEqual(base64([0xFB, 0xFF, 0xFE]), "+//+")
    }

    /// The example in the description of the format.
    func testHashOfOneRequiredStringIsCorrect() throws {
        let model = Model()
        try model.addEntity(named: "FilePath").addAttribute(named: "path", type: .string, isOptional: false)
        let hash = try XCTUnwrap(entityVersionHashes(of: model)["FilePath"])
        XCTAssertEqual(hex(hash).prefix(16), "78fdd03879aa96b6")
        try model.freeze()
        XCTAssertEqual(entityVersionHashes(of: model)["FilePath"], hash)
    }

    func testHashesAndDigestsMatchTheIndependentCalculator() throws {
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
        // The calculator is wrong for files, even for Apple's, because their entities do not list inherited properties.
        let file = try Fixtures.temporaryFile(compiledModel(model))
        defer { try? FileManager.default.removeItem(at: file) }
        let expected =
            sortedByBytes(ours.keys).map { "\($0) \(hex(ours[$0] ?? []))" }
            + [modelVersionDigest(ours), modelVersionChecksum(ours)]
        let lines = try Fixtures.python(program, [file.path]).split(separator: "\n").map(String.init)
        XCTAssertEqual(lines, expected)
        XCTAssertEqual(lines.count, 6)
    }

    func testPropertyHashIsTheDigestOfItsParts() throws {
        let model = Model()
        let (entity, other) = (try model.addEntity(named: "E"), try model.addEntity(named: "Föö"))
        func bytes(_ name: String, _ flag: UInt8, _ modifier: String = "") -> [UInt8] {
            sha256(Array(name.utf8) + [flag, 0] + Array(modifier.utf8))
        }
        let number = try entity.addAttribute(named: "n", type: .integer16)
        XCTAssertEqual(number.versionHash, sha256(bytes("n", 1) + [100, 0, 0, 0]))
        let file = try entity.addAttribute(named: "f", type: .binary, isOptional: false)
        try file.setAllowsExternalStorage(true)
        try file.setPreservesValueInHistory(true)
        try file.setVersionHashModifier("m")
        XCTAssertEqual(file.versionHash, sha256(bytes("f", 0, "m") + [0xE8, 3, 0, 0, 1, 1]))
        let many = try entity.addRelationship(named: "r", destination: other, isToMany: true, isOrdered: true)
        try many.setCounts(minimum: 2, maximum: 258)
        let name = Array("Föö".utf8)
        XCTAssertEqual(many.versionHash, sha256(bytes("r", 1) + name + [2, 1, 0, 0, 2, 0, 0, 0, 1, 0]))
        try many.setInverse(try other.addRelationship(named: "back", destination: entity))
        XCTAssertEqual(
            many.versionHash, sha256(bytes("r", 1) + name + Array("back".utf8) + [2, 1, 0, 0, 2, 0, 0, 0, 1, 0]))
        let derived = try entity.addAttribute(named: "d", type: .integer64)
        try derived.setDerivation(Derivation(ExpressionText("r.@count")))
        XCTAssertEqual(derived.versionHash, sha256(Array("count:(r)".utf8)))
        try entity.addUniqueConstraint(["n", "f"])
        try entity.addUniqueConstraint(["d"])
        try entity.setVersionHashModifier("v")
        let own = derived.versionHash + file.versionHash + number.versionHash + many.versionHash
        let expected = sha256(Array("E".utf8) + [0] + own + Array("vdn.f".utf8))
        XCTAssertEqual(entityVersionHashes(of: model)["E"], expected)
        let child = try model.addEntity(named: "C")
        try child.setParent(entity)
        try child.setAbstract(true)
        XCTAssertEqual(entityVersionHashes(of: model)["C"], sha256(Array("C".utf8) + [1] + expected + own))
    }

    func testEveryInputChangesTheHash() throws {
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
            try hashes { _, attribute, _, _ in try attribute.setType(.string) },
            try hashes { _, attribute, _, _ in try attribute.rename(to: "b") },
            try hashes { _, attribute, _, _ in try attribute.setTransient(true) },
            try hashes { _, attribute, _, _ in try attribute.setDerivation(Derivation(ExpressionText("r.@count"))) },
            try hashes { _, attribute, _, _ in try attribute.setDerivation(Derivation(ExpressionText("r.a.@sum"))) },
            try hashes { _, _, relationship, _ in try relationship.setCounts(minimum: 1, maximum: 0) },
            try hashes { _, _, relationship, _ in try relationship.setCounts(minimum: 0, maximum: 3) },
            try hashes { _, _, relationship, _ in try relationship.setOrdered(true) },
            try hashes { _, _, relationship, _ in try relationship.setToMany(false) },
            try hashes { _, _, relationship, _ in try relationship.setOptional(false) },
            try hashes { _, _, relationship, _ in try relationship.setVersionHashModifier("m") },
            try hashes { entity, _, relationship, _ in try relationship.setDestination(entity) },
            try hashes { entity, _, relationship, other in
                try relationship.setInverse(try other.addRelationship(named: "back", destination: entity))
            },
        ]
        XCTAssertEqual(Set(changed + [plain]).count, changed.count + 1)
        // Both flags add the same byte.
        XCTAssertEqual(
            try hashes { _, attribute, _, _ in try attribute.setPreservesValueInHistory(true) },
            try hashes { _, attribute, _, _ in try attribute.setAllowsExternalStorage(true) })
        let same = [
            try hashes { entity, _, _, _ in try entity.setClassName("C") },
            try hashes { entity, _, _, _ in try entity.setRenamingIdentifier("R") },
            try hashes { entity, _, _, _ in try entity.setUserInfo("v", forKey: "k") },
            try hashes { _, attribute, _, _ in try attribute.setDefaultValue(.bytes(Bytes([1]))) },
            try hashes { _, _, relationship, _ in try relationship.setDeleteRule(.cascade) },
            try hashes { entity, _, _, _ in try entity.addIndex(FetchIndex(name: "i", elements: [.init(property: "a")]))
            },
            try hashes { entity, _, _, _ in
                try entity.addFetchedProperty(named: "f", fetchRequest: FetchRequestTemplate(entityName: "F"))
            },
            try hashes { entity, _, _, _ in try entity.addAttribute(named: "t", type: .string, isTransient: true) },
            try hashes { _, attribute, _, _ in try attribute.setRenamingIdentifier("R") },
            try hashes { _, attribute, _, _ in try attribute.setAllowsCloudEncryption(true) },
            try hashes { _, attribute, _, _ in try attribute.addValidation(PredicateText("SELF != nil"), warning: "w")
            },
        ]
        XCTAssertEqual(Set(same), [plain])
    }
}
