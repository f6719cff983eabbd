import CorestoneValues

/// The class names and fields of an archived object that is not plain data. The class itself is never instantiated.
public final class ArchivedObject: ValueObject, Sendable {
    public let className: String
    /// The class and its superclasses in the archive, beginning with the class itself.
    public let classes: [String]
    public let fields: [String: PropertyValue]

    /// Creates an object with fields.
    ///
    /// - Parameter classes: the class and its superclasses, beginning with the class itself; nil for a direct subclass
    ///   of NSObject.
    public init(className: String, classes: [String]? = nil, fields: [String: PropertyValue]) {
        self.className = className
        self.classes = classes ?? [className, "NSObject"]
        self.fields = fields
    }

    /// Whether the class is a direct subclass of NSObject.
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
