// Makes events: the fields that all of them have, and those of the page's own.
import { collecting, isSampled, text } from "./context.ts";
import { uuid } from "./id.ts";
import { add, type Kind, type Payload } from "./queue.ts";
import { anonymousId, profileId, touchSession, type Session } from "./visitor.ts";

/** Where an event happens. */
export interface Page {
  /** Its address, as it is sent. */
  path: string;
  /** The owner wants nothing of it. */
  skip?: boolean;
}

/** How many characters of a text are sent at most. */
export const maxText = 2048;

let globals: Payload = {};
/** The page that is shown now. */
export let current: Page = { path: "" };

/** Adds to the properties of every event from now on. */
export function setGlobalProperties(properties: unknown): void {
  globals = { ...globals, ...copy(properties) };
}

export function clearGlobalProperties(): void {
  globals = {};
}

/** The properties of an event: the page's own and the global ones. */
export function properties(own?: unknown): Payload {
  return { ...globals, ...copy(own) };
}

/** A copy that later changes of the page's object do not reach; of anything but an object an empty one. */
export function copy(value: unknown): Payload {
  return typeof value === "object" ? (JSON.parse(JSON.stringify(value)) as Payload) : {};
}

export function setPage(page: Page): void {
  current = page;
}

/**
 * Sends an event and returns it; nothing is sent, and nothing stored, when nothing may
 * be collected. Without a page and a session it happens on the current page, now.
 */
export function collect(kind: Kind, fields: Payload, page = current, session?: Session): Payload | undefined {
  if (!collecting() || page.skip) return undefined;
  const { id } = session ?? touchSession();
  if (!isSampled(id)) return undefined;
  const mode = text("anonymizeVisitorIds");
  const event = {
    eventId: uuid(),
    timestamp: Date.now(),
    path: page.path,
    anonymousId: anonymousId(),
    sessionId: id,
    // What is undefined is not sent.
    profileId: profileId() ?? undefined,
    anonymizeVisitorIds: mode ? (mode === "auto" ? mode : mode !== "false") : undefined,
    ...fields,
  };
  add(kind, event);
  return event;
}
