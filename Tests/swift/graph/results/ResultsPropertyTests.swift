import Corestone
import XCTest

/// Random edits, saves, merges, batch requests, undo and resets.
///
/// The reported changes, applied by the rules of table views, yield the results of the controller, which are those of a
/// fetch.
///
/// `CORESTONE_SEED=n` runs one seed alone, `CORESTONE_EDITS=n` as many edits in all.
final class ResultsPropertyTests: XCTestCase {
    func testReportedChangesMatchTheResultsOverRandomEdits() throws {
        let environment = ProcessEnvironment()
        let edits = environment.number("CORESTONE_EDITS") ?? 20_000
        var done = 0, seed = environment.number("CORESTONE_SEED") ?? 0
        let first = seed
        while done < edits {
            let run = try ResultsRun(seed: UInt64(seed))
            if environment.number("CORESTONE_SEED") != nil { run.describe() }
            run.isTraced = environment.number("CORESTONE_SEED") != nil
            do { try run.go(200) } catch { return XCTFail("seed \(seed): \(error)") }
            done += run.edits
            if let failure = run.failure { return XCTFail("seed \(seed), after \(run.edits) edits: \(failure)") }
            seed += 1
            if environment.number("CORESTONE_SEED") != nil { break }
        }
        print("controller: \(done) edits, seeds \(first) to \(seed - 1)")
    }
}

private struct ProcessEnvironment {
    func number(_ name: String) -> Int? { getenv(name).flatMap { Int(String(cString: $0)) } }
}
