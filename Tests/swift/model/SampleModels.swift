import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// Models that use every feature of a compiled model.
enum SampleModels {
    static func everything() throws -> Model {
        let model = Model()
        try model.addVersionIdentifier("1.0")
        try model.addVersionIdentifier("Ünïcode")
        let item = try model.addEntity(named: "Item")
        try item.setAbstract(true)
        try item.setClassName("App.Item")
        try item.setUserInfo("yes", forKey: "synced")
        try item.setVersionHashModifier("v2")
        let note = try model.addEntity(named: "note")
        try note.setParent(item)
        let photo = try model.addEntity(named: "Photo")
        try photo.setParent(item)
        try photo.setRenamingIdentifier("Picture")
        let tag = try model.addEntity(named: "Tag")

        try attributes(of: item)
        let title = try note.addAttribute(named: "title", type: .string, isOptional: false)
        try title.setDefaultValue(.string("Grüße 🎉"))
        try title.setUserInfo("1", forKey: "weight")
        try title.setRenamingIdentifier("name")
        try title.setVersionHashModifier("trimmed")
        try note.addAttribute(named: "draft", type: .undefined, isTransient: true)
        let pixels = try photo.addAttribute(named: "pixels", type: .binary)
        try pixels.setAllowsExternalStorage(true)
        try pixels.setPreservesValueInHistory(true)
        try tag.addAttribute(named: "label", type: .string, isOptional: false)
        try tag.addAttribute(named: "weight", type: .integer16)
        try relationships(item: item, note: note, tag: tag)
        try tag.addIndex(FetchIndex(name: "byLabel", elements: [.init(property: "label")]))
        try tag.addIndex(
            FetchIndex(
                name: "byBoth", elements: [.init(property: "label"), .init(property: "weight", isAscending: false)]))
        try tag.addIndex(
            FetchIndex(
                name: "partial",
                elements: [
                    .init(expression: ExpressionText("entity"), named: "expression1"), .init(property: "weight"),
                ], partialPredicate: PredicateText("weight > 0 AND label != nil")))
        try rarities(item: item, note: note, tag: tag)
        try tag.addUniqueConstraint(["weight", "label"])
        try tag.addUniqueConstraint(["label"])
        try model.freeze()
        return model
    }

    /// Rare features.
    private static func rarities(item: Entity, note: Entity, tag: Entity) throws {
        let model = item.model
        let count = try item.addAttribute(named: "tagCount", type: .integer64)
        try count.setDerivation(Derivation(ExpressionText("tags.@count")))
        let label = try note.addAttribute(named: "mainLabel", type: .string)
        try label.setDerivation(Derivation(ExpressionText("mainTag.label")))
        var request = FetchRequestTemplate(
            entityName: "Tag", predicate: PredicateText("label == $FETCH_SOURCE.title AND weight IN {1, 2}"))
        request.sortDescriptors = [SortDescriptor("weight", ascending: false)]
        request.limit = 10
        try note.addFetchedProperty(named: "sameTags", fetchRequest: request)
        try model.setFetchRequestTemplate(
            FetchRequestTemplate(entityName: "note", predicate: PredicateText("title BEGINSWITH[cd] $PREFIX")),
            forName: "notesBeginning")
        try model.setConfiguration(ModelConfiguration(name: "Small", entityNames: ["Tag", "note"]))
        let rating = try tag.addAttribute(named: "rating", type: .integer16)
        try rating.setValidationRules([
            ValidationRule(PredicateText("SELF >= 0"), warning: .code(1620)),
            ValidationRule(PredicateText("SELF <= 5"), warning: .text("Five stars are the most.")),
        ])
        let code = try tag.addAttribute(named: "code", type: .string)
        try code.setValidationRules([ValidationRule(PredicateText("length <= 3"), warning: .code(1660))])
        try code.setAllowsCloudEncryption(true)
        try code.setIndexedBySpotlight(true)
    }

    private static func attributes(of entity: Entity) throws {
        let defaults: [(AttributeType, PropertyValue)] = [
            (.integer16, .int(-7)), (.integer32, .int(70_000)), (.integer64, .int(.min)),
            (.decimal, .decimal(try DecimalNumber("-12345678901234567890.5"))), (.double, .double(0.1)),
            (.float, .double(0.5)), (.string, .string("x")), (.boolean, .bool(true)), (.date, .date(-0.5)),
            (.binary, .bytes(Bytes([0, 255]))), (.uuid, .uuid(UUIDValue(high: 1, low: 2))),
            (.uri, .uri(Text("https://example.org/ä"))),
        ]
        for (type, value) in defaults {
            let name = "a\(type.rawValue)"
            try entity.addAttribute(named: name, type: type, isOptional: type != .boolean).setDefaultValue(value)
            try entity.addAttribute(named: name + "None", type: type)
        }
        try entity.addAttribute(named: "a1800", type: .transformable).setValueTransformerName("Secret")
    }

    private static func relationships(item: Entity, note: Entity, tag: Entity) throws {
        let tags = try item.addRelationship(named: "tags", destination: tag, isToMany: true, isOrdered: true)
        let items = try tag.addRelationship(named: "items", destination: item, isToMany: true)
        try tags.setInverse(items)
        let parent = try item.addRelationship(named: "parent", destination: item, isOptional: false)
        let children = try item.addRelationship(named: "children", destination: item, isToMany: true)
        try parent.setInverse(children)
        try children.setDeleteRule(.cascade)
        try children.setCounts(minimum: 1, maximum: 9)
        let similar = try note.addRelationship(named: "similar", destination: note, isToMany: true)
        try similar.setInverse(similar)
        try similar.setDeleteRule(.deny)
        try note.addRelationship(named: "mainTag", destination: tag).setDeleteRule(.noAction)
    }
}
