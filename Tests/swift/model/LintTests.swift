import CorestonePredicate
import CorestoneValues
import XCTest

@testable import CorestoneModel

/// Each rule of the linter, with a model that breaks it and the place that the finding names.
final class LintTests: XCTestCase {
    private func places(_ model: Model, _ rule: LintRule, _ profile: LintProfile = .standard) -> [String] {
        model.lint(profile).filter { $0.rule == rule }
            .map { [$0.entity, $0.key].compactMap { $0 }.joined(separator: ".") }
    }

    /// A model without findings, and its two entities.
    private func sound() throws -> (Model, Entity, Entity) {
        let model = Model()
        let (a, b) = (try model.addEntity(named: "A"), try model.addEntity(named: "B"))
        try a.addAttribute(named: "name", type: .string)
        try b.addAttribute(named: "count", type: .integer32)
        let there = try a.addRelationship(named: "b", destination: b)
        let back = try b.addRelationship(named: "group", destination: a, isToMany: true)
        try there.setInverse(back)
        return (model, a, b)
    }

    func testSoundModelHasNoFindings() throws {
        let (model, _, _) = try sound()
        XCTAssertEqual(model.lint(), [])
        XCTAssertEqual(model.lint(.cloudKit), [])
        try model.freeze()
        XCTAssertEqual(model.lint(.cloudKit), [])
    }

    /// Identifiers of the previous version and dropped identifiers are findings. Those of the first version are not.
    func testRenamingIdentifiersOfThePreviousVersionAreFound() throws {
        func version(_ entity: (String, String?), _ property: (String, String?)) throws -> Model {
            let model = Model()
            let made = try model.addEntity(named: entity.0)
            try made.setRenamingIdentifier(entity.1)
            try made.addAttribute(named: property.0, type: .string).setRenamingIdentifier(property.1)
            return model
        }
        func places(_ model: Model, after former: Model...) -> [String] {
            model.lint(formerVersions: former).map {
                XCTAssertEqual($0.rule, .chainedRenaming)
                return [$0.entity, $0.key].compactMap { $0 }.joined(separator: ".") + ": " + $0.remedy
            }
        }
        let first = try version(("Note", nil), ("text", nil))
        let second = try version(("Note", nil), ("body", "text"))
        let renamed = try version(("Memo", "Note"), ("body", "text"))
        let set = "set the renaming identifier of "
        XCTAssertEqual(places(second, after: first), [])
        XCTAssertEqual(places(try version(("Note", nil), ("content", "text")), after: first, second), [])
        XCTAssertEqual(
            places(try version(("Note", nil), ("content", "body")), after: first, second),
            ["Note.content: \(set)Note.content to \"text\""])
        XCTAssertEqual(
            places(try version(("Note", nil), ("body", nil)), after: first, second),
            ["Note.body: \(set)Note.body to \"text\""])
        XCTAssertEqual(
            places(try version(("Page", "Memo"), ("body", "text")), after: first, second, renamed),
            ["Page: \(set)Page to \"Note\""])
        XCTAssertEqual(
            places(try version(("Memo", nil), ("body", "text")), after: first, renamed),
            ["Memo: \(set)Memo to \"Note\""])
        XCTAssertEqual(places(try version(("Page", nil), ("body", nil)), after: first, second, renamed), [])
    }

    func testNameProblemsAreFound() throws {
        let (model, a, b) = try sound()
        try a.addAttribute(named: "description", type: .string)
        try b.addAttribute(named: "isDeleted", type: .boolean)
        XCTAssertEqual(places(model, .reservedName), ["A.description", "B.isDeleted"])
        try a.addAttribute(named: "NAME", type: .string)
        XCTAssertEqual(places(model, .nameCollision), ["A.NAME"])
        let (one, two) = (try model.addEntity(named: "A1"), try model.addEntity(named: "A2"))
        for child in [one, two] {
            try child.setParent(a)
            try child.addAttribute(named: "size", type: .integer16)
        }
        XCTAssertEqual(places(model, .sharedColumnName), ["A2.size"])
    }

    func testRelationshipProblemsAreFound() throws {
        let (model, a, b) = try sound()
        try a.addRelationship(named: "alone", destination: b).setDeleteRule(.noAction)
        XCTAssertEqual(places(model, .noInverse), ["A.alone"])
        XCTAssertEqual(places(model, .noAction), ["A.alone"])
        for relationship in [a.ownRelationships[0], b.ownRelationships[0]] { try relationship.setDeleteRule(.cascade) }
        XCTAssertEqual(places(model, .cascadeBothWays), ["A.b"])
        a.ownRelationships[1].inverse = b.ownRelationships[0]
        XCTAssertEqual(places(model, .inverseMismatch), ["A.alone"])
        let c = try model.addEntity(named: "C")
        try a.addRelationship(named: "c", destination: c).setInverse(b.addRelationship(named: "as", destination: a))
        XCTAssertEqual(
            model.lint().filter { $0.rule == .inverseMismatch }.map(\.message),
            [
                "A.alone and its inverse, B.group, do not refer to each other",
                "A.c has the destination C, but its inverse B.as belongs to B",
                "B.as has the inverse A.c, whose destination is C instead of B",
            ])
        let empty = try model.addEntity(named: "Base")
        try empty.setAbstract(true)
        XCTAssertEqual(places(model, .abstractWithoutChildren), ["Base"])
    }

    func testAttributeProblemsAreFound() throws {
        let (model, a, b) = try sound()
        try a.addAttribute(named: "needed", type: .string, isOptional: false)
        XCTAssertEqual(places(model, .requiredWithoutDefault), ["A.needed"])
        let odd = try a.addAttribute(named: "odd", type: .string)
        try odd.setDerivation(Derivation(ExpressionText("FUNCTION(name, 'spell')")))
        let broken = try a.addAttribute(named: "broken", type: .string)
        try broken.setDerivation(Derivation(ExpressionText("((")))
        let typo = try a.addAttribute(named: "typo", type: .string)
        try typo.setDerivation(Derivation(ExpressionText("lowercase:(nam)")))
        XCTAssertEqual(places(model, .unsupportedDerivation), ["A.odd", "A.broken"])
        for (name, type, text) in [
            ("copy", AttributeType.integer32, "b.count"), ("upper", .string, "uppercase:(name)"),
            ("at", .date, "now()"),
        ] {
            try a.addAttribute(named: name, type: type).setDerivation(Derivation(ExpressionText(text)))
        }
        try b.addAttribute(named: "total", type: .integer64).setDerivation(
            Derivation(ExpressionText("group.@count")))
        XCTAssertEqual(places(model, .unsupportedDerivation), ["A.odd", "A.broken"])
        try b.addAttribute(named: "names", type: .string).setDerivation(Derivation(ExpressionText("group.name")))
        try b.addAttribute(named: "when", type: .string).setDerivation(Derivation(ExpressionText("now()")))
        XCTAssertEqual(places(model, .unsupportedDerivation), ["A.odd", "A.broken", "B.names", "B.when"])
        XCTAssertEqual(places(model, .unknownKey), ["A.typo"])
    }

    func testIndexAndConstraintProblemsAreFound() throws {
        let (model, a, _) = try sound()
        try a.addAttribute(named: "draft", type: .string, isTransient: true)
        try a.addIndex(FetchIndex(name: "i", elements: [.init(property: "draft"), .init(property: "nam")]))
        // Only a file can contain this index.
        try a.appendIndex(FetchIndex(name: "i", elements: [.init(property: "name")]))
        try a.addIndex(
            FetchIndex(name: "p", elements: [.init(property: "name")], partialPredicate: PredicateText("draft == 'x'")))
        try a.addUniqueConstraint(["draft", "nam"])
        XCTAssertEqual(places(model, .transientInIndex), ["A.draft"])
        XCTAssertEqual(places(model, .unknownInIndex), ["A.nam"])
        XCTAssertEqual(places(model, .repeatedIndex), ["A"])
        XCTAssertEqual(places(model, .transientInConstraint), ["A.draft"])
        XCTAssertEqual(places(model, .unknownInConstraint), ["A.nam"])
        XCTAssertEqual(places(model, .transientInPredicate), ["A"])
    }

    func testRTreesWithoutUseAreFound() throws {
        let (model, a, b) = try sound()
        try b.addAttribute(named: "open", type: .boolean)
        let (count, open) = (
            FetchIndex.Element(property: "count", collation: .rTree),
            FetchIndex.Element(property: "open", collation: .rTree)
        )
        try b.appendIndex(FetchIndex(name: "fine", elements: [count, open]))
        XCTAssertEqual(places(model, .unservedRTree), [])
        try a.appendIndex(FetchIndex(name: "text", elements: [.init(property: "name", collation: .rTree)]))
        try a.appendIndex(FetchIndex(name: "toOne", elements: [.init(property: "b", collation: .rTree)]))
        try b.appendIndex(FetchIndex(name: "large", elements: Array(repeating: count, count: 6)))
        try b.appendIndex(
            FetchIndex(
                name: "sum",
                elements: [.init(expression: ExpressionText("count + 1"), named: "expression1", collation: .rTree)]))
        XCTAssertEqual(places(model, .unservedRTree), ["A.name", "A.b", "B.large", "B.sum"])
        try model.freeze()
        let built = try model.copy()
        try built.requireEntity(named: "A").addIndex(
            FetchIndex(name: "own", elements: [.init(property: "name", collation: .rTree)]))
        XCTAssertThrowsError(try built.freeze()) {
            XCTAssert("\($0)".contains("the R-tree index \"own\" of A contains A.name"), "\($0)")
        }
    }

    func testFetchRequestProblemsAreFound() throws {
        let (model, a, _) = try sound()
        func set(_ name: String, _ entity: String, _ predicate: String) throws {
            try model.setFetchRequestTemplate(
                FetchRequestTemplate(entityName: entity, predicate: PredicateText(predicate)), forName: name)
        }
        try set("fine", "A", "b.count > $LEAST AND name.length > 3 AND SELF != nil AND b.group.@count > 1")
        XCTAssertEqual(model.lint(), [])
        try set("unreadable", "A", "name ==")
        try set("typo", "A", "b.cuont > 3")
        try set("nowhere", "C", "name == 'x'")
        try model.setConfiguration(ModelConfiguration(name: "Some", entityNames: ["A", "C"]))
        try a.addFetchedProperty(
            named: "fetched",
            fetchRequest: FetchRequestTemplate(
                entityName: "B",
                predicate: PredicateText("SUBQUERY(group, $x, $x.nmae == $FETCH_SOURCE.name).@count > $N")))
        XCTAssertEqual(places(model, .unreadablePredicate), ["A"])
        XCTAssertEqual(places(model, .unknownKey), ["A.fetched", "A"])
        XCTAssertEqual(places(model, .unknownEntity), ["", ""])
        XCTAssertEqual(places(model, .unknownVariable), ["A.fetched"])
    }

    func testCloudKitProblemsAreFound() throws {
        let (model, a, b) = try sound()
        try a.addAttribute(named: "needed", type: .string, isOptional: false)
        try a.addAttribute(named: "untyped", type: .undefined)
        try b.ownRelationships[0].setOrdered(true)
        try b.ownRelationships[0].setDeleteRule(.deny)
        try a.ownRelationships[0].setOptional(false)
        try a.addUniqueConstraint(["name"])
        XCTAssertEqual(places(model, .cloudKitRequired, .cloudKit), ["A.needed"])
        XCTAssertEqual(places(model, .cloudKitType, .cloudKit), ["A.untyped"])
        XCTAssertEqual(places(model, .cloudKitOrdered, .cloudKit), ["B.group"])
        XCTAssertEqual(places(model, .cloudKitDeny, .cloudKit), ["B.group"])
        XCTAssertEqual(places(model, .cloudKitRelationship, .cloudKit), ["A.b"])
        XCTAssertEqual(places(model, .cloudKitUnique, .cloudKit), ["A"])
        XCTAssertEqual(places(model, .cloudKitUnique), [])
    }

    func testRulesHaveTheirSeverities() {
        let warnings: Set<LintRule> = [
            .reservedName, .nameCollision, .noInverse, .cascadeBothWays, .noAction, .repeatedIndex, .unservedRTree,
            .transientInPredicate, .abstractWithoutChildren, .chainedRenaming,
        ]
        let notes: Set<LintRule> = [.sharedColumnName, .requiredWithoutDefault]
        for rule in LintRule.allCases {
            let expected: LintFinding.Severity =
                warnings.contains(rule) ? .warning : notes.contains(rule) ? .note : .error
            XCTAssertEqual(rule.severity, expected, rule.rawValue)
        }
        XCTAssertEqual(LintRule.allCases.count, 29)
    }

    func testFindingNamesTheProblemAndTheRemedy() throws {
        let (model, a, _) = try sound()
        try a.addAttribute(named: "needed", type: .string, isOptional: false)
        XCTAssertEqual(
            model.lint(),
            [
                LintFinding(
                    rule: .requiredWithoutDefault, severity: .note, entity: "A", key: "needed",
                    message: "A.needed is required but does not have a default value",
                    remedy:
                        "set a default value, or make it optional: a migration needs a value for existing rows")
            ])
    }

    func testRequiredAttributesWithAValueAreAccepted() throws {
        let (model, a, _) = try sound()
        try a.addAttribute(named: "given", type: .string, isOptional: false).setDefaultValue(.string("x"))
        try a.addAttribute(named: "passing", type: .string, isOptional: false, isTransient: true)
        try a.addAttribute(named: "derived", type: .string, isOptional: false).setDerivation(
            Derivation(ExpressionText("uppercase:(name)")))
        XCTAssertEqual(model.lint(.cloudKit), [])
    }

    func testUnsupportedDerivationsAreFound() throws {
        for (type, text, isComputed) in [
            (AttributeType.date, "now()", true), (.string, "now()", false), (.integer16, "group.@count", true),
            (.decimal, "group.@count", true), (.string, "group.@count", false), (.double, "group.weight.@sum", true),
            (.boolean, "group.weight.@sum", false), (.double, "group.weight.@avg", false),
            (.string, "lowercase:(word)", true), (.string, "canonical:(word)", true),
            (.string, "uppercase:(word)", true),
            (.integer16, "lowercase:(word)", false), (.string, "lowercase:(one.word)", false),
            (.string, "one.word", true),
            (.string, "one.one.word", false), (.string, "group.word", false), (.string, "word", true),
            (.double, "sum:(weight)", false), (.double, "one.weight.@sum", false), (.double, "weight + 1", false),
            (.integer16, "one.group.@count", false), (.string, "items.@sum.weight", false),
        ] {
            let model = Model()
            let entity = try model.addEntity(named: "B")
            try entity.addAttribute(named: "word", type: .string)
            try entity.addAttribute(named: "weight", type: .double)
            try entity.addRelationship(named: "one", destination: entity)
            try entity.addRelationship(named: "group", destination: entity, isToMany: true)
            let attribute = try entity.addAttribute(named: "derived", type: type)
            try attribute.setDerivation(Derivation(ExpressionText(text)))
            XCTAssertEqual(
                places(model, .unsupportedDerivation), isComputed ? [] : ["B.derived"], "\(type) \(text)")
            if isComputed {
                try attribute.setDerivation(Derivation(ExpressionText(text), filter: PredicateText("weight > 1")))
                XCTAssertEqual(places(model, .unsupportedDerivation), ["B.derived"], "with a filter: \(text)")
            }
        }
    }

    func testCascadeOfASelfInverseRelationshipIsFound() throws {
        let (model, a, _) = try sound()
        let friends = try a.addRelationship(named: "friends", destination: a, isToMany: true)
        try friends.setInverse(friends)
        XCTAssertEqual(model.lint(), [])
        try friends.setDeleteRule(.cascade)
        XCTAssertEqual(places(model, .cascadeBothWays), ["A.friends"])
        try a.ownRelationships[0].setDeleteRule(.cascade)
        XCTAssertEqual(places(model, .cascadeBothWays), ["A.friends"], "a cascade of one side is accepted")
    }

    func testUnknownKeyPathsOfFetchRequestsAreFound() throws {
        let (model, a, _) = try sound()
        try a.addAttribute(named: "passing", type: .string, isTransient: true)
        var request = FetchRequestTemplate(entityName: "A", predicate: PredicateText("passing == 'x'"))
        request.sortDescriptors = [SortDescriptor("nmae"), SortDescriptor("objectID"), SortDescriptor("self")]
        request.relationshipKeyPathsForPrefetching = ["b", "c"]
        try model.setFetchRequestTemplate(request, forName: "t")
        XCTAssertEqual(
            model.lint().map(\.message),
            [
                "the fetch request template \"t\" uses A.passing, which is transient and not stored",
                "the fetch request template \"t\" uses the key path \"nmae\" with the unknown property \"nmae\"",
                "the fetch request template \"t\" uses the key path \"c\" with the unknown property \"c\"",
            ])
        XCTAssertEqual(model.lint().map(\.entity), ["A", "A", "A"])
    }

    func testInvalidConditionsOfRelationshipsAreFound() throws {
        let (model, a, b) = try sound()
        try a.ownRelationships[0].addValidation(PredicateText("cuont > 1"), warning: "w")
        try b.ownRelationships[0].addValidation(PredicateText("@count > 1 AND nmae != 'x'"), warning: "w")
        try b.ownRelationships[0].addValidation(PredicateText("(("), warning: "w")
        try a.ownAttributes[0].addValidation(PredicateText("(("), warning: "w")
        XCTAssertEqual(places(model, .unknownKey), ["A.b", "B.group"])
        XCTAssertEqual(places(model, .unreadablePredicate), ["A.name", "B.group"])
    }

    func testColumnNameCollisionsAreFound() throws {
        let (model, a, b) = try sound()
        let children = try ["A1", "A2"].map { try model.addEntity(named: $0) }
        for child in children { try child.setParent(a) }
        try children[0].addAttribute(named: "size", type: .integer16, isTransient: true)
        try children[1].addAttribute(named: "size", type: .integer16)
        try b.addAttribute(named: "NAME", type: .string)
        XCTAssertEqual(model.lint(), [], "transient attributes have no column, and other tables do not collide")
        try children[0].addAttribute(named: "Size", type: .integer16)
        XCTAssertEqual(places(model, .nameCollision), ["A2.size"])
        try children[0].addRelationship(named: "SIZE", destination: b)
        XCTAssertEqual(places(model, .nameCollision), ["A1.SIZE", "A2.size"])
    }

    func testIndexesOverCompositeElementsAreChecked() throws {
        let (model, a, _) = try sound()
        let place = try a.addAttribute(named: "place", type: .composite)
        try place.addElement(named: "x", type: .double)
        try a.appendIndex(FetchIndex(name: "i", elements: [.init(property: "place.x", collation: .rTree)]))
        try a.addUniqueConstraint(["place.x"])
        XCTAssertEqual(model.lint(), [])
        try a.appendIndex(
            FetchIndex(
                name: "e", elements: [.init(expression: ExpressionText("lowercase:(nmae)"), named: "expression1")]))
        try a.appendIndex(
            FetchIndex(name: "u", elements: [.init(expression: ExpressionText("(("), named: "expression1")]))
        XCTAssertEqual(places(model, .unknownKey), ["A"])
        XCTAssertEqual(places(model, .unreadablePredicate), ["A"])
    }

    func testCloudKitRulesApplyToItsConfigurations() throws {
        let (model, a, _) = try sound()
        try a.addUniqueConstraint(["name"])
        try model.setConfiguration(ModelConfiguration(name: "Local", entityNames: ["A"]))
        try model.setConfiguration(ModelConfiguration(name: "Cloud", entityNames: ["B"], isUsedWithCloudKit: true))
        XCTAssertEqual(places(model, .cloudKitUnique, .cloudKit), [])
        XCTAssertEqual(places(model, .cloudKitConfiguration, .cloudKit), ["B.group"])
        try model.setConfiguration(
            ModelConfiguration(name: "Cloud", entityNames: ["A", "B"], isUsedWithCloudKit: true))
        XCTAssertEqual(places(model, .cloudKitConfiguration, .cloudKit), [])
        XCTAssertEqual(places(model, .cloudKitUnique, .cloudKit), ["A"])
    }

    func testCloudKitRulesApplyToCompositeElements() throws {
        let (model, a, _) = try sound()
        let place = try a.addAttribute(named: "place", type: .composite, isOptional: false)
        try place.addElement(named: "latitude", type: .double, isOptional: false)
        try place.addElement(named: "longitude", type: .double)
        XCTAssertEqual(places(model, .cloudKitRequired, .cloudKit), ["A.place.latitude"])
    }

    func testCloudKitRulesIgnoreTransientProperties() throws {
        let (model, a, b) = try sound()
        try a.addAttribute(named: "untyped", type: .undefined, isTransient: true)
        let passing = try a.addRelationship(named: "passing", destination: b, isOptional: false)
        try passing.setTransient(true)
        for rule in [LintRule.cloudKitType, .cloudKitRelationship] {
            XCTAssertEqual(places(model, rule, .cloudKit), [], rule.rawValue)
        }
        try a.addRelationship(named: "alone", destination: b).setDeleteRule(.cascade)
        XCTAssertEqual(places(model, .cloudKitRelationship, .cloudKit), ["A.alone"])
        XCTAssertEqual(places(model, .cloudKitDeny, .cloudKit), [])
        XCTAssertEqual(LintProfile.allCases.map(\.rawValue), ["standard", "cloudkit"])
    }

    func testLintIsDeterministicForAllFixtures() throws {
        var count = 0
        let folder = try Fixtures.folder().appendingPathComponent("source-models")
        for case let file as URL in FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
            ?? .init()
        where file.lastPathComponent == "contents" {
            let model = try Model(contentsOf: file.path)
            XCTAssertEqual(model.lint(.cloudKit), model.lint(.cloudKit))
            XCTAssertEqual(model.changes(to: try model.copy()), [], file.path)
            count += 1
        }
        print("models linted, and equal to their copies: \(count)")
        XCTAssertGreaterThan(count, 100)
    }
}
