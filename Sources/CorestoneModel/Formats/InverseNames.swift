/// The inverses that a file names, to be connected when every relationship is known.
///
/// Two relationships become each other's inverse when each names the other and each leads where the other is. A name that
/// is not answered is left out: such files exist, and open.
struct InverseNames {
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
