import CorestoneFileSystem
import CorestoneGraph
import CorestoneModel
import CorestoneValues
import Glibc

extension Document {
    /// Saves the document to another path, which becomes the document's path.
    ///
    /// The previous file remains as it was last saved; that of an untitled document is removed.
    ///
    /// Objects remain valid unless the type changes. In that case every object gets a new ID, and existing objects
    /// become invalid. A document that is open read-only becomes writable at its new path. An existing store is
    /// replaced only after the new one is complete; processes that read the existing store keep their snapshot.
    ///
    /// - Parameters:
    ///   - path: An unused path, or that of a store of the same type if `replaces` is true; relative to the working
    ///     directory at the time of the call. A symbolic link is followed and kept.
    ///   - type: The new type; nil for the current one.
    ///   - replaces: Whether an existing store or an empty file may be overwritten.
    /// - Throws: `.invalidArgument` for the document's own path, for an existing file if `replaces` is false, for a
    ///   symbolic link to a missing file, and for the in-memory type.
    ///   `.invalidHandle` if the document is closed.
    ///   `.notAStore` and `.unsupported` for a file that is not a store of the type.
    ///   `.unsupported` if the new type does not support a feature of the model.
    ///   `.storeBusy` if another process or coordinator writes to the file.
    ///   `.storeReadOnly` if the file is not writable.
    ///   `.unsavedChanges` for another type if other contexts of the coordinator, including nested contexts, have
    ///   unsaved changes. The error has a child for each of these contexts, with its counts by entity.
    ///   The errors of a save.
    ///   After an error, the file at the path is unchanged, and the document keeps its path and its changes. If the
    ///   conversion to another type or the replacement of an existing file fails, the document becomes untitled
    ///   instead, and keeps its changes, so that the call can be repeated.
    public func saveAs(_ path: String, type: StoreType? = nil, replaces: Bool = false) throws {
        try requireOpen()
        if let type, type != self.type { try requireOtherContextsSaved(to: path) }
        try context.use { context in
            try context.processPendingChanges()
            // Invalid objects make the call fail before a file is created.
            if context.hasPersistentChanges { try context.validate() }
            let former = store, wanted = type ?? former.type, temporaryFolder = values.withLock(\.temporaryFolder)
            try Document.requireFile(wanted)
            let place = try StoreLocation(path)
            try requireOther(place)
            if place.state != .missing { try requireReplaceable(place, wanted, replaces) }
            if wanted == former.type, place.state == .missing {
                try move(former, to: place, context)
            } else {
                try coordinator.check(StoreTypes.kind(of: wanted).abilities, ofStoreAt: path)
                try saveByCopy(to: place, wanted, context)
            }
            let last = values.withLock(\.temporaryFolder)
            resetState { values in
                values.temporaryFolder = nil
                values.options.isReadOnly = false
                values.flags.subtract([.untitled, .edited])
            }
            for folder in Set([temporaryFolder, last].compactMap(\.self)) { removeTree(at: folder) }
        }
    }

    /// Throws if other contexts have unsaved changes, which could not be saved after the objects get new IDs.
    private func requireOtherContextsSaved(to path: String) throws {
        let others = coordinator.unsavedChanges(besides: context)
        if others.isEmpty { return }
        let (subject, pronoun) =
            others.count == 1 ? ("another context has", "that context") : ("other contexts have", "these contexts")
        throw CoreError(
            .unsavedChanges, code: .persistentStoreSave,
            "cannot save the document to \(path) as another type while \(subject) unsaved changes; call "
                + "cst_context_save (save) or cst_context_rollback (rollback) on \(pronoun) first",
            children: others.map(\.error), file: path)
    }

    private func requireOther(_ place: StoreLocation) throws {
        // The document's folder may no longer exist.
        let own = try? StoreLocation(store.path)
        if let own, place.path == own.path || place.state != .missing && place.number == own.number {
            throw CoreError(
                .invalidArgument, code: .persistentStoreOperation,
                "\(place.given) is the document's own file; call cst_document_save (save), or choose another path",
                key: "path", file: place.given)
        }
        var facts = stat()
        if place.state == .missing, lstat(place.absolute, &facts) == 0 {
            throw CoreError(
                .invalidArgument, code: .persistentStoreOperation,
                "\(place.given) is a symbolic link to a missing file; choose another path, or remove the link first",
                key: "path", file: place.given)
        }
    }

    private func requireReplaceable(_ place: StoreLocation, _ type: StoreType, _ replaces: Bool) throws {
        guard replaces else {
            throw CoreError(
                .invalidArgument, code: .persistentStoreOperation,
                "\(place.given) already exists; choose another path, or set replaces (replace) to overwrite it",
                key: "path", file: place.given)
        }
        guard place.state == .present else { return }
        do {
            let kind = try StoreTypes.kind(of: type, at: place.given)
            if !kind.isHosted { try kind.requireReplaceable(place.given, options: values.withLock(\.options)) }
        } catch let error as CoreError where [.notAStore, .unsupported, .storeCorrupt].contains(error.status) {
            // An unreadable file may be any file, so it is not replaced.
            throw CoreError(
                error.status == .storeCorrupt ? .notAStore : error.status, code: .persistentStoreOperation,
                "cannot replace \(place.given), which is not a readable store of type \(type.rawValue): \(error.message.withoutRemedy). Choose "
                    + "another path, or remove the file first", children: [error], file: place.given)
        }
    }

    /// Moves the store to an unused path and saves it there.
    private func move(_ store: Store, to place: StoreLocation, _ context: Context) throws {
        let former = store.path, path = place.absolute
        if store.type == .sqlite { try coordinator.backup(store, to: path) }
        let opening = store.isReadOnly ? store.backing as? any WritableAfterMove : nil
        do {
            opening?.setMayWrite(true)
            try coordinator.setPath(path, of: store)
            try saveHere(context, afterMove: true)
        } catch {
            opening?.setMayWrite(false)
            // If the path cannot be restored, the store still uses the new file, which must then be kept.
            if (try? coordinator.setPath(former, of: store)) != nil {
                UntitledDocumentFolder.remove(copyOf: store, at: path, coordinator)
            }
            throw error
        }
    }

    /// Saves over an existing store, or as another type.
    ///
    /// The content is first saved to a temporary file, so that the previous file of a document with a path does not
    /// change, and an existing file at the new path is unchanged until the last step.
    private func saveByCopy(to place: StoreLocation, _ type: StoreType, _ context: Context) throws {
        let path = place.absolute
        if values.withLock(\.temporaryFolder) == nil {
            let temporaryFolder = try UntitledDocumentFolder.make()
            do { try move(store, to: StoreLocation(temporaryFolder + "/Untitled"), context) } catch {
                removeTree(at: temporaryFolder)
                throw error
            }
            values.withLock { $0.temporaryFolder = temporaryFolder }
        } else {
            try saveHere(context)
        }
        do {
            if type != store.type {
                let folder = values.withLock(\.temporaryFolder) ?? ""
                let copy = place.state == .missing ? path : folder + "/Converted"
                resume(with: try coordinator.migrateStore(store, to: type, at: copy))
                try context.reset()
            }
            guard place.state != .missing else { return }
            if place.state == .present {
                try coordinator.replaceStore(type, at: path, byStoreAt: store.path)
            } else {
                // An empty file is not a store, so `replaceStore` would reject it.
                try coordinator.backup(store, to: path)
            }
            try coordinator.setPath(path, of: store)
        } catch {
            resetState { $0.flags.formUnion([.untitled, .edited]) }
            throw error
        }
    }
}
