import type { Child } from "../child.ts";
import { eventStream, type OperatorAnswer } from "../server/operator_client.ts";
import type { ListedCall } from "../../../computer/cli/ui/call_log.ts";
import type {
  ComputerView,
  PageNews,
} from "../../../computer/cli/ui/page_state.ts";
import type { PageQuestion } from "../../../computer/cli/ui/page_questions.ts";

/** What a page knows of its Computer. */
export interface PageKnowledge {
  readonly computer: ComputerView;
  readonly calls: readonly ListedCall[];
  readonly questions: readonly PageQuestion[];
}

/** Asks a Computer what its page would ask. */
export interface PageClient extends AsyncDisposable {
  /** Sends a request with the token; with a body it is a POST. */
  ask(path: string, post?: unknown): Promise<OperatorAnswer>;
  /** Resolves when what the stream told satisfies a condition. */
  until(
    wanted: (knowledge: PageKnowledge) => boolean,
  ): Promise<PageKnowledge>;
  /** Resolves with the first question whose text contains `text`, open or ended as wanted. */
  question(text: string, state?: "open" | "ended"): Promise<PageQuestion>;
}

/** Waits for the link that a command prints. */
export async function pageLink(
  child: Pick<Child, "line">,
): Promise<{ url: string; token: string; link: string }> {
  const [, link = "", url = "", token = ""] = await child.line(
    /page: ((http:\/\/127\.0\.0\.1:\d+)\/#token=([0-9a-f]{64}))(?![0-9a-f])/,
  );
  return { url, token, link };
}

/** Sends a request to the API of a page. */
export async function askPage(
  url: string,
  path: string,
  { token, post, headers }: {
    token?: string;
    post?: unknown;
    headers?: Readonly<Record<string, string>>;
  } = {},
): Promise<OperatorAnswer> {
  const response = await fetch(`${url}/ui/v1${path}`, {
    headers: {
      ...(token !== undefined && { Authorization: `Bearer ${token}` }),
      ...(post !== undefined && { "Content-Type": "application/json" }),
      ...headers,
    },
    ...(post !== undefined && { method: "POST", body: JSON.stringify(post) }),
  });
  const type = response.headers.get("Content-Type");
  return { status: response.status, type, body: await response.json() };
}

/** Opens the stream of a page. */
export async function openPage(
  { url, token }: { url: string; token: string },
): Promise<PageClient> {
  const stream = await eventStream(
    await fetch(`${url}/ui/v1/events`, {
      headers: { Authorization: `Bearer ${token}` },
    }),
  );
  let computer: ComputerView | undefined;
  const calls = new Map<number, ListedCall>();
  const questions = new Map<string, PageQuestion>();
  const take = (news: PageNews) => {
    computer = news.computer ?? computer;
    for (const call of news.calls) calls.set(call.key, call);
    for (const question of news.questions) questions.set(question.id, question);
  };
  const until: PageClient["until"] = async (wanted) => {
    while (true) {
      const now = computer && {
        computer,
        calls: [...calls.values()],
        questions: [...questions.values()],
      };
      if (now && wanted(now)) return now;
      const { data } = await stream.nextOf("news");
      take(data as unknown as PageNews);
    }
  };
  return {
    until,
    ask: (path, post) => askPage(url, path, { token, post }),
    async question(text, state = "open") {
      const is = (each: PageQuestion) =>
        questionText(each).includes(text) &&
        (each.endedBy === undefined) === (state === "open");
      const { questions } = await until(({ questions }) => questions.some(is));
      const [found] = questions.filter(is);
      if (found) return found;
      throw new Error("no question");
    },
    [Symbol.asyncDispose]: () => stream[Symbol.asyncDispose](),
  };
}

/** Returns what a question shows, as lines; of one that has ended what it was about. */
export const questionText = (
  { title, subject, facts, endedBy }: PageQuestion,
): string =>
  [
    endedBy === undefined ? title : subject,
    ...facts.map(({ name, text }) => text === "" ? name : `${name}: ${text}`),
  ].join("\n");
