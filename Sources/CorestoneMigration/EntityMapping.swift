import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// A mapping from an entity of the source model to an entity of the destination model.
public struct EntityMapping: Hashable, Sendable {
    /// A kind of entity mapping, with the raw values of `NSEntityMappingType`.
    public enum Kind: Int64, Sendable { case undefined = 0, custom, add, remove, copy, transform }

    public var name: String
    public var kind: Kind
    /// The name of the source entity; nil if the destination entity is new.
    public var sourceName: String?
    /// The name of the destination entity; nil if the source entity was removed.
    public var destinationName: String?
    /// The version hash of the source entity for which the mapping was created; nil if it is not known.
    public var sourceHash: [UInt8]?
    /// The version hash of the destination entity for which the mapping was created; nil if it is not known.
    public var destinationHash: [UInt8]?
    public var attributeMappings: [PropertyMapping] = []
    public var relationshipMappings: [PropertyMapping] = []
    /// The class name of the migration policy that executes a custom mapping.
    public var policyClassName: String?
    /// The expression for the objects to be migrated; nil for all objects of the source entity.
    ///
    /// Usually a `FETCH(…)` of the objects of the source entity, see `filter`.
    public var sourceExpression: Expression?
    public var userInfo: [String: String] = [:]

    /// Creates an entity mapping.
    ///
    /// Without a source expression, the mapping migrates all objects of the source entity, but not those of its
    /// subentities.
    public init(
        name: String, kind: Kind, sourceName: String? = nil, destinationName: String? = nil, sourceHash: [UInt8]? = nil,
        destinationHash: [UInt8]? = nil, attributeMappings: [PropertyMapping] = [],
        relationshipMappings: [PropertyMapping] = [], policyClassName: String? = nil,
        sourceExpression: Expression? = nil, userInfo: [String: String] = [:]
    ) {
        (self.name, self.kind, self.sourceName, self.destinationName) = (name, kind, sourceName, destinationName)
        (self.sourceHash, self.destinationHash) = (sourceHash, destinationHash)
        (self.attributeMappings, self.relationshipMappings) = (attributeMappings, relationshipMappings)
        (self.policyClassName, self.userInfo) = (policyClassName, userInfo)
        self.sourceExpression = sourceExpression ?? sourceName.map { MappingExpressions.objects(of: $0) }
    }
}

/// A property of a destination entity, and the expression for its value.
public struct PropertyMapping: Hashable, Sendable {
    /// The name of the property of the destination entity.
    public var name: String
    /// The expression for the value; nil keeps the default value. `$source` is the source object, `$manager` the
    /// migration manager.
    public var valueExpression: Expression?
    /// Whether the file contains an expression that the library cannot read. `valueExpression` is then nil.
    public var isUnreadable = false
    public var userInfo: [String: String] = [:]

    public init(
        name: String, valueExpression: Expression? = nil, isUnreadable: Bool = false, userInfo: [String: String] = [:]
    ) {
        (self.name, self.valueExpression) = (name, valueExpression)
        (self.isUnreadable, self.userInfo) = (isUnreadable, userInfo)
    }
}

extension EntityMapping {
    /// Returns the name that Xcode's mapping model compiler chooses for an entity mapping without a name.
    ///
    /// It has the form `CarToBus`, or is the name of the entity that was added or removed.
    static func defaultName(_ source: String?, _ destination: String?) -> String {
        guard let source, let destination else { return source ?? destination ?? "" }
        return "\(source)To\(destination)"
    }

    /// The kind that Xcode's mapping model compiler chooses.
    ///
    /// A mapping with both entities and without a policy is a copy or a transform. It is a transform if an attribute
    /// has an expression that differs from the source attribute with the same name.
    var impliedKind: Kind {
        if policyClassName != nil { return .custom }
        guard sourceName != nil else { return .add }
        guard destinationName != nil else { return .remove }
        let isCopied = attributeMappings.allSatisfy {
            !$0.isUnreadable
                && ($0.valueExpression == nil || $0.valueExpression == MappingExpressions.source($0.name))
        }
        return isCopied ? .copy : .transform
    }

    /// The text of the predicate that selects the objects to be migrated; nil for all objects.
    ///
    /// Also nil for a source expression that differs from the form that Xcode generates. Setting the predicate replaces
    /// the source expression.
    public var filter: String? {
        get {
            let found = sourceName.flatMap { MappingExpressions.filter(in: sourceExpression, of: $0) }
            return found == MappingExpressions.allObjects ? nil : found
        }
        set {
            sourceExpression = sourceName.map {
                MappingExpressions.objects(of: $0, matching: newValue ?? MappingExpressions.allObjects)
            }
        }
    }

    /// Returns the mappings with missing version hashes filled in from the models.
    static func withHashes(_ mappings: [EntityMapping], _ source: Model?, _ destination: Model?) -> [EntityMapping] {
        func filled(
            _ mappings: [EntityMapping], _ model: Model?, _ name: KeyPathOf<String>, _ hash: KeyPathOf<[UInt8]>
        ) -> [EntityMapping] {
            guard let model, mappings.contains(where: { $0[keyPath: name] != nil && $0[keyPath: hash] == nil }) else {
                return mappings
            }
            let hashes = entityVersionHashes(of: model)
            return mappings.map { mapping in
                var mapping = mapping
                mapping[keyPath: hash] = mapping[keyPath: hash] ?? mapping[keyPath: name].flatMap { hashes[$0] }
                return mapping
            }
        }
        let mappings = filled(mappings, source, \.sourceName, \.sourceHash)
        return filled(mappings, destination, \.destinationName, \.destinationHash)
    }

    private typealias KeyPathOf<Value> = WritableKeyPath<EntityMapping, Value?>

    /// The mapping with its property mappings sorted by name, because `==` ignores their order.
    fileprivate var ordered: EntityMapping {
        var mapping = self
        mapping.attributeMappings.sort { Text($0.name) < Text($1.name) }
        mapping.relationshipMappings.sort { Text($0.name) < Text($1.name) }
        return mapping
    }
}

extension MappingModel: Equatable {
    public static func == (one: MappingModel, other: MappingModel) -> Bool {
        one.entityMappings.map(\.ordered) == other.entityMappings.map(\.ordered)
    }
}
