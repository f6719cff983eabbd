/// What a source model says of an entity, a property or the model beyond what a `Model` has a name for: kept as it was
/// found, so that nothing is lost and tools can look at it (`codeGenerationType`, `usesScalarValueType`, `syncable`).
public struct SourceExtras: Hashable, Sendable {
    public var attributes: [String: String] = [:]
    public var elements: [SourceElement] = []

    public init() {}

    public var isEmpty: Bool { attributes.isEmpty && elements.isEmpty }
}

/// One element of a source model's XML.
public struct SourceElement: Hashable, Sendable {
    public var name: String
    public var attributes: [String: String]
    public var elements: [SourceElement]

    public init(name: String, attributes: [String: String] = [:], elements: [SourceElement] = []) {
        self.name = name
        self.attributes = attributes
        self.elements = elements
    }
}
