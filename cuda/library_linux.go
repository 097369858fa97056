//go:build amd64 || arm64

package cuda

import "github.com/ebitengine/purego"

// openLibrary opens the driver's library. It is never closed: the driver keeps
// threads of its own.
func openLibrary() (lookup, error) {
	var first error
	for _, name := range []string{"libcuda.so.1", "libcuda.so"} {
		library, err := purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_GLOBAL)
		if err != nil {
			if first == nil {
				first = err
			}
			continue
		}
		return func(fn any, symbol string) error {
			at, err := purego.Dlsym(library, symbol)
			if err != nil {
				return err
			}
			purego.RegisterFunc(fn, at)
			return nil
		}, nil
	}
	return nil, first
}
