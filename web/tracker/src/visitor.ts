// Who is here: a random id of the browser, one of the visit, and what the page says
// about who signed in. All of it is what the owner of the page may see; nothing is
// derived from the machine.
import { amount } from "./context.ts";
import { isID, uuid } from "./id.ts";
import { lasting, readJSON, tab } from "./storage.ts";

/** After how long without a sign of life a session is over, in milliseconds. */
export const sessionTimeout = (amount("sessionTimeoutMinutes", 0) || 30) * 60000;

// The names are those of other trackers of this wire format, so that a visitor
// stays the same when a page changes from one to the other.
const anonymousKey = "did";
const profileKey = "did_profile";
const sessionKey = "did_session";
const startKey = "did_session_start";
const lastKey = "did_session_timestamp";
const campaignKey = "did_params";

/** Parameters that say which campaign or click brought the visitor. */
const campaignParameters = /^utm_|clk?id$|^li_fat_id$/;

/** Parameters by which another site of the same owner hands its visitor over. */
export const handoverParameters = ["anonId", "sessionId"] as const;

export interface Session {
  id: string;
  /** When it began, in Unix milliseconds. */
  start: number;
}

export function anonymousId(): string {
  let id = lasting.get(anonymousKey);
  if (!id) lasting.set(anonymousKey, (id = "anon_" + uuid()));
  return id;
}

/**
 * The current session, which goes on for another sessionTimeout from now. It is read from
 * the storage each time: a page that comes back from the browser's cache must not
 * go on with the session it remembers.
 */
export function touchSession(now = Date.now()): Session {
  let id = tab.get(sessionKey);
  const idle = now - +(tab.get(lastKey) ?? NaN);
  if (!id || idle > sessionTimeout) {
    if (id) tab.set(campaignKey, null);
    beginSession((id = "sess_" + uuid()), now);
  }
  // The storage need not be written for every step of a pointer.
  if (!(idle < 1000)) tab.set(lastKey, now);
  return { id, start: +(tab.get(startKey) ?? now) };
}

function beginSession(id: string, now: number): void {
  tab.set(sessionKey, id);
  tab.set(startKey, now);
  tab.set(lastKey, now);
}

/**
 * Reads what the address of the page says: the ids of a visitor who comes from
 * another site of the owner, and the campaign, which is kept for the session.
 */
export function readAddress(): void {
  const parameters = new URLSearchParams(location.search);
  const [anonymous, session] = handoverParameters.map((name) => parameters.get(name) ?? "") as [string, string];
  if (isID("anon", anonymous)) lasting.set(anonymousKey, anonymous);
  if (isID("sess", session) && session !== tab.get(sessionKey)) beginSession(session, Date.now());
  const found = [...parameters].filter(([name, value]) => value && campaignParameters.test(name));
  if (found[0]) {
    touchSession(); // one that is over would take the campaign with it
    tab.set(campaignKey, JSON.stringify(Object.fromEntries(found.map(([name, value]) => [name, value.slice(0, 512)]))));
  }
}

/** The campaign of the session, by parameter. */
export function campaign(): object | null {
  return readJSON(tab, campaignKey) as object | null;
}

export function profileId(): string | null {
  return lasting.get(profileKey);
}

/** Remembers who signed in; null forgets it. */
export function setProfile(id: string | null): void {
  lasting.set(profileKey, id);
}

/** Forgets the ids of the browser and of the visit, and the campaign. */
export function forgetVisitor(): void {
  lasting.set(anonymousKey, null);
  for (const key of [sessionKey, startKey, lastKey, campaignKey]) tab.set(key, null);
}
