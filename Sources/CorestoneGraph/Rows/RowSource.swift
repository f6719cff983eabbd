import CorestoneModel
import CorestoneValues

/// The source of the rows to which a `StoredRow` refers.
package protocol RowSource: AnyObject {
    var model: Model { get }
    /// The store's identifier.
    var identifier: String { get }

    /// Sets the record of `target`, whose entity and primary key are set, if the store has the row.
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
    /// Returns nil if application code does not run, so that the row itself can be used.
    func object(of row: StoredRow) -> (any ValueObject)?
    /// Returns the ID of a row if it can be used instead of the row; otherwise nil. A row is equal to its ID.
    func reference(of row: StoredRow) -> ObjectIDReference?
}
