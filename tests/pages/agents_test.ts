/**
 * What docs/agent-builders.md and docs/getting-started.md show, run as it is written.
 *
 * @module
 */
import { AGENTS } from "./scenes/agents.ts";
import { play } from "./support/scene.ts";

play(AGENTS);
