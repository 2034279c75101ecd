/** Parts of the page by their names. */
export const APPROVE_PARTS: Readonly<Record<string, string>> = {
  "approve.js": "",
  "approve.css": "",
  "sw.js": "",
  "icon.svg": "",
};
