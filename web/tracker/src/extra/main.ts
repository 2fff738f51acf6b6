// The second file: what is measured on pages whose owner asks for it.
import type { ExtraScript } from "../extra.ts";
import { startEngagement } from "./engagement.ts";
import { startVitals } from "./vitals.ts";

const core = document.currentScript as ExtraScript;

if (core.flag("trackWebVitals")) startVitals(core);
if (core.flag("trackEngagement")) startEngagement(core);
