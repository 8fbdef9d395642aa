/* Batches of `sutton-barto` or `td` on 3x3, tuned by hand: the limit that the package's kernels are measured against.
 *
 * Plays the games that the package plays, from the same random numbers, learns the same from them, and ends in the same
 * bytes.  Everything that can be arranged for one board, one learner and one processor is.  A batch has three parts:
 *
 *   walk  every game, from one decision of chance to the next; decisions are counted by edge;
 *   down  one sweep down the plies: what was drawn and what follows from it becomes a count for every edge;
 *   up    one sweep up: each row learns, lists its best moves for the next batch, and lays its course.
 *
 * What pays: all rows of a ply have equally many moves and parents, so the sweeps are straight-line code over sixteen
 * rows at once, and all rows are cheaper than looking for those that matter.  Each edge keeps copies of the values that
 * its child has for both players: a row that learnt writes them to its few parents, and no sweep gathers.
 *
 * What did not pay: laying only courses that changed (gains at epsilon 0.01, loses from 0.1 on), both values of a child
 * in one store, decisions of 32 bits, other sizes of BLOCK; and, of what pays in the package, dropping games while their
 * courses are followed (walks 0.77 to 0.9 times as fast) and opening them from a table of all sets of plies (0.69 to
 * 0.93): both give up the vectors that drop and open eight games at a time here.
 *
 *     gcc -O3 -march=native -mprefer-vector-width=512 -ffp-contract=off -o tuned tuned.c
 *     ./tuned INPUT OUTPUT BATCH WARM BATCHES
 *
 * tuned.py writes INPUT and reads OUTPUT: the values, and how often each final row was reached.  WARM batches are not
 * timed.  Prints the games, the seconds, and the nanoseconds a batch by part.
 */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef __AVX512F__
#include <immintrin.h>
#endif

#define PLIES 9
#define LANES 16                      /* rows side by side in the sweeps, and in memory for each of their edges */
#define BLOCKS(n) (((n) + LANES - 1) / LANES * LANES)
#define ROWS BLOCKS(4520 + PLIES * (LANES - 1))  /* unfinished rows, each ply padded to whole blocks */
#define SLOTS BLOCKS(16167 + 45 * (LANES - 1))   /* their edges */
#define FINAL (2 * ROWS)              /* stands for all final positions: walking needs to know no more */
#define BLOCK 2048                    /* games abreast */
#define PIECE 32768                   /* games before counts of 16 bits could overflow */
#define MAX_FINALS 1024

#define GOLDEN 0x9E3779B97F4A7C15u
#define MIX_1 0xBF58476D1CE4E5B9u
#define MIX_2 0x94D049BB133111EBu
#define STRIDE (128 * GOLDEN)         /* numbers that each game owns, as the distance from game to game */

#define INLINE static inline __attribute__((always_inline))
#define ALIGNED __attribute__((aligned(64)))

typedef uint32_t u32x16 __attribute__((vector_size(64)));
typedef uint32_t u32x8 __attribute__((vector_size(32)));
typedef int64_t i64x8 __attribute__((vector_size(64)));
typedef double f64x8 __attribute__((vector_size(64)));
typedef uint16_t u16x8 __attribute__((vector_size(16)));
typedef uint16_t u16x8_anywhere __attribute__((vector_size(16), aligned(2), may_alias));

enum { SUTTON_BARTO, TD };

/* Graph.  Blocks of sixteen rows: slot of edge j of a row = slot_of[row] + LANES * j. */
static int row_start[PLIES + 1], block_slot[PLIES];
static uint16_t slot_of[ROWS], begin[ROWS];
static uint16_t parent_slot[ROWS * 4 + 4 * LANES];  /* (ply + 1) / 2 slots that lead to a row of that ply; at most 4 */
static int parent_start[PLIES];
static int final_of[SLOTS];                        /* the final row that an edge leads to, or -1 */

/* Policy. */
static uint32_t best[ROWS] ALIGNED; /* set of the best moves, a bit each */
/* At 2 * row for a greedy move where several are best, at 2 * row + 1 for an exploratory one: the moves to choose among
 * (four bits each), from bit 36 on their number, in bit 40 whether it explores, from bit 48 on where to count.  0: the
 * game is over.
 * Tables of 32 bits, completed from the set of moves, made the walk 1.1 to 1.5 times as long. */
static uint64_t decision[2 * ROWS + 2] ALIGNED;
/* Course of a row from its ply p on, entry[begin + q] for q from p to 9: index of the decision at which a game stands
 * that next explores at ply q.  As many entries a row as its ply needs: the table is read at random and small. */
static const int width[PLIES] = {16, 16, 8, 8, 6, 6, 4, 4, 2};
static uint16_t entry[32768] ALIGNED;

/* Counts.  In the first half of `drawn` exploring moves, in the second greedy ones among several: the count in the
 * upper 16 bits; in the lower ones, constant, where the course of the child begins.  One load brings both. */
static uint32_t drawn[2 * SLOTS] ALIGNED;
static uint32_t many[2 * SLOTS] ALIGNED;  /* what earlier pieces of a large batch drew */
static uint32_t arrived[ROWS] ALIGNED, greedy[SLOTS] ALIGNED, total[SLOTS] ALIGNED, ended[SLOTS] ALIGNED;
static uint64_t ended_before[SLOTS];

/* Tables: the values of each row and, by slot, of its child for the row's mover and for the other player.  td knows one
 * value, the first player's, and keeps it in the first of the two. */
static double own[ROWS] ALIGNED, other[ROWS] ALIGNED;
static double child_own[SLOTS] ALIGNED, child_other[SLOTS] ALIGNED;

/* Settings. */
static uint64_t key, chance[512] ALIGNED;
static double gamma_, *weights;
static uint32_t last_weight;

/* ---- walk ---- */

/* The games abreast. */
static uint64_t where[BLOCK + 8] ALIGNED;     /* the decision at which it stands */
static uint64_t game_of[BLOCK + 8] ALIGNED;   /* number (bits 16-63) and plies at which it will explore, a bit each */
static uint32_t counted[BLOCK + 8] ALIGNED;   /* where the move it has chosen is counted */
static uint32_t next_ply[BLOCK + 8] ALIGNED;  /* where it explores next */

INLINE uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * MIX_1;
    z = (z ^ (z >> 27)) * MIX_2;
    return z ^ (z >> 31);
}

/* The lowest set bit. */
INLINE uint64_t lowest(uint64_t set)
{
    return (uint64_t)__builtin_popcountll((set - 1) & ~set);
}

/* Draw the exploring plies of n games: set c where the draw lies below the threshold of column c, else another one.
 * Threshold and other set share a word (a column that is never left has threshold 0 and itself as the other).
 * Returns how many games meet a decision at all; compressing saves a loop of its own for those that do not. */
static int begin_games(uint64_t first, int n, const uint64_t at_root[16])
{
    int left = 0, i = 0;
#ifdef __AVX512VPOPCNTDQ__
    const __m512i one = _mm512_set1_epi64(1), columns = _mm512_set1_epi64(511);
    const __m512i steps = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7);
    for (; i + 8 <= n; i += 8) {
        __m512i game = _mm512_add_epi64(_mm512_set1_epi64((int64_t)(first + (uint64_t)i)), steps);
        __m512i z = _mm512_add_epi64(_mm512_mullo_epi64(steps, _mm512_set1_epi64((int64_t)STRIDE)),
                                     _mm512_set1_epi64((int64_t)(key + (first + (uint64_t)i) * STRIDE)));
        z = _mm512_mullo_epi64(_mm512_xor_si512(z, _mm512_srli_epi64(z, 30)), _mm512_set1_epi64((int64_t)MIX_1));
        z = _mm512_mullo_epi64(_mm512_xor_si512(z, _mm512_srli_epi64(z, 27)), _mm512_set1_epi64((int64_t)MIX_2));
        z = _mm512_xor_si512(z, _mm512_srli_epi64(z, 31));
        __m512i word = _mm512_i64gather_epi64(_mm512_and_si512(z, columns), chance, 8);
        __mmask8 keep = _mm512_cmplt_epu64_mask(_mm512_or_si512(z, columns), word);
        __m512i plies = _mm512_and_si512(_mm512_mask_mov_epi64(word, keep, z), columns);
        plies = _mm512_or_si512(plies, _mm512_set1_epi64(1 << PLIES));
        __m512i ply = _mm512_popcnt_epi64(_mm512_andnot_si512(plies, _mm512_sub_epi64(plies, one)));
        __m512i at = _mm512_permutex2var_epi64(_mm512_load_si512(at_root), ply, _mm512_load_si512(at_root + 8));
        __mmask8 playing = _mm512_test_epi64_mask(at, at);
        game = _mm512_or_si512(_mm512_slli_epi64(game, 16), plies);
        _mm512_storeu_si512(where + left, _mm512_maskz_compress_epi64(playing, at));
        _mm512_storeu_si512(game_of + left, _mm512_maskz_compress_epi64(playing, game));
        left += __builtin_popcount(playing);
    }
#endif
    for (; i < n; i++) {
        uint64_t bits = mix(key + (first + (uint64_t)i) * STRIDE);
        uint64_t word = chance[bits & 511];
        uint64_t plies = ((bits | 511) < word ? bits & 511 : word & 511) | 1 << PLIES;
        game_of[left] = (first + (uint64_t)i) << 16 | plies;
        where[left] = at_root[lowest(plies)];
        left += where[left] != 0;
    }
    return left;
}

/* Drop the games that are over; return how many are not. */
static int drop_finished(int n)
{
    int left = 0;
#ifdef __AVX512F__
    for (int i = n; i < (n + 7) / 8 * 8; i++)
        where[i] = 0;
    for (int i = 0; i < n; i += 8) {
        __m512i at = _mm512_load_si512(where + i), game = _mm512_load_si512(game_of + i);
        __mmask8 playing = _mm512_test_epi64_mask(at, at);
        /* Compressing into a register: into memory is microcode on some processors. */
        _mm512_storeu_si512(where + left, _mm512_maskz_compress_epi64(playing, at));
        _mm512_storeu_si512(game_of + left, _mm512_maskz_compress_epi64(playing, game));
        left += __builtin_popcount(playing);
    }
#else
    for (int i = 0; i < n; i++) {
        where[left] = where[i];
        game_of[left] = game_of[i];
        left += where[i] != 0;
    }
#endif
    return left;
}

/* Choose the moves of n games at their decision of this number: arithmetic alone, eight at a time. */
static void choose(int n, uint64_t number)
{
    uint64_t start = key + number * GOLDEN;
    for (int i = 0; i < n; i++) {
        uint64_t at = where[i], game = game_of[i];
        uint64_t bits = mix(start + (game >> 16) * STRIDE) >> 32;
        uint64_t pick = (bits * (uint64_t)(uint32_t)(at >> 36 & 15)) >> 32;
        counted[i] = (uint32_t)((at >> 48) + (at >> 4 * pick & 15) * LANES);
        game &= game - (at >> 40 & 1); /* an exploration is done with */
        game_of[i] = game;
        next_ply[i] = (uint32_t)lowest(game);
    }
}

/* Count the moves and follow the courses behind them: loads alone. */
static void follow(int n)
{
#pragma GCC unroll 4
    for (int i = 0; i < n; i++) {
        uint32_t seen = drawn[counted[i]];
        drawn[counted[i]] = seen + (1 << 16);
        where[i] = decision[entry[(seen & 0xFFFF) + next_ply[i]]];
    }
}

static void walk(uint64_t first, uint64_t last)
{
    uint64_t at_root[16] ALIGNED = {0};
    for (int ply = 0; ply <= PLIES; ply++)
        at_root[ply] = decision[entry[begin[0] + ply]];
    for (; first < last; first += BLOCK) {
        int n = (int)(last - first < BLOCK ? last - first : BLOCK);
        n = begin_games(first, n, at_root);
        for (uint64_t number = 1; n > 0; number++) {
            choose(n, number);
            follow(n);
            n = drop_finished(n);
        }
    }
}

/* Widen what was drawn, before 16 bits overflow. */
static void put_aside(void)
{
    for (int slot = 0; slot < 2 * SLOTS; slot++) {
        many[slot] += drawn[slot] >> 16;
        drawn[slot] &= 0xFFFF;
    }
}

/* ---- down ---- */

INLINE u32x16 take(uint32_t *from, uint32_t *aside, int large)
{
    u32x16 *here = (u32x16 *)from, count = *here >> 16;
    *here &= 0xFFFF;
    if (large) {
        count += *(u32x16 *)aside;
        *(u32x16 *)aside = (u32x16){0};
    }
    return count;
}

/* Rows of one ply: those who arrived and did not explore took the only best move, or one of several as drawn. */
INLINE void down_ply(int ply, int large)
{
    int moves = PLIES - ply, parents = (ply + 1) / 2;
    int row = row_start[ply], slot = block_slot[ply];
    for (; row < row_start[ply + 1]; row += LANES, slot += LANES * moves) {
        const uint16_t *from = parent_slot + parent_start[ply] + (row - row_start[ply]) * parents;
        for (int lane = 0; ply > 0 && lane < LANES; lane++) {
            uint32_t sum = 0;
            for (int i = 0; i < parents; i++)
                sum += total[from[lane * parents + i]];
            arrived[row + lane] = sum;
        }
        u32x16 rest = *(u32x16 *)(arrived + row), set = *(u32x16 *)(best + row), exploring[PLIES];
        for (int j = 0; j < moves; j++) {
            exploring[j] = take(drawn + slot + LANES * j, many + slot + LANES * j, large);
            rest -= exploring[j];
        }
        rest &= (u32x16)((set & (set - 1)) == 0);
        for (int j = 0; j < moves; j++) {
            u32x16 only = (u32x16)(set == (u32x16){} + (1u << j)) & rest;
            only += take(drawn + SLOTS + slot + LANES * j, many + SLOTS + slot + LANES * j, large);
            *(u32x16 *)(greedy + slot + LANES * j) = only;
            *(u32x16 *)(total + slot + LANES * j) = only + exploring[j];
            if (ply >= 4) /* no game ends before five moves */
                *(u32x16 *)(ended + slot + LANES * j) += only + exploring[j];
        }
    }
}

INLINE void down(uint32_t games, int large)
{
    arrived[0] = games;
    /* Written out, so that each has constant numbers of moves and parents. */
    down_ply(0, large), down_ply(1, large), down_ply(2, large);
    down_ply(3, large), down_ply(4, large), down_ply(5, large);
    down_ply(6, large), down_ply(7, large), down_ply(8, large);
}

/* ---- up ---- */

INLINE i64x8 wide(u32x8 n)
{
    return __builtin_convertvector(n, i64x8);
}

INLINE f64x8 real(u32x8 n)
{
    return __builtin_convertvector(n, f64x8);
}

INLINE f64x8 choose_f64(i64x8 mask, f64x8 yes, f64x8 no)
{
    return (f64x8)((mask & (i64x8)yes) | (~mask & (i64x8)no));
}

INLINE f64x8 share_of(u32x8 visits)
{
#ifdef __AVX512VL__
    __m256i column = _mm256_min_epu32((__m256i)visits, _mm256_set1_epi32((int)last_weight));
    return (f64x8)_mm512_i32gather_pd(column, weights, 8);
#else
    f64x8 share;
    for (int lane = 0; lane < 8; lane++)
        share[lane] = weights[visits[lane] < last_weight ? visits[lane] : last_weight];
    return share;
#endif
}

/* The sets of best moves changed in some of sixteen rows: list them; rare enough for a branch and a loop. */
static __attribute__((noinline)) void list_moves(int row, int moves, u32x16 sets)
{
    for (int lane = 0; lane < LANES; lane++) {
        uint64_t set = sets[lane], list = 0, n = 0;
        if (set == best[row + lane])
            continue;
        best[row + lane] = (uint32_t)set;
        for (uint64_t j = 0; j < (uint64_t)moves; j++) {
            list |= (set >> j & 1) * j << 4 * n;
            n += set >> j & 1;
        }
        decision[2 * (row + lane)] = (uint64_t)(slot_of[row + lane] + SLOTS) << 48 | n << 36 | list;
    }
}

/* The course of a row: its only best child's, or it stands at the row; at its own ply it explores there. */
INLINE void lay_course(int ply, int row, int start, int slot)
{
    uint32_t set = best[row], child = drawn[slot + LANES * __builtin_ctz(set)] & 0xFFFF;
    if (ply < 2) { /* longer than eight entries */
        for (int q = ply + 1; q <= PLIES; q++)
            entry[start + q] = set & (set - 1) ? (uint16_t)(2 * row) : entry[child + q];
        entry[start + ply] = (uint16_t)(2 * row + 1);
    } else {
        u16x8 several = (u16x8){} - (uint16_t)((set & (set - 1)) != 0);
        u16x8 stays = (u16x8){} + (uint16_t)(2 * row);
        u16x8 course = (stays & several) | (*(u16x8_anywhere *)(entry + child + ply) & ~several);
        course[0] = (uint16_t)(2 * row + 1);
        /* Reaches into the next row, which is laid after it. */
        *(u16x8_anywhere *)(entry + start + ply) = course;
    }
}

/* Eight of the sixteen rows of a block: learn, and return the set of best moves. */
INLINE u32x8 up_half(int ply, int row, int slot, int learner, int any)
{
    int moves = PLIES - ply;
    f64x8 values[PLIES], top;
    for (int j = 0; j < moves; j++) {
        values[j] = *(f64x8 *)(child_own + slot + LANES * j);
        if (j == 0)
            top = values[j];
        else
            top = choose_f64(learner == TD && ply & 1 ? values[j] < top : values[j] > top, values[j], top);
    }
    if (any) {
        u32x8 visits = *(u32x8 *)(arrived + row);
        f64x8 before = *(f64x8 *)(own + row);
        if (learner == TD) {
            f64x8 after = before + share_of(visits) * (gamma_ * top - before);
            *(f64x8 *)(own + row) = choose_f64(wide(visits) != 0, after, before);
        } else {
            u32x8 own_visits = {0};
            f64x8 own_sum = {0}, other_sum = {0}, other_before = *(f64x8 *)(other + row);
            for (int j = 0; j < moves; j++) {
                u32x8 taken = *(u32x8 *)(greedy + slot + LANES * j);
                own_visits += taken;
                own_sum += real(taken) * values[j];
                other_sum += real(*(u32x8 *)(total + slot + LANES * j)) * *(f64x8 *)(child_other + slot + LANES * j);
            }
            f64x8 after = before + share_of(own_visits) * (gamma_ * (own_sum / real(own_visits)) - before);
            *(f64x8 *)(own + row) = choose_f64(wide(own_visits) != 0, after, before);
            after = other_before + share_of(visits) * (gamma_ * (other_sum / real(visits)) - other_before);
            *(f64x8 *)(other + row) = choose_f64(wide(visits) != 0, after, other_before);
        }
    }
    i64x8 set = {0};
    for (int j = 0; j < moves; j++)
        set |= (values[j] == top) & ((i64x8){} + (1 << j));
    return __builtin_convertvector(set, u32x8);
}

/* Hand the values of the rows that learnt to the edges that lead there: the parents' movers are the others. */
INLINE void hand_up(int ply, int row, unsigned learned, int learner)
{
    int parents = (ply + 1) / 2;
    const uint16_t *to = parent_slot + parent_start[ply] + (row - row_start[ply]) * parents;
    for (; learned; learned &= learned - 1) {
        int lane = __builtin_ctz(learned);
        for (int i = 0; i < parents; i++) {
            int slot = to[lane * parents + i];
            child_own[slot] = learner == TD ? own[row + lane] : other[row + lane];
            if (learner != TD)
                child_other[slot] = own[row + lane];
        }
    }
}

/* A bit for each lane that is not zero. */
INLINE unsigned nonzero(const uint32_t *lanes)
{
#ifdef __AVX512F__
    __m512i all = _mm512_load_si512(lanes);
    return _mm512_test_epi32_mask(all, all);
#else
    unsigned bits = 0;
    for (int lane = 0; lane < LANES; lane++)
        bits |= (unsigned)(lanes[lane] != 0) << lane;
    return bits;
#endif
}

INLINE void up_ply(int ply, int learner)
{
    int moves = PLIES - ply;
    int row = row_start[ply], slot = block_slot[ply];
    for (; row < row_start[ply + 1]; row += LANES, slot += LANES * moves) {
        unsigned learned = nonzero(arrived + row);
        u32x8 low = up_half(ply, row, slot, learner, learned & 0xFF);
        u32x8 high = up_half(ply, row + 8, slot + 8, learner, learned >> 8);
        u32x16 sets = __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
        hand_up(ply, row, learned, learner);
        u32x16 change ALIGNED = sets ^ *(u32x16 *)(best + row);
        if (nonzero((uint32_t *)&change))
            list_moves(row, moves, sets);
        for (int lane = 0; lane < LANES; lane++)
            lay_course(ply, row + lane, begin[row] + lane * width[ply], slot + lane);
    }
}

INLINE void up(int learner)
{
    up_ply(8, learner), up_ply(7, learner), up_ply(6, learner);
    up_ply(5, learner), up_ply(4, learner), up_ply(3, learner);
    up_ply(2, learner), up_ply(1, learner), up_ply(0, learner);
}

/* ---- batches ---- */

static double nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static double spent[3];

static void count_ended(void)
{
    for (int slot = 0; slot < SLOTS; slot++) {
        ended_before[slot] += ended[slot];
        ended[slot] = 0;
    }
}

static void run_batch(int learner, uint64_t first, uint64_t batch)
{
    static uint64_t since; /* games in `ended`, whose counts have 32 bits */
    if ((since += batch) >> 31) {
        count_ended();
        since = batch;
    }
    double start = nanoseconds();
    for (uint64_t done = 0; done < batch; done += PIECE) {
        walk(first + done, first + (batch - done < PIECE ? batch : done + PIECE));
        if (batch > PIECE)
            put_aside();
    }
    double walked = nanoseconds();
    if (batch > PIECE)
        down((uint32_t)batch, 1);
    else
        down((uint32_t)batch, 0);
    double counted_ = nanoseconds();
    if (learner == TD)
        up(TD);
    else
        up(SUTTON_BARTO);
    spent[0] += walked - start;
    spent[1] += counted_ - walked;
    spent[2] += nanoseconds() - counted_;
}

/* ---- input and output ---- */

static void *read_array(FILE *file, size_t n, size_t size)
{
    void *array = malloc(n * size);
    if (array == NULL || fread(array, size, n, file) != n) {
        fprintf(stderr, "the input file is too short\n");
        exit(1);
    }
    return array;
}

static int *padded; /* row of the package -> row here, or -1 - its number among the final ones */
static int64_t n_open, n_rows;

/* Lay out the graph; `value` holds the values of each player (td: of the first). */
static void build(const int32_t *first_edge, const int32_t *child, const int32_t *ply_start, const double *value,
                  int learner)
{
    padded = malloc((size_t)n_rows * sizeof *padded);
    for (int64_t row = n_open; row < n_rows; row++)
        padded[row] = (int)(-1 - (row - n_open));
    int row = 0, slot = 0, at = 0, parents_at = 0;
    for (int i = 0; i < 2 * LANES; i++)
        entry[at++] = FINAL;
    for (int i = 0; i < SLOTS; i++)
        final_of[i] = -1;
    for (int ply = 0; ply < PLIES; ply++) {
        int n = ply_start[ply + 1] - ply_start[ply], n_padded = BLOCKS(n), moves = PLIES - ply;
        row_start[ply] = row;
        block_slot[ply] = slot;
        parent_start[ply] = parents_at;
        parents_at += n_padded * ((ply + 1) / 2);
        for (int i = 0; i < n_padded; i++, row++) {
            slot_of[row] = (uint16_t)(slot + i / LANES * LANES * moves + i % LANES);
            begin[row] = (uint16_t)(at + i * width[ply] - ply);
            uint64_t all = 0x876543210 & ((UINT64_C(1) << 4 * moves) - 1);
            decision[2 * row + 1] = (uint64_t)slot_of[row] << 48 | UINT64_C(1) << 40 | (uint64_t)moves << 36 | all;
            best[row] = 1;
            if (i < n)
                padded[ply_start[ply] + i] = row;
        }
        at += n_padded * width[ply] + 8;
        slot += n_padded * moves;
    }
    row_start[PLIES] = row;
    /* Rows that only fill a block are reached from an edge of such a row, which nobody takes. */
    int spare = slot_of[1];
    for (int i = 0; i < (int)(sizeof parent_slot / sizeof *parent_slot); i++)
        parent_slot[i] = (uint16_t)spare;
    int filled[ROWS] = {0};
    for (int64_t source = 0; source < n_open; source++) {
        int r = padded[source], ply = 0;
        while (r >= row_start[ply + 1])
            ply++;
        int mover = learner == TD ? 0 : ply & 1;
        own[r] = value[mover * n_rows + source];
        other[r] = learner == TD ? 0.0 : value[(1 - mover) * n_rows + source];
        for (int j = 0; j < PLIES - ply; j++) {
            int64_t to = child[first_edge[source] + j];
            int s = slot_of[r] + LANES * j, c = padded[to];
            child_own[s] = value[mover * n_rows + to];
            child_other[s] = learner == TD ? 0.0 : value[(1 - mover) * n_rows + to];
            drawn[s] = drawn[SLOTS + s] = c < 0 ? 0 : begin[c];
            if (c < 0) {
                final_of[s] = -1 - c;
            } else {
                int first = parent_start[ply + 1] + (c - row_start[ply + 1]) * ((ply + 2) / 2);
                parent_slot[first + filled[c]++] = (uint16_t)s;
            }
        }
    }
}

int main(int argc, char **argv)
{
    if (argc != 6) {
        fprintf(stderr, "usage: %s INPUT OUTPUT BATCH WARM BATCHES\n", argv[0]);
        return 2;
    }
    uint64_t batch = strtoull(argv[3], NULL, 10);
    uint64_t warm = strtoull(argv[4], NULL, 10), batches = strtoull(argv[5], NULL, 10);
    FILE *file = fopen(argv[1], "rb");
    if (file == NULL || batch < 1 || batch >> 31) {
        fprintf(stderr, "%s cannot be read, or batch %s is not a number from 1 to 2^31 - 1\n", argv[1], argv[3]);
        return 1;
    }
    int64_t *sizes = read_array(file, 6, sizeof *sizes);
    int learner = (int)sizes[0];
    n_open = sizes[1], n_rows = sizes[2], last_weight = (uint32_t)sizes[4] - 1, key = (uint64_t)sizes[5];
    uint64_t *columns = read_array(file, 512, sizeof *columns);
    memcpy(chance, columns, sizeof chance);
    weights = read_array(file, (size_t)sizes[4], sizeof *weights);
    gamma_ = *(double *)read_array(file, 1, sizeof gamma_);
    double *value = read_array(file, (size_t)(n_rows * (learner == TD ? 1 : 2)), sizeof *value);
    int32_t *first_edge = read_array(file, (size_t)n_open + 1, sizeof *first_edge);
    int32_t *child = read_array(file, (size_t)sizes[3], sizeof *child);
    int32_t *ply_start = read_array(file, PLIES + 1, sizeof *ply_start);
    fclose(file);

    build(first_edge, child, ply_start, value, learner);
    if (learner == TD) /* nothing has arrived yet: lists the best moves and lays the courses, no more */
        up(TD);
    else
        up(SUTTON_BARTO);
    uint64_t game = 0;
    double start = 0.0;
    for (uint64_t number = 0; number < warm + batches; number++, game += batch) {
        if (number == warm) {
            memset(spent, 0, sizeof spent);
            start = nanoseconds();
        }
        run_batch(learner, game, batch);
    }
    double seconds = (nanoseconds() - start) / 1e9;

    count_ended();
    int64_t finals[MAX_FINALS] = {0};
    for (int slot = 0; slot < SLOTS; slot++)
        if (final_of[slot] >= 0)
            finals[final_of[slot]] += (int64_t)ended_before[slot];
    for (int64_t row = 0; row < n_open; row++) {
        int r = padded[row], ply = 0;
        while (r >= row_start[ply + 1])
            ply++;
        value[learner == TD ? row : (ply & 1) * n_rows + row] = own[r];
        if (learner != TD)
            value[(1 - (ply & 1)) * n_rows + row] = other[r];
    }
    file = fopen(argv[2], "wb");
    if (file == NULL || fwrite(value, sizeof *value, (size_t)(n_rows * (learner == TD ? 1 : 2)), file) == 0 ||
        fwrite(finals, sizeof *finals, (size_t)(n_rows - n_open), file) == 0 || fclose(file) != 0) {
        fprintf(stderr, "%s cannot be written\n", argv[2]);
        return 1;
    }
    printf("games %.0f\nseconds %.9f\n", (double)(batches * batch), seconds);
    const char *names[] = {"walk", "down", "up"};
    for (int i = 0; i < 3; i++)
        printf("%s %.0f\n", names[i], spent[i] / (double)(batches ? batches : 1));
    return 0;
}
