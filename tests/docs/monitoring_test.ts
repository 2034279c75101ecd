import { assert, assertEquals, assertRejects } from "@std/assert";
import { parse } from "yaml";
import dashboard from "../../deploy/monitoring/dashboard.json" with {
  type: "json",
};
import { ErrorCode } from "../../protocol/mod.ts";
import { ClusterOffices } from "../../server/cluster/cluster_offices.ts";
import { RegistryUnavailableError } from "../../server/cluster/directory.ts";
import {
  createMetrics,
  createSmcpServer,
  type SmcpServer,
} from "../../server/mod.ts";
import { type ClusterMember, newCluster } from "../../server/shared/cluster.ts";
import { fakeMember } from "../support/cluster/fake_member.ts";
import { nextRequest } from "../support/server/operator_client.ts";
import { connectRaw, rawPair } from "../support/wire/raw_client.ts";

// What the files of deploy/monitoring ask for, and whether a Server has it.

type Labels = Readonly<Record<string, string>>;

/** A metric with its labels. */
interface Sample {
  readonly name: string;
  readonly labels: Labels;
}

/** A query of a file, and the labels that its text shows. */
interface Query {
  readonly expr: string;
  readonly shown: readonly string[];
}

const ALERTS = new URL(
  "../../deploy/monitoring/alerts.yaml",
  import.meta.url,
);

/** Labels that Prometheus adds to every sample. */
const SCRAPED = ["instance", "job"];

/** A metric that Prometheus makes of every scrape. */
const UP: Sample = { name: "up", labels: {} };

/** Returns the names in the matches of a pattern. */
const namesIn = (text: string, pattern: RegExp): string[] =>
  [...text.matchAll(pattern)].map(([, name = ""]) => name);

/** @returns the labels of `by (…)` and `on (…)`; `undefined` without any */
function groupingOf(expr: string): string[] | undefined {
  const lists = namesIn(expr, GROUPING);
  if (lists.length === 0) return undefined;
  return lists.flatMap((list) => list.split(",").map((name) => name.trim()));
}

const GROUPING = /\b(?:by|on)\s*\(([^)]*)\)/g;

/** Finds the metrics of a query of PromQL, each with the conditions on its labels. */
function selectorsIn(expr: string) {
  const bare = expr.replaceAll(GROUPING, " ").replaceAll(/\[[^\]]*\]/g, " ");
  const found = bare.matchAll(
    /(?<![\w.])([a-zA-Z_:][\w:]*)\b\s*(\{[^}]*\})?(?!\s*\()/g,
  );
  return [...found].map(([, name = "", braces = ""]) => ({
    name,
    matchers: [...braces.matchAll(/(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"/g)]
      .map(([, label = "", operator = "", value = ""]) => ({
        label,
        operator,
        value,
      })),
  })).filter(({ name }) => name !== "and");
}

type Selector = ReturnType<typeof selectorsIn>[number];

/** Whether a sample is one of a selector; of labels of Prometheus any value counts. */
const isSelected = ({ name, labels }: Sample, selector: Selector): boolean =>
  name === selector.name &&
  selector.matchers.every(({ label, operator, value }) => {
    if (SCRAPED.includes(label)) return true;
    const own = labels[label];
    if (own === undefined) return false;
    const isSame = operator.endsWith("~")
      ? new RegExp(`^(?:${value})$`).test(own)
      : own === value;
    return isSame !== operator.startsWith("!");
  });

/** Returns what a query asks for, and no Server has: selectors and labels. */
function missingIn({ expr, shown }: Query, samples: readonly Sample[]) {
  const selectors = selectorsIn(expr);
  const selected = samples.filter((sample) =>
    selectors.some((selector) => isSelected(sample, selector))
  );
  const labels = new Set(
    selected.flatMap((sample) => Object.keys(sample.labels)),
  );
  const grouping = groupingOf(expr);
  return [
    ...selectors.filter((selector) =>
      !samples.some((sample) => isSelected(sample, selector))
    ).map((selector) => JSON.stringify(selector)),
    ...[...grouping ?? [], ...shown].filter((label) =>
      !SCRAPED.includes(label) && !labels.has(label)
    ),
    // An aggregation drops all others.
    ...shown.filter((label) => grouping && !grouping.includes(label)),
  ];
}

/** Reads a text of Prometheus. */
const samplesOf = (text: string): Sample[] =>
  [...text.matchAll(/^([a-z_]+)(?:\{(.*)\})? \S+$/gm)].map(
    ([, name = "", labels = ""]) => ({
      name,
      labels: Object.fromEntries(
        [...labels.matchAll(/(\w+)="([^"]*)"/g)]
          .map(([, label = "", value = ""]) => [label, value]),
      ),
    }),
  );

/** Reads all metrics of a server. */
async function metricsOf(server: SmcpServer): Promise<Sample[]> {
  const { url } = await server.listenMetrics();
  return samplesOf(await (await fetch(`${url}/metrics`)).text());
}

/** A server that has seen what alerts are about: a timeout, an error of its own, a limit, a bad token. */
async function samplesOfTraffic(): Promise<Sample[]> {
  await using server = createSmcpServer({
    metrics: createMetrics(),
    limits: { callsPerAgent: 1 },
    authenticator: {
      authenticate: ({ auth }) =>
        auth.token === "bad" ? { refused: "expired" } : { principal: "any" },
    },
  });
  const { url } = await server.listen();
  await using pair = await rawPair(url);
  const { agent, computer } = pair;
  const request = {
    agent: "agent",
    req_id: "r1",
    computer: "computer",
    tool_name: "echo",
    params: {},
    timeout: 60,
  };
  const called = nextRequest(computer);
  const late = agent.ask("client:tool_call", request);
  const { ack } = await called;
  await agent.ask("client:tool_call", { ...request, req_id: "r2" }); // 429
  ack({ code: ErrorCode.TIMEOUT, message: "too late" });
  await late;
  computer.handle("client:get_tools", (_, ack) => ack("no object"));
  await agent.ask("client:get_tools", request);
  await assertRejects(() => connectRaw(url, { auth: { token: "bad" } }));
  return await metricsOf(server);
}

/** A server of a cluster that has claimed a home. */
async function samplesOfNode(): Promise<Sample[]> {
  const offices = new ClusterOffices({
    node: "",
    homes: new Set(),
    peers: new Set(),
    maxMessageBytes: 0,
    claim: () => Promise.reject(new RegistryUnavailableError()),
    release: () => Promise.resolve(),
    send: () => "away",
    isServing: () => true,
  }, 6000);
  const onClaim: ClusterMember["onClaim"] = (listener) => listener("here", 20);
  const cluster = newCluster(fakeMember(offices, { onClaim }));
  await using server = createSmcpServer({ metrics: createMetrics(), cluster });
  return await metricsOf(server);
}

/** Returns the queries of the dashboard, without its variables. */
function dashboardQueries(): Query[] {
  const panels = dashboard.panels.flatMap(({ targets = [] }) => targets);
  const variables = dashboard.templating.list.flatMap(({ type, query }) =>
    type === "query" ? [query] : []
  );
  return [
    ...panels.map(({ expr, legendFormat }) => ({
      expr: expr.replaceAll("$instance", ".*"),
      shown: namesIn(legendFormat, /\{\{(\w+)\}\}/g),
    })),
    ...variables.map((text) => {
      const [, expr = "", label = ""] = /^label_values\((.*), (\w+)\)$/
        .exec(text) ?? [];
      return { expr, shown: [label] };
    }),
  ];
}

/** A file of rules for Prometheus. */
interface RuleFile {
  readonly groups: readonly {
    readonly rules: readonly {
      readonly expr: string;
      readonly annotations: Readonly<Record<string, string>>;
    }[];
  }[];
}

async function alertQueries(): Promise<Query[]> {
  const file: RuleFile = parse(await Deno.readTextFile(ALERTS));
  return file.groups.flatMap(({ rules }) => rules).map((rule) => ({
    expr: rule.expr,
    shown: namesIn(
      Object.values(rule.annotations).join(),
      /\$labels\.(\w+)/g,
    ),
  }));
}

Deno.test("a Server has every metric and label of the dashboard and the alerts in deploy/monitoring", async () => {
  const samples = [
    UP,
    ...await samplesOfTraffic(),
    ...await samplesOfNode(),
  ];
  const files = {
    dashboard: dashboardQueries(),
    alerts: await alertQueries(),
  };
  for (const [file, queries] of Object.entries(files)) {
    assert(queries.length > 10, file);
    for (const query of queries) {
      const missing = missingIn(query, samples);
      assertEquals(missing, [], `${file}: ${query.expr}`);
    }
  }
});

Deno.test("missingIn() finds metrics, labels and values that there are not", () => {
  const samples = samplesOf('a_total{x="1",le="+Inf"} 3\nb 1\n');
  const rows: [expr: string, missing: number, ...shown: string[]][] = [
    ['sum by (x) (rate(a_total{x=~"1|2"}[5m])) > 0.5 * 2 ^ 30', 0, "x"],
    ['b{instance=~".*"} and on (instance) a_total', 0, "instance"],
    ["histogram_quantile(0.95, sum by (le) (rate(a_total[5m])))", 0],
    ["c", 1],
    ["sum(rate(c_total[5m])) / sum(b)", 1],
    ['a_total{y="1"}', 1],
    ['a_total{x="2"}', 1],
    ['a_total{x!~"1|2"}', 1],
    ["sum by (y) (a_total)", 1],
    ["b", 1, "x"],
    ["sum by (x) (a_total)", 1, "le"],
  ];
  for (const [expr, missing, ...shown] of rows) {
    const found = missingIn({ expr, shown }, samples);
    assertEquals(found.length, missing, `${expr}: ${found}`);
  }
});
