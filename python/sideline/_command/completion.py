"""Shell completion scripts, generated from the command's parser."""

import argparse
from collections.abc import Iterator

SHELLS = ("bash", "zsh", "fish")


def script(shell: str, parser: argparse.ArgumentParser) -> str:
    """Return the script that a shell evaluates."""
    words = {" ".join(path): options for path, options in _offered(parser, ())}
    return _fish(words) if shell == "fish" else _bash(words, is_zsh=shell == "zsh")


def _offered(parser: argparse.ArgumentParser, path: tuple[str, ...]) -> "Iterator[tuple[tuple[str, ...], list[str]]]":
    """Yield the words that may follow each command: subcommands, options and choices."""
    own_words: list[str] = []
    below: dict[str, argparse.ArgumentParser] = {}
    # argparse has no public way to list options and commands.
    for action in parser._actions:  # noqa: SLF001
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            below = dict(action.choices)
        else:
            own_words += action.option_strings
            own_words += [str(choice) for choice in action.choices or ()]
    yield path, [*below, *own_words]
    for name, commands in below.items():
        yield from _offered(commands, (*path, name))


def _bash(words: dict[str, list[str]], *, is_zsh: bool) -> str:
    cases = "\n".join(f'        "{path}") words="{" ".join(options)}" ;;' for path, options in words.items())
    head = "autoload -U +X bashcompinit && bashcompinit\n" if is_zsh else ""
    return f"""{head}_sideline() {{
    local path="" words="" word
    for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
        case "$word" in -*) ;; *) path="${{path:+$path }}$word" ;; esac
    done
    while true; do
        case "$path" in
{cases}
        esac
        [ -n "$words" ] || [ -z "$path" ] && break
        case "$path" in *" "*) path="${{path% *}}" ;; *) path="" ;; esac
    done
    COMPREPLY=($(compgen -W "$words" -- "${{COMP_WORDS[COMP_CWORD]}}"))
}}
complete -o default -F _sideline sideline
"""


def _fish(words: dict[str, list[str]]) -> str:
    lines = []
    for path, options in words.items():
        seen = " and ".join(f"__fish_seen_subcommand_from {name}" for name in path.split()) or "__fish_use_subcommand"
        seen = seen.replace(" and ", "; and ")
        for word in options:
            option = (
                f"-l {word[2:]}"
                if word.startswith("--")
                else f"-s {word[1:]}"
                if word.startswith("-")
                else f"-a {word}"
            )
            lines.append(f"complete -c sideline -n '{seen}' {option}")
    return "\n".join(lines) + "\n"
