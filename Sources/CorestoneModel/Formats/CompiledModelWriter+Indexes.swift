import CorestoneValues

extension CompiledModelWriter {
    /// Fetch indexes, and again those of several attributes in the older form that both files carry.
    func indexes(of entity: Entity, _ byName: [String: Property]) -> [String: PropertyListValue] {
        let descriptions = entity.indexes.map { index in
            let number = archiver.reserve()
            let elements = index.elements.map { element in
                var fields: [String: PropertyListValue] = [
                    "NSPropertyName": archiver.string(element.property),
                    "NSFetchIndexElementType": .integer(element.collation.rawValue),
                    "NSAscending": .bool(element.isAscending), "NSFetchIndexDescription": .uid(number),
                ]
                if let description = expression(of: element) { fields["NSIndexedProperty"] = description }
                return archiver.add(ClassName("NSFetchIndexElementDescription"), fields)
            }
            archiver.fill(
                number, ClassName("NSFetchIndexDescription"),
                [
                    "NSIndexName": archiver.string(index.name),
                    "NSIndexElements": archiver.array(elements, isMutable: true),
                    "NSPartialIndexPredicate": archiver.predicate(index.partialPredicate),
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

    /// What an element indexes instead of a property.
    private func expression(of element: FetchIndex.Element) -> PropertyListValue? {
        guard let expression = element.expression?.expression.flatMap(archiver.expression) else { return nil }
        return archiver.add(
            ClassName("NSExpressionDescription", "NSPropertyDescription"),
            [
                "NSPropertyName": archiver.string(element.property), "NSEntity": KeyedArchiver.null,
                "NSRenamingIdentifier": archiver.string(element.property), "NSExpression": expression,
                "NSExpressionType": .integer(Int64(element.expressionType.rawValue)), "NSIsOptional": .bool(true),
                "NSIsReadOnly": .bool(true), "_P": .integer(247),
            ])
    }

    func fetchRequest(_ template: FetchRequestTemplate) -> PropertyListValue {
        let descriptors = template.sortDescriptors.map { descriptor in
            archiver.add(
                ClassName("NSSortDescriptor"),
                [
                    "NSKey": archiver.string(descriptor.keyPath), "NSAscending": .bool(descriptor.ascending),
                    "NSSelector": archiver.string(descriptor.selector.rawValue), "NSReverseNullOrder": .bool(false),
                ])
        }
        let prefetched = template.relationshipKeyPathsForPrefetching.map { archiver.string($0) }
        return archiver.add(
            ClassName("NSFetchRequest", "NSPersistentStoreRequest"),
            [
                "NSEntity": reference(model.entity(named: template.entityName)),
                "NSPredicate": archiver.predicate(template.predicate),
                "NSSortDescriptors": descriptors.isEmpty ? KeyedArchiver.null : archiver.array(descriptors),
                "NSRelationshipKeyPathsForPrefetching": prefetched.isEmpty
                    ? KeyedArchiver.null : archiver.array(prefetched),
                "NSFetchLimit": .integer(Int64(template.limit)), "NSFetchOffset": .integer(Int64(template.offset)),
                "NSBatchSize": .integer(Int64(template.batchSize)),
                "NSResultType": .integer(template.resultType.rawValue), "NSValuesToFetch": KeyedArchiver.null,
                "NSValuesToGroupBy": KeyedArchiver.null, "NSHavingPredicate": KeyedArchiver.null,
                "NSAllocationType": .integer(0), "NSHasFetchRequestFlags": .bool(true),
                // The flags of a request as it is made, the only ones in known archives: which bit says what is not known.
                "NSFetchRequestFlags": .integer(30),
            ])
    }
}

extension FetchIndex.Element {
    /// How the older form calls the element: it has attributes and key paths, partial indexes among them; nil for an index
    /// that it does not have.
    fileprivate func compoundName(_ properties: [String: Property]) -> String? {
        guard let expression else { return properties[property] is Attribute ? property : nil }
        switch expression.expression {
        case .selfObject: return "self"
        case .keyPath(let path): return path.text
        default: return nil
        }
    }
}
