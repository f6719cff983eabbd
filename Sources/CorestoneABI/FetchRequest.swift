import CCorestone
import CorestoneGraph
import CorestonePredicate
import CorestoneValues

func requestBox(_ pointer: OpaquePointer?) throws -> FetchRequestBox { try resolve(pointer, .fetchRequest) }

func request(_ pointer: OpaquePointer?) throws -> FetchRequest { try requestBox(pointer).request }

@_cdecl("cst_fetch_request_new") @implementation
public func cst_fetch_request_new(
    _ entityPointer: OpaquePointer?, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_request")
        out.pointee = try HandleTable.make(
            FetchRequestBox(FetchRequest(entity: try entity(entityPointer))), .fetchRequest)
    }
}

@_cdecl("cst_fetch_request_new_named") @implementation
public func cst_fetch_request_new_named(
    _ name: cst_string, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_request")
        let request = FetchRequest()
        request.entityName = try name.optionalString("entity_name")
        out.pointee = try HandleTable.make(FetchRequestBox(request), .fetchRequest)
    }
}

@_cdecl("cst_fetch_request_set_entity_name") @implementation
public func cst_fetch_request_set_entity_name(
    _ pointer: OpaquePointer?, _ name: cst_string, _ error: ErrorOut
) -> cst_status {
    boundary(error) { try request(pointer).entityName = try name.optionalString("entity_name") }
}

@_cdecl("cst_fetch_request_set_predicate") @implementation
public func cst_fetch_request_set_predicate(
    _ pointer: OpaquePointer?, _ predicatePointer: OpaquePointer?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let box = try requestBox(pointer)
        box.predicate = predicatePointer == nil ? nil : try predicateBox(predicatePointer)
    }
}

@_cdecl("cst_fetch_request_set_sort") @implementation
public func cst_fetch_request_set_sort(
    _ pointer: OpaquePointer?, _ count: Int, _ sort: UnsafePointer<cst_sort>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let request = try request(pointer)
        request.sortDescriptors = try sortDescriptors(sort, count, nil, nil, for: .fetch)
    }
}

@_cdecl("cst_fetch_request_set_limit") @implementation
public func cst_fetch_request_set_limit(_ pointer: OpaquePointer?, _ limit: UInt64, _ error: ErrorOut) -> cst_status {
    boundary(error) { try request(pointer).limit = Int(clamping: limit) }
}

@_cdecl("cst_fetch_request_set_offset") @implementation
public func cst_fetch_request_set_offset(_ pointer: OpaquePointer?, _ offset: UInt64, _ error: ErrorOut) -> cst_status {
    boundary(error) { try request(pointer).offset = Int(clamping: offset) }
}

@_cdecl("cst_fetch_request_set_includes_subentities") @implementation
public func cst_fetch_request_set_includes_subentities(
    _ pointer: OpaquePointer?, _ includes: Bool, _ error: ErrorOut
) -> cst_status {
    boundary(error) { try request(pointer).includesSubentities = includes }
}

@_cdecl("cst_fetch_request_set_includes_pending_changes") @implementation
public func cst_fetch_request_set_includes_pending_changes(
    _ pointer: OpaquePointer?, _ includes: Bool, _ error: ErrorOut
) -> cst_status {
    boundary(error) { try request(pointer).includesPendingChanges = includes }
}

@_cdecl("cst_fetch_request_set_returns_faults") @implementation
public func cst_fetch_request_set_returns_faults(
    _ pointer: OpaquePointer?, _ faults: Bool, _ error: ErrorOut
) -> cst_status {
    boundary(error) { try request(pointer).returnsObjectsAsFaults = faults }
}

@_cdecl("cst_fetch_request_set_nulls") @implementation
public func cst_fetch_request_set_nulls(_ pointer: OpaquePointer?, _ nulls: UInt32, _ error: ErrorOut) -> cst_status {
    boundary(error) {
        let request = try request(pointer)
        request.nulls = try nullMeaning(nulls, of: request)
    }
}

@_cdecl("cst_fetch_request_set_allows_split") @implementation
public func cst_fetch_request_set_allows_split(
    _ pointer: OpaquePointer?, _ allows: Bool, _ error: ErrorOut
) -> cst_status {
    boundary(error) { try request(pointer).allowsSplit = allows }
}

@_cdecl("cst_fetch_request_set_prefetch") @implementation
public func cst_fetch_request_set_prefetch(
    _ pointer: OpaquePointer?, _ count: Int, _ keyPaths: UnsafePointer<cst_string>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let request = try request(pointer)
        request.relationshipKeyPathsForPrefetching = try strings(keyPaths, count, "key_paths")
    }
}
