import Corestone
import XCTest

final class DocumentTests: XCTestCase {
    private var folder = ""
    private static let types: [StoreType] = [.sqlite, .xml, .binary]

    override func setUpWithError() throws {
        folder = FileManager.default.temporaryDirectory.path + "/" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }

    override func tearDownWithError() throws { try FileManager.default.removeItem(atPath: folder) }

    private func path(_ name: String) -> String { folder + "/" + name }

    private func model() throws -> Model {
        let model = Model()
        let item = try model.addEntity(named: "Item")
        try item.addAttribute(named: "name", type: .string, isOptional: false)
        try item.addAttribute(named: "size", type: .integer64)
        return model
    }

    private func failure(_ body: () throws -> Void, line: UInt = #line) -> CoreError {
        do { try body() } catch let error as CoreError { return error } catch { XCTFail("\(error)", line: line) }
        XCTFail("nothing failed", line: line)
        return CoreError(.internal, "")
    }

    private func names(_ document: Document) throws -> [String] {
        try document.context.performAndWait { try $0.fetch("Item", sort: ["name"]).compactMap { try $0.get("name") } }
    }

    private func names(_ path: String) throws -> [String] {
        let other = try Document.open(path, model: model(), options: .readOnly)
        defer { try? other.close(.discard) }
        return try names(other)
    }

    private func wait(_ line: UInt = #line, until body: () throws -> Bool) rethrows {
        for _ in 0..<3000 {
            if try body() { return }
            usleep(20_000)
        }
        XCTFail("the condition was not met in time", line: line)
    }

    private func add(_ name: String, to document: Document) throws {
        try document.context.performAndWait { _ = try $0.insert("Item", ["name": name]) }
    }

    func testNewDocumentIsSavedToATemporaryFileUntilSaveAs() throws {
        for type in DocumentTests.types {
            let document = try Document(model: model(), type: type)
            XCTAssertNil(document.path)
            XCTAssertEqual(document.state, .untitled)
            XCTAssertFalse(try document.hasUnsavedChanges())
            try add("a", to: document)
            XCTAssertEqual(document.state, [.untitled, .edited])
            XCTAssert(try document.hasUnsavedChanges())
            XCTAssertEqual(failure { try document.save() }.status, .invalidArgument)
            XCTAssertEqual(failure { try document.close() }.status, .unsavedChanges)
            let refuge = (document.store.path as NSString).deletingLastPathComponent
            XCTAssert(refuge.contains("corestone-document-"))
            try document.saveAs(path("a.\(type.rawValue)"))
            XCTAssertEqual(document.state, [])
            XCTAssertEqual(document.path, path("a.\(type.rawValue)"))
            XCTAssertFalse(FileManager.default.fileExists(atPath: refuge))
            try add("b", to: document)
            try document.save()
            XCTAssertFalse(try document.hasUnsavedChanges())
            try document.close()
            XCTAssertEqual(document.state, .closed)
            XCTAssertEqual(failure { try document.save() }.status, .invalidHandle)
            XCTAssertEqual(try names(path("a.\(type.rawValue)")), ["a", "b"])
        }
        XCTAssertEqual(failure { _ = try Document(model: model(), type: .inMemory) }.status, .invalidArgument)
        XCTAssertEqual(failure { _ = try Document.open(path("none"), model: model()) }.status, .storeIO)
    }

    func testSaveAsLeavesTheFormerFileUnchanged() throws {
        for type in DocumentTests.types {
            let (one, two) = (path("one.\(type.rawValue)"), path("two.\(type.rawValue)"))
            let document = try Document(model: model(), type: type)
            try add("a", to: document)
            try document.saveAs(one)
            let kept = try document.context.performAndWait { try XCTUnwrap($0.fetch("Item").first) }
            let id = kept.objectID
            try document.context.performAndWait { _ in try kept.set("size", 7) }
            try add("b", to: document)
            try document.saveAs(two)
            XCTAssertEqual(document.path, two)
            XCTAssertEqual(try names(one), ["a"])
            XCTAssertEqual(try names(two), ["a", "b"])
            // Objects and their IDs stay valid.
            try document.context.performAndWait { _ in
                XCTAssertEqual(kept.objectID, id)
                XCTAssertEqual(try kept.get("size"), 7)
                try kept.set("name", "c")
            }
            try document.save()
            XCTAssertEqual(try names(one), ["a"])
            XCTAssertEqual(try names(two), ["b", "c"])
            XCTAssertEqual(failure { try document.saveAs(two) }.status, .invalidArgument)
            XCTAssertEqual(failure { try document.saveAs(one) }.status, .invalidArgument)
            try document.saveAs(one, replaces: true)
            XCTAssertEqual(try names(one), ["b", "c"])
            try document.close()
        }
    }

    func testFailedSaveAsChangesNothing() throws {
        for type in DocumentTests.types {
            let (one, two) = (path("one.\(type.rawValue)"), path("two.\(type.rawValue)"))
            let document = try Document(model: model(), type: type)
            try add("a", to: document)
            try document.saveAs(one)
            try document.context.performAndWait { _ = try $0.insert("Item") }
            XCTAssertEqual(failure { try document.saveAs(two) }.status, .validation)
            XCTAssertFalse(FileManager.default.fileExists(atPath: two))
            XCTAssertEqual(document.path, one)
            XCTAssertEqual(failure { try document.saveAs(path("none/x")) }.status, .validation)
            try document.revert()
            try add("b", to: document)
            XCTAssertEqual(failure { try document.saveAs(path("none/x")) }.status, .storeIO)
            XCTAssertEqual(document.path, one)
            try document.save()
            XCTAssertEqual(try names(one), ["a", "b"])
            try document.close()
        }
    }

    func testSaveAsAnotherTypeCreatesAnotherStore() throws {
        for (from, to) in [(StoreType.sqlite, StoreType.xml), (.xml, .binary), (.binary, .sqlite)] {
            let (one, two) = (path("one.\(from.rawValue)"), path("two.\(to.rawValue).\(from.rawValue)"))
            let document = try Document(model: model(), type: from)
            try add("a", to: document)
            try document.saveAs(one)
            try add("b", to: document)
            try document.saveAs(two, type: to)
            XCTAssertEqual(document.type, to)
            XCTAssertEqual(document.state, [])
            XCTAssertEqual(try names(document), ["a", "b"])
            XCTAssertEqual(try names(one), ["a"])
            try add("c", to: document)
            try document.save()
            try document.close()
            XCTAssertEqual(try names(two), ["a", "b", "c"])
            // Directly from an untitled document.
            let fresh = try Document(model: model(), type: from)
            try add("x", to: fresh)
            try fresh.saveAs(path("fresh.\(to.rawValue)"), type: to)
            try fresh.close()
            XCTAssertEqual(try names(path("fresh.\(to.rawValue)")), ["x"])
        }
    }

    func testUndoToTheSavedStateClearsTheEditedState() throws {
        let document = try Document(model: model())
        try add("a", to: document)
        try document.saveAs(path("a"))
        try add("b", to: document)
        XCTAssertEqual(document.state, .edited)
        try document.context.performAndWait { _ = try $0.undo() }
        XCTAssertEqual(document.state, [])
        XCTAssertFalse(try document.hasUnsavedChanges())
        try document.context.performAndWait { _ = try $0.redo() }
        XCTAssertEqual(document.state, .edited)
        try document.save()
        // Undo beyond a save edits the document, and redo clears the state.
        try document.context.performAndWait { _ = try $0.undo() }
        XCTAssertEqual(document.state, .edited)
        XCTAssertEqual(try names(document), ["a"])
        try document.close(.discard)
    }

    func testErrorOfAClosedDocumentNamesItsPath() throws {
        let untitled = try Document(model: model(), type: .sqlite)
        try untitled.close(.discard)
        let error = failure { try untitled.save() }
        XCTAssertEqual(
            error.message, "the untitled document is closed; create another one with cst_document_new (Document)")
        XCTAssertNil(error.file)
        let document = try Document(model: model(), type: .sqlite)
        try document.saveAs(path("titled.store"))
        try document.close()
        XCTAssertEqual(
            failure { try document.save() }.message,
            "the document \(path("titled.store")) is closed; open it again with cst_document_open (Document.open), "
                + "or create another one with cst_document_new (Document)")
    }

    func testRevertReadsChangesOfOtherDocuments() throws {
        for type in DocumentTests.types {
            let file = path("a.\(type.rawValue)")
            let document = try Document(model: model(), type: type)
            try add("a", to: document)
            try document.saveAs(file)
            let other = try Document.open(file, model: model())
            try other.context.performAndWait { try $0.fetch("Item")[0].set("name", "theirs") }
            try other.save()
            wait { document.state.contains(.changedOnDisk) }
            try document.context.performAndWait { try $0.fetch("Item")[0].set("name", "mine") }
            let error = failure { try document.save() }
            XCTAssertEqual(error.status, .conflict, "\(type)")
            XCTAssert(document.state.isSuperset(of: [.edited, .failed, .conflict]), "\(type)")
            XCTAssertEqual(document.lastError?.status, .conflict)
            XCTAssertEqual(failure { try document.close() }.children.count, 2)
            try document.revert()
            XCTAssertEqual(document.state, [], "\(type)")
            XCTAssertNil(document.lastError)
            XCTAssertEqual(try names(document), ["theirs"])
            try document.context.performAndWait { try $0.fetch("Item")[0].set("name", "mine") }
            try document.close(.save)
            XCTAssertEqual(try names(file), ["mine"])
            try other.close(.discard)
        }
    }

    func testAutosaveSavesAfterTheGivenNumberOfChanges() throws {
        let document = try Document(model: model())
        try document.saveAs(path("a"))
        let saved = expectation(description: "saved")
        let observation = document.observe { if $0.isEmpty { saved.fulfill() } }
        try document.setAutosave(afterChanges: 3)
        for name in ["a", "b"] { try add(name, to: document) }
        XCTAssertEqual(try names(path("a")), [])
        try add("c", to: document)
        wait(for: [saved], timeout: 60)
        XCTAssertEqual(try names(path("a")), ["a", "b", "c"])
        observation.cancel()
        try document.close()
    }

    func testAutosaveSavesWhenIdleAndKeepsErrors() throws {
        let document = try Document(model: model())
        try document.saveAs(path("a"))
        try document.setAutosave(idleSeconds: 0.1)
        let states = Locker<[Document.State]>([])
        let observation = document.observe { state in states.with { $0.append(state) } }
        try add("a", to: document)
        try wait { try !names(path("a")).isEmpty }
        XCTAssertEqual(try names(path("a")), ["a"])
        wait { document.state == [] }
        XCTAssertEqual(states.with { $0 }, [.edited, [.edited, .saving], []])
        try document.context.performAndWait { _ = try $0.insert("Item") }
        wait { document.lastError != nil }
        XCTAssertEqual(document.lastError?.status, .validation)
        XCTAssertEqual(document.state, [.edited, .failed])
        let error = failure { try document.close() }
        XCTAssertEqual(error.children.map(\.status), [.unsavedChanges, .validation])
        XCTAssertEqual(failure { try document.close(.save) }.status, .validation)
        try document.close(.discard)
        observation.cancel()
        let confined = try Document(model: model(), queue: .caller)
        XCTAssertEqual(failure { try confined.setAutosave(afterChanges: 1) }.status, .invalidArgument)
        try confined.close()
    }

    func testAutosaveSavesChangesFromBeforeItsActivation() throws {
        let document = try Document(model: model())
        try document.saveAs(path("a"))
        try add("a", to: document)
        try document.setAutosave(idleSeconds: 0.1)
        wait { document.state == [] }
        XCTAssertEqual(try names(path("a")), ["a"])
        try document.setAutosave()
        for name in ["b", "c"] { try add(name, to: document) }
        try document.setAutosave(afterChanges: 2)
        wait { document.state == [] }
        XCTAssertEqual(try names(path("a")), ["a", "b", "c"])
        try document.close()
    }

    func testFailedAutosaveIsRepeated() throws {
        for idle in [0, 0.1] {
            let document = try Document(model: model(), type: .xml)
            try document.saveAs(path("\(idle)"))
            try document.setAutosave(afterChanges: 1, idleSeconds: idle)
            // The file is moved away for a while.
            XCTAssertEqual(rename(path("\(idle)"), path("away")), 0)
            try add("a", to: document)
            wait { document.state.contains(.failed) }
            XCTAssertEqual(document.lastError?.status, .storeIO)
            XCTAssertEqual(rename(path("away"), path("\(idle)")), 0)
            wait { document.state == [] }
            XCTAssertNil(document.lastError)
            XCTAssertEqual(try names(path("\(idle)")), ["a"])
            try document.close()
        }
    }

    func testAutosaveOfAnUntitledDocumentKeepsItEdited() throws {
        let document = try Document(model: model())
        try document.setAutosave(afterChanges: 1)
        try add("a", to: document)
        try document.context.performAndWait { _ in }
        try wait { try document.context.performAndWait { !$0.hasChanges } }
        XCTAssertEqual(document.state, [.untitled, .edited])
        XCTAssert(try document.hasUnsavedChanges())
        XCTAssertEqual(failure { try document.close() }.status, .unsavedChanges)
        try document.saveAs(path("a"))
        XCTAssertEqual(document.state, [])
        try document.close()
        XCTAssertEqual(try names(path("a")), ["a"])
    }

    private final class Locker<Value>: @unchecked Sendable {
        private let lock = NSLock()
        private var value: Value
        init(_ value: Value) { self.value = value }
        func with<Result>(_ body: (inout Value) -> Result) -> Result { lock.withLock { body(&value) } }
    }

    /// Changes of a child context are not lost when the document closes.
    func testCloseFailsWhenAChildContextHasUnsavedChanges() throws {
        let document = try Document(model: model(), type: .sqlite)
        try document.saveAs(path("children.sqlite"))
        let child = type(of: document.context).init(parent: document.context, queue: .privateQueue)
        try child.performAndWait { _ = try $0.insert("Item", ["name": "below"]) }
        let error = failure { try document.close() }
        XCTAssertEqual(error.status, .unsavedChanges)
        XCTAssertEqual(error.children.count, 1)
        try document.close(.save)
        XCTAssertEqual(try names(path("children.sqlite")), ["below"])
    }

    // MARK: States

    func testStateFollowsFailedAndSuccessfulSaves() throws {
        for type in DocumentTests.types {
            let document = try Document(model: model(), type: type)
            try document.saveAs(path("a.\(type.rawValue)"))
            let states = Locker<[Document.State]>([])
            let observation = document.observe { state in states.with { $0.append(state) } }
            try document.context.performAndWait { _ = try $0.insert("Item") }
            XCTAssertEqual(failure { try document.save() }.status, .validation)
            XCTAssertEqual(document.state, [.edited, .failed])
            XCTAssertEqual(document.lastError?.status, .validation)
            try document.context.performAndWait { try $0.fetch("Item").first?.set("name", "a") }
            try document.save()
            XCTAssertEqual(document.state, [])
            XCTAssertNil(document.lastError)
            XCTAssertEqual(
                states.with { $0 },
                [.edited, [.edited, .saving], [.edited, .failed], [.edited, .failed, .saving], []])
            observation.cancel()
            try add("b", to: document)
            XCTAssertEqual(states.with { $0.last }, [], "the observation has ended")
            try document.close(.discard)
        }
    }

    func testObserversReceiveStatesInOrderWhenAHandlerChangesTheState() throws {
        let document = try Document(model: model(), queue: .caller)
        try document.saveAs(path("a"))
        let first = Locker<[Document.State]>([])
        let second = Locker<[Document.State]>([])
        let observations = [
            document.observe { state in
                first.with { $0.append(state) }
                guard state == .edited else { return }
                do { try document.save() } catch { XCTFail("\(error)") }
                XCTAssertEqual(first.with { $0.last }, [], "the save was delivered before it returned")
            },
            document.observe { state in second.with { $0.append(state) } },
        ]
        try add("a", to: document)
        XCTAssertEqual(first.with { $0 }, [.edited, [.edited, .saving], []])
        XCTAssertEqual(second.with { $0 }, [.edited, [.edited, .saving], []])
        for observation in observations { observation.cancel() }
        try document.close()
    }

    func testStateReportsAConflict() throws {
        for type in DocumentTests.types {
            let file = path("a.\(type.rawValue)")
            let document = try Document(model: model(), type: type)
            try add("a", to: document)
            try document.saveAs(file)
            let item = try document.context.performAndWait { try $0.fetch("Item").first?.objectID }
            var options = StoreOptions()
            options.mustExist = true
            let other = try Document.open(file, model: model(), options: options)
            try other.context.performAndWait { try $0.fetch("Item").first?.set("name", "theirs") }
            try other.close(.save)
            try document.context.performAndWait { try $0.object(with: XCTUnwrap(item)).set("name", "mine") }
            XCTAssertEqual(failure { try document.save() }.status, .conflict)
            XCTAssertTrue(document.state.isSuperset(of: [.edited, .failed, .conflict]), "\(document.state)")
            XCTAssertEqual(document.lastError?.status, .conflict)
            try document.revert()
            XCTAssertEqual(document.state, [])
            XCTAssertNil(document.lastError)
            XCTAssertEqual(try names(document), ["theirs"])
            XCTAssertFalse(try document.context.performAndWait { $0.undoManager?.canUndo ?? true })
            try document.close()
        }
    }

    func testSaveAsRejectsInvalidPaths() throws {
        let document = try Document(model: model(), type: .xml)
        try add("a", to: document)
        try document.saveAs(path("a.xml"))
        try document.saveAs(path("b.xml"))
        try FileManager.default.createSymbolicLink(atPath: path("same"), withDestinationPath: "b.xml")
        try FileManager.default.createSymbolicLink(atPath: path("nowhere"), withDestinationPath: "none")
        for (place, words) in [
            ("b.xml", "is the document's own file"), ("same", "is the document's own file"),
            ("nowhere", "is a symbolic link to a missing file"), ("a.xml", "already exists"),
        ] {
            let error = failure { try document.saveAs(path(place)) }
            XCTAssertEqual(error.status, .invalidArgument)
            XCTAssertEqual(error.code, CocoaCode.persistentStoreOperation.rawValue)
            XCTAssertEqual(error.file, path(place))
            XCTAssertTrue(error.message.contains(words), error.message)
            XCTAssertEqual(document.path, path("b.xml"))
        }
        let memory = failure { try document.saveAs(path("m"), type: .inMemory) }
        XCTAssertEqual(memory.status, .invalidArgument)
        XCTAssertEqual(memory.code, CocoaCode.persistentStoreInvalidType.rawValue)
        try add("b", to: document)
        try document.saveAs(path("a.xml"), replaces: true)
        XCTAssertEqual(document.path, path("a.xml"))
        XCTAssertEqual(try names(path("a.xml")), ["a", "b"])
        XCTAssertEqual(try names(path("b.xml")), ["a"])
        try document.close()
        XCTAssertEqual(failure { try document.saveAs(path("c.xml")) }.status, .invalidHandle)
        XCTAssertEqual(failure { try document.revert() }.status, .invalidHandle)
        try document.close()
    }

    /// The temporary folder of an untitled document is private to the user and is removed with the document.
    func testUntitledDocumentHasAPrivateTemporaryFolder() throws {
        let former = getenv("TMPDIR").map { String(cString: $0) }
        defer { if let former { setenv("TMPDIR", former, 1) } else { unsetenv("TMPDIR") } }
        setenv("TMPDIR", folder, 1)
        let document = try Document(model: model())
        let names = try FileManager.default.contentsOfDirectory(atPath: folder)
        XCTAssertEqual(names.count, 1)
        XCTAssertTrue(names[0].hasPrefix("corestone-document-"))
        var facts = stat()
        XCTAssertEqual(stat(path(names[0]), &facts), 0)
        XCTAssertEqual(facts.st_mode & 0o777, 0o700)
        XCTAssertEqual(document.store.path, path(names[0]) + "/Untitled")
        try document.close()
        XCTAssertEqual(try FileManager.default.contentsOfDirectory(atPath: folder), [])
        setenv("TMPDIR", path("none"), 1)
        let error = failure { _ = try Document(model: model()) }
        XCTAssertEqual(error.status, .storeIO)
        XCTAssertEqual(error.code, CocoaCode.persistentStoreOpen.rawValue)
        XCTAssertTrue(error.file?.hasPrefix(path("none/corestone-document-")) == true)
    }
}
