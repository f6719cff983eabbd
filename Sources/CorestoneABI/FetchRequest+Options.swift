import CCorestone
import CorestoneGraph
import CorestoneValues

/// The options of a request; the raw values are those of the header.
private enum FetchOption: UInt32 {
    case limit = 1, offset, batchSize, resultType
    case includesSubentities, includesPendingChanges, includesPropertyValues, returnsFaults, refreshesRefetched
    case distinct, nulls, allowsSplit, rowsInMemory

    init(_ number: UInt32, of request: FetchRequest) throws {
        guard let option = FetchOption(rawValue: number) else {
            throw CoreError(
                .invalidArgument,
                "\(number) is not a fetch request option; use an option from CST_FETCH_LIMIT to "
                    + "CST_FETCH_ROWS_IN_MEMORY",
                entity: request.entityName, key: "option", value: .int(Int64(number)))
        }
        self = option
    }

    /// The property of a flag; nil for other options.
    var flag: ReferenceWritableKeyPath<FetchRequest, Bool>? {
        switch self {
        case .includesSubentities: \.includesSubentities
        case .includesPendingChanges: \.includesPendingChanges
        case .includesPropertyValues: \.includesPropertyValues
        case .returnsFaults: \.returnsObjectsAsFaults
        case .refreshesRefetched: \.shouldRefreshRefetchedObjects
        case .distinct: \.returnsDistinctResults
        case .allowsSplit: \.allowsSplit
        case .rowsInMemory: \.computesRowsInMemory
        default: nil
        }
    }

    /// The property of a count; nil for other options.
    var count: ReferenceWritableKeyPath<FetchRequest, Int>? {
        switch self {
        case .limit: \.limit
        case .offset: \.offset
        case .batchSize: \.batchSize
        default: nil
        }
    }
}

@_cdecl("cst_fetch_request_set_option") @implementation
public func cst_fetch_request_set_option(
    _ pointer: OpaquePointer?, _ number: UInt32, _ value: Int64, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let request = try request(pointer)
        let option = try FetchOption(number, of: request)
        if let flag = option.flag {
            guard value == 0 || value == 1 else { throw refused(request, option, value, "0 or 1") }
            request[keyPath: flag] = value == 1
        } else if let count = option.count {
            guard value >= 0 else { throw refused(request, option, value, "0 or more") }
            request[keyPath: count] = Int(value)
        } else if option == .nulls {
            request.nulls = try nullMeaning(value, of: request)
        } else {
            request.resultType = try resultType(value, of: request)
        }
    }
}

@_cdecl("cst_fetch_request_option") @implementation
public func cst_fetch_request_option(
    _ pointer: OpaquePointer?, _ number: UInt32, _ out: UnsafeMutablePointer<Int64>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try required(out, "out_value")
        out.pointee = 0
        let request = try request(pointer)
        let option = try FetchOption(number, of: request)
        if let flag = option.flag {
            out.pointee = request[keyPath: flag] ? 1 : 0
        } else if let count = option.count {
            out.pointee = Int64(request[keyPath: count])
        } else {
            out.pointee = option == .nulls ? Int64(request.nulls.rawValue) : request.resultType.rawValue
        }
    }
}

private func refused(_ request: FetchRequest, _ option: FetchOption, _ value: Int64, _ expected: String) -> CoreError {
    let name = constantName("CST_FETCH", option)
    return CoreError(
        .invalidArgument, "\(name) takes \(expected), not \(value)", entity: request.entityName, key: name,
        value: .int(value))
}

func resultType(_ value: Int64, of request: FetchRequest) throws -> FetchRequest.ResultType {
    if let type = FetchRequest.ResultType(rawValue: value) { return type }
    throw CoreError(
        .unsupported, code: .persistentStoreUnsupportedRequestType,
        "\(value) is not a result type; use CST_RESULT_OBJECTS, CST_RESULT_OBJECT_IDS, CST_RESULT_DICTIONARIES or "
            + "CST_RESULT_COUNT",
        entity: request.entityName, key: "result_type", value: .int(value))
}

func nullMeaning(_ value: some BinaryInteger, of request: FetchRequest) throws -> FetchRequest.NullMeaning {
    if let meaning = UInt32(exactly: value).flatMap({ FetchRequest.NullMeaning(rawValue: $0) }) { return meaning }
    throw CoreError(
        .invalidArgument,
        "\(value) is not a mode of comparisons with nil; use CST_NULLS_MEMORY or CST_NULLS_DATABASE",
        entity: request.entityName, key: "nulls", value: .int(Int64(value)))
}

@_cdecl("cst_fetch_request_set_affected_stores") @implementation
public func cst_fetch_request_set_affected_stores(
    _ pointer: OpaquePointer?, _ count: Int, _ stores: UnsafePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let request = try request(pointer)
        request.affectedStores = try affectedStores(stores, count)
    }
}

/// Returns the stores that a request searches; nil for a NULL array, which selects all stores.
func affectedStores(_ stores: UnsafePointer<OpaquePointer?>?, _ count: Int) throws -> [Store]? {
    let given = try array(stores, count, "stores").map { try resolve($0, .store, as: StoreBox.self).store }
    return stores == nil ? nil : given
}
