import CPlatform
import CSQLite
import CorestoneGraph
import CorestoneModel
import CorestonePredicate
import CorestoneContainers
import CorestoneValues
import Foundation
import XCTest

@testable import CorestoneSQLite

/// Maintenance of stores that are in use: backups, replacement, moves and checkpoints.
final class UpkeepTests: StoreTestCase {
    private func model() throws -> Model {
        let model = Model()
        let note = try model.addEntity(named: "Note")
        try note.addAttribute(named: "text", type: .string)
        try note.addAttribute(named: "data", type: .binary).setAllowsExternalStorage(true)
        return model
    }

    private func opened(_ name: String, _ model: Model? = nil, _ options: StoreOptions = StoreOptions()) throws -> (
        coordinator: Coordinator, store: Store
    ) {
        let coordinator = try Coordinator(model: model ?? self.model())
        return (coordinator, try coordinator.addStore(at: path(name), options: options))
    }

    private func save(_ text: String, _ coordinator: Coordinator, bytes: Int = 200_000) throws {
        let context = Context(coordinator: coordinator)
        let note = try context.insert("Note")
        try note.setValue(.string(text), forKey: "text")
        try note.setValue(.bytes(Bytes([UInt8](repeating: 7, count: bytes))), forKey: "data")
        try context.save()
    }

    private func texts(_ coordinator: Coordinator) throws -> [String] {
        let context = Context(coordinator: coordinator)
        return try context.notes().map { try $0.value(forKey: "text").textual?.string ?? "" }.sorted()
    }

    private func texts(_ name: String) throws -> [String] {
        var options = StoreOptions()
        options.mustExist = true
        return try texts(opened(name, nil, options).coordinator)
    }

    func testBackupIsConsistentDuringSaves() throws {
        let (coordinator, store) = try opened("a.sqlite")
        for place in 0..<10 { try save("\(place)", coordinator) }
        var calls = 0
        try coordinator.backup(store, to: path("copy.sqlite")) { done, total in
            calls += 1
            XCTAssertLessThanOrEqual(done, total)
            if calls == 1 {
                // Another thread deletes objects that are being copied.
                let thread = Thread {
                    let context = Context(coordinator: coordinator)
                    for note in (try? context.notes()) ?? [] { try? context.delete(note) }
                    try? context.save()
                }
                thread.start()
                while !thread.isFinished { usleep(1000) }
            }
            return true
        }
        XCTAssertGreaterThan(calls, 5)
        XCTAssertEqual(try texts(coordinator), [])
        XCTAssertEqual(try texts("copy.sqlite"), (0..<10).map { "\($0)" })
        XCTAssertEqual(try StoreReport(ofStoreAt: path("copy.sqlite")).problems.map(\.message), [])
    }

    private func mode(_ name: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path(name))[.posixPermissions] as? Int
    }

    /// The permissions of a database, of its folder of backing files, and of the first of these files.
    private func modes(_ stem: String) throws -> [Int?] {
        let folder = ".\(stem)_SUPPORT/_EXTERNAL_DATA"
        let file = try XCTUnwrap(FileManager.default.contentsOfDirectory(atPath: path(folder)).first)
        return [try mode("\(stem).sqlite"), try mode(folder), try mode("\(folder)/\(file)")]
    }

    func testBackupHasThePermissionsOfTheStore() throws {
        var options = StoreOptions()
        options.fileMode = 0o600
        let (coordinator, store) = try opened("a.sqlite", nil, options)
        try save("x", coordinator)
        XCTAssertEqual(try modes("a"), [0o600, 0o700, 0o600])
        try coordinator.backup(store, to: path("copy.sqlite"))
        XCTAssertEqual(try modes("copy"), [0o600, 0o700, 0o600])
        // An existing copy keeps its permissions.
        chmod(path("copy.sqlite"), 0o640)
        try save("y", coordinator)
        try coordinator.backup(store, to: path("copy.sqlite"))
        XCTAssertEqual(try mode("copy.sqlite"), 0o640)
        // All files of the copy get the requested permissions.
        options.fileMode = 0o660
        try coordinator.backup(store, to: path("asked.sqlite"), options: options)
        XCTAssertEqual(try modes("asked"), [0o660, 0o770, 0o660])
        // A copy of a read-only store is writable.
        chmod(path("a.sqlite"), 0o444)
        try coordinator.backup(store, to: path("writable.sqlite"))
        XCTAssertEqual(try modes("writable"), [0o644, 0o755, 0o644])
        options.fileMode = 0o400
        XCTAssertThrowsError(try coordinator.backup(store, to: path("none.sqlite"), options: options)) {
            XCTAssertEqual(($0 as? CoreError)?.key, "file_mode")
        }
    }

    /// A copy in place of an empty file gets the stricter permissions of the file and the store.
    func testCopyOverAReservedFileGetsTheStricterPermissions() throws {
        for type in [StoreType.sqlite, .xml, .binary] {
            let coordinator = try Coordinator(model: Model())
            let store = try coordinator.addStore(type, at: path("a.\(type.rawValue)"))
            for (ofStore, reserved, ofCopy) in [(0o644, 0o600, 0o600), (0o600, 0o644, 0o600), (0o664, 0o640, 0o640)] {
                chmod(store.path, mode_t(ofStore))
                let attributes: [FileAttributeKey: Any] = [.posixPermissions: reserved]
                for step in ["backup", "replace", "move"] {
                    let name = "\(step).\(type.rawValue)"
                    XCTAssert(
                        FileManager.default.createFile(atPath: path(name), contents: nil, attributes: attributes))
                    switch step {
                    case "backup": try coordinator.backup(store, to: path(name))
                    case "replace":
                        try Coordinator(model: Model()).replaceStore(at: path(name), byStoreAt: store.path)
                    default:
                        if type == .sqlite { continue }
                        let other = try Coordinator(model: Model())
                        try other.setPath(path(name), of: other.addStore(type, at: store.path))
                        try Context(coordinator: other).save()
                    }
                    XCTAssertEqual(try mode(name), ofCopy, "\(name) of \(String(ofStore, radix: 8))")
                    try FileManager.default.removeItem(atPath: path(name))
                }
                try? FileManager.default.removeItem(atPath: path("move.\(type.rawValue)"))
            }
        }
    }

    /// If the copy has another group than the store, that group must not write the copy.
    func testCopyWithAnotherGroupIsNotGroupWritable() throws {
        guard geteuid() == 0 else { throw XCTSkip("only root may give files away") }
        chmod(path(""), 0o777)
        for type in [StoreType.sqlite, .xml] {
            let coordinator = try Coordinator(model: Model())
            let source = try coordinator.addStore(type, at: path("a.\(type.rawValue)")).path
            try coordinator.remove(XCTUnwrap(coordinator.stores.first))
            chown(source, 65534, 5000)
            chmod(source, 0o664)
            func group(_ name: String) throws -> Int? {
                try FileManager.default.attributesOfItem(atPath: path(name))[.groupOwnerAccountID] as? Int
            }
            try coordinator.replaceStore(at: path("roots"), byStoreAt: source)
            XCTAssertEqual(try group("roots"), 5000)
            XCTAssertEqual(try mode("roots"), 0o664)
            try FileManager.default.removeItem(atPath: path("roots"))
            do {
                setegid(65534)
                seteuid(65534)
                defer {
                    seteuid(0)
                    setegid(0)
                }
                try coordinator.replaceStore(at: path("others"), byStoreAt: source)
            }
            XCTAssertEqual(try group("others"), 65534)
            XCTAssertEqual(try mode("others"), 0o644)
            try FileManager.default.removeItem(atPath: path("others"))
        }
    }

    /// A user who created an empty file at the path of a backup does not get access to a private store.
    func testCopyOverAFileOfAnotherUserStaysPrivate() throws {
        guard geteuid() == 0 else { throw XCTSkip("only root may give files away") }
        for type in [StoreType.sqlite, .xml, .binary] {
            let coordinator = try Coordinator(model: Model())
            let store = try coordinator.addStore(type, at: path("a.\(type.rawValue)"))
            for (ofStore, owner) in [(mode_t(0o600), 0), (0o640, 0), (0o644, 65534)] {
                chmod(store.path, ofStore)
                XCTAssert(FileManager.default.createFile(atPath: path("copy"), contents: nil))
                chown(path("copy"), 65534, 65534)
                try coordinator.backup(store, to: path("copy"))
                let facts = try FileManager.default.attributesOfItem(atPath: path("copy"))
                XCTAssertEqual(facts[.ownerAccountID] as? Int, owner, "\(type) \(String(ofStore, radix: 8))")
                XCTAssertEqual(facts[.posixPermissions] as? Int, ofStore == 0o640 ? 0o600 : Int(ofStore))
                try FileManager.default.removeItem(atPath: path("copy"))
            }
        }
    }

    /// Also after conversion to another store type and after several copies.
    func testPrivateStoreStaysPrivateWhenConvertedAndCopied() throws {
        let types = [StoreType.sqlite, .xml, .binary]
        for type in types {
            for other in types {
                let coordinator = try Coordinator(model: Model())
                let store = try coordinator.addStore(type, at: path("private.\(type.rawValue)"))
                chmod(store.path, 0o600)
                try coordinator.migrateStore(store, to: other, at: path("migrated"))
                XCTAssertEqual(try mode("migrated"), 0o600, "\(type) as \(other)")
                try FileManager.default.removeItem(atPath: path("migrated"))
            }
            if type == .sqlite { continue }
            let coordinator = try Coordinator(model: Model())
            let store = try coordinator.addStore(type, at: path("private.\(type.rawValue)"))
            XCTAssert(
                FileManager.default.createFile(
                    atPath: path("first"), contents: nil, attributes: [.posixPermissions: 0o644]))
            try coordinator.setPath(path("first"), of: store)
            try coordinator.setPath(path("second"), of: store)
            try Context(coordinator: coordinator).save()
            XCTAssertEqual(try mode("second"), 0o600)
            for name in ["first", "second"] { try FileManager.default.removeItem(atPath: path(name)) }
        }
    }

    /// An access list that allows one more user to read and write, and the group nothing.
    func testSaveKeepsTheAccessListAndCopiesDropIt() throws {
        var list: [UInt8] = [2, 0, 0, 0]
        for (tag, rights, who) in [(1, 6, UInt32.max), (2, 6, 65534), (4, 0, .max), (16, 6, .max), (32, 0, .max)] {
            for half in [UInt16(tag), UInt16(rights)] { withUnsafeBytes(of: half.littleEndian) { list += $0 } }
            withUnsafeBytes(of: who.littleEndian) { list += $0 }
        }
        let coordinator = try Coordinator(model: Model())
        let context = Context(coordinator: coordinator)
        for type in [StoreType.sqlite, .xml] {
            let store = try coordinator.addStore(type, at: path("a.\(type.rawValue)"))
            let file = try XCTUnwrap(FileHandle(forUpdatingAtPath: store.path))
            guard platform_set_access_list(file.fileDescriptor, list, list.count) else {
                throw XCTSkip("the file system has no access lists")
            }
            XCTAssertEqual(try mode("a.\(type.rawValue)"), 0o660)
            // A save keeps the access list. A copy allows access to its owner only.
            var metadata = try coordinator.metadata(of: store)
            metadata["note"] = .string("x")
            try coordinator.setMetadata(metadata, of: store)
            try context.save()
            var found = [UInt8](repeating: 0, count: 1024)
            XCTAssertEqual(platform_access_list(store.path, &found, found.count), list.count)
            XCTAssertEqual(Array(found.prefix(list.count)), list)
            try coordinator.backup(store, to: path("copy"))
            XCTAssertEqual(try mode("copy"), 0o600)
            XCTAssertEqual(platform_access_list(path("copy"), nil, 0), 0)
            try FileManager.default.removeItem(atPath: path("copy"))
        }
    }

    func testBackupLogsMissingBackingFiles() throws {
        let (coordinator, store) = try opened("a.sqlite")
        for text in ["x", "y"] { try save(text, coordinator) }
        let folder = path(".a_SUPPORT/_EXTERNAL_DATA")
        let name = try XCTUnwrap(FileManager.default.contentsOfDirectory(atPath: folder).min())
        let lines = Locked<[String]>([])
        DebugLog.setSink { line in lines.withLock { $0.append(line) } }
        defer { DebugLog.setSink(nil) }
        try coordinator.backup(store, to: path("whole.sqlite"))
        XCTAssertEqual(lines.withLock { $0 }, [])
        try FileManager.default.removeItem(atPath: "\(folder)/\(name)")
        // Files of the former copy are kept.
        try coordinator.backup(store, to: path("whole.sqlite"))
        XCTAssertEqual(lines.withLock { $0 }, [])
        try coordinator.backup(store, to: path("backup.sqlite"))
        try coordinator.remove(store)
        try coordinator.replaceStore(at: path("copy.sqlite"), byStoreAt: path("a.sqlite"))
        XCTAssertEqual(
            lines.withLock { $0 },
            ["backup", "copy"].map {
                "CoreData: warning: \(path("\($0).sqlite")) was written without 1 missing backing file (first: "
                    + "\(folder)/\(name)); run corestone check to list the affected objects"
            })
    }

    func testReplacementChangesThePageSize() throws {
        var options = StoreOptions()
        options.pragmas = ["page_size": "8192"]
        let (source, sourceStore) = try opened("source.sqlite", nil, options)
        try save("new", source)
        try source.remove(sourceStore)
        let (coordinator, store) = try opened("a.sqlite")
        try save("old", coordinator)
        try coordinator.replaceStore(at: path("a.sqlite"), byStoreAt: path("source.sqlite"))
        XCTAssertFalse(coordinator.stores.contains { $0 === store })
        XCTAssertEqual(try texts("a.sqlite"), ["new"])
        XCTAssertEqual(try shell("a.sqlite", "PRAGMA page_size"), "8192")
        XCTAssertEqual(try StoreReport(ofStoreAt: path("a.sqlite")).problems.map(\.message), [])
    }

    func testReplacementCopiesAStoreWithALiveLog() throws {
        let (source, _) = try opened("source.sqlite")
        try save("new", source)
        let (coordinator, _) = try opened("a.sqlite")
        try coordinator.replaceStore(at: path("b.sqlite"), byStoreAt: path("source.sqlite"))
        try save("later", source)
        XCTAssertEqual(try texts("b.sqlite"), ["new"])
        XCTAssertEqual(try texts(source), ["later", "new"])
    }

    func testMovedStoreKeepsPinnedGenerationsAndDropsCachedRows() throws {
        let model = try model()
        let (coordinator, store) = try opened("a.sqlite", model)
        try save("x", coordinator)
        let pinned = Context(coordinator: coordinator)
        try pinned.setQueryGeneration(from: .current)
        XCTAssertEqual(try pinned.notes().count, 1)
        try coordinator.backup(store, to: path("b.sqlite"))
        try coordinator.setPath(path("b.sqlite"), of: store)
        try save("y", coordinator)
        XCTAssertEqual(try pinned.notes().count, 1)
        XCTAssertEqual(try texts(coordinator), ["x", "y"])
        XCTAssertEqual(try texts("a.sqlite"), ["x"])
    }

    func testStoreDoesNotMoveToAMigratedCopy() throws {
        let (coordinator, store) = try opened("a.sqlite")
        try coordinator.backup(store, to: path("b.sqlite"))
        _ = try shell("b.sqlite", "UPDATE Z_PRIMARYKEY SET Z_ENT = 9; UPDATE ZNOTE SET Z_ENT = 9")
        let error = failure { try coordinator.setPath(path("b.sqlite"), of: store) }
        XCTAssertEqual(error.status, .invalidArgument)
        XCTAssert(error.message.contains("with other tables or entity numbers"), error.message)
        XCTAssertEqual(store.path, path("a.sqlite"))
        try save("x", coordinator)
        XCTAssertEqual(try texts(coordinator), ["x"])
    }

    func testCheckpointModesCopyOrTruncateTheLog() throws {
        let (coordinator, store) = try opened("a.sqlite")
        for mode in CheckpointMode.allCases {
            try save("\(mode)", coordinator, bytes: 10)
            let found = try XCTUnwrap(coordinator.checkpoint(store, mode))
            XCTAssertTrue(found.isComplete, "\(mode)")
            // A truncated log does not have frames.
            XCTAssertEqual(found.logFrames > 0, mode != .truncate, "\(mode)")
            let size = try FileManager.default.attributesOfItem(atPath: path("a.sqlite-wal"))[.size] as? Int
            XCTAssertEqual(size == 0, mode == .truncate, "\(mode)")
        }
        XCTAssertEqual(CheckpointMode.allCases.map(\.rawValue), [0, 1, 2, 3])
        XCTAssertFalse(CheckpointResult(logFrames: 3, checkpointedFrames: 2).isComplete)
        // A reader of an older state blocks a complete checkpoint.
        let reader = try Connection(path("a.sqlite"), path: "a.sqlite", flags: SQLITE_OPEN_READWRITE)
        defer { reader.close() }
        try reader.execute("BEGIN", "test")
        XCTAssertTrue(try reader.finds("SELECT 1 FROM ZNOTE", purpose: "test"))
        try save("more", coordinator, bytes: 10)
        let partial = try XCTUnwrap(coordinator.checkpoint(store, .passive))
        XCTAssertFalse(partial.isComplete)
        XCTAssertLessThan(partial.checkpointedFrames, partial.logFrames)
        try reader.execute("COMMIT", "test")
        XCTAssertEqual(try coordinator.checkpoint(store, .passive)?.isComplete, true)
    }

    func testCheckpointAndOptimizeFailForAReadOnlyStore() throws {
        let (coordinator, store) = try opened("a.sqlite")
        try save("x", coordinator)
        try coordinator.remove(store)
        let (reading, readOnly) = try opened("a.sqlite", nil, .readOnly)
        for (purpose, change) in [
            ("checkpoint", { _ = try reading.checkpoint(readOnly, .full) }),
            ("optimise", { _ = try reading.optimize(readOnly) }),
        ] as [(String, () throws -> Void)] {
            let error = failure(change)
            XCTAssertEqual(error.status, .storeReadOnly)
            XCTAssertEqual(error.file, path("a.sqlite"))
            XCTAssert(
                error.message.hasPrefix("cannot \(purpose) \(path("a.sqlite")), which is open read-only: "),
                error.message)
        }
        try reading.backup(readOnly, to: path("b.sqlite"))
        XCTAssertEqual(try texts("b.sqlite"), ["x"])
    }

    /// The first optimisation analyses all tables, later ones only changed tables.
    func testOptimizeRestoresTheAnalysisLimit() throws {
        let (coordinator, store) = try opened("a.sqlite")
        try save("x", coordinator)
        XCTAssertEqual(try shell("a.sqlite", "SELECT count(*) FROM sqlite_schema WHERE name = 'sqlite_stat1'"), "0")
        _ = try coordinator.optimize(store)
        XCTAssertEqual(try shell("a.sqlite", "SELECT count(*) FROM sqlite_schema WHERE name = 'sqlite_stat1'"), "1")
        _ = try coordinator.optimize(store)
        let backing = try XCTUnwrap(store.backing as? SQLiteStore)
        XCTAssertEqual(try backing.withFile { try $0.connection.integer("PRAGMA analysis_limit", "test") }, 0)
        var options = StoreOptions()
        options.pragmas = ["analysis_limit": "7"]
        let (other, second) = try opened("b.sqlite", nil, options)
        _ = try other.optimize(second)
        let limited = try XCTUnwrap(second.backing as? SQLiteStore)
        XCTAssertEqual(try limited.withFile { try $0.connection.integer("PRAGMA analysis_limit", "test") }, 7)
    }

    func testMoveToInvalidPathsFails() throws {
        let (coordinator, store) = try opened("a.sqlite")
        try save("x", coordinator)
        let other = try opened("other.sqlite").store
        let strange = failure { try coordinator.setPath(path("other.sqlite"), of: store) }
        XCTAssertEqual(strange.status, .invalidArgument)
        XCTAssertEqual(strange.file, path("other.sqlite"))
        XCTAssertEqual(
            strange.message,
            "\(path("other.sqlite")) is not a copy of \(path("a.sqlite")): its identifier is \"\(other.identifier)\", "
                + "not \"\(store.identifier)\"; choose a copy, or migrate the store with "
                + "cst_coordinator_migrate_store (migrate_store, migrateStore)")
        XCTAssertEqual(failure { try coordinator.setPath(path("none.sqlite"), of: store) }.status, .storeIO)
        XCTAssertFalse(FileManager.default.fileExists(atPath: path("none.sqlite")))
        let nowhere = failure { try coordinator.setPath("/dev/null", of: store) }
        XCTAssertEqual(nowhere.status, .unsupported)
        XCTAssertEqual(
            nowhere.message,
            "cannot move \(path("a.sqlite")) to /dev/null, which does not store data; choose the path of a file")
        // A writable store cannot move to a read-only copy of itself.
        try coordinator.backup(store, to: path("b.sqlite"))
        _ = try shell("b.sqlite", "CREATE TRIGGER t AFTER INSERT ON ZNOTE BEGIN SELECT unknown_function(); END")
        let unwritable = failure { try coordinator.setPath(path("b.sqlite"), of: store) }
        XCTAssertEqual(unwritable.status, .storeReadOnly)
        XCTAssert(
            unwritable.message.hasPrefix(
                "cannot move \(path("a.sqlite")) to \(path("b.sqlite")), which is read-only: "), unwritable.message)
        XCTAssertEqual(store.path, path("a.sqlite"))
        try save("y", coordinator)
        XCTAssertEqual(try texts(coordinator), ["x", "y"])
    }
    func testEmptySaveWritesMetadataOnce() throws {
        let (coordinator, store) = try opened("a.sqlite")
        try coordinator.setMetadata(["note": .string("x")], of: store)
        try Context(coordinator: coordinator).save()
        XCTAssertEqual(try StoreMetadata(ofStoreAt: path("a.sqlite")).values["note"], .string("x"))
        // After a failed save, the next save writes the metadata.
        try coordinator.setMetadata(["note": .string("y")], of: store)
        _ = try shell("a.sqlite", "CREATE TRIGGER no BEFORE INSERT ON ZNOTE BEGIN SELECT RAISE(ABORT, 'no'); END")
        XCTAssertThrowsError(try save("x", coordinator))
        XCTAssertEqual(try StoreMetadata(ofStoreAt: path("a.sqlite")).values["note"], .string("x"))
        _ = try shell("a.sqlite", "DROP TRIGGER no")
        try Context(coordinator: coordinator).save()
        XCTAssertEqual(try StoreMetadata(ofStoreAt: path("a.sqlite")).values["note"], .string("y"))
    }

    func testLargeSaveIsFollowedByAnAnalysis() throws {
        let model = Model()
        let note = try model.addEntity(named: "Note")
        try note.addAttribute(named: "number", type: .integer64)
        let (coordinator, store) = try opened("a.sqlite", model)
        let context = Context(coordinator: coordinator)
        for number in 0..<100_000 {
            try context.insert("Note").setValue(.int(Int64(number)), forKey: "number")
        }
        try context.save()
        try coordinator.optimize(store)
        XCTAssertEqual(try shell("a.sqlite", "SELECT count(*) > 0 FROM sqlite_stat1"), "1")
        XCTAssertEqual(try StoreReport(ofStoreAt: path("a.sqlite")).problems.map(\.message), [])
    }
}

extension Context {
    fileprivate func notes() throws -> [ManagedObject] {
        Array(try fetch(FetchRequest(entity: coordinator.model.requireEntity(named: "Note"))))
    }
}
