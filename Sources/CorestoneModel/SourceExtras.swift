/// What a source model says of an entity, a property or the model beyond what a `Model` has a name for: kept as it was
/// found, so that nothing is lost and tools can look at it (`codeGenerationType`, `usesScalarValueType`, `syncable`).
public struct SourceExtras: Hashable, Sendable {
    public var attributes: [String: String] = [:]
    /// In the file's order. Of what has no extras of its own (user info, unique constraints, fetch indexes, fetch requests,
    /// configurations, composite types) the whole element is here when anything in it means nothing to a `Model`, beside
    /// what was read of it.
    public var elements: [SourceElement] = []

    public init() {}

    public var isEmpty: Bool { attributes.isEmpty && elements.isEmpty }
}

/// One element of a source model's XML, or a run of text in one.
public struct SourceElement: Hashable, Sendable {
    /// As it is spelt, with its prefix; empty for a run of text.
    public var name: String
    public var attributes: [String: String]
    /// What it holds, in order.
    public var elements: [SourceElement]
    /// Of a run of text, what it says. Runs of white space are left out.
    public var text = ""
    /// Where it stands among what the element around it holds, from 0 on.
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
