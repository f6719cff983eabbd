import CPlatform
import CorestoneModel

/// What objects that left a context still need to say so, whatever else has ended by then: the model, and the stores of their IDs.
///
/// Each of them keeps it by way of the place where the number of its thread stands, and needs no room of its own for that.
final class Departure {
    private let model: Model
    private let stores: StoreKeeper
    /// Like that of a context which nobody may use. Behind what is known of that stands this object.
    private let place: UnsafeMutablePointer<UInt64>

    private static let self_ = 3

    init(_ model: Model, _ stores: StoreKeeper) {
        (self.model, self.stores) = (model, stores)
        place = .allocate(capacity: Departure.self_ + 1)
        place.initialize(repeating: 0, count: Departure.self_ + 1)
        place[Departure.self_] = UInt64(UInt(bitPattern: Unmanaged.passUnretained(self).toOpaque()))
    }

    deinit { place.deallocate() }

    /// The place, for an object that keeps this one until `release`.
    func retained() -> UnsafeMutablePointer<UInt64> {
        _ = Unmanaged.passRetained(self)
        return place
    }

    /// - Parameter place: what `retained` gave.
    static func release(_ place: UnsafeMutablePointer<UInt64>) {
        guard let object = UnsafeRawPointer(bitPattern: UInt(place[self_])) else { return }
        Unmanaged<Departure>.fromOpaque(object).release()
    }
}

/// All stores that a coordinator ever had, since objects and IDs point to them. Guarded by the coordinator.
final class StoreKeeper: @unchecked Sendable {
    var stores: [Store] = []
}
