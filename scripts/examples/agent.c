/* An agent in C for `ttt-batch evaluate cmd:./agent`: it reads a position a line and answers a cell a line.

       cc -O2 -o agent agent.c
       ttt-batch evaluate cmd:./agent

   A line is BOARD MOVER CELLS, such as "3x3 X XO..X....": ROWSxCOLUMNS or ROWSxCOLUMNSxK, who moves, and a character
   for each cell, row by row.  The answer is a cell, counted from 0.  It wins if it can, else stops a line of three or
   more, else takes the middle or the cell nearest to it.  That loses to the right opponent: ttt-batch shows how. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CELLS = 64 };

static int rows, cols, k;

/* Whether `mark` on `cell` completes a line of k. */
static int completes(const char *cells, int cell, char mark) {
    static const int down[] = {0, 1, 1, 1}, right[] = {1, 0, 1, -1};
    for (int way = 0; way < 4; way++) {
        int length = 1;
        for (int sign = -1; sign <= 1; sign += 2) {
            int row = cell / cols + sign * down[way], col = cell % cols + sign * right[way];
            while (row >= 0 && row < rows && col >= 0 && col < cols && cells[row * cols + col] == mark) {
                length++;
                row += sign * down[way];
                col += sign * right[way];
            }
        }
        if (length >= k) return 1;
    }
    return 0;
}

/* The better, the nearer to the middle. */
static int distance(int cell) {
    int row = 2 * (cell / cols) - rows + 1, col = 2 * (cell % cols) - cols + 1;
    return row * row + col * col;
}

static int choose(const char *cells, char own, char other) {
    int chosen = -1, best = 0;
    for (int cell = 0; cell < rows * cols; cell++) {
        if (cells[cell] != '.') continue;
        int worth = 1000 - distance(cell);
        if (completes(cells, cell, other)) worth += 10000;
        if (completes(cells, cell, own)) worth += 100000;
        if (chosen < 0 || worth > best) {
            chosen = cell;
            best = worth;
        }
    }
    return chosen;
}

int main(void) {
    char board[64], mover, cells[MOST_CELLS + 1];
    while (scanf("%63s %c %64s", board, &mover, cells) == 3) {
        int given = sscanf(board, "%dx%dx%d", &rows, &cols, &k);
        if (given < 2 || rows < 1 || cols < 1 || rows * cols != (int)strlen(cells)) {
            fprintf(stderr, "cannot read the board %s\n", board);
            return EXIT_FAILURE;
        }
        if (given == 2) k = rows < cols ? rows : cols;
        printf("%d\n", choose(cells, mover, mover == 'X' ? 'O' : 'X'));
        fflush(stdout);
    }
    return EXIT_SUCCESS;
}
