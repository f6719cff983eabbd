import Corestone
import Glibc

/// A store and its contexts, changed by random steps that check their results.
protocol RandomRun {
    /// A readable log of the steps; empty unless it was requested.
    var log: [String] { get }

    func step(_ number: UInt64) throws
    /// Checks the state after the last step.
    func finish() throws
}

/// Runs sequences of random steps, and shortens a sequence that fails.
package struct GraphSteps {
    package enum Kind: String {
        /// A graph that is compared with a reference of plain values.
        case graph
        /// Relationships without inverse, in four types of stores.
        case oneSided = "one-sided"
    }

    /// The number of steps in one store; the next sequence starts with an empty store.
    static let sequence = 250

    let kind: Kind
    let folder: String
    package private(set) var steps = 0
    private var stores = 0

    /// - Parameter folder: The folder for temporary stores, which are removed.
    package init(_ kind: Kind = .graph, folder: String) { (self.kind, self.folder) = (kind, folder) }

    /// - Parameters:
    ///   - first: Sequences that end before this step are skipped.
    ///   - progress: Called after each sequence with the number of finished steps.
    /// - Returns: The first failure, with the shortest failing sequence that was found; nil if all sequences passed.
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

    /// The first step after which a check fails. It equals the number of steps if only the final check fails.
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

    /// Removes parts of decreasing size from a sequence while the rest still fails.
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
        return (log.map { "  " + $0 } + ["  " + (failure?.reason ?? "the repeated run passed")]).joined(separator: "\n")
    }
}

extension GraphRun: RandomRun {
    func finish() throws {
        try compare()
        try compareStore()
    }

    /// Compares the file, read by another coordinator, with the expected state.
    private func compareStore() throws {
        let reader = try Coordinator(model: try Schema.model())
        _ = try reader.addSQLiteStore(at: path)
        try read(Context(coordinator: reader), stored, "the store")
    }
}
