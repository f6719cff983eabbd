import Corestone

/// `corestone history purge`: deletes transactions that are no longer needed.
struct HistoryPurgeCommand: Command {
    static let manual = Manual(
        command: "history purge", summary: "delete old transactions of a history",
        operands: [.init("STORE", "a store with persistent history")],
        options: [
            .init("older-than", "delete transactions older than this number of days", value: "DAYS"),
            .init("keep", "keep only the newest N transactions", value: "N"),
            .init("max-size", "keep only the newest transactions, up to this number of megabytes", value: "MB"),
            .init("all", "delete all transactions"),
            .init("progress", "show a bar also if the output is not a terminal"),
            .init("format", "text (the default) or json", value: "FORMAT"),
            Manual.model,
            Manual.timeout,
        ],
        details: [
            "A transaction is deleted if it is beyond one of the limits and every registered consumer of the history has read it. A "
                + "consumer whose lease (30 days by default) has expired is ignored. A store that CloudKit mirrors "
                + "keeps at least seven days, and all transactions that its mirror has not exported yet.",
            "The command deletes in steps, so other programs can save meanwhile. Objects are not touched, and the file does not shrink: "
                + "SQLite reuses the space.",
        ],
        examples: [
            "corestone history purge Notes.sqlite --older-than 30",
            "corestone history purge Notes.sqlite --keep 10000 --max-size 50",
        ])

    private let path: String
    private let options: Options
    private let isJSON: Bool
    private let retention: HistoryRetention

    init(_ options: Options) throws {
        self.options = options
        path = options.operand(0) ?? ""
        isJSON = try Format.isJSON(options)
        var retention = HistoryRetention()
        if let text = options["older-than"] {
            guard let days = Double(text), days >= 0, days < 1e6 else {
                throw UsageError(
                    "--older-than must be a number of days, at least 0 and less than 1000000, not \"\(text)\"")
            }
            retention.age = days * 86_400
        }
        if options.has("keep") { retention.count = try options.number("keep", or: 0) }
        if options.has("max-size") {
            let (bytes, overflow) = try options.number("max-size", or: 0).multipliedReportingOverflow(by: 1 << 20)
            retention.bytes = overflow ? .max : bytes
        }
        if options.has("all") { retention.count = 0 }
        guard retention != HistoryRetention() else {
            throw UsageError("history purge needs a limit; pass --older-than DAYS, --keep N, --max-size MB or --all")
        }
        self.retention = retention
    }

    func run(to output: Output) throws -> ExitCode {
        let coordinator = try openSharedStore(path, options)
        let store = try storeWithHistory(of: coordinator, path)
        let size = try coordinator.historySize(of: store)
        // The purge calls the function only on this thread.
        nonisolated(unsafe) let bar = ProgressBar(
            "purging", .things("transactions"), isForced: options.has("progress"))
        defer { bar.end() }
        Interruption.installHandlers()
        let purge = try coordinator.purgeHistory(of: store, keeping: retention) { transactions, _ in
            bar.show(transactions, of: max(size.transactions, transactions))
            return !Interruption.isReceived
        }
        try report(purge, output)
        return .done
    }

    private func report(_ purge: HistoryPurge, _ output: Output) throws {
        if isJSON {
            try output.json(
                .object([
                    ("store", .string(path)), ("transactions", .number(purge.transactions)),
                    ("changes", .number(purge.changes)), ("heldBy", .optional(purge.heldBy?.name)),
                    ("expired", .array(purge.expired.map { .string($0.name) })), ("reason", .optional(purge.reason)),
                ]))
            return
        }
        try output.line(
            "deleted \(plural(purge.transactions, "transaction")) with \(plural(purge.changes, "change"))")
        if let consumer = purge.heldBy {
            try output.line(
                "transactions after \(consumer.transactionNumber) stay, because the consumer \"\(consumer.name)\" has not read them"
            )
        }
        for consumer in purge.expired {
            try output.line("the lease of the consumer \"\(consumer.name)\" has expired, so its position was ignored")
        }
        if let reason = purge.reason { try output.line("\(reason); later transactions stay") }
    }
}

/// `corestone history size`: prints the size of a history and its consumers.
struct HistorySizeCommand: Command {
    static let manual = Manual(
        command: "history size", summary: "print the size of a history and its consumers",
        operands: [.init("STORE", "a store with persistent history; it is opened read-only")],
        options: [.init("format", "text (the default) or json", value: "FORMAT"), Manual.model],
        details: [
            "The bytes are those of the tables and their indexes. Consumers are programs that registered with the store "
                + "(cst_coordinator_register_history_consumer); a purge keeps transactions that an active consumer has not read."
        ],
        examples: ["corestone history size Notes.sqlite"])

    private let path: String
    private let options: Options
    private let isJSON: Bool

    init(_ options: Options) throws {
        self.options = options
        path = options.operand(0) ?? ""
        isJSON = try Format.isJSON(options)
    }

    func run(to output: Output) throws -> ExitCode {
        let coordinator = try openStore(path, options)
        let store = try storeWithHistory(of: coordinator, path)
        let size = try coordinator.historySize(of: store)
        let consumers = try coordinator.historyConsumers(of: store)
        let now = ReferenceDate.currentSeconds
        func text(_ date: Double) -> String { ReferenceDate.text(date) ?? date.description }
        if isJSON {
            try output.json(
                .object([
                    ("store", .string(path)), ("transactions", .number(size.transactions)),
                    ("changes", .number(size.changes)), ("bytes", .number(size.bytes)),
                    ("estimated", .bool(size.isEstimated)), ("oldest", .optional(size.oldest.map(text))),
                    ("newest", .optional(size.newest.map(text))),
                    (
                        "consumers",
                        .array(
                            consumers.map { consumer in
                                .object([
                                    ("name", .string(consumer.name)),
                                    ("transaction", .number(String(consumer.transactionNumber))),
                                    ("lastSeen", .string(text(consumer.lastSeen))), ("lease", .double(consumer.lease)),
                                    ("living", .bool(consumer.isLiving(at: now))),
                                ])
                            })
                    ),
                ]))
            return .done
        }
        let about = size.isEstimated ? "about " : ""
        try output.line(
            "\(plural(size.transactions, "transaction")) with \(plural(size.changes, "change")), \(about)\(plural(size.bytes, "byte"))"
        )
        if let oldest = size.oldest, let newest = size.newest {
            try output.line("from \(text(oldest)) to \(text(newest))")
        }
        for consumer in consumers {
            let state = consumer.isLiving(at: now) ? "" : ", its lease has expired"
            try output.line(
                "consumer \(consumer.name): at transaction \(consumer.transactionNumber), last seen \(text(consumer.lastSeen))\(state)"
            )
        }
        return .done
    }
}
