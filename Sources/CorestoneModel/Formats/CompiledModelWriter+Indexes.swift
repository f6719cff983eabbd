import CorestoneFormats
import CorestoneValues

extension CompiledModelWriter {
    /// Archives the fetch indexes.
    ///
    /// Indexes with several elements are also archived in the older form if it supports all of the elements. A `.mom`
    /// file and a `Z_MODELCACHE` both contain the older form.
    func indexes(of entity: Entity, _ byName: [String: Property]) throws -> [String: PropertyListValue] {
        let descriptions = try entity.indexes.map { index in
            let number = archiver.reserve()
            let owner = "the index \"\(index.name)\" of \(entity.name)"
            let elements = try index.elements.map { element in
                var fields: [String: PropertyListValue] = [
                    "NSPropertyName": archiver.string(element.property),
                    "NSFetchIndexElementType": .integer(element.collation.rawValue),
                    "NSAscending": .bool(element.isAscending), "NSFetchIndexDescription": .uid(number),
                ]
                if let text = element.expression {
                    let expression = try expression(text, owner, of: entity.name, key: index.name)
                    fields["NSIndexedProperty"] = expressionDescription(of: element, expression)
                }
                return archiver.add(ClassName("NSFetchIndexElementDescription"), fields)
            }
            archiver.fill(
                number, ClassName("NSFetchIndexDescription"),
                [
                    "NSIndexName": archiver.string(index.name),
                    "NSIndexElements": archiver.array(elements, isMutable: true),
                    "NSPartialIndexPredicate": try predicate(
                        index.partialPredicate, owner, of: entity.name, key: index.name),
                    "NSEntity": reference(entity),
                ])
            return PropertyListValue.uid(number)
        }
        let compound = entity.indexes.map { index in index.elements.map { $0.compoundName(byName) } }
            .filter { $0.count > 1 && !$0.contains(nil) }.map { $0.compactMap { $0 } }
        return [
            "NSFetchIndexDescriptions": archiver.array(descriptions, isMutable: true),
            "NSCompoundIndexes": archiver.array(
                compound.map { archiver.array($0.map { archiver.string($0) }, isMutable: true) }, isMutable: true),
        ]
    }

    /// Archives the expression of an index element.
    private func expressionDescription(
        of element: FetchIndex.Element, _ expression: PropertyListValue
    ) -> PropertyListValue {
        archiver.description(named: element.property, expression, type: element.expressionType)
    }

    /// Archives a fetch request.
    ///
    /// - Parameter owner: the owner of the request, for errors.
    func fetchRequest(
        _ template: FetchRequestTemplate, _ owner: String, of entity: String, key: String
    ) throws -> PropertyListValue {
        archiver.add(
            ClassName("NSFetchRequest", "NSPersistentStoreRequest"),
            archiver.fields(
                of: template, entity: reference(model.entity(named: template.entityName)),
                predicate: try predicate(template.predicate, owner, of: entity, key: key)))
    }
}

extension FetchIndex.Element {
    /// Returns the name of the element in the older form: an attribute, a key path or `self`.
    ///
    /// Returns nil for other elements.
    fileprivate func compoundName(_ properties: [String: Property]) -> String? {
        guard let expression else { return properties[property] is Attribute ? property : nil }
        switch expression.expression {
        case .selfObject: return "self"
        case .keyPath(let path): return path.text
        default: return nil
        }
    }
}

extension FetchRequestTemplate {
    /// The flags of a request that are archived with keys of this library.
    ///
    /// Apple's archives have a number in `NSFetchRequestFlags`, but all known archives contain the default, so the
    /// meaning of its bits is unknown. Flags that differ from their default are therefore archived with keys of this
    /// library, which Apple's framework ignores.
    static let archivedFlags:
        [(key: String, value: any WritableKeyPath<FetchRequestTemplate, Bool> & Sendable, defaultValue: Bool)] = [
            ("CSTIncludesSubentities", \.includesSubentities, true),
            ("CSTIncludesPropertyValues", \.includesPropertyValues, true),
            ("CSTReturnsObjectsAsFaults", \.returnsObjectsAsFaults, true),
            ("CSTReturnsDistinctResults", \.returnsDistinctResults, false),
        ]
}
