import Corestone
import Glibc

/// A store and the contexts over it, changed by random steps that check what they did.
protocol RandomRun {
    /// What the steps did, for people; empty unless it was asked for.
    var log: [String] { get }

    func step(_ number: UInt64) throws
    /// What holds after the last step.
    func finish() throws
}

/// Sequences of random steps, and the shortest one that still fails when one does.
package struct GraphSteps {
    package enum Kind: String {
        /// Compared with a reference in plain values.
        case graph
        /// Over relationships without inverse, in four types of stores.
        case oneSided = "one-sided"
    }

    /// Steps in one store; then the next one begins with an empty one.
    static let sequence = 250

    let kind: Kind
    let folder: String
    package private(set) var steps = 0
    private var stores = 0

    /// - Parameter folder: where stores may be made; they are removed again.
    package init(_ kind: Kind = .graph, folder: String) { (self.kind, self.folder) = (kind, folder) }

    /// - Parameters:
    ///   - first: sequences that end before this step are left out.
    ///   - progress: called after each sequence with the steps so far.
    /// - Returns: what failed first, as the shortest sequence that was found to fail; nil when all held.
    package mutating func run(
        seed: UInt64, steps count: Int, from first: Int = 0, progress: (Int) -> Void = { _ in }
    ) -> String? {
        var dice = Dice(seed: seed)
        while steps < count {
            let numbers = (0..<min(Self.sequence, count - steps)).map { _ in dice.next() }
            if steps + numbers.count <= first {
                steps += numbers.count
                continue
            }
            if let failure = failure(of: numbers) {
                let shortest = shrunk(Array(numbers[...min(failure.place, numbers.count - 1)]))
                return "seed \(seed), step \(steps + failure.place):\n" + description(of: shortest)
            }
            steps += numbers.count
            progress(steps)
        }
        return nil
    }

    /// The step after which something is wrong; one more than there are for what is found at the end.
    private mutating func failure(of numbers: [UInt64]) -> (place: Int, reason: String)? {
        perform(numbers, keepsLog: false).failure
    }

    private mutating func perform(
        _ numbers: [UInt64], keepsLog: Bool
    ) -> (failure: (place: Int, reason: String)?, log: [String]) {
        stores += 1
        let path = folder + "/steps-\(stores).sqlite"
        defer { for suffix in ["", "-wal", "-shm"] { unlink(path + suffix) } }
        var place = 0
        do {
            let run: any RandomRun =
                switch kind {
                case .graph: try GraphRun(path: path, keepsLog: keepsLog)
                case .oneSided: try OneSidedRun(number: steps / GraphSteps.sequence, path: path, keepsLog: keepsLog)
                }
            do {
                for number in numbers {
                    try run.step(number)
                    place += 1
                }
                try run.finish()
                return (nil, run.log)
            } catch { return ((place, "\(error)"), run.log) }
        } catch { return ((0, "\(error)"), []) }
    }

    /// Leaves out ever smaller parts of a sequence as long as the rest fails.
    private mutating func shrunk(_ failing: [UInt64]) -> [UInt64] {
        var (best, size) = (failing, max(failing.count / 2, 1))
        var attempts = 0
        while size > 0, attempts < 600 {
            var (start, isShorter) = (0, false)
            while start < best.count, attempts < 600 {
                attempts += 1
                let shorter = Array(best[..<start] + best[min(start + size, best.count)...])
                if failure(of: shorter) != nil { (best, isShorter) = (shorter, true) } else { start += size }
            }
            if !isShorter || size > 1 { size /= 2 }
        }
        return best
    }

    private mutating func description(of numbers: [UInt64]) -> String {
        let (failure, log) = perform(numbers, keepsLog: true)
        return (log.map { "  " + $0 } + ["  " + (failure?.reason ?? "it holds now")]).joined(separator: "\n")
    }
}

extension GraphRun: RandomRun {
    func finish() throws {
        try compare()
        try compareStore()
    }

    /// The file as a coordinator of its own reads it.
    private func compareStore() throws {
        let reader = try Coordinator(model: try Schema.model())
        _ = try reader.addSQLiteStore(at: path)
        try read(Context(coordinator: reader), stored, "the store")
    }
}
