import Corestone
import Foundation
import XCTest

/// The company of `GraphTestCase` in a SQLite store.
class CompanyFileTestCase: GraphTestCase {
    private(set) var folder = ""

    override func setUpWithError() throws {
        model = try GraphTestCase.company()
        folder = NSTemporaryDirectory() + "corestone-company-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try reopen()
    }

    override func tearDownWithError() throws {
        context = nil
        coordinator = nil
        try FileManager.default.removeItem(atPath: folder)
    }

    /// Replaces the coordinator and the context with new ones, so that no row is cached.
    func reopen() throws {
        if let coordinator { for store in coordinator.stores { try coordinator.remove(store) } }
        coordinator = try Coordinator(model: model)
        try coordinator.addSQLiteStore(at: folder + "/company.sqlite")
        context = Context(coordinator: coordinator)
    }

    func addStore(named name: String) throws -> Store {
        try coordinator.addSQLiteStore(at: folder + "/\(name).sqlite")
    }
}
