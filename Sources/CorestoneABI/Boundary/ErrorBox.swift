import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// An error with its texts as C hosts read them, and its details as handles of its own. Immutable; any thread.
final class ErrorBox {
    let error: CoreError
    let domain, message: Text
    let entity, key, predicate, objectURI, file: Text?
    /// The handles of the details.
    let details: [Token]
    /// The handles of the conflicts of a save.
    let conflicts: [Token]
    /// The handle of the ID that is the error's value, if it is one.
    let valueToken: Token

    /// - Parameter error: boxed on the thread where it was thrown, since it may name an object of a queue.
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
    }

    deinit {
        for token in details + conflicts { HandleTable.release(token) }
        if valueToken != 0 { HandleTable.release(valueToken) }
    }
}

extension CoreError {
    /// The error with IDs in place of objects: an object belongs to a queue, and errors cross threads.
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
    fileprivate var holdsObjects: Bool {
        switch self {
        case .object(let object): !(object is ObjectIDBox)
        // A host reads no lists from an error, and they may hold anything.
        case .array, .set, .dictionary: true
        default: false
        }
    }

    /// nil for what an error shows in its message only.
    fileprivate var withoutObjects: PropertyValue? {
        switch self {
        case .object(let object as ManagedObject): .object(ObjectIDBox(object.objectID))
        case .object(let reference as ObjectIDReference): .object(ObjectIDBox(reference.id))
        case .object(let id as ObjectIDBox): .object(id)
        case .object, .array, .set, .dictionary: nil
        default: self
        }
    }
}
