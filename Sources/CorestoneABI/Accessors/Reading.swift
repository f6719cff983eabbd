import CCorestone
import CPlatform
import CorestoneGraph
import CorestoneValues

/// Returns the value of an attribute or a to-one relationship; null after a failure.
@inline(__always)
func read(_ pointer: OpaquePointer?, _ key: UInt32, _ error: ErrorOut) -> ValueView {
    guard let found = platform_handle_find(token(pointer), HandleType.object.rawValue) else {
        _ = report(invalidHandle(pointer, .object), error)
        return .null
    }
    return Unmanaged<ManagedObject>.fromOpaque(found.pointee.object)._withUnsafeGuaranteedRef { object in
        guard object.isOnQueue, let view = object.plainView(key: key) else { return readSlowly(object, key, error) }
        return view
    }
}

/// Runs the slow path of `read`: faults, properties that `plainView` does not support, and failures.
@inline(never)
private func readSlowly(_ object: ManagedObject, _ key: UInt32, _ error: ErrorOut) -> ValueView {
    var value = cst_value()
    guard getSlowly(object, key, &value, error) == Status.ok.rawValue else { return .null }
    return withUnsafeBytes(of: &value) {
        ValueView(
            ValueType(rawValue: $0.load(as: UInt32.self)) ?? .null, $0.load(fromByteOffset: 8, as: UInt64.self),
            $0.load(fromByteOffset: 16, as: UInt64.self), aux: $0.load(fromByteOffset: 4, as: UInt32.self))
    }
}

/// Conversions to C types. Null becomes zero, as in Core Data's scalar accessors. An accessor that outlives its model
/// can read a property of another type; the conversion then sets `error`.
extension ValueView {
    @inline(__always)
    func checkedInteger(_ error: ErrorOut) -> Int64 {
        switch type {
        case .int, .bool: integer
        case .null: 0
        default: mistyped(0, error)
        }
    }

    @inline(__always)
    func checkedReal(_ error: ErrorOut) -> Double {
        switch type {
        case .double, .date: double
        case .null: 0
        default: mistyped(0, error)
        }
    }

    @inline(__always)
    func checkedRun(_ error: ErrorOut) -> platform_run {
        switch type {
        case .string, .uri, .bytes: platform_run(data: UnsafeRawPointer(bitPattern: UInt(low)), size: Int(high))
        case .null: platform_run(data: nil, size: 0)
        default: mistyped(platform_run(data: nil, size: 0), error)
        }
    }

    @inline(__always)
    func checkedPointer(_ error: ErrorOut) -> UnsafeMutableRawPointer? {
        switch type {
        case .object: UnsafeMutableRawPointer(bitPattern: UInt(low))
        case .null: nil
        default: mistyped(nil, error)
        }
    }

    @inline(never)
    private func mistyped<Result>(_ nothing: Result, _ error: ErrorOut) -> Result {
        _ = report(
            CoreError(
                .typeMismatch,
                "the accessor's return type does not match the property: the accessor's model was released, or the "
                    + "object belongs to another model. Create an accessor with cst_entity_accessor for the object's "
                    + "entity"), error)
        return nothing
    }
}
