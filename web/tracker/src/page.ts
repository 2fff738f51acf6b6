// The page that the visitor looks at: when it comes, when it goes, and what happens
// in between. In an application of one document many pages follow each other.
import { clean, route } from "./address.ts";
import { newClock } from "./clock.ts";
import { collecting, flag, list } from "./context.ts";
import { collect, properties, setPage, type Page } from "./event.ts";
import { guard, listen } from "./guard.ts";
import { uuid } from "./id.ts";
import { matches } from "./pattern.ts";
import { flush, onSend, type Payload } from "./queue.ts";
import { loading, surroundings } from "./timing.ts";
import { campaign, sessionTimeout, touchSession, type Session } from "./visitor.ts";

/** Whoever does nothing for this long looks elsewhere, in milliseconds. */
const attention = 15000;

interface View {
  id: string;
  page: Page;
  session: Session;
  /** Stretches of visibility that were reported. */
  exits: number;
}

/** What the second file does at the end of a stretch of time on a page; without an exit, nothing is told of it. */
export type OnExit = (how: string, exit?: Payload) => void;

let onExit: OnExit | undefined;

export function setOnExit(fn: OnExit): void {
  onExit = fn;
}

let view: View | undefined;
let count = 0;
/** The event of the view, and that of the document's first. */
let event: Payload | undefined;
let first: Payload | undefined;
let interactions = 0;
let depth = 0;
let activeAt = 0;
const visible = newClock(sessionTimeout);
const active = newClock(attention);

/** Says that a page is looked at now; the one before it is left. */
export function enter(own?: unknown): void {
  if (!collecting()) return;
  complete();
  const referrer = view?.page.path ?? document.referrer;
  leave("spa");
  const now = Date.now();
  const page = { path: clean(location.href), skip: matches(list("skipPatterns"), location.pathname) };
  const session = touchSession(now);
  view = { id: uuid(), page, session, exits: 0 };
  setPage(page);
  look(now);
  interactions = depth = 0;
  measureDepth();
  // Besides pages there are apps: android-app: and ios-app:.
  event = collect("batch", {
    type: "track",
    name: "screen_view",
    sessionStartTime: session.start,
    referrer: /^http|-app:/.test(referrer) ? clean(referrer) : "direct",
    page_count: ++count,
    ...surroundings(),
    ...campaign(),
    properties: properties(own),
  });
  if (count < 2) first = event;
}

/** Fills in what is known late: applications set the title after the address, and loading ends after the script ran. */
function complete(): void {
  if (event) event.title = document.title;
  if (first) Object.assign(first, loading());
}

function look(now: number): void {
  activeAt = now;
  if (document.hidden) return;
  visible.poke(now);
  active.poke(now);
}

/**
 * Reports the stretch of time that ends now. A page that is hidden may never be seen
 * again, and nothing tells when it is closed then; so each stretch is reported when
 * it ends, with its own time, and those of a page add up. Only the first is told
 * when it is shorter than a second.
 */
export function leave(how: "spa" | "hidden" | "unload"): void {
  if (!view) return;
  const now = Date.now();
  const seen = visible.stop(now);
  const used = active.stop(now);
  // Whoever went away long ago left the page then.
  const at = Math.min(now, activeAt + sessionTimeout);
  const exit =
    view.exits > 0 && seen < 1000
      ? undefined
      : collect(
          "batch",
          {
            timestamp: at,
            eventId: `exit_${view.id}${++view.exits > 1 ? `_${view.exits}` : ""}`,
            type: "track",
            name: "page_exit",
            time_on_page: tenths(seen),
            scroll_depth: depth,
            interaction_count: interactions,
            page_count: count,
            properties: properties({ active_time: tenths(used) }),
          },
          view.page,
          view.session,
        );
  onExit?.(how, exit);
  interactions = 0;
}

/** Leaves the page for good: the next sign of life, if there is one, begins another view. */
export function end(how: "spa" | "unload"): void {
  leave(how);
  view = undefined;
}

/** Seconds, to the tenth. */
const tenths = (milliseconds: number): number => Math.round(milliseconds / 100) / 10;

/** The deepest part of the page that was seen, in percent. */
function measureDepth(): void {
  const seen = (scrollY + innerHeight) / document.documentElement.scrollHeight;
  depth = Math.max(depth, Math.min(100, Math.round(seen * 100)));
}

/**
 * Takes a sign of life. A visit begins with a view of the page: this one's, after
 * sessionTimeout without a sign, and one that an event of a timer has begun meanwhile.
 */
function alive(): void {
  if (!collecting()) return;
  const now = Date.now();
  if (touchSession(now).id !== view?.session.id) enter();
  look(now);
}

/** The page that is shown, without its query and with it. */
let shown = ["", ""];

function changed(withQuery: boolean): void {
  const was = shown;
  shown = [route(false), route(true)];
  if (was[+withQuery] !== shown[+withQuery]) enter();
}

/** Has changed called after an application has changed the address. */
function watch(name: "pushState" | "replaceState"): void {
  const original = history[name].bind(history);
  history[name] = (...given) => {
    original(...given);
    // What is replaced is mostly a query that is put in order: the same page.
    guard(changed)(name === "pushState");
  };
}

export function startPages(): void {
  onSend(complete);
  watch("pushState");
  watch("replaceState");
  listen(window, "popstate hashchange", () => {
    changed(true);
  });
  // After all other listeners, such as those of the second file, whose last values go along.
  listen(window, "visibilitychange", () => {
    if (document.hidden) {
      leave("hidden");
      void flush(true);
    } else alive();
  }, false);
  listen(window, "pagehide", () => {
    end("unload");
    void flush(true);
  }, false);
  // From the browser's cache: the same document, but looked at anew.
  listen(window, "pageshow", alive);
  listen(document, "pointerdown keydown", () => {
    if (flag("trackInteractions", true)) interactions++;
    alive();
  });
  // Pages scroll by themselves too: the wheel is a sign of life, and what else a visitor scrolls with.
  listen(document, "scroll", measureDepth);
  listen(document, "pointermove wheel", alive);
  changed(true);
}
