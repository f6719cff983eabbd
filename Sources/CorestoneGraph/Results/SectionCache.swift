import CorestoneModel
import CorestonePredicate
import CorestoneValues
import Glibc

/// The sections of results, remembered in files beyond the process, so that no object has to be asked for the name of its section.
///
/// A file is believed only if it is whole and was made for the same request (entity, predicate, order, window, section key path) of
/// the same stores in the same state. It is written beside the one that it replaces, and exchanged at once.
struct SectionCache {
    private let path: String
    /// Of the request and the state of its stores.
    private let digest: String

    /// Fetches with the help of a cache, and notes the sections in it.
    static func fetch(_ tracker: ResultsTracker, _ name: String?) throws {
        guard let name, let cache = SectionCache(name, tracker) else { return try tracker.fetch() }
        if let sections = cache.read() {
            try tracker.fetch(sections: sections)
            // Somebody may have written meanwhile.
            if SectionCache(name, tracker)?.digest == cache.digest,
                tracker.snapshot?.count == sections.starts[sections.count]
            {
                return
            }
            return try tracker.fetch()
        }
        try tracker.fetch()
        if let sections = tracker.snapshot?.sections, SectionCache(name, tracker)?.digest == cache.digest {
            cache.write(sections)
        }
    }

    /// nil where nothing can be remembered: without sections by what stores keep, with code of the host's, with changes that were not saved, and
    /// with stores that do not tell their state.
    private init?(_ name: String, _ tracker: ResultsTracker) {
        let (context, request) = (tracker.context, tracker.request)
        guard let path = tracker.naming?.keyPath, SectionCache.isStored(path, request.entity), context.parent == nil,
            context.generation == nil,
            request.sortDescriptors.allSatisfy({ $0.comparator == nil }),
            !context.hasPendingChanges(for: request), let folder = SectionCache.folder
        else { return nil }
        let predicate = request.predicate?.description ?? ""
        // What the host decides is not known from the text.
        if SectionCache.find("BLOCK", in: predicate) || SectionCache.find("FUNCTION", in: predicate) { return nil }
        var parts = [request.entity.name, predicate, path]
        parts += request.sortDescriptors.flatMap { [$0.keyPath, $0.ascending ? "+" : "-", $0.selector.rawValue] }
        parts.append("\(request.limit) \(request.offset) \(request.includesSubentities) \(request.nulls)")
        guard let stores = try? context.stores(for: request), !stores.isEmpty else { return nil }
        for store in stores {
            guard let state = store.backing.contentState else { return nil }
            parts += [store.identifier, state]
        }
        digest = SectionCache.hexadecimal(parts.map { "\($0.utf8.count):\($0)" }.joined())
        self.path = SectionCache.path(of: name, in: folder)
    }

    /// Whether a key path leads along what stores keep: what code of the host makes of an object may be something else next time.
    private static func isStored(_ path: String, _ entity: Entity) -> Bool {
        var entity = entity
        for key in KeyPath(path).keys {
            switch entity.property(named: key.text) {
            case let relationship as Relationship: entity = relationship.destination
            case let attribute as Attribute: return !attribute.isTransient && attribute.type != .transformable
            default: return false
            }
        }
        return false
    }

    private static func find(_ word: String, in text: String) -> Bool {
        let (word, text) = (Array(word.utf8), Array(text.utf8))
        return text.indices.contains { text[$0...].starts(with: word) }
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

    /// A line with the digest, a line for each section with its count and its name's length before the name, and a digest of all.
    private func write(_ sections: SectionTable) {
        var text = "\(digest)\n"
        for (index, name) in sections.names.enumerated() {
            text += "\(sections.count(of: index)) \(name.utf8.count) \(name)\n"
        }
        text += SectionCache.hexadecimal(text)
        for (place, byte) in path.utf8.enumerated() where byte == UInt8(ascii: "/") && place > 0 {
            mkdir(String(decoding: path.utf8.prefix(place), as: UTF8.self), 0o700)
        }
        // Without a place to write to, all is asked again next time.
        try? ModelFile(path).write(Array(text.utf8))
    }

    private func read() -> SectionTable? {
        guard let bytes = try? ModelFile(path).bytes(), bytes.count > 129 else { return nil }
        let body = bytes.dropLast(64)
        guard SectionCache.hexadecimal(String(decoding: body, as: UTF8.self)).utf8.elementsEqual(bytes.suffix(64)),
            body.starts(with: "\(digest)\n".utf8)
        else { return nil }
        var (sections, rest) = (SectionTable(), body.dropFirst(65))
        func number() -> Int? {
            guard let end = rest.firstIndex(of: UInt8(ascii: " ")) else { return nil }
            defer { rest = rest[(end + 1)...] }
            return Int(String(decoding: rest[..<end], as: UTF8.self))
        }
        while !rest.isEmpty {
            guard let count = number(), let length = number(), count > 0, length >= 0, length < rest.count else {
                return nil
            }
            sections.append(String(decoding: rest.prefix(length), as: UTF8.self), count)
            rest = rest.dropFirst(length + 1)
        }
        return sections
    }

    /// Forgets the sections under a name; nil: all of them, of every program of the user's.
    static func delete(_ name: String?) {
        guard let folder else { return }
        if let name {
            unlink(path(of: name, in: folder))
            return
        }
        guard let list = opendir(folder) else { return }
        defer { closedir(list) }
        while let entry = readdir(list) {
            let found = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if found.hasSuffix(".sections") { unlink(folder + "/" + found) }
        }
    }
}

extension FetchedResultsController {
    /// Forgets the sections that were remembered under a name, or all. Never needed for results to be right: what was remembered for
    /// another request, or another state of a store, is not believed. Any thread.
    public static func deleteCache(withName name: String?) { SectionCache.delete(name) }
}
