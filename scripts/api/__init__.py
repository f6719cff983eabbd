"""The interface of corestone.h as data, which libclang parses from the headers, and the code generated from it."""
