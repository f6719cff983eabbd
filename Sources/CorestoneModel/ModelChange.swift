import CorestoneValues

/// A difference between two models.
public struct ModelChange: Equatable, Sendable {
    /// The kind of change.
    public enum Action: String, Sendable { case added, removed, changed, renamed }
    /// The kind of part that changed.
    public enum Part: String, Sendable {
        case model, entity, attribute, relationship, index, configuration
        case fetchedProperty = "fetched property"
        case fetchRequest = "fetch request"
    }

    public let action: Action
    public let part: Part
    /// The name of the entity in the newer model, or in the older one if it was removed.
    ///
    /// Nil for the model itself, and for fetch requests and configurations.
    public let entity: String?
    /// The name of the property, index, fetch request or configuration, in the newer model if it is not removed.
    ///
    /// Nil for the entity or the model itself.
    public let name: String?
    /// The changed field, as in `Model.summary`, such as `optional` or `userInfo.key`.
    ///
    /// Nil if the whole part was added, removed or renamed.
    public let field: String?
    /// The old and the new value; null without a value. For a renamed part, these are its two names.
    public let old: PropertyValue
    public let new: PropertyValue
    /// Whether the version hash of the entity changes, so that stores need a migration.
    public let changesHash: Bool
    /// Whether the change affects only the text of a source model.
    ///
    /// Examples: layout, versions of Xcode, the order of lists, and consequences of another change. Stores and
    /// applications are not affected.
    public internal(set) var isEditorial = false

    /// The change as one line: `attribute Book.pages: optional true -> false`.
    public var text: String { text(entity) }
    /// The change as one line without the entity: `attribute pages: optional true -> false`.
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
