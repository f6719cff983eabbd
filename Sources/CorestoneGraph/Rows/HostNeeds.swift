import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// The parts of an expression that need managed objects or application code.
///
/// They are evaluated in a context, not in a store.
package struct HostNeeds {
    /// The distinct reasons, as clauses.
    package private(set) var reasons: [String] = []
    private let names: HostNames

    package init(_ names: HostNames) { self.names = names }

    package init(_ names: HostNames, of predicate: Predicate) {
        self.init(names)
        visit(predicate)
    }

    package init(_ names: HostNames, of descriptors: [SortDescriptor]) {
        self.init(names)
        for descriptor in descriptors {
            if descriptor.comparator != nil { add("a comparator of the application sorts in memory") }
            visit(descriptor.path)
        }
    }

    private mutating func add(_ reason: String) { if !reasons.contains(reason) { reasons.append(reason) } }

    mutating func visit(_ predicate: Predicate) {
        switch predicate {
        case .constant: break
        case .comparison(let comparison):
            if case .custom(let selector) = comparison.operator, FunctionRegistry.function(named: selector) != nil {
                add("\"\(selector)\" is a function of the application and runs in memory")
            }
            visit(comparison.left)
            visit(comparison.right)
        case .compound(let compound): for part in compound.parts { visit(part) }
        case .block: add("\"\(predicate.format)\" is a block of the application and runs in memory")
        }
    }

    package mutating func visit(_ expression: Expression) {
        switch expression {
        case .constant, .selfObject, .variable, .anyKey: break
        case .keyPath(let path): visit(path)
        case .path(let base, let path):
            visit(base)
            visit(path)
        case .aggregate(let parts), .function(_, let parts): for part in parts { visit(part) }
        case .indexed(let base, let index):
            visit(base)
            if case .value(let value) = index { visit(value) }
        case .subquery(let collection, _, let condition):
            visit(collection)
            visit(condition)
        case .ternary(let condition, let first, let second):
            visit(condition)
            visit(first)
            visit(second)
        case .setOperation(_, let left, let right), .cast(let left, let right):
            visit(left)
            visit(right)
        // The result of such an expression is known only after its evaluation in memory.
        case .dynamicKey, .computedKey, .message, .assignment, .fetch, .block:
            add("\"\(expression.format)\" is computed in memory")
        }
    }

    private mutating func visit(_ path: KeyPath) {
        if names.reasons.isEmpty { return }
        for key in path.keys { if let reason = names.reasons[key.text] { add(reason) } }
    }
}

/// The names of a model's properties that rows do not contain, for all entities.
package struct HostNames {
    /// The reason why rows do not contain the property, by the property's name.
    let reasons: [String: String]

    package init(_ model: Model) {
        var names: [String: String] = [:]
        for entity in model.entities {
            for property in entity.properties where property.isTransient {
                names[property.name] = "\(property.entity.name).\(property.path) is transient and not in the store"
            }
            for property in entity.fetchedProperties {
                names[property.name] =
                    "\(entity.name).\(property.name) is a fetched property, which runs its own fetch"
            }
        }
        reasons = names
    }
}

extension DictionaryFetch {
    /// Whether any part of the fetch needs managed objects or application code.
    var needsHost: Bool {
        var needs = HostNeeds(HostNames(request.entity.model))
        for column in columns + keys { needs.visit(column.computed) }
        if let having { needs.visit(having) }
        return !needs.reasons.isEmpty
    }
}
