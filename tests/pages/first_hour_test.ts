/**
 * What fetches packages on the pages, run as it is written, with empty caches.
 *
 * @module
 */
import { FIRST_HOUR } from "./scenes/first_hour.ts";
import { play } from "./support/scene.ts";

play(FIRST_HOUR);
