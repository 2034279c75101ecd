/**
 * Local substitute for `jsr:@std/semver`: the npm port of the same code. It is listed in
 * `publish.include`, because publishing refuses a package with an incomplete module graph;
 * the published code imports `jsr:@std/semver` itself.
 *
 * The import map names it `std-semver`, as npm does: `deno pack` keeps names of the import
 * map as they are (denoland/deno#36017), and npm has no package `@std/semver`.
 */
export * from "npm:std-semver@1.0.8";
