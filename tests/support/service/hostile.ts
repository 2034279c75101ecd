import fc from "fast-check";

/** Texts that formats of services could take apart. */
export const HOSTILE: readonly string[] = [
  "with space",
  "%h %% $HOME $$ ${HOME} `id` $(id)",
  `"double" 'single' \\ back\\`,
  "; | & < > ]]> <!-- -->",
  "",
  " ends with a space ",
  "Grüße 世界 \u{1f600} \u202e",
  "#comment",
  "-@:+!",
  "a=b",
  "\u2028line\u2029paragraph",
];

/** Control characters, which only some places can hold. */
export const CONTROLS = "\t\n\r\x01\x07\x1b\x7f\x85";

/** Any text that systemd takes for UTF-8. */
export const anyText = (): fc.Arbitrary<string> =>
  fc.string({ unit: "binary", maxLength: 20 })
    .map((text) => text.replaceAll(/[\0\p{NChar}]/gu, ""));

/** Any text that a line can hold as it is. */
export const anyLine = (): fc.Arbitrary<string> =>
  anyText().map((text) => text.replaceAll(/\p{Cc}/gu, ""));
