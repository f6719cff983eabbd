import CorestoneMigration
import CorestoneModel
import CorestonePredicate
import Glibc

/// The readers of untrusted bytes. CORESTONE_READER selects the one that a run of the fuzzer tests.
private let readers: [String: @Sendable ([UInt8]) throws -> Void] = [
    "compiled": { try exercise(Model(compiledModel: $0)) },
    "cached": { try exercise(Model(modelCache: $0)) },
    "source": { try exercise(Model(sourceModel: $0)) },
    "text": { try exercise(Model(text: String(decoding: $0, as: UTF8.self))) },
    "editor": { try exercise(Model(editorModel: $0)) },
    "binary-list": { _ = try decodePropertyList($0) },
    "xml-list": { _ = try decodeXMLPropertyList($0) },
    "mapping": { _ = try MappingModel(data: $0).summary },
    "strings": { _ = try decodeStringsFile($0) },
    "archive": { _ = try decodeArchive($0) },
    "store": { try readStore($0) },
    "xml-store": { try readXMLStore($0) },
    "binary-store": { try readBinaryStore($0) },
    "predicate": { try readPredicate($0) },
    "evaluation": { try evaluatePredicate($0) },
]

private let reader: @Sendable ([UInt8]) throws -> Void = {
    let name = getenv("CORESTONE_READER").map { String(cString: $0) } ?? ""
    guard let reader = readers[name] else {
        fatalError("CORESTONE_READER is \"\(name)\"; choose one of: \(readers.keys.sorted().joined(separator: ", "))")
    }
    return reader
}()

/// A model that was read is frozen or fails with an error, is hashed, and can be written and read again.
private func exercise(_ model: Model) throws {
    try model.freeze()
    _ = entityVersionHashes(of: model)
    do { _ = try Model(compiledModel: compiledModel(model)) } catch {
        fatalError("a model that was read and written cannot be read again: \(error)")
    }
}

private func readOne(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    do { try reader(Array(UnsafeBufferPointer(start: start, count: count))) } catch {}
    return 0
}

@_silgen_name("LLVMFuzzerRunDriver")
private func LLVMFuzzerRunDriver(
    _ count: UnsafeMutablePointer<CInt>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>,
    _ readOne: @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt
) -> CInt

/// The function that SwiftPM uses as the program's `main`.
@_cdecl("fuzz_readers_main")
public func fuzz_readers_main(
    _ count: CInt, _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
) -> CInt {
    var (count, arguments) = (count, arguments)
    return LLVMFuzzerRunDriver(&count, &arguments, readOne)
}
