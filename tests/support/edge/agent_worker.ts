/**
 * A Worker with an Agent: joins an office, lists its tools, calls one, and answers with all that. For
 * tests, which bundle it from the npm tarball.
 *
 * @module
 */
import { SmcpAgent } from "../../../agent/mod.ts";

const worker = {
  async fetch(request: Request): Promise<Response> {
    const { searchParams } = new URL(request.url);
    const of = (name: string) => searchParams.get(name) ?? "";
    const agent = new SmcpAgent({ url: of("server"), name: "edge" });
    try {
      await agent.connect();
      await agent.join(of("office"));
      await agent.toolsSettled();
      const tools = [...agent.tools].flatMap(([computer, tools]) =>
        tools.map(({ name }) => ({ computer, name }))
      );
      const { content } = await agent.callTool("pc", "echo", { said: "hi" });
      return Response.json({ tools, content });
    } finally {
      await agent.close();
    }
  },
};

export default worker;
