//go:build !arm64

package barrier

import "sync/atomic"

// Native is whether Store and Load execute the instructions they are named after.
const Native = false

func storePlain(p *uint32, v uint32) { atomic.StoreUint32(p, v) }
func storeISH(p *uint32, v uint32)   { atomic.StoreUint32(p, v) }
func storeST(p *uint32, v uint32)    { atomic.StoreUint32(p, v) }
func storeSY(p *uint32, v uint32)    { atomic.StoreUint32(p, v) }

func loadPlain(p *uint32) uint32 { return atomic.LoadUint32(p) }
func loadISH(p *uint32) uint32   { return atomic.LoadUint32(p) }
func loadST(p *uint32) uint32    { return atomic.LoadUint32(p) }
func loadSY(p *uint32) uint32    { return atomic.LoadUint32(p) }
