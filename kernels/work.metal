// Computes for a while: rounds dependent steps, at most FS_ROUNDS_MAX, in each
// thread, and stores the result so that the compiler keeps them. Threads beyond
// count do nothing.
kernel void fs_work(device uint* sink [[buffer(0)]],
                    constant uint& count [[buffer(1)]],
                    constant uint& rounds [[buffer(2)]],
                    uint index [[thread_position_in_grid]]) {
  if (index < count) {
    const uint bound = min(rounds, FS_ROUNDS_MAX);
    uint x = index;
    for (uint i = 0; i < bound; i++) {
      x = x * 1664525u + 1013904223u;
    }
    sink[index] = x;
  }
}
