import CorestoneModel
import CorestoneSQL
import CorestoneValues

/// A model with every shape of relationship, and its tables.
///
/// Not the model of Tests/support: `Schema` describes the table of each relationship, and the SQL that the tests expect
/// names these tables. The model is therefore small, but a department has a site, for longer key paths.
enum Company {
    static func model() throws -> Model {
        let model = Model()
        let employee = try model.addEntity(named: "Employee")
        let contractor = try model.addEntity(named: "Contractor")
        let department = try model.addEntity(named: "Department")
        let site = try model.addEntity(named: "Site")
        let project = try model.addEntity(named: "Project")
        try contractor.setParent(employee)
        let attributes: [(String, AttributeType)] = [
            ("name", .string), ("email", .string), ("age", .integer16), ("salary", .double), ("active", .boolean),
            ("hired", .date), ("badge", .uuid), ("rate", .decimal), ("homepage", .uri), ("photo", .binary),
            ("serial", .integer64), ("thing", .transformable),
        ]
        for (name, type) in attributes { try employee.addAttribute(named: name, type: type) }
        try employee.addAttribute(named: "mood", type: .string, isTransient: true)
        for (name, keys) in [("byPay", ["salary", "age"]), ("byHired", ["hired"])] {
            let elements = keys.map { FetchIndex.Element(property: $0, collation: .rTree) }
            try employee.addIndex(FetchIndex(name: name, elements: elements))
        }
        try contractor.addAttribute(named: "agency", type: .string)
        for entity in [department, site, project] { try entity.addAttribute(named: "name", type: .string) }
        try department.addAttribute(named: "budget", type: .double)
        try project.addAttribute(named: "hours", type: .integer32)
        try pair(employee, "department", department, "employees")
        try pair(department, "site", site, "departments")
        try pair(employee, "manager", employee, "reports")
        let projects = try employee.addRelationship(named: "projects", destination: project, isToMany: true)
        let members = try project.addRelationship(named: "members", destination: employee, isToMany: true)
        try projects.setInverse(members)
        let friends = try employee.addRelationship(named: "friends", destination: employee, isToMany: true)
        try friends.setInverse(friends)
        try model.freeze()
        return model
    }

    private static func pair(_ one: Entity, _ toOne: String, _ other: Entity, _ toMany: String) throws {
        let forward = try one.addRelationship(named: toOne, destination: other)
        try forward.setInverse(try other.addRelationship(named: toMany, destination: one, isToMany: true))
    }

    /// Table and column names of Apple's layout, for these entities.
    struct Schema: SchemaMapping {
        let model: Model
        /// Whether the store has the R-trees of employees.
        var hasTrees = false

        func mapping(of entity: Entity) throws -> TableMapping {
            let family = entity.withDescendants
            var mapping = TableMapping(
                entity: entity, table: "Z" + entity.root.name.uppercased(), number: Int64(entity.number),
                numbers: family.map { Int64($0.number) }, isTableShared: entity.parent != nil,
                properties: entity.properties.map { place($0) })
            if hasTrees, entity.root.name == "Employee" {
                mapping.spatialIndexes = [tree("byHired", "hired"), tree("byPay", "salary", "age")]
                mapping.indexedKeys = ["name", "department"]
            }
            return mapping
        }

        private func tree(_ name: String, _ keys: String...) -> SpatialMapping {
            let bounds = keys.map { ($0, (least: "Z\($0.uppercased())_MIN", greatest: "Z\($0.uppercased())_MAX")) }
            return SpatialMapping(
                name: name, table: "Z_RT_\(name)", bounds: Dictionary(bounds) { first, _ in first })
        }

        private func place(_ property: Property) -> ColumnMapping {
            let column = "Z" + property.name.uppercased()
            if property.isTransient { return .none }
            guard let relationship = property as? Relationship else { return .attribute(column: column) }
            if !relationship.isToMany { return .toOne(ToOneMapping(column: column)) }
            switch property.name {
            case "projects":
                return .toMany(
                    .joinTable(
                        table: "Z_1PROJECTS", ownerColumn: "Z_1MEMBERS", memberColumn: "Z_2PROJECTS", orderColumn: nil))
            case "members":
                return .toMany(
                    .joinTable(
                        table: "Z_1PROJECTS", ownerColumn: "Z_2PROJECTS", memberColumn: "Z_1MEMBERS", orderColumn: nil))
            case "friends":
                return .toMany(
                    .symmetricJoinTable(table: "Z_1FRIENDS", firstColumn: "Z_1FRIENDS", secondColumn: "REFLEXIVE"))
            default:
                return .toMany(
                    .inverseColumn(
                        table: "Z" + relationship.destination.root.name.uppercased(),
                        column: "Z" + (relationship.inverse?.name.uppercased() ?? ""), orderColumn: nil))
            }
        }
    }
}
