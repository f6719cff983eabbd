import CorestoneFormats
import CorestoneValues

extension Model {
    /// Reads an archive of Xcode's model editor.
    ///
    /// Such an archive is the `elements` file of an old `.xcdatamodel`, or the source or destination model in a mapping
    /// model. The model is not frozen.
    ///
    /// - Throws: as `Model(compiledModel:)`.
    public convenience init(editorModel bytes: [UInt8]) throws {
        self.init()
        try read(editor: try KeyedArchiveReader(bytes))
    }

    func read(editor archive: KeyedArchiveReader) throws {
        guard let root = archive.rootFields, archive.className(archive.root) == EditorModelReader.className else {
            throw archiveError(
                "the keyed archive does not contain a model of Xcode's editor; pass the contents of an elements file "
                    + "that Xcode saved")
        }
        var reader = EditorModelReader(archive, into: self)
        try reader.read(root)
    }
}

/// A converter of the editor's objects to the elements that newer editors write as XML.
///
/// Every object has stereotypes with named values, which correspond to the attributes in `contents`.
struct EditorModelReader {
    /// The class of the archive's root.
    static let className = "XDPMModel"

    typealias Fields = KeyedArchiveReader.Fields

    /// The maximum number of values that are read. An archive can refer to one object many times.
    static let maximumCount = 1_000_000

    private let archive: KeyedArchiveReader
    private let builder: SourceModelBuilder
    private var count = 0

    init(_ archive: KeyedArchiveReader, into model: Model) {
        self.archive = archive
        builder = SourceModelBuilder(model)
    }

    mutating func read(_ root: Fields) throws {
        try builder.begin(["userDefinedModelVersionIdentifier": archive.string(root["_modelVersionIdentifier"]) ?? ""])
        let package = archive.fields(root["_xd_rootPackage"]) ?? [:]
        for (name, reference) in archive.entries(package["XDBucketForClassesstorage"]) {
            guard archive.className(reference) == "XDPMEntity", let fields = archive.fields(reference) else { continue }
            try builder.add(try entity(named: name, fields))
        }
        for (name, list) in archive.entries(root["_configurationsByName"]) {
            var element = SourceElement(name: "configuration", attributes: ["name": name])
            element.elements = names(list).map { SourceElement(name: "memberEntity", attributes: ["name": $0]) }
            try builder.add(element)
        }
        try builder.finish()
    }

    private mutating func spend(_ amount: Int) throws {
        count += amount
        guard count <= EditorModelReader.maximumCount else {
            throw archiveError(
                "the model has more than \(EditorModelReader.maximumCount) values and names, which is the limit; split "
                    + "the model")
        }
    }

    /// Returns the named values of all stereotypes of an object.
    private mutating func values(_ fields: Fields) throws -> [String: PropertyListValue] {
        var values: [String: PropertyListValue] = [:]
        for (_, stereotype) in archive.entries(fields["XDBucketForStereotypesstorage"]) {
            let entries = archive.entries(archive.fields(stereotype)?["XDBucketForOwnedAttributesstorage"])
            try spend(entries.count)
            for (name, value) in entries { values[name] = archive.object(archive.fields(value)?["_default"]) }
        }
        return values
    }

    /// Returns the strings of a list, or the names of its objects.
    private func names(_ list: PropertyListValue?) -> [String] {
        archive.elements(list).compactMap { archive.string($0) ?? archive.string(archive.fields($0)?["_name"]) }
    }

    private func userInfo(_ value: PropertyListValue?) -> [SourceElement] {
        let entries = archive.entries(value).compactMap { key, value in
            archive.string(value).map { SourceElement(name: "entry", attributes: ["key": key, "value": $0]) }
        }
        return entries.isEmpty ? [] : [SourceElement(name: "userInfo", elements: entries)]
    }

    // MARK: - Entities

    private mutating func entity(named name: String, _ fields: Fields) throws -> SourceElement {
        let values = try values(fields)
        var element = SourceElement(name: "entity", attributes: ["name": name])
        element.set("representedClassName", archive.string(values["XD_PSK_entityClassName"]))
        element.set("isAbstract", flag: values["XD_PSK_isAbstract"]?.flag ?? fields["_isAbstract"]?.flag)
        element.set("elementID", archive.string(values["XD_PSK_elementID"]))
        element.set("versionHashModifier", archive.string(values["XD_PSK_versionHashModifier"]))
        let general = archive.elements(fields["XDBucketForGeneralizationsstorage"]).first
        let parent = archive.fields(archive.fields(general)?["_general"])
        element.set("parentEntity", archive.string(parent?["_name"]))
        for (name, reference) in archive.entries(fields["XDBucketForOwnedAttributesstorage"]) {
            if let property = try property(named: name, reference) { element.elements.append(property) }
        }
        element.elements += try lists(
            "uniquenessConstraints", of: "uniquenessConstraint", of: "constraint", values["XDPMUniquenessConstraints"])
        element.elements += try lists(
            "compoundIndexes", of: "compoundIndex", of: "index", values["XDPMCompoundIndexes"])
        element.elements += userInfo(values["XD_PSK_userInfo"])
        for reference in archive.elements(values["XD_PSK_fetchRequestsArray"]) {
            guard let request = archive.fields(reference) else { continue }
            guard archive.string(request["_name"])?.isEmpty == false else {
                throw modelError(
                    "a fetch request template for \(name) does not have a name; name it in Xcode, and save the "
                        + "model again",
                    entity: name)
            }
            try builder.add(fetchRequest(request))
        }
        return element
    }

    /// Converts a list of lists of names to nested elements.
    private mutating func lists(
        _ outer: String, of middle: String, of inner: String, _ value: PropertyListValue?
    ) throws -> [SourceElement] {
        let lists = archive.elements(value).map(names)
        try spend(lists.reduce(0) { $0 + $1.count })
        guard !lists.isEmpty else { return [] }
        let elements = lists.map { names in
            SourceElement(name: middle, elements: names.map { SourceElement(name: inner, attributes: ["value": $0]) })
        }
        return [SourceElement(name: outer, elements: elements)]
    }

    // MARK: - Properties

    /// Converts a property; returns nil for other objects.
    private mutating func property(named name: String, _ reference: PropertyListValue) throws -> SourceElement? {
        guard let fields = archive.fields(reference) else { return nil }
        let values = try values(fields)
        var element = SourceElement(name: "", attributes: ["name": name])
        switch archive.className(reference) {
        case "XDPMAttribute": describeAttribute(&element, values)
        case "XDPMRelationship": describeRelationship(&element, values)
        case "XDPMFetchedProperty":
            element.name = "fetchedProperty"
            guard let request = archive.fields(values["XD_PFP_fetchRequestKey"]) else { return nil }
            element.elements.append(fetchRequest(request))
        default: return nil
        }
        // A fetched property is always transient, which is not written, and optional by default.
        let isFetched = element.name == "fetchedProperty"
        element.set("optional", flag: values["XD_PPSK_isOptional"]?.flag ?? isFetched)
        element.set("transient", flag: values["XD_PPSK_isTransient"]?.flag == true && !isFetched)
        element.set("indexed", flag: values["XD_PPSK_isIndexed"]?.flag)
        element.set("spotlightIndexingEnabled", flag: values["XD_PPSK_isSpotlightIndexed"]?.flag)
        element.set("storedInTruthFile", flag: values["XD_PPSK_isStoredInTruthFile"]?.flag)
        element.set("elementID", archive.string(values["XD_PPSK_elementID"]))
        element.set("versionHashModifier", archive.string(values["XD_PPSK_versionHashModifier"]))
        element.elements += userInfo(values["XD_PPSK_userInfo"])
        return element
    }

    private func describeAttribute(_ element: inout SourceElement, _ values: [String: PropertyListValue]) {
        element.name = "attribute"
        let code = values["XD_PAttK_attributeType"]?.integer ?? 0
        let type = Int32(exactly: code).flatMap(AttributeType.init(rawValue:))
        if code != 0 { element.set("attributeType", type?.sourceName ?? "\(code)") }
        element.set(
            "allowsExternalBinaryDataStorage", flag: values["XD_PAttK_allowsExternalBinaryDataStorage"]?.flag)
        let texts = [
            "defaultValueString": "XD_PAttK_defaultValueAsString", "minValueString": "XD_PAttK_minValueString",
            "maxValueString": "XD_PAttK_maxValueString",
            "regularExpressionString": "XD_PAttK_regularExpressionString",
            "valueTransformerName": "XD_PAttK_valueTransformerName",
        ]
        for (name, key) in texts { element.set(name, archive.string(values[key])) }
    }

    private func describeRelationship(_ element: inout SourceElement, _ values: [String: PropertyListValue]) {
        element.name = "relationship"
        func name(_ key: String) -> String? { archive.string(archive.fields(values[key])?["_name"]) }
        element.set("destinationEntity", name("XD_PRK_destination"))
        element.set("inverseName", name("XD_PRK_inverseRelationship"))
        element.set("toMany", flag: values["XD_PRK_isToMany"]?.flag)
        element.set("ordered", flag: values["XD_PRK_ordered"]?.flag)
        element.set("minCount", values["XD_PRK_minCount"]?.integer.map { String($0) })
        element.set("maxCount", values["XD_PRK_maxCount"]?.integer.map { String($0) })
        let rule = values["XD_PRK_deleteRule"]?.integer.flatMap { UInt32(exactly: $0) }.flatMap(
            DeleteRule.init(rawValue:))
        element.set("deletionRule", rule?.sourceText)
    }

    private func fetchRequest(_ fields: Fields) -> SourceElement {
        var element = SourceElement(name: "fetchRequest")
        element.set("name", archive.string(fields["_name"]))
        element.set("entity", archive.string(archive.fields(fields["_entity"])?["_name"]))
        element.set("predicateString", archive.string(fields["_predicateString"]))
        return element
    }
}

extension SourceElement {
    fileprivate mutating func set(_ name: String, _ value: String?) {
        if let value, !value.isEmpty { attributes[name] = value }
    }
    fileprivate mutating func set(_ name: String, flag: Bool?) { if flag == true { attributes[name] = "YES" } }
}
