/**
 * Sign-in through each balancer of deploy/balancers, and below a path that a proxy takes off.
 *
 * @module
 */
import { assertEquals, assertStringIncludes } from "@std/assert";
import {
  balancerFiles,
  PLAYED,
  PUBLIC_NAME,
  startBalancerOf,
  startCaddy,
} from "../support/cluster/balancers.ts";
import { startRedis } from "../support/cluster/redis.ts";
import {
  BalancedVisitor,
  joinHome,
  startPublic,
} from "../support/cluster/balanced_sign_in.ts";

Deno.test({
  name:
    "through each balancer a program finds the sign-in, a person lets it in, and its token lists tools",
  timeout: 300_000,
}, async (t) => {
  await using redis = await startRedis();
  const publicUrl = `https://${PUBLIC_NAME}`;
  for (const file of balancerFiles()) {
    await t.step(file, async () => {
      const shared = file in PLAYED ? redis.url : undefined;
      await using a = await startPublic(publicUrl, shared);
      await using b = await startPublic(publicUrl, shared);
      await using c = await startPublic(publicUrl, shared);
      await using _pc = await joinHome(a.url);
      await using balancer = await startBalancerOf(file, [a, b, c]);
      const visitor = new BalancedVisitor(publicUrl, balancer.url);
      const tools = await visitor.toolsOfHome();
      assertEquals(tools, ["pc__echo"]);
    });
  }
});

Deno.test({
  name:
    "a program signs in below a path that the proxy takes off, where it passes the host's well-known paths on",
  timeout: 120_000,
}, async () => {
  const publicUrl = `https://${PUBLIC_NAME}/smcp`;
  await using server = await startPublic(publicUrl);
  await using _pc = await joinHome(server.url);
  const { host } = new URL(server.url);
  await using proxy = await startCaddy(`
http://${PUBLIC_NAME}:$PORT {
  handle_path /smcp/* {
    reverse_proxy ${host}
  }
  @found path /.well-known/oauth-authorization-server/smcp* /.well-known/oauth-protected-resource/smcp*
  handle @found {
    reverse_proxy ${host}
  }
}`);
  const visitor = new BalancedVisitor(publicUrl, proxy.url);
  const tools = await visitor.toolsOfHome();
  assertEquals(tools, ["pc__echo"]);
  // As programs ask that put the path of the resource behind the host's.
  const strict = await visitor.fetch(
    `https://${PUBLIC_NAME}/.well-known/oauth-protected-resource/smcp/mcp/home`,
  );
  assertEquals((await strict.json()).resource, `${publicUrl}/mcp/home`);
  const { path } = visitor.ask(await visitor.register(), {
    resource: `${publicUrl}/mcp/home`,
  });
  const page = await visitor.openPage(path);
  assertStringIncludes(page.text, `action="${publicUrl}/authorize"`);
  assertStringIncludes(
    page.answer.headers.get("set-cookie") ?? "",
    "Path=/",
  );
});
