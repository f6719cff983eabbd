// swift-tools-version: 6.3
import PackageDescription

/// The programs: one for each file of this folder.
let programs = ["company", "signals", "ten_lines"]

let package = Package(
    name: "examples",
    dependencies: [.package(name: "corestone", path: "../..")],
    targets: programs.map { program in
        .executableTarget(
            name: program.replacing("_", with: "-"),
            dependencies: [.product(name: "Corestone", package: "corestone")], path: ".",
            exclude: programs.filter { $0 != program }.map { $0 + ".swift" }, sources: [program + ".swift"])
    }
)
