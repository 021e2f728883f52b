/* The prologue of tests/lint: what daemon/gpu/prologue.c writes before the kernels, for a 12x10
 * image in a plan of 10 along U and 12 along V. LANES, HALF_STORAGE, WITH_HELD, ROWS_FIRST and the
 * kind of sample are given by the caller. */
#define U_GROUP                4
#define U_LINES                1
#define V_GROUP                4
#define V_LINES                1
#define SKEW                   1
#define SPECTRUM_PITCH         6
#define BATCH                  3
#define SPECTRUM_SIZE          120
#define COMBINE_TWIDDLES       1
#define U_HELD                 WITH_HELD
#define V_HELD                 WITH_HELD

#define LOAD_SCALE             1.0f
#define PRODUCT_SCALE          1.0f
#define STORE_SCALE            1.0f

#define V_LENGTH               12
#define V_STAGES               2
#define V_R0                   4
#define V_M0                   3
#define V_T0                   0
#define V_R1                   3
#define V_M1                   1
#define V_T1                   9
#define V_EACH_STAGE(F, BETWEEN)        F(0) BETWEEN(0, 1) F(1)
#define V_EACH_STAGE_BACK(F, BETWEEN)   F(1) BETWEEN(1, 0) F(0)
#define V_OUTER_STAGES(F, BETWEEN)      F(0) BETWEEN(0, 1)
#define V_OUTER_STAGES_BACK(F, BETWEEN) BETWEEN(1, 0) F(0)
#define V_LAST_STAGE(F)                 F(1)
#define V_LAST                          1
#define V_OUTER_PASSES(ONE, TWO)        ONE(0)
#define V_LAST_PASS(ONE, TWO)           ONE(1)
#define U_LENGTH               10
#define U_STAGES               2
#define U_R0                   5
#define U_M0                   2
#define U_T0                   0
#define U_R1                   2
#define U_M1                   1
#define U_T1                   8
#define U_EACH_STAGE(F, BETWEEN)        F(0) BETWEEN(0, 1) F(1)
#define U_EACH_STAGE_BACK(F, BETWEEN)   F(1) BETWEEN(1, 0) F(0)
#define U_OUTER_STAGES(F, BETWEEN)      F(0) BETWEEN(0, 1)
#define U_OUTER_STAGES_BACK(F, BETWEEN) BETWEEN(1, 0) F(0)
#define U_LAST_STAGE(F)                 F(1)
#define U_LAST                          1
#define U_OUTER_PASSES(ONE, TWO)
#define U_LAST_PASS(ONE, TWO)           TWO(0, 1)

#define IMAGE_WIDTH            12
#define IMAGE_HEIGHT           10
#define IMAGE_STRIDE           48
#define IMAGE_OFFSET           0
#define IMAGE_STEP             1
#define IMAGE_APART            480
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
