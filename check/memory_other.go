//go:build !linux

package check

// machineMemory is the machine's memory in bytes, 0 if unknown.
func machineMemory() int64 { return 0 }
