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

    init(into model: Model) { builder = SourceModelBuilder(model) }

    func read(_ bytes: [UInt8]) throws {
        try parser.parse(bytes)
        try builder.finish()
    }

    func start(_ name: String, _ attributes: XMLAttributes) throws {
        count += 1
        guard count <= SourceModelReader.maximumCount else {
            throw parser.corrupt("more than \(SourceModelReader.maximumCount) elements")
        }
        let values = Dictionary(attributes.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
        if hasModel {
            open.append(SourceElement(name: name, attributes: values))
        } else {
            guard name == "model" else { throw parser.corrupt("<\(name)> where a <model> belongs") }
            hasModel = true
            try builder.begin(values)
        }
    }

    func text(_ bytes: UnsafeRawBufferPointer) {}

    func end(_ name: String) throws {
        guard let element = open.popLast() else { return }
        if open.isEmpty { return try builder.take(element) }
        open[open.count - 1].elements.append(element)
    }
}
