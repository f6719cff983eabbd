import CCorestone
import CPlatform
import CorestoneGraph
import CorestoneModel
import CorestoneValues

public typealias ErrorOut = UnsafeMutablePointer<OpaquePointer?>?

/// Runs the body of a function of the interface.
///
/// An error that the body throws is converted to a status and, if the host passed an out parameter, to an error object.
@inline(__always)
func boundary(_ error: ErrorOut, _ body: () throws -> Void) -> cst_status {
    platform_call_begin()
    defer { endCall() }
    do {
        if platform_is_forked() || platform_runs_log_callback() || platform_call_was_abandoned() { throw refusal() }
        try body()
        return Status.ok.rawValue
    } catch let failure { return report(failure, error) }
}

/// Runs the body of a function of the interface that returns a status, like `boundary`.
@inline(__always)
func outcome(_ error: ErrorOut, _ body: () throws -> Status) -> cst_status {
    platform_call_begin()
    defer { endCall() }
    do {
        if platform_is_forked() || platform_runs_log_callback() || platform_call_was_abandoned() { throw refusal() }
        return try body().rawValue
    } catch let failure { return report(failure, error) }
}

/// Returns the error for a call that cannot be executed now.
@inline(never)
private func refusal() -> CoreError {
    if platform_is_forked() { return Context.forked() }
    if platform_runs_log_callback() { return DebugLog.calledFromSink() }
    return CoreError(
        .callback,
        "a callback on \(nameOfThread(platform_thread_id())) did not return, for example because of longjmp: locks and "
            + "objects are in an undefined state. Restart the process, and return from every callback")
}

/// Ends a call. At the end of the thread's outermost call, the objects that callbacks released are freed.
@inline(__always)
func endCall() { if platform_call_end() { platform_call_finish() } }

@inline(never)
func report(_ failure: any Error, _ error: ErrorOut) -> cst_status {
    let known =
        failure as? CoreError
        ?? CoreError(.internal, "an unexpected error occurred: \(failure); report it as a defect of the library")
    if let error { error.pointee = try? HandleTable.make(try ErrorBox(known), .error) }
    return known.status.rawValue
}

/// Runs a change of a model.
///
/// The model records the errors of these calls like its own errors, so that a host can build the whole model and check
/// it once. Errors of invalid handles are not recorded.
@inline(__always)
func building(_ error: ErrorOut, _ model: () throws -> Model, _ body: () throws -> Void) -> cst_status {
    boundary(error) {
        let model = try model()
        do { try body() } catch let mistake as CoreError {
            if mistake.status != .invalidHandle { model.recordError(mistake) }
            throw mistake
        }
    }
}

/// Returns a required out parameter. Throws if it is NULL.
@inline(__always)
func required<Output>(
    _ output: UnsafeMutablePointer<Output>?, _ name: StaticString
) throws -> UnsafeMutablePointer<Output> {
    guard let output else { throw missingOutput(name) }
    return output
}

/// Returns a required out parameter for a handle, after setting the handle to NULL.
@inline(__always)
func place(
    _ output: UnsafeMutablePointer<OpaquePointer?>?, _ name: StaticString
) throws -> UnsafeMutablePointer<OpaquePointer?> {
    let output = try required(output, name)
    output.pointee = nil
    return output
}

@inline(never)
func missingOutput(_ name: StaticString) -> CoreError {
    CoreError(.invalidArgument, "\(name) is NULL; pass a pointer for the result", key: parameterKey(name))
}

/// Returns the name of a parameter as the key of an error, or nil for a description of several words.
func parameterKey(_ name: StaticString) -> String? {
    let name = "\(name)"
    return name.contains(" ") ? nil : name
}

/// Returns a size as the value of an error. A size above `Int.max` arrives as a negative number.
func sizeValue(_ size: Int) -> PropertyValue {
    size >= 0 ? .int(Int64(size)) : .decimal(DecimalNumber(mantissa: UInt128(UInt(bitPattern: size))))
}

/// Returns an array of `count` elements that the host passed. NULL is allowed for a count of 0.
func array<Element>(
    _ start: UnsafePointer<Element>?, _ count: Int, _ name: StaticString
) throws -> UnsafeBufferPointer<Element> {
    guard count >= 0, count < Int(Int32.max) else {
        throw CoreError(
            .invalidArgument, "\(name) has \(UInt(bitPattern: count)) elements, but the limit is 2147483646",
            key: parameterKey(name), value: sizeValue(count))
    }
    guard count == 0 || start != nil else {
        throw CoreError(
            .invalidArgument,
            "\(name) is NULL but has \(count) \(count == 1 ? "element" : "elements"); pass the array, or the count 0",
            key: parameterKey(name), value: sizeValue(count))
    }
    return UnsafeBufferPointer(start: start, count: count)
}

/// Returns the name of an option's constant, for errors: `CST_FETCH_BATCH_SIZE` for `batchSize`.
func constantName(_ prefix: String, _ option: Any) -> String {
    "\(option)".reduce(into: prefix + "_") { name, letter in
        name += letter.isUppercase ? "_\(letter)" : letter.uppercased()
    }
}

/// Reads a struct whose first field is the size of the host's version.
///
/// Missing fields have their defaults. Unknown fields must be zero.
func options<Options>(_ pointer: UnsafePointer<Options>?, _ fallback: Options, _ name: StaticString) throws -> Options {
    guard let pointer else { return fallback }
    let size = UnsafeRawPointer(pointer).load(as: Int.self)
    guard size >= MemoryLayout<Int>.size, size <= 1 << 16 else { throw missized(name, size, "\(Options.self)") }
    let known = MemoryLayout<Options>.size
    let tail = UnsafeRawBufferPointer(start: pointer, count: size).dropFirst(known)
    guard tail.allSatisfy({ $0 == 0 }) else {
        throw CoreError(
            .unsupported,
            "\(name) sets fields that are unknown to this version of the library; upgrade the library, or set "
                + "them to zero", key: parameterKey(name))
    }
    var result = fallback
    // Each version of a struct ends with a whole word. Copying any other size would split a pointer.
    let whole = min(size, known) & ~(MemoryLayout<Int>.size - 1)
    withUnsafeMutableBytes(of: &result) { bytes in
        bytes.copyMemory(from: UnsafeRawBufferPointer(start: pointer, count: whole))
    }
    return result
}

/// An output struct whose first field is the size of the host's version.
struct SizedOutput<Fields> {
    fileprivate let start: UnsafeMutableRawPointer
    fileprivate let size: Int

    /// Writes the fields that fit. Fields that only a newer version of the host has are set to zero.
    func fill(_ fields: Fields) {
        var fields = fields
        let room = UnsafeMutableRawBufferPointer(start: start, count: size)
        withUnsafeMutableBytes(of: &fields) { bytes in
            bytes.storeBytes(of: size, as: Int.self)
            room.copyBytes(from: bytes.prefix(size))
        }
        for place in room.indices.dropFirst(MemoryLayout<Fields>.size) { room[place] = 0 }
    }
}

/// Returns an output struct. Throws if it is NULL, or if its `struct_size` is too small or too large.
func sized<Fields>(_ pointer: UnsafeMutablePointer<Fields>?, _ name: StaticString) throws -> SizedOutput<Fields> {
    let start = UnsafeMutableRawPointer(try required(pointer, name))
    let size = start.loadUnaligned(as: Int.self)
    guard size >= MemoryLayout<Int>.size, size <= 1 << 16 else { throw missized(name, size, "\(Fields.self)") }
    return SizedOutput(start: start, size: size)
}

@inline(never)
private func missized(_ name: StaticString, _ size: Int, _ type: String) -> CoreError {
    CoreError(
        .invalidArgument,
        "\(name).struct_size is \(UInt(bitPattern: size)); initialise the struct with \(type.uppercased())_INIT",
        key: "struct_size", value: sizeValue(size))
}
