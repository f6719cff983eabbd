import CorestoneValues
import Glibc

extension Model {
    /// Takes over the entries of a `.strings` file into the localisation; those of the same key are replaced.
    /// - Throws: `.storeIO` when it cannot be read; `.model` when it is damaged.
    public func loadStrings(_ path: String) throws {
        let file = ModelFile(path)
        for (key, text) in try file.reading(as: "a strings file", { try decodeStringsFile(try file.bytes()) }) {
            try setLocalization(text, forKey: key)
        }
    }

    /// Takes over the words for people that lie beside a model, in `<Model>Model.strings` of `<language>.lproj` or of the
    /// model's own folder.
    ///
    /// - Parameters:
    ///   - path: where the model lies.
    ///   - languages: the wanted ones, the best first, as `de`, `zh_CN` or `zh-Hans`. Whatever they are, words in no language's
    ///     folder, in `Base.lproj` and in English follow.
    /// - Returns: whether there are any.
    @discardableResult
    public func loadStrings(besideModel path: String, languages: [String] = Model.userLanguages) throws -> Bool {
        let model = ModelFile(path)
        let folder = model.folder
        let name = model.stem + "Model.strings"
        let wanted = languages.flatMap(languageNames).map { "\($0).lproj/\(name)" }
        let others = [name, "Base.lproj/\(name)"] + languageNames("en").map { "\($0).lproj/\(name)" }
        guard let file = (wanted + others).lazy.map(folder.child).first(where: \.exists) else { return false }
        try loadStrings(file.path)
        return true
    }

    /// The languages that the user reads, by the environment as gettext takes it: LANGUAGE, then the first of LC_ALL,
    /// LC_MESSAGES and LANG. None when those say C.
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

/// What the folder of a language may be called, the most exact first: `zh_CN`, `zh-CN`, `zh-Hans`, `zh`.
private func languageNames(_ language: String) -> [String] {
    // Without what follows as encoding or variant. Slashes would lead elsewhere.
    let tag = String(language.prefix { $0 != "." && $0 != "@" && $0 != "/" }.map { $0 == "_" ? "-" : $0 })
    let parts = tag.split(separator: "-").map(String.init)
    guard let base = parts.first else { return [] }
    var names: [String] = []
    if parts.count > 1 { names += [parts.joined(separator: "_"), tag] }
    if base == "zh", parts.count > 1 {
        names.append(["TW", "HK", "MO", "Hant"].contains(parts[1]) ? "zh-Hant" : "zh-Hans")
    }
    names.append(base)
    // How folders were called before languages had codes.
    if let old = oldLanguageNames[base] { names.append(old) }
    return names
}

private let oldLanguageNames = [
    "en": "English", "fr": "French", "de": "German", "ja": "Japanese", "es": "Spanish", "it": "Italian", "nl": "Dutch",
]
