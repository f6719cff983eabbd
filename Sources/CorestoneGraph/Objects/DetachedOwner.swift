import CPlatform
import CorestoneModel

/// The owner of the model and the stores of objects that have left their context.
///
/// This owner retains both, so that the objects' entities and IDs remain valid. An object refers to this owner through
/// the pointer to the object's owner thread ID, so that no additional memory per object is needed.
final class DetachedOwner {
    private let model: Model
    private let stores: RetainedStores
    /// The owner thread ID 0, with the same layout as in a context, followed by a pointer to this owner.
    private let place: UnsafeMutablePointer<UInt64>

    private static let self_ = 3

    init(_ model: Model, _ stores: RetainedStores) {
        (self.model, self.stores) = (model, stores)
        place = .allocate(capacity: DetachedOwner.self_ + 1)
        place.initialize(repeating: 0, count: DetachedOwner.self_ + 1)
        place[DetachedOwner.self_] = UInt64(UInt(bitPattern: Unmanaged.passUnretained(self).toOpaque()))
    }

    deinit { place.deallocate() }

    /// Retains this owner and returns the pointer to its owner thread ID, for an object that later calls `release`.
    func retained() -> UnsafeMutablePointer<UInt64> {
        _ = Unmanaged.passRetained(self)
        return place
    }

    /// Releases the owner of an object.
    ///
    /// - Parameter place: The result of `retained`.
    static func release(_ place: UnsafeMutablePointer<UInt64>) {
        guard let object = UnsafeRawPointer(bitPattern: UInt(place[self_])) else { return }
        Unmanaged<DetachedOwner>.fromOpaque(object).release()
    }
}

/// All stores that a coordinator ever had. They are retained because objects refer to their stores unretained.
///
/// Guarded by the coordinator's lock.
final class RetainedStores: @unchecked Sendable {
    var stores: [Store] = []
}
