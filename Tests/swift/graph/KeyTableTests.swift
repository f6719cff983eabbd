import XCTest

@testable import CorestoneGraph

final class KeyTableTests: XCTestCase {
    /// A damaged store may contain key 0, which marks the free entries of the table.
    func testKeyTableContainsKeyZeroOnlyAfterItWasSet() {
        func pointer(_ number: Int) -> UnsafeMutableRawPointer { UnsafeMutableRawPointer(bitPattern: number)! }
        let table = KeyTable()
        for key in 1...10 { table.set(Int64(key), pointer(key)) }
        for key in 1...10 { table.remove(Int64(key)) }
        XCTAssertNil(table.find(0))
        XCTAssertNil(table.remove(0))
        XCTAssertEqual(table.count, 0)
        XCTAssertTrue(table.setIfAbsent(0, pointer(1)))
        XCTAssertFalse(table.setIfAbsent(0, pointer(2)))
        XCTAssertEqual(table.set(0, pointer(3)), pointer(1))
        for key in 1...100 { table.set(Int64(key), pointer(key)) }
        XCTAssertEqual(table.count, 101)
        XCTAssertEqual(table.find(0), pointer(3))
        var keys: Set<Int64> = []
        table.forEach { key, _ in keys.insert(key) }
        XCTAssertEqual(keys, Set(0...100))
        XCTAssertNil(table.remove(0, of: pointer(4)))
        XCTAssertEqual(table.remove(0, of: pointer(3)), pointer(3))
        for key in 1...100 { XCTAssertEqual(table.remove(Int64(key)), pointer(key)) }
        XCTAssertNil(table.find(0))
        XCTAssertEqual(table.count, 0)
    }

    /// Compared with a dictionary: dense keys, strides, negative keys and random keys, with removals in between.
    func testKeyTableMatchesADictionary() {
        var generator = SystemRandomNumberGenerator()
        for stride in [1, 16, 1024, 4096, 1 << 20] {
            let table = KeyTable()
            var model: [Int64: Int] = [:]
            for step in 0..<20_000 {
                let key: Int64
                switch step % 4 {
                case 0: key = Int64(step / 4 * stride + 1)
                case 1: key = -Int64(step / 4 * stride + 1)
                case 2: key = Int64.random(in: 1...Int64.max, using: &generator)
                default: key = Int64(Int.random(in: 0..<5000, using: &generator) * stride + 1)
                }
                if step % 3 == 2 {
                    XCTAssertEqual(table.remove(key).map { Int(bitPattern: $0) }, model.removeValue(forKey: key))
                } else {
                    let old = table.set(key, UnsafeMutableRawPointer(bitPattern: step + 1)!)
                    XCTAssertEqual(old.map { Int(bitPattern: $0) }, model.updateValue(step + 1, forKey: key))
                }
            }
            XCTAssertEqual(table.count, model.count)
            for (key, value) in model { XCTAssertEqual(table.find(key).map { Int(bitPattern: $0) }, value) }
            for key in (0..<5000).map({ Int64($0 * stride + 2) }) where model[key] == nil {
                XCTAssertNil(table.find(key))
            }
        }
    }
}
