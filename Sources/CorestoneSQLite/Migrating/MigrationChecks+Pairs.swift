import CorestoneModel
import CorestoneValues

/// The checks for pairs of objects that relationships of the new model cannot store.
extension MigrationChecks {
    func lostPairs() throws -> [CoreError] { try multiplicityConflicts() + inverseConflicts() }

    /// Finds objects with several targets or owners where the new model allows only one.
    private func multiplicityConflicts() throws -> [CoreError] {
        try plan.links.compactMap { link in
            let relationship = link.relationship
            // A to-many relationship without an inverse stores one owner for each member.
            let isOwner = relationship.isToMany && relationship.inverse == nil
            guard isOwner || !relationship.isToMany else { return nil }
            let (one, others) = isOwner ? ("member", "owner") : ("owner", "member")
            let count = try self.count(
                "SELECT \(one) FROM (\(link.origin.query)) WHERE \(one) IS NOT NULL AND \(others) IS NOT NULL GROUP BY \(one) "
                    + "HAVING count(DISTINCT \(others)) > 1")
            if count == 0 { return nil }
            return isOwner ? severalOwners(relationship, count) : severalMembers(relationship, count)
        }
    }

    private func severalMembers(_ relationship: Relationship, _ count: Int64) -> CoreError {
        failure(
            relationship,
            "is to-one in the new model, but \(objects(count, of: relationship.entity)) several members in the store; make it "
                + "to-many, or remove all but one member of each object first")
    }

    private func severalOwners(_ relationship: Relationship, _ count: Int64) -> CoreError {
        failure(
            relationship,
            "does not have an inverse in the new model, so members have one owner, but "
                + "\(objects(count, of: relationship.destination)) several; keep the inverse, or remove all but "
                + "one owner of each object first")
    }

    /// Returns the beginning of a message about a number of objects, with the former name of their entity.
    private func objects(_ count: Int64, of entity: Entity) -> String {
        let name = plan.mapping.source(of: entity)?.name ?? entity.name
        return count == 1 ? "1 object of \(name) has" : "\(count) objects of \(name) have"
    }

    private func failure(_ relationship: Relationship, _ text: String) -> CoreError {
        CoreError(
            .migration, code: .migration, "\(relationship.entity.name).\(relationship.name) \(text)",
            entity: relationship.entity.name, key: relationship.name, file: connection.path)
    }

    /// Finds relationships that become inverses of each other, but have different pairs.
    private func inverseConflicts() throws -> [CoreError] {
        var failures: [CoreError] = []
        for entity in plan.mapping.destination.entities {
            for relationship in entity.ownRelationships {
                guard let inverse = relationship.inverse, isKept(relationship, before: inverse),
                    let lost = lostPairs(of: inverse, keeping: relationship)
                else { continue }
                let count = try count(lost)
                if count == 0 { continue }
                failures.append(
                    failure(
                        inverse,
                        "and \(relationship.entity.name).\(relationship.name) are inverses in the new model, but "
                            + "\(count) \(count == 1 ? "pair of objects is" : "pairs of objects are") only in one of them; "
                            + "make the relationships equal first"))
            }
        }
        return failures
    }

    /// Whether the new store keeps the pairs of the relationship instead of those of its inverse.
    private func isKept(_ relationship: Relationship, before inverse: Relationship) -> Bool {
        if relationship.isTransient || inverse.isTransient || relationship === inverse { return false }
        if relationship.isToMany != inverse.isToMany { return !relationship.isToMany }
        if relationship.isToMany { return plan.joins.contains { $0.join.naming === relationship } }
        return relationship.key < inverse.key
    }

    /// Returns the query for the pairs that only one of two relationships has, and that are therefore lost.
    ///
    /// - Returns: nil if no pair can be lost.
    private func lostPairs(of inverse: Relationship, keeping relationship: Relationship) -> String? {
        guard let kept = LinkOrigin.source(of: relationship, plan.mapping),
            let other = LinkOrigin.source(of: inverse, plan.mapping), kept.inverse !== other,
            let ours = LinkOrigin(of: relationship, mapping: plan.mapping, former: plan.former)?.query,
            let theirs = LinkOrigin(of: inverse, mapping: plan.mapping, former: plan.former)?.query
        else { return nil }
        // Pairs in the column of another to-one relationship belong to that relationship.
        let isStoredElsewhere = other.isToMany && other.inverse?.isToMany == false
        if isStoredElsewhere { return nil }
        let (first, second) = ("SELECT owner, member FROM (\(ours))", "SELECT member, owner FROM (\(theirs))")
        let lost = "SELECT * FROM (\(second) EXCEPT \(first))"
        // Two to-one relationships, or two to-many relationships, must have the same pairs.
        return relationship.isToMany != inverse.isToMany
            ? lost : "\(lost) UNION ALL SELECT * FROM (\(first) EXCEPT \(second))"
    }

    private func count(_ query: String) throws -> Int64 {
        let statement = try connection.prepare("SELECT count(*) FROM (\(query))", "migrate \(connection.path)")
        defer { statement.reset() }
        return try statement.step("migrate \(connection.path)") ? statement.integer(0) : 0
    }
}
