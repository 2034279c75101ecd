/** A WebSocket with a minimal Engine.IO 4 and Socket.IO 5; frames are sent and received raw. */
#ifndef CONNECTION_H
#define CONNECTION_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

// Times are nanoseconds of the monotonic clock.
#define SECOND 1000000000ull
#define MILLISECOND 1000000ull

static inline uint64_t nanoseconds(struct timespec t) {
  return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

static inline uint64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return nanoseconds(t);
}

// A message that is sent repeatedly, each time with another request id.
/** The placeholder of a pair's number. */
#define PAIR_PLACE "#####"
#define PAIR_LENGTH 5
/** Decimal digits of a request id. */
#define ID_LENGTH 12
/** The placeholder of the id, which occurs once. */
#define ID_PLACE "@@@@@@@@@@@@"
/**
 * Each byte of the WebSocket mask. All four are the same, so that a message can be masked before it
 * is known where in a frame it will stand; none is 0, which would let a receiver skip its work.
 */
#define MASK 0x5a

struct template {
  /** The message as received. */
  uint8_t *plain;
  /** The message as sent. */
  uint8_t *masked;
  size_t length;
  /** The offset of the id. */
  size_t id_at;
};

/** @param text contains ID_PLACE once; the template keeps it */
void template_set(struct template *t, char *text, size_t length);

/** Creates a template from a copy of `text` with the pair's number. */
struct template *template_of_pair(const char *text, size_t length, unsigned pair);

/** Reads a file; ends the process when it cannot. */
char *read_file(const char *path, size_t *length);

// Connections.
/** The namespace's packets start with these. */
#define EVENT "42/smcp,"
#define ACK "43/smcp,"
#define HEAD_LENGTH 8

/** Maximum bytes of each message that are kept for reading. */
#define KEPT 256

enum role { AGENT, COMPUTER };
enum state { CLOSED, CONNECTING, UPGRADING, OPENING, ENTERING, JOINING, READY };

struct unsent;

struct connection {
  int fd;
  /** Position among all connections. */
  unsigned index;
  enum role role;
  enum state state;
  /** Its office; connections of one office are a group. */
  unsigned office;
  uint16_t port;
  /** Globally unique, as some servers require. */
  char name[24];
  /** State of the frame that is being received. */
  uint8_t header[14];
  unsigned header_length;
  uint8_t opcode;
  bool in_payload;
  uint64_t payload_length, received;
  char kept[1024];
  size_t kept_length;
  /** The offset of the arguments in the payload; 0 if they are not compared. */
  size_t body_at;
  /** The expected arguments, byte by byte, except for the id. */
  const struct template *expected;
  bool differs;
  /** Data that the socket has not taken yet. */
  struct unsent *first, *last;
  /** Number of requested acks. */
  uint32_t asked;
  struct call *calls;
};

/** The common state of all connections. */
struct net {
  int epoll;
  /** No Socket.IO: the peer forwards frames within a group. */
  bool raw;
  struct connection *all;
  unsigned count, ready;
  uint64_t errors, heard_at;
};

extern struct net net;

/** Opens a number of connections, and waits until all are ready. */
void net_open(unsigned count);

// The load defines these.
/** Fills in role, office, port and name of a new connection. */
void describe(struct connection *c);
/** Called when the start of a message is available; may set `body_at` and `expected`. */
void message_started(struct connection *c);
/** Called when a message is complete. */
void message_received(struct connection *c);

/** Handles events until `deadline`, or until one wait has ended. */
void net_turn(uint64_t deadline);

/** Waits until there was no event for a time; five times as long at most. */
void net_settle(uint64_t silence);

/** Subscribes to events of a connection's socket; `how` is the operation of epoll_ctl(). */
void watch(struct connection *c, int how, uint32_t events);

/** Closes a connection after an error. */
void drop(struct connection *c, const char *why);

/** Counts an error; prints the first ones. */
void fault(const struct connection *c, const char *what);

// Sending; what a socket does not take yet is queued.
/** Sends two parts as one; the first is copied when the socket is full, the second stays where it is. */
void send_parts(struct connection *c, const uint8_t *first, size_t first_length,
                const uint8_t *rest, size_t rest_length);

/** Sends a frame of up to 1000 bytes. */
void send_frame(struct connection *c, uint8_t opcode, const char *text, size_t length);

/** Sends a short text frame. */
void send_text(struct connection *c, const char *text, size_t length);

/** Sends a text frame of a head and a message with this id. */
void send_template(struct connection *c, const char *head, size_t head_length,
                   const struct template *t, uint64_t id);

/** Continues sending when the socket is writable again. */
void send_waiting(struct connection *c);

// The framing of WebSockets, and the heads of Socket.IO packets.
/** Returns the payload's length, from the complete header of an unmasked frame. */
uint64_t header_length_field(const uint8_t *header);

/**
 * Reads the ack id behind a packet's namespace.
 *
 * @return where the arguments start; 0 when there is no id or no argument
 */
size_t read_ack_id(const char *packet, size_t length, size_t from, uint32_t *id);
#endif
