import CCorestone
import CPlatform
import CorestoneGraph
import CorestoneValues

private func list(_ pointer: OpaquePointer?) throws -> ResultList { try resolve(pointer, .results) }

/// Returns the results of a handle.
///
/// Throws if the calling thread may not use the results, and for results that are object IDs.
func objectsOnQueue(_ pointer: OpaquePointer?) throws -> ResultList {
    let results = try list(pointer)
    try results.checkQueue()
    try requireObjects(results)
    return results
}

private func requireObjects(_ results: ResultList) throws {
    guard results.ids.isEmpty else {
        throw CoreError(
            .invalidArgument,
            "the results are object IDs, not objects; read them with cst_results_copy_id, or fetch objects with "
                + "cst_context_fetch",
            entity: results.entity?.name, key: "results")
    }
}

/// Returns the part of a list that starts at `first`, or nil past the last element.
///
/// The part has at most `capacity` elements. A size above `Int.max` arrives as a negative number.
func window(_ results: ResultList, _ first: Int, _ capacity: Int) -> Range<Int>? {
    let count = results.count
    guard first >= 0, first < count else { return nil }
    let left = count - first
    return first..<(first + (capacity < 0 ? left : min(capacity, left)))
}

@_cdecl("cst_results_count") @implementation
public func cst_results_count(_ pointer: OpaquePointer?) -> Int { (try? list(pointer).count) ?? 0 }

@_cdecl("cst_results_batch_size") @implementation
public func cst_results_batch_size(_ pointer: OpaquePointer?) -> Int {
    (try? list(pointer).results.batchSize) ?? 0
}

@_cdecl("cst_results_get_object") @implementation
public func cst_results_get_object(
    _ pointer: OpaquePointer?, _ index: Int, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ errorOut: ErrorOut
) -> cst_status {
    // This function is called for each row of a fetch. For speed, the list is not retained for the call.
    guard let out, let entry = platform_handle_find(token(pointer), HandleType.results.rawValue) else {
        return boundary(errorOut) {
            try required(out, "out_object").pointee = nil
            throw invalidHandle(pointer, .results)
        }
    }
    out.pointee = nil
    return Unmanaged<ResultList>.fromOpaque(entry.pointee.object)._withUnsafeGuaranteedRef { results in
        do {
            try results.checkQueue()
            guard index >= 0, index < results.objectCount else {
                return getFromOtherThread(results, index, out, errorOut)
            }
            out.pointee = try results.borrowedHandle(at: index)
            return Status.ok.rawValue
        } catch { return report(error, errorOut) }
    }
}

/// Runs the slow path of `cst_results_get_object`.
///
/// It reads an object of a lazy list, and handles an index past the last one and results that are object IDs.
@inline(never)
private func getFromOtherThread(
    _ results: ResultList, _ index: Int, _ out: UnsafeMutablePointer<OpaquePointer?>, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        try requireObjects(results)
        guard index >= 0, index < results.count else { return .end }
        results.trimLazyHandles()
        out.pointee = try results.borrowedHandle(at: index)
        return .ok
    }
}

@_cdecl("cst_results_get_objects") @implementation
public func cst_results_get_objects(
    _ pointer: OpaquePointer?, _ first: Int, _ capacity: Int, _ out: UnsafeMutablePointer<OpaquePointer?>?,
    _ outCount: UnsafeMutablePointer<Int>?, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let outCount = try required(outCount, "out_count")
        outCount.pointee = 0
        let results = try objectsOnQueue(pointer)
        guard let window = window(results, first, capacity) else { return .end }
        if window.isEmpty { return .ok }
        let out = try required(out, "out_objects")
        results.trimLazyHandles()
        for (place, index) in window.enumerated() { out[place] = try results.borrowedHandle(at: index) }
        outCount.pointee = window.count
        return .ok
    }
}

@_cdecl("cst_results_copy_id") @implementation
public func cst_results_copy_id(
    _ pointer: OpaquePointer?, _ index: Int, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let out = try place(out, "out_id")
        let results = try list(pointer)
        guard index >= 0, index < results.count else { return .end }
        let id = results.objectID(at: index)
        // A save replaces the temporary ID of an object, so that ID can be read only on the queue.
        if id.isTemporary, results.ids.isEmpty { try results.checkQueue() }
        out.pointee = try HandleTable.make(ObjectIDBox(id), .objectID)
        return .ok
    }
}

@_cdecl("cst_results_get_column") @implementation
public func cst_results_get_column(
    _ pointer: OpaquePointer?, _ key: cst_key, _ first: Int, _ capacity: Int, _ out: UnsafeMutablePointer<cst_value>?,
    _ outCount: UnsafeMutablePointer<Int>?, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let outCount = try required(outCount, "out_count")
        outCount.pointee = 0
        let results = try objectsOnQueue(pointer)
        guard let window = window(results, first, capacity) else { return .end }
        if window.isEmpty { return .ok }
        let out = try required(out, "out_values")
        try results.forEachObject(window) { place, object in
            if let view = object.plainView(key: key) { return put(view, out + place) }
            if try results.isMissing(object, row: window.lowerBound + place) { return putNull(out + place) }
            let view = try object.view(key: key)
            try putSlowly(view, object, key, out + place)
        }
        outCount.pointee = window.count
        return .ok
    }
}

@_cdecl("cst_results_get_column_path") @implementation
public func cst_results_get_column_path(
    _ pointer: OpaquePointer?, _ path: cst_string, _ first: Int, _ capacity: Int,
    _ out: UnsafeMutablePointer<cst_value>?,
    _ outCount: UnsafeMutablePointer<Int>?, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let outCount = try required(outCount, "out_count")
        outCount.pointee = 0
        let results = try objectsOnQueue(pointer)
        let path = try path.string("path")
        guard let window = window(results, first, capacity) else { return .end }
        if window.isEmpty { return .ok }
        let out = try required(out, "out_values")
        for place in 0..<window.count { putNull(out + place) }
        for (place, object) in try results.objects(window).enumerated() {
            if try results.isMissing(object, row: window.lowerBound + place) { continue }
            try putPath(path, object, out + place, row: window.lowerBound + place) { _ in results.kept }
        }
        outCount.pointee = window.count
        return .ok
    }
}
