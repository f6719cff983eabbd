import CorestoneModel
import CorestoneValues

/// The record of a context's single faults.
///
/// It exists only while it is needed. Contexts without a watch only test for nil.
final class FaultWatch {
    var policy = FaultPolicy.batch
    var isCounting = false
    /// The nesting depth of exempt work of the library.
    var exemptions = 0
    private var counts: [Place: Int] = [:]
    private var loggedPlaces: Set<Place> = []
    /// The relationships through which faults without rows were reached, until the faults are loaded.
    private var origins: [Origin: Relationship] = [:]

    /// The maximum number of entries in each of the three collections, to bound their memory.
    ///
    /// Further call sites are not recorded. Before a further fault is recorded, the earlier `origins` are discarded.
    private static let limit = 1 << 16

    /// A call site with the relationship, or else the entity, of the single faults.
    private struct Place: Hashable {
        let property: ObjectIdentifier
        let site: CallSite?
        /// The name of the entity, used only in texts, like `relationship`.
        let entity: String
        let relationship: String?

        static func == (a: Place, b: Place) -> Bool { a.property == b.property && a.site == b.site }
        func hash(into hasher: inout Hasher) {
            hasher.combine(property)
            hasher.combine(site)
        }
    }

    /// The identity of a fault, without retaining the fault.
    private struct Origin: Hashable {
        let store: UInt32
        let root: UInt32
        let primaryKey: Int64

        init(_ object: ManagedObject) {
            store = object.store?.number ?? 0
            root = object.entity.rootIndex
            primaryKey = object.primaryKey
        }
    }

    var isNeeded: Bool { isCounting || policy != .batch }

    /// Records the relationship through which a fault without a row was reached.
    func note(_ object: ManagedObject, reachedBy relationship: Relationship) {
        if object.record != nil { return }
        if origins.count >= FaultWatch.limit { origins = [:] }
        origins[Origin(object)] = relationship
    }

    /// Removes and returns the relationship through which a single fault was reached.
    func takeOrigin(of object: ManagedObject) -> Relationship? { origins.removeValue(forKey: Origin(object)) }

    /// Counts, logs or rejects the separate read of an object or of its members.
    ///
    /// - Throws: `.unsupported` if the policy forbids the read.
    func applyPolicy(_ object: ManagedObject, along relationship: Relationship?, at site: CallSite?) throws {
        let entity = relationship?.entity ?? object.entity
        let place = Place(
            property: relationship.map { ObjectIdentifier($0) } ?? ObjectIdentifier(entity), site: site,
            entity: entity.name, relationship: relationship?.name)
        if isCounting, counts[place] != nil || counts.count < FaultWatch.limit { counts[place, default: 0] += 1 }
        if policy == .batch || exemptions > 0 { return }
        if policy == .error, let relationship { throw forbidden(object, relationship, site) }
        guard loggedPlaces.count < FaultWatch.limit, loggedPlaces.insert(place).inserted else { return }
        let path = place.relationship.map { "\(place.entity).\($0)" } ?? place.entity
        let remedy =
            place.relationship.map {
                "prefetch \"\($0)\" in the fetch of \(place.entity) with cst_fetch_request_set_prefetch (prefetch, "
                    + "relationshipKeyPathsForPrefetching)"
            } ?? "fetch the objects with one call of cst_context_fetch (fetch)"
        let location = site.map { " (\($0.file):\($0.line))" } ?? ""
        DebugLog.write("CoreData: fault: \(path) fired a single fault\(location); \(remedy)")
    }

    private func forbidden(_ object: ManagedObject, _ relationship: Relationship, _ site: CallSite?) -> CoreError {
        let source = relationship.entity.name
        let access =
            relationship.isToMany && object.entity.isKind(of: relationship.entity)
            ? "reading the members of" : "reading an object of"
        return CoreError(
            .unsupported,
            "\(access) \(source).\(relationship.name) needs a separate query, which the fault policy of this context "
                + "forbids\(site.map { " (\($0.file):\($0.line))" } ?? ""); prefetch \"\(relationship.name)\" in the fetch of "
                + "\(source) with cst_fetch_request_set_prefetch (prefetch, relationshipKeyPathsForPrefetching)",
            entity: source, key: relationship.name, objectURI: object.objectID.uri)
    }

    // MARK: Report

    /// The counted faults in descending order of their counts.
    var report: [SingleFaults] {
        counts.map {
            SingleFaults(entity: $0.key.entity, relationship: $0.key.relationship, site: $0.key.site, count: $0.value)
        }.sorted { a, b in
            if a.count != b.count { return a.count > b.count }
            return a.description < b.description
        }
    }

    func beginCounting() {
        isCounting = true
        counts = [:]
    }
}
