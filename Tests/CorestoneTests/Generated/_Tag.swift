// Written by `corestone model codegen`, anew each time: changes are lost.
// swift-format-ignore-file

import Corestone

public enum TagAttributes {
    public static let name = "name"
}

public enum TagRelationships {
    public static let notes = "notes"
}

/// An object of the entity Tag, as the model Odd has it.
open class _Tag: EntityObject {
    open override class var entityName: String { "Tag" }

    public var name: String { get throws { try requiredValue("name") } }
    public func setName(_ value: String) throws { try setValue(value, "name") }

    public var notes: [Note] { get throws { try members("notes") } }
    public func setNotes(_ value: [Note]) throws { try setMembers(value, "notes") }
    public func addToNotes(_ member: Note) throws { try managedObject.add(member.managedObject, to: "notes") }
    public func removeFromNotes(_ member: Note) throws {
        try managedObject.remove(member.managedObject, from: "notes")
    }

    /// The model's fetch request allTags: `every object`.
    public class func fetchAllTags(in context: Corestone.Context) throws -> [Tag] {
        try context.fetch(Tag.self)
    }
}
