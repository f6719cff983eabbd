import CorestoneGraph
import CorestoneModel
import CorestoneValues
import Glibc

/// The file of an atomic store: read as a whole, replaced as a whole.
///
/// Others may replace it, too. Who is about to write keeps them out, and looks first whether the file is still the one that was
/// read last; so nobody's changes are overwritten unseen.
final class StoreFile: @unchecked Sendable {
    let format: any AtomicFormat
    private let options: StoreOptions
    /// Whether the caller passed the options: only then a message asks for another one.
    private let areOptionsGiven: Bool
    /// Where it is now; the next save goes there. Used by whoever uses the store.
    private(set) var place: StorePlace
    /// What was read or written last. It stays open, so that no later file can have its number.
    private var known: (descriptor: Int32, state: FileState?)?
    /// The same for whoever watches the file, on a thread of its own.
    let sights = Locked(FileSights())
    /// Of the file that the store left for another path: what the next save makes there is a copy of it.
    private var former: FilePermissions?
    /// Whether opening it made it.
    private(set) var isNew = false
    /// Why what was read last is not to be saved; nil when the model has a place for all of it.
    private(set) var obstacle: String?

    init(
        _ place: StorePlace, _ format: any AtomicFormat, _ options: StoreOptions, areOptionsGiven: Bool = true
    ) {
        (self.place, self.format, self.options) = (place, format, options)
        self.areOptionsGiven = areOptionsGiven
    }

    /// Whoever refused what was read has no store to close.
    deinit { if let known { Glibc.close(known.descriptor) } }

    private var file: ModelFile { ModelFile(place.path, shownAs: place.given) }

    /// Makes the file first when there is none, or an empty one.
    func open(_ model: Model) throws -> AtomicStore {
        try options.requireUsableFileMode(place.given)
        try options.limits.check(place.given)
        let mayMake = place.state != .present && !options.isReadOnly && !options.mustExist
        if !mayMake { try place.requireStore() }
        if !options.isReadOnly { try requireWritable() }
        // What a crash left. Nobody writes one while we are alone; who cannot be has other worries.
        if !options.isReadOnly, place.state == .present { try? alone(patience: 0) { file.removeDrafts() } }
        let nodes = format.nodes(model)
        var metadata = try mayMake ? make(nodes) : read(into: nodes)
        if options.ignoresVersioning {
            try adopt(nodes, &metadata)
        } else {
            try checkModel(metadata, model)
        }
        return AtomicStore(
            nodes, metadata, type: format.type, file: self, path: place.absolute, options)
    }

    /// A file that nobody may write is not replaced, either.
    ///
    /// - Parameter toReplace: Whether the file is to be replaced, not opened. Only the remedy depends on it.
    private func requireWritable(toReplace: Bool = false) throws {
        // A store that does not exist cannot be opened read-only.
        let mayRead = !toReplace && place.state == .present
        if file.name.utf8.count > ModelFile.longestName {
            throw CoreError(
                .invalidArgument, code: .persistentStoreOpen,
                "the file name of \(place.given) has \(file.name.utf8.count) bytes, but a writable store allows at most "
                    + "\(ModelFile.longestName); choose a shorter name"
                    + (mayRead ? " or open the store read-only" : ""), value: .string(file.name), file: place.given)
        }
        let mayWrite = place.state == .missing || faccessat(AT_FDCWD, place.path, W_OK, AT_EACCESS) == 0
        if mayWrite, place.mayWriteFolder { return }
        let what = mayWrite ? "the folder \(place.folder) of \(place.given)" : place.given
        throw CoreError(
            .storeReadOnly, code: .persistentStoreOpen,
            "\(what) is not writable; make it writable, or "
                + (mayRead ? "open the store read-only" : "choose another path"), file: place.given)
    }

    private func make(_ nodes: Nodes) throws -> StoreMetadata {
        try alone {
            // Another process may have made the store meanwhile.
            if isThere { return try read(into: nodes) }
            let metadata = StoreMetadata(model: nodes.model, type: format.type)
            try write(nodes, metadata)
            isNew = true
            return metadata
        }
    }

    /// A store that says nothing of its model is taken as it is: what does not fit is found when it is read.
    private func checkModel(_ metadata: StoreMetadata, _ model: Model) throws {
        if metadata.entityVersionHashes.isEmpty { return }
        let difference = metadata.differingEntities(from: model)
        if difference.isEmpty { return }
        throw mismatch(
            difference.text, entity: difference.first,
            children: (try? metadata.carriedModel())?.mismatchDetails(with: model, file: place.given) ?? [])
    }

    /// Throws if an entity that both models have is in another tree.
    private func checkTrees(_ metadata: StoreMetadata, _ model: Model) throws {
        guard let (entity, storedRoot) = metadata.entityInAnotherTree(than: model) else { return }
        throw mismatch(
            "the root entity of \(entity.name) is \(storedRoot) in the store, but \(entity.root.name) in the model",
            entity: entity.name)
    }

    private func mismatch(_ difference: String, entity: String?, children: [CoreError] = []) -> CoreError {
        .ofAnotherModel(place.given, difference, entity: entity, children: children)
    }

    /// Has a file that was written with another model be one of this one's, where it may be written and nothing is lost.
    private func adopt(_ nodes: Nodes, _ metadata: inout StoreMetadata) throws {
        if options.isReadOnly || obstacle != nil || !metadata.isOfAnotherModel(than: nodes.model) { return }
        metadata.setModel(nodes.model)
        try alone {
            guard try !hasChanged() else { throw changedMeanwhile() }
            try write(nodes, metadata)
        }
    }

    func close() { know(nil) }

    // MARK: Elsewhere

    /// Has the next save go to another path, where nothing is but an older state of the store.
    func move(to place: StorePlace, _ uuid: UUIDValue) throws {
        if place.state == .present {
            let there = try format.metadata(
                ModelFile(place.path, shownAs: place.given).bytes(
                    limit: .max, holes: options.limits.valueBytes), path: place.given)
            guard there.uuid == uuid else {
                throw CoreError(
                    .invalidArgument, code: .persistentStoreOperation,
                    "\(place.given) is another store, with the identifier \(there.uuid) instead of \(uuid); choose an unused path",
                    value: .uuid(there.uuid), file: place.given)
            }
        }
        know(place.state == .present ? try opened(place.path) : nil)
        former = former ?? file.permissions
        self.place = place
    }

    // MARK: Reading and writing

    /// Whether another file is there than the one that was read or written last.
    ///
    /// - Throws: `.storeIO` when none is: what is gone shall not come back by itself.
    func hasChanged() throws -> Bool {
        let state = FileState(place.path)
        // Where the store moved to and nothing is yet.
        if known == nil, state?.size ?? 0 == 0 { return false }
        guard let state else {
            throw CoreError(
                .storeIO, code: .persistentStoreOperation,
                "\(place.given) no longer exists; restore it, or remove the store from the coordinator and add it again. For "
                    + "a document, call cst_document_save_as (save_as, saveAs) with another path", file: place.given)
        }
        return state != known?.state
    }

    /// Another text for every content of the file, as far as the file system tells. Any thread.
    var contentState: String? { FileState(place.path)?.text }

    private func know(_ descriptor: Int32?) {
        if let known { Glibc.close(known.descriptor) }
        known = descriptor.map { ($0, FileState(descriptor: $0)) }
        sights.withLock { $0.note(known?.state) }
    }

    private func opened(_ path: String) throws -> Int32 {
        let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw opening(failure("cannot be read", errno)) }
        return descriptor
    }

    /// - Parameter accepting: throws for what is not taken over. Then the former content stays the known one, so that the file is
    ///   found to be another again, and never written.
    func read(into nodes: Nodes, accepting: (StoreMetadata) throws -> Void = { _ in }) throws -> StoreMetadata {
        // What comes between is read again later.
        let descriptor = try opened(place.path)
        let leftOut = options.ignoresVersioning ? LeftOut() : nil
        do {
            let metadata = try decode(
                file.bytes(limit: .max, holes: options.limits.valueBytes), into: nodes, leftOut)
            try accepting(metadata)
            know(descriptor)
            obstacle = leftOut?.readOnlyReason
            return metadata
        } catch let error as CoreError {
            Glibc.close(descriptor)
            throw error.code == CocoaCode.coreData.rawValue ? opening(error) : error
        }
    }

    /// Damage is reported only of a file of this model: what another model wrote need not fit.
    private func decode(_ bytes: [UInt8], into nodes: Nodes, _ leftOut: LeftOut?) throws -> StoreMetadata {
        if leftOut != nil { try checkTrees(format.metadata(bytes, path: place.given), nodes.model) }
        do {
            return try format.decode(bytes, into: nodes, path: place.given, leftOut: leftOut)
        } catch let error as CoreError where error.status == .storeCorrupt && leftOut == nil {
            if let metadata = try? format.metadata(bytes, path: place.given) { try checkModel(metadata, nodes.model) }
            throw error
        }
    }

    /// Replaces the file: whoever opens it finds the whole of the old or of the new one, also after a crash.
    func write(_ nodes: Nodes, _ metadata: StoreMetadata) throws {
        // What was written last is as good a guess as any.
        try MemoryRoom.require((known?.state?.size ?? 0) * 2, to: "save \(place.given)", file: place.given)
        let bytes: [UInt8]
        do { bytes = try format.encode(nodes, metadata) } catch let error as CoreError where error.file == nil {
            throw error.within("cannot save \(place.given)", file: place.given)
        }
        do {
            // Who waits for the old file goes on to wait for the new one until all of this save is done.
            try file.write(bytes, permissions: permissionsOfNewFile) { draft in
                let descriptor = try opened(draft)
                flock(descriptor, LOCK_EX | LOCK_NB)
                know(descriptor)
            }
            former = nil
        } catch let error as CoreError {
            throw CoreError(
                .storeIO, code: .persistentStoreSave,
                isThere
                    ? "\(error.message). The file contains either the previous save or all of this one"
                    : "\(error.message). Nothing was saved",
                file: place.given)
        }
    }

    /// Whether there is a file, and not an empty one.
    private var isThere: Bool { FileState(place.path)?.size ?? 0 > 0 }

    /// nil for what the process's mask says, and where a store is: its permissions are its owner's affair.
    private var permissionsOfNewFile: FilePermissions? {
        if isThere { return nil }
        let reserved = file.permissions
        return former?.ofCopy(inPlaceOf: reserved) ?? options.permissionsOfNewFile(inPlaceOf: reserved)
    }

    private func opening(_ error: CoreError) -> CoreError {
        CoreError(
            error.status, code: .persistentStoreOpen, error.message, key: error.key, value: error.value,
            file: place.given)
    }

    // MARK: Others

    /// Puts a copy of another store there, whose bytes are given.
    ///
    /// - Parameters:
    ///   - check: called for an existing file, when no other process writes it.
    ///   - progress: receives the bytes that are written. If it throws, the file stays as it is.
    func replace(
        by bytes: [UInt8], check: () throws -> Void, progress: (_ written: Int) throws -> Void
    ) throws {
        try alone {
            if isThere { try check() }
            try progress(0)
            try file.write(bytes, permissions: permissionsOfNewFile, progress: progress)
        }
    }

    /// Throws unless it can be replaced now.
    func requireUnlocked() throws {
        try requireWritable(toReplace: true)
        try alone {}
    }

    /// Runs `body` while nobody else in this process or another, who does the same, writes the file.
    ///
    /// - Throws: `.storeBusy` when somebody else has it for longer than the options have patience.
    ///
    /// - Parameter patience: milliseconds; nil for that of the options.
    func alone<Result>(patience: Int? = nil, _ body: () throws -> Result) throws -> Result {
        var patience = patience ?? options.busyTimeoutMilliseconds
        while true {
            // The file itself, which is another one after each save: so no companion stays behind.
            let isFile = FileState(place.path) != nil
            let descriptor = Glibc.open(isFile ? place.path : place.folder, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
            guard descriptor >= 0 else {
                if isFile, errno == ENOENT { continue }
                throw opening(failure("cannot be opened", errno))
            }
            defer { Glibc.close(descriptor) }
            try lock(descriptor, &patience)
            // Said aloud: a process that was forked off in between has the descriptor too.
            defer { flock(descriptor, LOCK_UN) }
            let state = FileState(place.path)
            guard isFile ? state?.number == FileState(descriptor: descriptor)?.number : state == nil else { continue }
            defer { if let known { flock(known.descriptor, LOCK_UN) } }
            return try body()
        }
    }

    /// - Parameter patience: milliseconds that are left.
    private func lock(_ descriptor: Int32, _ patience: inout Int) throws {
        let pause = 2
        // What cannot be locked is written without.
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 && (errno == EWOULDBLOCK || errno == EINTR) {
            guard patience > 0 else { throw busy() }
            usleep(UInt32(pause) * 1000)
            patience -= pause
        }
    }

    private func failure(_ what: String, _ code: Int32) -> CoreError {
        CoreError(
            .storeIO, code: .persistentStoreSave, "\(place.given) \(what): \(StorePlace.text(of: code))",
            file: place.given)
    }

    private func changedMeanwhile() -> CoreError {
        CoreError(
            .storeBusy, code: .persistentStoreTimeout,
            "another process or coordinator saved to \(place.given) while it was being opened; open it again",
            file: place.given)
    }

    private func busy() -> CoreError {
        let patience = options.busyTimeoutMilliseconds
        return CoreError(
            .storeBusy, code: .persistentStoreTimeout,
            "another process or coordinator has locked \(place.given)\(patience > 0 ? " for \(patience) ms" : ""); "
                + (areOptionsGiven ? "try again, or raise busy_timeout_ms (busy_timeout)" : "try again"),
            file: place.given)
    }
}

/// What tells one content of a file from another, as long as every writer replaces the file and the old one is still open.
struct FileState: Equatable {
    /// Of the file system, and within it.
    let number: [UInt]
    let size: Int
    private let changed: [Int]

    /// nil when nothing is there.
    init?(_ path: String) {
        var facts = stat()
        guard stat(path, &facts) == 0 else { return nil }
        self.init(facts)
    }

    init?(descriptor: Int32) {
        var facts = stat()
        guard fstat(descriptor, &facts) == 0 else { return nil }
        self.init(facts)
    }

    var text: String { "\(number) \(size) \(changed)" }

    private init(_ facts: stat) {
        number = [UInt(facts.st_dev), UInt(facts.st_ino)]
        size = Int(facts.st_size)
        // Not when the file itself was changed last: a new name is such a change.
        changed = [facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec]
    }
}
