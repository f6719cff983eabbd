import CorestoneValues

extension Model {
    /// The model as a diagram in DOT, the language of Graphviz, drawn like Xcode's graph editor.
    ///
    /// Each entity is a box with its own properties. A relationship and its inverse are one line, with a double
    /// arrowhead at a to-many side. A hollow arrowhead marks inheritance, and a dashed line a fetched property.
    ///
    /// The text is deterministic. The diagram of a frozen model can be read on any thread. Before freezing, only the
    /// thread that builds the model may read the diagram.
    public var diagram: String { ModelDiagram(self).text }
}

/// A writer of the DOT text of a model.
private struct ModelDiagram {
    private let model: Model
    /// The index of each relationship in its entity.
    private var places: [ObjectIdentifier: Int] = [:]
    private var lines: [String] = []

    var text: String { lines.map { $0 + "\n" }.joined() }

    init(_ model: Model) {
        self.model = model
        lines = [
            "digraph model {",
            "  graph [rankdir=LR, bgcolor=white, pad=0.3, nodesep=0.45, ranksep=1.1]",
            "  node [shape=plain, fontname=\"Helvetica,Arial,sans-serif\", fontsize=11]",
            "  edge [color=\"\(Paint.line)\", arrowsize=0.75]",
        ]
        for entity in model.entities {
            for (place, relationship) in entity.ownRelationships.enumerated() {
                places[ObjectIdentifier(relationship)] = place
            }
            addBox(entity)
        }
        for entity in model.entities {
            addInheritance(of: entity)
            addRelationships(of: entity)
            addFetches(of: entity)
        }
        lines.append("}")
    }

    private enum Paint {
        static let line = "#5b6470"
        static let border = "#9aa5b1"
        static let title = "#2f6db5"
        static let abstractTitle = "#6b7280"
        static let heading = "#eef1f5"
        static let quiet = "#6b7280"
    }

    // MARK: Boxes

    private mutating func addBox(_ entity: Entity) {
        lines.append("  \(node(entity)) [label=<")
        lines.append(
            "    <table border=\"1\" cellborder=\"0\" cellspacing=\"0\" cellpadding=\"0\" color=\"\(Paint.border)\" "
                + "bgcolor=\"white\">")
        let name = "<b>\(escaped(entity.name))</b>"
        lines.append(
            "      <tr><td port=\"title\" cellpadding=\"5\" bgcolor=\""
                + "\(entity.isAbstract ? Paint.abstractTitle : Paint.title)\"><font color=\"white\">"
                + (entity.isAbstract ? "<i>\(name)</i><br/><font point-size=\"9\">abstract</font>" : name)
                + "</font></td></tr>")
        addSection("Attributes", entity.ownAttributes.flatMap { rows(of: $0) })
        addSection(
            "Relationships",
            entity.ownRelationships.enumerated().map { place, relationship in
                row(relationship.name, ModelDiagram.kind(of: relationship), port: "r\(place)")
            })
        addSection(
            "Fetched Properties",
            entity.ownFetchedProperties.enumerated().map { place, property in
                row(property.name, property.fetchRequest.entityName, port: "f\(place)")
            })
        lines.append("    </table>>]")
    }

    private mutating func addSection(_ title: String, _ rows: [String]) {
        guard !rows.isEmpty else { return }
        lines.append(
            "      <tr><td align=\"left\" balign=\"left\" cellpadding=\"3\" bgcolor=\"\(Paint.heading)\">"
                + "<font point-size=\"9\" color=\"\(Paint.quiet)\">\(title)</font></td></tr>")
        lines += rows
    }

    /// Returns a row of a node's table.
    ///
    /// The row is a cell that contains a table, so that a line can be attached to either side of the row.
    private func row(_ name: String, _ kind: String, port: String? = nil, indent: Int = 0, isQuiet: Bool = false)
        -> String
    {
        let margin = String(repeating: "\u{A0}", count: indent * 3)
        let name = isQuiet ? "<i>\(escaped(name))</i>" : escaped(name)
        return "      <tr><td" + (port.map { " port=\"\($0)\"" } ?? "")
            + "><table border=\"0\" cellborder=\"0\" cellspacing=\"0\" cellpadding=\"3\"><tr><td align=\"left\">"
            + "\(margin)\(name)</td><td align=\"right\"><font color=\"\(Paint.quiet)\">\u{A0}\u{A0}\(escaped(kind))</font>"
            + "</td></tr></table></td></tr>"
    }

    /// Returns the rows of an attribute and its elements.
    private func rows(of attribute: Attribute, indent: Int = 0) -> [String] {
        [row(attribute.name, ModelDiagram.kind(of: attribute), indent: indent, isQuiet: attribute.isTransient)]
            + attribute.elements.flatMap { rows(of: $0, indent: indent + 1) }
    }

    private static func kind(of attribute: Attribute) -> String {
        (attribute.derivation == nil ? "" : "derived ") + attribute.type.displayName + (attribute.isOptional ? "?" : "")
    }

    /// Returns the destination and the multiplicity: `Note 0..1`, `Tag 1..*`.
    private static func kind(of relationship: Relationship) -> String {
        let least = max(relationship.minimumCount, relationship.isOptional ? 0 : 1)
        let most = Int32(bitPattern: relationship.maximumCount) > 0 ? String(relationship.maximumCount) : "*"
        let count = least == 0 && most == "*" ? "*" : String(least) == most ? most : "\(least)..\(most)"
        return "\(relationship.destination.name) \(count)" + (relationship.isOrdered ? " ordered" : "")
    }

    // MARK: Lines

    /// Adds lines from an entity to its direct subentities, so that superentities are placed before subentities.
    ///
    /// Several subentities share one line that forks, because arrowheads at one point would overlap.
    private mutating func addInheritance(of entity: Entity) {
        let style = "penwidth=1.3"
        let head = "dir=back, arrowtail=onormal, arrowsize=1.2, \(style)"
        let parent = "\(node(entity)):title"
        if entity.children.count < 2 {
            lines += entity.children.map { "  \(parent) -> \(node($0)):title [\(head)]" }
            return
        }
        let fork = "\"\(entity.name) subentities\""
        lines.append("  \(fork) [shape=point, width=0.02, color=\"\(Paint.line)\"]")
        lines.append("  \(parent) -> \(fork) [headclip=false, weight=10, \(head)]")
        lines += entity.children.map { "  \(fork) -> \(node($0)):title [tailclip=false, dir=none, \(style)]" }
    }

    private mutating func addRelationships(of entity: Entity) {
        for (place, relationship) in entity.ownRelationships.enumerated() {
            let start = End(entity: entity, port: "r\(place)")
            guard let inverse = relationship.inverse, let other = places[ObjectIdentifier(inverse)] else {
                let end = End(entity: relationship.destination)
                addLine(from: start, to: end, named: relationship.name, head: head(relationship))
                continue
            }
            // One line represents a relationship and its inverse. The line is added for the relationship that was
            // declared first.
            guard relationship.ordinal <= inverse.ordinal else { continue }
            let end = End(entity: inverse.entity, port: inverse === relationship ? nil : "r\(other)")
            addLine(
                from: start, to: end, named: relationship.name, head: head(relationship), tail: head(inverse))
        }
    }

    private func head(_ relationship: Relationship) -> String { relationship.isToMany ? "normalnormal" : "normal" }

    private mutating func addFetches(of entity: Entity) {
        for (place, property) in entity.ownFetchedProperties.enumerated() {
            guard let destination = model.entity(named: property.fetchRequest.entityName) else { continue }
            addLine(
                from: End(entity: entity, port: "f\(place)"), to: End(entity: destination),
                named: property.name, head: "vee", style: ", style=dashed")
        }
    }

    /// The end of a line: a row of an entity's box, or the box itself.
    private struct End {
        let entity: Entity
        var port: String?
    }

    private func place(of end: End) -> String { node(end.entity) + (end.port.map { ":\($0)" } ?? "") }

    private mutating func addLine(
        from start: End, to end: End, named name: String, head: String, tail: String? = nil, style: String = ""
    ) {
        guard start.entity === end.entity else {
            let heads = "arrowhead=\(head)" + (tail.map { ", arrowtail=\($0), dir=both" } ?? "")
            lines.append("  \(place(of: start)) -> \(place(of: end)) [\(heads)\(style)]")
            return
        }
        // Graphviz would draw a loop over the text of the box or of an adjacent box. Instead, the line consists of two
        // halves that meet at an invisible node.
        let turn = "\"\(start.entity.name).\(name)\""
        let sides = end.port == nil ? ("s", "n") : ("n", "s")
        let tails = tail.map { "arrowtail=\($0), dir=back" } ?? "dir=none"
        lines.append("  \(turn) [shape=point, width=0.04, color=\"\(Paint.line)\"]")
        lines.append("  \(place(of: start)):e -> \(turn):\(sides.0) [\(tails)\(style)]")
        lines.append("  \(place(of: end)):e -> \(turn):\(sides.1) [arrowtail=\(head), dir=back\(style)]")
    }

    // MARK: Text

    /// Returns the node's name. Names of entities are identifiers, so they do not contain quotation marks.
    private func node(_ entity: Entity) -> String { "\"\(entity.name)\"" }

    /// Escapes a text for a label.
    ///
    /// Works on scalars, because a quotation mark followed by an accent is one character. Control characters, which a
    /// label must not contain, are made visible.
    private func escaped(_ text: String) -> String {
        var result = String.UnicodeScalarView()
        for scalar in text.visible().unicodeScalars {
            switch scalar {
            case "&": result.append(contentsOf: "&amp;".unicodeScalars)
            case "<": result.append(contentsOf: "&lt;".unicodeScalars)
            case ">": result.append(contentsOf: "&gt;".unicodeScalars)
            case "\"": result.append(contentsOf: "&quot;".unicodeScalars)
            default: result.append(scalar)
            }
        }
        return String(result)
    }
}
