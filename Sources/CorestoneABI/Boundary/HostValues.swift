import CCorestone
import CPlatform
import CorestoneModel
import CorestoneValues

/// The callbacks that convert values of the host, and their userdata.
class HostValueConverter: @unchecked Sendable {
    let userdata: Userdata
    private let freeValue: (@convention(c) (UnsafeMutableRawPointer?, UnsafeMutableRawPointer?) -> Void)?

    init(
        _ userdata: Userdata,
        free: (@convention(c) (UnsafeMutableRawPointer?, UnsafeMutableRawPointer?) -> Void)?
    ) {
        self.userdata = userdata
        freeValue = free
    }

    fileprivate func free(_ value: UnsafeMutableRawPointer) { freeValue?(userdata.pointer, value) }

    /// Returns an object that owns a value of the host. An override may copy the value instead.
    func wrapped(_ value: UnsafeMutableRawPointer) throws -> HostValue { HostValue(value, self) }

    /// Calls a callback that fills a buffer, and reads the content.
    ///
    /// - Parameter key: The registered name, for errors.
    func filled<Result>(
        _ name: @autoclosure () -> String, key: String,
        _ body: (UnsafeMutablePointer<cst_buffer>, ErrorOut) -> cst_status,
        read: (UnsafeRawBufferPointer) throws -> Result
    ) throws -> Result {
        var buffer = cst_buffer()
        defer { cst_buffer_dispose(&buffer) }
        try callHost("the host's \(name())", key: key) { body(&buffer, $0) }
        return try read(UnsafeRawBufferPointer(start: buffer.data, count: buffer.data == nil ? 0 : buffer.size))
    }

    /// Calls a callback that creates a value.
    ///
    /// - Parameter key: The registered name, for errors.
    func makeValue(
        _ name: @autoclosure () -> String, key: String,
        _ body: (UnsafeMutablePointer<UnsafeMutableRawPointer?>, ErrorOut) -> cst_status
    ) throws -> HostValue {
        var made: UnsafeMutableRawPointer?
        try callHost("the host's \(name())", key: key) { body(&made, $0) }
        guard let made else {
            throw CoreError(
                .callback, "the host's \(name()) succeeded without a value; set out_value, or return a failure status",
                key: key)
        }
        return HostValue(made, self)
    }
}

/// A value of the host, which is freed once, after its last use.
final class HostValue: ArchivableValue {
    let pointer: UnsafeMutableRawPointer
    private let maker: HostValueConverter
    private var isOwned = true

    init(_ pointer: UnsafeMutableRawPointer, _ maker: HostValueConverter) {
        self.pointer = pointer
        self.maker = maker
    }

    var archivableClass: (any ArchivableClass)? { maker as? HostClass }

    /// Returns ownership to the host, because the call failed.
    func releaseOwnership() { isOwned = false }

    /// Frees the value. Within a call of the interface, it is freed when the thread's outermost call ends, because its
    /// last user may be in the middle of a change.
    deinit {
        guard isOwned else { return }
        platform_call_defer(
            { maker, pointer, _ in
                guard let maker = UnsafeRawPointer(bitPattern: UInt(maker)),
                    let pointer = UnsafeMutableRawPointer(bitPattern: UInt(pointer))
                else { return }
                Unmanaged<HostValueConverter>.fromOpaque(maker).takeRetainedValue().free(pointer)
            }, UInt64(UInt(bitPattern: Unmanaged.passRetained(maker).toOpaque())), UInt64(UInt(bitPattern: pointer)), 0)
    }
}
