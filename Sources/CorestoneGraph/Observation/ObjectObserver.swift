import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// An observer of a key path.
///
/// The observer has a link to each object on the path. If a target on the path changes, the links after it are
/// replaced.
final class ObjectObserver: Observer, @unchecked Sendable {
    private let keyPath: String
    private let options: ObservationOptions
    /// The function to be called; nil after the observation ended.
    private var handler: ((ManagedObject, ValueChange) -> Void)?
    private let state = ObserverState()
    private let list: ObjectObservers
    /// The links along the path, beginning at the observed object; empty after the observation ended.
    private var links: [ObserverLink] = []

    init(
        _ keyPath: String, _ options: ObservationOptions, _ list: ObjectObservers,
        _ handler: @escaping (ManagedObject, ValueChange) -> Void
    ) {
        self.keyPath = keyPath
        self.options = options
        self.list = list
        self.handler = handler
    }

    func begin(at object: ManagedObject) throws {
        try ObserverPath.check(keyPath, from: object.entity)
        try link(object, keyPath[...])
        if options.contains(.initial) {
            notify(ValueChange(.setting, keyPath, new: (try? object.value(forKeyPath: keyPath)) ?? .null))
        }
    }

    // MARK: The path

    /// Adds links to the objects on the rest of the path.
    private func link(_ first: ManagedObject, _ rest: Substring) throws {
        var (next, rest): (ManagedObject?, Substring?) = (first, rest)
        while let object = next, let path = rest {
            let step = try ObserverPath.step(path, of: object.entity)
            let slot = Int(step.property.slot)
            let leaves = (step.property as? Attribute)?.leaves.map { Int($0.slot) } ?? []
            let link = ObserverLink(
                self, position: links.count, object: object, slot: slot, slots: leaves.isEmpty ? [slot] : leaves)
            links.append(link)
            list.add(link)
            rest = step.rest
            next = nil
            if rest != nil, let relationship = step.property as? Relationship {
                next = try object.target(of: relationship)
            }
        }
    }

    /// Removes the links at and after a position of the path. The removal of the first link ends the observation.
    func removeLinks(from position: Int) {
        while links.count > position { list.remove(links.removeLast()) }
        if position > 0 { return }
        let former = handler
        handler = nil
        withExtendedLifetime(former) {}
    }

    /// Returns the rest of the path after a link; nil for the last link.
    private func rest(behind link: ObserverLink) -> Substring? {
        var rest: Substring? = keyPath[...]
        for place in 0...link.position {
            guard let path = rest, let step = try? ObserverPath.step(path, of: links[place].object.entity) else {
                return nil
            }
            rest = step.rest
        }
        return rest
    }

    // MARK: Changes

    func willChange(_ link: ObserverLink, asSetting: Bool) {
        if !begin(link, whole: asSetting) { return }
        if options.contains(.prior) { list.notify(prior(of: link), of: link.object, to: self) }
    }

    /// Begins a replacement of values that may be equal.
    ///
    /// Loaded members are recorded for the comparison.
    func willReplace(_ link: ObserverLink) { _ = begin(link, whole: collection(of: link)?.isLoaded == true) }

    /// Discards a change that began, without a notification.
    func forgetChange(_ link: ObserverLink) {
        if link.depth == 0 { return }
        link.depth -= 1
        if link.depth == 0 { link.former = nil }
    }

    /// Records the former value.
    ///
    /// Returns false within another change of the same link, and for a link that is no longer on the path.
    private func begin(_ link: ObserverLink, whole: Bool) -> Bool {
        link.depth += 1
        guard link.depth == 1, isLinked(link), let root = links.first?.object else { return false }
        if link.position == links.count - 1, let collection = collection(of: link) {
            link.former = .members(FormerMembers(of: collection, whole: whole))
        } else {
            link.former = .value((try? root.value(forKeyPath: keyPath)) ?? .null)
        }
        return true
    }

    private func prior(of link: ObserverLink) -> ValueChange {
        var old = PropertyValue.null
        switch link.former {
        case .value(let value): old = value
        case .members(let members): old = members.all?.asValue ?? .null
        case nil: break
        }
        return ValueChange(.setting, keyPath, isPrior: true, old: old)
    }

    func didChange(_ link: ObserverLink, asSetting: Bool = false, ifDifferent: Bool = false) {
        if link.depth == 0 { return }
        link.depth -= 1
        guard link.depth == 0, let former = link.former else { return }
        link.former = nil
        guard isLinked(link), let root = links.first?.object else { return }
        switch former {
        case .members(let members):
            guard let collection = collection(of: link) else { return }
            if let change = ValueChange(keyPath, members, now: collection, asSetting: asSetting) {
                list.notify(change, of: link.object, to: self)
            }
        case .value(let old):
            let rest = rest(behind: link), isElsewhere = rest.map { relink(behind: link, $0) } ?? true
            // If the target is unchanged, another link of the path compares the values.
            if ifDifferent, !isElsewhere { return }
            let new = (try? root.value(forKeyPath: keyPath)) ?? .null
            if ifDifferent, new == old { return }
            list.notify(ValueChange(.setting, keyPath, old: old, new: new), of: link.object, to: self)
        }
    }

    /// Replaces the links after a link if the target of the link's relationship has changed.
    ///
    /// - Returns: Whether the target has changed.
    private func relink(behind link: ObserverLink, _ rest: Substring) -> Bool {
        let relationship = link.object.entity.properties[link.slot] as? Relationship
        let target = relationship.flatMap { try? link.object.target(of: $0) }
        let former = links.count > link.position + 1 ? links[link.position + 1].object : nil
        if former === target { return false }
        removeLinks(from: link.position + 1)
        // If the new target does not have the property, the path ends at the target.
        if let target { try? self.link(target, rest) }
        return true
    }

    private func isLinked(_ link: ObserverLink) -> Bool { link.position < links.count && links[link.position] === link }

    private func collection(of link: ObserverLink) -> ToManyRelationship? {
        guard let relationship = link.object.entity.properties[link.slot] as? Relationship, relationship.isToMany
        else { return nil }
        return try? link.object.toMany(relationship)
    }

    func notify(_ change: ValueChange) {
        guard let root = links.first?.object, let handler else { return }
        state.notify { handler(root, change) }
    }

    // MARK: Ending

    var isCancelled: Bool { state.isCancelled }

    func cancel() {
        // Called again when a cancelled token is released. If this thread must not remove the links,
        // `ObjectObservers.sweep` removes them later.
        _ = state.cancel()
        if list.mayRemoveObservers() { removeLinks(from: 0) }
    }
}

/// The observable key paths: to-one relationships followed by a property.
enum ObserverPath {
    /// Returns the first property of a path, and the rest of the path.
    static func step(_ path: Substring, of entity: Entity) throws -> (property: Property, rest: Substring?) {
        if let property = entity.property(named: String(path)) { return (property, nil) }
        guard let dot = path.firstIndex(of: ".") else {
            return (try entity.requireProperty(named: String(path)), nil)
        }
        let head = try entity.requireProperty(named: String(path[..<dot]))
        if let attribute = head as? Attribute, attribute.type == .composite {
            throw entity.unknownProperty(String(path))
        }
        guard let relationship = head as? Relationship, !relationship.isToMany else {
            throw CoreError(
                .invalidArgument,
                "\"\(path)\" of \(entity.name) cannot be observed, because \(entity.name).\(head.name) is \(head.kindPhrase), not a to-one "
                    + "relationship; end the path at \"\(head.name)\"",
                entity: entity.name, key: String(path))
        }
        return (head, path[path.index(after: dot)...])
    }

    /// Throws if the path does not consist of to-one relationships and a final property.
    ///
    /// The path is checked against the model, so that an invalid path is rejected even if its relationships are null.
    static func check(_ path: String, from entity: Entity) throws {
        var (entity, rest): (Entity, Substring?) = (entity, path[...])
        while let path = rest {
            let step = try ObserverPath.step(path, of: entity)
            rest = step.rest
            if let relationship = step.property as? Relationship { entity = relationship.destination }
        }
    }
}
