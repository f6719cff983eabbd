import Corestone

/// The option `--file-limit NAME=NUMBER` of every command, which limits the resources that a store file can use.
enum FileLimits {
    private static let option = "--file-limit"

    /// Removes the option from the words before `--`, and applies the limits.
    static func parse(from words: [String]) throws -> [String] {
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
            StoreLimits.setDefault(limits)
        }
        return rest
    }

    /// Creates the error for an invalid value of the option.
    private static func mistake(_ text: String, _ parts: [String]) -> UsageError {
        let names = StoreLimits.names.joined(separator: ", ")
        guard parts.count == 2 else {
            return UsageError("\(option) takes NAME=NUMBER, not \"\(text)\"; use one of the names \(names)")
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
