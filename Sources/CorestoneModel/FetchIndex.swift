/// An index that the store keeps so that fetches by these properties are quick.
public struct FetchIndex: Sendable {
    /// How an element is kept; Core Data's values.
    public enum Collation: Int64, Sendable { case binary = 0, rTree = 1 }

    public struct Element: Sendable {
        /// The property; for an expression the name that Core Data gives it ("expression1").
        public let property: String
        /// What is indexed instead of a property: `entity`, `lowercase:(name)`.
        public let expression: ExpressionText?
        /// The type of the expression's value.
        public let expressionType: AttributeType
        public let collation: Collation
        public let isAscending: Bool

        public init(property: String, collation: Collation = .binary, isAscending: Bool = true) {
            self.property = property
            expression = nil
            expressionType = .undefined
            self.collation = collation
            self.isAscending = isAscending
        }

        public init(
            expression: ExpressionText, named name: String, type: AttributeType = .undefined,
            collation: Collation = .binary, isAscending: Bool = true
        ) {
            property = name
            self.expression = expression
            expressionType = type
            self.collation = collation
            self.isAscending = isAscending
        }
    }

    public let name: String
    public let elements: [Element]
    /// Only objects for which it holds are in the index.
    public let partialPredicate: PredicateText?

    public init(name: String, elements: [Element], partialPredicate: PredicateText? = nil) {
        self.name = name
        self.elements = elements
        self.partialPredicate = partialPredicate
    }

    /// Whether it is what an attribute marked as indexed has: one property, ascending, every object.
    public var isPlain: Bool {
        elements.count == 1 && elements[0].isAscending && elements[0].collation == .binary
            && elements[0].expression == nil && partialPredicate == nil
    }

    public var isRTree: Bool { elements.contains { $0.collation == .rTree } }
}
