/// A Swift project that depends on Corestone's package: a package with one program, which uses the Swift interface.
struct SwiftSourceTemplate: ProjectTemplate {
    let name: String
    /// The path of Corestone's package.
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

        // The model \(name).xcdatamodeld beside this file; the store \(name).sqlite in the user's data folder.
        let here = URL(fileURLWithPath: #filePath).deletingLastPathComponent().path
        let container = try Container(name: "\(name)", modelFolders: [here])
        try container.loadStores()
        let context = container.viewContext
        _ = try context.insert("Item", ["timestamp": PropertyValue.date(Date().timeIntervalSinceReferenceDate)])
        try context.save()
        for item in try context.fetch("Item", sort: ["-timestamp"], limit: 10) {
            guard case .date(let seconds)? = try item.get("timestamp", as: PropertyValue.self) else { continue }
            print(Date(timeIntervalSinceReferenceDate: seconds).formatted(.iso8601))
        }
        print(try context.count("Item"), "items in", container.coordinator.stores[0].path)
        try container.close()

        """
    }
}
