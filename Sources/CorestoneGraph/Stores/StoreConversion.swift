import CorestoneModel
import CorestoneValues

/// The choice between conversion and migration in place.
///
/// A conversion writes the content of a store into a new one, with mapping models or in several steps. A migration in
/// place changes a store by an inferred mapping.
package protocol StoreConversion: Sendable {
    /// Returns the conversion of a store from its model to another one; nil to use an inferred mapping.
    ///
    /// - Parameters:
    ///   - path: The path of the store, for messages.
    ///   - options: The options of the migration.
    /// - Throws: `.migration` if the models cannot be connected by mappings or stages.
    ///   `.invalidArgument` if the options do not allow a staged migration.
    ///   The store is unchanged.
    func route(
        from source: Model, to destination: Model, ofStoreAt path: String, _ options: MigrationOptions
    ) throws -> (any ConversionRoute)?
}

/// A method of conversion from one model to another.
package protocol ConversionRoute {
    /// The steps, for plans and logs: one line per step.
    var steps: [String] { get }
    /// Whether the destination may be an earlier model of the store.
    ///
    /// True for a conversion by a single mapping model.
    var allowsEarlierModel: Bool { get }
    /// The entities and properties that the inferred steps of the conversion remove, for plans.
    var removals: [String] { get }

    /// Writes a store of the destination model at `result`, an unused path.
    ///
    /// The result is a closed SQLite store without a write-ahead log, with its backing files beside it.
    ///
    /// - Parameters:
    ///   - path: The path of an SQLite store of the source model, which is only read and which no other process changes
    ///     until the call returns.
    ///   - given: The path as the application passed it, for messages.
    ///   - result: An unused path in a folder that only the migration uses.
    ///   - limits: The limits of the store.
    ///   - progress: Called with the number of converted rows and the total. Returning false cancels the migration with
    ///     134120.
    func run(
        from path: String, named given: String, to result: String, limits: StoreLimits,
        progress: @escaping (_ done: Int, _ total: Int) -> Bool
    ) throws -> ConvertedContent
}

extension ConversionRoute {
    package var allowsEarlierModel: Bool { false }
    package var removals: [String] { [] }
}

/// The contents that a conversion has written.
package enum ConvertedContent {
    /// A complete store with the metadata, the past model digests and the history of the former store.
    case complete
    /// Only rows.
    ///
    /// The table `CST_ASSOCIATION (SOURCE_ENTITY TEXT, SOURCE_KEY INTEGER, ENTITY TEXT, KEY INTEGER)` of the result
    /// maps source objects to converted objects, by entity names. `properties` lists the copied properties. The table
    /// and the list are used to translate the history of the former store.
    case rows(properties: [CopiedProperty])
}

/// A property of a destination entity whose value is copied from a source property.
package struct CopiedProperty: Sendable {
    package let sourceEntity: String
    package let source: String
    package let entity: String
    package let destination: String
    /// Whether the value was copied unchanged for every object that was created from the source entity.
    ///
    /// False if a policy of the application may have set another value, or if several mappings create such objects.
    package let isExact: Bool

    package init(sourceEntity: String, source: String, entity: String, destination: String, isExact: Bool = true) {
        (self.sourceEntity, self.source, self.entity, self.destination) = (sourceEntity, source, entity, destination)
        self.isExact = isExact
    }
}
