import CPlatform
import CorestoneGraph
import CorestoneModel
import CorestoneValues
import Glibc

/// The calls of one custom store's callbacks.
///
/// `HostCalls` records the threads that are in a callback, and adds the operation to errors.
final class HostCalls: @unchecked Sendable {
    private let place: HostStoreIdentity
    private let state = Locked<(inside: [UInt64: Int], isClosed: Bool)>(([:], false))

    init(_ place: HostStoreIdentity) { self.place = place }

    /// Checks that the calling thread is not in a callback of this store.
    ///
    /// - Throws: `.invalidArgument` if the thread is in a callback.
    func refuseReentry() throws {
        guard state.withLock({ $0.inside[platform_thread_id()] != nil }) else { return }
        throw CoreError(
            .invalidArgument, code: .persistentStoreOperation,
            "\(place.displayName) was used within one of its own callbacks; access the data behind the store "
                + "directly in a callback, instead of through a context or coordinator",
            file: place.file)
    }

    /// Runs a callback that can fail.
    ///
    /// - Parameters:
    ///   - doing: The operation, as in "could not …".
    ///   - key: The key for an error that does not have a key; `value` is used in the same way.
    /// - Throws: `.callback` with the application's error as a child.
    ///   `.objectGone` if the store is closed.
    func run<Result>(
        _ doing: @autoclosure () -> String, _ entity: Entity? = nil, key: String? = nil, value: PropertyValue? = nil,
        code: CocoaCode = .persistentStoreOperation, _ body: () throws -> Result
    ) throws -> Result {
        guard enter() else {
            throw CoreError(
                .objectGone, code: .managedObjectReferentialIntegrity,
                "\(place.displayName) was removed from its coordinator, or the coordinator was closed; add it with "
                    + "cst_coordinator_add_store (add_store, addStore) to an open coordinator, and fetch its objects "
                    + "again with cst_context_fetch (fetch)",
                file: place.file)
        }
        defer { leave() }
        do { return try body() } catch {
            throw HostCalls.failure(place, doing(), entity, key: key, value: value, code, error)
        }
    }

    /// Runs a callback that cannot fail. Does nothing if the store is closed.
    func notify(_ body: () -> Void) {
        guard enter() else { return }
        defer { leave() }
        body()
    }

    /// Prevents new callbacks, waits until no other thread is in a callback, and then runs `body`.
    ///
    /// Later calls of `close` do nothing.
    func close(_ body: () -> Void) {
        let isFirst = state.withLock { state in
            defer { state.isClosed = true }
            return !state.isClosed
        }
        guard isFirst else { return }
        let thread = platform_thread_id()
        while state.withLock({ state in state.inside.contains { $0.key != thread } }) { usleep(100) }
        body()
    }

    private func enter() -> Bool {
        let thread = platform_thread_id()
        return state.withLock { state in
            if state.isClosed { return false }
            state.inside[thread, default: 0] += 1
            return true
        }
    }

    private func leave() {
        let thread = platform_thread_id()
        state.withLock { state in
            let depth = state.inside[thread, default: 1] - 1
            state.inside[thread] = depth > 0 ? depth : nil
        }
    }

    /// Wraps an error of the application, which becomes a child of the result.
    static func failure(
        _ place: HostStoreIdentity, _ doing: String, _ entity: Entity?, key: String? = nil, value: PropertyValue? = nil,
        _ code: CocoaCode, _ error: any Error
    ) -> CoreError {
        let known = error as? CoreError ?? CoreError(.callback, "\(error)", domain: "Host")
        // An error that the C interface wrapped has the application's error as its child.
        let details = known.status == .callback && known.children.count == 1 ? known.children : [known]
        return CoreError(
            .callback, code: code,
            "\(place.subject) could not \(doing)"
                + (details[0].message.isEmpty ? "" : ": \(details[0].message)"),
            entity: entity?.name ?? known.entity, key: known.key ?? key, value: known.value ?? value,
            objectURI: known.objectURI, children: details, file: place.file
        ).withoutObjects
    }
}
