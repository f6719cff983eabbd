import CorestoneFormats
import CorestoneValues

extension Model {
    /// Returns all differences to a newer model. The models do not have to be frozen.
    ///
    /// The differences are ordered by entity, in the order of this model and with new entities last. Those of an entity
    /// are in the order fields, properties, indexes. Differences of the model itself are last. Renaming identifiers are
    /// followed. A different order of parts is at most an editorial difference.
    public func changes(to newer: Model) -> [ModelChange] {
        var comparison = ModelComparer(areSources: hasExtras && newer.hasExtras)
        let pairs = paired(entities, newer.entities, name: \.name, identifier: \.renamingIdentifier)
        for (old, new) in pairs { comparison.compare(old, new) }
        comparison.compareRest(of: self, newer)
        return comparison.changes
    }
}

/// Pairs old parts with new ones by name, or else by renaming identifier.
///
/// An unpaired part has nil on the other side.
private func paired<Thing>(
    _ old: [Thing], _ new: [Thing], name: (Thing) -> String, identifier: (Thing) -> String?
) -> [(Thing?, Thing?)] {
    let newNames = Set(new.map(name))
    let oldNames = Set(old.map(name))
    var successors: [String: Thing] = [:]
    for thing in new where !oldNames.contains(name(thing)) {
        if let identifier = identifier(thing) { successors[identifier] = thing }
    }
    let newByName = Dictionary(new.map { (name($0), $0) }, uniquingKeysWith: { first, _ in first })
    var taken: Set<String> = []
    var pairs: [(Thing?, Thing?)] = []
    for thing in old {
        var match = newByName[name(thing)]
        if match == nil, !newNames.contains(name(thing)) {
            match = successors[name(thing)] ?? identifier(thing).flatMap { successors[$0] }
        }
        if let found = match, !taken.insert(name(found)).inserted { match = nil }
        pairs.append((thing, match))
    }
    return pairs + new.filter { !taken.contains(name($0)) }.map { (nil, $0) }
}

/// The collected differences of two models.
private struct ModelComparer {
    private(set) var changes: [ModelChange] = []
    /// Whether both models were read from source models. Only these have editor settings.
    let areSources: Bool

    init(areSources: Bool) { self.areSources = areSources }

    // The fields that affect version hashes; for properties only if they are persistent.
    private static let entityFields: Set<String> = ["abstract", "parent", "uniqueConstraints", "versionHashModifier"]
    private static let propertyFields: Set<String> = [
        "derivation", "destination", "elements", "externalStorage", "inverse", "kind", "maximumCount", "minimumCount",
        "optional", "ordered", "preservedInHistory", "toMany", "transient", "type", "versionHashModifier",
    ]

    mutating func compare(_ old: Entity?, _ new: Entity?) {
        guard let old, let new else {
            guard let entity = old ?? new else { return }
            return add(old == nil ? .added : .removed, .entity, entity.name, nil, hash: true)
        }
        if old.name != new.name { rename(.entity, new.name, nil, old.name, hash: true) }
        var (before, after) = (old.summary.fields, new.summary.fields)
        for list in ["name", "attributes", "relationships", "fetchedProperties", "indexes"] {
            (before[list], after[list]) = (nil, nil)
        }
        let keepsConstraints =
            sortedByBytes(old.uniqueConstraints.map { $0.joined(separator: ".") })
            == sortedByBytes(new.uniqueConstraints.map { $0.joined(separator: ".") })
        compare(before, after, .entity, new.name, nil) {
            ModelComparer.entityFields.contains($0) && ($0 != "uniqueConstraints" || !keepsConstraints)
        }
        let properties = paired(
            old.everyProperty, new.everyProperty, name: \.name, identifier: \.renamingIdentifier)
        for (one, other) in properties { compare(one, other, of: new) }
        let indexes = paired(old.indexes, new.indexes, name: \.name, identifier: { _ in nil })
        for (one, other) in indexes {
            // The compiler adds an implied index for another index. The change of that index is reported separately.
            let isImplied = (one ?? other)?.isImplied == true && one?.isImplied != false && other?.isImplied != false
            compare(
                one?.summary, other?.summary, .index, new.name, one?.name ?? other?.name, isEditorial: isImplied)
        }
    }

    private mutating func compare(_ old: Property?, _ new: Property?, of entity: Entity) {
        guard let old, let new else {
            guard let property = old ?? new else { return }
            return add(
                old == nil ? .added : .removed, property.part, entity.name, property.name, hash: property.isHashed)
        }
        let isHashed = old.isHashed || new.isHashed
        if old.name != new.name { rename(new.part, entity.name, new.name, old.name, hash: isHashed) }
        var (before, after) = (old.summary.fields, new.summary.fields)
        (before["name"], after["name"]) = (nil, nil)
        (before["kind"], after["kind"]) = (.string(old.part.rawValue), .string(new.part.rawValue))
        // Of a derived attribute, only the derivation is hashed. The name of an inverse is not hashed if it is the name
        // of the relationship itself.
        let differs = old.isHashed != new.isHashed || isHashed && versionHash(of: old) != versionHash(of: new)
        compare(before, after, new.part, entity.name, new.name) { field in
            differs && ModelComparer.propertyFields.contains(String(field.prefix { $0 != "." }))
        }
    }

    mutating func compareRest(of old: Model, _ new: Model) {
        var (before, after) = (old.summary.fields, new.summary.fields)
        for list in ["entities", "fetchRequests", "configurations"] { (before[list], after[list]) = (nil, nil) }
        before = before.filter { !$0.key.hasPrefix("fetchRequests.") }
        after = after.filter { !$0.key.hasPrefix("fetchRequests.") }
        compare(before, after, .model, nil, nil) { _ in false }
        let (ours, theirs) = (old.fetchRequestTemplates, new.fetchRequestTemplates)
        for name in sortedByBytes(Set(ours.keys).union(theirs.keys)) {
            compare(ours[name]?.summary, theirs[name]?.summary, .fetchRequest, nil, name)
        }
        let pairs = paired(old.configurations, new.configurations, name: \.name, identifier: { _ in nil })
        for (one, other) in pairs {
            compare(one?.summary, other?.summary, .configuration, nil, one?.name ?? other?.name)
        }
    }

    /// Compares parts that do not affect version hashes.
    private mutating func compare(
        _ old: PropertyValue?, _ new: PropertyValue?, _ part: ModelChange.Part, _ entity: String?, _ name: String?,
        isEditorial: Bool = false
    ) {
        guard let old, let new else {
            return add(old == nil ? .added : .removed, part, entity, name, hash: false, isEditorial: isEditorial)
        }
        compare(old.fields, new.fields, part, entity, name) { _ in false }
    }

    private mutating func compare(
        _ old: [String: PropertyValue], _ new: [String: PropertyValue], _ part: ModelChange.Part, _ entity: String?,
        _ name: String?, changesHash: (String) -> Bool
    ) {
        for field in sortedByBytes(Set(old.keys).union(new.keys)) {
            let (before, after) = (old[field] ?? .null, new[field] ?? .null)
            if before == after { continue }
            let action: ModelChange.Action = before.isNull ? .added : after.isNull ? .removed : .changed
            changes.append(
                ModelChange(
                    action: action, part: part, entity: entity, name: name, field: field, old: before, new: after,
                    changesHash: changesHash(field),
                    isEditorial: isEditorial(field, before, after) || isExplained(field, after, part, entity, name)))
        }
    }

    private mutating func add(
        _ action: ModelChange.Action, _ part: ModelChange.Part, _ entity: String?, _ name: String?, hash: Bool,
        isEditorial: Bool = false
    ) {
        changes.append(
            ModelChange(
                action: action, part: part, entity: entity, name: name, field: nil, old: .null, new: .null,
                changesHash: hash, isEditorial: isEditorial))
    }

    private mutating func rename(
        _ part: ModelChange.Part, _ entity: String, _ name: String?, _ former: String, hash: Bool
    ) {
        changes.append(
            ModelChange(
                action: .renamed, part: part, entity: entity, name: name, field: nil, old: .string(former),
                new: .string(name ?? entity), changesHash: hash, isEditorial: false))
    }
}

// MARK: - Editorial changes

extension ModelComparer {
    /// The editor settings that affect generated code.
    private static let codeSettings: Set<String> = ["codeGenerationType", "usesScalarValueType", "customClassName"]

    private func isEditorial(_ field: String, _ old: PropertyValue, _ new: PropertyValue) -> Bool {
        let path = field.split(separator: ".").map(String.init)
        if path.first == "extras" {
            return !areSources || path.count != 3 || !ModelComparer.codeSettings.contains(path[2])
        }
        switch field {
        case "uniqueConstraints", "entities": return old.sortedTexts == new.sortedTexts
        // Xcode writes an empty text for a missing identifier.
        case "versionIdentifiers":
            return old.sortedTexts.filter { $0 != "\"\"" } == new.sortedTexts.filter { $0 != "\"\"" }
        case "elements": return old.withoutExtras == new.withoutExtras
        // Compiled models do not contain the name of a composite type.
        case "composite": return old.isNull || new.isNull
        case "className": return ModelComparer.isSameClass(old, new)
        default: return false
        }
    }

    /// Whether the renaming identifier only records a rename, which is a separate change.
    private func isExplained(
        _ field: String, _ new: PropertyValue, _ part: ModelChange.Part, _ entity: String?, _ name: String?
    ) -> Bool {
        field == "renamingIdentifier"
            && changes.contains {
                $0.action == .renamed && $0.part == part && $0.entity == entity && $0.name == name && $0.old == new
            }
    }

    /// Whether the names differ only by the module that the compiler fills in: `.Note` and `App.Note`.
    private static func isSameClass(_ old: PropertyValue, _ new: PropertyValue) -> Bool {
        guard case .text(let one) = old, case .text(let other) = new else { return false }
        let (a, b) = (one.string, other.string)
        return a.hasPrefix(".") && b.hasSuffix(a) || b.hasPrefix(".") && a.hasSuffix(b)
    }
}

extension PropertyValue {
    /// The elements of a list as sorted texts.
    fileprivate var sortedTexts: [String] {
        guard case .array(let values) = self else { return [] }
        return sortedByBytes(values.map { JSONText($0).text })
    }

    /// The value without fields that compiled models do not contain, at any depth.
    fileprivate var withoutExtras: PropertyValue {
        switch self {
        case .array(let values): .array(values.map(\.withoutExtras))
        case .dictionary(let entries):
            .dictionary(entries.filter { $0.key != "extras" && $0.key != "composite" }.mapValues(\.withoutExtras))
        default: self
        }
    }
}

extension Model {
    /// Whether any part has content that only source models can contain.
    fileprivate var hasExtras: Bool {
        !extras.isEmpty
            || entities.contains { entity in
                !entity.extras.isEmpty || entity.everyProperty.contains { !$0.extras.isEmpty }
            }
    }
}

extension Entity {
    fileprivate var everyProperty: [Property] { ownProperties + ownFetchedProperties }
}

extension Property {
    fileprivate var part: ModelChange.Part {
        switch self {
        case is Attribute: .attribute
        case is Relationship: .relationship
        default: .fetchedProperty
        }
    }

    /// Whether the property affects the entity's version hash.
    fileprivate var isHashed: Bool { !isTransient && !(self is FetchedProperty) }
}

extension PropertyValue {
    /// The values of nested dictionaries by path: `optional`, `userInfo.key`.
    var fields: [String: PropertyValue] {
        var found: [String: PropertyValue] = [:]
        func add(_ path: String, _ value: PropertyValue) {
            guard case .dictionary(let inner) = value else {
                found[path] = value
                return
            }
            for (key, value) in inner { add(path.isEmpty ? key : "\(path).\(key)", value) }
        }
        add("", self)
        return found
    }
}
