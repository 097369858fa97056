package cuda

import (
	"bytes"
	"encoding/hex"
	"fmt"
)

// UUID is the identity of a device, which its ordinal is not.
type UUID [16]byte

// String returns it as tools print it: "GPU-" and five groups of digits.
func (u UUID) String() string {
	h := hex.EncodeToString(u[:])
	return fmt.Sprintf("GPU-%s-%s-%s-%s-%s", h[:8], h[8:12], h[12:16], h[16:20], h[20:])
}

// Device is a GPU and what the driver says of it. It is a description: nothing
// is held until Open. The zero Device is not usable.
type Device struct {
	Ordinal int
	Name    string
	UUID    UUID
	Memory  uint64 // bytes

	ComputeMajor, ComputeMinor int // compute capability
	SMs                        int // multiprocessors
	BlocksPerSM                int // most resident blocks on one of them
	SharedPerBlock             int // bytes of shared memory that a block may ask for, at most
	CopyEngines                int

	// Watchdog: the operating system kills kernels that run for seconds, as it
	// does where the device drives a display.
	Watchdog bool
	// HostAtomics: the device's read-modify-write operations on host memory are
	// atomic towards the CPU. On PCIe they usually are not; among the kernels of
	// the device they always are.
	HostAtomics bool
	// ConcurrentKernels: kernels of different streams can run together. A device
	// without it cannot run a kernel that another stream's kernel waits for.
	ConcurrentKernels bool
	// MapsHost: host memory can be given an address on the device.
	MapsHost bool

	handle int32
	d      *driver
}

// String returns the name, the compute capability and the multiprocessors.
func (g Device) String() string {
	return fmt.Sprintf("%s (sm_%d%d, %d multiprocessors)", g.Name, g.ComputeMajor, g.ComputeMinor, g.SMs)
}

// The driver's numbers of the attributes that Device shows.
const (
	attributeWatchdog          = 17
	attributeSMs               = 16
	attributeMapsHost          = 19
	attributeConcurrentKernels = 31
	attributeCopyEngines       = 40
	attributeComputeMajor      = 75
	attributeComputeMinor      = 76
	attributeHostAtomics       = 86
	attributeSharedPerBlock    = 97
	attributeBlocksPerSM       = 106
)

// Devices lists the GPUs in the driver's order. With none, or without a driver,
// the error wraps ErrUnavailable.
func Devices() ([]Device, error) {
	d, err := open()
	if err != nil {
		return nil, err
	}
	return d.devices()
}

func (d *driver) devices() ([]Device, error) {
	var n int32
	if err := d.err("cuDeviceGetCount", d.DeviceGetCount(&n)); err != nil {
		return nil, err
	}
	if n <= 0 {
		return nil, fmt.Errorf("%w: the driver sees no device", ErrUnavailable)
	}
	var all []Device
	for i := range n {
		g, err := d.describe(i)
		if err != nil {
			return nil, fmt.Errorf("device %d: %w", i, err)
		}
		all = append(all, g)
	}
	return all, nil
}

func (d *driver) describe(ordinal int32) (Device, error) {
	g := Device{Ordinal: int(ordinal), d: d}
	if err := d.err("cuDeviceGet", d.DeviceGet(&g.handle, ordinal)); err != nil {
		return Device{}, err
	}
	var name [256]byte
	if err := d.err("cuDeviceGetName", d.DeviceGetName(&name[0], int32(len(name)), g.handle)); err != nil {
		return Device{}, err
	}
	before, _, _ := bytes.Cut(name[:], []byte{0})
	g.Name = string(before)
	if err := d.err("cuDeviceGetUuid", d.DeviceGetUUID((*[16]byte)(&g.UUID), g.handle)); err != nil {
		return Device{}, err
	}
	var memory uintptr
	if err := d.err("cuDeviceTotalMem", d.DeviceTotalMem(&memory, g.handle)); err != nil {
		return Device{}, err
	}
	g.Memory = uint64(memory)

	numbers := []struct {
		attribute int32
		to        *int
	}{
		{attributeSMs, &g.SMs},
		{attributeCopyEngines, &g.CopyEngines},
		{attributeComputeMajor, &g.ComputeMajor},
		{attributeComputeMinor, &g.ComputeMinor},
		{attributeSharedPerBlock, &g.SharedPerBlock},
		{attributeBlocksPerSM, &g.BlocksPerSM},
	}
	for _, a := range numbers {
		v, err := d.attribute(g.handle, a.attribute)
		if err != nil {
			return Device{}, err
		}
		*a.to = int(v)
	}
	flags := []struct {
		attribute int32
		to        *bool
	}{
		{attributeWatchdog, &g.Watchdog},
		{attributeHostAtomics, &g.HostAtomics},
		{attributeConcurrentKernels, &g.ConcurrentKernels},
		{attributeMapsHost, &g.MapsHost},
	}
	for _, a := range flags {
		v, err := d.attribute(g.handle, a.attribute)
		if err != nil {
			return Device{}, err
		}
		*a.to = v != 0
	}
	return g, nil
}

func (d *driver) attribute(device, attribute int32) (int32, error) {
	var v int32
	err := d.err("cuDeviceGetAttribute", d.DeviceGetAttribute(&v, attribute, device))
	return v, err
}
