import CCorestone
import CorestoneValues

@_cdecl("cst_log_set_sql_detail") @implementation
public func cst_log_set_sql_detail(_ detail: UInt32, _ error: ErrorOut) -> cst_status {
    boundary(error) {
        guard let known = DebugLog.SQLDetail(rawValue: detail) else {
            throw CoreError(
                .invalidArgument, "detail is \(detail), but must be 0 (no SQL) to 4 (all details)",
                key: "detail", value: .int(Int64(detail)))
        }
        DebugLog.sqlDetail = known
    }
}

@_cdecl("cst_log_sql_detail") @implementation
public func cst_log_sql_detail() -> UInt32 { DebugLog.sqlDetail.rawValue }

@_cdecl("cst_log_set_callback") @implementation
public func cst_log_set_callback(
    _ callback: cst_log_fn?, _ userdata: UnsafeMutableRawPointer?, _ destroy: cst_destroy_fn?, _ error: ErrorOut
) -> cst_status {
    // The userdata is freed with its last reference: at the end of this call without a callback or on failure,
    // otherwise after the callback was replaced.
    let payload = Userdata(userdata, destroy)
    return boundary(error) {
        guard let callback else { return DebugLog.setSink(nil) }
        let host = HostLog(callback, payload)
        DebugLog.setSink { host.write($0) }
    }
}

@_cdecl("cst_log_take_arguments") @implementation
public func cst_log_take_arguments(
    _ count: Int, _ arguments: UnsafePointer<UnsafePointer<CChar>?>?, _ taken: UnsafeMutablePointer<Int>?,
    _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        taken?.pointee = 0
        let last = count - 1
        let texts = try array(arguments, count, "arguments").enumerated().map { place, text in
            guard let text else {
                let shorter = place == last ? ", or \(place) as count" : ""
                throw CoreError(
                    .invalidArgument, "arguments[\(place)] is NULL; pass a string\(shorter)", key: "arguments")
            }
            return String(cString: text)
        }
        let count = try LaunchArguments.take(texts)
        taken?.pointee = count
    }
}

/// The log callback of the host and its userdata.
private final class HostLog: @unchecked Sendable {
    private let callback: cst_log_fn
    private let userdata: Userdata

    init(_ callback: @escaping cst_log_fn, _ userdata: Userdata) {
        self.callback = callback
        self.userdata = userdata
    }

    func write(_ line: String) {
        var line = line
        line.withUTF8 { bytes in
            bytes.withMemoryRebound(to: CChar.self) {
                callback(userdata.pointer, cst_string(data: $0.baseAddress, size: $0.count))
            }
        }
    }
}
