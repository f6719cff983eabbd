import Corestone

/// A generator of Swift files.
///
/// Each class has a generated file. A class that is not generated completely also has a file with a subclass for manual
/// additions.
struct SwiftGenerator: CodeGenerator {
    private let model: GeneratedModel

    init(_ model: GeneratedModel) { self.model = model }

    func generate(_ write: (GeneratedFile) throws -> Void) throws {
        for generated in model.classes { try write(GeneratedFile("_\(generated.name).swift", machineFile(generated))) }
        for generated in model.classes where generated.isSplit {
            let lines = [
                "import Corestone", "",
                "/// An object of the entity \(generated.entity.name): manual additions.",
                "open class \(generated.name): _\(generated.name) {}",
            ]
            try write(GeneratedFile("\(generated.name).swift", lines, isForPeople: true))
        }
    }

    // MARK: Names

    private static let reserved: Set<String> = [
        "as", "associatedtype", "break", "case", "catch", "class", "continue", "default", "defer", "deinit", "do",
        "else",
        "enum", "extension", "fallthrough", "false", "fileprivate", "for", "func", "guard", "if", "import", "in",
        "init",
        "inout", "internal", "is", "let", "nil", "operator", "precedencegroup", "private", "protocol", "public",
        "repeat",
        "rethrows", "return", "static", "struct", "subscript", "super", "switch", "throw", "throws", "true", "try",
        "typealias", "var", "where", "while",
    ]
    /// Names that a property cannot have, even in backticks, or that the base class uses.
    private static let taken: Set<String> = [
        "self", "Self", "Type", "Protocol", "managedObject", "entityName", "hash", "hashValue", "init", "object",
    ]

    private func name(_ name: String) -> String {
        if SwiftGenerator.taken.contains(name) { return name + "_" }
        return SwiftGenerator.reserved.contains(name) ? "`\(name)`" : name
    }
    /// Returns the name of a type of the library, qualified if a generated class has the same name.
    private func library(_ type: String) -> String {
        model.classNames.contains(type) ? "Corestone.\(type)" : type
    }
    private func literal(_ text: String) -> String { Spelling.literal(text, .swift) }
    private func setter(_ name: String) -> String { "set" + Spelling.capitalized(name) }
    private func machineName(_ generated: GeneratedClass) -> String { (generated.isSplit ? "_" : "") + generated.name }
    private func className(_ entity: Entity?) -> String? { model.generated(entity)?.name }

    // MARK: The generated file

    private func machineFile(_ generated: GeneratedClass) -> [String] {
        let entity = generated.entity
        let base = model.parent(of: generated)?.name ?? library("EntityObject")
        var lines = ["// \(GeneratedFile.warning)", "// swift-format-ignore-file", "", "import Corestone"]
        for (title, entries) in constants(of: generated) {
            lines += ["", "public enum \(title) {"]
            lines += entries.map { "    public static let \($0.0) = \(literal($0.1))" } + ["}"]
        }
        lines += [
            "", "/// An object of the entity \(entity.name) of the model \(model.name).",
            "open class \(machineName(generated)): \(base) {",
            "    open override class var entityName: String { \(literal(entity.name)) }",
        ]
        lines += model.attributes(of: generated).flatMap(property)
        lines += model.relationships(of: generated).flatMap(property)
        lines += model.fetchedProperties(of: generated).flatMap(property)
        for (template, request) in model.templates(of: generated) {
            lines += [""] + fetcher(template, request, generated)
        }
        return lines + ["}"]
    }

    private func property(_ attribute: Attribute) -> [String] {
        let key = literal(attribute.path)
        // An element uses the object of its composite attribute.
        let receiver = attribute.composite == nil ? "" : "object."
        if attribute.type == .composite { return composite(attribute) }
        if attribute.type == .transformable {
            let (type, reading) = (
                transformedType(attribute), attribute.isOptional ? "transformed" : "requiredTransformed"
            )
            return accessors(
                attribute.name, attribute.isOptional ? type + "?" : type, "try \(receiver)\(reading)(\(key))"
            ) { "try \(receiver)setTransformed(\($0), \(key))" }
        }
        let set = { (value: String) in "try \(receiver)setValue(\(value), \(key))" }
        guard let type = SwiftGenerator.type(of: attribute.type).map(library) else {
            return accessors(
                attribute.name, library("PropertyValue"), "try \(receiver)optionalValue(\(key)) ?? .null", set)
        }
        if attribute.isNullableInCode {
            return accessors(attribute.name, type + "?", "try \(receiver)optionalValue(\(key))", set)
        }
        let zero = attribute.type == .boolean ? "false" : "0"
        let reading =
            attribute.readsNullAsZero
            ? "try \(receiver)optionalValue(\(key)) ?? \(zero)" : "try \(receiver)requiredValue(\(key))"
        return accessors(attribute.name, type, reading, set)
    }

    /// Returns the code of a struct with the elements of a composite attribute, and of a property that returns it.
    private func composite(_ attribute: Attribute) -> [String] {
        let type = Spelling.capitalized(Spelling.identifier(attribute.name)) + "Elements"
        let object = attribute.composite == nil ? "self" : "object"
        return [
            "", "    /// The elements of \(attribute.path), read and set one by one.", "    public struct \(type) {",
            "        let object: \(library("EntityObject"))",
        ] + attribute.elements.flatMap(property).map { $0.isEmpty ? "" : "    " + $0 } + [
            "    }", "    public var \(name(attribute.name)): \(type) { \(type)(object: \(object)) }",
        ]
    }

    /// Returns the Swift type of a transformable attribute's values.
    ///
    /// It is the application's own class, the counterpart of a Foundation class, or `Any`.
    private func transformedType(_ attribute: Attribute) -> String {
        let name = attribute.valueClassName?.split(separator: ".").last.map { String($0) } ?? ""
        switch name.replacing("NSMutable", with: "NS") {
        case "NSString", "NSURL": return "String"
        case "NSData": return "[UInt8]"
        case "NSDate": return library("ReferenceDate")
        case "NSUUID": return library("UUIDValue")
        case "NSDecimalNumber": return library("DecimalNumber")
        case "NSNumber", "NSArray", "NSSet", "NSDictionary": return library("PropertyValue")
        // The names of Apple's other classes begin with at least two capital letters.
        case let own where !own.isEmpty && own == Spelling.identifier(own) && !own.prefix(2).allSatisfy(\.isUppercase):
            return own
        default: return "Any"
        }
    }

    private func accessors(
        _ property: String, _ type: String, _ reading: String, _ setting: (String) -> String
    ) -> [String] {
        [
            "", "    public var \(name(property)): \(type) { get throws { \(reading) } }",
            "    public func \(setter(property))(_ value: \(type)) throws { \(setting("value")) }",
        ]
    }

    private func property(_ relationship: Relationship) -> [String] {
        let key = literal(relationship.name)
        let (target, title) = (className(relationship.destination), Spelling.capitalized(relationship.name))
        guard relationship.isToMany else {
            // The target of a destination without a generated class is a `ManagedObject`.
            guard let target else {
                return accessors(relationship.name, library("ManagedObject") + "?", "try optionalValue(\(key))") {
                    "try setValue(\($0), \(key))"
                }
            }
            guard relationship.isOptional else {
                return accessors(relationship.name, target, "\(target)(try requiredValue(\(key)))") {
                    "try setTarget(\($0), \(key))"
                }
            }
            return accessors(relationship.name, "\(target)?", "try target(\(key))") { "try setTarget(\($0), \(key))" }
        }
        let member = target == nil ? "member" : "member.managedObject"
        let kind = target ?? library("ManagedObject")
        let (reading, setting) =
            target == nil
            ? ("try managedObject.members(\(key))", "try managedObject.setMembers(value, of: \(key))")
            : ("try members(\(key))", "try setMembers(value, \(key))")
        var lines = accessors(relationship.name, "[\(kind)]", reading) { _ in setting }
        lines += [
            "    public func addTo\(title)(_ member: \(kind)) throws { try managedObject.add(\(member), to: \(key)) }",
            "    public func removeFrom\(title)(_ member: \(kind)) throws {",
            "        try managedObject.remove(\(member), from: \(key))", "    }",
        ]
        if relationship.isOrdered {
            lines += [
                "    public func insertInto\(title)(_ member: \(kind), at index: Int) throws {",
                "        try managedObject.insert(\(member), at: index, in: \(key))", "    }",
            ]
        }
        return lines
    }

    // MARK: Fetches

    /// Returns the code of a fetched property. Without a generated class, its objects are `ManagedObject`s.
    private func property(_ property: FetchedProperty) -> [String] {
        let kind = className(model.model.entity(named: property.fetchRequest.entityName))
        let reading = "\(kind == nil ? "managedObject." : "")fetched(\(literal(property.name)))"
        return [
            "",
            "    public var \(name(property.name)): [\(kind ?? library("ManagedObject"))] { get throws { try \(reading) } }",
        ]
    }

    private func fetcher(_ template: String, _ request: GeneratedRequest, _ generated: GeneratedClass) -> [String] {
        let name = "fetch" + Spelling.capitalized(Spelling.identifier(template))
        let parameters = request.parameters.map { ", \(self.name($0)): any \(library("PropertyConvertible"))" }.joined()
        return [
            "    /// The model's fetch request \(Spelling.comment(template)): `\(Spelling.comment(request.template.predicate))`.",
            "    public class func \(name)(in context: \(library("Context"))\(parameters)) throws -> [\(generated.name)] {",
            "        try context.fetch(\(arguments(of: request, generated.name) { self.name($0) }))", "    }",
        ]
    }

    private func arguments(of request: GeneratedRequest, _ kind: String, _ value: (String) -> String) -> String {
        var words = ["\(kind).self"]
        if let format = request.format { words.append(literal(format)) }
        words += request.arguments.map(value)
        if !request.sortKeys.isEmpty {
            words.append("sort: [\(request.sortKeys.map(literal).joined(separator: ", "))]")
        }
        if request.template.limit > 0 { words.append("limit: \(request.template.limit)") }
        if request.template.offset > 0 { words.append("offset: \(request.template.offset)") }
        return words.joined(separator: ", ")
    }

    // MARK: Types and constants

    /// Returns the Swift type, or nil for an attribute type without a fixed Swift type.
    private static func type(of type: AttributeType) -> String? {
        switch type {
        case .integer16: "Int16"
        case .integer32: "Int32"
        case .integer64: "Int64"
        case .double: "Double"
        case .float: "Float"
        case .boolean: "Bool"
        case .decimal: "DecimalNumber"
        case .string, .uri: "String"
        case .date: "ReferenceDate"
        case .binary: "[UInt8]"
        case .uuid: "UUIDValue"
        case .undefined, .objectID, .transformable, .composite: nil
        }
    }

    /// Returns constants for property names and the user info.
    private func constants(of generated: GeneratedClass) -> [(String, [(String, String)])] {
        func names(_ properties: [Property]) -> [(String, String)] { properties.map { (name($0.name), $0.name) } }
        let userInfo = generated.entity.userInfo.sorted { $0.key < $1.key }
        let kinds = [
            ("Attributes", names(model.attributes(of: generated))),
            ("Relationships", names(model.relationships(of: generated))),
            ("FetchedProperties", names(model.fetchedProperties(of: generated))),
            ("UserInfo", userInfo.map { (name(Spelling.identifier($0.key)), $0.value) }),
        ]
        return kinds.filter { !$0.1.isEmpty }.map { (generated.name + $0.0, $0.1) }
    }
}
