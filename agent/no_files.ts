/**
 * Where there are no files: what bundles for browsers and Workers have in place of `files.ts`
 * (tools/npm/npm_package.ts).
 *
 * @module
 */
/** @throws {TypeError} */
export function getFile(): Promise<never> {
  return Promise.reject(
    new TypeError(
      "Cannot write to a path here; read the resource with readResource",
    ),
  );
}

/** @throws {TypeError} */
export function openPath(): Promise<never> {
  return Promise.reject(
    new TypeError("Cannot open a path here; give the file as a Blob"),
  );
}
