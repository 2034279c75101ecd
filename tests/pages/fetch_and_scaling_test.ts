/**
 * What docs/edge.md and docs/scaling.md show, run as it is written.
 *
 * @module
 */
import { FETCH_AND_SCALING } from "./scenes/fetch_and_scaling.ts";
import { play } from "./support/scene.ts";

play(FETCH_AND_SCALING);
