import Foundation
import Synchronization

/// A value that threads of a test share; each knows what it may touch.
final class Shared<Value>: @unchecked Sendable {
    var value: Value
    init(_ value: Value) { self.value = value }
}

/// Counts what threads see.
final class Counter: Sendable {
    private let number = Atomic<Int>(0)
    var count: Int { number.load(ordering: .sequentiallyConsistent) }
    func add(_ difference: Int = 1) { number.add(difference, ordering: .sequentiallyConsistent) }
}

/// Runs `body` on `count` threads and waits for all of them.
func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
    let group = DispatchGroup()
    for number in 0..<count {
        group.enter()
        Thread.detachNewThread {
            body(number)
            group.leave()
        }
    }
    group.wait()
}

/// Runs `body` on another thread and waits for it.
func onAnotherThread(_ body: () -> Void) {
    withoutActuallyEscaping(body) { escaping in
        var closure = escaping
        withUnsafeMutablePointer(to: &closure) { place in
            var thread = pthread_t()
            pthread_create(
                &thread, nil,
                { argument in
                    argument?.assumingMemoryBound(to: (() -> Void).self).pointee()
                    return nil
                }, place)
            // Joined rather than signalled: the thread must have let go of the closure.
            pthread_join(thread, nil)
        }
    }
}
