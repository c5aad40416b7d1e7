/* write_kernels.cu -- second half of the partition on the device: the tiles found by part_kernels.cu are written to the arrays of tiles.h:
 * words, shapes, positions and items; and for each stored value its source in the view, so that one kernel copies values of all types
 * (values_kernels.cu). Deterministic. */
#include "trsv/tiles/gpu/part.cuh"

namespace spti {

/* ---- words and shapes ---- */

/* In an item COO tiles come first. */
SPTI_KERNEL(PART_THREADS) tile_words_kernel(spti_tile_part_args a) {
  const int64_t t = part_thread();
  if (t >= a.sorted_tiles) return;
  const part_shape shape = unpacked_shape(load_const(a.shape + t));
  if (shape.format == SPTI_TILE_FORMATS) return;
  const int64_t key = load_const(a.sorted_key + load_const(a.begin + t));
  const tiles_of_row tile_row(a, own_tile_row(a, key));
  const int32_t in_tile_row = int32_t(t) - tile_row.begin, step = a.by_columns ? tile_row.count : a.most;
  const int32_t first = in_tile_row / step * step, last = tile_row.count - first > step ? first + step : tile_row.count;
  const int32_t others_at_first = load_const(&a.counts[tile_row.begin + first].others);
  const int32_t others_before = load_const(&a.counts[t].others) - others_at_first;
  const int32_t coos = last - first - (load_const(&a.counts[tile_row.begin + last].others) - others_at_first);
  const bool coo = shape.format == SPTI_TILE_COO;
  const int64_t at = tile_row.number + first + (coo ? in_tile_row - first - others_before : coos + others_before);
  const int32_t code = spti_tile_code(spti_tile_format(shape.format), shape.first + 1);
  store(a.word + at, int32_t(uint32_t(other_tile_row(a, key)) << SPTI_TILE_CODE_BITS | uint32_t(code)));
  if (coo) return;
  uint8_t *bytes = a.tile_shape + 2 * int64_t(load_const(&a.counts[t].others));
  store(bytes, uint8_t(shape.first));
  store(bytes + 1, uint8_t(shape.width));
}

/* ---- entries of COO and diagonal tiles ---- */

/* Entry k of a diagonal tile, and the ends of its rows (by columns: columns) up to the entry's own that no earlier entry has
 * written. */
SPTI_DEVICE void write_inner(const spti_tile_part_args &a, int64_t e, int32_t k, int64_t byte, int32_t within, bool is_last) {
  uint8_t *ends = a.inner_byte + byte;
  const int32_t own = within >> 4, before = k > 0 ? within_tile(load_const(a.sorted_key + e - 1)) >> 4 : 0;
  for (int32_t row = before; row < own; row++) store(ends + row, uint8_t(k));
  for (int32_t row = own; row < SPTI_TILE && is_last; row++) store(ends + row, uint8_t(k + 1));
  store(ends + SPTI_TILE + k, uint8_t(within & 15));
}

SPTI_KERNEL(PART_THREADS) tile_entries_kernel(spti_tile_part_args a) {
  const int64_t e = part_thread();
  if (e >= a.entries) return;
  const int32_t t = load_const(a.tiles_to + e + 1) - 1, k = int32_t(e) - load_const(a.begin + t);
  const int32_t format = unpacked_shape(load_const(a.shape + t)).format;
  const int32_t within = within_tile(load_const(a.sorted_key + e)), source = load_const(a.sorted_source + e);
  if (format == SPTI_TILE_COO) {
    const int32_t at = load_const(&a.counts[t].coo) + k;
    store(a.coo_position + at, uint8_t(within));
    store(a.coo_source + at, source);
  } else if (format == SPTI_TILE_FORMATS) {
    store(a.inner_source + load_const(&a.counts[t].inner) + k, source);
    write_inner(a, e, k, load_const(&a.counts[t].inner_bytes), within, load_const(a.begin + t + 1) == e + 1);
  }
}

/* ---- tiles of other formats, a warp to each ---- */

/* In shared memory, of one warp. */
struct tile_rows_of {
  int32_t mask[SPTI_TILE], start[SPTI_TILE + 1]; /* columns of each row; entries before it */
};

struct tile_writer {
  const spti_tile_part_args &a;
  const tile_rows_of *rows;
  int32_t begin, entries; /* sorted */
  part_shape shape;
  tile_extent extent;
  uint8_t *position;
  int32_t *source;

  SPTI_DEVICE int32_t mask(int32_t r) const { return shared_load_relaxed(rows->mask + r); }
  SPTI_DEVICE int32_t start(int32_t r) const { return shared_load_relaxed(rows->start + r); }
  SPTI_DEVICE int32_t within(int32_t k) const { return within_tile(load_const(a.sorted_key + begin + k)); }
  SPTI_DEVICE void put_source(int32_t slot, int32_t k) const { store(source + slot, load_const(a.sorted_source + begin + k)); }

  SPTI_DEVICE void write_csr() const {
    if (lane() < extent.m) store(position + lane(), uint8_t(start(lane())));
    for (int32_t k = lane(); k < entries; k += 32) {
      store(position + extent.m + k, uint8_t(within(k) & 15));
      put_source(k, k);
    }
  }
  SPTI_DEVICE void write_slots() const {
    for (int32_t s = lane(); s < shape.width * extent.m; s += 32) {
      const int32_t r = s % extent.m, k = start(r) + s / extent.m;
      const bool is_entry = k < start(r + 1);
      store(position + s, uint8_t(is_entry ? within(k) & 15 : int32_t(SPTI_TILE_EMPTY)));
      if (is_entry) put_source(s, k);
      else store(source + s, -1);
    }
  }
  SPTI_DEVICE void write_spill() const {
    const int32_t slots = shape.width * extent.m;
    for (int32_t k = lane(); k < entries; k += 32) {
      const int32_t r = within(k) >> 4, behind = k - start(r) - shape.width;
      if (behind < 0) continue;
      int32_t before = 0;
      for (int32_t other = 0; other < r; other++) {
        const int32_t spill = start(other + 1) - start(other) - shape.width;
        before += spill > 0 ? spill : 0;
      }
      store(position + slots + before + behind, uint8_t(within(k)));
      put_source(slots + before + behind, k);
    }
  }
  SPTI_DEVICE void write_dns() const {
    for (int32_t s = lane(); s < extent.m * extent.c; s += 32) {
      const int32_t r = s % extent.m, c = s / extent.m, columns = mask(r);
      if (columns >> c & 1) put_source(s, start(r) + popcount(uint32_t(columns) & ((1u << c) - 1)));
      else store(source + s, -1);
    }
  }
  SPTI_DEVICE void write_full_rows() const {
    const uint32_t nonempty = ballot(lane() < extent.m && mask(lane() % SPTI_TILE) != 0);
    if (nonempty >> lane() & 1) store(position + popcount(nonempty & ((1u << lane()) - 1)), uint8_t(lane()));
    for (int32_t k = lane(); k < entries; k += 32) put_source(k, k);
  }
  SPTI_DEVICE void write_full_columns() const {
    if (lane() < shape.width) store(position + lane(), uint8_t(within(lane()) & 15));
    for (int32_t s = lane(); s < entries; s += 32) put_source(s, s % extent.m * shape.width + s / extent.m);
  }
  SPTI_DEVICE void write() const {
    switch (shape.format) {
    case SPTI_TILE_CSR: return write_csr();
    case SPTI_TILE_HYB: write_spill(); return write_slots();
    case SPTI_TILE_ELL: return write_slots();
    case SPTI_TILE_DNS: return write_dns();
    case SPTI_TILE_DNSROW: return write_full_rows();
    default: return write_full_columns();
    }
  }
};

/* Whole warp: mask and start of the rows of entries [begin, begin + entries). */
SPTI_DEVICE void find_rows(tile_rows_of *rows, const spti_tile_part_args &a, int32_t begin, int32_t entries) {
  if (lane() < SPTI_TILE) shared_store(rows->mask + lane(), 0);
  syncwarp();
  for (int32_t k = lane(); k < entries; k += 32) {
    const int32_t within = within_tile(load_const(a.sorted_key + begin + k));
    shared_red_or(rows->mask + (within >> 4), 1 << (within & 15));
  }
  syncwarp();
  int32_t sum = lane() < SPTI_TILE ? popcount(uint32_t(shared_load_relaxed(rows->mask + lane()))) : 0;
  for (int by = 1; by < SPTI_TILE; by *= 2) {
    const int32_t below = shfl(sum, lane() >= by ? lane() - by : lane());
    if (lane() >= by) sum += below;
  }
  if (lane() == 0) shared_store(rows->start, 0);
  if (lane() < SPTI_TILE) shared_store(rows->start + lane() + 1, sum);
  syncwarp();
}

SPTI_KERNEL(PART_THREADS) tile_others_kernel(spti_tile_part_args a) {
  SPTI_SHARED(tile_rows_of, all_rows, PART_THREADS / 32);
  const int64_t i = part_thread() / 32;
  if (i >= a.others) return;
  tile_rows_of *rows = all_rows + warp_in_block();
  const int32_t t = load_const(a.other_tile + i), begin = load_const(a.begin + t), entries = load_const(a.begin + t + 1) - begin;
  find_rows(rows, a, begin, entries);
  const tile_writer writer = {a,
                              rows,
                              begin,
                              entries,
                              unpacked_shape(load_const(a.shape + t)),
                              tile_extent(a, load_const(a.sorted_key + begin)),
                              a.position + load_const(&a.counts[t].positions),
                              a.value_source + load_const(&a.counts[t].values)};
  writer.write();
}

/* ---- items, a warp to the items of a tile row ---- */

/* Those of a long tile row are parts with tiles, then parts that add up the sums of 64 others each, in as many rounds as it
 * takes, then the final item. Item j leaves its result in block j of the tile row's blocks, but for the final one. */
struct item_words {
  int32_t word[SPTI_TILE_ITEM_WORDS];

  SPTI_DEVICE item_words(const spti_tile_part_args &a, int32_t tile_row, int64_t block) {
    for (int w = 0; w < SPTI_TILE_ITEM_WORDS; w++) word[w] = 0;
    word[SPTI_TILE_ITEM_OUT] = int32_t(uint32_t(block) | uint32_t(load_const(a.used + tile_row) - 1) << SPTI_TILE_OUT_BITS);
    word[SPTI_TILE_ITEM_INNER] = -1;
  }
  /* Tiles [first, last) of the tile row. */
  SPTI_DEVICE void set_tiles(const spti_tile_part_args &a, const tiles_of_row &tiles, int32_t tile_row, int32_t first, int32_t last) {
    const spti_tile_counts *from = a.counts + tiles.begin + first, *to = a.counts + tiles.begin + last;
    word[SPTI_TILE_ITEM_TILE] = int32_t(tiles.number) + first;
    word[SPTI_TILE_ITEM_COO] = load_const(&from->coo);
    word[SPTI_TILE_ITEM_OTHER] = load_const(&from->others);
    word[SPTI_TILE_ITEM_POSITION] = int32_t(load_const(&from->positions));
    word[SPTI_TILE_ITEM_VALUE] = int32_t(load_const(&from->values));
    word[SPTI_TILE_ITEM_INNER_BYTE] = int32_t(load_const(&a.counts[load_const(a.tile_row_begin + tile_row)].inner_bytes));
    word[SPTI_TILE_ITEM_OTHER_TILES] = load_const(&to->others) - word[SPTI_TILE_ITEM_OTHER];
    word[SPTI_TILE_ITEM_COO_TILES] = last - first - word[SPTI_TILE_ITEM_OTHER_TILES];
  }
  SPTI_DEVICE void set_sums(int64_t first, int32_t count) {
    word[SPTI_TILE_ITEM_SUM] = int32_t(first);
    word[SPTI_TILE_ITEM_SUMS] = count < SPTI_TILE_SUMS_MOST ? count : int32_t(SPTI_TILE_SUMS_MOST);
  }
  SPTI_DEVICE void write(int32_t *to) const {
    for (int w = 0; w < SPTI_TILE_ITEM_WORDS; w++) store(to + w, word[w]);
  }
};

/* Item j of the tile row, whose last one is item `parts`. */
SPTI_DEVICE item_words words_of_item(const spti_tile_part_args &a, const tiles_of_row &tiles, int32_t tile_row, int32_t j, int32_t parts) {
  const int32_t with_tiles = a.by_columns ? 0 : spti_tile_parts_with_tiles(tiles.count, a.most);
  const int64_t block = a.tile_rows + load_const(a.parts_to + tile_row);
  const bool is_final = j == parts;
  item_words words(a, tile_row, is_final ? int64_t(tile_row) : block + j);
  if (j < with_tiles) {
    words.set_tiles(a, tiles, tile_row, j * a.most, (j + 1) * a.most);
    return words;
  }
  /* The round of sums [first, first + sums) that this item adds up, or some of them. */
  int32_t first = 0, sums = with_tiles;
  for (; sums > SPTI_TILE_SUMS_MOST; first += sums, sums = (sums + SPTI_TILE_SUMS_MOST - 1) / SPTI_TILE_SUMS_MOST)
    if (j < first + sums + (sums + SPTI_TILE_SUMS_MOST - 1) / SPTI_TILE_SUMS_MOST) break;
  const int32_t done = is_final ? 0 : (j - first - sums) * SPTI_TILE_SUMS_MOST;
  words.set_sums(block + first + done, sums - done);
  if (!is_final) return words;
  words.set_tiles(a, tiles, tile_row, with_tiles * a.most, tiles.count);
  if (tiles.has_inner) words.word[SPTI_TILE_ITEM_INNER] = load_const(&a.counts[load_const(a.tile_row_begin + tile_row)].inner);
  return words;
}

SPTI_KERNEL(PART_THREADS) tile_items_kernel(spti_tile_part_args a) {
  const int64_t s = part_thread() / 32;
  if (s >= a.tile_rows) return;
  const int32_t tile_row = a.tile_row_order ? load_const(a.tile_row_order + s) : int32_t(s), parts = load_const(a.parts + tile_row);
  const tiles_of_row tiles(a, tile_row);
  const int64_t item = load_const(a.item_to + s);
  for (int32_t j = lane(); j <= parts; j += 32)
    words_of_item(a, tiles, tile_row, j, parts).write(a.item + (item + j) * SPTI_TILE_ITEM_WORDS);
}

} // namespace spti

extern "C" int spti_tile_write_launch(const spti_tile_part_args *a, void *stream) {
  using namespace spti;
  int error = SPTI_LAUNCH(tile_words_kernel, part_blocks(a->sorted_tiles), PART_THREADS, 0, stream, *a);
  if (!error) error = SPTI_LAUNCH(tile_entries_kernel, part_blocks(a->entries), PART_THREADS, 0, stream, *a);
  if (!error) error = SPTI_LAUNCH(tile_others_kernel, part_blocks(32 * int64_t(a->others)), PART_THREADS, 0, stream, *a);
  return error;
}

extern "C" int spti_tile_items_launch(const spti_tile_part_args *a, void *stream) {
  using namespace spti;
  return SPTI_LAUNCH(tile_items_kernel, part_blocks(32 * int64_t(a->tile_rows)), PART_THREADS, 0, stream, *a);
}
