import type { GET_CONFIG_EVENT } from "../../../protocol/mod.ts";
import { redactConfig } from "../../config/redact.ts";
import type { Handler } from "./handler.ts";

/** Shows the configuration without secrets (spec §7). */
export const getConfig: Handler<typeof GET_CONFIG_EVENT> = (
  _request,
  { host, inputs },
) => redactConfig(host.configs, inputs);
