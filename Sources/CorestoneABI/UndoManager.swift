import CCorestone
import CorestoneGraph
import CorestoneValues

@_cdecl("cst_undo_manager_new") @implementation
public func cst_undo_manager_new(_ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut) -> cst_status {
    boundary(error) { try place(out, "out_manager").pointee = try undoHandle(UndoManager()) }
}

// MARK: - Contexts

@_cdecl("cst_context_set_undo_manager") @implementation
public func cst_context_set_undo_manager(
    _ pointer: OpaquePointer?, _ manager: OpaquePointer?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let context = try contextBox(pointer).context
        try context.setUndoManager(try manager.map { try undoManager($0) })
    }
}

@_cdecl("cst_context_copy_undo_manager") @implementation
public func cst_context_copy_undo_manager(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_manager")
        out.pointee = try onQueue(pointer).context.undoManager.map { try undoHandle($0) } ?? nil
    }
}

@_cdecl("cst_context_undo") @implementation
public func cst_context_undo(_ pointer: OpaquePointer?, _ error: ErrorOut) -> cst_status {
    outcome(error) { try onQueue(pointer).context.undo() ? .ok : .unchanged }
}

@_cdecl("cst_context_redo") @implementation
public func cst_context_redo(_ pointer: OpaquePointer?, _ error: ErrorOut) -> cst_status {
    outcome(error) { try onQueue(pointer).context.redo() ? .ok : .unchanged }
}

// MARK: - Steps

@_cdecl("cst_undo_manager_undo") @implementation
public func cst_undo_manager_undo(_ pointer: OpaquePointer?, _ error: ErrorOut) -> cst_status {
    outcome(error) { try undoManager(pointer).undo() ? .ok : .unchanged }
}

@_cdecl("cst_undo_manager_undo_nested") @implementation
public func cst_undo_manager_undo_nested(_ pointer: OpaquePointer?, _ error: ErrorOut) -> cst_status {
    outcome(error) { try undoManager(pointer).undoNestedGroup() ? .ok : .unchanged }
}

@_cdecl("cst_undo_manager_redo") @implementation
public func cst_undo_manager_redo(_ pointer: OpaquePointer?, _ error: ErrorOut) -> cst_status {
    outcome(error) { try undoManager(pointer).redo() ? .ok : .unchanged }
}

@_cdecl("cst_undo_manager_begin_group") @implementation
public func cst_undo_manager_begin_group(_ pointer: OpaquePointer?, _ error: ErrorOut) -> cst_status {
    boundary(error) { try undoManager(pointer).beginUndoGrouping() }
}

@_cdecl("cst_undo_manager_end_group") @implementation
public func cst_undo_manager_end_group(_ pointer: OpaquePointer?, _ error: ErrorOut) -> cst_status {
    boundary(error) { try undoManager(pointer).endUndoGrouping() }
}

@_cdecl("cst_undo_manager_register") @implementation
public func cst_undo_manager_register(
    _ pointer: OpaquePointer?, _ target: UnsafeRawPointer?, _ action: cst_undo_action_fn?,
    _ userdata: UnsafeMutableRawPointer?, _ destroy: cst_destroy_fn?, _ error: ErrorOut
) -> cst_status {
    // The userdata is freed with its last reference: immediately on failure, otherwise with the action.
    let payload = Userdata(userdata, destroy)
    return boundary(error) {
        let manager = try undoManager(pointer)
        guard let action else {
            throw CoreError(.invalidArgument, "action is NULL; pass the function to be called", key: "action")
        }
        try manager.registerUndo(target: UInt(bitPattern: target)) {
            _ = try callHost("the host's undo action") { action(payload.pointer, $0) }
        }
    }
}

@_cdecl("cst_undo_manager_remove_all") @implementation
public func cst_undo_manager_remove_all(_ pointer: OpaquePointer?, _ error: ErrorOut) -> cst_status {
    boundary(error) { try undoManager(pointer).removeAllActions() }
}

@_cdecl("cst_undo_manager_remove_target") @implementation
public func cst_undo_manager_remove_target(
    _ pointer: OpaquePointer?, _ target: UnsafeRawPointer?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let manager = try undoManager(pointer)
        guard let target else {
            throw CoreError(
                .invalidArgument,
                "target is NULL; pass a target, or remove all actions with cst_undo_manager_remove_all", key: "target")
        }
        manager.removeAllActions(target: UInt(bitPattern: target))
    }
}

// MARK: - Settings

@_cdecl("cst_undo_manager_disable") @implementation
public func cst_undo_manager_disable(_ pointer: OpaquePointer?, _ error: ErrorOut) -> cst_status {
    boundary(error) { try undoManager(pointer).disableUndoRegistration() }
}

@_cdecl("cst_undo_manager_enable") @implementation
public func cst_undo_manager_enable(_ pointer: OpaquePointer?, _ error: ErrorOut) -> cst_status {
    boundary(error) { try undoManager(pointer).enableUndoRegistration() }
}

@_cdecl("cst_undo_manager_set_levels") @implementation
public func cst_undo_manager_set_levels(_ pointer: OpaquePointer?, _ levels: Int, _ error: ErrorOut) -> cst_status {
    boundary(error) {
        let manager = try undoManager(pointer)
        // A number above Int.max means no limit.
        manager.levelsOfUndo = max(levels, 0)
    }
}

@_cdecl("cst_undo_manager_set_groups_by_event") @implementation
public func cst_undo_manager_set_groups_by_event(
    _ pointer: OpaquePointer?, _ groups: Bool, _ error: ErrorOut
) -> cst_status {
    boundary(error) { try undoManager(pointer).groupsByEvent = groups }
}

@_cdecl("cst_undo_manager_set_action_name") @implementation
public func cst_undo_manager_set_action_name(
    _ pointer: OpaquePointer?, _ name: cst_string, _ error: ErrorOut
) -> cst_status {
    boundary(error) { try undoManager(pointer).setActionName(try name.string("name")) }
}

@_cdecl("cst_undo_manager_copy_text") @implementation
public func cst_undo_manager_copy_text(
    _ pointer: OpaquePointer?, _ text: UInt32, _ out: UnsafeMutablePointer<cst_buffer>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try required(out, "out_text")
        let manager = try undoManager(pointer)
        let found: String
        switch text {
        case 0: found = manager.undoActionName
        case 1: found = manager.redoActionName
        case 2: found = manager.undoMenuItemTitle
        case 3: found = manager.redoMenuItemTitle
        default:
            throw CoreError(
                .invalidArgument,
                "\(text) is not a menu text; use CST_UNDO_NAME, CST_REDO_NAME, CST_UNDO_TITLE or CST_REDO_TITLE",
                key: "text", value: .int(Int64(text)))
        }
        try out.fill(found)
    }
}

@_cdecl("cst_undo_manager_state") @implementation
public func cst_undo_manager_state(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<cst_undo_state>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try sized(out, "out_state")
        let manager = try undoManager(pointer)
        var state = cst_undo_state()
        state.can_undo = manager.canUndo
        state.can_redo = manager.canRedo
        state.is_undoing = manager.isUndoing
        state.is_redoing = manager.isRedoing
        state.is_enabled = manager.isRegistrationEnabled
        state.groups_by_event = manager.groupsByEvent
        state.levels = manager.levelsOfUndo
        state.grouping_level = manager.groupingLevel
        out.fill(state)
    }
}

@_cdecl("cst_undo_manager_observe") @implementation
public func cst_undo_manager_observe(
    _ pointer: OpaquePointer?, _ notification: UInt32, _ observe: cst_undo_observe_fn?,
    _ userdata: UnsafeMutableRawPointer?, _ destroy: cst_destroy_fn?, _ out: UnsafeMutablePointer<OpaquePointer?>?,
    _ error: ErrorOut
) -> cst_status {
    let payload = Userdata(userdata, destroy)
    return boundary(error) {
        let out = try place(out, "out_observation")
        let manager = try undoManager(pointer)
        guard let observe else { throw missingObserver() }
        let kind: UndoNotification = try notificationKind(
            notification, choices: "a notification from CST_UNDO_CHECKPOINT to CST_UNDO_DID_REDO")
        let token = manager.observe(kind) { manager in
            let known = partLock.with { HandleToken(manager.hostSlot) }
            guard let borrowed = try? BorrowedHandle(of: known, { try undoHandle(manager) }) else { return }
            defer { borrowed.end() }
            observe(payload.pointer, borrowed.handle, notification)
        }
        out.pointee = try HandleTable.make(token, .observation)
    }
}

// MARK: - Handles

/// Returns the only handle of a manager, with one more reference of the host.
private func undoHandle(_ manager: UndoManager) throws -> Handle? {
    try partLock.with {
        if manager.hostSlot != 0, HandleTable.retainForHost(HandleToken(manager.hostSlot)) {
            return handle(HandleToken(manager.hostSlot))
        }
        let made = try HandleTable.make(manager, .undoManager)
        manager.hostSlot = UInt(token(made))
        return made
    }
}

private func undoManager(_ pointer: OpaquePointer?) throws -> UndoManager { try resolve(pointer, .undoManager) }
