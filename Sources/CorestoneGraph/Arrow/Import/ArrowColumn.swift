import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// A column of an Arrow stream, or a field of a struct column, whose values are those of an attribute.
final class ArrowColumn {
    /// What is done with a value before the attribute accepts it.
    private enum Conversion {
        case none
        case boolFromInteger, doubleFromInteger
        case integerFromDecimal, doubleFromDecimal, decimalFromText
        case uuidFromText, uuidFromBytes
    }

    let input: ArrowInput
    let attribute: Attribute
    /// The structs that contain the field. A null struct has null fields.
    private let parents: [ArrowInput]
    private let conversion: Conversion
    /// The entity of the attribute's values, which may inherit the attribute.
    private let entity: Entity

    /// Returns nil if values of the type cannot be values of the attribute.
    init?(_ input: ArrowInput, _ attribute: Attribute, of entity: Entity, in parents: [ArrowInput] = []) {
        guard let conversion = ArrowColumn.conversion(of: input.valueType, to: attribute.type) else { return nil }
        (self.input, self.attribute, self.entity, self.parents) = (input, attribute, entity, parents)
        self.conversion = conversion
    }

    private static func conversion(of type: ArrowInputType, to attribute: AttributeType) -> Conversion? {
        switch (attribute, type) {
        case (.composite, _), (.objectID, _): nil
        case (_, .structure), (_, .list), (_, .fixedList): nil
        case (_, .null), (.undefined, _): Conversion.none
        case (.boolean, .bool), (.integer16, .bool), (.integer32, .bool), (.integer64, .bool): Conversion.none
        case (.boolean, _) where type.isInteger: .boolFromInteger
        case (.integer16, .uint64), (.integer32, .uint64), (.integer64, .uint64): .integerFromDecimal
        case (.integer16, .decimal), (.integer32, .decimal), (.integer64, .decimal): .integerFromDecimal
        case (.double, .uint64), (.float, .uint64), (.double, .decimal), (.float, .decimal): .doubleFromDecimal
        case (.double, _) where type.isInteger: .doubleFromInteger
        case (.integer16, _), (.integer32, _), (.integer64, _), (.double, _), (.float, _):
            type.isInteger || type.isReal ? Conversion.none : nil
        case (.decimal, .text): .decimalFromText
        case (.decimal, .decimal): Conversion.none
        case (.decimal, _): type.isInteger || type.isReal ? Conversion.none : nil
        case (.string, .text), (.uri, .text): Conversion.none
        case (.binary, .bytes), (.binary, .fixedBytes), (.transformable, .bytes), (.transformable, .fixedBytes):
            Conversion.none
        case (.date, .date32), (.date, .date64), (.date, .timestamp): Conversion.none
        case (.uuid, .text): .uuidFromText
        case (.uuid, .bytes), (.uuid, .fixedBytes(16)): .uuidFromBytes
        default: nil
        }
    }

    /// Returns the value of a row of the current batch. It is valid as long as the batch.
    @inline(__always)
    func view(_ row: Int) throws -> ValueView {
        if !parents.isEmpty, parents.contains(where: { $0.isNull(row) }) { return .null }
        let view = try input.view(row)
        return conversion == .none || view.type == .null ? view : try convert(view)
    }

    /// Returns the value of a row, converted to the type of the attribute, with errors that name the attribute.
    func value(_ row: Int) throws -> PropertyValue {
        do { return try attribute.accept(view(row).propertyValue, for: entity) } catch let error as CoreError {
            throw located(error)
        }
    }

    private func convert(_ view: ValueView) throws -> ValueView {
        switch (conversion, view.type) {
        case (.boolFromInteger, .int) where view.low <= 1: return ValueView(.bool, view.low)
        case (.doubleFromInteger, .int): return ValueView(.double, Double(view.integer).bitPattern)
        case (.integerFromDecimal, .decimal):
            let number = DecimalNumber(words: (view.low, view.high), aux: view.aux)
            guard let integer = number.integer else { throw notInteger(number) }
            return ValueView(.int, UInt64(bitPattern: integer))
        case (.doubleFromDecimal, .decimal):
            return ValueView(.double, DecimalNumber(words: (view.low, view.high), aux: view.aux).double.bitPattern)
        case (.decimalFromText, .string):
            let text = String(decoding: view.bytes, as: UTF8.self)
            guard let number = try? DecimalNumber(text) else { throw unreadable(view, "a decimal") }
            let words = number.words
            return ValueView(.decimal, words.0, words.1, aux: number.aux)
        case (.uuidFromText, .string):
            guard let uuid = UUIDValue(String(decoding: view.bytes, as: UTF8.self)) else {
                throw unreadable(view, "a UUID")
            }
            return ValueView(.uuid, uuid.high.bigEndian, uuid.low.bigEndian)
        case (.uuidFromBytes, .bytes):
            guard view.high == 16 else {
                throw mismatch("takes a UUID of 16 bytes, not \(view.high) bytes", view.propertyValue)
            }
            return ValueView(
                .uuid, view.bytes.loadUnaligned(as: UInt64.self),
                view.bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
        default: return view
        }
    }

    // MARK: Errors

    /// The entity and the path of the attribute, and the name of the column if it differs.
    var title: String {
        let path = "\(entity.name).\(attribute.path)"
        return input.column == attribute.path ? path : "\(path) (column \(quoted(input.column)))"
    }

    /// Returns the error of a value with the entity and the key, and with the name of the column if it differs.
    func located(_ error: CoreError) -> CoreError {
        if error.entity == nil { return error.within(title, entity: entity.name, key: attribute.path) }
        guard input.column != attribute.path else { return error }
        return error.within("column \(quoted(input.column))")
    }

    private func notInteger(_ number: DecimalNumber) -> CoreError {
        let type = attribute.type
        // A number with a fraction may be within the range.
        let range = number.exponent < 0 ? nil : type.integerRange
        let taken = range.map { "\($0.lowerBound) to \($0.upperBound) (\(type.displayName))" } ?? type.displayName
        return mismatch("takes \(taken), not \(number)", .decimal(number))
    }

    private func unreadable(_ view: ValueView, _ kind: String) -> CoreError {
        let value = view.propertyValue
        return mismatch("takes \(kind), not \(value.excerpt)", value)
    }

    private func mismatch(_ problem: String, _ value: PropertyValue) -> CoreError {
        CoreError(
            .typeMismatch, "\(entity.name).\(attribute.path) \(problem)", entity: entity.name, key: attribute.path,
            value: value)
    }
}

extension ArrowInputType {
    var isReal: Bool {
        switch self {
        case .half, .float, .double: true
        default: false
        }
    }
}

extension Attribute {
    /// The Arrow types that the attribute takes, for messages.
    var arrowTypes: String {
        switch type {
        case .boolean: "bool or integers"
        case .integer16, .integer32, .integer64, .double, .float: "numbers"
        case .decimal: "decimals, other numbers or utf8"
        case .string, .uri: "utf8"
        case .binary, .transformable: "binary"
        case .uuid: "fixed_size_binary(16), binary or utf8"
        case .date: "timestamps with a time zone, date32 or date64"
        case .composite: "a struct, or a column for each element"
        case .undefined: "values"
        case .objectID: "objects"
        }
    }
}
