// Arrays that the fences protect: written, republished and checked. One thread a
// word; threads beyond count do nothing.

// What word index of version version holds.
inline uint fs_payload(uint version, uint index) {
  return (version * 0x9e3779b1u) ^ (index * 0x85ebca6bu + 0xc2b2ae35u);
}

// Writes a version of the array with ordinary stores.
kernel void fs_payload_write(device uint* array [[buffer(0)]],
                             constant uint& count [[buffer(1)]],
                             constant uint& version [[buffer(2)]],
                             uint index [[thread_position_in_grid]]) {
  if (index < count) {
    array[index] = fs_payload(version, index);
  }
}

// Writes every word again, with the value that it has, as a store that the whole
// system sees. A store by anyone else to the same word meanwhile is lost.
kernel void fs_coherent(FS_WORD array [[buffer(0)]],
                        constant uint& count [[buffer(1)]],
                        uint index [[thread_position_in_grid]]) {
  if (index < count) {
    array[index] = array[index];
  }
  fs_order();
}

// Reads the array with ordinary loads and counts the words that are not of the
// version: in the record, word 0 is how many were checked, 1 how many were wrong,
// 2 one more than the largest wrong index. The record starts at zeros.
kernel void fs_payload_check(device const uint* array [[buffer(0)]],
                             device atomic_uint* record [[buffer(1)]],
                             constant uint& count [[buffer(2)]],
                             constant uint& version [[buffer(3)]],
                             uint index [[thread_position_in_grid]]) {
  if (index < count) {
    if (array[index] != fs_payload(version, index)) {
      atomic_fetch_add_explicit(record + 1, 1u, memory_order_relaxed);
      atomic_fetch_max_explicit(record + 2, index + 1, memory_order_relaxed);
    }
    atomic_fetch_add_explicit(record, 1u, memory_order_relaxed);
  }
  fs_order();
}
