/* ring.c -- which server of a ring takes the next item: with servers that are simulated, whose times are given, and with threads. */
#include <criterion/criterion.h>
#include <math.h>
#include <time.h>

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

typedef struct {
  times *seconds;
  int servers;
  int64_t items;
  double input; /* seconds between two items that become ready */
  bool doubted; /* the second server is */
} scene;

typedef struct {
  ring r;
  double now, began[SERVERS], until[SERVERS]; /* of a server that works: since when, and when it is done */
  int64_t item[SERVERS], taken, done;
  bool early[ITEMS];
  outcome o;
} machine;

/* An item has a slot as soon as the item that had it before, and all before that, are done. */
static int64_t ready_at(const machine *m, const scene *s) {
  int64_t most = m->done + m->r.slots;
  if (s->input > 0 && most > (int64_t)(m->now / s->input + 1e-9) + 1) most = (int64_t)(m->now / s->input + 1e-9) + 1;
  return (most < s->items ? most : s->items) - m->taken;
}

/* Servers that are free ask, the one that has been free longest first. */
static bool take_one(machine *m, const scene *s) {
  int me = -1;
  bool asked[SERVERS] = {false};
  for (;; me = -1) {
    const int64_t ready = ready_at(m, s);
    if (ready <= 0) return false;
    for (int k = 0; k < s->servers; k++)
      if (!m->r.server[k].works && !asked[k] && (me < 0 || m->until[k] < m->until[me])) me = k;
    if (me < 0) return false;
    asked[me] = true;
    if (!ring_sits_out(&m->r, me, m->taken, ready)) break;
  }
  ring_begin(&m->r, me);
  m->began[me] = m->now;
  m->until[me] = m->now + s->seconds(me, m->o.items[me]++);
  m->o.last[me] = m->until[me];
  m->item[me] = m->taken++;
  return true;
}

/* To the next time at which something happens. */
static void advance(machine *m, const scene *s) {
  int first = -1;
  for (int k = 0; k < s->servers; k++)
    if (m->r.server[k].works && (first < 0 || m->until[k] < m->until[first])) first = k;
  const double arrival = s->input > 0 && m->taken < s->items ? ((double)(int64_t)(m->now / s->input + 1e-9) + 1) * s->input : 1e30;
  cr_assert(first >= 0 || arrival < 1e30, "all servers sit out at item %d", (int)m->taken);
  if (first < 0 || arrival < m->until[first]) {
    m->now = arrival;
    return;
  }
  m->now = m->o.end = m->until[first];
  m->early[m->item[first]] = true;
  while (m->done < m->taken && m->early[m->done]) m->done++;
  ring_count(&m->r, first, m->now - m->began[first], false);
}

static outcome simulate_scene(const scene *s) {
  static machine m;
  m = (machine){.r = {.servers = s->servers, .slots = ring_slots(s->servers), .items = s->items, .doubted = {false, s->doubted}}};
  while (m.done < s->items)
    if (!take_one(&m, s)) advance(&m, s);
  return m.o;
}

static outcome simulate(times seconds, int servers, int64_t items) {
  return simulate_scene(&(scene){.seconds = seconds, .servers = servers, .items = items});
}

Test(ring, a_server_that_was_slow_once_comes_back) {
  const outcome o = simulate(once, 2, ITEMS);
  cr_assert_geq(o.items[1], ITEMS / 2 - 50, "%d items", (int)o.items[1]);
  cr_assert_leq(o.end, 1.05 * 5 * ITEMS / 2, "%g s", o.end);
  for (int nth = 0; nth < 2; nth++) cr_assert_geq(simulate(nth ? first : even, 3, ITEMS).items[2], ITEMS / 3 - 50);
}

/* It tries an item after 7, 14, 28 and more, which costs as many stops; one that is doubted tries hardly any. */
Test(ring, a_slow_server_hardly_stops_the_others) {
  for (int doubted = 0; doubted < 2; doubted++) {
    const outcome o = simulate_scene(&(scene){.seconds = always, .servers = 2, .items = ITEMS, .doubted = doubted});
    cr_assert(o.items[1] >= 1 && o.items[1] < (doubted ? 3 : 10), "%d items", (int)o.items[1]);
    cr_assert_leq(o.end, 5 * ITEMS + 500 * (double)o.items[1], "%g s", o.end);
  }
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
    for (int nth = 0; nth < 2; nth++) ring_count(&r, k, 5, false);
  cr_assert_not(ring_sits_out(&r, 1, 4, 5));
  cr_assert_eq(r.server[1].seconds, 5);
}

/* ---- a host beside a device ---- */

static double ratio; /* seconds of the host's items, those of the device's are 1 */
static double host(int server, int64_t nth) { return server == 1 && nth >= 0 ? ratio : 1; }
static double cold(int server, int64_t nth) { return server == 0 && nth == 0 ? 30 : host(server, nth); }

/* The others do few items in the time that the host is expected to need for its first one, however fast it is. */
Test(ring, a_host_that_is_not_measured_takes_none_of_few_items) {
  ratio = 1;
  for (int64_t items = 1; items < 60; items++) {
    const outcome o = simulate_scene(&(scene){.seconds = host, .servers = 2, .items = items, .doubted = true});
    cr_assert(items < 33 ? o.items[1] == 0 && o.end == (double)items : items < 36 || o.items[1] > 0, "%d items: %d", (int)items,
              (int)o.items[1]);
  }
}

/* Whatever its speed, hardly longer than the device alone; and shorter if it is not slow. */
Test(ring, a_host_beside_a_device_does_not_delay_the_end) {
  for (int64_t items = 1; items <= ITEMS; items += 1 + items / 5)
    for (ratio = 2 / 1.3; ratio < 16; ratio *= 1.3) {
      const outcome o = simulate_scene(&(scene){.seconds = cold, .servers = 2, .items = items, .doubted = true});
      cr_assert_leq(o.end, 1.1 * (29 + (double)items), "1 : %g, %d items, %d by the host: %g s", ratio, (int)items, (int)o.items[1], o.end);
      if (items > 200 && ratio < 1.9) cr_assert_lt(o.end, 0.9 * (29 + (double)items), "1 : %g, %d items: %g s", ratio, (int)items, o.end);
    }
}

/* The device waits for its input half of the time. */
Test(ring, a_slow_server_takes_nothing_where_a_fast_one_waits) {
  ratio = 3;
  for (int doubted = 0; doubted < 2; doubted++) {
    const outcome o = simulate_scene(&(scene){.seconds = host, .servers = 2, .items = ITEMS, .input = 2, .doubted = doubted});
    cr_assert_leq(o.items[1], doubted ? 0 : 3, "%d items", (int)o.items[1]);
    cr_assert_leq(o.end, 2 * ITEMS + 3);
  }
}

/* ---- single steps ---- */

enum { AHEAD = 4 }; /* items that others can do with the slots of two servers, while one is at work */

static ring two_of(double fast, double slow) {
  return (ring){.servers = 2,
                .slots = ring_slots(2),
                .items = ITEMS,
                .server = {{.items = 5, .seconds = fast, .latest = fast, .works = true}, {.items = 5, .seconds = slow, .latest = slow}}};
}

static bool leaves(ring r, int64_t taken, int64_t ready) { return ring_sits_out(&r, 1, taken, ready); }

Test(ring, a_slow_server_leaves_room_at_the_end) {
  const ring r = two_of(2, 5);
  cr_assert(!leaves(r, ITEMS - 2, AHEAD) && leaves(r, ITEMS - 1, AHEAD), "a device leaves what another one does before it");
  ring host_beside = r;
  host_beside.doubted[1] = true;
  cr_assert(leaves(host_beside, 0, AHEAD), "a host that is known to be slow leaves all");
}

Test(ring, a_slow_server_leaves_few_ready_items_without_a_pause) {
  ring r = two_of(2, 5);
  cr_assert(ring_sits_out(&r, 1, 100, 1) && !r.server[1].left, "two items of 2 s come first");
  cr_assert_not(ring_sits_out(&r, 1, 100, 2));
  r.server[0].works = false;
  cr_assert(ring_sits_out(&r, 1, 100, 2) && !r.server[1].left, "the faster one is free");
}

Test(ring, the_first_item_of_a_doubted_server_counts_as_half) {
  ring r = two_of(1, 0);
  r.doubted[1] = true;
  r.server[1] = (ring_server){.items = 1, .first = 7.9};
  cr_assert_not(leaves(r, 100, AHEAD));
  r.server[1].first = 8.1;
  cr_assert(leaves(r, 100, AHEAD));
  r.doubted[1] = false;
  cr_assert_not(leaves(r, 100, AHEAD));
}

Test(ring, pauses_double_until_an_item_is_fast_enough) {
  ring r = two_of(1, 10);
  for (int64_t pause = r.slots, taken = 0; pause <= 4 * r.slots; pause *= 2) {
    cr_assert(ring_sits_out(&r, 1, taken, AHEAD) && ring_sits_out(&r, 1, taken + pause - 1, AHEAD));
    taken += pause;
    cr_assert_not(ring_sits_out(&r, 1, taken, AHEAD), "pause of %d", (int)pause);
    ring_begin(&r, 1);
    ring_count(&r, 1, 10, false);
  }
  r.server[1].seconds = 3;
  cr_assert_not(ring_sits_out(&r, 1, 100, AHEAD));
  cr_assert_eq(r.server[1].pause, 0);
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

/* Servers of different speed wait for each other in any way that the rules know; whoever works, all items pass. */
static sptrsm_status solve_slowly(void *context, int64_t item, int slot, int server) {
  nanosleep(&(struct timespec){.tv_nsec = server == 0 ? 100000 : 900000 * server}, NULL);
  return item >= 0 ? solve(context, item, slot, server) : SPTRSM_ERR_INTERNAL;
}

Test(ring, every_item_passes_whoever_sits_out) {
  for (int doubted = 0; doubted < 1 << SERVERS; doubted++) {
    counts c = {0};
    ring r = {.stages = {fetch, solve_slowly, check, store},
              .home = HOME,
              .servers = SERVERS,
              .slots = ring_slots(SERVERS),
              .items = 300,
              .context = &c};
    for (int k = 0; k < SERVERS; k++) r.doubted[k] = doubted >> k & 1;
    cr_assert_eq(ring_run(&r), SPTRSM_OK);
    cr_assert(c.next[0] == 300 && c.solved == 300 && c.next[2] == 300 && c.next[3] == 300);
  }
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
