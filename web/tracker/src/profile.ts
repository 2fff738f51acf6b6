// What the page says about the visitor who signed in.
import { clientId, collecting } from "./context.ts";
import { collect, copy } from "./event.ts";
import { profileId, setProfile } from "./visitor.ts";

let told = "";

/** Ties the visitor to the page's own id; nothing is sent when that was said already. */
export function identify(id: unknown, traits?: unknown): void {
  const profile = typeof id === "number" ? String(id) : id;
  if (typeof profile !== "string" || !profile || !collecting()) return;
  setProfile(profile);
  const said = { profileId: profile, websiteId: clientId, traits: traits === undefined ? traits : copy(traits) };
  const text = JSON.stringify(said);
  if (text === told) return;
  if (collect("identify", said)) told = text;
}

/** Changes traits of the visitor whom identify named; of nobody else. */
export function setTraits(traits: unknown): void {
  identify(profileId(), traits);
}

export function clearProfile(): void {
  told = "";
  setProfile(null);
}
