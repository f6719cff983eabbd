import Corestone
import Glibc

// Notes that are kept whatever ends the program: each line of the input is one, and nothing is saved before the end.
//
// With --document they lie in a document, which saves itself whenever nobody wrote for half a second: what even a power cut leaves.
//
// A handler of a signal may call next to nothing, so this one writes a byte into a pipe, which the main loop waits for, between two
// calls of the library. An exit from anywhere else ends in `atexit`. Both close what is open, which saves; what cannot be saved is
// printed, with the reason, and the program ends with status 1.

let longest = 2000  // characters of a note

/// What is open: a container or a document.
enum Place {
    case container(Container)
    case document(Document)

    init(path: String, isDocument: Bool) throws {
        let model = Model()
        let note = try model.addEntity(named: "Note")
        try note.addAttribute(named: "body", type: .string, isOptional: false)
            .setBounds(least: nil, greatest: .int(Int64(longest)))
        guard isDocument else {
            let container = try Container(name: "Notes", model: model)
            container.storeDescriptions = [StoreDescription(path: path)]
            try container.loadStores()
            self = .container(container)
            return
        }
        let isThere = access(path, F_OK) == 0
        let document = try isThere ? Document.open(path, model: model) : Document(model: model)
        if !isThere { try document.saveAs(path) }
        try document.setAutosave(afterChanges: 100, idleSeconds: 0.5)
        self = .document(document)
    }

    var context: Context {
        switch self {
        case .container(let container): container.viewContext
        case .document(let document): document.context
        }
    }

    func close(_ unsaved: Container.Unsaved) throws {
        switch self {
        case .container(let container): try container.close(unsaved)
        case .document(let document): try document.close(unsaved)
        }
    }
}

nonisolated(unsafe) var place: Place?
nonisolated(unsafe) var wakeup: Int32 = -1

/// Closes what is open, once: what is unsaved is saved, or told.
func end() {
    guard let open = place else { return }
    place = nil
    do {
        try open.close(.save)
        say("saved")
    } catch {
        say("\(error)", to: STDERR_FILENO)
        try? open.context.performAndWait { context in
            for note in context.insertedObjects {
                say("not saved: \(try note.get("body", as: String.self) ?? "")", to: STDERR_FILENO)
            }
        }
        try? open.close(.discard)
        _exit(1)  // whatever status exit was given
    }
}

/// What a signal runs, on whichever thread it meets. A closure here would belong to the main actor, and end the program on a thread of
/// the library's.
func wake(_ number: Int32) {
    let former = errno  // which the interrupted thread may be about to read
    var byte: UInt8 = 1
    _ = write(wakeup, &byte, 1)
    errno = former
}

func say(_ line: String, to descriptor: Int32 = STDOUT_FILENO) {
    var left = Array((line + "\n").utf8)[...]
    while !left.isEmpty {
        let written = left.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
        if written > 0 { left = left.dropFirst(written) } else if errno != EINTR { return }
    }
}

/// Every line of the input, until that ends or a signal comes; then what stands in the last one.
func readLines(signalled: Int32, add: (ArraySlice<UInt8>) throws -> Void) throws {
    var waiting = [
        pollfd(fd: 0, events: Int16(POLLIN), revents: 0), pollfd(fd: signalled, events: Int16(POLLIN), revents: 0),
    ]
    var text: [UInt8] = []
    while true {
        if poll(&waiting, 2, -1) < 0 {
            if errno == EINTR { continue }  // a signal ends the wait, too
            break
        }
        if waiting[0].revents != 0 {
            var bytes = [UInt8](repeating: 0, count: 4096)
            let got = read(0, &bytes, bytes.count)
            if got < 0 && errno == EINTR { continue }
            if got <= 0 { break }
            text += bytes[..<got]
            while let newline = text.firstIndex(of: 10) {
                try add(text[..<newline])
                text.removeSubrange(...newline)
            }
        }
        if waiting[1].revents != 0 { break }
    }
    if !text.isEmpty { try add(text[...]) }
}

var ends: [Int32] = [-1, -1]
guard pipe(&ends) == 0 else { exit(1) }
wakeup = ends[1]
for number in [SIGTERM, SIGINT] { signal(number, wake) }

let words = CommandLine.arguments.dropFirst()
let isDocument = words.first == "--document"
let opened = try Place(path: words.dropFirst(isDocument ? 1 : 0).first ?? "notes.store", isDocument: isDocument)
place = opened
atexit(end)

var notes = 0
do {
    try readLines(signalled: ends[0]) { line in
        try opened.context.performAndWait { context in
            _ = try context.insert("Note", ["body": String(decoding: line, as: UTF8.self)])
        }
        notes += 1
        say("\(notes) unsaved")
    }
} catch {
    say("\(error)", to: STDERR_FILENO)
    exit(1)  // `end` saves what is there
}
exit(0)
