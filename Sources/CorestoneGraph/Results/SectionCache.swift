import CorestoneModel
import CorestonePredicate
import CorestoneValues
import Glibc

/// The sections of results, remembered in files beyond the process, so that no object has to be asked for the name of its section.
///
/// What was remembered has to be what asking would give, so most of this is about when not to believe it, and not to write it.
/// A file is believed only if it is whole and was made for the same request (entity, predicate, order and whose rules that
/// follows, window, section key path) of the same stores in the same state, and if the first object of each section is the same
/// one, and still says that it belongs there. It is written beside the one that it replaces, and exchanged at once.
struct SectionCache {
    private let path: String
    /// Of the request and the state of its stores.
    private let digest: String

    /// Fetches with the help of a cache, and notes the sections in it.
    static func fetch(_ tracker: ResultsTracker, _ name: String?) throws {
        guard let name, let folder, isOfUse(tracker), let digest = digest(tracker) else { return try tracker.fetch() }
        let cache = SectionCache(path: path(of: name, in: folder), digest: digest)
        if let known = cache.read() {
            // A name at the wrong place may be out of order.
            if (try? tracker.fetch(sections: known.sections)) != nil, try known.fit(tracker),
                SectionCache.digest(tracker) == digest
            {
                return
            }
            unlink(cache.path)
            return try tracker.fetch()
        }
        try tracker.fetch()
        // Somebody may have written meanwhile.
        if let snapshot = tracker.snapshot, SectionCache.digest(tracker) == digest { cache.write(snapshot) }
    }

    // MARK: When

    /// False where sections are by the first sort key, which each row has anyway; and wherever what a context would find may be
    /// something else than what the store says: by code of the host's, the clock or chance, changes that were not saved, objects
    /// and rows that were read before.
    private static func isOfUse(_ tracker: ResultsTracker) -> Bool {
        let (context, request) = (tracker.context, tracker.request)
        guard let path = tracker.naming?.keyPath, path != request.sortDescriptors.first?.keyPath, context.parent == nil,
            context.generation == nil, !context.hasChanges,
            HookKinds(rawValue: context.coordinator.model.hookKinds).isDisjoint(with: .awakeFromFetch),
            tracker.predicate?.isLasting != false, request.sortDescriptors.allSatisfy({ $0.comparator == nil })
        else { return false }
        var roots: Set<UInt32> = []
        let paths = [KeyPath(path)] + request.sortDescriptors.map(\.path) + (tracker.predicate?.keyPaths ?? [])
        for path in paths {
            guard let read = storedRoots(of: path, from: request.entity) else { return false }
            roots.formUnion(read)
        }
        // Rows of the entity itself come from the store with the fetch.
        let stores = context.coordinator.stores
        for root in context.entities where roots.contains(root.index) && root !== request.entity.root {
            if stores.contains(where: { !$0.rowCache.isEmpty(root) }) { return false }
        }
        roots.insert(request.entity.rootIndex)
        return !context.everyObject.contains { roots.contains($0.entity.rootIndex) }
    }

    /// The trees through which a key path leads along what stores keep; nil where it does not: what code of the host makes of an
    /// object may be something else next time.
    private static func storedRoots(of path: KeyPath, from entity: Entity) -> [UInt32]? {
        var (entity, roots) = (entity, [UInt32]())
        for key in path.keys where !key.isOperator {
            switch entity.property(named: key.text) {
            case let relationship as Relationship where !relationship.isTransient:
                entity = relationship.destination
                roots.append(entity.rootIndex)
            case let attribute as Attribute:
                return attribute.isTransient || attribute.type == .transformable ? nil : roots
            default: return nil
            }
        }
        return roots
    }

    /// nil where a store does not tell its state.
    private static func digest(_ tracker: ResultsTracker) -> String? {
        let (context, request) = (tracker.context, tracker.request)
        var parts = ["2", request.entity.name, tracker.predicate?.description ?? "", tracker.naming?.keyPath ?? ""]
        parts += request.sortDescriptors.flatMap { [$0.keyPath, $0.ascending ? "+" : "-", $0.selector.rawValue] }
        parts.append("\(request.limit) \(request.offset) \(request.includesSubentities) \(request.nulls)")
        parts.append(Collation.current.identity)
        guard let stores = try? context.stores(for: request), !stores.isEmpty else { return nil }
        for store in stores {
            // What is read from now on is not older than the state.
            context.reader(of: store).endRead()
            guard let state = store.backing.contentState else { return nil }
            parts += [store.identifier, state]
        }
        return hexadecimal(parts.map { "\($0.utf8.count):\($0)" }.joined())
    }

    // MARK: Files

    /// Under the user's cache folder.
    private static var folder: String? {
        func value(_ name: String) -> String? {
            getenv(name).map { String(cString: $0) }.flatMap { $0.hasPrefix("/") ? $0 : nil }
        }
        return (value("XDG_CACHE_HOME") ?? value("HOME").map { $0 + "/.cache" }).map { $0 + "/corestone/sections" }
    }

    private static func path(of name: String, in folder: String) -> String {
        folder + "/" + hexadecimal(name) + ".sections"
    }

    private static func hexadecimal(_ text: String) -> String {
        sha256(Array(text.utf8)).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }

    /// A line with the digest; a line for each section with its count, the lengths of its first object's URI and of its name, and
    /// these two; a digest of all.
    private func write(_ snapshot: ResultsSnapshot) {
        let sections = snapshot.sections
        var text = "\(digest)\n"
        for (index, name) in sections.names.enumerated() {
            let first = snapshot.rows[sections.starts[index]].id.uri
            text += "\(sections.count(of: index)) \(first.utf8.count) \(name.text.utf8.count) \(first) \(name.text)\n"
        }
        text += SectionCache.hexadecimal(text)
        for (place, byte) in path.utf8.enumerated() where byte == UInt8(ascii: "/") && place > 0 {
            mkdir(String(decoding: path.utf8.prefix(place), as: UTF8.self), 0o700)
        }
        // Without a place to write to, all is asked again next time.
        try? ModelFile(path).write(Array(text.utf8))
    }

    private func read() -> RememberedSections? {
        guard let bytes = try? ModelFile(path).bytes(), bytes.count > 129 else { return nil }
        let body = bytes.dropLast(64)
        guard SectionCache.hexadecimal(String(decoding: body, as: UTF8.self)).utf8.elementsEqual(bytes.suffix(64)),
            body.starts(with: "\(digest)\n".utf8)
        else { return nil }
        var (known, rest) = (RememberedSections(), body.dropFirst(65))
        func number() -> Int? {
            guard let end = rest.firstIndex(of: UInt8(ascii: " ")) else { return nil }
            defer { rest = rest[(end + 1)...] }
            return Int(String(decoding: rest[..<end], as: UTF8.self))
        }
        func text(_ length: Int) -> String? {
            guard length >= 0, length < rest.count else { return nil }
            defer { rest = rest.dropFirst(length + 1) }
            return String(decoding: rest.prefix(length), as: UTF8.self)
        }
        while !rest.isEmpty {
            guard let count = number(), let first = number(), let length = number(), count > 0,
                let uri = text(first), let name = text(length)
            else { return nil }
            known.sections.append(SectionName(name), count)
            known.firsts.append(uri)
        }
        return known
    }

    /// Forgets the sections under a name; nil: all of them, of every program of the user's.
    static func delete(_ name: String?) {
        guard let folder else { return }
        if let name {
            unlink(path(of: name, in: folder))
            return
        }
        guard let names = FolderNames(folder) else { return }
        for name in names where name.hasSuffix(".sections") { unlink(folder + "/" + name) }
    }
}

/// What a file says.
private struct RememberedSections {
    var sections = SectionTable()
    /// The URI of the first object of each.
    var firsts: [String] = []

    /// Whether results that were fetched with them begin their sections with the same objects, which say the same of themselves.
    func fit(_ tracker: ResultsTracker) throws -> Bool {
        guard let found = tracker.snapshot, found.sections.starts == sections.starts, let naming = tracker.naming else {
            return false
        }
        return try zip(sections.starts, firsts).enumerated().allSatisfy { index, first in
            let row = found.rows[first.0]
            let name = try naming.name(of: tracker.object(of: row), in: tracker.context, usesSaved: false)
            return row.id.uri == first.1 && name == sections.names[index]
        }
    }
}

extension FetchedResultsController {
    /// Forgets the sections that were remembered under a name, or all. Never needed for results to be right: what was remembered for
    /// another request, or another state of a store, is not believed. Any thread.
    public static func deleteCache(withName name: String?) { SectionCache.delete(name) }
}
