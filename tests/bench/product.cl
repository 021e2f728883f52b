/* spectrum[i] *= response[i], for the libraries that leave this to their user. One coefficient a
 * work-item, rounded up. Launched by fft_opencl.c (fft_product_enqueue). */
kernel void multiply(global float2 *spectrum, global const float *response, uint count)
{
    const uint i = get_global_id(0);
    if (i < count)
        spectrum[i] *= response[i];
}
