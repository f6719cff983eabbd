import CorestoneValues
import XCTest

@testable import CorestoneModel

/// Findings of the migration guard for steps between versions of a model.
final class MigrationGuardTests: XCTestCase {
    /// Entities by name, each with its properties as `Model(text:)` reads them; "name<former" has a renaming identifier.
    private func model(_ entities: [String: [String: String]]) throws -> Model {
        let model = Model()
        var lines: [String] = []
        var identifiers: [(String, String?, String)] = []
        func split(_ name: String) -> (String, String?) {
            let parts = name.split(separator: "<").map(String.init)
            return (parts[0], parts.count > 1 ? parts[1] : nil)
        }
        for (name, properties) in entities.sorted(by: { $0.key < $1.key }) {
            let (entity, former) = split(name)
            if let former { identifiers.append((entity, nil, former)) }
            let texts = properties.sorted { $0.key < $1.key }.map { name, line in
                let (property, former) = split(name)
                if let former { identifiers.append((entity, property, former)) }
                return "\"\(property)\": \"\(line)\""
            }
            lines.append("\"\(entity)\": {\(texts.joined(separator: ", "))}")
        }
        try model.add(text: "{\(lines.joined(separator: ", "))}")
        for (entity, property, identifier) in identifiers {
            let entity = try model.requireEntity(named: entity)
            if let property {
                try XCTUnwrap(entity.ownProperty(named: property)).setRenamingIdentifier(identifier)
            } else {
                try entity.setRenamingIdentifier(identifier)
            }
        }
        return model
    }

    /// The findings of the steps from `older` to `newest`: "rule Entity.key: versions".
    private func findings(
        _ older: Model..., to newest: Model, notes: Bool = false, _ change: (inout MigrationGuard) -> Void = { _ in }
    ) throws -> [String] {
        let versions = older.enumerated().map { MigrationGuard.Version(name: "\($0.offset + 1)", model: $0.element) }
        var check = MigrationGuard(newest: .init(name: "new", model: newest), older: versions)
        change(&check)
        return try check.findings().filter { notes || $0.severity != .note }.map {
            "\($0.rule.rawValue) " + [$0.entity, $0.key].compactMap { $0 }.joined(separator: ".") + ": "
                + $0.versions.joined(separator: " ")
        }
    }

    func testSoundMigrationStepsHaveNoFindings() throws {
        let first = try model(["Note": ["title": "string?", "rank": "int16 = 0"]])
        let second = try model(["Note": ["headline<title": "string?", "rank": "int16 = 0", "done": "bool = false"]])
        let third = try model([
            "Memo<Note": ["caption<title": "string?", "rank": "int16 = 0", "done": "bool = false"],
            "Tag": ["name": "string"],
        ])
        XCTAssertEqual(try findings(first, second, to: third), [])
        XCTAssertEqual(try findings(first, to: first.copy()), [])
    }

    func testChangesThatCannotBeInferredAreFound() throws {
        let old = try model(["Note": ["size": "int16", "tags": "to-many Tag"], "Tag": ["name": "string?"]])
        let new = try model(["Note": ["size": "int64", "tags": "to-one Tag?"], "Tag": ["name": "string?"]])
        XCTAssertEqual(
            try findings(old, old.copy(), to: new).sorted(),
            ["not-inferable Note.tags: 1 2", "type-change Note.size: 1 2"])
        XCTAssertEqual(
            try findings(old, to: new) { $0.typeChanges = .exact }.sorted(), ["not-inferable Note.tags: 1"])
        let ambiguous = try model([
            "Note": ["size": "int16", "extent<size": "int16", "tags": "to-many Tag"], "Tag": ["name": "string?"],
        ])
        XCTAssertEqual(try findings(old, to: ambiguous).map { $0.prefix(20) }, ["ambiguous-identifier"])
    }

    func testRenamedPropertiesWithoutIdentifierAreFound() throws {
        func step(_ old: String, _ new: String, _ type: String = "string?") throws -> [String] {
            try findings(
                model(["Note": [old: type, "kept": "int16?"]]), to: model(["Note": [new: type, "kept": "int16?"]]))
        }
        for (old, new) in [
            ("title", "headline"), ("createdAt", "creationDate"), ("colour", "color"), ("created_on", "createdOn"),
            ("title", "noteTitle"), ("tag", "tags"),
        ] {
            XCTAssertEqual(try step(old, new), ["missing-identifier Note.\(new): 1"], old)
        }
        for (old, new) in [
            ("fax", "email"), ("startDate", "endDate"), ("firstName", "lastName"), ("line1", "line2"),
            ("latitude", "altitude"), ("minimum", "maximum"), ("name", "parentName"),
        ] {
            XCTAssertEqual(try step(old, new), ["removed-property Note.\(old): 1"], old)
        }
        // An attribute of another type is not a rename.
        XCTAssertEqual(
            try findings(model(["Note": ["title": "string?"]]), to: model(["Note": ["headline": "date?"]])),
            ["removed-property Note.title: 1"])
    }

    func testRenamedRelationshipsAreFoundByTheirInverses() throws {
        let old = try model([
            "Note": ["box": "to-one Box? inverse content"], "Box": ["content": "to-many Note inverse box"],
        ])
        let new = try model([
            "Note": ["place": "to-one Box? inverse content"], "Box": ["content": "to-many Note inverse place"],
        ])
        XCTAssertEqual(try findings(old, to: new), ["missing-identifier Note.place: 1"])
    }

    func testPropertiesThatExistedTogetherAreNotRenames() throws {
        let first = try model(["Note": ["name": "string?"]])
        let both = try model(["Note": ["name": "string?", "fullName": "string?"]])
        let last = try model(["Note": ["fullName": "string?"]])
        XCTAssertEqual(try findings(first, to: last), ["missing-identifier Note.fullName: 1"])
        XCTAssertEqual(try findings(first, both, to: last), ["removed-property Note.name: 2"])
        let neither = try model(["Note": ["rank": "int16?"]])
        XCTAssertEqual(try findings(first, neither, to: last), ["removed-property Note.rank: 2"])
    }

    func testRenamedEntitiesWithoutIdentifierAreFound() throws {
        let old = try model(["Loan": ["since": "date?", "days": "int32?"]])
        XCTAssertEqual(
            try findings(old, to: model(["Lending": ["since": "date?", "days": "int32?"]])),
            ["missing-identifier Lending: 1"])
        XCTAssertEqual(
            try findings(old, to: model(["Person": ["name": "string?", "age": "int32?"]])), ["removed-entity Loan: 1"])
    }

    func testWrongRenamingIdentifiersAreFound() throws {
        let first = try model(["Note": ["a": "string?"]])
        let second = try model(["Note": ["b<a": "string?"]])
        XCTAssertEqual(
            try findings(first, second, to: model(["Note": ["c<b": "string?"]])), ["chained-identifier Note.c: 2"])
        XCTAssertEqual(try findings(second, to: model(["Note": ["b": "string?"]])), ["changed-identifier Note.b: 1"])
        XCTAssertEqual(
            try findings(first, to: model(["Note": ["text<aa": "string?"]])), ["unknown-identifier Note.text: 1"])
        // An identifier that only a version without stores has.
        let check = MigrationGuard(
            newest: .init(name: "new", model: try model(["Note": ["c<b": "string?"]])),
            older: [.init(name: "1", model: first)], related: [second])
        XCTAssertEqual(try check.findings().map(\.rule.rawValue), ["chained-identifier"])
        // The name of an added property is not a finding for an earlier version.
        let third = try model(["Note": ["a": "string?", "d": "date?"]])
        XCTAssertEqual(try findings(first, third, to: model(["Note": ["a": "string?", "e<d": "date?"]])), [])
    }

    func testSwappedNamesAreFoundIfTypesAreEqual() throws {
        let old = try model(["Note": ["x": "string?", "y": "date?", "a": "int16?", "b": "int16?"]])
        XCTAssertEqual(
            try findings(
                old, to: model(["Note": ["x<y": "date?", "y<x": "string?", "a": "int16?", "b": "int16?"]])), [])
        // With equal types the version hash is unchanged, so the store is not migrated.
        XCTAssertEqual(
            try findings(
                old, to: model(["Note": ["x": "string?", "y": "date?", "a<b": "int16?", "b<a": "int16?"]])
            ).sorted(), ["unapplied-rename Note.a: 1", "unapplied-rename Note.b: 1"])
    }

    func testRequiredPropertiesWithoutDefaultAreFound() throws {
        let old = try model(["Note": ["text": "string?", "rank": "int16?"]])
        XCTAssertEqual(
            try findings(
                old,
                to: model(["Note": ["text": "string", "rank": "int16 = 1", "code": "uuid"], "Tag": ["n": "string"]])
            ).sorted(), ["required-without-default Note.code: 1", "required-without-default Note.text: 1"])
    }

    func testRisksAreReportedForTheLatestStep() throws {
        let first = try model(["Note": ["text": "string?", "code": "string?"], "Old": ["x": "date?"]])
        let second = try model(["Note": ["text": "string?"]])
        XCTAssertEqual(
            try findings(first, to: second).sorted(), ["removed-entity Old: 1", "removed-property Note.code: 1"])
        XCTAssertEqual(try findings(first, second, to: second.copy()), [])
        let constrained = try second.copy()
        try constrained.requireEntity(named: "Note").addUniqueConstraint(["text"])
        XCTAssertEqual(try findings(second, to: constrained), ["added-constraint Note.text: 1"])
        let wider = try constrained.copy()
        try wider.requireEntity(named: "Note").addAttribute(named: "more", type: .date)
        try wider.requireEntity(named: "Note").addUniqueConstraint(["text", "more"])
        XCTAssertEqual(try findings(constrained, to: wider), [])
        let abstract = try second.copy()
        try abstract.requireEntity(named: "Note").setAbstract(true)
        let child = try abstract.addEntity(named: "Letter")
        try child.setParent(abstract.requireEntity(named: "Note"))
        XCTAssertEqual(try findings(second, to: abstract), ["abstract-entity Note: 1"])
    }

    func testPropertiesMayMoveBetweenAbstractAndSubentity() throws {
        func tree(_ owner: String) throws -> Model {
            let model = Model()
            let base = try model.addEntity(named: "Base")
            try base.setAbstract(true)
            let leaf = try model.addEntity(named: "Leaf")
            try leaf.setParent(base)
            try model.requireEntity(named: owner).addAttribute(named: "name", type: .string)
            return model
        }
        XCTAssertEqual(try findings(tree("Base"), to: tree("Leaf")), [])
        XCTAssertEqual(try findings(tree("Leaf"), to: tree("Base")), [])
    }

    func testChangesWithoutEffectAreNotes() throws {
        let old = try model(["Note": ["text": "string?"]])
        let forced = try old.copy()
        try forced.requireEntity(named: "Note").setVersionHashModifier("2")
        XCTAssertEqual(try findings(old, to: forced), [])
        XCTAssertEqual(try findings(old, to: forced, notes: true), ["modifier-only Note: 1"])
        let indexed = try old.copy()
        let index = FetchIndex(name: "byText", elements: [.init(property: "text")])
        try indexed.requireEntity(named: "Note").addIndex(index)
        XCTAssertEqual(try findings(old, to: indexed), ["index-only Note.byText: 1"])
        let both = try forced.copy()
        try both.requireEntity(named: "Note").addIndex(index)
        XCTAssertEqual(try findings(old, to: both), [])
    }

    func testCloudKitOnlyAllowsAdditions() throws {
        let old = try model(["Note": ["text": "string?", "rank": "int16?"]])
        let new = try model(["Note": ["body<text": "string?", "more": "date?"]])
        XCTAssertEqual(try findings(old, to: new), ["removed-property Note.rank: 1"])
        XCTAssertEqual(
            try findings(old, to: new) { $0.profile = .cloudKit }.sorted(),
            [
                "cloudkit-not-additive Note.body: 1", "cloudkit-not-additive Note.rank: 1",
                "removed-property Note.rank: 1",
            ])
    }

    func testFindingTextHasMessageRemedyAndVersions() throws {
        let check = MigrationGuard(
            newest: .init(name: "2", model: try model(["Note": ["size": "int64"]])),
            older: [.init(name: "1", model: try model(["Note": ["size": "int16"]]))])
        let finding = try XCTUnwrap(check.findings().first)
        XCTAssert(finding.message.hasPrefix("Note.size is of type Integer 16"), finding.message)
        XCTAssert(finding.text.hasSuffix("[type-change, from \"1\"]"), finding.text)
        XCTAssertEqual(finding.text, "\(finding.message); \(finding.remedy) [type-change, from \"1\"]")
    }

    func testNamesAreSplitIntoWordsAndCompared() {
        XCTAssertEqual(words(of: "createdAt"), ["created", "at"])
        XCTAssertEqual(words(of: "created_at"), ["created", "at"])
        XCTAssertEqual(words(of: "URLString"), ["url", "string"])
        XCTAssertEqual(words(of: "line2"), ["line", "2"])
        XCTAssertEqual(words(of: "_"), [])
        XCTAssert(areSimilarNames("isRead", "read"))
        XCTAssert(areSimilarNames("titel", "title"))
        XCTAssertFalse(areSimilarNames("width", "height"))
        XCTAssertFalse(areSimilarNames("_", "x"))
    }
}
