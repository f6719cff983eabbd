import CorestoneValues

extension Model {
    /// The model of a source model's `contents` file: the XML that Xcode writes into an `.xcdatamodel`. It is not frozen.
    ///
    /// - Throws: `.storeCorrupt` when the bytes are no such XML or go beyond a limit, which the message names; `.model` when
    ///   the model in them contradicts itself.
    public convenience init(sourceModel bytes: [UInt8]) throws {
        self.init()
        try SourceModelReader(into: self).read(bytes)
    }
}

/// Reads `contents` element by element: what lies on the top level is handed to the builder as soon as it ends, so that no
/// more than one entity is in memory twice.
final class SourceModelReader: XMLHandler {
    /// Elements in all. The largest known model has 2,000.
    static let maximumCount = 1_000_000
    /// Elements within each other. Known models have 5.
    static let maximumDepth = 64

    private let builder: SourceModelBuilder
    private lazy var parser = XMLParser(
        "source model", maximumDepth: SourceModelReader.maximumDepth, maximumSize: Model.maximumFileSize,
        handler: self)
    /// The elements that have not ended, without `<model>` itself.
    private var open: [SourceElement] = []
    private var hasModel = false
    private var count = 0
    /// The text since the last tag.
    private var characters: [UInt8] = []
    /// What stood on the top level so far.
    private var topCount = 0

    init(into model: Model, asDraft: Bool = false) { builder = SourceModelBuilder(model, asDraft: asDraft) }

    func read(_ bytes: [UInt8]) throws {
        try parser.parse(bytes)
        try builder.finish()
        builder.model.sourceForm.endsLine = bytes.last == UInt8(ascii: "\n")
    }

    func start(_ name: String, _ attributes: XMLAttributes) throws {
        count += 1
        guard count <= SourceModelReader.maximumCount else {
            throw parser.corrupt("more than \(SourceModelReader.maximumCount) elements")
        }
        try endText()
        let values = Dictionary(attributes.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
        if hasModel {
            open.append(SourceElement(name: name, attributes: values))
        } else {
            guard name == "model" else { throw parser.corrupt("the root element is <\(name)> instead of <model>") }
            hasModel = true
            try builder.begin(values)
        }
    }

    func text(_ bytes: UnsafeRawBufferPointer) { characters += bytes }

    func end(_ name: String) throws {
        try endText()
        if let element = open.popLast() { try place(element) }
    }

    /// White space only lays the file out.
    private func endText() throws {
        defer { characters.removeAll(keepingCapacity: true) }
        if characters.allSatisfy({ [0x09, 0x0A, 0x0D, 0x20].contains($0) }) { return }
        try place(SourceElement(text: String(decoding: characters, as: UTF8.self)))
    }

    private func place(_ element: SourceElement) throws {
        var element = element
        if open.isEmpty {
            element.place = topCount
            topCount += 1
            try builder.take(element)
        } else {
            element.place = open[open.count - 1].elements.count
            open[open.count - 1].elements.append(element)
        }
    }
}
