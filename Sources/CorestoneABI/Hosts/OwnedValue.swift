import CCorestone
import CorestoneGraph
import CorestonePredicate
import CorestoneValues
import Glibc

/// A bit of `aux`: the host must free the content of the value.
private let ownedMark: UInt32 = 1 << 31
/// A bit of `aux` for an object: the host had references to the object before (`BorrowedHandle.hadReferences`).
private let hadReferencesMark: UInt32 = 1 << 30

/// Writes a value with its own memory and handles, which `cst_value_dispose` frees.
///
/// Managed objects must be written on their queue.
func putOwned(_ value: PropertyValue, _ out: UnsafeMutablePointer<cst_value>) throws {
    putNull(out)
    switch value {
    case .text(let text): try putCopy(text.utf8, CST_STRING, out)
    case .uri(let text): try putCopy(text.utf8, CST_URI, out)
    case .bytes(let bytes):
        try putCopy(UnsafeRawBufferPointer(start: bytes.buffer.start, count: bytes.count), CST_BYTES, out)
    case .array(let members): try putMembers(members, CST_ARRAY, out)
    case .set(let members): try putMembers(Array(members), CST_SET, out)
    case .dictionary(let members):
        // The order is that of the keys, because the order of a Swift dictionary differs from process to process.
        let sorted = members.sorted { $0.key < $1.key }
        try putMembers(sorted.flatMap { [.string($0.key), $0.value] }, CST_DICTIONARY, out)
    case .object(let object as ManagedObject):
        try object.checkQueue()
        let borrowed = try BorrowedHandle(object)
        out.pointee.as.object = borrowed.handle
        mark(out, CST_OBJECT)
        if borrowed.hadReferences { out.pointee.aux |= hadReferencesMark }
    case .object(let reference as ObjectIDReference):
        out.pointee.as.object_id = try HandleTable.make(ObjectIDBox(reference.id), .objectID)
        mark(out, CST_OBJECT_ID)
    case .object(let token as HistoryTokenValue):
        out.pointee.as.history_token = try HandleTable.make(token, .historyToken)
        mark(out, CST_HISTORY_TOKEN)
    case .object(let object as HostObject):
        try options(object.host.callbacks, cst_host_callbacks(), "callbacks").retain?(object.host.object)
        out.pointee.as.host = object.host
        mark(out, CST_HOST)
    case .object(let object as ExpressionValue):
        out.pointee.as.expression = try ExpressionBox(object.expression, models: []).makeHandle()
        mark(out, CST_EXPRESSION)
    case .object(let object):
        throw CoreError(
            .typeMismatch,
            "\(object.valueDescription) does not fit into a cst_value; use plain data, a managed object, an object ID, "
                + "an expression or a collection of them", value: value)
    default: put(ValueView(value), out)
    }
}

private func mark(_ out: UnsafeMutablePointer<cst_value>, _ type: Int) {
    out.pointee.type = UInt32(type)
    out.pointee.aux = ownedMark
}

private func putCopy(_ bytes: UnsafeRawBufferPointer, _ type: Int, _ out: UnsafeMutablePointer<cst_value>) throws {
    guard let memory = malloc(bytes.count + 1) else {
        let unit = bytes.count == 1 ? "byte" : "bytes"
        throw CoreError(.noMemory, "out of memory: cannot allocate a value of \(bytes.count) \(unit); free some memory")
    }
    if let start = bytes.baseAddress { memcpy(memory, start, bytes.count) }
    memory.storeBytes(of: 0, toByteOffset: bytes.count, as: UInt8.self)
    out.pointee.as.bytes = cst_bytes(data: UnsafePointer(memory.assumingMemoryBound(to: UInt8.self)), size: bytes.count)
    mark(out, type)
}

private func putMembers(_ members: [PropertyValue], _ type: Int, _ out: UnsafeMutablePointer<cst_value>) throws {
    let cells = UnsafeMutablePointer<cst_value>.allocate(capacity: max(members.count, 1))
    cells.initialize(repeating: cst_value(), count: members.count)
    out.pointee.as.values = cst_values(data: UnsafePointer(cells), size: members.count)
    mark(out, type)
    do { for (place, member) in members.enumerated() { try putOwned(member, cells + place) } } catch {
        dispose(out)
        throw error
    }
}

/// Frees the content of a value that `putOwned` wrote. A borrowed value is not changed.
///
/// - Parameter byHost: Whether the host called `cst_value_dispose`, possibly within a callback of a call that uses the
///   value.
func dispose(_ value: UnsafeMutablePointer<cst_value>, byHost: Bool = false) {
    guard value.pointee.type != CST_DECIMAL, value.pointee.aux & ownedMark != 0 else { return }
    let held = value.pointee.as
    let hadReferences = value.pointee.aux & hadReferencesMark != 0
    func release(_ handle: Handle?) {
        if byHost {
            _ = HandleTable.releaseByHost(token(handle))
        } else {
            HandleTable.endBorrowing(token(handle), hadReferences: hadReferences)
        }
    }
    switch Int(value.pointee.type) {
    case CST_STRING, CST_URI, CST_BYTES: free(UnsafeMutableRawPointer(mutating: held.bytes.data))
    case CST_OBJECT: release(held.object)
    case CST_OBJECT_ID: release(held.object_id)
    case CST_HISTORY_TOKEN: release(held.history_token)
    case CST_EXPRESSION: release(held.expression)
    case CST_HOST:
        let callbacks = try? options(held.host.callbacks, cst_host_callbacks(), "callbacks")
        callbacks?.release?(held.host.object)
    case CST_ARRAY, CST_SET, CST_DICTIONARY:
        let cells = UnsafeMutablePointer(mutating: held.values.data)
        for place in 0..<held.values.size { if let cells { dispose(cells + place, byHost: byHost) } }
        cells?.deallocate()
    default: break
    }
    putNull(value)
}

/// Passes values to a callback of the host, borrowed until the callback returns.
func withBorrowedValues<Result>(
    _ values: [PropertyValue], _ body: (UnsafePointer<cst_value>) throws -> Result
) throws -> Result {
    let cells = UnsafeMutablePointer<cst_value>.allocate(capacity: max(values.count, 1))
    cells.initialize(repeating: cst_value(), count: max(values.count, 1))
    defer {
        for place in values.indices { dispose(cells + place) }
        cells.deallocate()
    }
    for (place, value) in values.enumerated() { try putOwned(value, cells + place) }
    return try body(cells)
}
