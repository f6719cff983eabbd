/// An index of an entity. In a store, it speeds up fetches by the indexed properties.
public struct FetchIndex: Sendable {
    /// The type of index for an element, with Core Data's values.
    public enum Collation: Int64, Sendable { case binary = 0, rTree = 1 }

    /// An element of an index: a property or an expression.
    public struct Element: Sendable {
        /// The property; for an expression, a name such as Core Data generates ("expression1").
        public let property: String
        /// The indexed expression, such as `entity` or `lowercase:(name)`; nil if the element is a property.
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

    /// The way in which a source model declares the index.
    package enum Spelling: Sendable {
        case fetchIndex
        /// An attribute that is marked as indexed.
        case attribute
        /// The compound indexes of older models.
        case compoundIndex
        /// The index is not in the source.
        ///
        /// Xcode's compiler adds such an index for an attribute that is the only element of another fetch index.
        case implied
    }

    /// Creates an index from a compound index of an older model.
    ///
    /// Its names are those of properties, or `self` and `entity` for the object itself and its entity.
    init(compound names: [String], of entity: Entity) {
        let elements = names.map { name in
            let isSpecial = (name == "self" || name == "entity") && entity.anyProperty(named: name) == nil
            return isSpecial ? Element(expression: ExpressionText(name), named: name) : Element(property: name)
        }
        self.init(name: names.joined(separator: "_"), elements: elements)
    }

    public let name: String
    public let elements: [Element]
    /// The predicate that selects the indexed objects; nil for all objects.
    public let partialPredicate: PredicateText?
    private(set) var spelling = Spelling.fetchIndex
    /// Whether the application added the index.
    ///
    /// An invalid R-tree index is rejected at freezing only if the application added it. An index from a file is kept.
    var isOfProgram = false

    public init(name: String, elements: [Element], partialPredicate: PredicateText? = nil) {
        self.name = name
        self.elements = elements
        self.partialPredicate = partialPredicate
    }

    /// Returns the index, declared in another way in a source model.
    package func spelt(_ spelling: Spelling) -> FetchIndex {
        var index = self
        index.spelling = spelling
        return index
    }

    /// Whether the index is equivalent to that of an attribute marked as indexed.
    ///
    /// Such an index has one property, ascending, and contains all objects.
    public var isPlain: Bool {
        elements.count == 1 && elements[0].isAscending && elements[0].collation == .binary
            && elements[0].expression == nil && partialPredicate == nil
    }

    /// Whether Xcode's compiler added the index because of another index of only this attribute.
    var isImplied: Bool { if case .implied = spelling { true } else { false } }

    public var isRTree: Bool { elements.contains { $0.collation == .rTree } }
}
