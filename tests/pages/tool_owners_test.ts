/**
 * What docs/tool-owners.md and docs/configuration.md show, and docs/approvals.md for owners, run as it is
 * written.
 *
 * @module
 */
import { TOOL_OWNERS } from "./scenes/tool_owners.ts";
import { play } from "./support/scene.ts";

play(TOOL_OWNERS);
