// Time as actor code sees it: the emulated instant, which stands still while code runs.

import { rules } from "./rules.js";

let nowMs = 0;

/** The emulated instant, until the next message. */
export function setNow(ms) {
  nowMs = ms;
}

/** The emulated instant, ms since the epoch. */
export function now() {
  return nowMs;
}

/** Emulated ms since the code was loaded. */
export function sinceLoad() {
  return nowMs - rules.loadedAtMs;
}

/** Set members of an object as built-in ones are. */
export function define(holder, members) {
  for (const [name, value] of Object.entries(members)) {
    Object.defineProperty(holder, name, { value, writable: true, configurable: true });
  }
}

const RealDate = Date;

function virtualDate() {
  function VirtualDate(...args) {
    if (new.target === undefined) return new RealDate(nowMs).toString();
    return Reflect.construct(RealDate, args.length === 0 ? [nowMs] : args, new.target);
  }
  Object.setPrototypeOf(VirtualDate, RealDate);
  Object.defineProperties(VirtualDate, {
    name: { value: "Date" },
    length: { value: 7 },
    prototype: { value: RealDate.prototype },
    now: { value: () => nowMs, writable: true, configurable: true },
  });
  define(RealDate.prototype, { constructor: VirtualDate });
  return VirtualDate;
}

/** Without a date, what formats one takes the present instant. */
function installFormats() {
  const { prototype } = Intl.DateTimeFormat;
  const { get } = Object.getOwnPropertyDescriptor(prototype, "format");
  Object.defineProperty(prototype, "format", {
    configurable: true,
    get() {
      const format = get.call(this);
      return (date) => format(date === undefined ? nowMs : date);
    },
  });
  const { formatToParts } = prototype;
  define(prototype, {
    formatToParts(date) {
      return formatToParts.call(this, date === undefined ? nowMs : date);
    },
  });
}

function installTemporal() {
  if (typeof Temporal === "undefined") return;
  const zone = Temporal.Now.timeZoneId();
  const instant = () => Temporal.Instant.fromEpochMilliseconds(nowMs);
  const zoned = (id = zone) => instant().toZonedDateTimeISO(id);
  define(Temporal.Now, {
    instant,
    timeZoneId: () => zone,
    zonedDateTimeISO: zoned,
    plainDateTimeISO: (id) => zoned(id).toPlainDateTime(),
    plainDateISO: (id) => zoned(id).toPlainDate(),
    plainTimeISO: (id) => zoned(id).toPlainTime(),
  });
}

/** `performance`, whose marks and measures are kept until they are cleared. */
function installPerformance() {
  const { prototype } = Performance;
  const { mark } = prototype;
  define(prototype, {
    now: sinceLoad,
    mark(name, options = {}) {
      return mark.call(this, name, { startTime: sinceLoad(), ...options });
    },
    toJSON: () => ({ timeOrigin: rules.loadedAtMs }),
  });
  const { measure } = prototype;
  define(prototype, {
    measure(name, from = {}, to = undefined) {
      const given = typeof from === "string" ? { start: from, end: to ?? sinceLoad() } : from;
      const whole = given.end === undefined && given.duration === undefined;
      const options = whole ? { start: 0, ...given, end: sinceLoad() } : given;
      return measure.call(this, name, options);
    },
  });
  Object.defineProperty(prototype, "timeOrigin", {
    configurable: true,
    get: () => rules.loadedAtMs,
  });
}

/** Take the place of what tells the real time. */
export function installTime() {
  define(globalThis, { Date: virtualDate() });
  installFormats();
  installTemporal();
  installPerformance();
}
