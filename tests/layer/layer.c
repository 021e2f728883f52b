/* A layer of the OpenCL loader ($OPENCL_LAYERS) that makes any device a Mali-T760 with the driver
 * r18p0 of an RK3288, as far as a program can tell: its names and versions, its limits, and
 * cl_arm_import_memory (tests/faults/import.c). What the T760 refuses is refused here.
 *
 *     FFTD_LAYER_GROUP=256    the most items of a work-group; rusticl on panfrost has 128
 *     FFTD_LAYER_SAYS=TEXT    a line that the driver prints to the standard output when it is
 *                             loaded; some of ARM's print their release
 *     FFTD_LAYER_SPARES=TEXT  a device whose name begins with this stays what it is, as the CPU
 *                             beside a GPU does
 *     FFTD_LAYER_LAUNCH_US=N  microseconds that the driver takes for each launch of a kernel
 *
 * A core has 1024 128-bit registers. A kernel that needs up to 4 of them runs with 256 items, up to
 * 8 with 128, and above with 64. Registers are not counted here: `make mali-counts` has found at
 * most 8 in transforms with one stage per dispatch and no radix above 4, and 9 to 16 in all others.
 *
 * The device gets no half arithmetic: cl_khr_fp16 is left out where the real device lacks it. The
 * binary of a program is its source, because a real one would have all kernels compiled at once. */
#include <CL/cl_layer.h>

static const cl_icd_dispatch *target;
#define NEXT(function) (target->function)

/* NOLINTNEXTLINE: a part of this layer, and a library of its own */
#include "faults/import.c"

#include <ctype.h>
#include <stddef.h>
#include <time.h>

#define PLATFORM_VERSION "OpenCL 1.2 v1.r18p0-01rel0"
#define LOCAL_BYTES      (32 * 1024)
#define MOST_ITEMS       256
#define MOST_DEVICES     16
#define ITEMS_8          128 /* with up to 8 registers */
#define ITEMS_16         64  /* with up to 16 */
#define MAGIC            "the layer's binary\n"

/* ---- what is known of programs and kernels ---- */

struct record {
    struct record *next;
    void *object; /* a cl_program or a cl_kernel */
    char *source; /* of a program */
    size_t items; /* of a kernel: the most in a work-group */
};

static struct record *records;

static struct record **place_of(const void *object)
{
    struct record **at = &records;
    while (*at != NULL && (*at)->object != object)
        at = &(*at)->next;
    return at;
}

static void drop(const void *object)
{
    pthread_mutex_lock(&lock);
    struct record **at = place_of(object), *record = *at;
    if (record != NULL) {
        *at = record->next;
        free(record->source);
        free(record);
    }
    pthread_mutex_unlock(&lock);
}

/* Takes the source over. NOLINTNEXTLINE(readability-non-const-parameter): frees it later */
static void keep(void *object, char *source, size_t items)
{
    struct record *record = malloc(sizeof *record);
    if (record == NULL)
        abort();
    drop(object); /* of an object that had the same address */
    pthread_mutex_lock(&lock);
    *record = (struct record){records, object, source, items};
    records = record;
    pthread_mutex_unlock(&lock);
}

/* Returns a copy, or NULL. */
static char *source_of(cl_program program)
{
    pthread_mutex_lock(&lock);
    const struct record *record = *place_of(program);
    char *copy = record != NULL ? strdup(record->source) : NULL;
    pthread_mutex_unlock(&lock);
    return copy;
}

static bool is_spared(cl_device_id device)
{
    const char *spares = getenv("FFTD_LAYER_SPARES");
    char name[256] = "";
    if (spares == NULL)
        return false;
    NEXT(clGetDeviceInfo)(device, CL_DEVICE_NAME, sizeof name - 1, name, NULL);
    return strncmp(name, spares, strlen(spares)) == 0;
}

static size_t device_items(void)
{
    const char *setting = getenv("FFTD_LAYER_GROUP");
    return setting != NULL ? strtoul(setting, NULL, 10) : MOST_ITEMS;
}

static size_t kernel_items(cl_kernel kernel)
{
    pthread_mutex_lock(&lock);
    const struct record *record = *place_of(kernel);
    const size_t items = record != NULL ? record->items : device_items();
    pthread_mutex_unlock(&lock);
    return items;
}

/* The largest number that the source defines a name as; 0: none. */
static unsigned long most_defined(const char *source, const char *name)
{
    unsigned long most = 0;
    for (const char *at = source; (at = strstr(at, name)) != NULL; at++) {
        const unsigned long value = strtoul(at + strlen(name), NULL, 10);
        most = value > most ? value : most;
    }
    return most;
}

static size_t items_of_source(const char *source)
{
    const size_t all = device_items();
    const unsigned long radix = most_defined(source, "#define RADIX ");
    size_t items = all;
    if (radix > 0) {
        const bool staged = most_defined(source, "#define STAGED ") == 1;
        const bool few = staged && radix <= 4 && most_defined(source, "#define COUNT ") == 1;
        items = few ? ITEMS_8 : ITEMS_16;
    }
    return items < all ? items : all;
}

/* ---- names and limits ---- */

static cl_int answer(const void *data, size_t bytes, size_t size, void *value, size_t *size_ret)
{
    if (size_ret != NULL)
        *size_ret = bytes;
    if (value == NULL)
        return CL_SUCCESS;
    if (size < bytes)
        return CL_INVALID_VALUE;
    memcpy(value, data, bytes);
    return CL_SUCCESS;
}

static cl_int answer_text(const char *text, size_t size, void *value, size_t *size_ret)
{
    return answer(text, strlen(text) + 1, size, value, size_ret);
}

static CL_API_ENTRY cl_int CL_API_CALL get_platform_info(cl_platform_id platform,
                                                         cl_platform_info name, size_t size,
                                                         void *value, size_t *size_ret)
{
    switch (name) {
    case CL_PLATFORM_NAME:
        return answer_text("ARM Platform", size, value, size_ret);
    case CL_PLATFORM_VENDOR:
        return answer_text("ARM", size, value, size_ret);
    case CL_PLATFORM_VERSION:
        return answer_text(PLATFORM_VERSION, size, value, size_ret);
    case CL_PLATFORM_EXTENSIONS:
        return answer_text("cl_khr_icd cl_arm_import_memory", size, value, size_ret);
    default:
        return NEXT(clGetPlatformInfo)(platform, name, size, value, size_ret);
    }
}

/* Every device that is not spared is a GPU, and the default. */
static CL_API_ENTRY cl_int CL_API_CALL get_devices(cl_platform_id platform, cl_device_type type,
                                                   cl_uint capacity, cl_device_id *devices,
                                                   cl_uint *count_ret)
{
    cl_device_id found[MOST_DEVICES];
    cl_uint count = 0, kept = 0;
    const cl_int code =
        NEXT(clGetDeviceIDs)(platform, CL_DEVICE_TYPE_ALL, MOST_DEVICES, found, &count);
    if (code != CL_SUCCESS)
        return code;
    for (cl_uint i = 0; i < count && i < MOST_DEVICES; i++) {
        cl_device_type own = CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_DEFAULT;
        if (is_spared(found[i])) {
            NEXT(clGetDeviceInfo)(found[i], CL_DEVICE_TYPE, sizeof own, &own, NULL);
            own &= ~(cl_device_type)CL_DEVICE_TYPE_DEFAULT;
        }
        if ((own & type) == 0)
            continue;
        if (devices != NULL && kept < capacity)
            devices[kept] = found[i];
        kept++;
    }
    if (count_ret != NULL)
        *count_ret = kept;
    return kept > 0 ? CL_SUCCESS : CL_DEVICE_NOT_FOUND;
}

static bool has_half(cl_device_id device)
{
    char list[8192] = "";
    NEXT(clGetDeviceInfo)(device, CL_DEVICE_EXTENSIONS, sizeof list - 1, list, NULL);
    return strstr(list, "cl_khr_fp16") != NULL;
}

static cl_int get_extensions(cl_device_id device, size_t size, void *value, size_t *size_ret)
{
    char list[1024];
    snprintf(list, sizeof list,
             "cl_khr_global_int32_base_atomics cl_khr_global_int32_extended_atomics "
             "cl_khr_local_int32_base_atomics cl_khr_local_int32_extended_atomics "
             "cl_khr_byte_addressable_store cl_khr_icd%s%s",
             has_half(device) ? " cl_khr_fp16" : "", EXTENSIONS);
    return answer_text(list, size, value, size_ret);
}

/* Answers with a number of the type that the standard gives this value. */
#define NUMBER(type, number) answer(&(const type){number}, sizeof(type), size, value, size_ret)

static CL_API_ENTRY cl_int CL_API_CALL get_device_info(cl_device_id device, cl_device_info name,
                                                       size_t size, void *value, size_t *size_ret)
{
    const size_t most = device_items(), items[] = {most, most, most};
    if (is_spared(device))
        return NEXT(clGetDeviceInfo)(device, name, size, value, size_ret);
    switch (name) {
    case CL_DEVICE_TYPE:
        return NUMBER(cl_device_type, CL_DEVICE_TYPE_GPU);
    case CL_DEVICE_NAME:
        return answer_text("Mali-T760", size, value, size_ret);
    case CL_DEVICE_VENDOR:
        return answer_text("ARM", size, value, size_ret);
    case CL_DEVICE_VERSION:
        return answer_text(PLATFORM_VERSION, size, value, size_ret);
    case CL_DEVICE_OPENCL_C_VERSION:
        return answer_text("OpenCL C 1.2 v1.r18p0-01rel0", size, value, size_ret);
    case CL_DRIVER_VERSION:
        return answer_text("1.2", size, value, size_ret);
    case CL_DEVICE_EXTENSIONS:
        return get_extensions(device, size, value, size_ret);
    case CL_DEVICE_MAX_COMPUTE_UNITS:
        return NUMBER(cl_uint, 4);
    case CL_DEVICE_MAX_CLOCK_FREQUENCY:
        return NUMBER(cl_uint, 600);
    case CL_DEVICE_MAX_WORK_GROUP_SIZE:
        return NUMBER(size_t, most);
    case CL_DEVICE_MAX_WORK_ITEM_SIZES:
        return answer(items, sizeof items, size, value, size_ret);
    case CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS:
        return NUMBER(cl_uint, 3);
    case CL_DEVICE_LOCAL_MEM_TYPE:
        return NUMBER(cl_device_local_mem_type, CL_GLOBAL);
    case CL_DEVICE_LOCAL_MEM_SIZE:
        return NUMBER(cl_ulong, LOCAL_BYTES);
    case CL_DEVICE_GLOBAL_MEM_CACHELINE_SIZE:
        return NUMBER(cl_uint, CACHE_LINE_BYTES);
    case CL_DEVICE_HOST_UNIFIED_MEMORY:
        return NUMBER(cl_bool, CL_TRUE);
    case CL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT:
    case CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT:
        return NUMBER(cl_uint, 4);
    case CL_DEVICE_PREFERRED_VECTOR_WIDTH_DOUBLE:
    case CL_DEVICE_NATIVE_VECTOR_WIDTH_DOUBLE:
        return NUMBER(cl_uint, 0);
    case CL_DEVICE_DOUBLE_FP_CONFIG:
        return NUMBER(cl_device_fp_config, 0);
    default:
        return NEXT(clGetDeviceInfo)(device, name, size, value, size_ret);
    }
}

/* ---- programs ---- */

/* Blanks comments out, because they may name what the code must not use. */
static void strip_comments(char *source)
{
    for (char *at = source; *at != '\0'; at++) {
        const char *end = NULL;
        if (at[0] == '/' && at[1] == '*')
            end = (end = strstr(at + 2, "*/")) != NULL ? end + 2 : at + strlen(at);
        else if (at[0] == '/' && at[1] == '/')
            end = at + strcspn(at, "\n");
        for (; end != NULL && at < end; at++)
            *at = ' ';
        if (*at == '\0')
            return;
    }
}

/* Whether a word begins with this somewhere. */
static bool has_word(const char *source, const char *word)
{
    for (const char *at = source; (at = strstr(at, word)) != NULL; at++)
        if (at == source || !(isalnum((unsigned char)at[-1]) || at[-1] == '_'))
            return true;
    return false;
}

/* Returns what the T760's compiler does not know, or NULL. */
static const char *unknown_word(const char *source)
{
    static const char *const unknown[] = {"double",      "sub_group_",   "get_sub_group",   "pipe ",
                                          "atomic_load", "atomic_store", "read_write image"};
    char *code = strdup(source);
    const char *found = NULL;
    if (code == NULL)
        abort();
    strip_comments(code);
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0] && found == NULL; i++)
        if (has_word(code, unknown[i]))
            found = unknown[i];
    free(code);
    return found;
}

static CL_API_ENTRY cl_program CL_API_CALL create_program(cl_context context, cl_uint count,
                                                          const char **strings,
                                                          const size_t *lengths,
                                                          cl_int *errcode_ret)
{
    char *source = NULL;
    size_t size;
    FILE *out = open_memstream(&source, &size);
    for (cl_uint i = 0; i < count; i++)
        fwrite(strings[i], 1, lengths != NULL && lengths[i] > 0 ? lengths[i] : strlen(strings[i]),
               out);
    fclose(out);
    cl_program program =
        NEXT(clCreateProgramWithSource)(context, count, strings, lengths, errcode_ret);
    if (program != NULL)
        keep(program, source, 0);
    else
        free(source);
    return program;
}

static CL_API_ENTRY cl_program CL_API_CALL create_program_from_binary(
    cl_context context, cl_uint count, const cl_device_id *devices, const size_t *lengths,
    const unsigned char **binaries, cl_int *status, cl_int *errcode_ret)
{
    const size_t begin = strlen(MAGIC);
    (void)devices;
    cl_int code = CL_INVALID_BINARY;
    cl_program program = NULL;
    if (count == 1 && lengths[0] > begin && memcmp(binaries[0], MAGIC, begin) == 0) {
        const char *source = (const char *)binaries[0] + begin;
        const size_t length = lengths[0] - begin;
        program = create_program(context, 1, &source, &length, &code);
    }
    if (status != NULL)
        *status = code;
    if (errcode_ret != NULL)
        *errcode_ret = code;
    return program;
}

static CL_API_ENTRY cl_int CL_API_CALL build_program(cl_program program, cl_uint count,
                                                     const cl_device_id *devices,
                                                     const char *options,
                                                     void(CL_CALLBACK *notify)(cl_program, void *),
                                                     void *user_data)
{
    char *source = source_of(program);
    const char *unknown = source != NULL ? unknown_word(source) : NULL;
    free(source);
    if (unknown != NULL) {
        fprintf(stderr, "layer: a kernel uses '%s', which a Mali-T760 does not have\n", unknown);
        return CL_BUILD_PROGRAM_FAILURE;
    }
    return NEXT(clBuildProgram)(program, count, devices, options, notify, user_data);
}

static CL_API_ENTRY cl_int CL_API_CALL get_program_info(cl_program program, cl_program_info name,
                                                        size_t size, void *value, size_t *size_ret)
{
    if (name != CL_PROGRAM_BINARY_SIZES && name != CL_PROGRAM_BINARIES)
        return NEXT(clGetProgramInfo)(program, name, size, value, size_ret);
    char *source = source_of(program);
    if (source == NULL)
        return CL_INVALID_PROGRAM;
    const size_t bytes = strlen(MAGIC) + strlen(source);
    cl_int code;
    if (name == CL_PROGRAM_BINARY_SIZES) {
        code = answer(&bytes, sizeof bytes, size, value, size_ret);
    } else {
        char *const *binary = value;
        if (binary != NULL && size >= sizeof *binary && *binary != NULL) {
            memcpy(*binary, MAGIC, strlen(MAGIC));
            memcpy(*binary + strlen(MAGIC), source, strlen(source));
        }
        if (size_ret != NULL)
            *size_ret = sizeof *binary;
        code = binary != NULL && size < sizeof *binary ? CL_INVALID_VALUE : CL_SUCCESS;
    }
    free(source);
    return code;
}

static CL_API_ENTRY cl_int CL_API_CALL release_program(cl_program program)
{
    cl_uint count = 0;
    NEXT(clGetProgramInfo)(program, CL_PROGRAM_REFERENCE_COUNT, sizeof count, &count, NULL);
    if (count == 1)
        drop(program);
    return NEXT(clReleaseProgram)(program);
}

/* ---- kernels ---- */

static CL_API_ENTRY cl_kernel CL_API_CALL create_kernel(cl_program program, const char *name,
                                                        cl_int *errcode_ret)
{
    cl_kernel kernel = NEXT(clCreateKernel)(program, name, errcode_ret);
    char *source = kernel != NULL ? source_of(program) : NULL;
    if (source != NULL)
        keep(kernel, NULL, items_of_source(source));
    free(source);
    return kernel;
}

static CL_API_ENTRY cl_int CL_API_CALL release_kernel(cl_kernel kernel)
{
    cl_uint count = 0;
    NEXT(clGetKernelInfo)(kernel, CL_KERNEL_REFERENCE_COUNT, sizeof count, &count, NULL);
    if (count == 1)
        drop(kernel);
    return NEXT(clReleaseKernel)(kernel);
}

static CL_API_ENTRY cl_int CL_API_CALL get_kernel_group_info(cl_kernel kernel, cl_device_id device,
                                                             cl_kernel_work_group_info name,
                                                             size_t size, void *value,
                                                             size_t *size_ret)
{
    if (is_spared(device))
        return NEXT(clGetKernelWorkGroupInfo)(kernel, device, name, size, value, size_ret);
    if (name == CL_KERNEL_WORK_GROUP_SIZE)
        return NUMBER(size_t, kernel_items(kernel));
    if (name == CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE)
        return NUMBER(size_t, 4);
    return NEXT(clGetKernelWorkGroupInfo)(kernel, device, name, size, value, size_ret);
}

/* A driver that takes long to launch a kernel keeps a processor busy meanwhile. */
static void launch_slowly(void)
{
    const char *setting = getenv("FFTD_LAYER_LAUNCH_US");
    const long us = setting != NULL ? strtol(setting, NULL, 10) : 0;
    struct timespec now, start;
    clock_gettime(CLOCK_MONOTONIC, &start);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - start.tv_sec) * 1000000 + (now.tv_nsec - start.tv_nsec) / 1000 < us);
}

/* Too many items, no local size, and too much local memory are refused as ARM's driver does it. */
static CL_API_ENTRY cl_int CL_API_CALL enqueue_kernel(cl_command_queue queue, cl_kernel kernel,
                                                      cl_uint dimensions, const size_t *offset,
                                                      const size_t *global, const size_t *local,
                                                      cl_uint wait_count, const cl_event *wait,
                                                      cl_event *event)
{
    cl_device_id device;
    cl_ulong local_bytes = 0;
    size_t items = 1;
    NEXT(clGetCommandQueueInfo)(queue, CL_QUEUE_DEVICE, sizeof device, &device, NULL);
    if (is_spared(device))
        return NEXT(clEnqueueNDRangeKernel)(queue, kernel, dimensions, offset, global, local,
                                            wait_count, wait, event);
    if (local == NULL)
        return CL_OUT_OF_RESOURCES;
    for (cl_uint i = 0; i < dimensions; i++) {
        if (local[i] == 0 || global[i] % local[i] != 0)
            return CL_INVALID_WORK_GROUP_SIZE;
        items *= local[i];
    }
    NEXT(clGetKernelWorkGroupInfo)
    (kernel, device, CL_KERNEL_LOCAL_MEM_SIZE, sizeof local_bytes, &local_bytes, NULL);
    if (items > kernel_items(kernel) || local_bytes > LOCAL_BYTES)
        return CL_OUT_OF_RESOURCES;
    launch_slowly();
    return NEXT(clEnqueueNDRangeKernel)(queue, kernel, dimensions, offset, global, local,
                                        wait_count, wait, event);
}

/* ---- imported buffers: commands that tests/faults/import.c does not know ---- */

static CL_API_ENTRY cl_int CL_API_CALL copy_rows(cl_command_queue queue, cl_mem from, cl_mem to,
                                                 const size_t *from_origin, const size_t *to_origin,
                                                 const size_t *region, size_t from_row_pitch,
                                                 size_t from_slice_pitch, size_t to_row_pitch,
                                                 size_t to_slice_pitch, cl_uint wait_count,
                                                 const cl_event *wait, cl_event *event)
{
    if (is_imported(from) || is_imported(to))
        return CL_INVALID_OPERATION;
    return NEXT(clEnqueueCopyBufferRect)(queue, from, to, from_origin, to_origin, region,
                                         from_row_pitch, from_slice_pitch, to_row_pitch,
                                         to_slice_pitch, wait_count, wait, event);
}

static CL_API_ENTRY cl_int CL_API_CALL read_rows(cl_command_queue queue, cl_mem buffer,
                                                 cl_bool blocking, const size_t *buffer_offset,
                                                 const size_t *host_offset, const size_t *region,
                                                 size_t buffer_row_pitch, size_t buffer_slice_pitch,
                                                 size_t host_row_pitch, size_t host_slice_pitch,
                                                 void *at, cl_uint wait_count, const cl_event *wait,
                                                 cl_event *event)
{
    if (is_imported(buffer))
        return CL_INVALID_OPERATION;
    return NEXT(clEnqueueReadBufferRect)(
        queue, buffer, blocking, buffer_offset, host_offset, region, buffer_row_pitch,
        buffer_slice_pitch, host_row_pitch, host_slice_pitch, at, wait_count, wait, event);
}

static CL_API_ENTRY cl_int CL_API_CALL
write_rows(cl_command_queue queue, cl_mem buffer, cl_bool blocking, const size_t *buffer_offset,
           const size_t *host_offset, const size_t *region, size_t buffer_row_pitch,
           size_t buffer_slice_pitch, size_t host_row_pitch, size_t host_slice_pitch,
           const void *at, cl_uint wait_count, const cl_event *wait, cl_event *event)
{
    if (is_imported(buffer))
        return CL_INVALID_OPERATION;
    return NEXT(clEnqueueWriteBufferRect)(
        queue, buffer, blocking, buffer_offset, host_offset, region, buffer_row_pitch,
        buffer_slice_pitch, host_row_pitch, host_slice_pitch, at, wait_count, wait, event);
}

/* ---- the layer ---- */

CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info param_name, size_t param_value_size,
                                               void *param_value, size_t *param_value_size_ret)
{
    const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
    if (param_name == CL_LAYER_API_VERSION)
        return answer(&version, sizeof version, param_value_size, param_value,
                      param_value_size_ret);
    if (param_name == CL_LAYER_NAME)
        return answer_text("fftd's Mali-T760", param_value_size, param_value, param_value_size_ret);
    return CL_INVALID_VALUE;
}

/* A library that speaks when it is loaded does so with stdio or without. */
static void say(const char *text)
{
    puts(text);
    fflush(stdout);
}

CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint num_entries,
                                            const cl_icd_dispatch *target_dispatch,
                                            cl_uint *num_entries_ret,
                                            const cl_icd_dispatch **layer_dispatch_ret)
{
    static cl_icd_dispatch table;
    if (num_entries < offsetof(cl_icd_dispatch, clEnqueueBarrierWithWaitList) / sizeof(void *))
        return CL_INVALID_VALUE;
    if (getenv("FFTD_LAYER_SAYS") != NULL)
        say(getenv("FFTD_LAYER_SAYS"));
    target = target_dispatch;
    table = *target_dispatch;
    table.clGetPlatformInfo = get_platform_info;
    table.clGetDeviceIDs = get_devices;
    table.clGetDeviceInfo = get_device_info;
    table.clCreateProgramWithSource = create_program;
    table.clCreateProgramWithBinary = create_program_from_binary;
    table.clBuildProgram = build_program;
    table.clGetProgramInfo = get_program_info;
    table.clReleaseProgram = release_program;
    table.clCreateKernel = create_kernel;
    table.clReleaseKernel = release_kernel;
    table.clGetKernelWorkGroupInfo = get_kernel_group_info;
    table.clEnqueueNDRangeKernel = enqueue_kernel;
    table.clEnqueueCopyBufferRect = copy_rows;
    table.clEnqueueReadBufferRect = read_rows;
    table.clEnqueueWriteBufferRect = write_rows;
    table.clGetExtensionFunctionAddressForPlatform = clGetExtensionFunctionAddressForPlatform;
    table.clEnqueueMapBuffer = clEnqueueMapBuffer;
    table.clEnqueueUnmapMemObject = clEnqueueUnmapMemObject;
    table.clEnqueueReadBuffer = clEnqueueReadBuffer;
    table.clEnqueueWriteBuffer = clEnqueueWriteBuffer;
    table.clEnqueueFillBuffer = clEnqueueFillBuffer;
    table.clEnqueueCopyBuffer = clEnqueueCopyBuffer;
    table.clCreateSubBuffer = clCreateSubBuffer;
    *num_entries_ret = sizeof table / sizeof(void *);
    *layer_dispatch_ret = &table;
    return CL_SUCCESS;
}
