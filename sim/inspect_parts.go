package sim

// FencesOf is the range of fences of rank r, where no rank names a fence of another: in the
// order in which a system of that rank alone has them.
func (y *System) FencesOf(r int32) (lo, hi int32) {
	lo = int32(len(y.fences))
	for i := range y.fences {
		if y.fences[i].rank == r {
			lo, hi = min(lo, int32(i)), int32(i)+1
		}
	}
	return min(lo, hi), hi
}

// Arrived is how often the rank of group part g has arrived there.
func (y *System) Arrived(s State, g int32) int { return int(y.groups[g].arrived.get(s)) }

// Ended reports whether the process of rank r has ended.
func (y *System) Ended(s State, r int32) bool { return y.ranks[r].dead.get(s) != 0 }
