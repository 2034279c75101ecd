/** Types by extension; those of the other SDKs, so that a file has the same type everywhere (0.4 §6.7). */
const TYPES: ReadonlyMap<string, string> = new Map([
  [".md", "text/markdown"],
  [".markdown", "text/markdown"],
  [".txt", "text/plain"],
  [".json", "application/json"],
  [".xml", "application/xml"],
  [".yaml", "application/yaml"],
  [".yml", "application/yaml"],
  [".toml", "application/toml"],
  [".rst", "text/x-rst"],
  [".png", "image/png"],
  [".jpg", "image/jpeg"],
  [".jpeg", "image/jpeg"],
  [".gif", "image/gif"],
  [".webp", "image/webp"],
  [".bmp", "image/bmp"],
  [".ico", "image/vnd.microsoft.icon"],
  [".svg", "image/svg+xml"],
  [".pdf", "application/pdf"],
  [".zip", "application/zip"],
  [".gz", "application/gzip"],
  [".tar", "application/x-tar"],
  [".wasm", "application/wasm"],
  [".woff", "font/woff"],
  [".woff2", "font/woff2"],
  [".ttf", "font/ttf"],
  [".otf", "font/otf"],
  [".mp3", "audio/mpeg"],
  [".wav", "audio/wav"],
  [".mp4", "video/mp4"],
  [".webm", "video/webm"],
]);

const UNKNOWN_TYPE = "application/octet-stream";

const TEXT_TYPES: ReadonlySet<string> = new Set([
  "application/json",
  "application/xml",
  "application/yaml",
  "application/x-yaml",
  "application/toml",
  "application/javascript",
]);

/** Returns the type of a file by its name alone; the operating system is never asked. */
export function mediaTypeOf(fileName: string): string {
  // As in the other SDKs, the dot of a file `.md` begins no extension.
  const extension = /[^/](\.[^/.]+)$/.exec(fileName)?.[1];
  return TYPES.get(extension?.toLowerCase() ?? "") ?? UNKNOWN_TYPE;
}

/** Tells whether a type is one of text; parameters are ignored. */
export function isTextType(type: string): boolean {
  const essence = type.split(";", 1)[0]?.trim().toLowerCase() ?? "";
  return essence.startsWith("text/") || /\+(json|xml|yaml)$/.test(essence) ||
    TEXT_TYPES.has(essence);
}
