import CCorestone
import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// The values of `NSComparisonPredicateOperatorType` for the operators.
private let operatorTypes: [(code: Int, operator: Comparison.Operator)] = [
    (CST_OPERATOR_LESS_THAN, .less), (CST_OPERATOR_LESS_THAN_OR_EQUAL, .lessOrEqual),
    (CST_OPERATOR_GREATER_THAN, .greater), (CST_OPERATOR_GREATER_THAN_OR_EQUAL, .greaterOrEqual),
    (CST_OPERATOR_EQUAL, .equal), (CST_OPERATOR_NOT_EQUAL, .notEqual), (CST_OPERATOR_MATCHES, .matches),
    (CST_OPERATOR_LIKE, .like), (CST_OPERATOR_BEGINS_WITH, .beginsWith), (CST_OPERATOR_ENDS_WITH, .endsWith),
    (CST_OPERATOR_IN, .in), (CST_OPERATOR_CONTAINS, .contains), (CST_OPERATOR_BETWEEN, .between),
]

/// The modifiers in the order of `NSComparisonPredicateModifier`.
private let modifiers: [Comparison.Modifier] = [.direct, .all, .any]

@_cdecl("cst_predicate_new_comparison") @implementation
public func cst_predicate_new_comparison(
    _ left: OpaquePointer?, _ type: UInt32, _ right: OpaquePointer?, _ modifier: UInt32, _ options: UInt32,
    _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_predicate")
        let (left, right) = (try expressionBox(left), try expressionBox(right))
        guard let known = operatorTypes.first(where: { $0.code == Int(type) }) else {
            guard Int(type) != CST_OPERATOR_CUSTOM_SELECTOR else {
                throw CoreError(
                    .invalidArgument,
                    "CST_OPERATOR_CUSTOM_SELECTOR needs a selector; create the predicate with cst_predicate_parse "
                        + "(Predicate)", key: "operator_type", value: .int(Int64(type)))
            }
            throw CoreError(
                .invalidArgument, "\(type) is not a comparison operator; use a CST_OPERATOR_ constant",
                key: "operator_type", value: .int(Int64(type)))
        }
        guard modifier < 3 else {
            throw CoreError(
                .invalidArgument,
                "modifier is \(modifier); use CST_MODIFIER_DIRECT, CST_MODIFIER_ALL or CST_MODIFIER_ANY",
                key: "modifier", value: .int(Int64(modifier)))
        }
        guard options < 16 else {
            throw CoreError(
                .invalidArgument,
                "options is 0x\(String(options, radix: 16)), but must be 0 to 0xf; use CST_COMPARE_ constants",
                key: "options", value: .int(Int64(options)))
        }
        let comparison = Comparison(
            left.expression, known.operator, right.expression, modifier: modifiers[Int(modifier)],
            options: Comparison.Options(rawValue: UInt8(options)))
        try putHandle(.comparison(comparison), left.models + right.models, out)
    }
}

@_cdecl("cst_predicate_new_block") @implementation
public func cst_predicate_new_block(
    _ block: cst_predicate_block_fn?, _ userdata: UnsafeMutableRawPointer?, _ destroy: cst_destroy_fn?,
    _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    let host = HostCallback(block, Userdata(userdata, destroy))
    return boundary(error) {
        let out = try place(out, "out_predicate")
        let host = try host.required("block")
        let body: BlockPredicate.Body = { value, variables in
            try withBorrowedValues([value, .dictionary(variables)]) { cells in
                var holds = false
                try callHost("the host's predicate block") {
                    host.function(host.userdata, cells, cells + 1, &holds, $0)
                }
                return holds
            }
        }
        try putHandle(.block(BlockPredicate(body)), [], out)
    }
}

@_cdecl("cst_predicate_new_substituted") @implementation
public func cst_predicate_new_substituted(
    _ pointer: OpaquePointer?, _ variables: UnsafePointer<cst_value>?, _ out: UnsafeMutablePointer<OpaquePointer?>?,
    _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_predicate")
        let box = try predicateBox(pointer)
        var reader = ValueReader(isKept: true, of: "variables")
        let values = try reader.variables(variables) ?? [:]
        try putHandle(try box.predicate.substituting(values), box.models + reader.models, out)
    }
}

@_cdecl("cst_predicate_get_info") @implementation
public func cst_predicate_get_info(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<cst_predicate_info>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try required(out, "out_info")
        var info = try options(UnsafePointer(out), cst_predicate_info(), "out_info")
        let size = min(info.struct_size, MemoryLayout<cst_predicate_info>.size)
        switch try predicate(pointer) {
        case .constant(let holds): info.kind = UInt32(holds ? CST_PREDICATE_IS_TRUE : CST_PREDICATE_IS_FALSE)
        case .block: info.kind = UInt32(CST_PREDICATE_IS_BLOCK)
        case .compound(let compound):
            info.kind = UInt32(CST_PREDICATE_IS_COMPOUND)
            info.compound = compound.type.rawValue
            info.part_count = compound.parts.count
        case .comparison(let comparison):
            info.kind = UInt32(CST_PREDICATE_IS_COMPARISON)
            let known = operatorTypes.first { $0.operator == comparison.operator }
            info.operator_type = UInt32(known?.code ?? CST_OPERATOR_CUSTOM_SELECTOR)
            info.modifier = UInt32(modifiers.firstIndex(of: comparison.modifier) ?? 0)
            info.options = UInt32(comparison.options.rawValue)
        }
        withUnsafeBytes(of: &info) { UnsafeMutableRawPointer(out).copyMemory(from: $0.baseAddress!, byteCount: size) }
    }
}

@_cdecl("cst_predicate_copy_part") @implementation
public func cst_predicate_copy_part(
    _ pointer: OpaquePointer?, _ index: Int, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let out = try place(out, "out_predicate")
        let box = try predicateBox(pointer)
        guard case .compound(let compound) = box.predicate, compound.parts.indices.contains(index) else { return .end }
        out.pointee = try PredicateBox(compound.parts[index], models: box.models).makeHandle()
        return .ok
    }
}

@_cdecl("cst_predicate_copy_side") @implementation
public func cst_predicate_copy_side(
    _ pointer: OpaquePointer?, _ side: UInt32, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let out = try place(out, "out_expression")
        let box = try predicateBox(pointer)
        guard side < 2 else {
            throw CoreError(
                .invalidArgument, "side is \(side), but must be 0 (left) or 1 (right)", key: "side",
                value: .int(Int64(side)))
        }
        guard case .comparison(let comparison) = box.predicate else { return .notFound }
        let expression = side == 0 ? comparison.left : comparison.right
        out.pointee = try ExpressionBox(expression, models: box.models).makeHandle()
        return .ok
    }
}

@_cdecl("cst_predicate_equal") @implementation
public func cst_predicate_equal(_ a: OpaquePointer?, _ b: OpaquePointer?) -> Bool {
    guard let a = try? predicate(a), let b = try? predicate(b) else { return false }
    return a == b
}

@_cdecl("cst_predicate_hash") @implementation
public func cst_predicate_hash(_ pointer: OpaquePointer?) -> UInt64 {
    (try? predicate(pointer)).map { UInt64(bitPattern: Int64($0.hashValue)) } ?? 0
}
