import CCorestone

/// What setters are given, as the value that `cst_object_set` takes.
extension cst_value {
    init(text: cst_string) {
        self.init()
        type = UInt32(CST_STRING)
        `as`.string = text
    }

    init(bytes: cst_bytes) {
        self.init()
        type = UInt32(CST_BYTES)
        `as`.bytes = bytes
    }

    /// NULL is null.
    init(target: OpaquePointer?) {
        self.init()
        if target != nil { type = UInt32(CST_OBJECT) }
        `as`.object = target
    }
}
