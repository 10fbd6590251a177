"""How an instance that uses SQL gets a file of its own, and how two files are kept as one (D5).

Promise: whatever dies at whatever point, a turn is there whole or not at all; an alarm is never
lost; a start reads no more than the few files that may be ahead of the state file.

State file and own file cannot commit at one instant, so one of the two commits decides:

- *The move.* The first use of SQL makes the file, with a copy of the kept keys. Nobody knows of it:
  the instance is at home in the state file until the turn ends. Then the file commits the turn
  first; the transaction of the state file (`home`, the keys gone, row, journal) commits second and
  decides. A death between the two leaves a file that the next move makes anew.
- *Every later turn*, with SQL or without. The state file gets the row (as the index of alarms and
  instances), the journal and the clock, in a transaction that stays open; the own file commits
  first and decides; the state file commits second. If that fails, the own file is one turn ahead,
  and carries in `_edgeemu_turn` what the state file lacks: it is told before anybody asks it again,
  or, after a death, at the next start. Which files may be ahead stands in `own_files.open`, written
  before a file's first commit since it was opened, so there are no more than are kept open.

So an alarm in the index may be one turn old only while nobody looks. Because the file decides, its
turn number is compared whenever a file is opened; a copy that somebody put back is believed.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import apsw

from edgeemu.core.overlay import KeyRange
from edgeemu.errors import Code, EdgeemuError
from edgeemu.ids import InstanceId
from edgeemu.limits import SQL_FILES_OPEN_MAX
from edgeemu.stores import planning
from edgeemu.stores.own_file import BeforeStatement, OwnFile, OwnFolder
from edgeemu.stores.planning import Plan
from edgeemu.stores.port import StoredTurn
from edgeemu.stores.sqlite_file import ROLLBACK
from edgeemu.stores.virtual_time import VirtualTime

_ANY = "SELECT EXISTS (SELECT 1 FROM own_files)"
_FIND_OPEN = (
    "SELECT id, type, name FROM own_files INDEXED BY own_files_open"
    " CROSS JOIN instances ON id = instance WHERE open"
)
_FIND_NUMBER = "SELECT number FROM own_files WHERE instance = ?"
_IS_OWN = "SELECT home = 'own' FROM instances WHERE id = ?"
_MOVE = "UPDATE instances SET home = 'own' WHERE id = ?"
_INSERT = "INSERT INTO own_files (instance, number, open) VALUES (?, ?, 1)"
_COUNT = "UPDATE own_files SET number = ? WHERE instance = ?"
_MARK = "UPDATE own_files SET open = ? WHERE instance = ?"
_SEQ = "SELECT coalesce(max(seq), 0) FROM journal"


class OwnFiles:
    """The files of the instances of one state file.

    Args:
        db: the state file.
        folder: makes and opens files.
    """

    def __init__(
        self,
        db: apsw.Connection,
        state_folder: Path,
        *,
        sync_full: bool,
        before_statement: BeforeStatement | None,
    ) -> None:
        self._db = db
        self._folder = OwnFolder(
            state_folder, sync_full=sync_full, before_statement=before_statement
        )
        self._open: OrderedDict[int, OwnFile] = OrderedDict()
        """By row number, the one that was used last at the end."""
        self._moving: dict[InstanceId, OwnFile] = {}
        self._closed: list[int] = []
        """Instances whose file was closed: it can be ahead no more."""
        self._ahead: tuple[int, InstanceId] | None = None
        """The instance whose file may know of a turn that the state file does not."""
        self._time: VirtualTime | None = None
        self._now_ms: Callable[[], int] = lambda: 0
        self.any = bool(db.execute(_ANY).get)
        """Whether any instance has a file: most projects use no SQL."""

    def use_clock(self, now_ms: Callable[[], int]) -> None:
        """Let SQL take its present (ms since the epoch) from here."""
        self._now_ms = now_ms

    def recover(self) -> None:
        """Tell the state file of the last turn of each file that is ahead, after a death.

        A file that cannot be read is passed over: whoever needs it is told.
        """
        found: list[tuple[Any, ...]] = self._db.execute(_FIND_OPEN).fetchall()
        for row_id, type_name, name in found:
            instance = InstanceId(type_name, name)
            with suppress(EdgeemuError):
                self._take_up(self._connect(row_id, instance, marked=True), row_id, meta=True)

    def settle(self) -> None:
        """Tell the state file of a turn that it failed to commit.

        A file that is damaged by now is passed over: it tells when it can be opened again.

        Raises:
            EdgeemuError: `E_STATE_UNWRITABLE` if it still fails.
        """
        if self._ahead is None:
            return
        try:
            self._catch_up(self.open(*self._ahead), self._ahead[0], meta=True)
        except EdgeemuError as error:
            if error.code is Code.STATE_UNWRITABLE:
                raise
        self._ahead = None

    # --- looking ---------------------------------------------------------------------------

    def open(self, row_id: int, instance: InstanceId) -> OwnFile:
        """The file of an instance at home there, checked against the index when it is opened.

        Raises:
            EdgeemuError: `E_STATE_DAMAGED`, `E_STATE_NEWER` or `E_STATE_UNWRITABLE`.
        """
        file = self._open.get(row_id)
        if file is not None:
            self._open.move_to_end(row_id)
            return file
        file = self._connect(row_id, instance, marked=False)
        if self._ahead is None or self._ahead[0] != row_id:
            # Behind a failed start; the clock has gone on since, and is not told of the past.
            self._take_up(file, row_id, meta=False)
        return file

    def open_anew(self, row_id: int, instance: InstanceId) -> OwnFile:
        """As `open`, of the file that lies there now: the one that was open may be deleted."""
        file = self._open.get(row_id)
        if file is not None and not file.busy and not file.in_place:
            del self._open[row_id]
            file.close(keep_log=True)
        return self.open(row_id, instance)

    def open_for_turn(self, row_id: int, instance: InstanceId) -> OwnFile:
        """The file of an instance at home there, with the transaction of a turn open."""
        file = self.open(row_id, instance)
        with file.explaining():
            file.begin()
        return file

    def moving(self, instance: InstanceId) -> OwnFile | None:
        """The file to which an instance is moved when its turn ends."""
        return self._moving.get(instance)

    def start_move(self, row_id: int | None, instance: InstanceId) -> OwnFile:
        """Make a file for an instance, with its kept keys, and begin the transaction of its turn.

        Raises:
            EdgeemuError: `E_STATE_DAMAGED` or `E_STATE_UNWRITABLE`.
        """
        self._tell_time()
        self._make_room()
        keys: list[tuple[str, bytes]] = []
        if row_id is not None:
            keys = planning.KEYS.read_range(self._db, (row_id,), KeyRange())
        file = self._folder.make(instance, keys)
        self._moving[instance] = file
        with file.explaining():
            file.begin()
        return file

    def rollback(self, row_id: int | None, instance: InstanceId) -> None:
        """Undo what a turn did in SQL, if its transaction is open; a move is called off."""
        moving = self._moving.pop(instance, None)
        if moving is not None:
            self._folder.discard(moving)
        file = None if row_id is None else self._open.get(row_id)
        if file is not None:
            with file.explaining():
                file.rollback()

    # --- keeping ---------------------------------------------------------------------------

    def commit(self, turn: StoredTurn, row_id: int, plan: Plan, meta: Mapping[str, Any]) -> None:
        """Keep one turn of an instance that has a file, or is moved to one.

        Args:
            row_id: of the instance, which `plan` may be about to make.
            plan: the index's part of the turn.

        Raises:
            EdgeemuError, apsw.Error: nothing was kept then, and the transaction is undone.
        """
        moving = self._moving.get(turn.instance)
        file = moving or self.open(row_id, turn.instance)
        try:
            if moving is None and not file.marked:
                self._mark(file, row_id)
            with file.explaining():
                number = file.number() + 1
                file.write(turn, number, plan.entries, meta)
            self._db.execute("BEGIN IMMEDIATE")
            plan.run(self._db)
            if moving is None:
                self._db.execute(_COUNT, (number, row_id))
                self._ahead = (row_id, turn.instance)
            else:
                self._db.execute(planning.KEYS.clear, (row_id,))
                self._db.execute(_MOVE, (row_id,))
                self._db.execute(_INSERT, (row_id, number))
            with file.explaining():
                file.commit()
        except BaseException:
            self._undo_state()
            self.rollback(row_id, turn.instance)
            raise
        if moving is None:
            self._commit_index()
        else:
            self._commit_move(moving, row_id)

    def _commit_index(self) -> None:
        """The file has decided: what fails now is made good before the state is asked again."""
        try:
            self._db.execute("COMMIT")
        except apsw.Error:
            self._undo_state()
            return
        except BaseException:
            self._undo_state()
            raise
        self._ahead = None

    def _commit_move(self, file: OwnFile, row_id: int) -> None:
        """The state file decides. An interrupt right behind its commit finds the instance moved."""
        del self._moving[file.instance]
        self.any = True
        try:
            self._db.execute("COMMIT")
        except BaseException:
            self._undo_state()
            file.close(keep_log=True)
            if not self._db.execute(_IS_OWN, (row_id,)).get:
                self._folder.discard(file)
            raise
        file.marked = True
        self._open[row_id] = file

    def _undo_state(self) -> None:
        """Undo the transaction of the state file if it was not committed."""
        if self._db.in_transaction:
            self._db.execute(ROLLBACK)

    def _mark(self, file: OwnFile, row_id: int) -> None:
        """Note that the file may be ahead from now on, and that closed ones no longer are."""
        marks = [(1, row_id), *((0, each) for each in self._closed if each != row_id)]
        with self._transaction():
            self._db.executemany(_MARK, marks)
        file.marked = True
        self._closed.clear()

    def _take_up(self, file: OwnFile, row_id: int, *, meta: bool) -> None:
        """Tell the state file of the last turn in a file just opened; one that fails is let go."""
        told = False
        try:
            self._catch_up(file, row_id, meta=meta)
            told = True
        finally:
            if not told:  # It may still be ahead, and is marked so.
                del self._open[row_id]
                file.close(keep_log=True)

    def _catch_up(self, file: OwnFile, row_id: int, *, meta: bool) -> None:
        """Tell the state file of the last turn in a file, if it does not know of it."""
        db = self._db
        with file.explaining():
            number = file.number()
            known = db.execute(_FIND_NUMBER, (row_id,)).get
            if number == known:
                return
            last = file.last_turn()
        with self._transaction():
            db.execute(planning.UPDATE_ROW, (*last.row, row_id))
            if known is not None and number == known + 1:
                entries = enumerate(last.entries, db.execute(_SEQ).get + 1)
                db.executemany(planning.RECORD, [(seq, *entry[1:]) for seq, entry in entries])
                for sql, bindings in planning.meta_writes(last.meta) if meta else ():
                    db.executemany(sql, bindings)
            db.execute(_COUNT, (number, row_id))

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._db.execute("COMMIT")
        finally:
            self._undo_state()

    # --- open files ------------------------------------------------------------------------

    def _connect(self, row_id: int, instance: InstanceId, *, marked: bool) -> OwnFile:
        self._tell_time()
        self._make_room()
        file = self._folder.open(instance)
        file.marked = marked
        self._open[row_id] = file
        return file

    def _make_room(self) -> None:
        """Close files that no turn uses before one more is opened: descriptors are few."""
        too_many = len(self._open) + len(self._moving) + 1 - SQL_FILES_OPEN_MAX
        if too_many <= 0:
            return
        idle = [each for each, found in self._open.items() if not found.busy]
        ahead = None if self._ahead is None else self._ahead[0]
        for row_id in [each for each in idle if each != ahead][:too_many]:
            self._close(row_id, keep_log=True)

    def _close(self, row_id: int, *, keep_log: bool) -> None:
        file = self._open.pop(row_id)
        file.close(keep_log=keep_log)
        if file.marked:
            self._closed.append(row_id)

    def _tell_now_ms(self) -> int:
        return self._now_ms()

    def _tell_time(self) -> None:
        if self._time is None:  # Most projects use no SQL.
            self._time = VirtualTime(self._tell_now_ms)
            self._folder.vfs = self._time.name

    def close(self) -> None:
        """Let go of every file; what is not kept is undone."""
        for instance in list(self._moving):
            with suppress(EdgeemuError):
                self.rollback(None, instance)
        with suppress(EdgeemuError, apsw.Error):
            self.settle()
        for row_id in list(self._open):
            self._close(row_id, keep_log=False)
        if self._closed and self._ahead is None:
            with suppress(apsw.Error), self._transaction():
                self._db.executemany(_MARK, [(0, row_id) for row_id in self._closed])
        if self._time is not None:
            self._time.unregister()
            self._time = None
