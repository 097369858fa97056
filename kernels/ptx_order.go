package kernels

import "fmt"

// Order is how a PTX kernel's access to a fence is ordered with the accesses
// around it. The zero Order, Relaxed, promises nothing.
type Order uint32

// The orders, numbered as the PTX sources number them. All are of system scope.
const (
	Relaxed       Order = iota // the access alone
	Synchronizing              // a store with release, a load with acquire
	BarrierBefore              // a memory barrier (fence.sc.sys), then the access
	BarrierAfter               // the access, then a memory barrier
)

var orderNames = [...]string{"relaxed", "synchronizing", "barrier-before", "barrier-after"}

// Orders returns every Order in the order of the numbers.
func Orders() []Order { return []Order{Relaxed, Synchronizing, BarrierBefore, BarrierAfter} }

// String returns the name that ParseOrder reads, or "order N" for a number that
// has none.
func (o Order) String() string {
	if int(o) < len(orderNames) {
		return orderNames[o]
	}
	return fmt.Sprintf("order %d", uint32(o))
}

// ParseOrder is the inverse of String.
func ParseOrder(s string) (Order, error) {
	for i, n := range orderNames {
		if n == s {
			return Order(i), nil
		}
	}
	return 0, fmt.Errorf("unknown order %q (known: %v)", s, orderNames)
}

// Access is how the litmus kernels read and write payload words.
type Access uint32

// The accesses, numbered as the PTX sources number them.
const (
	Weak        Access = iota // as an ordinary kernel does; may be cached
	SystemScope               // relaxed, of system scope
)
