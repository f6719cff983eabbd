import CorestoneGraph
import CorestoneCustomStores
import CorestoneModel
import CorestoneValues

/// A row that a custom store returns: Core Data's `NSIncrementalStoreNode` and `NSAtomicStoreCacheNode`.
///
/// It is a class, so that a store can keep its nodes and update them.
///
/// Only one thread at a time may use it.
public final class StoreNode {
    public let row: RowReference
    /// The version: 0 to 2147483647, increased with each change; always 0 in a store without versions.
    public private(set) var version: Int64
    /// The values by property name; unknown names are ignored. The value of a to-one relationship is `.null`, a
    /// reference as a value (`.int`, `.text`, `.bytes`) or an object ID (`ObjectIDReference`). The library reads a
    /// missing relationship with `members`. The value of a to-many relationship is an array of references; leave it out
    /// if the store does not have them available.
    public private(set) var values: [String: PropertyValue]
    /// The entities of targets, by the name of the to-one relationship, for targets of a subentity of its destination.
    public var targets: [String: Entity] = [:]

    public init(_ row: RowReference, _ values: [String: PropertyValue] = [:], version: Int64 = 0) {
        (self.row, self.values, self.version) = (row, values, version)
    }

    public convenience init(
        _ entity: Entity, _ reference: StoreReference, _ values: [String: PropertyValue] = [:], version: Int64 = 0
    ) {
        self.init(RowReference(entity, reference), values, version: version)
    }

    /// Replaces the values and the version.
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
