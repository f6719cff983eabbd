import CorestoneValues

/// One way in which a model differs from another one.
public struct ModelChange: Equatable, Sendable {
    public enum Action: String, Sendable { case added, removed, changed, renamed }
    public enum Part: String, Sendable {
        case model, entity, attribute, relationship, index, configuration
        case fetchedProperty = "fetched property"
        case fetchRequest = "fetch request"
    }

    public let action: Action
    public let part: Part
    /// The entity as the newer model calls it, or the older one when it is gone; nil for what belongs to the model.
    public let entity: String?
    /// The name of the property, index, request or configuration, likewise; nil for the entity or the model itself.
    public let name: String?
    /// What of it changed, as `Model.summary` calls it: `optional`, `userInfo.key`; nil when the whole thing did.
    public let field: String?
    /// What it was and what it is; null for nothing. Of a renamed thing the two names.
    public let old: PropertyValue
    public let new: PropertyValue
    /// Whether the version hash of the entity is another one, so that stores need a migration.
    public let changesHash: Bool
    /// Whether it only concerns how a source model is edited or spelt: layout, versions of Xcode, the order of lists, parts that follow
    /// from another change. Neither stores nor programs notice it.
    public internal(set) var isEditorial = false

    /// The change in a line: `attribute Book.pages: optional true -> false`.
    public var text: String { text(entity) }
    /// The same where the entity is known: `attribute pages: optional true -> false`.
    public var textWithinEntity: String { text(nil) }

    private func text(_ entity: String?) -> String {
        let place = [entity, name].compactMap { $0 }.joined(separator: ".")
        let subject = "\(part.rawValue)\(place.isEmpty ? "" : " " + place)"
        switch (action, field) {
        case (.added, nil), (.removed, nil): return "\(subject): \(action.rawValue)"
        case (.renamed, _): return "\(subject): renamed from \(shown(old))"
        default: return "\(subject): \(field ?? "") \(shown(old)) -> \(shown(new))"
        }
    }

    private func shown(_ value: PropertyValue) -> String {
        if case .text(let text) = value, action == .renamed { return text.string }
        if case .bool(let flag) = value { return flag ? "true" : "false" }
        return value.isNull ? "none" : value.excerpt
    }
}
