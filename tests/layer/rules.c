/* Tests of what the layer of this folder makes of a device, and of the engine's choices under it.
 */
#include <fcntl.h>
#include <linux/udmabuf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support/cmocka.h"
#include "support/device.h"
#include "support/queue.h"

#include "transform/tuner.h"

#define LOCAL_BYTES      (32 * 1024)
#define CACHE_LINE_BYTES 64
#define NUMBERS          1024 /* of a buffer, in a page */
#define BYTES            (NUMBERS * sizeof(cl_uint))

static const char twice[] =
    "kernel void twice(global const uint *in, global uint *out, local uint *unused)\n"
    "{\n"
    "    out[get_global_id(0)] = 2 * in[get_global_id(0)]; /* no double is used here */\n"
    "}\n";

static import_memory_fn *import_memory;

static size_t group_limit(void)
{
    const char *setting = getenv("FFTD_LAYER_GROUP");
    return setting != NULL ? strtoul(setting, NULL, 10) : 256;
}

static cl_program build(const char *source, cl_int *ret_code)
{
    cl_program program = clCreateProgramWithSource(device->context, 1, &source, NULL, ret_code);
    assert_int_equal(*ret_code, CL_SUCCESS);
    *ret_code = clBuildProgram(program, 1, &device->id, "", NULL, NULL);
    return program;
}

static cl_kernel make_kernel(cl_mem in, cl_mem out)
{
    const size_t scratch = 16;
    cl_int code;
    cl_program program = build(twice, &code);
    assert_int_equal(code, CL_SUCCESS);
    cl_kernel kernel = clCreateKernel(program, "twice", &code);
    assert_int_equal(code, CL_SUCCESS);
    clReleaseProgram(program);
    assert_int_equal(clSetKernelArg(kernel, 0, sizeof in, &in), CL_SUCCESS);
    assert_int_equal(clSetKernelArg(kernel, 1, sizeof out, &out), CL_SUCCESS);
    assert_int_equal(clSetKernelArg(kernel, 2, scratch, NULL), CL_SUCCESS);
    return kernel;
}

static cl_mem make_buffer(void)
{
    cl_int code;
    cl_mem buffer = clCreateBuffer(device->context, CL_MEM_READ_WRITE, BYTES, NULL, &code);
    assert_int_equal(code, CL_SUCCESS);
    return buffer;
}

/* ---- the device ---- */

static void the_device_is_a_mali(void **state)
{
    char version[128] = "", extensions[4096] = "";
    (void)state;
    clGetDeviceInfo(device->id, CL_DEVICE_VERSION, sizeof version, version, NULL);
    clGetDeviceInfo(device->id, CL_DEVICE_EXTENSIONS, sizeof extensions, extensions, NULL);
    assert_memory_equal(version, "OpenCL 1.2 ", 11);
    assert_null(strstr(extensions, "fp64"));
    assert_null(strstr(extensions, "subgroup"));
    assert_true(device->midgard);
    assert_true(device->unified_memory);
    assert_false(gpu_device_is_cpu(device));
    assert_int_equal(device->local_bytes, LOCAL_BYTES);
    assert_int_equal(device->max_group, group_limit());
    assert_int_equal(device->vector_width, 4);
    assert_non_null(import_memory);
}

static cl_int launch(cl_kernel kernel, size_t global, size_t local)
{
    return clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, local > 0 ? &local : NULL, 0,
                                  NULL, NULL);
}

static void launches_beyond_the_limits_are_refused(void **state)
{
    (void)state;
    const size_t most = group_limit();
    cl_mem in = make_buffer(), out = make_buffer();
    cl_kernel kernel = make_kernel(in, out);
    assert_int_equal(launch(kernel, NUMBERS, most), CL_SUCCESS);
    assert_int_equal(launch(kernel, NUMBERS, 2 * most), CL_OUT_OF_RESOURCES);
    assert_int_equal(launch(kernel, NUMBERS, 0), CL_OUT_OF_RESOURCES);
    assert_int_equal(launch(kernel, NUMBERS - 1, 2), CL_INVALID_WORK_GROUP_SIZE);
    const size_t scratch = LOCAL_BYTES, more = scratch + 16;
    assert_int_equal(clSetKernelArg(kernel, 2, more, NULL), CL_SUCCESS);
    assert_int_equal(launch(kernel, NUMBERS, 1), CL_OUT_OF_RESOURCES);
    assert_int_equal(clSetKernelArg(kernel, 2, scratch, NULL), CL_SUCCESS);
    assert_int_equal(launch(kernel, NUMBERS, 1), CL_SUCCESS);
    assert_int_equal(clFinish(queue), CL_SUCCESS);
    clReleaseKernel(kernel);
    clReleaseMemObject(in);
    clReleaseMemObject(out);
}

static void there_is_no_double(void **state)
{
    (void)state;
    cl_int code;
    cl_program program =
        build("kernel void f(global float *x) { double y = *x; *x = (float)(y / 3); }", &code);
    assert_int_equal(code, CL_BUILD_PROGRAM_FAILURE);
    clReleaseProgram(program);
}

/* ---- imports ---- */

static cl_mem import(cl_import_properties_arm type, void *memory, size_t bytes, cl_int *ret_code)
{
    const cl_import_properties_arm properties[] = {CL_IMPORT_TYPE_ARM, type, 0};
    return import_memory(device->context, CL_MEM_READ_WRITE, properties, memory, bytes, ret_code);
}

/* Kernels read and write an imported buffer, and nothing else is allowed. */
static void check_imported(cl_mem imported, cl_uint *numbers)
{
    cl_uint some[4] = {0}, zero = 0;
    const cl_buffer_region region = {0, BYTES / 2};
    const size_t origin[3] = {0}, rows[3] = {16, 1, 1};
    cl_mem other = make_buffer();
    cl_int code;
    cl_kernel kernel = make_kernel(imported, imported);
    for (cl_uint i = 0; i < NUMBERS; i++)
        numbers[i] = i;
    assert_int_equal(launch(kernel, NUMBERS, 64), CL_SUCCESS);
    assert_int_equal(clFinish(queue), CL_SUCCESS);
    for (cl_uint i = 0; i < NUMBERS; i++)
        assert_int_equal(numbers[i], 2 * i);

    assert_null(
        clEnqueueMapBuffer(queue, imported, CL_TRUE, CL_MAP_READ, 0, BYTES, 0, NULL, NULL, &code));
    assert_int_equal(code, CL_INVALID_OPERATION);
    assert_null(clCreateSubBuffer(imported, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &code));
    assert_int_equal(code, CL_INVALID_OPERATION);
    const cl_int refused[] = {
        clEnqueueUnmapMemObject(queue, imported, numbers, 0, NULL, NULL),
        clEnqueueReadBuffer(queue, imported, CL_TRUE, 0, 16, some, 0, NULL, NULL),
        clEnqueueWriteBuffer(queue, imported, CL_TRUE, 0, 16, some, 0, NULL, NULL),
        clEnqueueCopyBuffer(queue, imported, other, 0, 0, 16, 0, NULL, NULL),
        clEnqueueCopyBuffer(queue, other, imported, 0, 0, 16, 0, NULL, NULL),
        clEnqueueFillBuffer(queue, imported, &zero, sizeof zero, 0, 16, 0, NULL, NULL),
        clEnqueueReadBufferRect(queue, imported, CL_TRUE, origin, origin, rows, 16, 16, 16, 16,
                                some, 0, NULL, NULL),
        clEnqueueWriteBufferRect(queue, imported, CL_TRUE, origin, origin, rows, 16, 16, 16, 16,
                                 some, 0, NULL, NULL),
        clEnqueueCopyBufferRect(queue, other, imported, origin, origin, rows, 16, 16, 16, 16, 0,
                                NULL, NULL),
    };
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        assert_int_equal(refused[i], CL_INVALID_OPERATION);
    clReleaseKernel(kernel);
    clReleaseMemObject(imported);
    clReleaseMemObject(other);
    assert_int_equal(clFinish(queue), CL_SUCCESS);
}

static void host_memory_is_imported(void **state)
{
    (void)state;
    cl_uint *numbers = aligned_alloc(CACHE_LINE_BYTES, BYTES);
    cl_int code;
    assert_null(import(CL_IMPORT_TYPE_HOST_ARM, numbers + 1, BYTES / 2, &code));
    assert_int_equal(code, CL_INVALID_VALUE);
    assert_null(import(CL_IMPORT_TYPE_HOST_ARM, numbers, BYTES - 4, &code));
    assert_int_equal(code, CL_INVALID_VALUE);
    assert_null(import(CL_IMPORT_TYPE_HOST_ARM, numbers, 0, &code));
    assert_int_equal(code, CL_INVALID_VALUE);
    assert_null(import(CL_IMPORT_TYPE_PROTECTED_ARM, numbers, BYTES, &code));
    assert_int_equal(code, CL_INVALID_VALUE);
    cl_mem imported = import(CL_IMPORT_TYPE_HOST_ARM, numbers, BYTES, &code);
    assert_int_equal(code, CL_SUCCESS);
    check_imported(imported, numbers);
    free(numbers);
}

/* Two imports may share a page only if one of them begins with it. */
static void imports_within_a_page_are_refused(void **state)
{
    (void)state;
    uint8_t *pages = aligned_alloc(BYTES, 2 * BYTES);
    uint8_t *within = pages + CACHE_LINE_BYTES;
    cl_int code;
    cl_mem whole = import(CL_IMPORT_TYPE_HOST_ARM, pages, 2 * BYTES, &code);
    assert_int_equal(code, CL_SUCCESS);
    cl_mem first = import(CL_IMPORT_TYPE_HOST_ARM, within, CACHE_LINE_BYTES, &code);
    assert_int_equal(code, CL_SUCCESS);
    assert_null(import(CL_IMPORT_TYPE_HOST_ARM, within + CACHE_LINE_BYTES, BYTES, &code));
    assert_int_equal(code, CL_INVALID_OPERATION);
    cl_mem second = import(CL_IMPORT_TYPE_HOST_ARM, within + BYTES, CACHE_LINE_BYTES, &code);
    assert_int_equal(code, CL_SUCCESS);
    clReleaseMemObject(first);
    clReleaseMemObject(second);
    clReleaseMemObject(whole);
    free(pages);
}

/* Imports a file, and one page more than it has. */
static void check_file(int fd)
{
    cl_int code;
    cl_uint *numbers = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(numbers, MAP_FAILED);
    assert_null(import(CL_IMPORT_TYPE_DMA_BUF_ARM, &fd, 2 * BYTES, &code));
    assert_int_equal(code, CL_INVALID_OPERATION);
    cl_mem imported = import(CL_IMPORT_TYPE_DMA_BUF_ARM, &fd, BYTES, &code);
    assert_int_equal(code, CL_SUCCESS);
    close(fd); /* the import holds it */
    check_imported(imported, numbers);
    munmap(numbers, BYTES);
}

static int make_file(void)
{
    const int fd = memfd_create("buffer", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, BYTES), 0);
    return fd;
}

static void files_are_imported(void **state)
{
    (void)state;
    check_file(make_file());
}

static void dma_bufs_are_imported(void **state)
{
    (void)state;
    const int maker = open("/dev/udmabuf", O_RDWR | O_CLOEXEC);
    if (maker < 0) {
        print_message("skipped: there is no /dev/udmabuf\n");
        skip();
    }
    const int file = make_file();
    assert_int_equal(fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK), 0);
    const struct udmabuf_create create = {
        .memfd = (unsigned)file, .flags = UDMABUF_FLAGS_CLOEXEC, .size = BYTES};
    const int fd = ioctl(maker, UDMABUF_CREATE, &create);
    assert_true(fd >= 0);
    close(file);
    close(maker);
    check_file(fd);
}

/* ---- what the engine makes of it ---- */

/* The built kernels accept the groups of the settings with which the engine starts; unit/midgard.c
 * has more of these. */
static void the_engine_starts_as_planned(void **state)
{
    static const struct {
        uint32_t width, height;
        unsigned max_radix[2], stages[2]; /* in float and in half precision */
    } sizes[] = {
        {640, 480, {6, 6}, {2, 2}}, {1280, 720, {6, 6}, {2, 2}}, {1920, 1080, {5, 6}, {3, 2}}};
    (void)state;
    for (size_t i = 0; i < 2 * sizeof sizes / sizeof sizes[0]; i++) {
        const struct tuner_subject subject = {.device = device,
                                              .image = {.count = 1,
                                                        .width = sizes[i / 2].width,
                                                        .height = sizes[i / 2].height,
                                                        .stride = sizes[i / 2].width,
                                                        .step = 1,
                                                        .bits = 8},
                                              .border = {.margin_x = 16, .margin_y = 16},
                                              .precision = i % 2 == 1 ? RECIPE_HALF : RECIPE_FLOAT,
                                              .any_technique = true};
        struct transform_tuning start;
        struct transform *transform;
        struct error why = {""}, warning;
        tuner_start(&start, &subject);
        if (transform_create(&transform, device, &subject.image, &subject.border, &start, NULL,
                             &warning, &why) < 0)
            fail_msg("%ux%u: %s", sizes[i / 2].width, sizes[i / 2].height, why.text);
        const struct transform_tuning *built = transform_tuning(transform);
        print_message("# %ux%u %s: radix to %u, %u stages, %ux%u, groups of %u and %u\n",
                      sizes[i / 2].width, sizes[i / 2].height,
                      built->recipe.precision == RECIPE_HALF ? "half" : "float", built->max_radix,
                      built->stages_per_dispatch, transform_plan(transform)->x.length,
                      transform_plan(transform)->y.length, built->column_group, built->row_group);
        assert_int_equal(built->technique, TRANSFORM_STAGED);
        assert_int_equal(built->max_radix, sizes[i / 2].max_radix[i % 2]);
        assert_int_equal(built->stages_per_dispatch, sizes[i / 2].stages[i % 2]);
        assert_int_equal(built->column_group, 64);
        assert_int_equal(built->row_group, 64);
        transform_destroy(transform);
    }
}

/* Groups that are too large for the registers of the built kernels are halved. */
static void groups_shrink_to_the_registers(void **state)
{
    static const struct {
        unsigned radix, stages, group;
    } cases[] = {{4, 1, 128}, {4, 2, 64}, {6, 1, 64}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct transform_image image = {
            .count = 1, .width = 320, .height = 240, .stride = 320, .step = 1, .bits = 8};
        const struct transform_border border = {.margin_x = 8, .margin_y = 8};
        struct transform_tuning tuning;
        struct transform *transform;
        struct error why = {""}, warning;
        transform_default_tuning(&tuning, device);
        tuning.technique = TRANSFORM_STAGED;
        tuning.max_radix = cases[i].radix;
        tuning.stages_per_dispatch = cases[i].stages;
        tuning.column_group = tuning.row_group = 512;
        if (transform_create(&transform, device, &image, &border, &tuning, NULL, &warning, &why) <
            0)
            fail_msg("%s", why.text);
        assert_int_equal(transform_tuning(transform)->column_group, cases[i].group);
        assert_int_equal(transform_tuning(transform)->row_group, cases[i].group);
        transform_destroy(transform);
    }
}

static int setup(void **state)
{
    const int r = queue_setup(state);
    import_memory = device->import_host;
    return r;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_device_is_a_mali),
        cmocka_unit_test(launches_beyond_the_limits_are_refused),
        cmocka_unit_test(there_is_no_double),
        cmocka_unit_test(host_memory_is_imported),
        cmocka_unit_test(imports_within_a_page_are_refused),
        cmocka_unit_test(files_are_imported),
        cmocka_unit_test(dma_bufs_are_imported),
        cmocka_unit_test(the_engine_starts_as_planned),
        cmocka_unit_test(groups_shrink_to_the_registers),
    };
    return cmocka_run_group_tests_name("rules", tests, setup, queue_teardown);
}
