import CorestoneModel
import CorestoneValues

/// The attributes for which rows of a store had a value of another type or out of range, which was read as null.
final class MisfitValues: Sendable {
    private struct Place: Hashable {
        let entity: UInt32
        let slot: UInt16
    }

    private let places = Locked<Set<Place>>([])

    /// Records a value that was read as null.
    ///
    /// - Parameter entity: The index of the row's entity in the model.
    func note(entity: UInt32, slot: UInt16) {
        places.withLock { _ = $0.insert(Place(entity: entity, slot: slot)) }
    }

    func attributes(of model: Model) -> [Attribute] {
        places.withLock { $0 }.sorted { ($0.entity, $0.slot) < ($1.entity, $1.slot) }.compactMap {
            model.entities[Int($0.entity)].properties[Int($0.slot)] as? Attribute
        }
    }
}
