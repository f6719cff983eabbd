/// A project in Swift: a package with one program.
struct SwiftTemplate: ProjectTemplate {
    let name: String
    /// Corestone's own package.
    let package: String

    var steps: String { "run it with swift run; edit the model with corestone model" }

    var files: [(name: String, text: String)] { [("Package.swift", manifest), ("main.swift", program)] }

    private var manifest: String {
        """
        // swift-tools-version: 6.3
        import PackageDescription

        let package = Package(
            name: "\(name)",
            dependencies: [.package(name: "corestone", path: "\(package)")],
            targets: [
                .executableTarget(
                    name: "\(name)", dependencies: [.product(name: "Corestone", package: "corestone")], path: ".",
                    exclude: ["\(name).xcdatamodeld"], sources: ["main.swift"])
            ]
        )

        """
    }

    private var program: String {
        """
        // \(name): keeps items in a store.
        import Corestone
        import Foundation

        /// The model, its coordinator and the store, set up when they are first used.
        struct Stack {
            let coordinator: Coordinator
            let storePath: String

            init() throws {
                let here = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
                let data = ProcessInfo.processInfo.environment["XDG_DATA_HOME"].map { URL(fileURLWithPath: $0) }
                let folder = (data ?? FileManager.default.homeDirectoryForCurrentUser.appending(path: ".local/share"))
                    .appending(path: "\(name)")
                try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
                storePath = folder.appending(path: "\(name).sqlite").path
                coordinator = try Coordinator(
                    model: Model(contentsOf: here.appending(path: "\(name).xcdatamodeld").path))
                try coordinator.addSQLiteStore(at: storePath)
            }
        }

        let stack = try Stack()
        let context = Context(coordinator: stack.coordinator)
        _ = try context.insert("Item", ["timestamp": PropertyValue.date(Date().timeIntervalSinceReferenceDate)])
        try context.save()
        for item in try context.fetch("Item", sort: ["-timestamp"], limit: 10) {
            guard case .date(let seconds)? = try item.get("timestamp", as: PropertyValue.self) else { continue }
            print(Date(timeIntervalSinceReferenceDate: seconds).formatted(.iso8601))
        }
        print(try context.count("Item"), "items in", stack.storePath)

        """
    }
}
