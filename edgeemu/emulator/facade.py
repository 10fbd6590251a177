"""`Emulator`: the product. Every skin is a thin client of this class and its parts."""

from collections.abc import Callable, Sequence
from typing import Any

from edgeemu.clock import ClockMode, pause_real_ms
from edgeemu.codec import encode
from edgeemu.config import Config
from edgeemu.core.events import CodeReplaced, HostStopping
from edgeemu.core.journal import Entry, Kind, Recorded
from edgeemu.emulator import problems, views
from edgeemu.emulator.alarms import AlarmControl
from edgeemu.emulator.build import Options, Parts, build
from edgeemu.emulator.clockwork import ClockControl
from edgeemu.emulator.front import response_of, run_front
from edgeemu.emulator.functions import make_code
from edgeemu.emulator.kv import KvControl
from edgeemu.emulator.mover import Mover
from edgeemu.emulator.paging import read_journal, whole
from edgeemu.emulator.sockets import SocketClient, asking_for_socket
from edgeemu.emulator.storage import StorageControl
from edgeemu.emulator.turns import StartedCall, TurnRequests
from edgeemu.engines.port import PlainRequest, PlainResponse
from edgeemu.engines.python.loop import running_emulator_loop
from edgeemu.errors import EdgeemuError
from edgeemu.ids import InstanceId, parse_address, unknown_type
from edgeemu.limits import COMPLETIONS_MAX, LIST_PAGE_MAX, OUTSIDE_POLL_MS, SHUTDOWN_WAIT_MS


class Emulator:
    """Runs the actors of one project. Open it with `Emulator.open`, inside the emulator's loop.

    Attributes:
        alarms, clock, kv, storage: the controls, named as on the command line.
        sockets: the open WebSockets, for who carries their frames.
        seed: of the run.
        notices: what the user should know about how it was opened.
    """

    def __init__(self, parts: Parts, options: Options) -> None:
        self._parts = parts
        self._options = options
        self.config = parts.config
        self.seed = parts.seed
        self.notices = parts.notices
        self._shell = parts.shell
        self.sockets = parts.shell.sockets
        self._declared = frozenset(parts.config.types)
        self._mover = Mover(
            parts.shell,
            parts.engine,
            types=lambda: self._declared,
            io_wait_ms=parts.config.limits.io_wait_ms,
            storm_count_max=parts.config.limits.storm_count,
            idle_steps_max=parts.config.limits.idle_steps,
        )
        self.clock = ClockControl(self._mover, parts.clock, options.cause)
        self._turns = TurnRequests(
            parts.shell,
            parts.engine,
            alone=options.alone,
            io_wait_ms=parts.config.limits.io_wait_ms,
        )
        self.alarms = AlarmControl(self._turns, parts.store, lambda: self.types)
        self.storage = StorageControl(
            self._turns,
            parts.store,
            self.alarms,
            watchdog_ms=parts.config.limits.watchdog_ms,
        )
        self._outside = parts.shell.around.outside
        self.kv = KvControl(self._outside.kv, lambda: self.config)
        self.load_error: EdgeemuError | None = None
        self._started = False

    # --- opening and closing ---------------------------------------------------------------

    @classmethod
    async def open(
        cls, config: Config, options: Options | None = None, *, load: bool = True
    ) -> "Emulator":
        """Open the state and load the project; nothing is delivered yet.

        Args:
            config: of the project.
            options: how; all defaults keep everything in memory.
            load: whether to load the project's code: what only looks at the state needs none.

        Raises:
            EdgeemuError: when the state cannot be opened or the project does not load.
        """
        options = options or Options()
        emulator = cls(build(config, options, running_emulator_loop()), options)
        try:
            if load:
                emulator.load()
        except BaseException:
            emulator._release()
            raise
        if load:
            emulator._shell.notices.warn_of_config(config)
        return emulator

    def load(self) -> None:
        """Load the project's code, for an emulator that was opened without it.

        Raises:
            EdgeemuError: when it does not load.
        """
        self._parts.engine.load()
        self._parts.engine.swap()

    def start(self, *, hold_overdue: bool = False) -> None:
        """Deliver what is due as time passes; `hold_overdue` leaves what is overdue now alone."""
        if hold_overdue:
            self._mover.hold_overdue()
        now_ms, cause = self._shell.clock.now_ms(), self._options.cause
        data = {"seed": self.seed, **self.clock.read()}
        del data["now_ms"]  # The entry says it.
        self._shell.record(Entry(Kind.STARTED, now_ms, cause=cause, data=data))
        self._started = True
        self._shell.notices.warn_of_config(self.config)
        self._mover.start_ticker()

    def let_time_pass(self) -> None:
        """Deliver what becomes due during one command, if the clock moves by itself."""
        if self._shell.clock.mode is not ClockMode.FROZEN:
            self._mover.start_ticker()

    async def wind_down(self) -> None:
        """Deliver nothing more, and let running turns end for a bounded time."""
        await self._mover.stop_ticker()
        for _ in range(SHUTDOWN_WAIT_MS // OUTSIDE_POLL_MS):
            await self._parts.engine.settle(SHUTDOWN_WAIT_MS)
            if not self._parts.engine.waiting(outside_only=True):
                break
            await pause_real_ms(OUTSIDE_POLL_MS)
        self._shell.dispatch(HostStopping(self._shell.clock.now_ms()))

    async def close(self, *, wait: bool = True) -> None:
        """Let running turns end for a bounded time, keep everything, and let go of the state.

        Args:
            wait: whether to let turns end; without it, what they wrote so far is lost.
        """
        try:
            if wait:
                await self.wind_down()
            else:
                await self._mover.stop_ticker()
        finally:
            if self._started:
                now_ms, cause = self._shell.clock.now_ms(), self._options.cause
                self._shell.record(Entry(Kind.STOPPED, now_ms, cause=cause))
            try:
                await self._outside.services.close()
            finally:
                self._release()

    def _release(self) -> None:
        self._shell.flush()
        self._shell.keep_position()
        self._parts.engine.close()
        self._parts.store.close()

    def watch(self, watcher: Callable[[list[Recorded]], None]) -> Callable[[], None]:
        """Have `watcher` called with each batch of journal entries; call the result to stop."""
        self._shell.watchers.append(watcher)
        return lambda: self._shell.watchers.remove(watcher)

    def on_broken(self, handler: Callable[[BaseException], None]) -> None:
        """Have `handler` called when a bug in edgeemu stops the time."""
        self._shell.on_broken = handler

    def fail_fast(self) -> None:
        """Let an assertion that fails in an actor end the command at once, for tests."""
        self._turns.fail_fast()
        self._mover.stop_when(self._turns.take_failed_assertion)

    def take_failed_assertion(self) -> AssertionError | None:
        """After `fail_fast`: the assertion that failed in an actor and that nobody got, once."""
        return self._turns.take_failed_assertion()

    # --- names -----------------------------------------------------------------------------

    @property
    def debugger(self) -> str | None:
        """The `host:port` at which a debugger attaches to TypeScript; None without `inspect`."""
        return self._parts.engine.debugger

    @property
    def types(self) -> list[str]:
        """The actor types that any function declares, sorted."""
        return self.config.types

    def address(self, text: str) -> InstanceId:
        """Read `Type/name`.

        Raises:
            EdgeemuError: `E_ACTOR_UNKNOWN`, `E_ADDRESS_INVALID`.
        """
        return parse_address(text, self.types)

    # --- turns -----------------------------------------------------------------------------

    async def call(
        self, instance: InstanceId, method: str, args: Sequence[Any] = (), *, cause: str = "cli"
    ) -> Any:
        """Call a method of an instance; its result.

        Raises:
            EdgeemuError: `E_ACTOR_FAILED`, `E_METHOD_UNKNOWN`, `E_METHOD_PRIVATE`,
                `E_FROZEN_WAIT`; CodecError: for an argument that cannot be encoded.
        """
        return await self.start_call(instance, method, args, cause=cause).wait_result()

    def start_call(
        self, instance: InstanceId, method: str, args: Sequence[Any] = (), *, cause: str = "cli"
    ) -> StartedCall:
        """Ask for a call, whose `args` may be encoded already, and do not wait for it.

        Raises:
            CodecError: for an argument that cannot be encoded.
        """
        data = args if isinstance(args, bytes) else encode(list(args))
        return StartedCall(self._turns, instance, method, data, cause)

    async def fetch(
        self,
        request: PlainRequest,
        *,
        function: str | None = None,
        cause: str = "cli",
        on_failure: Callable[[EdgeemuError], None] = lambda error: None,
        upgrades: bool = False,
    ) -> PlainResponse:
        """Send a request through the function in front; errors become responses (U77).

        Args:
            request: whole, with a full URL.
            function: which one; None for the primary one.
            cause: for the journal.
            on_failure: called with the error that the response hides.
            upgrades: whether the caller opens a WebSocket where the response has an `upgrade`; one
                that cannot is told with 426.

        Raises:
            EdgeemuError: `E_FUNCTION_UNKNOWN`, `E_FROZEN_WAIT`.
        """
        if function is not None and function not in self.config.all_functions:
            raise problems.unknown_function(function, [*self.config.all_functions])
        primary = self.config.name
        run = run_front(
            self._shell,
            self._parts.engine,
            request,
            function=function or primary,
            primary=primary,
            cause=cause,
        )
        reply = await self._turns.wait_reply(run)
        failed = None if reply.answer is not None else self._turns.take_failed_assertion()
        if failed is not None:
            raise failed
        return response_of(reply, on_failure, upgrades=upgrades)

    async def connect(
        self,
        request: PlainRequest,
        *,
        function: str | None = None,
        protocols: Sequence[str] = (),
        cause: str = "cli",
    ) -> SocketClient:
        """Open a WebSocket through the function in front, for a client in this process.

        Args:
            request: with a full URL and the headers of the application.
            function: which one; None for the primary one.
            protocols: the subprotocols that the client offers, in order.
            cause: for the journal.

        Raises:
            EdgeemuError: `E_SOCKET_REFUSED` when the function in front answers with anything but
                the response of a stub; those of `fetch`.
        """
        asking = asking_for_socket(request, protocols)
        failures: list[EdgeemuError] = []
        response = await self.fetch(
            asking, function=function, cause=cause, on_failure=failures.append, upgrades=True
        )
        if response.upgrade is None:
            raise problems.socket_refused(asking.url, response, failures)
        return SocketClient(self.sockets, response.upgrade, cause)

    async def settle(self) -> None:
        """This waits until every turn is finished or waits on time or on another turn.

        Raises:
            EdgeemuError: `E_IO_WAIT` when one waits on the outside for too long.
        """
        await self._mover.quiesce()

    def list_functions(self) -> list[dict[str, Any]]:
        """Every function, the primary one first: its name, and the types that it owns or reaches.

        `owns` is empty for code that was not loaded: only the code says which class is whose.
        """
        owners = self._parts.engine.owners()
        return [
            {
                "name": name,
                "config": str(function.source),
                "owns": [kind for kind in function.types_declared if owners.get(kind) == name],
                "declares": function.types_declared,
            }
            for name, function in self.config.all_functions.items()
        ]

    async def run_present(self) -> None:
        """Run everything that is due now, without moving the clock."""
        await self._mover.run_present()

    # --- instances -------------------------------------------------------------------------

    def list_instances(self, type_name: str | None = None) -> list[dict[str, Any]]:
        """Every instance that exists, as `actors list --json` shows it.

        Raises:
            EdgeemuError: `E_ACTOR_UNKNOWN` for a type that is not declared, `E_LIST_TOO_LONG`.
        """
        if type_name is not None and type_name not in self.types:
            raise unknown_type(type_name, self.types)
        self._shell.flush()
        rows = self._parts.store.instances(type_name=type_name, limit=LIST_PAGE_MAX + 1)
        return [self._show(instance, row) for instance, row in whole(rows, "instances")]

    def names(self, prefix: str) -> list[str]:
        """What may complete an address: `Type/name` of instances that begin as typed.

        Without a slash, also `Type/` of the types that begin so. There are `COMPLETIONS_MAX` at
        most: who types on gets the others.
        """
        self._shell.flush()
        type_name, slash, name = prefix.partition("/")
        types = [type_name] if slash else [each for each in self.types if each.startswith(prefix)]
        offered = [] if slash else [f"{each}/" for each in types]
        for each in types:
            left = COMPLETIONS_MAX - len(offered)
            found = self._parts.store.instances(type_name=each, prefix=name, limit=left)
            offered += [str(instance) for instance, _ in found]
        return offered

    def show_instance(self, instance: InstanceId) -> dict[str, Any]:
        """One instance, as `actors show --json` shows it.

        Raises:
            EdgeemuError: `E_INSTANCE_UNKNOWN` if it was never touched.
        """
        self._shell.flush()
        row = views.kept_row(self._parts.store, instance)
        if row.created_at_ms is None and self._shell.machine.find(instance) is None:
            raise problems.unknown_instance(instance)
        return self._show(instance, row)

    def _show(self, instance: InstanceId, row: Any) -> dict[str, Any]:
        return views.instance_json(
            instance,
            row,
            machine=self._shell.machine,
            now_ms=self._shell.clock.now_ms(),
            store=self._parts.store,
        )

    def waiting(self) -> list[dict[str, Any]]:
        """The turns that run and wait now, oldest first: who, in which turn, and where.

        `outside` says that it waits on the outside world, not on time or on another turn, and
        `cycle` which calls lead back to it, as `A/x -> A/y -> A/x`.
        """
        cycle = self._shell.cycle or ""
        return [
            {
                "actor": None if found.instance is None else str(found.instance),
                "turn": found.turn_id,
                "where": found.where,
                "outside": found.outside,
                "cycle": cycle if str(found.instance) in cycle.split(" -> ") else None,
            }
            for found in self._parts.engine.waiting()
        ]

    async def evict(
        self, instance: InstanceId | None, *, crash: bool = False, cause: str = "cli"
    ) -> list[str]:
        """Drop one instance, or all, from memory; which ones were there.

        Args:
            instance: which one; None for all.
            crash: in the middle of a turn, instead of after it.
            cause: for the journal.

        Raises:
            EdgeemuError: `E_FROZEN_WAIT` when a turn waits for time that nobody can move.
        """
        return await self._turns.evict(instance, crash=crash, cause=cause)

    # --- journal ---------------------------------------------------------------------------

    def flush(self) -> None:
        """Keep what has ended, and tell whoever watches the journal, at once."""
        self._shell.flush()

    def journal(
        self,
        *,
        instance: InstanceId | None = None,
        since_seq: int = 0,
        since_ms: int | None = None,
        oldest_first: bool = False,
        limit: int | None = None,
    ) -> list[dict[str, Any]]:
        """Entries of the journal in order of their numbers, as `log --json` shows them.

        Where entries are gone that would belong in front (the journal has a bound), an entry of
        the kind `gap` stands for them.

        Args:
            instance: only those of this instance.
            since_seq: only those with a greater number.
            since_ms: only those at or after this emulated instant.
            oldest_first: with a limit, take the oldest that match instead of the newest.
            limit: entries at most, up to `JOURNAL_PAGE_MAX`; None for all there are.
        """
        self._shell.flush()
        found = read_journal(
            self._parts.store,
            instance=instance,
            since_seq=since_seq,
            since_ms=since_ms,
            oldest_first=oldest_first,
            limit=limit,
        )
        return [item.as_json() for item in found]

    # --- reload ----------------------------------------------------------------------------

    def reload(self, files: Sequence[str] = (), config: Config | None = None) -> None:
        """Load the project anew beside the old code, and swap between turns.

        Storage, alarms, retry counters, clock and seed stay; instances leave the memory.

        Args:
            files: what changed, for the record.
            config: the configuration, if it changed.

        Raises:
            EdgeemuError: when it does not load; the old code goes on serving.
        """
        now_ms = self._shell.clock.now_ms()
        engine = self._parts.engine
        try:
            if config is not None:
                engine.replace_code(make_code(config))
            engine.load()
        except EdgeemuError as error:
            if config is not None:
                engine.replace_code(make_code(self.config))
            self.reload_failed(error, files)
            raise
        if config is not None:
            self.config = config
            self._declared = frozenset(config.types)
            self._mover.poke()
            self._outside.services.body_bytes_max = config.limits.body_bytes
            self._shell.machine.reconfigure(
                lateness_ms=config.clock.alarm_lateness_ms,
                idle_eviction_ms=config.dev.idle_eviction_ms,
            )
            self._shell.around.follow(
                strict=config.limits.strict, unique_ids=config.dev.new_unique_id
            )
        engine.swap()
        self.load_error = None
        self._shell.notices.code_changed()
        self._shell.dispatch(CodeReplaced(now_ms))
        data = {"files": list(files)}
        self._shell.record(Entry(Kind.RELOAD, now_ms, cause="reload", data=data))

    def reload_failed(self, error: EdgeemuError, files: Sequence[str] = ()) -> None:
        """Note why the project as it stands does not load; the old code goes on serving."""
        self.load_error = error
        now_ms = self._shell.clock.now_ms()
        data = {"files": list(files), **error.as_json()}
        self._shell.record(Entry(Kind.RELOAD_FAILED, now_ms, cause="reload", data=data))

    def warn(self, code: str, message: str, where: str | None = None) -> None:
        """Record a warning of a skin, once a place."""
        self._shell.notices.warn(code, message, where)
