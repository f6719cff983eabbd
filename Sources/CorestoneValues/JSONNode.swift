/// JSON with the order of its members and the place of each part, for texts that people write: an error can tell where a
/// mistake is. Names may occur twice.
package struct JSONNode {
    package enum Content {
        case object([JSONMember])
        case array([JSONNode])
        /// Null, a boolean, a number or a string.
        case plain(PropertyValue)
    }

    package let content: Content
    /// The byte at which it begins.
    package let offset: Int
}

package struct JSONMember {
    package let name: String
    package let value: JSONNode
    /// The byte at which the name begins.
    package let offset: Int
}

/// Reads a text of JSON as `decodeJSON` does. A number that no double prints as is a decimal.
///
/// - Parameters:
///   - limit: the most values that the text may have.
///   - failure: makes the error for a complaint such as "is missing a \":\"" and the byte that it is about.
package func decodeJSONNode(
    _ bytes: UnsafeRawBufferPointer, limit: Int,
    failure: @escaping (_ complaint: String, _ offset: Int) -> CoreError
) throws -> JSONNode {
    var reader = JSONReader(bytes, allowsTwins: true, keepsDigits: true, readsBytes: false, failure: failure)
    var left = limit
    return try reader.whole { try $0.readNode(depth: 0, left: &left, limit: limit) }
}

extension JSONReader {
    fileprivate mutating func readNode(depth: Int, left: inout Int, limit: Int) throws -> JSONNode {
        try check(depth: depth)
        skipSpace()
        left -= 1
        guard left >= 0 else { throw error("has more than \(limit) values") }
        let start = place
        switch next {
        case UInt8(ascii: "{"):
            var members: [JSONMember] = []
            try eachMember { reader, name, offset in
                let value = try reader.readNode(depth: depth + 1, left: &left, limit: limit)
                members.append(JSONMember(name: name, value: value, offset: offset))
            }
            return JSONNode(content: .object(members), offset: start)
        case UInt8(ascii: "["):
            var elements: [JSONNode] = []
            try eachElement { elements.append(try $0.readNode(depth: depth + 1, left: &left, limit: limit)) }
            return JSONNode(content: .array(elements), offset: start)
        default: return JSONNode(content: .plain(try read(depth: depth)), offset: start)
        }
    }
}
