import Corestone
import Observation

/// The values of a managed object, for the Observation framework.
///
///     let note = ObservableManagedObject(object)
///     withObservationTracking { show(note["title"]) } onChange: { scheduleRedraw() }
///
/// Reading a property or key path within `withObservationTracking`, or in a view that tracks its reads, registers for
/// its next change: by the program, an undo, a refresh or a merge. All members must be used on the queue of the
/// object's context. The object is retained.
public final class ObservableManagedObject: Observable {
    public let managedObject: ManagedObject
    private let registrar = ObservationRegistrar()
    /// The observations by key path, each begun when its value is first read.
    private var observations: [String: Corestone.Observation] = [:]

    /// The key paths whose present change was announced. A refresh reports changes without a prior notification.
    private var announced: Set<String> = []

    public init(_ object: ManagedObject) { managedObject = object }

    /// Creates an observable object for an instance of a generated class.
    public convenience init(_ object: EntityObject) { self.init(object.managedObject) }

    /// The value of a property or key path; null if it cannot be read, for example because the object was deleted.
    ///
    /// Setting a value that is rejected has no effect; `set` throws the error.
    public subscript(keyPath: String) -> PropertyValue {
        get {
            track(keyPath)
            return (try? managedObject.value(forKeyPath: keyPath)) ?? .null
        }
        set { try? managedObject.setValue(newValue, forKeyPath: keyPath) }
    }

    /// Returns the value of a property or key path as a Swift type; nil if the value is null.
    ///
    /// - Throws: The errors of `ManagedObject.get`.
    public func get<Value: PropertyConvertible>(_ keyPath: String, as type: Value.Type = Value.self) throws -> Value? {
        track(keyPath)
        return try managedObject.get(keyPath, as: type)
    }

    /// Sets an attribute or a relationship by name or key path; nil clears it.
    ///
    /// - Throws: The errors of `ManagedObject.set`.
    public func set(_ keyPath: String, _ value: (any PropertyConvertible)?) throws {
        try managedObject.set(keyPath, value)
    }

    /// Returns the members of a to-many relationship, in order if it is ordered.
    ///
    /// - Throws: The errors of `ManagedObject.members`.
    public func members(_ name: String) throws -> [ManagedObject] {
        track(name)
        return try managedObject.members(name)
    }

    /// Registers the access, and begins to observe the key path at its first access.
    private func track(_ keyPath: String) {
        registrar.access(self, keyPath: \.[keyPath])
        guard observations[keyPath] == nil else { return }
        // A key path that cannot be observed, for example with an operator, has a value that never changes.
        observations[keyPath] = try? managedObject.observe(keyPath: keyPath, options: .prior) {
            [weak self] _, change in
            guard let self else { return }
            if change.isPrior {
                announced.insert(keyPath)
                return registrar.willSet(self, keyPath: \.[keyPath])
            }
            if announced.remove(keyPath) == nil { registrar.willSet(self, keyPath: \.[keyPath]) }
            registrar.didSet(self, keyPath: \.[keyPath])
        }
    }
}
