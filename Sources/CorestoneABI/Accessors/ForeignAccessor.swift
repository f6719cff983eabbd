import CCorestone
import CFFI
import CPlatform
import CorestoneGraph
import CorestoneValues
import Glibc

/// A function that libffi creates at run time: machine code that passes its arguments, as an array, to `perform`.
final class ForeignAccessor: Accessor {
    private let signature: AccessorSignature
    private let closure: Closure
    let function: cst_function

    /// Creates the accessor. `partLock` must be held.
    init(_ kind: AccessorKind, _ signature: AccessorSignature, isToMany: Bool, key: UInt32) throws {
        self.signature = signature
        closure = try Closure.reserve(signature)
        closure.job.pointee = Job(signature, kind: kind, isToMany: isToMany, key: key)
        function = closure.function
    }

    deinit {
        // The code is not freed, because a host may still call it. It is reused for the next accessor with this
        // signature.
        closure.job.pointee.key = UInt32.max
        partLock.with { Closure.release(closure, signature) }
    }
}

/// The work of a closure. It consists of plain words, because every call reads them.
private struct Job {
    let kind: AccessorKind
    let isToMany: Bool
    let result: AccessorType
    /// The type of the first argument after the object; `.pointer` if only the error out parameter follows.
    let argument: AccessorType
    let argumentCount: Int
    var key: UInt32

    init(_ signature: AccessorSignature, kind: AccessorKind = .get, isToMany: Bool = false, key: UInt32 = .max) {
        (self.kind, self.isToMany, self.key) = (kind, isToMany, key)
        result = signature.result
        argument = signature.arguments.first ?? .pointer
        argumentCount = signature.arguments.count
    }
}

/// Machine code and its job.
private struct Closure {
    let function: cst_function
    let job: UnsafeMutablePointer<Job>

    /// Closures that are not in use, and the call interface of each signature.
    nonisolated(unsafe) private static var free: [AccessorSignature: [Closure]] = [:]
    nonisolated(unsafe) private static var interfaces: [AccessorSignature: UnsafeMutablePointer<ffi_cif>] = [:]

    /// The remedy in errors, for attributes and relationships.
    private static let remedy = "use a function such as cst_object_get with the property's key instead"

    static func reserve(_ signature: AccessorSignature) throws -> Closure {
        if let closure = free[signature]?.popLast() { return closure }
        return try Closure(signature)
    }

    static func release(_ closure: Closure, _ signature: AccessorSignature) {
        free[signature, default: []].append(closure)
    }

    private init(_ signature: AccessorSignature) throws {
        let interface = try Closure.interface(signature)
        var code: UnsafeMutableRawPointer?
        guard let memory = ffi_closure_alloc(MemoryLayout<ffi_closure>.size, &code), let code else {
            throw CoreError(
                .unsupported,
                "cannot create an accessor: libffi cannot allocate executable memory; \(Closure.remedy)")
        }
        job = .allocate(capacity: 1)
        job.initialize(to: Job(signature))
        let closure = memory.assumingMemoryBound(to: ffi_closure.self)
        guard ffi_prep_closure_loc(closure, interface, perform, job, code) == FFI_OK else {
            ffi_closure_free(memory)
            job.deallocate()
            throw CoreError(
                .internal,
                "cannot create an accessor: libffi rejected the closure; \(Closure.remedy)")
        }
        function = unsafeBitCast(code, to: cst_function.self)
    }

    private static func interface(_ signature: AccessorSignature) throws -> UnsafeMutablePointer<ffi_cif> {
        if let known = interfaces[signature] { return known }
        let types = [.pointer] + signature.arguments + [.pointer]
        let arguments = UnsafeMutablePointer<UnsafeMutablePointer<ffi_type>?>.allocate(capacity: types.count)
        for (place, type) in types.enumerated() { (arguments + place).initialize(to: type.foreign) }
        let interface = UnsafeMutablePointer<ffi_cif>.allocate(capacity: 1)
        guard
            ffi_prep_cif(
                interface, FFI_DEFAULT_ABI, UInt32(types.count), signature.result.foreign, arguments) == FFI_OK
        else {
            throw CoreError(
                .internal,
                "cannot create an accessor: libffi rejected the signature; \(Closure.remedy)")
        }
        interfaces[signature] = interface
        return interface
    }
}

/// Executes a call of a closure.
private func perform(
    _ interface: UnsafeMutablePointer<ffi_cif>?, _ result: UnsafeMutableRawPointer?,
    _ arguments: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, _ job: UnsafeMutableRawPointer?
) {
    guard let result, let arguments, let job = job?.assumingMemoryBound(to: Job.self).pointee else { return }
    let call = AccessorCall(
        key: job.key, result: result, arguments: arguments,
        error: arguments[job.argumentCount + 1]?.load(as: ErrorOut.self))
    if job.isToMany { call.performOnMembers(job.kind) } else { call.perform(job.kind, job.result, job.argument) }
}
