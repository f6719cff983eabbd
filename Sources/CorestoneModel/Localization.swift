import CorestoneValues

/// The localised names of the parts of a model, and localised messages of validation rules.
///
/// The keys are those of Core Data: `Entity/E`, `Property/P/Entity/E`, `Property/P` for the property P of every entity,
/// and `ErrorString/W` for the warning W of a rule. The more specific key takes precedence. A part without an entry has
/// its own name.
extension Model {
    /// Returns the localised text of an `ErrorString`, or the warning itself.
    public func localizedError(_ warning: String) -> String { localization["ErrorString/" + warning] ?? warning }
}

extension Entity {
    public var localizedName: String { localizedText.string }
    /// The localised name as bytes with a stable address, for the C interface.
    package var localizedText: Text { model.localizationText("Entity/" + name) ?? nameText }
}

extension Property {
    /// Returns the localised name of the property in an entity that declares or inherits the property.
    ///
    /// An entry for that entity takes precedence over an entry for the declaring entity.
    public func localizedName(in owner: Entity) -> String { localizedText(in: owner).string }

    package func localizedText(in owner: Entity) -> Text {
        let lineage = sequence(first: owner, next: \.parent)
        for entity in lineage {
            if let text = entity.model.localizationText("Property/\(name)/Entity/\(entity.name)") { return text }
        }
        return owner.model.localizationText("Property/" + name) ?? nameText
    }
}
