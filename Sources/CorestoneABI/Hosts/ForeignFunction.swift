import CCorestone
import CFFI
import CorestoneGraph
import CorestonePredicate
import CorestoneValues
import Glibc

/// A C function of the host that is called by libffi with C types.
final class ForeignFunction: @unchecked Sendable {
    private let name: String
    private let signature: ForeignSignature
    private let function: cst_function
    private let interface: UnsafeMutablePointer<ffi_cif>
    private let types: UnsafeMutablePointer<UnsafeMutablePointer<ffi_type>?>

    init(_ name: String, _ signature: ForeignSignature, _ function: @escaping cst_function) throws {
        (self.name, self.signature, self.function) = (name, signature, function)
        types = .allocate(capacity: max(signature.parameters.count, 1))
        for (place, type) in signature.parameters.enumerated() { (types + place).initialize(to: type.foreign) }
        interface = .allocate(capacity: 1)
        interface.initialize(to: ffi_cif())
        let count = UInt32(signature.parameters.count)
        guard ffi_prep_cif(interface, FFI_DEFAULT_ABI, count, signature.result.foreign, types) == FFI_OK else {
            throw CoreError(
                .internal,
                "cannot register the function \"\(name)\": libffi rejected the signature; register the function with "
                    + "cst_function_register (register_function without a signature) instead",
                key: name)
        }
    }

    deinit {
        interface.deallocate()
        types.deallocate()
    }

    func callAsFunction(_ receiver: PropertyValue, _ arguments: [PropertyValue]) throws -> PropertyValue {
        var given = arguments
        if signature.parameters.count == arguments.count + 1 { given.insert(receiver, at: 0) }
        guard given.count == signature.parameters.count else {
            throw miscounted(arguments.count)
        }
        for (value, type) in zip(given, signature.parameters) where value.isNull && !type.hasNil { return .null }
        return try call(given)
    }

    private func call(_ values: [PropertyValue]) throws -> PropertyValue {
        // Each parameter has three words, the size of a cst_value, the largest type. The first three words are for the
        // result.
        let words = UnsafeMutablePointer<cst_value>.allocate(capacity: values.count + 1)
        words.initialize(repeating: cst_value(), count: values.count + 1)
        let places = UnsafeMutablePointer<UnsafeMutableRawPointer?>.allocate(capacity: max(values.count, 1))
        // Memory to which parameters point, freed after the call.
        let owned = UnsafeMutablePointer<cst_value>.allocate(capacity: values.count + 1)
        owned.initialize(repeating: cst_value(), count: values.count + 1)
        defer {
            for place in 0..<values.count { dispose(owned + place) }
            words.deallocate()
            places.deallocate()
            owned.deallocate()
        }
        for (place, value) in values.enumerated() {
            let raw = UnsafeMutableRawPointer(words + place + 1)
            try put(value, signature.parameters[place], raw, owned + place, place)
            places[place] = raw
        }
        ffi_call(interface, function, words, places)
        return try readingResult("the function \"\(name)\"", key: name) { try result(UnsafeRawPointer(words)) }
    }

    private func put(
        _ value: PropertyValue, _ type: ForeignType, _ raw: UnsafeMutableRawPointer,
        _ owned: UnsafeMutablePointer<cst_value>, _ place: Int
    ) throws {
        func store<Number: FixedWidthInteger>(_: Number.Type) throws {
            guard let whole = value.whole, let number = Number(exactly: whole) else {
                throw refused(value, type, place)
            }
            raw.storeBytes(of: number, as: Number.self)
        }
        switch type {
        case .bool:
            guard let number = value.number else { throw refused(value, type, place) }
            raw.storeBytes(of: number != 0 ? 1 : 0, as: UInt8.self)
        case .int8: try store(Int8.self)
        case .uint8: try store(UInt8.self)
        case .int16: try store(Int16.self)
        case .uint16: try store(UInt16.self)
        case .int32: try store(Int32.self)
        case .uint32: try store(UInt32.self)
        case .int64: try store(Int64.self)
        case .uint64: try store(UInt64.self)
        case .float, .double:
            guard let number = value.number else { throw refused(value, type, place) }
            if type == .float {
                raw.storeBytes(of: Float(number), as: Float.self)
            } else {
                raw.storeBytes(of: number, as: Double.self)
            }
        case .text:
            guard value.isNull || value.textual.map({ !$0.utf8.contains(0) }) == true else {
                throw refused(value, type, place)
            }
            try putOwned(value, owned)
            raw.storeBytes(of: value.isNull ? nil : owned.pointee.as.string.data, as: UnsafePointer<CChar>?.self)
        case .value:
            try putOwned(value, owned)
            raw.storeBytes(of: owned.pointee, as: cst_value.self)
        case .object:
            var isObject = value.isNull
            if case .object(is ManagedObject) = value { isObject = true }
            guard isObject else { throw refused(value, type, place) }
            try putOwned(value, owned)
            raw.storeBytes(of: value.isNull ? nil : owned.pointee.as.object, as: OpaquePointer?.self)
        }
    }

    /// Returns the result. libffi widens small integers to a word.
    private func result(_ raw: UnsafeRawPointer) throws -> PropertyValue {
        let word = raw.load(as: UInt64.self)
        switch signature.result {
        case .bool: return .bool(UInt8(truncatingIfNeeded: word) != 0)
        case .int8: return .int(Int64(Int8(truncatingIfNeeded: word)))
        case .uint8: return .int(Int64(UInt8(truncatingIfNeeded: word)))
        case .int16: return .int(Int64(Int16(truncatingIfNeeded: word)))
        case .uint16: return .int(Int64(UInt16(truncatingIfNeeded: word)))
        case .int32: return .int(Int64(Int32(truncatingIfNeeded: word)))
        case .uint32: return .int(Int64(UInt32(truncatingIfNeeded: word)))
        case .int64: return .int(Int64(bitPattern: word))
        case .uint64:
            return Int64(exactly: word).map { .int($0) }
                ?? .decimal(DecimalNumber(mantissa: UInt128(word), exponent: 0))
        case .float: return .double(Double(raw.load(as: Float.self)))
        case .double: return .double(raw.load(as: Double.self))
        case .text:
            guard let text = raw.load(as: UnsafePointer<CChar>?.self) else { return .null }
            return try hostValue(cst_value(string: cst_string(data: text, size: strlen(text))))
        case .value: return try hostValue(raw.load(as: cst_value.self))
        case .object:
            guard let pointer = raw.load(as: OpaquePointer?.self) else { return .null }
            return .object(try object(pointer))
        }
    }

    private func miscounted(_ count: Int) -> CoreError {
        let parameters = signature.parameters.count
        // Validators, transformers and operators pass a fixed number of arguments.
        let call =
            parameters == 0
            ? "call it without arguments"
            : "pass \(parameters) \(parameters == 1 ? "argument" : "arguments"), or \(parameters - 1) to use the "
                + "receiver as the first parameter"
        let remedy =
            "\(call), or register a function with \(count + 1) \(count == 0 ? "parameter" : "parameters") "
            + "(cst_function_register_typed, register_function)"
        return CoreError(
            .predicate,
            "the function \"\(name)\" has \(parameters) \(parameters == 1 ? "parameter" : "parameters"), but \(count) "
                + "\(count == 1 ? "argument was" : "arguments were") passed; \(remedy)", key: name,
            value: .int(Int64(count)))
    }

    private func refused(_ value: PropertyValue, _ type: ForeignType, _ place: Int) -> CoreError {
        CoreError(
            .predicate,
            "the function \"\(name)\" takes \(type.name) as parameter \(place + 1), not \(found(value, type))",
            key: name, value: value)
    }

    /// Returns a description of a rejected argument, for a message.
    private func found(_ value: PropertyValue, _ type: ForeignType) -> String {
        switch value {
        case .int, .double, .decimal:
            return type.range.map { "\(value.excerpt); pass an integer from \($0)" } ?? value.kind
        case .text, .uri: return type == .text ? "a string with a NUL byte" : value.kind
        case .object(is ObjectIDReference): return "an object ID"
        case .object(is HostObject): return "a host object"
        default: return value.kind
        }
    }
}

extension ForeignType {
    /// The range of an integer type, for messages; nil for other types.
    fileprivate var range: String? {
        func text<Number: FixedWidthInteger>(_ type: Number.Type) -> String { "\(Number.min) to \(Number.max)" }
        switch self {
        case .int8: return text(Int8.self)
        case .uint8: return text(UInt8.self)
        case .int16: return text(Int16.self)
        case .uint16: return text(UInt16.self)
        case .int32: return text(Int32.self)
        case .uint32: return text(UInt32.self)
        case .int64: return text(Int64.self)
        case .uint64: return text(UInt64.self)
        default: return nil
        }
    }
}

extension PropertyValue {
    /// The exact integer; nil for other values.
    fileprivate var whole: Int128? {
        switch self {
        case .bool(let flag): flag ? 1 : 0
        case .int(let number): Int128(number)
        case .double(let number): Int128(exactly: number)
        case .decimal(let number): Int128(number.description)
        default: nil
        }
    }
}

extension cst_value {
    fileprivate init(string: cst_string) {
        self.init()
        type = UInt32(CST_STRING)
        self.as.string = string
    }
}
