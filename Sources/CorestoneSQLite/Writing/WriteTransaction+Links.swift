import CSQLite
import CorestoneGraph
import CorestoneModel
import CorestoneValues

extension WriteTransaction {
    func link(_ relationship: Relationship, added: [Link], removed: [Link]) throws {
        let purpose = "save the members of \(relationship.entity.name).\(relationship.name)"
        switch schema.storage(of: relationship) {
        case nil, .foreignKey(_, _, _, true):
            // The link is stored in the row of the to-one side.
            return
        case .foreignKey(let table, let column, let order, false):
            let cleared = order.map { ", \($0) = NULL" } ?? ""
            try run(
                "UPDATE \(table.name) SET \(column) = NULL\(cleared) WHERE \(column) = ?1 AND Z_PK = ?2", removed,
                purpose)
            try run("UPDATE \(table.name) SET \(column) = ?1 WHERE Z_PK = ?2", added, purpose)
        case .joinTable(let table, let owner, let member, _, let isReflexive):
            let mirrored = { (links: [Link]) in
                isReflexive ? links.flatMap { [$0, Link(owner: $0.member, member: $0.owner)] } : links
            }
            try run("DELETE FROM \(table) WHERE \(owner) = ?1 AND \(member) = ?2", mirrored(removed), purpose)
            try run(
                "INSERT OR IGNORE INTO \(table) (\(owner), \(member)) VALUES (?1, ?2)", mirrored(added), purpose
            ) { link in
                // If nothing changed, the pair already exists, or a trigger of the file ignored it.
                guard connection.changes == 0 else { return }
                let search = "SELECT 1 FROM \(table) WHERE \(owner) = ?1 AND \(member) = ?2"
                if try !connection.finds(search, link.owner, link.member, purpose: purpose) {
                    throw connection.unwrittenRowError(purpose, entity: relationship.entity.name)
                }
            }
        }
    }

    private func run(
        _ text: String, _ links: [Link], _ purpose: String, check: (Link) throws -> Void = { _ in }
    ) throws {
        if links.isEmpty { return }
        let statement = try connection.statement(text, purpose)
        for link in links {
            statement.bind(link.owner, at: 1)
            statement.bind(link.member, at: 2)
            try statement.run(purpose)
            try check(link)
        }
    }

    func setOrder(_ relationship: Relationship, owners: [(owner: Int64, members: [Int64])]) throws {
        let purpose = "save the order of \(relationship.entity.name).\(relationship.name)"
        let read: String
        let write: String
        switch schema.storage(of: relationship) {
        case .foreignKey(let table, let column, let order?, _):
            read = "SELECT Z_PK, \(order) FROM \(table.name) WHERE \(column) = ?1"
            write = "UPDATE \(table.name) SET \(order) = ?3 WHERE \(column) = ?1 AND Z_PK = ?2"
        case .joinTable(let table, let owner, let member, let order?, _):
            read = "SELECT \(member), \(order) FROM \(table) WHERE \(owner) = ?1"
            write = "UPDATE \(table) SET \(order) = ?3 WHERE \(owner) = ?1 AND \(member) = ?2"
        default: return
        }
        let reader = try connection.statement(read, purpose)
        let writer = try connection.statement(write, purpose)
        for (owner, members) in owners {
            var present: [Int64: Int64] = [:]
            reader.bind(owner, at: 1)
            while try reader.step(purpose) {
                if !reader.isNull(1) { present[reader.integer(0)] = reader.integer(1) }
            }
            reader.reset()
            for change in OrderKeys.changes(members.map { present[$0] }) {
                writer.bind(owner, at: 1)
                writer.bind(members[change.place], at: 2)
                writer.bind(change.key, at: 3)
                try writer.run(purpose)
            }
        }
    }
}
