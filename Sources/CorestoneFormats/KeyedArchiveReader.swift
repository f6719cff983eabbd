import CorestoneValues

/// A reader of archives of NSKeyedArchiver from untrusted bytes.
///
/// An archive is a binary or XML property list. References are resolved only on request, one at a time, so cycles are
/// harmless.
package struct KeyedArchiveReader {
    package typealias Fields = [String: PropertyListValue]

    private let objects: [PropertyListValue]
    /// The root objects, by key.
    package let roots: Fields
    /// The object with the key "root", or else the one with the first key in byte order.
    package let root: PropertyListValue

    /// Reads the archive's root objects.
    ///
    /// - Throws: `.storeCorrupt` if the bytes are not a property list or not a keyed archive, or if the archive does
    ///   not have a root object.
    package init(_ bytes: [UInt8], limits: PropertyListLimits = .model) throws {
        guard let top = try decodeAnyPropertyList(bytes, limits: limits).dictionary,
            top["$archiver"]?.string == "NSKeyedArchiver",
            let objects = top["$objects"]?.array, let roots = top["$top"]?.dictionary
        else {
            throw CoreError(
                .storeCorrupt, code: .persistentStoreOpen,
                "the property list is not a keyed archive of NSKeyedArchiver")
        }
        guard let root = roots["root"] ?? sortedByBytes(roots.keys).first.flatMap({ roots[$0] }) else {
            throw CoreError(
                .storeCorrupt, code: .persistentStoreOpen,
                "the keyed archive does not have a root object")
        }
        self.objects = objects
        self.roots = roots
        self.root = root
    }

    package var rootFields: Fields? { fields(root) }

    /// Returns the object of a reference; nil for the archive's null and for an invalid reference.
    ///
    /// Returns a value that is not a reference unchanged.
    package func object(_ value: PropertyListValue?) -> PropertyListValue? {
        guard let number = value?.reference else { return value }
        return number > 0 && number < objects.count ? objects[Int(number)] : nil
    }

    package func fields(_ value: PropertyListValue?) -> Fields? { object(value)?.dictionary }

    package func className(_ value: PropertyListValue?) -> String? {
        fields(fields(value)?["$class"])?["$classname"]?.string
    }

    /// Returns the names of an object's class and its superclasses; nil without a class.
    package func classes(_ value: PropertyListValue?) -> [String]? {
        fields(fields(value)?["$class"])?["$classes"]?.array?.compactMap(\.string)
    }

    package func string(_ value: PropertyListValue?) -> String? {
        let object = object(value)
        return object?.string ?? object?.dictionary?["NS.string"]?.string
    }

    /// Returns the elements of an array or a set.
    package func elements(_ value: PropertyListValue?) -> [PropertyListValue] {
        fields(value)?["NS.objects"]?.array ?? []
    }

    /// Returns the elements of a container in either of its forms.
    ///
    /// The forms are one list in the field `list`, and one field per element, as in ordered sets. The names of these
    /// fields are `numbered` followed by 0, 1 and so on.
    package func members(_ value: PropertyListValue?, _ list: String, _ numbered: String) -> [PropertyListValue] {
        guard let fields = fields(value) else { return [] }
        if let members = fields[list]?.array { return members }
        return Array((0..<fields.count).lazy.map { fields["\(numbered)\($0)"] }.prefix { $0 != nil }.compactMap { $0 })
    }

    /// Returns the entries of a dictionary whose keys are strings, in either of its forms.
    ///
    /// The forms are keys and values in one object, and a separate object `searchMapping` with the keys.
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
