import CCorestone
import CPlatform
import CorestoneModel
import CorestoneValues

/// Functions of the host's that make values of the host's, with their userdata.
class HostValueMaker: @unchecked Sendable {
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

    /// A value of the host's, from now on the library's.
    func held(_ value: UnsafeMutableRawPointer) throws -> HostValue { HostValue(value, self) }

    /// What the host puts into a buffer.
    ///
    /// - Parameter key: the registered name, for errors.
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

    /// The value that the host makes.
    ///
    /// - Parameter key: the registered name, for errors.
    func made(
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

/// A value of the host's: freed once, when the last that holds it lets go.
final class HostValue: ArchivableValue {
    let pointer: UnsafeMutableRawPointer
    private let maker: HostValueMaker
    private var isOurs = true

    init(_ pointer: UnsafeMutableRawPointer, _ maker: HostValueMaker) {
        self.pointer = pointer
        self.maker = maker
    }

    var archivableClass: (any ArchivableClass)? { maker as? HostClass }

    /// The call failed: the value remains the host's.
    func giveBack() { isOurs = false }

    /// Within a call, it is freed when that ends: what holds it may be in the midst of a change.
    deinit {
        guard isOurs else { return }
        platform_call_defer(
            { maker, pointer, _ in
                guard let maker = UnsafeRawPointer(bitPattern: UInt(maker)),
                    let pointer = UnsafeMutableRawPointer(bitPattern: UInt(pointer))
                else { return }
                Unmanaged<HostValueMaker>.fromOpaque(maker).takeRetainedValue().free(pointer)
            }, UInt64(UInt(bitPattern: Unmanaged.passRetained(maker).toOpaque())), UInt64(UInt(bitPattern: pointer)), 0)
    }
}
