import CorestoneValues

extension Predicate {
    /// Returns a copy in which variables with a value in `values` are replaced by that constant or expression.
    ///
    /// - Throws: `.invalidArgument` if the result exceeds `PredicateLimits`.
    public func substituting(_ values: [String: PropertyValue]) throws -> Predicate {
        try mapExpressions { expression in
            if case .variable(let name) = expression { return values[name].map { Expression(argument: $0) } }
            return nil
        }.checked()
    }

    /// Returns a copy in which each expression for which `replacement` returns another one is replaced, at any depth.
    package func mapExpressions(_ replacement: (Expression) -> Expression?) -> Predicate {
        switch self {
        case .constant, .block: return self
        case .comparison(let comparison):
            return .comparison(
                Comparison(
                    comparison.left.mapped(replacement), comparison.operator, comparison.right.mapped(replacement),
                    modifier: comparison.modifier, options: comparison.options))
        case .compound(let compound):
            return .compound(Compound(unchecked: compound.type, compound.parts.map { $0.mapExpressions(replacement) }))
        }
    }
}

extension Expression {
    /// Returns a copy in which variables with a value in `values` are replaced by that constant or expression.
    ///
    /// - Throws: `.invalidArgument` if the result exceeds `PredicateLimits`.
    public func substituting(_ values: [String: PropertyValue]) throws -> Expression {
        try mapped { expression in
            if case .variable(let name) = expression { return values[name].map { Expression(argument: $0) } }
            return nil
        }.checked()
    }

    /// Returns a copy in which each expression for which `replacement` returns another one is replaced, at any depth.
    package func mapped(_ replacement: (Expression) -> Expression?) -> Expression {
        if let other = replacement(self) { return other }
        switch self {
        case .constant, .selfObject, .keyPath, .variable, .anyKey: return self
        case .path(let base, let path): return .path(base.mapped(replacement), path)
        case .dynamicKey(let base, let name):
            if case .constant(.text(let key))? = replacement(.variable(name)) {
                return base.mapped(replacement).following(KeyPath(key.string))
            }
            return .dynamicKey(base.mapped(replacement), variable: name)
        case .computedKey(let base, let key):
            return .computedKey(base.mapped(replacement), key: key.mapped(replacement))
        case .aggregate(let elements):
            let mapped = elements.map { $0.mapped(replacement) }
            let constants = mapped.compactMap(\.constantValue)
            return constants.count == mapped.count ? .constant(.array(constants)) : .aggregate(mapped)
        case .block(let block, let arguments): return .block(block, arguments.map { $0.mapped(replacement) })
        case .function(let function, let arguments):
            return .function(function, arguments.map { $0.mapped(replacement) })
        case .message(let receiver, let selector, let arguments):
            return .message(
                receiver: receiver.mapped(replacement), selector: selector.mapped(replacement),
                arguments: arguments.map { $0.mapped(replacement) })
        case .indexed(let base, .value(let index)):
            return .indexed(base.mapped(replacement), .value(index.mapped(replacement)))
        case .indexed(let base, let index): return .indexed(base.mapped(replacement), index)
        case .subquery(let collection, let name, let condition):
            // The variable of the subquery hides an outer variable of the same name.
            let inner = condition.mapExpressions { $0 == .variable(name) ? nil : replacement($0) }
            return .subquery(collection.mapped(replacement), variable: name, inner)
        case .ternary(let condition, let first, let second):
            return .ternary(
                condition.mapExpressions(replacement), first.mapped(replacement), second.mapped(replacement))
        case .setOperation(let operation, let left, let right):
            return .setOperation(operation, left.mapped(replacement), right.mapped(replacement))
        case .cast(let value, let type): return .cast(value.mapped(replacement), type: type.mapped(replacement))
        case .assignment(let name, let value): return .assignment(variable: name, value.mapped(replacement))
        case .fetch(let request, let context, let countOnly):
            return .fetch(
                request.mapped(replacement), context: context.mapped(replacement),
                countOnly: countOnly.mapped(replacement))
        }
    }

    /// Returns the expression with a key path appended.
    package func following(_ path: KeyPath) -> Expression {
        switch self {
        case .keyPath(let start): .keyPath(start.appending(path))
        case .path(let base, let start): .path(base, start.appending(path))
        default: .path(self, path)
        }
    }
}
