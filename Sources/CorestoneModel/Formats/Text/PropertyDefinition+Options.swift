import CorestoneFormats
import CorestoneValues

extension PropertyDefinition {
    /// Reads a property: a line of text, or an object of options.
    ///
    /// An object without `type`, `to_one` and `to_many` is a composite attribute. Its members define the elements.
    init(_ node: JSONNode, _ place: TextPlace) throws {
        if case .plain(.text(let line)) = node.content {
            self = try PropertyDefinition(line: line.string, place)
            return
        }
        let wanted = "a line such as \"string?\", or an object such as {\"type\": \"string\", \"optional\": true}"
        let members = try node.members(place, wanted)
        guard !members.isEmpty else { throw place.error(" is an empty object, but must be \(wanted)") }
        for (name, kind) in [("type", Kind?.none), ("to_one", .toOne), ("to_many", .toMany)] {
            guard let named = members.first(where: { $0.name == name }) else { continue }
            let options = members.filter { $0.name != name }
            if let kind {
                self.init(kind, isOptional: true)
                destination = try named.value.text(place.option(name), "the name of an entity")
            } else {
                self.init(.attribute(try AttributeType(named.value, place, option: name)), isOptional: false)
            }
            for option in options { try read(option, place) }
            return
        }
        self.init(.attribute(.composite), isOptional: true)
        elements = try PropertyDefinition.elements(members, place)
    }

    /// The options of the kind of property.
    private var knownOptions: [String] {
        let common = ["optional", "transient", "validation", "user_info", "renaming_identifier"]
        switch kind {
        case .attribute:
            return common + [
                "default", "indexed", "external_storage", "preserved", "allows_nan", "ignores_changes", "minimum",
                "maximum", "pattern", "transformer", "derived", "derived_filter", "elements",
            ]
        case .toOne: return common + ["inverse", "delete"]
        case .toMany: return common + ["inverse", "delete", "ordered", "minimum", "maximum"]
        }
    }

    private static let flags: [String: WritableKeyPath<PropertyDefinition, Bool> & Sendable] = [
        "optional": \.isOptional, "transient": \.isTransient, "indexed": \.isIndexed,
        "external_storage": \.allowsExternalStorage, "preserved": \.preservesValueInHistory, "allows_nan": \.allowsNaN,
        "ignores_changes": \.ignoresChanges, "ordered": \.isOrdered,
    ]
    private static let texts: [String: WritableKeyPath<PropertyDefinition, String?> & Sendable] = [
        "pattern": \.pattern, "transformer": \.transformer, "derived": \.derivation,
        "derived_filter": \.derivationFilter, "inverse": \.inverse, "renaming_identifier": \.renamingIdentifier,
    ]

    private mutating func read(_ option: JSONMember, _ place: TextPlace) throws {
        let (name, node) = (option.name, option.value)
        guard knownOptions.contains(name) else {
            throw place.unknown(name, " has no option \"\(name)\"", among: knownOptions.sorted())
        }
        let here = place.option(name)
        if let flag = PropertyDefinition.flags[name] { return self[keyPath: flag] = try node.flag(here) }
        if let text = PropertyDefinition.texts[name] {
            return self[keyPath: text] = node.isNull ? nil : try node.text(here, "a string")
        }
        switch name {
        case "minimum": minimum = try bound(node, here)
        case "maximum": maximum = try bound(node, here)
        case "default": defaultValue = .json(try node.value(here))
        case "delete": deleteRule = try DeleteRule(node, place)
        case "elements":
            if node.isNull { return }
            elements = try PropertyDefinition.elements(try node.members(here, "an object of elements"), place)
        case "validation": validation = try texts(node, here, "an object of conditions and messages")
        default: userInfo = try texts(node, here, "an object of strings")
        }
    }

    /// Reads a bound; returns nil for null.
    private func bound(_ node: JSONNode, _ place: TextPlace) throws -> Value? {
        if node.isNull { return nil }
        if case .attribute = kind { return .json(try node.value(place)) }
        return .json(.int(Int64(try node.count(place))))
    }

    private func texts(_ node: JSONNode, _ place: TextPlace, _ wanted: String) throws -> [(String, String)] {
        if node.isNull { return [] }
        return try node.members(place, wanted).map {
            ($0.name, try $0.value.text(place.option($0.name), "a string"))
        }
    }

    private static func elements(
        _ members: [JSONMember], _ place: TextPlace
    ) throws -> [(String, PropertyDefinition)] {
        try members.map { member in
            let place = place.element(member.name)
            let element = try PropertyDefinition(member.value, place)
            guard case .attribute = element.kind else {
                throw place.error(
                    " is an element of a composite attribute and cannot be a relationship; add the relationship to the entity"
                )
            }
            for (isSet, word, remedy) in [
                (element.isIndexed, "indexed", "name the element in \"@indexes\""),
                (element.isTransient, "transient", "make the composite attribute transient"),
                (element.ignoresChanges, "ignores_changes", "set the option for the composite attribute"),
            ] where isSet {
                throw place.error(
                    " is an element and cannot have the option \"\(word)\"; \(remedy)", value: .string(word))
            }
            return (member.name, element)
        }
    }
}

extension AttributeType {
    /// Creates a type from its name, or from Core Data's code.
    ///
    /// - Parameter isElement: whether the node is an element of a list, for errors.
    init(_ node: JSONNode, _ place: TextPlace, option: String, isElement: Bool = false) throws {
        if case .plain(.int(let code)) = node.content {
            guard let type = Int32(exactly: code).flatMap({ AttributeType(rawValue: $0) }) else {
                throw place.error(
                    ": \(code) is not the code of an attribute type; use a name, such as \"int64\" or \"string\"",
                    value: .int(code))
            }
            self = type
            return
        }
        let name = try node.text(place.option(option), "the name of an attribute type", isElement: isElement)
        try self.init(text: name, place)
    }
}

extension DeleteRule {
    /// Creates a rule from its name, or from Core Data's code.
    fileprivate init(_ node: JSONNode, _ place: TextPlace) throws {
        if case .plain(.int(let code)) = node.content {
            guard let rule = UInt32(exactly: code).flatMap({ DeleteRule(rawValue: $0) }) else {
                throw place.error(
                    ": \(code) is not the code of a delete rule; use \"no-action\", \"nullify\", \"cascade\" or \"deny\"",
                    value: .int(code))
            }
            self = rule
            return
        }
        try self.init(text: try node.text(place.option("delete"), "the name of a delete rule"), place)
    }
}
