/// A Swift project that uses the installed library: a package with one program, which calls the C interface.
struct SwiftTemplate: ProjectTemplate {
    let name: String
    let installation: Installation

    var steps: String { "run it with swift run; edit the model with corestone model" }

    var files: [(name: String, text: String)] {
        [
            ("Package.swift", manifest), ("main.swift", program), ("CCorestone/module.modulemap", moduleMap),
            ("CCorestone/shim.h", "#include <corestone/example.h>\n"),
        ]
    }

    private var manifest: String {
        """
        // swift-tools-version: 6.0
        import PackageDescription

        let package = Package(
            name: "\(name)",
            targets: [
                .systemLibrary(name: "CCorestone", path: "CCorestone"),
                .executableTarget(
                    name: "\(name)", dependencies: ["CCorestone"], path: ".",
                    exclude: ["CCorestone", "\(name).xcdatamodeld"], sources: ["main.swift"]\(settings)),
            ]
        )

        """
    }

    /// The settings for the folders of the headers and the library; empty if compilers do not need flags.
    private var settings: String {
        var text = ""
        if let headers = installation.headers {
            text += ",\n            swiftSettings: [.unsafeFlags([\"-Xcc\", \("-I\(headers)".swiftLiteral)])]"
        }
        if let library = installation.library {
            let flags = ["-L\(library)", "-Xlinker", "-rpath", "-Xlinker", library].map(\.swiftLiteral)
            text += ",\n            linkerSettings: [.unsafeFlags([\(flags.joined(separator: ", "))])]"
        }
        return text
    }

    private var moduleMap: String {
        """
        module CCorestone [system] {
            header "shim.h"
            link ":\(Installation.libraryName)"
            export *
        }

        """
    }

    private var program: String {
        #"""
        // ¶: keeps items in a store, through the C interface of the installed library.
        import CCorestone
        import Foundation

        /// Calls the library. Prints the error of a call that fails, and ends the program.
        func attempt(line: Int32 = #line, _ call: (UnsafeMutablePointer<OpaquePointer?>) -> cst_status) {
            var error: OpaquePointer?
            if cst_example_failed(call(&error), &error, "the call", #fileID, line) { exit(EXIT_FAILURE) }
        }

        func text(_ literal: StaticString) -> cst_string {
            cst_string(
                data: UnsafeRawPointer(literal.utf8Start).assumingMemoryBound(to: CChar.self), size: literal.utf8CodeUnitCount)
        }

        // The model ¶.xcdatamodeld beside this file; the store ¶.sqlite in the user's data folder.
        var container: OpaquePointer?
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().path
        folder.withCString { path in
            var folder = cst_string(data: path, size: strlen(path))
            withUnsafePointer(to: &folder) { folders in
                var options = cst_container_options()
                options.struct_size = MemoryLayout<cst_container_options>.size
                options.model_folder_count = 1
                options.model_folders = folders
                attempt { cst_container_new(text("¶"), nil, &options, &container, $0) }
            }
        }
        attempt { cst_container_load(container, nil, nil, nil, $0) }
        var (context, coordinator, store, model): (OpaquePointer?, OpaquePointer?, OpaquePointer?, OpaquePointer?)
        attempt { cst_container_view_context(container, &context, $0) }
        attempt { cst_container_coordinator(container, &coordinator, $0) }
        attempt { cst_coordinator_store(coordinator, 0, &store, $0) }
        attempt { cst_coordinator_model(coordinator, &model, $0) }
        var (entity, item): (OpaquePointer?, OpaquePointer?)
        var timestamp: cst_key = 0
        attempt { cst_model_entity(model, text("Item"), &entity, $0) }
        attempt { cst_entity_key(entity, text("timestamp"), &timestamp, $0) }

        var now = cst_value_date(Date().timeIntervalSinceReferenceDate)
        attempt { cst_context_insert(context, entity, &item, $0) }
        attempt { cst_object_set(item, timestamp, &now, $0) }
        attempt { cst_context_save(context, $0) }
        cst_release(UnsafeMutableRawPointer(item))

        var (request, results): (OpaquePointer?, OpaquePointer?)
        var count: UInt64 = 0
        var newest = cst_sort(key_path: text("timestamp"), flags: UInt32(CST_SORT_DESCENDING), reserved: 0)
        attempt { cst_fetch_request_new(entity, &request, $0) }
        attempt { cst_context_count(context, request, &count, $0) }
        attempt { cst_fetch_request_set_sort(request, 1, &newest, $0) }
        attempt { cst_fetch_request_set_limit(request, 10, $0) }
        attempt { cst_context_fetch(context, request, &results, $0) }
        for index in 0..<cst_results_count(results) {
            var object: OpaquePointer?
            var value = cst_value()
            attempt { cst_results_get_object(results, index, &object, $0) }
            attempt { cst_object_get(object, timestamp, &value, $0) }
            print(Date(timeIntervalSinceReferenceDate: value.as.date).formatted(.iso8601))
        }
        print(count, "items in", String(cString: cst_store_path(store).data))
        cst_release(UnsafeMutableRawPointer(results))
        cst_release(UnsafeMutableRawPointer(request))
        attempt { cst_container_close(container, UInt32(CST_UNSAVED_REFUSE), $0) }
        cst_release(UnsafeMutableRawPointer(container))

        """#.replacing("¶", with: name)
    }
}

extension String {
    /// The text as a Swift string literal.
    fileprivate var swiftLiteral: String {
        "\"\(replacing("\\", with: "\\\\").replacing("\"", with: "\\\""))\""
    }
}
