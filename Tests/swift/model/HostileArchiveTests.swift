import CorestoneFormats
@testable import CorestoneModel
import CorestonePredicate
import CorestoneValues
import XCTest

/// Archives that no archiver writes: with cycles, excessive sharing and impossible numbers.
final class HostileArchiveTests: XCTestCase {
    private typealias ClassName = KeyedArchiver.ClassName

    /// Reads a model with the entities that `body` archives.
    private func read(_ body: (KeyedArchiver) -> [(String, PropertyListValue)]) throws -> Model {
        let archiver = KeyedArchiver()
        let entities = archiver.dictionary(body(archiver))
        let root = archiver.add(ClassName("NSManagedObjectModel"), ["NSEntities": entities])
        return try Model(compiledModel: archiver.encoded(root: root))
    }

    private func entity(
        _ archiver: KeyedArchiver, _ name: String, _ fields: [String: PropertyListValue]
    ) -> PropertyListValue {
        archiver.add(
            ClassName("NSEntityDescription"), fields.merging(["NSEntityName": archiver.string(name)]) { old, _ in old })
    }

    private func property(
        _ archiver: KeyedArchiver, _ className: String, _ name: String, _ fields: [String: PropertyListValue]
    ) -> (String, PropertyListValue) {
        let all = fields.merging(["NSPropertyName": archiver.string(name)]) { old, _ in old }
        return (name, archiver.add(ClassName(className, "NSPropertyDescription"), all))
    }

    private func message(_ body: (KeyedArchiver) -> [(String, PropertyListValue)]) -> String {
        do {
            try read(body).freeze()
            return "none"
        } catch { return (error as? CoreError)?.message ?? "\(error)" }
    }

    func testEntityInheritanceCycleIsRejected() {
        XCTAssertEqual(
            message { archiver in
                let (a, b) = (archiver.reserve(), archiver.reserve())
                for (number, name, parent) in [(a, "A", b), (b, "B", a)] {
                    archiver.fill(
                        number, ClassName("NSEntityDescription"),
                        ["NSEntityName": archiver.string(name), "NSSuperentity": .uid(parent)])
                }
                return [("A", .uid(a)), ("B", .uid(b))]
            }, "B cannot inherit from A: the inheritance would be circular; set another superentity")
    }

    func testObjectsThatContainThemselvesAreLimited() {
        // Arrays, dictionaries and proxies that contain themselves are followed for one step only.
        XCTAssertEqual(
            message { archiver in
                let (list, proxy, element) = (archiver.reserve(), archiver.reserve(), archiver.reserve())
                archiver.fill(list, ClassName("NSArray"), ["NS.objects": .array([.uid(list)])])
                archiver.fill(
                    proxy, ClassName("_NSPropertyDescriptionProxy"), ["NSUnderlyingProperty": .uid(proxy)])
                archiver.fill(
                    element, ClassName("NSCompositeAttributeDescription"),
                    [
                        "NSAttributeType": .integer(2100), "NSPropertyName": archiver.string("self"),
                        "NSElements": archiver.array([.uid(element)]),
                    ])
                let properties = archiver.dictionary([("p", .uid(proxy)), ("self", .uid(element))])
                return [
                    (
                        "A",
                        entity(
                            archiver, "A",
                            [
                                "NSProperties": properties, "NSUniqueTuples": .uid(list),
                                "NSFetchIndexDescriptions": .uid(list), "NSUserInfo": .uid(list),
                            ])
                    )
                ]
            },
            "A.self.self.self.self.self.self.self.self.self.self.self.self.self.self.self.self is nested 16 levels deep, "
                + "which is the limit; add the element to an outer attribute")
    }

    /// Sixty compounds, each with the next one twice: a tree of 2^60 predicates in a few hundred bytes.
    func testSharedPredicatesAreLimited() {
        XCTAssertEqual(
            message { archiver in
                var predicate = archiver.add(ClassName("NSTruePredicate", "NSPredicate"), [:])
                for _ in 0..<60 {
                    predicate = archiver.add(
                        ClassName("NSCompoundPredicate", "NSPredicate"),
                        [
                            "NSCompoundPredicateType": .integer(1),
                            "NSSubpredicates": archiver.array([predicate, predicate]),
                        ])
                }
                let index = archiver.add(
                    ClassName("NSFetchIndexDescription"),
                    ["NSIndexName": archiver.string("i"), "NSPartialIndexPredicate": predicate])
                return [("A", entity(archiver, "A", ["NSFetchIndexDescriptions": archiver.array([index])]))]
            },
            "the index \"i\" of A: an archived predicate or expression exceeds the limit of 10000 parts; simplify it"
        )
    }

    func testPredicateCycleIsLimited() {
        XCTAssertEqual(
            message { archiver in
                let number = archiver.reserve()
                archiver.fill(
                    number, ClassName("NSCompoundPredicate", "NSPredicate"),
                    ["NSCompoundPredicateType": .integer(0), "NSSubpredicates": archiver.array([.uid(number)])])
                let rules = archiver.array([.uid(number)])
                let attribute = property(
                    archiver, "NSAttributeDescription", "a",
                    [
                        "NSAttributeType": .integer(700), "NSValidationPredicates": rules,
                        "NSValidationWarnings": archiver.array([archiver.string("w")]),
                    ])
                return [("A", entity(archiver, "A", ["NSProperties": archiver.dictionary([attribute])]))]
            },
            "a validation predicate of A.a: an archived predicate or expression is cyclic, or nested more than 700 "
                + "levels deep; simplify it")
    }

    /// A hundred entities that share a list of four thousand properties.
    func testSharedPropertiesAreLimited() {
        let message = message { archiver in
            let attribute = property(archiver, "NSAttributeDescription", "a", ["NSAttributeType": .integer(700)]).1
            let properties = archiver.dictionary((0..<4000).map { ("a\($0)", attribute) })
            return (0..<100).map { ("E\($0)", entity(archiver, "E\($0)", ["NSProperties": properties])) }
        }
        XCTAssertTrue(message.hasPrefix("cannot add E"), message)
        XCTAssertTrue(
            message.hasSuffix(": the model has 250000 properties, which is the limit; split the model"), message)
    }

    /// A thousand references to one stereotype with 1,001 values.
    func testSharedValuesOfAnEditorModelAreLimited() {
        let archiver = KeyedArchiver()
        let text = archiver.string("x")
        let values = archiver.dictionary((0..<1001).map { ("v\($0)", text) })
        let stereotype = archiver.add(ClassName("XDPMStereotype"), ["XDBucketForOwnedAttributesstorage": values])
        let stereotypes = archiver.dictionary((0..<1000).map { ("s\($0)", stereotype) })
        let entity = archiver.add(ClassName("XDPMEntity"), ["XDBucketForStereotypesstorage": stereotypes])
        let package = archiver.add(
            ClassName("XDPMPackage"), ["XDBucketForClassesstorage": archiver.dictionary([("A", entity)])])
        let root = archiver.add(ClassName("XDPMModel"), ["_xd_rootPackage": package])
        XCTAssertThrowsError(try Model(editorModel: archiver.encoded(root: root))) { error in
            let message = (error as? CoreError)?.message ?? ""
            XCTAssertTrue(
                message.contains(
                    "the model has more than 1000000 values and names, which is the limit; split the model"),
                message)
        }
    }

    func testDeflatedModelBeyondTheLimitIsRejected() throws {
        let bomb = try deflateRaw([UInt8](repeating: 0, count: 80 << 20))
        XCTAssertLessThan(bomb.count, 100_000)
        for read in [{ try Model(modelCache: bomb) }, { try Model(data: bomb) }] {
            XCTAssertThrowsError(try read()) {
                let message = ($0 as? CoreError)?.message ?? ""
                XCTAssertTrue(message.contains("would expand to more than \(Model.maximumFileSize) bytes"), message)
            }
        }
    }

    func testImpossibleCountsAreClamped() throws {
        let model = try read { archiver in
            let numbers: [(String, Int64, Int64)] = [
                ("negative", -5, -1), ("huge", 1, .max), ("least", .min, .min), ("plain", 2, 3),
            ]
            let properties = numbers.map { name, minimum, maximum in
                property(
                    archiver, "NSRelationshipDescription", name,
                    [
                        "NSMinCount": .integer(minimum), "NSMaxCount": .integer(maximum),
                        "_NSDestinationEntityName": archiver.string("A"), "NSDeleteRule": .integer(maximum),
                    ])
            }
            return [("A", entity(archiver, "A", ["NSProperties": archiver.dictionary(properties)]))]
        }
        try model.freeze()
        let counts = Dictionary(
            uniqueKeysWithValues: try model.requireEntity(named: "A").ownRelationships.map {
                ($0.name, [$0.minimumCount, $0.maximumCount])
            })
        XCTAssertEqual(counts["negative"], [0, .max], "without bound")
        XCTAssertEqual(counts["plain"], [2, 3])
        XCTAssertEqual(counts.count, 4)
    }

    func testFieldsOfWrongKindsNeverTrap() throws {
        // Each field in turn is a number, a text, a list, a reference to the root.
        let keys = [
            "NSProperties", "NSSuperentity", "NSUserInfo", "NSUniqueTuples", "NSFetchIndexDescriptions",
            "NSCompoundIndexes", "NSEntityName", "NSClassNameForEntity", "NSIsAbstract", "NSVersionHashModifier",
        ]
        let values: [PropertyListValue] = [
            .integer(7), .string("x"), .array([.integer(1)]), .uid(1), .uid(4_000_000_000), .data([1]), .real(.nan),
        ]
        for key in keys {
            for value in values {
                _ = try? read { archiver in
                    [("A", archiver.add(ClassName("NSEntityDescription"), [key: value]))]
                }.freeze()
            }
        }
    }
}
