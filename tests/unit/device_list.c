/* The list of OpenCL devices for programs is JSON whatever drivers call themselves. The OpenCL
 * loader's functions are replaced by one platform with one device. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/cmocka.h"

#include <CL/cl.h>

#include "gpu/device.h"

static const char *device_name;

static cl_int answer(const void *value, size_t bytes, size_t size, void *ret, size_t *ret_bytes)
{
    if (ret_bytes != NULL)
        *ret_bytes = bytes;
    if (bytes > size)
        return CL_INVALID_VALUE;
    memcpy(ret, value, bytes);
    return CL_SUCCESS;
}

cl_int clGetPlatformIDs(cl_uint num_entries, cl_platform_id *platforms, cl_uint *num_platforms)
{
    assert_true(num_entries > 0);
    platforms[0] = NULL;
    *num_platforms = 1;
    return CL_SUCCESS;
}

cl_int clGetDeviceIDs(cl_platform_id platform, cl_device_type type, cl_uint num_entries,
                      cl_device_id *devices, cl_uint *num_devices)
{
    (void)platform;
    assert_true(type == CL_DEVICE_TYPE_ALL && num_entries > 0);
    devices[0] = NULL;
    *num_devices = 1;
    return CL_SUCCESS;
}

cl_int clGetDeviceInfo(cl_device_id device, cl_device_info param_name, size_t param_value_size,
                       void *param_value, size_t *param_value_size_ret)
{
    (void)device;
    static const cl_device_type type = CL_DEVICE_TYPE_GPU;
    if (param_name == CL_DEVICE_TYPE)
        return answer(&type, sizeof type, param_value_size, param_value, param_value_size_ret);
    const char *text = param_name == CL_DEVICE_NAME ? device_name : "OpenCL 1.2 \\o/";
    return answer(text, strlen(text) + 1, param_value_size, param_value, param_value_size_ret);
}

cl_int clGetPlatformInfo(cl_platform_id platform, cl_platform_info param_name,
                         size_t param_value_size, void *param_value, size_t *param_value_size_ret)
{
    (void)platform;
    (void)param_name;
    static const char name[] = "Acme \xc2\xae";
    return answer(name, sizeof name, param_value_size, param_value, param_value_size_ret);
}

static void check(const char *name, const char *json)
{
    char *text, expected[256];
    size_t size;
    FILE *file = open_memstream(&text, &size);
    device_name = name;
    assert_int_equal(gpu_device_list(file, true), 1);
    fclose(file);
    snprintf(expected, sizeof expected,
             "[{\"index\": 0, \"type\": \"gpu\", \"name\": %s, "
             "\"platform\": \"Acme \xc2\xae\", \"version\": \"OpenCL 1.2 \\\\o/\"}]\n",
             json);
    assert_string_equal(text, expected);
    free(text);
}

static void names_are_json_strings(void **state)
{
    (void)state;
    check("Mali-T760", "\"Mali-T760\"");
    check("the \"fast\" one\x01", "\"the \\\"fast\\\" one\\u0001\"");
    check("Stra\xdf"
          "e",
          "\"Stra\xef\xbf\xbd"
          "e\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_json_strings),
    };
    return cmocka_run_group_tests_name("device_list", tests, NULL, NULL);
}
