import CorestoneModel
import CorestoneValues

/// Writers, their books and the tags of these, with derived attributes of every shape. Not frozen.
struct BookModel {
    let model = Model()
    let person: Entity
    let writer: Entity
    let book: Entity
    let tag: Entity

    /// - Parameter weight: the type of `Tag.weight`, and of the sum that `Book.tagWeight` derives from it.
    init(weight: AttributeType) throws {
        person = try model.addEntity(named: "Person")
        writer = try model.addEntity(named: "Writer")
        book = try model.addEntity(named: "Book")
        tag = try model.addEntity(named: "Tag")
        try writer.setParent(person)
        try person.addAttribute(named: "name", type: .string)
        try book.addAttribute(named: "pages", type: .integer32)
        try tag.addAttribute(named: "weight", type: weight)
        let books = try writer.addRelationship(named: "books", destination: book, isToMany: true)
        try books.setInverse(book.addRelationship(named: "author", destination: writer))
        let tags = try book.addRelationship(named: "tags", destination: tag, isToMany: true)
        try tags.setInverse(tag.addRelationship(named: "books", destination: book, isToMany: true))
        try derive(writer, "bookCount", .integer16, "books.@count")
        try derive(writer, "pageCount", .integer32, "books.pages.@sum")
        try derive(book, "tagCount", .integer16, "tags.@count")
        try derive(book, "tagWeight", weight, "tags.weight.@sum")
        try derive(book, "authorName", .string, "author.name")
        try derive(book, "changed", .date, "now()")
    }

    func derive(_ entity: Entity, _ name: String, _ type: AttributeType, _ expression: String) throws {
        try entity.addAttribute(named: name, type: type).setDerivation(Derivation(ExpressionText(expression)))
    }
}
