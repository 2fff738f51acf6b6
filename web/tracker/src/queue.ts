// The events that are on their way. What is sent is sent until it is taken or refused
// for good, with the ids it had from the beginning, so that the server counts it
// once; while it cannot be sent it is kept in the browser's storage, within bounds,
// and the next page of the site takes it over.
import { amount, apiUrl, clientId, collecting, flag } from "./context.ts";
import { debug, guard, listen } from "./guard.ts";
import { uuid } from "./id.ts";
import { lasting, readJSON } from "./storage.ts";
import { backoff, keepaliveBytes, post, sizeOf } from "./transport.ts";

export type Payload = Record<string, unknown>;

/** The ways into the ingestion host: of pages, of events of the page's own making, of links, and the others. */
export type Kind = "batch" | "track" | "" | "vitals" | "errors" | "engagement" | "identify";

/** Those that take one event instead of an array; it does not wait for others. */
const single: Kind[] = ["", "identify"];

interface Item {
  /** Kind. */
  k: Kind;
  /** When it happened, in Unix milliseconds. */
  t: number;
  /** Event. */
  e: Payload;
  /** Only in the storage: that it was under way, and nothing had failed. */
  s?: boolean;
}

/** A request that was not answered yet. */
interface Batch {
  items: Item[];
  /** How many bytes of it outlive the page: all, or none. */
  safe: number;
}

/** Events of one kind that are sent together, 1 to 100, and how long the first of them waits, in milliseconds. */
const batchSize = Math.min(amount("batchSize", 10) || 1, 100);
const batchTimeout = amount("batchTimeout", 2000);
const retrying = flag("enableRetries", true);

/**
 * How many requests wait for their answers at most, but for those of a page that is left:
 * of the six connections that browsers open to a host without HTTP/2, two stay the page's.
 */
const maxRequests = 4;

// What is kept for later.
const maxItems = 200;
const maxStored = 200000; // characters
const maxAge = 3 * 24 * 3600000;
/**
 * How long that is kept of which nobody saw the response, since its page had been left. Most of
 * it has arrived, and the host knows the ids of everything for an hour, unless it was told otherwise.
 */
const maxUnseen = 1800000;

const prefix = `did_queue.${clientId}.`;
/** Each page keeps its own, so that two tabs do not overwrite each other's. */
const storeKey = prefix + uuid();

let waiting: Item[] = [];
const underWay = new Map<Batch, Promise<unknown>>();
/** Whether something waits until one of them is answered. */
let queued = false;
let timer: ReturnType<typeof setTimeout> | undefined;
let failures = 0;
/** Until when the server is left alone. */
let restUntil = 0;
/** Whether the server asked for it, and not its silence. */
let restAsked = false;
let beforeSending: () => void;

/** Has fn called before waiting events are sent, when they may still be completed. */
export function onSend(fn: () => void): void {
  beforeSending = fn;
}

export function add(kind: Kind, event: Payload): void {
  debug(kind, event);
  waiting.push({ k: kind, t: Date.now(), e: event });
  waiting = waiting.slice(-maxItems);
  const alike = waiting.filter(({ k }) => k === kind);
  if (flag("enableBatching", true) && !single.includes(kind) && alike.length < batchSize) wake(batchTimeout);
  // A page's title is set after its address, by the same script.
  else if (kind === "batch") {
    sleep();
    wake(0);
  } else void flush();
}

/** Has what waits sent after so many milliseconds, or sooner if that was said before. */
function wake(after: number): void {
  timer ??= setTimeout(guard(flush) as () => void, Math.max(after, restUntil - Date.now()));
}

function sleep(): void {
  clearTimeout(timer);
  timer = undefined;
}

/**
 * Sends what waits, unless the server wants to be left alone; resolves when all that
 * is under way was answered. A page that is left stores what might be lost.
 */
export function flush(leaving = false): Promise<unknown> {
  sleep();
  const resting = Date.now() < restUntil;
  if (!collecting()) {
    waiting = [];
  } else if (!resting && (leaving || !full())) {
    beforeSending();
    const taken = waiting;
    waiting = [];
    for (const batch of batches(taken)) send(batch, leaving);
  }
  if (waiting.length > 0) wake(batchTimeout);
  if (leaving || resting) save();
  return Promise.all(underWay.values());
}

/** Whether another request has to wait for an answer to one before it. */
function full(): boolean {
  return (queued = underWay.size >= maxRequests);
}

/** Cuts items into requests, by kind, number and size. */
function batches(items: Item[]): Item[][] {
  const open: Partial<Record<Kind, { batch: Item[]; room: number }>> = {};
  const all: Item[][] = [];
  for (const item of items) {
    const size = sizeOf(JSON.stringify(item.e)) + 1;
    let last = open[item.k];
    if (!last || single.includes(item.k) || last.room < size || last.batch.length >= batchSize) {
      open[item.k] = last = { batch: [], room: keepaliveBytes - 2 };
      all.push(last.batch);
    }
    last.batch.push(item);
    last.room -= size;
  }
  return all;
}

function send(items: Item[], leaving: boolean): void {
  const [first] = items as [Item];
  const url = `${apiUrl}/${first.k}?${
    first.k === "track" ? "website" : "client"
  }_id=${encodeURIComponent(clientId)}`;
  const body = JSON.stringify(single.includes(first.k) ? first.e : items.map(({ e }) => e));
  let room = "keepalive" in Request.prototype ? keepaliveBytes : 0;
  for (const other of underWay.keys()) room -= other.safe;
  let safe = sizeOf(body);
  if (safe > room) safe = 0;
  if (leaving ? !safe : full()) {
    // A fetch would end with a page that is left. Browsers without any other have the beacon.
    if (!leaving || !(navigator as Partial<Navigator>).sendBeacon?.(url, body)) waiting.push(...items);
    return;
  }
  const batch = { items, safe };
  const before = failures;
  const answered = post(url, body, safe > 0).then(
    guard(({ status, wait }) => {
      underWay.delete(batch);
      // Without an answer, refused for now, or broken.
      const again = status > 499 || [0, 408, 425, 429].includes(status);
      if ([400, 413].includes(status) && items.length > 1) {
        // For what one of them is: each half may be fine.
        send(items.splice(0, items.length >> 1), leaving);
        send(items, leaving);
      } else if (!again) {
        if (failures === before) failures = 0;
      } else if (retrying && collecting()) {
        // What failed together counts as one failure.
        if (failures === before) failures++;
        rest(wait);
        waiting.unshift(...items);
      }
      save();
      return !again && queued && flush();
    }),
  );
  underWay.set(batch, answered);
}

/** Leaves the server alone for as long as it asks for, or longer with each failure. */
function rest(asked: number | undefined): void {
  restAsked = asked !== undefined;
  restUntil = Math.max(
    restUntil,
    Date.now() + (asked ?? backoff(amount("initialRetryDelay", 500), failures, amount("maxRetries", 3))),
  );
  sleep();
  wake(0);
}

/** Stores what is not answered yet, for the page may end before it is, or takes it out of the storage. */
function save(): void {
  const sure = failures < 1 && navigator.onLine;
  const unsure = [...underWay.keys()].flatMap(({ items, safe }) =>
    items.map((item) => ({ ...item, s: sure && safe > 0 })),
  );
  const items = [...unsure, ...waiting];
  let text: string;
  do text = JSON.stringify(items);
  while (text.length > maxStored && items.shift());
  lasting.set(storeKey, items.length > 0 && retrying && collecting() ? text : null);
}

/** Takes over what earlier pages could not send. One that is open still may send it too: it has the same ids. */
export function startQueue(): void {
  for (const key of lasting.keys(prefix)) {
    const items = readJSON(lasting, key);
    lasting.set(key, null);
    if (Array.isArray(items)) {
      for (const { k, t, e, s } of items as Item[]) {
        if (Date.now() - t < (s ? maxUnseen : maxAge)) waiting.push({ k, t, e });
      }
    }
  }
  if (waiting.length > 0) wake(batchTimeout);
  // Coming back to the network ends a rest, unless it was the server that asked for it.
  listen(window, "online", () => {
    if (!restAsked) restUntil = 0;
    void flush();
  });
}

/** Forgets all that waits, here and in the storage. */
export function drop(): void {
  waiting = [];
  for (const key of [storeKey, ...lasting.keys(prefix)]) lasting.set(key, null);
}
