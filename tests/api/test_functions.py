"""Several functions on one emulator: shared actors, reached by each.

Source: spec/telnyx-actors.md section 4.1, and of variables section 2.3; two bindings: section 2.2.
"""

import base64
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from edgeemu.api.app import Access, App
from edgeemu.api.operations import perform
from edgeemu.config import load_config
from edgeemu.emulator import Emulator
from edgeemu.errors import EdgeemuError
from edgeemu.reload import Reloader
from tests.support.emulators import frozen, inst, run_with
from tests.support.functions import BILLING, SHOP, write_functions


def with_functions(folder: Path, body: Callable[[Emulator], Awaitable[Any]], **sources: str) -> Any:
    async def main(emulator: Emulator) -> Any:
        return await body(emulator)

    return run_with(write_functions(folder, **sources), main, frozen())


async def nothing(emulator: Emulator) -> None:
    """For a project that must not load."""


async def get(emulator: Emulator, path: str, function: str | None = None) -> tuple[int, str]:
    answer = await perform(emulator, "fetch", {"path": path, "function": function}, cause="test")
    return answer["status"], base64.b64decode(answer["body"]).decode()


# --- instances ----------------------------------------------------------------------------------


def test_owner_and_reference_reach_the_same_instances(tmp_path: Path) -> None:
    async def body(emulator: Emulator) -> None:
        assert await emulator.call(inst("Order/1"), "pay", [250]) == 250
        assert await emulator.call(inst("Account/main"), "add", [50]) == 300
        assert await get(emulator, "/balance") == (200, "300")
        assert await get(emulator, "/balance", "billing") == (200, "300")
        moved = await emulator.clock.advance(1_000)
        assert (moved["deliveries"], moved["succeeded"]) == (1, 1)
        assert [row["actor"] for row in emulator.list_instances()] == ["Account/main", "Order/1"]
        assert emulator.types == ["Account", "Order"]

    with_functions(tmp_path, body)


def test_env_of_an_actor_is_that_of_its_owner(tmp_path: Path) -> None:
    async def body(emulator: Emulator) -> None:
        assert await emulator.call(inst("Account/x"), "bound") == ["ACCOUNT", "SECRETS"]
        assert await emulator.call(inst("Order/x"), "bound") == ["LEDGER", "ORDER", "SECRETS"]
        assert await emulator.call(inst("Account/x"), "secret") == "sk"

    with_functions(tmp_path, body)


def test_modules_of_one_name_do_not_mix(tmp_path: Path) -> None:
    async def body(emulator: Emulator) -> None:
        assert await emulator.call(inst("Order/x"), "helper") == ["shop helpers"] * 2
        assert await emulator.call(inst("Account/x"), "helper") == ["billing helpers"] * 3
        by_name = await emulator.call(inst("Account/x"), "helper_by_name")
        assert by_name == ["billing helpers", "billing helpers", "json"]
        assert await emulator.call(inst("Order/x"), "helper") == ["shop helpers"] * 2
        assert await get(emulator, "/") == (200, "shop shop helpers")
        assert await get(emulator, "/", "billing") == (200, "billing billing helpers billing")

    with_functions(tmp_path, body)


def test_errors_name_the_file_of_their_function(tmp_path: Path) -> None:
    async def body(emulator: Emulator) -> None:
        with pytest.raises(EdgeemuError) as caught:
            await emulator.call(inst("Account/x"), "boom")
        assert "billing/src/main.py" in caught.value.as_text()
        assert (await get(emulator, "/boom", "billing"))[0] == 500
        (front,) = [entry for entry in emulator.journal() if entry["kind"] == "front"]
        assert front["function"] == "billing"
        assert "billing/src/main.py" in front["error"]["where"]

    with_functions(tmp_path, body)


# --- who owns what ------------------------------------------------------------------------------


def test_two_owners_are_an_error(tmp_path: Path) -> None:
    shop = SHOP + "\nclass Account(StatefulActor):\n    pass\n"
    with pytest.raises(EdgeemuError) as caught:
        with_functions(tmp_path, nothing, shop=shop)
    assert caught.value.code.text == "E_CLASS_OWNERS"
    assert "`Account`" in caught.value.what
    assert "`shop` and `billing`" in caught.value.why


def test_class_that_is_imported_is_shipped(tmp_path: Path) -> None:
    """A reference must not import the class, or it would ship it too."""
    write_functions(tmp_path)
    (tmp_path / "shop/src/accounts.py").write_text(
        "from edgeemu import StatefulActor\nclass Account(StatefulActor):\n    pass\n"
    )
    with pytest.raises(EdgeemuError) as caught:
        with_functions(tmp_path, nothing, shop=f"from src.accounts import Account\n{SHOP}")
    assert caught.value.code.text == "E_CLASS_OWNERS"


def test_two_bindings_of_one_type_reach_the_same_instances(tmp_path: Path) -> None:
    config = write_functions(tmp_path)
    config.source.write_text(
        config.source.read_text() + '[[actors]]\nbinding = "BOOKS"\ntype = "Account"\n'
    )

    async def body(emulator: Emulator) -> None:
        bound = await emulator.call(inst("Order/x"), "bound")
        assert bound == ["BOOKS", "LEDGER", "ORDER", "SECRETS"]
        assert await emulator.call(inst("Order/1"), "pay", [1]) == 1
        assert await get(emulator, "/books") == (200, "1")

    run_with(load_config(config.root), body, frozen())


def test_type_that_nobody_owns_is_an_error_that_names_what_was_found(tmp_path: Path) -> None:
    """U3: a reference without an owner."""
    billing = BILLING.replace("class Account(", "class Acount(")
    with pytest.raises(EdgeemuError) as caught:
        with_functions(tmp_path, nothing, billing=billing)
    assert caught.value.code.text == "E_CLASS_MISSING"
    assert "`Account`" in caught.value.what
    assert "`shop`: Order; `billing`: Acount" in caught.value.why


def test_status_tells_who_owns_what(tmp_path: Path) -> None:
    async def body(emulator: Emulator) -> None:
        status = await perform(emulator, "status", {}, cause="test")
        shown = [(row["name"], row["owns"], row["declares"]) for row in status["functions"]]
        assert shown == [
            ("shop", ["Order"], ["Account", "Order"]),
            ("billing", ["Account"], ["Account"]),
        ]

    with_functions(tmp_path, body)


# --- reaching them ------------------------------------------------------------------------------


def test_host_names_the_function(tmp_path: Path) -> None:
    async def body(emulator: Emulator) -> None:
        app = App(emulator, Access("a-token", "127.0.0.1", 8787))
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport) as http:
            hosts = ("127.0.0.1", "localhost", "localhost.", "shop.localhost", "shop.example")
            for host in hosts:
                assert (await http.get(f"http://{host}:8787/")).text == "shop shop helpers"
            for host in ("billing.localhost", "billing.localhost."):
                text = (await http.get(f"http://{host}:8787/")).text
                assert text == "billing billing helpers billing"
            for name in ("biling", "a.billing", "billing."):
                unknown = await http.get(f"http://{name}.localhost:8787/")
                assert unknown.status_code == 404
                assert unknown.text == f"There is no function {name} here; there are: shop, billing"
            control = await http.get("http://billing.localhost:8787/_edgeemu/status")
        assert control.status_code == 403

    with_functions(tmp_path, body)


def test_unknown_function_is_an_error(tmp_path: Path) -> None:
    async def body(emulator: Emulator) -> None:
        with pytest.raises(EdgeemuError) as caught:
            await get(emulator, "/", "biling")
        assert caught.value.code.text == "E_FUNCTION_UNKNOWN"
        assert "shop, billing" in caught.value.why

    with_functions(tmp_path, body)


# --- reload -------------------------------------------------------------------------------------


def test_broken_function_keeps_the_old_code_of_all(tmp_path: Path) -> None:
    async def body(emulator: Emulator) -> None:
        config = emulator.config
        reloader = Reloader(config.root, config.root / ".edgeemu", lambda: load_config(config.root))
        await emulator.call(inst("Account/main"), "add", [5])
        billing = tmp_path / "billing/src/main.py"
        shop = tmp_path / "shop/src/main.py"
        shop.write_text(SHOP.replace("{env.PLACE} {NAME}", "new shop"))
        billing.write_text("def (")
        done = reloader.apply(emulator, ["../billing/src/main.py", "src/main.py"])
        assert done.error is not None and done.error.code.text == "E_PROJECT_SYNTAX"
        assert "billing/src/main.py" in done.error.what
        assert await get(emulator, "/") == (200, "shop shop helpers")
        assert await get(emulator, "/balance", "billing") == (200, "5")
        billing.write_text(BILLING.replace("{env.PLACE} {NAME}", "new billing"))
        assert reloader.apply(emulator, ["../billing/src/main.py"]).error is None
        assert await get(emulator, "/") == (200, "new shop")
        assert await get(emulator, "/", "billing") == (200, "new billing billing")
        assert await get(emulator, "/balance") == (200, "5")

    with_functions(tmp_path, body)


def test_configuration_of_a_function_is_reloaded_too(tmp_path: Path) -> None:
    async def body(emulator: Emulator) -> None:
        config = emulator.config
        reloader = Reloader(config.root, config.root / ".edgeemu", lambda: load_config(config.root))
        toml = tmp_path / "billing/telnyx.toml"
        text = toml.read_text()
        toml.write_text(text.replace("Account", "Ledger"))
        done = reloader.apply(emulator, ["../billing/telnyx.toml"])
        assert done.error is not None and done.error.code.text == "E_CLASS_MISSING"
        assert await get(emulator, "/", "billing") == (200, "billing billing helpers billing")
        toml.write_text(text.replace('PLACE = "billing"', 'PLACE = "there"'))
        assert reloader.apply(emulator, ["../billing/telnyx.toml"]).error is None
        assert await get(emulator, "/", "billing") == (200, "there billing helpers there")

    with_functions(tmp_path, body)


# --- os.environ ---------------------------------------------------------------------------------


def test_actor_finds_no_environment_and_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """U4: the platform's actors see an empty environment."""
    monkeypatch.setenv("FROM_THE_SHELL", "here")

    async def body(emulator: Emulator) -> None:
        account = inst("Account/x")
        for name in ("FROM_THE_SHELL", "PLACE", "KEY", "HOME", "NEVER_SET"):
            assert await emulator.call(account, "variable", [name]) is None
        told = [entry for entry in emulator.journal() if entry.get("code") == "W_ACTOR_ENV"]
        # Once a place, for a variable that is set somewhere.
        assert [entry["where"] for entry in told] == ["billing/src/main.py:26"]
        assert "FROM_THE_SHELL" in told[0]["message"]
        assert os.environ["FROM_THE_SHELL"] == "here"

    with_functions(tmp_path, body)


def test_whole_environment_of_an_actor_is_what_it_set_itself(tmp_path: Path) -> None:
    """U4."""

    async def body(emulator: Emulator) -> None:
        own = {"SET_HERE": "1"}
        given = await emulator.call(inst("Account/x"), "environment")
        assert given == [own, own, f"environ({own!r})", 1, False, []]
        assert "SET_HERE" not in os.environ
        assert "PATH" in os.environ

    with_functions(tmp_path, body)


def test_environment_is_as_before_when_all_is_closed(tmp_path: Path) -> None:
    before = os.environ

    async def body(emulator: Emulator) -> None:
        assert os.environ is not before
        os.environ["SET_BY_A_TEST"] = "1"
        assert before["SET_BY_A_TEST"] == "1"
        del os.environ["SET_BY_A_TEST"]
        assert "SET_BY_A_TEST" not in before
        assert dict(os.environ) == dict(before)
        assert len(os.environ) == len(before)

    with_functions(tmp_path, body)
    assert os.environ is before


def test_actors_see_variables_where_they_may(tmp_path: Path) -> None:
    config = write_functions(tmp_path)
    config.source.write_text(config.source.read_text() + "[dev]\nactor_vars = true\n")

    async def body(emulator: Emulator) -> None:
        account = inst("Account/x")
        assert await emulator.call(account, "variable", ["PLACE"]) == "billing"
        assert await emulator.call(account, "variable", ["billing-key"]) == "sk"
        bound = await emulator.call(account, "bound")
        assert bound == ["ACCOUNT", "PLACE", "SECRETS"]

    run_with(load_config(config.root), body, frozen())
