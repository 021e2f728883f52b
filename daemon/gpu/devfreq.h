/* The clock of a GPU as the kernel's devfreq says it, because some OpenCL drivers, such as ARM's
 * for the Mali-T760, report a constant instead. */
#ifndef FFTD_GPU_DEVFREQ_H
#define FFTD_GPU_DEVFREQ_H

#include <stdbool.h>

#define DEVFREQ_FOLDER     "/sys/class/devfreq"
#define DEVFREQ_PATH_BYTES 512

/* Finds the file with the clock of the GPU: the first entry of the folder, by name, that is called
 * after a GPU, such as ffa30000.gpu. False: there is none. */
bool devfreq_find(char ret[DEVFREQ_PATH_BYTES], const char *folder);

/* Reads such a file; hertz, or 0: it cannot be read, or it is no clock of a GPU. */
double devfreq_read(const char *path);

#endif
