import CCorestone
import CorestoneGraph
import CorestoneModel
import CorestonePredicate
import CorestoneValues

@_cdecl("cst_fetch_request_copy") @implementation
public func cst_fetch_request_copy(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_request")
        out.pointee = try HandleTable.make(try requestBox(pointer).copy(), .fetchRequest)
    }
}

@_cdecl("cst_fetch_request_copy_predicate") @implementation
public func cst_fetch_request_copy_predicate(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let out = try place(out, "out_predicate")
        guard let predicate = try requestBox(pointer).predicate else { return .notFound }
        out.pointee = try predicate.makeHandle()
        return .ok
    }
}

@_cdecl("cst_fetch_request_copy_json") @implementation
public func cst_fetch_request_copy_json(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<cst_buffer>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try required(out, "out_json")
        try out.fill(JSONText(try request(pointer).report).text)
    }
}

@_cdecl("cst_fetch_request_copy_archive") @implementation
public func cst_fetch_request_copy_archive(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<cst_buffer>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try required(out, "out_archive")
        try request(pointer).archived().withUnsafeBytes { try out.fill($0) }
    }
}

@_cdecl("cst_fetch_request_new_from_archive") @implementation
public func cst_fetch_request_new_from_archive(
    _ archive: cst_bytes, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_request")
        out.pointee = try ownedHandle(try FetchRequest(archived: try archive.array("archive", limit: 64 << 20)))
    }
}

extension FetchRequest {
    fileprivate var report: PropertyValue {
        .dictionary([
            "entityName": text(entityName), "predicate": text(predicate?.format),
            "havingPredicate": text(havingPredicate?.format), "propertiesToGroupBy": list(propertiesToGroupBy),
            "relationshipKeyPathsForPrefetching": list(relationshipKeyPathsForPrefetching),
            "affectedStores": affectedStores.map { .array($0.map { .string($0.path) }) } ?? .null,
            "sortDescriptors": list(sortDescriptors) { descriptor in
                .dictionary([
                    "key": .string(descriptor.keyPath), "ascending": .bool(descriptor.ascending),
                    "selector": .string(descriptor.selector.rawValue),
                ])
            },
            "propertiesToFetch": list(propertiesToFetch) { column in
                guard case .expression(let description) = column else {
                    return .dictionary(["name": .string(column.name)])
                }
                return .dictionary([
                    "name": .string(column.name), "expression": .string(description.expression.format),
                    "type": .int(Int64(description.resultType.rawValue)),
                ])
            },
        ])
    }
}

private func text(_ text: String?) -> PropertyValue { text.map { .string($0) } ?? .null }

private func list(_ names: [String]) -> PropertyValue { list(names) { .string($0) } }

private func list<Element>(_ elements: [Element], _ value: (Element) -> PropertyValue) -> PropertyValue {
    elements.isEmpty ? .null : .array(elements.map(value))
}
