/**
 * How texts of others are shown to people: the one table of characters that are shown by their names,
 * for terminals and pages alike.
 *
 * What cannot be seen, moves what is around it, or passes for something else is replaced by a notation
 * such as `⟨U+202E⟩`, `⟨240 spaces⟩` or `⟨а U+0430⟩`. What people write stays as it is: pointed Hebrew
 * and Hindi have three marks and more above a letter, Persian and Malayalam need joiners that are
 * invisible elsewhere, and emoji are sequences. Each function passes the text once, from its beginning
 * to its end.
 *
 * @module
 */

/** Scripts whose letters look like those of another one: a word has letters of one of them. */
const ALPHABETS =
  "Latin Cyrillic Greek Coptic Armenian Georgian Cherokee Lisu Deseret Osage Canadian_Aboriginal"
    .split(" ").map((name) => new RegExp(`\\p{Script=${name}}`, "u"));

/** Scripts whose letters have three marks and more in correct texts, as a letter with its marks. */
const STACKING = new RegExp(
  `^(?:${
    "Arabic Bengali Devanagari Gujarati Gurmukhi Hebrew Kannada Khmer Lao Malayalam Myanmar Oriya Sinhala Syriac Tamil Telugu Thaana Thai Tibetan"
      .split(" ").map((name) => `\\p{scx=${name}}+`).join("|")
  })$`,
  "u",
);
/** Three of any script are a tower. */
const MIN_TOWER = 3;
/** No correct text has more marks on one letter. */
const MAX_STACK = 5;

/** What joins or separates letters of Arabic, and of Indic scripts beside a virama; invisible elsewhere. */
const JOINER = /[\u200c\u200d]/;
const ARABIC_JOINED = /^\p{scx=Arabic}\p{M}*[\u200c\u200d]$/u;
const ARABIC_LETTER = /^\p{scx=Arabic}/u;
const VIRAMA =
  "[\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d4d\u0dca\u1039\u103a\u17d2]";
const INDIC_JOINED = new RegExp(
  `^\\p{L}\\p{M}*(?:${VIRAMA}[\\u200c\\u200d]|[\\u200c\\u200d]${VIRAMA})\\p{M}*$`,
  "u",
);

/** One picture of an emoji sequence. */
const PICTURE =
  "(?:\\p{Emoji_Modifier_Base}\\p{Emoji_Modifier}\\ufe0f?|(?![#*0-9])\\p{Emoji}[\\ufe0e\\ufe0f]?)";
/** What begins with a digit or a letter and is none: keycaps, and the sign for information. */
const KEYCAP = "[#*0-9]\\ufe0f\\u20e3|\\u2139[\\ufe0e\\ufe0f]";
/** The flags of England, Scotland and Wales, the only ones that are made of tags. */
const TAGGED =
  "\\u{1f3f4}\\u{e0067}\\u{e0062}(?:\\u{e0065}\\u{e006e}\\u{e0067}|\\u{e0073}\\u{e0063}\\u{e0074}|\\u{e0077}\\u{e006c}\\u{e0073})\\u{e007f}";
/** A letter, and what stands on it; more is not part of it. */
const LETTER =
  "(?!\\p{DI})[\\p{L}\\p{N}_](?:(?!\\p{DI})\\p{M}|[\\u200c\\u200d]){0,8}";
/** What is shown by its name where it stands alone, and what quotes must escape. */
const SINGLE =
  '(?! )[\\p{C}\\p{Z}\\p{DI}\\p{M}\\u2800]|["\\\\⟨⟩\\u2329\\u232a]';
/** An escape of quotes: its letter does not belong to a word that follows. */
const ESCAPE = "\\\\[nrt]";
/** Words are looked at in parts, so that none is too long for the engine. */
const TOKEN = new RegExp(
  `(?<escape>${ESCAPE})|(?<emoji>${KEYCAP}|${TAGGED})|(?<word>(?:${LETTER}){1,256})|(?<run> {8}|\\n{4})` +
    `|(?<single>${SINGLE})|${PICTURE}(?:\\u200d${PICTURE}){0,3}`,
  "gu",
);
const LETTERS = new RegExp(LETTER, "gu");
/** Most texts are of these alone. */
const UNUSUAL = /[^ -~]|["\\]/;
const MANY_SPACES = " ".repeat(8);
/** What only quotes and notations give a meaning. */
const SIGNS = '"\\⟨⟩\u2329\u232a';

/** How the characters that are not simply shown are written. */
interface Spelling {
  /** Writes a character otherwise than by its name; `undefined` for its name. */
  readonly of: (character: string) => string | undefined;
  /** Whether many spaces and line breaks are shown by their number. */
  readonly countsRuns: boolean;
  /** What follows the number of line breaks. */
  readonly afterBreaks: string;
}

/**
 * Shows by name what is invisible, acts on a terminal, reorders a text or passes for something else.
 *
 * Applied again it changes nothing, so it also suits lines that are made of several texts. Where a text
 * of others must not be taken for words of ours, {@linkcode quoted} shows more.
 *
 * @param kept characters that stay, such as `"\n"`
 */
export const plainText = (text: string, kept = ""): string =>
  spell(text, {
    of: (c) => SIGNS.includes(c) || kept.includes(c) ? c : undefined,
    countsRuns: false,
    afterBreaks: "",
  });

const ESCAPES: ReadonlyMap<string, string> = new Map([
  ['"', '\\"'],
  ["\\", "\\\\"],
  ["\t", "\\t"],
  ["\r", "\\r"],
]);

/**
 * Quotes one text of others: as {@linkcode plainText}, with eight spaces and more and four line breaks
 * and more by their number.
 *
 * Quotes, backslashes, tabs and line breaks are escaped as in JSON, so that nothing ends the quotes; the
 * brackets of notations are shown by their names, so that no text has one that is not true.
 *
 * @param breaks whether a line ends after each line break, for texts of several lines
 */
export const quoted = (text: string, breaks = false): string => {
  const end = breaks ? "\n" : "";
  const inner = spell(text, {
    of: (c) => c === "\n" ? `\\n${end}` : ESCAPES.get(c),
    countsRuns: true,
    afterBreaks: end,
  });
  return `"${inner}"`;
};

/**
 * Shows one text of others in a frame of its own, where lines stay lines: as {@linkcode quoted}, without
 * the quotes and escapes; a tab is an arrow.
 */
export const framedText = (text: string): string =>
  spell(text, {
    of: (c) => c === "\t" ? "⇥" : '\n"\\'.includes(c) ? c : undefined,
    countsRuns: true,
    afterBreaks: "\n",
  });

/** A name that stands in a sentence of ours: as it is if it can only be a name, otherwise in quotes. */
export const nameText = (name: string): string =>
  BARE_NAME.test(name) && plainText(name) === name ? name : quoted(name);

const BARE_NAME = /^[\p{L}\p{N}_$][\p{L}\p{M}\p{N}_$.:@/-]{0,255}(?<!:)$/u;

function spell(
  text: string,
  { of, countsRuns, afterBreaks }: Spelling,
): string {
  if (!UNUSUAL.test(text) && !(countsRuns && text.includes(MANY_SPACES))) {
    return text;
  }
  const out = new Spelled();
  let at = 0;
  for (const { groups = {}, 0: token, index } of text.matchAll(TOKEN)) {
    if (index < at) continue; // it belongs to a run
    out.keep(text.slice(at, index));
    at = index + token.length;
    const { escape, word, run, single } = groups;
    if (word !== undefined) spellWord(word, text.slice(at, at + 2), out);
    else if (escape) out.keep(`${of("\\")}${escape.slice(1)}`);
    else if (run !== undefined && countsRuns) {
      const [character = ""] = run;
      at = endOfRun(text, character, at);
      const what = character === " " ? "spaces" : "line breaks";
      out.note(`${at - index} ${what}`, character === " " ? "" : afterBreaks);
    } else if (run ?? single) {
      for (const character of token) {
        const spelled = character === " " ? character : of(character);
        if (spelled === undefined) out.name(character);
        else out.keep(spelled);
      }
    } else out.keep(token);
  }
  out.keep(text.slice(at));
  return out.text;
}

/** Returns where a run of a character ends. */
function endOfRun(text: string, character: string, from: number): number {
  let at = from;
  while (text[at] === character) at++;
  return at;
}

/** Writes a word; @param next what follows it */
function spellWord(token: string, next: string, out: Spelled): void {
  if (!UNUSUAL.test(token)) return out.keep(token);
  const isForeign = foreignIn(token);
  if (!isForeign && !STANDING.test(token)) return out.keep(token);
  const letters = token.match(LETTERS) ?? [];
  for (const [i, letter] of letters.entries()) {
    const base = String.fromCodePoint(letter.codePointAt(0) ?? 0);
    const on = letter.slice(base.length);
    if (isForeign?.(base)) out.note(`${base} ${codeOf(base)}`);
    else out.keep(base);
    if (on === "" || isSound(letter, on, letters[i + 1] ?? next)) out.keep(on);
    else for (const each of on) out.name(each);
  }
}

/** What stands on a letter. */
const STANDING = /[\p{M}\u200c\u200d]/u;

/** Whether the marks and joiners on a letter are as correct texts have them. */
function isSound(letter: string, on: string, next: string): boolean {
  const marks = [...on];
  if (JOINER.test(on)) {
    return marks.filter((mark) => JOINER.test(mark)).length === 1 &&
      marks.length <= MAX_STACK &&
      (INDIC_JOINED.test(letter) ||
        ARABIC_JOINED.test(letter) && ARABIC_LETTER.test(next));
  }
  return marks.length < MIN_TOWER ||
    marks.length <= MAX_STACK && new Set(marks).size === marks.length &&
      STACKING.test(letter);
}

/** Finds the letters of a word that are not of its main alphabet; `undefined` for a word of one alphabet. */
function foreignIn(token: string): ((letter: string) => boolean) | undefined {
  const found = ALPHABETS.filter((alphabet) => alphabet.test(token));
  if (found.length < 2) return undefined;
  const counts = found.map((alphabet) =>
    [...token].filter((letter) => alphabet.test(letter)).length
  );
  const main = counts.indexOf(Math.max(...counts));
  return (letter) =>
    found.some((alphabet, i) => i !== main && alphabet.test(letter));
}

const codeOf = (character: string): string => {
  const hex = (character.codePointAt(0) ?? 0).toString(16).toUpperCase();
  return `U+${hex.padStart(4, "0")}`;
};

/** A text that is written from its beginning to its end; the same character again is counted. */
class Spelled {
  #text = "";
  #named = "";
  #count = 0;

  /** All of it. */
  get text(): string {
    this.#flush();
    return this.#text;
  }

  /** Adds a text as it is. */
  keep(text: string): void {
    if (text === "") return;
    this.#flush();
    this.#text += text;
  }

  /** Adds a notation. */
  note(name: string, after = ""): void {
    this.keep(`⟨${name}⟩${after}`);
  }

  /** Adds a character by its name. */
  name(character: string): void {
    if (character !== this.#named) this.#flush();
    this.#named = character;
    this.#count++;
  }

  #flush(): void {
    if (this.#count === 0) return;
    const times = this.#count === 1 ? "" : `${this.#count} × `;
    this.#text += `⟨${times}${codeOf(this.#named)}⟩`;
    this.#named = "";
    this.#count = 0;
  }
}
