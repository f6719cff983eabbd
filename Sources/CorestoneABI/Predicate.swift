import CCorestone
import CorestoneGraph
import CorestoneModel
import CorestonePredicate
import CorestoneValues

func predicateBox(_ pointer: OpaquePointer?) throws -> PredicateBox { try resolve(pointer, .predicate) }

func predicate(_ pointer: OpaquePointer?) throws -> Predicate { try predicateBox(pointer).predicate }

/// Creates the handle of a predicate that was built from parts.
///
/// - Throws: `.invalidArgument` if the predicate exceeds the limits of depth or size.
func putHandle(_ predicate: Predicate, _ models: [Model], _ out: UnsafeMutablePointer<OpaquePointer?>) throws {
    // Hosts can nest parts to any depth. A predicate whose evaluation could exhaust the stack is rejected.
    out.pointee = try PredicateBox(try predicate.checked(), models: models).makeHandle()
}

@_cdecl("cst_predicate_parse") @implementation
public func cst_predicate_parse(
    _ format: cst_string, _ count: Int, _ arguments: UnsafePointer<cst_value>?,
    _ out: UnsafeMutablePointer<OpaquePointer?>?,
    _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_predicate")
        var reader = ValueReader(isKept: true, of: "arguments")
        let arguments = try array(arguments, count, "arguments").map { try reader.read($0) }
        let parsed = try Predicate.parse(try format.string("format"), arguments: arguments)
        out.pointee = try PredicateBox(parsed, models: reader.models).makeHandle()
    }
}

@_cdecl("cst_predicate_new_compound") @implementation
public func cst_predicate_new_compound(
    _ type: UInt32, _ count: Int, _ predicates: UnsafePointer<OpaquePointer?>?,
    _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_predicate")
        let boxes = try array(predicates, count, "predicates").map { try predicateBox($0) }
        let parts = boxes.map(\.predicate)
        let compound: Predicate
        switch Int(type) {
        case Int(CST_PREDICATE_AND): compound = try .and(parts)
        case Int(CST_PREDICATE_OR): compound = try .or(parts)
        case Int(CST_PREDICATE_NOT):
            guard parts.count == 1 else {
                throw CoreError(
                    .invalidArgument, "CST_PREDICATE_NOT takes one predicate, not \(parts.count)", key: "count",
                    value: .int(Int64(parts.count)))
            }
            compound = try .not(parts[0])
        default:
            throw CoreError(
                .invalidArgument,
                "\(type) is not a compound predicate type; use CST_PREDICATE_NOT, CST_PREDICATE_AND or CST_PREDICATE_OR",
                key: "type", value: .int(Int64(type)))
        }
        try putHandle(compound, boxes.flatMap(\.models), out)
    }
}

@_cdecl("cst_predicate_copy_format") @implementation
public func cst_predicate_copy_format(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<cst_buffer>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) { try required(out, "out_text").fill(try predicate(pointer).format) }
}
