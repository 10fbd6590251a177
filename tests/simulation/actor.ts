// The actor of the simulation in TypeScript: the twin of actor.py.

import assert from "node:assert";
import { type AlarmInfo, StatefulActor } from "@telnyx/edge-runtime";

const TABLES = `
    CREATE TABLE IF NOT EXISTS rows (key PRIMARY KEY, value);
    CREATE TABLE IF NOT EXISTS ledger (number PRIMARY KEY, now_ms)
`;
const REPLACE = "REPLACE INTO rows VALUES (?, ?)";
const ADD_ONE = "UPDATE rows SET value = value + 1";

class OnPurpose extends Error {
  constructor(text = "on purpose") {
    super(text);
  }
}

function suppressing(fits: (error: any) => boolean, fn: () => unknown) {
  try {
    fn();
  } catch (error) {
    if (!fits(error)) throw error;
  }
}

const isOnPurpose = (error: unknown) => error instanceof OnPurpose;
const isSqlError = (error: any) => error.name === "SqlError";

export class A extends StatefulActor {
  async _see() {
    const now_ms = Date.now();
    const last_ms = (await this.ctx.storage.get<number>("now")) ?? 0;
    assert.ok(now_ms >= last_ms, `time went back from ${last_ms} to ${now_ms}`);
    await this.ctx.storage.put("now", now_ms);
  }

  async put(key: string, value: unknown) {
    await this._see();
    await this.ctx.storage.put(key, value);
  }

  async delete(key: string) {
    await this._see();
    return await this.ctx.storage.delete(key);
  }

  async arm(after_ms: number) {
    await this._see();
    await this.ctx.storage.setAlarm(Date.now() + after_ms);
  }

  async clear() {
    await this._see();
    await this.ctx.storage.deleteAlarm();
  }

  // --- SQL -------------------------------------------------------------------------------------

  _sql(query: string, ...bindings: any[]): any {
    return this.ctx.storage.sql.exec(`${TABLES};${query}`, ...bindings);
  }

  /** One of several ways to write rows; a part that is undone alone, or fails, is caught. */
  async edit(how: string, key: string, value: number) {
    await this._see();
    if (how === "replace") {
      this._sql(REPLACE, key, value);
    } else if (how === "add") {
      this._sql("UPDATE rows SET value = value + ? WHERE key = ?", value, key);
    } else if (how === "remove") {
      this._sql("DELETE FROM rows WHERE key = ?", key);
    } else if (how === "several") {
      this._sql(`${ADD_ONE}; DELETE FROM rows WHERE value > 9; ${REPLACE}`, key, value);
    } else if (how === "breaks") {
      suppressing(isSqlError, () => this._sql(`${ADD_ONE}; INSERT INTO nowhere VALUES (1)`));
    } else if (how === "undone") {
      this._sql(REPLACE, "kept", value);
      const part = () => this.ctx.storage.transactionSync(() => this._part(key, value));
      suppressing(isOnPurpose, part);
    } else if (how === "nested") {
      this.ctx.storage.transactionSync(() => this._wholePart(key, value));
    }
  }

  _part(key: string, value: number) {
    this._sql(`DELETE FROM rows; ${REPLACE}`, key, value);
    throw new OnPurpose();
  }

  _wholePart(key: string, value: number) {
    this._sql(REPLACE, key, value);
    const part = () => this.ctx.storage.transactionSync(() => this._part("kept", value));
    suppressing(isOnPurpose, part);
    this._sql(REPLACE, "kept", value);
  }

  async edit_throws(key: string, value: number) {
    this._sql(`DELETE FROM ledger; ${ADD_ONE}; ${REPLACE}`, key, value);
    await this.throws(key, value);
  }

  // --- turns that write in every way -----------------------------------------------------------

  /** One entry of the ledger, and the alarm; `how` the transaction or the turn ends. */
  async enter(after_ms: number | null, how: string) {
    await this._see();
    const number = await this._enter();
    if (after_ms === null) await this.ctx.storage.deleteAlarm();
    else await this.ctx.storage.setAlarm(Date.now() + after_ms);
    const body = async (txn: any) => {
      await txn.put("landed", number);
      if (how === "caught" || how === "fails") throw new OnPurpose();
    };
    await (how === "caught" ? this._caught(body) : this._whole(body));
    if (how === "throws") throw new OnPurpose();
    return number;
  }

  /** Keys and SQL know of the same entries, or half a turn was kept. */
  async _enter() {
    const number = ((await this.ctx.storage.get<number>("count")) ?? 0) + 1;
    const query = "SELECT count(*) AS entries, max(number) AS last FROM ledger";
    const [kept] = this._sql(query);
    const there = { entries: number - 1, last: number - 1 || null };
    assert.deepStrictEqual(kept, there, "half a turn: SQL and the keys differ");
    this._sql("INSERT INTO ledger VALUES (?, ?)", number, Date.now());
    await this.ctx.storage.put("count", number);
    return number;
  }

  /** Every key goes, and with the count the ledger; rows and alarm stay. */
  async wipe(throws: boolean) {
    await this._see();
    if (await this.ctx.storage.get("count")) this._sql("DELETE FROM ledger");
    await this.ctx.storage.deleteAll();
    await this._see();
    if (throws) throw new OnPurpose();
  }

  async throws(key: string, value: unknown) {
    await this.ctx.storage.put(key, value);
    await this.ctx.storage.delete("plan");
    await this.ctx.storage.setAlarm(Date.now() + 5);
    throw new OnPurpose();
  }

  async transact(key: string, value: unknown, how: string) {
    // What stands beside the transaction is kept where its failure is caught.
    await this._see();
    await this.ctx.storage.put("before", value);
    const body = async (txn: any) => {
      await txn.put(key, value);
      assert.ok(await txn.delete("before"));
      assert.strictEqual(await txn.get("before"), undefined);
      if (how !== "lands") throw new OnPurpose();
      return await txn.get(key);
    };
    const given = await (how === "caught" ? this._caught(body) : this._whole(body));
    await this._whole(async (txn) => await txn.put("after", value));
    return given;
  }

  async _whole(body: (txn: any) => Promise<unknown>) {
    return await this.ctx.storage.transaction(body);
  }

  async _caught(body: (txn: any) => Promise<unknown>) {
    try {
      await this.ctx.storage.transaction(body);
    } catch (error) {
      if (!isOnPurpose(error)) throw error;
      return "the caller sees an error instead";
    }
  }

  async slow(key: string, value: unknown, row: boolean) {
    if (row) this._sql(REPLACE, key, value);
    await this.ctx.storage.put(key, value);
    await this.ctx.storage.deleteAlarm();
    await new Promise((done) => setTimeout(done, 5_000));
  }

  async look() {
    const keys = Object.fromEntries(await this.ctx.storage.list());
    return [keys, await this.ctx.storage.getAlarm()];
  }

  async alarm(info: AlarmInfo) {
    const { storage } = this.ctx;
    const seen = await storage.getAlarm();
    assert.strictEqual(seen, null, "an alarm inside its delivery");
    await this._see();
    await storage.put("runs", ((await storage.get<number>("runs")) ?? 0) + 1);
    const plan: any = (await storage.get("plan")) ?? {};
    if (plan.row) await this._enter();
    if (plan.rearm_ms !== undefined && plan.rearm_ms !== null) {
      await storage.setAlarm(Date.now() + plan.rearm_ms);
    }
    if (info.retryCount < (plan.throws ?? 0)) {
      const body = async (txn: any) => {
        await txn.put("runs", -1);
        throw new OnPurpose(`attempt ${info.retryCount}`);
      };
      await (plan.caught ? this._caught(body) : this._whole(body));
    }
  }
}
