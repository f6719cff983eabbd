import CorestoneGraph
import CorestoneModel
import CorestonePredicate
import CorestoneSQL
import CorestoneValues

extension NodeStore {
    package func fetch(_ fetch: StoreFetch) throws -> StoreFetchOutcome {
        try adoptForeignWrites()
        try MemoryCheck.require(0, to: "fetch from \(Coordinator.shown(path))", file: path)
        let query = try query(fetch)
        var outcome = StoreFetchOutcome()
        outcome.remainder = query.remainder
        let records: ContiguousArray<Record>
        do { records = try query.run(nodes, NodeClock(interruptCheck, "fetch", fetch.entity.name, path)) } catch {
            // The caller cannot use the row objects of the error.
            throw (error as? CoreError)?.withoutObjects ?? error
        }
        switch query.remainder == nil ? fetch.result : .rows {
        case .rows:
            // Memory for the context's objects and tables. The check above covers a few rows.
            let bytes = records.count * 128
            if bytes > MemoryCheck.spare {
                try MemoryCheck.require(bytes, to: "fetch from \(Coordinator.shown(path))", file: path)
            }
            outcome.batch = RowBatch(records)
        case .identifiers: outcome.identifiers = records.map { ($0.primaryKey, $0.header.pointee.entity) }
        case .count: outcome.count = records.count
        }
        return outcome
    }

    func query(_ fetch: StoreFetch) throws -> NodeQuery {
        let isChecked = try fetch.check(by: schema, store: identifier)
        return try NodeQuery(fetch, isChecked: isChecked, self, NodeRows(nodes, identifier))
    }

    package func explain(_ fetch: StoreFetch) throws -> FetchExplanation.Share? {
        try adoptForeignWrites()
        let query = try query(fetch)
        var steps = [FetchExplanation.Step(detail: query.candidates?.step ?? "SCAN \(fetch.entity.name)", depth: 0)]
        if !fetch.sortDescriptors.isEmpty, query.remainder?.isUnordered != true {
            steps.append(.init(detail: "SORT", depth: 0))
        }
        return FetchExplanation.Share(
            path: path, sql: "", bindings: [], steps: steps, indexes: query.candidates?.index.map { [$0] } ?? [],
            remainder: query.remainder)
    }

    package func check(_ request: StoreRowsRequest) throws {
        _ = try FetchCompiler(schema: schema, storeIdentifier: identifier).compile(request)
    }

    package func rowSource(of store: Store) -> (any RowSource)? { NodeRows(nodes, identifier, store) }

    package func rows(of root: Entity, primaryKeys: [Int64]) -> RowBatch {
        RowBatch(ContiguousArray(primaryKeys.compactMap { nodes.node(root, $0)?.record }))
    }

    /// Returns the versions of rows.
    ///
    /// Reads the file first, because callers use the versions to detect other processes' changes.
    package func versions(of root: Entity, primaryKeys: [Int64]) throws -> [Int64: Int32] {
        try adoptForeignWrites()
        var versions: [Int64: Int32] = [:]
        for key in primaryKeys { versions[key] = nodes.node(root, key)?.record.version }
        return versions
    }

    package func row(of root: Entity, primaryKey: Int64) -> (record: Record, chunk: RecordChunk)? {
        nodes.node(root, primaryKey).map { ($0.record, $0.chunk) }
    }

    package func members(of relationship: Relationship, owners: [Int64], includingRows: Bool) -> StoreMembers {
        var result = StoreMembers()
        var rows: ContiguousArray<Record> = []
        let root = relationship.destination.root
        for owner in owners {
            for key in nodes.members(relationship, owner) {
                guard let record = nodes.node(root, key)?.record else { continue }
                result.members.append(
                    .init(owner: owner, primaryKey: key, entity: record.header.pointee.entity))
                if includingRows { rows.append(record) }
            }
        }
        result.batch = RowBatch(rows)
        return result
    }
}

extension RowBatch {
    /// Creates a batch of rows with their chunks, each chunk included once.
    fileprivate init(_ rows: ContiguousArray<Record>) {
        self.init()
        records = rows
        var known: Set<UnsafeMutableRawPointer> = []
        var last: UnsafeMutableRawPointer?
        for record in rows {
            let chunk = record.chunk
            if chunk.toOpaque() == last { continue }
            last = chunk.toOpaque()
            if known.insert(chunk.toOpaque()).inserted { chunks.append(chunk.takeUnretainedValue()) }
        }
    }
}
