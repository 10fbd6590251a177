// SQL.

import { type AlarmInfo, StatefulActor } from "@telnyx/edge-runtime";

const MIB_2 = 2 * 1024 * 1024;
const sleep = (seconds: number) => new Promise((done) => setTimeout(done, seconds * 1_000));

export class A extends StatefulActor {
  run(query: string, params: any[] = []): any[] {
    return this.ctx.storage.sql.exec(query, ...params).toArray();
  }

  value(query: string, ...params: any[]): any {
    const [row] = this.run(query, params);
    return Object.values(row)[0];
  }

  /** Name and message of the error, or nothing. */
  tried(query: string, params: any[] = []) {
    return this._error(() => this.run(query, params));
  }

  _error(fn: () => unknown) {
    try {
      fn();
    } catch (error: any) {
      return [error.name, error.message];
    }
    return null;
  }

  fill(count: number) {
    this.run("CREATE TABLE IF NOT EXISTS t (a INTEGER PRIMARY KEY, b)");
    for (let number = 1; number <= count; number += 1) {
      this.run("INSERT INTO t VALUES (?, ?)", [number, `row ${number}`]);
    }
  }

  single_pass() {
    const cursor: any = this.ctx.storage.sql.exec("SELECT a FROM t ORDER BY a");
    const taken = [];
    for (const row of cursor) {
      taken.push(row.a);
      if (taken.length === 2) break;
    }
    return [taken, cursor.toArray(), cursor.toArray()];
  }

  /** The error of a query, and the rows of `t` as the turn sees them behind it. */
  after(query: string, params: any[] = []) {
    return [this.tried(query, params), this.run("SELECT * FROM t ORDER BY a")];
  }

  /** Whether it is refused as control of transactions, not else; and what `t` holds then. */
  control(query: string, params: any[] = []) {
    const told = this.tried(query, params)!;
    return [told[0] === "SqlTransactionControlError", this.value("SELECT count(*) FROM t")];
  }

  refused(query: string) {
    return this.tried(query)![0] === "SqlError";
  }

  // --- transactionSync ---

  kept() {
    return this.ctx.storage.transactionSync(() => {
      this.run("INSERT INTO t VALUES (100, 'kept')");
      return "the value";
    });
  }

  undone() {
    return this._error(() =>
      this.ctx.storage.transactionSync(() => {
        this.run("INSERT INTO t VALUES (101, 'undone')");
        throw new Error("no");
      })
    );
  }

  multiple_undone() {
    const query = "INSERT INTO t VALUES (102, 'undone'); INSERT INTO nowhere VALUES (1)";
    return this._error(() => this.ctx.storage.transactionSync(() => this.run(query)));
  }

  asynchronous() {
    const insert: any = async () => this.run("INSERT INTO t VALUES (103, 'undone')");
    return this._error(() => this.ctx.storage.transactionSync(insert))![0];
  }

  awaitable() {
    const insert: any = () => {
      this.run("INSERT INTO t VALUES (104, 'undone')");
      return this.ctx.storage.get("k");
    };
    return this._error(() => this.ctx.storage.transactionSync(insert))![0];
  }

  nested() {
    const { storage } = this.ctx;
    const inner = (number: number, fails: boolean) => {
      this.run("INSERT INTO t VALUES (?, 'inner')", [number]);
      if (fails) throw new Error("no");
    };
    storage.transactionSync(() => {
      this.run("INSERT INTO t VALUES (110, 'outer')");
      storage.transactionSync(() => inner(111, false));
      this._error(() => storage.transactionSync(() => inner(112, true)));
      storage.transactionSync(() => inner(113, false));
    });
  }

  outer_undone() {
    const { storage } = this.ctx;
    return this._error(() =>
      storage.transactionSync(() => {
        storage.transactionSync(() => this.run("INSERT INTO t VALUES (120, 'inner')"));
        throw new Error("no");
      })
    );
  }

  async put_inside() {
    this._error(() =>
      this.ctx.storage.transactionSync(() => {
        this.ctx.storage.put("k", "of the turn");
        this.run("INSERT INTO t VALUES (130, 'undone')");
        throw new Error("no");
      })
    );
    return await this.ctx.storage.get("k");
  }

  // --- values ---

  round_trip(value: any) {
    const given = this.value("SELECT ?", value);
    return given instanceof ArrayBuffer ? new Uint8Array(given) : given;
  }

  kinds(values: any[]) {
    return values.map((value) => this.value("SELECT typeof(?)", value));
  }

  buffers() {
    const ab = new TextEncoder().encode("ab");
    const made = [new Uint8Array([1, 2]), ab.buffer, new DataView(ab.buffer)];
    return made.map((value) => this.value("SELECT hex(?)", value));
  }

  unbindable(value: any) {
    return this.tried("SELECT ?", [value])![0];
  }

  undefined() {
    return this.tried("SELECT ?", [undefined])![0];
  }

  large(bytes_more: number) {
    const text = "x".repeat(MIB_2 + bytes_more);
    const found = [this.tried("DELETE FROM t; SELECT length(?)", [text])];
    found.push(this.tried("SELECT length(?)", [new Uint8Array(MIB_2 + bytes_more)]));
    return [found.map((each) => each && each[0]), this.value("SELECT count(*) FROM t")];
  }

  too_many(count: number) {
    const marks = Array(count).fill("?").join(", ");
    return this.tried(`SELECT 1 IN (${marks})`, Array(count).fill(1));
  }

  beyond() {
    this.run("CREATE TABLE n (id, v)");
    this.run("INSERT INTO n VALUES ('exact', ?)", [2 ** 53 - 1]);
    this.run("INSERT INTO n VALUES ('beyond', ?), ('below', ?)", [2n ** 53n, -(2n ** 53n)]);
    const found = [this.value("SELECT v FROM n WHERE id = 'exact'")];
    found.push(this.value("SELECT count(*) FROM n WHERE v > ?", 2 ** 53 - 1));
    found.push(this.value("SELECT CAST(v AS TEXT) FROM n WHERE id = 'beyond'"));
    for (const name of ["beyond", "below"]) {
      const cursor = this.ctx.storage.sql.exec("SELECT v FROM n WHERE id = ?", name);
      found.push(this._error(() => cursor.toArray()));
    }
    return found;
  }

  members() {
    const cursor = this.ctx.storage.sql.exec("SELECT 1 AS one");
    const names = ["one", "raw", "columnNames", "rowsRead", "rowsWritten", "next"];
    return names.filter((name) => name in cursor);
  }

  // --- the turn ---

  insert_and_throw(number: number) {
    this.run("INSERT INTO t VALUES (?, 'thrown')", [number]);
    throw new Error("no");
  }

  async everything_and_throw() {
    await this.ctx.storage.put("k", 1);
    await this.ctx.storage.setAlarm(Date.now() + 1_000);
    this.run("CREATE TABLE made (a); INSERT INTO t VALUES (200, 'thrown')");
    throw new Error("no");
  }

  async slow() {
    this.run("INSERT INTO t VALUES (201, 'too late')");
    await sleep(40);
    return this.tried("INSERT INTO t VALUES (202, 'much too late')");
  }

  async waits() {
    this.run("INSERT INTO t VALUES (203, 'crashed')");
    await sleep(10);
  }

  async delete_all() {
    await this.ctx.storage.put("k", 1);
    await this.ctx.storage.deleteAll();
  }

  dangling() {
    this.run(
      "CREATE TABLE IF NOT EXISTS parent (id INTEGER PRIMARY KEY);" +
        "CREATE TABLE IF NOT EXISTS child" +
        " (p REFERENCES parent DEFERRABLE INITIALLY DEFERRED);" +
        "INSERT INTO child VALUES (7)",
    );
  }

  async later(delay_ms: number) {
    await this.ctx.storage.setAlarm(Date.now() + delay_ms);
  }

  now() {
    const [row] = this.run(
      "SELECT datetime('now') AS a, CURRENT_TIMESTAMP AS b, unixepoch() * 1000 AS c," +
        " CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) AS d",
    );
    return [row.a, row.b, [row.c, row.d].includes(Date.now())];
  }

  drawn() {
    return this.run("SELECT random() % 1000000 AS a, hex(randomblob(4)) AS b");
  }
}

/** Makes its table when it is made, and writes in its alarm. */
export class Books extends StatefulActor {
  constructor(ctx: any, env: any) {
    super(ctx, env);
    ctx.storage.sql.exec("CREATE TABLE IF NOT EXISTS entries (at, retry)");
  }

  async arm(delay_ms: number) {
    await this.ctx.storage.setAlarm(Date.now() + delay_ms);
  }

  async alarm(info: AlarmInfo) {
    this.ctx.storage.sql.exec("INSERT INTO entries VALUES (unixepoch(), ?)", info.retryCount);
    await this.ctx.storage.put("delivered", info.retryCount);
    if (info.retryCount < 2) throw new Error("not yet");
    await this.ctx.storage.setAlarm(Date.now() + 60_000);
  }

  entries() {
    return this.ctx.storage.sql.exec("SELECT retry FROM entries").toArray();
  }
}

/** Uses SQL in its constructor, and fails. */
export class Fails extends StatefulActor {
  constructor(ctx: any, env: any) {
    super(ctx, env);
    ctx.storage.sql.exec("CREATE TABLE made (a)");
    throw new Error("the constructor fails");
  }

  touch() {
    return null;
  }
}
