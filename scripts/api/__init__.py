"""The interface of corestone.h as data: read by a C parser, kept as include/corestone-api.json, turned into code."""
