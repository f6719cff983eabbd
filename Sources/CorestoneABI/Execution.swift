import CCorestone
import CPlatform
import CorestoneGraph
import CorestoneValues

@_cdecl("cst_context_execute") @implementation
public func cst_context_execute(
    _ pointer: OpaquePointer?, _ requestPointer: UnsafeRawPointer?,
    _ out: UnsafeMutablePointer<cst_request_result>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try required(out, "out_result")
        out.pointee = cst_request_result()
        let box = try onQueue(pointer)
        let handle = requestPointer.map { OpaquePointer($0) }
        let request = try storeRequest(handle)
        let result: RequestResult = try box.closingTemporaryContexts { try box.context.execute(request) }
        out.pointee = try requestResult(result, request, box)
    }
}

@_cdecl("cst_request_type") @implementation
public func cst_request_type(
    _ pointer: UnsafeRawPointer?, _ out: UnsafeMutablePointer<UInt32>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try required(out, "out_type")
        out.pointee = try storeRequest(pointer.map { OpaquePointer($0) }).requestType
    }
}

/// Returns the request of a handle. Throws Core Data's error for an unknown request if the handle has another type.
private func storeRequest(_ pointer: OpaquePointer?) throws -> PersistentStoreRequest {
    guard let entry = platform_handle_find_any(token(pointer)),
        let type = HandleType(rawValue: platform_handle_type(entry)), type != .fetchRequest
    else { return try request(pointer) }
    if type == .batchRequest { return try resolve(pointer, type, as: BatchRequestBox.self).request }
    throw CoreError(
        .invalidHandle, code: .persistentStoreUnsupportedRequestType,
        "the handle is of type \(type.name), but the function takes a fetch request or a batch request",
        key: "request")
}

/// Converts the result of a request to a struct whose handle the host owns.
func requestResult(
    _ result: RequestResult, _ request: PersistentStoreRequest, _ box: ContextBox
) throws -> cst_request_result {
    let entity = (request as? FetchRequest)?.entity
    func made(_ type: Int, _ count: Int, _ value: OpaquePointer? = nil) -> cst_request_result {
        cst_request_result(
            type: UInt32(type), reserved: 0, count: UInt64(count), value: value.map { UnsafeMutableRawPointer($0) })
    }
    switch result {
    case .objects(let results):
        let list = ResultList(results, entity: entity, box: box)
        return made(CST_RESULT_OBJECTS, list.count, try list.makeHandle())
    case .objectIDs(let ids):
        let list = ResultList([], ids: ids, entity: entity, box: box)
        return made(CST_RESULT_OBJECT_IDS, ids.count, try list.makeHandle())
    case .dictionaries(let rows):
        let list = RowsBox(rows, model: box.context.coordinator.model, request: request as? FetchRequest, box: box)
        let handle = try HandleTable.make(list, .rows)
        return made(CST_RESULT_DICTIONARIES, rows.count, handle)
    case .count(let count): return made(CST_RESULT_COUNT, count)
    case .asynchronous:
        throw CoreError(
            .internal,
            "the fetch request\(entity.map { " for \($0.name)" } ?? "") started an asynchronous fetch instead of "
                + "returning a result; report it as a defect of the library",
            entity: entity?.name)
    }
}
