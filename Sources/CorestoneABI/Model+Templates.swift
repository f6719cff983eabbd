import CCorestone
import CorestoneFormats
import CorestoneGraph
import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// Returns the template for a request of the host. The entity of the request must belong to the model.
func requestTemplate(_ pointer: OpaquePointer?, for model: Model) throws -> FetchRequestTemplate {
    let request = try request(pointer)
    try request.resolve(in: model)
    return request.template
}

@_cdecl("cst_model_set_template") @implementation
public func cst_model_set_template(
    _ pointer: OpaquePointer?, _ name: cst_string, _ request: OpaquePointer?, _ error: ErrorOut
) -> cst_status {
    building(error, { try model(pointer) }) {
        let model = try model(pointer)
        let template = try request.map { try requestTemplate($0, for: model) }
        try model.setFetchRequestTemplate(template, forName: try name.string("name"))
    }
}

@_cdecl("cst_model_copy_template") @implementation
public func cst_model_copy_template(
    _ pointer: OpaquePointer?, _ name: cst_string, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let out = try place(out, "out_request")
        let model = try model(pointer)
        guard let template = model.fetchRequestTemplates[try name.string("name")] else { return .notFound }
        out.pointee = try ownedHandle(try FetchRequest(template, in: model, variables: nil))
        return .ok
    }
}

@_cdecl("cst_model_copy_bound_template") @implementation
public func cst_model_copy_bound_template(
    _ pointer: OpaquePointer?, _ name: cst_string, _ count: Int, _ variables: UnsafePointer<cst_string>?,
    _ values: UnsafePointer<cst_value>?, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_request")
        let model = try model(pointer)
        var reader = ValueReader(isKept: true, of: "values")
        var bound: [String: PropertyValue] = [:]
        for (variable, value) in zip(try strings(variables, count, "variables"), try array(values, count, "values")) {
            bound[variable] = try reader.read(value)
        }
        out.pointee = try ownedHandle(
            try model.fetchRequest(fromTemplate: try name.string("name"), variables: bound), models: reader.models)
    }
}

/// Creates a handle of a request for the host. `models` are the models of the object IDs in the request's predicate.
func ownedHandle(_ request: FetchRequest, models: [Model] = []) throws -> OpaquePointer? {
    let box = FetchRequestBox(request)
    box.predicate = request.predicate.map { PredicateBox($0, models: models) }
    return try HandleTable.make(box, .fetchRequest)
}

// MARK: - Fetched properties

@_cdecl("cst_entity_add_fetched_property") @implementation
public func cst_entity_add_fetched_property(
    _ pointer: OpaquePointer?, _ name: cst_string, _ request: OpaquePointer?, _ error: ErrorOut
) -> cst_status {
    building(error, { try entity(pointer).model }) {
        let entity = try entity(pointer)
        try entity.addFetchedProperty(
            named: try name.string("name"), fetchRequest: try requestTemplate(request, for: entity.model))
    }
}

@_cdecl("cst_entity_set_fetched_request") @implementation
public func cst_entity_set_fetched_request(
    _ pointer: OpaquePointer?, _ property: cst_string, _ request: OpaquePointer?, _ error: ErrorOut
) -> cst_status {
    building(error, { try entity(pointer).model }) {
        let entity = try entity(pointer)
        let property = try entity.requireOwnProperty(named: try property.string("property"))
        guard let fetched = property as? FetchedProperty else {
            throw CoreError(
                .invalidArgument,
                "\(entity.name).\(property.name) is not a fetched property; pass the name of a fetched property",
                entity: entity.name, key: property.name)
        }
        try fetched.setFetchRequest(try requestTemplate(request, for: entity.model))
    }
}

@_cdecl("cst_entity_copy_fetched_request") @implementation
public func cst_entity_copy_fetched_request(
    _ pointer: OpaquePointer?, _ property: cst_string, _ out: UnsafeMutablePointer<OpaquePointer?>?,
    _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let out = try place(out, "out_request")
        let entity = try entity(pointer)
        guard let fetched = entity.fetchedProperty(named: try property.string("property")) else { return .notFound }
        out.pointee = try ownedHandle(try FetchRequest(fetched.fetchRequest, in: entity.model, variables: nil))
        return .ok
    }
}

// MARK: - Configurations and lists of names

@_cdecl("cst_model_set_configuration") @implementation
public func cst_model_set_configuration(
    _ pointer: OpaquePointer?, _ name: cst_string, _ count: Int, _ entities: UnsafePointer<cst_string>?,
    _ error: ErrorOut
) -> cst_status {
    building(error, { try model(pointer) }) {
        let model = try model(pointer)
        let entities = try strings(entities, count, "entities").map { try model.requireEntity(named: $0).name }
        let name = try name.string("name")
        let isUsedWithCloudKit = model.configuration(named: name)?.isUsedWithCloudKit ?? false
        try model.setConfiguration(
            ModelConfiguration(name: name, entityNames: entities, isUsedWithCloudKit: isUsedWithCloudKit))
    }
}

@_cdecl("cst_model_remove_configuration") @implementation
public func cst_model_remove_configuration(
    _ pointer: OpaquePointer?, _ name: cst_string, _ error: ErrorOut
) -> cst_status {
    outcome(error) { try model(pointer).removeConfiguration(named: try name.string("name")) ? .ok : .notFound }
}

@_cdecl("cst_model_copy_configuration") @implementation
public func cst_model_copy_configuration(
    _ pointer: OpaquePointer?, _ name: cst_string, _ out: UnsafeMutablePointer<cst_buffer>?,
    _ count: UnsafeMutablePointer<Int>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let entities = try model(pointer).entities(ofConfiguration: try name.optionalString("name"))
        try list(entities.map(\.name), out, count)
    }
}

@_cdecl("cst_model_copy_names") @implementation
public func cst_model_copy_names(
    _ pointer: OpaquePointer?, _ which: UInt32, _ out: UnsafeMutablePointer<cst_buffer>?,
    _ count: UnsafeMutablePointer<Int>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let model = try model(pointer)
        switch Int(which) {
        case CST_NAMES_TEMPLATES: try list(sortedByBytes(model.fetchRequestTemplates.keys), out, count)
        case CST_NAMES_CONFIGURATIONS: try list(model.configurations.map(\.name), out, count)
        case CST_NAMES_VERSION_IDENTIFIERS: try list(model.versionIdentifiers, out, count)
        default:
            throw CoreError(
                .invalidArgument,
                "\(which) is not a list of names; use CST_NAMES_TEMPLATES, CST_NAMES_CONFIGURATIONS or "
                    + "CST_NAMES_VERSION_IDENTIFIERS", key: "which", value: .int(Int64(which)))
        }
    }
}

/// Fills a buffer with names, each terminated by a NUL.
func list(_ names: [String], _ out: UnsafeMutablePointer<cst_buffer>?, _ count: UnsafeMutablePointer<Int>?) throws {
    let out = try required(out, "out_names")
    count?.pointee = names.count
    try out.fill(names.map { $0 + "\0" }.joined())
}
