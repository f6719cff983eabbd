import Corestone

/// `corestone model set`: changes settings of an element of a source model.
struct SetCommand: Command {
    static let manual = Manual(
        command: "model set", summary: "change settings of an entity, a property or another part",
        operands: [
            EditedModel.operand,
            .init(
                "PART",
                "ENTITY, ENTITY.PROPERTY, template:NAME, configuration:NAME, or . for the whole model"),
            .init("KEY=VALUE", repeatable: true, "a key with its new value; KEY= removes the value"),
        ],
        options: [NamedModel.version],
        details: [
            "The keys are those of Xcode's source files, for the settings in Xcode's inspector.",
            "Keys of an entity: representedClassName, isAbstract, parentEntity, elementID (the renaming identifier), "
                + "versionHashModifier, syncable, codeGenerationType (class, category, none).",
            "Keys of every property: optional, transient, elementID, versionHashModifier, spotlightIndexingEnabled, "
                + "storedInTruthFile, syncable.",
            "Keys of an attribute: attributeType, defaultValueString, defaultDateTimeInterval, minValueString, "
                + "maxValueString, minDateTimeInterval, maxDateTimeInterval, regularExpressionString, "
                + "derivationExpression, indexed, usesScalarValueType, allowsExternalBinaryDataStorage, "
                + "allowsCloudEncryption, preserveAfterDeletion, valueTransformerName, customClassName.",
            "Keys of a relationship: destinationEntity, inverseName, toMany, ordered, minCount, maxCount, "
                + "deletionRule.",
            "Keys of a fetched property or a template: entity, predicateString, fetchLimit, fetchOffset, "
                + "fetchBatchSize, resultType, includeSubentities, includePropertyValues, returnObjectsAsFaults, "
                + "returnDistinctResults.",
            "Key of entities and properties: userInfo.KEY. Keys of a configuration: entities, usedWithCloudKit. Keys "
                + "of the model: userDefinedModelVersionIdentifier, minimumToolsVersion, sourceLanguage, "
                + "usedWithCloudKit, usedWithSwiftData, currentVersion.",
        ],
        examples: [
            "corestone model set Notes.xcdatamodeld Note.title optional=NO minValueString=1",
            "corestone model set Notes.xcdatamodeld Note codeGenerationType=category userInfo.color=red",
            "corestone model set Notes.xcdatamodeld . currentVersion=\"Notes 2\"",
        ])

    private let options: Options
    private let part: String
    private let assignments: [Assignment]

    init(_ options: Options) throws {
        self.options = options
        part = options.operand(1) ?? ""
        assignments = try options.operands.dropFirst(2).map { try Assignment($0) }
    }

    func run(to output: Output) throws -> ExitCode {
        let edited = try EditedModel(options)
        let model = edited.model
        switch try EditedModel.Part(part, of: SetCommand.manual) {
        case .model:
            let versions = assignments.filter { $0.key == "currentVersion" }
            let rest = assignments.filter { $0.key != "currentVersion" }
            if let version = versions.last {
                guard rest.isEmpty else {
                    throw UsageError("currentVersion cannot be set together with other keys; use a separate command")
                }
                try edited.makeCurrent(version.value)
                return .done
            }
            try model.edit(rest)
        case .named(let name):
            let entity = try edited.entity(name.entity)
            if let property = name.property {
                try entity.requireOwnProperty(named: property).edit(assignments)
            } else {
                try entity.edit(assignments)
            }
        case .template(let name):
            var template = try edited.template(name)
            try template.edit(assignments)
            _ = try model.requireEntity(named: template.entityName)
            try model.setFetchRequestTemplate(template, forName: name)
        case .configuration(let name):
            try model.setConfiguration(try edited.configuration(name).edited(assignments, in: model))
        case .index, .constraint:
            throw UsageError(
                "\"\(part)\" cannot be changed; remove it with \(Tool.name) model remove, and add it with \(Tool.name) "
                    + "model add")
        case .version(let name):
            throw UsageError(
                "\"\(part)\" does not have keys; change its elements with --version \"\(name)\", or make it current "
                    + "with \(Tool.name) model set \(edited.path) . currentVersion=\"\(name)\"")
        }
        try edited.write()
        return .done
    }
}

extension ModelConfiguration {
    fileprivate func edited(_ assignments: [Assignment], in model: Model) throws -> ModelConfiguration {
        var (names, isCloud) = (entityNames, isUsedWithCloudKit)
        for assignment in assignments {
            switch assignment.key {
            case "entities":
                names = try assignment.value.split(separator: ",").map {
                    try model.requireEntity(named: String($0)).name
                }
            case "usedWithCloudKit": isCloud = try assignment.flag()
            default:
                throw UsageError(
                    "\"\(assignment.key)\" is not a key of a configuration; use entities or usedWithCloudKit")
            }
        }
        return ModelConfiguration(name: name, entityNames: names, isUsedWithCloudKit: isCloud)
    }
}
