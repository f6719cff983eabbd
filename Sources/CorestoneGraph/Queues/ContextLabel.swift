import CPlatform
import CorestoneValues

/// The description of a context in messages: its name and the call site of its creation.
///
/// Thread-safe, because the error for a call on a wrong thread contains the description.
final class ContextLabel: Sendable {
    private struct Content {
        var name: String?
        var origin: CallSite?
    }

    private let content: Locked<Content>
    /// The noun of the description with a name.
    private let noun: String
    /// The description without a name.
    private let unnamed: String

    /// Creates a label.
    ///
    /// - Parameters:
    ///   - noun: The kind of the owner.
    ///   - unnamed: The owner of a queue that does not belong to a context.
    init(origin: CallSite?, noun: String = "context", unnamed: String = "a context") {
        content = Locked(Content(origin: origin))
        self.noun = noun
        self.unnamed = unnamed
    }

    var name: String? {
        get { content.withLock { $0.name } }
        set { content.withLock { $0.name = newValue } }
    }

    var origin: CallSite? {
        get { content.withLock { $0.origin } }
        set { content.withLock { $0.origin = newValue } }
    }

    /// The description, for the middle of a sentence: `context "import" (created at Import.swift:40)`.
    var text: String {
        let (name, origin) = content.withLock { ($0.name, $0.origin) }
        return (name.map { "\(noun) \"\($0)\"" } ?? unnamed)
            + (origin.map { " (created at \($0.file):\($0.line))" } ?? "")
    }
}

/// Returns a thread's description for the middle of a sentence: `thread 4711 (worker)`.
///
/// The description contains the system's number and name of the thread, or "ended" instead of the name.
package func nameOfThread(_ thread: UInt64) -> String {
    "thread \(platform_thread_number(thread)) (\(nameOfRunningThread(thread) ?? "ended"))"
}

/// Whether a thread that used the library has ended.
func hasEnded(_ thread: UInt64) -> Bool { nameOfRunningThread(thread) == nil }

/// Returns the system's name of a thread; nil if the thread has ended.
private func nameOfRunningThread(_ thread: UInt64) -> String? {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: 32) { buffer in
        guard let name = buffer.baseAddress, platform_thread_name(thread, name, 32) else { return nil }
        return String(cString: name)
    }
}
