import CorestoneFormats
import CorestoneValues

extension Model {
    /// Reads the `contents` file of a source model: the XML that Xcode writes into an `.xcdatamodel`.
    ///
    /// The model is not frozen.
    ///
    /// - Throws: `.storeCorrupt` if the bytes are not such XML or exceed a limit.
    ///   `.model` if the model is inconsistent.
    public convenience init(sourceModel bytes: [UInt8]) throws {
        self.init()
        try SourceModelReader(into: self).read(bytes)
    }
}

/// A reader of `contents`, element by element.
///
/// A top-level element is passed to the builder as soon as it ends, so the elements of a large file are not all in
/// memory at the same time.
final class SourceModelReader: XMLHandler {
    /// The maximum number of elements. The largest known model has 2,000.
    static let maximumCount = 1_000_000
    /// The maximum depth of nested elements. Known models have 5 levels.
    static let maximumDepth = 64

    private let builder: SourceModelBuilder
    private lazy var parser = XMLParser(
        "source model", maximumDepth: SourceModelReader.maximumDepth, maximumSize: Model.maximumFileSize,
        handler: self)
    /// The open elements, without `<model>` itself.
    private var open: [SourceElement] = []
    private var hasModel = false
    private var count = 0
    /// The text since the last tag.
    private var characters: [UInt8] = []
    /// The number of children of `<model>` so far.
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
            throw parser.corrupt(
                "it has more than \(SourceModelReader.maximumCount) elements, which is the limit; split the model")
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

    /// Adds the text since the last tag, unless it is only white space.
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
            try builder.add(element)
        } else {
            element.place = open[open.count - 1].elements.count
            open[open.count - 1].elements.append(element)
        }
    }
}
