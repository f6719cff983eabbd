import CCorestone
import CPlatform
import CorestonePredicate
import CorestoneValues

/// An object of the host (`CST_HOST`), whose values its callbacks return.
final class HostObject: KeyValueCoding, @unchecked Sendable {
    let host: cst_host
    private let callbacks: cst_host_callbacks

    init(_ host: cst_host) throws {
        guard host.callbacks != nil else {
            throw CoreError(
                .invalidArgument, "a value of type CST_HOST does not have callbacks; set as.host.callbacks",
                key: "callbacks")
        }
        self.host = host
        callbacks = try options(host.callbacks, cst_host_callbacks(), "callbacks")
        callbacks.retain?(host.object)
    }

    /// Releases the object. Within a call of the interface, it is released when the thread's outermost call ends,
    /// because its last user may be in the middle of a change.
    deinit {
        guard let release = callbacks.release else { return }
        platform_call_defer(
            { release, object, _ in
                let release = unsafeBitCast(UInt(release), to: (@convention(c) (UnsafeMutableRawPointer?) -> Void).self)
                release(UnsafeMutableRawPointer(bitPattern: UInt(object)))
            }, UInt64(UInt(bitPattern: unsafeBitCast(release, to: UnsafeRawPointer.self))),
            UInt64(UInt(bitPattern: host.object)), 0)
    }

    private var className: String {
        callbacks.class_name?(host.object).map { String(cString: $0) } ?? "a host object"
    }

    func value(forKey key: String) throws -> PropertyValue {
        var answer = cst_value()
        var name = key
        let status = try name.withUTF8 { bytes in
            let view = cst_string(
                data: UnsafeRawPointer(bytes.baseAddress)?.assumingMemoryBound(to: CChar.self), size: bytes.count)
            return try callHost("reading the key \"\(key)\" of \(className)", key: key) {
                callbacks.value_for_key?(host.object, view, &answer, $0) ?? Status.notFound.rawValue
            }
        }
        guard status == Status.ok.rawValue else {
            throw CoreError(
                .predicate,
                "\(className) is not key value coding-compliant for the key \"\(key)\"; "
                    + "correct the key, or return a value for it from value_for_key (in Python, define a public "
                    + "attribute)", key: key)
        }
        return try readingResult("reading the key \"\(key)\" of \(className)", key: key) { try hostValue(answer) }
    }

    /// Returns the elements if the object is a list, otherwise nil. `read` converts each element.
    func elements(_ read: (cst_value) throws -> PropertyValue) throws -> [PropertyValue]? {
        guard let count = callbacks.count, let element = callbacks.element else { return nil }
        var size = 0
        let status = try callHost("counting the elements of \(className)") { count(host.object, &size, $0) }
        guard status == Status.ok.rawValue else { return nil }
        guard 0...ValueReader.maximumValues ~= size else {
            throw CoreError(
                .invalidArgument,
                "\(className) has \(UInt(bitPattern: size)) elements, but the limit is \(ValueReader.maximumValues)",
                value: sizeValue(size))
        }
        return try (0..<size).map { index in
            var answer = cst_value()
            try callHost("reading element \(index) of \(className)") { element(host.object, index, &answer, $0) }
            return try read(answer)
        }
    }

    var classNames: [String] { [className] }

    /// Returns the other object if it has the same callbacks, so that both can be compared.
    private func sibling(_ other: any ValueObject) -> HostObject? {
        guard let other = other as? HostObject, other.host.callbacks == host.callbacks else { return nil }
        return other
    }

    func order(against other: any ValueObject) throws -> Int? {
        guard let other = sibling(other), let compare = callbacks.compare else { return nil }
        var order: Int32 = 0
        let status = try callHost("comparing \(className)") { compare(host.object, other.host.object, &order, $0) }
        return status == Status.ok.rawValue ? Int(order) : nil
    }

    func isEqual(to other: any ValueObject) -> Bool {
        guard let other = sibling(other) else { return false }
        return other.host.object == host.object || callbacks.is_equal?(host.object, other.host.object) == true
    }

    func hashIdentity(into hasher: inout Hasher) {
        if let hash = callbacks.hash {
            hasher.combine(hash(host.object))
        } else if callbacks.is_equal == nil {
            hasher.combine(host.object)
        }
    }

    var valueDescription: String { className }
}
