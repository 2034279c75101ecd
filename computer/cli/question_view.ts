/**
 * What of a question is on a terminal, as a function of the question, the size and what the person has
 * opened; and whether all of it was there, before which no yes counts.
 *
 * A question that fits is shown whole. Of another one long texts are cut at first, each to its beginning,
 * its length and its end; opened, all of it is passed page by page. Where a page begins is a place in the
 * texts, so that it stays when the terminal gets another size, and only what is shown is laid out.
 *
 * Each line begins with words of ours, with a name, or with a mark where a text of others goes on.
 *
 * @module
 */
import { filledAt, shorten, textWidth } from "../../cli/terminal_text.ts";
import { cutText, type Fact } from "./facts.ts";
import type { QuestionText } from "./question_text.ts";
import type { Size } from "./screen.ts";

/** A place in the texts of a question: a fact, and a unit of its line. */
interface Place {
  readonly fact: number;
  readonly unit: number;
}

/** How much of a question a person has opened, and seen. */
export interface Reading {
  /** Whether long texts are whole. */
  readonly isOpen: boolean;
  /** Where the pages so far begin, the current one last; none before the question is opened. */
  readonly tops: readonly Place[];
  /** Whether all of the question was shown. */
  readonly isAllShown: boolean;
}

/** How a question begins. */
export const UNREAD: Reading = { isOpen: false, tops: [], isAllShown: false };

/** The lines on the terminal. */
export interface QuestionView {
  /** The lines between title and answers. */
  readonly lines: readonly string[];
  /** Where the next page begins; absent at the end, and where nothing can be shown. */
  readonly next?: Place;
  /** How much was read with it. */
  readonly reading: Reading;
  /** Whether the terminal has room for a question. */
  readonly isTooSmall: boolean;
}

/** The least columns, and rows between title and answers, in which a question can be read. */
const MIN_COLUMNS = 24;
const MIN_ROWS = 3;

/** Marks the continuation of a text of others. */
const GOES_ON = "┊ ";
/** Deeper names have the number of their depth instead. */
const MAX_INDENT = 4;
/** A longer text is cut at first. */
const SHORT_LINES = 3;

const START: Place = { fact: 0, unit: 0 };

/**
 * Lays out what a terminal shows of a question.
 *
 * @param size the columns of a line, and the rows between title and answers
 */
export function viewQuestion(
  { facts, excess }: QuestionText,
  { columns, rows }: Size,
  reading: Reading,
): QuestionView {
  if (columns < MIN_COLUMNS || rows < MIN_ROWS) {
    return { lines: [], reading, isTooSmall: true };
  }
  const shown = (top: Place, isCut: boolean): QuestionView => {
    const page = pageFrom(facts, top, { columns, rows }, isCut);
    const isAll = !isCut && page.next === undefined && excess === undefined;
    const isAllShown = reading.isAllShown || isAll;
    return { ...page, reading: { ...reading, isAllShown }, isTooSmall: false };
  };
  if (reading.isOpen) return shown(reading.tops.at(-1) ?? START, false);
  const whole = shown(START, false);
  return whole.next === undefined ? whole : shown(START, true);
}

/** Opens a question, or passes to its next page. */
export function nextPage({ next, reading }: QuestionView): Reading {
  if (!reading.isOpen) {
    return next === undefined && reading.isAllShown
      ? reading
      : { ...reading, isOpen: true };
  }
  return next === undefined
    ? reading
    : { ...reading, tops: [...reading.tops, next] };
}

/** Passes back to the page before. */
export const pageBefore = ({ reading }: QuestionView): Reading =>
  reading.tops.length === 0
    ? reading
    : { ...reading, tops: reading.tops.slice(0, -1) };

/** Returns how much of a question comes before a place, from 0 to 1. */
export function shareBefore(facts: readonly Fact[], place: Place): number {
  let before = 0;
  let all = 0;
  for (const [i, fact] of facts.entries()) {
    const length = fact.name.length + fact.text.length;
    if (i < place.fact) before += length;
    all += length;
  }
  return Math.min(1, (before + place.unit) / all);
}

/** Takes the lines of a page, and finds where the next one begins. */
function pageFrom(
  facts: readonly Fact[],
  top: Place,
  { columns, rows }: Size,
  isCut: boolean,
): Pick<QuestionView, "lines" | "next"> {
  const lines: string[] = [];
  for (let at = top.fact; at < facts.length; at++) {
    const fact = facts[at];
    if (fact === undefined) break;
    const from = at === top.fact ? top.unit : 0;
    const flow = isCut ? cutLines(fact, columns) : linesOf(fact, columns, from);
    for (const { line, unit } of flow) {
      if (lines.length === rows) return { lines, next: { fact: at, unit } };
      lines.push(line);
    }
  }
  return { lines };
}

/** A line, and the unit at which it begins. */
interface Line {
  readonly line: string;
  readonly unit: number;
}

/** Writes a name and what follows it. */
const factText = ({ name, text }: Fact): string =>
  text === "" ? name : `${name}: ${text}`;

const factIndent = ({ depth }: Fact): string =>
  " ".repeat(2 * Math.min(depth, MAX_INDENT)) +
  (depth > MAX_INDENT ? `${depth}› ` : "");

/** Yields the lines of a fact from one of its units on, one by one. */
function* linesOf(fact: Fact, columns: number, from: number): Generator<Line> {
  const flow = factText(fact);
  const indent = factIndent(fact);
  const further = `${
    " ".repeat(2 * Math.min(fact.depth, MAX_INDENT))
  }  ${GOES_ON}`;
  let unit = from;
  do {
    const prefix = unit === 0 ? indent : further;
    const end = endOfLine(flow, unit, columns - textWidth(prefix));
    const line = prefix + flow.slice(unit, end).replace(/\n$/, "");
    yield { line, unit };
    unit = end;
  } while (unit < flow.length);
}

/** Finds where a line ends: after a line break, after the last word that fits, or where it is full. */
function endOfLine(flow: string, from: number, columns: number): number {
  const end = filledAt(flow, from, columns);
  const line = flow.slice(from, end);
  const lineBreak = line.indexOf("\n");
  if (lineBreak >= 0) return from + lineBreak + 1;
  if (end === flow.length) return end;
  const space = line.lastIndexOf(" ") + 1;
  return from + (space > line.length / 2 ? space : Math.max(1, line.length));
}

/** Yields the lines of a fact, of a long text only its beginning, its length and its end. */
function* cutLines(fact: Fact, columns: number): Generator<Line> {
  const lines: Line[] = [];
  for (const line of linesOf(fact, columns, 0)) {
    lines.push(line);
    if (lines.length > SHORT_LINES) break;
  }
  const [first] = lines;
  if (lines.length <= SHORT_LINES || !first) return yield* lines;
  const further = " ".repeat(2 * Math.min(fact.depth, MAX_INDENT) + 2);
  const room = columns - textWidth(further + GOES_ON);
  const cut = cutText(factText(fact), room, room);
  yield first;
  const length = fact.length.toLocaleString("en");
  const note = shorten(`${further}… ${length} characters in all …`, columns);
  yield { line: note, unit: 0 };
  yield { line: `${further}${GOES_ON}${cut?.tail ?? ""}`, unit: 0 };
}
