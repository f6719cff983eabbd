import XCTest

@testable import CorestoneGraph

final class FormerReferencesTests: XCTestCase {
    /// Compared with a dictionary: long runs, gaps in references and in keys, and references that are added late.
    func testFormerReferencesMatchADictionary() {
        var former = FormerReferences()
        var model: [Int64: Int64] = [:]
        var late: [Int64] = []
        var (reference, key) = (Int64(-1), Int64(1))
        for _ in 0..<300 {
            for _ in 0..<Int.random(in: 1...40) {
                reference -= 1
                if Int.random(in: 0..<10) == 0 {
                    late.append(reference)
                    continue
                }
                former.note(reference, became: key)
                model[reference] = key
                key += 1
            }
            if Bool.random() { key += Int64.random(in: 1...5) } else { reference -= Int64.random(in: 1...5) }
        }
        for reference in late.shuffled() {
            former.note(reference, became: key)
            model[reference] = key
            key += 7
        }
        for reference in (reference - 10)...0 { XCTAssertEqual(former.key(of: reference), model[reference]) }
    }

    func testFormerReferencesAreInitiallyEmpty() { XCTAssertNil(FormerReferences().key(of: -1)) }
}
