/* cuFFT, real to complex and back, out of place, with the product as a kernel of its own between,
 * all in one CUDA graph. On the first CUDA device, whatever OpenCL device the others are on. */
extern "C" {
#include "fft.h"
}

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include <cuda_runtime.h>
#include <cufft.h>

namespace {

struct run {
    const struct scene *scene;
    cudaStream_t stream;
    float *image, *result, *response;
    cufftComplex *spectrum;
    cufftHandle forward, inverse;
    bool has_forward, has_inverse;
    cudaGraph_t graph;
    cudaGraphExec_t executable;
};

int cuda_fail(struct error *why, cudaError_t code, const char *what)
{
    const bool no_device = code == cudaErrorNoDevice || code == cudaErrorInsufficientDriver;
    return error_set(why, no_device ? ENOTSUP : EIO, "%s: %s", what, cudaGetErrorString(code));
}

int cufft_fail(struct error *why, cufftResult code, const char *what)
{
    return error_set(why, code == CUFFT_INVALID_SIZE ? ENOTSUP : EIO, "%s: cuFFT's error %d", what,
                     static_cast<int>(code));
}

__global__ void multiply(cufftComplex *spectrum, const float *response, unsigned count)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) {
        spectrum[i].x *= response[i];
        spectrum[i].y *= response[i];
    }
}

unsigned coefficient_count(const struct scene *scene)
{
    return (scene->width / 2 + 1) * scene->height;
}

void print_version(char *text, size_t size)
{
    int version = 0;
    cudaDeviceProp device = {};
    cufftGetVersion(&version);
    cudaGetDeviceProperties(&device, 0);
    snprintf(text, size, "%d.%d.%d on %s", version / 1000, version / 100 % 10, version % 100,
             device.name[0] != '\0' ? device.name : "no CUDA device");
}

void run_close(void *state)
{
    struct run *run = static_cast<struct run *>(state);
    if (run == NULL)
        return;
    if (run->executable != NULL)
        cudaGraphExecDestroy(run->executable);
    if (run->graph != NULL)
        cudaGraphDestroy(run->graph);
    if (run->has_forward)
        cufftDestroy(run->forward);
    if (run->has_inverse)
        cufftDestroy(run->inverse);
    cudaFree(run->image);
    cudaFree(run->result);
    cudaFree(run->response);
    cudaFree(run->spectrum);
    if (run->stream != NULL)
        cudaStreamDestroy(run->stream);
    free(run);
}

int make_buffers(struct run *run, struct error *why)
{
    const struct scene *scene = run->scene;
    const size_t image_bytes = sizeof(float) * scene->width * scene->height;
    const size_t count = coefficient_count(scene);
    cudaError_t code = cudaStreamCreateWithFlags(&run->stream, cudaStreamNonBlocking);
    if (code == cudaSuccess)
        code = cudaMalloc(&run->image, image_bytes);
    if (code == cudaSuccess)
        code = cudaMalloc(&run->result, image_bytes);
    if (code == cudaSuccess)
        code = cudaMalloc(&run->response, count * sizeof(float));
    if (code == cudaSuccess)
        code = cudaMalloc(&run->spectrum, count * sizeof(cufftComplex));
    if (code == cudaSuccess)
        code = cudaMemcpy(run->image, scene->samples, image_bytes, cudaMemcpyHostToDevice);
    if (code == cudaSuccess)
        code = cudaMemcpy(run->response, scene->response, count * sizeof(float),
                          cudaMemcpyHostToDevice);
    return code == cudaSuccess ? 0 : cuda_fail(why, code, "cudaMalloc");
}

int make_plan(cufftHandle *ret, bool *ret_made, const struct run *run, cufftType type,
              struct error *why)
{
    const int height = static_cast<int>(run->scene->height);
    const int width = static_cast<int>(run->scene->width);
    cufftResult code = cufftPlan2d(ret, height, width, type);
    if (code != CUFFT_SUCCESS)
        return cufft_fail(why, code, "cufftPlan2d");
    *ret_made = true;
    code = cufftSetStream(*ret, run->stream);
    return code == CUFFT_SUCCESS ? 0 : cufft_fail(why, code, "cufftSetStream");
}

cufftResult enqueue_frame(const struct run *run)
{
    const unsigned count = coefficient_count(run->scene), group = 256;
    const cufftResult code = cufftExecR2C(run->forward, run->image, run->spectrum);
    if (code != CUFFT_SUCCESS)
        return code;
    multiply<<<(count + group - 1) / group, group, 0, run->stream>>>(run->spectrum, run->response,
                                                                     count);
    return cufftExecC2R(run->inverse, run->spectrum, run->result);
}

int make_graph(struct run *run, unsigned *ret_dispatches, struct error *why)
{
    size_t node_count = 0;
    cudaError_t code = cudaStreamBeginCapture(run->stream, cudaStreamCaptureModeThreadLocal);
    if (code != cudaSuccess)
        return cuda_fail(why, code, "cudaStreamBeginCapture");
    const cufftResult result = enqueue_frame(run);
    code = cudaStreamEndCapture(run->stream, &run->graph);
    if (result != CUFFT_SUCCESS)
        return cufft_fail(why, result, "cufftExec");
    if (code == cudaSuccess)
        code = cudaGraphGetNodes(run->graph, NULL, &node_count);
    if (code == cudaSuccess)
        code = cudaGraphInstantiateWithFlags(&run->executable, run->graph, 0);
    if (code != cudaSuccess)
        return cuda_fail(why, code, "cudaGraphInstantiate");
    *ret_dispatches = static_cast<unsigned>(node_count);
    return 0;
}

int run_open(void **ret, const struct subject *, const struct scene *scene, struct cost *cost,
             struct error *why)
{
    struct run *run = static_cast<struct run *>(calloc(1, sizeof *run));
    if (run == NULL)
        return error_set(why, ENOMEM, "out of memory while creating a run");
    run->scene = scene;
    int r = make_buffers(run, why);
    if (r == 0)
        r = make_plan(&run->forward, &run->has_forward, run, CUFFT_R2C, why);
    if (r == 0)
        r = make_plan(&run->inverse, &run->has_inverse, run, CUFFT_C2R, why);
    if (r == 0)
        r = make_graph(run, &cost->dispatches, why);
    if (r < 0) {
        run_close(run);
        return r;
    }
    cost->response_bytes = 4;
    *ret = run;
    return 0;
}

int run_enqueue(void *state, struct error *why)
{
    const struct run *run = static_cast<const struct run *>(state);
    const cudaError_t code = cudaGraphLaunch(run->executable, run->stream);
    return code == cudaSuccess ? 0 : cuda_fail(why, code, "cudaGraphLaunch");
}

int run_finish(void *state, struct error *why)
{
    const struct run *run = static_cast<const struct run *>(state);
    const cudaError_t code = cudaStreamSynchronize(run->stream);
    return code == cudaSuccess ? 0 : cuda_fail(why, code, "cudaStreamSynchronize");
}

int run_read(void *state, float *result, struct error *why)
{
    const struct run *run = static_cast<const struct run *>(state);
    const size_t size = sizeof *result * run->scene->width * run->scene->height;
    const cudaError_t code = cudaMemcpy(result, run->result, size, cudaMemcpyDeviceToHost);
    return code == cudaSuccess ? 0 : cuda_fail(why, code, "cudaMemcpy");
}

const struct subject subjects[] = {{"cuFFT R2C, CUDA graph", 0, false, 1e-5}};

} // namespace

extern "C" const struct peer peer_cufft = {
    "cuFFT",    print_version, subjects, sizeof subjects / sizeof subjects[0],
    run_open,   run_enqueue,   run_finish, run_read,
    run_close,
};
