import CorestoneModel
import Foundation
import XCTest

/// Stores that Apple's framework wrote, and the models cached in them, read by the independent decoder of the fixtures.
enum Fixtures {
    static var folder: String {
        let named = ProcessInfo.processInfo.environment["CORESTONE_FIXTURES"]
        let repository = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().path
        return named ?? repository + "/../shared/fixtures"
    }

    /// Skips the test when there are no fixtures, unless they are required.
    static func require() throws {
        if FileManager.default.fileExists(atPath: folder + "/manifest.json") { return }
        guard ProcessInfo.processInfo.environment["CORESTONE_REQUIRE_FIXTURES"] != "1" else {
            throw CocoaError(.fileNoSuchFile, userInfo: [NSFilePathErrorKey: folder])
        }
        throw XCTSkip("no fixtures at \(folder); set CORESTONE_FIXTURES")
    }

    /// The stores of the manifest that carry their model: path below the folder, version of the framework that wrote
    /// it.
    static func storesWithModel() throws -> [(file: String, framework: Int, wasAltered: Bool)] {
        let data = try Data(contentsOf: URL(fileURLWithPath: folder + "/manifest.json"))
        let manifest = try JSONSerialization.jsonObject(with: data) as? [String: Any]
        let stores = manifest?["stores"] as? [[String: Any]] ?? []
        return stores.filter { $0["model_cache"] as? Bool == true }.compactMap { store in
            (store["file"] as? String).map {
                ($0, store["framework"] as? Int ?? 0, store["altered_tables"] as? Int != 0)
            }
        }
    }

    static func run(_ program: String, _ arguments: [String]) throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [program] + arguments
        let pipe = Pipe()
        process.standardOutput = pipe
        try process.run()
        let output = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return String(decoding: output, as: UTF8.self)
    }

    /// One line for each entity, attribute, relationship, index and constraint of the model that a store carries.
    private static let dump = """
        import sys
        sys.path.insert(0, sys.argv[1])
        from decode_model import *
        root, _ = unarchive(model_from_store(sys.argv[2]))
        flag = lambda x: '1' if x else '0'
        for name, e in sorted(entities(root).items()):
            up = e.get('NSSuperentity')
            print('E', name, up['NSEntityName'] if up else '', flag(e.get('NSIsAbstract')), sep='\\t')
        for name, e in sorted(entities(root).items()):
            up = e.get('NSSuperentity')
            inherited = set(kk(up['NSProperties'])) if up else set()
            for key, p in sorted(kk(e['NSProperties']).items()):
                if key in inherited: continue
                if p.cls == '_NSPropertyDescriptionProxy': continue
                if 'Relationship' in p.cls:
                    inverse = p.get('NSInverseRelationship')
                    owner = inverse['NSEntity']['NSEntityName'] if inverse and inverse.get('NSEntity') else ''
                    print('R', name, key, p['NSDestinationEntity']['NSEntityName'], flag(p.get('NSMaxCount', 0) != 1),
                        flag(p.get('NSIsOrdered')), p.get('_NSInverseRelationshipName') or '', flag(p.get('NSIsTransient')), sep='\\t')
                elif 'Attribute' in p.cls:
                    print('A', name, key, p.get('NSAttributeType', 0), flag(p.get('NSIsTransient')), sep='\\t')
            for index in e.get('NSFetchIndexDescriptions') or []:
                if index.get('NSPartialIndexPredicate') is not None: continue
                properties = kk(e['NSProperties'])
                if any(x.get('NSPropertyName') not in properties for x in index['NSIndexElements']): continue
                if any('Relationship' in properties[x['NSPropertyName']].cls and properties[x['NSPropertyName']].get('NSMaxCount', 0) != 1
                    for x in index['NSIndexElements']): continue
                parts = [(x.get('NSPropertyName') or '') + ':' + flag(x.get('NSAscending', True)) for x in index['NSIndexElements']]
                print('I', name, index['NSIndexName'], ','.join(parts), sep='\\t')
            upper = [sorted(map(str, t)) for t in (up.get('NSUniqueTuples') or [])] if up else []
            for constraint in e.get('NSUniqueTuples') or []:
                if sorted(map(str, constraint)) in upper: continue
                print('U', name, ','.join(str(getattr(a, 'get', lambda k: a)('NSPropertyName')) if not isinstance(a, str) else a for a in constraint), sep='\\t')
        """

    /// The model of a store, built through the public calls; throws when the model cannot be built.
    static func model(ofStore file: String) throws -> Model {
        let lines = try run("python3", ["-c", dump, folder + "/../tools", file]).split(separator: "\n").map {
            $0.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
        }
        let model = Model()
        for line in lines where line[0] == "E" {
            let entity = try model.addEntity(named: line[1])
            try entity.setAbstract(line[3] == "1")
        }
        func entity(_ name: String) throws -> Entity { try XCTUnwrap(model.entity(named: name)) }
        for line in lines where line[0] == "E" && !line[2].isEmpty { try entity(line[1]).setParent(entity(line[2])) }
        for line in lines where line[0] == "A" {
            let type = try XCTUnwrap(AttributeType(rawValue: XCTUnwrap(Int32(line[3]))), line.joined(separator: " "))
            try entity(line[1]).addAttribute(named: line[2], type: type, isTransient: line[4] == "1")
        }
        for line in lines where line[0] == "R" {
            let relationship = try entity(line[1]).addRelationship(
                named: line[2], destination: entity(line[3]), isToMany: line[4] == "1", isOrdered: line[5] == "1")
            if line[7] == "1" { try relationship.setTransient(true) }
        }
        func relationship(_ owner: Entity?, _ name: String) -> Relationship? {
            owner.flatMap { $0.ownRelationships.first { $0.name == name } ?? relationship($0.parent, name) }
        }
        for line in lines where line[0] == "R" && !line[6].isEmpty {
            guard let one = try relationship(entity(line[1]), line[2]), one.inverse == nil,
                let other = try relationship(entity(line[3]), line[6])
            else { continue }
            try one.setInverse(other)
        }
        for line in lines where line[0] == "I" {
            let elements = line[3].split(separator: ",").map {
                $0.split(separator: ":", omittingEmptySubsequences: false)
            }
            guard elements.allSatisfy({ !$0[0].isEmpty && $0[0] != "entity" }) else { continue }
            try entity(line[1]).addIndex(
                FetchIndex(
                    name: line[2],
                    elements: elements.map { FetchIndex.Element(property: String($0[0]), isAscending: $0[1] == "1") }))
        }
        for line in lines where line[0] == "U" {
            try entity(line[1]).addUniqueConstraint(line[2].split(separator: ",").map(String.init))
        }
        try model.freeze()
        return model
    }
}
