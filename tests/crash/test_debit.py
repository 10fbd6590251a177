"""Money under 32 clients at once: never overdrawn, never lost, with `kill -9` in the middle too."""

import asyncio
import signal
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from edgeemu.clock import pause_real_ms
from edgeemu.rng import Random, stream
from edgeemu.scaffold import create_project
from tests.crash.conftest import SEED
from tests.support.commands import WAIT_MS, started_command, wait_server

CLIENTS = 32
DEBITS = 12
"""That each client wants to make."""
START_CENTS = 100_000
DEBIT_CENTS_MAX = 1_000
"""Together the clients want nearly twice what there is."""

IN_SQL = """

class Account(Account):
    def __init__(self, ctx, env):
        super().__init__(ctx, env)
        self._exec = ctx.storage.sql.exec
        self._exec(
            "CREATE TABLE IF NOT EXISTS payments (id TEXT PRIMARY KEY, cents INT, balance INT)"
        )

    async def balance(self):
        (row,) = self._exec("SELECT coalesce(sum(cents), 0) AS balance FROM payments")
        return row["balance"]

    async def _book(self, cents, payment_id):
        for row in self._exec("SELECT balance FROM payments WHERE id = ?", payment_id):
            return row["balance"]
        balance = await self.balance()
        await asyncio.sleep(0)  # If turns could overlap, another one would come in here.
        if balance + cents < 0:
            raise ValueError(f"insufficient funds: {balance} is less than {-cents}")
        self._exec("INSERT INTO payments VALUES (?, ?, ?)", payment_id, cents, balance + cents)
        return balance + cents
"""


@dataclass
class Book:
    """What the clients know: of each payment how much it is, and what was answered."""

    cents: dict[str, int] = field(default_factory=dict)
    balances: dict[str, int | None] = field(default_factory=dict)
    """The balance after it, or None where it was refused; without an answer it is not here."""

    def unanswered(self) -> list[str]:
        return [payment for payment in self.cents if payment not in self.balances]

    def check(self, end_cents: int) -> None:
        """Each accepted debit took off its own amount, one after the other, and that was all."""
        left = START_CENTS
        made = [(balance, name) for name, balance in self.balances.items() if balance is not None]
        for balance, name in sorted(made, reverse=True):
            left -= self.cents[name]
            assert balance == left >= 0, f"{name} left {balance} instead of {left}"
        assert end_cents == left


class Bank:
    """The clients of one server."""

    def __init__(self, port: int, book: Book) -> None:
        self._url = f"http://127.0.0.1:{port}/ada"
        self._book = book
        self.answers = 0

    def client(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(trust_env=False, timeout=WAIT_MS / 1_000)

    async def open_account(self) -> None:
        async with self.client() as http:
            paid = {"cents": START_CENTS, "payment_id": "start"}
            assert (await http.post(f"{self._url}/credit", json=paid)).json() == {
                "balance": START_CENTS
            }

    async def debit(self, http: httpx.AsyncClient, name: str) -> None:
        """Make one payment; the same answer each time that it is sent."""
        paid = {"cents": self._book.cents[name], "payment_id": name}
        response = await http.post(f"{self._url}/debit", json=paid)
        balance = response.json()["balance"] if response.status_code == 200 else None
        assert balance is not None or response.status_code == 409, response.text
        assert self._book.balances.get(name, balance) == balance, f"{name} was answered twice"
        self._book.balances[name] = balance
        self.answers += 1

    async def spend(self, draws: Random, client: int) -> None:
        async with self.client() as http:
            for number in range(DEBITS):
                name = f"{client}-{number}"
                self._book.cents[name] = draws.randrange(1, DEBIT_CENTS_MAX)
                await self.debit(http, name)

    async def balance(self) -> int:
        async with self.client() as http:
            cents: int = (await http.get(self._url)).json()["balance"]
            return cents


@pytest.fixture(params=["keys", "sql"])
def project(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    folder = create_project("bank", template="account", parent=tmp_path).path
    if request.param == "sql":
        main = folder / "src" / "main.py"
        source, front, rest = main.read_text().partition("# GET /NAME is")
        assert front
        main.write_text(source + IN_SQL + front + rest)
    yield folder
    kept = (folder / ".edgeemu" / "sql").exists()
    assert kept == (request.param == "sql"), "the variant is not the one that it says"


def draws_of(client: int) -> Random:
    return stream(SEED, "crash", "debit", client)


@pytest.mark.slow
def test_debits_of_many_clients_at_once(project: Path) -> None:
    book = Book()

    async def story(bank: Bank) -> int:
        await bank.open_account()
        await asyncio.gather(*(bank.spend(draws_of(number), number) for number in range(CLIENTS)))
        return await bank.balance()

    with started_command(project, "dev", "--port", "0") as process:
        info = wait_server(project, process)
        end_cents = asyncio.run(story(Bank(info.port, book)))
    book.check(end_cents)
    assert len(book.balances) == CLIENTS * DEBITS
    assert None in book.balances.values(), "there was enough for all: nothing could be overdrawn"


@pytest.mark.slow
def test_debits_over_a_kill(project: Path) -> None:
    """What was answered is there; what was not is sent again, and then made once."""
    book = Book()

    async def story(bank: Bank, kill_after: int) -> None:
        async def spend(client: int) -> None:
            try:
                await bank.spend(draws_of(client), client)
            except httpx.TransportError:
                assert bank.answers >= kill_after, "the server was gone before it was killed"

        async def kill() -> None:
            while bank.answers < kill_after:
                await pause_real_ms(1)
            process.send_signal(signal.SIGKILL)

        await bank.open_account()
        await asyncio.gather(kill(), *map(spend, range(CLIENTS)))

    with started_command(project, "dev", "--port", "0") as process:
        info = wait_server(project, process)
        asyncio.run(story(Bank(info.port, book), draws_of(-1).randrange(50, 150)))
    unanswered = book.unanswered()
    assert unanswered, "nobody was in the middle of a payment"

    async def again(bank: Bank) -> int:
        async with bank.client() as http:
            for name in [*book.balances, *unanswered]:
                if book.balances.get(name, 0) is not None:
                    await bank.debit(http, name)
        return await bank.balance()

    with started_command(project, "dev", "--port", "0") as process:
        info = wait_server(project, process)
        end_cents = asyncio.run(again(Bank(info.port, book)))
    book.check(end_cents)
