import CCorestone
import CorestoneGraph
import CorestoneValues

private func generation(_ pointer: OpaquePointer?) throws -> QueryGenerationToken {
    try resolve(pointer, .queryGeneration)
}

/// Creates the handle of a generation. Returns `.notFound` for nil.
private func putHandle(
    _ generation: QueryGenerationToken?, _ out: UnsafeMutablePointer<OpaquePointer?>
) throws -> Status {
    guard let generation else { return .notFound }
    out.pointee = try HandleTable.make(generation, .queryGeneration)
    return .ok
}

@_cdecl("cst_query_generation_current") @implementation
public func cst_query_generation_current(
    _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    outcome(error) { try putHandle(.current, try place(out, "out_generation")) }
}

@_cdecl("cst_coordinator_query_generation") @implementation
public func cst_coordinator_query_generation(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let out = try place(out, "out_generation")
        return try putHandle(try coordinator(pointer).coordinator.currentQueryGenerationToken, out)
    }
}

@_cdecl("cst_context_query_generation") @implementation
public func cst_context_query_generation(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let out = try place(out, "out_generation")
        return try putHandle(try onQueue(pointer).context.queryGenerationToken, out)
    }
}

@_cdecl("cst_context_set_query_generation") @implementation
public func cst_context_set_query_generation(
    _ pointer: OpaquePointer?, _ token: OpaquePointer?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        try onQueue(pointer).context.setQueryGeneration(from: try token.map { try generation($0) })
    }
}

@_cdecl("cst_query_generation_is_current") @implementation
public func cst_query_generation_is_current(_ pointer: OpaquePointer?) -> Bool {
    (try? generation(pointer))?.isCurrent ?? false
}

@_cdecl("cst_query_generation_equal") @implementation
public func cst_query_generation_equal(_ a: OpaquePointer?, _ b: OpaquePointer?) -> Bool {
    guard let a = try? generation(a), let b = try? generation(b) else { return false }
    return a === b
}

@_cdecl("cst_query_generation_hash") @implementation
public func cst_query_generation_hash(_ pointer: OpaquePointer?) -> UInt64 {
    (try? generation(pointer)).map { UInt64(UInt(bitPattern: ObjectIdentifier($0))) } ?? 0
}
