import CPlatform
import CorestoneValues

/// What a context is called in messages: its name, and where the host made it. Any thread reads it, since whoever uses a
/// context on the wrong thread is told whose it is.
final class ContextLabel: Sendable {
    private struct Content {
        var name: String?
        var origin: CallSite?
    }

    private let content: Locked<Content>

    init(origin: CallSite?) { content = Locked(Content(origin: origin)) }

    var name: String? {
        get { content.withLock { $0.name } }
        set { content.withLock { $0.name = newValue } }
    }

    var origin: CallSite? {
        get { content.withLock { $0.origin } }
        set { content.withLock { $0.origin = newValue } }
    }

    /// For the middle of a sentence: `context "import" (created at Import.swift:40)`.
    var text: String {
        let (name, origin) = content.withLock { ($0.name, $0.origin) }
        return (name.map { "context \"\($0)\"" } ?? "a context")
            + (origin.map { " (created at \($0.file):\($0.line))" } ?? "")
    }
}

/// A thread for the middle of a sentence, with the system's number and name of it: `thread 4711 (worker)`.
package func nameOfThread(_ thread: UInt64) -> String {
    let number = "thread \(platform_thread_number(thread))"
    return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 32) { buffer in
        guard let name = buffer.baseAddress, platform_thread_name(thread, name, 32) else { return number + " (ended)" }
        return number + " (\(String(cString: name)))"
    }
}
