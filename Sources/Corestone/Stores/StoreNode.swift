import CorestoneGraph
import CorestoneHosting
import CorestoneModel
import CorestoneValues

/// A row of a host's store as the store gives it: what Apple's framework calls an incremental store's node, or an atomic store's cache
/// node. A class, so that a store may keep its nodes and update them.
///
/// Of one thread at a time.
public final class StoreNode {
    public let row: RowReference
    /// 0 to 2147483647, higher with each change; 0 every time in a store that keeps none.
    public private(set) var version: Int64
    /// By name. What the entity does not have is left out. Of a to-one relationship `.null`, or a reference as a value (`.int`,
    /// `.text`, `.bytes`) or as an object ID (`ObjectIDReference`); one that is missing is asked for. Of a to-many relationship, if
    /// the store has them at hand, an array of these.
    public private(set) var values: [String: PropertyValue]
    /// The entities of targets that inherit from the relationship's destination, by the name of the to-one relationship.
    public var targets: [String: Entity] = [:]

    public init(_ row: RowReference, _ values: [String: PropertyValue] = [:], version: Int64 = 0) {
        (self.row, self.values, self.version) = (row, values, version)
    }

    public convenience init(
        _ entity: Entity, _ reference: StoreReference, _ values: [String: PropertyValue] = [:], version: Int64 = 0
    ) {
        self.init(RowReference(entity, reference), values, version: version)
    }

    /// The values and the version that the node has from now on.
    public func update(_ values: [String: PropertyValue], version: Int64) {
        (self.values, self.version) = (values, version)
    }

    public func value(of property: String) -> PropertyValue? { values[property] }

    var pushed: PushedRow {
        PushedRow(
            row.entity, row.reference, version: version,
            values.compactMap { name, value in
                row.entity.property(named: name).map { ($0.key, value, targets[name]) }
            })
    }
}
