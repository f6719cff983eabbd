import XCTest

@testable import CorestoneGraph
@testable import CorestoneModel
@testable import CorestoneValues

/// The undo manager by itself: groups, names, levels, notifications, and actions of the host's.
final class UndoManagerTests: XCTestCase {
    private let manager = UndoManager()
    private var number = 0

    /// Sets the number in a way that can be undone, and redone.
    private func set(_ new: Int) {
        let old = number
        number = new
        try? manager.registerUndo(target: self) { [unowned self] in set(old) }
    }

    func testActionsOfOneEventAreOneStep() throws {
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

    func testGroups() throws {
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
        // An empty group is no step.
        try manager.beginUndoGrouping()
        try manager.endUndoGrouping()
        XCTAssertFalse(manager.canUndo)
    }

    /// A group that the host begins is a step of its own: that of the event ends before it.
    func testAGroupEndsThatOfTheEvent() throws {
        set(1)
        try manager.beginUndoGrouping()
        set(2)
        try manager.endUndoGrouping()
        try manager.undo()
        XCTAssertEqual(number, 1)
        try manager.undo()
        XCTAssertEqual(number, 0)
    }

    func testNestedGroupIsUndoneAlone() throws {
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

    func testGroupsThatTheHostBegins() throws {
        manager.groupsByEvent = false
        XCTAssertThrowsError(try manager.registerUndo {})
        try manager.beginUndoGrouping()
        set(1)
        try manager.undo()
        XCTAssertEqual(number, 0)
        XCTAssertThrowsError(try manager.endUndoGrouping())
    }

    func testNames() throws {
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

    func testRegistrationAndRemoval() throws {
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

    func testLevels() throws {
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

    func testNotifications() throws {
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

    func testFailingActionLeavesTheRest() throws {
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

    func testActionsOfNestedGroupsEndWithTheManager() throws {
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

    func testActionsEndWithTheManager() throws {
        weak var kept: NSObject?
        do {
            let payload = NSObject()
            kept = payload
            let short = UndoManager()
            try short.registerUndo { _ = payload }
        }
        XCTAssertNil(kept)
    }
}
