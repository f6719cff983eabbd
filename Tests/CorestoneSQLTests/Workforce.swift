import CorestoneModel
import CorestonePredicate
import CorestoneSQL
import CorestoneValues

/// A row in memory, as a predicate sees it.
final class Row: KeyValueCoding {
    let entity: Entity
    let key: Int64
    var values: [String: PropertyValue] = [:]

    init(_ entity: Entity, _ key: Int64) {
        self.entity = entity
        self.key = key
    }

    func value(forKey name: String) throws -> PropertyValue {
        guard entity.property(named: name) != nil else { throw CoreError(.predicate, "no key \(name)", key: name) }
        return values[name] ?? .null
    }

    func isEqual(to other: any ValueObject) -> Bool { self === other }
    func hashIdentity(into hasher: inout Hasher) { hasher.combine(key) }
    var valueDescription: String { "\(entity.name) \(key)" }
}

/// Random numbers that are the same on every run.
struct Dice {
    private var state: UInt64

    init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 | 1 }

    mutating func below(_ bound: Int) -> Int {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return Int(state % UInt64(bound))
    }

    mutating func pick<T>(_ values: [T]) -> T { values[below(values.count)] }
    mutating func chance(_ percent: Int) -> Bool { below(100) < percent }
}

/// The same small company twice: as rows in memory and as tables.
struct Workforce {
    let model: Model
    private(set) var rows: [String: [Row]] = [:]

    static let texts = ["Ann", "ann", "Änn", "Ben", "b", "", "Zoë", "straße", "STRASSE", "a*c", "R&D", "it's", "世界"]

    init(_ model: Model, dice: inout Dice) throws {
        self.model = model
        for (name, count) in [("Site", 3), ("Department", 6), ("Project", 5), ("Employee", 40)] {
            guard let entity = model.entity(named: name) else { continue }
            rows[name] = (1...count).map { Row(entity, Int64($0)) }
            for row in rows[name] ?? [] {
                for attribute in entity.attributes where !attribute.isTransient && dice.chance(80) {
                    row.values[attribute.name] = Workforce.value(attribute.type, &dice)
                }
            }
        }
        link("Department", "site", "Site", "departments", &dice)
        link("Employee", "department", "Department", "employees", &dice)
        link("Employee", "manager", "Employee", "reports", &dice)
        pair("Employee", "projects", "Project", "members", 60, &dice)
        pair("Employee", "friends", "Employee", "friends", 30, &dice)
    }

    private static func value(_ type: AttributeType, _ dice: inout Dice) -> PropertyValue {
        switch type {
        case .string: .string(dice.pick(texts))
        case .integer16, .integer32: .int(Int64(dice.below(12)))
        case .double: .double(Double(dice.below(16)) / 4)
        case .boolean: .bool(dice.chance(50))
        case .date: .date(Double(dice.below(6)) * 86_400.5)
        case .uuid: .uuid(UUIDValue(high: UInt64(dice.below(3)), low: 1))
        case .decimal: .decimal(DecimalNumber(mantissa: UInt128(dice.below(9)) * 25, exponent: -2))
        case .uri: .uri(Text("https://example.org/\(dice.below(4))"))
        default: .null
        }
    }

    private func link(_ one: String, _ toOne: String, _ other: String, _ toMany: String, _ dice: inout Dice) {
        for row in rows[one] ?? [] where dice.chance(75) {
            let target = dice.pick(rows[other] ?? [])
            row.values[toOne] = .object(target)
            add(row, to: target, toMany)
        }
        fill(other, toMany)
    }

    private func pair(
        _ one: String, _ name: String, _ other: String, _ inverse: String, _ count: Int, _ dice: inout Dice
    ) {
        for _ in 0..<count {
            let (a, b) = (dice.pick(rows[one] ?? []), dice.pick(rows[other] ?? []))
            add(b, to: a, name)
            add(a, to: b, inverse)
        }
        fill(one, name)
        fill(other, inverse)
    }

    private func fill(_ entity: String, _ name: String) {
        for row in rows[entity] ?? [] where row.values[name] == nil { row.values[name] = .array([]) }
    }

    private func add(_ member: Row, to owner: Row, _ name: String) {
        let members = owner.values[name]?.elements ?? []
        if !members.contains(.object(member)) { owner.values[name] = .array(members + [.object(member)]) }
    }

    // MARK: Tables

    func write(to database: TestDatabase) throws {
        for table in [
            "Z_1PROJECTS (Z_1MEMBERS INTEGER, Z_2PROJECTS INTEGER)",
            "Z_1FRIENDS (Z_1FRIENDS INTEGER, REFLEXIVE INTEGER)",
        ] {
            try database.run("CREATE TABLE " + table)
        }
        for (name, rows) in rows {
            guard let entity = model.entity(named: name) else { continue }
            let stored = entity.properties.filter { !$0.isTransient && ($0 as? Relationship)?.isToMany != true }
            let columns = stored.map { "Z\($0.name.uppercased()) \(Workforce.type(of: $0))" }
            let table = "Z\(name.uppercased())"
            try database.run(
                "CREATE TABLE \(table) (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, \(columns.joined(separator: ", ")))")
            for row in rows {
                let values = stored.map { property -> SQLValue in
                    if case .object(let target as Row)? = row.values[property.name] { return .integer(target.key) }
                    return SQLValue(row.values[property.name] ?? .null) ?? .null
                }
                let marks = Array(repeating: "?", count: values.count + 2).joined(separator: ", ")
                try database.run(
                    "INSERT INTO \(table) VALUES (\(marks))",
                    [.integer(row.key), .integer(Int64(entity.number))] + values)
                try writePairs(row, to: database)
            }
        }
    }

    private func writePairs(_ row: Row, to database: TestDatabase) throws {
        for (name, table) in [("projects", "Z_1PROJECTS"), ("friends", "Z_1FRIENDS")] {
            for case .object(let member as Row) in row.values[name]?.elements ?? [] {
                // A friendship is one pair, in either direction.
                if name == "friends", member.key < row.key { continue }
                try database.run("INSERT INTO \(table) VALUES (?, ?)", [.integer(row.key), .integer(member.key)])
            }
        }
    }

    private static func type(of property: Property) -> String {
        switch (property as? Attribute)?.type {
        case .string, .uri: "VARCHAR"
        case .double, .float: "FLOAT"
        case .date: "TIMESTAMP"
        case .decimal: "DECIMAL"
        case .uuid, .binary, .transformable: "BLOB"
        default: "INTEGER"
        }
    }
}
