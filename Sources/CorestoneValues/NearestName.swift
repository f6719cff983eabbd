/// The name that a misspelt one probably meant; nil when none is near.
public func nearestName(to name: String, among names: [String]) -> String? { nil }
