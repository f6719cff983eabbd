import CPlatform
import CorestoneGraph
import CorestoneModel
import CorestoneValues
import Glibc

/// Runs the callbacks of one store of a host's: notes which threads are in one, and says in an error what was being done.
final class HostCalls: @unchecked Sendable {
    private let place: HostPlace
    private let state = Locked<(inside: [UInt64: Int], isClosed: Bool)>(([:], false))

    init(_ place: HostPlace) { self.place = place }

    /// - Throws: `.invalidArgument` for a thread that is in a callback of this store.
    func refuseReentry() throws {
        guard state.withLock({ $0.inside[platform_thread_id()] != nil }) else { return }
        throw CoreError(
            .invalidArgument, code: .persistentStoreOperation,
            "\(place.shown) was used within one of its own callbacks; use the store's own data there",
            file: place.file)
    }

    /// - Parameters:
    ///   - doing: what for, as in "cannot …".
    ///   - key: the key and the value that it names, for an error that has none of its own.
    func run<Result>(
        _ doing: @autoclosure () -> String, _ entity: Entity? = nil, key: String? = nil, value: PropertyValue? = nil,
        code: CocoaCode = .persistentStoreOperation, _ body: () throws -> Result
    ) throws -> Result {
        guard enter() else {
            throw CoreError(
                .objectGone, code: .managedObjectReferentialIntegrity,
                "\(place.shown) was removed from its coordinator, or the coordinator was closed; open it again to read or "
                    + "save its objects", file: place.file)
        }
        defer { leave() }
        do { return try body() } catch {
            throw HostCalls.failure(place, doing(), entity, key: key, value: value, code, error)
        }
    }

    /// The same for a notice, which cannot fail; not for a store that is closed.
    func notify(_ body: () -> Void) {
        guard enter() else { return }
        defer { leave() }
        body()
    }

    /// Runs `body` once, when no other thread is in a callback, and none comes any more.
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

    /// The host's own error is the detail.
    static func failure(
        _ place: HostPlace, _ doing: String, _ entity: Entity?, key: String? = nil, value: PropertyValue? = nil,
        _ code: CocoaCode, _ error: any Error
    ) -> CoreError {
        let known = error as? CoreError ?? CoreError(.callback, "\(error)", domain: "Host")
        // What the edge wrapped has the host's words within.
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
