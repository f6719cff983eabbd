import CCorestone
import CorestoneModel
import CorestonePredicate
import CorestoneValues

func expressionBox(_ pointer: OpaquePointer?) throws -> ExpressionBox { try resolve(pointer, .expression) }

/// Runs the body of a function of the interface that creates an expression.
///
/// - Parameter body: Returns the expression and the models that its constants need.
private func making(
    _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut, _ body: () throws -> (Expression, [Model])
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_expression")
        let (expression, models) = try body()
        // Hosts can nest parts to any depth. An expression whose evaluation could exhaust the stack is rejected.
        out.pointee = try ExpressionBox(try expression.checked(), models: models).makeHandle()
    }
}

private func boxes(_ pointers: UnsafePointer<OpaquePointer?>?, _ count: Int, _ name: StaticString) throws
    -> [ExpressionBox]
{
    try array(pointers, count, name).map { try expressionBox($0) }
}

extension [ExpressionBox] {
    fileprivate var expressions: [Expression] { map(\.expression) }
    fileprivate var models: [Model] { flatMap(\.models) }
}

/// Returns the name of a variable without the $.
///
/// Throws for characters that a variable cannot contain in a format, because it is written without quotes.
private func identifier(_ name: cst_string, _ parameter: StaticString) throws -> String {
    let text = try name.string(parameter)
    let letters = text.utf8.first == UInt8(ascii: "$") ? text.dropFirst() : text[...]
    guard !letters.isEmpty, !letters.contains(where: { $0.isWhitespace || "$.,()[]{}'\"".contains($0) }) else {
        throw CoreError(
            .invalidArgument, "\(parameter) \"\(text)\" is not a variable name; use letters, digits and _",
            key: parameterKey(parameter), value: .string(text))
    }
    return String(letters)
}

@_cdecl("cst_expression_parse") @implementation
public func cst_expression_parse(
    _ format: cst_string, _ count: Int, _ arguments: UnsafePointer<cst_value>?,
    _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    making(out, error) {
        var reader = ValueReader(isKept: true, of: "arguments")
        let arguments = try array(arguments, count, "arguments").map { try reader.read($0) }
        return (try Expression.parse(try format.string("format"), arguments: arguments), reader.models)
    }
}

@_cdecl("cst_expression_new_constant") @implementation
public func cst_expression_new_constant(
    _ value: UnsafePointer<cst_value>?, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    making(out, error) {
        var reader = ValueReader(isKept: true)
        let value = try evaluated(value)
        do {
            let constant = try reader.read(value)
            return (Expression(argument: constant), reader.models)
        } catch let error as CoreError { throw error.with(entity: nil, key: "value") }
    }
}

@_cdecl("cst_expression_new_self") @implementation
public func cst_expression_new_self(_ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut) -> cst_status {
    making(out, error) { (.selfObject, []) }
}

@_cdecl("cst_expression_new_variable") @implementation
public func cst_expression_new_variable(
    _ name: cst_string, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    making(out, error) { (.variable(try identifier(name, "name")), []) }
}

@_cdecl("cst_expression_new_key_path") @implementation
public func cst_expression_new_key_path(
    _ base: OpaquePointer?, _ path: cst_string, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    making(out, error) {
        let base = base == nil ? nil : try expressionBox(base)
        let text = try path.string("path")
        guard !text.isEmpty else {
            throw CoreError(
                .invalidArgument,
                "path is empty; name a property, or use "
                    + (base == nil
                        ? "cst_expression_new_self (Expression.evaluated_object) for the object itself"
                        : "base itself"),
                key: "path", value: .string(text))
        }
        return (base.map { $0.expression.following(KeyPath(text)) } ?? .keyPath(KeyPath(text)), base?.models ?? [])
    }
}

@_cdecl("cst_expression_new_function") @implementation
public func cst_expression_new_function(
    _ name: cst_string, _ count: Int, _ arguments: UnsafePointer<OpaquePointer?>?,
    _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    making(out, error) {
        let arguments = try boxes(arguments, count, "arguments")
        return (try Expression.calling(try name.string("name"), arguments.expressions), arguments.models)
    }
}

@_cdecl("cst_expression_new_call") @implementation
public func cst_expression_new_call(
    _ receiver: OpaquePointer?, _ name: cst_string, _ count: Int, _ arguments: UnsafePointer<OpaquePointer?>?,
    _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    making(out, error) {
        let receiver = try expressionBox(receiver)
        let arguments = try boxes(arguments, count, "arguments")
        let message = Expression.message(
            receiver: receiver.expression, selector: .string(try name.string("name")), arguments: arguments.expressions)
        return (message, receiver.models + arguments.models)
    }
}

@_cdecl("cst_expression_new_aggregate") @implementation
public func cst_expression_new_aggregate(
    _ count: Int, _ elements: UnsafePointer<OpaquePointer?>?, _ out: UnsafeMutablePointer<OpaquePointer?>?,
    _ error: ErrorOut
) -> cst_status {
    making(out, error) {
        let elements = try boxes(elements, count, "elements")
        let constants = elements.compactMap(\.expression.constantValue)
        let isConstant = constants.count == elements.count
        return (isConstant ? .constant(.array(constants)) : .aggregate(elements.expressions), elements.models)
    }
}

@_cdecl("cst_expression_new_subquery") @implementation
public func cst_expression_new_subquery(
    _ collection: OpaquePointer?, _ variable: cst_string, _ predicate: OpaquePointer?,
    _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    making(out, error) {
        let (collection, condition) = (try expressionBox(collection), try predicateBox(predicate))
        let name = try identifier(variable, "variable")
        return (
            .subquery(collection.expression, variable: name, condition.predicate), collection.models + condition.models
        )
    }
}

@_cdecl("cst_expression_new_fetch") @implementation
public func cst_expression_new_fetch(
    _ requestPointer: OpaquePointer?, _ context: OpaquePointer?, _ countOnly: Bool,
    _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    making(out, error) {
        let box = try requestBox(requestPointer)
        let context = try context.map { try contextBox($0).context }
        return (.fetch(box.request, in: context, isCounted: countOnly), box.predicate?.models ?? [])
    }
}

@_cdecl("cst_expression_new_conditional") @implementation
public func cst_expression_new_conditional(
    _ predicate: OpaquePointer?, _ yes: OpaquePointer?, _ no: OpaquePointer?,
    _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    making(out, error) {
        let (condition, yes, no) = (try predicateBox(predicate), try expressionBox(yes), try expressionBox(no))
        return (
            .ternary(condition.predicate, yes.expression, no.expression), condition.models + yes.models + no.models
        )
    }
}

@_cdecl("cst_expression_new_set_operation") @implementation
public func cst_expression_new_set_operation(
    _ type: UInt32, _ left: OpaquePointer?, _ right: OpaquePointer?, _ out: UnsafeMutablePointer<OpaquePointer?>?,
    _ error: ErrorOut
) -> cst_status {
    making(out, error) {
        let (left, right) = (try expressionBox(left), try expressionBox(right))
        let operation: SetOperator
        switch Int(type) {
        case CST_EXPRESSION_UNION: operation = .union
        case CST_EXPRESSION_INTERSECT: operation = .intersect
        case CST_EXPRESSION_MINUS: operation = .minus
        default:
            throw CoreError(
                .invalidArgument,
                "\(type) is not a set operation; use CST_EXPRESSION_UNION, CST_EXPRESSION_INTERSECT or CST_EXPRESSION_MINUS",
                key: "type", value: .int(Int64(type)))
        }
        return (.setOperation(operation, left.expression, right.expression), left.models + right.models)
    }
}

@_cdecl("cst_expression_new_block") @implementation
public func cst_expression_new_block(
    _ block: cst_expression_block_fn?, _ userdata: UnsafeMutableRawPointer?, _ destroy: cst_destroy_fn?, _ count: Int,
    _ arguments: UnsafePointer<OpaquePointer?>?, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    let host = HostCallback(block, Userdata(userdata, destroy))
    return making(out, error) {
        let host = try host.required("block")
        let arguments = try boxes(arguments, count, "arguments")
        let body: BlockExpression.Body = { value, arguments, variables in
            try withBorrowedValues([value, .dictionary(variables)] + arguments) { cells in
                var answer = cst_value()
                try callHost("the host's expression block") {
                    host.function(host.userdata, cells, arguments.count, cells + 2, cells + 1, &answer, $0)
                }
                return try readingResult("the host's expression block") { try hostValue(answer) }
            }
        }
        return (.block(BlockExpression(body), arguments.expressions), arguments.models)
    }
}
