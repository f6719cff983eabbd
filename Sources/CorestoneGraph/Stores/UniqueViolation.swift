import CorestoneModel
import CorestoneValues

extension CoreError {
    /// Creates the error of a store for a row that violates a unique constraint.
    ///
    /// - Parameters:
    ///   - values: The values, in the order of `properties`.
    package static func notUnique(
        _ entity: Entity, _ properties: [Property], _ values: [PropertyValue], in path: String, sqliteCode: Int32 = 0
    ) -> CoreError {
        let names = properties.map { "\(entity.name).\($0.path)" }.joined(separator: " and ")
        let found =
            "but another \(entity.root.name) in \(path) already has \(values.map(shown).joined(separator: " and "))"
        let constraint = properties.map(\.path).joined(separator: ", ")
        return CoreError(
            .conflict, code: .managedObjectConstraintMerge,
            (properties.count == 1
                ? "\(names) must be unique, \(found); change the value"
                : "the combination of \(names) must be unique, \(found); change one of the values")
                + ", or fetch that object and change it instead",
            entity: entity.name, key: properties.first?.path, value: values.first,
            children: properties.count == 1
                ? []
                : zip(properties, values).map {
                    CoreError(
                        .conflict, code: .managedObjectConstraintMerge,
                        "\(entity.name).\($0.path) is in the unique constraint \"\(constraint)\", \(found); "
                            + "change one of the values",
                        entity: entity.name, key: $0.path,
                        value: $1, file: path)
                }, sqliteCode: sqliteCode, file: path)
    }

    private static func shown(_ value: PropertyValue) -> String {
        switch value {
        case .uri(let uri): "\"\(uri.string.prefix(120))\""
        case .bytes: "the same binary data"
        default: value.shownInConflict
        }
    }
}
