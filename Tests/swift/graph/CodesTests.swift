import Corestone
import XCTest

@testable import CorestoneGraph

/// Raw values that bindings in other languages use: those of Core Data, or of the C header.
final class CodesTests: XCTestCase {
    func testNotificationsAndObservationHaveStableRawValues() {
        XCTAssertEqual(ContextNotification.allCases.map(\.rawValue), [1, 2, 3, 4, 5])
        XCTAssertEqual(
            ContextNotification.allCases,
            [.willSave, .didSave, .objectsDidChange, .didSaveObjectIDs, .didMergeChangesObjectIDs])
        XCTAssertEqual(CoordinatorNotification.allCases, [.storesDidChange, .willRemoveStore, .remoteChange])
        XCTAssertEqual(CoordinatorNotification.allCases.map(\.rawValue), [1, 2, 3])
        XCTAssertEqual(UndoNotification.allCases.map(\.rawValue), [1, 2, 3, 4, 5, 6, 7, 8])
        XCTAssertEqual(
            UndoNotification.allCases,
            [
                .checkpoint, .didOpenGroup, .willCloseGroup, .didCloseGroup, .willUndo, .didUndo, .willRedo, .didRedo,
            ])
        let kinds: [ValueChange.Kind] = [.setting, .insertion, .removal, .replacement]
        XCTAssertEqual(kinds.map(\.rawValue), [1, 2, 3, 4])
        XCTAssertEqual([ObservationOptions.initial, .prior].map(\.rawValue), [4, 8])
        let files: [RemoteChange.File] = [.written, .replaced, .removed]
        XCTAssertEqual(files.map(\.rawValue), [0, 1, 2])
    }

    func testResultsAndRequestsHaveStableRawValues() {
        let changes: [ResultsChangeKind] = [.insert, .delete, .move, .update]
        XCTAssertEqual(changes.map(\.rawValue), [1, 2, 3, 4])
        let requests: [PersistentStoreRequest.RequestType] = [.fetch, .save, .batchInsert, .batchUpdate, .batchDelete]
        XCTAssertEqual(requests.map(\.rawValue), [1, 2, 5, 6, 7])
        XCTAssertEqual(BatchRequest.ResultType.allCases, [.statusOnly, .objectIDs, .count])
        XCTAssertEqual(BatchRequest.ResultType.allCases.map(\.rawValue), [0, 1, 2])
        XCTAssertEqual(
            Aggregate.allCases, [.count, .sum, .average, .minimum, .maximum, .median, .deviation])
        XCTAssertEqual(Aggregate.allCases.map(\.rawValue), [1, 2, 3, 4, 5, 6, 7])
        XCTAssertEqual([FetchRequest.NullMeaning.memory, .database].map(\.rawValue), [0, 1])
    }

    func testContextOptionsHaveStableRawValues() {
        let queues: [Corestone.Context.QueueType] = [.caller, .privateQueue, .main]
        XCTAssertEqual(queues.map(\.rawValue), [0, 1, 2])
        let unsaved: [UnsavedChanges.Policy] = [.refuse, .save, .discard]
        XCTAssertEqual(unsaved.map(\.rawValue), [0, 1, 2])
        let faults: [FaultPolicy] = [.batch, .warn, .error]
        XCTAssertEqual(faults.map(\.rawValue), [0, 1, 2])
        XCTAssertEqual(MergePolicyType.allCases, [.error, .storeTrump, .objectTrump, .overwrite, .rollback])
        XCTAssertEqual(MergePolicyType.allCases.map(\.rawValue), [0, 1, 2, 3, 4])
        for type in MergePolicyType.allCases { XCTAssertEqual(MergePolicy.standard(type).type, type) }
        XCTAssertTrue(MergePolicy.standard(.overwrite) === MergePolicy.overwrite, "not the shared instance")
    }

    func testHooksHaveStableRawValues() {
        let events: [SnapshotEvents] = [
            .undoInsertion, .undoDeletion, .undoUpdate, .rollback, .refresh, .mergePolicy,
        ]
        XCTAssertEqual(events.map(\.rawValue), [2, 4, 8, 16, 32, 64])
        let kinds: [HookKinds] = [
            .awakeFromInsert, .awakeFromFetch, .awakeFromSnapshotEvents, .willSave, .didSave, .prepareForDeletion,
            .willTurnIntoFault, .didTurnIntoFault, .setNilValue, .validate,
        ]
        XCTAssertEqual(kinds.map(\.rawValue), (0..<10).map { 1 << $0 })
        XCTAssertEqual(HookKinds.all, kinds.reduce([]) { $0.union($1) })
    }

    /// Each hook has its own bit. A subentity inherits the hooks that it does not define.
    func testLifecycleKindsContainTheBitOfEachOwnAndInheritedHook() {
        func kinds(_ set: (inout LifecycleHooks) -> Void) -> UInt32 {
            var hooks = LifecycleHooks()
            set(&hooks)
            XCTAssertEqual(
                Lifecycle(LifecycleHooks()).inheriting(Lifecycle(hooks)).kinds, Lifecycle(hooks).kinds, "inherited")
            return Lifecycle(hooks).kinds
        }
        XCTAssertEqual(kinds { _ in }, 0)
        XCTAssertEqual(kinds { $0.awakeFromInsert = { _ in } }, HookKinds.awakeFromInsert.rawValue)
        XCTAssertEqual(kinds { $0.awakeFromFetch = { _ in } }, HookKinds.awakeFromFetch.rawValue)
        XCTAssertEqual(
            kinds { $0.awakeFromSnapshotEvents = { _, _ in } }, HookKinds.awakeFromSnapshotEvents.rawValue)
        XCTAssertEqual(kinds { $0.willSave = { _ in } }, HookKinds.willSave.rawValue)
        XCTAssertEqual(kinds { $0.didSave = { _ in } }, HookKinds.didSave.rawValue)
        XCTAssertEqual(kinds { $0.prepareForDeletion = { _ in } }, HookKinds.prepareForDeletion.rawValue)
        XCTAssertEqual(kinds { $0.willTurnIntoFault = { _ in } }, HookKinds.willTurnIntoFault.rawValue)
        XCTAssertEqual(kinds { $0.didTurnIntoFault = { _ in } }, HookKinds.didTurnIntoFault.rawValue)
        XCTAssertEqual(kinds { $0.setNilValue = { _, _ in } }, HookKinds.setNilValue.rawValue)
        XCTAssertEqual(kinds { $0.validate = { _, _ in } }, HookKinds.validate.rawValue)
        XCTAssertEqual(kinds { $0.validateValue = ["a": { _, value, _ in value }] }, HookKinds.validate.rawValue)
        XCTAssertEqual(
            kinds {
                $0.willSave = { _ in }
                $0.validate = { _, _ in }
            }, HookKinds([.willSave, .validate]).rawValue)
    }
}
