package sim

// storeOrders decides for each fence how its stores on the way are kept: by the order in
// which they are executed if that is known, as where one serial agent issues them all.
func (c *compiler) storeOrders() {
	serial := !c.m.overlap && !c.m.concurrent
	for f := range c.fences {
		fc := &c.fences[f]
		fc.toCPU = pending{active: len(c.toCPU[f]) > 0, stores: c.toCPU[f], ordered: c.m.toCPU != visUnordered}
		fc.toCPU.fifo = fc.toCPU.ordered && !(oneWriter(c.toCPU[f]) && serial)
		fc.toGPU = pending{active: len(c.toGPU[f]) > 0, stores: c.toGPU[f], ordered: true}
		fc.toGPU.fifo = !oneWriter(c.toGPU[f])
	}
}

// oneWriter reports whether at most one agent issues stores.
func oneWriter(stores []storeRef) bool {
	for i := range stores {
		if stores[i].agent != stores[0].agent {
			return false
		}
	}
	return true
}
