import Glibc
import GraphSteps

/// Random steps over a graph of objects, compared with a reference: graph-steps SEED STEPS FOLDER. Part of `make stress`.
let arguments = CommandLine.arguments
guard arguments.count == 4, let seed = UInt64(arguments[1]), let count = Int(arguments[2]), count > 0 else {
    print("usage: graph-steps SEED STEPS FOLDER")
    exit(2)
}
print("graph-steps: seed \(seed), \(count) steps")
var steps = GraphSteps(folder: arguments[3])
var shown = 0
let failure = steps.run(seed: seed, steps: count) { done in
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
