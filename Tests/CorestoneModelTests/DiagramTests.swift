import CorestoneModel
import XCTest

/// Pictures of models, as the text that Graphviz draws.
final class DiagramTests: XCTestCase {
    private func lines(_ model: Model) -> [String] {
        model.diagram.split(separator: "\n").map { $0.drop { $0 == " " } }.map(String.init)
    }

    func testAnInversePairIsOneLineWithAHeadAtEachEnd() throws {
        let model = Model()
        let (note, tag) = (try model.addEntity(named: "Note"), try model.addEntity(named: "Tag"))
        try note.addAttribute(named: "title", type: .string, isOptional: false)
        let main = try note.addRelationship(named: "mainTag", destination: tag)
        let tags = try note.addRelationship(named: "tags", destination: tag, isToMany: true)
        let notes = try tag.addRelationship(named: "notes", destination: note, isToMany: true, isOrdered: true)
        try notes.setInverse(tags)
        let lines = lines(model)
        XCTAssertEqual(
            lines.filter { $0.hasPrefix("\"Note\":") || $0.hasPrefix("\"Tag\":") },
            [
                "\"Note\":r0 -> \"Tag\" [arrowhead=normal]",
                "\"Note\":r1 -> \"Tag\":r0 [arrowhead=normalnormal, arrowtail=normalnormal, dir=both]",
            ])
        XCTAssertNil(main.inverse)
        let cells = model.diagram
        for text in [">title<", "String<", "Tag 0..1<", "Tag *<", "Note * ordered<"] {
            XCTAssertTrue(cells.contains(text), text)
        }
    }

    func testALineWithinOneBoxTurnsAroundAtAPointOfItsOwn() throws {
        let model = Model()
        let person = try model.addEntity(named: "Person")
        let friends = try person.addRelationship(named: "friends", destination: person, isToMany: true)
        try friends.setInverse(friends)
        let parent = try person.addRelationship(named: "parent", destination: person)
        let children = try person.addRelationship(named: "children", destination: person, isToMany: true)
        try parent.setInverse(children)
        XCTAssertEqual(
            lines(model).filter { $0.contains(" -> ") },
            [
                "\"Person\":r0:e -> \"Person.friends\":s [arrowtail=normalnormal, dir=back]",
                "\"Person\":e -> \"Person.friends\":n [arrowtail=normalnormal, dir=back]",
                "\"Person\":r1:e -> \"Person.parent\":n [arrowtail=normalnormal, dir=back]",
                "\"Person\":r2:e -> \"Person.parent\":s [arrowtail=normal, dir=back]",
            ])
    }

    func testInheritanceAbstractEntitiesAndFetches() throws {
        let model = try SampleModels.everything()
        let lines = lines(model)
        let heads = lines.filter { $0.contains("arrowtail=onormal") }
        XCTAssertEqual(heads.count, 1)
        XCTAssertTrue(heads[0].hasPrefix("\"Item\":title -> \"Item heirs\" ["))
        for child in ["note", "Photo"] {
            XCTAssertTrue(lines.contains { $0.hasPrefix("\"Item heirs\" -> \"\(child)\":title [") }, child)
        }
        XCTAssertEqual(lines.filter { $0.contains(">abstract<") }.count, model.entities.filter(\.isAbstract).count)
        let fetches = model.entities.reduce(0) { $0 + $1.ownFetchedProperties.count }
        XCTAssertGreaterThan(fetches, 0)
        XCTAssertEqual(lines.filter { $0.contains("style=dashed") }.count, fetches)
        XCTAssertEqual(model.diagram, try SampleModels.everything().diagram)
    }

    func testTextIsEscaped() throws {
        let model = Model()
        let entity = try model.addEntity(named: "Note")
        try entity.addFetchedProperty(
            named: "odd", fetchRequest: FetchRequestTemplate(entityName: "<b>\"A\" & co</b>"))
        XCTAssertTrue(model.diagram.contains("&lt;b&gt;&quot;A&quot; &amp; co&lt;/b&gt;"))
        XCTAssertFalse(model.diagram.contains("<b>\"A\""))
    }
}
