#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "connection.h"

void template_set(struct template *t, char *text, size_t length) {
  char *place = memmem(text, length, ID_PLACE, ID_LENGTH);
  if (place == NULL) {
    fprintf(stderr, "A message has no place for the request id\n");
    exit(2);
  }
  t->plain = (uint8_t *)text;
  t->length = length;
  t->id_at = (size_t)(place - text);
  t->masked = malloc(length);
  if (t->masked == NULL) abort();
  for (size_t i = 0; i < length; i++) t->masked[i] = t->plain[i] ^ MASK;
}

char *read_file(const char *path, size_t *length) {
  FILE *file = fopen(path, "rb");
  if (file == NULL) {
    perror(path);
    exit(2);
  }
  size_t capacity = 1 << 16;
  char *text = malloc(capacity);
  *length = 0;
  for (size_t read = 1; read > 0; *length += read) {
    if (*length == capacity) text = realloc(text, capacity *= 2);
    if (text == NULL) abort();
    read = fread(text + *length, 1, capacity - *length, file);
  }
  fclose(file);
  return text;
}

/** Writes a number with a fixed number of decimal digits. */
static void write_digits(uint8_t *to, int count, uint64_t number) {
  for (int i = count - 1; i >= 0; i--, number /= 10) {
    to[i] = (uint8_t)('0' + number % 10);
  }
}

struct template *template_of_pair(const char *text, size_t length, unsigned pair) {
  char *copy = malloc(length);
  struct template *t = malloc(sizeof *t);
  if (copy == NULL || t == NULL) abort();
  memcpy(copy, text, length);
  for (char *at = copy; (at = memmem(at, length - (size_t)(at - copy), PAIR_PLACE, PAIR_LENGTH)) != NULL;) {
    write_digits((uint8_t *)at, PAIR_LENGTH, pair);
  }
  template_set(t, copy, length);
  return t;
}

/** Writes the header of a masked frame that is not split; returns its length, at most 14. */
static size_t frame_header(uint8_t *to, uint8_t opcode, uint64_t length) {
  size_t at = 0;
  to[at++] = 0x80 | opcode;
  int bytes = length < 126 ? 0 : length < 65536 ? 2 : 8;
  to[at++] = 0x80 | (bytes == 0 ? (uint8_t)length : bytes == 2 ? 126 : 127);
  for (int i = bytes - 1; i >= 0; i--) to[at++] = (uint8_t)(length >> (8 * i));
  for (int i = 0; i < 4; i++) to[at++] = MASK;
  return at;
}

uint64_t header_length_field(const uint8_t *header) {
  int bytes = header[1] == 126 ? 2 : header[1] == 127 ? 8 : 0;
  if (bytes == 0) return header[1] & 127;
  uint64_t length = 0;
  for (int i = 0; i < bytes; i++) length = length << 8 | header[2 + i];
  return length;
}

size_t read_ack_id(const char *packet, size_t length, size_t from, uint32_t *id) {
  size_t at = from;
  *id = 0;
  while (at < length && packet[at] >= '0' && packet[at] <= '9') {
    *id = *id * 10 + (uint32_t)(packet[at++] - '0');
  }
  return at > from && at < length && packet[at] == '[' ? at : 0;
}

/** Queued bytes: copied ones first, then those of a template. */
struct unsent {
  struct unsent *next;
  const uint8_t *at;
  size_t left;
  uint8_t own[];
};

/** Adds to the queue, and waits for the socket to become writable. */
static void wait_to_send(struct connection *c, const uint8_t *bytes,
                         size_t length, bool own) {
  if (length == 0) return;
  struct unsent *item = malloc(sizeof *item + (own ? length : 0));
  if (item == NULL) abort();
  *item = (struct unsent){.at = bytes, .left = length};
  if (own) {
    memcpy(item->own, bytes, length);
    item->at = item->own;
  }
  if (c->last != NULL) {
    c->last->next = item;
  } else {
    c->first = item;
    watch(c, EPOLL_CTL_MOD, EPOLLIN | EPOLLOUT);
  }
  c->last = item;
}

void send_waiting(struct connection *c) {
  while (c->first != NULL) {
    struct unsent *item = c->first;
    ssize_t sent = send(c->fd, item->at, item->left, MSG_NOSIGNAL);
    if (sent < 0) {
      if (errno != EAGAIN) drop(c, "cannot send");
      return;
    }
    item->at += sent;
    item->left -= (size_t)sent;
    if (item->left > 0) return;
    c->first = item->next;
    free(item);
  }
  c->last = NULL;
  watch(c, EPOLL_CTL_MOD, EPOLLIN);
}

void send_parts(struct connection *c, const uint8_t *first, size_t first_length,
                const uint8_t *rest, size_t rest_length) {
  if (c->state == CLOSED) return;
  size_t sent = 0;
  if (c->first == NULL) {
    struct iovec parts[2] = {{(void *)first, first_length}, {(void *)rest, rest_length}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = rest_length > 0 ? 2 : 1};
    ssize_t result = sendmsg(c->fd, &message, MSG_NOSIGNAL);
    if (result < 0 && errno != EAGAIN) return drop(c, "cannot send");
    if (result > 0) sent = (size_t)result;
  }
  if (sent < first_length) {
    wait_to_send(c, first + sent, first_length - sent, true);
    sent = first_length;
  }
  wait_to_send(c, rest + (sent - first_length), rest_length - (sent - first_length), false);
}

/** Templates up to this length are copied whole: one buffer is cheaper than two. */
#define COPIED 4096

void send_template(struct connection *c, const char *head, size_t head_length,
                   const struct template *t, uint64_t id) {
  uint8_t buffer[COPIED + 64];
  size_t length = frame_header(buffer, 1, head_length + t->length);
  for (size_t i = 0; i < head_length; i++) buffer[length++] = (uint8_t)head[i] ^ MASK;
  size_t copied = t->length <= COPIED ? t->length : t->id_at + ID_LENGTH;
  memcpy(buffer + length, t->masked, copied);
  uint8_t digits[ID_LENGTH];
  write_digits(digits, ID_LENGTH, id);
  for (int i = 0; i < ID_LENGTH; i++) buffer[length + t->id_at + i] = digits[i] ^ MASK;
  send_parts(c, buffer, length + copied, t->masked + copied, t->length - copied);
}

void send_frame(struct connection *c, uint8_t opcode, const char *text, size_t length) {
  uint8_t buffer[1024];
  size_t at = frame_header(buffer, opcode, length);
  for (size_t i = 0; i < length; i++) buffer[at++] = (uint8_t)text[i] ^ MASK;
  send_parts(c, buffer, at, NULL, 0);
}

void send_text(struct connection *c, const char *text, size_t length) {
  send_frame(c, 1, text, length);
}
