import CorestoneModel
import CorestoneValues

/// Decides whether a migration makes the content of a store again, by mapping models or in several steps, instead of changing it in place
/// by an inferred mapping.
package protocol StoreConversion: Sendable {
    /// The conversion of a store from its model to another one; nil if an inferred mapping is to be used.
    ///
    /// - Parameters:
    ///   - path: the store, for messages.
    ///   - options: those of the migration.
    /// - Throws: `.migration`. Nothing was changed then.
    func route(
        from source: Model, to destination: Model, ofStoreAt path: String, _ options: MigrationOptions
    ) throws -> (any ConversionRoute)?
}

/// One way from a model to another one.
package protocol ConversionRoute {
    /// What it does, for plans and logs: one line per step.
    var steps: [String] { get }
    /// Whether the destination may be a model that the store had before: the host named this very way.
    var mayGoBack: Bool { get }
    /// The entities and properties that its inferred steps remove, for plans.
    var removals: [String] { get }

    /// Writes a store of the destination model at `result`, an unused path.
    ///
    /// The result is an SQLite store without a log, closed, with its backing files beside it.
    ///
    /// - Parameters:
    ///   - path: an SQLite store of the source model, which no other program changes until the call returns. It is only read.
    ///   - given: the same store as the host named it, for messages.
    ///   - result: in a folder that belongs to the migration alone.
    ///   - limits: those of the store.
    ///   - progress: called with the rows that are done and of all; false cancels with 134120.
    func run(
        from path: String, named given: String, to result: String, limits: StoreLimits,
        progress: @escaping (_ done: Int, _ total: Int) -> Bool
    ) throws -> ConvertedContent
}

extension ConversionRoute {
    package var mayGoBack: Bool { false }
    package var removals: [String] { [] }
}

/// What a route wrote.
package enum ConvertedContent {
    /// A whole store with the metadata, the past model digests and the history of the former one.
    case complete
    /// Rows only. The table `CST_ASSOCIATION (SOURCE_ENTITY TEXT, SOURCE_KEY INTEGER, ENTITY TEXT, KEY INTEGER)` of the result lists which
    /// object became which, by the names of entities; `properties` lists the properties that were copied. From these the history of the
    /// former store is translated.
    case rows(properties: [CopiedProperty])
}

/// A property of a destination entity that has the value of one of the source.
package struct CopiedProperty: Sendable {
    package let sourceEntity: String
    package let source: String
    package let entity: String
    package let destination: String
    /// Whether every object of the destination entity that was created from one of the source entity has the value: false if a policy
    /// of the host may have set another one, or if several mappings create such objects.
    package let isExact: Bool

    package init(sourceEntity: String, source: String, entity: String, destination: String, isExact: Bool = true) {
        (self.sourceEntity, self.source, self.entity, self.destination) = (sourceEntity, source, entity, destination)
        self.isExact = isExact
    }
}
