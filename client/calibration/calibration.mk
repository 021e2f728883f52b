# Without vectors, which need -O3, aligning and subtracting frames takes several times as long.
$(call objects,client/calibration/align.c client/calibration/pairs.c): CFLAGS += -O3
