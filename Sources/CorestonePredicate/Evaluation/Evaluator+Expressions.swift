import CorestoneValues

extension Evaluator {
    func value(_ expression: Expression) throws -> PropertyValue {
        switch expression {
        case .constant(let value): return value
        case .selfObject: return root
        case .keyPath(let path): return try KeyPathEvaluation.value(of: root, keys: path.keys[...])
        case .path(let base, let path): return try KeyPathEvaluation.value(of: try value(base), keys: path.keys[...])
        case .dynamicKey(let base, let name): return try dynamicKey(try value(base), name)
        case .variable(let name): return try variable(name)
        case .aggregate(let elements): return .array(try elements.map { try value($0) })
        case .function(let function, let arguments):
            if let number = try arithmetic(function, arguments) { return number }
            return try call(function, try arguments.map { try value($0) })
        case .message(let receiver, let selector, let arguments):
            return try send(try value(selector), to: try value(receiver), arguments.map { try value($0) })
        case .indexed(let base, let index): return try element(index, of: try value(base))
        case .subquery(let collection, let name, let condition):
            return try subquery(try value(collection), name, condition)
        case .ternary(let condition, let first, let second): return try value(try holds(condition) ? first : second)
        case .setOperation(let operation, let left, let right):
            return try combine(operation, try value(left), try value(right))
        case .cast(let operand, let type): return try cast(try value(operand), to: try value(type))
        case .assignment(let name, let operand):
            guard let bindings else {
                throw predicateError("$\(name) := needs variables; evaluate the predicate with a dictionary of them")
            }
            let assigned = try value(operand)
            bindings.outermost[name] = assigned
            return assigned
        case .anyKey:
            guard case .dictionary(let values) = root else {
                throw predicateError("ANYKEY stands for the values of a dictionary; \(root.kind) has none")
            }
            return .array(Array(values.values))
        case .fetch:
            throw predicateError("FETCH needs a context and has no value in memory; run the fetch request instead")
        case .block(let block, let arguments):
            return try block.body(root, try arguments.map { try value($0) }, bindings?.all ?? [:])
        }
    }

    private func variable(_ name: String) throws -> PropertyValue {
        if let value = bindings?[name] { return value }
        throw predicateError("$\(name) has no value; give one with the variables of the evaluation")
    }

    /// `base.$name`: the key is the variable's value.
    private func dynamicKey(_ base: PropertyValue, _ name: String) throws -> PropertyValue {
        guard case .text(let key) = try variable(name) else {
            throw predicateError("$\(name) names a key and must be a string")
        }
        return try KeyPathEvaluation.value(of: base, keys: KeyPath(key.string).keys[...])
    }

    private func element(_ index: ElementIndex, of collection: PropertyValue) throws -> PropertyValue {
        if collection.isNull { return .null }
        switch index {
        case .size:
            if case .dictionary(let values) = collection { return .int(Int64(values.count)) }
            guard let elements = collection.elements else { throw notIndexable(collection) }
            return .int(Int64(elements.count))
        case .first, .last:
            guard case .array(let elements) = collection else { throw notIndexable(collection) }
            return (index == .first ? elements.first : elements.last) ?? .null
        case .value(let expression):
            return try element(at: try value(expression), of: collection)
        }
    }

    func element(at place: PropertyValue, of collection: PropertyValue) throws -> PropertyValue {
        switch (collection, place) {
        case (.array(let elements), .int(let index)):
            guard index >= 0, index < elements.count else {
                throw predicateError("there is no element \(index) in a list of \(elements.count)", value: place)
            }
            return elements[Int(index)]
        case (.array, _): throw predicateError("a list is indexed by an integer, not by \(place.kind)", value: place)
        case (.dictionary(let values), .text(let key)): return values[key.string] ?? .null
        case (.dictionary, _): return .null
        default: throw notIndexable(collection)
        }
    }

    private func notIndexable(_ value: PropertyValue) -> CoreError {
        predicateError("[ ] takes an element of a list or a dictionary, not of \(value.kind)", value: value)
    }

    /// The elements for which the condition holds; key paths in it start from the outer object.
    private func subquery(_ collection: PropertyValue, _ name: String, _ condition: Predicate) throws -> PropertyValue {
        if collection.isNull { return .array([]) }
        guard let elements = collection.elements else {
            throw predicateError("SUBQUERY takes a collection, not \(collection.kind)", value: collection)
        }
        let inner = Bindings([:], outer: bindings)
        let evaluator = Evaluator(self, bindings: inner)
        let chosen = try elements.filter {
            inner[name] = $0
            return try evaluator.holds(condition)
        }
        if case .set = collection { return .set(Set(chosen)) }
        return .array(chosen)
    }

    private func combine(_ operation: SetOperator, _ left: PropertyValue, _ right: PropertyValue) throws
        -> PropertyValue
    {
        guard let a = left.elements, let b = right.elements else {
            throw predicateError(
                "\(operation.rawValue) takes two collections, not \(left.elements == nil ? left.kind : right.kind)")
        }
        switch operation {
        case .union: return .set(Set(a).union(b))
        case .intersect: return .set(Set(a).intersection(b))
        case .minus: return .set(Set(a).subtracting(b))
        }
    }
}
