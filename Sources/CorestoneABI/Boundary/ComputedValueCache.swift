import CCorestone
import CorestoneGraph
import CorestonePredicate
import CorestoneValues

/// A cache of computed values and of handles of objects, which keeps views of the values valid.
///
/// An example is the value of a key path with the operator `@min`. There is one value for each path and row. If a new
/// value is equal to the cached one, its view is the same. The owner of the cache must serialise the calls.
final class ComputedValueCache {
    private struct Place: Hashable {
        let path: String
        /// The row in a column, otherwise 0.
        let row: Int
    }

    private var values: [Place: PropertyValue] = [:]
    private var tokens: [Place: HandleToken] = [:]
    /// The object that owns the cache; nil for another owner.
    private let owner: ObjectIdentifier?

    init(owner: ManagedObject? = nil) { self.owner = owner.map { ObjectIdentifier($0) } }

    deinit { for token in tokens.values { HandleTable.release(token) } }

    /// Returns the cache of an object. The cache is freed with the object, or when the object is detached from its
    /// context.
    static func of(_ object: ManagedObject) -> ComputedValueCache {
        if let kept = object.retainedValues as? ComputedValueCache { return kept }
        let fresh = ComputedValueCache(owner: object)
        object.retainedValues = fresh
        return fresh
    }

    /// The property or key path whose value is written, for errors.
    struct Source {
        let entity: String
        let key: String
        let objectURI: String
        /// The text before the name of the property.
        var prefix = ""
        /// The function that copies a collection, for the remedy.
        var function = "cst_value_copy_at_key_path (value_for_key_path)"

        /// Creates the error for a value that cannot be written.
        ///
        /// - Parameter unit: The type into which the value does not fit, and the remedy.
        fileprivate func refused(_ value: PropertyValue, _ found: String, _ unit: String) -> CoreError {
            CoreError(
                .typeMismatch, "\(prefix)\(entity).\(key) is \(found), which does not fit into \(unit)", entity: entity,
                key: key, value: value, objectURI: objectURI)
        }
    }

    /// Writes a computed value. Its bytes or its handle stay valid until another value is written for the same path and
    /// row.
    func put(
        _ value: PropertyValue, _ path: String, row: Int = 0, of source: @autoclosure () -> Source,
        _ out: UnsafeMutablePointer<cst_value>
    ) throws {
        switch value {
        case .text, .uri, .bytes:
            let place = Place(path: path, row: row)
            let same = values[place].flatMap { $0 == value ? $0 : nil } ?? value
            values[place] = same
            CorestoneABI.put(ValueView(same), out)
        case .object(let object): try put(object, Place(path: path, row: row), source, out)
        case .array, .set, .dictionary:
            let source = source()
            throw source.refused(value, value.kindPhrase, "a borrowed cst_value; copy it with \(source.function)")
        default: CorestoneABI.put(ValueView(value), out)
        }
    }

    private func put(
        _ object: any ValueObject, _ place: Place, _ source: () -> Source, _ out: UnsafeMutablePointer<cst_value>
    ) throws {
        switch object {
        case let target as ManagedObject:
            let token = try innerToken(target)
            CorestoneABI.put(ValueView(.object, token), out)
            // Retaining a handle of the owner would create a retain cycle. The caller already has a handle of the
            // owner.
            if owner == ObjectIdentifier(target) { return HandleTable.release(token) }
            if let old = tokens.updateValue(token, forKey: place) { HandleTable.release(old) }
        case let reference as ObjectIDReference:
            let value = PropertyValue.object(reference)
            if values[place] != value || tokens[place] == nil {
                let token = try HandleTable.makeInner(ObjectIDBox(reference.id), .objectID)
                if let old = tokens.updateValue(token, forKey: place) { HandleTable.release(old) }
                values[place] = value
            }
            CorestoneABI.put(ValueView(.objectID, tokens[place] ?? 0), out)
        case is HostObject, is ExpressionValue, is HistoryTokenValue:
            let source = source()
            throw source.refused(
                .object(object), object.valueDescription, "a borrowed cst_value; copy it with \(source.function)")
        default:
            // An archived object, or an object of a registered class.
            throw source().refused(
                .object(object), object.valueDescription,
                "a cst_value; copy the bytes of the attribute with cst_object_copy_bytes")
        }
    }
}
