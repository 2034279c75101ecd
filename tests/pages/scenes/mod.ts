import type { Scene } from "../support/scene.ts";
import { AGENTS } from "./agents.ts";
import { FETCH_AND_SCALING } from "./fetch_and_scaling.ts";
import { FIRST_HOUR } from "./first_hour.ts";
import { MCP_CLIENTS } from "./mcp_clients.ts";
import { OPERATORS } from "./operators.ts";
import { TOOL_OWNERS } from "./tool_owners.ts";

/** All scenes. */
export const SCENES: readonly Scene[] = [
  ...AGENTS,
  ...FETCH_AND_SCALING,
  ...FIRST_HOUR,
  ...MCP_CLIENTS,
  ...OPERATORS,
  ...TOOL_OWNERS,
];
