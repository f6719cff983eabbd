/// The version of the library. A test checks that it equals the version in `corestone/version.h`.
public let corestoneVersion = "0.1.0"
