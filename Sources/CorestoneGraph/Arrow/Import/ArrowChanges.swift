import CorestoneModel
import CorestoneValues

/// The changes of an Arrow import to existing objects. Equal values are not set, so that an object remains unchanged.
struct ArrowChanges {
    private let trial: Trial

    init(_ trial: Trial) { self.trial = trial }

    func set(_ value: PropertyValue, _ attribute: Attribute, of object: ManagedObject) throws {
        let accepted = try attribute.accept(value, for: object.entity)
        let former = try object.propertyValue(of: attribute)
        if former == accepted { return }
        trial.noteValue(former, attribute.key, of: object)
        try object.set(accepted, key: attribute.key)
    }

    func setTarget(_ target: ManagedObject?, _ relationship: Relationship, of object: ManagedObject) throws {
        if try object.target(of: relationship) === target { return }
        try object.set(target.map { .object($0) } ?? .null, key: relationship.key)
    }

    func setMembers(_ members: [ManagedObject], _ relationship: Relationship, of object: ManagedObject) throws {
        if try object.members(key: relationship.key).elementsEqual(members, by: ===) { return }
        try object.setMembers(members, key: relationship.key)
    }
}
