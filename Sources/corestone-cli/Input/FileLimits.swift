import Corestone

/// `--file-limit NAME=NUMBER`, which every command takes: how much a store's file may have the tool do.
enum FileLimits {
    private static let option = "--file-limit"

    /// Takes the option out of a command line, as often as it stands there, and has it hold from now on.
    static func take(from words: [String]) throws -> [String] {
        var (rest, limits, isGiven) = ([String](), StoreLimits(), false)
        var words = words[...]
        while let word = words.popFirst() {
            if word == "--" {
                rest += [word] + words
                break
            }
            guard word == option || word.hasPrefix(option + "=") else {
                rest.append(word)
                continue
            }
            let text = word == option ? words.popFirst() : String(word.dropFirst(option.count + 1))
            let parts = (text ?? "").split(separator: "=", omittingEmptySubsequences: false)
            guard parts.count == 2, let number = Int(parts[1]), number > 0, limits.set(String(parts[0]), to: number)
            else { throw mistake(text ?? "", parts.map { String($0) }) }
            isGiven = true
        }
        if isGiven {
            do { try limits.check("the store") } catch let error as CoreError { throw UsageError(error.message) }
            StoreLimits.beUsual(limits)
        }
        return rest
    }

    /// The error for a value of the option: its form, its name or its number is wrong.
    private static func mistake(_ text: String, _ parts: [String]) -> UsageError {
        let names = StoreLimits.names.joined(separator: ", ")
        guard parts.count == 2 else {
            return UsageError("\(option) takes NAME=NUMBER with one of the names \(names), not \"\(text)\"")
        }
        guard StoreLimits.names.contains(parts[0]) else {
            let hint = nearestName(to: parts[0], among: StoreLimits.names).map { "did you mean \"\($0)\"?" }
            return UsageError(
                "\(option): \"\(parts[0])\" is not the name of a limit; \(hint ?? "use one of \(names)")")
        }
        var limits = StoreLimits()
        if let number = Int(parts[1]), limits.set(parts[0], to: number) {
            do { try limits.check("the store") } catch let error as CoreError { return UsageError(error.message) } catch
            {}
        }
        return UsageError(
            "\(option): \(parts[0]) must be an integer (\(StoreLimits.range(of: parts[0]))), not \"\(parts[1])\"")
    }
}
