package metal

import (
	"fmt"
	"unsafe"
)

// A Device is the system's default GPU. The zero Device is closed; use Open.
type Device struct{ handle }

// A Version is the number of a release of macOS. The zero Version is unknown.
// Its layout is NSOperatingSystemVersion's.
type Version struct{ Major, Minor, Patch int64 }

// String is the version as Apple writes it, "15.3.1".
func (v Version) String() string { return fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch) }

// Info is what a report says about the device. The zero Info says nothing.
type Info struct {
	Name          string  // "Apple M3 Ultra"
	RegistryID    uint64  // the device's number in the I/O registry; changes with a reboot
	OS            Version // of the running system
	UnifiedMemory bool    // CPU and GPU share one memory
	Metal3        bool    // the device is of the family Metal 3, as MLX's fast fences require
	WorkingSet    uint64  // bytes that can be resident without a loss of speed
	BufferLength  uint64  // bytes of the largest buffer
}

// Open finds the default device. The error matches ErrUnavailable if there is
// none, and says what is missing. Opening twice gives two values for one device.
func Open() (*Device, error) {
	b, err := openBridge()
	if err != nil {
		return nil, err
	}
	return openDevice(b)
}

// openDevice is Open on a given runtime.
func openDevice(b bridge) (*Device, error) {
	var d Device
	var err error
	pooled(b, func() {
		id := b.find(deviceRoot)
		if id == 0 {
			err = fmt.Errorf("metal: the system has no default device: %w", ErrUnavailable)
			return
		}
		if d.handle, err = own(b, "MTLDevice", id, deviceRoot); err != nil {
			err = fmt.Errorf("%w: %w", err, ErrUnavailable)
		}
	})
	if err != nil {
		return nil, err
	}
	return &d, nil
}

// Info asks the device and the system for what identifies them.
func (d *Device) Info() (Info, error) {
	if err := d.open(); err != nil {
		return Info{}, err
	}
	var i Info
	pooled(d.bridge, func() {
		i.Name = goString(d.bridge, d.send(msgDeviceName).object())
		i.RegistryID = uint64(d.send(msgRegistryID).word)
		process := send(d.bridge, d.bridge.find("NSProcessInfo"), msgProcessInfo).object()
		i.OS = send(d.bridge, process, msgOSVersion).version
		i.UnifiedMemory = d.send(msgUnifiedMemory).truth()
		i.Metal3 = d.send(msgSupportsFamily, int64(familyMetal3)).truth()
		i.WorkingSet = uint64(d.send(msgWorkingSet).word)
		i.BufferLength = uint64(d.send(msgMaxBuffer).word)
	})
	return i, nil
}

// Clocks samples the CPU's and the GPU's clock at one moment, for the offset
// between recordings of the two. By Apple's documentation the CPU value is in
// the unit of mach_absolute_time and the GPU value in nanoseconds on Apple
// silicon; two samples some time apart give the ratio.
func (d *Device) Clocks() (cpu, gpu uint64, err error) {
	if err := d.open(); err != nil {
		return 0, 0, err
	}
	sample := new([2]uint64)
	d.send(msgSampleClocks, unsafe.Pointer(&sample[0]), unsafe.Pointer(&sample[1]))
	return sample[0], sample[1], nil
}

// newObject sends a message whose answer is a new object of the caller's.
func (d *Device) newObject(kind string, m message, args ...any) (handle, error) {
	if err := d.open(); err != nil {
		return handle{}, err
	}
	var h handle
	var err error
	pooled(d.bridge, func() {
		h, err = own(d.bridge, kind, d.send(m, args...).object(), selectors[m].name)
	})
	return h, err
}
