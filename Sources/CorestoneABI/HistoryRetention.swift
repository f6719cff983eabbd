import CCorestone
import CorestoneGraph
import CorestoneModel
import CorestoneValues

@_cdecl("cst_coordinator_register_history_consumer") @implementation
public func cst_coordinator_register_history_consumer(
    _ pointer: OpaquePointer?, _ store: OpaquePointer?, _ name: cst_string, _ at: OpaquePointer?, _ lease: Double,
    _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let coordinator = try coordinator(pointer).coordinator
        try coordinator.registerHistoryConsumer(
            try name.string("name"), of: try storeBox(store).store, at: try at.map { try historyToken($0) },
            lease: lease == 0 ? HistoryConsumer.usualLease : lease)
    }
}

@_cdecl("cst_coordinator_move_history_consumer") @implementation
public func cst_coordinator_move_history_consumer(
    _ pointer: OpaquePointer?, _ store: OpaquePointer?, _ name: cst_string, _ to: OpaquePointer?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let coordinator = try coordinator(pointer).coordinator
        try coordinator.moveHistoryConsumer(
            try name.string("name"), of: try storeBox(store).store, to: try historyToken(to))
    }
}

@_cdecl("cst_coordinator_unregister_history_consumer") @implementation
public func cst_coordinator_unregister_history_consumer(
    _ pointer: OpaquePointer?, _ store: OpaquePointer?, _ name: cst_string, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let coordinator = try coordinator(pointer).coordinator
        let wasThere = try coordinator.unregisterHistoryConsumer(
            try name.string("name"), of: try storeBox(store).store)
        return wasThere ? .ok : .notFound
    }
}

@_cdecl("cst_coordinator_copy_history_consumers") @implementation
public func cst_coordinator_copy_history_consumers(
    _ pointer: OpaquePointer?, _ store: OpaquePointer?, _ out: UnsafeMutablePointer<cst_buffer>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try required(out, "out_json")
        let consumers = try coordinator(pointer).coordinator.historyConsumers(of: try storeBox(store).store)
        let now = ReferenceDate.currentSeconds
        let list = consumers.map { consumer -> PropertyValue in
            .dictionary([
                "name": .string(consumer.name), "transaction": .int(consumer.transactionNumber),
                "lastSeen": .double(consumer.lastSeen), "lease": .double(consumer.lease),
                "living": .bool(consumer.isLiving(at: now)),
            ])
        }
        try out.fill(JSONText(.array(list)).text)
    }
}

@_cdecl("cst_coordinator_purge_history") @implementation
public func cst_coordinator_purge_history(
    _ pointer: OpaquePointer?, _ store: OpaquePointer?, _ keep: UnsafePointer<cst_history_retention>?,
    _ progress: cst_history_progress_fn?, _ userdata: UnsafeMutableRawPointer?,
    _ out: UnsafeMutablePointer<cst_buffer>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let coordinator = try coordinator(pointer).coordinator
        let purge = try coordinator.purgeHistory(of: try storeBox(store).store, keeping: try retention(keep)) {
            progress?(userdata, UInt64($0), UInt64($1)) ?? true
        }
        try out?.fill(
            JSONText(
                .dictionary([
                    "transactions": .int(Int64(purge.transactions)), "changes": .int(Int64(purge.changes)),
                    "heldBy": purge.heldBy.map { .string($0.name) } ?? .null,
                    "expired": .array(purge.expired.map { .string($0.name) }),
                    "reason": purge.reason.map { .string($0) } ?? .null,
                ])
            ).text)
    }
}

func retention(
    _ given: UnsafePointer<cst_history_retention>?, _ name: StaticString = "keep"
) throws -> HistoryRetention {
    let given = try options(given, cst_history_retention(), name)
    return HistoryRetention(
        age: given.has_age ? given.age : nil, count: given.has_count ? Int(clamping: given.count) : nil,
        bytes: given.has_bytes ? Int(clamping: given.bytes) : nil)
}

@_cdecl("cst_coordinator_copy_history_size") @implementation
public func cst_coordinator_copy_history_size(
    _ pointer: OpaquePointer?, _ store: OpaquePointer?, _ out: UnsafeMutablePointer<cst_buffer>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try required(out, "out_json")
        let size = try coordinator(pointer).coordinator.historySize(of: try storeBox(store).store)
        try out.fill(
            JSONText(
                .dictionary([
                    "transactions": .int(Int64(size.transactions)), "changes": .int(Int64(size.changes)),
                    "bytes": .int(Int64(size.bytes)), "estimated": .bool(size.isEstimated),
                    "oldest": size.oldest.map { .double($0) } ?? .null,
                    "newest": size.newest.map { .double($0) } ?? .null,
                ])
            ).text)
    }
}
