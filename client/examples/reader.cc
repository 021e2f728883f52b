// Prints a line for each frame of a camera, in C++.
//
//     c++ reader.cc $(pkg-config --cflags --libs libfftd) && ./a.out [NAME | RUNTIME-DIRECTORY]
#include <fftd/fftd.h>

#include <iostream>
#include <memory>
#include <numeric>

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "default";
    fftd *opened = nullptr;
    int r = fftd_open(&opened, name);
    const std::unique_ptr<fftd, decltype(&fftd_close)> camera(opened, fftd_close);
    while (r >= 0 && (r = fftd_wait(camera.get(), 5000)) >= 0) {
        struct fftd_frame frame; // with `struct`, because a function has this name, too
        if (r == 0 || fftd_frame(camera.get(), &frame) < 0)
            continue;
        const uint8_t *row = frame.plane[0];
        const uint32_t bytes = frame.format->plane[0].row_bytes;
        const unsigned mean = std::accumulate(row, row + bytes, 0U) / bytes;
        if (fftd_frame_valid(camera.get(), &frame)) // not overwritten during the sum
            std::cout << "frame " << frame.sequence << ": " << frame.format->width << 'x'
                      << frame.format->height << ", mean of the first row " << mean << std::endl;
    }
    char why[256];
    fftd_explain(name, r, why, sizeof why);
    std::cerr << "reader: no camera: " << why << std::endl;
    return 1;
}
