import Corestone
import XCTest

@testable import CorestoneGraph

/// The links of one object.
final class ObserverLinksTests: GraphTestCase {
    /// Cancellation closes gaps occasionally, not each time, so that the total number of moves is linear.
    func testGapsAreClosedWhenHalfOfTheLinksAreRemoved() throws {
        let ada = try employee("Ada")
        let observer = ObjectObserver("name", [], context.ownObservers()) { _, _ in }
        let all = (0..<4096).map { _ in ObserverLink(observer, position: 0, object: ada, slot: 0, slots: [0]) }
        var (links, closings) = (ObserverLinks(), 0)
        for link in all { links.append(link) }
        for (number, link) in all.enumerated() {
            let before = links.all.count
            links.remove(link)
            links.remove(link)
            if links.all.count < before { closings += 1 }
            XCTAssertEqual(links.isEmpty, number == all.count - 1)
            if number % 500 == 0 {
                XCTAssertTrue(links.all.compactMap { $0 }.elementsEqual(all[(number + 1)...], by: ===))
            }
        }
        XCTAssertLessThan(closings, 16)
    }
}
