import { checkText, madeBy, type Service } from "../service.ts";

/** Seconds between the end of a service that failed and its next start. */
const RESTART_SECONDS = 10;
/** So many starts in an hour are let happen: about twenty minutes of nothing but failures. */
const STARTS_PER_HOUR = 100;
/** The exit code of a wrong command line, which no restart mends. */
const WRONG_USAGE = 2;

/** What no line of a unit can hold, even escaped; for systemd it is no UTF-8. */
const UNFIT = /[\0\p{Cs}\p{NChar}]/u;
/** The same for paths and variables, which systemd refuses with control characters. */
const UNFIT_IN_PATH = /[\p{Cc}\p{Cs}\p{NChar}]/u;
/** What systemd refuses in the path of a program, even quoted. */
const UNFIT_IN_PROGRAM = /["'\\]/;

/**
 * Writes a unit of systemd's user manager.
 *
 * @throws {Error} for a text that a unit cannot hold
 */
export const unitText = (service: Service): string =>
  `# ${
    madeBy(service.name)
  }, which also changes it; "${service.name} service remove" deletes it.
[Unit]
Description=${service.summary}
StartLimitIntervalSec=1h
StartLimitBurst=${STARTS_PER_HOUR}

[Service]
Type=exec
ExecStart=${commandLine(service.command)}
WorkingDirectory=${directory(service.directory)}
${
    Object.entries(service.environment).map(assignment).join("")
  }Restart=on-failure
RestartSec=${RESTART_SECONDS}
RestartPreventExitStatus=${WRONG_USAGE}
# The command itself ends its processes.
KillMode=mixed

[Install]
WantedBy=default.target
`;

function commandLine([program = "", ...args]: readonly string[]): string {
  checkText("the path of the program", program, UNFIT_IN_PATH);
  const rest = args.map(argument);
  if (!UNFIT_IN_PROGRAM.test(program)) {
    // A program is no argument: "$" stands for itself in it.
    return [quote(program), ...rest].join(" ");
  }
  const shell = ["-c", 'exec "$0" "$@"', program].map(argument);
  return ['"/bin/sh"', ...shell, ...rest].join(" ");
}

/** Quotes an argument: systemd puts variables in place of "$NAME". */
const argument = (text: string): string =>
  quote(checkText("an argument", text, UNFIT)).replaceAll("$", "$$$$");

const assignment = ([name, value]: [string, string]): string =>
  `Environment=${
    quote(`${name}=${checkText(`the variable ${name}`, value, UNFIT_IN_PATH)}`)
  }\n`;

/**
 * Writes a path that takes the rest of its line, where systemd knows no quotes.
 *
 * The end keeps a space from being cut off, and a backslash from continuing on the next line.
 */
const directory = (path: string): string =>
  `${
    checkText("the path of this folder", path, UNFIT_IN_PATH)
      .replaceAll("%", "%%")
  }${/[\s\\]$/.test(path) ? "/." : ""}`;

/** Quotes a text as a string of C, in which "%" would stand for a specifier. */
const quote = (text: string): string =>
  `"${
    text.replaceAll(/["\\]/g, (sign) => `\\${sign}`)
      .replaceAll("%", "%%")
      .replaceAll(
        /\p{Cc}/gu,
        (sign) =>
          `\\u${(sign.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`,
      )
  }"`;
