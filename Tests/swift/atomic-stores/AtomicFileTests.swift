import Corestone
import XCTest

/// Behaviour of all atomic file stores.
final class AtomicFileTests: XCTestCase {
    private static let types: [StoreType] = [.binary, .xml]
    private var folder = ""

    override func setUpWithError() throws {
        folder = NSTemporaryDirectory() + "corestone-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }

    override func tearDown() { try? FileManager.default.removeItem(atPath: folder) }

    private func path(_ name: String) -> String { folder + "/" + name }

    /// Attributes of every type, and relationships of every form.
    private static func library() throws -> Model {
        let model = Model()
        let (book, author, novel) = (
            try model.addEntity(named: "Book"), try model.addEntity(named: "Author"),
            try model.addEntity(named: "Novel")
        )
        try novel.setParent(book)
        let types: [(String, AttributeType)] = [
            ("flag", .boolean), ("i16", .integer16), ("i32", .integer32), ("i64", .integer64), ("single", .float),
            ("real", .double), ("price", .decimal), ("title", .string), ("printed", .date), ("cover", .binary),
            ("number", .uuid), ("link", .uri),
        ]
        for (name, type) in types { try book.addAttribute(named: name, type: type) }
        try author.addAttribute(named: "name", type: .string)
        try author.addUniqueConstraint(["name"])
        let authors = try book.addRelationship(named: "authors", destination: author, isToMany: true)
        let books = try author.addRelationship(named: "books", destination: book, isToMany: true, isOrdered: true)
        try authors.setInverse(books)
        let sequel = try book.addRelationship(named: "sequel", destination: book)
        let prequel = try book.addRelationship(named: "prequel", destination: book)
        try sequel.setInverse(prequel)
        let editor = try book.addRelationship(named: "editor", destination: author)
        let edited = try author.addRelationship(named: "edited", destination: book, isToMany: true, isOrdered: true)
        try editor.setInverse(edited)
        try edited.setDeleteRule(.noAction)
        return model
    }

    private func coordinator(
        _ name: String, _ type: StoreType?, options: StoreOptions = StoreOptions()
    ) throws -> Coordinator {
        let coordinator = try Coordinator(model: AtomicFileTests.library())
        try coordinator.addStore(type, at: path(name), options: options)
        return coordinator
    }

    /// Inserts objects with the limits of all value ranges.
    private func fill(_ context: Context) throws {
        let ada = try context.insert("Author", ["name": "Ada"])
        let eve = try context.insert("Author", ["name": "Eve \u{0}\r\n\t <&>\"' \u{1F4DA}"])
        let book = try context.insert(
            "Book",
            [
                "flag": true, "i16": Int(Int16.min), "i32": Int(Int32.max), "i64": Int(Int64.min), "single": 0.1,
                "real": -Double.greatestFiniteMagnitude, "title": "  two\n\nlines  ",
            ])
        try book.setValue(.decimal(XCTUnwrap(DecimalNumber("-12345678901234567890.123456789"))), forKeyPath: "price")
        try book.setValue(.date(-63_113_904_000.125), forKeyPath: "printed")
        try book.setValue(
            .bytes(Bytes((0...255).map { UInt8($0) } + [UInt8](repeating: 7, count: 100_000))), forKeyPath: "cover")
        try book.setValue(.uuid(XCTUnwrap(UUIDValue("01234567-89AB-CDEF-0123-456789ABCDEF"))), forKeyPath: "number")
        try book.setValue(.uri("https://example.org/a?b=%20&c"), forKeyPath: "link")
        let novel = try context.insert("Novel", ["title": "", "flag": false])
        try context.insert("Novel")
        try ada.setMembers([novel, book], of: "books")
        try eve.setMembers([book], of: "books")
        try book.set("sequel", novel)
        try ada.setMembers([novel, book], of: "edited")
        try context.save()
    }

    /// Returns all objects of a store as text.
    private func account(_ coordinator: Coordinator) throws -> [String] {
        let context = Context(coordinator: coordinator)
        return try ["Author", "Book"].flatMap { entity in
            try context.fetch(entity).map { object in
                let values = try object.entity.properties.map { property in
                    if let relationship = property as? Relationship {
                        let members =
                            try relationship.isToMany
                            ? object.members(relationship.name).map(\.objectID.uri)
                            : [try object.get(relationship.name, as: ManagedObject.self)?.objectID.uri ?? "-"]
                        return "\(property.name)=\(relationship.isOrdered ? members : members.sorted())"
                    }
                    return "\(property.name)=\(try object.value(forKey: property.name))"
                }
                return "\(object.objectID.uri) \(values.sorted())"
            }.sorted()
        }
    }

    func testSavedObjectsAreReadAfterReopening() throws {
        for type in AtomicFileTests.types {
            let name = "a.\(type.rawValue)"
            let first = try coordinator(name, type)
            try fill(Context(coordinator: first))
            let wanted = try account(first)
            XCTAssertEqual(wanted.count, 5, type.rawValue)
            // The type is also recognised from the file.
            let second = try coordinator(name, nil)
            XCTAssertEqual(second.stores.first?.type, type)
            XCTAssertEqual(try account(second), wanted, type.rawValue)
            // Saved again, and read again.
            let context = Context(coordinator: second)
            try context.insert("Author", ["name": "Third"])
            try context.save()
            try context.delete(XCTUnwrap(try context.fetch("Author", "name == 'Third'").first))
            try context.save()
            XCTAssertEqual(try account(coordinator(name, type)), wanted, type.rawValue)
        }
    }

    func testKeysOfDeletedObjectsAreNotReused() throws {
        for type in AtomicFileTests.types {
            let name = "a.\(type.rawValue)"
            let context = Context(coordinator: try coordinator(name, type))
            let gone = try context.insert("Author", ["name": "Gone"])
            try context.save()
            let uri = gone.objectID.uri
            try context.delete(gone)
            try context.save()
            let later = Context(coordinator: try coordinator(name, type))
            let other = try later.insert("Author", ["name": "Other"])
            try later.save()
            XCTAssertNotEqual(other.objectID.uri, uri, type.rawValue)
        }
    }

    /// Two coordinators on one file are like two processes.
    func testSavesOfAnotherCoordinatorAreFetchedAndConflict() throws {
        for type in AtomicFileTests.types {
            let name = "a.\(type.rawValue)"
            let (here, there) = (
                Context(coordinator: try coordinator(name, type)), Context(coordinator: try coordinator(name, type))
            )
            try here.insert("Author", ["name": "Ada"])
            try here.save()
            let ada = try XCTUnwrap(try there.fetch("Author").first, type.rawValue)
            XCTAssertEqual(try ada.get("name"), "Ada")
            try there.insert("Author", ["name": "Eve"])
            try there.save()
            XCTAssertEqual(try here.count("Author"), 2)
            // Both coordinators change one object, and insert equal unique values.
            try here.fetch("Author", "name == 'Ada'").first?.set("name", "Lovelace")
            try here.save()
            try ada.set("name", "Byron")
            XCTAssertThrowsError(try there.save()) { XCTAssertEqual(($0 as? CoreError)?.code, 133020) }
            there.mergePolicy = .objectTrump
            try there.save()
            let fresh = Context(coordinator: here.coordinator)
            XCTAssertEqual(try fresh.fetch("Author", sort: ["name"]).map { try $0.get("name") }, ["Byron", "Eve"])
            try there.insert("Author", ["name": "Kay"])
            try there.save()
            try here.insert("Author", ["name": "Kay"])
            XCTAssertThrowsError(try here.save()) { XCTAssertEqual(($0 as? CoreError)?.code, 133021) }
        }
    }

    /// A change of a many-to-many relationship changes no value of the rows: only their versions reveal the conflict.
    func testConcurrentChangeOfManyToManyMembersIsAConflict() throws {
        for type in AtomicFileTests.types {
            let name = "a.\(type.rawValue)"
            let (here, there) = (
                Context(coordinator: try coordinator(name, type)), Context(coordinator: try coordinator(name, type))
            )
            let ada = try here.insert("Author", ["name": "Ada"])
            for title in ["x", "y"] { try here.insert("Book", ["title": title]) }
            try here.save()
            func book(_ title: String, _ context: Context) throws -> ManagedObject {
                try XCTUnwrap(try context.fetch("Book", "title == '\(title)'").first)
            }
            let same = try XCTUnwrap(try there.fetch("Author").first)
            XCTAssertEqual(try same.members("books").count, 0)
            try ada.add(book("x", here), to: "books")
            try here.save()
            try same.add(book("y", there), to: "books")
            XCTAssertThrowsError(try there.save(), type.rawValue) { XCTAssertEqual(($0 as? CoreError)?.code, 133020) }
            there.mergePolicy = .objectTrump
            try there.save()
            let fresh = Context(coordinator: try coordinator(name, type))
            let found = try XCTUnwrap(try fresh.fetch("Author").first)
            for title in ["x", "y"] {
                let book = try book(title, fresh)
                XCTAssertEqual(
                    try found.members("books").contains(book), try book.members("authors").contains(found), title)
            }
        }
    }

    /// A deleted owner in a one-sided relationship: its members do not refer to it, so they stay.
    func testDeletingAnOwnerKeepsMembersOfAOneSidedRelationship() throws {
        for type in AtomicFileTests.types {
            let name = "a.\(type.rawValue)"
            let context = Context(coordinator: try coordinator(name, type))
            let ada = try context.insert("Author", ["name": "Ada"])
            let books = try ["x", "y"].map { try context.insert("Book", ["title": $0]) }
            try ada.setMembers(books, of: "edited")
            try context.save()
            try context.delete(ada)
            try context.save()
            XCTAssertEqual(try Context(coordinator: coordinator(name, type)).count("Book"), 2, type.rawValue)
        }
    }

    func testPermanentIDsAreUniqueAcrossCoordinators() throws {
        for type in AtomicFileTests.types {
            let name = "a.\(type.rawValue)"
            let (here, there) = (
                Context(coordinator: try coordinator(name, type)), Context(coordinator: try coordinator(name, type))
            )
            let mine = try here.insert("Author", ["name": "Mine"])
            try here.obtainPermanentIDs(for: [mine])
            let other = try there.insert("Author", ["name": "Other"])
            try there.save()
            XCTAssertNotEqual(mine.objectID.uri, other.objectID.uri, type.rawValue)
            try here.save()
            XCTAssertEqual(try Context(coordinator: coordinator(name, type)).count("Author"), 2, type.rawValue)
        }
    }

    /// One of two concurrent calls fails and does not change the store of the other.
    func testAddingANewStoreTwiceConcurrentlySucceedsOnce() throws {
        for type in AtomicFileTests.types + [.sqlite] {
            for round in 0..<20 {
                let path = path("\(type.rawValue)-\(round)")
                let coordinator = try Coordinator(model: AtomicFileTests.library())
                DispatchQueue.concurrentPerform(iterations: 2) { _ in _ = try? coordinator.addStore(type, at: path) }
                XCTAssertEqual(coordinator.stores.count, 1)
                let context = Context(coordinator: coordinator)
                try context.insert("Author", ["name": "Ada"])
                try context.save()
                let again = try Coordinator(model: AtomicFileTests.library())
                try again.addStore(type, at: path)
                XCTAssertEqual(try Context(coordinator: again).count("Author"), 1, type.rawValue)
            }
        }
    }

    func testDestroyedStoreIsNotCreatedAgainBySave() throws {
        for type in AtomicFileTests.types {
            let name = "a.\(type.rawValue)"
            let context = Context(coordinator: try coordinator(name, type))
            try fill(context)
            XCTAssertTrue(try Coordinator(model: AtomicFileTests.library()).destroyStore(type, at: path(name)))
            XCTAssertThrowsError(try context.fetch("Author")) { XCTAssertEqual(($0 as? CoreError)?.status, .storeIO) }
            try context.insert("Author", ["name": "Late"])
            XCTAssertThrowsError(try context.save())
            XCTAssertFalse(FileManager.default.fileExists(atPath: path(name)))
        }
    }

    func testOpeningRemovesOnlyTemporaryFilesOfACrash() throws {
        for type in AtomicFileTests.types {
            let name = "a.\(type.rawValue)"
            _ = try coordinator(name, type)
            let others = [
                ".\(name).old.1abc.corestone-part", ".\(name).my thesis.corestone-part", ".b.1abc.corestone-part",
            ]
            for file in others + [".\(name).1abc.corestone-part"] {
                XCTAssert(FileManager.default.createFile(atPath: path(file), contents: Data("x".utf8)))
            }
            // Folders of migrations that were killed before and after the folder was locked. A user's folder stays.
            let filled = ".\(name).2abc.corestone-part", keep = ".\(name).3abc.corestone-part"
            for each in [filled, ".\(name).4abc.corestone-part", keep] {
                try FileManager.default.createDirectory(atPath: path(each), withIntermediateDirectories: false)
            }
            for file in ["\(filled)/.lock", "\(filled)/work", "\(keep)/notes"] {
                XCTAssert(FileManager.default.createFile(atPath: path(file), contents: Data("x".utf8)))
            }
            _ = try coordinator(name, type)
            let left = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasPrefix(".") }
            XCTAssertEqual(left.sorted(), (others + [keep]).sorted())
            for file in others + [keep] { try FileManager.default.removeItem(atPath: path(file)) }
        }
    }

    func testConcurrentSavesOfFourCoordinatorsAreAllStored() throws {
        for type in AtomicFileTests.types {
            let name = "a.\(type.rawValue)"
            _ = try coordinator(name, type)
            let failures = Locked<[String]>([])
            let path = path(name)
            DispatchQueue.concurrentPerform(iterations: 4) { worker in
                do {
                    let coordinator = try Coordinator(model: AtomicFileTests.library())
                    try coordinator.addStore(type, at: path)
                    let context = Context(coordinator: coordinator)
                    for round in 0..<25 {
                        try context.insert("Author", ["name": "\(worker).\(round)"])
                        try context.save()
                    }
                } catch { failures.withLock { $0.append("\(error)") } }
            }
            XCTAssertEqual(failures.withLock { $0 }, [])
            XCTAssertEqual(try Context(coordinator: coordinator(name, type)).count("Author"), 100, type.rawValue)
            XCTAssertEqual(
                try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".corestone-part") },
                [])
        }
    }

    func testFailedSaveKeepsTheFileAndTheUnsavedChanges() throws {
        for type in AtomicFileTests.types {
            let name = "sub/a.\(type.rawValue)"
            try FileManager.default.createDirectory(atPath: path("sub"), withIntermediateDirectories: true)
            let coordinator = try coordinator(name, type)
            let context = Context(coordinator: coordinator)
            try context.insert("Author", ["name": "Ada"])
            try FileManager.default.moveItem(atPath: path("sub"), toPath: path("away"))
            XCTAssertThrowsError(try context.save()) { error in
                XCTAssertEqual((error as? CoreError)?.status, .storeIO)
                XCTAssertTrue("\(error)".contains("a.\(type.rawValue)"), "\(error)")
            }
            XCTAssertTrue(context.hasChanges)
            try FileManager.default.moveItem(atPath: path("away"), toPath: path("sub"))
            try context.save()
            XCTAssertEqual(try Context(coordinator: self.coordinator(name, type)).count("Author"), 1)
            try FileManager.default.removeItem(atPath: path("sub"))
        }
    }

    func testOpeningAStoreReportsEachCauseOfFailure() throws {
        func failure(_ body: () throws -> Void, _ line: UInt = #line) -> CoreError? {
            var found: CoreError?
            XCTAssertThrowsError(try body(), line: line) { found = $0 as? CoreError }
            return found
        }
        for type in AtomicFileTests.types {
            let name = "a.\(type.rawValue)"
            var options = StoreOptions()
            options.mustExist = true
            XCTAssertEqual(failure { _ = try coordinator(name, type, options: options) }?.code, 134080)
            XCTAssertEqual(failure { _ = try coordinator("none/\(name)", type) }?.status, .storeIO)
            // An empty file, which reserves the path.
            XCTAssert(FileManager.default.createFile(atPath: path(name), contents: Data()))
            let first = try coordinator(name, type)
            try fill(Context(coordinator: first))
            // Twice in one coordinator.
            XCTAssertEqual(failure { try first.addStore(type, at: path(name)) }?.status, .invalidArgument)
            // As another type.
            let sqlite = failure { _ = try coordinator(name, .sqlite) }
            XCTAssertEqual(sqlite?.code, 134000)
            XCTAssertTrue(sqlite?.message.contains("\"\(type.rawValue)\"") == true, sqlite?.message ?? "")
            // Read-only.
            let readOnly = try Coordinator.open(path(name), model: AtomicFileTests.library())
            XCTAssertEqual(readOnly.stores.first?.isReadOnly, true)
            let context = Context(coordinator: readOnly)
            XCTAssertEqual(try context.count("Book"), 3)
            try context.insert("Author", ["name": "X"])
            XCTAssertEqual(failure { try context.save() }?.status, .storeReadOnly)
            XCTAssertEqual(try Coordinator.open(path(name)).stores.first?.modelSource, .cached)
            // By another model.
            let model = try AtomicFileTests.library()
            try model.entity(named: "Author")?.addAttribute(named: "born", type: .date)
            let mismatch = failure { try Coordinator(model: model).addStore(at: path(name)) }
            XCTAssertEqual(mismatch?.code, 134100)
            XCTAssertEqual(mismatch?.entity, "Author")
            // A store can be destroyed once; a file that is not a store can be neither destroyed nor opened.
            XCTAssertTrue(try first.destroyStore(at: path(name)))
            XCTAssertFalse(FileManager.default.fileExists(atPath: path(name)))
            XCTAssertTrue(first.stores.isEmpty)
            XCTAssertFalse(try first.destroyStore(type, at: path(name)))
            try "no store".write(toFile: path(name), atomically: false, encoding: .utf8)
            XCTAssertNotNil(failure { try first.destroyStore(type, at: path(name)) })
            XCTAssertEqual(failure { _ = try coordinator(name, type) }?.code, 134080)
            try FileManager.default.removeItem(atPath: path(name))
        }
    }

    /// The error names the type of the existing file, and the file stays unchanged.
    func testStoreOfAnotherTypeIsRejectedAndKept() throws {
        let files: [(String, StoreType)] = [("s", .sqlite), ("x", .xml), ("b", .binary)]
        for (name, type) in files { _ = try coordinator(name, type) }
        for wanted in AtomicFileTests.types {
            for (name, type) in files where type != wanted {
                XCTAssertThrowsError(try coordinator(name, wanted)) {
                    let error = $0 as? CoreError
                    XCTAssertEqual(error?.status, .unsupported)
                    XCTAssertEqual(error?.code, 134000)
                    for word in [
                        "\(type.rawValue) store", "not a store of type \(wanted.rawValue)", "\"\(type.rawValue)\"",
                    ] {
                        XCTAssertTrue(error?.message.contains(word) == true, error?.message ?? "")
                    }
                }
                XCTAssertThrowsError(try StoreMetadata(ofStoreAt: path(name), type: wanted)) {
                    XCTAssertEqual(($0 as? CoreError)?.status, .unsupported)
                }
            }
            for text in ["no store", "\u{7F}\u{0}\u{1}abc"] {
                try text.write(toFile: path("t"), atomically: false, encoding: .utf8)
                XCTAssertThrowsError(try coordinator("t", wanted)) {
                    XCTAssertEqual(($0 as? CoreError)?.status, .notAStore)
                    XCTAssertEqual(($0 as? CoreError)?.code, 134080)
                }
            }
        }
    }

    /// Neither a rejected nor a removed store keeps a file descriptor open.
    func testFileDescriptorsAreClosedWhenAStoreIsRejectedOrRemoved() throws {
        func count() throws -> Int { try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count }
        for type in AtomicFileTests.types {
            let name = "a.\(type.rawValue)"
            try fill(Context(coordinator: coordinator(name, type)))
            let before = try count()
            for _ in 0..<20 {
                let model = try AtomicFileTests.library()
                try model.entity(named: "Author")?.addAttribute(named: "born", type: .date)
                XCTAssertThrowsError(try Coordinator(model: model).addStore(at: path(name)))
                let store = try coordinator(name, type)
                try store.remove(store.stores[0])
            }
            XCTAssertLessThan(try count(), before + 10, type.rawValue)
        }
    }

    /// A context merges saves of other coordinators. Observers are notified of these, but not of the store's own saves.
    func testSavesOfOtherCoordinatorsAreObservedAndMerged() throws {
        for type in AtomicFileTests.types {
            let name = "a.\(type.rawValue)"
            let (here, there) = (try coordinator(name, type), try coordinator(name, type))
            let heard = HeardChanges()
            let observation = here.observe(.remoteChange) { _, changes in heard.add(changes.remote) }
            let context = Context(coordinator: here)
            let follower = Context(coordinator: here)
            follower.automaticallyMergesRemoteChanges = true
            let ada = try context.insert("Author", ["name": "Ada"])
            try context.save()
            let followed = try XCTUnwrap(try follower.fetch("Author").first)
            XCTAssertEqual(try followed.get("name"), "Ada")
            usleep(200_000)
            XCTAssertEqual(heard.count, 0, "\(type.rawValue): the store's own save")
            let other = Context(coordinator: there)
            try other.fetch("Author").first?.set("name", "Lovelace")
            try other.save()
            for _ in 0..<6000 where heard.count == 0 { usleep(10_000) }
            XCTAssertEqual(heard.count, 1, type.rawValue)
            XCTAssertEqual(heard.last?.isOwn, false)
            XCTAssertEqual(heard.last?.file, .written)
            try follower.processPendingChanges()
            XCTAssertEqual(try followed.get("name"), "Lovelace", type.rawValue)
            // A save of the other coordinator, and at once an own save on top.
            try other.insert("Author", ["name": "Eve"])
            try other.save()
            try context.refresh(ada, mergeChanges: false)
            try ada.set("name", "Byron")
            try context.save()
            for _ in 0..<6000 where heard.count == 1 { usleep(10_000) }
            usleep(200_000)
            XCTAssertEqual(heard.count, 2, type.rawValue)
            try FileManager.default.removeItem(atPath: path(name))
            for _ in 0..<6000 where heard.count == 2 { usleep(10_000) }
            XCTAssertEqual(heard.last?.file, .removed)
            observation.cancel()
        }
    }

    func testOwnSavesPostRemoteChangesWhenRequested() throws {
        for type in AtomicFileTests.types + [.inMemory] {
            var options = StoreOptions()
            options.postsOwnChanges = true
            let coordinator = try coordinator("own.\(type.rawValue)", type, options: options)
            let heard = HeardChanges()
            let observation = coordinator.observe(.remoteChange) { _, changes in heard.add(changes.remote) }
            let context = Context(coordinator: coordinator)
            try context.insert("Author", ["name": "Ada"])
            try context.save()
            XCTAssertEqual(heard.count, 1, type.rawValue)
            XCTAssertEqual(heard.last?.isOwn, true)
            observation.cancel()
        }
    }

    func testInMemoryStoreHonoursMustExistAndReadOnly() throws {
        var options = StoreOptions()
        options.mustExist = true
        XCTAssertThrowsError(try coordinator("m", .inMemory, options: options)) {
            XCTAssertEqual(($0 as? CoreError)?.status, .storeIO)
        }
        options.mustExist = false
        options.isReadOnly = true
        let readOnly = try coordinator("m", .inMemory, options: options)
        let context = Context(coordinator: readOnly)
        try context.insert("Author", ["name": "Ada"])
        XCTAssertThrowsError(try context.save()) { XCTAssertEqual(($0 as? CoreError)?.status, .storeReadOnly) }
    }

    private func mode(_ name: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path(name))[.posixPermissions] as? Int
    }

    /// The file mode applies regardless of the umask, and to moved and copied stores.
    func testFileModeAppliesToNewMovedAndCopiedStores() throws {
        for type in AtomicFileTests.types {
            let (name, moved, copy) = ("a.\(type.rawValue)", "b.\(type.rawValue)", "c.\(type.rawValue)")
            var options = StoreOptions()
            options.fileMode = 0o600
            let coordinator = try coordinator(name, type, options: options)
            XCTAssertEqual(try mode(name), 0o600)
            let context = Context(coordinator: coordinator)
            try context.insert("Author", ["name": "Ada"])
            try context.save()
            XCTAssertEqual(try mode(name), 0o600)
            let store = try XCTUnwrap(coordinator.stores.first)
            try coordinator.backup(store, to: path(copy))
            XCTAssertEqual(try mode(copy), 0o600)

            let later = try self.coordinator(name, type)
            try later.setPath(path(moved), of: XCTUnwrap(later.stores.first))
            try Context(coordinator: later).save()
            XCTAssertEqual(try mode(moved), 0o600)

            // A copy of a read-only file is writable.
            chmod(path(name), 0o440)
            try Coordinator(model: Model()).replaceStore(
                type, at: path("copied"), byStoreAt: path(name))
            XCTAssertEqual(try mode("copied"), 0o640)
            try FileManager.default.removeItem(atPath: path("copied"))
            chmod(path(name), 0o600)

            // The permissions of an existing file stay unchanged.
            chmod(path(copy), 0o640)
            try coordinator.backup(store, to: path(copy), options: options)
            XCTAssertEqual(try mode(copy), 0o640)
            let again = try self.coordinator(copy, type, options: options)
            try Context(coordinator: again).insert("Author", ["name": "Eve"]).context?.save()
            XCTAssertEqual(try mode(copy), 0o640)

            // A store that is private now is moved with its permissions, not with the mode of its opening.
            options.fileMode = 0o644
            let closed = try self.coordinator(copy, type, options: options)
            chmod(path(copy), 0o600)
            try closed.setPath(path("gone"), of: XCTUnwrap(closed.stores.first))
            try Context(coordinator: closed).save()
            XCTAssertEqual(try mode("gone"), 0o600)
            try FileManager.default.removeItem(atPath: path("gone"))

            // An empty file that only reserves the path gets the requested mode.
            XCTAssert(
                FileManager.default.createFile(
                    atPath: path("empty"), contents: nil, attributes: [.posixPermissions: 0o644]))
            options.fileMode = 0o660
            _ = try self.coordinator("empty", type, options: options)
            XCTAssertEqual(try mode("empty"), 0o660)
            try FileManager.default.removeItem(atPath: path("empty"))

            options.fileMode = 0o400
            XCTAssertThrowsError(try self.coordinator("none", type, options: options)) {
                XCTAssertEqual(($0 as? CoreError)?.key, "file_mode")
            }
            XCTAssertThrowsError(try coordinator.backup(store, to: path("none"), options: options)) {
                XCTAssertEqual(($0 as? CoreError)?.key, "file_mode")
            }
            XCTAssertFalse(FileManager.default.fileExists(atPath: path("none")))
        }
        var options = StoreOptions()
        options.fileMode = 0o600
        let warnings = try coordinator("m", .inMemory, options: options).stores[0].warnings
        XCTAssertTrue(warnings.first?.contains("ignores the file mode") == true, "\(warnings)")
    }

    func testOpeningWarnsOfHardLinks() throws {
        for type in AtomicFileTests.types {
            let name = "a.\(type.rawValue)"
            XCTAssertEqual(try coordinator(name, type).stores[0].warnings, [])
            try FileManager.default.linkItem(atPath: path(name), toPath: path("b"))
            let warnings = try coordinator(name, type).stores[0].warnings
            XCTAssertEqual(warnings.count, 1)
            XCTAssertTrue(warnings.first?.contains("hard link") == true)
            XCTAssertEqual(try coordinator(name, type, options: .readOnly).stores[0].warnings, [])
            try FileManager.default.removeItem(atPath: path("b"))
        }
    }

    /// One of two migrations to the same new path succeeds, and its objects are in the file.
    func testConcurrentMigrationsToOnePathSucceedOnce() throws {
        for type in AtomicFileTests.types + [.sqlite] {
            for round in 0..<10 {
                let coordinators = try (0..<2).map { try coordinator("from\($0)-\(round).\(type.rawValue)", .sqlite) }
                for coordinator in coordinators { try fill(Context(coordinator: coordinator)) }
                let target = path("to-\(round).\(type.rawValue)")
                let successes = Successes()
                DispatchQueue.concurrentPerform(iterations: 2) { number in
                    let coordinator = coordinators[number]
                    let done = try? coordinator.migrateStore(coordinator.stores[0], to: type, at: target)
                    if done != nil { successes.add() }
                }
                XCTAssertEqual(successes.count, 1, "\(type.rawValue) \(round)")
                let found = try Coordinator(model: AtomicFileTests.library())
                try found.addStore(type, at: target)
                XCTAssertEqual(try Context(coordinator: found).count("Book"), 3, "\(type.rawValue) \(round)")
            }
        }
    }

    /// An object that outlives its context, its coordinator and its model fails with `.objectGone`.
    func testObjectFailsWithObjectGoneWhenItsContextWasReleased() throws {
        func left(byReset: Bool) throws -> [ManagedObject] {
            let context = Context(coordinator: try coordinator("left", .inMemory))
            let ada = try context.insert("Author", ["name": "Ada"])
            try context.save()
            let deleted = try context.insert("Author", ["name": "Eve"])
            try context.save()
            try context.delete(deleted)
            try context.save()
            if byReset { try context.reset() }
            return [ada, deleted]
        }
        for byReset in [false, true] {
            for object in try left(byReset: byReset) {
                XCTAssertTrue(object.isGone)
                XCTAssertEqual(object.entity.name, "Author")
                XCTAssertTrue(object.objectID.uri.contains("/Author/p"))
                XCTAssertThrowsError(try object.get("name", as: String.self)) {
                    XCTAssertEqual(($0 as? CoreError)?.status, .objectGone)
                    XCTAssertEqual(($0 as? CoreError)?.entity, "Author")
                }
                XCTAssertThrowsError(try object.set("name", "X")) {
                    XCTAssertEqual(($0 as? CoreError)?.status, .objectGone)
                }
                XCTAssertThrowsError(try object.members("books"))
            }
        }
    }

    func testTooLongFileNamesAreRejected() throws {
        for type in AtomicFileTests.types {
            XCTAssertThrowsError(try coordinator(String(repeating: "n", count: 226), type)) {
                XCTAssertEqual(($0 as? CoreError)?.status, .invalidArgument)
                XCTAssertTrue(($0 as? CoreError)?.message.contains("225") == true)
            }
            let name = String(repeating: "n", count: 224 - type.rawValue.count) + type.rawValue
            try fill(Context(coordinator: coordinator(name, type)))
            XCTAssertEqual(try Context(coordinator: coordinator(name, type)).count("Book"), 3)
        }
    }

    func testSaveDoesNotOverwriteAnotherStoreAtThePath() throws {
        for type in AtomicFileTests.types {
            let name = "a.\(type.rawValue)"
            let context = Context(coordinator: try coordinator(name, type))
            try context.insert("Author", ["name": "Ada"])
            try FileManager.default.removeItem(atPath: path(name))
            try fill(Context(coordinator: try coordinator(name, type)))
            XCTAssertThrowsError(try context.save()) { XCTAssertEqual(($0 as? CoreError)?.status, .storeIO) }
            XCTAssertEqual(try Context(coordinator: try coordinator(name, type)).count("Book"), 3)
        }
    }

    func testMetadataIsReadAndSetWithoutChangingObjects() throws {
        for type in AtomicFileTests.types {
            let name = "a.\(type.rawValue)"
            let first = try coordinator(name, type)
            try fill(Context(coordinator: first))
            let wanted = try account(first)
            var metadata = try StoreMetadata(ofStoreAt: path(name))
            XCTAssertEqual(metadata.uuid.description, first.stores.first?.identifier)
            XCTAssertEqual(metadata.storeType, type.rawValue)
            XCTAssertEqual(metadata.entityVersionHashes.count, 3)
            metadata.values["author"] = .string("me <&>")
            try metadata.write(toStoreAt: path(name))
            XCTAssertEqual(try StoreMetadata(ofStoreAt: path(name)).applicationValues, ["author": .string("me <&>")])
            XCTAssertEqual(try account(coordinator(name, type)), wanted)
        }
    }

    /// A value that the store cannot write is rejected when it is set, not by later saves.
    func testMetadataThatXMLCannotRepresentIsRejected() throws {
        for value in [
            PropertyListValue.null, .string("\u{0}"), .array([.dictionary(["\u{1}": .bool(true)])]), .date(1e300),
        ] {
            for type in [StoreType.xml, .binary, .sqlite] {
                let coordinator = try coordinator("m.\(type.rawValue)", type)
                let store = try XCTUnwrap(coordinator.stores.first)
                let values = try coordinator.metadata(of: store).merging(["a": .bool(true), "note": value]) { $1 }
                if type == .xml {
                    XCTAssertThrowsError(try coordinator.setMetadata(values, of: store)) {
                        XCTAssertEqual(($0 as? CoreError)?.status, .invalidArgument)
                        XCTAssertEqual(($0 as? CoreError)?.key, "note")
                    }
                    XCTAssertNil(try coordinator.metadata(of: store)["a"])
                } else {
                    try coordinator.setMetadata(values, of: store)
                }
                try Context(coordinator: coordinator).save()
                if type != .xml {
                    XCTAssertEqual(try StoreMetadata(ofStoreAt: path("m.\(type.rawValue)")).values["note"], value)
                }
            }
        }
    }

    func testMigrationBetweenStoreTypesKeepsAllValues() throws {
        for type in AtomicFileTests.types {
            let coordinator = try coordinator("a.sqlite", .sqlite)
            try fill(Context(coordinator: coordinator))
            // By position, because in some stores the entity trees share their keys.
            func values() throws -> [String] {
                let context = Context(coordinator: coordinator)
                let uris = try ["Author", "Book"].flatMap { try context.fetch($0).map(\.objectID.uri).enumerated() }
                return try account(coordinator).map { line in
                    uris.reduce(line + " ") { line, uri in
                        let entity = uri.element.split(separator: "/")[2]
                        return ["\\", " "].reduce(line) {
                            $0.replacingOccurrences(of: uri.element + $1, with: "\(entity) \(uri.offset)" + $1)
                        }
                    }
                }
            }
            let wanted = try values()
            let file = try coordinator.migrateStore(coordinator.stores[0], to: type, at: path("b.\(type.rawValue)"))
            XCTAssertEqual(file.type, type)
            XCTAssertEqual(try values(), wanted, type.rawValue)
            try coordinator.migrateStore(file, to: .sqlite, at: path("c.sqlite"))
            XCTAssertEqual(try values(), wanted, type.rawValue)
            for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
                try FileManager.default.removeItem(atPath: path(name))
            }
        }
    }

    // MARK: Locked, missing and replaced files

    private func failure(_ body: () throws -> Void, _ line: UInt = #line) -> CoreError? {
        var found: CoreError?
        XCTAssertThrowsError(try body(), line: line) { found = $0 as? CoreError }
        return found
    }

    func testLockedFileFailsWithStoreBusy() throws {
        for type in AtomicFileTests.types {
            let name = "a.\(type.rawValue)"
            var options = StoreOptions()
            options.busyTimeoutMilliseconds = 4
            let coordinator = try coordinator(name, type, options: options)
            let context = Context(coordinator: coordinator)
            try context.insert("Author", ["name": "Ada"])
            let descriptor = Glibc.open(path(name), O_RDONLY)
            XCTAssertEqual(flock(descriptor, LOCK_EX), 0)
            for error in [
                failure { try context.save() },
                failure { try coordinator.destroyStore(type, at: path("a.\(type.rawValue)"), options: options) },
            ] {
                XCTAssertEqual(error?.status, .storeBusy)
                XCTAssertEqual(error?.code, CocoaCode.persistentStoreTimeout.rawValue)
                XCTAssertEqual(error?.file, path(name))
                XCTAssertTrue(
                    error?.message.contains("coordinator has locked \(path(name)) (waited 4 ms)") == true,
                    error?.message ?? "")
                if !coordinator.stores.isEmpty { XCTAssertTrue(context.hasChanges) }
            }
            XCTAssertTrue(FileManager.default.fileExists(atPath: path(name)))
            close(descriptor)
            let later = Context(coordinator: try self.coordinator(name, type, options: options))
            try later.insert("Author", ["name": "Eve"])
            try later.save()
            XCTAssertEqual(try later.count("Author"), 1)
        }
    }

    /// A save does not create a removed file again. After the file is restored, saves succeed.
    func testSaveFailsWhenTheFileWasRemoved() throws {
        for type in AtomicFileTests.types {
            let name = "a.\(type.rawValue)"
            let coordinator = try coordinator(name, type)
            let context = Context(coordinator: coordinator)
            try context.insert("Author", ["name": "Ada"])
            try context.save()
            let before = coordinator.stores[0].contentState
            try FileManager.default.moveItem(atPath: path(name), toPath: path("away"))
            XCTAssertEqual(coordinator.stores[0].contentState?.hasSuffix(" gone"), true)
            try context.insert("Author", ["name": "Eve"])
            for error in [failure { try context.save() }, failure { _ = try context.count("Author") }] {
                XCTAssertEqual(error?.status, .storeIO)
                XCTAssertEqual(error?.code, CocoaCode.persistentStoreOperation.rawValue)
                XCTAssertEqual(error?.file, path(name))
                XCTAssertTrue(error?.message.contains("no longer exists; restore it") == true)
            }
            XCTAssertFalse(FileManager.default.fileExists(atPath: path(name)))
            try FileManager.default.moveItem(atPath: path("away"), toPath: path(name))
            XCTAssertEqual(coordinator.stores[0].contentState, before)
            try context.save()
            XCTAssertNotEqual(coordinator.stores[0].contentState, before)
            XCTAssertEqual(try Context(coordinator: self.coordinator(name, type)).count("Author"), 2)
        }
    }

    func testAnotherStoreAtThePathIsNotRead() throws {
        for type in AtomicFileTests.types {
            let (name, other) = ("a.\(type.rawValue)", "b.\(type.rawValue)")
            let context = Context(coordinator: try coordinator(name, type))
            try context.insert("Author", ["name": "Ada"])
            try context.save()
            let identifier = try coordinator(other, type).stores[0].identifier
            try FileManager.default.moveItem(atPath: path(name), toPath: path("away"))
            try FileManager.default.moveItem(atPath: path(other), toPath: path(name))
            // Every fetch fails, because a rejected file does not become the known state.
            for _ in 0..<2 {
                let error = failure { _ = try context.count("Author") }
                XCTAssertEqual(error?.status, .storeIO)
                XCTAssertEqual(error?.code, CocoaCode.persistentStoreOperation.rawValue)
                XCTAssertTrue(
                    error?.message.contains("another store, with the identifier \"\(identifier)\"") == true,
                    error?.message ?? "")
            }
            try FileManager.default.removeItem(atPath: path(name))
            try FileManager.default.moveItem(atPath: path("away"), toPath: path(name))
            XCTAssertEqual(try context.count("Author"), 1)
        }
    }

    func testModelMismatchErrorDescribesTheDifferences() throws {
        for type in AtomicFileTests.types {
            let name = "a.\(type.rawValue)"
            _ = try coordinator(name, type)
            let model = Model()
            let (author, novel) = (try model.addEntity(named: "Author"), try model.addEntity(named: "Novel"))
            try author.addAttribute(named: "name", type: .date)
            try model.addEntity(named: "Shelf").addAttribute(named: "name", type: .string)
            try novel.addAttribute(named: "title", type: .string)
            let error = failure { try Coordinator(model: model).addStore(type, at: path(name)) }
            XCTAssertEqual(error?.status, .modelMismatch)
            XCTAssertEqual(error?.code, CocoaCode.persistentStoreIncompatibleVersionHash.rawValue)
            XCTAssertEqual(error?.file, path(name))
            // The tables of a binary store are compared before that, empty ones too.
            XCTAssertEqual(error?.entity, type == .binary ? "Book" : "Author")
            XCTAssertEqual(
                error?.message,
                type == .binary
                    ? "\(path(name)) has the entity \"Book\", which the model does not have; open the store with the "
                        + "model it was written with"
                    : "\(path(name)) was written with another model: the version hashes of Author and Novel differ, and the "
                        + "store does not have Shelf, and the model does not have Book; open the store with the model it was written with"
            )
        }
    }

    /// A store moves to an unused path, and over a former state of itself, but never over another store.
    func testStoreMovesToUnusedPathsAndItsFormerFileOnly() throws {
        for type in AtomicFileTests.types {
            let (name, moved, other) = ("a.\(type.rawValue)", "b.\(type.rawValue)", "c.\(type.rawValue)")
            let coordinator = try coordinator(name, type)
            let store = coordinator.stores[0], context = Context(coordinator: coordinator)
            try context.insert("Author", ["name": "Ada"])
            try context.save()
            let identifier = try self.coordinator(other, type).stores[0].identifier
            let error = failure { try coordinator.setPath(path(other), of: store) }
            XCTAssertEqual(error?.status, .invalidArgument)
            XCTAssertEqual(error?.code, CocoaCode.persistentStoreOperation.rawValue)
            XCTAssertEqual(error?.file, path(other))
            XCTAssertTrue(error?.message.contains("another store, with the identifier \"\(identifier)\"") == true)
            XCTAssertEqual(store.path, path(name))
            try coordinator.setPath(path(moved), of: store)
            XCTAssertEqual(store.path, path(moved))
            XCTAssertFalse(FileManager.default.fileExists(atPath: path(moved)), "the file is not written before a save")
            XCTAssertEqual(try context.count("Author"), 1)
            try context.save()
            XCTAssertEqual(try Context(coordinator: self.coordinator(moved, type)).count("Author"), 1)
            try context.insert("Author", ["name": "Eve"])
            try context.save()
            XCTAssertEqual(try Context(coordinator: self.coordinator(name, type)).count("Author"), 1)
            try coordinator.setPath(path(name), of: store)
            try context.save()
            XCTAssertEqual(try Context(coordinator: self.coordinator(name, type)).count("Author"), 2)
            var options = StoreOptions()
            options.isReadOnly = true
            let reader = try self.coordinator(name, type, options: options)
            let refused = failure { try reader.setPath(path("d"), of: reader.stores[0]) }
            XCTAssertEqual(refused?.status, .storeReadOnly)
            XCTAssertEqual(refused?.code, CocoaCode.persistentStoreOperation.rawValue)
            XCTAssertEqual(refused?.file, path(name))
        }
    }

    /// Every damage is either reported as an error or has no effect on the objects.
    func testDamagedFilesAreRejectedOrReadCompletely() throws {
        for type in AtomicFileTests.types {
            let name = "a.\(type.rawValue)"
            let first = try coordinator(name, type)
            let context = Context(coordinator: first)
            for author in 0..<20 { try context.insert("Author", ["name": "author \(author)"]) }
            try context.save()
            let whole = try Data(contentsOf: URL(fileURLWithPath: path(name)))
            // Tests/faults/damage.py damages every byte and compares the result with another reader.
            let step = 8
            var damages: [Data] = stride(from: 0, to: min(whole.count, 4096), by: step).map { place in
                var copy = whole
                copy[place] ^= UInt8(1 << (place / step % 8))
                return copy
            }
            damages += stride(from: 0, to: whole.count, by: 37).map { whole.prefix($0) }
            var refused = 0
            let model = first.model
            for (number, damage) in damages.enumerated() where !damage.isEmpty {
                try damage.write(to: URL(fileURLWithPath: path("damaged")))
                do {
                    let damaged = try Coordinator(model: model)
                    try damaged.addStore(type, at: path("damaged"))
                    let context = Context(coordinator: damaged)
                    let names = try context.fetch("Author").map { try $0.get("name") ?? "" }
                    if type == .binary { XCTAssertEqual(names.count, 20, "damage \(number)") }
                } catch is CoreError { refused += 1 }
            }
            XCTAssertGreaterThan(refused, damages.count / 2)
        }
    }
}

/// The remote changes that a coordinator posted, on any thread.
private final class HeardChanges: @unchecked Sendable {
    private let lock = NSLock()
    private var heard: [RemoteChange] = []

    func add(_ change: RemoteChange?) { lock.withLock { if let change { heard.append(change) } } }
    var count: Int { lock.withLock { heard.count } }
    var last: RemoteChange? { lock.withLock { heard.last } }
}

private final class Successes: @unchecked Sendable {
    private let lock = NSLock()
    private var number = 0

    func add() { lock.withLock { number += 1 } }
    var count: Int { lock.withLock { number } }
}
