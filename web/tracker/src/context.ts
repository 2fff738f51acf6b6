// What every other module of one tag shares: its element and its options.
import { setDebug } from "./guard.ts";
import { fraction } from "./id.ts";
import { readOptions } from "./options.ts";
import { lasting } from "./storage.ts";

/** A script that is a module, or is put together by a loader, is not the current one. */
export const tag = (document.currentScript ?? document.querySelector("script[data-client-id]")) as HTMLScriptElement;

export const [flag, amount, list, text] = readOptions(tag);
setDebug(flag("debug"));

export const clientId = text("clientId");

/** Where events go, without a slash at its end: the origin of the script, unless the tag says otherwise. */
export const apiUrl = (text("apiUrl") || new URL(tag.src).origin).replace(/\/+$/, "");

/** The names under which the page finds the tracker, ours first. */
export const names = ["millrace", ...list("globals").filter((name) => /^(?!\d)[\w$]+$/.test(name))];

const optOutKeys = names.map((name) => name + "_opt_out");

/** Whether the visitor does not want to be counted. */
function optedOut(): boolean {
  return optOutKeys.some((key) => lasting.get(key) === "true");
}

export function setOptOut(out: boolean): void {
  for (const key of optOutKeys) lasting.set(key, out ? "true" : null);
}

/** Signals of browsers that TypeScript does not know. */
interface Signals {
  doNotTrack?: string | null;
  globalPrivacyControl?: boolean;
}

/** Whether the owner of the page, or a signal that the owner respects, wants nothing of this tag. */
export const disabled =
  flag("disabled") ||
  !clientId ||
  (flag("respectDnt") && (navigator as Signals).doNotTrack === "1") ||
  (flag("respectGpc") && (navigator as Signals).globalPrivacyControl);

const samplingRate = amount("samplingRate", 1);

/** Whether anything may be collected, stored and sent now. */
export function collecting(): boolean {
  return !disabled && !optedOut();
}

/** Whether a session is counted: as a whole or not at all, so that those that are counted are complete. */
export function isSampled(session: string): boolean {
  // The id that another tracker made may be no number: it is counted.
  return !(fraction(session) >= samplingRate);
}
