import CorestoneModel
import CorestoneValues

extension CoreError {
    /// A store refuses a row whose values another one has, where the model says that they are unique.
    ///
    /// - Parameters:
    ///   - values: one for each property.
    package static func notUnique(
        _ entity: Entity, _ properties: [Property], _ values: [PropertyValue], in path: String, sqliteCode: Int32 = 0
    ) -> CoreError {
        let pairs = zip(properties, values).map { "\($0.path) \(shown($1))" }.joined(separator: ", ")
        let names = properties.map(\.path).joined(separator: ", ")
        return CoreError(
            .conflict, code: .managedObjectConstraintMerge,
            "another \(entity.root.name) in \(path) already has \(pairs), but "
                + (properties.count == 1
                    ? "\(names) must be unique; change the value"
                    : "the combination of \(names) must be unique; change one of the values")
                + ", or fetch that object and change it instead",
            entity: entity.name, key: properties.first?.path, value: values.first,
            children: properties.count == 1
                ? []
                : zip(properties, values).map {
                    CoreError(
                        .conflict, code: .managedObjectConstraintMerge,
                        "\(entity.name).\($0.path) is in the unique constraint \(names), but another \(entity.root.name) in \(path) "
                            + "already has \(pairs); change one of the values",
                        entity: entity.name, key: $0.path,
                        value: $1, file: path)
                }, sqliteCode: sqliteCode, file: path)
    }

    private static func shown(_ value: PropertyValue) -> String {
        switch value {
        case .null: "null"
        case .text(let text): "\"\(text.string.prefix(60))\""
        case .uri(let uri): "\(uri.string.prefix(120))"
        case .int(let number): "\(number)"
        case .bool(let flag): flag ? "YES" : "NO"
        case .double(let number), .date(let number): "\(number)"
        default: "with the same value"
        }
    }
}
