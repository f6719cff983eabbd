import CorestoneFormats
@testable import CorestoneModel
import CorestonePredicate
import CorestoneValues
import XCTest

/// Compiled models and editor archives of other programs: missing fields have defaults, and older forms are read.
final class ForeignArchiveTests: XCTestCase {
    private typealias Fields = [String: PropertyListValue]

    /// A compiled model of entities by name, each with its fields.
    private func compiled(
        _ more: (KeyedArchiver, [String: PropertyListValue]) -> Fields = { _, _ in [:] },
        _ entities: (KeyedArchiver) -> [(String, Fields)]
    ) throws -> Model {
        let archiver = KeyedArchiver()
        let list = entities(archiver).map { name, fields in
            (
                name,
                archiver.add(
                    KeyedArchiver.ClassName("NSEntityDescription"),
                    fields.merging(["NSEntityName": archiver.string(name)]) { old, _ in old })
            )
        }
        let byName = Dictionary(uniqueKeysWithValues: list)
        let fields = more(archiver, byName).merging(["NSEntities": archiver.dictionary(list)]) { old, _ in old }
        let root = archiver.add(KeyedArchiver.ClassName("NSManagedObjectModel"), fields)
        return try Model(compiledModel: archiver.encoded(root: root))
    }

    private func property(_ archiver: KeyedArchiver, _ name: String, _ fields: Fields) -> PropertyListValue {
        archiver.add(KeyedArchiver.ClassName(name, "NSPropertyDescription"), fields)
    }

    private func message(_ body: () throws -> Void) -> String? {
        do { try body() } catch { return (error as? CoreError)?.message }
        return nil
    }

    // MARK: - Compiled models

    func testMissingFieldsOfACompiledModelHaveDefaults() throws {
        let model = try compiled { archiver in
            [
                (
                    "E",
                    [
                        "NSProperties": archiver.dictionary([
                            ("a", self.property(archiver, "NSAttributeDescription", [:])),
                            (
                                "r",
                                self.property(
                                    archiver, "NSRelationshipDescription",
                                    ["_NSDestinationEntityName": archiver.string("E")])
                            ), ("f", self.property(archiver, "NSFetchedPropertyDescription", [:])),
                            ("x", self.property(archiver, "NSPropertyDescription", [:])),
                        ])
                    ]
                )
            ]
        }
        let entity = model.entities[0]
        XCTAssertEqual([entity.ownAttributes.map(\.name), entity.ownRelationships.map(\.name)], [["a"], ["r"]])
        let (attribute, relationship) = (entity.ownAttributes[0], entity.ownRelationships[0])
        XCTAssertEqual(attribute.type, .undefined)
        XCTAssertEqual(
            [attribute.isOptional, attribute.isTransient, attribute.isIndexedBySpotlight], [false, false, false])
        XCTAssertEqual([attribute.allowsExternalStorage, attribute.preservesValueInHistory], [false, false])
        XCTAssertEqual([relationship.minimumCount, relationship.maximumCount], [0, 0])
        XCTAssertEqual(relationship.deleteRule, .nullify)
        XCTAssertFalse(relationship.isOrdered)
        XCTAssertEqual(entity.ownFetchedProperties.map(\.fetchRequest), [FetchRequestTemplate(entityName: "")])
        XCTAssertFalse(entity.isAbstract)
        XCTAssertEqual(entity.className, "NSManagedObject")
        XCTAssertEqual(entity.indexes.count, 0)
    }

    func testAttributeFlagsAreRead() throws {
        for (flags, external, history) in [
            (0, false, false), (4, true, false), (16, false, true), (20, true, true), (11, false, false),
        ]
            as [(Int64, Bool, Bool)]
        {
            let model = try compiled { archiver in
                [
                    (
                        "E",
                        [
                            "NSProperties": archiver.dictionary([
                                (
                                    "a",
                                    self.property(
                                        archiver, "NSAttributeDescription",
                                        ["NSAttributeType": .integer(1000), "NSFlagsKey": .integer(flags)])
                                )
                            ])
                        ]
                    )
                ]
            }
            let attribute = model.entities[0].ownAttributes[0]
            XCTAssertEqual([attribute.allowsExternalStorage, attribute.preservesValueInHistory], [external, history])
        }
    }

    func testRelationshipCountsAndDeleteRulesAreRead() throws {
        for (minimum, maximum, rule, expected, deleteRule) in [
            (0, -1, 1, [0, .max], .nullify), (-5, 1, 2, [0, 1], .cascade), (2, 9, 3, [2, 9], .deny),
            (0, 0, 0, [0, 0], .noAction), (0, 1, 4, [0, 1], .nullify), (0, 1, -1, [0, 1], .nullify),
        ] as [(Int64, Int64, Int64, [UInt32], DeleteRule)] {
            let model = try compiled { archiver in
                let fields: Fields = [
                    "_NSDestinationEntityName": archiver.string("E"), "NSMinCount": .integer(minimum),
                    "NSMaxCount": .integer(maximum), "NSDeleteRule": .integer(rule), "NSIsOrdered": .bool(true),
                ]
                return [
                    (
                        "E",
                        [
                            "NSProperties": archiver.dictionary([
                                ("r", self.property(archiver, "NSRelationshipDescription", fields))
                            ])
                        ]
                    )
                ]
            }
            let relationship = model.entities[0].ownRelationships[0]
            XCTAssertEqual([relationship.minimumCount, relationship.maximumCount], expected)
            XCTAssertEqual(relationship.deleteRule, deleteRule, "\(rule)")
            XCTAssertEqual(relationship.isOrdered, maximum != 1, "only a to-many relationship is ordered")
        }
    }

    func testUnsuitableDefaultValueIsDropped() throws {
        let model = try compiled { archiver in
            let fields: [Fields] = [
                ["NSAttributeType": .integer(100), "NSDefaultValue": archiver.add(.integer(70_000))],
                ["NSAttributeType": .integer(100), "NSDefaultValue": archiver.add(.real(3))],
                ["NSAttributeType": .integer(800), "NSDefaultValue": archiver.add(.integer(1))],
                ["NSAttributeType": .integer(700), "NSDefaultValue": archiver.add(.integer(1))],
                ["NSAttributeType": .integer(1200), "NSDefaultValue": archiver.string("a:b")],
            ]
            return [
                (
                    "E",
                    [
                        "NSProperties": archiver.dictionary(
                            fields.enumerated().map {
                                ("a\($0)", self.property(archiver, "NSAttributeDescription", $1))
                            })
                    ]
                )
            ]
        }
        XCTAssertEqual(
            model.entities[0].ownAttributes.map(\.defaultValue),
            [.null, .int(3), .bool(true), .null, .uri(Text("a:b"))])
    }

    func testDefaultClassOfATypeIsNotAValueClass() throws {
        let model = try compiled { archiver in
            let classes: [(Int64, String)] = [(700, "NSString"), (700, "Name"), (800, "NSNumber"), (1800, "NSColor")]
            return [
                (
                    "E",
                    [
                        "NSProperties": archiver.dictionary(
                            classes.enumerated().map { place, each in
                                (
                                    "a\(place)",
                                    self.property(
                                        archiver, "NSAttributeDescription",
                                        [
                                            "NSAttributeType": .integer(each.0),
                                            "NSAttributeValueClassName": archiver.string(each.1),
                                        ])
                                )
                            })
                    ]
                )
            ]
        }
        XCTAssertEqual(model.entities[0].ownAttributes.map(\.valueClassName), [nil, "Name", nil, "NSColor"])
    }

    func testUnknownAttributeTypeIsRejected() {
        for code in [1, 2200, -1, 1 << 40] as [Int64] {
            XCTAssertEqual(
                message {
                    _ = try compiled { archiver in
                        [
                            (
                                "E",
                                [
                                    "NSProperties": archiver.dictionary([
                                        (
                                            "a",
                                            self.property(
                                                archiver, "NSAttributeDescription", ["NSAttributeType": .integer(code)])
                                        )
                                    ])
                                ]
                            )
                        ]
                    }
                }, "E.a has the unknown attribute type \(code); set another type, and compile the model again")
        }
    }

    func testMissingReferencesAreRejected() {
        XCTAssertEqual(
            message {
                _ = try compiled { archiver in
                    [
                        (
                            "E",
                            [
                                "NSProperties": archiver.dictionary([
                                    ("r", self.property(archiver, "NSRelationshipDescription", [:]))
                                ])
                            ]
                        )
                    ]
                }
            }, "E.r does not have a destination; set one, and compile the model again")
        XCTAssertEqual(
            message {
                _ = try compiled { archiver in
                    let gone = archiver.add(
                        KeyedArchiver.ClassName("NSEntityDescription"), ["NSEntityName": archiver.string("Gone")])
                    return [("E", ["NSSuperentity": gone])]
                }
            },
            "E inherits from \"Gone\", which is not an entity of the model; add the entity, and compile the model again"
        )
        XCTAssertEqual(
            message { _ = try Model(compiledModel: try encodeArchive(.int(1))) },
            "the keyed archive does not contain a managed object model; use a .mom file")
        XCTAssertEqual(
            message { _ = try Model(editorModel: try encodeArchive(.int(1))) },
            "the keyed archive does not contain a model of Xcode's editor; pass the contents of an elements file that "
                + "Xcode saved")
    }

    func testOlderIndexedFlagsBecomeFetchIndexes() throws {
        let model = try compiled { archiver in
            func attribute(_ isIndexed: Bool) -> PropertyListValue {
                self.property(
                    archiver, "NSAttributeDescription",
                    ["NSAttributeType": .integer(700), "NSIsIndexed": .bool(isIndexed)])
            }
            let (a, b, c) = (attribute(true), attribute(false), attribute(true))
            return [
                (
                    "E",
                    [
                        "NSProperties": archiver.dictionary([("a", a), ("b", b), ("c", c)]),
                        "NSCompoundIndexes": archiver.array([
                            archiver.array([archiver.string("b"), archiver.string("a")]),
                            archiver.array([archiver.string("self"), archiver.string("b")]),
                        ]),
                        "NSUniqueTuples": archiver.array([archiver.array([archiver.string("c"), archiver.string("b")])]
                        ),
                    ]
                )
            ]
        }
        XCTAssertEqual(
            model.entities[0].indexes.map(ModelSummary.index),
            [
                "a [\"a - binary true\"] where -", "c [\"c - binary true\"] where -",
                "b_a [\"b - binary true\", \"a - binary true\"] where -",
                "self_b [\"self self binary true\", \"b - binary true\"] where -",
            ])
        XCTAssertEqual(model.entities[0].uniqueConstraints, [["c", "b"]])
    }

    func testIndexElementIsBinaryAndAscendingByDefault() throws {
        let model = try compiled { archiver in
            func element(_ fields: Fields) -> PropertyListValue {
                archiver.add(
                    KeyedArchiver.ClassName("NSFetchIndexElementDescription"),
                    fields.merging(["NSPropertyName": archiver.string("a")]) { old, _ in old })
            }
            let index = archiver.add(
                KeyedArchiver.ClassName("NSFetchIndexDescription"),
                [
                    "NSIndexName": archiver.string("i"),
                    "NSIndexElements": archiver.array([
                        element([:]), element(["NSAscending": .bool(false)]),
                        element(["NSFetchIndexElementType": .integer(7), "NSAscending": .integer(1)]),
                    ]),
                ])
            let attribute = self.property(
                archiver, "NSAttributeDescription", ["NSAttributeType": .integer(700), "NSIsIndexed": .bool(true)])
            return [
                (
                    "E",
                    [
                        "NSProperties": archiver.dictionary([("a", attribute)]),
                        "NSFetchIndexDescriptions": archiver.array([index]),
                    ]
                )
            ]
        }
        XCTAssertEqual(
            model.entities[0].indexes.map(ModelSummary.index),
            ["i [\"a - binary true\", \"a - binary false\", \"a - binary true\"] where -"],
            "the indexed flags of attributes are ignored if there are fetch indexes")
    }

    func testPropertyProxiesAndInheritedPropertiesAreResolved() throws {
        let archiver = KeyedArchiver()
        func attribute(_ code: Int64) -> PropertyListValue {
            property(archiver, "NSAttributeDescription", ["NSAttributeType": .integer(code)])
        }
        let proxy = archiver.add(
            KeyedArchiver.ClassName("NSPropertyDescriptionProxy"), ["NSUnderlyingProperty": attribute(900)])
        let base = archiver.add(
            KeyedArchiver.ClassName("NSEntityDescription"),
            ["NSEntityName": archiver.string("Base"), "NSProperties": archiver.dictionary([("a", attribute(700))])])
        let child = archiver.add(
            KeyedArchiver.ClassName("NSEntityDescription"),
            [
                "NSEntityName": archiver.string("Child"), "NSSuperentity": base,
                "NSProperties": archiver.dictionary([("a", attribute(700)), ("b", proxy)]),
            ])
        let root = archiver.add(
            KeyedArchiver.ClassName("NSManagedObjectModel"),
            ["NSEntities": archiver.dictionary([("Child", child), ("Base", base)])])
        let model = try Model(compiledModel: archiver.encoded(root: root))
        XCTAssertEqual(model.entities.map(\.name), ["Base", "Child"], "in the order of names")
        XCTAssertEqual(model.entities.map { $0.ownAttributes.map(\.name) }, [["a"], ["b"]])
        XCTAssertEqual(model.entities[1].ownAttributes[0].type, .date)
    }

    // MARK: - Archives of the editor

    /// An object of the editor with the values of a stereotype.
    private func object(
        _ archiver: KeyedArchiver, _ className: String, _ values: [(String, PropertyListValue)], _ fields: Fields = [:]
    ) -> PropertyListValue {
        let attributes = values.map { name, value in
            (name, archiver.add(KeyedArchiver.ClassName("XDAttribute"), ["_default": value]))
        }
        let stereotype = archiver.add(
            KeyedArchiver.ClassName("XDStereotype"),
            ["XDBucketForOwnedAttributesstorage": archiver.dictionary(attributes)])
        return archiver.add(
            KeyedArchiver.ClassName(className),
            fields.merging(["XDBucketForStereotypesstorage": archiver.dictionary([("s", stereotype)])]) { old, _ in old
            })
    }

    func testEveryFieldOfAnEditorArchiveIsRead() throws {
        let archiver = KeyedArchiver()
        let (yes, no) = (archiver.add(.bool(true)), archiver.add(.bool(false)))
        func text(_ text: String) -> PropertyListValue { archiver.string(text) }
        func named(_ name: String) -> PropertyListValue {
            archiver.add(KeyedArchiver.ClassName("XDPMEntity"), ["_name": text(name)])
        }
        let attribute = object(
            archiver, "XDPMAttribute",
            [
                ("XD_PAttK_attributeType", archiver.add(.integer(700))), ("XD_PPSK_isOptional", yes),
                ("XD_PPSK_isTransient", yes), ("XD_PPSK_isIndexed", yes), ("XD_PPSK_isSpotlightIndexed", yes),
                ("XD_PPSK_isStoredInTruthFile", yes), ("XD_PPSK_elementID", text("former")),
                ("XD_PPSK_versionHashModifier", text("m")), ("XD_PAttK_defaultValueAsString", text("d")),
                ("XD_PAttK_minValueString", text("1")), ("XD_PAttK_maxValueString", text("9")),
                ("XD_PAttK_regularExpressionString", text("[d]+")), ("XD_PAttK_valueTransformerName", text("T")),
                ("XD_PAttK_allowsExternalBinaryDataStorage", yes),
                ("XD_PPSK_userInfo", archiver.dictionary([("k", text("v"))])),
            ])
        let relationship = object(
            archiver, "XDPMRelationship",
            [
                ("XD_PRK_destination", named("E")), ("XD_PRK_isToMany", yes), ("XD_PRK_ordered", yes),
                ("XD_PRK_minCount", archiver.add(.integer(2))), ("XD_PRK_maxCount", archiver.add(.integer(5))),
                ("XD_PRK_deleteRule", archiver.add(.integer(3))), ("XD_PPSK_isOptional", no),
            ])
        let request = archiver.add(
            KeyedArchiver.ClassName("XDPMFetchRequest"),
            ["_name": text("own"), "_entity": named("E"), "_predicateString": text("a == 'x'")])
        let fetched = object(archiver, "XDPMFetchedProperty", [("XD_PFP_fetchRequestKey", request)])
        func list(_ names: String...) -> PropertyListValue { archiver.array([archiver.array(names.map { text($0) })]) }
        let entity = object(
            archiver, "XDPMEntity",
            [
                ("XD_PSK_entityClassName", text("App.E")), ("XD_PSK_isAbstract", yes), ("XD_PSK_elementID", text("F")),
                ("XD_PSK_versionHashModifier", text("e")), ("XDPMUniquenessConstraints", list("a", "b")),
                ("XDPMCompoundIndexes", list("b", "a")),
                ("XD_PSK_userInfo", archiver.dictionary([("i", text("w"))])),
                ("XD_PSK_fetchRequestsArray", archiver.array([request])),
            ],
            [
                "XDBucketForGeneralizationsstorage": archiver.array([
                    archiver.add(KeyedArchiver.ClassName("XDGeneralization"), ["_general": named("Base")])
                ]),
                "XDBucketForOwnedAttributesstorage": archiver.dictionary([
                    ("a", attribute), ("b", object(archiver, "XDPMAttribute", [])), ("r", relationship), ("f", fetched),
                    ("odd", object(archiver, "XDOther", [])),
                ]),
            ])
        let package = archiver.add(
            KeyedArchiver.ClassName("XDPackage"),
            [
                "XDBucketForClassesstorage": archiver.dictionary([
                    ("E", entity), ("Base", object(archiver, "XDPMEntity", [], ["_isAbstract": .bool(true)])),
                    ("Odd", object(archiver, "XDOther", [])),
                ])
            ])
        let root = archiver.add(
            KeyedArchiver.ClassName("XDPMModel"),
            [
                "_modelVersionIdentifier": text("2"), "_xd_rootPackage": package,
                "_configurationsByName": archiver.dictionary([("C", archiver.array([named("E")]))]),
            ])
        let model = try Model(data: archiver.encoded(root: root))
        XCTAssertEqual(model.versionIdentifiers, ["2"])
        XCTAssertEqual(model.entities.map(\.name), ["E", "Base"])
        XCTAssertEqual(model.configurations, [ModelConfiguration(name: "C", entityNames: ["E"])])
        let read = try model.requireEntity(named: "E")
        XCTAssertEqual(read.parent?.name, "Base")
        XCTAssertEqual(model.entities.map(\.isAbstract), [true, true])
        XCTAssertEqual([read.className, read.renamingIdentifier, read.versionHashModifier], ["App.E", "F", "e"])
        XCTAssertEqual(read.userInfo, ["i": "w"])
        XCTAssertEqual(read.uniqueConstraints, [["a", "b"]])
        XCTAssertEqual(read.indexes.map(\.name), ["a", "b_a"])
        let (a, b) = (read.ownAttributes[0], read.ownAttributes[1])
        XCTAssertEqual([a.type, b.type], [.string, .undefined])
        XCTAssertEqual(
            [a.isOptional, a.isTransient, a.isIndexedBySpotlight, a.isStoredInExternalRecord], [true, true, true, true])
        XCTAssertEqual(
            [b.isOptional, b.isTransient, b.isIndexedBySpotlight, b.isStoredInExternalRecord],
            [false, false, false, false])
        XCTAssertEqual([a.allowsExternalStorage, b.allowsExternalStorage], [true, false])
        XCTAssertEqual([a.renamingIdentifier, a.versionHashModifier, a.valueTransformerName], ["former", "m", "T"])
        XCTAssertEqual(a.defaultValue, .string("d"))
        XCTAssertEqual(
            a.validationRules.map(\.predicate.text), ["length >= 1", "length <= 9", "SELF MATCHES \"[d]+\""])
        XCTAssertEqual(a.userInfo, ["k": "v"])
        let r = read.ownRelationships[0]
        XCTAssertEqual([r.isToMany, r.isOrdered, r.isOptional], [true, true, false])
        XCTAssertEqual([r.minimumCount, r.maximumCount], [2, 5])
        XCTAssertEqual(r.deleteRule, .deny)
        let f = read.ownFetchedProperties[0]
        XCTAssertEqual([f.isOptional, f.isTransient], [true, false])
        let expected = FetchRequestTemplate(entityName: "E", predicate: PredicateText("a == 'x'"))
        XCTAssertEqual(f.fetchRequest, expected)
        XCTAssertEqual(model.fetchRequestTemplates, ["own": expected])
    }
}
