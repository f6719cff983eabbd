// Written by `corestone model codegen`, anew each time: changes are lost.
// swift-format-ignore-file

import Corestone

public enum ItemAttributes {
    public static let `class` = "class"
    public static let id = "id"
    public static let rank = "rank"
    public static let score = "score"
    public static let payload = "payload"
    public static let words = "words"
    public static let place = "place"
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

    public var payload: Any? { get throws { try transformed("payload") } }
    public func setPayload(_ value: Any?) throws { try setTransformed(value, "payload") }

    public var words: String? { get throws { try transformed("words") } }
    public func setWords(_ value: String?) throws { try setTransformed(value, "words") }

    /// The elements of place, read and set one by one.
    public struct PlaceElements {
        let object: EntityObject

        public var x: Double? { get throws { try object.optionalValue("place.x") } }
        public func setX(_ value: Double?) throws { try object.setValue(value, "place.x") }

        public var name: String { get throws { try object.requiredValue("place.name") } }
        public func setName(_ value: String) throws { try object.setValue(value, "place.name") }

        /// The elements of place.inner, read and set one by one.
        public struct InnerElements {
            let object: EntityObject

            public var count: Int32 { get throws { try object.optionalValue("place.inner.count") ?? 0 } }
            public func setCount(_ value: Int32) throws { try object.setValue(value, "place.inner.count") }
        }
        public var inner: InnerElements { InnerElements(object: object) }
    }
    public var place: PlaceElements { PlaceElements(object: self) }
}
