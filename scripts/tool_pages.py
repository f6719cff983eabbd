"""Generates the tool's manual page and its completions for bash, zsh and fish from its help.

Usage: tool_pages.py TOOL FOLDER   writes man/man1/corestone.1.gz, bash-completion/completions/corestone,
                                   zsh/site-functions/_corestone and fish/vendor_completions.d/corestone.fish
"""

from __future__ import annotations

import gzip
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

# The values of options with a fixed set of values, as in the help. Other values are files, names or numbers.
CHOICES = re.compile(r"\b(table|json|jsonl|csv|python|c|swift|svg|dot|png|yes|no|SQLite|XML|Binary|memory)\b")
# Placeholders of values that are names or numbers, for which the completion does not offer files.
PLAIN = re.compile(r"KEY|NAME|N\b|SECONDS|ENTITY|PREDICATE|VALUE|TEXT|NUMBER|COLUMN")


# The replacement for an apostrophe, which would end a word in single quotes.
APOSTROPHE = "\u2019"


@dataclass
class Term:
    """An operand or option of the help."""

    spellings: str
    meaning: str

    @property
    def flags(self) -> list[str]:
        return re.findall(r"(?<![\w-])--?[a-z][\w-]*", self.spellings)

    @property
    def value(self) -> str:
        """The placeholder of the value, or "" for an option without a value."""
        value = self.spellings.partition(self.flags[-1])[2].strip() if self.flags else ""
        # An optional value follows an equals sign, so the next word is not the value.
        return "" if value.startswith("[=") else value

    @property
    def choices(self) -> list[str]:
        if "|" in self.value:
            return self.value.split("|")
        if not self.value or re.search("NAME|PATH|FILE|DIR|KEY|MODEL|STORE", self.value):
            return []
        known = list(dict.fromkeys(CHOICES.findall(f"{self.value} {self.meaning}")))
        return known if len(known) > 1 else []

    @property
    def takes_file(self) -> bool:
        return bool(self.value) and not self.choices and not PLAIN.search(self.value)


@dataclass
class Command:
    """A command of the tool, read from its help."""

    name: str
    summary: str
    usage: str = ""
    terms: list[Term] = field(default_factory=list)
    details: list[str] = field(default_factory=list)
    examples: list[str] = field(default_factory=list)

    @property
    def options(self) -> list[Term]:
        return [each for each in self.terms if each.flags]


def ask(tool: str, *words: str) -> str:
    return subprocess.run([tool, *words], check=True, capture_output=True, text=True).stdout


def listed(text: str) -> list[Term]:
    """Reads a list of terms and meanings in two columns."""
    terms: list[Term] = []
    for line in text.splitlines():
        if match := re.match(r"  (\S.*?)(?: {3,}(\S.*))?$", line):
            terms.append(Term(match.group(1), match.group(2) or ""))
        elif line.strip() and terms:
            terms[-1].meaning = f"{terms[-1].meaning} {line.strip()}".strip()
    return terms


def paragraphs(text: str) -> list[str]:
    return [" ".join(each.split()) for each in re.split(r"\n\s*\n", text.strip("\n")) if each.strip()]


def command(tool: str, name: str, summary: str) -> Command:
    """Reads the help of a command: a sentence, usage, terms, paragraphs, examples and exit codes."""
    text = ask(tool, "help", *name.split())
    match = re.fullmatch(
        r".*?\nUsage\n(.*?)\n\n(.*?)\n\n(?:(.*?)\n\n)?Examples\n(.*?)\n\nExit codes\n.*", text, re.DOTALL
    )
    if match is None:
        raise SystemExit(f"tool_pages: the help of {name} does not have the form that tool_pages.py reads")
    usage, terms, details, examples = match.groups()
    return Command(
        name,
        summary,
        " ".join(usage.split()),
        listed(terms),
        paragraphs(details or ""),
        [line.strip() for line in examples.splitlines()],
    )


def commands(tool: str) -> list[Command]:
    """Returns all commands, including those of groups, in the order of the help."""
    found = []
    for term in listed(ask(tool, "help").partition("\n\n")[2].partition("\nExamples\n")[0]):
        program, *words = term.spellings.split()
        if program != "corestone" or words[0] in ("--version", "help"):
            continue
        if words[-1] != "COMMAND":
            found.append(command(tool, " ".join(words), term.meaning))
            continue
        group = ask(tool, "help", words[0])
        for each in listed(group):
            match = re.match(rf"corestone {words[0]} (\w[\w-]*)$", each.spellings)
            if match:
                found.append(command(tool, f"{words[0]} {match.group(1)}", each.meaning))
    return found


# The manual page.


def roff(text: str) -> str:
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")
    text = text.replace("…", "\\&...").replace("^", "\\(ha").replace("~", "\\(ti")
    return f"\\&{text}" if text.startswith(".") else text


def manual(tool: str, all_commands: list[Command]) -> str:
    text = ask(tool, "help")
    version = ask(tool, "--version").split()[1]
    moment = time.strftime("%Y-%m-%d", time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", "0"))))
    lines = [
        f'.TH CORESTONE 1 "{moment}" "Corestone {version}" "User Commands"',
        ".SH NAME",
        "corestone \\- inspect, convert, load and edit Core Data stores and models",
        ".SH SYNOPSIS",
        ".B corestone",
        ".I COMMAND",
        "[\\fIOPTION\\fR]\\&...",
        ".SH DESCRIPTION",
    ]
    for paragraph in paragraphs(text.partition("\n\n")[0]):
        lines += [roff(paragraph), ".PP"]
    lines += [".SH COMMANDS"]
    for each in all_commands:
        lines += [f".SS {roff(each.name)}", roff(each.summary[:1].upper() + each.summary[1:] + "."), ".PP"]
        lines += [".nh", ".ad l", roff(each.usage), ".ad b", ".hy", ".PP"]
        for term in each.terms:
            lines += [".TP", f".B {roff(term.spellings)}", roff(term.meaning)]
        for paragraph in each.details:
            lines += [".PP", roff(paragraph)]
        lines += [".PP", "Examples:", ".PP", ".nf", ".RS", *map(roff, each.examples), ".RE", ".fi"]
    lines += [".SH OPTIONS"]
    for term in listed(text.partition("\n\n")[2].partition("\nExamples\n")[0]):
        words = term.spellings
        if words.startswith(("--", "corestone --")):
            lines += [".TP", f".B {roff(words.removeprefix('corestone '))}", roff(term.meaning)]
    lines += [".SH EXIT STATUS"]
    for term in listed(text.partition("\nExit codes\n")[2]):
        lines += [".TP", f".B {roff(term.spellings)}", roff(term.meaning)]
    lines += [".SH SEE ALSO", ".BR sqlite3 (1)"]
    return "\n".join(lines) + "\n"


# The completions.


def tree(all_commands: list[Command]) -> dict[str, list[Command]]:
    """Returns the commands of each group; "" is the group of commands whose name is one word."""
    found: dict[str, list[Command]] = {"": []}
    for each in all_commands:
        group, _, _ = each.name.rpartition(" ")
        found.setdefault(group, []).append(each)
    return found


def bash(all_commands: list[Command]) -> str:
    groups = tree(all_commands)
    top = [each.name for each in groups[""]] + [name for name in groups if name] + ["help"]
    lines = [
        "# Completion of corestone for bash, generated from its help.",
        "_corestone() {",
        '    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} first=1 command words=""',
        "    COMPREPLY=()",
        '    if [ "${COMP_WORDS[1]}" = help ] && [ "$COMP_CWORD" -gt 1 ]; then first=2; fi',
        "    command=${COMP_WORDS[first]}",
        '    if [ "$COMP_CWORD" -eq "$first" ]; then',
        f'        words="{" ".join(top)}"',
        '        [ "$first" = 1 ] && words+=" --help --version"',
        '        COMPREPLY=($(compgen -W "$words" -- "$current"))',
        "        return",
        "    fi",
        "    case $command in",
    ]
    for name, members in groups.items():
        if name:
            lines += [
                f"    {name})",
                '        if [ "$COMP_CWORD" -eq $((first + 1)) ]; then',
                f'            COMPREPLY=($(compgen -W "{last_words(members)}" -- "$current"))',
                "            return",
                "        fi",
                '        command+=" ${COMP_WORDS[first + 1]}"',
                "        ;;",
            ]
    lines += ["    esac", '    case "$command $previous" in']
    for each in all_commands:
        for option in each.options:
            pattern = "|".join(f'"{each.name} {flag}"' for flag in option.flags)
            if option.choices:
                choices = " ".join(option.choices)
                lines += [f'    {pattern}) COMPREPLY=($(compgen -W "{choices}" -- "$current")); return ;;']
            elif option.value and not option.takes_file:
                lines += [f"    {pattern}) return ;;"]
    lines += ["    esac", '    if [ "${current:0:1}" = - ]; then', "        case $command in"]
    for each in all_commands:
        flags = " ".join(flag for option in each.options for flag in option.flags)
        lines += [f'        "{each.name}") words="{flags}" ;;']
    lines += [
        "        esac",
        '        COMPREPLY=($(compgen -W "$words" -- "$current"))',
        "        return",
        "    fi",
        "    compopt -o filenames 2>/dev/null",
        '    COMPREPLY=($(compgen -f -- "$current"))',
        "}",
        "complete -F _corestone corestone",
    ]
    return "\n".join(lines) + "\n"


def last_words(members: list[Command]) -> str:
    return " ".join(each.name.split()[-1] for each in members)


def quoted(text: str) -> str:
    """Returns a word of a shell in single quotes, with apostrophes replaced."""
    return "'" + text.replace("'", APOSTROPHE) + "'"


def zsh_meaning(text: str) -> str:
    return re.sub(r"([\[\]:\\])", r"\\\1", text.replace("'", APOSTROPHE))


def zsh(all_commands: list[Command]) -> str:
    groups = tree(all_commands)
    lines = ["#compdef corestone", "# Completion of corestone for zsh, generated from its help.", ""]
    for each in all_commands:
        lines += [f"_corestone_{each.name.replace(' ', '_').replace('-', '_')}() {{", "    _arguments -S \\"]
        for option in each.options:
            action = ""
            if option.choices:
                action = f":{zsh_meaning(option.value)}:({' '.join(option.choices)})"
            elif option.value:
                action = f":{zsh_meaning(option.value)}:{'_files' if option.takes_file else ''}"
            repeat = "*" if f"{option.flags[-1]} {option.value}]…" in each.usage else ""
            for flag in option.flags:
                lines += [f"        '{repeat}{flag}[{zsh_meaning(option.meaning)}]{action}' \\"]
        lines += ["        '*:file:_files'", "}", ""]
    for name, members in groups.items():
        lines += [f"_corestone{'_group_' + name if name else ''}() {{", "    local -a commands", "    commands=("]
        lines += [f"        {quoted(each.name.split()[-1] + ':' + each.summary.replace(':', ''))}" for each in members]
        if not name:
            lines += [f"        {quoted(f'{each}:commands for {each}s')}" for each in groups if each]
            lines += ["        'help:show the help of a command'"]
        lines += [
            "    )",
            "    if (( CURRENT == 2 )); then",
            "        _describe command commands",
            "        return",
            "    fi",
        ]
        lines += ["    shift words", "    (( CURRENT-- ))", "    case $words[1] in"]
        for each in members:
            word = each.name.split()[-1]
            lines += [f"    {word}) _corestone_{each.name.replace(' ', '_').replace('-', '_')} ;;"]
        if not name:
            lines += [f"    {each}) _corestone_group_{each} ;;" for each in groups if each]
            lines += ["    help) (( CURRENT == 2 )) && _describe command commands ;;"]
        lines += ["    esac", "}", ""]
    lines += ['_corestone "$@"']
    return "\n".join(lines) + "\n"


def fish(all_commands: list[Command]) -> str:
    groups = tree(all_commands)

    def text(value: str) -> str:
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"

    names = [each.name for each in groups[""]] + [name for name in groups if name]
    first = 'complete -c corestone -n "not __fish_seen_subcommand_from $commands" -f'
    lines = [
        "# Completion of corestone for fish, generated from its help.",
        f"set -l commands {' '.join(names)} help",
        f"{first} -l version -d 'show the version of the tool'",
        f"{first} -a help -d 'show the help of a command'",
    ]
    lines += [f"{first} -a {each.name} -d {text(each.summary)}" for each in groups[""]]
    for name, members in groups.items():
        if not name:
            continue
        words = last_words(members)
        lines += [f"{first} -a {name} -d 'commands for {name}s'"]
        for each in members:
            condition = f"__fish_seen_subcommand_from {name}; and not __fish_seen_subcommand_from {words}"
            word = each.name.split()[-1]
            lines += [f'complete -c corestone -n "{condition}" -f -a {word} -d {text(each.summary)}']
    for each in all_commands:
        condition = "; and ".join(f"__fish_seen_subcommand_from {word}" for word in each.name.split())
        if " " not in each.name:
            for name in groups:
                if name:  # `model show` is not `show`
                    condition += f"; and not __fish_seen_subcommand_from {name}"
        for option in each.options:
            spelled = " ".join(f"-l {f[2:]}" if f.startswith("--") else f"-s {f[1:]}" for f in option.flags)
            if option.choices:
                spelled += f" -x -a {text(' '.join(option.choices))}"
            elif option.value:
                spelled += " -r -F" if option.takes_file else " -x"
            lines += [f'complete -c corestone -n "{condition}" {spelled} -d {text(option.meaning)}']
    return "\n".join(lines) + "\n"


def main(tool: str, folder: str) -> None:
    all_commands = commands(tool)
    pages = {
        "bash-completion/completions/corestone": bash(all_commands).encode(),
        "fish/vendor_completions.d/corestone.fish": fish(all_commands).encode(),
        "man/man1/corestone.1.gz": gzip.compress(manual(tool, all_commands).encode(), 9, mtime=0),
        "zsh/site-functions/_corestone": zsh(all_commands).encode(),
    }
    for name, content in pages.items():
        path = Path(folder) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        path.chmod(0o644)


if __name__ == "__main__":
    main(*sys.argv[1:])
