/**
 * Writes the two npm tarballs into the current folder: the library, and its commands.
 *
 * @module
 */
import { npmPackages } from "./npm_package.ts";

console.log(Object.values(await npmPackages(Deno.cwd())).join("\n"));
