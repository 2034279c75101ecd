import { titleOf } from "../report/goals.ts";
import { number, table } from "../report/markdown.ts";
import { titleOfContestant } from "../report/plots.ts";
import type { PlatformsResult } from "./result.ts";

/** Writes the section about platforms. */
export function platformsSection(
  { calls, starts, bundles }: PlatformsResult,
): string[] {
  const keys = [...new Set(calls.map(({ key }) => key))];
  const contestants = [...new Set(calls.map(({ contestant }) => contestant))];
  const cell = (contestant: string, key: string) => {
    const row = calls.find((row) =>
      row.key === key && row.contestant === contestant
    );
    return row === undefined
      ? ""
      : `${number(row.callsPerSecond)} (${number(row.p50)})`;
  };
  return [
    "## Platforms",
    "Calls per second by the size of the answer, and in parentheses the median time of one in µs: 50 Agents, each with a Computer in an office of its own, call as fast as answers come. Then the time from the start of a process to its first answer of `/health`, the median and the range. Medians of rounds in which each platform had its turn.",
    table(
      ["platform", ...keys.map(titleOf), "start, ms"],
      contestants.map((contestant) => {
        const start = starts.find((row) => row.contestant === contestant)?.ms;
        return [
          titleOfContestant(contestant),
          ...keys.map((key) => cell(contestant, key)),
          start === undefined
            ? ""
            : `${number(start.mid)} (${number(start.low)}–${
              number(start.high)
            })`,
        ];
      }),
    ),
    "A program with all that it needs, bundled by esbuild from the npm package:",
    table(
      ["program", "minified, KB", "gzip, KB"],
      bundles.map(({ title, minified, gzip }) => [
        title,
        number(minified / 1000),
        number(gzip / 1000, 1),
      ]),
    ),
  ];
}
