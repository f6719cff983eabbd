import CorestoneModel
import CorestoneValues

/// What a context does about single faults: objects and lists whose values cost a query of their own, which is one query for
/// each row of a loop where a prefetch would cost one in all.
public enum FaultPolicy: UInt32, Sendable {
    /// Nothing: siblings that came together are filled together, all else as it comes.
    case batch = 0
    /// Tells the log, once for each relationship and place in the host's code.
    case warn = 1
    /// Throws where a relationship leads to what was not read, so that a prefetch would have read it. What the library does
    /// by itself, delete rules and saves, goes on.
    case error = 2
}

/// A place in the host's code.
public struct CallSite: Sendable, Hashable {
    public let file: String
    public let line: Int

    public init(file: String, line: Int) {
        self.file = file
        self.line = line
    }
}

/// How many single faults one place in the host's code has caused along one relationship.
public struct SingleFaults: Sendable, Equatable {
    /// The entity that has the relationship; without one, that of the objects.
    public let entity: String
    /// What led to the objects, or whose members were read; nil for objects that the host got by ID or as members one by one.
    public let relationship: String?
    /// nil when the host does not tell.
    public let site: CallSite?
    public let count: Int
}

extension SingleFaults: CustomStringConvertible {
    public var description: String {
        let place = relationship.map { "\(entity).\($0)" } ?? entity
        let site = site.map { ", \($0.file):\($0.line)" } ?? ""
        return "\(place): \(count) single fault\(count == 1 ? "" : "s")\(site)"
    }

    /// For JSON.
    package var report: PropertyValue {
        .dictionary([
            "entity": .string(entity), "relationship": relationship.map { .string($0) } ?? .null,
            "count": .int(Int64(count)), "file": (site?.file).map { .string($0) } ?? .null,
            "line": (site?.line).map { .int(Int64($0)) } ?? .null,
        ])
    }
}
