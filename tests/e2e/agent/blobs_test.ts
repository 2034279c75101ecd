import { assertEquals, assertStringIncludes } from "@std/assert";
import { resultMeta } from "../../../agent/mod.ts";
import { startOffice } from "../../support/office.ts";

Deno.test("SmcpAgent.callTool() returns an error for an image that the Computer left out", async () => {
  // The answer of a Computer of the released Python SDK with an image of 100 KiB.
  const image = {
    type: "image",
    data: "",
    mimeType: "image/png",
    _meta: {
      a2c_blob_handle: "hKF2AaRr",
      a2c_total_size: 102_400,
      a2c_sha256: "27783e87",
    },
  };
  await using office = await startOffice({
    computers: { pc: () => ({ content: [image] }) },
  });
  const result = await office.agent.callTool("pc", "screenshot", {});
  assertEquals([result.isError, resultMeta(result).error_code], [true, 4003]);
  assertStringIncludes(
    result.content[0]?.text ?? "",
    "content[0] (image, image/png, 102400 bytes)",
  );
});
