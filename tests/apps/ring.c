/* ring.c -- which server of a ring takes the next item: with servers that are simulated, whose times are given, and with threads. */
#include <criterion/criterion.h>

#include "solve/ring.h"

enum { ITEMS = 1000, SERVERS = 3, HOME = 1 };

typedef double times(int server, int64_t nth);

typedef struct {
  double end, last[SERVERS]; /* when the last item is done, the last one of each server */
  int64_t items[SERVERS];
} outcome;

static double even(int server, int64_t nth) { return server >= 0 && nth >= 0 ? 5 : 0; }
static double once(int server, int64_t nth) { return server == 1 && nth == 1 ? 60 : 5; }
static double first(int server, int64_t nth) { return nth == 0 ? 500 + server : 5; }
static double always(int server, int64_t nth) { return server == 1 && nth >= 0 ? 500 : 5; }
static double slower(int server, int64_t nth) { return server == 1 && nth >= 0 ? 19 : 5; }

/* A server that sat out and comes back, else the one that is free first of those that go on. */
static int who_takes(ring *r, const double *free_at, int64_t taken) {
  for (int k = 0; k < r->servers; k++)
    if (r->server[k].left && !ring_sits_out(r, k, taken)) return k;
  for (;;) {
    int me = -1;
    for (int k = 0; k < r->servers; k++)
      if (!r->server[k].left && (me < 0 || free_at[k] < free_at[me])) me = k;
    cr_assert_geq(me, 0, "all servers sit out at item %d", (int)taken);
    if (!ring_sits_out(r, me, taken)) return me;
  }
}

/* An item has a slot as soon as the item that had it before, and all before that, are done. */
static outcome simulate(times seconds, int servers, int64_t items) {
  ring r = {.servers = servers, .slots = ring_slots(servers), .items = items};
  double free_at[SERVERS] = {0}, done[ITEMS], now = 0;
  outcome o = {0};
  for (int64_t i = 0; i < items; i++) {
    const int me = who_takes(&r, free_at, i);
    const double slot = i >= r.slots ? done[i - r.slots] : 0, spent = seconds(me, o.items[me]++);
    if (now < free_at[me]) now = free_at[me];
    if (now < slot) now = slot;
    free_at[me] = now + spent;
    done[i] = i > 0 && done[i - 1] > free_at[me] ? done[i - 1] : free_at[me];
    ring_count(&r.server[me], spent);
  }
  o.end = done[items - 1];
  for (int k = 0; k < servers; k++) o.last[k] = free_at[k];
  return o;
}

Test(ring, a_server_that_was_slow_once_comes_back) {
  const outcome o = simulate(once, 2, ITEMS);
  cr_assert_geq(o.items[1], ITEMS / 2 - 50, "%d items", (int)o.items[1]);
  cr_assert_leq(o.end, 1.05 * 5 * ITEMS / 2, "%g s", o.end);
  for (int nth = 0; nth < 2; nth++) cr_assert_geq(simulate(nth ? first : even, 3, ITEMS).items[2], ITEMS / 3 - 50);
}

/* It tries an item after 7, 14, 28 and more, which costs as many stops. */
Test(ring, a_slow_server_hardly_stops_the_others) {
  const outcome o = simulate(always, 2, ITEMS);
  cr_assert(o.items[1] > 2 && o.items[1] < 10, "%d items", (int)o.items[1]);
  cr_assert_leq(o.end, 5 * ITEMS + 500 * (double)o.items[1], "%g s", o.end);
}

Test(ring, no_server_works_long_after_the_others_have_ended) {
  for (int64_t items = 20; items < 60; items++) {
    const outcome o = simulate(slower, 2, items);
    cr_assert_geq(o.items[1], items / 5 - 2, "%d items of %d", (int)o.items[1], (int)items);
    cr_assert_leq(o.last[1] - o.last[0], 10, "%d items: %g and %g s", (int)items, o.last[0], o.last[1]);
  }
}

static double tenth(int server, int64_t nth) { return server == 1 && nth >= 0 ? 50 : 5; }

/* Its first item tells that it would be done with another one long after the others are done with the rest. */
Test(ring, a_slow_server_takes_none_of_few_items_after_its_first) {
  for (int64_t items = 2; items < 18; items++) {
    const outcome o = simulate(tenth, 2, items);
    cr_assert_eq(o.items[1], 1, "%d items of %d", (int)o.items[1], (int)items);
    cr_assert_leq(o.end, items <= 8 ? 50 : 50 + 5 * (double)(items - 8), "%d items: %g s", (int)items, o.end); /* 8 before it in slots */
  }
}

Test(ring, a_server_that_goes_on_keeps_its_measure) {
  ring r = {.servers = 2, .slots = ring_slots(2), .items = ITEMS};
  for (int k = 0; k < 2; k++)
    for (int nth = 0; nth < 2; nth++) ring_count(&r.server[k], 5);
  cr_assert_not(ring_sits_out(&r, 1, 4));
  cr_assert_eq(r.server[1].seconds, 5);
}

/* ---- with threads ---- */

typedef struct {
  int64_t next[RING_STAGES];
  int64_t solved;
} counts;

static sptrsm_status in_order(void *context, int64_t item, int stage) {
  counts *c = context;
  return c->next[stage]++ == item ? SPTRSM_OK : SPTRSM_ERR_INTERNAL;
}

static sptrsm_status fetch(void *context, int64_t item, int slot, int server) {
  return slot >= 0 && server == 0 ? in_order(context, item, 0) : SPTRSM_ERR_INTERNAL;
}

static sptrsm_status solve(void *context, int64_t item, int slot, int server) {
  counts *c = context;
  const bool good = slot == (int)(item % ring_slots(SERVERS)) && server >= 0 && server < SERVERS;
  __atomic_fetch_add(&c->solved, 1, __ATOMIC_RELAXED);
  return good ? SPTRSM_OK : SPTRSM_ERR_INTERNAL;
}

static sptrsm_status check(void *context, int64_t item, int slot, int server) {
  return slot >= 0 && server == 0 ? in_order(context, item, 2) : SPTRSM_ERR_INTERNAL;
}

static sptrsm_status store(void *context, int64_t item, int slot, int server) {
  return slot >= 0 && server == 0 ? in_order(context, item, 3) : SPTRSM_ERR_INTERNAL;
}

Test(ring, every_item_passes_once_and_in_order) {
  counts c = {0};
  ring r = {.stages = {fetch, solve, check, store},
            .home = HOME,
            .servers = SERVERS,
            .slots = ring_slots(SERVERS),
            .items = ITEMS,
            .context = &c};
  cr_assert_eq(ring_run(&r), SPTRSM_OK);
  cr_assert(c.next[0] == ITEMS && c.solved == ITEMS && c.next[2] == ITEMS && c.next[3] == ITEMS);
  cr_assert_eq(r.server[0].items + r.server[1].items + r.server[2].items, ITEMS);
}

static bool has_last_slot(const void *context, int slot) { return context && slot == ring_slots(SERVERS) - 1; }

/* Other ranks have taken the panels. */
Test(ring, empty_items_are_not_counted) {
  enum { ROUNDS = 50 };
  counts c = {0};
  ring r = {.stages = {fetch, solve, check, store},
            .home = HOME,
            .servers = SERVERS,
            .slots = ring_slots(SERVERS),
            .items = ROUNDS * ring_slots(SERVERS),
            .is_empty = has_last_slot,
            .context = &c};
  cr_assert_eq(ring_run(&r), SPTRSM_OK);
  cr_assert_eq(c.solved, r.items);
  cr_assert_eq(r.server[0].items + r.server[1].items + r.server[2].items, r.items - ROUNDS);
}
