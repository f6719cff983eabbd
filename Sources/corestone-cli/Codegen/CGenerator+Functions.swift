import Corestone

/// The functions of the header. Most functions for properties call an accessor after a cast to its actual type.
extension CGenerator {
    func functions(of generated: GeneratedClass) -> [String] {
        let type = type(generated)
        var lines = [
            "",
            "/* ---- \(generated.entity.name)" + (generated.entity.isAbstract ? ", which is abstract" : "")
                + " ---- */",
            "static inline cst_object *\(type)_object(const \(type) *self) {",
            "    return (cst_object *)self;", "}",
            "/* The object must be of the entity \(generated.entity.name) or of a subentity. */",
            "static inline \(type) *\(type)_from(const cst_object *object) {", "    return (\(type) *)object;", "}",
        ]
        if !generated.entity.isAbstract {
            lines += [
                "static inline \(type) *\(type)_insert(cst_context *context, cst_error **error) {",
                "    cst_object *object = NULL;",
                "    cst_context_insert(context, \(prefix)_entities[\(type.uppercased())_ENTITY], &object, error);",
                "    return \(type)_from(object);", "}",
            ]
        }
        lines += [
            "static inline cst_fetch_request *\(type)_fetch_request(cst_error **error) {",
            "    cst_fetch_request *request = NULL;",
            "    cst_fetch_request_new(\(prefix)_entities[\(type.uppercased())_ENTITY], &request, error);",
            "    return request;", "}",
        ]
        // Inherited properties are included, because C cannot call a function for a superentity without a cast.
        for property in generated.entity.properties where declarer(of: property, for: generated) != nil {
            lines += functions(for: property, of: generated)
        }
        for property in generated.entity.fetchedProperties { lines += list(of: property, generated) }
        for (name, request) in model.templates(of: generated) { lines += self.request(named: name, request, generated) }
        return lines
    }

    /// Returns the class with the property's accessor: the topmost generated class that has the property.
    private func declarer(of property: Property, for generated: GeneratedClass) -> GeneratedClass? {
        var found: GeneratedClass?
        for entity in sequence(first: generated.entity, next: \.parent) {
            guard entity.isKind(of: property.entity) else { break }
            found = model.generated(entity) ?? found
        }
        return found
    }

    // MARK: Properties

    private struct Parameter {
        let type: String
        let name: String
        /// The argument that is passed to the accessor.
        let value: String

        init(_ type: String, _ name: String, _ value: String? = nil) {
            self.type = type
            self.name = name
            self.value = value ?? name
        }

        var text: String { type + (type.hasSuffix("*") ? "" : " ") + name }
    }

    private func functions(for property: Property, of generated: GeneratedClass) -> [String] {
        let name = spelling(property, of: generated)
        func function(
            _ kind: String, _ name: String, _ result: String, _ parameters: [Parameter] = [], changes: Bool,
            accessor: (result: String, types: [String])? = nil
        ) -> [String] {
            call(
                property, kind, generated, name, result, parameters, changes: changes,
                accessorResult: accessor?.result ?? result, accessorTypes: accessor?.types ?? parameters.map(\.type))
        }
        let status = "cst_status"
        if let attribute = property as? Attribute {
            guard let type = CGenerator.type(of: attribute.type) else { return [] }
            // The function for the transformed value has the plain name, the function for the bytes has the suffix.
            let isTransformed = attribute.type == .transformable
            let suffix = isTransformed ? "_bytes" : ""
            var lines = isTransformed ? transformed(attribute, of: generated) : []
            lines +=
                function("GET", name + suffix, type, changes: false)
                + function("SET", "set_\(name)\(suffix)", status, [Parameter(type, "value")], changes: true)
            if attribute.needsNullInC {
                lines += function("IS_NULL", "\(name)_is_null", "bool", changes: false)
                lines += function("SET_NULL", "set_\(name)_null", status, changes: true)
            }
            return lines
        }
        guard let relationship = property as? Relationship else { return [] }
        let target = model.generated(relationship.destination).map(type)
        let kind = (target ?? "cst_object") + " *"
        let member = Parameter(kind, "member", target == nil ? nil : "(cst_object *)member")
        let (object, index) = ("cst_object *", Parameter("size_t", "index"))
        guard relationship.isToMany else {
            let value = Parameter(kind, "value", target == nil ? nil : "(cst_object *)value")
            return function("GET", name, kind, changes: false, accessor: (object, []))
                + function("SET", "set_\(name)", status, [value], changes: true, accessor: (status, [object]))
        }
        var lines = function("GET", name, "cst_results *", changes: false)
        lines += function(
            "SET", "set_\(name)", status,
            [Parameter("size_t", "count"), Parameter("cst_object *const *", "members")], changes: true)
        lines += function("COUNT", "\(name)_count", "size_t", changes: false)
        lines += function(
            "CONTAINS", "\(name)_contains", "bool",
            [Parameter("const " + kind, "member", "(const cst_object *)member")],
            changes: false, accessor: ("bool", ["const cst_object *"]))
        lines += function("ADD", "add_to_\(name)", status, [member], changes: true, accessor: (status, [object]))
        lines += function(
            "REMOVE", "remove_from_\(name)", status, [member], changes: true, accessor: (status, [object]))
        guard relationship.isOrdered else { return lines }
        lines += function("MEMBER_AT", "\(name)_at", kind, [index], changes: false, accessor: (object, ["size_t"]))
        lines += function(
            "INSERT_AT", "insert_into_\(name)", status, [index, member], changes: true,
            accessor: (status, ["size_t", object]))
        lines += function("REMOVE_AT", "remove_from_\(name)_at", status, [index], changes: true)
        lines += function(
            "REPLACE_AT", "replace_in_\(name)", status, [index, member], changes: true,
            accessor: (status, ["size_t", object]))
        return lines
            + function(
                "MOVE", "move_in_\(name)", status, [Parameter("size_t", "from"), Parameter("size_t", "to")],
                changes: true)
    }

    private func call(
        _ property: Property, _ kind: String, _ generated: GeneratedClass, _ name: String, _ result: String,
        _ parameters: [Parameter], changes: Bool, accessorResult: String, accessorTypes: [String]
    ) -> [String] {
        let (own, qualifier) = (type(generated), changes ? "" : "const ")
        let owner = declarer(of: property, for: generated) ?? generated
        let constant = [type(owner), kind, spelling(property, of: owner)].joined(separator: "_").uppercased()
        let object = "\(qualifier)cst_object *"
        let function =
            "(\(accessorResult)\(accessorResult.hasSuffix("*") ? "" : " ")(*)("
            + ([object] + accessorTypes + ["cst_error **"]).joined(separator: ", ") + "))"
        let values = ["(\(object))self"] + parameters.map(\.value) + ["error"]
        let cast = result == accessorResult ? "" : "(\(result))"
        let heads = ["\(qualifier)\(own) *self"] + parameters.map(\.text) + ["cst_error **error"]
        return [
            "static inline \(result)\(result.hasSuffix("*") ? "" : " ")\(own)_\(name)(\(heads.joined(separator: ", "))) {",
            "    return \(cast)(\(function)\(prefix)_accessors[\(constant)])(\(values.joined(separator: ", ")));", "}",
        ]
    }

    /// Returns the C type, or nil for a type without accessors.
    static func type(of type: AttributeType) -> String? {
        switch type {
        case .integer16: "int16_t"
        case .integer32: "int32_t"
        case .integer64: "int64_t"
        case .double, .date: "double"
        case .float: "float"
        case .boolean: "bool"
        case .string, .uri: "cst_string"
        case .binary, .transformable: "cst_bytes"
        case .uuid: "cst_uuid"
        case .decimal, .undefined: "cst_value"
        case .objectID, .composite: nil
        }
    }

    // MARK: Requests

    /// Returns the functions for a transformable attribute, which use the registered transformer or archived class.
    private func transformed(_ attribute: Attribute, of generated: GeneratedClass) -> [String] {
        let (own, name) = (type(generated), spelling(attribute, of: generated))
        let owner = declarer(of: attribute, for: generated) ?? generated
        let words = [type(owner), "KEY_OF", spelling(attribute, of: owner)]
        let key = "\(prefix)_keys[\(words.joined(separator: "_").uppercased())]"
        return [
            "static inline void *\(own)_\(name)(const \(own) *self, cst_error **error) {", "    void *value = NULL;",
            "    cst_object_get_transformed((const cst_object *)self, \(key), &value, error);", "    return value;",
            "}",
            "static inline cst_status \(own)_set_\(name)(\(own) *self, void *value, cst_error **error) {",
            "    return cst_object_set_transformed((cst_object *)self, \(key), value, error);", "}",
        ]
    }

    /// Returns the function that executes a fetched property.
    private func list(of property: FetchedProperty, _ generated: GeneratedClass) -> [String] {
        let (own, name) = (type(generated), spelling(property, of: generated))
        return [
            "/* The objects of the fetched property \(property.name): \(Spelling.comment(property.fetchRequest.predicate)). Owned by the caller. */",
            "static inline cst_results *\(own)_\(name)(\(own) *self, cst_error **error) {",
            "    cst_results *found = NULL;",
            "    cst_string name = {\(literal(property.name)), CST_NUL};",
            "    cst_object_copy_fetched((cst_object *)self, name, &found, error);", "    return found;", "}",
        ]
    }

    private func request(named name: String, _ request: GeneratedRequest, _ generated: GeneratedClass) -> [String] {
        let parameters = request.parameters.map { Spelling.snake($0) + "_" }
        let reading = request.arguments.enumerated().map { place, name in
            "    arguments[\(place)] = \(Spelling.snake(name))_;"
        }
        return [
            "/* The model's fetch request \(Spelling.comment(name)): \(Spelling.comment(request.template.predicate)). */"
        ]
            + function(
                "\(prefix)_fetch_\(Spelling.snake(Spelling.identifier(name)))", parameters.map { "cst_value \($0)" },
                request, generated, reading)
    }

    private func function(
        _ name: String, _ parameters: [String], _ request: GeneratedRequest, _ target: GeneratedClass,
        _ reading: [String]
    ) -> [String] {
        let heads = (parameters + ["cst_error **error"]).joined(separator: ", ")
        var lines = ["static inline cst_fetch_request *\(name)(\(heads)) {"]
        if !request.arguments.isEmpty {
            lines.append("    cst_value arguments[\(request.arguments.count)] = {{0}};")
        }
        lines += reading
        lines += ["    cst_fetch_request *request = \(type(target))_fetch_request(error);"]
        var steps: [String] = []
        if let format = request.format {
            lines += ["    cst_predicate *predicate = NULL;"]
            let count = request.arguments.count
            steps += [
                "cst_predicate_parse((cst_string){\(literal(format)), CST_NUL}, \(count), "
                    + "\(count == 0 ? "NULL" : "arguments"), &predicate, error) < 0",
                "cst_fetch_request_set_predicate(request, predicate, error) < 0",
            ]
        }
        if !request.sortKeys.isEmpty {
            let keys = request.template.sortDescriptors.map { sort in
                "{{\(literal(sort.keyPath)), CST_NUL}, \(sort.ascending ? "0" : "CST_SORT_DESCENDING"), 0}"
            }
            lines += ["    static const cst_sort sort[] = {\(keys.joined(separator: ", "))};"]
            steps.append("cst_fetch_request_set_sort(request, \(keys.count), sort, error) < 0")
        }
        if request.template.limit > 0 {
            steps.append("cst_fetch_request_set_limit(request, \(request.template.limit), error) < 0")
        }
        if request.template.offset > 0 {
            steps.append("cst_fetch_request_set_offset(request, \(request.template.offset), error) < 0")
        }
        if !request.template.includesSubentities {
            steps.append("cst_fetch_request_set_includes_subentities(request, false, error) < 0")
        }
        guard !steps.isEmpty else { return lines + ["    return request;", "}"] }
        lines += [
            "    if (request != NULL && (\(steps.joined(separator: " ||\n                            ")))) {",
            "        cst_release(request);", "        request = NULL;", "    }",
        ]
        if request.format != nil { lines.append("    if (predicate != NULL) cst_release(predicate);") }
        return lines + ["    return request;", "}"]
    }
}

extension Attribute {
    /// Whether null needs its own accessors, because no value of the C type represents it.
    fileprivate var needsNullInC: Bool {
        isNullableInCode && (type.isScalar || type == .date || type == .uuid)
    }
}

extension Property {
    /// The kinds of accessors that generated code needs, with the names in `CST_ACCESSOR_…`.
    var accessorKinds: [String] {
        if let attribute = self as? Attribute {
            guard CGenerator.type(of: attribute.type) != nil else { return [] }
            return ["GET", "SET"] + (attribute.needsNullInC ? ["IS_NULL", "SET_NULL"] : [])
        }
        guard let relationship = self as? Relationship, relationship.isToMany else { return ["GET", "SET"] }
        return ["GET", "SET", "COUNT", "CONTAINS", "ADD", "REMOVE"]
            + (relationship.isOrdered ? ["MEMBER_AT", "INSERT_AT", "REMOVE_AT", "REPLACE_AT", "MOVE"] : [])
    }
}
