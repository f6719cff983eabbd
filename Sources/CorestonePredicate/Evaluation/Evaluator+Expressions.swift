import CorestoneValues

extension Evaluator {
    func value(_ expression: Expression) throws -> PropertyValue {
        switch expression {
        case .constant(let value): return value
        case .selfObject: return root
        case .keyPath(let path): return try KeyPathEvaluation.value(of: root, keys: path.keys[...])
        case .path(let base, let path): return try KeyPathEvaluation.value(of: try value(base), keys: path.keys[...])
        case .dynamicKey(let base, let name): return try dynamicKey(try value(base), name)
        case .computedKey(let base, let key):
            let name = try computedKey(key, in: expression)
            return try KeyPathEvaluation.value(of: try value(base), keys: KeyPath(name.string).keys[...])
        case .variable(let name): return try variable(name)
        case .aggregate(let elements): return .array(try elements.map { try value($0) })
        case .function(let function, let arguments):
            do {
                if let number = try arithmetic(function, arguments) { return number }
                return try call(function, try arguments.map { try value($0) }, of: arguments)
            } catch let error as CoreError { throw named(error, by: arguments) }
        case .message(let receiver, let selector, let arguments):
            return try send(try value(selector), to: try value(receiver), arguments.map { try value($0) })
        case .indexed(let base, let index): return try element(index, of: try value(base), base)
        case .subquery(let collection, let name, let condition):
            return try subquery(collection, name, condition)
        case .ternary(let condition, let first, let second): return try value(try holds(condition) ? first : second)
        case .setOperation(let operation, let left, let right):
            return try combine(operation, left, right)
        case .cast(let operand, let type):
            do { return try cast(try value(operand), to: try value(type)) } catch let error as CoreError {
                throw named(error, by: [operand, type])
            }
        case .assignment(let name, let operand):
            guard let bindings else {
                throw predicateError(
                    "$\(name) := needs a dictionary of variables; pass one to cst_predicate_evaluate_value (evaluate) "
                        + "or cst_expression_value (value), or leave the assignment out", key: name)
            }
            let assigned = try value(operand)
            bindings.outermost[name] = assigned
            return assigned
        case .anyKey:
            guard case .dictionary(let values) = root else {
                throw predicateError(
                    "ANYKEY applies to a dictionary, not to \(root.kind)", entity: object?.nameOfEntity, value: root)
            }
            return .array(Array(values.values))
        case .fetch(let request, let context, let countOnly):
            return try fetched(request, context, isCounted: try value(countOnly))
        case .block(let block, let arguments):
            return try block.body(
                root.withOriginals, try arguments.map { try value($0).withOriginals }, variablesForHost)
        }
    }

    /// Returns the error with the key of the operand that has the error's value, unless the error already has a key.
    ///
    /// Only operands that are key paths are considered.
    @inline(never)
    private func named(_ error: CoreError, by operands: [Expression]) -> CoreError {
        guard error.status == .predicate, error.key == nil, let found = error.value else { return error }
        let source = operands.first { operand in
            guard operand.pathText != nil, let own = try? value(operand) else { return false }
            return own == found || own.elements?.contains(found) == true
        }
        return source == nil ? error : error.with(entity: entityName(for: source), key: source?.pathText)
    }

    /// Evaluates the brackets that compute a key.
    ///
    /// They bind only to the key before them: in `box.items[0]`, `items[0]` is evaluated for the evaluated object
    /// instead of `box`, and the result is used as a key of `box`. If the evaluated object does not have the key, the
    /// error explains the binding.
    private func computedKey(_ key: Expression, in expression: Expression) throws -> Text {
        let found: PropertyValue
        do { found = try value(key) } catch let error as CoreError {
            let base = key.withoutIndices
            if case .keyPath = base, error.entity != nil, (try? value(base)) == nil {
                throw predicateError(
                    "the brackets of \"\(expression.format)\" apply to \"\(base.format)\" only: "
                        + "\(error.message.withoutRemedy). Put the path before the brackets in parentheses to index "
                        + "the list",
                    key: error.key, value: error.value)
            }
            throw error
        }
        guard case .text(let name) = found else {
            throw predicateError(
                "\"\(expression.format)\" uses \"\(key.format)\" as a key, but the value of the key is "
                    + "\(found.excerpt), not a string. Put the path before the brackets in parentheses to index a "
                    + "list",
                entity: entityName(for: key), key: key.pathText, value: found)
        }
        return name
    }

    private func fetched(
        _ request: Expression, _ context: Expression, isCounted: PropertyValue
    ) throws -> PropertyValue {
        let (found, place) = (try value(request), try value(context))
        guard case .object(let source as any FetchSource) = place else {
            throw predicateError(
                place.isNull
                    ? "FETCH does not have a context; pass one, or use FETCH in the predicate of a fetch request"
                    : "FETCH takes a context, not \(place.excerpt)",
                entity: entityName(for: context), key: context.pathText, value: place)
        }
        guard case .object(let fetchRequest) = found else {
            throw predicateError(
                "FETCH takes a fetch request, not \(found.kind)", entity: entityName(for: request),
                key: request.pathText, value: found)
        }
        return try source.value(ofFetch: fetchRequest, isCounted: isCounted.number ?? 0 != 0)
    }

    private func variable(_ name: String) throws -> PropertyValue {
        if let value = bindings?[name] {
            guard case .object(let bound as ExpressionValue) = value else { return value }
            // Evaluated without bindings, so that an expression that refers to its own variable does not recurse
            // endlessly.
            return try Evaluator(root: root, bindings: nil, arithmetic: arithmetic).value(bound.expression)
        }
        throw predicateError(
            "$\(name) does not have a value; substitute a value with cst_predicate_new_substituted (substituting), or "
                + "pass one to cst_predicate_evaluate_value (evaluate) or cst_expression_value (value)", key: name)
    }

    /// Evaluates `base.$name`, whose key is the value of the variable.
    private func dynamicKey(_ base: PropertyValue, _ name: String) throws -> PropertyValue {
        let found = try variable(name)
        guard case .text(let key) = found else {
            throw predicateError(
                "$\(name) is used as a key and must be a string, not \(found.excerpt)", key: name, value: found)
        }
        return try KeyPathEvaluation.value(of: base, keys: KeyPath(key.string).keys[...])
    }

    private func element(
        _ index: ElementIndex, of collection: PropertyValue, _ source: Expression
    ) throws -> PropertyValue {
        if collection.isNull { return .null }
        switch (index, collection) {
        case (.size, .dictionary(let values)): return .int(Int64(values.count))
        case (.size, .array(let elements)): return .int(Int64(elements.count))
        case (.size, .set(let elements)): return .int(Int64(elements.count))
        case (.first, .array(let elements)): return elements.first ?? .null
        case (.last, .array(let elements)): return elements.last ?? .null
        case (.value(let expression), _): return try element(at: try value(expression), of: collection, source)
        default: throw notIndexable(collection, source)
        }
    }

    /// Returns the element of a list at an index, or the value of a dictionary for a key.
    ///
    /// - Parameter source: the expression of the collection, for errors.
    func element(
        at place: PropertyValue, of collection: PropertyValue, _ source: Expression? = nil
    ) throws -> PropertyValue {
        switch collection {
        case .null: return .null
        case .array(let elements):
            guard let number = place.number, let index = Int(exactly: number) else {
                throw predicateError(
                    "\(source.map { "\"\($0.format)\"" } ?? "a list") is indexed by a 64-bit integer, not by "
                        + place.excerpt,
                    entity: entityName(for: source), key: source?.pathText, value: place)
            }
            guard elements.indices.contains(index) else {
                throw predicateError(
                    "index \(index) is out of bounds of \(source.map { "\"\($0.format)\", " } ?? "")a list of "
                        + "\(elements.count) element\(elements.count == 1 ? "" : "s"); check [SIZE] first, or use "
                        + "[FIRST] or [LAST]",
                    entity: entityName(for: source), key: source?.pathText, value: place)
            }
            return elements[index]
        case .dictionary(let values):
            guard case .text(let key) = place else { return .null }
            return values[key.string] ?? .null
        default: throw notIndexable(collection, source)
        }
    }

    private func notIndexable(_ value: PropertyValue, _ source: Expression?) -> CoreError {
        let name = source.map { "\"\($0.format)\", \(value.kind)," } ?? value.kind
        let fault =
            switch value {
            case .set: "\(name) cannot be indexed; use [SIZE] only"
            case .dictionary: "\(name) does not have a first or last element; use a key or [SIZE]"
            default:
                source.map { "[ ] indexes a list or a dictionary, \($0.mismatch(value))" }
                    ?? "an index applies to a list or a dictionary, not to \(value.excerpt)"
            }
        return predicateError(fault, entity: entityName(for: source), key: source?.pathText, value: value)
    }

    /// Returns the elements that satisfy the condition. Key paths in the condition start at the outer object.
    private func subquery(_ source: Expression, _ name: String, _ condition: Predicate) throws -> PropertyValue {
        let collection = try value(source)
        if collection.isNull { return .array([]) }
        guard let elements = collection.elements else {
            throw predicateError(
                "SUBQUERY takes a list or a set, \(source.mismatch(collection))", entity: entityName(for: source),
                key: source.pathText, value: collection)
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

    private func combine(_ operation: SetOperator, _ first: Expression, _ second: Expression) throws -> PropertyValue {
        let (left, right) = (try value(first), try value(second))
        guard let a = left.elements, let b = right.members else {
            let (source, found) = left.elements == nil ? (first, left) : (second, right)
            let wanted =
                left.elements == nil ? "a list or a set on its left" : "a list, a set or a dictionary on its right"
            throw predicateError(
                "\(operation.rawValue) takes \(wanted), \(source.mismatch(found))",
                entity: entityName(for: source), key: source.pathText, value: found)
        }
        switch operation {
        case .union:
            // The capacity is reserved for all elements, because a growing set traps if the equality of the
            // application's objects is inconsistent.
            var all = Set<PropertyValue>(minimumCapacity: a.count + b.count)
            for value in a { all.insert(value) }
            for value in b { all.insert(value) }
            return .set(all)
        case .intersect: return .set(Set(a).intersection(b))
        case .minus: return .set(Set(a).subtracting(b))
        }
    }
}

extension Expression {
    /// Returns the value as the end of an error message, with the expression if its text differs from the value.
    func mismatch(_ value: PropertyValue) -> String {
        format == value.excerpt ? "not \(value.excerpt)" : "but \"\(format)\" is \(value.excerpt)"
    }
}

extension PropertyValue {
    /// The elements of a list or a set, or the values of a dictionary; nil for other values.
    var members: [PropertyValue]? {
        if case .dictionary(let values) = self { return Array(values.values) }
        return elements
    }
}

extension Expression {
    /// The expression without the brackets at its end.
    fileprivate var withoutIndices: Expression {
        if case .indexed(let base, _) = self { return base.withoutIndices }
        return self
    }
}
