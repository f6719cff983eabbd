import Corestone
import GraphSteps
import TestSupport
import XCTest

import CorestoneSQL
@testable import CorestoneGraph
@testable import CorestoneSQLite

/// A predicate returns the same objects in SQL, in memory, and if it is split between both.
///
/// CORESTONE_SEED chooses another sequence, CORESTONE_PREDICATES how many (20,000 over both models).
final class PredicateDifferentialTests: XCTestCase {
    private static func number(_ name: String, or fallback: Int) -> Int {
        ProcessInfo.processInfo.environment[name].flatMap(Int.init) ?? fallback
    }

    private func run(
        _ model: Model, _ fill: (Context, inout Dice) throws -> Void, _ seed: UInt64, _ count: Int,
        _ tally: inout DifferentialTally, isInMemory: Bool = false, isStale: Bool = false
    ) throws {
        let bench = try DifferentialBench(
            model: model, seed: seed, isInMemory: isInMemory, isStale: isStale, fill: fill)
        defer { bench.end() }
        for number in 0..<count where tally.failures.count < 5 {
            try bench.compare(seed: seed &+ UInt64(number), &tally)
        }
    }

    func testSQLAndMemoryReturnTheSameObjects() throws {
        let seed = UInt64(Self.number("CORESTONE_SEED", or: 20_261_122))
        let count = Self.number("CORESTONE_PREDICATES", or: 20_000)
        print("seed \(seed), \(count) predicates")
        let packages = try Model(contentsOf: Checkout.root.path + "/examples/packages/Packages.xcdatamodeld")
        var tally = DifferentialTally()
        try run(Menagerie.model(), Menagerie.fill, seed, count * 2 / 3, &tally)
        try run(packages, Menagerie.fillPackages, seed, count - count * 2 / 3, &tally)
        print(tally.summary)
        for failure in tally.failures { XCTFail("seed \(seed): \(failure)") }
        XCTAssertGreaterThan(tally.onSomeRows * 3, tally.compared)
        XCTAssertLessThan(
            tally.split * 10, tally.compared, "\(tally.reasons.sorted { $0.value > $1.value }.prefix(12))")
    }
}

extension PredicateDifferentialTests {
    /// An in-memory store evaluates requests without SQL.
    func testInMemoryStoreReturnsTheSameObjectsAsEvaluation() throws { try agree(isInMemory: true, isStale: false) }

    /// The objects of the fetching context were read before another context changed the store.
    func testFetchIgnoresStaleObjectsOfTheContext() throws {
        try agree(isInMemory: false, isStale: true)
        try agree(isInMemory: true, isStale: true)
    }

    private func agree(isInMemory: Bool, isStale: Bool) throws {
        let seed = UInt64(Self.number("CORESTONE_SEED", or: 20_261_123))
        let count = Self.number("CORESTONE_PREDICATES", or: 20_000) / 4
        var tally = DifferentialTally()
        try run(Menagerie.model(), Menagerie.fill, seed, count, &tally, isInMemory: isInMemory, isStale: isStale)
        print("\(isInMemory ? "in memory" : "SQLite")\(isStale ? ", stale" : ""): \(tally.summary)")
        for failure in tally.failures { XCTFail("in memory \(isInMemory), seed \(seed): \(failure)") }
        XCTAssertGreaterThan(tally.onSomeRows * 3, tally.compared)
    }
}

struct DifferentialTally {
    var compared = 0
    var onSomeRows = 0
    /// Predicates that SQL can express only in part.
    var split = 0
    var refused = 0
    var windows = 0
    var reasons: [String: Int] = [:]
    var failures: [String] = []

    var summary: String {
        "\(compared) predicates agree, \(onSomeRows) of them on some rows only; \(split) were split, \(refused) refused by both, "
            + "\(windows) windows"
    }
}

/// A store, and its objects in memory, on which a predicate is evaluated one by one.
final class DifferentialBench {
    private let folder = NSTemporaryDirectory() + "corestone-\(UUID().uuidString)"
    private let model: Model
    private let coordinator: Coordinator
    private let context: Context
    /// The context of the objects on which predicates are evaluated.
    private let reader: Context
    /// Whether blocks would receive stale objects.
    private let isStale: Bool
    private var objects: [String: [ManagedObject]] = [:]
    /// The objects that the context read before the store was changed.
    private var former: [ManagedObject] = []
    private var constants = PredicateGenerator.Constants()

    private enum Answer: Equatable {
        case keys([Int64])
        case error
    }

    init(
        model: Model, seed: UInt64, isInMemory: Bool = false, isStale: Bool = false,
        fill: (Context, inout Dice) throws -> Void
    ) throws {
        self.isStale = isStale
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        self.model = model
        coordinator = try Coordinator(model: model)
        if isInMemory {
            try coordinator.addStore(.inMemory, at: "memory")
        } else {
            try coordinator.addSQLiteStore(at: folder + "/differential.sqlite")
        }
        var dice = Dice(seed: seed)
        let writer = Context(coordinator: coordinator)
        try fill(writer, &dice)
        try writer.save()
        context = Context(coordinator: coordinator)
        if isStale {
            former = try Menagerie.readAll(context)
            try Menagerie.change(writer, &dice)
            try writer.save()
        }
        reader = isStale ? Context(coordinator: coordinator) : context
        for entity in model.entities {
            let request = FetchRequest(entity: entity)
            request.sortDescriptors = []
            objects[entity.name] = try reader.fetch(request).sorted { $0.primaryKey < $1.primaryKey }
        }
        gatherConstants(&dice)
    }

    func end() { try? FileManager.default.removeItem(atPath: folder) }

    private func gatherConstants(_ dice: inout Dice) {
        constants.numbers =
            Menagerie.integers.map { .int($0) } + Menagerie.reals.map { .double($0) } + [
                .int(.max), .int(1 << 53), .bool(true),
            ]
        constants.texts =
            Menagerie.texts.map { .string($0) } + ["lib", "amd64", "python3-apt3", "libs"].map { .string($0) }
        constants.texts += model.entities.map { .string($0.name) }
        constants.dates = Menagerie.dates.map { .date($0) }
        for type in [AttributeType.uuid, .binary, .uri, .decimal, .boolean] {
            constants.others[type] = (0..<12).map { _ in Menagerie.value(type, &dice) }
        }
        for root in model.roots {
            constants.objects[root.name] = (objects[root.name] ?? []).prefix(9).enumerated().map { place, object in
                .object(place % 2 == 0 ? object : ObjectIDReference(object.objectID))
            }
        }
    }

    // MARK: One predicate

    func compare(seed: UInt64, _ tally: inout DifferentialTally) throws {
        var generator = PredicateGenerator(model: model, constants: constants, seed: seed)
        let entity = generator.dice.pick(model.entities)
        let predicate: Predicate
        do { predicate = try generator.make(entity) } catch {
            tally.failures.append("\(error)")
            return
        }
        let sort = generator.dice.chance(25) ? generator.sort(entity) : []
        let nulls: FetchRequest.NullMeaning = generator.dice.chance(12) ? .database : .memory
        let limit = generator.dice.chance(50) ? generator.dice.below(8) : 0
        let offset = generator.dice.chance(50) ? generator.dice.below(5) : 0
        tally.compared += 1
        let request = FetchRequest(
            entity: entity, predicate: predicate, sortDescriptors: sort, limit: limit, offset: offset)
        request.nulls = nulls
        if let difference = difference(request, isIllTyped: generator.isIllTyped, seed, &tally) {
            let shrunk = shrink(request, seed)
            tally.failures.append("\(difference)\n\(describe(shrunk))\nfrom \(predicate.format)")
        }
    }

    /// Describes how the results of a request differ; nil if they are equal.
    private func difference(
        _ request: FetchRequest, isIllTyped: Bool, _ seed: UInt64, _ tally: inout DifferentialTally
    ) -> String? {
        let memory = inMemory(request)
        let stored = answer { try fetched(request) }
        if case .error = stored {
            // SQL rejects an invalid predicate even if no row would evaluate the invalid part.
            tally.refused += 1
            return memory == .error || isIllTyped ? nil : "SQL refuses: \(failure(request))"
        }
        guard case .keys(let keys) = memory else { return "memory refuses the predicate, SQL returns \(stored)" }
        if stored != memory { return "SQL \(stored), memory \(memory)" }
        if keys.count > 0, keys.count < (objects[request.entity.name] ?? []).count { tally.onSomeRows += 1 }
        if request.limit + request.offset > 0 { tally.windows += 1 }
        if let reasons = reasons(request) {
            tally.split += 1
            for reason in reasons { tally.reasons[reason, default: 0] += 1 }
        }
        if isStale { return counted(request, keys.count, seed) }
        let mixed = FetchRequest(
            entity: request.entity, predicate: request.effectivePredicate.map { mixing($0, seed) },
            sortDescriptors: request.sortDescriptors, limit: request.limit, offset: request.offset)
        let split = answer { try fetched(mixed) }
        if split != memory { return "split \(split), memory \(memory)" }
        return counted(request, keys.count, seed)
    }

    private func counted(_ request: FetchRequest, _ expected: Int, _ seed: UInt64) -> String? {
        if seed % 4 != 0 { return nil }
        let count = answer { [Int64(try context.count(request))] }
        return count == .keys([Int64(expected)]) ? nil : "\(count) counted, memory \(expected)"
    }

    private func answer(_ body: () throws -> [Int64]) -> Answer {
        do { return .keys(try body()) } catch { return .error }
    }

    private func failure(_ request: FetchRequest) -> String {
        do { return "\(try fetched(request))" } catch { return "\(error)" }
    }

    private func fetched(_ request: FetchRequest) throws -> [Int64] {
        let keys = try context.fetchIDs(request).map(\.reference)
        // Without an order, a window may contain any rows, so only their number is compared.
        if !request.sortDescriptors.isEmpty { return keys }
        return request.limit + request.offset > 0 ? keys.map { _ in 0 } : keys.sorted()
    }

    private func inMemory(_ request: FetchRequest) -> Answer {
        answer {
            var chosen = try (objects[request.entity.name] ?? []).filter { object in
                guard let predicate = request.predicate else { return true }
                if request.nulls == .database {
                    return try ThreeValued(object: object).holds(predicate) == true
                }
                return try predicate.evaluate(with: .object(object), arithmetic: .nilPropagating)
            }
            if !request.sortDescriptors.isEmpty {
                chosen = try SortDescriptor.sorted(chosen.map { .object($0) }, by: request.sortDescriptors).compactMap {
                    if case .object(let object as ManagedObject) = $0 { object } else { nil }
                }
            }
            chosen = Array(chosen.dropFirst(request.offset))
            if request.limit > 0 { chosen = Array(chosen.prefix(request.limit)) }
            let isWindow = request.sortDescriptors.isEmpty && request.limit + request.offset > 0
            return chosen.map { isWindow ? 0 : $0.primaryKey }
        }
    }

    /// The predicate with some of its comparisons as blocks, which no SQL can express.
    private func mixing(_ predicate: Predicate, _ seed: UInt64) -> Predicate {
        var dice = Dice(seed: seed &* 31)
        func mix(_ predicate: Predicate) -> Predicate {
            guard case .compound(let compound) = predicate else {
                if dice.chance(50) { return predicate }
                return .block(
                    BlockPredicate { object, variables in
                        try predicate.evaluate(with: object, variables: variables, arithmetic: .nilPropagating)
                    })
            }
            return (try? .compound(Compound(compound.type, compound.parts.map(mix)))) ?? predicate
        }
        return mix(predicate)
    }

    // MARK: Reporting a difference

    private func shrink(_ request: FetchRequest, _ seed: UInt64) -> FetchRequest {
        var smallest = request
        var ignored = DifferentialTally()
        var goesOn = true
        while goesOn, let predicate = smallest.predicate {
            goesOn = false
            for candidate in smaller(predicate) {
                let next = FetchRequest(
                    entity: request.entity, predicate: candidate, sortDescriptors: request.sortDescriptors,
                    limit: request.limit, offset: request.offset)
                next.nulls = request.nulls
                if difference(next, isIllTyped: false, seed, &ignored) != nil {
                    (smallest, goesOn) = (next, true)
                    break
                }
            }
        }
        return smallest
    }

    private func smaller(_ predicate: Predicate) -> [Predicate] {
        guard case .compound(let compound) = predicate else { return [] }
        var found = compound.parts
        for place in compound.parts.indices where compound.parts.count > 1 {
            var parts = compound.parts
            parts.remove(at: place)
            if let without = try? Compound(compound.type, parts) { found.append(.compound(without)) }
            for part in smaller(compound.parts[place]) {
                var parts = compound.parts
                parts[place] = part
                if let with = try? Compound(compound.type, parts) { found.append(.compound(with)) }
            }
        }
        return found
    }

    private func compiled(_ request: FetchRequest) throws -> CompiledFetch? {
        try (coordinator.stores[0].backing as? SQLiteStore)?.compiler.compile(
            StoreFetch(
                entity: request.entity, predicate: request.effectivePredicate,
                sortDescriptors: request.sortDescriptors))
    }

    private func reasons(_ request: FetchRequest) -> [String]? { (try? compiled(request))??.remainder?.reasons }

    private func describe(_ request: FetchRequest) -> String {
        let query = (try? compiled(request))??.query
        let sort = request.sortDescriptors.map { "\($0.ascending ? "" : "-")\($0.keyPath) \($0.selector.rawValue)" }
        return
            "\(request.entity.name) \(request.nulls): \(request.predicate?.format ?? "")\nsort \(sort) limit \(request.limit) "
            + "offset \(request.offset)\n\(query?.text ?? "no SQL")\n\(query?.bindings ?? [])\nSQL \(failure(request)), memory \(inMemory(request))"
    }
}

/// A second implementation of SQL's three-valued logic, on top of the evaluator in memory.
private struct ThreeValued {
    let object: ManagedObject

    /// nil for unknown.
    func holds(_ predicate: Predicate) throws -> Bool? {
        switch predicate {
        case .compound(let compound):
            let parts = try compound.parts.map { try holds($0) }
            switch compound.type {
            case .not: return parts[0].map { !$0 }
            case .and: return parts.contains(false) ? false : parts.contains(nil) ? nil : true
            case .or: return parts.contains(true) ? true : parts.contains(nil) ? nil : false
            }
        case .comparison(let comparison): return try holds(comparison)
        default: return try predicate.evaluate(with: .object(object), arithmetic: .nilPropagating)
        }
    }

    private func holds(_ comparison: Comparison) throws -> Bool? {
        // Subqueries and TERNARY contain predicates, for which the rewritten predicate is evaluated.
        let whole = Predicate.comparison(comparison)
        let (left, right) = (comparison.left, comparison.right)
        let isNullTest =
            (comparison.operator == .equal || comparison.operator == .notEqual)
            && (left.constantValue?.isNull == true || right.constantValue?.isNull == true)
        if comparison.modifier == .direct, !isNullTest {
            for side in [left, right] {
                let present = Predicate.comparison(Comparison(side, .notEqual, .constant(.null))).withDatabaseNulls
                if try !present.evaluate(with: .object(object), arithmetic: .nilPropagating) { return nil }
            }
        }
        if whole.format.contains("SUBQUERY") || whole.format.contains("TERNARY") {
            return try whole.withDatabaseNulls.evaluate(with: .object(object), arithmetic: .nilPropagating)
        }
        return try whole.evaluate(with: .object(object), arithmetic: .nilPropagating)
    }
}
