import Corestone
import XCTest

/// Conflicts of two contexts that change the same object, and merge policies.
final class MergePolicyTests: GraphTestCase {
    private var second: Context!
    private var ada: ManagedObject!
    private var same: ManagedObject!

    /// Ada with age 30 and rating 1000, read by both contexts.
    override func setUpWithError() throws {
        try super.setUpWithError()
        ada = try employee("Ada")
        try ada.set(["age": 30])
        try context.save()
        second = other()
        same = try second.object(with: ada.objectID)
        XCTAssertEqual(try same.get("age"), 30)
    }

    /// The first context saves age 31 and rating 2000. The second sets age 40 and a name, and saves with `policy`.
    private func collide(_ policy: MergePolicy) throws {
        try ada.set(["age": 31, "rating": 2000.0])
        try context.save()
        try same.set(["age": 40, "name": "Eva"])
        second.mergePolicy = policy
        try second.save()
    }

    private func stored() throws -> [String] {
        let object = try other().fetch("Employee")[0]
        return try [object.get("name") ?? "", "\(object.get("age") ?? 0)", "\(object.get("rating") ?? 0.0)"]
    }

    private func held(_ object: ManagedObject) throws -> [String] {
        try [object.get("name") ?? "", "\(object.get("age") ?? 0)", "\(object.get("rating") ?? 0.0)"]
    }

    func testPolicyOfOneSaveDoesNotReplaceTheContextsPolicy() throws {
        try ada.set(["age": 31])
        try context.save()
        try same.set(["age": 40])
        XCTAssertThrowsError(try second.save(merging: .error))
        XCTAssert(second.mergePolicy === MergePolicy.error)
        try second.save(merging: .objectTrump)
        XCTAssert(second.mergePolicy === MergePolicy.error)
        XCTAssertEqual(try stored()[1], "40")
        second.mergePolicy = .storeTrump
        try same.set(["age": 41])
        XCTAssertNoThrow(try second.save(merging: .rollback))
        XCTAssert(second.mergePolicy === MergePolicy.storeTrump)
    }

    func testS148SharedPoliciesHaveTheirTypes() {
        let all = [MergePolicy.error, .storeTrump, .objectTrump, .overwrite, .rollback]
        XCTAssertEqual(all.map(\.type.rawValue), [0, 1, 2, 3, 4])
        for policy in all { XCTAssert(MergePolicy.standard(policy.type) === policy) }
        XCTAssert(context.mergePolicy === MergePolicy.error)
    }

    func testS151StoreTrumpKeepsTheStoredValueOfAPropertyInConflict() throws {
        try collide(.storeTrump)
        XCTAssertEqual(try held(same), ["Eva", "31", "2000.0"])
        XCTAssertEqual(try stored(), ["Eva", "31", "2000.0"])
        XCTAssertFalse(second.hasChanges)
    }

    func testObjectTrumpKeepsTheObjectsValueOfAPropertyInConflict() throws {
        try collide(.objectTrump)
        XCTAssertEqual(try held(same), ["Eva", "40", "2000.0"])
        XCTAssertEqual(try stored(), ["Eva", "40", "2000.0"])
    }

    func testValueSetToItsCommittedValueDoesNotConflict() throws {
        try ada.set(["age": 31])
        try context.save()
        try same.set(["age": 30, "name": "Eva"])
        second.mergePolicy = .objectTrump
        try second.save()
        XCTAssertEqual(try held(same), ["Eva", "31", "1000.0"])
        XCTAssertEqual(try stored(), ["Eva", "31", "1000.0"])
    }

    func testStoreTrumpKeepsTheStoredOrder() throws {
        func titles(_ project: ManagedObject) throws -> [String] {
            try project.members("tasks").map { try $0.get("title") ?? "" }
        }
        let project = try context.insert("Project", ["title": "p"])
        let tasks = try ["a", "b", "c"].map { try context.insert("Task", ["title": $0]) }
        try project.setMembers(tasks, of: "tasks")
        try context.save()
        let again = try second.object(with: project.objectID)
        XCTAssertEqual(try titles(again), ["a", "b", "c"])
        try project.setMembers([tasks[2], tasks[0], tasks[1]], of: "tasks")
        try context.save()
        let own = try again.members("tasks")
        try again.setMembers([own[1], own[0], own[2]], of: "tasks")
        second.mergePolicy = .storeTrump
        try second.save()
        XCTAssertEqual(try titles(again), ["c", "a", "b"])
        XCTAssertEqual(try titles(other().object(with: project.objectID)), ["c", "a", "b"])
    }

    func testOverwriteWritesTheWholeObject() throws {
        try collide(.overwrite)
        XCTAssertEqual(try held(same), ["Eva", "40", "1000.0"])
        XCTAssertEqual(try stored(), ["Eva", "40", "1000.0"])
    }

    func testS154RollbackPolicyKeepsTheStoredState() throws {
        try collide(.rollback)
        XCTAssertEqual(try held(same), ["Ada", "31", "2000.0"])
        XCTAssertEqual(try stored(), ["Ada", "31", "2000.0"])
        XCTAssertFalse(same.hasChanges)
        XCTAssertFalse(try same.isChanged("age"))
        XCTAssertFalse(second.hasChanges)
    }

    func testConflictErrorContainsCommittedCurrentAndStoredValues() throws {
        var thrown: CoreError?
        XCTAssertThrowsError(try collide(.error)) { thrown = $0 as? CoreError }
        let error = try XCTUnwrap(thrown)
        let conflict = try XCTUnwrap(error.conflicts.first as? MergeConflict)
        XCTAssertEqual(error.code, 133020)
        XCTAssert(error.message.contains("age was 30, is 40 here, 31 in the store"), error.message)
        XCTAssert(error.message.contains("rating was 1000, is 2000 in the store"), error.message)
        XCTAssert(error.message.contains("name was \"Ada\", is \"Eva\" here"), error.message)
        XCTAssertEqual([conflict.oldVersion, conflict.newVersion], [1, 2])
        XCTAssertEqual(conflict.kind, .context)
        XCTAssertNil(conflict.persistedSnapshot)
        XCTAssertEqual(conflict.cachedSnapshot?["age"], .int(31))
        XCTAssertEqual(conflict.currentSnapshot["age"], .int(40))
        XCTAssertEqual(conflict.objectSnapshot["age"], .int(30))
        XCTAssertNil(conflict.objectSnapshot["projects"])
        XCTAssert(conflict.sourceObject === same)
        XCTAssertEqual(Set(conflict.differences.map(\.key)), ["age", "rating", "name"])
        XCTAssertEqual(conflict.differences.filter(\.isContested).map(\.key), ["age"])
        XCTAssertThrowsError(try conflict.resolve(as: .objectTrump))
        XCTAssertTrue(same.hasChanges)
        second.mergePolicy = .objectTrump
        try second.save()
        XCTAssertEqual(try stored(), ["Eva", "40", "2000.0"])
    }

    func testSeveralConflictsAreReportedInOneError() throws {
        let bob = try employee("Bob")
        try context.save()
        let bobToo = try second.object(with: bob.objectID)
        try bobToo.set("age", 1)
        try bob.set("age", 2)
        XCTAssertThrowsError(try collide(.error)) {
            let error = $0 as? CoreError
            XCTAssertEqual(error?.conflicts.count, 2)
            XCTAssertEqual(error?.children.count, 2)
            XCTAssert(error?.message.contains("2 conflicts") == true)
            XCTAssert(error?.message.contains("is 1 here, 2 in the store") == true, error?.message ?? "")
        }
    }

    func testChangeByAnotherCoordinatorIsAStoreConflict() throws {
        // Another coordinator of the same store.
        let elsewhere = Context(coordinator: try Coordinator(model: model))
        _ = try elsewhere.coordinator.add(store)
        let theirs = try elsewhere.fetch("Employee")[0]
        try theirs.set("age", 50)
        try elsewhere.save()
        try same.set("age", 40)
        XCTAssertThrowsError(try second.save()) {
            let conflict = ($0 as? CoreError)?.conflicts.first as? MergeConflict
            XCTAssertEqual(conflict?.kind, .store)
            XCTAssertEqual(conflict?.cachedSnapshot?["age"], .int(30))
            XCTAssertEqual(conflict?.persistedSnapshot?["age"], .int(50))
        }
    }

    func testCustomPolicyCanMergeValues() throws {
        let policy = MergePolicy(type: .error) { conflicts in
            for case let conflict as MergeConflict in conflicts {
                try conflict.resolve(as: .objectTrump)
                let age = conflict.differences.first { $0.key == "age" }
                if case .int(let base)? = age?.base, case .int(let mine)? = age?.mine,
                    case .int(let theirs)? = age?.theirs
                {
                    try conflict.sourceObject?.set("age", mine + theirs - base)
                }
            }
        }
        try collide(policy)
        XCTAssertEqual(try stored(), ["Eva", "41", "2000.0"])
    }

    func testPolicySubclassFallsBackToItsType() throws {
        final class Careful: MergePolicy, @unchecked Sendable {
            override func resolve(_ conflicts: [SaveConflict]) throws {
                for conflict in conflicts where conflict.objectIDs[0].entity.name == "Department" {
                    try conflict.resolve(as: .rollback)
                }
                try super.resolve(conflicts)
            }
        }
        try collide(Careful(type: .storeTrump))
        XCTAssertEqual(try stored(), ["Eva", "31", "2000.0"])
    }

    func testErrorOfACustomPolicyFailsTheSave() throws {
        struct No: Error {}
        XCTAssertThrowsError(try collide(MergePolicy(type: .objectTrump) { _ in throw No() })) { XCTAssert($0 is No) }
        XCTAssertEqual(try same.get("age"), 40)
        XCTAssertTrue(same.hasChanges)
    }

    func testCustomPolicyCannotSaveTheContext() throws {
        let context: Context = second
        XCTAssertThrowsError(try collide(MergePolicy(type: .objectTrump) { _ in try context.save() })) {
            XCTAssertEqual(($0 as? CoreError)?.status, .invalidArgument)
        }
    }

    /// Calls that would discard changes of the save in progress.
    func testCustomPolicyCannotDiscardChanges() throws {
        let context: Context = second
        let drops: [@Sendable () throws -> Void] = [
            { try context.reset() }, { try context.rollback() }, { try context.refreshAll() },
        ]
        for drop in drops {
            XCTAssertThrowsError(try collide(MergePolicy(type: .objectTrump) { _ in try drop() })) {
                XCTAssertEqual(($0 as? CoreError)?.status, .invalidArgument)
            }
        }
    }

    func testMergedStateIsValidated() throws {
        try ada.set("name", "Bea")
        try context.save()
        try same.set("age", 5)
        second.mergePolicy = MergePolicy(type: .objectTrump) { conflicts in
            for conflict in conflicts { try conflict.objects.first?.set("name", nil as String?) }
        }
        XCTAssertThrowsError(try second.save()) { XCTAssertEqual(($0 as? CoreError)?.code, 1570) }
        XCTAssertEqual(try other().fetch("Employee")[0].get("age"), 30)
    }

    // MARK: Deleted rows

    private func deleteElsewhere() throws {
        try context.delete(ada)
        try context.save()
    }

    func testUpdateOfARowDeletedElsewhereIsAConflict() throws {
        try deleteElsewhere()
        try same.set("age", 40)
        XCTAssertThrowsError(try second.save()) {
            let conflict = ($0 as? CoreError)?.conflicts.first as? MergeConflict
            XCTAssertEqual(conflict?.newVersion, 0)
            XCTAssertNil(conflict?.persistedSnapshot)
            XCTAssertNil(conflict?.cachedSnapshot)
        }
    }

    func testDeletionOfARowDeletedElsewhereSucceeds() throws {
        for policy in MergePolicyType.allCases {
            let eva = try employee("Eva")
            try context.save()
            let mine = other()
            let copy = try mine.object(with: eva.objectID)
            XCTAssertEqual(try copy.get("name"), "Eva")
            try copy.set("age", 40)
            try mine.delete(copy)
            try context.delete(eva)
            try context.save()
            mine.mergePolicy = .standard(policy)
            try mine.save()
            XCTAssertFalse(mine.hasChanges)
            XCTAssertTrue(copy.isGone)
        }
    }

    func testUpdateOfARowDeletedElsewhereIsDiscardedOrReinserted() throws {
        let id = same.objectID
        try deleteElsewhere()
        try same.set("age", 40)
        second.mergePolicy = .storeTrump
        try second.save()
        XCTAssertTrue(same.isGone)
        XCTAssertEqual(try other().count("Employee"), 0)
        let eva = try employee("Eva")
        try context.save()
        for policy in [MergePolicy.overwrite, .objectTrump] {
            let mine = other()
            let copy = try mine.object(with: eva.objectID)
            try copy.set("age", 41)
            let theirs = other()
            try theirs.delete(theirs.object(with: eva.objectID))
            try theirs.save()
            mine.mergePolicy = policy
            try mine.save()
            XCTAssertEqual(copy.objectID, eva.objectID)
            XCTAssertEqual(try stored(), ["Eva", "41", "1000.0"])
            XCTAssertFalse(mine.hasChanges)
        }
        XCTAssertNotEqual(id, eva.objectID)
    }

    func testPolicyResolvesDeletionOfARowChangedElsewhere() throws {
        for policy in [MergePolicy.rollback, .objectTrump] {
            try ada.set("age", (ada.get("age") ?? 0) + 1)
            try context.save()
            try second.delete(same)
            second.mergePolicy = policy
            try second.save()
            XCTAssertFalse(second.hasChanges)
            XCTAssertEqual(try other().count("Employee"), policy === MergePolicy.rollback ? 1 : 0)
            if policy === MergePolicy.rollback { XCTAssertEqual(try same.get("age"), 31) }
        }
    }

    /// The delete rules apply to members that another context added in between.
    func testDeleteRulesApplyToMembersAddedElsewhere() throws {
        let all = [MergePolicy.storeTrump, .objectTrump, .overwrite, .rollback]
        for (policy, isKnown) in all.flatMap({ [($0, false), ($0, true)] }) {
            let lab = try department("Lab")
            try ada.set("department", nil)
            try context.save()
            let mine = other()
            let known = try isKnown ? mine.fetch("Employee", "department == nil") : []
            XCTAssertEqual(try known.map { try $0.get("name") }, isKnown ? ["Ada"] : [])
            let copy = try mine.object(with: lab.objectID)
            XCTAssertEqual(try copy.memberCount("employees"), 0)
            try ada.set("department", lab)
            try context.save()
            try mine.delete(copy)
            mine.mergePolicy = policy
            try mine.save()
            let employee = try XCTUnwrap(try other().fetch("Employee").first)
            let found = try employee.get("department", as: ManagedObject.self)
            XCTAssertEqual(
                found?.objectID, policy === MergePolicy.rollback ? lab.objectID : nil, "\(policy.type) \(isKnown)")
            XCTAssertEqual(try other().count("Employee", "department != nil"), found == nil ? 0 : 1)
            try context.refreshAll()
        }
    }

    // MARK: Relationships

    func testToManyRelationshipsAreMergedByAddedAndRemovedMembers() throws {
        let titles = try ["a", "b", "c"].map { try context.insert("Project", ["title": $0]) }
        try ada.setMembers([titles[0], titles[1]], of: "projects")
        try context.save()
        try second.refresh(same, mergeChanges: false)
        let mine = try titles.map { try second.object(with: $0.objectID) }
        XCTAssertEqual(try same.memberCount("projects"), 2)
        try ada.remove(titles[0], from: "projects")
        try context.save()
        try same.add(mine[2], to: "projects")
        for policy in [MergePolicy.error, .storeTrump] {
            second.mergePolicy = policy
            if policy.type == .error { XCTAssertThrowsError(try second.save()) } else { try second.save() }
        }
        let left = try other().fetch("Employee")[0].members("projects")
        XCTAssertEqual(try left.map { try $0.get("title") ?? "" }.sorted(), ["b", "c"])
        XCTAssertEqual(try same.members("projects").map { try $0.get("title") ?? "" }.sorted(), ["b", "c"])
    }

    func testMergePolicyUpdatesInversesOfAToOneConflict() throws {
        let all = try ["A", "B", "C"].map { try department($0) }
        try ada.set("department", all[0])
        try context.save()
        for (policy, winner) in [
            (MergePolicy.storeTrump, "C"), (.objectTrump, "B"), (.overwrite, "B"), (.rollback, "C"),
        ] {
            try ada.set("department", all[0])
            context.mergePolicy = .objectTrump
            try context.save()
            try context.refreshAll()
            let mine = other()
            let copy = try mine.object(with: ada.objectID)
            let departments = try all.map { try mine.object(with: $0.objectID) }
            XCTAssertEqual(try copy.get("department.name"), "A")
            for each in departments { _ = try each.memberCount("employees") }
            try ada.set("department", all[2])
            try context.save()
            try copy.set("department", departments[1])
            mine.mergePolicy = policy
            try mine.save()
            XCTAssertEqual(try copy.get("department.name"), winner, "\(policy.type)")
            XCTAssertEqual(try other().fetch("Employee")[0].get("department.name"), winner)
            for each in departments {
                let isHere = try each.get("name") == winner
                XCTAssertEqual(try each.memberCount("employees"), isHere ? 1 : 0, "\(policy.type)")
            }
            XCTAssertFalse(mine.hasChanges)
        }
    }

    // MARK: Locked objects

    func testSaveChecksObjectsMarkedForConflictDetection() throws {
        try second.detectConflicts(for: same)
        try second.save()
        let eva = try second.insert("Employee", ["name": "Eva"])
        try second.detectConflicts(for: same)
        try ada.set("age", 31)
        try context.save()
        XCTAssertThrowsError(try second.save()) {
            XCTAssertEqual(($0 as? CoreError)?.code, 133020)
            XCTAssertEqual(($0 as? CoreError)?.conflicts.first?.objectIDs, [same.objectID])
        }
        XCTAssertTrue(eva.isInserted, "nothing was written")
        second.mergePolicy = .objectTrump
        try second.save()
        XCTAssertEqual(try same.get("age"), 31)
        XCTAssertFalse(eva.isInserted)
        try ada.set("age", 32)
        try context.save()
        second.mergePolicy = .error
        try second.save()
        _ = try second.insert("Employee", ["name": "Bob"])
        try second.save()
    }

    /// A discarded deletion is undone completely, also for objects whose relationships another context changed.
    func testRolledBackDeletionKeepsMembersChangedElsewhere() throws {
        for isOrdered in [false, true] {
            let model = Model()
            let (item, tag) = (try model.addEntity(named: "Item"), try model.addEntity(named: "Tag"))
            let tags = try item.addRelationship(named: "tags", destination: tag, isToMany: true)
            try tags.setInverse(
                try tag.addRelationship(named: "items", destination: item, isToMany: true, isOrdered: isOrdered))
            let coordinator = try Coordinator(model: model)
            try coordinator.addStore(.inMemory, at: "memory")
            let (mine, others) = (Context(coordinator: coordinator), Context(coordinator: coordinator))
            mine.automaticallyMergesChangesFromParent = true
            mine.mergePolicy = .rollback
            let theirs = try others.insert("Tag")
            let left = try others.insert("Item")
            try left.add(theirs, to: "tags")
            try others.save()
            let deleted = try XCTUnwrap(try mine.fetch("Tag").first)
            _ = try deleted.members("items")
            try mine.delete(deleted)
            try mine.processPendingChanges()
            try others.insert("Item").add(theirs, to: "tags")
            try left.setMembers([], of: "tags")
            try others.save()
            try mine.processPendingChanges()
            _ = try mine.fetch("Item").map { try $0.members("tags") }
            try mine.save()
            let fresh = Context(coordinator: coordinator)
            XCTAssertEqual(try fresh.count("Tag"), 1)
            XCTAssertEqual(
                try fresh.fetch("Item").map { try $0.members("tags").count }.sorted(), [0, 1], "ordered \(isOrdered)")
            XCTAssertEqual(try deleted.members("items").count, 1, "ordered \(isOrdered)")
        }
    }
}
