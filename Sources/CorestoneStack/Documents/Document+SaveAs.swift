import CorestoneGraph
import CorestoneModel
import CorestoneValues
import Glibc

extension Document {
    /// Saves the document to another place, and goes on there. What is at its former place stays as it was last saved.
    ///
    /// Objects stay what they are, unless the type changes: then every object has a new ID, and those that the host has are gone. A
    /// document that is open read-only can be written at its new place. A store that is overwritten stays as it is until the new
    /// one is whole; who reads it meanwhile goes on with what he began.
    ///
    /// - Parameters:
    ///   - path: where nothing is, or a store of the type that is wanted, if that may be replaced; relative to the working directory
    ///     at the time of the call. A symbolic link stays, and what it leads to is meant.
    ///   - type: nil: as it is.
    ///   - replaces: whether a store that is there may be overwritten, or an empty file.
    /// - Throws: `.invalidArgument` for the document's own place and for one where something is; `.notAStore` and `.unsupported`
    ///   for what may not be overwritten since it is no store of the type, `.storeBusy` while somebody else writes it,
    ///   `.storeReadOnly`; `.unsavedChanges` for another type while children of the context, or other contexts of the coordinator,
    ///   hold what they have not saved, with the counts as children of the error; what saving throws. What is at the path is as it
    ///   was then, and the document is where it was, with its changes. Only when the last step fails, after all was copied, it is a
    ///   document without a place that has them, for another try.
    public func saveAs(_ path: String, type: StoreType? = nil, replaces: Bool = false) throws {
        try requireOpen()
        if let type, type != self.type { try requireSavedElsewhere(to: path) }
        try context.use { context in
            try context.processPendingChanges()
            // What cannot be saved leaves no file behind.
            if context.hasPersistentChanges { try context.validate() }
            let former = store, wanted = type ?? former.type, refuge = values.withLock(\.refuge)
            try Document.requireFile(wanted)
            let place = try StorePlace(path)
            try requireOther(place)
            if place.state != .missing { try requireReplaceable(place, wanted, replaces) }
            if wanted == former.type, place.state == .missing {
                try move(former, to: place, context)
            } else {
                try coordinator.check(StoreTypes.kind(of: wanted).abilities, ofStoreAt: path)
                try saveByCopy(to: place, wanted, context)
            }
            let last = values.withLock(\.refuge)
            settle { values in
                values.refuge = nil
                values.options.isReadOnly = false
                values.flags.subtract([.untitled, .edited])
            }
            for folder in Set([refuge, last].compactMap(\.self)) { removeTree(at: folder) }
        }
    }

    /// What others have of objects that get new IDs could never be saved.
    private func requireSavedElsewhere(to path: String) throws {
        let others = coordinator.unsavedChanges(besides: context)
        if others.isEmpty { return }
        throw CoreError(
            .unsavedChanges, code: .persistentStoreSave,
            "cannot save the document to \(path) as another type while other contexts have unsaved changes; save them or "
                + "roll them back first", children: others.map(\.error), file: path)
    }

    private func requireOther(_ place: StorePlace) throws {
        let own = try StorePlace(store.path)
        if place.path == own.path || place.state != .missing && place.number == own.number {
            throw CoreError(
                .invalidArgument, code: .persistentStoreOperation,
                "\(place.given) is the document's own file; call cst_document_save (save) instead", file: place.given)
        }
        var facts = stat()
        if place.state == .missing, lstat(place.absolute, &facts) == 0 {
            throw CoreError(
                .invalidArgument, code: .persistentStoreOperation,
                "\(place.given) is a symbolic link to a missing file; choose another path, or remove the link first",
                file: place.given)
        }
    }

    private func requireReplaceable(_ place: StorePlace, _ type: StoreType, _ replaces: Bool) throws {
        guard replaces else {
            throw CoreError(
                .invalidArgument, code: .persistentStoreOperation,
                "\(place.given) already exists; choose another path, or set replaces (replace) to overwrite it",
                file: place.given)
        }
        guard place.state == .present else { return }
        do {
            let kind = try StoreTypes.kind(of: type, at: place.given)
            if !kind.isHosted { try kind.requireReplaceable(place.given, options: values.withLock(\.options)) }
        } catch let error as CoreError where [.notAStore, .unsupported, .storeCorrupt].contains(error.status) {
            // What cannot be read as a store may be anything.
            throw CoreError(
                error.status == .storeCorrupt ? .notAStore : error.status, code: .persistentStoreOperation,
                "cannot replace \(place.given), which is not a readable store of type \(type.rawValue): \(error.message.withoutRemedy). Choose "
                    + "another path, or remove the file first", children: [error], file: place.given)
        }
    }

    /// The same store where nothing is.
    private func move(_ store: Store, to place: StorePlace, _ context: Context) throws {
        let former = store.path, path = place.absolute
        if store.type == .sqlite { try coordinator.backup(store, to: path) }
        let opening = store.isReadOnly ? store.backing as? any WritableElsewhere : nil
        do {
            opening?.setMayWrite(true)
            try coordinator.setPath(path, of: store)
            try saveHere(context, elsewhere: true)
        } catch {
            opening?.setMayWrite(false)
            // Where it cannot go back, what is there is all that there is.
            if (try? coordinator.setPath(former, of: store)) != nil {
                DocumentRefuge.remove(copyOf: store, at: path, coordinator)
            }
            throw error
        }
    }

    /// Over another store, or as one of another type. All that the document has is in a file of its own first, so that the former
    /// file and the one which is there stay as they are until the last step.
    private func saveByCopy(to place: StorePlace, _ type: StoreType, _ context: Context) throws {
        let path = place.absolute
        if values.withLock(\.refuge) == nil {
            let refuge = try DocumentRefuge.make()
            do { try move(store, to: StorePlace(refuge + "/Untitled"), context) } catch {
                removeTree(at: refuge)
                throw error
            }
            values.withLock { $0.refuge = refuge }
        } else {
            try saveHere(context)
        }
        do {
            if type != store.type {
                let folder = values.withLock(\.refuge) ?? ""
                let copy = place.state == .missing ? path : folder + "/Converted"
                goOn(with: try coordinator.migrateStore(store, to: type, at: copy))
                try context.reset()
            }
            guard place.state != .missing else { return }
            if place.state == .present {
                try coordinator.replaceStore(type, at: path, byStoreAt: store.path)
            } else {
                // What is empty is no store that could be replaced.
                try coordinator.backup(store, to: path)
            }
            try coordinator.setPath(path, of: store)
        } catch {
            settle { $0.flags.formUnion([.untitled, .edited]) }
            throw error
        }
    }
}
