import CorestoneValues

/// The observers of notifications, which are notified on the posting thread.
package final class NotificationCenter<Payload>: Sendable {
    private enum Kind: UInt32 { case notification = 1 }

    private let listeners = Listeners<Kind, Payload>(isShared: true)

    package init() {}

    package func observe(_ handler: @escaping (Payload) -> Void) -> Observation {
        listeners.observe(.notification, handler)
    }
    package func notify(_ notification: Payload) { listeners.notify(.notification, notification) }
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
