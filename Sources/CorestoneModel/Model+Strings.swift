import CorestoneFileSystem
import CorestoneFormats
import CorestoneValues
import Glibc

extension Model {
    /// Adds the entries of a `.strings` file to the localisation, and replaces entries of the same key.
    ///
    /// - Throws: `.storeIO` if the file cannot be read.
    ///   `.model` if it is damaged.
    public func loadStrings(_ path: String) throws {
        let file = LocalFile(path)
        for (key, text) in try file.reading(as: "a strings file", { try decodeStringsFile(try file.bytes()) }) {
            try setLocalization(text, forKey: key)
        }
    }

    /// Adds the localisation that is next to a model.
    ///
    /// It is the file `<Model>Model.strings` in `<language>.lproj` or in the model's folder.
    ///
    /// - Parameters:
    ///   - path: the path of the model.
    ///   - languages: the languages in order of preference, such as `de`, `zh_CN` or `zh-Hans`. The model's own folder,
    ///     `Base.lproj` and English are tried after them.
    /// - Returns: whether a file was found.
    @discardableResult
    public func loadStrings(besideModel path: String, languages: [String] = Model.userLanguages) throws -> Bool {
        let model = LocalFile(path)
        let folder = model.folder
        let name = model.stem + "Model.strings"
        let wanted = languages.flatMap(languageNames).map { "\($0).lproj/\(name)" }
        let others = [name, "Base.lproj/\(name)"] + languageNames("en").map { "\($0).lproj/\(name)" }
        guard let file = (wanted + others).lazy.map(folder.child).first(where: \.exists) else { return false }
        try loadStrings(file.path)
        return true
    }

    /// The user's languages from the environment, as gettext determines them.
    ///
    /// They are those of LANGUAGE, then the locale in the first of LC_ALL, LC_MESSAGES and LANG that is set. Empty
    /// without a locale, and if the locale is C.
    public static var userLanguages: [String] {
        func value(_ name: String) -> String? {
            guard let text = getenv(name).map({ String(cString: $0) }), !text.isEmpty else { return nil }
            return text
        }
        let locale = ["LC_ALL", "LC_MESSAGES", "LANG"].lazy.compactMap(value).first
        guard let locale, locale != "C", locale != "POSIX", !locale.hasPrefix("C.") else { return [] }
        let list = value("LANGUAGE")?.split(separator: ":").map(String.init) ?? []
        return list.filter { $0 != "C" } + [locale]
    }
}

/// Returns the possible folder names of a language, the most specific first: `zh_CN`, `zh-CN`, `zh-Hans`, `zh`.
private func languageNames(_ language: String) -> [String] {
    // Encoding and variant are left out. The name ends before a slash, which would lead out of the folder.
    let tag = String(language.prefix { $0 != "." && $0 != "@" && $0 != "/" }.map { $0 == "_" ? "-" : $0 })
    let parts = tag.split(separator: "-").map(String.init)
    guard let base = parts.first else { return [] }
    var names: [String] = []
    if parts.count > 1 { names += [parts.joined(separator: "_"), tag] }
    if base == "zh", parts.count > 1 {
        names.append(["TW", "HK", "MO", "Hant"].contains(parts[1]) ? "zh-Hant" : "zh-Hans")
    }
    names.append(base)
    // The folder names of older systems.
    if let old = oldLanguageNames[base] { names.append(old) }
    return names
}

private let oldLanguageNames = [
    "en": "English", "fr": "French", "de": "German", "ja": "Japanese", "es": "Spanish", "it": "Italian", "nl": "Dutch",
]
