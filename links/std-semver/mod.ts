/** Local stand-in for `jsr:@std/semver`: the npm port of the same code. */
export * from "npm:std-semver@1.0.8";
