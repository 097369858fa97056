//go:build !darwin

package metal

import (
	"fmt"
	"runtime"
)

// openBridge says that there is no Metal on this platform.
func openBridge() (bridge, error) {
	return nil, fmt.Errorf("metal: needs macOS on a Mac with a GPU, this is %s/%s: %w",
		runtime.GOOS, runtime.GOARCH, ErrUnavailable)
}
