import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// A cached model that cannot be used.
struct UnusableCachedModel {
    /// The reason why the model does not match the tables, or cannot be read.
    let error: CoreError
    /// The model; nil if it cannot be read.
    let model: Model?
}

/// An examination of a store. It determines the model and the tables of the entities, and does not change the file.
struct StoreExamination {
    let contents: StoreContents
    let schema: StoreSchema
    let source: ModelSource
    /// The reason why the store is not read with its cached model. nil if the cached model is used, if there is no
    /// cached model, or if another model was passed.
    let misfit: UnusableCachedModel?
    /// The reason why the store is read-only, as a clause for a message; nil if it is writable. The requirements for
    /// writers are checked only if the store is opened for writing.
    private(set) var readOnlyReason: String?
    /// The history; nil if the store does not record one or is opened for reading, or if its design is not supported.
    private(set) var history: HistorySchema?
    /// The tables and columns that the file lacks; empty unless versions are ignored.
    let gaps: ModelGaps
    /// Whether the file has to be adapted to the model, in its tables or only in its hashes. This requires that
    /// versions are ignored and the store is opened for writing.
    let isToBeAdopted: Bool

    /// Examines the file.
    ///
    /// - Parameter given: The model to open the store with; nil to use the store's cached model, or a model inferred
    ///   from its tables.
    init(
        _ connection: Connection, model given: Model?, place: StoreLocation, forWriting: Bool = false,
        versions: VersionRule = .compared
    ) throws {
        let contents = try StoreContents(connection, place: place)
        let choice =
            if let given {
                try StoreExamination.compare(
                    given, .given, contents, connection, forWriting, versions: versions)
            } else {
                try StoreExamination.ownModel(contents, connection, forWriting)
            }
        self.contents = contents
        (schema, source, misfit, gaps) = (choice.schema, choice.source, choice.misfit, choice.gaps)
        isToBeAdopted =
            versions == .ignored && forWriting && given != nil
            && (!choice.gaps.isEmpty || contents.document.metadata?.isOfAnotherModel(than: choice.schema.model) == true)
        if isToBeAdopted || !gaps.isEmpty {
            // Missing tables cannot be examined; an adapted file is examined again.
            readOnlyReason =
                try contents.foreignState ?? choice.doubt ?? gaps.readOnlyReason
                ?? (forWriting ? WriteRequirements(connection: connection).unknownNeed() : nil)
            return
        }
        try schema.findSpatialIndexes(in: connection)
        if source == .inferred {
            readOnlyReason =
                misfit.map {
                    "\($0.error.message.withoutRemedy). Rows are read with a model inferred from the tables; "
                        + Store.needsItsModel
                }
                ?? "its model was inferred from its tables; \(Store.needsItsModel)"
            return
        }
        // This reason applies to readers too, because opening the store for writing would not remove it.
        let foreign = contents.foreignState
        readOnlyReason = foreign ?? choice.doubt
        guard forWriting else { return }
        let requirements = try StoreExamination.requirements(schema, connection)
        history = requirements.history
        readOnlyReason = foreign ?? requirements.refusal ?? choice.doubt
    }

    private struct Choice {
        let schema: StoreSchema
        let source: ModelSource
        /// The reason why the model can only be used for reading; nil if it can be used for writing.
        let doubt: String?
        var gaps = ModelGaps()
        var misfit: UnusableCachedModel?
    }

    private static func compare(
        _ model: Model, _ source: ModelSource, _ contents: StoreContents, _ connection: Connection, _ forWriting: Bool,
        versions: VersionRule = .compared
    ) throws -> Choice {
        let comparison = ModelComparison(
            model: model, source: source, contents: contents, connection: connection, forWriting: forWriting,
            versions: versions)
        let result = try comparison.run()
        return Choice(schema: result.schema, source: source, doubt: result.doubt, gaps: result.gaps)
    }

    /// Uses the store's cached model if it matches the tables, otherwise an inferred model.
    private static func ownModel(
        _ contents: StoreContents, _ connection: Connection, _ forWriting: Bool
    ) throws -> Choice {
        var cached: Model?
        var misfit: UnusableCachedModel?
        do {
            cached = try contents.cachedModel(connection)
            if let cached {
                try cached.freeze()
                return try compare(cached, .cached, contents, connection, forWriting)
            }
        } catch let error as CoreError where error.sqliteCode == 0 {
            misfit = UnusableCachedModel(error: error, model: cached)
        }
        var inference = try ModelInference(contents, connection, cached: cached)
        let inferred = try compare(inference.run(), .inferred, contents, connection, forWriting)
        return Choice(schema: inferred.schema, source: .inferred, doubt: nil, misfit: misfit)
    }

    private static func requirements(_ schema: StoreSchema, _ connection: Connection) throws -> (
        history: HistorySchema?, refusal: String?
    ) {
        do {
            return (try HistorySchema(of: connection), try WriteRequirements(connection: connection).refusal(schema))
        } catch let refusal as HistoryRefusal {
            return (nil, refusal.reason)
        }
    }
}
