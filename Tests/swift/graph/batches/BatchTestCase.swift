import Corestone
import XCTest

/// The company of `GraphTestCase` in a SQLite store, or in a store of dictionaries, which executes batches row by row.
class BatchTestCase: XCTestCase {
    private(set) var folder = ""
    private var contexts: [Context] = []
    var coordinator: Coordinator!
    var context: Context!
    var path: String { folder + "/company.sqlite" }

    override func setUpWithError() throws {
        folder = NSTemporaryDirectory() + "corestone-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try open(GraphTestCase.company())
    }

    override func tearDown() {
        (context, coordinator, contexts) = (nil, nil, [])
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// Replaces the store and the contexts with empty ones of another model.
    func open(_ model: Model, keepsHistory: Bool = false) throws {
        (context, coordinator) = (nil, nil)
        for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
            try FileManager.default.removeItem(atPath: folder + "/" + name)
        }
        coordinator = try Coordinator(model: model)
        var options = StoreOptions()
        options.keepsHistory = keepsHistory
        try coordinator.addSQLiteStore(at: path, options: options)
        context = Context(coordinator: coordinator)
    }

    /// The same with a store that does not support batch requests.
    func openMemory(_ model: Model) throws {
        coordinator = try Coordinator(model: model)
        _ = try coordinator.add(MemoryStore(model: model))
        context = Context(coordinator: coordinator)
    }

    func entity(_ name: String) throws -> Entity { try coordinator.model.requireEntity(named: name) }

    /// The output of the sqlite3 shell, one row per line.
    func shell(_ sql: String) throws -> String {
        let process = Process()
        let pipe = Pipe()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["sqlite3", path, sql]
        process.standardOutput = pipe
        try process.run()
        let output = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return String(decoding: output, as: UTF8.self).trimmingCharacters(in: .newlines)
    }

    func failure(_ body: () throws -> Void, line: UInt = #line) -> CoreError {
        do { try body() } catch let error as CoreError { return error } catch { XCTFail("\(error)", line: line) }
        XCTFail("nothing was thrown", line: line)
        return CoreError(.ok, "")
    }

    /// Inserts employees by name and age.
    func hire(_ people: [(String, Int64)]) throws {
        let rows: [[String: PropertyValue]] = people.map { ["name": .string($0.0), "age": .int($0.1)] }
        _ = try context.execute(BatchInsertRequest(entity: entity("Employee"), rows: rows))
    }

    /// A new context. It lives as long as the test, since objects do not retain their context.
    func fresh() -> Context {
        contexts.append(Context(coordinator: coordinator))
        return contexts[contexts.count - 1]
    }

    /// The names and ages that a new context reads.
    func people() throws -> [String] {
        try fresh().fetch("Employee", sort: ["name"]).map {
            "\(try $0.get("name") ?? "-") \(try $0.get("age", as: Int.self).map { "\($0)" } ?? "-")"
        }
    }
}
