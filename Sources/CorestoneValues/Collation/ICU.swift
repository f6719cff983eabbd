import Glibc

/// The system's ICU library, which is opened at run time, so that this library does not depend on it.
public enum ICU {
    /// Whether to use ICU if it is installed: false if `CORESTONE_ICU=off` was set in the environment at first use.
    public static let isWanted = environmentValue("CORESTONE_ICU") != "off"

    /// The library; nil if the system does not have it.
    fileprivate static let library = ICULibrary()
}

func environmentValue(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

/// ICU's functions for collation. Their names usually end with the library's version.
private struct ICULibrary: @unchecked Sendable {
    typealias Open = @convention(c) (UnsafePointer<CChar>?, UnsafeMutablePointer<CInt>) -> OpaquePointer?
    typealias Close = @convention(c) (OpaquePointer?) -> Void
    typealias SetAttribute = @convention(c) (OpaquePointer?, CInt, CInt, UnsafeMutablePointer<CInt>) -> Void
    typealias Compare =
        @convention(c) (
            OpaquePointer?, UnsafePointer<CChar>?, CInt, UnsafePointer<CChar>?, CInt, UnsafeMutablePointer<CInt>
        ) -> CInt

    let version: Int
    let open: Open
    let close: Close
    let setAttribute: SetAttribute
    let compare: Compare

    /// The supported versions, newest first.
    ///
    /// They start with the first version that has these functions, and include versions that do not exist yet.
    private static let versions = (50...99).reversed()

    init?() {
        for version in ICULibrary.versions {
            guard let handle = dlopen("libicui18n.so.\(version)", RTLD_NOW | RTLD_LOCAL) else { continue }
            let suffixes = ["_\(version)", ""]
            func address(_ name: String) -> UnsafeMutableRawPointer? {
                suffixes.lazy.compactMap { dlsym(handle, name + $0) }.first
            }
            if let open = address("ucol_open"), let close = address("ucol_close"),
                let setAttribute = address("ucol_setAttribute"), let compare = address("ucol_strcollUTF8")
            {
                self.version = version
                self.open = unsafeBitCast(open, to: Open.self)
                self.close = unsafeBitCast(close, to: Close.self)
                self.setAttribute = unsafeBitCast(setAttribute, to: SetAttribute.self)
                self.compare = unsafeBitCast(compare, to: Compare.self)
                return
            }
            dlclose(handle)
        }
        return nil
    }
}

/// ICU's collators of one locale.
///
/// They are configured once and then only read, as ICU requires for collators that threads share.
final class ICUCollators: @unchecked Sendable {
    private let library: ICULibrary
    var version: Int { library.version }
    /// The collators, indexed by the raw value of `Collation.Options`; the last one compares names.
    private var collators: [OpaquePointer] = []

    /// Opens the collators of a locale; returns nil if ICU is missing or cannot open or configure a collator.
    init?(locale: String) {
        guard let library = ICU.library else { return nil }
        self.library = library
        for settings in ICUCollators.settings {
            var status: CInt = 0
            guard let collator = library.open(locale, &status) else { return nil }
            collators.append(collator)
            for (attribute, value) in settings { library.setAttribute(collator, attribute, value, &status) }
            if status > 0 { return nil }
        }
    }

    deinit { for collator in collators { library.close(collator) } }

    func compare(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer, _ options: Collation.Options) -> Int? {
        compare(a, b, collators[Int(options.rawValue & 3)])
    }

    func compareNames(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer) -> Int? {
        compare(a, b, collators[ICUCollators.settings.count - 1])
    }

    private func compare(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer, _ collator: OpaquePointer) -> Int? {
        guard let first = CInt(exactly: a.count), let second = CInt(exactly: b.count) else { return nil }
        var status: CInt = 0
        let order = library.compare(
            collator, a.bindMemory(to: CChar.self).baseAddress, first, b.bindMemory(to: CChar.self).baseAddress, second,
            &status)
        return status > 0 ? nil : Int(order)
    }

    private static let caseLevel: CInt = 3
    private static let normalization: CInt = 4
    private static let strength: CInt = 5
    private static let numeric: CInt = 7
    private static let on: CInt = 17

    private static let settings: [[(attribute: CInt, value: CInt)]] = [
        [(normalization, on), (strength, 2)],
        [(normalization, on), (strength, 1)],
        [(normalization, on), (strength, 0), (caseLevel, on)],
        [(normalization, on), (strength, 0)],
        [(normalization, on), (strength, 2), (numeric, on)],
    ]
}
