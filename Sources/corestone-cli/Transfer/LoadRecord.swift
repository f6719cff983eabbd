import Corestone

/// What a line of a file says about an object.
struct LoadRecord {
    let line: FilePlace
    /// What the object is called in the file.
    let name: String?
    let entityName: String?
    /// By the names of properties.
    let fields: [(key: String, value: LoadField)]
}

/// What a file has for a property.
enum LoadField {
    /// From JSON.
    case value(PropertyValue)
    /// From CSV; nil for an empty field.
    case text(String?)

    /// The beginning of the value, for error messages.
    var excerpt: String {
        switch self {
        // As the file has it: `true`, not the `1` of predicates.
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

    /// Names of objects; nil for what is no such thing. Only names of several are parted by spaces.
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

/// A line that cannot be loaded.
struct LoadFailure: Error {
    let line: FilePlace
    let message: String
}

/// Gives what a file has, one after the other.
protocol LoadReader: AnyObject {
    var source: ByteSource { get }
    /// nil at the end. Throws a `LoadFailure` for a line that cannot be read, behind which it goes on.
    func next() throws -> LoadRecord?
}
