import CorestonePredicate
import CorestoneValues
import Foundation
import TestSupport

/// One case of the sample file.
struct SampleCase {
    let fields: [String: PropertyValue]

    var id: String { text("id") }
    var kind: String { text("kind") }
    var mode: String { text("mode") }
    var format: String { text("format") }
    var arguments: [PropertyValue] { fields["args"]?.elements?.map(\.decoded) ?? [] }
    var variables: [String: PropertyValue] {
        guard case .dictionary(let values) = fields["variables"] else { return [:] }
        return values.mapValues(\.decoded)
    }
    var object: PropertyValue { fields["object"]?.decoded ?? .null }
    var expected: PropertyValue { fields["expected"] ?? .null }
    /// Sources disagree, or the case is for another store than an in-memory one.
    var isExcluded: Bool { fields["contested"] != nil || fields["store"] == .string("sqlite") }

    func text(_ name: String) -> String { fields[name]?.textual?.string ?? "" }

    /// All cases; nil if the file does not exist.
    static func all() -> [SampleCase]? {
        let file = Checkout.fixtures.deletingLastPathComponent().appendingPathComponent("predicate-cases.json")
        guard let data = try? Data(contentsOf: file), case .array(let cases) = JSONReader.read(Array(data)) else {
            return nil
        }
        return cases.compactMap {
            guard case .dictionary(let fields) = $0 else { return nil }
            return SampleCase(fields: fields)
        }
    }

    static var areRequired: Bool { Checkout.areFixturesRequired }
}

extension PropertyValue {
    /// The value of a case: `{"$date": …}` and similar dictionaries are one value.
    var decoded: PropertyValue {
        switch self {
        case .array(let elements): return .array(elements.map(\.decoded))
        case .dictionary(let members):
            if let date = members["$date"]?.textual { return .date((try? ReferenceDate.parse(date.string)) ?? .nan) }
            if case .array(let elements) = members["$set"] { return .set(Set(elements.map(\.decoded))) }
            if let text = members["$uuid"]?.textual, let uuid = UUIDValue(text.string) { return .uuid(uuid) }
            if let text = members["$data"]?.textual, let data = Data(base64Encoded: text.string) {
                return .bytes(Bytes(Array(data)))
            }
            return .dictionary(members.mapValues(\.decoded))
        default: return self
        }
    }

    var member: (String) -> PropertyValue? {
        { name in
            guard case .dictionary(let members) = self else { return nil }
            return members[name]
        }
    }

    /// Whether a result is what a case expects.
    func meets(_ expected: PropertyValue) -> Bool {
        if case .array(let wanted) = expected.member("$anyorder") {
            guard let found = elements, found.count == wanted.count else { return false }
            return wanted.allSatisfy { one in found.contains { $0.meets(one) } }
        }
        if case .int(let count) = expected.member("$count") { return elements?.count == Int(count) }
        let wanted = expected.decoded
        if let a = number, let b = wanted.number { return abs(a - b) <= 1e-12 * max(1, abs(b)) }
        return self == wanted
    }
}
