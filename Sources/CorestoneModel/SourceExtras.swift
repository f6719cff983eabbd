/// The content of a source model that `Model` does not represent.
///
/// It belongs to an entity, a property or the model. It is kept so that no information is lost and tools can read it
/// (`codeGenerationType`, `usesScalarValueType`, `syncable`).
public struct SourceExtras: Hashable, Sendable {
    public var attributes: [String: String] = [:]
    /// The elements in the order of the file.
    ///
    /// User info, unique constraints, fetch indexes, fetch requests, configurations and composite types do not have
    /// separate extras. If such an element has unknown content, the whole element is kept here, in addition to the part
    /// that was read.
    public var elements: [SourceElement] = []

    public init() {}

    public var isEmpty: Bool { attributes.isEmpty && elements.isEmpty }
}

/// An XML element of a source model, or a run of text within one.
public struct SourceElement: Hashable, Sendable {
    /// The name with its prefix; empty for a run of text.
    public var name: String
    public var attributes: [String: String]
    /// The child elements, in order.
    public var elements: [SourceElement]
    /// The text of a run of text; empty for an element. White space between elements is omitted.
    public var text = ""
    /// The index among the children of its parent, from 0.
    public var place = 0

    public init(name: String, attributes: [String: String] = [:], elements: [SourceElement] = []) {
        self.name = name
        self.attributes = attributes
        self.elements = elements
    }

    public init(text: String) {
        self.init(name: "")
        self.text = text
    }
}
