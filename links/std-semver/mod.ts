/**
 * Local stand-in for `jsr:@std/semver`: the npm port of the same code. It is listed in
 * `publish.include`, because publishing refuses a package whose module graph is not whole;
 * the published code imports `jsr:@std/semver` itself.
 */
export * from "npm:std-semver@1.0.8";
