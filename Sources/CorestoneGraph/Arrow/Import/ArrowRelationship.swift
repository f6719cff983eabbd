import CorestoneModel
import CorestoneValues

/// A relationship that columns of an Arrow stream set: by the URIs of its targets, or by keys of its targets.
final class ArrowRelationship {
    let relationship: Relationship
    /// The input of the URIs, or of lists of URIs; nil if the targets are found by keys.
    let references: ArrowInput?
    /// The columns with keys. Those of a to-many relationship are the items of `lists`.
    let keys: [ArrowColumn]
    /// The lists of a to-many relationship.
    let lists: ArrowInput?
    let entity: Entity

    init(
        _ relationship: Relationship, of entity: Entity, references: ArrowInput? = nil, keys: [ArrowColumn] = [],
        lists: ArrowInput? = nil
    ) {
        (self.relationship, self.entity, self.references) = (relationship, entity, references)
        (self.keys, self.lists) = (keys, lists)
    }

    /// The names of the columns, for messages.
    var columns: String {
        let inputs = lists.map { [$0] } ?? references.map { [$0] } ?? keys.map(\.input)
        return inputs.map { quoted($0.column) }.listed
    }

    /// The key of a target: the values of attributes, or one URI.
    struct Key: Hashable {
        let values: [PropertyValue]
        var isNull: Bool { values.allSatisfy(\.isNull) }
    }

    /// Returns the keys of a row's targets: at most one for a to-one relationship; nil for null.
    func targets(_ row: Int) throws -> [Key]? {
        guard let lists else {
            let key = try key(row)
            return key.isNull ? nil : [key]
        }
        if lists.isNull(row) { return nil }
        return try lists.items(row).map { place in
            let key = try key(place)
            guard !key.isNull else {
                throw CoreError(
                    .typeMismatch,
                    "\(entity.name).\(relationship.name) takes a list of objects without nulls; leave the nulls out",
                    entity: entity.name, key: relationship.name)
            }
            return key
        }
    }

    private func key(_ place: Int) throws -> Key {
        guard let references else { return Key(values: try keys.map { try $0.value(place) }) }
        return Key(values: [try references.uri(place, of: relationship.name, entity)])
    }
}
