import CorestoneGraph
import CorestoneModel
import CorestoneValues
import XCTest

@testable import CorestoneCustomStores

/// The rows that a custom store pushes, one by one.
///
/// The tests cover which rows are accepted, the errors about the others, and the values that are requested later.
final class HostRowTests: XCTestCase {
    private var model: Model!
    private var names: RowNames!
    private var place: HostStoreIdentity!

    override func setUpWithError() throws {
        model = Model()
        let being = try model.addEntity(named: "Being")
        try being.setAbstract(true)
        try being.addAttribute(named: "name", type: .string)
        let (person, manager, team) = (
            try model.addEntity(named: "Person"), try model.addEntity(named: "Manager"),
            try model.addEntity(named: "Team")
        )
        try person.setParent(being)
        try manager.setParent(person)
        try person.addAttribute(named: "age", type: .integer32, isOptional: false).setDefaultValue(.int(7))
        try person.addAttribute(named: "nick", type: .string).setDefaultValue(.string("x"))
        try person.addAttribute(named: "mood", type: .string, isTransient: true)
        let at = try person.addAttribute(named: "at", type: .composite)
        try at.addElement(named: "x", type: .double)
        try at.addElement(named: "town", type: .string)
        let boss = try person.addRelationship(named: "boss", destination: person)
        let reports = try person.addRelationship(named: "reports", destination: person, isToMany: true)
        try boss.setInverse(reports)
        let home = try person.addRelationship(named: "team", destination: team)
        let members = try team.addRelationship(
            named: "members", destination: person, isToMany: true, isOrdered: true)
        try home.setInverse(members)
        let friends = try person.addRelationship(named: "friends", destination: person, isToMany: true)
        try friends.setInverse(friends)
        try model.freeze()
        let identifier = UUIDValue.random().description
        names = RowNames(model, ReferenceTable.of(identifier))
        place = HostStoreIdentity(type: StoreType(rawValue: "Desk"), path: "desk", identifier: identifier)
    }

    private func entity(_ name: String) -> Entity { model.entity(named: name)! }
    private func relationship(_ entity: String, _ name: String) -> Relationship {
        self.entity(entity).property(named: name) as! Relationship
    }
    private var fetch: RowSink.Purpose { .fetch(StoreFetch(entity: entity("Person"))) }
    private func sink(_ purpose: RowSink.Purpose) -> RowSink { RowSink(purpose, names, place) }

    private func row(
        _ name: String?, _ reference: Int64, _ values: [String: PropertyValue] = [:], version: Int64 = 1,
        targets: [String: String] = [:]
    ) -> PushedRow {
        let known = name.map { entity($0) }
        return PushedRow(
            known, .integer(reference), version: version,
            values.sorted { $0.key < $1.key }.map { key, value in
                ((known ?? entity("Person")).property(named: key)!.key, value, targets[key].map { entity($0) })
            })
    }

    private func value(_ sink: RowSink, _ place: Int, _ name: String) -> PropertyValue? {
        let row = sink.rows[place]
        guard let record = row.record, let property = row.entity.property(named: name) else { return nil }
        let slot = Int(property.slot)
        return record.hasValue(slot) ? record.view(slot, row.entity.layout.slots[slot]).propertyValue : .null
    }

    private func target(_ sink: RowSink, _ place: Int, _ name: String) -> String? {
        let row = sink.rows[place]
        let slot = Int(row.entity.property(named: name)!.slot)
        return row.record?.target(slot, row.entity.layout.slots[slot]).map {
            "\(model.entities[Int($0.entity)].name) \($0.primaryKey)"
        }
    }

    private func failure(_ body: () throws -> Void, line: UInt = #line) -> CoreError {
        do { try body() } catch let error as CoreError { return error } catch { XCTFail("\(error)", line: line) }
        XCTFail("nothing failed", line: line)
        return CoreError(.internal, "")
    }

    // MARK: Rows

    func testRowWithoutAnEntityHasTheRequestedEntity() throws {
        let sink = sink(fetch)
        try sink.push([row("Manager", 2), row(nil, 1), row(nil, 2)])
        XCTAssertEqual(sink.rows.map(\.entity.name), ["Manager", "Person", "Manager"])
        XCTAssertEqual(sink.rows.map(\.key), [2, 1, 2])
    }

    func testInvalidRowIsRefused() throws {
        let other = try model.copy()
        try other.freeze()
        let foreign = PushedRow(other.entity(named: "Person"), .integer(1), version: 1)
        for (purpose, row, entity, words) in [
            (.load, row(nil, 1), nil, "row 1: its entity is missing; pass an entity with each row"),
            (
                fetch, foreign, "Person",
                "Person 1: Person belongs to another model; pass an entity of the store's model"
            ),
            (.load, row("Being", 1), "Being", "Being 1: Being is abstract; pass the subentity of the row"),
            (
                fetch, row("Team", 1), "Team",
                "Team 1: Person was requested, but Team does not inherit from it; push a row of Person"
            ),
            (
                .fetch(StoreFetch(entity: self.entity("Manager"))), row("Person", 1), "Person",
                "Person 1: Manager was requested, but Person does not inherit from it; push a row of Manager"
            ),
            (
                .members(relationship("Team", "members"), owners: [1]), row("Team", 1), "Team",
                "Team 1: Person was requested, but Team does not inherit from it; push a row of Person"
            ),
            (
                .values(root: self.entity("Being"), wanted: [2]), row("Person", 1), "Person",
                "Person 1: it was not requested; push only the requested rows"
            ),
            (
                fetch, row("Person", 1, version: -1), "Person",
                "Person 1: its version is -1, but must be 0 to 2147483647"
            ),
            (
                fetch, row("Person", 1, version: 2_147_483_648), "Person",
                "Person 1: its version is 2147483648, but must be 0 to 2147483647"
            ),
        ] as [(RowSink.Purpose, PushedRow, String?, String)] {
            let sink = sink(purpose)
            let error = failure { try sink.push([row]) }
            XCTAssertEqual(error.status, .invalidArgument, words)
            XCTAssertEqual(error.code, CocoaCode.persistentStoreOperation.rawValue)
            XCTAssertEqual(error.entity, entity)
            let isVersion = words.contains("its version is")
            XCTAssertEqual(error.value, .int(isVersion ? row.version : 1), words)
            XCTAssertEqual(error.file, "desk")
            XCTAssertEqual(error.message, "desk cannot push \(words)")
            XCTAssertTrue(sink.rows.isEmpty)
        }
    }

    func testRowVersionsUpToTheMaximumAreAccepted() throws {
        let sink = sink(fetch)
        sink.versionOf = { key, root in
            XCTAssertEqual(root.root.name, "Being")
            return Int32(key) * 10
        }
        try sink.push([row("Person", 1, ["age": .int(1)], version: 0)])
        XCTAssertFalse(sink.hasVersions)
        try sink.push([row("Person", 2, ["age": .int(1)], version: 2_147_483_647), row("Person", 3, ["age": .int(1)])])
        XCTAssertTrue(sink.hasVersions)
        XCTAssertEqual(sink.rows.map { $0.record?.version }, [10, .max, 1])
    }

    /// A call adds all of its rows or none of them. A refused call does not record entities either.
    func testRefusedPushAddsNoRows() throws {
        let sink = sink(fetch)
        try sink.push([row("Person", 1, ["age": .int(1), "boss": .int(9), "team": .null])])
        let unresolved = sink.unresolved.count
        let error = failure {
            try sink.push([
                row("Manager", 2, ["age": .int(1), "boss": .int(8), "friends": .array([.int(3)])]), row("Person", 1),
                row("Manager", 1),
            ])
        }
        XCTAssertTrue(error.message.contains("already identifies an object of Person"), error.message)
        XCTAssertEqual(sink.rows.count, 1)
        XCTAssertEqual(sink.unresolved.count, unresolved)
        XCTAssertTrue(sink.embedded.isEmpty)
        XCTAssertEqual(sink.omitted.flatMap(\.rows), [])
        XCTAssertNil(names.entity(of: 2, entity("Person")))
        XCTAssertEqual(names.entity(of: 1, entity("Person"))?.name, "Person")
        try sink.push([row("Person", 2)])
        XCTAssertEqual(sink.rows.map(\.key), [1, 2])
    }

    /// During a save, each row is checked separately, because it was already saved.
    func testRefusedRowDuringASaveKeepsTheOtherRows() throws {
        let before = sink(.load)
        try before.push([row("Person", 1, ["age": .int(1), "nick": .string("a")], version: 4)])
        let record = try XCTUnwrap(before.rows[0].record)
        let saved = sink(.saved([Int(entity("Person").rootIndex): [1: record]]))
        try saved.push([row("Person", 1, ["age": .int(2)], version: 9), row("Person", 5), row("Person", 1, version: 0)])
        XCTAssertEqual(saved.rows.map(\.key), [1, 1])
        XCTAssertTrue(saved.hasRefused)
        XCTAssertEqual(
            saved.rows.map { $0.record?.version }, [9, 4], "without a version, the written version is kept")
        XCTAssertEqual(value(saved, 0, "age"), .int(2))
        XCTAssertEqual(value(saved, 0, "nick"), .string("a"), "an omitted value is the written one")
        XCTAssertEqual(value(saved, 1, "age"), .int(1))
    }

    func testRowWithoutValuesIsAReferenceInFetchesAndMembers() throws {
        for (purpose, isReference) in [
            (fetch, true), (.members(relationship("Team", "members"), owners: [1]), true), (.load, false),
            (.values(root: entity("Being"), wanted: [1]), false),
        ] as [(RowSink.Purpose, Bool)] {
            let sink = sink(purpose)
            try sink.push([row("Person", 1)])
            XCTAssertEqual(sink.rows[0].record == nil, isReference)
        }
    }

    func testOmittedValuesOfARowAreDefaultsOrNull() throws {
        let sink = sink(fetch)
        try sink.push([
            row("Person", 1, ["name": .string("a"), "team": .null]), row("Person", 2, ["age": .null, "nick": .null]),
        ])
        XCTAssertEqual(value(sink, 0, "age"), .int(7), "an omitted required value has its default")
        XCTAssertEqual(value(sink, 0, "nick"), .null, "an omitted optional value is null")
        XCTAssertEqual(value(sink, 1, "age"), .null, "an explicit null is not replaced by a default")
        XCTAssertEqual(sink.omitted.map(\.relationship.name).sorted(), ["boss", "team"])
        for each in sink.omitted { XCTAssertEqual(each.rows, each.relationship.name == "boss" ? [0, 1] : [1]) }
        XCTAssertEqual(sink.unfinished(readsRelationships: true), [0, 1])
        XCTAssertEqual(sink.unfinished(readsRelationships: false), [])
        let all = self.sink(.load)
        try all.push([row("Person", 1, ["name": .string("a")])])
        XCTAssertTrue(all.omitted.isEmpty, "omitted relationships cannot be requested later")
    }

    func testDuplicateValueInARowIsRefused() throws {
        let age = try XCTUnwrap(entity("Person").property(named: "age"))
        let title = try XCTUnwrap(entity("Team").property(named: "members"))
        let sink = sink(fetch)
        let error = failure {
            try sink.push([
                PushedRow(
                    entity("Person"), .integer(1), version: 1, [(age.key, .int(1), nil), (age.key, .int(1), nil)])
            ])
        }
        XCTAssertEqual(error.status, .invalidArgument)
        XCTAssertEqual([error.entity, error.key, error.file], ["Person", "age", "desk"])
        // Properties of another entity are ignored.
        try sink.push([
            PushedRow(entity("Person"), .integer(1), version: 1, [(title.key, .int(1), nil), (age.key, .int(3), nil)])
        ])
        XCTAssertEqual(value(sink, 0, "age"), .int(3))
    }

    func testCompositeValuesOfARowAreSplitIntoElements() throws {
        let sink = sink(fetch)
        try sink.push([
            row("Person", 1, ["mood": .string("good"), "at": .dictionary(["x": .double(1.5), "nothing": .int(1)])]),
            row("Person", 2, ["at": .null]),
        ])
        XCTAssertEqual(value(sink, 0, "at.x"), .double(1.5))
        XCTAssertEqual(value(sink, 0, "at.town"), .null)
        XCTAssertEqual(value(sink, 1, "at.x"), .null)
    }

    // MARK: Relationships

    func testEntityOfATargetIsGuessedUntilItIsCertain() throws {
        let sink = sink(fetch)
        try sink.push([
            row("Person", 1, ["boss": .int(5), "team": .int(6)]),
            row("Person", 2, ["boss": .int(7), "team": .null], targets: ["boss": "Manager"]), row("Manager", 8),
            row("Person", 3, ["boss": .int(8), "team": .null]),
        ])
        XCTAssertEqual(target(sink, 0, "boss"), "Person 5")
        XCTAssertEqual(target(sink, 0, "team"), "Team 6")
        XCTAssertEqual(target(sink, 1, "boss"), "Manager 7")
        XCTAssertNil(target(sink, 1, "team"))
        XCTAssertEqual(target(sink, 3, "boss"), "Manager 8")
        // The entity of 5 is a guess, because Person has a subentity. Team has no subentities, so 6 is certain.
        XCTAssertEqual(sink.unresolved.map(\.key), [5])
        XCTAssertEqual(sink.unfinished(readsRelationships: false), [0])
        names.note(entity("Manager"), 5)
        sink.resolveTargets()
        XCTAssertEqual(target(sink, 0, "boss"), "Manager 5")
        XCTAssertEqual(sink.unfinished(readsRelationships: false), [])
    }

    func testTargetOfAnotherEntityOrStoreIsRefused() throws {
        let wrong = failure { try sink(fetch).push([row("Person", 1, ["boss": .int(2)], targets: ["boss": "Team"])]) }
        XCTAssertEqual(wrong.status, .invalidArgument)
        XCTAssertEqual([wrong.entity, wrong.key, wrong.file], ["Person", "boss", "desk"])
        XCTAssertEqual(
            wrong.message, "desk cannot push Person 1: Person.boss takes Person, but Team does not inherit from it")
        let id = ObjectID(store: nil, entity: entity("Person"), reference: 3)
        let unsaved = failure { try sink(fetch).push([row("Person", 1, ["boss": .object(ObjectIDReference(id))])]) }
        XCTAssertEqual(unsaved.status, .invalidArgument)
        XCTAssertEqual(unsaved.code, CocoaCode.managedObjectExternalRelationship.rawValue)
        XCTAssertEqual([unsaved.entity, unsaved.key, unsaved.file], ["Person", "boss", "desk"])
        XCTAssertEqual(unsaved.objectURI, id.uri)
    }

    func testInvalidReferencesOfARelationshipAreRefused() throws {
        for (name, value, words) in [
            ("boss", .bool(true), "is to-one and takes a reference, not a boolean"),
            ("boss", .double(1), "takes a reference"),
            ("friends", .int(3), "is to-many and takes a list of references, not an integer"),
            ("friends", .string("x"), "takes a list of references"),
            ("friends", .array([.int(1), .null]), "takes a list of references, not a list with null"),
            ("boss", .string(""), "is to-one and takes a reference, not an empty string"),
        ] as [(String, PropertyValue, String)] {
            let error = failure { try sink(fetch).push([row("Person", 1, [name: value])]) }
            XCTAssertEqual(error.status, .typeMismatch)
            XCTAssertEqual(error.code, CocoaCode.persistentStoreOperation.rawValue)
            XCTAssertEqual([error.entity, error.key, error.file], ["Person", name, "desk"])
            XCTAssertTrue(error.message.contains(words), error.message)
        }
    }

    func testMembersEmbeddedInARowAreDeduplicated() throws {
        let sink = sink(.load)
        try sink.push([
            row("Team", 1, ["members": .array([.int(3), .int(2), .int(3)])]), row("Team", 2, ["members": .null]),
            row("Person", 3, ["friends": .set([.int(4)])]),
        ])
        XCTAssertEqual(sink.embedded.map(\.owner), [1, 2, 3])
        XCTAssertEqual(sink.embedded.map(\.row), [0, 1, 2])
        XCTAssertEqual(sink.embedded.map(\.members), [[3, 2], [], [4]], "each member once, at its first position")
        XCTAssertEqual(sink.embedded.map(\.relationship.name), ["members", "members", "friends"])
    }

    func testMembersArePushedForEachOwner() throws {
        let members = relationship("Team", "members")
        let sink = sink(.members(members, owners: [10, 11]))
        try sink.push([row("Person", 1), row("Manager", 2)], ofOwner: 1)
        try sink.push([row(nil, 3)], ofOwner: 1)
        try sink.push([row(nil, 1)], ofOwner: 0)
        XCTAssertEqual(sink.members, [[1], [1, 2, 3]])
        for owner in [-1, 2] {
            let error = failure { try sink.push([row(nil, 4)], ofOwner: owner) }
            XCTAssertEqual(error.status, .invalidArgument)
            XCTAssertEqual([error.entity, error.key, error.file], ["Team", "members", "desk"])
            XCTAssertEqual(error.message, "desk: the owner index for Team.members is \(owner), but must be 0 to 1")
        }
        let elsewhere = failure { try self.sink(fetch).push([row(nil, 4)], ofOwner: 0) }
        XCTAssertEqual(elsewhere.status, .invalidArgument)
        XCTAssertNil(elsewhere.entity)
        XCTAssertTrue(elsewhere.message.contains("cannot push members in a callback that returns rows"))
        let one = self.sink(.members(relationship("Person", "boss"), owners: [1]))
        try one.push([], ofOwner: 0)
        try one.push([row(nil, 5)], ofOwner: 0)
        let many = failure { try one.push([row(nil, 6)], ofOwner: 0) }
        XCTAssertEqual([many.entity, many.key], ["Person", "boss"])
        XCTAssertTrue(many.message.contains("is to-one, but 2 rows were pushed"), many.message)
        XCTAssertEqual(one.members, [[5]])
        // A refused call does not change the members of its owner.
        XCTAssertEqual(failure { try sink.push([row(nil, 7), row("Team", 8)], ofOwner: 0) }.entity, "Team")
        XCTAssertEqual(sink.members, [[1], [1, 2, 3]])
    }

    // MARK: Entities of rows

    func testCertainEntityOfARowReplacesAGuess() {
        let (being, person, manager, team) = (entity("Being"), entity("Person"), entity("Manager"), entity("Team"))
        XCTAssertTrue(names.entity(of: 1, team) === team, "certain in a tree of one entity")
        XCTAssertTrue(names.isCertain(1, team))
        XCTAssertNil(names.entity(of: 1, person))
        XCTAssertFalse(names.isCertain(1, person))
        XCTAssertTrue(names.row(1, person).entity === person)
        // A certain entity replaces a guess, but a guess does not replace a certain entity.
        names.assume(person, 1)
        names.assume(manager, 1)
        XCTAssertTrue(names.entity(of: 1, being) === person)
        XCTAssertFalse(names.isCertain(1, being))
        XCTAssertNil(names.note(manager, 1))
        XCTAssertTrue(names.isCertain(1, being))
        names.assume(person, 1)
        XCTAssertTrue(names.entity(of: 1, being) === manager)
        XCTAssertTrue(names.row(1, person).entity === manager)
        XCTAssertTrue(names.note(person, 1) === manager)
        XCTAssertTrue(names.entity(of: 1, being) === manager)
        XCTAssertNil(names.note(manager, 1))
        names.restore(1, person, nil)
        XCTAssertNil(names.entity(of: 1, being))
        names.note(person, 1)
        names.forget(1, manager)
        XCTAssertNil(names.entity(of: 1, being))
    }

    func testRowReferencesCompareEntityAndKey() {
        let (person, manager) = (entity("Person"), entity("Manager"))
        XCTAssertEqual(RowReference(person, .integer(1)), RowReference(person, .integer(1)))
        XCTAssertNotEqual(RowReference(person, .integer(1)), RowReference(manager, .integer(1)))
        XCTAssertNotEqual(RowReference(person, .integer(1)), RowReference(person, .integer(2)))
        XCTAssertNotEqual(RowReference(person, .integer(1)), RowReference(person, .text("1")))
        XCTAssertEqual(FetchWork.all, [.predicate, .order, .window])
        XCTAssertEqual([FetchWork.predicate, .order, .window, .count].map(\.rawValue), [1, 2, 4, 8])
        XCTAssertEqual([RowConflict.version, .unique].map(\.rawValue), [1, 2])
    }

    // MARK: Changes of a save

    func testSaveListsAddedRemovedAndReorderedMembers() throws {
        let changes = HostChanges(SaveAuthor(), names)
        let (friends, members) = (relationship("Person", "friends"), relationship("Team", "members"))
        func told() -> [String] {
            changes.memberChanges.map { change in
                func list(_ rows: [RowReference]) -> String { rows.map { "\($0.reference)" }.joined(separator: ",") }
                return
                    "\(change.owner.reference) \(change.relationship.name) +\(list(change.added)) -\(list(change.removed))"
                    + (change.members.map { " =\(list($0))" } ?? "")
            }
        }
        changes.link(friends, [Link(owner: 1, member: 2), Link(owner: 1, member: 2)], [Link(owner: 1, member: 3)])
        XCTAssertEqual(told(), ["1 friends +2 -3", "3 friends + -1", "2 friends +1 -"])
        changes.setOrder(members, [(owner: 7, members: [5, 4])])
        XCTAssertEqual(told().last, "7 members + - =5,4")
        // A deleted row is listed neither as an owner nor as an added member, but still as a removed one.
        changes.delete([(primaryKey: 2, version: 1), (primaryKey: 3, version: 1)], entity("Person"))
        XCTAssertEqual(told(), ["1 friends + -3", "7 members + - =5,4"])
        XCTAssertEqual(changes.deleted.map(\.row), [2, 3].map { RowReference(entity("Person"), .integer($0)) })
        XCTAssertTrue(changes.firstEntity === entity("Person"))
    }

    func testConflictIsRefusedForARowOutsideTheSave() throws {
        let changes = HostChanges(SaveAuthor(author: "me"), names)
        XCTAssertNil(changes.firstEntity)
        changes.delete([(primaryKey: 1, version: 3)], entity("Person"))
        changes.lock(2, 4, entity("Team"))
        XCTAssertEqual(changes.deleted.map(\.version), [3])
        XCTAssertEqual(changes.locked.map(\.version), [4])
        XCTAssertEqual(changes.author.author, "me")
        XCTAssertNoThrow(try changes.throwConflicts(in: "desk"))
        for row in [RowReference(entity("Person"), .integer(2)), RowReference(entity("Team"), .integer(1))] {
            let error = failure { try changes.addConflict(.version, row) }
            XCTAssertEqual(error.status, .invalidArgument)
            XCTAssertEqual(error.code, CocoaCode.persistentStoreSave.rawValue)
            XCTAssertEqual(error.entity, row.entity.name)
            XCTAssertEqual(error.value, row.reference.value)
        }
        XCTAssertTrue(changes.conflicts.isEmpty)
        try changes.addConflict(.unique, RowReference(entity("Person"), .integer(1)))
        try changes.addConflict(.version, RowReference(entity("Team"), .integer(2)))
        XCTAssertThrowsError(try changes.throwConflicts(in: "desk")) {
            guard case .reported(let reported)? = $0 as? SaveRejection else { return XCTFail("\($0)") }
            XCTAssertEqual(reported.rows.map(\.key), [2])
            XCTAssertEqual(reported.duplicateError?.status, .conflict)
            XCTAssertEqual(reported.duplicateError?.code, CocoaCode.managedObjectConstraintMerge.rawValue)
            XCTAssertEqual(reported.duplicateError?.entity, "Person")
            XCTAssertEqual(reported.duplicateError?.file, "desk")
        }
    }

    // MARK: Calls

    private struct Full: Error {}

    func testErrorOfACallbackIsWrappedOnce() {
        let calls = HostCalls(place)
        let wrapped = failure { try calls.run("fetch X", entity("Team")) { throw Full() } }
        XCTAssertEqual(wrapped.status, .callback)
        XCTAssertEqual(wrapped.code, CocoaCode.persistentStoreOperation.rawValue)
        XCTAssertEqual([wrapped.entity, wrapped.key, wrapped.file], ["Team", nil, "desk"])
        XCTAssertEqual(wrapped.message, "the Desk store desk could not fetch X: Full()")
        XCTAssertEqual(wrapped.children.map(\.status), [.callback])
        XCTAssertEqual(wrapped.children.map(\.domain), ["Host"])
        let own = CoreError(.storeIO, "no disk", entity: "Person", key: "age", value: .int(1))
        let kept = failure { try calls.run("save", code: .persistentStoreSave) { throw own } }
        XCTAssertEqual(kept.code, CocoaCode.persistentStoreSave.rawValue)
        XCTAssertEqual([kept.entity, kept.key], ["Person", "age"])
        XCTAssertEqual(kept.value, .int(1))
        XCTAssertEqual(kept.children.map(\.status), [.storeIO])
        // An error that is already wrapped is not wrapped again.
        let edge = CoreError(.callback, "outer", children: [CoreError(.storeIO, "inner")])
        XCTAssertEqual(failure { try calls.run("save") { throw edge } }.children.map(\.message), ["inner"])
    }

    func testStoreCannotBeReenteredFromItsCallback() throws {
        let calls = HostCalls(place)
        XCTAssertNoThrow(try calls.refuseReentry())
        try calls.run("x") {
            let error = failure { try calls.refuseReentry() }
            XCTAssertEqual(error.status, .invalidArgument)
            XCTAssertEqual(error.file, "desk")
            calls.notify {}
            XCTAssertThrowsError(try calls.refuseReentry(), "still within the outer call")
        }
        XCTAssertNoThrow(try calls.refuseReentry())
        XCTAssertThrowsError(try calls.run("x") { throw Full() })
        XCTAssertNoThrow(try calls.refuseReentry(), "still refused after a failed call")
        XCTAssertEqual(try calls.run("x") { 7 }, 7)
    }

    func testClosedStoreIsNotCalled() {
        let calls = HostCalls(place)
        var called: [String] = []
        calls.notify { called.append("notice") }
        calls.close { called.append("close") }
        calls.close { called.append("close") }
        calls.notify { called.append("notice") }
        let error = failure { try calls.run("x") { called.append("x") } }
        XCTAssertEqual(called, ["notice", "close"])
        XCTAssertEqual(error.status, .objectGone)
        XCTAssertEqual(error.code, CocoaCode.managedObjectReferentialIntegrity.rawValue)
        XCTAssertEqual(error.file, "desk")
    }

    // MARK: Requests

    func testStoreReceivesTheFetchRequest() throws {
        let person = entity("Person")
        for (result, isForDictionaries, wanted) in [
            (.rows, false, .objects), (.rows, true, .dictionaries), (.identifiers, false, .objectIDs),
            (.count, false, .count),
        ] as [(StoreFetch.Result, Bool, FetchRequestTemplate.ResultType)] {
            var fetch = StoreFetch(
                entity: person, includesSubentities: result == .rows, predicate: nil,
                sortDescriptors: [.init("-age")], limit: 3, offset: 2, result: result)
            fetch.isForDictionaries = isForDictionaries
            let request = FetchRequest(fetch)
            XCTAssertEqual(request.resultType, wanted)
            XCTAssertEqual(request.includesSubentities, result == .rows)
            XCTAssertEqual([request.limit, request.offset], [3, 2])
            XCTAssertEqual(request.sortDescriptors.map(\.ascending), [false])
            XCTAssertTrue(request.entity === person)
        }
    }
}
