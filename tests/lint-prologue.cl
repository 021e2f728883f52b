/* The prologue of tests/lint: what daemon/gpu/prologue.c writes before the kernels, for a 12x10
 * image in a 12x10 plan. LANES, HALF_STORAGE, WITH_HELD and the kind of sample are given by the caller. */
#define COLUMN_GROUP           4
#define COLS                   1
#define ROW_GROUP              4
#define ROWS                   1
#define SKEW                   1
#define SPECTRUM_PITCH         6
#define COMBINE_TWIDDLES       1
#define COLUMNS_HELD           WITH_HELD
#define ROWS_HELD              WITH_HELD

#define LOAD_SCALE             1.0f
#define ROW_SCALE              1.0f
#define STORE_SCALE            1.0f

#define X_LENGTH               12
#define X_STAGES               2
#define X_R0                   4
#define X_M0                   3
#define X_T0                   0
#define X_R1                   3
#define X_M1                   1
#define X_T1                   9
#define X_EACH_STAGE(F, BETWEEN)        F(0) BETWEEN(0, 1) F(1)
#define X_EACH_STAGE_BACK(F, BETWEEN)   F(1) BETWEEN(1, 0) F(0)
#define X_OUTER_STAGES(F, BETWEEN)      F(0) BETWEEN(0, 1)
#define X_OUTER_STAGES_BACK(F, BETWEEN) BETWEEN(1, 0) F(0)
#define X_LAST_STAGE(F)                 F(1)
#define X_LAST                          1
#define X_OUTER_PASSES(ONE, TWO)        ONE(0)
#define X_LAST_PASS(ONE, TWO)           ONE(1)
#define Y_LENGTH               10
#define Y_STAGES               2
#define Y_R0                   5
#define Y_M0                   2
#define Y_T0                   0
#define Y_R1                   2
#define Y_M1                   1
#define Y_T1                   8
#define Y_EACH_STAGE(F, BETWEEN)        F(0) BETWEEN(0, 1) F(1)
#define Y_EACH_STAGE_BACK(F, BETWEEN)   F(1) BETWEEN(1, 0) F(0)
#define Y_OUTER_STAGES(F, BETWEEN)      F(0) BETWEEN(0, 1)
#define Y_OUTER_STAGES_BACK(F, BETWEEN) BETWEEN(1, 0) F(0)
#define Y_LAST_STAGE(F)                 F(1)
#define Y_LAST                          1
#define Y_OUTER_PASSES(ONE, TWO)
#define Y_LAST_PASS(ONE, TWO)           TWO(0, 1)

#define IMAGE_WIDTH            12
#define IMAGE_HEIGHT           10
#define IMAGE_STRIDE           48
#define IMAGE_OFFSET           0
#define IMAGE_STEP             1
#define SAMPLE_MAX             255
#define KEEP_OTHERS            0
#define R_OFFSET               0
#define G_OFFSET               1
#define B_OFFSET               2
#define X_OFFSET               3
#define BORDER_CONSTANT        0
#define BORDER_VALUE           0.0f
#define RED_X                  1
#define RED_Y                  0
#define MOSAIC_SCALE           1.0f
#define MOSAIC_COLOUR          3
#define RESULT_STRIDE          48
