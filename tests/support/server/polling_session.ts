import { rawHttp } from "../wire/raw_http.ts";

/**
 * Opens a session over polling, sends packets in one request, and reads as many packets.
 *
 * @param headers sent with every request
 */
export async function exchangePackets(
  port: number,
  packets: readonly string[],
  headers: readonly string[] = [],
): Promise<string[]> {
  const target = "/smcp/?EIO=4&transport=polling&a2c_version=0.2.0";
  const send = async (method: string, query: string, body?: string) => {
    const length = body === undefined ? [] : [`Content-Length: ${body.length}`];
    const lines = ["Host: 127.0.0.1", ...headers, ...length];
    const head = [`${method} ${target}${query} HTTP/1.1`, ...lines];
    return (await rawHttp(port, head, body)).body;
  };
  const { sid } = JSON.parse((await send("GET", "")).slice(1));
  await send("POST", `&sid=${sid}`, packets.join(SEPARATOR));
  const answers: string[] = [];
  while (answers.length < packets.length) {
    const body = await send("GET", `&sid=${sid}`);
    answers.push(...body.split(SEPARATOR).filter((packet) => packet !== "2"));
  }
  return answers;
}

/** The separator of Engine.IO packets. */
const SEPARATOR = "\u001e";
