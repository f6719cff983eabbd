import CorestoneModel
import CorestoneValues

/// The source of the rows to which a `StoredRow` refers.
package protocol RowSource: AnyObject {
    var model: Model { get }
    /// The store's identifier.
    var identifier: String { get }

    /// Sets the row of a to-one target, which contains its entity and key, if the store has the row.
    func find(_ target: StoredRow, of row: StoredRow, _ relationship: Relationship) throws

    /// Returns the members of a to-many relationship, in order.
    func members(of row: StoredRow, _ relationship: Relationship) throws -> [StoredRow]
    func memberCount(of row: StoredRow, _ relationship: Relationship) throws -> Int

    /// Returns the value of a backing file.
    func externalValue(named name: String) -> ExternalValue

    /// Returns the value of a transient attribute or of a fetched property, which rows do not contain.
    func hostValue(of row: StoredRow, _ name: String) throws -> PropertyValue

    /// Returns the object to be passed to application code instead of the row.
    ///
    /// Returns nil, for the row itself, if no such code runs.
    func object(of row: StoredRow) -> (any ValueObject)?
    /// Returns the ID of a row if it can be used instead of the row; otherwise nil. The two are equal.
    func reference(of row: StoredRow) -> ObjectIDReference?
}
