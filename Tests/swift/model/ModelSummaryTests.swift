import CorestonePredicate
import CorestoneValues
import XCTest

@testable import CorestoneModel

/// Summaries of models as lists and dictionaries, without default values.
final class ModelSummaryTests: XCTestCase {
    private typealias Fields = [String: PropertyValue]

    private var models: [Model] = []

    private func entity() throws -> Entity {
        let model = Model()
        models.append(model)
        return try model.addEntity(named: "E")
    }

    private func json(_ value: PropertyValue) -> String { JSONText(value).text }

    func testSummariesOmitDefaults() throws {
        XCTAssertEqual(
            Model().summary,
            .dictionary([
                "entities": .array([]), "versionIdentifiers": .array([]), "fetchRequests": .dictionary([:]),
                "configurations": .array([]),
            ]))
        XCTAssertEqual(
            try entity().summary,
            .dictionary([
                "name": .string("E"), "parent": .null, "abstract": .bool(false), "attributes": .array([]),
                "relationships": .array([]), "fetchedProperties": .array([]), "indexes": .array([]),
                "uniqueConstraints": .array([]),
            ]))
    }

    func testModelSummaryHasEveryField() throws {
        let entity = try entity()
        let model = entity.model
        try model.addVersionIdentifier("2")
        try model.setLocalization("Ding", forKey: "Entity/E")
        try model.setConfiguration(ModelConfiguration(name: "C", entityNames: ["E"], isUsedWithCloudKit: true))
        try model.setFetchRequestTemplate(FetchRequestTemplate(entityName: "E"), forName: "all")
        var extras = SourceExtras()
        extras.attributes = ["novel": "1"]
        extras.elements = [SourceElement(name: "note", attributes: ["n": "2"], elements: [SourceElement(text: "t")])]
        try model.setExtras(extras)
        XCTAssertEqual(
            json(.dictionary(model.summary.fields.filter { $0.key != "entities" })),
            #"{"configurations": [{"entities": ["E"], "name": "C", "usedWithCloudKit": true}], "#
                + #""extras.attributes.novel": "1", "extras.elements": [{"attributes": {"n": "2"}, "#
                + #""elements": [{"place": 0, "text": "t"}], "name": "note", "place": 0}], "#
                + #""fetchRequests.all.entity": "E", "localization.Entity/E": "Ding", "versionIdentifiers": ["2"]}"#)
    }

    func testEntitySummaryHasEveryField() throws {
        let entity = try entity()
        try entity.setParent(try entity.model.addEntity(named: "Base"))
        try entity.setAbstract(true)
        try entity.setClassName("App.E")
        try entity.setRenamingIdentifier("Former")
        try entity.setVersionHashModifier("m")
        try entity.setUserInfo("v", forKey: "k")
        try entity.addUniqueConstraint(["a", "b"])
        let said = entity.summary.fields
        let expected: Fields = [
            "name": .string("E"), "parent": .string("Base"), "abstract": .bool(true), "className": .string("App.E"),
            "renamingIdentifier": .string("Former"), "versionHashModifier": .string("m"), "userInfo.k": .string("v"),
            "uniqueConstraints": .array([.array([.string("a"), .string("b")])]), "attributes": .array([]),
            "relationships": .array([]), "fetchedProperties": .array([]), "indexes": .array([]),
        ]
        XCTAssertEqual(said, expected)
    }

    func testAttributeSummaryHasEachFlag() throws {
        let plain: Fields = ["name": .string("a"), "optional": .bool(true), "type": .string("Binary Data")]
        let flags: [(String, PropertyValue, (Attribute) throws -> Void)] = [
            ("optional", .bool(false), { try $0.setOptional(false) }),
            ("transient", .bool(true), { try $0.setTransient(true) }),
            ("indexedBySpotlight", .bool(true), { try $0.setIndexedBySpotlight(true) }),
            ("storedInExternalRecord", .bool(true), { try $0.setStoredInExternalRecord(true) }),
            ("renamingIdentifier", .string("r"), { try $0.setRenamingIdentifier("r") }),
            ("versionHashModifier", .string("m"), { try $0.setVersionHashModifier("m") }),
            ("userInfo", .dictionary(["k": .string("v")]), { try $0.setUserInfo("v", forKey: "k") }),
            ("default", .bytes(Bytes([1])), { try $0.setDefaultValue(.bytes(Bytes([1]))) }),
            ("externalStorage", .bool(true), { try $0.setAllowsExternalStorage(true) }),
            ("preservedInHistory", .bool(true), { try $0.setPreservesValueInHistory(true) }),
            ("allowsNaN", .bool(true), { try $0.setAllowsNaN(true) }),
            ("ignoresChanges", .bool(true), { try $0.setIgnoresChanges(true) }),
            ("cloudEncryption", .bool(true), { try $0.setAllowsCloudEncryption(true) }),
            ("transformer", .string("T"), { try $0.setValueTransformerName("T") }),
            ("valueClass", .string("C"), { try $0.setValueClassName("C") }),
            ("composite", .string("Place"), { try $0.setCompositeName("Place") }),
            ("derivation", .string("b"), { try $0.setDerivation(Derivation(ExpressionText("b"))) }),
            (
                "validation", .array([.dictionary(["predicate": .string("SELF != 1"), "message": .string("w")])]),
                { try $0.addValidation(PredicateText("SELF != 1"), warning: "w") }
            ),
            (
                "validation", .array([.dictionary(["predicate": .string("SELF != 1"), "code": .int(1620)])]),
                { try $0.setValidationRules([ValidationRule(PredicateText("SELF != 1"), warning: .code(1620))]) }
            ),
        ]
        XCTAssertEqual(try entity().addAttribute(named: "a", type: .binary).summary, .dictionary(plain))
        for (name, value, set) in flags {
            let attribute = try entity().addAttribute(named: "a", type: .binary)
            try set(attribute)
            XCTAssertEqual(attribute.summary, .dictionary(plain.merging([name: value]) { _, new in new }), name)
        }
        let derived = try entity().addAttribute(named: "a", type: .binary)
        try derived.setDerivation(Derivation(ExpressionText("r.@count"), filter: PredicateText("x > 1")))
        XCTAssertEqual(derived.summary.fields["derivation"], .string("count:(r)"))
        XCTAssertEqual(derived.summary.fields["derivationFilter"], .string("x > 1"))
        let place = try entity().addAttribute(named: "a", type: .composite)
        try place.addElement(named: "x", type: .double)
        XCTAssertEqual(
            json(place.summary.fields["elements"] ?? .null), #"[{"name": "x", "optional": true, "type": "Double"}]"#)
    }

    func testRelationshipSummaryHasEveryField() throws {
        let entity = try entity()
        let one = try entity.addRelationship(named: "one", destination: entity)
        XCTAssertEqual(
            json(one.summary),
            #"{"deleteRule": "Nullify", "destination": "E", "inverse": null, "name": "one", "optional": true, "#
                + #""ordered": false, "toMany": false}"#)
        try one.setCounts(minimum: 1, maximum: 1)
        XCTAssertEqual(one.summary.fields["minimumCount"], .int(1))
        XCTAssertNil(one.summary.fields["maximumCount"], "the maximum of a to-one relationship is omitted")
        let many = try entity.addRelationship(
            named: "many", destination: entity, isToMany: true, isOptional: false, isOrdered: true)
        try many.setCounts(minimum: 2, maximum: 5)
        try many.setDeleteRule(.deny)
        try many.setInverse(one)
        XCTAssertEqual(
            json(many.summary),
            #"{"deleteRule": "Deny", "destination": "E", "inverse": "one", "maximumCount": 5, "minimumCount": 2, "#
                + #""name": "many", "optional": false, "ordered": true, "toMany": true}"#)
        for unbounded in [0, UInt32.max] {
            try many.setCounts(minimum: 0, maximum: unbounded)
            XCTAssertNil(many.summary.fields["maximumCount"])
            XCTAssertNil(many.summary.fields["minimumCount"])
        }
    }

    func testIndexAndRequestSummariesHaveEveryField() throws {
        let index = FetchIndex(
            name: "i",
            elements: [
                .init(property: "a", collation: .rTree), .init(property: "b", isAscending: false),
                .init(expression: ExpressionText("entity"), named: "expression3"),
                .init(expression: ExpressionText("x + 1"), named: "expression4", type: .integer32),
            ], partialPredicate: PredicateText("a > 1"))
        XCTAssertEqual(
            json(index.summary),
            #"{"elements": [{"ascending": true, "collation": "RTree", "property": "a"}, "#
                + #"{"ascending": false, "property": "b"}, {"ascending": true, "expression": "entity"}, "#
                + #"{"ascending": true, "expression": "x + 1", "expressionType": "Integer 32"}], "#
                + #""name": "i", "predicate": "a > 1"}"#)
        var request = FetchRequestTemplate(entityName: "E")
        XCTAssertEqual(json(request.summary), #"{"entity": "E"}"#)
        request.predicate = PredicateText("a > 1")
        request.sortDescriptors = [SortDescriptor("a"), SortDescriptor("b", ascending: false)]
        (request.limit, request.offset, request.batchSize, request.resultType) = (1, 2, 3, .count)
        (request.includesSubentities, request.includesPropertyValues) = (false, false)
        (request.returnsObjectsAsFaults, request.returnsDistinctResults) = (false, true)
        request.relationshipKeyPathsForPrefetching = ["r"]
        XCTAssertEqual(
            json(request.summary),
            #"{"batchSize": 3, "entity": "E", "includesPropertyValues": false, "includesSubentities": false, "#
                + #""limit": 1, "offset": 2, "predicate": "a > 1", "prefetch": ["r"], "resultType": 4, "#
                + #""returnsDistinctResults": true, "returnsObjectsAsFaults": false, "sort": ["a", "-b"]}"#)
    }

    // MARK: - Extrapolations

    func testExtrapolationsAreListed() throws {
        let entity = try entity()
        XCTAssertEqual(entity.model.extrapolations, [])
        try entity.addAttribute(named: "größe", type: .string)
        try entity.addAttribute(named: "zähler", type: .string, isTransient: true)
        try entity.addAttribute(named: "place", type: .composite)
        let file = try entity.addAttribute(named: "file", type: .binary)
        try file.setAllowsExternalStorage(true)
        try file.setPreservesValueInHistory(true)
        try entity.addAttribute(named: "secret", type: .string).setAllowsCloudEncryption(true)
        try entity.addAttribute(named: "record", type: .string).setStoredInExternalRecord(true)
        for (name, text, filter) in [
            ("count", "r.@count", nil), ("path", "r.a", nil), ("long", "r.a.b", nil), ("sum", "r.a.@sum", nil),
            ("filtered", "r.@count", "a > 1"),
        ] as [(String, String, String?)] {
            try entity.addAttribute(named: name, type: .integer32).setDerivation(
                Derivation(ExpressionText(text), filter: filter.map { PredicateText($0) }))
        }
        try entity.addRelationship(named: "ähnlich", destination: entity)
        try entity.addIndex(FetchIndex(name: "box", elements: [.init(property: "count", collation: .rTree)]))
        try entity.addAttribute(named: "ruled", type: .string).addValidation(
            PredicateText("TERNARY(SELF == 'a', 1, 0) == CAST(SELF, 'NSNumber')"), warning: "w")
        var request = FetchRequestTemplate(
            entityName: "E", predicate: PredicateText("SUBQUERY(r, $x, $x.a == 1).@count > 0"))
        request.includesSubentities = false
        try entity.addFetchedProperty(named: "f", fetchRequest: request)
        let flags = "the compiled form of its options is not confirmed, so Apple's framework uses the defaults"
        let named = "the version hash and the column name of a property with a non-ASCII name are not confirmed"
        let texts = entity.model.extrapolations.map { "\($0.property ?? "-"): \($0.text)" }
        XCTAssertEqual(
            texts,
            [
                "größe: \(named)",
                "place: the version hash and the column names of a composite attribute are not confirmed",
                "file: the version hash of an attribute with external storage and history preservation is not confirmed",
                "secret: the version hash and the compiled form of an attribute with cloud encryption are not confirmed",
                "record: the compiled form of an attribute in an external record is not confirmed",
                "long: the version hash and the triggers of the derivation \"r.a.b\" are not confirmed",
                "sum: the version hash and the triggers of the derivation \"sum:(r.a)\" are not confirmed",
                "filtered: the version hash and the triggers of the derivation \"count:(r)\" are not confirmed",
                "ähnlich: \(named)",
                "-: the R-tree index \"box\" is not confirmed by a store of Apple's framework",
                "ruled: a validation predicate: the compiled form of CAST, TERNARY is not confirmed",
                "f: its fetch request: the compiled form of SUBQUERY is not confirmed",
                "f: its fetch request: " + flags,
            ])
        XCTAssertEqual(Set(entity.model.extrapolations.map(\.entity)), ["E"])
        let other = try self.entity()
        try other.model.setFetchRequestTemplate(request, forName: "t")
        XCTAssertEqual(
            other.model.extrapolations.map(\.text),
            [
                "the fetch request template \"t\": the compiled form of SUBQUERY is not confirmed",
                "the fetch request template \"t\": " + flags,
            ])
    }
}
