import CCorestone
import CorestoneGraph
import CorestoneModel
import CorestoneValues

func rowsBox(_ pointer: OpaquePointer?) throws -> RowsBox { try resolve(pointer, .rows) }

@_cdecl("cst_context_fetch_rows") @implementation
public func cst_context_fetch_rows(
    _ pointer: OpaquePointer?, _ requestPointer: OpaquePointer?, _ out: UnsafeMutablePointer<OpaquePointer?>?,
    _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_rows")
        let box = try onQueue(pointer)
        let request = try request(requestPointer)
        let rows = try box.context.fetchDictionaries(request)
        out.pointee = try HandleTable.make(
            RowsBox(rows, model: request.entity.model, request: request, box: box), .rows)
    }
}

@_cdecl("cst_context_aggregate") @implementation
public func cst_context_aggregate(
    _ pointer: OpaquePointer?, _ requestPointer: OpaquePointer?, _ aggregate: UInt32, _ key: cst_string,
    _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_rows")
        let context = try onQueue(pointer).context
        let request = try request(requestPointer)
        guard let aggregate = Aggregate(rawValue: aggregate) else {
            throw CoreError(
                .invalidArgument, "\(aggregate) is not an aggregate; use a CST_AGGREGATE_ constant",
                entity: request.entityName, key: "aggregate", value: .int(Int64(aggregate)))
        }
        let rows = try context.aggregate(aggregate, of: try key.optionalString("key"), request)
        out.pointee = try HandleTable.make(RowsBox(rows, model: request.entity.model), .rows)
    }
}

@_cdecl("cst_rows_count") @implementation
public func cst_rows_count(_ pointer: OpaquePointer?) -> Int { (try? rowsBox(pointer))?.rows.count ?? 0 }

@_cdecl("cst_rows_batch_size") @implementation
public func cst_rows_batch_size(_ pointer: OpaquePointer?) -> Int { (try? rowsBox(pointer))?.rows.batchSize ?? 0 }

@_cdecl("cst_rows_column_count") @implementation
public func cst_rows_column_count(_ pointer: OpaquePointer?) -> Int { (try? rowsBox(pointer))?.names.count ?? 0 }

@_cdecl("cst_rows_column_name") @implementation
public func cst_rows_column_name(_ pointer: OpaquePointer?, _ index: Int) -> cst_string {
    guard let names = (try? rowsBox(pointer))?.names, names.indices.contains(index) else { return .null }
    return cst_string(names[index])
}

@_cdecl("cst_rows_copy_values") @implementation
public func cst_rows_copy_values(
    _ pointer: OpaquePointer?, _ first: Int, _ count: Int, _ out: UnsafeMutablePointer<cst_value>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let box = try rowsBox(pointer)
        let all = box.rows.count
        guard first >= 0, count >= 0, first <= all, count <= all - first else {
            let isFirst = !(0...all).contains(first)
            throw CoreError(
                .invalidArgument,
                "first is \(UInt(bitPattern: first)) and count is \(UInt(bitPattern: count)), but there "
                    + (all == 1 ? "is 1 row" : "are \(all) rows"),
                entity: box.entity?.name, key: isFirst ? "first" : "count", value: sizeValue(isFirst ? first : count))
        }
        let out = try required(out, "out_values")
        try box.enter()
        let rows = try box.rows.rows(in: first..<first + count)
        var written = 0
        do {
            for row in rows {
                for value in row {
                    try putOwned(value, out + written)
                    written += 1
                }
            }
        } catch {
            for place in 0..<written { dispose(out + place) }
            throw error
        }
    }
}
