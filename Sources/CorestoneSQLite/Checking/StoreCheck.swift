import CSQLite
import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// A check whether a store satisfies the conditions that Core Data relies on. The file and its folder are not changed.
struct StoreCheck {
    let connection: Connection
    let contents: StoreContents
    let schema: StoreSchema
    let source: ModelSource
    let misfit: UnusableCachedModel?
    let budget: CheckBudget
    /// The folder of the backing files.
    let externalFolder: String
    var findings = StoreFindings()

    var purpose: String { "check \(connection.path)" }
}

extension StoreReport {
    /// Checks the store at a path.
    ///
    /// The check covers the database itself, references, pairs, versions and primary keys. It also covers the metadata,
    /// the cached model, backing files, the history, indexes, triggers, and unique and derived values.
    ///
    /// - Parameters:
    ///   - path: The path of the store, relative to the working directory at the time of the call.
    ///   - model: The model to read the store with; nil for the store's own model. The initialiser freezes it.
    /// - Throws: As `Coordinator.open` for a file that is not a store, or that does not match `model`. Damage is
    ///   reported as a problem and not thrown.
    public init(ofStoreAt path: String, model: Model? = nil) throws {
        try model?.freeze()
        let place = try StoreLocation(path)
        try place.requireStore()
        do {
            self = try StoreReport.check(place, model)
        } catch let error as CoreError where error.status == .storeCorrupt {
            var findings = StoreFindings()
            findings.add(.database, error.message, entity: error.entity, key: error.key, objectURI: error.objectURI)
            self = findings.report
        }
    }

    private static func check(_ place: StoreLocation, _ model: Model?) throws -> StoreReport {
        let file = try ReadOnlyFile(place)
        func run() throws -> StoreReport {
            var findings = StoreFindings()
            let budget = CheckBudget(file.connection)
            defer { budget.end() }
            if let loss = file.loss { findings.add(.log, loss.explanation) }
            try DatabaseCheck.run(file.connection, &findings)
            if budget.isSpent { return findings.reportPageCycle(place.given) }
            let examination: StoreExamination
            do { examination = try StoreExamination(file.connection, model: model, place: place) } catch let error
                as CoreError
            {
                if budget.isSpent { return findings.reportPageCycle(place.given) }
                guard error.status == .storeCorrupt else { throw error }
                findings.add(.database, error.message, entity: error.entity, key: error.key, objectURI: error.objectURI)
                return findings.report
            }
            var check = StoreCheck(
                connection: file.connection, contents: examination.contents, schema: examination.schema,
                source: examination.source, misfit: examination.misfit, budget: budget,
                externalFolder: ExternalFile.folder(ofStore: place.path), findings: findings)
            check.run()
            return budget.isSpent ? check.findings.reportPageCycle(place.given) : check.findings.report
        }
        return try file.watch.map { try $0.reading(isOpenStore: false, run) } ?? run()
    }
}

extension StoreCheck {
    /// Runs every check, even after one that could not be completed, unless the budget is spent.
    fileprivate mutating func run() {
        findings.setModelSource(source)
        let checks: [(StoreProblem.Kind, (inout StoreCheck) throws -> Void)] = [
            (.metadata, { $0.checkModel() }), (.row, { try $0.checkRows() }), (.row, { try $0.checkValues() }),
            (.reference, { try $0.checkReferences() }),
            (.pair, { try $0.checkPairs() }), (.primaryKey, { try $0.checkPrimaryKeys() }),
            (.metadata, { try $0.checkMetadata() }), (.externalData, { try $0.checkExternalData() }),
            (.history, { try $0.checkHistory() }), (.constraint, { try $0.checkSchemaDrift() }),
            (.derived, { try $0.checkDerivedValues() }),
        ]
        for (kind, check) in checks {
            do { try check(&self) } catch let error as CoreError {
                if budget.isSpent { return }
                findings.add(kind, "cannot complete this check: \(error.message)")
            } catch {}
        }
    }

    /// Runs a query whose rows are problems. Adds the first problems, and the number of further ones as a last problem.
    mutating func report(
        _ kind: StoreProblem.Kind, _ sql: String, entity: String? = nil, key: String? = nil,
        _ describe: (Statement) -> (message: String, objectURI: String?)
    ) throws {
        let statement = try connection.prepare(sql, purpose)
        var count = 0
        while try statement.step(purpose) {
            count += 1
            if count > StoreReport.limit { continue }
            let (message, uri) = describe(statement)
            findings.add(kind, message, entity: entity, key: key, objectURI: uri)
        }
        if count > StoreReport.limit {
            let subject = [entity, key].compactMap { $0 }.joined(separator: ".")
            findings.add(
                kind, "\(count - StoreReport.limit) more of this kind\(subject.isEmpty ? "" : " in \(subject)")",
                entity: entity, key: key, isCut: true)
        }
    }

    /// Returns the integer that a query returns; 0 without a row.
    func count(_ sql: String) throws -> Int {
        let statement = try connection.prepare(sql, purpose)
        return try statement.step(purpose) ? Int(statement.integer(0)) : 0
    }

    /// Returns the URI of the object in a row, with the table's root entity if the entity number is unknown.
    func uri(_ table: TableSchema, number: Int64, primaryKey: Int64) -> String {
        let entity = schema.entity(number: number) ?? table.root
        return "x-coredata://\(contents.document.identifier)/\(entity.name)/p\(primaryKey)"
    }
}
