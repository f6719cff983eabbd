// Written by `corestone model codegen`, anew each time: changes are lost.
// swift-format-ignore-file

import Corestone

public enum NoteAttributes {
    public static let bytes = "bytes"
    public static let datetime = "datetime"
    public static let price = "price"
    public static let `import` = "import"
    public static let size = "size"
    public static let data = "data"
    public static let created = "created"
}

public enum NoteRelationships {
    public static let tags = "tags"
    public static let context = "context"
    public static let from = "from"
}

public enum NoteFetchedProperties {
    public static let twins = "twins"
}

/// An object of the entity Note, as the model Odd has it.
open class Note: Item {
    open override class var entityName: String { "Note" }

    public var bytes: [UInt8]? { get throws { try optionalValue("bytes") } }
    public func setBytes(_ value: [UInt8]?) throws { try setValue(value, "bytes") }

    public var datetime: ReferenceDate? { get throws { try optionalValue("datetime") } }
    public func setDatetime(_ value: ReferenceDate?) throws { try setValue(value, "datetime") }

    public var price: DecimalNumber { get throws { try requiredValue("price") } }
    public func setPrice(_ value: DecimalNumber) throws { try setValue(value, "price") }

    public var `import`: Bool { get throws { try optionalValue("import") ?? false } }
    public func setImport(_ value: Bool) throws { try setValue(value, "import") }

    public var size: Int64? { get throws { try optionalValue("size") } }
    public func setSize(_ value: Int64?) throws { try setValue(value, "size") }

    public var data: [UInt8]? { get throws { try optionalValue("data") } }
    public func setData(_ value: [UInt8]?) throws { try setValue(value, "data") }

    public var created: ReferenceDate? { get throws { try optionalValue("created") } }
    public func setCreated(_ value: ReferenceDate?) throws { try setValue(value, "created") }

    public var tags: [Tag] { get throws { try members("tags") } }
    public func setTags(_ value: [Tag]) throws { try setMembers(value, "tags") }
    public func addToTags(_ member: Tag) throws { try managedObject.add(member.managedObject, to: "tags") }
    public func removeFromTags(_ member: Tag) throws {
        try managedObject.remove(member.managedObject, from: "tags")
    }
    public func insertIntoTags(_ member: Tag, at index: Int) throws {
        try managedObject.insert(member.managedObject, at: index, in: "tags")
    }

    public var context: Item? { get throws { try target("context") } }
    public func setContext(_ value: Item?) throws { try setTarget(value, "context") }

    public var from: [ManagedObject] { get throws { try managedObject.members("from") } }
    public func setFrom(_ value: [ManagedObject]) throws { try managedObject.setMembers(value, of: "from") }
    public func addToFrom(_ member: ManagedObject) throws { try managedObject.add(member, to: "from") }
    public func removeFromFrom(_ member: ManagedObject) throws {
        try managedObject.remove(member, from: "from")
    }

    public var twins: [Note] { get throws { try fetched("twins") } }

    /// The model's fetch request NotesOfTag: `ANY tags.name == $name AND class != "$no"`.
    public class func fetchNotesOfTag(in context: Corestone.Context, name: any PropertyConvertible) throws -> [Note] {
        try context.fetch(Note.self, "ANY tags.name == %@ AND class != \"$no\"", name, limit: 3)
    }
}
