import CCorestone
import CorestoneGraph
import CorestoneValues

/// What key paths computed (the least of some names, say) and the handles of objects in it, kept so that views stay valid.
///
/// One value for each path: asking again gives the same view as long as the value is the same. Confined like the object or
/// the results that it belongs to.
final class KeptValues {
    private struct Place: Hashable {
        let path: String
        /// In a column; else 0.
        let row: Int
    }

    private var values: [Place: PropertyValue] = [:]
    private var tokens: [Place: Token] = [:]
    /// The object that keeps this; nil for results.
    private let owner: ObjectIdentifier?

    init(owner: ManagedObject? = nil) { self.owner = owner.map { ObjectIdentifier($0) } }

    deinit { for token in tokens.values { HandleTable.release(token) } }

    /// The values kept for an object; they end with it, or when it leaves its context.
    static func of(_ object: ManagedObject) -> KeptValues {
        if let kept = object.kept as? KeptValues { return kept }
        let fresh = KeptValues(owner: object)
        object.kept = fresh
        return fresh
    }

    /// The property or key path whose value is written, for errors.
    struct Source {
        let entity: String
        let key: String
        let objectURI: String
        /// What stands before the name of the property.
        var prefix = ""
        /// What copies a value that is a collection.
        var function = "cst_value_copy_at_key_path"

        /// - Parameter unit: what a value does not fit into, and the remedy.
        fileprivate func refused(_ value: PropertyValue, _ found: String, _ unit: String) -> CoreError {
            CoreError(
                .typeMismatch, "\(prefix)\(entity).\(key) is \(found), which does not fit into \(unit)", entity: entity,
                key: key, value: value, objectURI: objectURI)
        }
    }

    /// Writes a computed value, whose bytes or handle stay valid as long as this.
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
            // An object that kept a handle to itself would never end outside a context; and its caller holds one.
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
        default:
            throw source().refused(
                .object(object), object.valueDescription,
                "a cst_value; copy the bytes of its attribute with cst_object_copy_bytes")
        }
    }
}
