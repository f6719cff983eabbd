import Foundation
import Synchronization

/// A value that the threads of a test share without synchronisation.
final class Shared<Value>: @unchecked Sendable {
    var value: Value
    init(_ value: Value) { self.value = value }
}

/// An atomic counter.
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
            // Joined rather than signalled: the thread must have released the closure.
            pthread_join(thread, nil)
        }
    }
}
