import Corestone
import Glibc

// Saves notes at the end of the program, even after a signal. Each line of the input is a note.
//
// With --document, the notes are in a document, which is saved automatically half a second after the last change. So a
// power cut loses only the newest notes.
//
// A signal handler can call almost no functions, so this one writes a byte into a pipe, on which the main loop waits
// between two calls of the library. Any other exit calls `end`, which is registered with `atexit`. Both ways close the
// container or document, which saves the notes. Notes that cannot be saved are printed with the reason, and the program
// ends with status 1.

let longest = 2000  // the maximum number of characters in a note

/// The open container or document.
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

/// Closes the container or document, once. Saves unsaved notes, or prints them.
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
        _exit(1)  // replaces the status that was passed to exit
    }
}

/// Wakes the main loop, as the signal handler, which any thread may run. A closure would be isolated to the main actor,
/// and would end the program on a thread of the library.
func wake(_ number: Int32) {
    let former = errno  // the interrupted thread may read it next
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

/// Adds each line of the input, until its end or a signal; then adds the incomplete last line.
func readLines(signalled: Int32, add: (ArraySlice<UInt8>) throws -> Void) throws {
    var waiting = [
        pollfd(fd: 0, events: Int16(POLLIN), revents: 0), pollfd(fd: signalled, events: Int16(POLLIN), revents: 0),
    ]
    var text: [UInt8] = []
    while true {
        if poll(&waiting, 2, -1) < 0 {
            if errno == EINTR { continue }  // a signal also interrupts the wait
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
    exit(1)  // `end` saves the notes
}
exit(0)
