import Corestone
import Foundation
import XCTest

/// A history as an asynchronous sequence.
final class HistoryFeedTests: XCTestCase {
    private var folder = ""

    override func setUpWithError() throws {
        folder = NSTemporaryDirectory() + "corestone-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }

    override func tearDown() { try? FileManager.default.removeItem(atPath: folder) }

    /// A new coordinator with the store of the test.
    private func coordinator() throws -> Coordinator {
        let model = Model()
        try model.addEntity(named: "Car").addAttribute(named: "maker", type: .string).setOptional(true)
        let coordinator = try Coordinator(model: model)
        var options = StoreOptions()
        options.keepsHistory = true
        _ = try coordinator.addStore(at: folder + "/cars.sqlite", options: options)
        return coordinator
    }

    private func save(_ count: Int, in coordinator: Coordinator) throws {
        let context = Corestone.Context(coordinator: coordinator)
        for _ in 0..<count {
            _ = try context.insert(coordinator.model.requireEntity(named: "Car"))
            try context.save()
        }
    }

    func testHistoryFeedDeliversPastAndNewTransactions() async throws {
        let (writer, coordinator) = (try coordinator(), try coordinator())
        try save(2, in: writer)
        let reader = Task { () -> [Int64] in
            var numbers: [Int64] = []
            for try await transaction in coordinator.historyFeed() {
                numbers.append(transaction.number)
                if numbers.count == 4 { break }
            }
            return numbers
        }
        try save(2, in: writer)
        let numbers = try await reader.value
        XCTAssertEqual(numbers, [1, 2, 3, 4])
        let endless = Task {
            var count = 0
            for try await _ in coordinator.historyFeed() { count += 1 }
            return count
        }
        try await Task.sleep(nanoseconds: 100_000_000)
        endless.cancel()
        let count = try await endless.value
        XCTAssertEqual(count, 4)
    }

    func testHistoryFeedRejectsALimit() async throws {
        let coordinator = try coordinator()
        try save(1, in: coordinator)
        var request = HistoryRequest()
        request.limit = 1
        var reader = coordinator.historyFeed(request).makeAsyncIterator()
        do {
            _ = try await reader.next()
            XCTFail("a feed with a limit would wait forever after the last transaction")
        } catch let error as CoreError { XCTAssertEqual(error.key, "limit") }
    }
}
