import CPlatform
import CorestoneModel

/// The owner of the model and the stores of objects that have left their context.
///
/// It retains both, so that the objects' entities and IDs remain valid. An object refers to it through the pointer to
/// its owner thread ID, so that no additional memory per object is needed.
final class DetachedOwner {
    private let model: Model
    private let stores: StoreKeeper
    /// The owner thread ID, as in a context that no thread may use, followed by a pointer to this object.
    private let place: UnsafeMutablePointer<UInt64>

    private static let self_ = 3

    init(_ model: Model, _ stores: StoreKeeper) {
        (self.model, self.stores) = (model, stores)
        place = .allocate(capacity: DetachedOwner.self_ + 1)
        place.initialize(repeating: 0, count: DetachedOwner.self_ + 1)
        place[DetachedOwner.self_] = UInt64(UInt(bitPattern: Unmanaged.passUnretained(self).toOpaque()))
    }

    deinit { place.deallocate() }

    /// Retains this object and returns the pointer, for an object that keeps it until `release`.
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

/// All stores that a coordinator ever had, because objects and IDs refer to them unretained.
///
/// Guarded by the coordinator's lock.
final class StoreKeeper: @unchecked Sendable {
    var stores: [Store] = []
}
