import CorestoneValues

extension Model {
    /// The model as the `contents` of an `.xcdatamodel`, as Xcode writes it.
    ///
    /// A model that was read from such a file comes back with all that the file said, in its order and its words, but for
    /// what was changed. New entities and properties stand where Xcode puts them: in the order of names.
    ///
    /// What only the whole model can tell, and `freeze` refuses, is written as it is: a source may be under construction, and
    /// be mended one mistake at a time.
    /// - Parameter isLossy: whether to leave out what a source model has no way to say, instead of refusing.
    /// - Throws: `.model` that names what a source model has no way to say (`sourceLosses`); the first call that failed in
    ///   the model's construction.
    public func source(isLossy: Bool = false) throws -> [UInt8] {
        try requireSound()
        let losses = isLossy ? [] : sourceLossPlaces
        if let first = losses.first {
            let others = losses.count - 1
            throw modelError(
                "a source model cannot represent \(first.text)"
                    + (others > 0
                        ? " and \(others) other element\(others == 1 ? "" : "s"); remove them" : "; remove it")
                    + ", or allow losses with CST_MODEL_LOSSY (lossy)", entity: first.entity, key: first.key)
        }
        var text = SourceText()
        try text.add(SourceModelWriter(self).model)
        return text.bytes + (sourceForm.endsLine ? [UInt8(ascii: "\n")] : [])
    }

    var sourceAttributes: [String: String] {
        [
            "type": "com.apple.IDECoreDataModeler.DataModel", "documentVersion": "1.0",
            // The empty one stands for none.
            "userDefinedModelVersionIdentifier": versionIdentifiers.filter { !$0.isEmpty }.joined(separator: ","),
        ]
    }

    /// What stands in the `<model>` beside the entities.
    var sourceElements: [SourceElement] {
        sourceComposites
            + sortedByBytes(fetchRequestTemplates.keys).compactMap { name in
                fetchRequestTemplates[name].map { SourceElement($0, named: name) }
            } + configurations.map { SourceElement($0) }
    }

    /// The types of composite attributes, each once.
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
    /// The whole element.
    var sourceElement: SourceElement {
        SourceElement(
            sourceName, sourceForm.attributes(sourceAttributes, extras),
            sourceForm.elements(sourceElements, extras).ordered)
    }
}

/// Puts the elements of a source model together.
struct SourceModelWriter {
    private let source: Model

    init(_ model: Model) { source = model }

    /// What Xcode asks for in a model that it did not write; the versions are those of the Xcode whose layout ours is.
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
        // Xcode says so of every entity.
        if entity.sourceForm.place == nil { attributes["syncable"] = "YES" }
        var items = (entity.ownProperties + entity.ownFetchedProperties).map {
            SourceItem($0.sourceElement, place: $0.sourceForm.place, isSorted: true)
        }
        items += entity.sourceForm.elements(entity.sourceElements, entity.extras)
        return SourceElement("entity", entity.sourceForm.attributes(attributes, entity.extras), items.ordered)
    }

    /// The canvas of older editors shows every entity: new ones get their box, others lose it.
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
