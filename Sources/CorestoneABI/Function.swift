import CCorestone
import CorestonePredicate
import CorestoneValues

@_cdecl("cst_function_register") @implementation
public func cst_function_register(
    _ name: cst_string, _ call: cst_function_fn?, _ userdata: UnsafeMutableRawPointer?, _ destroy: cst_destroy_fn?,
    _ error: ErrorOut
) -> cst_status {
    let host = HostCallback(call, Userdata(userdata, destroy))
    return boundary(error) {
        let name = try functionName(name)
        let host = try host.required("call")
        FunctionRegistry.register(name) { receiver, arguments in
            try withBorrowedValues([receiver] + arguments) { cells in
                var answer = cst_value()
                try callHost("the host's function \"\(name)\"", key: name) {
                    host.function(host.userdata, cells, arguments.count, cells + 1, &answer, $0)
                }
                return try readingResult("the host's function \"\(name)\"", key: name) { try hostValue(answer) }
            }
        }
    }
}

@_cdecl("cst_function_register_typed") @implementation
public func cst_function_register_typed(
    _ name: cst_string, _ signature: cst_string, _ function: cst_function?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let name = try functionName(name)
        let signature = try ForeignSignature(try signature.string("signature"))
        guard let function else {
            throw CoreError(
                .invalidArgument, "the function \"\(name)\" is NULL; pass the function to be called", key: name)
        }
        let call = try ForeignFunction(name, signature, function)
        FunctionRegistry.register(name) { try call($0, $1) }
    }
}

@_cdecl("cst_function_unregister") @implementation
public func cst_function_unregister(_ name: cst_string, _ error: ErrorOut) -> cst_status {
    outcome(error) { FunctionRegistry.unregister(try name.string("name")) ? .ok : .notFound }
}

/// Calls a registered function by name, without a predicate.
func callFunction(_ name: String, _ receiver: PropertyValue) throws -> PropertyValue {
    guard let function = FunctionRegistry.function(named: name) else {
        throw CoreError(
            .unsupported,
            "the function \"\(name)\" is not registered; register it with cst_function_register "
                + "(register_function)",
            key: name)
    }
    return try function(receiver, [])
}

private func functionName(_ name: cst_string) throws -> String {
    let name = try name.string("name")
    guard !name.isEmpty else {
        throw CoreError(.invalidArgument, "the function name is empty; pass a name", key: "name", value: .string(name))
    }
    return name
}
