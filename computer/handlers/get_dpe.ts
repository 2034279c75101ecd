import {
  ErrorCode,
  type GET_DPE_EVENT,
  parseDpeUri,
  ProtocolError,
} from "../../protocol/mod.ts";
import type { Handler } from "./handler.ts";

/** Checks the URI, then refuses: no resolver is registered (spec §8.3). */
export const getDpe: Handler<typeof GET_DPE_EVENT> = ({ uri }) => {
  parseDpeUri(uri);
  throw new ProtocolError(
    ErrorCode.DPE_RESOLVER_NOT_CONFIGURED,
    "This Computer has no DPE resolver",
    { fields: { uri } },
  );
};
