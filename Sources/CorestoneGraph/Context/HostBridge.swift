import CPlatform

/// The link between the graph and the handles of another language.
///
/// The C interface installs an implementation. Without it, `NoHostBridge` applies.
package protocol HostBridge: Sendable {
    /// Retains the handle of a context while the library uses the context on behalf of the application.
    func retainHandle(_ slot: UInt) -> HandleRetention
    /// Releases a handle that the graph keeps for a borrowed reference.
    func release(_ slot: UInt)
    /// Makes the handle of an object that undo or redo registered again keep the object's context alive.
    func keepContextAlive(for object: ManagedObject)
}

/// The result of retaining the handle of a context.
package enum HandleRetention {
    /// The context does not have a handle.
    case none
    case retained(AnyObject)
    /// Another thread is releasing the handle's last reference.
    case beingReleased
}

/// The handle of a context in another language.
package struct HostSlot {
    /// An opaque value of the bridge; 0 without a handle.
    package var value: UInt = 0
    /// The object behind `value`.
    ///
    /// It is unowned, but its memory is valid as long as the context exists. Handles of objects point to it, and check
    /// whether it is alive.
    package unowned var box: AnyObject?
    /// An object of the bridge that lives as long as the context.
    package var attachment: AnyObject?
}

/// The bridge of a program without handles: Swift applications use objects directly.
struct NoHostBridge: HostBridge {
    func retainHandle(_ slot: UInt) -> HandleRetention { .none }
    func release(_ slot: UInt) {}
    func keepContextAlive(for object: ManagedObject) {}
}

extension Context {
    /// The bridge, installed once, before the first handle is created.
    package nonisolated(unsafe) static var hostBridge: any HostBridge = NoHostBridge()
}
