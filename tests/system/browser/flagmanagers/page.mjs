// Lets a test use the manager for browsers, and look at what came of it. The package exports it
// inside of components only.
import { a as BrowserFlagsManager } from "/modules/@databuddy/sdk/dist/shared/@databuddy/sdk.Ci_W8Zb8.mjs";
import { B as BrowserFlagStorage } from "/modules/@databuddy/sdk/dist/shared/@databuddy/sdk.Dv3zyEVB.mjs";

const seen = [];
const plain = globalThis.fetch;
globalThis.fetch = async (...what) => {
  const response = await plain(...what);
  seen.push(response.status);
  return response;
};

let manager;
globalThis.flags = {
  seen,
  start(config) {
    manager = new BrowserFlagsManager({ config, storage: new BrowserFlagStorage() });
  },
  be: (user) => manager.updateUser(user),
  // Whether a flag is kept for a user: what is kept is named by the flag and for whom.
  keeps: (key, userId) =>
    Object.keys(new BrowserFlagStorage().getAll()).some((k) => k.startsWith(`${key}:`) && k.includes(`userId=${userId}`)),
  async text(key) {
    const { enabled, value, variant, reason } = await manager.getFlag(key);
    return `${enabled} ${JSON.stringify(value)} ${variant} ${reason}`;
  },
};
