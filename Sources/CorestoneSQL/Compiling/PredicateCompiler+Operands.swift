import CorestoneGraph
import CorestoneModel
import CorestonePredicate
import CorestoneValues

extension PredicateCompiler {
    mutating func operand(_ expression: Expression, _ environment: Environment) throws -> Operand {
        if environment.isGroup, let group = try groupOperand(expression, environment) { return group }
        if let value = try constant(expression, environment) { return try operand(value) }
        switch expression {
        case .function(let function, let arguments): return try call(function, arguments, environment)
        case .cast(let value, let type): return try cast(value, to: type, environment)
        case .ternary(let condition, let first, let second):
            return try choice(condition, first, second, environment)
        case .indexed(let collection, .size):
            guard let members = try members(collection, environment) else { break }
            return try aggregate(.count, members, [], environment)
        case .path(let base, let path):
            if let place = path.keys.firstIndex(where: { $0.collectionOperator != nil }) {
                return try aggregate(expression, base, path.keys[...], place, environment)
            }
            if let (scope, keys) = self.path(expression, environment), let name = entityName(keys, scope) {
                return name
            }
            guard let (scope, keys) = self.path(expression, environment) else {
                return try path.keys.reduce(try operand(base, environment)) { try key($1, of: $0) }
            }
            return try operand(try resolve(keys, scope))
        default:
            guard let (scope, keys) = path(expression, environment) else { break }
            if let name = entityName(keys, scope) { return name }
            if let place = keys.firstIndex(where: { $0.collectionOperator != nil }) {
                return try aggregate(expression, .selfObject, keys, place, environment)
            }
            return try operand(try resolve(keys, scope))
        }
        throw NotExpressible("\"\(expression.format)\" is computed in memory")
    }

    /// Returns `entity.name` of a scope's rows, or nil for other keys. A property with the name `entity` has priority.
    private func entityName(_ keys: ArraySlice<KeyName>, _ scope: Scope) -> Operand? {
        let entity = scope.mapping.entity
        guard keys.count == 2, keys.map(\.text) == ["entity", "name"],
            entity.withDescendants.allSatisfy({ $0.property(named: "entity") == nil })
        else { return nil }
        let cases = zip(scope.mapping.numbers, entity.withDescendants).map { number, subentity in
            " WHEN \(number: number) THEN \(bind: .text(Text(subentity.name)))" as SQLFragment
        }
        return Operand(
            sql: "CASE \(scope.alias, "Z_ENT")\(cases.joined(separator: "")) END", kind: .text, isNullable: false)
    }

    /// Compiles a path with a collection operator at index `place`.
    private mutating func aggregate(
        _ expression: Expression, _ base: Expression, _ keys: ArraySlice<KeyName>, _ place: Int,
        _ environment: Environment
    ) throws -> Operand {
        let before = place == 0 ? base : Expression.path(base, KeyPath(keys: Array(keys[..<place])))
        guard let operation = keys[place].collectionOperator else {
            throw NotExpressible("\"\(expression.format)\" is computed in memory")
        }
        guard let members = try members(before, environment) else {
            if let (scope, keys) = path(before, environment) {
                _ = try operand(try resolve(keys, scope))
                let entity = scope.mapping.entity.name
                let name =
                    keys.isEmpty
                    ? "\(before.format) of \(entity)" : "\(entity).\(keys.map(\.text).joined(separator: "."))"
                throw CoreError(
                    .predicate,
                    "\(operation.rawValue) applies to a to-many relationship, but \(name) is a single value",
                    entity: entity, key: keys.isEmpty ? before.format : keys.map(\.text).joined(separator: "."))
            }
            throw NotExpressible("\"\(expression.format)\" is computed in memory")
        }
        return try aggregate(operation, members, keys[(place + 1)...], environment)
    }

    /// Returns the operand that reads the column of an attribute, with the keys that are evaluated on its value.
    ///
    /// - Throws: `NotExpressible` if the value may be in a backing file, which SQL cannot read, if the attribute is
    ///   transformable, or if SQL cannot compute a key.
    func column(_ value: AttributeValue) throws -> Operand {
        let attribute = value.attribute
        if attribute.allowsExternalStorage {
            throw NotExpressible(
                "\(attribute.entity.name).\(attribute.path) may be stored in files and is compared in memory")
        }
        if attribute.type == .transformable {
            throw NotExpressible(
                "\(attribute.entity.name).\(attribute.path) is transformable and is compared in memory")
        }
        let whole = Operand(
            sql: value.sql, kind: Operand.Kind(attribute.type), form: Operand.Form(attribute.type),
            attribute: attribute)
        return try value.rest.reduce(whole) {
            try key($1, of: $0)
        }
    }

    func operand(_ path: ResolvedPath) throws -> Operand {
        switch path {
        case .attribute(let value): return try column(value)
        case .object(let sql, let entity, let isNullable):
            return Operand(
                sql: sql, kind: .object(root: entity.entity.root.name), isNullable: isNullable, entity: entity)
        case .toMany(let members):
            throw NotExpressible(
                "\(members.relationship.entity.name).\(members.relationship.name) is a collection, which is compared in memory",
                isCollection: true)
        }
    }

    /// Returns a constant as an operand.
    func operand(_ value: PropertyValue) throws -> Operand {
        if case .object(let object) = value {
            guard let id = (object as? ManagedObject)?.objectID ?? (object as? ObjectIDReference)?.id else {
                throw NotExpressible("\(object.valueDescription) is not a managed object")
            }
            let isHere = !id.isTemporary && id.store?.identifier == storeIdentifier
            // Temporary IDs and IDs of other stores are bound as -1, which does not match any row, because primary keys
            // start at 1.
            let key = SQLValue.integer(isHere ? id.reference : -1)
            return Operand(
                sql: "\(bind: key)", kind: .object(root: id.entity.root.name), isNullable: false, constant: value)
        }
        guard let kind = Operand.Kind(value) else {
            throw NotExpressible("the dictionary \(value.excerpt) cannot be expressed in SQL")
        }
        if case .decimal(let number) = value,
            DecimalNumber(number.double).map({ DecimalNumber.compare($0, number) }) != 0,
            Int64(exactly: number.double) == nil
        {
            throw NotExpressible("\(number) has more digits than a column can hold")
        }
        guard let bound = SQLValue(value) else {
            return Operand(sql: "", kind: kind, isNullable: false, constant: value)
        }
        return Operand(sql: "\(bind: bound)", kind: kind, isNullable: value.isNull, constant: value)
    }

    /// Returns the value of an expression that does not depend on a row, or nil for other expressions.
    func constant(_ expression: Expression, _ environment: Environment) throws -> PropertyValue? {
        if case .constant(let value) = expression { return value }
        guard isConstant(expression, environment) else { return nil }
        return try expression.value(with: .null, arithmetic: .nilPropagating)
    }

    func isConstant(_ expression: Expression, _ environment: Environment) -> Bool {
        switch expression {
        case .constant: true
        // An unbound variable counts as a constant, because its evaluation throws the appropriate error.
        case .variable(let name): environment.variables[name] == nil
        case .function(let function, let arguments):
            ![.random, .randomBelow, .randomBelowN].contains(function)
                && arguments.allSatisfy { isConstant($0, environment) }
        case .aggregate(let parts): parts.allSatisfy { isConstant($0, environment) }
        case .path(let base, _): isConstant(base, environment)
        case .cast(let value, let type): isConstant(value, environment) && isConstant(type, environment)
        case .setOperation(_, let left, let right): isConstant(left, environment) && isConstant(right, environment)
        case .indexed(let base, let index):
            if case .value(let place) = index {
                isConstant(base, environment) && isConstant(place, environment)
            } else {
                isConstant(base, environment)
            }
        default: false
        }
    }

    /// Compiles `TERNARY(condition, a, b)`.
    private mutating func choice(
        _ condition: Predicate, _ first: Expression, _ second: Expression, _ environment: Environment
    ) throws -> Operand {
        let test = try self.condition(condition, environment)
        let (a, b) = (try operand(first, environment), try operand(second, environment))
        if let constant = test.constant { return constant ? a : b }
        let kind = a.kind == .null ? b.kind : a.kind
        let areNumbers = a.kind.isNumber && b.kind.isNumber && a.kind != .decimal && b.kind != .decimal
        if kind == .list {
            throw NotExpressible(
                "TERNARY returns the list \"\(first.format)\" or \"\(second.format)\", which is computed in memory")
        }
        guard a.kind == b.kind || a.kind == .null || b.kind == .null || areNumbers else {
            throw NotExpressible(
                "TERNARY returns \"\(first.format)\" or \"\(second.format)\" of different types and is computed in "
                    + "memory")
        }
        return Operand(
            sql: "CASE WHEN \(test.sql) THEN \(a.sql) ELSE \(b.sql) END",
            kind: a.kind == b.kind || !areNumbers ? kind : .number,
            isNullable: a.isNullable || b.isNullable, form: a.form(beside: b))
    }
}
