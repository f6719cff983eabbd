import CorestoneFormats
import CorestoneValues

/// A converter between objects of an application's class and the fields of a keyed archive.
///
/// The class is identified by its archived name. The functions are called on the thread that uses the object, possibly
/// on several threads at the same time.
package protocol ArchivableClass: AnyObject, Sendable {
    var className: String { get }
    /// Returns the fields of an object, as plain data.
    func fields(of object: Any) throws -> [String: PropertyValue]
    /// Creates an object from fields, whose source may be an untrusted file.
    func object(from fields: [String: PropertyValue]) throws -> Any
    /// Creates an object that is nested in plain data; returns nil if the class does not support that.
    func member(from fields: [String: PropertyValue]) throws -> ArchivableObject?
}

/// A value that provides its registered class itself; nil for an unregistered class.
package protocol ArchivableValue {
    var archivableClass: (any ArchivableClass)? { get }
}

/// An object of a registered class within plain data: in an array, a dictionary, or the fields of another object.
public final class ArchivableObject: ValueObject, Sendable {
    public let object: any Hashable & Sendable

    public init(_ object: any Hashable & Sendable) { self.object = object }

    public func isEqual(to other: any ValueObject) -> Bool {
        guard let other = other as? ArchivableObject else { return false }
        return AnyHashable(object) == AnyHashable(other.object)
    }
    public func hashIdentity(into hasher: inout Hasher) { hasher.combine(AnyHashable(object)) }
    public var valueDescription: String { "a \(type(of: object))" }
}

/// The process-wide registry of classes whose objects keyed archives can contain.
///
/// Classes are registered under their names in archives, which are the class names on Apple's platforms.
///
/// Objects are created only by registered functions, from plain fields. An object of any other class in an archive is
/// read as its fields.
public enum ArchivableClasses {
    private struct Registry {
        var byName: [String: any ArchivableClass] = [:]
        var names: [ObjectIdentifier: String] = [:]
    }
    private static let registry = Locked(Registry())

    /// Registers a type under a class name, and replaces an existing registration.
    ///
    /// - Parameters:
    ///   - fields: returns the fields of an object: plain data by name. Nested objects of registered classes must be
    ///     `ArchivableObject`.
    ///   - object: creates an object from such fields, whose source may be an untrusted file.
    public static func register<Object: Hashable & Sendable>(
        _ className: String, fields: @escaping @Sendable (Object) throws -> [String: PropertyValue],
        object: @escaping @Sendable ([String: PropertyValue]) throws -> Object
    ) {
        let known = FunctionClass(className) { object in
            guard let object = object as? Object else { throw wrongClassError(className, object) }
            return try fields(object)
        } object: {
            try object($0)
        }
        register(known, type: ObjectIdentifier(Object.self))
    }

    package static func register(_ known: any ArchivableClass, type: ObjectIdentifier? = nil) {
        let former = registry.withLock { registry in
            defer { registry.byName[known.className] = known }
            registry.names = registry.names.filter { $0.value != known.className }
            if let type { registry.names[type] = known.className }
            return registry.byName[known.className]
        }
        // The former registration is released outside the lock, because its deallocation can run code of the
        // application.
        withExtendedLifetime(former) {}
    }

    /// Deregisters a class. Returns false if the name was not registered.
    @discardableResult
    public static func unregister(_ className: String) -> Bool {
        let former = registry.withLock { registry in
            registry.names = registry.names.filter { $0.value != className }
            return registry.byName.removeValue(forKey: className)
        }
        return withExtendedLifetime(former) { former != nil }
    }

    package static func named(_ className: String) -> (any ArchivableClass)? {
        registry.withLock { $0.byName[className] }
    }

    /// Returns the registered class of an object; nil for other values.
    static func of(_ value: Any) -> (any ArchivableClass)? {
        if let value = value as? any ArchivableValue { return value.archivableClass }
        var kind = ObjectIdentifier(type(of: value))
        if case .object(let nested as ArchivableObject)? = value as? PropertyValue {
            kind = ObjectIdentifier(type(of: nested.object))
        }
        return registry.withLock { registry in registry.names[kind].flatMap { registry.byName[$0] } }
    }

    static func wrongClassError(_ className: String, _ object: Any) -> CoreError {
        CoreError(
            .typeMismatch,
            "an object of type \(type(of: object)) is not an instance of the type registered for the class \"\(className)\"; set an object of the registered type",
            value: object as? PropertyValue)
    }
}

extension ArchivableClasses {
    /// Returns plain data in which objects are replaced by their fields.
    ///
    /// - Throws: `.typeMismatch` for an object of a class that is not registered.
    ///   `.unsupported` for too many levels.
    static func archived(_ value: Any, depth: Int = 0) throws -> PropertyValue {
        guard depth <= PropertyListLimits().depth else {
            throw CoreError(
                .unsupported,
                "the value for the archive is nested more than \(PropertyListLimits().depth) levels deep or contains itself; "
                    + "flatten it, or remove the reference to itself",
                value: value as? PropertyValue)
        }
        func within(_ value: PropertyValue) throws -> PropertyValue { try archived(value, depth: depth + 1) }
        switch value as? PropertyValue {
        case .array(let values)?: return .array(try values.map(within))
        case .set(let values)?: return .set(Set(try values.map(within)))
        case .dictionary(let entries)?: return .dictionary(try entries.mapValues(within))
        case .object(let nested as ArchivableObject)?: return try archived(nested.object, depth: depth)
        case .object(let object as ArchivedObject)?:
            return .object(
                ArchivedObject(
                    className: object.className, classes: object.classes, fields: try object.fields.mapValues(within)))
        case let plain?: return plain
        case nil: break
        }
        guard let known = of(value) else {
            throw CoreError(
                .typeMismatch,
                "the transformer takes a PropertyValue or an object of a registered class, not "
                    + "\(type(of: value)); convert the value to a PropertyValue, register its class with "
                    + "ArchivableClasses.register, or set another transformer"
            )
        }
        let fields = try calling("fields", of: known) { try known.fields(of: value) }
        return .object(ArchivedObject(className: known.className, fields: try fields.mapValues(within)))
    }

    /// Returns archived data with objects of registered classes in place of their fields.
    static func restored(_ value: PropertyValue) throws -> Any {
        guard case .object(let object as ArchivedObject) = value, let known = named(object.className) else {
            return try nested(value)
        }
        return try calling("object", of: known) { try known.object(from: object.fields) }
    }

    fileprivate static func nested(_ value: PropertyValue) throws -> PropertyValue {
        switch value {
        case .array(let values): return .array(try values.map(nested))
        case .set(let values): return .set(Set(try values.map(nested)))
        case .dictionary(let entries): return .dictionary(try entries.mapValues(nested))
        case .object(let object as ArchivedObject):
            if let known = named(object.className),
                let made = try calling("object", of: known, { try known.member(from: object.fields) })
            {
                return .object(made)
            }
            return .object(
                ArchivedObject(
                    className: object.className, classes: object.classes, fields: try object.fields.mapValues(nested)))
        default: return value
        }
    }

    /// Runs a callback of a class. An error that is not a `CoreError` is reported with the names of both.
    private static func calling<Result>(
        _ callback: String, of known: any ArchivableClass, _ body: () throws -> Result
    ) throws -> Result {
        do { return try body() } catch let error as CoreError { throw error } catch {
            throw CoreError(
                .callback, "the callback \(callback) of the class \"\(known.className)\" failed: \(error)")
        }
    }
}

private final class FunctionClass: ArchivableClass {
    let className: String
    private let makeFields: @Sendable (Any) throws -> [String: PropertyValue]
    private let makeObject: @Sendable ([String: PropertyValue]) throws -> any Hashable & Sendable

    init(
        _ className: String, fields: @escaping @Sendable (Any) throws -> [String: PropertyValue],
        object: @escaping @Sendable ([String: PropertyValue]) throws -> any Hashable & Sendable
    ) {
        self.className = className
        makeFields = fields
        makeObject = object
    }

    func fields(of object: Any) throws -> [String: PropertyValue] { try makeFields(object) }
    func object(from fields: [String: PropertyValue]) throws -> Any { try instance(from: fields) }
    func member(from fields: [String: PropertyValue]) throws -> ArchivableObject? {
        ArchivableObject(try instance(from: fields))
    }

    private func instance(from fields: [String: PropertyValue]) throws -> any Hashable & Sendable {
        try makeObject(try fields.mapValues(ArchivableClasses.nested))
    }
}
