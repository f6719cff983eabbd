import CCorestone
import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// An error, with its texts as C strings and its details as handles. It is immutable and can be used on any thread.
final class ErrorBox {
    let error: CoreError
    let domain, message: Text
    let entity, key, predicate, objectURI, file: Text?
    /// The handles of the details.
    let details: [HandleToken]
    /// The handles of the conflicts of a save.
    let conflicts: [HandleToken]
    /// The handle of the object ID that is the error's value; 0 for other values.
    let valueToken: HandleToken
    /// The error's value with its own memory and handles if it is a list, a set or a dictionary; otherwise null.
    private var collection = cst_value()

    /// Creates a box.
    ///
    /// - Parameter error: The error. It must be boxed on the thread that threw it, because it can contain an object
    ///   that is confined to a queue.
    convenience init(_ error: CoreError) throws { try self.init(crossing: error.withIDsForObjects) }

    private init(crossing error: CoreError) throws {
        self.error = error
        domain = Text(error.domain)
        message = Text(error.message)
        entity = error.entity.map { Text($0) }
        key = error.key.map { Text($0) }
        predicate = error.predicate.map { Text($0) }
        objectURI = error.objectURI.map { Text($0) }
        file = error.file.map { Text($0) }
        details = try error.children.map { try HandleTable.makeInner(try ErrorBox(crossing: $0), .error) }
        conflicts = try error.conflicts.map { try HandleTable.makeInner(ConflictBox($0), .conflict) }
        if case .object(let id as ObjectIDBox) = error.value {
            valueToken = try HandleTable.makeInner(id, .objectID)
        } else {
            valueToken = 0
        }
        if let value = error.value, value.isCollection { try putOwned(value, &collection) }
    }

    deinit {
        for token in details + conflicts { HandleTable.release(token) }
        if valueToken != 0 { HandleTable.release(valueToken) }
        dispose(&collection)
    }

    /// Writes the error's value, which is valid as long as this box. Returns false if the error does not have a value.
    func putValue(_ out: UnsafeMutablePointer<cst_value>) -> Bool {
        guard let value = error.value else { return false }
        if value.isCollection {
            out.pointee = collection
            // The value is borrowed: cst_value_dispose must not free it.
            out.pointee.aux = 0
        } else {
            put(valueToken == 0 ? ValueView(value) : ValueView(.objectID, valueToken), out)
        }
        return true
    }
}

extension CoreError {
    /// The error with IDs instead of objects: an object is confined to a queue, but errors are used on any thread.
    fileprivate var withIDsForObjects: CoreError {
        guard holdsObjects else { return self }
        return CoreError(
            status, message, domain: domain, customCode: code, entity: entity, key: key,
            value: value.flatMap(\.withoutObjects), predicate: predicate, objectURI: objectURI,
            children: children.map(\.withIDsForObjects), sqliteCode: sqliteCode, file: file, offset: offset,
            payload: payload, isHosts: true)
    }

    private var holdsObjects: Bool { value?.holdsObjects == true || children.contains(where: \.holdsObjects) }
}

extension PropertyValue {
    fileprivate var isCollection: Bool {
        switch self {
        case .array, .set, .dictionary: true
        default: false
        }
    }

    /// The value with IDs instead of objects; nil for values that only the message can show.
    fileprivate var withoutObjects: PropertyValue? {
        switch self {
        case .object(let object as ManagedObject): .object(ObjectIDBox(object.objectID))
        case .object(let reference as ObjectIDReference): .object(ObjectIDBox(reference.id))
        case .object(let id as ObjectIDBox): .object(id)
        case .array, .set, .dictionary: withIDs
        case .object: nil
        default: self
        }
    }

    /// The collection and its members with IDs instead of objects.
    private var withIDs: PropertyValue? {
        switch self {
        case .object(let object as ManagedObject): return .object(ObjectIDReference(object.objectID))
        case .object(let reference as ObjectIDReference): return .object(reference)
        case .object: return nil
        case .array(let members):
            let kept = members.compactMap(\.withIDs)
            return kept.count == members.count ? .array(kept) : nil
        case .set(let members):
            let kept = members.compactMap(\.withIDs)
            return kept.count == members.count ? .set(Set(kept)) : nil
        case .dictionary(let members):
            let kept = members.compactMapValues(\.withIDs)
            return kept.count == members.count ? .dictionary(kept) : nil
        default: return self
        }
    }
}
