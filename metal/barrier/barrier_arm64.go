package barrier

// Native is whether Store and Load execute the instructions they are named after.
const Native = true

//go:noescape
func storePlain(p *uint32, v uint32)

//go:noescape
func storeISH(p *uint32, v uint32)

//go:noescape
func storeST(p *uint32, v uint32)

//go:noescape
func storeSY(p *uint32, v uint32)

//go:noescape
func loadPlain(p *uint32) uint32

//go:noescape
func loadISH(p *uint32) uint32

//go:noescape
func loadST(p *uint32) uint32

//go:noescape
func loadSY(p *uint32) uint32
