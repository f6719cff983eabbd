import Corestone
import GraphSteps
import XCTest

/// Random sequences of edits, saves, conflicts, undo and redo against a reference model in plain values.
///
/// CORESTONE_SEED chooses another sequence, CORESTONE_STEPS how many steps.
final class GraphStepsTests: XCTestCase {
    func testRandomStepsMatchTheReferenceModel() throws { try run(.graph, steps: 100_000) }

    func testOneSidedReferencesNeverPointToDeletedObjects() throws { try run(.oneSided, steps: 20_000) }

    private func run(_ kind: GraphSteps.Kind, steps usual: Int) throws {
        func number(_ name: String) -> Int? { ProcessInfo.processInfo.environment[name].flatMap(Int.init) }
        let seed = UInt64(number("CORESTONE_SEED") ?? 20_261_122)
        let count = number("CORESTONE_STEPS") ?? usual
        let folder = NSTemporaryDirectory() + "corestone-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        print("seed \(seed), \(count) steps")
        var steps = GraphSteps(kind, folder: folder)
        if let failure = steps.run(seed: seed, steps: count) { return XCTFail(failure) }
        print("\(steps.steps) steps hold")
        XCTAssertEqual(steps.steps, count)
    }
}
