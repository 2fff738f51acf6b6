// What a page can call, under each of the tracker's names.
import { clientId, collecting, names, setOptOut } from "./context.ts";
import { custom } from "./custom.ts";
import { clearGlobalProperties, setGlobalProperties } from "./event.ts";
import { guard } from "./guard.ts";
import { end, enter } from "./page.ts";
import { clearProfile, identify, setTraits } from "./profile.ts";
import { drop, flush } from "./queue.ts";
import { anonymousId, forgetVisitor, profileId, touchSession } from "./visitor.ts";

type Method = (...given: unknown[]) => unknown;

/** Forgets who is here: whoever comes next on this machine is somebody else. */
function clear(): void {
  end("spa");
  clearProfile();
  clearGlobalProperties();
  forgetVisitor();
}

const methods: Record<string, Method> = {
  track: custom,
  screenView: enter,
  identify,
  setTraits,
  clearProfile,
  getProfileId: profileId,
  getTrackingIds: () => (collecting() ? { anonId: anonymousId(), sessionId: touchSession().id } : null),
  setGlobalProperties,
  clear,
  flush: () => flush(),
  optOut() {
    setOptOut(true);
    drop();
    clear();
  },
  optIn() {
    setOptOut(false);
    enter();
  },
};

/** A call from before the tracker was there: a method's name and what it is given. */
type Call = [string, ...unknown[]];

interface Global {
  clientId?: string;
  /** An array as long as there is no tracker; it is of the page's making, so perhaps something else. */
  q?: { forEach?: Call[]["forEach"] };
}

const globals = window as unknown as Record<string, Global | undefined>;

/** Whether another tag of this page counts for the same website already; if not, this one does from now on. */
export function isTaken(): boolean {
  const mark = "millrace " + clientId;
  const taken = mark in globals;
  globals[mark] = {};
  return taken;
}

/** Puts the tracker under its names, unless a tag for another website has them, and makes the calls that came early. */
export function install(): void {
  const call = guard(([method, ...given]: Call) => methods[method]?.(...given));
  const api: Record<string, unknown> = { clientId, q: { push: call } };
  for (const [name, method] of Object.entries(methods)) api[name] = guard(method);
  for (const name of names) {
    const { clientId: taken, q: early } = globals[name] ?? {};
    if (taken) continue;
    globals[name] = api;
    early?.forEach?.(call);
  }
}
