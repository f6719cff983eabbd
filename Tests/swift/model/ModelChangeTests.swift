import CorestonePredicate
import CorestoneValues
import XCTest

@testable import CorestoneModel

/// Differences of two models, and which of them alter version hashes.
final class ModelChangeTests: XCTestCase {
    private func base() throws -> Model { try SampleModels.everything().copy() }

    /// Returns the changes of `edit` as text, and compares their `changesHash` flags with the hashes.
    private func changes(_ edit: (Model) throws -> Void, line: UInt = #line) throws -> [String] {
        let (old, new) = (try base(), try base())
        try edit(new)
        let changes = old.changes(to: new)
        let (before, after) = (entityVersionHashes(of: old), entityVersionHashes(of: new))
        XCTAssertEqual(changes.contains(where: \.changesHash), before != after, "changesHash is wrong", line: line)
        let back = new.changes(to: old)
        XCTAssertEqual(back.count, changes.count, "the reverse comparison has another number of changes", line: line)
        return changes.map(\.text)
    }

    private func attribute(_ model: Model, _ entity: String, _ name: String) throws -> Attribute {
        try XCTUnwrap(try model.requireEntity(named: entity).ownProperty(named: name) as? Attribute)
    }

    func testEqualModelsHaveNoChanges() throws { XCTAssertEqual(try changes { _ in }, []) }

    func testChangedAttributeFlagsAreListed() throws {
        XCTAssertEqual(
            try changes { try self.attribute($0, "Tag", "label").setOptional(true) },
            ["attribute Tag.label: optional false -> true"])
        XCTAssertEqual(
            try changes { try self.attribute($0, "Tag", "weight").setType(.integer32) },
            ["attribute Tag.weight: type \"Integer 16\" -> \"Integer 32\""])
        XCTAssertEqual(
            try changes { try self.attribute($0, "note", "title").setDefaultValue(.string("x")) }.count, 1)
        XCTAssertEqual(
            try changes { try self.attribute($0, "Tag", "code").setAllowsCloudEncryption(false) },
            ["attribute Tag.code: cloudEncryption true -> none"])
        XCTAssertEqual(
            try changes { try self.attribute($0, "Photo", "pixels").setAllowsExternalStorage(false) }.count, 1)
        XCTAssertEqual(try changes { try self.attribute($0, "Tag", "label").setTransient(true) }.count, 1)
        XCTAssertEqual(
            try changes { try self.attribute($0, "note", "title").setUserInfo(nil, forKey: "weight") }.count, 1)
        XCTAssertEqual(try changes { try self.attribute($0, "note", "title").setVersionHashModifier(nil) }.count, 1)
        XCTAssertEqual(try changes { try self.attribute($0, "Item", "tagCount").setOptional(false) }.count, 1)
    }

    func testChangeHasItsFieldsAndText() throws {
        let (old, new) = (try base(), try base())
        try attribute(new, "Tag", "label").setOptional(true)
        try attribute(new, "Tag", "weight").setUserInfo("kg", forKey: "unit")
        try new.requireEntity(named: "Tag").setClassName("Label")
        try new.requireEntity(named: "note").setAbstract(true)
        try new.requireEntity(named: "Item").setClassName(nil)
        let changes = old.changes(to: new)
        XCTAssertEqual(
            changes,
            [
                ModelChange(
                    action: .removed, part: .entity, entity: "Item", name: nil, field: "className",
                    old: .string("App.Item"), new: .null, changesHash: false),
                ModelChange(
                    action: .changed, part: .entity, entity: "note", name: nil, field: "abstract", old: .bool(false),
                    new: .bool(true), changesHash: true),
                ModelChange(
                    action: .added, part: .entity, entity: "Tag", name: nil, field: "className", old: .null,
                    new: .string("Label"), changesHash: false),
                ModelChange(
                    action: .changed, part: .attribute, entity: "Tag", name: "label", field: "optional",
                    old: .bool(false), new: .bool(true), changesHash: true),
                ModelChange(
                    action: .added, part: .attribute, entity: "Tag", name: "weight", field: "userInfo.unit", old: .null,
                    new: .string("kg"), changesHash: false),
            ])
        XCTAssertEqual(
            changes.map(\.text),
            [
                "entity Item: className \"App.Item\" -> none", "entity note: abstract false -> true",
                "entity Tag: className none -> \"Label\"", "attribute Tag.label: optional false -> true",
                "attribute Tag.weight: userInfo.unit none -> \"kg\"",
            ])
    }

    func testAttributeChangesReportWhetherTheyChangeTheHash() throws {
        let edits: [(String, Bool, (Attribute) throws -> Void)] = [
            ("optional", true, { try $0.setOptional(false) }), ("type", true, { try $0.setType(.string) }),
            ("externalStorage", true, { try $0.setAllowsExternalStorage(false) }),
            ("preservedInHistory", true, { try $0.setPreservesValueInHistory(false) }),
            ("versionHashModifier", true, { try $0.setVersionHashModifier("m") }),
            ("transient", true, { try $0.setTransient(true) }),
            ("renamingIdentifier", false, { try $0.setRenamingIdentifier("r") }),
            ("default", false, { try $0.setDefaultValue(.bytes(Bytes([1]))) }),
            ("cloudEncryption", false, { try $0.setAllowsCloudEncryption(true) }),
            ("allowsNaN", false, { try $0.setAllowsNaN(true) }),
            ("ignoresChanges", false, { try $0.setIgnoresChanges(true) }),
            ("indexedBySpotlight", false, { try $0.setIndexedBySpotlight(true) }),
            ("storedInExternalRecord", false, { try $0.setStoredInExternalRecord(true) }),
            ("transformer", false, { try $0.setValueTransformerName("T") }),
            ("valueClass", false, { try $0.setValueClassName("C") }),
            ("validation", false, { try $0.addValidation(PredicateText("SELF != nil"), warning: "w") }),
        ]
        for (field, needs, edit) in edits {
            let (old, new) = (try base(), try base())
            try edit(try attribute(new, "Photo", "pixels"))
            let changes = old.changes(to: new)
            XCTAssertEqual(changes.map(\.field), [field])
            XCTAssertEqual(changes.map(\.changesHash), [needs], field)
            XCTAssertEqual(entityVersionHashes(of: old) != entityVersionHashes(of: new), needs, field)
        }
    }

    func testAddedAndRemovedElementsAreListed() throws {
        func edit(_ body: (Model, Entity) throws -> Void) throws -> [String] {
            let (old, new) = (try base(), try base())
            try body(new, try new.requireEntity(named: "Tag"))
            return old.changes(to: new).map { "\($0.text) \($0.changesHash)" }
        }
        XCTAssertEqual(
            try edit { try $1.remove(try $1.requireOwnProperty(named: "code")) }, ["attribute Tag.code: removed true"])
        XCTAssertEqual(
            try edit { try $1.addRelationship(named: "x", destination: $1) }, ["relationship Tag.x: added true"])
        XCTAssertEqual(
            try edit { try $1.addFetchedProperty(named: "x", fetchRequest: FetchRequestTemplate(entityName: "Tag")) },
            ["fetched property Tag.x: added false"])
        XCTAssertEqual(
            try edit { try $1.addIndex(FetchIndex(name: "x", elements: [.init(property: "label")])) },
            ["index Tag.x: added false"])
        XCTAssertEqual(
            try edit { model, _ in try model.setConfiguration(ModelConfiguration(name: "x", entityNames: [])) },
            ["configuration x: added false"])
        XCTAssertEqual(
            try edit { model, _ in
                try model.setFetchRequestTemplate(FetchRequestTemplate(entityName: "Tag"), forName: "x")
            }, ["fetch request x: added false"])
        XCTAssertEqual(
            try edit { model, tag in
                try tag.remove(try tag.requireOwnProperty(named: "code"))
                try tag.addRelationship(named: "code", destination: tag).setOptional(true)
            }.filter { $0.contains("kind") }, ["relationship Tag.code: kind \"attribute\" -> \"relationship\" true"])
        XCTAssertEqual(
            try edit { model, _ in try model.addEntity(named: "A") }, ["entity A: added true"], "new ones come last")
    }

    func testRenameIsFoundByTheIdentifierOfAThirdVersion() throws {
        // Both refer to the name in the first version.
        let (old, new) = (Model(), Model())
        let (former, later) = (try old.addEntity(named: "B"), try new.addEntity(named: "C"))
        try former.setRenamingIdentifier("A")
        try later.setRenamingIdentifier("A")
        try former.addAttribute(named: "b", type: .string).setRenamingIdentifier("a")
        try later.addAttribute(named: "c", type: .string).setRenamingIdentifier("a")
        XCTAssertEqual(
            old.changes(to: new).map(\.text), ["entity C: renamed from B", "attribute C.c: renamed from b"])
        XCTAssertEqual(old.changes(to: new).map(\.changesHash), [true, true])
    }

    func testChangedRelationshipsAreListed() throws {
        func edit(_ name: String, _ body: @escaping (Relationship) throws -> Void) throws -> [String] {
            try changes { model in
                let item = try model.requireEntity(named: "Item")
                try body(try XCTUnwrap(item.ownProperty(named: name) as? Relationship))
            }
        }
        XCTAssertEqual(
            try edit("children") { try $0.setDeleteRule(.nullify) },
            ["relationship Item.children: deleteRule \"Cascade\" -> \"Nullify\""])
        XCTAssertEqual(
            try edit("children") { try $0.setCounts(minimum: 1, maximum: 8) },
            ["relationship Item.children: maximumCount 9 -> 8"])
        XCTAssertEqual(try edit("parent") { try $0.setInverse(nil) }.count, 2)
        XCTAssertEqual(try edit("tags") { try $0.setOrdered(false) }, ["relationship Item.tags: ordered true -> false"])
    }

    func testChangedEntitiesIndexesAndConstraintsAreListed() throws {
        XCTAssertEqual(try changes { try $0.requireEntity(named: "Tag").setClassName("Label") }.count, 1)
        XCTAssertEqual(
            try changes { try $0.requireEntity(named: "Tag").addUniqueConstraint(["code"]) }.count, 1)
        XCTAssertEqual(
            try changes { try $0.requireEntity(named: "Tag").removeIndex(named: "byLabel") },
            ["index Tag.byLabel: removed"])
        XCTAssertEqual(try changes { try $0.addEntity(named: "Extra") }, ["entity Extra: added"])
        XCTAssertEqual(try changes { try $0.requireEntity(named: "note").setParent(nil) }.count, 1)
        XCTAssertEqual(
            try changes {
                try $0.requireEntity(named: "Tag").addAttribute(named: "new", type: .string, isTransient: true)
            },
            ["attribute Tag.new: added"])
    }

    func testRenamesAreListedInsteadOfAdditions() throws {
        let renamed = try changes { model in
            let tag = try model.requireEntity(named: "Tag")
            let label = try tag.requireOwnProperty(named: "label")
            try label.rename(to: "word")
            try label.setRenamingIdentifier("label")
        }
        XCTAssertTrue(renamed.contains("attribute Tag.word: renamed from label"), "\(renamed)")
        XCTAssertFalse(renamed.contains { $0.hasSuffix("added") || $0.hasSuffix("removed") }, "\(renamed)")
        let entity = try changes { model in
            let photo = try model.requireEntity(named: "Photo")
            try photo.rename(to: "Image")
            try photo.setRenamingIdentifier("Photo")
        }
        XCTAssertEqual(entity.first, "entity Image: renamed from Photo")
        let lost = try changes { try $0.requireEntity(named: "note").rename(to: "Memo") }
        XCTAssertEqual(
            lost.filter { $0.hasPrefix("entity") }.count, 2, "without an identifier it is another one: \(lost)")
    }

    func testChangesOfTheModelItselfAreListed() throws {
        XCTAssertEqual(
            try changes { try $0.setFetchRequestTemplate(nil, forName: "notesBeginning") },
            ["fetch request notesBeginning: removed"])
        XCTAssertEqual(
            try changes { try $0.setConfiguration(ModelConfiguration(name: "Small", entityNames: ["Tag"])) }.count, 1)
        XCTAssertEqual(
            try changes { try $0.setLocalization("Etikett", forKey: "Entity/Tag") },
            ["model: localization.Entity/Tag none -> \"Etikett\""])
        XCTAssertEqual(try changes { try $0.addVersionIdentifier("2.0") }.count, 1)
        XCTAssertEqual(
            try changes { model in
                let note = try model.requireEntity(named: "note")
                try note.remove(try note.requireOwnProperty(named: "sameTags"))
            }, ["fetched property note.sameTags: removed"])
    }

    /// The changes that matter to stores or programs, and the number of all changes.
    private func fields(_ old: Model, _ new: Model) -> (noticed: [String], all: Int) {
        let changes = old.changes(to: new)
        return (changes.filter { !$0.isEditorial }.map(\.text), changes.count)
    }

    func testEditorialChangesAreMarked() throws {
        func source(_ model: String, _ attribute: String, _ more: String = "") throws -> Model {
            let text =
                "<model \(model)><entity name='Note' representedClassName='.Note'>"
                + "<attribute name='title' attributeType='String' \(attribute)/>\(more)</entity>"
                + "<elements><element name='Note' positionX='1' positionY='2'/></elements></model>"
            return try Model(data: Array(text.utf8))
        }
        let old = try source("lastSavedToolsVersion='1'", "syncable='YES' usesScalarValueType='NO'")
        let saved = try source("lastSavedToolsVersion='2'", "usesScalarValueType='NO'")
        XCTAssertEqual(fields(old, saved).noticed, [])
        XCTAssertEqual(fields(old, saved).all, 2)
        let code = try source("lastSavedToolsVersion='1'", "syncable='YES' usesScalarValueType='YES'")
        XCTAssertEqual(fields(old, code).noticed.count, 1, "the change affects generated code")
        let compiled = try Model(data: compiledModel(code, form: .file))
        XCTAssertEqual(fields(code, compiled).noticed, [])
        try compiled.requireEntity(named: "Note").setClassName("App.Note")
        XCTAssertEqual(fields(code, compiled).noticed, [])
        try compiled.requireEntity(named: "Note").setClassName("App.Memo")
        XCTAssertEqual(fields(code, compiled).noticed.count, 1)
    }

    func testOrderOfListsIsEditorial() throws {
        func model(_ constraints: [[String]], _ entities: [String]) throws -> Model {
            let model = Model()
            let note = try model.addEntity(named: "Note")
            for name in ["a", "b", "c"] { try note.addAttribute(named: name, type: .string) }
            for constraint in constraints { try note.addUniqueConstraint(constraint) }
            try model.addEntity(named: "Tag")
            try model.setConfiguration(ModelConfiguration(name: "Main", entityNames: entities))
            return model
        }
        let old = try model([["a"], ["b"]], ["Note", "Tag"])
        let ordered = try model([["b"], ["a"]], ["Tag", "Note"])
        XCTAssertEqual(fields(old, ordered).noticed, [])
        XCTAssertEqual(old.changes(to: ordered).filter(\.changesHash), [])
        XCTAssertEqual(fields(old, try model([["a"], ["c"]], ["Note", "Tag"])).noticed.count, 1)
        XCTAssertEqual(fields(old, try model([["a"], ["b"]], ["Note"])).noticed.count, 1)
    }

    func testIdentifierOfARenameIsEditorial() throws {
        let (old, new) = (Model(), Model())
        try old.addEntity(named: "Note").addAttribute(named: "title", type: .string)
        try new.addEntity(named: "Note").addAttribute(named: "headline", type: .string).setRenamingIdentifier("title")
        XCTAssertEqual(fields(old, new).noticed, ["attribute Note.headline: renamed from title"])
        XCTAssertEqual(fields(old, new).all, 2)
        XCTAssertEqual(old.changes(to: new)[0].textWithinEntity, "attribute headline: renamed from title")
    }
}
