import CorestoneValues

/// An object of a class that is not plain data, as its archive describes it. No such class is ever made.
public final class ArchivedObject: ValueObject, Sendable {
    public let className: String
    /// The class and those that it inherits from, itself first, as the archive names them.
    public let classes: [String]
    public let fields: [String: PropertyValue]

    /// - Parameter classes: what the class inherits from, itself first; nil for NSObject alone.
    public init(className: String, classes: [String]? = nil, fields: [String: PropertyValue]) {
        self.className = className
        self.classes = classes ?? [className, "NSObject"]
        self.fields = fields
    }

    /// Whether the class inherits from NSObject alone.
    var isPlainClass: Bool { classes == [className, "NSObject"] }

    public func isEqual(to other: any ValueObject) -> Bool {
        guard let other = other as? ArchivedObject else { return false }
        return className == other.className && classes == other.classes && fields == other.fields
    }
    public func hashIdentity(into hasher: inout Hasher) {
        hasher.combine(className)
        hasher.combine(fields)
    }
    public var valueDescription: String { "an archived \(className)" }
}
