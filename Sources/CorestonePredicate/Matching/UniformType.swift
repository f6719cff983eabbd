/// The evaluation of UTI-CONFORMS-TO.
///
/// It uses the hierarchy of Apple's common uniform type identifiers. A type that is not listed conforms only to itself.
enum UniformType {
    static func conforms(_ type: String, to other: String) -> Bool {
        let wanted = other.lowercased()
        var open = [type.lowercased()]
        var seen = Set(open)
        while let next = open.popLast() {
            if next == wanted { return true }
            for parent in parents[next] ?? [] where seen.insert(parent).inserted { open.append(parent) }
        }
        return false
    }

    /// The direct supertypes of each type.
    private static let parents: [String: [String]] = {
        var parents: [String: [String]] = [:]
        for line in table.split(separator: "\n") {
            let sides = line.split(separator: ":")
            for child in sides[1].split(separator: " ") { parents[String(child), default: []].append(String(sides[0])) }
        }
        return parents
    }()

    /// The types with their subtypes, from Apple's list of system-declared types.
    private static let table = """
        public.item:public.data public.directory public.symlink
        public.content:public.text public.image public.audiovisual-content public.composite-content public.archive public.contact \
        public.calendar-event public.presentation public.spreadsheet
        public.data:public.text public.image public.archive public.executable public.audiovisual-content public.database \
        public.vcard com.adobe.pdf public.disk-image public.font
        public.text:public.plain-text public.rtf public.html public.xml public.json public.source-code public.vcard \
        public.comma-separated-values-text public.yaml
        public.plain-text:public.utf8-plain-text public.utf16-plain-text net.daringfireball.markdown public.source-code \
        public.delimited-values-text
        public.delimited-values-text:public.comma-separated-values-text public.tab-separated-values-text
        public.source-code:public.c-source public.c-header public.objective-c-source public.c-plus-plus-source \
        public.swift-source public.script
        public.script:public.shell-script public.python-script public.perl-script public.ruby-script com.netscape.javascript-source
        public.xml:public.svg-image public.xhtml com.apple.xml-property-list
        public.image:public.jpeg public.png public.tiff com.compuserve.gif com.microsoft.bmp public.heic public.heif \
        public.svg-image public.camera-raw-image org.webmproject.webp com.microsoft.ico public.jpeg-2000
        public.audiovisual-content:public.movie public.audio
        public.movie:public.video com.apple.quicktime-movie
        public.video:public.mpeg public.mpeg-4 public.avi public.3gpp
        public.audio:public.mp3 public.mpeg-4-audio com.microsoft.waveform-audio com.apple.m4a-audio org.xiph.flac public.midi-audio
        public.archive:public.zip-archive public.tar-archive org.gnu.gnu-zip-archive public.bzip2-archive
        public.composite-content:com.adobe.pdf com.microsoft.word.doc org.openxmlformats.wordprocessingml.document public.presentation \
        public.spreadsheet
        public.directory:public.folder com.apple.package public.volume
        com.apple.package:com.apple.bundle
        com.apple.bundle:com.apple.application com.apple.framework
        """
}
