/** A glob that is ready for texts. */
export type Glob = (text: string) => boolean;

/**
 * Makes a function that matches a text as a whole; `*` stands for any characters, all others for themselves.
 *
 * It takes a time linear in text and glob: an expression with several `.*` would try all ways to divide the
 * text between them.
 */
export function globOf(glob: string): Glob {
  const [first = "", ...others] = glob.split("*");
  const last = others.pop();
  if (last === undefined) return (text) => text === glob;
  const between = others.filter((part) => part !== "");
  return (text) => {
    if (!text.startsWith(first) || !text.endsWith(last)) return false;
    // The first place of each part leaves the most for those behind it.
    let from = first.length;
    for (const part of between) {
      const at = text.indexOf(part, from);
      if (at < 0) return false;
      from = at + part.length;
    }
    return from + last.length <= text.length;
  };
}
