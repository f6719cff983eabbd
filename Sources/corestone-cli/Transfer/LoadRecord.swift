import Corestone

/// An object in a line of a file.
struct LoadRecord {
    let line: FilePlace
    /// The name of the object in the file.
    let name: String?
    let entityName: String?
    /// The fields by property name.
    let fields: [(key: String, value: LoadField)]
}

extension LoadRecord {
    /// Creates the record of a JSON object.
    ///
    /// - Throws: A `LoadFailure` if `@id` or `@entity` has another type.
    init(_ members: [String: PropertyValue], _ line: FilePlace) throws {
        func text(_ key: String) throws -> String? {
            switch members[key] {
            case nil, .null: return nil
            case .text(let text): return text.string
            case .int(let number): return String(number)
            case .some(let other):
                let types = key == "@id" ? "a string or a 64-bit integer" : "a string"
                throw LoadFailure(
                    line: line, message: "\(key) must be \(types), not \(LoadField.value(other).excerpt)")
            }
        }
        let fields = members.filter { $0.key != "@id" && $0.key != "@entity" }.sorted { $0.key < $1.key }
        self.init(
            line: line, name: try text("@id"), entityName: try text("@entity"),
            fields: fields.map { ($0.key, .value($0.value)) })
    }
}

/// The value of a property in a file.
enum LoadField {
    /// A value from JSON.
    case value(PropertyValue)
    /// A field from CSV; nil for an empty field.
    case text(String?)

    /// The beginning of the value, for error messages.
    var excerpt: String {
        switch self {
        // The form in the file: `true`, not the `1` of predicates.
        case .value(let value): LineText.short(JSON(value).line)
        case .text(let text): PropertyValue.string(text ?? "").excerpt
        }
    }

    var content: PropertyValue {
        switch self {
        case .value(let value): value
        case .text(let text): text.map { .string($0) } ?? .null
        }
    }

    /// The items of a relationship's value, some of which are records; nil for other values.
    var itemsWithRecords: [PropertyValue]? {
        switch self {
        case .value(.array(let items)) where items.contains(where: \.isRecord): items
        case .value(let value) where value.isRecord: [value]
        default: nil
        }
    }

    /// Returns the names of objects, or nil if the value cannot be a name. Only a to-many CSV field is split at spaces.
    func references(isToMany: Bool) -> [String]? {
        switch self {
        case .text(let text?) where isToMany:
            return text.utf8.split(separator: UInt8(ascii: " ")).map { String(Substring($0)) }
        case .text(let text): return text.flatMap { $0.isEmpty ? nil : [$0] } ?? []
        case .value(.null): return []
        case .value(.text(let text)): return [text.string]
        case .value(.int(let number)): return [String(number)]
        case .value(.array(let items)):
            var names: [String] = []
            for item in items {
                switch item {
                case .text(let text): names.append(text.string)
                case .int(let number): names.append(String(number))
                default: return nil
                }
            }
            return names
        default: return nil
        }
    }
}

extension PropertyValue {
    fileprivate var isRecord: Bool { if case .dictionary = self { true } else { false } }
}

/// A line that cannot be loaded.
struct LoadFailure: Error {
    let line: FilePlace
    let message: String
}

/// A reader of the records of a file, one at a time.
protocol LoadReader: AnyObject {
    var source: ByteSource { get }
    /// Returns the next record; nil at the end.
    ///
    /// Throws a `LoadFailure` for an invalid line. The next call continues after it.
    func next() throws -> LoadRecord?
}
