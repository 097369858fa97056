package fencetest

// A mutant is one change of the code that makes it wrong: some verdict differs. Old stands
// exactly once in the package, tests aside, in whichever file.
type mutant struct {
	name, pkg string
	old, new  string
	says      string // what is wrong, in words
}

// mutants is the table of all of them: of the evaluator (model), of the transition system
// (sim) and of the search (check).
var mutants = []mutant{
	// Targets.
	{"count-late", "model", "c.Value = l.scheduled[producer]", "c.Value = l.scheduled[producer] + 1", "a count target one too high"},
	{"count-early", "model", "c.Value = l.scheduled[producer]", "c.Value = max(l.scheduled[producer], 1) - 1", "a count target one too low"},
	{"per-update-late", "model", "c.Value = l.update[in]", "c.Value = l.update[in] + 1", "a per-update target one too high"},
	{"per-update-early", "model", "c.Value = l.update[in]", "c.Value = max(l.update[in], 1) - 1", "a per-update target one too low"},
	{"per-update-counts", "model", "c.Value = l.update[in]", "c.Value = l.scheduled[producer]", "per-update waits for all that are scheduled"},
	{"tape-counts", "model", "c.Value = l.total[producer]", "c.Value = l.scheduled[producer]", "tape waits for what is scheduled only"},
	{"late-bound-early", "model", "c.Late = true", "c.Value = l.scheduled[producer]", "a late target that does not grow"},
	// Waits and updates.
	{"second-wait-lost", "model", "if g.Arrays[in].Kind == OpNone || producer == arr.Stream {", "if g.Arrays[in].Kind == OpNone || producer == arr.Stream || len(arr.In) > 1 {", "no wait before an operation with two inputs"},
	{"update-lost", "model", "if crossing[a] {\n\t\t\tl.encodeUpdate(a)", "if crossing[a] && l.update[a] != 2 {\n\t\t\tl.encodeUpdate(a)", "the second update is not encoded"},
	{"update-before-commit", "model", "l.encode(a, inTape)\n\t\tl.s.Main = append(", "if crossing[a] {\n\t\t\tl.encodeUpdate(a)\n\t\t\tcrossing[a] = false\n\t\t}\n\t\tl.encode(a, inTape)\n\t\tl.s.Main = append(", "the update stands before its operation"},
	{"barrier-missing", "model", "l.gpu(st, plain(OpBarrier), 0)", "", "no barrier between array and update"},
	{"coherent-missing", "model", "l.gpu(st, Command{Op: OpCoherent, Name: l.symbol[a], Group: NoSym, For: NoSym}, 1, a)", "", "an update without coherent: smaller buffers, stale payload"},
	{"update-is-one-op", "model", "l.gpu(st, c, 1)", "l.gpu(st, c, 0)", "the store of an update counts no op"},
	{"wait-is-no-op", "model", "ops := int32(1)\n", "ops := int32(0)\n", "a wait counts no op"},
	// Commits and throttle, as encoded.
	{"flush-dropped", "model", "if !st.CPU {\n\t\t\tl.s.Main = append(l.s.Main, Step{Kind: StepFlush", "if false {\n\t\t\tl.s.Main = append(l.s.Main, Step{Kind: StepFlush", "what is open at the end is never committed"},
	{"size-ops-early", "model", "ops > l.eval.MaxOps", "ops >= l.eval.MaxOps", "commits at max_ops instead of above"},
	{"size-mb-early", "model", "elems>>20 > int64(l.eval.MaxMB)", "elems>>20 >= int64(l.eval.MaxMB)", "commits at max_mb instead of above"},
	{"size-in-bytes", "model", "elems>>20 >", "elems>>18 >", "counts four bytes for an element"},
	{"size-counts-twice", "model", "if inBuffer[a]++; inBuffer[a] == 1 {", "if inBuffer[a]++; inBuffer[a] >= 1 {", "counts an array at each use"},
	{"size-ignored", "model", "full := func() bool { return", "full := func() bool { return false &&", "no commit by size"},
	{"dispatch-once", "model", "const dispatches = 2", "const dispatches = 1", "a CPU operation is one dispatch"},
	{"throttle-high", "model", "N: int32(l.eval.MaxActive)", "N: int32(l.eval.MaxActive + 1)", "the throttle allows one task more"},
	{"throttle-low", "model", "N: int32(l.eval.MaxActive)", "N: int32(l.eval.MaxActive - 1)", "the throttle allows one task less"},
	// The tape.
	{"tape-forward", "model", "for i, j := 0, len(tape)-1; i < j;", "for i, j := 0, -1; i < j;", "encodes from the front"},
	{"width-wide", "model", "if len(tape)-taken >= width {", "if len(tape)-taken > width {", "the width limit is one wider"},
	{"width-ignored", "model", "if len(tape)-taken >= width {", "if false {", "no width limit"},
	{"stack-from-next", "model", "deep = append(deep, deferred{at.array, j})", "deep = append(deep, deferred{at.array, j + 1})", "forgets the input at which it stopped"},
	// The throttle, as it runs.
	{"throttle-at-limit", "sim", "if y.active(s, rk) <= st.N {\n\t\treturn true", "if y.active(s, rk) < st.N {\n\t\treturn true", "throttles at max_active instead of above"},
	{"throttle-sleeps-on", "sim", "return y.active(s, rk) >= n", "return y.active(s, rk) > st.N", "waits until the limit, not until fewer"},
	{"throttle-keeps-open", "sim", "q.firstUse <= at {\n\t\t\t\ty.commitOpen(s, rk, q, q.encoded[at], false)", "q.firstUse < 0 {\n\t\t\t\ty.commitOpen(s, rk, q, q.encoded[at], false)", "blocks without committing what is open"},
	{"throttle-counts-its-own", "sim", "q.firstUse <= at {\n\t\t\t\ty.commitOpen(s, rk, q, q.encoded[at], false)", "q.firstUse <= at {\n\t\t\t\ty.commitOpen(s, rk, q, q.encoded[at], true)", "what it commits counts as a task"},
	{"throttle-one-task", "sim", "if n <= 1 {", "if n <= 0 {", "blocks for a single task"},
	{"size-commit-uncounted", "sim", "y.commitOpen(s, rk, q, st.N, true)", "y.commitOpen(s, rk, q, st.N, false)", "what the size rule commits is no task"},
	// Memory.
	{"lag-short", "sim", "fin-b-1 >= y.m.lag || fin == com)", "fin-b >= y.m.lag || fin == com)", "lag n is n - 1"},
	{"lag-long", "sim", "fin-b-1 >= y.m.lag || fin == com)", "fin-b-2 >= y.m.lag || fin == com)", "lag n is n + 1"},
	{"lag-never-idle", "sim", "fin-b-1 >= y.m.lag || fin == com)", "fin-b-1 >= y.m.lag)", "an idle queue guarantees nothing"},
	{"cpu-sees-gpu-view", "sim", "return uint32(y.fences[f].cpu.get(s))", "return uint32(y.fences[f].gpu.get(s))", "the CPU tests the GPU's view"},
	{"max-overwrites", "sim", "return storeView(s, view, max(view.get(s), uint64(x.value)), false)", "return storeView(s, view, uint64(x.value), false)", "max stores what is smaller"},
	{"guard-ignored", "sim", "ph = phaseRefused\n", "ph = phaseHolding\n", "a guarded store stores what is smaller"},
	// Waits, as they run.
	{"wait-strict", "sim", "return v >= y.target(s, x)", "return v > y.target(s, x)", "a wait needs more than its target"},
	{"wait-equal-loose", "sim", "return v == x.value", "return v >= x.value", "a wait for one value passes above it"},
	{"spin-limit-ignored", "sim", "if a.kind != agentQueue || !y.m.spinLimit {", "if true {", "no wait gives up"},
	{"release-low", "sim", "return storeView(s, view, uint64(x.value), x.op == model.OpReset)\n}\n\n// store", "return storeView(s, view, uint64(x.value)%4294967295, x.op == model.OpReset)\n}\n\n// store", "a release stores 0"},
	// Slots, device, queues.
	{"slot-leak", "sim", "if a := &y.agents[agent]; y.m.slots > 0 && a.kind == agentQueue {\n\t\ty.ranks[a.rank].used.add(s, -1)", "if a := &y.agents[agent]; y.m.slots > 0 && a.kind == agentQueue {\n\t\ty.ranks[a.rank].used.add(s, 0)", "a passed wait keeps its slot"},
	{"slot-more", "sim", "y.ranks[a.rank].used.int(s) < y.m.slots", "y.ranks[a.rank].used.int(s) <= y.m.slots", "one slot more"},
	{"in-flight-more", "sim", "y.unfinished(s, q) >= y.m.inFlight", "y.unfinished(s, q) > y.m.inFlight", "one buffer more in flight"},
	{"look-ahead-more", "sim", "if unfinished >= y.m.lookAhead {", "if unfinished > y.m.lookAhead {", "looks ahead one buffer more"},
	{"device-shared", "sim", "if y.m.exclusive {", "if false {", "an exclusive device runs two buffers"},
	{"tracking-ignored", "sim", "return y.m.tracking == trackNone || !y.tracked(s, q, b)", "return true", "nothing is tracked"},
	{"barrier-ignored", "sim", "return op == model.OpBarrier || op == model.OpEncoder", "return op == model.OpEncoder", "a barrier divides nothing"},
	{"kill-keeps-going", "sim", "y.ranks[q.rank].ignored.set(s, 1)", "y.ranks[q.rank].ignored.set(s, 0)", "after a kill later buffers start"},
	// Collectives, events, ends.
	{"collective-alone", "sim", "if !y.allArrived(s, x) {", "if false {", "a rank leaves a collective alone"},
	{"order-unseen", "sim", "if name != own {", "if name != own && false {", "different names meet unnoticed"},
	{"event-falls", "sim", "e.value.set(s, max(e.value.get(s), uint64(x.value)))", "e.value.set(s, uint64(x.value)-1)", "an event one too low"},
	{"free-unseen", "sim", "y.fences[x.object].freed.set(s, 1)", "y.fences[x.object].freed.set(s, 0)", "a freed fence may be used"},
	{"stale-unseen", "sim", "case have == 0 || have < r.Version:", "case have < r.Version:", "an array not written may be read"},
	{"uncommitted-is-final", "sim", "unfinished(s, q) > 0 || !dead && y.uncommitted(s, q)", "unfinished(s, q) > 0", "a buffer never committed is no hang"},
	// The search.
	{"persistent-idle", "check", "return f.m.GPUToCPU.Mode == model.VisUnordered || !y.IdleOnly(s, t)", "return true", "an arrival that a commit withdraws is taken alone"},
	{"persistent-throttle", "check", "return !f.y.Contested(s, t)", "return true", "a contested throttle test is taken alone"},
	{"persistent-counted", "check", "return f.y.ThrottleAhead(s, rank) && f.y.TasksEnded(s, t, rank) > 0", "return false", "the end of an active task is taken alone"},
	{"persistent-join", "check", " || t.Kind == sim.KindJoin && f.counted(s, t, y.RankOf(t.Peer))", "", "a receive that ends an active task is taken alone"},
	{"persistent-dealloc", "check", "return f.m.Memory == 0 || !f.overdraws", "return true", "memory that was not taken is given back alone"},
}
