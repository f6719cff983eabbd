import CorestoneModel
import CorestoneValues

extension CoreError {
    /// Creates the error of a store for a row that violates a unique constraint.
    ///
    /// The other row with the same values can be one that the same save or batch request has written. Each is one
    /// transaction.
    ///
    /// - Parameters:
    ///   - values: The values, in the order of `properties`; null for a value that is unknown, because null does not
    ///     violate a constraint.
    ///   - objectURI: The URI of the row; nil if it is unknown.
    package static func notUnique(
        _ entity: Entity, _ properties: [Property], _ values: [PropertyValue], in path: String,
        objectURI: String? = nil, sqliteCode: Int32 = 0
    ) -> CoreError {
        let names = properties.map { "\(entity.name).\($0.path)" }.joined(separator: " and ")
        let found =
            "another \(entity.root.name) in the same transaction or in \(Coordinator.shown(path)) already has "
            + zip(properties, values).map { shown($0, $1) }.joined(separator: " and ")
        let constraint = properties.map(\.path).joined(separator: ", ")
        return CoreError(
            .conflict, code: .managedObjectConstraintMerge,
            (properties.count == 1
                ? "\(names) must be unique, but \(found); change the value"
                : "the combination of \(names) must be unique, but \(found); change one of the values")
                + ", or change the other object instead",
            entity: entity.name, key: properties.first?.path, value: values.first.flatMap(known), objectURI: objectURI,
            children: properties.count == 1
                ? []
                : zip(properties, values).map {
                    CoreError(
                        .conflict, code: .managedObjectConstraintMerge,
                        "\(entity.name).\($0.path) is in the unique constraint \"\(constraint)\", and \(found); "
                            + "change one of the values",
                        entity: entity.name, key: $0.path,
                        value: known($1), objectURI: objectURI, file: path)
                }, sqliteCode: sqliteCode, file: path)
    }

    private static func known(_ value: PropertyValue) -> PropertyValue? {
        if case .null = value { nil } else { value }
    }

    private static func shown(_ property: Property, _ value: PropertyValue) -> String {
        switch value {
        case .null: "the same \(property.path)"
        case .uri(let uri): "\"\(uri.string.prefix(120))\(uri.string.count > 120 ? "…" : "")\""
        case .bytes: "the same binary data"
        default: value.shownInConflict
        }
    }
}
