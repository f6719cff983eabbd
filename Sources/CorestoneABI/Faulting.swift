import CCorestone
import CorestoneGraph
import CorestoneModel
import CorestoneValues

// MARK: - Options

private enum ContextOption: UInt32 {
    case faultPolicy = 1
    case faultBatchSize, countsSingleFaults, stalenessMs, retainsRegisteredObjects, deletesInaccessibleFaults
    case deletesAtEndOfEvent, mergesBatches

    init(_ number: UInt32) throws {
        guard let known = ContextOption(rawValue: number) else {
            throw CoreError(
                .invalidArgument, "\(number) is not a context option; use a CST_OPTION_ constant", key: "option",
                value: .int(Int64(number)))
        }
        self = known
    }
}

private func refused(_ option: ContextOption, _ value: Int64, _ takes: String) -> CoreError {
    let name = constantName("CST_OPTION", option)
    return CoreError(.invalidArgument, "\(name) takes \(takes), not \(value)", key: name, value: .int(value))
}

@_cdecl("cst_context_set_option") @implementation
public func cst_context_set_option(
    _ pointer: OpaquePointer?, _ option: UInt32, _ value: Int64, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let context = try onQueue(pointer).context
        let option = try ContextOption(option)
        func flag() throws -> Bool {
            guard value == 0 || value == 1 else { throw refused(option, value, "0 or 1") }
            return value == 1
        }
        switch option {
        case .faultPolicy:
            guard let policy = UInt32(exactly: value).flatMap(FaultPolicy.init(rawValue:)) else {
                throw refused(option, value, "CST_FAULT_BATCH, CST_FAULT_WARN or CST_FAULT_ERROR")
            }
            context.faultPolicy = policy
        case .faultBatchSize: try context.setFaultBatchSize(Int(value))
        case .countsSingleFaults: context.countsSingleFaults = try flag()
        case .stalenessMs: context.stalenessInterval = value < 0 ? -1 : Double(value) / 1000
        case .retainsRegisteredObjects: context.retainsRegisteredObjects = try flag()
        case .deletesInaccessibleFaults: context.shouldDeleteInaccessibleFaults = try flag()
        case .deletesAtEndOfEvent: context.propagatesDeletesAtEndOfEvent = try flag()
        case .mergesBatches: context.automaticallyMergesBatchChanges = try flag()
        }
    }
}

@_cdecl("cst_context_option") @implementation
public func cst_context_option(
    _ pointer: OpaquePointer?, _ option: UInt32, _ out: UnsafeMutablePointer<Int64>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try required(out, "out_value")
        out.pointee = 0
        let context = try onQueue(pointer).context
        out.pointee =
            switch try ContextOption(option) {
            case .faultPolicy: Int64(context.faultPolicy.rawValue)
            case .faultBatchSize: Int64(context.faultBatchSize)
            case .countsSingleFaults: context.countsSingleFaults ? 1 : 0
            case .stalenessMs:
                context.stalenessInterval < 0
                    ? -1 : Int64(exactly: (context.stalenessInterval * 1000).rounded()) ?? .max
            case .retainsRegisteredObjects: context.retainsRegisteredObjects ? 1 : 0
            case .deletesInaccessibleFaults: context.shouldDeleteInaccessibleFaults ? 1 : 0
            case .deletesAtEndOfEvent: context.propagatesDeletesAtEndOfEvent ? 1 : 0
            case .mergesBatches: context.automaticallyMergesBatchChanges ? 1 : 0
            }
    }
}

// MARK: - Single faults

@_cdecl("cst_context_set_call_site") @implementation
public func cst_context_set_call_site(
    _ pointer: OpaquePointer?, _ file: cst_string, _ line: UInt32, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let context = try onQueue(pointer).context
        context.callSite = try file.optionalString("file").map { CallSite(file: $0, line: Int(line)) }
    }
}

@_cdecl("cst_context_set_call_site_finder") @implementation
public func cst_context_set_call_site_finder(
    _ pointer: OpaquePointer?, _ find: cst_call_site_fn?, _ userdata: UnsafeMutableRawPointer?,
    _ destroy: cst_destroy_fn?, _ error: ErrorOut
) -> cst_status {
    let payload = Userdata(userdata, destroy)
    return boundary(error) {
        let context = try onQueue(pointer).context
        // The former finder is freed last, because its destructor may use the context.
        let former = context.callSiteFinder
        defer { withExtendedLifetime(former) {} }
        context.callSiteFinder = find.map { find in
            {
                var file = cst_buffer()
                defer { cst_buffer_dispose(&file) }
                let line = find(payload.pointer, &file)
                guard file.size > 0, let start = file.data else { return nil }
                let bytes = UnsafeRawBufferPointer(start: start, count: file.size)
                return CallSite(file: String(decoding: bytes, as: UTF8.self), line: Int(line))
            }
        }
    }
}

@_cdecl("cst_context_copy_fault_report") @implementation
public func cst_context_copy_fault_report(
    _ pointer: OpaquePointer?, _ form: UInt32, _ out: UnsafeMutablePointer<cst_buffer>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try required(out, "out_report")
        let context = try onQueue(pointer).context
        switch Int(form) {
        case Int(CST_REPORT_TEXT): try out.fill(context.singleFaultReport)
        case Int(CST_REPORT_JSON): try out.fill(JSONText(.array(context.singleFaults.map(\.report))).text)
        default:
            throw CoreError(
                .invalidArgument, "\(form) is not a report form; use CST_REPORT_TEXT or CST_REPORT_JSON",
                key: "form", value: .int(Int64(form)))
        }
    }
}

// MARK: - Inaccessible faults

@_cdecl("cst_context_set_inaccessible_fault_handler") @implementation
public func cst_context_set_inaccessible_fault_handler(
    _ pointer: OpaquePointer?, _ handler: cst_inaccessible_fault_fn?, _ userdata: UnsafeMutableRawPointer?,
    _ destroy: cst_destroy_fn?, _ error: ErrorOut
) -> cst_status {
    let payload = Userdata(userdata, destroy)
    return boundary(error) {
        let context = try onQueue(pointer).context
        let former = context.inaccessibleFaultHandler
        defer { withExtendedLifetime(former) {} }
        context.inaccessibleFaultHandler = handler.map { handler in
            { object, id, property in
                let idHandle = try HandleTable.make(ObjectIDBox(id), .objectID)
                defer { HandleTable.releaseForHost(token(idHandle)) }
                var isHandled = false
                let name = property.map { Text($0) }
                try withBorrowedHandle(object) { fault in
                    try callHost(
                        "the handler for inaccessible faults", entity: id.entity.name, key: property, objectURI: id.uri
                    ) {
                        handler(payload.pointer, fault, idHandle, cst_string(name), &isHandled, $0)
                    }
                }
                return isHandled
            }
        }
    }
}
