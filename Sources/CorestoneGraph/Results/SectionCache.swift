import CorestoneFileSystem
import CorestoneFormats
import CorestoneModel
import CorestonePredicate
import CorestoneValues
import Glibc

/// A cache of the sections of results in files, so that section names need not be computed for every object.
///
/// Cached sections must equal the computed ones, so most of this code determines when a file must not be used or
/// written. A file is used only if it is complete and was written for the same request and the same stores in the same
/// state. The request includes entity, predicate, order, collation, window and section key path. In addition, the first
/// object of each section must be the same and still belong to it. A new file is written beside the old one and
/// replaces it atomically.
struct SectionCache {
    private let path: String
    /// The digest of the request and the state of its stores.
    private let digest: String

    /// Runs a fetch with the cached sections, or writes the computed sections to the cache.
    static func fetch(_ tracker: ResultsTracker, _ name: String?) throws {
        guard let name, let folder, isUsable(tracker), let digest = digest(tracker) else { return try tracker.fetch() }
        let cache = SectionCache(path: path(of: name, in: folder), digest: digest)
        if let known = cache.read() {
            // The fetch fails if a wrong cached section name is out of order.
            if (try? tracker.fetch(sections: known.sections)) != nil, try known.matches(tracker),
                SectionCache.digest(tracker) == digest
            {
                return
            }
            unlink(cache.path)
            return try tracker.fetch()
        }
        try tracker.fetch()
        // Another process may have written in the meantime. The sections would then not belong to the digest.
        if let snapshot = tracker.snapshot, SectionCache.digest(tracker) == digest { cache.write(snapshot) }
    }

    // MARK: Conditions

    /// Whether the cache can be used and is faster than computing the sections.
    ///
    /// False if the sections are named by the first sort key, which each row contains. Also false if the context's
    /// results may differ from the store. Possible reasons are a parent context, a query generation, application code,
    /// the clock, random values, unsaved changes, and objects and rows that were read before.
    private static func isUsable(_ tracker: ResultsTracker) -> Bool {
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
        // The row cache of the entity itself is not checked, because the fetch reads these rows from the store.
        let stores = context.coordinator.stores
        for root in context.entities where roots.contains(root.index) && root !== request.entity.root {
            if stores.contains(where: { !$0.rowCache.isEmpty(root) }) { return false }
        }
        roots.insert(request.entity.rootIndex)
        return !context.everyObject.contains { roots.contains($0.entity.rootIndex) }
    }

    /// Returns the entity trees of a key path of stored properties.
    ///
    /// Returns nil for other key paths, because application code may compute their values.
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

    /// Returns the digest of the request and its stores; nil without stores, or if a store does not report its state.
    private static func digest(_ tracker: ResultsTracker) -> String? {
        let (context, request) = (tracker.context, tracker.request)
        var parts = ["2", request.entity.name, tracker.predicate?.description ?? "", tracker.naming?.keyPath ?? ""]
        parts += request.sortDescriptors.flatMap { [$0.keyPath, $0.ascending ? "+" : "-", $0.selector.rawValue] }
        parts.append("\(request.limit) \(request.offset) \(request.includesSubentities) \(request.nulls)")
        parts.append(Collation.current.identity)
        guard let stores = try? context.fetchExecutor.stores(for: request), !stores.isEmpty else { return nil }
        for store in stores {
            // Data that is read from now on is not older than the state.
            context.reader(of: store).endRead()
            guard let state = store.backing.contentState else { return nil }
            parts += [store.identifier, state]
        }
        return hexadecimal(parts.map { "\($0.utf8.count):\($0)" }.joined())
    }

    // MARK: Files

    /// The folder of the cache files, in the user's cache folder; nil if the environment does not name one.
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

    /// Writes the file: a line with the digest, a line per section, and a digest of all lines.
    ///
    /// The line of a section contains the number of its objects, the lengths of its first object's URI and of its name,
    /// and both texts.
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
        // A failure has no effect except that the sections are computed again.
        try? LocalFile(path).write(Array(text.utf8))
    }

    private func read() -> RememberedSections? {
        guard let bytes = try? LocalFile(path).bytes(), bytes.count > 129 else { return nil }
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

    /// Deletes the cached sections of a name; nil for all sections of all programs of the user.
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

/// The contents of a cache file.
private struct RememberedSections {
    var sections = SectionTable()
    /// The URI of the first object of each section.
    var firsts: [String] = []

    /// Whether the cached sections are those of fetched results.
    ///
    /// The sections must have the same first objects, and these objects the same section names.
    func matches(_ tracker: ResultsTracker) throws -> Bool {
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
    /// Deletes the cached sections of a name; nil for all sections of all programs of the user.
    ///
    /// The call is not needed for correct results, because the sections of another request, or of another state of a
    /// store, are not used. It can be made on any thread.
    public static func deleteCache(withName name: String?) { SectionCache.delete(name) }
}
