import CCorestone
import CorestoneContainers
import CorestoneFormats
import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// Runs a function on records, and passes the outcome to the success or failure callback.
private func records(
    _ pointer: OpaquePointer?, _ success: cst_records_fn?, _ failure: cst_failure_fn?,
    _ userdata: UnsafeMutableRawPointer?, _ error: ErrorOut, _ body: (Container) throws -> (String?, Int)
) -> cst_status {
    boundary(error) {
        do {
            let (json, count) = try body(try containerBox(pointer).container)
            guard let success else { return }
            let text = json.map { Text($0) }
            success(userdata, cst_string(text), count)
            withExtendedLifetime(text) {}
        } catch {
            if let failure, let known = error as? CoreError {
                let handle = try? HandleTable.make(try ErrorBox(known), .error)
                failure(userdata, handle)
                HandleTable.releaseForHost(token(handle))
            }
            throw error
        }
    }
}

private func json(_ records: [Container.Record]) -> (String?, Int) {
    (JSONText(plain: .array(records.map { PropertyValue.dictionary($0).asPlainJSON })).text, records.count)
}

private func record(
    _ value: PropertyValue, of entity: String, _ name: String = "json"
) throws -> Container.Record {
    if case .dictionary(let record) = value { return record }
    throw CoreError(
        .invalidArgument,
        "\(name) is \(value.kindPhrase), not a JSON object; pass a record of \(entity) as {\"key\": value}",
        entity: entity, key: "json", value: value)
}

private func decoded(_ json: cst_string) throws -> PropertyValue {
    do {
        return try decodeJSON(Array(try json.string("json").utf8), keepsDigits: true, readsBytes: true)
    } catch let error as CoreError { throw error.with(entity: nil, key: "json") }
}

@_cdecl("cst_container_insert") @implementation
public func cst_container_insert(
    _ pointer: OpaquePointer?, _ entity: cst_string, _ text: cst_string, _ success: cst_records_fn?,
    _ failure: cst_failure_fn?, _ userdata: UnsafeMutableRawPointer?, _ error: ErrorOut
) -> cst_status {
    records(pointer, success, failure, userdata, error) { container in
        let name = try entity.string("entity_name")
        var given: [Container.Record] = []
        switch try decoded(text) {
        case .array(let list): given = try list.enumerated().map { try record($1, of: name, "json[\($0)]") }
        case let one: given = [try record(one, of: name)]
        }
        return json(try container.insert(name, given))
    }
}

@_cdecl("cst_container_read") @implementation
public func cst_container_read(
    _ pointer: OpaquePointer?, _ entity: cst_string, _ predicatePointer: OpaquePointer?, _ sort: cst_string,
    _ ascending: Bool,
    _ limit: UInt64, _ offset: UInt64, _ success: cst_records_fn?, _ failure: cst_failure_fn?,
    _ userdata: UnsafeMutableRawPointer?,
    _ error: ErrorOut
) -> cst_status {
    records(pointer, success, failure, userdata, error) { container in
        let keys = try sort.optionalString("sort")?.split(separator: ",").map { key in
            String(key.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
        }
        return json(
            try container.read(
                try entity.string("entity_name"), where: try predicatePointer.map { try predicate($0) },
                sort: keys ?? [], ascending: ascending, limit: Int(clamping: limit), offset: Int(clamping: offset)))
    }
}

@_cdecl("cst_container_update") @implementation
public func cst_container_update(
    _ pointer: OpaquePointer?, _ entity: cst_string, _ predicatePointer: OpaquePointer?, _ text: cst_string,
    _ success: cst_records_fn?, _ failure: cst_failure_fn?, _ userdata: UnsafeMutableRawPointer?, _ error: ErrorOut
) -> cst_status {
    records(pointer, success, failure, userdata, error) { container in
        let name = try entity.string("entity_name")
        return json(
            try container.update(
                name, where: try predicatePointer.map { try predicate($0) },
                try record(try decoded(text), of: name)))
    }
}

@_cdecl("cst_container_delete") @implementation
public func cst_container_delete(
    _ pointer: OpaquePointer?, _ entity: cst_string, _ predicatePointer: OpaquePointer?, _ success: cst_records_fn?,
    _ failure: cst_failure_fn?, _ userdata: UnsafeMutableRawPointer?, _ error: ErrorOut
) -> cst_status {
    records(pointer, success, failure, userdata, error) { container in
        (nil, try container.delete(try entity.string("entity_name"), where: try predicate(predicatePointer)))
    }
}

@_cdecl("cst_container_delete_all") @implementation
public func cst_container_delete_all(
    _ pointer: OpaquePointer?, _ entity: cst_string, _ success: cst_records_fn?, _ failure: cst_failure_fn?,
    _ userdata: UnsafeMutableRawPointer?, _ error: ErrorOut
) -> cst_status {
    records(pointer, success, failure, userdata, error) { container in
        (nil, try container.deleteAll(try entity.string("entity_name")))
    }
}
