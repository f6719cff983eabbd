import CorestoneValues

/// A list of observers, which the caller notifies one by one.
package final class NotificationCenter<Payload>: Sendable {
    private enum Kind: UInt32 { case notification = 1 }

    private let listeners = Listeners<Kind, Payload>(isShared: true)

    package init() {}

    package func observe(_ handler: @escaping (Payload) -> Void) -> Observation {
        listeners.observe(.notification, handler)
    }
    /// Returns a function for each observer, which notifies the observer unless its observation ends first.
    package func calls(for notification: Payload) -> [() -> Void] { listeners.calls(.notification, notification) }
}

/// Access to a context for components that are built on contexts.
extension Context {
    /// Runs `body` on the context's queue and returns its result. Can be called on any thread.
    package func use<Result>(_ body: (Context) throws -> Result) throws -> Result {
        var result: Result?
        try runAndWait { result = try body($0) }
        guard let result else {
            throw CoreError(
                .internal,
                "the queue of \(label.text) dropped a block without running it; report it as a defect of the library")
        }
        return result
    }
}

extension Store {
    /// A text that identifies the content of the store's file; nil if the store does not support it or cannot be used.
    package var contentState: String? { try? use { backing.contentState } }
}
