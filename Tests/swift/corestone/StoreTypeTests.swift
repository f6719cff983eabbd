import Corestone
import XCTest

/// Store types by name, and their reactions to options that they do not support.
final class StoreTypeTests: XCTestCase {
    private var folder = ""

    override func setUpWithError() throws {
        folder = FileManager.default.temporaryDirectory.path + "/" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }

    override func tearDownWithError() throws { try FileManager.default.removeItem(atPath: folder) }

    private func path(_ name: String) -> String { folder + "/" + name }

    private func coordinator() throws -> Coordinator {
        let model = Model()
        try model.addEntity(named: "Item").addAttribute(named: "name", type: .string)
        return try Coordinator(model: model)
    }

    private func failure(_ body: () throws -> Void, line: UInt = #line) -> CoreError {
        do { try body() } catch let error as CoreError { return error } catch { XCTFail("\(error)", line: line) }
        XCTFail("nothing failed", line: line)
        return CoreError(.internal, "")
    }

    // MARK: Names

    private final class Shop: AtomicStore, @unchecked Sendable {
        let opening: StoreOpening
        init(_ opening: StoreOpening) throws { self.opening = opening }
        var metadata: [String: PropertyListValue] { opening.metadata.dictionary }
        func load() throws -> [StoreNode] { [] }
    }

    func testStoreTypeNamesAreCaseInsensitive() throws {
        XCTAssertEqual(Array(StoreTypes.names.prefix(4)), ["SQLite", "XML", "Binary", "InMemory"])
        for (name, type) in [
            ("SQLite", .sqlite), ("sqlite", .sqlite), ("XML", .xml), ("xml", .xml), ("BINARY", .binary),
            ("inmemory", .inMemory),
        ] as [(String, StoreType)] {
            XCTAssertEqual(try StoreTypes.type(named: name), type)
            XCTAssertFalse(try StoreTypes.isHosted(type))
        }
        for name in ["", "SQLite3", "sql"] {
            let error = failure { _ = try StoreTypes.type(named: name) }
            XCTAssertEqual(error.status, .invalidArgument)
            XCTAssertEqual(error.code, CocoaCode.persistentStoreInvalidType.rawValue)
            XCTAssertEqual(error.value, .string(name))
            XCTAssertTrue(
                error.message.hasPrefix("\"\(name)\" is not a store type; use \"SQLite\", \"XML\", \"Binary\""),
                error.message)
        }
        XCTAssertEqual(failure { _ = try StoreTypes.isHosted(StoreType(rawValue: "none")) }.status, .invalidArgument)
        XCTAssertEqual(
            failure { try coordinator().addStore(StoreType(rawValue: "none"), at: path("a")) }.code,
            CocoaCode.persistentStoreInvalidType.rawValue)
    }

    func testCustomStoreTypeIsRegisteredOnce() throws {
        let name = "Shop \(UUIDValue.random())"
        let type = try StoreTypes.register(name, Shop.self)
        XCTAssertEqual(type.rawValue, name)
        XCTAssertTrue(StoreTypes.names.contains(name))
        XCTAssertTrue(try StoreTypes.isHosted(type))
        XCTAssertEqual(try StoreTypes.type(named: name.uppercased()), type)
        for taken in [name, name.lowercased(), "sqlite", "XML"] {
            let error = failure { try StoreTypes.register(taken, Shop.self) }
            XCTAssertEqual(error.status, .invalidArgument)
            XCTAssertEqual(error.code, CocoaCode.persistentStoreInvalidType.rawValue)
            XCTAssertEqual(error.value, .string(taken))
            XCTAssertEqual(
                error.message.contains("deregister the existing type"), taken.hasPrefix("S") || taken.hasPrefix("shop"))
        }
        for wrong in ["", "a\u{0}b"] {
            XCTAssertEqual(failure { try StoreTypes.register(wrong, Shop.self) }.status, .invalidArgument)
        }
        XCTAssertTrue(try StoreTypes.unregister(name.uppercased()))
        XCTAssertFalse(try StoreTypes.unregister(name))
        XCTAssertFalse(StoreTypes.names.contains(name))
        for own in ["SQLite", "xml", "BINARY", "InMemory"] {
            let error = failure { try StoreTypes.unregister(own) }
            XCTAssertEqual(error.status, .invalidArgument)
            XCTAssertEqual(error.value, .string(own))
        }
    }

    /// A custom store type lacks the operations that only the application can implement.
    func testCustomStoreRejectsUnimplementedOperations() throws {
        let name = "Shop \(UUIDValue.random())"
        let type = try StoreTypes.register(name, Shop.self)
        defer { _ = try? StoreTypes.unregister(name) }
        let coordinator = try coordinator()
        let store = try coordinator.addStore(type, at: "one")
        for (error, words) in [
            (
                failure { _ = try StoreMetadata(ofStoreAt: "x", type: type) },
                "report metadata while closed: metadata(ofStoreAt:) is not implemented; implement it, or "
                    + "call addStore and metadata(of:)"
            ),
            (
                failure { try coordinator.destroyStore(type, at: "x") },
                "be destroyed: destroyStore(at:) is not implemented; implement it, or delete the data directly"
            ),
            (
                failure { try coordinator.replaceStore(type, at: "x", byStoreAt: "y") },
                "be replaced: replaceStore(at:byStoreAt:) is not implemented; implement it, or call "
                    + "migrateStore instead"
            ),
        ] {
            XCTAssertEqual(error.status, .unsupported)
            XCTAssertEqual(error.code, CocoaCode.persistentStoreOperation.rawValue)
            XCTAssertEqual(error.file, "x")
            XCTAssertEqual(error.message, "the Shop store x cannot \(words)")
        }
        XCTAssertEqual(
            failure { try coordinator.replaceStore(type, at: "x", byStoreAt: "x") }.message,
            "cannot replace x with itself; choose another path")
        let moving = failure { try coordinator.setPath("two", of: store) }
        XCTAssertTrue(
            moving.message.contains(
                "cannot be moved: move(to:) is not implemented; implement it, or call remove(_:) and addStore with "
                    + "the new path"),
            moving.message)
        XCTAssertEqual(store.path, "one")
        let backup = failure { try coordinator.backup(store, to: path("copy")) }
        XCTAssertEqual(backup.status, .unsupported)
        XCTAssertEqual(backup.file, "one")
        XCTAssertTrue(try coordinator.store(at: "one") === store)
        XCTAssertNil(coordinator.store(at: "two"))
        let migration = failure { try coordinator.migrateStore(store, to: type, at: "one") }
        XCTAssertEqual(migration.status, .invalidArgument)
    }

    // MARK: Options

    private func warnings(_ type: StoreType, _ change: (inout StoreOptions) -> Void) throws -> [String] {
        var options = StoreOptions()
        change(&options)
        let coordinator = try coordinator()
        let store = try coordinator.addStore(type, at: path("\(UUIDValue.random())"), options: options)
        return store.warnings
    }

    func testAppleOptionsWithoutEffectGiveAWarning() throws {
        let known: [(String, String)] = [
            ("NSPersistentStoreUbiquitousContentNameKey", "stores are not synchronised with iCloud"),
            ("NSPersistentStoreUbiquitousContentURLKey", "stores are not synchronised with iCloud"),
            ("NSPersistentStoreUbiquitousPeerTokenOption", "stores are not synchronised with iCloud"),
            ("NSPersistentStoreUbiquitousContainerIdentifierKey", "stores are not synchronised with iCloud"),
            ("NSPersistentStoreRemoveUbiquitousMetadataOption", "stores do not have iCloud metadata"),
            (
                "NSPersistentStoreRebuildFromUbiquitousContentOption",
                "stores do not have iCloud content to rebuild from"
            ),
            ("NSPersistentStoreFileProtectionKey", "files are protected by their permissions"),
            ("NSExternalRecordsFileFormatOption", "external records for Spotlight are not written"),
            ("NSExternalRecordsDirectoryOption", "external records for Spotlight are not written"),
            ("NSExternalRecordExtensionOption", "external records for Spotlight are not written"),
            ("NSBinaryStoreSecureDecodingClasses", "plain values, not archived objects"),
            ("NSBinaryStoreInsecureDecodingCompatibilityOption", "plain values, not archived objects"),
            ("NSValidateXMLStoreOption", "the structure of an XML store is always validated"),
            ("NSCoreDataCoreSpotlightExporter", "objects are not indexed for Spotlight"),
        ]
        let told = try warnings(.inMemory) { $0.foreignOptions = known.map(\.0) }
        XCTAssertEqual(told.count, known.count)
        for (warning, (name, why)) in zip(told, known) {
            XCTAssertTrue(warning.contains(" ignores the option \(name): "), warning)
            XCTAssertTrue(warning.contains(why), warning)
        }
        XCTAssertEqual(try warnings(.inMemory) { _ in }, [])
    }

    func testAppleOptionsWithAnEquivalentAreRejectedWithItsName() throws {
        for (name, remedy) in [
            ("NSReadOnlyPersistentStoreOption", "use CST_STORE_READ_ONLY (read_only) instead"),
            ("NSPersistentStoreTimeoutOption", "use busy_timeout_ms (busy_timeout) instead"),
            ("NSSQLitePragmasOption", "use pragmas instead"),
            ("NSSQLiteAnalyzeOption", "use CST_STORE_ANALYZE (analyze) instead"),
            ("NSSQLiteManualVacuumOption", "use CST_STORE_VACUUM (vacuum) instead"),
            (
                "NSIgnorePersistentStoreVersioningOption",
                "use CST_STORE_IGNORE_VERSIONING (ignore_versioning) instead"
            ),
            ("NSPersistentHistoryTrackingKey", "use CST_STORE_HISTORY (history) instead"),
            (
                "NSPersistentStoreRemoteChangeNotificationPostOptionKey",
                "use CST_STORE_POSTS_OWN_CHANGES (posts_own_changes) instead"
            ),
            ("NSPersistentStoreConnectionPoolMaxSizeKey", "use max_connections instead"),
            (
                "NSPersistentStoreForceDestroyOption",
                "use CST_STORE_FORCE_DESTROY (force) with cst_coordinator_destroy_store (destroy_store, "
                    + "destroyStore) instead"
            ),
            ("NSValidateXMLStoreOptions", "did you mean \"NSValidateXMLStoreOption\"?"),
            ("NSSQLitePragmaOption", "did you mean \"NSSQLitePragmasOption\"? Use pragmas instead of that option"),
            ("zzz", "leave it out"),
            // A prefix of a known name is unknown.
            ("NSBinaryStore", "leave it out"),
        ] {
            let error = failure {
                _ = try warnings(.inMemory) { $0.foreignOptions = ["NSValidateXMLStoreOption", name] }
            }
            XCTAssertEqual(error.status, .invalidArgument)
            XCTAssertEqual(error.code, CocoaCode.persistentStoreOpen.rawValue)
            XCTAssertEqual(error.key, name)
            let problem =
                remedy.hasPrefix("use ")
                ? "with the foreign option \"\(name)\", which has another name in Corestone"
                : "with the unknown foreign option \"\(name)\""
            XCTAssertTrue(error.message.contains("\(problem); \(remedy)"), error.message)
        }
    }

    func testSQLiteOptionsGiveAWarningForOtherTypes() throws {
        let options: [(String, (inout StoreOptions) -> Void)] = [
            ("pragmas", { $0.pragmas = ["cache_size": "100"] }), ("analysing", { $0.analyzes = true }),
            ("vacuuming", { $0.vacuums = true }), ("history", { $0.keepsHistory = true }),
        ]
        for type in [StoreType.xml, .binary, .inMemory] {
            for (name, change) in options {
                let told = try warnings(type, change)
                XCTAssertEqual(told.count, 1)
                XCTAssertTrue(
                    told.first?.hasSuffix(
                        " ignores the options for \(name), which have no effect on a store of type \(type.rawValue); "
                            + "use an SQLite store") == true, "\(told)")
            }
            let all = try warnings(type) { for (_, change) in options { change(&$0) } }
            XCTAssertEqual(all.count, 1)
            XCTAssertTrue(
                all.first?.contains("options for pragmas, analysing, vacuuming and history, which") == true, "\(all)")
        }
        for (_, change) in options { XCTAssertEqual(try warnings(.sqlite, change), []) }
        for type in [StoreType.xml, .binary, .sqlite] { XCTAssertEqual(try warnings(type) { $0.fileMode = 0o600 }, []) }
    }

    func testHostOptionsAreAcceptedByCustomTypesOnly() throws {
        for type in [StoreType.sqlite, .xml, .inMemory] {
            let error = failure { _ = try warnings(type) { $0.hostOptions = ["b": .int(1), "a": .int(2)] } }
            XCTAssertEqual(error.status, .invalidArgument)
            XCTAssertEqual(error.code, CocoaCode.persistentStoreOpen.rawValue)
            XCTAssertEqual(error.key, "a")
        }
        let name = "Shop \(UUIDValue.random())"
        defer { _ = try? StoreTypes.unregister(name) }
        let type = try StoreTypes.register(name, Shop.self) { opening in
            XCTAssertEqual(opening.options, ["b": .int(1)])
            return try Shop(opening)
        }
        XCTAssertEqual(try warnings(type) { $0.hostOptions = ["b": .int(1)] }, [])
    }

    // MARK: Stores without a file

    func testInMemoryStoreRejectsFileOperations() throws {
        for error in [
            failure { _ = try StoreMetadata(ofStoreAt: "m", type: .inMemory) },
            failure { try StoreMetadata.set([:], ofStoreAt: "m", type: .inMemory) },
        ] {
            XCTAssertEqual(error.status, .invalidArgument)
            XCTAssertEqual(error.code, CocoaCode.persistentStoreOperation.rawValue)
            XCTAssertEqual(error.file, "m")
        }
        let coordinator = try coordinator()
        let store = try coordinator.addStore(.inMemory, at: "m")
        XCTAssertFalse(try coordinator.destroyStore(.inMemory, at: "m"))
        XCTAssertTrue(store.isOpen)
        let replacing = failure { try coordinator.replaceStore(.inMemory, at: "m", byStoreAt: "n") }
        XCTAssertEqual(replacing.status, .invalidArgument)
        XCTAssertEqual(replacing.file, "m")
        XCTAssertEqual(failure { try coordinator.destroyStore(.sqlite, at: "/dev/null") }.status, .invalidArgument)
        let backup = failure { try coordinator.backup(store, to: path("copy")) }
        XCTAssertEqual(backup.status, .unsupported)
        XCTAssertEqual(backup.code, CocoaCode.persistentStoreOperation.rawValue)
        XCTAssertEqual(backup.file, "m")
        var options = StoreOptions()
        options.mustExist = true
        let missing = failure { try self.coordinator().addStore(.inMemory, at: "m", options: options) }
        XCTAssertEqual(missing.status, .storeIO)
        XCTAssertEqual(missing.code, CocoaCode.persistentStoreOpen.rawValue)
        XCTAssertEqual(missing.file, "m")
    }

    func testCheckpointAndOptimizeFailForOtherTypes() throws {
        for type in [StoreType.xml, .binary, .inMemory] {
            let coordinator = try coordinator()
            let store = try coordinator.addStore(type, at: path("a.\(type.rawValue)"))
            for (error, what) in [
                (failure { try coordinator.checkpoint(store) }, "checkpoints"),
                (failure { try coordinator.optimize(store) }, "optimisation"),
            ] {
                XCTAssertEqual(error.status, .unsupported)
                XCTAssertEqual(error.code, CocoaCode.persistentStoreOperation.rawValue)
                XCTAssertEqual(error.file, store.path)
                XCTAssertTrue(
                    error.message.contains("which does not support \(what); use an SQLite store"), error.message)
            }
            // The owner of the store is checked first.
            XCTAssertEqual(failure { try self.coordinator().checkpoint(store) }.status, .invalidArgument)
            XCTAssertEqual(failure { try self.coordinator().optimize(store) }.status, .invalidArgument)
        }
    }

    // MARK: Paths

    func testStoreIsFoundByAnyOfItsPaths() throws {
        for type in [StoreType.sqlite, .xml, .binary] {
            let name = "a.\(type.rawValue)"
            let coordinator = try coordinator()
            let store = try coordinator.addStore(type, at: path(name))
            let memory = try coordinator.addStore(.inMemory, at: path("memory"))
            try FileManager.default.createSymbolicLink(atPath: path("link.\(type.rawValue)"), withDestinationPath: name)
            for given in [path(name), folder + "/./" + name, path("link.\(type.rawValue)")] {
                XCTAssertTrue(coordinator.store(at: given) === store, given)
            }
            XCTAssertTrue(coordinator.store(at: path("memory")) === memory)
            XCTAssertNil(coordinator.store(at: path("none")))
            XCTAssertNil(coordinator.store(at: folder + "/./memory"), "the name of an in-memory store is not a path")
        }
    }

    func testBackupIsWrittenOnlyToUnusedPathsAndOwnCopies() throws {
        for type in [StoreType.xml, .binary] {
            let coordinator = try coordinator()
            let store = try coordinator.addStore(type, at: path("a"))
            let second = try coordinator.addStore(type, at: path("b"))
            let other = try self.coordinator()
            try other.addStore(type, at: path("c"))
            for (place, words) in [
                ("a", "which is the same store"), ("b", "which is open in this coordinator"),
                ("c", "is not a copy of"),
            ] {
                let error = failure { try coordinator.backup(store, to: path(place)) }
                XCTAssertEqual(error.status, .invalidArgument)
                XCTAssertEqual(error.code, CocoaCode.persistentStoreOperation.rawValue)
                XCTAssertEqual(error.file, path(place))
                XCTAssertTrue(error.message.contains(words), error.message)
            }
            XCTAssertEqual(failure { try coordinator.backup(store, to: "/dev/null") }.file, "/dev/null")
            XCTAssertEqual(failure { try other.backup(second, to: path("d")) }.status, .invalidArgument)
            var told: [[Int]] = []
            for _ in 0..<2 {
                try coordinator.backup(store, to: path("d")) { done, total in
                    told.append([done, total])
                    return true
                }
            }
            let size = try Data(contentsOf: URL(fileURLWithPath: path("d"))).count
            XCTAssertEqual(told, [[0, size], [size, size], [0, size], [size, size]])
            XCTAssertEqual(try StoreMetadata(ofStoreAt: path("d")).uuid.description, store.identifier)
            for name in ["a", "b", "c", "d"] { try FileManager.default.removeItem(atPath: path(name)) }
        }
    }

    func testStoreIsReplacedOnlyByAnotherStoreOfItsType() throws {
        for type in [StoreType.xml, .binary] {
            let other: StoreType = type == .xml ? .binary : .xml
            let coordinator = try coordinator()
            let source = try coordinator.addStore(type, at: path("a"))
            try self.coordinator().addStore(other, at: path("b"))
            let wrong = failure { try coordinator.replaceStore(at: path("b"), byStoreAt: path("a")) }
            XCTAssertEqual(wrong.status, .invalidArgument)
            XCTAssertEqual(wrong.file, path("b"))
            XCTAssertTrue(
                wrong.message.contains("\(path("b")) is a store of type \(other.rawValue)")
                    && wrong.message.contains("\(path("a")) is of type \(type.rawValue)"), wrong.message)
            let same = failure { try coordinator.replaceStore(at: path("a"), byStoreAt: folder + "/./a") }
            XCTAssertEqual(same.status, .invalidArgument)
            XCTAssertTrue(same.message.contains("to itself; choose another path"), same.message)
            XCTAssertTrue(source.isOpen)
            XCTAssertEqual(
                failure { try coordinator.replaceStore(type, at: path("c"), byStoreAt: path("none")) }.status, .storeIO)
            // A store that the coordinator has open is removed first.
            let open = try coordinator.addStore(type, at: path("c"))
            try coordinator.replaceStore(at: path("c"), byStoreAt: path("a"))
            XCTAssertFalse(open.isOpen)
            XCTAssertTrue(source.isOpen)
            XCTAssertEqual(try StoreMetadata(ofStoreAt: path("c")).uuid.description, source.identifier)
            // A migration to its own path fails.
            for place in [path("a"), folder + "/./a"] {
                let own = failure { try coordinator.migrateStore(source, to: type, at: place) }
                XCTAssertEqual(own.status, .invalidArgument)
                XCTAssertTrue(own.message.contains("to itself; choose another path"), own.message)
            }
            for name in ["a", "b", "c"] { try FileManager.default.removeItem(atPath: path(name)) }
        }
    }

    func testCancelledMigrationLeavesNoFile() throws {
        let coordinator = try coordinator()
        let store = try coordinator.addStore(.xml, at: path("a.xml"))
        let context = Corestone.Context(coordinator: coordinator)
        try context.insert("Item", ["name": "x"])
        try context.save()
        for type in [StoreType.binary, .sqlite] {
            let error = failure { try coordinator.migrateStore(store, to: type, at: path("b")) { _, _ in false } }
            XCTAssertEqual(error.status, .cancelled)
            XCTAssertFalse(FileManager.default.fileExists(atPath: path("b")), type.rawValue)
            XCTAssertTrue(store.isOpen)
            XCTAssertEqual(coordinator.stores.count, 1)
        }
        XCTAssertEqual(try context.count("Item"), 1)
    }

    // MARK: Metadata

    func testSettingMetadataKeepsReservedKeys() throws {
        for type in [StoreType.sqlite, .xml, .binary] {
            let name = path("a.\(type.rawValue)")
            let coordinator = try coordinator()
            let uuid = try coordinator.addStore(type, at: name).identifier
            try coordinator.remove(coordinator.stores[0])
            try StoreMetadata.set(["a": .integer(1), "b": .string("x")], ofStoreAt: name)
            var found = try StoreMetadata(ofStoreAt: name)
            XCTAssertEqual(found.applicationValues, ["a": .integer(1), "b": .string("x")])
            XCTAssertEqual(found.uuid.description, uuid)
            XCTAssertEqual(found.entityVersionHashes.count, 1)
            try StoreMetadata.set(["b": .string("y")], ofStoreAt: name, type: type)
            found = try StoreMetadata(ofStoreAt: name, type: type)
            XCTAssertEqual(found.applicationValues, ["b": .string("y")])
            let error = failure {
                try StoreMetadata.set(
                    [StoreMetadata.Key.uuid: .string(UUIDValue.random().description)], ofStoreAt: name)
            }
            XCTAssertEqual(error.status, .invalidArgument)
            XCTAssertEqual(error.key, StoreMetadata.Key.uuid)
            XCTAssertEqual(try StoreMetadata(ofStoreAt: name).uuid.description, uuid)
            try self.coordinator().addStore(at: name)
        }
    }
}
