import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// A description of how the objects of one entity become objects of another entity.
public struct EntityMapping: Hashable, Sendable {
    /// Core Data's kinds.
    public enum Kind: Int64, Sendable { case undefined = 0, custom, add, remove, copy, transform }

    public var name: String
    public var kind: Kind
    /// nil if the entity is new.
    public var sourceName: String?
    /// nil if the entity was removed.
    public var destinationName: String?
    /// The version hashes of the entities for which the mapping was created.
    public var sourceHash: [UInt8]?
    public var destinationHash: [UInt8]?
    public var attributeMappings: [PropertyMapping] = []
    public var relationshipMappings: [PropertyMapping] = []
    /// The name of the class that executes a custom mapping.
    public var policyClassName: String?
    /// Returns the objects that are migrated: as a rule a `FETCH(…)` of the objects of the source entity, see `filter`.
    public var sourceExpression: Expression?
    public var userInfo: [String: String] = [:]

    /// Creates an entity mapping. Without a source expression, it migrates all objects of the source entity.
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

/// A description of the value of one property.
public struct PropertyMapping: Hashable, Sendable {
    /// The property of the destination.
    public var name: String
    /// The value; `$source` is the object that is migrated, `$manager` the migration. nil keeps the value that a new object
    /// has.
    public var valueExpression: Expression?
    /// Whether there is an expression without a counterpart in the library; `valueExpression` is nil then.
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
    /// The name that Core Data's compiler chooses: `CarToBus`, or the name of the entity that was added or removed.
    static func defaultName(_ source: String?, _ destination: String?) -> String {
        guard let source, let destination else { return source ?? destination ?? "" }
        return "\(source)To\(destination)"
    }

    /// The kind that Core Data's compiler chooses. A mapping that assigns something else than the attribute of the same name is a
    /// transform.
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

    /// The predicate that selects the objects to be migrated, as its text; nil for all objects, and for a source expression in
    /// another form than Core Data's. To set it replaces the source expression.
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

    /// With the version hashes of the models where a mapping has none.
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

    /// With the property mappings in the order of their names, which has no effect.
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
