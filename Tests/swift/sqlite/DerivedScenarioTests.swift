import CorestoneGraph
import CorestoneModel
import CorestoneValues
import XCTest

@testable import CorestoneSQLite

/// The scenarios of the area "derived", named by their IDs.
final class DerivedScenarioTests: StoreTestCase {
    private var author: Entity!
    private var article: Entity!

    private func context() throws -> Context {
        let model = Model()
        author = try model.addEntity(named: "Author")
        article = try model.addEntity(named: "Article")
        func derive(_ entity: Entity, _ name: String, _ type: AttributeType, _ expression: String) throws {
            try entity.addAttribute(named: name, type: type).setDerivation(Derivation(ExpressionText(expression)))
        }
        try author.addAttribute(named: "name", type: .string)
        try derive(author, "nameCopy", .string, "name")
        try derive(author, "nameCanonical", .string, "canonical:(name)")
        try derive(author, "articlesCount", .integer64, "articles.@count")
        try derive(author, "totalWords", .integer64, "articles.wordCount.@sum")
        try derive(author, "updatedAt", .date, "now()")
        try article.addAttribute(named: "title", type: .string)
        try article.addAttribute(named: "wordCount", type: .integer32)
        try derive(article, "titleUpper", .string, "uppercase:(title)")
        try derive(article, "authorName", .string, "author.name")
        let articles = try author.addRelationship(named: "articles", destination: article, isToMany: true)
        try articles.setInverse(article.addRelationship(named: "author", destination: author))
        let coordinator = try Coordinator(model: model)
        try coordinator.addSQLiteStore(at: path("a.sqlite"))
        return Context(coordinator: coordinator)
    }

    private func insert(_ context: Context) throws -> (author: ManagedObject, article: ManagedObject) {
        let writer = try context.insert(author)
        try writer.setValue(.string("Héllo Wörld"), forKey: "name")
        let text = try context.insert(article)
        try text.setValue(.string("Grand Café"), forKey: "title")
        try text.setValue(.int(12), forKey: "wordCount")
        try text.setValue(.object(writer), forKey: "author")
        return (writer, text)
    }

    func testS158DerivedCopiesAndTextFunctionsAreComputed() throws {
        let context = try context()
        let (writer, text) = try insert(context)
        try context.save()
        for isRefreshed in [false, true] {
            if isRefreshed { for object in [writer, text] { try context.refresh(object, mergeChanges: false) } }
            XCTAssertEqual(try writer.value(forKey: "nameCopy"), .string("Héllo Wörld"))
            XCTAssertEqual(try writer.value(forKey: "nameCanonical"), .string("hello world"))
            XCTAssertEqual(try text.value(forKey: "titleUpper"), .string("GRAND CAFÉ"))
            XCTAssertEqual(try text.value(forKey: "authorName"), .string("Héllo Wörld"))
        }
    }

    func testS161DerivedAttributesAreNullBeforeTheFirstSave() throws {
        let context = try context()
        let (writer, _) = try insert(context)
        try context.processPendingChanges()
        XCTAssertEqual(try writer.value(forKey: "articlesCount"), .null)
        XCTAssertEqual(try writer.value(forKey: "updatedAt"), .null)
        try context.save()
        XCTAssertEqual(try writer.value(forKey: "articlesCount"), .int(1))
        XCTAssertEqual(try writer.value(forKey: "totalWords"), .int(12))
        try context.refresh(writer, mergeChanges: false)
        XCTAssertEqual(try writer.value(forKey: "articlesCount"), .int(1))
    }

    /// Derived attributes use triggers, as Apple's do, because Apple's framework could not read generated columns.
    func testS167DerivedCopyIsMaintainedByTriggers() throws {
        let context = try context()
        _ = try insert(context)
        try context.save()
        let schema = try shell("a.sqlite", "SELECT group_concat(sql) FROM sqlite_master")
        XCTAssertFalse(schema.contains("GENERATED"))
        XCTAssert(schema.contains("CREATE TRIGGER Z_DA_ZAUTHOR_Author_nameCopy_SOURCE_UPDATE"), schema)
    }

    /// All affected rows are updated, including the former owner of a member.
    func testDerivedAttributesFollowRelationshipChanges() throws {
        let context = try context()
        let (writer, text) = try insert(context)
        let other = try context.insert(author)
        try other.setValue(.string("Ann"), forKey: "name")
        try context.save()
        XCTAssertEqual(try other.value(forKey: "articlesCount"), .int(0))
        try text.setValue(.object(other), forKey: "author")
        try text.setValue(.int(30), forKey: "wordCount")
        try context.save()
        XCTAssertEqual(try writer.value(forKey: "articlesCount"), .int(0))
        XCTAssertEqual(try writer.value(forKey: "totalWords"), .int(0))
        XCTAssertEqual(try other.value(forKey: "totalWords"), .int(30))
        XCTAssertEqual(try text.value(forKey: "authorName"), .string("Ann"))
        try other.setValue(.string("Bea"), forKey: "name")
        try context.save()
        XCTAssertEqual(try other.value(forKey: "nameCopy"), .string("Bea"))
        XCTAssertEqual(try text.value(forKey: "authorName"), .string("Bea"))
        try other.setValue(.null, forKey: "name")
        try context.delete(text)
        try context.save()
        XCTAssertEqual(try other.value(forKey: "articlesCount"), .int(0))
        XCTAssertEqual(try other.value(forKey: "nameCopy"), .null)
    }

    /// An unsuitable type, a filter and a path of three keys are rejected when the store is created.
    func testUnsupportedDerivationsAreRejected() throws {
        for (type, expression, filter) in [
            (AttributeType.integer64, "name", nil), (.string, "articles.@count", nil), (.date, "uppercase:(name)", nil),
            (.string, "articles.author.name", nil), (.integer64, "articles.@count", "wordCount > 3"),
            (.integer64, "articles.wordCount.@max", nil),
        ] {
            let model = Model()
            let author = try model.addEntity(named: "Author")
            let article = try model.addEntity(named: "Article")
            try author.addAttribute(named: "name", type: .string)
            try article.addAttribute(named: "wordCount", type: .integer32)
            let articles = try author.addRelationship(named: "articles", destination: article, isToMany: true)
            try articles.setInverse(article.addRelationship(named: "author", destination: author))
            try author.addAttribute(named: "out", type: type).setDerivation(
                Derivation(ExpressionText(expression), filter: filter.map { PredicateText($0) }))
            let coordinator = try Coordinator(model: model)
            let error = failure { try coordinator.addSQLiteStore(at: path("b.sqlite")) }
            XCTAssertEqual(error.status, .unsupported, expression)
            XCTAssertEqual([error.entity, error.key], ["Author", "out"], expression)
            XCTAssert(error.message.contains("to-many.@count"), error.message)
        }
    }
}
