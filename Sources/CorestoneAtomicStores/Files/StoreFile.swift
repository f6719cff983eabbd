import CorestoneFileSystem
import CorestoneGraph
import CorestoneModel
import CorestoneValues
import Glibc

/// The file of an atomic store, which is read and replaced as a whole.
///
/// Other processes and coordinators can replace the file, too. A writer locks the file. Before it writes, it checks
/// whether the file was replaced after the last read, so that changes are not lost.
final class StoreFile: @unchecked Sendable {
    let format: any AtomicFormat
    private let options: StoreOptions
    /// Whether the caller passed the options. Only then can a message suggest another option.
    private let areOptionsGiven: Bool
    /// The current path, to which the next save writes. Only the thread that uses the store may access it.
    private(set) var place: StoreLocation
    /// The file that was read or written last. It stays open, so that its inode number is not reused.
    private var knownFile: (descriptor: Int32, state: FileState?)?
    /// The known states of the file, shared with the watcher's thread.
    let observedStates = Locked(ObservedFileStates())
    /// The permissions of the file before the store was moved. The next save creates a copy with these permissions.
    private var formerPermissions: FilePermissions?
    /// Whether the file was created when the store was opened.
    private(set) var isNew = false
    /// The reason why the content must not be saved; nil if the model has all content of the file.
    private(set) var obstacle: String?

    init(
        _ place: StoreLocation, _ format: any AtomicFormat, _ options: StoreOptions, areOptionsGiven: Bool = true
    ) {
        (self.place, self.format, self.options) = (place, format, options)
        self.areOptionsGiven = areOptionsGiven
    }

    /// Closes the file if opening failed. In that case `close` is not called.
    deinit { if let knownFile { Glibc.close(knownFile.descriptor) } }

    private var file: LocalFile { LocalFile(place.path, shownAs: place.given) }

    /// Opens the store. A missing or empty file is created first, if the options allow it.
    func open(_ model: Model) throws -> NodeStore {
        try options.requireUsableFileMode(place.given)
        try options.limits.check(place.given)
        let mayMake = place.state != .present && !options.isReadOnly && !options.mustExist
        if !mayMake { try place.requireStore() }
        if !options.isReadOnly { try requireWritable() }
        // Removes drafts that a crash left behind. The lock excludes other writers. Without it, the drafts remain.
        if !options.isReadOnly, place.state == .present { try? withExclusiveLock(patience: 0) { file.removeDrafts() } }
        let nodes = format.nodes(model)
        var metadata = try mayMake ? make(nodes) : read(into: nodes)
        if options.ignoresVersioning {
            try adopt(nodes, &metadata)
        } else {
            try checkModel(metadata, model)
        }
        return NodeStore(
            nodes, metadata, type: format.type, file: self, path: place.absolute, options)
    }

    /// Throws if the file or its folder is not writable, or if the name is too long for a writable store.
    ///
    /// A file that is not writable is not replaced, even if its folder would allow a replacement.
    ///
    /// - Parameter toReplace: Whether the file is to be replaced, not opened. Only the remedy depends on it.
    private func requireWritable(toReplace: Bool = false) throws {
        // A store that does not exist cannot be opened read-only.
        let mayRead = !toReplace && place.state == .present
        if file.name.utf8.count > LocalFile.longestName {
            throw CoreError(
                .invalidArgument, code: .persistentStoreOpen,
                "the file name of \(place.given) has \(file.name.utf8.count) bytes, but a writable store allows at most "
                    + "\(LocalFile.longestName); choose a shorter name"
                    + (mayRead ? ", or open the store with CST_STORE_READ_ONLY (read_only)" : ""),
                key: "path", value: .string(file.name), file: place.given)
        }
        let mayWrite = place.state == .missing || faccessat(AT_FDCWD, place.path, W_OK, AT_EACCESS) == 0
        if mayWrite, place.mayWriteFolder { return }
        let subject = mayWrite ? "the folder \(place.folder) of \(place.given)" : place.given
        throw CoreError(
            .storeReadOnly, code: .persistentStoreOpen,
            "\(subject) is not writable; make it writable, or "
                + (mayRead ? "open the store with CST_STORE_READ_ONLY (read_only)" : "choose another path"),
            file: place.given)
    }

    private func make(_ nodes: Nodes) throws -> StoreMetadata {
        try withExclusiveLock {
            // Another process may have created the store meanwhile.
            if exists { return try read(into: nodes) }
            let metadata = StoreMetadata(model: nodes.model, type: format.type)
            try write(nodes, metadata)
            isNew = true
            return metadata
        }
    }

    /// Throws if the store was written with another model.
    ///
    /// A store without version hashes is accepted; decoding then detects differences.
    private func checkModel(_ metadata: StoreMetadata, _ model: Model) throws {
        if metadata.entityVersionHashes.isEmpty { return }
        let difference = metadata.differingEntities(from: model)
        if difference.isEmpty { return }
        throw mismatch(
            difference.text, entity: difference.first,
            children: (try? metadata.carriedModel())?.mismatchDetails(with: model, file: place.given) ?? [])
    }

    /// Throws if an entity belongs to different entity trees in the store and in the model.
    private func checkTrees(_ metadata: StoreMetadata, _ model: Model) throws {
        guard let (entity, storedRoot) = metadata.entityInAnotherTree(than: model) else { return }
        throw mismatch(
            "the root entity of \(entity.name) is \(storedRoot) in the store, but \(entity.root.name) in the model",
            entity: entity.name)
    }

    private func mismatch(_ difference: String, entity: String?, children: [CoreError] = []) -> CoreError {
        .ofAnotherModel(place.given, difference, entity: entity, children: children)
    }

    /// Rewrites a file of another model with this model, if the store is writable and no content was skipped.
    private func adopt(_ nodes: Nodes, _ metadata: inout StoreMetadata) throws {
        if options.isReadOnly || obstacle != nil || !metadata.isOfAnotherModel(than: nodes.model) { return }
        metadata.setModel(nodes.model)
        try withExclusiveLock {
            guard try !hasChanged() else { throw changedMeanwhile() }
            try write(nodes, metadata)
        }
    }

    func close() { setKnownFile(nil) }

    // MARK: Moving

    /// Changes the path of the next save. An existing file there must have the store's UUID.
    func move(to place: StoreLocation, _ uuid: UUIDValue) throws {
        if place.state == .present {
            let there = try format.metadata(
                LocalFile(place.path, shownAs: place.given).bytes(
                    limit: .max, holes: options.limits.valueBytes), path: place.given)
            guard there.uuid == uuid else {
                throw CoreError(
                    .invalidArgument, code: .persistentStoreOperation,
                    "\(place.given) is another store, with the identifier \"\(there.uuid)\" instead of \"\(uuid)\"; "
                        + "choose an unused path",
                    key: "path", value: .uuid(there.uuid), file: place.given)
            }
        }
        setKnownFile(place.state == .present ? try opened(place.path) : nil)
        formerPermissions = formerPermissions ?? file.permissions
        self.place = place
    }

    // MARK: Reading and writing

    /// Whether the file differs from the file that was read or written last.
    ///
    /// - Throws: `.storeIO` if the file does not exist, so that a save does not recreate a deleted store, or if it
    ///   cannot be read.
    func hasChanged() throws -> Bool {
        let state = FileState(place.path)
        // The store was moved to an unused path.
        if knownFile == nil, state?.size ?? 0 == 0 { return false }
        guard let state else {
            var facts = stat()
            if stat(place.path, &facts) != 0, errno != ENOENT, errno != ENOTDIR {
                throw failure("cannot be read", errno)
            }
            // Only a store that may be created can be added again without its file.
            let other = options.isReadOnly || options.mustExist ? "" : ", or \(StoreLocation.addingAgain)"
            throw CoreError(
                .storeIO, code: .persistentStoreOperation,
                "\(place.given) no longer exists; restore it\(other). Call cst_document_save_as (save_as, saveAs) for "
                    + "a document", file: place.given)
        }
        return state != knownFile?.state
    }

    /// The state of the file as a text that differs after a write; nil if the file does not exist.
    ///
    /// Can be called on any thread.
    var contentState: String? { FileState(place.path)?.text }

    private func setKnownFile(_ descriptor: Int32?) {
        if let knownFile { Glibc.close(knownFile.descriptor) }
        knownFile = descriptor.map { ($0, FileState(descriptor: $0)) }
        observedStates.withLock { $0.note(knownFile?.state) }
    }

    private func opened(_ path: String) throws -> Int32 {
        let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw opening(failure("cannot be read", errno)) }
        return descriptor
    }

    /// Reads the file into `nodes`.
    ///
    /// - Parameter accepting: Throws to reject the file. The previous file then remains the known one, so that the next
    ///   check detects the change again and no save overwrites the file.
    func read(into nodes: Nodes, accepting: (StoreMetadata) throws -> Void = { _ in }) throws -> StoreMetadata {
        // If the file is replaced between opening and reading, the next check detects this, and the file is read again.
        let descriptor = try opened(place.path)
        let skipped = options.ignoresVersioning ? SkippedContent() : nil
        do {
            let metadata = try decode(
                file.bytes(limit: .max, holes: options.limits.valueBytes), into: nodes, skipped)
            try accepting(metadata)
            setKnownFile(descriptor)
            obstacle = skipped?.readOnlyReason
            return metadata
        } catch let error as CoreError {
            Glibc.close(descriptor)
            throw error.code == CocoaCode.coreData.rawValue ? opening(error) : error
        }
    }

    /// Decodes the file.
    ///
    /// Without `skipped`, reports damage only if the file was written with this model; otherwise reports the difference
    /// between the models.
    private func decode(_ bytes: [UInt8], into nodes: Nodes, _ skipped: SkippedContent?) throws -> StoreMetadata {
        if skipped != nil { try checkTrees(format.metadata(bytes, path: place.given), nodes.model) }
        do {
            return try format.decode(bytes, into: nodes, path: place.given, skipped: skipped)
        } catch let error as CoreError where error.status == .storeCorrupt && skipped == nil {
            if let metadata = try? format.metadata(bytes, path: place.given) { try checkModel(metadata, nodes.model) }
            throw error
        }
    }

    /// Replaces the file atomically: even after a crash, it is either the old or the new file.
    func write(_ nodes: Nodes, _ metadata: StoreMetadata) throws {
        // The last size is an estimate of the next size.
        try MemoryCheck.require((knownFile?.state?.size ?? 0) * 2, to: "save \(place.given)", file: place.given)
        let bytes: [UInt8]
        do { bytes = try format.encode(nodes, metadata) } catch let error as CoreError where error.file == nil {
            throw error.within("cannot save \(place.given)", file: place.given)
        }
        do {
            // A process that waits for the lock of the old file then waits for this lock, until the save is complete.
            try file.write(bytes, permissions: permissionsOfNewFile) { draft in
                let descriptor = try opened(draft)
                flock(descriptor, LOCK_EX | LOCK_NB)
                setKnownFile(descriptor)
            }
            formerPermissions = nil
        } catch let error as CoreError {
            throw CoreError(
                .storeIO, code: .persistentStoreSave,
                "cannot save \(place.given)"
                    + (exists ? ", which contains either the previous save or all of this one: " : ": ")
                    + error.message,
                file: place.given)
        }
    }

    /// Whether the file exists and is not empty.
    private var exists: Bool { FileState(place.path)?.size ?? 0 > 0 }

    /// The permissions for a new file; nil for the default of the process's umask.
    ///
    /// Also nil for an existing store, which keeps its permissions.
    private var permissionsOfNewFile: FilePermissions? {
        if exists { return nil }
        let reserved = file.permissions
        return formerPermissions?.ofCopy(inPlaceOf: reserved) ?? options.permissionsOfNewFile(inPlaceOf: reserved)
    }

    private func opening(_ error: CoreError) -> CoreError {
        CoreError(
            error.status, code: .persistentStoreOpen, error.message, key: error.key, value: error.value,
            file: place.given)
    }

    // MARK: Copying and locking

    /// Replaces the file with a copy of another store.
    ///
    /// - Parameters:
    ///   - check: Called for an existing file while it is locked.
    ///   - progress: Receives the number of written bytes. If it throws, the file is unchanged.
    func replace(
        by bytes: [UInt8], check: () throws -> Void, progress: (_ written: Int) throws -> Void
    ) throws {
        try withExclusiveLock {
            if exists { try check() }
            try progress(0)
            try file.write(bytes, permissions: permissionsOfNewFile, progress: progress)
        }
    }

    /// Throws if the file is locked or cannot be written.
    func requireUnlocked() throws {
        try requireWritable(toReplace: true)
        try withExclusiveLock {}
    }

    /// Runs `body` with an exclusive lock on the file.
    ///
    /// The lock is advisory: it excludes only writers that use it, in all processes.
    ///
    /// - Parameter patience: The time-out in milliseconds; nil for that of the options.
    /// - Throws: `.storeBusy` if another process or coordinator holds the lock for longer than the time-out.
    func withExclusiveLock<Result>(patience: Int? = nil, _ body: () throws -> Result) throws -> Result {
        var patience = patience ?? options.busyTimeoutMilliseconds
        while true {
            // The lock is on the store's own file, or on the folder if the file does not exist. A separate lock file
            // would have to be cleaned up.
            let isFile = FileState(place.path) != nil
            let descriptor = Glibc.open(isFile ? place.path : place.folder, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
            guard descriptor >= 0 else {
                if isFile, errno == ENOENT { continue }
                throw opening(
                    failure(
                        isFile ? "cannot be opened" : "cannot be created, because its folder cannot be opened", errno))
            }
            defer { Glibc.close(descriptor) }
            try lock(descriptor, &patience, isFile ? place.given : "the folder \(place.folder) of \(place.given)")
            // An explicit unlock, because a process that was forked meanwhile has the descriptor too.
            defer { flock(descriptor, LOCK_UN) }
            let state = FileState(place.path)
            guard isFile ? state?.number == FileState(descriptor: descriptor)?.number : state == nil else { continue }
            defer { if let knownFile { flock(knownFile.descriptor, LOCK_UN) } }
            return try body()
        }
    }

    /// Acquires the lock.
    ///
    /// - Parameters:
    ///   - patience: The remaining milliseconds.
    ///   - subject: The file or folder, for errors.
    private func lock(_ descriptor: Int32, _ patience: inout Int, _ subject: String) throws {
        let pause = 2
        // On a file system that does not support locks, the file is written without a lock.
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 && (errno == EWOULDBLOCK || errno == EINTR) {
            guard patience > 0 else { throw busy(subject) }
            usleep(UInt32(pause) * 1000)
            patience -= pause
        }
    }

    private func failure(_ problem: String, _ code: Int32) -> CoreError {
        CoreError(
            .storeIO, code: .persistentStoreSave, "\(place.given) \(problem): \(SystemError(code).text)",
            file: place.given)
    }

    private func changedMeanwhile() -> CoreError {
        CoreError(
            .storeBusy, code: .persistentStoreTimeout,
            "another process or coordinator saved to \(place.given) while it was being opened; try again",
            file: place.given)
    }

    private func busy(_ subject: String) -> CoreError {
        let patience = options.busyTimeoutMilliseconds
        return CoreError(
            .storeBusy, code: .persistentStoreTimeout,
            "another process or coordinator has locked \(subject)\(patience > 0 ? " (waited \(patience) ms)" : ""); "
                + (areOptionsGiven ? "try again, or raise busy_timeout_ms (busy_timeout)" : "try again"),
            file: place.given)
    }
}

/// The identity of a file's content, provided that each writer replaces the file and the old file is still open.
struct FileState: Equatable {
    /// The device and inode numbers.
    let number: [UInt]
    let size: Int
    private let changed: [Int]

    /// Reads the state of a file, or returns nil if it does not exist or cannot be inspected.
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
        // The modification time, not the status change time: renaming a file changes the latter.
        changed = [facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec]
    }
}
