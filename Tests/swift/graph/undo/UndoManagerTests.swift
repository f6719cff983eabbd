import XCTest

@testable import CorestoneGraph
@testable import CorestoneModel
@testable import CorestoneValues

/// The undo manager without a context: groups, names, levels, notifications, and actions of the application.
final class UndoManagerTests: XCTestCase {
    private let manager = UndoManager()
    private var number = 0

    /// Sets the number in a way that can be undone, and redone.
    private func set(_ new: Int) {
        let old = number
        number = new
        try? manager.registerUndo(target: self) { [unowned self] in set(old) }
    }

    func testActionsOfOneEventAreOneUndoStep() throws {
        set(1)
        set(2)
        XCTAssertEqual(manager.groupingLevel, 1)
        XCTAssertTrue(manager.canUndo)
        try manager.undo()
        XCTAssertEqual(number, 0)
        XCTAssertFalse(manager.canUndo)
        try manager.redo()
        XCTAssertEqual(number, 2)
        try manager.undo()
        set(5)
        XCTAssertFalse(manager.canRedo)
        try manager.redo()
        XCTAssertEqual(number, 5)
    }

    func testOutermostGroupIsOneUndoStep() throws {
        try manager.beginUndoGrouping()
        set(1)
        try manager.beginUndoGrouping()
        set(2)
        XCTAssertEqual(manager.groupingLevel, 2)
        XCTAssertThrowsError(try manager.undo())
        try manager.endUndoGrouping()
        set(3)
        XCTAssertThrowsError(try manager.undoNestedGroup())
        try manager.endUndoGrouping()
        XCTAssertThrowsError(try manager.endUndoGrouping())
        try manager.undo()
        XCTAssertEqual(number, 0)
        try manager.redo()
        XCTAssertEqual(number, 3)
        try manager.undoNestedGroup()
        XCTAssertEqual(number, 0)
        // An empty group is not a step.
        try manager.beginUndoGrouping()
        try manager.endUndoGrouping()
        XCTAssertFalse(manager.canUndo)
    }

    /// A group that the application begins is a separate step: the group of the event is closed before it.
    func testExplicitGroupClosesTheEventGroup() throws {
        set(1)
        try manager.beginUndoGrouping()
        set(2)
        try manager.endUndoGrouping()
        try manager.undo()
        XCTAssertEqual(number, 1)
        try manager.undo()
        XCTAssertEqual(number, 0)
    }

    func testUndoNestedGroupRevertsOnlyTheNestedGroup() throws {
        try manager.beginUndoGrouping()
        set(1)
        try manager.beginUndoGrouping()
        set(2)
        try manager.endUndoGrouping()
        try manager.undoNestedGroup()
        XCTAssertEqual(number, 1)
        XCTAssertEqual(manager.groupingLevel, 1)
        try manager.endUndoGrouping()
        try manager.undo()
        XCTAssertEqual(number, 0)
    }

    func testRegistrationNeedsAGroupWhenGroupingByEventIsDisabled() throws {
        manager.groupsByEvent = false
        XCTAssertThrowsError(try manager.registerUndo {})
        try manager.beginUndoGrouping()
        set(1)
        try manager.undo()
        XCTAssertEqual(number, 0)
        XCTAssertThrowsError(try manager.endUndoGrouping())
    }

    func testActionNameAppearsInMenuItemTitles() throws {
        XCTAssertEqual(manager.undoMenuItemTitle, "Undo")
        set(1)
        manager.setActionName("Typing")
        XCTAssertEqual(manager.undoMenuItemTitle, "Undo Typing")
        try manager.undo()
        XCTAssertEqual(manager.undoActionName, "")
        XCTAssertEqual(manager.redoMenuItemTitle, "Redo Typing")
        try manager.redo()
        XCTAssertEqual(manager.undoActionName, "Typing")
        XCTAssertEqual(manager.redoMenuItemTitle, "Redo")
        // A name before the first action.
        manager.setActionName("Paste")
        set(9)
        XCTAssertEqual(manager.undoActionName, "Paste")
    }

    func testActionsAreNotRegisteredWhileDisabledAndCanBeRemoved() throws {
        manager.disableUndoRegistration()
        manager.disableUndoRegistration()
        set(1)
        try manager.enableUndoRegistration()
        XCTAssertFalse(manager.isRegistrationEnabled)
        try manager.enableUndoRegistration()
        XCTAssertThrowsError(try manager.enableUndoRegistration())
        XCTAssertFalse(manager.canUndo)
        set(2)
        let other = NSObject()
        var isUndone = false
        try manager.registerUndo(target: other) { isUndone = true }
        manager.removeAllActions(for: self)
        try manager.undo()
        XCTAssertEqual(number, 2)
        XCTAssertTrue(isUndone)
        set(3)
        manager.disableUndoRegistration()
        manager.removeAllActions()
        XCTAssertFalse(manager.canUndo)
        XCTAssertTrue(manager.isRegistrationEnabled)
    }

    func testLoweredLevelsDiscardTheOldestSteps() throws {
        for value in 1...5 {
            try manager.beginUndoGrouping()
            set(value)
            try manager.endUndoGrouping()
        }
        manager.levelsOfUndo = 3
        for _ in 0..<9 { try manager.undo() }
        XCTAssertEqual(number, 2)
        for _ in 0..<9 { try manager.redo() }
        XCTAssertEqual(number, 5)
    }

    func testUndoAndRedoPostNotificationsInOrder() throws {
        var told: [UndoNotification] = []
        let tokens = UndoNotification.allCases.map { kind in
            manager.observe(kind) { _ in if kind != .checkpoint { told.append(kind) } }
        }
        set(1)
        try manager.undo()
        XCTAssertEqual(
            told,
            [
                .didOpenGroup, .willCloseGroup, .didCloseGroup, .willUndo, .didOpenGroup, .willCloseGroup,
                .didCloseGroup, .didUndo,
            ])
        told = []
        try manager.redo()
        XCTAssertEqual(told.first, .willRedo)
        XCTAssertEqual(told.last, .didRedo)
        tokens.forEach { $0.cancel() }
        told = []
        try manager.undo()
        XCTAssertEqual(told, [])
    }

    func testFailedActionKeepsTheRemainingActions() throws {
        struct Failure: Error {}
        set(1)
        try manager.registerUndo { throw Failure() }
        set(2)
        XCTAssertThrowsError(try manager.undo())
        XCTAssertEqual(number, 1)
        XCTAssertFalse(manager.isUndoing)
        try manager.undo()
        XCTAssertEqual(number, 0)
        try manager.redo()
        XCTAssertEqual(number, 1)
        try manager.redo()
        XCTAssertEqual(number, 2)
    }

    func testUndoWithinAnUndoIsRefused() throws {
        var failure: (any Error)?
        try manager.registerUndo { [unowned self] in
            do { try manager.undo() } catch { failure = error }
            XCTAssertThrowsError(try manager.endUndoGrouping())
            manager.removeAllActions()
        }
        try manager.undo()
        XCTAssertNotNil(failure)
        XCTAssertFalse(manager.canRedo)
    }

    func testReleasedManagerReleasesActionsOfNestedGroups() throws {
        final class Kept {}
        weak var kept: Kept?
        do {
            let (manager, target) = (UndoManager(), Kept())
            kept = target
            for isClosed in [true, false] {
                try manager.beginUndoGrouping()
                try manager.beginUndoGrouping()
                try manager.registerUndo(target: self) { _ = target }
                try manager.endUndoGrouping()
                if isClosed { try manager.endUndoGrouping() }
            }
        }
        XCTAssertNil(kept)
    }

    func testReleasedManagerReleasesItsActions() throws {
        weak var kept: NSObject?
        do {
            let payload = NSObject()
            kept = payload
            let short = UndoManager()
            try short.registerUndo { _ = payload }
        }
        XCTAssertNil(kept)
    }

    private func step(_ value: Int, _ name: String? = nil) throws { try manager.group(name) { set(value) } }

    func testNewManagerHasDefaultSettings() {
        XCTAssertTrue(manager.groupsByEvent && manager.isRegistrationEnabled)
        XCTAssertEqual([manager.levelsOfUndo, manager.groupingLevel], [0, 0])
        XCTAssertFalse(manager.canUndo || manager.canRedo || manager.isUndoing || manager.isRedoing)
        XCTAssertEqual([manager.undoActionName, manager.redoActionName], ["", ""])
        XCTAssertEqual([manager.undoMenuItemTitle, manager.redoMenuItemTitle], ["Undo", "Redo"])
    }

    func testUndoAndRedoReturnFalseOnAnEmptyStack() throws {
        XCTAssertFalse(try manager.undo())
        XCTAssertFalse(try manager.redo())
        XCTAssertFalse(try manager.undoNestedGroup())
        try step(1)
        XCTAssertFalse(try manager.redo())
        XCTAssertTrue(try manager.undo())
        XCTAssertFalse(try manager.undo())
        XCTAssertTrue(try manager.redo())
        XCTAssertFalse(try manager.redo())
        XCTAssertEqual(number, 1)
    }

    func testStepsBeyondTheLevelsAreDiscarded() throws {
        manager.levelsOfUndo = 2
        for value in 1...4 { try step(value) }
        for _ in 0..<5 { try manager.undo() }
        XCTAssertEqual(number, 2)
        manager.levelsOfUndo = 1
        for _ in 0..<5 { try manager.redo() }
        XCTAssertEqual(number, 3, "the last step to be redone is discarded")
    }

    func testNegativeLevelsMeanUnlimited() throws {
        manager.levelsOfUndo = -3
        XCTAssertEqual(manager.levelsOfUndo, 0)
        for value in 1...4 { try step(value) }
        for _ in 0..<4 { try manager.undo() }
        XCTAssertEqual(number, 0)
    }

    func testManagerReportsARunningUndoOrRedo() throws {
        var told: [[Bool]] = []
        try manager.registerUndo { [unowned self] in
            told.append([manager.isUndoing, manager.isRedoing, manager.canUndo, manager.canRedo])
            try manager.registerUndo { [unowned self] in
                told.append([manager.isUndoing, manager.isRedoing, manager.canUndo, manager.canRedo])
            }
        }
        try manager.undo()
        try manager.redo()
        XCTAssertEqual(told, [[true, false, false, false], [false, true, false, false]])
        XCTAssertFalse(manager.isUndoing || manager.isRedoing)
    }

    func testRedoFailsWhileAGroupIsOpen() throws {
        try step(1)
        try manager.undo()
        try manager.beginUndoGrouping()
        XCTAssertThrowsError(try manager.redo()) { XCTAssertEqual(($0 as? CoreError)?.status, .invalidArgument) }
        XCTAssertTrue(manager.canRedo, "nothing was registered")
        try manager.endUndoGrouping()
        try manager.redo()
        XCTAssertEqual(number, 1)
    }

    func testOpenGroupCanBeUndoneWhenItHasAnAction() throws {
        try manager.beginUndoGrouping()
        XCTAssertFalse(manager.canUndo)
        try manager.beginUndoGrouping()
        XCTAssertFalse(manager.canUndo)
        set(1)
        XCTAssertTrue(manager.canUndo)
        try manager.endUndoGrouping()
        XCTAssertTrue(manager.canUndo)
        XCTAssertTrue(try manager.undo(), "undo closes the group first")
        XCTAssertEqual([number, manager.groupingLevel], [0, 0])
    }

    func testActionNameIsThatOfTheOutermostGroup() throws {
        try step(1, "First")
        XCTAssertEqual(manager.undoActionName, "First")
        try manager.beginUndoGrouping()
        XCTAssertEqual(manager.undoActionName, "First", "the open group has nothing to undo")
        try manager.beginUndoGrouping()
        manager.setActionName("Second")
        set(2)
        XCTAssertEqual(manager.undoActionName, "Second", "the inner group has something to undo")
        try manager.endUndoGrouping()
        XCTAssertEqual(manager.undoActionName, "Second")
        try manager.endUndoGrouping()
        XCTAssertEqual(manager.undoActionName, "Second")
        try manager.undo()
        XCTAssertEqual([manager.undoActionName, manager.redoActionName], ["First", "Second"])
        XCTAssertEqual([manager.undoMenuItemTitle, manager.redoMenuItemTitle], ["Undo First", "Redo Second"])
    }

    func testActionNameOpensAGroupOnlyWhenGroupingByEvent() throws {
        manager.disableUndoRegistration()
        manager.setActionName("x")
        XCTAssertEqual(manager.groupingLevel, 0)
        try manager.enableUndoRegistration()
        manager.groupsByEvent = false
        manager.setActionName("x")
        XCTAssertEqual(manager.groupingLevel, 0)
        manager.groupsByEvent = true
        manager.setActionName("x")
        XCTAssertEqual(manager.groupingLevel, 1)
    }

    func testGroupWhoseBodyThrowsIsAnUndoStep() throws {
        struct Failure: Error {}
        XCTAssertThrowsError(
            try manager.group("Half") {
                set(1)
                throw Failure()
            }
        ) { XCTAssertTrue($0 is Failure) }
        XCTAssertEqual(manager.groupingLevel, 0)
        XCTAssertEqual(manager.undoActionName, "Half")
        XCTAssertEqual(try manager.group { number + 1 }, 2)
        try manager.undo()
        XCTAssertEqual(number, 0)
    }

    /// Actions on the undo and redo stacks, in closed groups, and in the open group.
    func testActionsOfATargetAreRemovedFromAllGroupsAndStacks() throws {
        let other = NSObject()
        var undone: [String] = []
        func register(_ what: String) throws {
            try manager.registerUndo(target: other) {
                undone.append(what)
                try self.manager.registerUndo(target: other) { undone.append("again " + what) }
            }
        }
        try manager.group { try register("redo") }
        try manager.undo()
        XCTAssertEqual(undone, ["redo"])
        manager.removeAllActions(for: other)
        XCTAssertFalse(manager.canRedo)
        try manager.group { try register("done") }
        try manager.beginUndoGrouping()
        set(1)
        try register("open")
        try manager.group { try register("nested") }
        manager.removeAllActions(for: other)
        set(2)
        try manager.endUndoGrouping()
        XCTAssertTrue(try manager.undo())
        XCTAssertEqual(number, 0)
        XCTAssertFalse(try manager.undo(), "a step without actions is removed")
        XCTAssertEqual(undone, ["redo"])
    }

    func testRemoveAllActionsKeepsTheOpenGroup() throws {
        try step(1)
        try manager.undo()
        try manager.beginUndoGrouping()
        set(2)
        manager.removeAllActions()
        XCTAssertEqual(manager.groupingLevel, 1)
        XCTAssertFalse(manager.canUndo || manager.canRedo)
        set(3)
        try manager.endUndoGrouping()
        try manager.undo()
        XCTAssertEqual(number, 2)
    }

    func testFailedUndoKeepsItsNameForUndoAndRedo() throws {
        struct Failure: Error {}
        try manager.group("Three") {
            set(1)
            try manager.registerUndo { throw Failure() }
            set(2)
        }
        XCTAssertThrowsError(try manager.undo()) { XCTAssertTrue($0 is Failure) }
        XCTAssertEqual([manager.undoActionName, manager.redoActionName], ["Three", "Three"])
        XCTAssertFalse(manager.isUndoing)
        XCTAssertEqual(manager.groupingLevel, 0)
    }

    /// Each group is closed once, even if two threads open groups at the same time.
    func testGroupsOfTwoThreadsAreClosedOnce() throws {
        let manager = manager
        DispatchQueue.concurrentPerform(iterations: 2) { _ in
            for _ in 0..<2000 {
                try? manager.beginUndoGrouping()
                try? manager.registerUndo(target: manager) {}
                try? manager.endUndoGrouping()
            }
        }
        while manager.groupingLevel > 0 { try manager.endUndoGrouping() }
        var steps = 0
        while try manager.undo() { steps += 1 }
        XCTAssertGreaterThan(steps, 0)
        XCTAssertLessThanOrEqual(steps, 4000)
        XCTAssertEqual(manager.groupingLevel, 0)
    }

}
