import CorestoneFormats
import CorestonePredicate
import CorestoneValues

/// A fetch request in the form of NSKeyedArchiver, for storage outside a model.
///
/// The fields are those of requests in compiled models. Settings that a template does not have are archived next to
/// these fields, in part with keys that Apple's framework ignores.
package struct FetchRequestArchive {
    /// A fetched column: a property, or an expression with a name.
    package struct Column {
        package let name: String
        package let expression: Expression?
        package let type: AttributeType

        package init(name: String, expression: Expression? = nil, type: AttributeType = .undefined) {
            (self.name, self.expression, self.type) = (name, expression, type)
        }
    }

    package var template: FetchRequestTemplate
    package var columns: [Column] = []
    package var groupBy: [String] = []
    package var having: Predicate?
    package var includesPendingChanges = true
    package var refreshesRefetched = false
    package var allowsSplit = true
    package var computesRowsInMemory = false
    package var nulls: Int64 = 0

    private static let className = KeyedArchiver.ClassName("NSFetchRequest", "NSPersistentStoreRequest")
    private static let maximumColumns = 1000

    package init(_ template: FetchRequestTemplate) { self.template = template }

    /// Returns the archived request.
    ///
    /// - Throws: `.unsupported` for a predicate or expression that cannot be archived, for example because it contains
    ///   a block or an object.
    package func encoded() throws -> [UInt8] {
        let archiver = KeyedArchiver()
        func names(_ names: [String]) -> PropertyListValue {
            names.isEmpty ? KeyedArchiver.null : archiver.array(names.map { archiver.string($0) })
        }
        func predicate(_ predicate: Predicate?) throws -> PropertyListValue {
            archiver.startTree()
            return try predicate.map { try archiver.predicate($0) } ?? KeyedArchiver.null
        }
        let number = archiver.reserve()
        var fields = archiver.fields(
            of: template, entity: KeyedArchiver.null, predicate: try predicate(try template.predicate?.required()))
        fields["CSTEntityName"] = archiver.string(template.entityName)
        fields["NSValuesToGroupBy"] = names(groupBy)
        fields["NSHavingPredicate"] = try predicate(having)
        if !columns.isEmpty {
            fields["NSValuesToFetch"] = archiver.array(
                try columns.map { column in
                    guard let expression = column.expression else { return archiver.string(column.name) }
                    archiver.startTree()
                    return archiver.description(
                        named: column.name, try archiver.expression(expression), type: column.type)
                })
        }
        if !includesPendingChanges { fields["CSTIncludesPendingChanges"] = .bool(false) }
        if refreshesRefetched { fields["CSTShouldRefreshRefetchedObjects"] = .bool(true) }
        if !allowsSplit { fields["CSTAllowsSplit"] = .bool(false) }
        if computesRowsInMemory { fields["CSTComputesRowsInMemory"] = .bool(true) }
        if nulls != 0 { fields["CSTNulls"] = .integer(nulls) }
        archiver.fill(number, FetchRequestArchive.className, fields)
        return archiver.encoded(root: .uid(number))
    }

    /// Reads an archived request.
    ///
    /// - Throws: `.storeCorrupt` if the bytes are not an archived request or exceed a limit.
    ///   `.predicateSyntax` if the expression of a column or the predicate for groups is not supported.
    package init(_ bytes: [UInt8]) throws {
        let archive = try KeyedArchiveReader(bytes)
        guard let fields = archive.rootFields, archive.className(archive.root) == "NSFetchRequest" else {
            throw archiveError(
                "the root of the archive is not a fetch request; pass the result of cst_fetch_request_copy_archive (to_archive, archived)"
            )
        }
        let name = archive.string(fields["CSTEntityName"]) ?? ""
        do { template = try archive.template(fields, entityName: name) } catch let error as CoreError {
            throw error.with(entity: name.isEmpty ? nil : name, key: nil)
        }
        let values = archive.elements(fields["NSValuesToFetch"])
        groupBy = archive.names(fields["NSValuesToGroupBy"])
        let entity = template.entityName.isEmpty ? nil : template.entityName
        for (count, noun) in [(values.count, "columns"), (groupBy.count, "grouping keys")]
        where count > FetchRequestArchive.maximumColumns {
            throw archiveError(
                "the archived fetch request has \(count) \(noun), but the limit is "
                    + "\(FetchRequestArchive.maximumColumns); remove some of them"
            ).with(entity: entity, key: nil)
        }
        func naming<Meaning>(_ part: String, key: String?, _ read: () throws -> Meaning) throws -> Meaning {
            do { return try read() } catch let error as CoreError where error.entity == nil {
                throw error.within(
                    "the \(part) of the fetch request\(entity.map { " for \($0)" } ?? "")",
                    entity: entity, key: key)
            }
        }
        columns = try values.compactMap { reference in
            if let name = archive.string(reference) { return Column(name: name) }
            guard let fields = archive.fields(reference), let name = archive.string(fields["NSPropertyName"]) else {
                return nil
            }
            let type = fields["NSExpressionType"]?.integer.flatMap { Int32(exactly: $0) }
            let expression = try naming("column \"\(name)\"", key: name) {
                try archive.expressionText(fields["NSExpression"])?.required()
            }
            return Column(
                name: name, expression: expression,
                type: type.flatMap { AttributeType(rawValue: $0) } ?? .undefined)
        }
        having = try naming("having predicate", key: nil) {
            try archive.predicateText(fields["NSHavingPredicate"])?.required()
        }
        includesPendingChanges = fields["CSTIncludesPendingChanges"]?.flag ?? true
        refreshesRefetched = fields["CSTShouldRefreshRefetchedObjects"]?.flag ?? false
        allowsSplit = fields["CSTAllowsSplit"]?.flag ?? true
        computesRowsInMemory = fields["CSTComputesRowsInMemory"]?.flag ?? false
        nulls = fields["CSTNulls"]?.integer ?? 0
    }
}

// MARK: - Requests in models

extension KeyedArchiver {
    /// Returns the fields of a request, without columns and groups.
    func fields(
        of template: FetchRequestTemplate, entity: PropertyListValue, predicate: PropertyListValue
    ) -> [String: PropertyListValue] {
        let descriptors = template.sortDescriptors.map { descriptor in
            add(
                ClassName("NSSortDescriptor"),
                [
                    "NSKey": string(descriptor.keyPath), "NSAscending": .bool(descriptor.ascending),
                    "NSSelector": string(descriptor.selector.rawValue), "NSReverseNullOrder": .bool(false),
                ])
        }
        let prefetched = template.relationshipKeyPathsForPrefetching.map { string($0) }
        let request: [String: PropertyListValue] = [
            "NSEntity": entity, "NSPredicate": predicate,
            "NSSortDescriptors": descriptors.isEmpty ? KeyedArchiver.null : array(descriptors),
            "NSRelationshipKeyPathsForPrefetching": prefetched.isEmpty ? KeyedArchiver.null : array(prefetched),
            "NSFetchLimit": .integer(Int64(template.limit)), "NSFetchOffset": .integer(Int64(template.offset)),
            "NSBatchSize": .integer(Int64(template.batchSize)),
            "NSResultType": .integer(template.resultType.rawValue), "NSValuesToFetch": KeyedArchiver.null,
            "NSValuesToGroupBy": KeyedArchiver.null, "NSHavingPredicate": KeyedArchiver.null,
            "NSAllocationType": .integer(0), "NSHasFetchRequestFlags": .bool(true),
            "NSFetchRequestFlags": .integer(30),
        ]
        let flags = FetchRequestTemplate.archivedFlags.filter { template[keyPath: $0.value] != $0.defaultValue }
        return request.merging(flags.map { ($0.key, .bool(!$0.defaultValue)) }) { old, _ in old }
    }

    /// Archives a computed column or index element.
    func description(named name: String, _ expression: PropertyListValue, type: AttributeType) -> PropertyListValue {
        add(
            ClassName("NSExpressionDescription", "NSPropertyDescription"),
            [
                "NSPropertyName": string(name), "NSEntity": KeyedArchiver.null, "NSRenamingIdentifier": string(name),
                "NSExpression": expression, "NSExpressionType": .integer(Int64(type.rawValue)),
                "NSIsOptional": .bool(true), "NSIsReadOnly": .bool(true), "_P": .integer(247),
            ])
    }
}

extension KeyedArchiveReader {
    func template(_ fields: Fields, entityName: String) throws -> FetchRequestTemplate {
        let entity = string(self.fields(fields["NSEntity"])?["NSEntityName"])
        var template = FetchRequestTemplate(entityName: entity ?? entityName)
        template.predicate = try predicateText(fields["NSPredicate"])
        template.sortDescriptors = elements(fields["NSSortDescriptors"]).compactMap { reference in
            guard let fields = self.fields(reference), let key = string(fields["NSKey"]) else { return nil }
            let selector = string(fields["NSSelector"]).flatMap(SortDescriptor.Selector.init(rawValue:))
            return SortDescriptor(
                path: KeyPath(key), ascending: fields["NSAscending"]?.flag ?? true, selector: selector ?? .compare)
        }
        template.limit = Int(max(fields["NSFetchLimit"]?.integer ?? 0, 0))
        template.offset = Int(max(fields["NSFetchOffset"]?.integer ?? 0, 0))
        template.batchSize = Int(max(fields["NSBatchSize"]?.integer ?? 0, 0))
        for flag in FetchRequestTemplate.archivedFlags {
            if let value = fields[flag.key]?.flag { template[keyPath: flag.value] = value }
        }
        template.resultType = fields["NSResultType"]?.integer.flatMap(FetchRequestTemplate.ResultType.init) ?? .objects
        template.relationshipKeyPathsForPrefetching = names(fields["NSRelationshipKeyPathsForPrefetching"])
        return template
    }

    /// Returns the strings of a list, and the names of the properties in it.
    func names(_ list: PropertyListValue?) -> [String] {
        elements(list).compactMap { string($0) ?? string(fields($0)?["NSPropertyName"]) }
    }
}
