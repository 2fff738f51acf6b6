// Lets a test use the provider for browsers, and look at what came of it.
import { OpenFeature, ProviderEvents } from "@openfeature/web-sdk";
import { OFREPWebProvider } from "@openfeature/ofrep-web-provider";

const seen = { statuses: [], events: [] };
const plain = globalThis.fetch;
globalThis.fetch = async (...what) => {
  const answer = await plain(...what);
  seen.statuses.push(answer.status);
  return answer;
};

globalThis.openfeature = {
  seen,
  async start(options, context) {
    for (const type of [ProviderEvents.ConfigurationChanged, ProviderEvents.Stale, ProviderEvents.Error]) {
      OpenFeature.addHandler(type, (event) => seen.events.push(`${type} ${event?.message ?? ""}`));
    }
    await OpenFeature.setContext(context);
    await OpenFeature.setProviderAndWait(new OFREPWebProvider(options));
  },
  be: (context) => OpenFeature.setContext(context),
  text(key) {
    const { value, reason, errorCode } = OpenFeature.getClient().getStringDetails(key, "none");
    return `${value} ${errorCode ?? reason}`;
  },
};
