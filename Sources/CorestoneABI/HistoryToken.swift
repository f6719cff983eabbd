import CCorestone
import CorestoneGraph
import CorestoneValues

func historyToken(_ pointer: OpaquePointer?) throws -> HistoryToken {
    try resolve(pointer, .historyToken, as: HistoryTokenValue.self).token
}

/// Creates the handle of a token. Returns `.notFound` for nil.
func putHandle(_ token: HistoryToken?, _ out: UnsafeMutablePointer<OpaquePointer?>) throws -> Status {
    guard let token else { return .notFound }
    out.pointee = try HandleTable.make(HistoryTokenValue(token), .historyToken)
    return .ok
}

@_cdecl("cst_coordinator_copy_history_token") @implementation
public func cst_coordinator_copy_history_token(
    _ pointer: OpaquePointer?, _ count: Int, _ stores: UnsafePointer<OpaquePointer?>?,
    _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let out = try place(out, "out_token")
        let coordinator = try coordinator(pointer).coordinator
        return try putHandle(try coordinator.currentHistoryToken(of: try historyStores(stores, count)), out)
    }
}

@_cdecl("cst_history_token_new") @implementation
public func cst_history_token_new(
    _ json: cst_string, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let out = try place(out, "out_token")
        return try putHandle(try HistoryToken(json: try json.string("json")), out)
    }
}

@_cdecl("cst_history_token_new_at") @implementation
public func cst_history_token_new_at(
    _ store: cst_string, _ transaction: Int64, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let out = try place(out, "out_token")
        let store = try store.string("store_identifier")
        guard let identifier = UUIDValue(store) else {
            throw CoreError(
                .invalidArgument,
                "\"\(store)\" is not a UUID; pass the result of cst_store_identifier (Store.identifier) for a store whose "
                    + "identifier is a UUID",
                key: "store_identifier", value: .string(store))
        }
        guard transaction >= 0 else {
            throw CoreError(
                .invalidArgument, "transaction is \(transaction), but must be 0 or more", key: "transaction",
                value: .int(transaction))
        }
        let token = HistoryToken(storeIdentifier: identifier.description, transactionNumber: transaction)
        return try putHandle(token, out)
    }
}

@_cdecl("cst_history_token_copy_json") @implementation
public func cst_history_token_copy_json(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<cst_buffer>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) { try required(out, "out_json").fill(try historyToken(pointer).json) }
}

@_cdecl("cst_history_token_transaction") @implementation
public func cst_history_token_transaction(
    _ pointer: OpaquePointer?, _ store: cst_string, _ out: UnsafeMutablePointer<Int64>?, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let out = try required(out, "out_transaction")
        out.pointee = 0
        guard let number = try historyToken(pointer).transactionNumber(ofStore: try store.string("store_identifier"))
        else { return .notFound }
        out.pointee = number
        return .ok
    }
}

@_cdecl("cst_history_token_compare") @implementation
public func cst_history_token_compare(
    _ a: OpaquePointer?, _ b: OpaquePointer?, _ out: UnsafeMutablePointer<Int32>?, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let out = try required(out, "out_order")
        out.pointee = 0
        guard let order = try historyToken(a).order(against: try historyToken(b)) else { return .notFound }
        out.pointee = Int32(order)
        return .ok
    }
}

@_cdecl("cst_context_copy_history_token") @implementation
public func cst_context_copy_history_token(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let out = try place(out, "out_token")
        return try putHandle(try contextBox(pointer).context.savedHistoryToken, out)
    }
}

/// Returns the stores of an array of handles. An empty array represents all stores.
func historyStores(_ stores: UnsafePointer<OpaquePointer?>?, _ count: Int) throws -> [Store] {
    try array(stores, count, "stores").map { try storeBox($0).store }
}
