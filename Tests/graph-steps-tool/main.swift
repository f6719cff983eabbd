import Glibc
import GraphSteps

/// Random steps over a graph of objects: graph-steps SEED STEPS FOLDER [graph|one-sided [FIRST]]. Part of `make stress`.
let arguments = CommandLine.arguments
guard 4...6 ~= arguments.count, let kind = GraphSteps.Kind(rawValue: arguments.count > 4 ? arguments[4] : "graph"),
    let seed = UInt64(arguments[1]), let count = Int(arguments[2]), count > 0,
    let first = arguments.count > 5 ? Int(arguments[5]) : 0
else {
    print("usage: graph-steps SEED STEPS FOLDER [graph|one-sided [FIRST]]")
    exit(2)
}
print("graph-steps: seed \(seed), \(count) steps")
var steps = GraphSteps(kind, folder: arguments[3])
var shown = 0
let failure = steps.run(seed: seed, steps: count, from: first) { done in
    if done - shown < count / 20 { return }
    shown = done
    print("graph-steps: \(done) steps hold")
    fflush(nil)
}
if let failure {
    print(failure)
    exit(1)
}
print("graph-steps: all \(count) steps hold, seed \(seed)")
