import CorestoneAtomicStores
import CorestoneFormats
import CorestoneModel
import CorestonePredicate
import CorestoneValues

extension MappingModel {
    /// Returns the content of the `xcmapping.xml` in an `.xcmappingmodel`, as Xcode's editor writes it.
    ///
    /// It contains compiled copies of the models, but not the parts that Xcode's compiler generates. The format stores
    /// neither the order of property mappings nor the kind `undefined`, which Xcode's compiler replaces.
    ///
    /// - Throws: `.model` if the version hashes differ from those of the models, and for a mapping that the format
    ///   cannot represent.
    ///   `.unsupported` for an expression that cannot be archived.
    public func source() throws -> [UInt8] { try XcodeMappingWriter(self).encoded() }
}

/// A writer of a mapping model as a Core Data XML store (docs/reference/mapping.md, "Files").
private final class XcodeMappingWriter {
    private let model: MappingModel
    private let defaults: MappingDefaults
    private let file = XMLBytes(capacity: 1 << 16)
    private var lastNumber = XcodeMappingWriter.firstNumber

    /// The number of the first object, the mapping model itself. Xcode numbers objects from 102 on.
    private static let firstNumber = 102
    /// The maximum number of entity mappings. The attribute `mappingnumber` is an Integer 16.
    private static let maximumCount = Int(Int16.max)

    init(_ model: MappingModel) {
        self.model = model
        defaults = MappingDefaults(
            source: model.sourceModel, mappings: model.entityMappings.map { ($0.sourceName, $0.name) })
    }

    func encoded() throws -> [UInt8] {
        guard model.entityMappings.count <= XcodeMappingWriter.maximumCount else {
            throw failure(
                "the mapping model has \(model.entityMappings.count) entity mappings, but an .xcmappingmodel can have at most "
                    + "\(XcodeMappingWriter.maximumCount); write a .cdm", value: .int(Int64(model.entityMappings.count))
            )
        }
        try checkHashes()
        let count = model.entityMappings.reduce(model.entityMappings.count) {
            $0 + $1.attributeMappings.count + $1.relationshipMappings.count
        }
        addHead(lastNumber: XcodeMappingWriter.firstNumber + count)
        let mappings = number(model.entityMappings.count)
        try object("MAPPINGMODEL", XcodeMappingWriter.firstNumber) {
            attribute("sourcemodelpath", model.sourcePath)
            attribute("sourcemodeldata", data: try model.sourceModel.map { try compiledModel($0, form: .file) })
            attribute("destinationmodelpath", model.destinationPath)
            attribute(
                "destinationmodeldata", data: try model.destinationModel.map { try compiledModel($0, form: .file) })
            relationship("entitymappings", "0/0", "ENTITYMAPPING", mappings)
        }
        for (place, mapping) in zip(mappings, model.entityMappings) { try add(mapping, place) }
        file.append("</database>")
        return file.array
    }

    private func failure(
        _ message: String, entity: String? = nil, key: String? = nil, value: PropertyValue? = nil
    ) -> CoreError { CoreError(.model, code: .coreData, message, entity: entity, key: key, value: value) }

    /// Throws if a version hash differs from that of its model, because the format contains models instead of hashes.
    private func checkHashes() throws {
        let source = model.sourceModel.map(entityVersionHashes) ?? [:]
        let destination = model.destinationModel.map(entityVersionHashes) ?? [:]
        for mapping in model.entityMappings {
            try check(mapping.sourceHash, mapping.sourceName, source, "source", of: mapping)
            try check(mapping.destinationHash, mapping.destinationName, destination, "destination", of: mapping)
        }
    }

    private func check(
        _ hash: [UInt8]?, _ name: String?, _ hashes: [String: [UInt8]], _ role: String, of mapping: EntityMapping
    ) throws {
        guard let hash, name.flatMap({ hashes[$0] }) != hash else { return }
        let hasModel = role == "source" ? model.sourceModel != nil : model.destinationModel != nil
        throw failure(
            hasModel
                ? "the \(role) version hash of the entity mapping \"\(mapping.name)\" is not the hash of "
                    + "\(name ?? "an entity") in the \(role) model. An .xcmappingmodel contains models instead of "
                    + "hashes; call cst_mapping_model_new_from_json (MappingModel) with the models that have these "
                    + "hashes, or write a .cdm"
                : "the mapping model does not have its \(role) model, which an .xcmappingmodel contains instead of "
                    + "version hashes; call cst_mapping_model_new_from_json (MappingModel) with both models, or write "
                    + "a .cdm",
            entity: name ?? mapping.namedEntity, value: .bytes(Bytes(hash)))
    }

    private func number(_ count: Int) -> [Int] {
        lastNumber += count
        return Array((lastNumber - count + 1)..<(lastNumber + 1))
    }

    // MARK: - Mappings

    private func add(_ mapping: EntityMapping, _ place: Int) throws {
        let attributes = number(mapping.attributeMappings.count)
        let relationships = number(mapping.relationshipMappings.count)
        let expression = sourceExpression(mapping)
        try object("ENTITYMAPPING", place) {
            attribute("migrationpolicyclassname", mapping.policyClassName)
            attribute("sourcename", mapping.sourceName)
            attribute("sourcefilterpredicatestring", expression.filter)
            try attribute(
                "sourceexpressiondata", expression: expression.written, "the entity mapping \"\(mapping.name)\"",
                of: mapping)
            if mapping.name != EntityMapping.defaultName(mapping.sourceName, mapping.destinationName) {
                attribute("name", mapping.name)
            }
            attribute("mappingtypename", kindName(mapping))
            attribute("mappingnumber", type: "int16", String(place - XcodeMappingWriter.firstNumber))
            attribute("userinfodata", userInfo: mapping.userInfo)
            attribute("destinationname", mapping.destinationName)
            attribute("autogenerateexpression", type: "bool", expression.isGenerated ? "1" : "0")
            relationship("mappingmodel", "1/1", "MAPPINGMODEL", [XcodeMappingWriter.firstNumber])
            relationship("attributemappings", "0/0", "ATTRIBUTEMAPPING", attributes)
            relationship("relationshipmappings", "0/0", "RELATIONSHIPMAPPING", relationships)
        }
        for (number, property) in zip(attributes, mapping.attributeMappings) {
            try add(attribute: property, of: mapping, number, owner: place)
        }
        for (number, property) in zip(relationships, mapping.relationshipMappings) {
            try add(relationship: property, of: mapping, number, owner: place)
        }
    }

    /// Returns the name of the kind in the file.
    ///
    /// Xcode writes "Undefined", and its compiler chooses the kind. Therefore only a kind that differs from the
    /// compiler's choice is written.
    private func kindName(_ mapping: EntityMapping) -> String {
        let name = mapping.kind == mapping.impliedKind ? EntityMapping.Kind.undefined.name : mapping.kind.name
        return name.prefix(1).uppercased() + name.dropFirst()
    }

    private func sourceExpression(
        _ mapping: EntityMapping
    ) -> (filter: String?, written: Expression?, isGenerated: Bool) {
        guard let expression = mapping.sourceExpression else { return (nil, nil, mapping.sourceName == nil) }
        guard let name = mapping.sourceName, let filter = MappingExpressions.filter(in: expression, of: name),
            !filter.isEmpty
        else { return (nil, expression, true) }
        return (filter == MappingExpressions.allObjects ? nil : filter, nil, true)
    }

    private func add(attribute property: PropertyMapping, of mapping: EntityMapping, _ number: Int, owner: Int) throws {
        let subject = "the entity mapping \"\(mapping.name)\""
        try property.requireReadable(in: subject, of: mapping)
        let generated = defaults.attribute(property.name, from: mapping.sourceName)
        if property.valueExpression == nil, generated != nil, let source = mapping.sourceName {
            throw failure(
                "an .xcmappingmodel cannot represent the missing expression of \"\(property.name)\" in \(subject), "
                    + "because \(source) has a property of that name; remove the property mapping, or write a .cdm",
                entity: mapping.namedEntity, key: property.name)
        }
        try object("ATTRIBUTEMAPPING", number) {
            try attribute(
                "valueexpressiondata",
                expression: property.valueExpression == generated ? nil : property.valueExpression,
                "\"\(property.name)\" in \(subject)", of: mapping, key: property.name)
            attribute("userinfodata", userInfo: property.userInfo)
            attribute("name", property.name)
            relationship("entitymapping", "1/1", "ENTITYMAPPING", [owner])
        }
    }

    private func add(
        relationship property: PropertyMapping, of mapping: EntityMapping, _ number: Int, owner: Int
    ) throws {
        let subject = "the entity mapping \"\(mapping.name)\""
        try property.requireReadable(in: subject, of: mapping)
        let expression = property.valueExpression
        let isDefault = expression == defaults.relationship(property.name, from: mapping.sourceName)
        let named = isDefault ? nil : namedMapping(property, of: mapping)
        try object("RELATIONSHIPMAPPING", number) {
            try attribute(
                "valueexpressiondata", expression: isDefault || named != nil ? nil : expression,
                "\"\(property.name)\" in \(subject)", of: mapping, key: property.name)
            attribute("sourcemappingname", named?.mapping)
            attribute("sourcekeypath", named?.path)
            attribute("userinfodata", userInfo: property.userInfo)
            attribute("autogenerateexpression", type: "bool", expression == nil && !isDefault ? "0" : "1")
            attribute("name", property.name)
            relationship("entitymapping", "1/1", "ENTITYMAPPING", [owner])
        }
    }

    /// Returns the entity mapping's name and the key path from which the compiler generates the expression.
    ///
    /// - Returns: nil for another expression.
    private func namedMapping(_ property: PropertyMapping, of mapping: EntityMapping) -> (
        mapping: String, path: String
    )? {
        guard
            let arguments = MappingExpressions.arguments(
                of: property.valueExpression, calling: MappingExpressions.destinationsByMapping),
            arguments.count == 2, case .constant(.text(let name)) = arguments[0], name.count > 0
        else { return nil }
        let path = arguments[1].format
        guard path.hasPrefix("$source"), let read = try? Expression.parse(path),
            defaults.relationship(property.name, from: mapping.sourceName, path: read, mapping: name.string)
                == property.valueExpression
        else { return nil }
        return (name.string, path)
    }

    // MARK: - XML

    private func object(_ entity: String, _ number: Int, _ content: () throws -> Void) rethrows {
        file.append("    <object type=\"XDDEV\(entity)\" id=\"z\(number)\">")
        try content()
        file.append("\n    </object>\n")
    }

    private func attribute(_ name: String, type: String = "string", _ text: String?) {
        guard var text else { return }
        file.append("\n        <attribute name=\"\(name)\" type=\"\(type)\">")
        text.withUTF8 { file.append(escaping: UnsafeRawBufferPointer($0)) }
        file.append("</attribute>")
    }

    private func attribute(_ name: String, data: [UInt8]?) {
        guard let data else { return }
        file.append("\n        <attribute name=\"\(name)\" type=\"binary\">")
        data.withUnsafeBytes { file.append(base64: $0) }
        file.append("</attribute>")
    }

    private func attribute(
        _ name: String, expression: Expression?, _ owner: String, of mapping: EntityMapping, key: String? = nil
    ) throws {
        guard let expression else { return }
        let archiver = KeyedArchiver()
        do { attribute(name, data: archiver.encoded(root: try archiver.expression(expression))) } catch let error
            as CoreError
        {
            throw error.within(owner, entity: mapping.namedEntity, key: key)
        }
    }

    private func attribute(_ name: String, userInfo entries: [String: String]) {
        if entries.isEmpty { return }
        let archiver = KeyedArchiver()
        let entries = sortedByBytes(entries.keys).map { ($0, archiver.string(entries[$0])) }
        attribute(name, data: archiver.encoded(root: archiver.dictionary(entries.map { (key: $0.0, value: $0.1) })))
    }

    private func relationship(_ name: String, _ counts: String, _ entity: String, _ targets: [Int]) {
        file.append("\n        <relationship name=\"\(name)\" type=\"\(counts)\" destination=\"XDDEV\(entity)\"")
        if !targets.isEmpty { file.append(" idrefs=\"\(targets.map { "z\($0)" }.joined(separator: " "))\"") }
        file.append("></relationship>")
    }

    /// Adds the metadata of the store: the version hashes of the entities of Xcode's own model.
    private func addHead(lastNumber: Int) {
        file.append(
            """
            <?xml version="1.0" standalone="yes"?>
            <!DOCTYPE database SYSTEM "file:///System/Library/DTDs/CoreData.dtd">

            <database>
                <databaseInfo>
                    <version>134481920</version>
                    <UUID>\(UUIDValue.random())</UUID>
                    <nextObjectID>\(lastNumber)</nextObjectID>
                    <metadata>
                        <plist version="1.0">
                            <dict>
                                <key>NSPersistenceFrameworkVersion</key>
                                <integer>1044</integer>
                                <key>NSStoreModelVersionHashes</key>
                                <dict>

            """)
        for (entity, hash) in XcodeMappingWriter.hashes {
            let indent = String(repeating: " ", count: 24)
            file.append("\(indent)<key>\(entity)</key>\n\(indent)<data>\n\t\t\(hash)\n\t\t</data>\n")
        }
        file.append(
            """
                                </dict>
                                <key>NSStoreModelVersionHashesDigest</key>
                                <string>\(XcodeMappingWriter.digest)</string>
                                <key>NSStoreModelVersionHashesVersion</key>
                                <integer>3</integer>
                                <key>NSStoreModelVersionIdentifiers</key>
                                <array>
                                    <string></string>
                                </array>
                            </dict>
                        </plist>
                    </metadata>
                </databaseInfo>

            """)
    }

    private static let hashes = [
        ("XDDevAttributeMapping", "0plcXXRN7XHKl5CcF+fwriFmUpON3ZtcI/AfK748aWc="),
        ("XDDevEntityMapping", "qeN1Ym3TkWN1G6dU9RfX6Kd2ccEvcDVWHpd3LpLgboI="),
        ("XDDevMappingModel", "EqtMzvRnVZWkXwBHu4VeVGy8UyoOe+bi67KC79kphlQ="),
        ("XDDevPropertyMapping", "XN33V44TTGY4JETlMoOB5yyTKxB+u4slvDIinv0rtGA="),
        ("XDDevRelationshipMapping", "akYY9LhehVA/mCb4ATLWuI9XGLcjpm14wWL1oEBtIcs="),
    ]
    private static let digest =
        "+Hmc2uYZK6og+Pvx5GUJ7oW75UG4V/ksQanTjfTKUnxyGWJRMtB5tIRgVwGsrd7lz/QR57++wbvWsr6nxwyS0A=="
}
