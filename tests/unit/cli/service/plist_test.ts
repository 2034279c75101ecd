import { assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { plistText } from "../../../../cli/service/launchd.ts";
import type { Service } from "../../../../cli/service/manager.ts";
import { anyText, HOSTILE } from "../../../support/service/hostile.ts";
import { readPlist, WITHOUT_PLISTLIB } from "../../../support/service/plist.ts";

const service = (over: Partial<Service> = {}): Service => ({
  name: "smcp-server",
  summary: "A Server",
  command: ["/opt/deno", "run"],
  directory: "/home",
  environment: { PATH: "/usr/bin" },
  ...over,
});

const ignore = WITHOUT_PLISTLIB !== "";

Deno.test({
  name:
    `plistText() starts a service at login, and again after a failure${WITHOUT_PLISTLIB}`,
  ignore,
  async fn() {
    assertEquals(await readPlist(plistText(service(), "/log")), {
      Label: "smcp-server",
      ProgramArguments: ["/opt/deno", "run"],
      WorkingDirectory: "/home",
      EnvironmentVariables: { PATH: "/usr/bin" },
      RunAtLoad: true,
      KeepAlive: { SuccessfulExit: false },
      ThrottleInterval: 10,
      StandardOutPath: "/log",
      StandardErrorPath: "/log",
    });
  },
});

Deno.test({
  name:
    `a parser of property lists reads any text as it was${WITHOUT_PLISTLIB}`,
  ignore,
  async fn() {
    const random = fc.sample(anyText(), 1000).map((text) =>
      text.replaceAll(/\p{Cc}/gu, "")
    );
    const texts = [...HOSTILE, "\t\n\r\r\n\x7f\x85", ...random];
    const directory = "/a <b>& c\r\n";
    const environment = Object.fromEntries(
      HOSTILE.map((text, index) => [`V${index}`, text]),
    );
    const plist = await readPlist(
      plistText(service({ command: texts, directory, environment }), "/&"),
    );
    assertEquals(plist.ProgramArguments, texts);
    assertEquals(plist.WorkingDirectory, directory);
    assertEquals(plist.EnvironmentVariables, environment);
    assertEquals(plist.StandardOutPath, "/&");
  },
});

Deno.test("plistText() refuses what XML cannot hold", () => {
  for (const sign of ["\0", "\x07", "\x1b", "\ud800", "\uffff"]) {
    assertThrows(
      () => plistText(service({ command: ["/a", sign] }), "/log"),
      Error,
      "an argument has a character",
    );
  }
});
