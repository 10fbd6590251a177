"""`docs/cli.md` is what `--help` says today, and every command and option says something."""

from pathlib import Path

from edgeemu.cli.app import MODULES, make_command
from edgeemu.cli.reference import cli_reference

PAGE = Path(__file__).parents[2] / "docs/cli.md"


def test_the_reference_is_current() -> None:
    remedy = "out of date: run `python -m edgeemu.cli.reference > docs/cli.md`"
    assert PAGE.read_text(encoding="utf-8") == cli_reference(), remedy


def test_every_command_and_every_option_has_help() -> None:
    seen = []

    def visit(command, path: str) -> None:
        assert command.help, path
        for param in command.params:
            assert getattr(param, "help", None), f"{path} {param.name}"
        seen.append(path)
        if hasattr(command, "list_commands"):
            for name in command.list_commands(None):
                visit(command.get_command(None, name), f"{path} {name}")

    visit(make_command(), "edgeemu")
    assert len(seen) > 30


def test_the_table_of_commands_names_modules_that_declare_them() -> None:
    root = make_command()
    for name in MODULES:
        found = root.get_command(None, name)
        assert found is not None
        assert found.name == name or hasattr(found, "list_commands")
