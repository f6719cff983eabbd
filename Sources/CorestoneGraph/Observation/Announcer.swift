import CorestoneValues

/// Tells whoever listens, on the thread that has something to tell.
package final class Announcer<News>: Sendable {
    private enum Kind: UInt32 { case news = 1 }

    private let listeners = Listeners<Kind, News>(isShared: true)

    package init() {}

    package func observe(_ handler: @escaping (News) -> Void) -> Observation { listeners.observe(.news, handler) }
    package func tell(_ news: News) { listeners.tell(.news, news) }
}

/// A context for those that are built on contexts.
extension Context {
    /// What a context of the host's is made with, and how it is used from any thread.
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
    /// Another text for each content of the store's file, as far as that tells; nil where nothing does.
    package var contentState: String? { try? use { backing.contentState } }
}
