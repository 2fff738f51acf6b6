// The browser's storages as they are left when somebody blocks them, fills them or
// takes them away in the middle: what cannot be stored is remembered for this page.

export interface Store {
  get(key: string): string | null;
  /** Stores a text, or a number as one; null takes it out. */
  set(key: string, value: string | number | null): void;
  /** The keys with this beginning in the browser's storage. */
  keys(prefix: string): string[];
}

export function openStore(browser: () => Storage): Store {
  const memory: Record<string, string> = {};
  /** Asks the browser's storage, whose mere mention may throw. */
  function ask<T>(question: (storage: Storage) => T): T | null {
    try {
      return question(browser());
    } catch {
      return null;
    }
  }
  return {
    get: (key) => memory[key] ?? ask((s) => s.getItem(key)),
    set(key, value) {
      // eslint-disable-next-line @typescript-eslint/no-dynamic-delete -- a map of a few texts
      delete memory[key];
      const stored = ask((s) => {
        if (value === null) s.removeItem(key);
        else s.setItem(key, value as string);
        return true;
      });
      if (!stored && value !== null) memory[key] = value as string;
    },
    keys: (prefix) => Object.keys(ask((s) => s) ?? {}).filter((key) => key.startsWith(prefix)),
  };
}

/** For as long as the visitor does not clear it; shared by the tabs. */
export const lasting = openStore(() => localStorage);

/** For as long as the tab is open. */
export const tab = openStore(() => sessionStorage);

/** Reads a stored JSON value, of which anybody may have changed the text. */
export function readJSON(store: Store, key: string): unknown {
  try {
    return JSON.parse(String(store.get(key)));
  } catch {
    return null;
  }
}
