import CCorestone
import CorestoneGraph
import CorestoneModel
import CorestonePredicate
import CorestoneValues

func predicateBox(_ pointer: OpaquePointer?) throws -> PredicateBox { try resolve(pointer, .predicate) }

private func predicate(_ pointer: OpaquePointer?) throws -> Predicate { try predicateBox(pointer).predicate }

/// Predicates cross threads and objects do not: an object in an argument is known by its ID. One that was never saved keeps
/// its temporary ID, by which its context finds it.
func predicateArgument(_ value: cst_value, _ models: inout [Model]) throws -> PropertyValue {
    let value = try propertyValue(value)
    guard case .object(let object) = value else { return value }
    if let object = object as? ManagedObject { try checkThread(object) }
    guard let id = (object as? ManagedObject)?.objectID ?? (object as? ObjectIDReference)?.id else { return value }
    // The constant's entity needs its model.
    let model = id.entity.model
    if !models.contains(where: { $0 === model }) { models.append(model) }
    return .object(ObjectIDReference(id))
}

@_cdecl("cst_predicate_parse") @implementation
public func cst_predicate_parse(
    _ format: cst_string, _ count: Int, _ arguments: UnsafePointer<cst_value>?,
    _ out: UnsafeMutablePointer<OpaquePointer?>?,
    _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_predicate")
        var models: [Model] = []
        let arguments = try array(arguments, count, "arguments").map { try predicateArgument($0, &models) }
        let parsed = try Predicate.parse(try format.string("format"), arguments: arguments)
        out.pointee = try HandleTable.make(PredicateBox(parsed, models: models), .predicate)
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
                throw CoreError(.invalidArgument, "CST_PREDICATE_NOT takes one predicate, not \(parts.count)")
            }
            compound = try .not(parts[0])
        default: throw CoreError(.invalidArgument, "\(type) is no kind of compound; use a CST_PREDICATE_ constant")
        }
        out.pointee = try HandleTable.make(PredicateBox(compound, models: boxes.flatMap(\.models)), .predicate)
    }
}

@_cdecl("cst_predicate_copy_format") @implementation
public func cst_predicate_copy_format(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<cst_buffer>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) { try required(out, "out_text").fill(try predicate(pointer).format) }
}

@_cdecl("cst_predicate_evaluate") @implementation
public func cst_predicate_evaluate(
    _ pointer: OpaquePointer?, _ objectPointer: OpaquePointer?, _ out: UnsafeMutablePointer<Bool>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try required(out, "out_result")
        out.pointee = false
        let predicate = try predicate(pointer)
        out.pointee = try predicate.evaluate(with: .object(try object(objectPointer)))
    }
}
