// swift-tools-version: 6.3
import PackageDescription

let package = Package(
    name: "ten-lines",
    dependencies: [.package(name: "corestone", path: "../..")],
    targets: [
        .executableTarget(
            name: "ten-lines", dependencies: [.product(name: "Corestone", package: "corestone")], path: ".",
            exclude: ["signals.swift"], sources: ["ten_lines.swift"]),
        .executableTarget(
            name: "signals", dependencies: [.product(name: "Corestone", package: "corestone")], path: ".",
            exclude: ["ten_lines.swift"], sources: ["signals.swift"]),
    ]
)
