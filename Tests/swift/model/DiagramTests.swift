import CorestoneModel
import XCTest

/// Diagrams of models, as text for Graphviz.
final class DiagramTests: XCTestCase {
    private func lines(_ model: Model) -> [String] {
        model.diagram.split(separator: "\n").map { $0.drop { $0 == " " } }.map(String.init)
    }

    func testInversePairIsOneEdgeWithTwoHeads() throws {
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

    func testEdgeWithinOneEntityHasAnIntermediatePoint() throws {
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

    func testInheritanceAbstractEntitiesAndFetchedPropertiesAreDrawn() throws {
        let model = try SampleModels.everything()
        let lines = lines(model)
        let heads = lines.filter { $0.contains("arrowtail=onormal") }
        XCTAssertEqual(heads.count, 1)
        XCTAssertTrue(heads[0].hasPrefix("\"Item\":title -> \"Item subentities\" ["))
        for child in ["note", "Photo"] {
            XCTAssertTrue(lines.contains { $0.hasPrefix("\"Item subentities\" -> \"\(child)\":title [") }, child)
        }
        XCTAssertEqual(lines.filter { $0.contains(">abstract<") }.count, model.entities.filter(\.isAbstract).count)
        let fetches = model.entities.reduce(0) { $0 + $1.ownFetchedProperties.count }
        XCTAssertGreaterThan(fetches, 0)
        XCTAssertEqual(lines.filter { $0.contains("style=dashed") }.count, fetches)
        XCTAssertEqual(model.diagram, try SampleModels.everything().diagram)
    }

    func testEdgesShowTheCountsOfRelationships() throws {
        for (isOptional, minimum, maximum, text) in [
            (true, 0, 1, "0..1"), (false, 0, 1, "1"), (true, 1, 1, "1"), (true, 0, 0, "*"), (false, 0, 0, "1..*"),
            (true, 2, 0, "2..*"), (true, 0, 5, "0..5"), (false, 2, 5, "2..5"), (true, 3, 3, "3"),
            (true, 0, .max, "*"),
        ] as [(Bool, UInt32, UInt32, String)] {
            let model = Model()
            let entity = try model.addEntity(named: "E")
            try entity.addRelationship(named: "r", destination: entity, isToMany: maximum != 1, isOptional: isOptional)
                .setCounts(minimum: minimum, maximum: maximum)
            XCTAssertTrue(model.diagram.contains("\u{A0}\u{A0}E \(text)</font>"), "\(text) in \(model.diagram)")
        }
    }

    func testAttributesShowTypeAndOptionality() throws {
        let model = Model()
        let entity = try model.addEntity(named: "E")
        try entity.addAttribute(named: "a", type: .integer16, isOptional: false)
        try entity.addAttribute(named: "b", type: .date)
        try entity.addAttribute(named: "c", type: .string, isTransient: true)
        try entity.addAttribute(named: "d", type: .string, isOptional: false)
            .setDerivation(Derivation(ExpressionText("c")))
        let place = try entity.addAttribute(named: "e", type: .composite)
        try place.addElement(named: "x", type: .composite).addElement(named: "y", type: .double, isOptional: false)
        let cells = lines(model).filter { $0.hasPrefix("<tr><td>") }.map { line in
            line.replacing(#/<[^>]*>/#, with: "|").replacing(#/\|+/#, with: "|")
        }
        XCTAssertEqual(
            cells,
            [
                "|a|\u{A0}\u{A0}Integer 16|", "|b|\u{A0}\u{A0}Date?|", "|c|\u{A0}\u{A0}String?|",
                "|d|\u{A0}\u{A0}derived String|", "|e|\u{A0}\u{A0}Composite?|",
                "|\u{A0}\u{A0}\u{A0}x|\u{A0}\u{A0}Composite?|",
                "|\u{A0}\u{A0}\u{A0}\u{A0}\u{A0}\u{A0}y|\u{A0}\u{A0}Double|",
            ])
        XCTAssertTrue(model.diagram.contains("<i>c</i>"))
        XCTAssertFalse(model.diagram.contains("<i>a</i>"))
    }

    func testSingleSubentityIsConnectedToItsParent() throws {
        let model = Model()
        let (base, child) = (try model.addEntity(named: "Base"), try model.addEntity(named: "Child"))
        try child.setParent(base)
        try base.addFetchedProperty(named: "f", fetchRequest: FetchRequestTemplate(entityName: "Child"))
        try base.addFetchedProperty(named: "gone", fetchRequest: FetchRequestTemplate(entityName: "Gone"))
        try base.addFetchedProperty(named: "own", fetchRequest: FetchRequestTemplate(entityName: "Base"))
        XCTAssertEqual(
            lines(model).filter { $0.contains(" -> ") },
            [
                "\"Base\":title -> \"Child\":title [dir=back, arrowtail=onormal, arrowsize=1.2, penwidth=1.3]",
                "\"Base\":f0 -> \"Child\" [arrowhead=vee, style=dashed]",
                "\"Base\":f2:e -> \"Base.own\":s [dir=none, style=dashed]",
                "\"Base\":e -> \"Base.own\":n [arrowtail=vee, dir=back, style=dashed]",
            ])
        XCTAssertEqual(
            Array(model.diagram.split(separator: "\n").prefix(2)).map(String.init),
            [
                "digraph model {", "  graph [rankdir=LR, bgcolor=white, pad=0.3, nodesep=0.45, ranksep=1.1]",
            ])
        XCTAssertEqual(model.diagram.suffix(3), "\n}\n")
    }

    func testDiagramTextIsEscaped() throws {
        let model = Model()
        let entity = try model.addEntity(named: "Note")
        try entity.addFetchedProperty(
            named: "odd", fetchRequest: FetchRequestTemplate(entityName: "<b>\"A\" & co</b>"))
        XCTAssertTrue(model.diagram.contains("&lt;b&gt;&quot;A&quot; &amp; co&lt;/b&gt;"))
        XCTAssertFalse(model.diagram.contains("<b>\"A\""))
    }
}
