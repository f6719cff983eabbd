import CorestoneFormats
import CorestonePredicate
import CorestoneValues

/// Reading of the parts of a model text, with errors for parts of the wrong type.
extension JSONNode {
    var isNull: Bool { if case .plain(.null) = content { true } else { false } }

    /// The type of the value, for messages.
    var kindName: String {
        switch content {
        case .object: "an object"
        case .array: "a list"
        case .plain(.null): "null"
        case .plain(.bool(let flag)): "\(flag)"
        case .plain(.text): "a string"
        case .plain(let value): "a number (\(value.excerpt))"
        }
    }

    private func mismatch(_ place: TextPlace, _ wanted: String, isElement: Bool = false) -> CoreError {
        place.error(
            isElement
                ? " contains \(kindName) in place of \(wanted)"
                : " is \(kindName), but must be \(wanted)", value: plainContent)
    }

    /// The value for an error; nil for a container.
    private var plainContent: PropertyValue? { if case .plain(let value) = content { value } else { nil } }

    /// Returns the members of an object. Throws for duplicate names.
    ///
    /// - Parameter within: returns the place of a member, for the error about duplicates; nil to use `place`.
    func members(
        _ place: TextPlace, _ wanted: String, within: (String) -> TextPlace? = { _ in nil }
    ) throws -> [JSONMember] {
        guard case .object(let members) = content else { throw mismatch(place, wanted) }
        var names: Set<String> = []
        for member in members where !names.insert(member.name).inserted {
            if let memberPlace = within(member.name) {
                throw memberPlace.error(" is in the text more than once; keep one")
            }
            throw place.error(" has \"\(member.name)\" more than once; keep one", value: .string(member.name))
        }
        return members
    }

    func elements(_ place: TextPlace, _ wanted: String, isElement: Bool = false) throws -> [JSONNode] {
        guard case .array(let elements) = content else { throw mismatch(place, wanted, isElement: isElement) }
        return elements
    }

    func text(_ place: TextPlace, _ wanted: String, isElement: Bool = false) throws -> String {
        guard case .plain(.text(let text)) = content else { throw mismatch(place, wanted, isElement: isElement) }
        return text.string
    }

    /// Returns a Boolean, which can be written as 0 or 1; null is false.
    func flag(_ place: TextPlace) throws -> Bool {
        switch content {
        case .plain(.bool(let flag)): flag
        case .plain(.int(let number)) where number == 0 || number == 1: number == 1
        case .plain(.null): false
        default: throw mismatch(place, "true or false")
        }
    }

    /// Returns a number of members; null is 0.
    func count(_ place: TextPlace) throws -> UInt32 {
        switch content {
        case .plain(.null): return 0
        case .plain(.int(let number)):
            if let count = UInt32(exactly: number) { return count }
        default: break
        }
        throw mismatch(place, "a number of members, 0 to \(UInt32.max)")
    }

    /// Returns the value of an attribute.
    ///
    /// Types that JSON does not support are tagged as in docs/reference/archive.md.
    func value(_ place: TextPlace) throws -> PropertyValue { try place.naming { try untagged(try plainValue(place)) } }

    private func plainValue(_ place: TextPlace) throws -> PropertyValue {
        switch content {
        case .plain(let value): return value
        case .array(let elements): return .array(try elements.map { try $0.plainValue(place) })
        case .object:
            let members = try members(place, "an object")
            return .dictionary(
                Dictionary(uniqueKeysWithValues: try members.map { ($0.name, try $0.value.plainValue(place)) }))
        }
    }
}
