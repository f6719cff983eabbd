import CorestoneGraph
import CorestoneModel
import CorestonePredicate
import CorestoneSQL
import CorestoneValues
import XCTest

/// The same predicate gives the same rows in memory and in the database.
final class AgreementTests: XCTestCase {
    func testRandomPredicatesAgree() throws {
        var dice = Dice(seed: 11)
        let model = try Company.model()
        var (compared, inMemory, nonEmpty) = (0, 0, 0)
        for _ in 0..<4 {
            let workforce = try Workforce(model, dice: &dice)
            let database = try TestDatabase()
            try workforce.write(to: database)
            let compiler = FetchCompiler(schema: Company.Schema(model: model), storeIdentifier: "S")
            for _ in 0..<600 {
                let entity = dice.pick(["Employee", "Employee", "Department", "Site"])
                let text = predicate(entity, depth: 3, &dice)
                let predicate = try Predicate.parse(text)
                let rows = workforce.rows[entity] ?? []
                let expected = try rows.filter {
                    try predicate.evaluate(with: .object($0), arithmetic: .nilPropagating)
                }.map(\.key)
                let fetch = StoreFetch(entity: try XCTUnwrap(model.entity(named: entity)), predicate: predicate)
                guard case .query(let query) = try compiler.compile(fetch) else {
                    inMemory += 1
                    continue
                }
                let found = try database.run("SELECT t0.Z_PK" + query.text, query.bindings).sorted()
                XCTAssertEqual(found, expected, "\(entity): \(text)\n\(query.text)\n\(query.bindings)")
                compared += 1
                if !expected.isEmpty, expected.count < rows.count { nonEmpty += 1 }
            }
        }
        print("\(compared) predicates agree, \(nonEmpty) of them on some rows only; \(inMemory) were left to memory")
        XCTAssertGreaterThan(nonEmpty, 900)
        XCTAssertLessThan(inMemory, 400)
    }

    func testOrdersAgree() throws {
        var dice = Dice(seed: 5)
        let model = try Company.model()
        let workforce = try Workforce(model, dice: &dice)
        let database = try TestDatabase()
        try workforce.write(to: database)
        let compiler = FetchCompiler(schema: Company.Schema(model: model), storeIdentifier: "S")
        let keys = [
            "name", "age", "salary", "hired", "active", "department.name", "department.site.name", "projects.@count",
            "rate",
        ]
        for _ in 0..<300 {
            let sort =
                (0..<(1 + dice.below(3))).map { _ in
                    SortDescriptor(dice.pick(keys), ascending: dice.chance(50), caseInsensitive: dice.chance(40))
                } + [SortDescriptor("email"), SortDescriptor("badge")]
            let rows = (workforce.rows["Employee"] ?? []).map { PropertyValue.object($0) }
            let expected = try SortDescriptor.sorted(rows, by: sort)
            let fetch = StoreFetch(entity: try XCTUnwrap(model.entity(named: "Employee")), sortDescriptors: sort)
            guard case .query(let query) = try compiler.compile(fetch) else { return XCTFail("\(sort)") }
            // The database may give equal rows in any order; by key they come as they do in memory.
            let found = try database.run("SELECT t0.Z_PK" + query.text + ", t0.Z_PK", query.bindings)
            XCTAssertEqual(found, expected.map(key), query.text)
        }
    }

    private func key(_ value: PropertyValue) -> Int64 {
        if case .object(let row as Row) = value { row.key } else { 0 }
    }

    // MARK: Random predicates

    private func predicate(_ entity: String, depth: Int, _ dice: inout Dice) -> String {
        switch depth > 0 ? dice.below(10) : 9 {
        case 0, 1: return "NOT (\(predicate(entity, depth: depth - 1, &dice)))"
        case 2, 3, 4:
            let word = dice.pick([" AND ", " OR "])
            return (0..<(2 + dice.below(2))).map { _ in "(\(predicate(entity, depth: depth - 1, &dice)))" }.joined(
                separator: word)
        case 5 where entity != "Site": return subquery(entity, depth, &dice)
        default: return comparison(entity, &dice)
        }
    }

    private func subquery(_ entity: String, _ depth: Int, _ dice: inout Dice) -> String {
        let (relationship, name) = entity == "Department" ? ("employees", "salary") : ("reports", "salary")
        let member = "$m.\(dice.pick(["age", "manager.age", "department.site.departments.@count"]))"
        let condition = "\(member) \(dice.pick([">", "==", "!=", "<="])) \(dice.pick(["3", "age", "nil", "\(name)"]))"
        let outer = condition.replacingOccurrences(of: " age", with: entity == "Department" ? " budget" : " age")
            .replacingOccurrences(of: " salary", with: entity == "Department" ? " budget" : " salary")
        let inner = dice.chance(30) ? "NOT (\(outer))" : outer
        let also = dice.chance(40) ? " AND ANY $m.projects.hours > 3" : ""
        return
            "SUBQUERY(\(relationship), $m, \(inner)\(also)).@count \(dice.pick(["> 0", "== 0", "== 1", "< 2", "!= 0"]))"
    }

    /// Numbers, texts and paths of an entity.
    private func paths(_ entity: String) -> (
        numbers: [String], texts: [String], objects: [String], collections: [String]
    ) {
        switch entity {
        case "Employee":
            (
                [
                    "age", "salary", "active", "rate", "department.budget", "manager.age", "manager.department.budget",
                    "projects.@count", "reports.@count", "department.employees.@count", "reports.@avg.salary",
                    "projects.@sum.hours", "reports.@max.age", "age + salary", "-age", "age / 3", "salary / age",
                    "age & 3",
                ],
                ["name", "email", "department.name", "manager.name", "department.site.name", "homepage"],
                ["department", "manager", "manager.department", "department.site", "SELF", "manager.manager"],
                ["projects", "reports", "friends", "department.employees", "reports.projects", "manager.friends"]
            )
        case "Department":
            (
                [
                    "budget", "employees.@count", "employees.@min.salary", "employees.@sum.age",
                    "site.departments.@count",
                ],
                ["name", "site.name"], ["site", "SELF"], ["employees", "employees.projects", "site.departments"]
            )
        default:
            (
                ["departments.@count", "departments.@sum.budget"], ["name"], ["SELF"],
                ["departments", "departments.employees"]
            )
        }
    }

    private func comparison(_ entity: String, _ dice: inout Dice) -> String {
        let paths = paths(entity)
        switch dice.below(12) {
        case 0, 1, 2:
            let right = dice.pick(["3", "0", "1.5", "nil", dice.pick(paths.numbers)])
            return "\(dice.pick(paths.numbers)) \(dice.pick(["==", "!=", "<", "<=", ">", ">="])) \(right)"
        case 3:
            let bound = entity == "Department" ? "budget" : "7"
            return "\(dice.pick(paths.numbers)) \(dice.pick(["IN {1, 2, nil}", "BETWEEN {1, 5}", "IN {\(bound), 3}"]))"
        case 4, 5, 6: return textComparison(dice.pick(paths.texts), paths.texts, &dice)
        case 7:
            return
                "\(dice.pick(paths.objects)) \(dice.pick(["==", "!="])) \(dice.pick(["nil", dice.pick(paths.objects)]))"
        case 8: return "\(dice.pick(["'Ann'", "name", "'x'"])) IN \(dice.pick(paths.collections)).name"
        case 9: return "\(dice.pick(paths.collections)).name CONTAINS \(dice.pick(["'Ann'", "name"]))"
        default: return quantified(dice.pick(paths.collections), paths.texts, paths.numbers, &dice)
        }
    }

    private func textComparison(_ left: String, _ texts: [String], _ dice: inout Dice) -> String {
        let options = dice.pick(["", "", "[c]", "[d]", "[cd]"])
        let literal = "\"\(dice.pick(Workforce.texts))\""
        let right = dice.pick([literal, literal, dice.pick(texts), "nil"])
        let operation = dice.pick([
            "==", "!=", "<", ">=", "BEGINSWITH", "ENDSWITH", "CONTAINS", "LIKE", "IN", "MATCHES", "like pattern",
            "list",
        ])
        switch operation {
        case "like pattern":
            return "\(left) LIKE\(options) \(dice.pick(["'A*'", "'*n'", "'?nn'", "'*'", "'*s?r*'", #"'a\\*c'"#]))"
        case "MATCHES": return "\(left) MATCHES\(options) \(dice.pick(["'[A-Z].*'", "'.nn'", "'\\\\w*'"]))"
        case "list": return "\(left) IN {'Ann', 'b', \(literal)}"
        case "<", ">=": return "name \(operation)\(options) \(right.hasPrefix("h") ? "nil" : right)"
        default: return "\(left) \(operation)\(options) \(right)"
        }
    }

    private func quantified(
        _ collection: String, _ texts: [String], _ numbers: [String], _ dice: inout Dice
    ) -> String {
        let word = dice.pick(["ANY", "ALL", "NONE"])
        if dice.chance(30), collection.hasSuffix("employees") || collection.hasSuffix("reports") {
            let path = dice.pick(["department.name", "manager.name", "projects.name"])
            return
                "\(word) \(collection).\(path) \(dice.pick(["==", "!=", "BEGINSWITH[c]", "ENDSWITH"])) \(dice.pick(["'Ann'", "name"]))"
        }
        return
            "\(word) \(collection).name \(dice.pick(["==", "!=", "CONTAINS", "LIKE[c]", "<"])) \(dice.pick(["'Ann'", "name", "'b'"]))"
    }
}
