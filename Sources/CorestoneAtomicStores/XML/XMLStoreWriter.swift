import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// An encoder of whole XML stores in the layout of Core Data.
struct XMLStoreWriter {
    private let nodes: Nodes
    private let names: XMLNames
    private let file = XMLBytes(capacity: 1 << 16)

    init(_ nodes: Nodes) throws { (self.nodes, names) = (nodes, try XMLNames(nodes.model)) }

    func write(_ metadata: StoreMetadata) throws -> [UInt8] {
        guard nodes.lastSharedKey <= XMLFormat.maximumKey else {
            throw CoreError(
                .unsupported, code: .persistentStoreSave,
                "the last primary key is \(nodes.lastSharedKey), but primary keys in an XML store must be 1 to "
                    + "\(XMLFormat.maximumKey); migrate the store to another type with cst_coordinator_migrate_store "
                    + "(migrate_store, migrateStore)",
                value: .int(nodes.lastSharedKey))
        }
        file.append(
            """
            <?xml version="1.0" standalone="yes"?>
            <!DOCTYPE database SYSTEM "file:///System/Library/DTDs/CoreData.dtd">

            <database>
                <databaseInfo>
                    <version>134481920</version>
                    <UUID>
            """)
        file.append(metadata.uuid.description)
        file.append("</UUID>\n        <nextObjectID>")
        file.append(nodes.lastSharedKey)
        file.append("</nextObjectID>\n        ")
        file.append(try XMLFormat.element(of: metadata))
        file.append("\n    </databaseInfo>\n")
        // Memory is checked again whenever the file has grown by half.
        var asked = 0
        for node in objects() {
            if file.count >= asked {
                try requireMemory()
                asked = file.count + max(file.count / 2, 1 << 20)
            }
            try add(node, metadata)
        }
        file.append("</database>")
        try MemoryCheck.require(file.count, to: "encode the store")
        return file.array
    }

    /// Checks the memory for a reallocation of the buffer and for one more object.
    private func requireMemory() throws { try MemoryCheck.require(file.count * 3 + (2 << 20), to: "encode the store") }

    /// Returns the rows of all entities in the order of their primary keys, which are unique in the file.
    private func objects() -> [Node] {
        var all: [Node] = []
        var isSorted = true
        for root in nodes.model.entities where root.parent == nil {
            for key in nodes.keys(of: root) {
                guard let node = nodes.node(root, key) else { continue }
                isSorted = isSorted && all.last?.record.primaryKey ?? 0 < key
                all.append(node)
            }
        }
        return isSorted ? all : all.sorted { $0.record.primaryKey < $1.record.primaryKey }
    }

    private func add(_ node: Node, _ metadata: StoreMetadata) throws {
        let record = node.record
        let kind = names.kinds[Int(record.header.pointee.entity)]
        file.append(kind.opening)
        file.append(record.primaryKey)
        file.append("\">")
        let start = file.count
        for member in kind.members {
            if let type = member.type {
                add(record.view(member.slot, member.layout), member, type)
            } else if let relationship = member.relationship {
                try add(relationship, of: record, member, metadata)
            }
        }
        file.append(file.count == start ? "</object>\n" : "\n    </object>\n")
    }

    // MARK: Attributes

    private func add(_ value: ValueView, _ member: XMLMember, _ type: XMLValueType) {
        if value.type == .null { return }
        file.append(member.opening)
        switch type {
        case .string, .uri: file.append(escaping: value.bytes)
        case .bool: file.append(value.low == 0 ? UInt8(ascii: "0") : UInt8(ascii: "1"))
        case .int16, .int32, .int64: file.append(value.integer)
        case .float: file.append(single: value.double)
        case .double: file.append(value.double)
        case .date: file.append(seconds: value.double)
        case .binary, .transformable: file.append(base64: value.bytes)
        case .decimal: file.append(DecimalNumber(words: (value.low, value.high), aux: value.aux).description)
        case .uuid: file.append(UUIDValue(high: value.low.bigEndian, low: value.high.bigEndian).description)
        }
        file.append("</attribute>")
    }

    // MARK: Relationships

    /// Appends a relationship element, even without members.
    ///
    /// A reference to a deleted object is omitted, because the file could not be read with it. Such references can
    /// remain in a relationship without an inverse, and in one with the delete rule "no action". If a to-one
    /// relationship is required, such a reference is an error.
    private func add(
        _ relationship: Relationship, of record: Record, _ member: XMLMember, _ metadata: StoreMetadata
    ) throws {
        file.append(member.opening)
        let start = file.count
        if relationship.isToMany {
            for key in nodes.members(relationship, record.primaryKey) { addReference(key, relationship, start) }
        } else if let target = record.target(member.slot, member.layout) {
            addReference(target.primaryKey, relationship, start)
            if file.count == start, !relationship.isOptional {
                throw lostTarget(relationship, record, target.primaryKey, metadata)
            }
        }
        file.append(file.count == start ? "></relationship>" : "\"></relationship>")
    }

    private func lostTarget(
        _ relationship: Relationship, _ record: Record, _ target: Int64, _ metadata: StoreMetadata
    ) -> CoreError {
        let entity = nodes.model.entities[Int(record.header.pointee.entity)]
        return CoreError(
            .validation, code: .validationMissingMandatoryProperty,
            "the required \(entity.name).\(relationship.name) of primary key \(record.primaryKey) "
                + "refers to a deleted object (primary key \(target)), which an XML store cannot "
                + "represent; set another target",
            entity: entity.name, key: relationship.name, value: .int(target),
            objectURI: ObjectID.uri(
                ofKey: record.primaryKey, entity: entity.name, store: metadata.uuid.description))
    }

    private func addReference(_ key: Int64, _ relationship: Relationship, _ start: Int) {
        guard nodes.node(relationship.resolvedDestination.root, key) != nil else { return }
        file.append(file.count == start ? " idrefs=\"z" : " z")
        file.append(key)
    }
}
