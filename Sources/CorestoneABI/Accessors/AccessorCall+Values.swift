import CCorestone

/// The arguments of setters as values for `cst_object_set`.
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

    /// Creates the value of a target. NULL becomes null.
    init(target: OpaquePointer?) {
        self.init()
        if target != nil { type = UInt32(CST_OBJECT) }
        `as`.object = target
    }
}
