import CCorestone
import CorestoneGraph
import CorestonePredicate
import CorestoneValues

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

@_cdecl("cst_predicate_evaluate_value") @implementation
public func cst_predicate_evaluate_value(
    _ pointer: OpaquePointer?, _ value: UnsafePointer<cst_value>?, _ variables: UnsafePointer<cst_value>?,
    _ out: UnsafeMutablePointer<Bool>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try required(out, "out_result")
        out.pointee = false
        let bound = try BoundPredicate(predicate(pointer), variables)
        out.pointee = try bound.holds(for: try hostValue(try evaluated(value), key: "value"))
    }
}

@_cdecl("cst_predicate_filter") @implementation
public func cst_predicate_filter(
    _ pointer: OpaquePointer?, _ count: Int, _ values: UnsafePointer<cst_value>?,
    _ variables: UnsafePointer<cst_value>?, _ out: UnsafeMutablePointer<Bool>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let values = try array(values, count, "values")
        let bound = try BoundPredicate(predicate(pointer), variables)
        if values.isEmpty { return }
        let out = try required(out, "out_results")
        out.update(repeating: false, count: values.count)
        var reader = ValueReader(of: "values")
        for (place, value) in values.enumerated() { out[place] = try bound.holds(for: try reader.read(value)) }
    }
}

@_cdecl("cst_results_copy_filtered") @implementation
public func cst_results_copy_filtered(
    _ pointer: OpaquePointer?, _ predicatePointer: OpaquePointer?, _ variables: UnsafePointer<cst_value>?,
    _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_results")
        let results = try objectsOnQueue(pointer)
        let bound = try BoundPredicate(predicate(predicatePointer), variables)
        var chosen: [Int] = []
        try results.forEachObject { index, object in
            if try results.isMissing(object, row: index) { return }
            if try bound.holds(for: .object(object)) { chosen.append(index) }
        }
        out.pointee = try results.choosing(chosen).makeHandle()
    }
}

/// A predicate with the variables of one call. Variables that are expressions are substituted.
private struct BoundPredicate {
    let predicate: Predicate
    let variables: [String: PropertyValue]?

    init(_ predicate: Predicate, _ given: UnsafePointer<cst_value>?) throws {
        variables = try hostVariables(given)
        let expressions = (variables ?? [:]).filter { $0.value.isExpression }
        self.predicate = expressions.isEmpty ? predicate : try predicate.substituting(expressions)
    }

    func holds(for value: PropertyValue) throws -> Bool { try predicate.evaluate(with: value, variables: variables) }
}

extension PropertyValue {
    fileprivate var isExpression: Bool { if case .object(is ExpressionValue) = self { true } else { false } }
}
