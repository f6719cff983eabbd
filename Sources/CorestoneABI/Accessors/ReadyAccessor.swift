import CCorestone
import CPlatform
import CorestoneGraph
import CorestoneValues

/// A precompiled function (`accessors.h`), the fastest kind of accessor.
final class ReadyAccessor: Accessor {
    private let type: UInt32
    private let place: UInt32

    /// Reserves a precompiled function; nil if there is no function of this kind and type, or all are in use.
    ///
    /// `partLock` must be held.
    init?(_ kind: AccessorKind, _ type: AccessorType, key: UInt32) {
        let known: UInt32? =
            switch kind {
            case .get: ReadyAccessor.getters[type]
            case .set: ReadyAccessor.setters[type]
            case .isNull: UInt32(PLATFORM_IS_NULL)
            default: nil
            }
        guard let known, let place = ReadyFunctions.reserve(known) else { return nil }
        (self.type, self.place) = (known, place)
        platform_accessor_set_key(known, place, key)
    }

    deinit {
        let (type, place) = (type, place)
        platform_accessor_set_key(type, place, UInt32.max)
        partLock.with { ReadyFunctions.release(type, place) }
    }

    var function: cst_function { platform_accessor(type, place) }

    private static let getters: [AccessorType: UInt32] = [
        .int16: UInt32(PLATFORM_GET_INT16), .int32: UInt32(PLATFORM_GET_INT32), .int64: UInt32(PLATFORM_GET_INT64),
        .bool: UInt32(PLATFORM_GET_BOOL), .float: UInt32(PLATFORM_GET_FLOAT), .double: UInt32(PLATFORM_GET_DOUBLE),
        .date: UInt32(PLATFORM_GET_DOUBLE), .text: UInt32(PLATFORM_GET_RUN), .bytes: UInt32(PLATFORM_GET_RUN),
        .pointer: UInt32(PLATFORM_GET_OBJECT),
    ]

    private static let setters: [AccessorType: UInt32] = [
        .int16: UInt32(PLATFORM_SET_INT16), .int32: UInt32(PLATFORM_SET_INT32), .int64: UInt32(PLATFORM_SET_INT64),
        .bool: UInt32(PLATFORM_SET_BOOL), .float: UInt32(PLATFORM_SET_FLOAT), .double: UInt32(PLATFORM_SET_DOUBLE),
        .date: UInt32(PLATFORM_SET_DATE), .text: UInt32(PLATFORM_SET_TEXT), .bytes: UInt32(PLATFORM_SET_BYTES),
        .pointer: UInt32(PLATFORM_SET_OBJECT),
    ]
}

/// The free precompiled functions, by type. `partLock` protects them.
private enum ReadyFunctions {
    nonisolated(unsafe) private static var free: [UInt32: [UInt32]] = {
        platform_accessors_install(workers)
        return [:]
    }()

    static func reserve(_ type: UInt32) -> UInt32? {
        free[type, default: (0..<UInt32(PLATFORM_ACCESSORS)).reversed()].popLast()
    }

    static func release(_ type: UInt32, _ place: UInt32) { free[type, default: []].append(place) }
}

private let workers = platform_workers(
    integer: { read(OpaquePointer($0), $2, place($1)).checkedInteger(place($1)) },
    real: { read(OpaquePointer($0), $2, place($1)).checkedReal(place($1)) },
    run: { read(OpaquePointer($0), $2, place($1)).checkedRun(place($1)) },
    object: { read(OpaquePointer($0), $2, place($1)).checkedPointer(place($1)) },
    is_null: { read(OpaquePointer($0), $2, place($1)).type == .null },
    set_integer: { change(OpaquePointer($0), .int($1), $3, place($2)) },
    set_bool: { change(OpaquePointer($0), .bool($1), $3, place($2)) },
    set_real: { change(OpaquePointer($0), .double($1), $3, place($2)) },
    set_date: { change(OpaquePointer($0), .date($1), $3, place($2)) },
    set_text: { object, run, error, key in
        let text = cst_string(data: run.data?.assumingMemoryBound(to: CChar.self), size: run.size)
        var value = cst_value(text: text)
        return cst_object_set(OpaquePointer(object), key, &value, place(error))
    },
    set_bytes: { object, run, error, key in
        let bytes = cst_bytes(data: run.data?.assumingMemoryBound(to: UInt8.self), size: run.size)
        var value = cst_value(bytes: bytes)
        return cst_object_set(OpaquePointer(object), key, &value, place(error))
    },
    set_object: { object, target, error, key in
        var value = cst_value(target: OpaquePointer(target))
        return cst_object_set(OpaquePointer(object), key, &value, place(error))
    })

@inline(__always)
private func place(_ error: UnsafeMutableRawPointer?) -> ErrorOut {
    error?.assumingMemoryBound(to: OpaquePointer?.self)
}

/// Sets a value: directly in the object's changes if possible, otherwise by `setSlowly`.
@inline(__always)
private func change(_ pointer: OpaquePointer?, _ value: PropertyValue, _ key: UInt32, _ error: ErrorOut) -> cst_status {
    guard let found = platform_handle_find(token(pointer), HandleType.object.rawValue) else {
        return report(invalidHandle(pointer, .object), error)
    }
    return Unmanaged<ManagedObject>.fromOpaque(found.pointee.object)._withUnsafeGuaranteedRef { object in
        if object.isOnQueue, object.setPlainly(value, key: key) { return Status.ok.rawValue }
        return setSlowly(object, key, value, error)
    }
}
