import CCorestone
import CorestonePredicate
import CorestoneValues

@_cdecl("cst_expression_type") @implementation
public func cst_expression_type(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<UInt32>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) { try required(out, "out_type").pointee = UInt32(try expressionBox(pointer).expression.type) }
}

extension Expression {
    /// The type as a `CST_EXPRESSION_` constant.
    fileprivate var type: Int {
        switch self {
        case .constant: CST_EXPRESSION_CONSTANT
        case .selfObject: CST_EXPRESSION_SELF
        case .keyPath, .path, .dynamicKey, .computedKey: CST_EXPRESSION_KEY_PATH
        case .variable: CST_EXPRESSION_VARIABLE
        case .aggregate: CST_EXPRESSION_AGGREGATE
        case .function, .indexed, .cast: CST_EXPRESSION_FUNCTION
        case .message: CST_EXPRESSION_CALL
        case .subquery: CST_EXPRESSION_SUBQUERY
        case .ternary: CST_EXPRESSION_CONDITIONAL
        case .setOperation(.union, _, _): CST_EXPRESSION_UNION
        case .setOperation(.intersect, _, _): CST_EXPRESSION_INTERSECT
        case .setOperation(.minus, _, _): CST_EXPRESSION_MINUS
        case .assignment: CST_EXPRESSION_ASSIGNMENT
        case .anyKey: CST_EXPRESSION_ANY_KEY
        case .fetch: CST_EXPRESSION_FETCH
        case .block: CST_EXPRESSION_BLOCK
        }
    }
}

@_cdecl("cst_expression_copy_constant") @implementation
public func cst_expression_copy_constant(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<cst_value>?, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let out = try required(out, "out_value")
        putNull(out)
        guard let value = try expressionBox(pointer).expression.constantValue else { return .notFound }
        try putOwned(value, out)
        return .ok
    }
}

@_cdecl("cst_expression_copy_name") @implementation
public func cst_expression_copy_name(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<cst_buffer>?, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let out = try required(out, "out_text")
        guard let name = try expressionBox(pointer).expression.name else { return .notFound }
        try out.fill(name)
        return .ok
    }
}

@_cdecl("cst_expression_copy_operand") @implementation
public func cst_expression_copy_operand(
    _ pointer: OpaquePointer?, _ index: Int, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let out = try place(out, "out_expression")
        let box = try expressionBox(pointer)
        let operands = box.expression.operands
        guard operands.indices.contains(index) else { return .end }
        out.pointee = try ExpressionBox(operands[index], models: box.models).makeHandle()
        return .ok
    }
}

@_cdecl("cst_expression_copy_predicate") @implementation
public func cst_expression_copy_predicate(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let out = try place(out, "out_predicate")
        let box = try expressionBox(pointer)
        guard let condition = box.expression.condition else { return .notFound }
        out.pointee = try PredicateBox(condition, models: box.models).makeHandle()
        return .ok
    }
}

@_cdecl("cst_expression_copy_format") @implementation
public func cst_expression_copy_format(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<cst_buffer>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) { try required(out, "out_text").fill(try expressionBox(pointer).expression.format) }
}

@_cdecl("cst_expression_equal") @implementation
public func cst_expression_equal(_ a: OpaquePointer?, _ b: OpaquePointer?) -> Bool {
    guard let a = try? expressionBox(a), let b = try? expressionBox(b) else { return false }
    return a.expression == b.expression
}

@_cdecl("cst_expression_hash") @implementation
public func cst_expression_hash(_ pointer: OpaquePointer?) -> UInt64 {
    (try? expressionBox(pointer)).map { UInt64(bitPattern: Int64($0.expression.hashValue)) } ?? 0
}

@_cdecl("cst_expression_value") @implementation
public func cst_expression_value(
    _ pointer: OpaquePointer?, _ value: UnsafePointer<cst_value>?, _ variables: UnsafePointer<cst_value>?,
    _ out: UnsafeMutablePointer<cst_value>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try required(out, "out_value")
        putNull(out)
        let expression = try expressionBox(pointer).expression
        let value = try expression.value(
            with: try hostValue(try evaluated(value), key: "value"), variables: try hostVariables(variables))
        try putOwned(value, out)
    }
}
