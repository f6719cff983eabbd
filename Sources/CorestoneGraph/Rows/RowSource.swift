import CorestoneModel
import CorestoneValues

/// Where the rows come from that a `StoredRow` leads to.
package protocol RowSource: AnyObject {
    var model: Model { get }
    /// The store's identifier.
    var identifier: String { get }

    /// Has the target of a to-one relationship stand on its row, if the store has it; it knows its entity and its key.
    func find(_ target: StoredRow, of row: StoredRow, _ relationship: Relationship) throws

    /// The members of a to-many relationship, in order.
    func members(of row: StoredRow, _ relationship: Relationship) throws -> [StoredRow]
    func memberCount(of row: StoredRow, _ relationship: Relationship) throws -> Int

    /// A value that lies in a file of its own.
    func externalValue(named name: String) -> ExternalValue

    /// What no row has: the value of a transient attribute or of a fetched property.
    func hostValue(of row: StoredRow, _ name: String) throws -> PropertyValue

    /// What the host's code gets in the row's place; nil for the row itself, where no such code is run.
    func object(of row: StoredRow) -> (any ValueObject)?
    /// The row's ID, where somebody may keep it; nil for the row itself, which is as good to compare with.
    func reference(of row: StoredRow) -> ObjectIDReference?
}
