// A chat room: messages in SQL, listeners on WebSockets.

import {
  type ActorContext,
  type ActorWebSocket,
  type AlarmInfo,
  type Env,
  StatefulActor,
} from "@telnyx/edge-runtime";

const WEEK_MS = 7 * 24 * 60 * 60_000;
const PAGE_ROWS_MAX = 50;

interface Message {
  id: number;
  user: string;
  text: string;
  said_at_ms: number;
}

export interface Page {
  messages: Message[];
  next: number | null;
}

export class ChatRoom extends StatefulActor {
  // Runs whenever the room comes into memory, so it must do no harm when it runs again.
  constructor(ctx: ActorContext, env: Env) {
    super(ctx, env);
    void ctx.blockConcurrencyWhile(async () => {
      ctx.storage.sql.exec(
        "CREATE TABLE IF NOT EXISTS messages (id INTEGER PRIMARY KEY AUTOINCREMENT," +
          " key TEXT UNIQUE, user TEXT, text TEXT, said_at_ms INTEGER)",
      );
    });
  }

  // Keeps a message and tells everyone in the room. A client that got no answer says it again
  // with the same key: it is kept once, and told once.
  async say(user: string, text: string, key: string | null = null): Promise<number> {
    const { sql } = this.ctx.storage;
    const [said] = sql.exec<{ id: number }>("SELECT id FROM messages WHERE key = ?", key).toArray();
    if (said !== undefined) return said.id;
    const now = Date.now();
    const [{ id }] = sql.exec<{ id: number }>(
      "INSERT INTO messages (key, user, text, said_at_ms) VALUES (?, ?, ?, ?) RETURNING id",
      key,
      user,
      text,
      now,
    ).toArray() as [{ id: number }];
    // There is one alarm. It stays where the oldest message put it.
    if (await this.ctx.storage.getAlarm() === null) {
      await this.ctx.storage.setAlarm(now + WEEK_MS);
    }
    // What is sent leaves at once, and is not taken back if this call fails. So it comes last.
    this.ctx.broadcast(JSON.stringify({ id, user, text }));
    return id;
  }

  // A page of the messages, newest first. The `next` of one page is the `before` of the one that
  // follows; null: there is no more. Messages that arrive meanwhile move nothing.
  async history(before: number | null = null, limit = 20): Promise<Page> {
    const count = Math.max(1, Math.min(limit, PAGE_ROWS_MAX));
    const rows = this.ctx.storage.sql.exec<Message>(
      "SELECT id, user, text, said_at_ms FROM messages WHERE ? IS NULL OR id < ?" +
        " ORDER BY id DESC LIMIT ?",
      before,
      before,
      count + 1,
    ).toArray();
    const messages = rows.slice(0, count);
    return { messages, next: rows.length > count ? messages[count - 1]!.id : null };
  }

  async clear(): Promise<void> {
    this.ctx.storage.sql.exec("DELETE FROM messages");
    await this.ctx.storage.deleteAlarm();
  }

  // Deletes what is older than a week. It may run twice for one alarm, early or late: it looks
  // at the messages, and comes again only if some are left.
  async alarm(_info: AlarmInfo): Promise<void> {
    const { sql } = this.ctx.storage;
    sql.exec("DELETE FROM messages WHERE said_at_ms <= ?", Date.now() - WEEK_MS);
    const [oldest] = sql.exec<{ ms: number | null }>("SELECT min(said_at_ms) AS ms FROM messages");
    if (oldest?.ms != null) await this.ctx.storage.setAlarm(oldest.ms + WEEK_MS);
  }

  // Someone listens. `broadcast` reaches every open socket of the room, so nothing is kept here.
  // A socket lives for five minutes: a client connects again, and reads `history`.
  async webSocket(ws: ActorWebSocket, request: Request): Promise<void> {
    ws.on("message", () => ws.send("this socket only listens: POST what you say"));
    ws.send(request.headers.get("x-motto") ?? "");
  }
}
