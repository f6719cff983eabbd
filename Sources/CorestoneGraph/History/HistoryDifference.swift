import CorestoneModel
import CorestoneValues

extension Coordinator {
    /// Returns the differences between two positions of the history, by object and property.
    ///
    /// Objects are in the order of their first change. Objects that were inserted and deleted in between are not
    /// included, nor are properties that have their former value again. Both states are opened as by `past(at:)`. The
    /// value of a to-many relationship is an array of object IDs. Can be called on any thread.
    ///
    /// - Parameters:
    ///   - start: The earlier position.
    ///   - end: The later position; nil for the present.
    ///   - stores: The stores; if empty, all stores of the coordinator.
    /// - Throws: The errors of `past(at:)`.
    ///   `.invalidArgument` if `end` is before `start`.
    public func historyDifference(
        from start: HistoryRequest.Start, to end: HistoryRequest.Start? = nil, of stores: [Store] = []
    ) throws -> [ObjectRevision] {
        let later = try past(
            at: end ?? currentHistoryToken(of: stores).map { .token($0) } ?? .beginning, of: stores)
        let earlier = try past(at: start, of: stores)
        guard let first = earlier.past, let last = later.past else { return [] }
        guard first.token <= last.token else {
            let fault =
                last.token < first.token
                ? "is before its start \(first.token.json); exchange the two"
                : "is before its start \(first.token.json) in some stores and after it in others; pass an end that is not "
                    + "before the start in any store"
            throw CoreError(
                .invalidArgument, "the end \(last.token.json) of a difference \(fault)", key: "to",
                value: .string(last.token.json))
        }
        let ids = try later.changedIDs(after: first.token)
        var found: [ObjectRevision] = []
        for start in stride(from: 0, to: ids.count, by: 1_000) {
            let part = Array(ids[start..<min(start + 1_000, ids.count)])
            let before = try earlier.storedValues(of: part), after = try later.storedValues(of: part)
            for (place, id) in part.enumerated() {
                if let change = own(id)?.difference(before[place], after[place], first, last) { found.append(change) }
            }
        }
        return found
    }

    /// Returns the objects whose values changed after a token, each once.
    ///
    /// Objects with recorded changes precede objects whose values changed without a recorded change.
    private func changedIDs(after token: HistoryToken) throws -> [ObjectID] {
        var ids = UniqueIDs()
        let cursor = try history(HistoryRequest(after: .token(token)))
        while let transaction = try cursor.next() { ids.add(transaction) }
        for store in stores {
            let number = token.transactionNumber(ofStore: store.identifier) ?? 0
            for id in try store.readHistory({ try $0.objectsWithOldValues(after: number, of: store) }) ?? [] {
                ids.add(id)
            }
        }
        return ids.list
    }

    /// Returns the ID of the same object in this coordinator, which must have the same model.
    ///
    /// Returns nil if the coordinator does not have the store.
    func own(_ id: ObjectID) -> ObjectID? {
        stores.first { $0.identifier == id.store?.identifier }.map {
            ObjectID(store: $0, entity: id.entity, reference: id.reference)
        }
    }

    /// Returns the stored values of objects in this coordinator. The IDs may belong to another coordinator.
    private func storedValues(of ids: [ObjectID]) throws -> [[String: PropertyValue]?] {
        var values = [[String: PropertyValue]?](repeating: nil, count: ids.count)
        for store in stores {
            let places = ids.indices.filter { ids[$0].store?.identifier == store.identifier }
            let found = try store.storedValues(of: places.map { ids[$0] })
            for (place, value) in zip(places, found) { values[place] = value }
        }
        return values
    }
}

extension ObjectID {
    /// Returns the difference of two states of an object; nil if they are equal.
    fileprivate func difference(
        _ before: [String: PropertyValue]?, _ after: [String: PropertyValue]?, _ first: Past, _ last: Past
    ) -> ObjectRevision? {
        let kind: HistoryChangeKind
        switch (before, after) {
        case (nil, nil): return nil
        case (nil, _): kind = .insert
        case (_, nil): kind = .delete
        default: kind = .update
        }
        var values: [ObjectRevision.Value] = []
        for property in entity.properties where !property.isTransient && !property.isElement {
            let old = before.flatMap { first.isKnown(property, of: self) ? $0[property.path] ?? .null : nil }
            let new = after.flatMap { last.isKnown(property, of: self) ? $0[property.path] ?? .null : nil }
            if kind == .update, let old, let new, property.isSame(old, new) { continue }
            if kind != .update, old == nil, new == nil { continue }
            values.append(ObjectRevision.Value(key: property.path, old: old, new: new))
        }
        if kind == .update, values.isEmpty { return nil }
        return ObjectRevision(kind: kind, objectID: self, transaction: nil, values: values)
    }
}

extension Property {
    fileprivate var isElement: Bool { (self as? Attribute)?.composite != nil }

    /// Whether two values are equal. The members of an unordered relationship are compared as sets.
    fileprivate func isSame(_ one: PropertyValue, _ other: PropertyValue) -> Bool {
        guard let relationship = self as? Relationship, relationship.isToMany, !relationship.isOrdered,
            case .array(let ones) = one, case .array(let others) = other
        else { return one == other }
        guard ones.count == others.count else { return false }
        func keys(_ values: [PropertyValue]) -> [String] {
            values.compactMap { if case .object(let id as ObjectIDReference) = $0 { id.id.uri } else { nil } }.sorted()
        }
        return keys(ones) == keys(others)
    }
}
