import { assertEquals } from "@std/assert";
import {
  isTextType,
  mediaTypeOf,
} from "../../../../computer/skills/files/media_types.ts";

const UNKNOWN = "application/octet-stream";

Deno.test("0.4 §6.7: types by extension are those of every SDK", () => {
  const table: Record<string, string> = {
    "SKILL.md": "text/markdown",
    "a/b.MARKDOWN": "text/markdown",
    "a.txt": "text/plain",
    "a.json": "application/json",
    "a.xml": "application/xml",
    "a.yaml": "application/yaml",
    "a.yml": "application/yaml",
    "a.toml": "application/toml",
    "a.rst": "text/x-rst",
    "a.png": "image/png",
    "a.jpg": "image/jpeg",
    "a.jpeg": "image/jpeg",
    "a.gif": "image/gif",
    "a.webp": "image/webp",
    "a.bmp": "image/bmp",
    "a.ico": "image/vnd.microsoft.icon",
    "a.svg": "image/svg+xml",
    "a.pdf": "application/pdf",
    "a.zip": "application/zip",
    "a.tar.gz": "application/gzip",
    "a.tar": "application/x-tar",
    "a.wasm": "application/wasm",
    "a.woff": "font/woff",
    "a.woff2": "font/woff2",
    "a.ttf": "font/ttf",
    "a.otf": "font/otf",
    "a.mp3": "audio/mpeg",
    "a.wav": "audio/wav",
    "a.mp4": "video/mp4",
    "a.webm": "video/webm",
    "..md": "text/markdown",
    ".md": UNKNOWN,
    "x/.md": UNKNOWN,
    "a.": UNKNOWN,
    "md": UNKNOWN,
    "a.md/b": UNKNOWN,
    "run.sh": UNKNOWN,
    "a.py": UNKNOWN,
    "a.js": UNKNOWN,
    "a.html": UNKNOWN,
  };
  for (const [name, type] of Object.entries(table)) {
    assertEquals(mediaTypeOf(name), type, name);
  }
});

Deno.test("0.4 §6.7: which types are text", () => {
  for (
    const type of [
      "text/markdown",
      "TEXT/PLAIN; charset=utf-8",
      "image/svg+xml",
      "application/ld+json",
      "application/openapi+yaml; v=3",
      "application/json",
      "application/xml",
      "application/yaml",
      "application/x-yaml",
      "application/toml",
      "application/javascript",
    ]
  ) assertEquals(isTextType(type), true, type);
  for (
    const type of [
      "image/png",
      UNKNOWN,
      "application/pdf",
      "",
      "application/jsonx",
    ]
  ) assertEquals(isTextType(type), false, type);
});
