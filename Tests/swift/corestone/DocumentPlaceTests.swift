import Corestone
import XCTest

/// The paths where documents are saved: existing files, and files that were removed.
final class DocumentPlaceTests: XCTestCase {
    private var folder = ""
    private static let types: [StoreType] = [.sqlite, .xml, .binary]

    override func setUpWithError() throws {
        folder = FileManager.default.temporaryDirectory.path + "/" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }

    override func tearDownWithError() throws { try FileManager.default.removeItem(atPath: folder) }

    private func path(_ name: String) -> String { folder + "/" + name }

    private func model(_ change: (Entity) throws -> Void = { _ in }) throws -> Model {
        let model = Model()
        let item = try model.addEntity(named: "Item")
        try item.addAttribute(named: "name", type: .string, isOptional: false)
        try change(item)
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

    private func add(_ name: String, to document: Document) throws {
        try document.context.performAndWait { _ = try $0.insert("Item", ["name": name]) }
    }

    private func make(_ name: String, _ type: StoreType, _ item: String) throws -> String {
        let document = try Document(model: model(), type: type)
        try add(item, to: document)
        try document.saveAs(path(name))
        try document.close()
        return path(name)
    }

    private func bytes(_ path: String) throws -> Data { try Data(contentsOf: URL(fileURLWithPath: path)) }

    /// The names of the files in the folder.
    private var entries: [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).sorted().filter {
            !$0.hasSuffix("-wal") && !$0.hasSuffix("-shm")
        }
    }

    func testFileThatIsNotAStoreIsNotReplaced() throws {
        for type in DocumentPlaceTests.types {
            for wanted in DocumentPlaceTests.types {
                let document = try Document(model: model(), type: type)
                try add("a", to: document)
                for (name, content) in [("thesis", "my thesis\n"), ("short", "x"), ("data", "bplist00 and more")] {
                    try Data(content.utf8).write(to: URL(fileURLWithPath: path(name)))
                    let error = failure { try document.saveAs(path(name), type: wanted, replaces: true) }
                    XCTAssertEqual(error.status, .notAStore, "\(type) \(wanted) \(name) \(error.message)")
                    XCTAssert(error.message.hasSuffix("Choose another path, or remove the file first"))
                    XCTAssertEqual(try bytes(path(name)), Data(content.utf8))
                }
                XCTAssertEqual(document.type, type)
                XCTAssertEqual(document.state, [.untitled, .edited])
                XCTAssertEqual(try names(document), ["a"])
                try document.close(.discard)
            }
            // A store of another type is not replaced.
            let other = try make("other", type == .xml ? .binary : .xml, "precious")
            let before = try bytes(other)
            let document = try Document(model: model(), type: type)
            XCTAssertEqual(failure { try document.saveAs(other, replaces: true) }.status, .unsupported, "\(type)")
            XCTAssertEqual(try bytes(other), before)
            try document.close(.discard)
            try FileManager.default.removeItem(atPath: other)
        }
        XCTAssertEqual(entries, ["data", "short", "thesis"])
    }

    func testEmptyFileIsReplaced() throws {
        for type in DocumentPlaceTests.types {
            for wanted in DocumentPlaceTests.types {
                let file = path("\(type.rawValue) \(wanted.rawValue)")
                try Data().write(to: URL(fileURLWithPath: file))
                let document = try Document(model: model(), type: type)
                try add("a", to: document)
                XCTAssertEqual(failure { try document.saveAs(file, type: wanted) }.status, .invalidArgument)
                try document.saveAs(file, type: wanted, replaces: true)
                try add("b", to: document)
                try document.close(.save)
                XCTAssertEqual(try names(file), ["a", "b"], "\(type) \(wanted)")
            }
        }
        XCTAssertEqual(entries.count, 9)
    }

    func testStoreIsReplacedOnlyIfTheSaveSucceeds() throws {
        for type in DocumentPlaceTests.types {
            for wanted in DocumentPlaceTests.types {
                let target = try make("target", wanted, "precious")
                let before = try bytes(target)
                let own = try make("own", type, "a")
                let document = try Document.open(own, model: model())
                // Invalid changes.
                try document.context.performAndWait { _ = try $0.insert("Item") }
                XCTAssertEqual(
                    failure { try document.saveAs(target, type: wanted, replaces: true) }.status, .validation)
                XCTAssertEqual(try bytes(target), before)
                try document.revert()
                // Changes that are in conflict with those of another document.
                try document.context.performAndWait { try $0.fetch("Item")[0].set("name", "mine") }
                let other = try Document.open(own, model: model())
                try other.context.performAndWait { try $0.fetch("Item")[0].set("name", "theirs") }
                try other.save()
                try other.close()
                // An atomic store is written as a whole, with the document's state. SQLite writes only the changes.
                if type == .sqlite {
                    XCTAssertEqual(
                        failure { try document.saveAs(target, type: wanted, replaces: true) }.status, .conflict)
                    XCTAssertEqual(document.path, own)
                    XCTAssert(try document.hasUnsavedChanges())
                }
                XCTAssertEqual(try bytes(target), before, "\(type) \(wanted)")
                XCTAssertEqual(try names(own), ["theirs"])
                // Without a conflict the save succeeds.
                try document.revert()
                try add("b", to: document)
                try document.saveAs(target, type: wanted, replaces: true)
                XCTAssertEqual(document.path, target)
                XCTAssertEqual(document.state, [])
                try add("c", to: document)
                try document.close(.save)
                XCTAssertEqual(try names(target), ["b", "c", "theirs"], "\(type) \(wanted)")
                XCTAssertEqual(try names(own), ["theirs"])
                XCTAssertEqual(entries, ["own", "target"])
                for file in ["own", "target"] { try FileManager.default.removeItem(atPath: path(file)) }
            }
        }
    }

    /// A model that the new store type does not support is rejected before any file changes.
    func testSavingAsATypeThatDoesNotSupportTheModelChangesNothing() throws {
        let model = try model {
            try $0.addAttribute(named: "loud", type: .string).setDerivation(
                Derivation(ExpressionText("uppercase:(name)")))
        }
        let target = try make("target", .xml, "precious")
        let before = try bytes(target)
        let document = try Document(model: model)
        try add("a", to: document)
        for file in [target, path("new")] {
            XCTAssertEqual(failure { try document.saveAs(file, type: .xml, replaces: true) }.status, .unsupported)
        }
        XCTAssertEqual(try bytes(target), before)
        try document.saveAs(path("own"))
        try add("b", to: document)
        XCTAssertEqual(failure { try document.saveAs(target, type: .xml, replaces: true) }.status, .unsupported)
        XCTAssertEqual(document.path, path("own"))
        XCTAssertEqual(document.state, .edited)
        try document.close(.discard)
        XCTAssertEqual(try bytes(target), before)
        XCTAssertEqual(entries, ["own", "target"])
    }

    func testLockedStoreIsNotReplaced() throws {
        for type in DocumentPlaceTests.types {
            let target = try make("target", type, "precious")
            let before = try bytes(target)
            let lock = try Lock(target, type)
            for from in DocumentPlaceTests.types {
                let own = try make("own", from, "a")
                var options = StoreOptions()
                options.busyTimeoutMilliseconds = 50
                let document = try Document.open(own, model: model(), options: options)
                try add("b", to: document)
                XCTAssertEqual(
                    failure { try document.saveAs(target, type: type, replaces: true) }.status, .storeBusy,
                    "\(from) \(type)")
                XCTAssertEqual(document.path, own)
                XCTAssertEqual(document.state, .edited)
                try document.close(.save)
                XCTAssertEqual(try names(own), ["a", "b"])
                try FileManager.default.removeItem(atPath: own)
            }
            lock.end()
            XCTAssertEqual(try bytes(target), before)
            XCTAssertEqual(try names(target), ["precious"])
            try FileManager.default.removeItem(atPath: target)
        }
    }

    func testSavingToASymbolicLinkKeepsTheLink() throws {
        for type in DocumentPlaceTests.types {
            for wanted in DocumentPlaceTests.types {
                let real = try make("real", wanted, "former")
                try FileManager.default.createSymbolicLink(atPath: path("link"), withDestinationPath: real)
                let document = try Document(model: model(), type: type)
                try add("a", to: document)
                try document.saveAs(path("link"), type: wanted, replaces: true)
                XCTAssertEqual(
                    failure { try document.saveAs(real, replaces: true) }.status, .invalidArgument)
                try add("b", to: document)
                try document.close(.save)
                XCTAssertEqual(try FileManager.default.destinationOfSymbolicLink(atPath: path("link")), real)
                XCTAssertEqual(try names(real), ["a", "b"], "\(type) \(wanted)")
                for name in ["link", "real"] { try FileManager.default.removeItem(atPath: path(name)) }
            }
            try FileManager.default.createSymbolicLink(atPath: path("link"), withDestinationPath: path("nowhere"))
            let document = try Document(model: model(), type: type)
            XCTAssertEqual(failure { try document.saveAs(path("link"), replaces: true) }.status, .invalidArgument)
            XCTAssertEqual(try FileManager.default.destinationOfSymbolicLink(atPath: path("link")), path("nowhere"))
            try document.close()
            try FileManager.default.removeItem(atPath: path("link"))
        }
        let own = try make("own", .xml, "a")
        try FileManager.default.linkItem(atPath: own, toPath: path("hard"))
        let document = try Document.open(own, model: model())
        XCTAssertEqual(failure { try document.saveAs(path("hard"), replaces: true) }.status, .invalidArgument)
        try document.close()
    }

    /// The save fails after all objects were copied.
    func testFailedSaveAsKeepsTheChangesInTheDocument() throws {
        // The name is too long for the temporary file of a store of this type.
        let name = String(repeating: "n", count: 250)
        let document = try Document.open(make("own", .sqlite, "a"), model: model())
        try add("b", to: document)
        _ = failure { try document.saveAs(path(name), type: .xml) }
        XCTAssertEqual(try names(document), ["a", "b"])
        XCTAssert(try document.hasUnsavedChanges())
        XCTAssertEqual(entries, ["own"])
        try document.saveAs(path("other"), type: .xml)
        try document.close()
        XCTAssertEqual(try names(path("own")), ["a"])
        XCTAssertEqual(try names(path("other")), ["a", "b"])
    }

    // MARK: Files that other processes removed or replaced

    private func replace(_ file: String, by other: String) throws {
        for ending in ["-wal", "-shm"] { unlink(file + ending) }
        XCTAssertEqual(rename(other, file), 0)
    }

    func testSaveFailsWhenTheFileWasRemoved() throws {
        for type in DocumentPlaceTests.types {
            let own = try make("own", type, "a")
            let document = try Document.open(own, model: model())
            XCTAssertEqual(try names(document), ["a"])
            for ending in ["", "-wal", "-shm"] { unlink(own + ending) }
            XCTAssert(document.state.contains(.changedOnDisk))
            try add("b", to: document)
            let error = failure { try document.save() }
            XCTAssertEqual(error.status, .storeIO)
            XCTAssert(error.message.contains("no longer exists"), error.message)
            XCTAssert(document.state.isSuperset(of: [.edited, .failed]))
            XCTAssertEqual(failure { try document.revert() }.status, .storeIO)
            XCTAssert(try document.hasUnsavedChanges())
            // All objects are still in the document.
            try document.saveAs(path("new"))
            XCTAssertEqual(document.state, [])
            try document.close()
            XCTAssertEqual(try names(path("new")), ["a", "b"], "\(type)")
            try FileManager.default.removeItem(atPath: path("new"))
        }
    }

    func testRevertReadsAFileThatReplacedTheOriginal() throws {
        for type in DocumentPlaceTests.types {
            for isSame in [true, false] {
                let own = try make("own", type, "a")
                let document = try Document.open(own, model: model())
                XCTAssertEqual(try names(document), ["a"])
                if isSame {
                    let other = try Document.open(own, model: model())
                    try other.saveAs(path("newer"))
                    try add("theirs", to: other)
                    try other.close(.save)
                } else {
                    _ = try make("newer", type, "theirs")
                }
                try replace(own, by: path("newer"))
                XCTAssert(document.state.contains(.changedOnDisk))
                try add("b", to: document)
                if type == .sqlite || !isSame {
                    XCTAssertEqual(failure { try document.save() }.status, .storeIO, "\(type) \(isSame)")
                }
                XCTAssertEqual(try names(own), isSame ? ["a", "theirs"] : ["theirs"])
                try document.revert()
                XCTAssertEqual(document.state, [])
                XCTAssertEqual(document.path, own)
                XCTAssertEqual(try names(document), isSame ? ["a", "theirs"] : ["theirs"])
                try add("c", to: document)
                try document.save()
                XCTAssertEqual(try names(own), isSame ? ["a", "c", "theirs"] : ["c", "theirs"], "\(type) \(isSame)")
                try document.close()
                try FileManager.default.removeItem(atPath: own)
            }
        }
    }

    func testUnsavedChangesOfChildContextsCount() throws {
        let document = try Document(model: model())
        try document.saveAs(path("a"))
        let child = Corestone.Context(parent: document.context, queue: .privateQueue)
        XCTAssertFalse(try document.hasUnsavedChanges())
        try child.performAndWait { _ = try $0.insert("Item", ["name": "below"]) }
        XCTAssert(try document.hasUnsavedChanges())
        try child.performAndWait { try $0.save() }
        XCTAssert(try document.hasUnsavedChanges())
        try document.save()
        XCTAssertFalse(try document.hasUnsavedChanges())
        try document.close()
    }

    /// An SQLite store is overwritten in place, so other users of the store keep the same file open.
    func testStoreWithAnotherIdentifierIsNotWritten() throws {
        for type in DocumentPlaceTests.types {
            let victim = try Document.open(make("victim \(type)", type, "old"), model: model())
            let place = try XCTUnwrap(victim.path)
            let held = try victim.context.performAndWait { context in
                let item = try XCTUnwrap(context.fetch("Item").first)
                try item.set("name", "edited")
                return item
            }
            let mine = try Document(model: model(), type: type)
            try add("precious", to: mine)
            try mine.saveAs(place, replaces: true)
            let expected: (CoreError) -> Bool = { error in
                error.status == .storeIO && (error.message.contains("was replaced by another store") || type != .sqlite)
            }
            for _ in 0..<2 {
                let error = failure { try victim.save() }
                XCTAssert(expected(error), "\(type) \(error.message)")
                XCTAssertEqual(try names(place), ["precious"], "\(type)")
            }
            if type == .sqlite {
                let item = try XCTUnwrap(victim.coordinator.model.entities.first)
                let other = Corestone.Context(coordinator: victim.coordinator)
                let bodies: [() throws -> Void] = [
                    { _ = try other.performAndWait { try $0.fetch("Item") } },
                    { _ = try victim.coordinator.metadata(of: victim.store) },
                    {
                        try? victim.coordinator.setMetadata(["a": .string("b")], of: victim.store)
                        try victim.save()
                    },
                    { try victim.coordinator.optimize(victim.store) },
                    {
                        _ = try other.performAndWait {
                            try $0.execute(BatchDeleteRequest(fetchRequest: FetchRequest(entity: item)))
                        }
                    },
                    { try victim.saveAs(self.path("elsewhere")) },
                ]
                for (number, body) in bodies.enumerated() {
                    let error = failure { try body() }
                    XCTAssert(expected(error), "\(type) \(number) \(error.message)")
                }
                XCTAssertEqual(try names(place), ["precious"], "\(type)")
                XCTAssertNil(try StoreMetadata(ofStoreAt: place).applicationValues["a"])
            }
            XCTAssertEqual(try names(mine), ["precious"])
            try victim.revert()
            XCTAssertEqual(try names(victim), ["precious"], "\(type)")
            XCTAssertThrowsError(try victim.context.performAndWait { _ in try held.get("name") as String? })
            try add("of the former victim", to: victim)
            try victim.save()
            XCTAssertEqual(try names(mine), ["of the former victim", "precious"], "\(type)")
            try mine.close(.discard)
            try victim.close(.discard)
        }
    }

    func testSavingAsAnotherTypeFailsWhileChildrenHaveUnsavedChanges() throws {
        let document = try Document.open(make("a", .sqlite, "a"), model: model())
        let child = Corestone.Context(parent: document.context, queue: .privateQueue)
        child.name = "form"
        try child.performAndWait { try $0.fetch("Item").first?.set("name", "edited") }
        let error = failure { try document.saveAs(path("b"), type: .xml) }
        XCTAssertEqual(error.status, .unsavedChanges)
        XCTAssert(error.children.first?.message.contains("1 Item updated") == true, "\(error.children)")
        XCTAssertEqual(entries, ["a"])
        try child.performAndWait { try $0.save() }
        try document.saveAs(path("b"), type: .xml)
        XCTAssertEqual(try names(path("b")), ["edited"])
        try document.close()
    }

    func testRevertDiscardsChangesOfChildContexts() throws {
        for type in DocumentPlaceTests.types {
            let document = try Document.open(make("a \(type)", type, "a"), model: model())
            let child = Corestone.Context(parent: document.context, queue: .privateQueue)
            let grandchild = Corestone.Context(parent: child, queue: .privateQueue)
            for context in [child, grandchild] {
                try context.performAndWait {
                    _ = try $0.insert("Item", ["name": "new"])
                    try $0.fetch("Item").first?.set("name", "edited")
                }
            }
            try document.revert()
            XCTAssertFalse(try document.hasUnsavedChanges(), "\(type)")
            for context in [child, grandchild] {
                XCTAssertEqual(
                    try context.performAndWait { try $0.fetch("Item").compactMap { try $0.get("name") as String? } },
                    ["a"])
            }
            try document.close()
        }
    }

    func testReadOnlyDocumentIsWritableAfterSaveAs() throws {
        for type in DocumentPlaceTests.types {
            for (number, wanted) in (DocumentPlaceTests.types + [type]).enumerated() {
                let isReplaced = number == DocumentPlaceTests.types.count
                let document = try Document.open(
                    make("a \(type) \(number)", type, "a"), model: model(), options: .readOnly)
                try add("b", to: document)
                XCTAssertEqual(failure { try document.save() }.status, .storeReadOnly)
                let target = path("b \(type) \(number)")
                if isReplaced { _ = try make("b \(type) \(number)", type, "x") }
                try document.saveAs(target, type: wanted, replaces: isReplaced)
                XCTAssertEqual(document.state, [])
                XCTAssertEqual(try names(target), ["a", "b"], "\(type) \(wanted)")
                try add("c", to: document)
                try document.save()
                try document.revert()
                try add("d", to: document)
                try document.save()
                XCTAssertEqual(try names(target), ["a", "b", "c", "d"], "\(type) \(wanted)")
                XCTAssertEqual(try names(path("a \(type) \(number)")), ["a"])
                try document.close()
            }
        }
    }
}

/// Locks a store in another process.
private final class Lock {
    private let process = Process()
    private let input = Pipe()

    init(_ path: String, _ type: StoreType) throws {
        let code =
            type == .sqlite
            ? "import sqlite3; c = sqlite3.connect(sys.argv[1]); c.isolation_level = None; c.execute('BEGIN IMMEDIATE')"
            : "import fcntl; f = open(sys.argv[1]); fcntl.flock(f, fcntl.LOCK_EX)"
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [
            "python3", "-c", "import sys; \(code); print('locked', flush=True); sys.stdin.read()", path,
        ]
        (process.standardInput, process.standardOutput) = (input, output)
        try process.run()
        let told = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        XCTAssert(told.hasPrefix("locked"), told)
    }

    func end() {
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
    }
}
