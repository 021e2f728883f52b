# Without vectors, which need -O3, subtracting frames takes several times as long.
$(call objects,client/calibration/pairs.c): CFLAGS += -O3
