#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "connection.h"
#include "measure.h"

/** Options of the command line, in the form name=value. */
struct options {
  /** The ports that Agents and Computers connect to. */
  unsigned agents, computers;
  /** The processes of the server: "a:4711,redis:4712". */
  struct processes processes;
  /** 1: no Socket.IO, see net.raw. */
  unsigned raw;
  unsigned pairs;
  /** Concurrent calls of each pair; with rotate=1, of all pairs together. */
  unsigned inflight;
  /** 1: each next call is made by the next pair. */
  unsigned rotate;
  /** Calls per second, regardless of answers; 0 waits for answers. */
  double rate;
  /** The load's first seconds, and those that are measured after them. */
  double warmup, seconds;
  /** Files with the arguments of an answer, and the arguments of a call. */
  const char *answer, *call;
};

static void set(struct options *o, const char *name, const char *value) {
  const struct { const char *name; unsigned *whole; double *real; const char **text; } all[] = {
    {"agents", .whole = &o->agents}, {"computers", .whole = &o->computers},
    {"raw", .whole = &o->raw}, {"pairs", .whole = &o->pairs}, {"inflight", .whole = &o->inflight},
    {"rotate", .whole = &o->rotate},
    {"rate", .real = &o->rate}, {"warmup", .real = &o->warmup}, {"seconds", .real = &o->seconds},
    {"answer", .text = &o->answer}, {"call", .text = &o->call},
  };
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    if (strcmp(name, all[i].name) != 0) continue;
    if (all[i].whole != NULL) *all[i].whole = (unsigned)strtoul(value, NULL, 10);
    else if (all[i].real != NULL) *all[i].real = strtod(value, NULL);
    else *all[i].text = value;
    return;
  }
  if (strcmp(name, "processes") == 0) return read_processes(&o->processes, value);
  fprintf(stderr, "Unknown option %s\n", name);
  exit(2);
}

static struct options read_options(int count, char **words) {
  struct options o = {
    .pairs = 1, .inflight = 1, .warmup = 0.5, .seconds = 1,
  };
  for (int i = 1; i < count; i++) {
    char *equals = strchr(words[i], '=');
    if (equals != NULL) *equals = 0;
    set(&o, words[i], equals == NULL ? "" : equals + 1);
  }
  return o;
}

/** Maximum number of pending calls of one Agent. */
#define SLOTS 256

/** A pending call. */
struct call {
  /** 0 when the slot is free. */
  uint64_t id;
  /** When it was due; unless the load is open, this is when it was sent. */
  uint64_t due;
};

static const struct options *options;
static struct template answer;
/** The call template of each pair. */
static struct template **calls;
/** A time of the load, and what was measured in it. */
struct sample {
  uint64_t from, to;
  /** Calls that were answered in it. */
  uint64_t completed;
  struct latencies latencies;
  char used[WINDOW_TEXT];
};

/** The first seconds of the load, and those after them. */
static struct sample samples[] = {{.from = UINT64_MAX}, {.from = UINT64_MAX}};
#define FIRST (&samples[0])
#define WARM (&samples[1])
static uint64_t calls_made, outstanding;
static unsigned next_pair;
static bool stopping;

static struct connection *agent_of(unsigned pair) { return &net.all[2 * pair]; }

void describe(struct connection *c) {
  c->role = c->index % 2 == 0 ? AGENT : COMPUTER;
  c->office = c->index / 2;
  c->port = (uint16_t)(c->role == AGENT ? options->agents : options->computers);
  snprintf(c->name, sizeof c->name, "%s-%05u", c->role == AGENT ? "agent" : "computer", c->office);
  if (c->role == AGENT) c->calls = calloc(SLOTS, sizeof *c->calls);
}

static void make_call(struct connection *agent, uint64_t due) {
  uint32_t ack = ++agent->asked;
  struct call *slot = &agent->calls[ack % SLOTS];
  if (slot->id != 0) return fault(agent, "too many calls in flight");
  *slot = (struct call){.id = ++calls_made, .due = due};
  outstanding++;
  char head[32];
  int length = snprintf(head, sizeof head, EVENT "%u", ack);
  send_template(agent, head, (size_t)length, calls[agent->office], slot->id);
}

static struct connection *next_agent(void) {
  struct connection *agent = agent_of(next_pair);
  next_pair = (next_pair + 1) % options->pairs;
  return agent;
}

void message_started(struct connection *c) {
  if (strncmp(c->kept, c->role == AGENT ? ACK : EVENT, HEAD_LENGTH) != 0) return;
  uint32_t id;
  c->body_at = read_ack_id(c->kept, c->kept_length, HEAD_LENGTH, &id);
  if (c->body_at != 0) c->expected = c->role == AGENT ? &answer : calls[c->office];
}

/** Returns whether the message is as expected, for any request id. */
static bool is_right(struct connection *c, const struct template *t) {
  return !c->differs && c->payload_length - c->body_at == t->length;
}

/** Returns the request id. */
static uint64_t id_in(struct connection *c, const struct template *t) {
  return strtoull(c->kept + c->body_at + t->id_at, NULL, 10);
}

static void call_received(struct connection *computer) {
  const struct template *call = calls[computer->office];
  if (!is_right(computer, call)) return fault(computer, "wrong call");
  char head[32];
  memcpy(head, computer->kept, computer->body_at);
  head[1] = ACK[1];
  send_template(computer, head, computer->body_at, &answer, id_in(computer, call));
}

static void answer_received(struct connection *agent) {
  uint32_t ack;
  read_ack_id(agent->kept, agent->kept_length, HEAD_LENGTH, &ack);
  struct call *slot = &agent->calls[ack % SLOTS];
  if (slot->id == 0) return fault(agent, "answer to no call");
  if (!is_right(agent, &answer) || id_in(agent, &answer) != slot->id) return fault(agent, "wrong answer");
  uint64_t time = now();
  outstanding--;
  slot->id = 0;
  for (struct sample *sample = FIRST; sample <= WARM; sample++) {
    if (time >= sample->from && time < sample->to) sample->completed++;
    // Open load counts calls that were due in that time, however late their answers.
    uint64_t counts = options->rate > 0 ? slot->due : time;
    if (counts >= sample->from && counts < sample->to) {
      latencies_add(&sample->latencies, time - slot->due);
    }
  }
  if (options->rate == 0 && !stopping) make_call(options->rotate ? next_agent() : agent, time);
}

void message_received(struct connection *c) {
  if (c->body_at != 0) {
    if (c->role == AGENT) answer_received(c);
    else call_received(c);
  } else if (strncmp(c->kept, EVENT "[\"notify:", 17) != 0) {
    fault(c, "unexpected message");
  }
}

/** Maintains the load until `end`; an open load continues its schedule. */
static void run_until(uint64_t end, uint64_t start, uint64_t *sent) {
  double interval = options->rate > 0 ? (double)SECOND / options->rate : 0;
  while (now() < end && net.errors == 0) {
    uint64_t wake = end;
    if (interval > 0) {
      uint64_t due = start + (uint64_t)((double)*sent * interval);
      for (uint64_t time = now(); due <= time && due < end;) {
        make_call(next_agent(), due);
        due = start + (uint64_t)((double)++*sent * interval);
      }
      if (due < end) wake = due;
    }
    net_turn(wake);
  }
}

/** Maintains the load for some seconds, and takes a sample of it. */
static void take(struct sample *sample, double seconds, uint64_t start, uint64_t *sent) {
  struct window window = window_begin(&options->processes);
  // Starts now, even if a busy machine is late.
  sample->from = window.began;
  sample->to = sample->from + (uint64_t)(seconds * SECOND);
  run_until(sample->to, start, sent);
  window_end(&window, &options->processes, sample->used);
}

static void print(struct sample *sample) {
  struct latencies *latencies = &sample->latencies;
  latencies_sort(latencies);
  printf("%s\"calls\":%llu,\"p50\":%.1f,\"p99\":%.1f", sample->used,
         (unsigned long long)sample->completed, latencies_at(latencies, 0.5),
         latencies_at(latencies, 0.99));
}

/** Opens all pairs, and waits until the server is silent. */
static void open_pairs(const struct options *o) {
  size_t length;
  char *text = read_file(o->answer, &length);
  template_set(&answer, text, length);
  text = read_file(o->call, &length);
  calls = calloc(o->pairs, sizeof *calls);
  for (unsigned i = 0; i < o->pairs; i++) calls[i] = template_of_pair(text, length, i);
  net_open(2 * o->pairs);
  net_settle(200 * MILLISECOND);
}

/** Waits for the last answers; an error invalidates the run. */
static void finish(void) {
  stopping = true;
  for (uint64_t deadline = now() + 30 * SECOND; outstanding > 0 && now() < deadline;) {
    if (net.errors > 0) break;
    net_turn(now() + SECOND);
  }
  if (net.errors > 0) return;
  if (outstanding > 0) {
    fprintf(stderr, "%llu calls were not answered\n", (unsigned long long)outstanding);
    net.errors++;
  } else if (WARM->completed == 0) {
    fprintf(stderr, "No call was answered in the time that counts\n");
    net.errors++;
  }
}

int main(int count, char **words) {
  struct options o = read_options(count, words);
  prctl(PR_SET_TIMERSLACK, 1); // send calls when they are due, not up to 50 µs later
  net.raw = o.raw != 0;
  options = &o;
  open_pairs(&o);
  uint64_t start = now(), sent = 0;
  unsigned first = o.rotate ? o.inflight : o.inflight * o.pairs;
  for (unsigned i = 0; o.rate == 0 && i < first; i++) make_call(next_agent(), start);
  take(FIRST, o.warmup, start, &sent);
  take(WARM, o.seconds, start, &sent);
  finish();
  printf("{");
  print(WARM);
  if (FIRST->completed > 0) {
    printf(",\"first\":{");
    print(FIRST);
    printf("}");
  }
  printf("}\n");
  return net.errors == 0 ? 0 : 1;
}
