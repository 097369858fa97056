// Updates of and waits for a fence, a counter in shared memory. One thread each.

// The value replaces whatever is there.
kernel void fs_update_plain(FS_WORD fence [[buffer(0)]],
                            FS_WORD record [[buffer(1)]],
                            constant uint& value [[buffer(2)]]) {
  fence[0] = value;
  fs_order();
  record[FS_VALUE] = value;
  record[FS_DETAIL] = 1;
  fs_order();
  record[FS_OUTCOME] = FS_PASSED;
  fs_order();
}

// The value is stored if the value read was smaller. Reading and storing are two
// steps, gap orderings apart, and what another writer stores between them is lost.
kernel void fs_update_guarded(FS_WORD fence [[buffer(0)]],
                              FS_WORD record [[buffer(1)]],
                              constant uint& value [[buffer(2)]],
                              constant uint& gap [[buffer(3)]]) {
  const uint seen = fence[0];
  const uint spins = min(gap, FS_GAP_MAX);
  for (uint i = 0; i < spins; i++) {
    fs_order();
  }
  const bool raises = seen < value;
  if (raises) {
    fence[0] = value;
  }
  fs_order();
  record[FS_VALUE] = seen;
  record[FS_DETAIL] = raises ? 1 : 0;
  fs_order();
  record[FS_OUTCOME] = FS_PASSED;
  fs_order();
}

// The fence becomes the larger of its value and the given one, in one step.
kernel void fs_update_max(FS_WORD fence [[buffer(0)]],
                          FS_WORD record [[buffer(1)]],
                          constant uint& value [[buffer(2)]]) {
  fs_order();
  const uint seen = atomic_fetch_max_explicit(FS_ATOMIC(fence), value, memory_order_relaxed);
  fs_order();
  record[FS_VALUE] = seen;
  record[FS_DETAIL] = seen < value ? 1 : 0;
  fs_order();
  record[FS_OUTCOME] = FS_PASSED;
  fs_order();
}

// Polls until the fence is at least the target. It always ends: at the kill flag,
// after limit polls (0 or more than FS_POLLS_MAX counts as that), or when the
// heartbeat has not changed for silence polls (0: not watched). From poll number
// fallback on (0: never) an atomic load is tried beside the ordinary one. The kill
// flag is also loaded atomically at every 64th poll, in case ordinary loads are
// stale for good.
kernel void fs_wait(FS_WORD fence [[buffer(0)]],
                    FS_WORD control [[buffer(1)]],
                    FS_WORD record [[buffer(2)]],
                    constant uint& target [[buffer(3)]],
                    constant uint& limit [[buffer(4)]],
                    constant uint& fallback [[buffer(5)]],
                    constant uint& silence [[buffer(6)]]) {
  const uint bound = limit == 0 ? FS_POLLS_MAX : min(limit, FS_POLLS_MAX);
  uint outcome = FS_GAVE_UP;
  record[FS_OUTCOME] = FS_RUNNING;
  uint last = 0;
  uint polls = 0;
  uint fallbacks = 0;
  uint beat = control[FS_BEAT];
  uint silent = 0;
  while (polls < bound) {
    polls++;
    fs_order();
    last = fence[0];
    if (last < target && fallback != 0 && polls >= fallback) {
      fallbacks++;
      last = atomic_load_explicit(FS_ATOMIC(fence), memory_order_relaxed);
    }
    if (last >= target) {
      outcome = FS_PASSED;
      break;
    }
    uint kill = control[FS_KILL];
    if (kill == 0 && polls % 64 == 0) {
      kill = atomic_load_explicit(FS_ATOMIC(control) + FS_KILL, memory_order_relaxed);
    }
    if (kill != 0) {
      outcome = FS_KILLED;
      break;
    }
    const uint now = control[FS_BEAT];
    silent = now == beat ? silent + 1 : 0;
    beat = now;
    if (silence != 0 && silent >= silence) {
      outcome = FS_ORPHANED;
      break;
    }
  }
  fs_order();
  record[FS_VALUE] = last;
  record[FS_POLLS] = polls;
  record[FS_DETAIL] = fallbacks;
  fs_order();
  record[FS_OUTCOME] = outcome;
  fs_order();
}
