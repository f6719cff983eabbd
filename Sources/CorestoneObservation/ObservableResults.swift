import Corestone
import Observation

/// The results of a fetch request, kept up to date, for the Observation framework.
///
///     let notes = try ObservableResults(of: request, in: context)
///     withObservationTracking { show(notes.objects) } onChange: { scheduleRedraw() }
///
/// Reading a property within `withObservationTracking`, or in a view that tracks its reads, registers for its next
/// change. The results change on the context's queue whenever pending changes were processed, as in
/// `Context.observe(_:sections:dependencies:ended:_:)`. All members must be used on that queue. The object does not
/// retain the context or the objects.
public final class ObservableResults: Observable {
    private let registrar = ObservationRegistrar()
    private weak var context: Context?
    private var observation: Corestone.Observation?
    private var current = ResultsSnapshot()
    private var failure: CoreError?

    /// Fetches the objects of a request, and begins to track them.
    ///
    /// - Parameters:
    ///   - request: The fetch request, which is copied.
    ///   - sections: The source of the section names; nil for a single section.
    ///   - dependencies: The key paths of related objects whose changes count as changes of the results.
    /// - Throws: Errors of the fetch.
    ///   `.wrongThread` on a thread other than the context's.
    public init(
        of request: FetchRequest, in context: Context, sections: SectionNaming? = nil, dependencies: [String] = []
    ) throws {
        self.context = context
        observation = try context.observe(request, sections: sections, dependencies: dependencies) {
            [weak self] _, difference, _ in self?.apply(difference)
        }
    }

    /// An update of an object changes `snapshot` too, although the IDs are equal: its reader shows the object's values.
    private func apply(_ difference: ResultsDifference) {
        registrar.withMutation(of: self, keyPath: \.snapshot) { current = difference.snapshot }
        guard let error = difference.error else { return }
        registrar.withMutation(of: self, keyPath: \.error) { failure = error }
    }

    /// The results as IDs, by section and index. Changes also when only values of a result changed.
    public var snapshot: ResultsSnapshot {
        registrar.access(self, keyPath: \.snapshot)
        return current
    }

    /// The objects, in the order of the request; empty after the context was closed.
    public var objects: [ManagedObject] {
        let ids = snapshot.objectIDs
        guard let context else { return [] }
        return ids.compactMap { try? context.object(with: $0) }
    }

    /// Returns the objects as instances of a generated class.
    public func objects<Kind: EntityObject>(as kind: Kind.Type) -> [Kind] { objects.map { kind.init($0) } }

    public var count: Int { snapshot.count }

    /// The error that ended the tracking, after which there are no results; nil while the results are tracked.
    public var error: CoreError? {
        registrar.access(self, keyPath: \.error)
        return failure
    }
}
