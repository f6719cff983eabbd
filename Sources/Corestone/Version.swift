/// The version of the library; the same as in `corestone/version.h`, which a test compares.
public let corestoneVersion = "0.1.0"
