// swift-tools-version: 6.3
import PackageDescription

// Dynamic exclusivity checks cost a multiple of a getter (docs/ARCHITECTURE.md, "Costs"); debug builds and tests keep them.
let core: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .unsafeFlags(["-enforce-exclusivity=unchecked"], .when(configuration: .release)),
    // The linker can then remove unused functions, and merge equal ones.
    .unsafeFlags(["-Xfrontend", "-function-sections"], .when(configuration: .release)),
    // Regular expressions use PCRE2. A single call of `contains` with a string would link 2 MB of Swift's library.
    .unsafeFlags(["-Xfrontend", "-disable-implicit-string-processing-module-import"]),
]

/// Targets that are optimised for size: they run when models and files are read or written, not when objects are used.
let small = core + [.unsafeFlags(["-Osize"], .when(configuration: .release))]

/// Whether the shared library is to run where the C library is older: `make portable`.
let isPortable = Context.environment["CORESTONE_PORTABLE"] == "1"

func library(_ name: String, _ dependencies: [Target.Dependency], settings: [SwiftSetting] = core) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: settings)
}

/// Tests in `Tests/swift/<folder>`.
func tests(_ name: String, _ folder: String, _ dependencies: [Target.Dependency]) -> Target {
    .testTarget(
        name: name, dependencies: dependencies, path: "Tests/swift/\(folder)", swiftSettings: [.swiftLanguageMode(.v6)])
}

let package = Package(
    name: "corestone",
    products: [
        .library(name: "corestone", type: .dynamic, targets: ["CorestoneABI"]),
        .library(name: "Corestone", targets: ["Corestone"]),
        .library(name: "CorestoneObservation", targets: ["CorestoneObservation"]),
        .executable(name: "corestone-cli", targets: ["corestone-cli"]),
    ],
    targets: [
        // The C libraries of the field; each module map names the static archive that the shipped library takes in.
        .systemLibrary(name: "CSQLite"),
        .systemLibrary(name: "CFFI"),
        .systemLibrary(name: "CExpat"),
        .systemLibrary(name: "CPCRE2"),
        .systemLibrary(name: "CUTF8Proc"),
        .systemLibrary(name: "CZlib"),
        .systemLibrary(name: "CDigest"),
        .systemLibrary(name: "CCorestone", path: "include"),
        // Thread identity, fork detection, atomics: what Swift cannot express.
        // Thousands of accessors would have as many entries for unwinding. They end in a jump, so they have no frames.
        .target(name: "CPlatform", cSettings: [.unsafeFlags(["-O2", "-fno-asynchronous-unwind-tables"])]),

        library("CorestoneValues", ["CUTF8Proc", "CPlatform"]),
        library("CorestoneFileSystem", ["CorestoneValues", "CPlatform"], settings: small),
        library("CorestoneFormats", ["CorestoneValues", "CExpat", "CZlib", "CDigest"], settings: small),
        library("CorestonePredicate", ["CorestoneValues", "CPCRE2"]),
        library(
            "CorestoneModel", ["CorestonePredicate", "CorestoneFormats", "CorestoneFileSystem"],
            settings: small),
        library("CorestoneGraph", ["CorestoneModel", "CPlatform"]),
        library("CorestoneSQL", ["CorestoneGraph"]),
        library("CorestoneSQLite", ["CorestoneSQL", "CSQLite"]),
        library("CorestoneAtomicStores", ["CorestoneGraph", "CorestoneSQL", "CExpat"], settings: small),
        library(
            "CorestoneMigration", ["CorestoneGraph", "CorestoneSQLite", "CorestoneAtomicStores", "CPlatform"],
            settings: small),
        library(
            "CorestoneContainers", ["CorestoneSQLite", "CorestoneAtomicStores", "CorestoneMigration"], settings: small),
        library("CorestoneCustomStores", ["CorestoneContainers", "CorestoneAtomicStores"], settings: small),
        .target(
            name: "CorestoneABI",
            dependencies: [
                "CCorestone", "CFFI", "CPlatform", "CorestoneValues", "CorestonePredicate", "CorestoneModel",
                "CorestoneGraph", "CorestoneSQLite", "CorestoneContainers", "CorestoneCustomStores",
                "CorestoneMigration",
            ],
            exclude: ["corestone.ld", "corestone.map"],
            swiftSettings: core,
            linkerSettings: [
                .unsafeFlags(
                    [
                        "-Xlinker", "--version-script=\(Context.packageDirectory)/Sources/CorestoneABI/corestone.map",
                    ], .when(configuration: .release)),
                // What dlclose would take away, threads and fork handlers would still run.
                .unsafeFlags(["-Xlinker", "-z", "-Xlinker", "nodelete"]),
                // Packed, half a megabyte of relocations shrinks to a tenth, but only glibc 2.36 and newer knows the form.
                .unsafeFlags(
                    [
                        "-use-ld=lld", "-Xlinker", "-z", "-Xlinker", "\(isPortable ? "no" : "")pack-relative-relocs",
                        "-Xlinker", "-T\(Context.packageDirectory)/Sources/CorestoneABI/corestone.ld",
                        "-Xlinker", "--no-eh-frame-hdr", "-Xlinker", "--gc-sections", "-Xlinker", "--icf=all",
                    ], .when(configuration: .release)),
                // In a test program, the script would hide the interceptors of a sanitizer. The symbols of Debian's libz.a
                // must still be hidden.
                .unsafeFlags(["-Xlinker", "--exclude-libs=libz.a"], .when(configuration: .debug)),
            ]),
        library(
            "Corestone",
            [
                "CorestoneGraph", "CorestoneSQLite", "CorestoneContainers", "CorestoneCustomStores",
                "CorestoneMigration",
            ]),
        // A library of its own, so that other programs do not link the Observation framework.
        library("CorestoneObservation", ["Corestone"]),
        .executableTarget(
            name: "corestone-cli", dependencies: ["Corestone", "CorestoneFileSystem", "CUTF8Proc"],
            swiftSettings: [.swiftLanguageMode(.v6)]),

        tests("CorestoneValuesTests", "values", ["CorestoneValues"]),
        tests("CorestoneFileSystemTests", "file-system", ["CorestoneFileSystem"]),
        tests("CorestoneFormatsTests", "formats", ["CorestoneFormats"]),
        tests("CorestonePredicateTests", "predicate", ["CorestonePredicate", "TestSupport"]),
        tests("CorestoneModelTests", "model", ["CorestoneModel", "TestSupport"]),
        tests("CorestoneSQLTests", "sql", ["CorestoneSQL", "CSQLite"]),
        // What tests of several targets share: the folders of the checkout, the company model.
        .target(name: "TestSupport", path: "Tests/support/swift", swiftSettings: [.swiftLanguageMode(.v6)]),
        // A graph and a reference, changed by the same random steps: for a test and for `make stress`.
        .target(
            name: "GraphSteps", dependencies: ["Corestone"], path: "Tests/graph-steps",
            swiftSettings: [.swiftLanguageMode(.v6)]),
        .executableTarget(
            name: "graph-steps", dependencies: ["GraphSteps"], path: "Tests/graph-steps-tool",
            swiftSettings: [.swiftLanguageMode(.v6)]),
        tests("CorestoneGraphTests", "graph", ["Corestone", "GraphSteps", "TestSupport"]),
        tests("CorestoneSQLiteTests", "sqlite", ["CorestoneContainers", "CorestoneSQLite", "CSQLite", "TestSupport"]),
        tests("CorestoneAtomicStoresTests", "atomic-stores", ["Corestone"]),
        tests("CorestoneTests", "corestone", ["Corestone", "TestSupport"]),
        tests("CorestoneObservationTests", "observation", ["Corestone", "CorestoneObservation"]),
        tests("CorestoneMigrationTests", "migration", ["CorestoneContainers", "CorestoneMigration", "TestSupport"]),
        tests("CorestoneABITests", "abi", ["CCorestone", "CorestoneABI"]),
    ]
)

// `make fuzz` only: an executable for libFuzzer, which brings its own main function.
if Context.environment["CORESTONE_FUZZ"] != nil {
    package.products.append(.executable(name: "fuzz-readers", targets: ["fuzz-readers"]))
    package.targets.append(
        .executableTarget(
            name: "fuzz-readers",
            dependencies: [
                "CorestoneGraph", "CorestoneMigration", "CorestoneModel", "CorestoneSQLite", "CorestoneContainers",
            ],
            path: "Tests/fuzz",
            swiftSettings: core + [.unsafeFlags(["-parse-as-library"])]))
}
