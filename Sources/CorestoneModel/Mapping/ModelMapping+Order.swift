extension ModelMapping {
    /// Whether the destination only lacks entities and properties of the source.
    ///
    /// In this case, the destination is probably the older model.
    package var onlyRemoves: Bool {
        // A renaming identifier refers to the former name, so a destination with renamed parts is newer than the
        // source.
        let renames = entities.contains { pair in
            pair.source != nil && pair.destination != nil && pair.source?.name != pair.destination?.name
                || pair.properties.contains(where: \.isRenamed)
        }
        let adds = entities.contains { $0.kind == .add || !$0.added.isEmpty }
        let changes = entities.contains { $0.kind == .transform && $0.added.isEmpty && $0.removed.isEmpty }
        return !removals.isEmpty && !adds && !renames && !changes
    }

    /// The names of the removed entities and properties.
    package var removals: [String] {
        entities.flatMap { pair -> [String] in
            guard let source = pair.source else { return [] }
            if pair.destination == nil { return [source.name] }
            return pair.removed.filter { $0.entity === source }.map { "\(source.name).\($0.path)" }
        }
    }
}
