/* Measured rates of the device, with a tree like the kernel's devfreq beside it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/cmocka.h"

#include "support/device.h"

#include "gpu/device_private.h"
#include "transform/rates.h"

#define CLOCK_HZ 123456789.

static char folder[64], entry[128], file[256];

static int make_tree(void **state)
{
    if (device_setup(state) != 0)
        return -1;
    snprintf(folder, sizeof folder, "/tmp/fftd-test-XXXXXX");
    if (mkdtemp(folder) == NULL)
        return -1;
    snprintf(entry, sizeof entry, "%s/ffa30000.gpu", folder);
    snprintf(file, sizeof file, "%s/cur_freq", entry);
    return mkdir(entry, 0700);
}

static int remove_tree(void **state)
{
    unlink(file);
    rmdir(entry);
    rmdir(folder);
    return device_teardown(state);
}

static void write_clock(const char *text)
{
    FILE *out = fopen(file, "w");
    assert_non_null(out);
    fputs(text, out);
    fclose(out);
}

static double opencl_hz(void)
{
    cl_uint mhz = 0;
    clGetDeviceInfo(device->id, CL_DEVICE_MAX_CLOCK_FREQUENCY, sizeof mhz, &mhz, NULL);
    return mhz * 1e6;
}

static void check(double clock_hz, const char *source)
{
    struct rates rates;
    struct error why = {""};
    cl_uint cores = 0;
    if (rates_measure(&rates, device, folder, &why) < 0)
        fail_msg("%s", why.text);
    print_message("# %s: %.2f GB/s, %.1f us a dispatch, %.0f MHz\n", rates.device,
                  rates.cost.bytes / 1e9, rates.cost.dispatch_s * 1e6, rates.clock_hz / 1e6);
    clGetDeviceInfo(device->id, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof cores, &cores, NULL);
    assert_int_equal(rates.cores, cores);
    assert_true(rates.clock_hz == clock_hz);
    assert_string_equal(rates.clock_source, source);
    assert_true(rates.cost.words == 2 * cores * clock_hz);
    assert_true(rates.cost.accesses == cores * clock_hz);
    /* No real device is faster than a thousand boards. The bounds for slow ones leave room for a
     * machine that does much else. */
    if (!device_is_simulated()) {
        assert_in_range((uint64_t)rates.cost.bytes, 100000, 10000000000000);
        assert_true(rates.cost.dispatch_s > 0 && rates.cost.dispatch_s < 10);
    }
    assert_string_equal(rates.device, gpu_device_name(device));
    assert_int_equal(rates.is_counted, device->midgard);
}

/* The clock of a GPU is devfreq's, as long as that is one. */
static void devfreq_is_for_gpus(void **state)
{
    (void)state;
    write_clock("123456789\n");
    if (!gpu_device_is_cpu(device)) {
        check(CLOCK_HZ, file);
        write_clock("garbage\n");
    }
    if (opencl_hz() > 0)
        check(opencl_hz(), "CL_DEVICE_MAX_CLOCK_FREQUENCY");
}

int main(void)
{
    /* The buffers that are copied are as large as the device allows. oclgrind would copy large ones
     * for minutes. */
    setenv("OCLGRIND_GLOBAL_MEM_SIZE", "262144", 0);
    const struct CMUnitTest tests[] = {cmocka_unit_test(devfreq_is_for_gpus)};
    return cmocka_run_group_tests_name("rates", tests, make_tree, remove_tree);
}
