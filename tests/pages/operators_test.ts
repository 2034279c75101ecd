/**
 * What docs/operators.md and docs/console.md show, run as it is written.
 *
 * @module
 */
import { OPERATORS } from "./scenes/operators.ts";
import { play } from "./support/scene.ts";

play(OPERATORS);
