import CorestoneValues

/// A parsed JSON value that keeps the order of members and the offset of each part.
///
/// Such nodes are used for text that people write, so that an error can report an offset. An object may contain a name
/// more than once.
package struct JSONNode {
    package enum Content {
        case object([JSONMember])
        case array([JSONNode])
        /// Null, a boolean, a number or a string.
        case plain(PropertyValue)
    }

    package let content: Content
    /// The byte offset of the value's start.
    package let offset: Int
}

/// A member of a JSON object.
package struct JSONMember {
    package let name: String
    package let value: JSONNode
    /// The byte offset of the name.
    package let offset: Int
}

/// Parses JSON into nodes, with the numbers that `decodeJSON` returns with `keepsDigits`.
///
/// - Parameters:
///   - limit: the largest number of values in the text.
///   - failure: creates the error from a complaint such as "is missing a \":\"" and its byte offset. The complaint can
///     end with a remedy after a semicolon.
package func decodeJSONNode(
    _ bytes: UnsafeRawBufferPointer, limit: Int,
    failure: @escaping (_ complaint: String, _ offset: Int) -> CoreError
) throws -> JSONNode {
    var reader = JSONReader(bytes, allowsTwins: true, keepsDigits: true, readsBytes: false, failure: failure)
    var remaining = limit
    return try reader.whole { try $0.readNode(depth: 0, remaining: &remaining, limit: limit) }
}

extension JSONReader {
    fileprivate mutating func readNode(depth: Int, remaining: inout Int, limit: Int) throws -> JSONNode {
        try check(depth: depth)
        skipSpace()
        remaining -= 1
        guard remaining >= 0 else { throw error("has more than the limit of \(limit) values; split the text") }
        let start = place
        switch next {
        case UInt8(ascii: "{"):
            var members: [JSONMember] = []
            try eachMember { reader, name, offset in
                let value = try reader.readNode(depth: depth + 1, remaining: &remaining, limit: limit)
                members.append(JSONMember(name: name, value: value, offset: offset))
            }
            return JSONNode(content: .object(members), offset: start)
        case UInt8(ascii: "["):
            var elements: [JSONNode] = []
            try eachElement { elements.append(try $0.readNode(depth: depth + 1, remaining: &remaining, limit: limit)) }
            return JSONNode(content: .array(elements), offset: start)
        default: return JSONNode(content: .plain(try read(depth: depth)), offset: start)
        }
    }
}
