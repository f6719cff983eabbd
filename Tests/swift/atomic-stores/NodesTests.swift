import CorestoneGraph
import CorestoneModel
import CorestoneValues
import XCTest

@testable import CorestoneAtomicStores

/// The parts of stores that are kept in memory as a whole.
///
/// These are rows by key, sets of keys, members, and the columns of a binary file.
final class NodesTests: XCTestCase {
    private var state: UInt64 = 42

    private func random(_ limit: Int) -> Int {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Int(state >> 33) % limit
    }

    // MARK: Keys

    func testKeySetMatchesASortedSetAfterRandomChanges() {
        var keys = KeySet(), wanted: Set<Int64> = []
        for step in 0..<5000 {
            // Mostly of few removals, then of many.
            let key = Int64(random(300))
            if wanted.contains(key) {
                keys.remove(key)
                wanted.remove(key)
            } else if step % 1000 < 600 || random(3) == 0 {
                keys.insert(key)
                wanted.insert(key)
            }
            XCTAssertEqual(keys.count, wanted.count)
            if step % 7 == 0 { XCTAssertEqual(keys.sorted(), wanted.sorted()) }
        }
    }

    func testKeyInsertedAgainAfterRemovalOccursOnce() {
        var keys = KeySet()
        for key: Int64 in [1, 2, 3] { keys.insert(key) }
        keys.remove(2)
        XCTAssertEqual(keys.count, 2)
        keys.insert(2)
        XCTAssertEqual(keys.count, 3)
        XCTAssertEqual(keys.sorted(), [1, 2, 3])
        keys.insert(0)
        XCTAssertEqual(keys.sorted(), [0, 1, 2, 3])
        keys.remove(3)
        keys.remove(0)
        XCTAssertEqual(keys.sorted(), [1, 2])
    }

    // MARK: Members

    /// Short lists, long ones, and a list that grows beyond 32 members and shrinks again.
    func testMemberListMatchesAnArrayAfterRandomChanges() {
        for most in [8, 33, 200] {
            var list = MemberList(), wanted: [Int64] = []
            for step in 0..<3000 {
                let key = Int64(random(most))
                if random(step % 500 < 250 ? 3 : 2) != 0 {
                    list.add(key)
                    if !wanted.contains(key) { wanted.append(key) }
                } else {
                    list.remove(key)
                    wanted.removeAll { $0 == key }
                }
                XCTAssertEqual(list.count, wanted.count)
                XCTAssertEqual(list.keys, wanted)
            }
        }
    }

    func testMemberAddedAgainAfterRemovalIsLast() {
        for count: Int64 in [3, 40] {
            var list = MemberList(Array(1...count))
            XCTAssertEqual(list.count, Int(count))
            list.add(2)
            XCTAssertEqual(list.keys, Array(1...count), "a member is added once")
            list.remove(2)
            list.remove(count + 1)
            XCTAssertEqual(list.count, Int(count) - 1)
            list.add(2)
            XCTAssertEqual(list.keys, [1] + Array(3...count) + [2])
            XCTAssertEqual(list.count, Int(count))
        }
    }

    // MARK: Rows

    private func model() throws -> Model {
        let model = Model()
        let book = try model.addEntity(named: "Book")
        try model.addEntity(named: "Novel").setParent(book)
        try book.addAttribute(named: "title", type: .string)
        try book.addAttribute(named: "pages", type: .integer16)
        try book.addUniqueConstraint(["title", "pages"])
        try model.addEntity(named: "Author")
        try model.freeze()
        return model
    }

    private func record(_ entity: Entity, _ key: Int64, _ title: String? = nil, _ pages: Int64? = nil) -> Node {
        var writer = RecordWriter()
        writer.begin(primaryKey: key, version: 1, entity: entity)
        for (name, value) in [("title", title.map { PropertyValue.string($0) }), ("pages", pages.map { .int($0) })] {
            guard let value, let property = entity.property(named: name) else { continue }
            writer.set(ValueView(value), Int(property.slot), entity.layout.slots[Int(property.slot)])
            withExtendedLifetime(value) {}
        }
        let record = writer.finish()
        return withExtendedLifetime(writer.chunks) { Node(record) }
    }

    func testNodeTreeReturnsRowsInKeyOrder() throws {
        let entity = try XCTUnwrap(model().entity(named: "Book"))
        let tree = NodeTree()
        var wanted: Set<Int64> = []
        func keys(until most: Int = .max) -> [Int64] {
            var found: [Int64] = []
            tree.forEach {
                found.append($0.primaryKey)
                return found.count < most
            }
            return found
        }
        // The limits of blocks, a later block that is created first, and one between.
        for key: Int64 in [15, 16, 17, 1 << 40, 1, 32, 31, 500] {
            XCTAssertNil(tree.put(record(entity, key), at: key))
            wanted.insert(key)
            XCTAssertEqual(keys(), wanted.sorted())
        }
        XCTAssertEqual(tree.count, 8)
        XCTAssertEqual(tree.lastKey, 1 << 40)
        XCTAssertEqual(keys(until: 3), [1, 15, 16])
        XCTAssertEqual(tree[17]?.record.primaryKey, 17)
        XCTAssertNil(tree[18])
        XCTAssertNil(tree[1000])
        // A row that replaces another one.
        let former = tree.put(record(entity, 17, "x"), at: 17)
        XCTAssertEqual(former?.record.primaryKey, 17)
        withExtendedLifetime(former) {}
        XCTAssertEqual(tree.count, 8)
        // A row is removed once; the highest key stays reserved.
        let gone = tree.put(nil, at: 1 << 40)
        XCTAssertEqual(gone?.record.primaryKey, 1 << 40)
        withExtendedLifetime(gone) {}
        XCTAssertNil(tree.put(nil, at: 1 << 40))
        XCTAssertNil(tree.put(nil, at: 18))
        XCTAssertNotNil(tree.put(nil, at: 16))
        XCTAssertEqual(keys(), [1, 15, 17, 31, 32, 500])
        XCTAssertEqual(tree.count, 6)
        XCTAssertEqual(tree.lastKey, 1 << 40)
        // A block that is created again.
        XCTAssertNil(tree.put(record(entity, 600), at: 600))
        for key: Int64 in [500, 600] { XCTAssertNotNil(tree.put(nil, at: key)) }
        XCTAssertNil(tree.put(record(entity, 501), at: 501))
        XCTAssertEqual(keys(), [1, 15, 17, 31, 32, 501])
    }

    func testRowsOfAnEntityExcludeThoseOfSubentities() throws {
        let model = try model()
        let nodes = Nodes(model)
        let (book, novel) = (model.entities[0], model.entities[1])
        for (key, entity) in [(1, book), (2, novel), (3, book)] as [(Int64, Entity)] {
            let node = record(entity, key, "t\(key)", 1)
            try nodes.put(node.record) { _, _ in CoreError(.internal, "") }
        }
        XCTAssertEqual(nodes.rows(of: book).map(\.record.primaryKey), [1, 3])
        XCTAssertEqual(nodes.rows(of: novel).map(\.record.primaryKey), [2])
        XCTAssertEqual(nodes.keys(of: book), [1, 2, 3])
        XCTAssertEqual(nodes.keys(of: model.entities[2]), [])
        XCTAssertEqual(
            nodes.recordBytes,
            nodes.keys(of: book).reduce(0) { sum, key in
                sum + Int(nodes.node(book, key)?.record.header.pointee.size ?? 0)
            })
    }

    func testUniqueConstraintComparesAllItsValues() throws {
        let model = try model()
        let nodes = Nodes(model)
        let (book, novel) = (model.entities[0], model.entities[1])
        var refused: [[PropertyValue]] = []
        func put(_ entity: Entity, _ key: Int64, _ title: String?, _ pages: Int64?) throws {
            let node = record(entity, key, title, pages)
            try nodes.put(node.record) { properties, values in
                XCTAssertEqual(properties.map(\.name), ["title", "pages"])
                refused.append(values)
                return CoreError(.conflict, "taken")
            }
        }
        try put(book, 1, "a", 1)
        try put(book, 2, "a", 2)
        try put(book, 3, "b", 1)
        for key: Int64 in [4, 5] { try put(book, key, "a", nil) }
        for key: Int64 in [6, 7] { try put(book, key, nil, 1) }
        XCTAssertThrowsError(try put(novel, 8, "a", 2))
        XCTAssertEqual(refused, [[.string("a"), .int(2)]])
        XCTAssertNil(nodes.node(book, 8))
        // A row does not conflict with its own values, and its former values are free for other rows.
        try put(book, 2, "a", 2)
        try put(book, 2, "a", 3)
        try put(novel, 8, "a", 2)
        nodes.remove(book, 3)
        try put(novel, 9, "b", 1)
        XCTAssertEqual(nodes.keys(of: book), [1, 2, 4, 5, 6, 7, 8, 9])
    }

    func testRollbackRestoresRowsAndUniqueValues() throws {
        let model = try model()
        let nodes = Nodes(model)
        let book = model.entities[0]
        func put(_ key: Int64, _ title: String) throws {
            let node = record(book, key, title, 1)
            try nodes.put(node.record) { _, _ in CoreError(.conflict, "taken") }
        }
        func titles() -> [PropertyValue] {
            nodes.keys(of: book).compactMap { key in
                let slot = Int(book.property(named: "title")?.slot ?? 0)
                return nodes.node(book, key)?.record.view(slot, book.layout.slots[slot]).propertyValue
            }
        }
        try put(1, "a")
        try put(2, "b")
        XCTAssertFalse(nodes.isChanging)
        nodes.begin()
        XCTAssertTrue(nodes.isChanging)
        XCTAssertFalse(nodes.hasChanges)
        XCTAssertFalse(nodes.commit(), "nothing was changed")
        XCTAssertFalse(nodes.isChanging)
        nodes.begin()
        try put(1, "c")
        try put(1, "d")
        nodes.remove(book, 2)
        try put(3, "b")
        XCTAssertTrue(nodes.hasChanges)
        nodes.rollBack()
        XCTAssertFalse(nodes.isChanging)
        XCTAssertFalse(nodes.hasChanges)
        XCTAssertEqual(titles(), [.string("a"), .string("b")])
        // So are the values that are unique.
        XCTAssertThrowsError(try put(4, "b"))
        try put(4, "d")
        nodes.begin()
        nodes.remove(book, 4)
        XCTAssertTrue(nodes.commit())
        nodes.rollBack()
        XCTAssertEqual(titles(), [.string("a"), .string("b")], "committed rows stay")
    }

    func testReservedKeysAreIssuedOnce() throws {
        let model = try model()
        let (book, author) = (model.entities[0], model.entities[2])
        let nodes = Nodes(model)
        XCTAssertEqual(nodes.reserveKeys(of: book, count: 3), 1)
        XCTAssertEqual(nodes.reserveKeys(of: book, count: 1), 4)
        XCTAssertEqual(nodes.reserveKeys(of: author, count: 1), 1)
        nodes.reserveKeys(of: book, upTo: 2)
        XCTAssertEqual(nodes.lastKey(of: book), 4)
        nodes.reserveKeys(of: book, upTo: 10)
        XCTAssertEqual(nodes.reserveKeys(of: book, count: 2), 11)
        XCTAssertEqual(nodes.lastSharedKey, 0)
        nodes.reserveKeys(of: book, upTo: .max - 2)
        XCTAssertEqual(nodes.reserveKeys(of: book, count: 1), Int64.max - 1)
        for count in [1, 2] { XCTAssertNil(nodes.reserveKeys(of: book, count: count)) }
        let shared = Nodes(model, lastSharedKey: 101)
        XCTAssertEqual(shared.reserveKeys(of: book, count: 2), 102)
        XCTAssertEqual(shared.reserveKeys(of: author, count: 1), 104)
        shared.reserveKeys(of: book, upTo: 50)
        XCTAssertEqual(shared.lastSharedKey, 104)
        XCTAssertEqual(shared.lastKey(of: author), 104)
    }

    func testErrorNamesTheStoreWithoutUnusedKeys() throws {
        let model = try model()
        let book = model.entities[0]
        let store = NodeStore.inMemory(
            model, StoreMetadata(model: model, type: .inMemory), type: .inMemory, path: "shelf")
        store.nodes.reserveKeys(of: book, upTo: .max - 1)
        XCTAssertThrowsError(try store.reservePrimaryKeys(of: book, count: 1)) {
            let error = $0 as? CoreError
            XCTAssertEqual(error?.status, .storeCorrupt)
            XCTAssertEqual(error?.code, CocoaCode.persistentStoreSave.rawValue)
            XCTAssertEqual(error?.entity, "Book")
            XCTAssertEqual(error?.file, "shelf")
            XCTAssertEqual(
                error?.message,
                "shelf has too few unused primary keys for 1 new Book object: the highest key is \(Int64.max - 1); "
                    + "insert the objects into a new store, added with cst_coordinator_add_store (add_store, addStore)")
        }
    }

    // MARK: Files

    func testErrorOfABackupThatIsAFolderHasNoRemedy() throws {
        let folder = NSTemporaryDirectory() + "corestone-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        XCTAssertThrowsError(try AtomicKind.all[0].removeCopy(at: folder, besides: [])) {
            let error = $0 as? CoreError
            XCTAssertEqual(error?.status, .storeIO)
            XCTAssertEqual(error?.message, "cannot remove the backup \(folder): Is a directory")
            XCTAssertEqual(error?.file, folder)
        }
    }

    // MARK: Binary files

    func testPackedNumbersAreLittleEndian() throws {
        let numbers: [Int64] = [0, 1, -1, .max, .min, 0x0102_0304_0506_0708]
        let packed = PackedNumbers(numbers)
        XCTAssertEqual(Array(packed), numbers)
        XCTAssertEqual(Array(packed.bytes.suffix(8)), [8, 7, 6, 5, 4, 3, 2, 1])
        XCTAssertEqual(PackedNumbers.bytes(numbers), packed.bytes)
        XCTAssertEqual(PackedNumbers(.data(packed.bytes)).map { Array($0) }, numbers)
        XCTAssertEqual(PackedNumbers(.data([]))?.count, 0)
        XCTAssertNil(PackedNumbers(.data([0, 0, 0, 0, 0, 0, 0])))
        XCTAssertNil(PackedNumbers(.data([UInt8](repeating: 0, count: 9))))
        XCTAssertNil(PackedNumbers(.string("12345678")))
        XCTAssertNil(PackedNumbers(nil))
    }

    func testColumnTypesHaveTheirNamesAndWidths() {
        let all: [(BinaryColumnType, String, Int?)] = [
            (.bool, "bool", 1), (.int16, "int16", 2), (.int32, "int32", 4), (.int64, "int64", 8),
            (.double, "double", 8), (.date, "date", 8), (.uuid, "uuid", 16), (.decimal, "decimal", 18),
            (.text, "text", nil), (.uri, "uri", nil), (.bytes, "bytes", nil), (.object, "object", 12),
        ]
        for (type, name, width) in all {
            XCTAssertEqual(type.rawValue, name)
            XCTAssertEqual(type.width, width, name)
            XCTAssertEqual(type.isInteger, ["int16", "int32", "int64"].contains(name), name)
        }
    }

    /// A column of more than eight rows, with and without values.
    func testColumnRoundTripsValuesAndNulls() throws {
        let entity = try XCTUnwrap(model().entity(named: "Book"))
        let titles: [String?] = ["a", nil, "", "dé", nil, "f", "g", "h", nil, "last"]
        let nodes = titles.enumerated().map { place, title in
            record(entity, Int64(place + 1), title, title == nil ? Int64(-place) : nil)
        }
        let title = try XCTUnwrap(entity.property(named: "title")),
            pages = try XCTUnwrap(entity.property(named: "pages"))
        func column(_ type: BinaryColumnType, _ property: Property) throws -> BinaryColumn {
            let slot = Int(property.slot)
            let written = BinaryColumn(type, of: nodes, slot, entity.layout.slots[slot]).propertyList
            XCTAssertEqual(BinaryColumn.type(of: written), type)
            XCTAssertTrue(BinaryColumn.hasValues(written))
            XCTAssertNil(BinaryColumn(written, rows: 9))
            XCTAssertNil(BinaryColumn(written, rows: 11))
            return try XCTUnwrap(BinaryColumn(written, rows: 10))
        }
        let text = try column(.text, title)
        XCTAssertEqual((0..<10).map(text.isPresent), titles.map { $0 != nil })
        XCTAssertEqual(text.withView(0) { $0.propertyValue }, .string("a"))
        XCTAssertEqual(text.withView(2) { $0.propertyValue }, .string(""))
        XCTAssertEqual(text.withView(3) { $0.propertyValue }, .string("dé"))
        XCTAssertEqual(text.withView(9) { $0.propertyValue }, .string("last"))
        XCTAssertNil(text.firstUnsound())
        let numbers = try column(.int16, pages)
        XCTAssertEqual((0..<10).map(numbers.isPresent), titles.map { $0 == nil })
        XCTAssertEqual(numbers.withView(1) { $0.propertyValue }, .int(-1))
        XCTAssertEqual(numbers.withView(8) { $0.propertyValue }, .int(-8))
    }

    func testInvalidUTF8InAColumnIsFound() throws {
        func column(_ type: String, _ bytes: [UInt8], _ ends: [Int64], present: UInt8) throws -> BinaryColumn? {
            BinaryColumn(
                .dictionary([
                    "type": .string(type), "present": .data([present]), "values": .data(bytes),
                    "ends": .data(PackedNumbers.bytes(ends)),
                ]), rows: ends.count)
        }
        let bytes: [UInt8] = [0x61, 0xFF, 0x62]
        XCTAssertEqual(try column("text", bytes, [1, 2, 3], present: 7)?.firstUnsound(), 1)
        XCTAssertEqual(try column("uri", bytes, [1, 1, 3], present: 7)?.firstUnsound(), 2)
        XCTAssertNil(try XCTUnwrap(column("text", bytes, [1, 2, 3], present: 5)).firstUnsound(), "it has no value")
        XCTAssertNil(try XCTUnwrap(column("bytes", bytes, [1, 2, 3], present: 7)).firstUnsound())
        // Ends that decrease, that are beyond the values, or that are negative.
        XCTAssertNil(try column("text", bytes, [2, 1, 3], present: 7))
        XCTAssertNil(try column("text", bytes, [1, 2, 4], present: 7))
        XCTAssertNil(try column("text", bytes, [-1, 2, 3], present: 7))
        XCTAssertNil(try column("words", bytes, [1, 2, 3], present: 7))
        XCTAssertFalse(BinaryColumn.hasValues(.dictionary(["present": .data([0, 0])])))
        XCTAssertTrue(BinaryColumn.hasValues(.dictionary(["present": .data([0, 1])])))
        XCTAssertTrue(BinaryColumn.hasValues(.dictionary([:])), "a column without a bitmap counts as filled")
    }

    // MARK: Content outside the model, and writes of other processes

    func testReadOnlyReasonListsEachUnknownNameOnce() {
        let skipped = SkippedContent()
        XCTAssertNil(skipped.readOnlyReason)
        skipped.add("Book", "title")
        let end =
            "; migrate the store with CST_STORE_MIGRATE (migrate, corestone migrate), or use a model that has this "
            + "content"
        let single = ", which the model does not have" + end
        XCTAssertEqual(skipped.readOnlyReason, "a save would lose values of Book.title" + single)
        skipped.add("Book", "title")
        XCTAssertEqual(skipped.readOnlyReason, "a save would lose values of Book.title" + single)
        skipped.add("Novel")
        XCTAssertEqual(
            skipped.readOnlyReason,
            "a save would lose values of Book.title and of 1 more unknown entity or property" + end)
        skipped.add("Book", "pages")
        XCTAssertEqual(
            skipped.readOnlyReason,
            "a save would lose values of Book.title and of 2 more unknown entities or properties" + end)
        let objects = SkippedContent()
        objects.add("Novel")
        XCTAssertEqual(objects.readOnlyReason, "a save would lose objects of Novel" + single)
    }

    func testForeignWriteIsReportedOnce() throws {
        let path = NSTemporaryDirectory() + "corestone-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: path) }
        func state(_ text: String) throws -> FileState {
            try text.write(toFile: path, atomically: true, encoding: .utf8)
            return try XCTUnwrap(FileState(path))
        }
        XCTAssertNil(FileState(path))
        let (first, second, third, fourth) = (try state("1"), try state("22"), try state("333"), try state("4444"))
        XCTAssertEqual([first.size, fourth.size], [1, 4])
        XCTAssertEqual(fourth, FileState(path))
        XCTAssertNotEqual(third, fourth)
        var observedStates = ObservedFileStates()
        observedStates.note(first)
        observedStates.begin()
        XCTAssertFalse(observedStates.isForeignWrite(first))
        XCTAssertTrue(observedStates.isForeignWrite(second))
        XCTAssertFalse(observedStates.isForeignWrite(second))
        // States that the store wrote itself, and former ones, are not reported.
        observedStates.note(third)
        XCTAssertFalse(observedStates.isForeignWrite(third))
        XCTAssertFalse(observedStates.isForeignWrite(first))
        // Changes that the store read before its watcher did are reported once.
        observedStates.note(fourth)
        observedStates.noteAdopted()
        XCTAssertTrue(observedStates.isForeignWrite(fourth))
        XCTAssertFalse(observedStates.isForeignWrite(fourth))
        observedStates.noteAdopted()
        XCTAssertFalse(observedStates.isForeignWrite(fourth), "the state was reported before")
        observedStates.note(second)
        observedStates.noteAdopted()
        observedStates.begin()
        XCTAssertFalse(observedStates.isForeignWrite(second), "a new watch starts from the known state")
    }
}
