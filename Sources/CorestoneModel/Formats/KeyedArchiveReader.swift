import CorestoneValues

/// Reads an archive of NSKeyedArchiver from untrusted bytes, a property list in binary or in XML. It follows one reference
/// at a time, so circles are no matter.
package struct KeyedArchiveReader {
    package typealias Fields = [String: PropertyListValue]

    private let objects: [PropertyListValue]
    /// What was archived, by key.
    let roots: Fields
    /// What was archived as the root; the first by key of an archive without one.
    package let root: PropertyListValue

    /// - Throws: `.storeCorrupt` when the bytes are no property list or no keyed archive.
    package init(_ bytes: [UInt8], limits: PropertyListLimits = .model) throws {
        guard let top = try decodeAnyPropertyList(bytes, limits: limits).dictionary,
            top["$archiver"]?.string == "NSKeyedArchiver",
            let objects = top["$objects"]?.array, let roots = top["$top"]?.dictionary,
            let root = roots["root"] ?? sortedByBytes(roots.keys).first.flatMap({ roots[$0] })
        else {
            throw CoreError(
                .storeCorrupt, code: .persistentStoreOpen,
                "the property list is not a keyed archive of NSKeyedArchiver")
        }
        self.objects = objects
        self.roots = roots
        self.root = root
    }

    package var rootFields: Fields? { fields(root) }

    /// What a reference leads to; nil for the archive's null and for a reference that leads nowhere.
    package func object(_ value: PropertyListValue?) -> PropertyListValue? {
        guard let number = value?.reference else { return value }
        return number > 0 && number < objects.count ? objects[Int(number)] : nil
    }

    package func fields(_ value: PropertyListValue?) -> Fields? { object(value)?.dictionary }

    package func className(_ value: PropertyListValue?) -> String? {
        fields(fields(value)?["$class"])?["$classname"]?.string
    }

    /// An object's class and those that it inherits from; nil for none.
    func classes(_ value: PropertyListValue?) -> [String]? {
        fields(fields(value)?["$class"])?["$classes"]?.array?.compactMap(\.string)
    }

    package func string(_ value: PropertyListValue?) -> String? {
        let object = object(value)
        return object?.string ?? object?.dictionary?["NS.string"]?.string
    }

    /// The elements of an array or a set.
    package func elements(_ value: PropertyListValue?) -> [PropertyListValue] {
        fields(value)?["NS.objects"]?.array ?? []
    }

    /// What a container holds, in either of the forms that occur: a list, or fields that are numbered from 0 on, which ordered
    /// sets have.
    func members(_ value: PropertyListValue?, _ list: String, _ numbered: String) -> [PropertyListValue] {
        guard let fields = fields(value) else { return [] }
        if let members = fields[list]?.array { return members }
        return Array((0..<fields.count).lazy.map { fields["\(numbered)\($0)"] }.prefix { $0 != nil }.compactMap { $0 })
    }

    /// The entries of a dictionary, in either of the forms that occur.
    package func entries(_ value: PropertyListValue?) -> [(key: String, value: PropertyListValue)] {
        guard let fields = fields(value) else { return [] }
        let (keys, values): ([PropertyListValue], [PropertyListValue])
        if let mapping = self.fields(fields["searchMapping"]) {
            (keys, values) = (elements(mapping["keys"]), elements(fields["values"]))
        } else {
            (keys, values) = (fields["NS.keys"]?.array ?? [], fields["NS.objects"]?.array ?? [])
        }
        return zip(keys, values).compactMap { key, value in string(key).map { ($0, value) } }
    }
}
