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

    /// Where a source model says so.
    package enum Spelling: Sendable {
        case fetchIndex
        /// An attribute that is marked as indexed.
        case attribute
        /// The lists from before there were fetch indexes.
        case compoundIndex
        /// Nowhere: the compiler adds it for an attribute that a fetch index has alone.
        case implied
    }

    /// What the lists from before there were fetch indexes name: properties, and as `self` and `entity` the object itself and its
    /// entity.
    init(compound names: [String], of entity: Entity) {
        let elements = names.map { name in
            let isSpecial = (name == "self" || name == "entity") && entity.anyProperty(named: name) == nil
            return isSpecial ? Element(expression: ExpressionText(name), named: name) : Element(property: name)
        }
        self.init(name: names.joined(separator: "_"), elements: elements)
    }

    public let name: String
    public let elements: [Element]
    /// Only objects for which it holds are in the index.
    public let partialPredicate: PredicateText?
    private(set) var spelling = Spelling.fetchIndex
    /// Whether a program added it, which can be told of a mistake; an index that a file has stands as it is.
    var isOfProgram = false

    public init(name: String, elements: [Element], partialPredicate: PredicateText? = nil) {
        self.name = name
        self.elements = elements
        self.partialPredicate = partialPredicate
    }

    package func spelt(_ spelling: Spelling) -> FetchIndex {
        var index = self
        index.spelling = spelling
        return index
    }

    /// Whether it is what an attribute marked as indexed has: one property, ascending, every object.
    public var isPlain: Bool {
        elements.count == 1 && elements[0].isAscending && elements[0].collation == .binary
            && elements[0].expression == nil && partialPredicate == nil
    }

    /// Whether the compiler added it beside another index.
    var isImplied: Bool { if case .implied = spelling { true } else { false } }

    public var isRTree: Bool { elements.contains { $0.collation == .rTree } }
}
