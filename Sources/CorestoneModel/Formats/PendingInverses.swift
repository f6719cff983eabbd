/// The names of inverse relationships in a file, which are resolved when all relationships are known.
///
/// Two relationships become inverses if each names the other and their destinations match. Other names are ignored,
/// because files with such names exist, and Core Data opens them.
struct PendingInverses {
    private var named: [(relationship: Relationship, inverse: String)] = []

    mutating func add(_ relationship: Relationship, inverse: String) { named.append((relationship, inverse)) }

    func connect() throws {
        let names = Dictionary(named.map { (ObjectIdentifier($0.relationship), $0.inverse) }) { first, _ in first }
        var byName: [ObjectIdentifier: [String: Relationship]] = [:]
        for (relationship, _) in named {
            byName[ObjectIdentifier(relationship.entity), default: [:]][relationship.name] = relationship
        }
        for (relationship, name) in named where relationship.inverse == nil {
            let candidates = sequence(first: relationship.destination, next: \.parent)
            let found = candidates.lazy.compactMap { byName[ObjectIdentifier($0)]?[name] }.first
            guard let inverse = found, inverse.inverse == nil,
                names[ObjectIdentifier(inverse)] == relationship.name,
                inverse.destination.isKind(of: relationship.entity)
                    || relationship.entity.isKind(of: inverse.destination)
            else { continue }
            try relationship.setInverse(inverse)
        }
    }
}
