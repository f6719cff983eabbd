import CorestoneFormats
import CorestoneModel
import CorestonePredicate
import CorestoneValues

extension MappingModel {
    /// Creates a mapping model from JSON in the form of `summary`.
    ///
    /// Names are not compared with the models; use `validate` for that.
    ///
    /// - Parameters:
    ///   - source: The source model, which the mapping model retains. Missing version hashes are taken from it.
    ///   - destination: The destination model, which is used in the same way.
    /// - Throws: `.model` with the mapping and the key for an error in the JSON.
    ///   `.predicateSyntax` for an expression that cannot be parsed.
    public convenience init(json: String, source: Model? = nil, destination: Model? = nil) throws {
        guard json.utf8.count <= Model.maximumFileSize else {
            throw MappingJSONReader.error(
                "the JSON of the mapping model has \(json.utf8.count) bytes, but the limit is \(Model.maximumFileSize)",
                value: .int(Int64(json.utf8.count)))
        }
        let root: PropertyValue
        do { root = try decodeTaggedJSON(Array(json.utf8)) } catch let error as CoreError {
            throw CoreError(
                .model, code: .coreData, "the JSON of the mapping model cannot be read: \(error.message)",
                key: error.key, value: error.value, offset: error.offset)
        }
        let parts = try MappingJSONReader().read(root)
        self.init(
            parts.mappings, source: source, destination: destination, sourcePath: parts.sourcePath,
            destinationPath: parts.destinationPath)
    }

    /// The mapping model as JSON, from which `init(json:)` creates an equal one.
    public var json: String { JSONText(summary).text }
}

/// A reader of the form of `MappingModel.summary`.
private struct MappingJSONReader {
    private typealias Fields = [String: PropertyValue]

    static func error(
        _ message: String, entity: String? = nil, key: String? = nil, value: PropertyValue? = nil
    ) -> CoreError { CoreError(.model, code: .coreData, message, entity: entity, key: key, value: value) }

    func read(_ root: PropertyValue) throws -> MappingModelParts {
        let subject = "the mapping model"
        let fields = try fields(root, subject, ["entityMappings", "sourcePath", "destinationPath"])
        return MappingModelParts(
            mappings: try list(fields["entityMappings"], "entityMappings", subject).enumerated().map {
                try entityMapping($1, place: $0)
            },
            sourcePath: try text(fields, "sourcePath", subject),
            destinationPath: try text(fields, "destinationPath", subject))
    }

    // MARK: - Mappings

    private static let entityKeys = [
        "name", "kind", "source", "destination", "sourceHash", "destinationHash", "attributes", "relationships",
        "policyClass", "sourceExpression", "filter", "userInfo",
    ]

    private func entityMapping(_ value: PropertyValue, place: Int) throws -> EntityMapping {
        let position = "the entity mapping at index \(place)"
        let fields = try fields(value, position, MappingJSONReader.entityKeys, key: "entityMappings")
        let source = try text(fields, "source", position)
        let destination = try text(fields, "destination", position)
        let name = try text(fields, "name", position) ?? EntityMapping.defaultName(source, destination)
        do { return try entityMapping(fields, name, source, destination) } catch let error as CoreError {
            throw error.inMapping(of: destination ?? source)
        }
    }

    private func entityMapping(
        _ fields: Fields, _ name: String, _ source: String?, _ destination: String?
    ) throws -> EntityMapping {
        let subject = "the entity mapping \"\(name)\""
        var mapping = EntityMapping(
            name: name, kind: .undefined, sourceName: source, destinationName: destination,
            sourceHash: try hash(fields, "sourceHash", subject),
            destinationHash: try hash(fields, "destinationHash", subject),
            attributeMappings: try properties(fields["attributes"], "attributes", subject),
            relationshipMappings: try properties(fields["relationships"], "relationships", subject),
            policyClassName: try text(fields, "policyClass", subject), userInfo: try userInfo(fields, subject))
        let given = try expression(fields, "sourceExpression", subject)
        if let given { mapping.sourceExpression = given }
        if let filter = try text(fields, "filter", subject) {
            try set(filter, of: &mapping, given, subject)
        } else if fields["sourceExpression"] == .null {
            mapping.sourceExpression = nil
        }
        mapping.kind = try kind(fields, subject) ?? mapping.impliedKind
        return mapping
    }

    /// Sets the filter, an abbreviation of the source expression.
    ///
    /// The JSON of a mapping model can contain the filter and the source expression, which must then agree.
    private func set(
        _ filter: String, of mapping: inout EntityMapping, _ given: Expression?, _ subject: String
    ) throws {
        guard mapping.sourceName != nil else {
            throw MappingJSONReader.error(
                "\(subject) has the filter \(PropertyValue.string(filter).excerpt), but does not have a source; set its "
                    + "source, or remove the filter",
                entity: mapping.namedEntity, key: "filter", value: .string(filter))
        }
        mapping.filter = filter
        guard given == nil || given == mapping.sourceExpression else {
            throw MappingJSONReader.error(
                "\(subject) has a \"filter\" and a different \"sourceExpression\"; remove one of the two",
                entity: mapping.namedEntity, key: "filter", value: .string(filter))
        }
    }

    private func kind(_ fields: Fields, _ subject: String) throws -> EntityMapping.Kind? {
        guard let name = try text(fields, "kind", subject) else { return nil }
        guard let kind = EntityMapping.Kind(named: name) else {
            throw MappingJSONReader.error(
                "\"kind\" of \(subject) is \"\(name)\", but must be \"custom\", \"add\", \"remove\", \"copy\", \"transform\" or "
                    + "\"undefined\"", key: "kind", value: .string(name))
        }
        return kind
    }

    /// Reads a list of property mappings, or a JSON object with expressions by property name.
    private func properties(_ value: PropertyValue?, _ key: String, _ subject: String) throws -> [PropertyMapping] {
        if case .dictionary(let entries)? = value {
            return try sortedByBytes(entries.keys).map { name in
                PropertyMapping(
                    name: name, valueExpression: try expression(entries, name, "\"\(key)\" of \(subject)"))
            }
        }
        return try list(value ?? .null, key, subject, "a list or a JSON object").enumerated().map { place, element in
            let part = "the property mapping at index \(place) in \"\(key)\" of \(subject)"
            let fields = try fields(element, part, ["name", "expression", "unreadable", "userInfo"], key: key)
            guard let name = try text(fields, "name", part) else {
                throw MappingJSONReader.error(
                    "\(part) does not have a \"name\"; set it to the name of the property", key: "name")
            }
            let owner = "\"\(name)\" in \(subject)"
            return PropertyMapping(
                name: name, valueExpression: try expression(fields, "expression", owner),
                isUnreadable: try flag(fields, "unreadable", owner), userInfo: try userInfo(fields, owner))
        }
    }

    private func expression(_ fields: Fields, _ key: String, _ subject: String) throws -> Expression? {
        guard let text = try text(fields, key, subject) else { return nil }
        do { return try Expression.parse(text) } catch let error as CoreError {
            throw error.within("\"\(key)\" of \(subject)", key: key, value: .string(text))
        }
    }

    // MARK: - Values

    private func fields(
        _ value: PropertyValue, _ subject: String, _ known: [String], key owner: String? = nil
    ) throws -> Fields {
        guard case .dictionary(let fields) = value else { throw mismatch(value, subject, owner, "a JSON object") }
        for key in sortedByBytes(fields.keys) where !known.contains(key) {
            let near = nearestName(to: key, among: known).map { "did you mean \"\($0)\"?" }
            throw MappingJSONReader.error(
                "\(subject) has the unknown key \"\(key)\"; "
                    + (near
                        ?? "use only \(known.map { "\"\($0)\"" }.abridged)"),
                key: key, value: fields[key])
        }
        return fields
    }

    private func list(
        _ value: PropertyValue?, _ key: String, _ owner: String, _ wanted: String = "a list"
    ) throws -> [PropertyValue] {
        let subject = "\"\(key)\" of \(owner)"
        switch value {
        case .array(let values)?: return values
        case .null?: return []
        case nil: throw MappingJSONReader.error("\(subject) is missing; set it to a list, which can be empty", key: key)
        case let other?: throw mismatch(other, subject, key, wanted)
        }
    }

    private func text(_ fields: Fields, _ key: String, _ subject: String) throws -> String? {
        switch fields[key] {
        case nil, .null?: return nil
        case .text(let text)?: return text.string
        case let other?: throw mismatch(other, "\"\(key)\" of \(subject)", key, "a string")
        }
    }

    private func flag(_ fields: Fields, _ key: String, _ subject: String) throws -> Bool {
        switch fields[key] {
        case nil, .null?: return false
        case .bool(let flag)?: return flag
        case let other?: throw mismatch(other, "\"\(key)\" of \(subject)", key, "true or false")
        }
    }

    private func hash(_ fields: Fields, _ key: String, _ subject: String) throws -> [UInt8]? {
        switch fields[key] {
        case nil, .null?: return nil
        case .bytes(let bytes)?: return bytes.array
        case let other?: throw mismatch(other, "\"\(key)\" of \(subject)", key, "{\"$bytes\": …} with base64")
        }
    }

    private func userInfo(_ fields: Fields, _ subject: String) throws -> [String: String] {
        switch fields["userInfo"] {
        case nil, .null?: return [:]
        case .dictionary(let entries)?:
            var info: [String: String] = [:]
            for key in sortedByBytes(entries.keys) {
                let value = entries[key] ?? .null
                guard case .text(let text) = value else {
                    throw mismatch(value, "the value of \"\(key)\" in \"userInfo\" of \(subject)", key, "a string")
                }
                info[key] = text.string
            }
            return info
        case let other?: throw mismatch(other, "\"userInfo\" of \(subject)", "userInfo", "a JSON object")
        }
    }

    private func mismatch(_ value: PropertyValue, _ subject: String, _ key: String?, _ wanted: String) -> CoreError {
        CoreError(
            .model, code: .coreData, "\(subject) is \(value.excerpt), but must be \(wanted)", key: key, value: value)
    }
}
