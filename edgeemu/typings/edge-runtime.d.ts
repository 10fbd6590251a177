// The types of the module `@telnyx/edge-runtime`, as edgeemu offers it. Written by
// `edgeemu types`. Where npm has installed the package itself, its own types are used.
//
// Source: spec/telnyx-actors.md sections 2 to 12 and 16.

/** The bindings of the project, which `telnyx-env.d.ts` adds: `edgeemu types` writes it. */
export interface Env {}

/** The bindings, for code that is no actor; an actor has `this.env`. */
export declare const env: Env;

/** The base of every actor. */
export declare class StatefulActor<E = Env> {
  constructor(ctx: ActorContext, env: E);
  readonly ctx: ActorContext;
  readonly env: E;
  /** Called when the alarm is due, once or more often: a failed run is delivered again. */
  alarm(info: AlarmInfo): Promise<void>;
  /** Answers `stub.fetch(request)`; without an own one, with 404. */
  fetch(request: Request): Promise<Response>;
  /** Takes a WebSocket; its listeners are registered before it returns. */
  webSocket?(ws: ActorWebSocket, request: Request): Promise<void> | void;
}

export interface AlarmInfo {
  /** 0 on the first delivery; one more with each further one. */
  readonly retryCount: number;
  /** Whether `retryCount` is above 0. */
  readonly isRetry: boolean;
}

export interface ActorContext {
  /** The name of the instance. */
  readonly id: string;
  readonly storage: ActorStorage;
  /** In the constructor: calls wait until it has settled, 30 seconds at most. */
  blockConcurrencyWhile<T>(fn: () => Promise<T>): Promise<T>;
  /** The same as `storage.setAlarm`. */
  setAlarm(when: number): Promise<void>;
  /** How many WebSockets of this instance are open. */
  count(): number;
  /** Send to each of them at once; to how many. */
  broadcast(data: string | ArrayBuffer | ArrayBufferView): number;
  /** Those that are open. */
  sockets(): ActorWebSocket[];
}

// --- storage -----------------------------------------------------------------------------------

export interface ListOptions {
  prefix?: string;
  /** The lower bound, itself included. */
  start?: string;
  /** The lower bound, itself left out: the last key of the page before. */
  startAfter?: string;
  /** The upper bound, itself left out. */
  end?: string;
  reverse?: boolean;
  /** From 1 to 1000. Without it 128 entries come, and no sign that there are more. */
  limit?: number;
}

/** The keys inside of `storage.transaction`: all of its writes are kept, or none. */
export interface StorageTransaction {
  get<T = unknown>(key: string): Promise<T | undefined>;
  put<T>(key: string, value: T): Promise<void>;
  /** Whether the key was there. */
  delete(key: string): Promise<boolean>;
  /** In the order of the keys. */
  list<T = unknown>(options?: ListOptions): Promise<Map<string, T>>;
}

export type ActorTransaction = StorageTransaction;

/** What a turn writes is kept as one at its end; a turn that throws leaves nothing. */
export interface ActorStorage extends StorageTransaction {
  /** Delete every key; the alarm stays. */
  deleteAll(): Promise<void>;
  transaction<T>(fn: (txn: StorageTransaction) => Promise<T>): Promise<T>;
  /**
   * Set the one alarm of the instance, in place of an earlier one.
   *
   * @param when milliseconds since the epoch, such as `Date.now() + 60_000`
   */
  setAlarm(when: number): Promise<void>;
  /** When the alarm is due, in milliseconds since the epoch; null without one. */
  getAlarm(): Promise<number | null>;
  deleteAlarm(): Promise<void>;
  readonly sql: SqlStorage;
  /** For SQL only: what a function that throws did is undone. */
  transactionSync<T>(fn: () => T): T;
}

export type SqlValue = null | number | string | ArrayBuffer;

/** What may stand for a `?`. */
export type SqlBinding = SqlValue | boolean | bigint | ArrayBufferView;

export interface SqlStorage {
  /** Run statements; the bindings and the rows are those of the last one. */
  exec<T extends object = Record<string, SqlValue>>(
    query: string,
    ...bindings: SqlBinding[]
  ): SqlCursor<T>;
}

/** The rows of a query, in a single pass. */
export interface SqlCursor<T extends object = Record<string, SqlValue>>
  extends IterableIterator<T> {
  [Symbol.iterator](): SqlCursor<T>;
  /** The rows that are left. */
  toArray(): T[];
}

// --- other actors ------------------------------------------------------------------------------

export interface IdFromNameOptions {
  locationHint?: "us-east" | "us-west" | "eu" | "apac" | (string & {});
}

export interface ActorNamespace<T = any> {
  /** The instance of a name: nothing runs before it is called. */
  idFromName(name: string, options?: IdFromNameOptions): ActorStub<T>;
  /** Fails on the platform today, and so here unless `new_unique_id` is set. */
  newUniqueId(options?: IdFromNameOptions): ActorStub<T>;
}

/** What no caller may call by its name. */
type NotCallable = keyof StatefulActor | `_${string}`;

/** The methods of an actor as its callers see them: each gives a promise. */
export type ActorMethods<T> = {
  [K in keyof T as K extends NotCallable ? never : T[K] extends Callable ? K : never]:
    T[K] extends (...args: infer Args) => infer Result ? (...args: Args) => Promise<Awaited<Result>>
      : never;
};

type Callable = (...args: any[]) => unknown;

export type ActorStub<T = any> =
  & {
    /** The name of the instance. */
    readonly id: string;
    fetch(input: Request | string | URL, init?: RequestInit): Promise<Response>;
  }
  & ActorMethods<T>;

/** One WebSocket of an instance, like one of the package `ws`. */
export interface ActorWebSocket {
  readonly protocol: string;
  readonly bufferedAmount: number;
  on(event: "message", listener: (data: any, isBinary: boolean) => unknown): this;
  on(event: "close", listener: (code: number) => unknown): this;
  on(event: "error", listener: (error: Error) => unknown): this;
  send(data: string | ArrayBuffer | ArrayBufferView): void;
  close(code?: number, reason?: string): void;
}

// --- other bindings ----------------------------------------------------------------------------

export interface Secrets<Handle extends string = string> {
  /** Fails for a secret without a value. */
  get(handle: Handle): Promise<string>;
}

export interface RateLimit {
  /** Whether the key may pass. */
  limit(options: { key: string }): Promise<{ success: boolean }>;
}

export interface KvKey {
  name: string;
  sizeBytes: number;
  updatedAt: string;
}

export interface KvList {
  keys: KvKey[];
  list_complete: boolean;
  cursor?: string;
}

/** Text by key, shared by all; outside of every turn, and the last write wins. */
export interface KvNamespace {
  get(key: string, options?: "text" | { type?: "text" }): Promise<string | null>;
  get<T = unknown>(key: string, options: "json" | { type: "json" }): Promise<T | null>;
  put(
    key: string,
    value: string,
    options?: { expirationTtl?: number; metadata?: unknown },
  ): Promise<void>;
  delete(key: string): Promise<void>;
  list(options?: { prefix?: string; limit?: number; cursor?: string }): Promise<KvList>;
}

/** Known to the platform; edgeemu does not emulate it. */
export type SqlDatabase = any;

/** Known to the platform; edgeemu does not emulate it. */
export type CloudStorageBucket = any;

// --- errors ------------------------------------------------------------------------------------
//
// A caller of a stub tells errors apart by `error.name`, and not by `instanceof`.

export declare class ActorFetchTimeoutError extends Error {}
export declare class ActorMethodTimeoutError extends Error {}
export declare class ActorOutputGateError extends Error {}
export declare class BlockConcurrencyTimeoutError extends Error {}
export declare class CodecError extends Error {}
export declare class SqlAsyncTransactionError extends Error {}
export declare class SqlParameterTooLargeError extends Error {}
export declare class SqlTransactionControlError extends Error {}
