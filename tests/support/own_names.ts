import type { SmcpServerOptions } from "../../server/mod.ts";

/** A Server whose clients may use only the names of `rawPair`, and a hidden one. */
export const ownNamesAlone = (): SmcpServerOptions => ({
  authenticator: {
    authenticate: () => ({
      principal: "anybody",
      policy: { names: ["agent", "computer", "hidden"] },
    }),
  },
});
