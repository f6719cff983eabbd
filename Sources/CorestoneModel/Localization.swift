import CorestoneValues

/// What the parts of a model are called for people, and what its conditions say when they are not met.
///
/// The keys are Core Data's: `Entity/E`, `Property/P/Entity/E`, `Property/P` for the property of that name of every entity, and
/// `ErrorString/W` for the warning W of a condition. The more specific key wins; what has no entry is called by its name.
extension Model {
    /// The entry's words for an `ErrorString`, or the warning itself.
    public func localizedError(_ warning: String) -> String { localization["ErrorString/" + warning] ?? warning }
}

extension Entity {
    public var localizedName: String { localizedText.string }
    /// The same as C hosts read it.
    package var localizedText: Text { model.localizationText("Entity/" + name) ?? nameText }
}

extension Property {
    /// What the property is called in an entity, which may inherit it: an entry for that entity wins over one for the entity
    /// that declares the property.
    public func localizedName(in owner: Entity) -> String { localizedText(in: owner).string }

    package func localizedText(in owner: Entity) -> Text {
        let lineage = sequence(first: owner, next: \.parent)
        for entity in lineage {
            if let text = entity.model.localizationText("Property/\(name)/Entity/\(entity.name)") { return text }
        }
        return owner.model.localizationText("Property/" + name) ?? nameText
    }
}
