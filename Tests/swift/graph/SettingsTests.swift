import Corestone
import CorestoneValues
import XCTest

@testable import CorestoneGraph

/// Defaults of contexts, stores and requests, and valid values of their settings.
final class SettingsTests: GraphTestCase {
    // MARK: Contexts

    func testNewContextHasDefaultSettings() throws {
        let context = Corestone.Context(coordinator: coordinator, file: "Here.swift", line: 3)
        XCTAssertEqual(context.queueType, .caller)
        XCTAssertNil(context.parent)
        XCTAssertNil(context.name)
        XCTAssertEqual(context.origin, CallSite(file: "Here.swift", line: 3))
        XCTAssertNil(context.transactionAuthor)
        XCTAssertEqual(context.mergePolicy.type, .error)
        XCTAssertNil(context.userInfo)
        XCTAssertTrue(context.propagatesDeletesAtEndOfEvent)
        XCTAssertTrue(context.shouldDeleteInaccessibleFaults)
        XCTAssertNil(context.inaccessibleFaultHandler)
        XCTAssertEqual(context.stalenessInterval, -1)
        XCTAssertEqual(context.faultBatchSize, 256)
        XCTAssertNil(context.callSite)
        XCTAssertFalse(context.retainsRegisteredObjects)
        XCTAssertEqual(context.faultPolicy, .batch)
        XCTAssertFalse(context.countsSingleFaults)
        XCTAssertEqual(context.singleFaultReport, "")
        XCTAssertTrue(context.automaticallyMergesBatchChanges)
        XCTAssertFalse(context.automaticallyMergesRemoteChanges)
        XCTAssertFalse(context.automaticallyMergesChangesFromParent)
        XCTAssertNil(context.undoManager)
        XCTAssertNil(context.queryGenerationToken)
        XCTAssertTrue(context.isTracking)
        XCTAssertFalse(context.isClosed)
        XCTAssertFalse(context.hasChanges || context.hasPersistentChanges)
        XCTAssertEqual(context.registeredObjects, [])
    }

    /// Handlers and the user info of the application are cleared. Other settings are kept.
    func testReleaseOfTheHostClearsHandlersAndUserInfo() {
        context.userInfo = 7
        context.inaccessibleFaultHandler = { _, _, _ in true }
        context.interruptCheck = { false }
        context.callSiteFinder = { nil }
        context.transactionAuthor = "me"
        context.mergePolicy = .overwrite
        context.detachHost()
        XCTAssertNil(context.userInfo)
        XCTAssertNil(context.inaccessibleFaultHandler)
        XCTAssertNil(context.interruptCheck)
        XCTAssertNil(context.callSiteFinder)
        XCTAssertEqual(context.transactionAuthor, "me")
        XCTAssertEqual(context.mergePolicy.type, .overwrite)
    }

    func testRowsExpireWhenTheStalenessIntervalIsNotNegative() {
        for (interval, isAsked) in [(0.0, 1), (-0.5, 0), (2.5, 1), (-1, 0)] as [(Double, UInt64)] {
            context.stalenessInterval = interval
            XCTAssertEqual(context.stalenessInterval, interval)
            XCTAssertEqual(context.owner[1], isAsked, "\(interval)")
        }
    }

    func testFaultBatchSizeIsLimitedTo65536() throws {
        for size in [1, 65_536, 300] {
            try context.setFaultBatchSize(size)
            XCTAssertEqual(context.faultBatchSize, size)
        }
        for size in [0, -1, 65_537] {
            XCTAssertThrowsError(try context.setFaultBatchSize(size)) { error in
                XCTAssertEqual((error as? CoreError)?.status, .invalidArgument)
                XCTAssertEqual((error as? CoreError)?.value, .int(Int64(size)))
            }
        }
        XCTAssertEqual(context.faultBatchSize, 300)
    }

    func testFaultPolicyAndCountingAreIndependent() {
        context.faultPolicy = .warn
        XCTAssertFalse(context.countsSingleFaults)
        context.countsSingleFaults = true
        context.faultPolicy = .batch
        XCTAssertTrue(context.countsSingleFaults, "counting is still enabled")
        context.countsSingleFaults = false
        XCTAssertNil(context.faultState.watch, "the watch is removed")
        context.faultPolicy = .error
        XCTAssertEqual(context.faultPolicy, .error)
    }

    // MARK: Single faults

    func testSingleFaultDescriptionContainsRelationshipCountAndCallSite() {
        func line(_ relationship: String?, _ site: CallSite?, _ count: Int) -> String {
            SingleFaults(entity: "Employee", relationship: relationship, site: site, count: count).description
        }
        let here = CallSite(file: "a.swift", line: 7)
        XCTAssertEqual(line("department", here, 2), "Employee.department: 2 single faults, a.swift:7")
        XCTAssertEqual(line("department", nil, 1), "Employee.department: 1 single fault")
        XCTAssertEqual(line(nil, here, 0), "Employee: 0 single faults, a.swift:7")
        XCTAssertEqual(
            SingleFaults(entity: "E", relationship: "r", site: here, count: 3).report,
            .dictionary([
                "entity": .string("E"), "relationship": .string("r"), "count": .int(3), "file": .string("a.swift"),
                "line": .int(7),
            ]))
        XCTAssertEqual(
            SingleFaults(entity: "E", relationship: nil, site: nil, count: 3).report,
            .dictionary(["entity": .string("E"), "relationship": .null, "count": .int(3), "file": .null, "line": .null])
        )
    }

    func testSingleFaultReportListsMostFaultsFirst() throws {
        let (ada, rAndD) = (try employee("Ada"), try department("R&D"))
        let inDepartment = try XCTUnwrap(ada.entity.property(named: "department") as? Relationship)
        let friends = try XCTUnwrap(ada.entity.property(named: "friends") as? Relationship)
        let watch = FaultWatch()
        watch.beginCounting()
        for _ in 0..<2 { try watch.applyPolicy(ada, along: friends, at: CallSite(file: "z", line: 1)) }
        for _ in 0..<2 { try watch.applyPolicy(rAndD, along: inDepartment, at: CallSite(file: "b", line: 1)) }
        for _ in 0..<2 { try watch.applyPolicy(rAndD, along: inDepartment, at: CallSite(file: "a", line: 1)) }
        for _ in 0..<3 { try watch.applyPolicy(rAndD, along: nil, at: nil) }
        try watch.applyPolicy(ada, along: nil, at: nil)
        XCTAssertEqual(
            watch.report.map(\.description),
            [
                "Department: 3 single faults", "Employee.department: 2 single faults, a:1",
                "Employee.department: 2 single faults, b:1", "Employee.friends: 2 single faults, z:1",
                "Employee: 1 single fault",
            ])
        watch.beginCounting()
        XCTAssertEqual(watch.report, [])
    }

    // MARK: Unsaved changes

    private func unsaved(_ entities: [String: UnsavedChanges.Counts]?) -> UnsavedChanges {
        UnsavedChanges(context: "context \"view\"", name: "view", origin: nil, entities: entities)
    }

    func testUnsavedChangesAreDescribedByEntityAndKind() {
        let some = unsaved(["B": .init(inserted: 2, deleted: 1), "A": .init(updated: 3)])
        XCTAssertEqual(some.text, "3 A updated, 2 B inserted, 1 B deleted")
        XCTAssertEqual(some.counts, .init(inserted: 2, updated: 3, deleted: 1))
        XCTAssertEqual(some.error.status, .unsavedChanges)
        XCTAssertEqual(
            some.error.message,
            "context \"view\" has unsaved changes: 3 A updated, 2 B inserted, 1 B deleted; call cst_context_save "
                + "(save) or cst_context_rollback (rollback) first"
        )
        XCTAssertNil(some.error.entity, "changes of two entities")
        XCTAssertEqual(unsaved(["A": .init(updated: 3)]).error.entity, "A")
        let unknown = unsaved(nil)
        XCTAssertNil(unknown.counts)
        XCTAssertEqual(
            unknown.error.message,
            "context \"view\" may have unsaved changes, but the calling thread cannot count them; call "
                + "cst_context_save (save) or cst_context_rollback (rollback) on a thread that can use the context")
        XCTAssertNil(unknown.error.entity)
    }

    func testUnsavedChangesListAtMostTwelveEntities() {
        func entities(_ count: Int) -> [String: UnsavedChanges.Counts] {
            Dictionary(uniqueKeysWithValues: (10..<10 + count).map { ("E\($0)", .init(inserted: 1)) })
        }
        let twelve = (10..<22).map { "1 E\($0) inserted" }.joined(separator: ", ")
        XCTAssertEqual(unsaved(entities(12)).text, twelve)
        XCTAssertEqual(unsaved(entities(13)).text, twelve + ", and objects of 1 more entity")
        XCTAssertEqual(unsaved(entities(20)).text, twelve + ", and objects of 8 more entities")
    }

    func testUnsavedChangesErrorHasADetailForEachContext() {
        let one = unsaved(["A": .init(inserted: 1)])
        let own = UnsavedChanges.refusal("context \"view\"", [one])
        XCTAssertEqual(
            own.message,
            "context \"view\" stays open because it has unsaved changes: 1 A inserted; call "
                + "cst_context_save (save) or cst_context_rollback (rollback) on the context, or close with "
                + "CST_UNSAVED_DISCARD (.discard)")
        XCTAssertEqual(own.code, 134030)
        XCTAssertEqual(own.entity, "A")
        XCTAssertEqual(own.children.count, 1)
        let several = UnsavedChanges.refusal("the coordinator", [one, unsaved(nil)])
        XCTAssertNil(several.entity)
        XCTAssertEqual(several.children.map(\.entity), ["A", nil])
        XCTAssertEqual(
            several.message,
            "the coordinator stays open because context \"view\" has unsaved changes: 1 A inserted, and context \"view\" may "
                + "have unsaved changes, but the calling thread cannot count them; "
                + "call cst_context_save (save) or cst_context_rollback (rollback) on each context, or close with "
                + "CST_UNSAVED_DISCARD (.discard)")
    }

    // MARK: Stores

    func testStoreOptionsHaveDefaults() {
        let options = StoreOptions()
        XCTAssertFalse(options.isReadOnly || options.mustExist || options.normalSync || options.keepsHistory)
        XCTAssertFalse(options.rollbackJournal || options.postsOwnChanges || options.analyzes || options.vacuums)
        XCTAssertFalse(options.ignoresVersioning || options.forcesDestruction)
        XCTAssertEqual(options.busyTimeoutMilliseconds, 5000)
        XCTAssertEqual(options.watchIntervalMilliseconds, 0)
        XCTAssertEqual(options.cacheKilobytes, 32768)
        XCTAssertEqual(options.maximumConnections, 8)
        XCTAssertEqual(options.externalDataThreshold, 102_400)
        XCTAssertNil(options.fileMode)
        XCTAssertNil(options.configuration)
        XCTAssertTrue(options.pragmas.isEmpty && options.foreignOptions.isEmpty && options.hostOptions.isEmpty)
        XCTAssertTrue(StoreOptions.readOnly.isReadOnly)
        XCTAssertFalse(StoreOptions.readOnly.mustExist)
    }

    func testFileModeMustBeReadableAndWritableForTheOwner() throws {
        var options = StoreOptions()
        for mode: UInt32? in [nil, 0o600, 0o640, 0o777, 0o660] {
            options.fileMode = mode
            XCTAssertNoThrow(try options.requireUsableFileMode("a"))
        }
        for mode: UInt32 in [0, 0o400, 0o200, 0o577, 0o377, 0o1600, 0o100600] {
            options.fileMode = mode
            XCTAssertThrowsError(try options.requireUsableFileMode("a")) { error in
                let error = error as? CoreError
                XCTAssertEqual(error?.status, .invalidArgument)
                XCTAssertEqual(error?.code, 134080)
                XCTAssertEqual(error?.key, "file_mode")
                XCTAssertEqual(error?.value, .int(Int64(mode)))
                XCTAssertEqual(error?.file, "a")
            }
        }
    }

    func testStoreLimitsHaveDefaultsAndBounds() throws {
        let first = StoreLimits()
        XCTAssertEqual(first.valueBytes, 67_108_864)
        XCTAssertEqual(first.expressionBytes, 134_217_728)
        XCTAssertEqual(first.steps, 200_000_000)
        XCTAssertEqual(first.externalBytes, 2_147_483_647)
        XCTAssertEqual(StoreLimits.names, ["value_limit", "memory_limit", "step_limit", "external_limit"])
        let bounds: [(name: String, lowest: Int, highest: Int, takes: String)] = [
            ("value_limit", 65_536, 1_000_000_000, "must be 65536 to 1000000000"),
            ("memory_limit", 1_048_576, .max, "must be 1048576 or more"),
            ("step_limit", 10_000, .max, "must be 10000 or more"),
            ("external_limit", 1, .max, "must be 1 or more"),
        ]
        for (name, lowest, highest, takes) in bounds {
            for value in [lowest, highest] {
                var limits = StoreLimits()
                XCTAssertTrue(limits.set(name, to: value))
                XCTAssertNotEqual(limits, first)
                XCTAssertNoThrow(try limits.check("a"), "\(name) \(value)")
            }
            for value in [lowest - 1, -1] + (highest < .max ? [highest + 1] : []) {
                var limits = StoreLimits()
                XCTAssertTrue(limits.set(name, to: value))
                XCTAssertThrowsError(try limits.check("a"), "\(name) \(value)") { error in
                    let error = error as? CoreError
                    XCTAssertEqual(error?.key, name)
                    XCTAssertEqual(error?.value, .int(Int64(value)))
                    XCTAssertEqual(error?.message, "the \(name) for a is \(value), but \(takes)")
                    XCTAssertEqual(error?.code, 134080)
                }
            }
        }
        var limits = StoreLimits()
        XCTAssertFalse(limits.set("row_limit", to: 1))
        XCTAssertEqual(limits, first)
    }

    // MARK: Requests

    /// A copy has the same value of every property.
    func testCopyOfARequestHasAllProperties() throws {
        let request = FetchRequest(entityName: "Employee")
        request.affectedStores = coordinator.stores
        request.predicate = try Predicate.parse("age > 3")
        request.sortDescriptors = [SortDescriptor("-age")]
        (request.limit, request.offset, request.batchSize) = (7, 2, 20)
        request.resultType = .objectIDs
        request.includesSubentities = false
        request.includesPendingChanges = false
        request.includesPropertyValues = false
        request.returnsObjectsAsFaults = false
        request.shouldRefreshRefetchedObjects = true
        request.relationshipKeyPathsForPrefetching = ["department"]
        request.propertiesToFetch = ["name"]
        request.propertiesToGroupBy = ["age"]
        request.havingPredicate = try Predicate.parse("age > 4")
        request.returnsDistinctResults = true
        request.computesRowsInMemory = true
        (request.nulls, request.allowsSplit) = (.database, false)
        let copy = request.copy()
        XCTAssertEqual(copy.entityName, "Employee")
        XCTAssertTrue(copy.affectedStores?.first === coordinator.stores[0])
        XCTAssertEqual(copy.template, request.template)
        XCTAssertEqual([copy.limit, copy.offset, copy.batchSize], [7, 2, 20])
        XCTAssertEqual(copy.resultType, .objectIDs)
        XCTAssertFalse(copy.includesSubentities || copy.includesPendingChanges || copy.includesPropertyValues)
        XCTAssertFalse(copy.returnsObjectsAsFaults || copy.allowsSplit)
        XCTAssertTrue(copy.shouldRefreshRefetchedObjects && copy.returnsDistinctResults && copy.computesRowsInMemory)
        XCTAssertEqual(copy.relationshipKeyPathsForPrefetching, ["department"])
        XCTAssertEqual(copy.propertiesToFetch.map(\.name), ["name"])
        XCTAssertEqual(copy.propertiesToGroupBy, ["age"])
        XCTAssertEqual(copy.havingPredicate, request.havingPredicate)
        XCTAssertEqual(copy.nulls, .database)
        XCTAssertTrue(copy.isOrderGiven)
        XCTAssertFalse(FetchRequest().copy().isOrderGiven)
        let unordered = FetchRequest()
        unordered.sortDescriptors = []
        XCTAssertTrue(unordered.copy().isOrderGiven, "an empty order was set explicitly")
    }

    func testRequestTakesAnEntityOrAName() throws {
        let entity = try model.requireEntity(named: "Employee")
        let request = FetchRequest(entity: entity)
        XCTAssertEqual(request.entityName, "Employee")
        request.entityName = "Project"
        XCTAssertNil(request.entity)
        XCTAssertEqual(request.entityName, "Project")
        request.entity = entity
        XCTAssertEqual(request.entityName, "Employee")
        request.entity = nil
        XCTAssertNil(request.entityName)
        XCTAssertThrowsError(try context.fetch(request)) {
            XCTAssertEqual(($0 as? CoreError)?.status, .invalidArgument)
            XCTAssertNil(($0 as? CoreError)?.entity)
        }
        let others = try GraphTestCase.company()
        let foreign = FetchRequest(entity: try others.requireEntity(named: "Employee"))
        XCTAssertThrowsError(try context.count(foreign)) {
            XCTAssertEqual(($0 as? CoreError)?.status, .invalidArgument)
            XCTAssertEqual(($0 as? CoreError)?.entity, "Employee")
        }
    }

    func testNegativeLimitOrOffsetIsRefused() throws {
        for (limit, offset) in [(-1, 0), (0, -1)] {
            let request = FetchRequest(
                entity: try model.requireEntity(named: "Employee"), predicate: nil, limit: limit, offset: offset)
            for body: () throws -> Void in [
                { _ = try self.context.fetch(request) }, { _ = try self.context.count(request) },
                { _ = try self.context.fetchIDs(request) },
            ] {
                XCTAssertThrowsError(try body()) {
                    XCTAssertEqual(($0 as? CoreError)?.status, .invalidArgument)
                    XCTAssertEqual(($0 as? CoreError)?.entity, "Employee")
                }
            }
        }
    }

    /// The result types that `fetch` refuses, and the function that each error suggests.
    func testFetchRefusesOtherResultTypesThanObjects() throws {
        let request = FetchRequest(entityName: "Employee")
        for (type, words) in [
            (
                FetchRequest.ResultType.objectIDs,
                "returns object IDs, not objects; call cst_context_fetch_ids (fetch_ids, fetchIDs)"
            ),
            (.count, "returns a count, not objects; call cst_context_count (count)"),
            (
                .dictionaries,
                "returns dictionaries, not objects; call cst_context_fetch_rows (fetch_rows, fetchDictionaries)"
            ),
        ] {
            request.resultType = type
            XCTAssertThrowsError(try context.fetch(request)) { error in
                XCTAssertEqual((error as? CoreError)?.status, .unsupported)
                XCTAssertEqual((error as? CoreError)?.code, 134091)
                XCTAssertEqual(
                    (error as? CoreError)?.message,
                    "the fetch request for Employee \(words), or cst_context_execute (execute)")
            }
        }
        request.resultType = .objects
        request.propertiesToGroupBy = ["age"]
        XCTAssertThrowsError(try context.fetch(request)) {
            XCTAssertEqual(($0 as? CoreError)?.status, .invalidArgument)
        }
        request.propertiesToGroupBy = []
        request.havingPredicate = try Predicate.parse("age > 4")
        XCTAssertThrowsError(try context.fetch(request)) {
            XCTAssertEqual(($0 as? CoreError)?.status, .invalidArgument)
        }
    }

    func testResultCountIsThatOfItsResults() {
        XCTAssertEqual(RequestResult.objects(Results([])).count, 0)
        XCTAssertEqual(RequestResult.count(7).count, 7)
        XCTAssertEqual(RequestResult.objectIDs([]).count, 0)
        let rows = FetchedRows(columns: ["a", "b"], rows: [[.int(1), .null], [.null, .int(2)]])
        XCTAssertEqual(RequestResult.dictionaries(rows).count, 2)
        XCTAssertEqual(try rows.dictionaries, [["a": .int(1)], ["b": .int(2)]])
        XCTAssertEqual(try rows.row(at: 1), [.null, .int(2)])
        XCTAssertEqual(Array(try rows.rows(in: 0..<2)).count, 2)
        XCTAssertEqual(Array(try rows.rows(in: 2..<2)).count, 0)
        for index in [-1, 2] { XCTAssertThrowsError(try rows.row(at: index)) }
        for range in [-1..<1, 1..<3] { XCTAssertThrowsError(try rows.rows(in: range)) }
        XCTAssertEqual([rows.batchSize, rows.isLazy ? 1 : 0], [0, 0])
    }
}
