// Written by `corestone model codegen`, anew each time: changes are lost.
// swift-format-ignore-file

import Corestone

public enum ItemAttributes {
    public static let `class` = "class"
    public static let id = "id"
    public static let rank = "rank"
    public static let score = "score"
    public static let payload = "payload"
}

public enum ItemUserInfo {
    public static let color_of = "say \"red\""
}

/// An object of the entity Item, as the model Odd has it.
open class _Item: EntityObject {
    open override class var entityName: String { "Item" }

    public var `class`: String { get throws { try requiredValue("class") } }
    public func setClass(_ value: String) throws { try setValue(value, "class") }

    public var id: UUIDValue { get throws { try requiredValue("id") } }
    public func setId(_ value: UUIDValue) throws { try setValue(value, "id") }

    public var rank: Int32 { get throws { try optionalValue("rank") ?? 0 } }
    public func setRank(_ value: Int32) throws { try setValue(value, "rank") }

    public var score: Double? { get throws { try optionalValue("score") } }
    public func setScore(_ value: Double?) throws { try setValue(value, "score") }

    public var payload: [UInt8]? { get throws { try optionalValue("payload") } }
    public func setPayload(_ value: [UInt8]?) throws { try setValue(value, "payload") }
}
