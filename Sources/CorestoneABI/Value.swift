import CCorestone
import CorestonePredicate
import CorestoneValues

@_cdecl("cst_value_dispose") @implementation
public func cst_value_dispose(_ value: UnsafeMutablePointer<cst_value>?) {
    if let value { dispose(value, byHost: true) }
}

@_cdecl("cst_value_copy_at_key_path") @implementation
public func cst_value_copy_at_key_path(
    _ value: UnsafePointer<cst_value>?, _ path: cst_string, _ out: UnsafeMutablePointer<cst_value>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try required(out, "out_value")
        putNull(out)
        let start = try hostValue(try evaluated(value), key: "value")
        try putOwned(KeyPathEvaluation.value(of: start, atKeyPath: try path.string("path")), out)
    }
}

/// Returns the value that the host passed for an evaluation. Throws for NULL.
func evaluated(_ value: UnsafePointer<cst_value>?) throws -> cst_value {
    guard let value else {
        throw CoreError(.invalidArgument, "value is NULL; pass a value of type CST_NULL for nil", key: "value")
    }
    return value.pointee
}
