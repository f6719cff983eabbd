import CCorestone
import CorestoneGraph
import CorestoneModel
import CorestoneValues

@_cdecl("cst_entity_set_lifecycle") @implementation
public func cst_entity_set_lifecycle(
    _ pointer: OpaquePointer?, _ hooks: UnsafePointer<cst_lifecycle_hooks>?, _ error: ErrorOut
) -> cst_status {
    // The userdata is freed with its last reference: immediately on failure, otherwise with the model and its copies.
    let host = Result { try hooks.map { HostHooks(try options($0, cst_lifecycle_hooks(), "hooks")) } }
    return building(error, { try entity(pointer).model }) {
        try entity(pointer).setLifecycle(try host.get()?.lifecycle)
    }
}

@_cdecl("cst_context_disable_tracking") @implementation
public func cst_context_disable_tracking(_ pointer: OpaquePointer?, _ error: ErrorOut) -> cst_status {
    boundary(error) { try onQueue(pointer).context.disableTracking() }
}

@_cdecl("cst_context_enable_tracking") @implementation
public func cst_context_enable_tracking(_ pointer: OpaquePointer?, _ error: ErrorOut) -> cst_status {
    outcome(error) { try onQueue(pointer).context.enableTracking() ? .ok : .unchanged }
}

/// The host's hooks, and their userdata. The hooks are called on the queue of the object's context.
private final class HostHooks: @unchecked Sendable {
    typealias Plain = @convention(c) (UnsafeMutableRawPointer?, OpaquePointer?, ErrorOut) -> cst_status
    typealias Check =
        @convention(c) (
            UnsafeMutableRawPointer?, OpaquePointer?, cst_string, UInt32, UnsafeMutablePointer<cst_value>?, ErrorOut
        ) -> cst_status

    private let hooks: cst_lifecycle_hooks
    private let userdata: Userdata

    init(_ hooks: cst_lifecycle_hooks) {
        self.hooks = hooks
        userdata = Userdata(hooks.userdata, hooks.destroy)
    }

    var lifecycle: LifecycleHooks {
        get throws {
            var found = LifecycleHooks()
            found.awakeFromInsert = plain(hooks.awake_from_insert, "awake_from_insert hook")
            found.awakeFromFetch = plain(hooks.awake_from_fetch, "awake_from_fetch hook")
            found.willSave = plain(hooks.will_save, "will_save hook")
            found.didSave = plain(hooks.did_save, "did_save hook")
            found.prepareForDeletion = plain(hooks.prepare_for_deletion, "prepare_for_deletion hook")
            found.willTurnIntoFault = plain(hooks.will_turn_into_fault, "will_turn_into_fault hook")
            found.didTurnIntoFault = plain(hooks.did_turn_into_fault, "did_turn_into_fault hook")
            if let hook = hooks.awake_from_snapshot_events {
                found.awakeFromSnapshotEvents = { object, events in
                    try callHostWithObject(object, "awake_from_snapshot_events hook") {
                        hook(self.userdata.pointer, $0, events.rawValue, $1)
                    }
                }
            }
            if let hook = hooks.set_nil_value {
                found.setNilValue = { object, property in
                    let name = Text(property)
                    try callHostWithObject(object, "set_nil_value hook", key: property) {
                        hook(self.userdata.pointer, $0, cst_string(name), $1)
                    }
                    withExtendedLifetime(name) {}
                }
            }
            if let hook = hooks.validate {
                let validator = HostValidator(hook, userdata)
                found.validate = { try validator.check($0, $1) }
            }
            for key in try strings(hooks.validated, hooks.validated_count, "validated") {
                if let hook = hooks.validate_value {
                    found.validateValue[key] = check(Text(key), hook)
                }
            }
            return found
        }
    }

    private func plain(_ hook: Plain?, _ name: StaticString) -> LifecycleHooks.Hook? {
        guard let hook else { return nil }
        return { object in try callHostWithObject(object, name) { hook(self.userdata.pointer, $0, $1) } }
    }

    private func check(_ name: Text, _ hook: @escaping Check) -> LifecycleHooks.ValueCheck {
        // The validator retains the name, because the hook reads the bytes of the name.
        let validator = HostValidator({ hook($0, $1, cst_string(name), $2, $3, $4) }, userdata)
        return { try validator.check($1, of: $0, name.string, $2) }
    }
}
