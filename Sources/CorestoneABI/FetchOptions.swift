import CCorestone
import CorestoneGraph
import CorestoneValues

@_cdecl("cst_fetch_request_new_with_options") @implementation
public func cst_fetch_request_new_with_options(
    _ pointer: UnsafePointer<cst_fetch_options>?, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_request")
        let given = try options(pointer, cst_fetch_options(), "options")
        let box = FetchRequestBox(try request(of: given))
        try naming(box.request.entityName, nil) { try box.set(given) }
        out.pointee = try HandleTable.make(box, .fetchRequest)
    }
}

/// Creates a request for the entity, or the entity name, of the options.
private func request(of given: cst_fetch_options) throws -> FetchRequest {
    let name = try given.entity_name.optionalString("entity_name")
    guard let pointer = given.entity else {
        let request = FetchRequest()
        request.entityName = name
        return request
    }
    let entity = try entity(pointer)
    if let name {
        throw CoreError(
            .invalidArgument, "both entity and entity_name are set, to \(entity.name) and \"\(name)\"; set one of them",
            entity: entity.name, key: "entity_name", value: .string(name))
    }
    return FetchRequest(entity: entity)
}

extension FetchRequestBox {
    /// Sets the parts of a new request. Options with initial values are skipped, because the request has these values.
    fileprivate func set(_ given: cst_fetch_options) throws {
        try setFlags(given)
        if given.predicate != nil { predicate = try predicateBox(given.predicate) }
        if given.sort != nil || given.sort_count != 0 {
            request.sortDescriptors = try sortDescriptors(given.sort, given.sort_count, nil, nil, for: .fetch)
        }
        (request.limit, request.offset) = (Int(clamping: given.limit), Int(clamping: given.offset))
        request.batchSize = Int(clamping: given.batch_size)
        if given.result_type != 0 { request.resultType = try resultType(Int64(given.result_type), of: request) }
        if given.nulls != 0 { request.nulls = try nullMeaning(given.nulls, of: request) }
        if given.prefetch_count != 0 {
            request.relationshipKeyPathsForPrefetching = try strings(given.prefetch, given.prefetch_count, "prefetch")
        }
        if given.columns != nil || given.column_count != 0 {
            try setColumns(given.columns, given.column_count, "columns")
        }
        if given.group_by_count != 0 {
            request.propertiesToGroupBy = try strings(given.group_by, given.group_by_count, "group_by")
        }
        if given.having != nil { having = try predicateBox(given.having) }
        request.affectedStores = try affectedStores(given.stores, given.store_count)
    }

    private func setFlags(_ given: cst_fetch_options) throws {
        guard given.reserved == 0 else {
            throw CoreError(
                .unsupported, "options.reserved is \(given.reserved), but must be 0", key: "reserved",
                value: .int(Int64(given.reserved)))
        }
        let known = UInt32(CST_FETCH_WITH_ROWS_IN_MEMORY) << 1 - 1
        guard given.flags & ~known == 0 else {
            throw CoreError(
                .unsupported,
                "options.flags is 0x\(String(given.flags, radix: 16)), but must be 0 to 0x\(String(known, radix: 16)); "
                    + "use CST_FETCH_WITH_ and CST_FETCH_WITHOUT_ constants of this version of the library",
                key: "flags", value: .int(Int64(given.flags)))
        }
        func has(_ flag: Int) -> Bool { given.flags & UInt32(flag) != 0 }
        request.includesSubentities = !has(CST_FETCH_WITHOUT_SUBENTITIES)
        request.includesPendingChanges = !has(CST_FETCH_WITHOUT_PENDING_CHANGES)
        request.includesPropertyValues = !has(CST_FETCH_WITHOUT_PROPERTY_VALUES)
        request.returnsObjectsAsFaults = !has(CST_FETCH_WITHOUT_FAULTS)
        request.allowsSplit = !has(CST_FETCH_WITHOUT_SPLIT)
        request.shouldRefreshRefetchedObjects = has(CST_FETCH_WITH_REFRESH)
        request.returnsDistinctResults = has(CST_FETCH_WITH_DISTINCT_ROWS)
        request.computesRowsInMemory = has(CST_FETCH_WITH_ROWS_IN_MEMORY)
    }
}
