import CCorestone
import CorestoneValues

/// Calls a callback of the host. Throws if it returns a negative status.
///
/// - Parameters:
///   - callback: The name of the callback, for the message.
///   - entity: The entity concerned. Like the other fields, it is used if the error of the callback does not set it.
/// - Returns: A status that is not a failure: `CST_OK`, `CST_NOT_FOUND`, …
@discardableResult
func callHost(
    _ callback: @autoclosure () -> String, entity: @autoclosure () -> String? = nil,
    key: @autoclosure () -> String? = nil,
    objectURI: @autoclosure () -> String? = nil, file: @autoclosure () -> String? = nil,
    _ body: (ErrorOut) -> cst_status
) throws -> cst_status {
    var failure: OpaquePointer?
    let status = body(&failure)
    defer { HandleTable.releaseForHost(token(failure)) }
    guard status < 0 else { return status }
    guard let detail = try? resolve(failure, .error, as: ErrorBox.self).error else {
        throw CoreError(
            .callback, "\(callback()) failed with status \(status), but \(missingError(failure))",
            entity: entity(), key: key(), objectURI: objectURI(), file: file())
    }
    let cause = detail.message.isEmpty ? "" : ": \(detail.message)"
    // Entity and key belong together: if the error has an entity, only its own key is used.
    throw CoreError(
        .callback, "\(callback()) failed\(cause)", entity: detail.entity ?? entity(),
        key: detail.entity == nil ? detail.key ?? key() : detail.key, value: detail.value,
        objectURI: detail.objectURI ?? objectURI(), children: [detail], file: detail.file ?? file())
}

/// The reason why a failed callback does not have an error, with the remedy, as the end of a message.
func missingError(_ failure: OpaquePointer?) -> String {
    failure == nil
        ? "*error was not set; set it with cst_error_new_custom"
        : "*error is not the handle of an error, or was released; set it to the result of cst_error_new_custom, "
            + "and do not release it"
}

/// Reads the value that a callback of the host returned. An error names the callback.
func readingResult<Result>(
    _ callback: @autoclosure () -> String, entity: @autoclosure () -> String? = nil,
    key: @autoclosure () -> String? = nil,
    objectURI: @autoclosure () -> String? = nil, _ read: () throws -> Result
) throws -> Result {
    do { return try read() } catch let error as CoreError {
        let named = error.within("\(callback()) returned a value that cannot be read", entity: entity(), key: key())
        throw CoreError(
            named.status, named.message, domain: named.domain, customCode: named.code, entity: named.entity,
            key: named.key, value: named.value, predicate: named.predicate, objectURI: named.objectURI ?? objectURI(),
            children: named.children, sqliteCode: named.sqliteCode, file: named.file, offset: named.offset,
            payload: named.payload, isHosts: true)
    }
}

/// Runs the body of a function that takes ownership of a table of callbacks.
///
/// A rejected call also frees the userdata of the table, unless the table itself cannot be read. The function does not
/// use a generic result: the Swift runtime would instantiate its metadata under a lock, which another
/// thread may have held when the process was forked.
@inline(__always)
func boundary<Table>(
    _ error: ErrorOut, taking callbacks: UnsafePointer<Table>?, _ empty: Table, _ userdata: (Table) -> Userdata,
    _ body: (Table, Userdata) throws -> Void
) -> cst_status {
    var (table, owner, failure) = (empty, Userdata?.none, (any Error)?.none)
    if callbacks == nil {
        failure = CoreError(.invalidArgument, "callbacks is NULL; pass a table of callbacks", key: "callbacks")
    } else {
        do {
            table = try options(callbacks, empty, "callbacks")
            owner = userdata(table)
        } catch let refused { failure = refused }
    }
    return boundary(error) {
        if let failure { throw failure }
        if let owner { try body(table, owner) }
    }
}

/// A callback of the host, and its userdata. The library calls it on the thread that needs its result.
struct HostCallback<Function>: @unchecked Sendable {
    let function: Function
    private let payload: Userdata

    init(_ function: Function, _ payload: Userdata) {
        self.function = function
        self.payload = payload
    }

    var userdata: UnsafeMutableRawPointer? { payload.pointer }

    /// Returns the callback. Throws if it is NULL.
    func required<Present>(_ name: StaticString) throws -> HostCallback<Present> where Function == Present? {
        guard let function else {
            throw CoreError(
                .invalidArgument, "\(name) is NULL; pass the function to be called", key: parameterKey(name))
        }
        return HostCallback<Present>(function, payload)
    }
}
