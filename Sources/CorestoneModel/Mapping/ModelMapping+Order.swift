extension ModelMapping {
    /// Whether the new model only lacks entities and properties: then it may be the older one of the two.
    package var onlyRemoves: Bool {
        // A renaming identifier names the former name: the new model knows the store's.
        let renames = entities.contains { pair in
            pair.source != nil && pair.destination != nil && pair.source?.name != pair.destination?.name
                || pair.properties.contains(where: \.isRenamed)
        }
        let adds = entities.contains { $0.kind == .add || !$0.added.isEmpty }
        let changes = entities.contains { $0.kind == .transform && $0.added.isEmpty && $0.removed.isEmpty }
        return !removals.isEmpty && !adds && !renames && !changes
    }

    /// Names of the entities and properties that the new model lacks.
    package var removals: [String] {
        entities.flatMap { pair -> [String] in
            guard let source = pair.source else { return [] }
            if pair.destination == nil { return [source.name] }
            return pair.removed.filter { $0.entity === source }.map { "\(source.name).\($0.path)" }
        }
    }
}
