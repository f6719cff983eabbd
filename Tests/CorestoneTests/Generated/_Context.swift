// Written by `corestone model codegen`, anew each time: changes are lost.
// swift-format-ignore-file

import Corestone

public enum ContextAttributes {
    public static let text = "text"
}

/// An object of the entity Context, as the model Odd has it.
open class _Context: EntityObject {
    open override class var entityName: String { "Context" }

    public var text: String { get throws { try requiredValue("text") } }
    public func setText(_ value: String) throws { try setValue(value, "text") }
}
