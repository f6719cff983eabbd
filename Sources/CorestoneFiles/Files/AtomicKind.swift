import CorestoneGraph
import CorestoneModel
import CorestoneValues
import Glibc

/// Stores that are one file, written as a whole by each save.
package struct AtomicKind: StoreKind {
    let format: any AtomicFormat
    package var type: StoreType { format.type }
    package let hasFile = true
    package let abilities = StoreAbilities.uniqueConstraints

    init(_ format: any AtomicFormat) { self.format = format }

    /// One for each format.
    package static let all: [AtomicKind] = [AtomicKind(XMLFormat()), AtomicKind(BinaryFormat())]

    package func open(_ path: String, model: Model, options: StoreOptions) throws -> any PersistentStore {
        let file = StoreFile(try StorePlace(path), format, options)
        return try file.open(model)
    }

    package func metadata(ofStoreAt path: String) throws -> StoreMetadata {
        let place = try StorePlace(path)
        try place.requireStore()
        return try format.metadata(
            ModelFile(place.path, shownAs: path).bytes(limit: .max, holes: StoreLimits().valueBytes), path: path)
    }

    package func setMetadata(_ metadata: StoreMetadata, ofStoreAt path: String) throws {
        let place = try StorePlace(path)
        try place.requireStore()
        let file = ModelFile(place.path, shownAs: path)
        try StoreFile(place, format, StoreOptions(), areOptionsGiven: false).alone {
            let bytes = try file.bytes(limit: .max, holes: StoreLimits().valueBytes)
            do {
                try file.write(format.replacingMetadata(of: bytes, by: metadata, path: path))
            } catch let error as CoreError where error.file == nil {
                throw error.within("cannot set the metadata of \(path)", file: path)
            }
        }
    }

    package func destroy(_ path: String, options: StoreOptions, removing: () throws -> Void) throws -> Bool {
        let place = try StorePlace(path)
        if place.state == .missing { return false }
        // A file that is no store of this type stays.
        if place.state == .present { _ = try metadata(ofStoreAt: path) }
        try removing()
        // Not while somebody saves.
        try StoreFile(place, format, options).alone {
            guard Glibc.unlink(place.path) == 0 || errno == ENOENT else {
                let code = errno
                let remedy = code == EACCES ? "; make its folder writable" : ""
                throw CoreError(
                    .storeReadOnly, code: .persistentStoreOperation,
                    "cannot remove \(path): \(StorePlace.text(of: code))\(remedy)", file: path)
            }
        }
        return true
    }

    package func replace(
        _ path: String, byStoreAt source: String, options: StoreOptions, removing: () throws -> Void
    ) throws { try copy(source, to: path, options: options, removing: removing) }

    /// Copies a store as `replace` does.
    ///
    /// - Parameter progress: receives the bytes that are written, and of how many. If it returns false, copying ends with `.cancelled`,
    ///   and the file at `path` stays as it is.
    package func copy(
        _ source: String, to path: String, options: StoreOptions,
        progress: (_ done: Int, _ total: Int) -> Bool = { _, _ in true }, removing: () throws -> Void = {}
    ) throws {
        try options.requireUsableFileMode(path)
        let origin = try StorePlace(source)
        try origin.requireStore()
        let original = ModelFile(origin.path, shownAs: source)
        let bytes = try original.bytes(limit: .max, holes: options.limits.valueBytes)
        _ = try format.metadata(bytes, path: source)
        let place = try StorePlace(path)
        guard place.path != origin.path else {
            throw CoreError(
                .invalidArgument, code: .persistentStoreOperation,
                "cannot copy \(path) to itself; choose another path", file: path)
        }
        // A file that is no store of this type stays.
        func check() throws { _ = try metadata(ofStoreAt: path) }
        if place.state == .present { try check() }
        try removing()
        var options = options
        options.permissionsOfSource = original.permissions
        try StoreFile(place, format, options).replace(by: bytes, check: check) { written in
            guard progress(written, bytes.count) else {
                throw CoreError(
                    .cancelled, code: .persistentStoreOperation,
                    "copying \(source) to \(path) was cancelled, and \(path) is unchanged", file: path)
            }
        }
    }

    /// The first value that a column of an SQLite store does not keep exactly: a decimal with more digits than a double, or NaN.
    ///
    /// - Parameter model: the model of the store, frozen.
    package func valueBeyondSQLite(
        _ place: StorePlace, _ model: Model, _ options: StoreOptions
    ) throws -> (entity: String, key: String, value: PropertyValue)? {
        let nodes = format.nodes(model)
        _ = try format.decode(
            ModelFile(place.path, shownAs: place.given).bytes(limit: .max, holes: options.limits.valueBytes),
            into: nodes, path: place.given, leftOut: nil)
        for entity in model.entities {
            let slots = (0..<Int(entity.slotCount)).filter {
                [.decimal, .double].contains(entity.layout.slots[$0].kind)
            }
            if slots.isEmpty { continue }
            for node in nodes.rows(of: entity) {
                for slot in slots {
                    let value = node.record.view(slot, entity.layout.slots[slot]).propertyValue
                    switch value {
                    case .decimal(let number) where number.integer == nil && DecimalNumber(number.double) != number:
                        return (entity.name, entity.properties[slot].path, value)
                    case .double(let number) where number.isNaN:
                        return (entity.name, entity.properties[slot].path, value)
                    default: continue
                    }
                }
            }
        }
        return nil
    }

    /// Another text for every content of the file; nil if there is none.
    package func sight(of place: StorePlace) -> String? { FileState(place.path)?.text }

    /// Replaces a store by what another one holds, under the given identifier and metadata.
    ///
    /// - Parameters:
    ///   - draft: the other store; a file of this type, written with `model`.
    ///   - sight: what `sight(of:)` returned when the store was read.
    /// - Returns: the store, open; nil if another process wrote it since, and it is as that process left it.
    package func replace(
        _ place: StorePlace, byContentOf draft: String, model: Model, metadata: StoreMetadata, unless sight: String?,
        options: StoreOptions
    ) throws -> (any PersistentStore)? {
        let nodes = format.nodes(model)
        _ = try format.decode(
            ModelFile(draft, shownAs: place.given).bytes(limit: .max, holes: options.limits.valueBytes), into: nodes,
            path: place.given, leftOut: nil)
        let file = StoreFile(place, format, options)
        return try file.alone {
            guard self.sight(of: place) == sight else { return nil }
            try file.write(nodes, metadata)
            return AtomicStore(nodes, metadata, type: type, file: file, path: place.absolute, options)
        }
    }

    package func requireReplaceable(_ path: String, options: StoreOptions) throws {
        _ = try metadata(ofStoreAt: path)
        try StoreFile(StorePlace(path), format, options).requireUnlocked()
    }

    package func unlink(_ place: StorePlace, if isEmpty: () -> Bool) {
        try? StoreFile(place, format, StoreOptions()).alone(patience: 0) {
            if isEmpty() { Glibc.unlink(place.path) }
        }
    }
}
