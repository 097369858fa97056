//go:build !linux || !(amd64 || arm64)

package cuda

import (
	"fmt"
	"runtime"
)

// openLibrary says that there is nothing to open.
func openLibrary() (lookup, error) {
	return nil, fmt.Errorf("no driver library is known for %s/%s", runtime.GOOS, runtime.GOARCH)
}
