import CorestoneFormats
import CorestonePredicate
import CorestoneValues

extension CompiledModelReader {
    func type(_ fields: Fields, _ name: String, _ entity: Entity) throws -> AttributeType {
        let code = fields["NSAttributeType"]?.integer ?? 0
        if let type = Int32(exactly: code).flatMap(AttributeType.init(rawValue:)) { return type }
        throw modelError(
            "\(entity.name).\(name) has the unknown attribute type \(code); set another type, and compile the model again",
            entity: entity.name, key: name, value: .int(code))
    }

    func describe(_ attribute: Attribute, _ fields: Fields) throws {
        // A default value that the attribute does not accept, such as an object of the application, is ignored.
        if let value = archive.value(fields["NSDefaultValue"]), !value.isNull, let suited = try? attribute.accept(value)
        {
            try attribute.setDefaultValue(suited)
        }
        let flags = fields["NSFlagsKey"]?.integer ?? 0
        if flags & 4 != 0 { try attribute.setAllowsExternalStorage(true) }
        if flags & 16 != 0 { try attribute.setPreservesValueInHistory(true) }
        if let name = archive.string(fields["NSValueTransformerName"]) { try attribute.setValueTransformerName(name) }
        if let name = archive.string(fields["NSAttributeValueClassName"]), name != attribute.type.valueClassName {
            try attribute.setValueClassName(name)
        }
        if let expression = fields["NSDerivationExpression"] {
            let derivation = try naming(
                "the derivation of \(attribute.entity.name).\(attribute.path)", attribute.entity.name, attribute.path
            ) {
                (try archive.expressionText(expression), try archive.predicateText(fields["NSFilteringPredicate"]))
            }
            guard let text = derivation.0 else { throw CompiledModelReader.withoutExpression(attribute) }
            try attribute.setDerivation(Derivation(text, filter: derivation.1))
        }
        guard attribute.type == .composite else { return }
        for reference in archive.elements(fields["NSElements"]) {
            guard let fields = archive.fields(reference), let name = archive.string(fields["NSPropertyName"]) else {
                continue
            }
            try spend(1)
            let element = try attribute.addElement(
                named: name, type: try type(fields, "\(attribute.path).\(name)", attribute.entity))
            try describe(element as Property, fields)
            try describe(element, fields)
        }
    }

    private static func withoutExpression(_ attribute: Attribute) -> CoreError {
        modelError(
            "the derivation of \(attribute.entity.name).\(attribute.path) does not have an expression in the compiled model; compile the model "
                + "again",
            entity: attribute.entity.name, key: attribute.path)
    }

    // MARK: - Indexes

    func readIndexes(of entity: Entity, _ fields: Fields) throws {
        for tuple in archive.elements(fields["NSUniqueTuples"]) {
            try entity.addUniqueConstraint(try names(tuple))
        }
        guard let descriptions = fields["NSFetchIndexDescriptions"], archive.object(descriptions) != nil else {
            return try readOldIndexes(of: entity, fields)
        }
        for reference in archive.elements(descriptions) {
            guard let fields = archive.fields(reference) else { continue }
            let name = archive.string(fields["NSIndexName"]) ?? ""
            let owner = "the index \"\(name)\" of \(entity.name)"
            let elements = try archive.elements(fields["NSIndexElements"]).compactMap { reference in
                try indexElement(reference) { reference in
                    try naming(owner, entity.name, name) { try archive.expressionText(reference) }
                }
            }
            let predicate = try naming(owner, entity.name, name) {
                try archive.predicateText(fields["NSPartialIndexPredicate"])
            }
            try entity.appendIndex(FetchIndex(name: name, elements: elements, partialPredicate: predicate))
        }
    }

    private func names(_ list: PropertyListValue) throws -> [String] {
        try spend(archive.elements(list).count)
        return archive.names(list)
    }

    /// Reads an element of a fetch index.
    ///
    /// - Parameter expressionText: decodes the expression of a reference.
    private func indexElement(
        _ reference: PropertyListValue, expressionText: (PropertyListValue?) throws -> ExpressionText?
    ) throws -> FetchIndex.Element? {
        try spend(1)
        guard let fields = archive.fields(reference), let name = archive.string(fields["NSPropertyName"]) else {
            return nil
        }
        let collation = fields["NSFetchIndexElementType"]?.integer.flatMap(FetchIndex.Collation.init) ?? .binary
        let isAscending = fields["NSAscending"]?.flag ?? true
        guard let description = archive.fields(fields["NSIndexedProperty"]),
            let expression = try expressionText(description["NSExpression"])
        else { return FetchIndex.Element(property: name, collation: collation, isAscending: isAscending) }
        let code = Int32(clamping: description["NSExpressionType"]?.integer ?? 0)
        return FetchIndex.Element(
            expression: expression, named: name, type: AttributeType(rawValue: code) ?? .undefined,
            collation: collation, isAscending: isAscending)
    }

    /// Reads the indexes of older models: indexed attributes, and lists of names.
    ///
    /// The indexes are given the names that newer compilers generate.
    private func readOldIndexes(of entity: Entity, _ fields: Fields) throws {
        let indexed = archive.entries(fields["NSProperties"]).filter {
            archive.fields($0.value)?["NSIsIndexed"]?.flag == true
        }
        let names = Set(indexed.map(\.key))
        for attribute in entity.ownAttributes where names.contains(attribute.name) {
            try entity.appendIndex(FetchIndex(name: attribute.name, elements: [.init(property: attribute.name)]))
        }
        for list in archive.elements(fields["NSCompoundIndexes"]) {
            let names = try self.names(list)
            try entity.appendIndex(FetchIndex(compound: names, of: entity))
        }
    }

    // MARK: - Fetch requests and configurations

    func readTemplates(_ root: Fields) throws {
        for (name, reference) in archive.entries(root["NSFetchRequestTemplates"]) {
            guard let fields = archive.fields(reference) else { continue }
            let entity = archive.string(archive.fields(fields["NSEntity"])?["NSEntityName"])
            let template = try template(fields, "the fetch request template \"\(name)\"", of: entity, key: name)
            try model.setFetchRequestTemplate(template, forName: name)
        }
    }

    /// Reads an archived fetch request.
    ///
    /// - Parameter owner: the owner of the request, for errors.
    func template(
        _ fields: Fields, _ owner: String, of entity: String?, key: String, entityName: String = ""
    ) throws -> FetchRequestTemplate {
        try spend(1)
        try spend(archive.elements(fields["NSRelationshipKeyPathsForPrefetching"]).count)
        return try naming(owner, entity, key) { try archive.template(fields, entityName: entityName) }
    }

    func readConfigurations(_ root: Fields) throws {
        for (name, list) in archive.entries(root["NSConfigurations"]) {
            let entities = archive.elements(list)
            try spend(entities.count)
            let names = entities.compactMap { archive.string(archive.fields($0)?["NSEntityName"]) }
            try model.upsertConfiguration(ModelConfiguration(name: name, entityNames: sortedByBytes(Set(names))))
        }
    }
}
