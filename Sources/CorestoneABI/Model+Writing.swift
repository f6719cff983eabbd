import CCorestone
import CorestoneModel
import CorestoneValues

@_cdecl("cst_model_copy_source") @implementation
public func cst_model_copy_source(
    _ pointer: OpaquePointer?, _ flags: UInt32, _ out: UnsafeMutablePointer<cst_buffer>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try required(out, "out_text")
        let flags = try WritingFlags(checking: flags, allowed: .lossy)
        try model(pointer).source(isLossy: flags.contains(.lossy)).withUnsafeBytes { try out.fill($0) }
    }
}

@_cdecl("cst_model_write") @implementation
public func cst_model_write(
    _ pointer: OpaquePointer?, _ path: cst_string, _ version: cst_string, _ flags: UInt32, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let flags = try WritingFlags(checking: flags, allowed: [.keepCurrent, .lossy])
        try model(pointer).write(
            to: try path.filePath("path"), version: try version.optionalString("version"),
            makesCurrent: !flags.contains(.keepCurrent), isLossy: flags.contains(.lossy))
    }
}

@_cdecl("cst_model_convert") @implementation
public func cst_model_convert(
    _ path: cst_string, _ target: cst_string, _ module: cst_string, _ flags: UInt32, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let flags = try WritingFlags(checking: flags, allowed: .lossy)
        try Model.convert(
            try path.filePath("path"), to: try target.filePath("target"),
            module: try module.optionalString("module"), isLossy: flags.contains(.lossy))
    }
}

private struct WritingFlags: OptionSet {
    let rawValue: UInt32

    static let keepCurrent = WritingFlags(rawValue: UInt32(CST_MODEL_KEEP_CURRENT))
    static let lossy = WritingFlags(rawValue: UInt32(CST_MODEL_LOSSY))

    init(rawValue: UInt32) { self.rawValue = rawValue }

    init(checking flags: UInt32, allowed: WritingFlags) throws {
        self.init(rawValue: flags)
        guard isSubset(of: allowed) else {
            let others = allowed.contains(.keepCurrent) ? "CST_MODEL_KEEP_CURRENT and " : ""
            throw CoreError(
                .invalidArgument,
                "flags is 0x\(String(rawValue, radix: 16)); use only \(others)CST_MODEL_LOSSY",
                key: "flags", value: .int(Int64(rawValue)))
        }
    }
}
