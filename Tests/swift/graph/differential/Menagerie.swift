import Corestone
import GraphSteps

/// A model with every type of attribute, inheritance and every kind of relationship, and random objects of it.
enum Menagerie {
    static func model() throws -> Model {
        let model = Model()
        let item = try model.addEntity(named: "Item")
        let types: [(String, AttributeType)] = [
            ("small", .integer16), ("count", .integer32), ("large", .integer64), ("price", .decimal),
            ("weight", .double),
            ("ratio", .float), ("name", .string), ("note", .string), ("flag", .boolean), ("made", .date),
            ("blob", .binary),
            ("code", .uuid), ("link", .uri),
        ]
        for (name, type) in types { try item.addAttribute(named: name, type: type) }
        try item.addAttribute(named: "mood", type: .string, isTransient: true)
        let place = try item.addAttribute(named: "place", type: .composite)
        try place.addElement(named: "city", type: .string)
        try place.addElement(named: "zip", type: .integer32)
        let book = try model.addEntity(named: "Book")
        try book.setParent(item)
        try book.addAttribute(named: "pages", type: .integer32)
        try book.addAttribute(named: "title", type: .string)
        let rare = try model.addEntity(named: "Rare")
        try rare.setParent(book)
        try rare.addAttribute(named: "grade", type: .double)
        let disc = try model.addEntity(named: "Disc")
        try disc.setParent(item)
        try disc.addAttribute(named: "title", type: .string)
        let shelf = try model.addEntity(named: "Shelf")
        try shelf.addAttribute(named: "name", type: .string)
        try shelf.addAttribute(named: "level", type: .integer32)
        let tag = try model.addEntity(named: "Tag")
        try tag.addAttribute(named: "name", type: .string)
        try tag.addAttribute(named: "rank", type: .double)

        try pair(
            item.addRelationship(named: "shelf", destination: shelf),
            shelf.addRelationship(named: "items", destination: item, isToMany: true))
        try pair(
            item.addRelationship(named: "box", destination: item),
            item.addRelationship(named: "contents", destination: item, isToMany: true, isOrdered: true))
        try pair(
            item.addRelationship(named: "tags", destination: tag, isToMany: true),
            tag.addRelationship(named: "items", destination: item, isToMany: true))
        let friends = try item.addRelationship(named: "friends", destination: item, isToMany: true)
        try friends.setInverse(friends)
        try pair(
            disc.addRelationship(named: "singer", destination: tag),
            tag.addRelationship(named: "discs", destination: disc, isToMany: true))
        return model
    }

    private static func pair(_ one: Relationship, _ other: Relationship) throws { try one.setInverse(other) }

    static let texts = [
        "", "a", "A", "b", "Z", "é", "e\u{301}", "É", "straße", "STRASSE", "strasse", "ß", "İ", "ı", "i", "👩‍👩‍👧", "naïve",
        "a*b", "a*", "a?b", #"a\b"#, #"a\bc"#, "it's", "\"q\"", "x\0y", "世界", "ﬁ", "10", "9", "ab", "Ab", "' OR 1=1 --",
        "\u{10FFFF}",
        "Å", "Å",
    ]
    static let integers: [Int64] = [0, 1, -1, 2, 3, 5, 7, 32767, -32768, 100]
    static let large: [Int64] = [0, 1, -1, .max, .min, 1 << 53, (1 << 53) + 1, 40]
    static let reals: [Double] = [0, -0.0, 0.5, 1, 2, -1.5, 0.1, 2.25, 1e308, .leastNonzeroMagnitude, 100, 7]
    static let dates: [Double] = [0, 1, -978_307_200, 86_400.5, 700_000_000, 0.1]

    static func fill(_ context: Context, _ dice: inout Dice) throws {
        let shelves = try (0..<6).map { _ in try context.insert("Shelf") }
        let tags = try (0..<8).map { _ in try context.insert("Tag") }
        let items = try (0..<36).map { _ in try context.insert(dice.pick(["Item", "Item", "Book", "Rare", "Disc"])) }
        for object in shelves + tags + items { try setAttributes(object, &dice) }
        for item in items {
            if dice.chance(75) { try item.setValue(.object(dice.pick(shelves)), forKey: "shelf") }
            if dice.chance(60) { try item.setValue(.object(dice.pick(items)), forKey: "box") }
            let some = (0..<dice.below(4)).map { _ in PropertyValue.object(dice.pick(tags)) }
            try item.setValue(.set(Set(some)), forKey: "tags")
            let friends = (0..<dice.below(3)).map { _ in PropertyValue.object(dice.pick(items)) }
            if !friends.isEmpty { try item.setValue(.set(Set(friends)), forKey: "friends") }
            if item.entityName == "Disc", dice.chance(70) {
                try item.setValue(.object(dice.pick(tags)), forKey: "singer")
            }
        }
    }

    private static func setAttributes(_ object: ManagedObject, _ dice: inout Dice) throws {
        for attribute in object.entity.attributes where !attribute.isTransient && dice.chance(78) {
            guard attribute.type != .composite else { continue }
            try object.setValue(value(attribute.type, &dice), forKeyPath: attribute.path)
        }
    }

    /// All objects of a context, with all of their properties loaded.
    static func readAll(_ context: Context) throws -> [ManagedObject] {
        var found: [ManagedObject] = []
        for root in context.coordinator.model.roots {
            found += try context.fetch(FetchRequest(entity: root))
        }
        for object in found {
            for property in object.entity.allProperties { _ = try object.value(forKey: property.name) }
        }
        return found
    }

    /// Changes many of the objects, deletes some, and inserts others.
    static func change(_ context: Context, _ dice: inout Dice) throws {
        let (items, shelves, tags) = (
            try context.fetch("Item").sorted { $0.primaryKey < $1.primaryKey },
            try context.fetch("Shelf").sorted { $0.primaryKey < $1.primaryKey },
            try context.fetch("Tag").sorted { $0.primaryKey < $1.primaryKey }
        )
        for object in shelves + tags + items where dice.chance(50) { try setAttributes(object, &dice) }
        for item in items {
            if dice.chance(30) { try item.setValue(.object(dice.pick(shelves)), forKey: "shelf") }
            if dice.chance(20) { try item.setValue(.object(dice.pick(items)), forKey: "box") }
            if dice.chance(30) {
                let some = (0..<dice.below(4)).map { _ in PropertyValue.object(dice.pick(tags)) }
                try item.setValue(.set(Set(some)), forKey: "tags")
            }
            if dice.chance(10) { try context.delete(item) }
        }
        for _ in 0..<4 {
            let item = try context.insert(dice.pick(["Item", "Book", "Disc"]))
            try setAttributes(item, &dice)
            try item.setValue(.object(dice.pick(shelves)), forKey: "shelf")
        }
        try context.delete(dice.pick(tags))
    }

    static func value(_ type: AttributeType, _ dice: inout Dice) -> PropertyValue {
        switch type {
        case .string: .string(dice.pick(texts))
        case .integer16, .integer32: .int(dice.pick(integers))
        case .integer64: .int(dice.pick(large))
        case .double: .double(dice.pick(reals))
        case .float: .double(Double(Float(dice.pick([0, 0.5, 1, 0.1, -2, 7]))))
        case .boolean: .bool(dice.chance(50))
        case .date: .date(dice.pick(dates))
        case .uuid: .uuid(UUIDValue(high: UInt64(dice.below(3)), low: 1))
        case .binary: .bytes(Bytes((0..<dice.below(3)).map { UInt8($0 * 200) }))
        case .decimal:
            .decimal(DecimalNumber(mantissa: UInt128(dice.below(9)) * 25, exponent: -2, isNegative: dice.chance(20)))
        case .uri: .uri(Text("https://example.org/\(dice.below(4))"))
        default: .null
        }
    }

    /// Packages like those of dpkg, with made-up names.
    static func fillPackages(_ context: Context, _ dice: inout Dice) throws {
        let parts = ["lib", "python3-", "apt", "bash", "-dev", "-doc", "ssl", "GTK", "utils", "é"]
        let sections = try ["admin", "libs", "python", "libs/oldlibs"].map {
            try context.insert("Section", ["name": $0])
        }
        let maintainers = try (0..<6).map { number in
            let one = try context.insert("Maintainer", ["name": "\(dice.pick(["Ann", "ann", "Zoë"])) \(number)"])
            if dice.chance(60) { try one.set("email", "m\(number)@debian.org") }
            return one
        }
        let packages = try (0..<60).map { number -> ManagedObject in
            let package = try context.insert("Package")
            let name = "\(dice.pick(parts))\(dice.pick(parts))\(number % 20)"
            try package.setValue(.string(name), forKey: "name")
            try package.setValue(.string(dice.pick(["amd64", "all"])), forKey: "architecture")
            try package.setValue(.bool(dice.chance(20)), forKey: "essential")
            try package.setValue(.date(dice.pick(dates)), forKey: "importedAt")
            try package.setValue(.int(Int64(dice.below(5000))), forKey: "installedSize")
            try package.setValue(.string("\(dice.below(3)).\(dice.below(12))-1"), forKey: "version")
            if dice.chance(50) {
                try package.setValue(.uri(Text("https://example.org/\(dice.below(4))")), forKey: "homepage")
            }
            if dice.chance(70) {
                try package.setValue(.string("The \(dice.pick(parts)) of \(dice.pick(parts))"), forKey: "summary")
            }
            if dice.chance(85) { try package.setValue(.object(dice.pick(sections)), forKey: "section") }
            if dice.chance(85) { try package.setValue(.object(dice.pick(maintainers)), forKey: "maintainer") }
            return package
        }
        for package in packages {
            let needed = (0..<dice.below(5)).map { _ in PropertyValue.object(dice.pick(packages)) }
            try package.setValue(.set(Set(needed)), forKey: "dependencies")
        }
    }
}
