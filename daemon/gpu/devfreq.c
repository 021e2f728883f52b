#include "gpu/devfreq.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"

/* Outside of this, a file does not hold a clock in hertz. */
#define LEAST_HZ 1e6
#define MOST_HZ  1e11

static int is_gpu(const struct dirent *entry)
{
    return strstr(entry->d_name, "gpu") != NULL || strcasestr(entry->d_name, "mali") != NULL;
}

bool devfreq_find(char ret[DEVFREQ_PATH_BYTES], const char *folder)
{
    struct dirent **entry = NULL;
    const int count = scandir(folder, &entry, is_gpu, alphasort);
    bool found = false;
    for (int i = 0; i < count; i++) {
        if (!found)
            found = snprintf(ret, DEVFREQ_PATH_BYTES, "%s/%s/cur_freq", folder, entry[i]->d_name) <
                    DEVFREQ_PATH_BYTES;
        free(entry[i]);
    }
    free(entry);
    return found;
}

double devfreq_read(const char *path)
{
    char text[64];
    double hz = 0;
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return 0;
    if (fgets(text, sizeof text, file) == NULL || text_to_number(&hz, text_trim(text)) < 0 ||
        hz < LEAST_HZ || hz > MOST_HZ)
        hz = 0;
    fclose(file);
    return hz;
}
