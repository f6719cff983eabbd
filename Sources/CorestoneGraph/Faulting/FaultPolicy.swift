import CorestoneModel
import CorestoneValues

/// The reaction of a context to single faults.
///
/// Single faults are objects and lists that are loaded with a separate query each. In a loop, this is one query per
/// row, whereas a prefetch reads many rows with one query.
public enum FaultPolicy: UInt32, Sendable {
    /// No reaction. Faults that were fetched together are loaded together, other faults one by one.
    case batch = 0
    /// A single fault is logged, once for each relationship (or else entity) and call site.
    case warn = 1
    /// A single fault through a relationship is an error, because a prefetch would have avoided it.
    ///
    /// The library's own work, such as delete rules and saves, is exempt.
    case error = 2
}

/// A position in the application's source code.
public struct CallSite: Sendable, Hashable {
    public let file: String
    public let line: Int

    public init(file: String, line: Int) {
        self.file = file
        self.line = line
    }
}

/// The number of single faults that one call site caused through one relationship.
public struct SingleFaults: Sendable, Equatable {
    /// The entity of the relationship; if `relationship` is nil, the entity of the objects.
    public let entity: String
    /// The relationship through which the objects were reached, or whose members were read.
    ///
    /// It is nil if it is unknown, as for objects that were accessed by ID.
    public let relationship: String?
    /// The call site; nil if it is unknown.
    public let site: CallSite?
    public let count: Int
}

extension SingleFaults: CustomStringConvertible {
    public var description: String {
        let place = relationship.map { "\(entity).\($0)" } ?? entity
        let site = site.map { ", \($0.file):\($0.line)" } ?? ""
        return "\(place): \(count) single fault\(count == 1 ? "" : "s")\(site)"
    }

    /// The values as a dictionary, for JSON.
    package var report: PropertyValue {
        .dictionary([
            "entity": .string(entity), "relationship": relationship.map { .string($0) } ?? .null,
            "count": .int(Int64(count)), "file": (site?.file).map { .string($0) } ?? .null,
            "line": (site?.line).map { .int(Int64($0)) } ?? .null,
        ])
    }
}
