import type { SmcpServerOptions } from "../../server/mod.ts";

/** A Server whose clients may use the names of `rawPair` alone, and one that is hidden. */
export const ownNamesAlone = (): SmcpServerOptions => ({
  authenticator: {
    authenticate: () => ({
      principal: "anybody",
      policy: { names: ["agent", "computer", "hidden"] },
    }),
  },
});
