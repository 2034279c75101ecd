import { checkText, madeBy, type Service } from "../service.ts";

/** Seconds between two starts of a service that failed; launchd knows no other limit. */
const RESTART_SECONDS = 10;

/** What XML cannot hold, even escaped. */
const UNFIT = /(?![\t\n\r\x7f-\x9f])[\p{Cc}\p{Cs}\ufffe\uffff]/u;

/**
 * Writes a property list of launchd.
 *
 * @param log the file for what the service writes
 * @throws {Error} for a text that it cannot hold
 */
export const plistText = (service: Service, log: string): string =>
  `<?xml version="1.0" encoding="UTF-8"?>
<!-- ${
    madeBy(service.name)
  }, which also changes it; "${service.name} service remove" deletes it. -->
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>
  ${string("the name", service.name)}
  <key>ProgramArguments</key>
  <array>
${
    service.command.map((text) => `    ${string("an argument", text)}\n`)
      .join("")
  }  </array>
  <key>WorkingDirectory</key>
  ${string("the path of this folder", service.directory)}
  <key>EnvironmentVariables</key>
  <dict>
${
    Object.entries(service.environment).map(([name, value]) =>
      `    <key>${escape(name)}</key>\n    ${
        string(`the variable ${name}`, value)
      }\n`
    ).join("")
  }  </dict>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <dict>
    <key>SuccessfulExit</key>
    <false/>
  </dict>
  <key>ThrottleInterval</key>
  <integer>${RESTART_SECONDS}</integer>
  <key>StandardOutPath</key>
  ${string("the path of the log", log)}
  <key>StandardErrorPath</key>
  ${string("the path of the log", log)}
</dict>
</plist>
`;

const string = (what: string, text: string): string =>
  `<string>${escape(checkText(what, text, UNFIT))}</string>`;

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
};

/** Escapes a text for XML; a parser would take a line break of Windows for a plain one. */
const escape = (text: string): string =>
  text.replaceAll(
    /[&<>\r]/g,
    (sign) => ENTITIES[sign] ?? "&#13;",
  );
