import { createHash } from "node:crypto";
import type { Script } from "./redis.ts";

/** Makes a script of its text. */
export const newScript = (source: string): Script => ({
  source,
  sha: createHash("sha1").update(source).digest("hex"),
});
