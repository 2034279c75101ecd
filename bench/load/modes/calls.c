#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "connection/connection.h"
#include "connection/outgoing.h"
#include "connection/wire.h"
#include "modes/latency.h"
#include "modes/modes.h"
#include "modes/window.h"

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
/** Body lengths for a server that re-encodes them; that of the first one is expected. */
static size_t reencoded_length[2];
static uint64_t calls_made, outstanding;
static unsigned next_pair;
static bool stopping;

static struct connection *agent_of(unsigned pair) { return &net.all[2 * pair]; }

static void describe(struct connection *c) {
  c->role = c->index % 2 == 0 ? AGENT : COMPUTER;
  c->office = c->index / 2;
  c->port = port_of(c->role == AGENT ? &options->agents : &options->computers, c->office);
  snprintf(c->name, sizeof c->name, "%s-%05u", c->role == AGENT ? "agent" : "computer", c->office);
  if (c->role == AGENT) c->calls = calloc(SLOTS, sizeof *c->calls);
}

static void make_call(struct connection *agent, uint64_t due) {
  uint32_t ack = ++agent->asked;
  struct call *slot = &agent->calls[ack % SLOTS];
  if (slot->id != 0) return fault(agent, "too many calls on their way");
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

/** Determines the expected message from its start. */
static void started(struct connection *c) {
  if (strncmp(c->kept, c->role == AGENT ? ACK : EVENT, HEAD_LENGTH) != 0) return;
  uint32_t id;
  c->body_at = read_ack_id(c->kept, c->kept_length, HEAD_LENGTH, &id);
  if (c->body_at != 0 && !options->reencoded) {
    c->expected = c->role == AGENT ? &answer : calls[c->office];
  }
}

/** Returns whether the message is as expected, for any request id. */
static bool is_right(struct connection *c, const struct template *t) {
  size_t length = c->payload_length - c->body_at;
  if (!options->reencoded) return !c->differs && length == t->length;
  // All calls have the same length, and all answers.
  size_t *learned = &reencoded_length[c->role];
  if (*learned == 0) *learned = length;
  return length == *learned;
}

/** Returns the position of the request id; NULL if there is none. */
static const char *id_in(struct connection *c, const struct template *t) {
  if (!options->reencoded) return c->kept + c->body_at + t->id_at;
  // The text before it is always the same.
  const char *before = c->role == AGENT ? "\"text\":\"" : "\"req_id\":\"";
  const char *found = strstr(c->kept + c->body_at, before);
  return found == NULL ? NULL : found + strlen(before);
}

static void call_received(struct connection *computer) {
  const char *id = id_in(computer, calls[computer->office]);
  if (id == NULL || !is_right(computer, calls[computer->office])) return fault(computer, "wrong call");
  uint64_t number = strtoull(id, NULL, 10);
  char head[32];
  memcpy(head, computer->kept, computer->body_at);
  head[1] = ACK[1];
  send_template(computer, head, computer->body_at, &answer, number);
}

static void answer_received(struct connection *agent) {
  uint32_t ack;
  read_ack_id(agent->kept, agent->kept_length, HEAD_LENGTH, &ack);
  struct call *slot = &agent->calls[ack % SLOTS];
  const char *id = id_in(agent, &answer);
  if (slot->id == 0) return fault(agent, "answer to no call");
  if (id == NULL || !is_right(agent, &answer) || strtoull(id, NULL, 10) != slot->id) {
    return fault(agent, "wrong answer");
  }
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

static void received(struct connection *c) {
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
  printf("%s\"calls\":%llu,"
         "\"p50\":%.1f,\"p90\":%.1f,\"p99\":%.1f,\"p999\":%.1f,\"max\":%.1f",
         sample->used, (unsigned long long)sample->completed, latencies_at(latencies, 0.5),
         latencies_at(latencies, 0.9), latencies_at(latencies, 0.99),
         latencies_at(latencies, 0.999), latencies_at(latencies, 1));
}

void run_calls(const struct options *o) {
  options = o;
  size_t length;
  char *text = read_file(o->answer, &length);
  template_set(&answer, text, length);
  text = read_file(o->call, &length);
  calls = calloc(o->pairs, sizeof *calls);
  for (unsigned i = 0; i < o->pairs; i++) calls[i] = template_of_pair(text, length, i);
  net.received = received;
  net.started = started;
  net_init(2 * o->pairs);
  net_open(2 * o->pairs, describe);
  net_settle(200 * MILLISECOND);

  uint64_t start = now(), sent = 0;
  unsigned first = o->rotate ? o->inflight : o->inflight * o->pairs;
  for (unsigned i = 0; o->rate == 0 && i < first; i++) make_call(next_agent(), start);
  take(FIRST, o->warmup, start, &sent);
  take(WARM, o->seconds, start, &sent);
  stopping = true;
  for (uint64_t deadline = now() + 30 * SECOND; outstanding > 0 && now() < deadline;) {
    if (net.errors > 0) break;
    net_turn(now() + SECOND);
  }
  if (outstanding > 0 && net.errors == 0) {
    fprintf(stderr, "%llu calls were not answered\n", (unsigned long long)outstanding);
    net.errors++;
  }
  if (WARM->completed == 0 && net.errors == 0) {
    fprintf(stderr, "No call was answered in the time that counts\n");
    net.errors++;
  }
  printf("{");
  print(WARM);
  if (FIRST->completed > 0) {
    printf(",\"first\":{");
    print(FIRST);
    printf("}");
  }
  printf("}\n");
}
