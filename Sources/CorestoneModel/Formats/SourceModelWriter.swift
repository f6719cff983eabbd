import CorestoneFormats
import CorestoneValues

extension Model {
    /// Encodes the model as the `contents` of an `.xcdatamodel`, as Xcode writes it.
    ///
    /// A model that was read from such a file is written with all of its content in the original order and spelling,
    /// except for changes. New entities and properties are inserted where Xcode inserts them, by name.
    ///
    /// Errors that only `freeze` detects do not prevent writing, because a source model may be incomplete.
    ///
    /// - Parameter isLossy: whether to omit parts that a source model cannot represent, instead of throwing.
    /// - Throws: `.model` with the first part that a source model cannot represent and the number of the others.
    ///   `sourceLosses` lists all of them.
    ///   The first error of the model's construction.
    public func source(isLossy: Bool = false) throws -> [UInt8] {
        try requireNoErrors()
        let losses = isLossy ? [] : sourceLossPlaces
        if let first = losses.first {
            let others = losses.count - 1
            throw modelError(
                "a source model cannot represent \(first.text)"
                    + (others > 0
                        ? " and \(others) other part\(others == 1 ? "" : "s"); remove these parts"
                        : "; remove this part")
                    + ", or allow losses with CST_MODEL_LOSSY (lossy, isLossy)", entity: first.entity, key: first.key)
        }
        var text = SourceText()
        try text.add(SourceModelWriter(self).model)
        return text.bytes + (sourceForm.endsLine ? [UInt8(ascii: "\n")] : [])
    }

    var sourceAttributes: [String: String] {
        [
            "type": "com.apple.IDECoreDataModeler.DataModel", "documentVersion": "1.0",
            // In a source model, an empty text means that the model does not have an identifier.
            "userDefinedModelVersionIdentifier": versionIdentifiers.filter { !$0.isEmpty }.joined(separator: ","),
        ]
    }

    /// The children of `<model>` except entities.
    var sourceElements: [SourceElement] {
        sourceComposites
            + sortedByBytes(fetchRequestTemplates.keys).compactMap { name in
                fetchRequestTemplates[name].map { SourceElement($0, named: name) }
            } + configurations.map { SourceElement($0) }
    }

    /// The types of composite attributes, without duplicates.
    private var sourceComposites: [SourceElement] {
        var found: [String: SourceElement] = [:]
        var waiting = entities.flatMap(\.ownAttributes)
        while let attribute = waiting.popLast() {
            guard attribute.type == .composite, let name = attribute.sourceAttributes["composite"] else { continue }
            waiting += attribute.elements
            if found[name] != nil { continue }
            found[name] = SourceElement(
                "composite", ["name": name],
                attribute.elements.map { SourceItem($0.sourceElement, place: $0.sourceForm.place) }.ordered)
        }
        return sortedByBytes(found.keys).compactMap { found[$0] }
    }
}

extension Property {
    /// The whole element of the property.
    var sourceElement: SourceElement {
        SourceElement(
            sourceName, sourceForm.attributes(sourceAttributes, extras),
            sourceForm.elements(sourceElements, extras).ordered)
    }
}

/// A writer that creates the elements of a source model.
struct SourceModelWriter {
    private let source: Model

    init(_ model: Model) { source = model }

    /// The attributes that Xcode requires in a new model.
    ///
    /// The versions are those of the Xcode version whose layout is used here.
    private static let head = [
        "lastSavedToolsVersion": "22758", "systemVersion": "23F79", "minimumToolsVersion": "Automatic",
        "sourceLanguage": "Swift",
    ]

    var model: SourceElement {
        let isNew = source.sourceForm.place == nil && source.extras.attributes.isEmpty
        let attributes = source.sourceAttributes.merging(isNew ? SourceModelWriter.head : [:]) { old, _ in old }
        var items = source.entities.map {
            SourceItem(entity($0), place: $0.sourceForm.place, isSorted: true)
        }
        items += source.sourceForm.elements(source.sourceElements, source.extras).map { item in
            guard item.element.name == "elements" else { return item }
            return SourceItem(canvas(item.element), place: item.place)
        }
        return SourceElement("model", source.sourceForm.attributes(attributes, source.extras), items.ordered)
    }

    private func entity(_ entity: Entity) -> SourceElement {
        var attributes = entity.sourceAttributes
        // Xcode writes this attribute for every entity.
        if entity.sourceForm.place == nil { attributes["syncable"] = "YES" }
        var items = (entity.ownProperties + entity.ownFetchedProperties).map {
            SourceItem($0.sourceElement, place: $0.sourceForm.place, isSorted: true)
        }
        items += entity.sourceForm.elements(entity.sourceElements, entity.extras)
        return SourceElement("entity", entity.sourceForm.attributes(attributes, entity.extras), items.ordered)
    }

    /// Returns the canvas of older editors with a box for every entity.
    ///
    /// Boxes of new entities are added, and boxes of removed entities are removed. A canvas without boxes is not
    /// changed.
    private func canvas(_ canvas: SourceElement) -> SourceElement {
        let entities = Set(source.entities.map(\.name))
        let boxes = canvas.elements.filter { $0.name == "element" }
        guard !boxes.isEmpty else { return canvas }
        let known = Set(boxes.compactMap { $0.attributes["name"] })
        var items = canvas.elements.filter { box in
            box.name != "element" || box.attributes["name"].map { entities.contains($0) } ?? true
        }.map { SourceItem($0, place: $0.place) }
        for entity in source.entities where !known.contains(entity.name) {
            let lines = entity.ownProperties.count + entity.ownFetchedProperties.count
            items.append(
                SourceItem(
                    SourceElement(
                        "element",
                        [
                            "name": entity.name, "positionX": "0", "positionY": "0", "width": "128",
                            "height": String(44 + 15 * lines),
                        ]), isSorted: true))
        }
        return SourceElement("elements", canvas.attributes, items.ordered)
    }
}
