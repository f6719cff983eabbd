import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// A model that a store carries and that is of no use.
struct ModelMisfit {
    /// What does not fit, or why the model cannot be read.
    let error: CoreError
    /// nil when it cannot be read.
    let model: Model?
}

/// Finds the model of a store, and where the model's entities lie in the file. Changes nothing.
struct StoreExamination {
    let contents: StoreContents
    let schema: StoreSchema
    let source: ModelSource
    /// Why the model that the store carries is not the one it is read by; nil when it is, when it carries none, or when
    /// another one was given.
    let misfit: ModelMisfit?
    /// Why nothing may be written, as the end of a sentence; nil when it may, as far as was looked: at what the file asks of
    /// its writers only for writing.
    private(set) var readOnlyReason: String?
    /// nil when the store keeps no history, or one of a design that we do not know.
    private(set) var history: HistoryDesign?
    /// What the file lacks; empty unless versions are ignored.
    let gaps: ModelGaps
    /// Whether the file is to become one of the model, by its tables or by its hashes alone: versions are ignored, and it is
    /// opened for writing.
    let isToBeAdopted: Bool

    /// `model` is the one to open the store with; nil for the store's own: the one cached in it, else one inferred from its
    /// tables.
    init(
        _ connection: Connection, model given: Model?, place: StorePlace, forWriting: Bool = false,
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
            // Of tables that are not there, nothing can be asked; a file that was adopted is examined again.
            readOnlyReason =
                try contents.foreignState ?? choice.doubt ?? gaps.readOnlyReason
                ?? (forWriting ? StorePromises(connection: connection).unknownNeed() : nil)
            return
        }
        try schema.findSpatialIndexes(in: connection)
        if source == .inferred {
            readOnlyReason =
                misfit.map {
                    "\($0.error.message.withoutRemedy). Rows are read with a model inferred from the tables; open the store "
                        + "with the model it was written with"
                }
                ?? "its model was inferred from its tables; open it with the model it was written with"
            return
        }
        // Whoever only reads is told too: to open it for writing would not help.
        let foreign = contents.foreignState
        readOnlyReason = foreign ?? choice.doubt
        guard forWriting else { return }
        let promises = try StoreExamination.promises(schema, connection)
        history = promises.history
        readOnlyReason = foreign ?? promises.refusal ?? choice.doubt
    }

    private struct Choice {
        let schema: StoreSchema
        let source: ModelSource
        /// Why the model does for reading only; nil when it does for writing.
        let doubt: String?
        var gaps = ModelGaps()
        var misfit: ModelMisfit?
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

    /// By the model that the store carries, when there is one that fits the tables.
    private static func ownModel(
        _ contents: StoreContents, _ connection: Connection, _ forWriting: Bool
    ) throws -> Choice {
        var cached: Model?
        var misfit: ModelMisfit?
        do {
            cached = try contents.cachedModel(connection)
            if let cached {
                try cached.freeze()
                return try compare(cached, .cached, contents, connection, forWriting)
            }
        } catch let error as CoreError where error.sqliteCode == 0 {
            misfit = ModelMisfit(error: error, model: cached)
        }
        var inference = try ModelInference(contents, connection, cached: cached)
        let inferred = try compare(inference.run(), .inferred, contents, connection, forWriting)
        return Choice(schema: inferred.schema, source: .inferred, doubt: nil, misfit: misfit)
    }

    private static func promises(_ schema: StoreSchema, _ connection: Connection) throws -> (
        history: HistoryDesign?, refusal: String?
    ) {
        do {
            return (try HistoryDesign(of: connection), try StorePromises(connection: connection).refusal(schema))
        } catch let refusal as HistoryRefusal {
            return (nil, refusal.reason)
        }
    }
}
