/* backward-q on tic-tac-toe, written the way a textbook reader writes it: the yardstick of benchmark.py.
 *
 * One game after the other; the board is an array of nine cells, its code is computed anew at every move, and the
 * legal moves and the candidates for the greedy move are lists.  Q[s][a] is worth to whoever moves in s.
 *
 *     gcc -O2 -o textbook textbook.c && ./textbook 10000000 1
 *
 * prints the games, the seconds that training took, and how the games ended in play.  At 10,000,000 games about 45.4 %
 * are first wins, 14.6 % second wins and 40.0 % draws.
 */

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define CELLS 9
#define CODES 19683 /* 3^9 */

static const double EPSILON = 0.3;
static const double ALPHA = 0.1;
static const double GAMMA = 1.0;
static const double DRAW_WORTH = 0.5;
static const double TIE = 0.01;

static const int LINES[8][3] = {
    {0, 1, 2}, {3, 4, 5}, {6, 7, 8}, {0, 3, 6}, {1, 4, 7}, {2, 5, 8}, {0, 4, 8}, {2, 4, 6},
};

static double Q[CODES][CELLS];

/* The number of a board: cell 0 is the least significant digit, base 3. */
static int encode(const int board[CELLS])
{
    int code = 0;
    for (int cell = CELLS - 1; cell >= 0; cell--)
        code = 3 * code + board[cell];
    return code;
}

static void decode(int code, int board[CELLS])
{
    for (int cell = 0; cell < CELLS; cell++) {
        board[cell] = code % 3;
        code /= 3;
    }
}

/* The player (1 or 2) who has three in a row, or 0. */
static int winner(const int board[CELLS])
{
    for (int i = 0; i < 8; i++) {
        int mark = board[LINES[i][0]];
        if (mark != 0 && mark == board[LINES[i][1]] && mark == board[LINES[i][2]])
            return mark;
    }
    return 0;
}

/* Write the empty cells to moves and return how many there are. */
static int legal_moves(const int board[CELLS], int moves[CELLS])
{
    int count = 0;
    for (int cell = 0; cell < CELLS; cell++)
        if (board[cell] == 0)
            moves[count++] = cell;
    return count;
}

static double random_number(void)
{
    return rand() / (RAND_MAX + 1.0);
}

/* A uniform legal move with probability epsilon, else one of those within 0.01 of the best. */
static int choose_move(const int board[CELLS], int state)
{
    int moves[CELLS], candidates[CELLS];
    int n_moves = legal_moves(board, moves), n_candidates = 0;

    if (random_number() < EPSILON)
        return moves[rand() % n_moves];

    double best = Q[state][moves[0]];
    for (int i = 1; i < n_moves; i++)
        if (Q[state][moves[i]] > best)
            best = Q[state][moves[i]];
    for (int i = 0; i < n_moves; i++)
        if (Q[state][moves[i]] > best - TIE)
            candidates[n_candidates++] = moves[i];
    return candidates[rand() % n_candidates];
}

/* A move that wins at once is worth 1, one that draws at once the draw's worth, others 0.5; occupied cells -1. */
static void initialise(void)
{
    for (int code = 0; code < CODES; code++) {
        int board[CELLS], moves[CELLS];
        decode(code, board);
        int n_moves = legal_moves(board, moves);
        int player = (CELLS - n_moves) % 2 + 1;
        for (int cell = 0; cell < CELLS; cell++)
            Q[code][cell] = -1.0;
        for (int i = 0; i < n_moves; i++) {
            board[moves[i]] = player;
            if (winner(board))
                Q[code][moves[i]] = 1.0;
            else if (n_moves == 1)
                Q[code][moves[i]] = DRAW_WORTH;
            else
                Q[code][moves[i]] = 0.5;
            board[moves[i]] = 0;
        }
    }
}

/* Learn from a game of n moves: each is pulled to the same player's next one, the loser's last is set. */
static void learn(const int states[CELLS], const int moves[CELLS], int n, int won)
{
    if (n >= 2)
        Q[states[n - 2]][moves[n - 2]] = won ? 0.0 : DRAW_WORTH;
    for (int t = n - 3; t >= 0; t--) {
        double next = Q[states[t + 2]][moves[t + 2]];
        Q[states[t]][moves[t]] += ALPHA * (GAMMA * next - Q[states[t]][moves[t]]);
    }
}

/* Play one game and learn from it; return the winner, or 0 for a draw. */
static int play_game(void)
{
    int board[CELLS] = {0};
    int states[CELLS], moves[CELLS];
    int n = 0, won = 0, player = 1;

    while (n < CELLS && won == 0) {
        states[n] = encode(board);
        moves[n] = choose_move(board, states[n]);
        board[moves[n]] = player;
        n++;
        won = winner(board);
        player = 3 - player;
    }
    learn(states, moves, n, won != 0);
    return won;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: %s GAMES SEED\n", argv[0]);
        return 2;
    }
    long games = atol(argv[1]);
    if (games < 1) {
        fprintf(stderr, "games %s is not a number from 1 on\n", argv[1]);
        return 2;
    }
    srand((unsigned)atol(argv[2]));
    initialise();

    long ended[3] = {0};
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (long game = 0; game < games; game++)
        ended[play_game()]++;
    clock_gettime(CLOCK_MONOTONIC, &end);

    double seconds = (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) / 1e9;
    printf("games %ld\nseconds %.6f\nfirst_wins %.6f\nsecond_wins %.6f\ndraws %.6f\n", games, seconds,
           (double)ended[1] / (double)games, (double)ended[2] / (double)games, (double)ended[0] / (double)games);
    return 0;
}
