import CorestoneFormats
@testable import CorestoneModel
import CorestoneValues
import XCTest

final class CompiledModelTests: XCTestCase {
    /// The independent reader decodes the archive and finds the contents of the model.
    func testIndependentReaderDecodesTheArchive() throws {
        let file = try Fixtures.temporaryFile(compiledModel(try SampleModels.everything()))
        defer { try? FileManager.default.removeItem(at: file) }
        let text = try Fixtures.python(
            "import runpy, sys; sys.argv = ['decode_model.py', sys.argv[1]]; "
                + "runpy.run_module('decode_model', run_name='__main__')", [file.path])
        for expected in [
            "'NSVersionIdentifiers': ['1.0', 'Ünïcode']",
            "ENTITY Item class App.Item super None abs True subs ['Photo', 'note'] unique None compound None "
                + "ui {'synced': 'yes'}",
            "ENTITY Tag class None super None abs None subs [] unique [['weight', 'label'], ['label']] "
                + "compound [['label', 'weight'], ['entity', 'weight']] ui {}",
            "INDEX byBoth [('label', 0, True), ('weight', 0, False)] None",
            "ENTITY note class None super Item", "'NSFlagsKey': 20", "'NSDefaultValue': 'Grüße 🎉'",
            "'NSMaxCount': 9, 'NSMinCount': 1, 'NSRenamingIdentifier': 'children', '_NSDestinationEntityName': 'Item'",
        ] where !text.contains(expected) { XCTFail("no \(expected) in\n\(text)") }
    }

    /// Each object has the keys that every object of its class has in Apple's files, and no unknown key.
    func testArchiveKeysAreThoseOfAppleFiles() throws {
        let file = try Fixtures.temporaryFile(compiledModel(try SampleModels.everything()))
        defer { try? FileManager.default.removeItem(at: file) }
        let program = """
            import sys, glob, plistlib
            from decode_model import model_from_store
            def keys(data):
                objects = plistlib.loads(data)['$objects']
                for o in objects:
                    if isinstance(o, dict) and '$class' in o:
                        c = objects[o['$class'].data]
                        yield c['$classname'], tuple(c['$classes']), set(o)
            always, ever, chains = {}, {}, {}
            for f in glob.glob(sys.argv[2] + '/stores/*/*') + glob.glob(sys.argv[2] + '/compiled-models/**/*.mom', recursive=True):
                store = open(f, 'rb').read(16).startswith(b'SQLite')
                data = model_from_store(f) if store else open(f, 'rb').read()
                for name, chain, found in keys(data) if data else ():
                    always[name] = always.get(name, found) & found
                    ever[name] = ever.get(name, found) | found
                    chains[name] = chain
            seen = set()
            for name, chain, found in keys(open(sys.argv[1], 'rb').read()):
                seen.add(name)
                if name not in chains:
                    print('unknown', name)
                else:
                    assert chain == chains[name], (name, chain)
                    assert always[name] <= found <= ever[name], (name, always[name] - found, found - ever[name])
            print(len(seen) > 10)
            """
        let folder = try Fixtures.folder().path
        let lines = try Fixtures.python(program, [file.path, folder]).split(separator: "\n").map(String.init)
        // The fixtures do not contain these classes; their keys come from published archives of other kinds.
        let unknown = [
            "NSUUID", "NSURL", "NSDecimalNumberPlaceholder", "NSSubstringPredicateOperator", "NSAggregateExpression",
        ]
        XCTAssertEqual(Set(lines), Set(["True"] + unknown.map { "unknown \($0)" }))
    }

    /// `_P` sums up other keys; the same sum must hold in Apple's files and in ours.
    func testPrivateFlagsFollowFromTheOtherKeys() throws {
        let file = try Fixtures.temporaryFile(compiledModel(try SampleModels.everything()))
        defer { try? FileManager.default.removeItem(at: file) }
        let program = """
            import sys, glob, plistlib
            from decode_model import model_from_store
            count = 0
            def check(data):
                global count
                for o in plistlib.loads(data)['$objects']:
                    if isinstance(o, dict) and '_P' in o and 'NSIsReadOnly' not in o and 'NSIndexedBySpotlight' not in o \\
                            and 'NSValidationPredicates' not in o and 'NSFetchRequest' not in o:
                        expected = 0x31 | (2 if 'NSIsOptional' in o else 0) | (8 if 'NSIsTransient' in o else 0) \\
                            | (0 if 'NSUserInfo' in o else 64) | (0 if 'NSVersionHashModifier' in o else 128) \\
                            | (1024 if 'NSIsOrdered' in o else 0)
                        assert o['_P'] == expected, o
                        count += 1
            for f in [sys.argv[1]] + glob.glob(sys.argv[2] + '/stores/*/*'):
                data = open(f, 'rb').read()
                data = model_from_store(f) if data.startswith(b'SQLite') else data
                if data: check(data)
            print(count > 2000)
            """
        // Computed outside the assertion, which would turn a skip into a failure.
        let answer = try Fixtures.python(program, [file.path, try Fixtures.folder().path])
        XCTAssertEqual(answer, "True\n")
    }

    /// By Apple's conventions every reference has a target, and every object has a class.
    func testArchiveHasNoDanglingReferences() throws {
        for model in [try SampleModels.everything(), Model()] {
            guard case .dictionary(let top) = try decodePropertyList(compiledModel(model)) else {
                return XCTFail("no archive")
            }
            let objects = try XCTUnwrap(top["$objects"]?.array)
            XCTAssertEqual(top["$version"], .integer(100_000))
            XCTAssertEqual(objects.first, .string("$null"))
            func check(_ value: PropertyListValue) {
                switch value {
                case .uid(let number): XCTAssertLessThan(Int(number), objects.count)
                case .array(let values): values.forEach(check)
                case .dictionary(let entries):
                    XCTAssertTrue(entries["$class"] != nil || entries["$classname"] != nil)
                    entries.values.forEach(check)
                case .null: XCTFail("an object was reserved and never written")
                default: break
                }
            }
            objects.forEach(check)
        }
    }

    func testDefaultValuesKeepTheirKind() throws {
        let top = try XCTUnwrap(try decodePropertyList(compiledModel(try SampleModels.everything())).dictionary)
        let objects = try XCTUnwrap(top["$objects"]?.array)
        func find(_ name: String) -> PropertyListValue? {
            for object in objects {
                guard let fields = object.dictionary, let key = fields["NSPropertyName"]?.reference,
                    fields["NSAttributeType"] != nil, objects[Int(key)] == .string(name),
                    let value = fields["NSDefaultValue"]?.reference
                else { continue }
                return objects[Int(value)]
            }
            return nil
        }
        XCTAssertEqual(find("a100"), .integer(-7))
        XCTAssertEqual(find("a300"), .integer(.min))
        XCTAssertEqual(find("a500"), .real(0.1))
        XCTAssertEqual(find("a800"), .bool(true))
        XCTAssertEqual(find("a1000"), .data([0, 255]))
        XCTAssertEqual(find("a900")?.dictionary?["NS.time"], .real(-0.5))
        XCTAssertEqual(
            find("a1100")?.dictionary?["NS.uuidbytes"], .data([0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2]))
        let decimal = try XCTUnwrap(find("a400")?.dictionary)
        XCTAssertEqual(decimal["NS.exponent"], .integer(-1))
        XCTAssertEqual(decimal["NS.negative"], .bool(true))
        XCTAssertEqual(decimal["NS.length"], .integer(5))
        XCTAssertEqual(find("a100None"), .string("$null"))
    }

    func testDeflatedModelRoundTrips() throws {
        for bytes in [try compiledModel(try SampleModels.everything()), [], [UInt8](repeating: 7, count: 3_000_000)] {
            let packed = try deflateRaw(bytes)
            XCTAssertEqual(try inflateRaw(packed), bytes)
            if !bytes.isEmpty {
                XCTAssertThrowsError(try inflateRaw(packed, limit: bytes.count - 1))
                XCTAssertThrowsError(try inflateRaw(Array(packed.dropLast(2))))
                XCTAssertEqual(try inflateRaw(packed, limit: bytes.count), bytes)
            }
        }
        XCTAssertThrowsError(try inflateRaw([]))
        XCTAssertThrowsError(try inflateRaw([0xFF, 0xFF, 0xFF]))
    }

    func testCachedModelsOfRealStoresAreDecoded() throws {
        var count = 0
        for store in try Fixtures.stores() {
            guard let packed = store.packedModel else { continue }
            let top = try decodePropertyList(try inflateRaw(packed)).dictionary
            XCTAssertEqual(top?["$archiver"], .string("NSKeyedArchiver"), store.name)
            count += 1
        }
        XCTAssertGreaterThan(count, 25)
    }
}
