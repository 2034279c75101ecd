import { assertEquals, assertThrows } from "@std/assert";
import { VersionChoice } from "../../../client/versions.ts";
import { ProtocolError, ProtocolVersionError } from "../../../protocol/mod.ts";
import { dial } from "../../../client/socket_wire.ts";

const speaks = (server: string, client = "0.2.0") =>
  new ProtocolVersionError(server, client);

Deno.test("VersionChoice starts with 0.2, and follows a refusal once until it is accepted (0.4 §18)", () => {
  const choice = new VersionChoice();
  assertEquals(choice.current, "0.2");
  assertEquals(choice.refused(speaks("0.4.7")), true);
  assertEquals(choice.current, "0.4");
  assertEquals(choice.refused(speaks("0.3.0", "0.4.0")), false);
  assertEquals(choice.current, "0.4");
  choice.restart();
  assertEquals(choice.refused(speaks("0.3.0", "0.4.0")), true);
  assertEquals(choice.current, "0.3");
});

Deno.test("VersionChoice takes the newest version that a Server lists, and follows its refusal nevertheless (0.4 §18)", () => {
  const rows: [listed: string[], taken: string][] = [
    [["0.1.2", "0.2.0", "0.3.1", "0.4.0"], "0.4"],
    [["0.4.0", "0.2.0"], "0.4"],
    [["0.2.0", "0.3.0"], "0.3"],
    [["0.2.0", "0.5.0"], "0.2"],
    [["0.1.2"], "0.2"],
    [["no version"], "0.2"],
    [[], "0.2"],
  ];
  for (const [listed, taken] of rows) {
    const choice = new VersionChoice();
    choice.take(listed);
    assertEquals(choice.current, taken, String(listed));
  }
  const choice = new VersionChoice();
  choice.take(["0.4.0"]);
  assertEquals(choice.refused(speaks("0.3.1", "0.4.0")), true);
  assertEquals(choice.current, "0.3");
});

Deno.test("VersionChoice follows no version that is not ours, the same one, or another error", () => {
  const choice = new VersionChoice("auto");
  for (
    const version of ["0.1.2", "0.5.0", "1.0.0", "0.2.9", "unknown", ""]
  ) {
    assertEquals(choice.refused(speaks(version)), false, version);
  }
  assertEquals(choice.refused(new ProtocolError(401, "Unauthorized")), false);
  assertEquals(choice.refused(undefined), false);
  assertEquals(choice.current, "0.2");
});

Deno.test("VersionChoice keeps a version that was asked for", () => {
  for (const protocol of ["0.2", "0.3", "0.4"] as const) {
    const choice = new VersionChoice(protocol);
    choice.take(["0.2.0", "0.3.1", "0.4.0"]);
    assertEquals([choice.current, choice.isFree], [protocol, false]);
    for (const server of ["0.2.0", "0.3.0", "0.4.0"]) {
      assertEquals(choice.refused(speaks(server)), false);
    }
    assertEquals(choice.current, protocol);
  }
});

Deno.test("VersionChoice refuses what is no version of a client", () => {
  for (const wanted of ["0.1", "0.5", "0.4.0", ""]) {
    assertThrows(
      () => Reflect.construct(VersionChoice, [wanted]),
      TypeError,
      'expected "auto", "0.2", "0.3", "0.4"',
    );
  }
});

Deno.test("dial() begins with polling from 0.3 on, whatever its user wants (0.4 §1.4)", () => {
  const transports = (protocol: "0.2" | "0.3" | "0.4") =>
    dial({
      options: {
        url: "http://localhost",
        name: "a",
        transports: ["websocket"],
      },
      route: () => undefined,
      protocol: () => protocol,
      credentials: () => {},
    }).io.opts.transports?.length;
  assertEquals((["0.2", "0.3", "0.4"] as const).map(transports), [1, 2, 2]);
});
