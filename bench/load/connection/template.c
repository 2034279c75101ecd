#define _GNU_SOURCE
#include "connection/template.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

void write_digits(uint8_t *to, int count, uint64_t number) {
  for (int i = count - 1; i >= 0; i--, number /= 10) {
    to[i] = (uint8_t)('0' + number % 10);
  }
}
