package cuda

import (
	"fmt"
	"reflect"
	"strings"
	"unsafe"
)

// driver is the table of the driver's functions: one field for each, its symbol
// in the tag. The versioned names are those whose meaning CUDA's headers have
// given to the plain name since CUDA 4 to 12. A field marked optional is nil if
// the installed driver is older than the function.
//
// Handles are uintptr: they are the driver's, and Go must not follow them.
type driver struct {
	Init             func(flags uint32) Code                 `cuda:"cuInit"`
	DriverGetVersion func(version *int32) Code               `cuda:"cuDriverGetVersion"`
	GetErrorName     func(code Code, name **byte) Code       `cuda:"cuGetErrorName"`
	DeviceGetCount   func(count *int32) Code                 `cuda:"cuDeviceGetCount"`
	DeviceGet        func(device *int32, ordinal int32) Code `cuda:"cuDeviceGet"`

	DeviceGetName      func(name *byte, size int32, device int32) Code        `cuda:"cuDeviceGetName"`
	DeviceGetUUID      func(uuid *[16]byte, device int32) Code                `cuda:"cuDeviceGetUuid"`
	DeviceGetAttribute func(value *int32, attribute int32, device int32) Code `cuda:"cuDeviceGetAttribute"`
	DeviceTotalMem     func(bytes *uintptr, device int32) Code                `cuda:"cuDeviceTotalMem_v2"`

	CtxCreate                 func(context *uintptr, flags uint32, device int32) Code `cuda:"cuCtxCreate_v2"`
	CtxDestroy                func(context uintptr) Code                              `cuda:"cuCtxDestroy_v2"`
	CtxSetCurrent             func(context uintptr) Code                              `cuda:"cuCtxSetCurrent"`
	CtxGetStreamPriorityRange func(least, greatest *int32) Code                       `cuda:"cuCtxGetStreamPriorityRange"`

	StreamCreateWithPriority func(stream *uintptr, flags uint32, priority int32) Code `cuda:"cuStreamCreateWithPriority"`
	StreamDestroy            func(stream uintptr) Code                                `cuda:"cuStreamDestroy_v2"`
	StreamQuery              func(stream uintptr) Code                                `cuda:"cuStreamQuery"`
	StreamWaitEvent          func(stream, event uintptr, flags uint32) Code           `cuda:"cuStreamWaitEvent"`

	StreamWriteValue32 func(stream uintptr, at DevicePtr, value uint32, flags uint32) Code `cuda:"cuStreamWriteValue32_v2,optional"`
	StreamWaitValue32  func(stream uintptr, at DevicePtr, value uint32, flags uint32) Code `cuda:"cuStreamWaitValue32_v2,optional"`

	EventCreate      func(event *uintptr, flags uint32) Code    `cuda:"cuEventCreate"`
	EventDestroy     func(event uintptr) Code                   `cuda:"cuEventDestroy_v2"`
	EventRecord      func(event, stream uintptr) Code           `cuda:"cuEventRecord"`
	EventQuery       func(event uintptr) Code                   `cuda:"cuEventQuery"`
	EventElapsedTime func(ms *float32, start, end uintptr) Code `cuda:"cuEventElapsedTime"`

	MemAlloc                func(at *DevicePtr, bytes uintptr) Code                             `cuda:"cuMemAlloc_v2"`
	MemFree                 func(at DevicePtr) Code                                             `cuda:"cuMemFree_v2"`
	MemHostAlloc            func(host *unsafe.Pointer, bytes uintptr, flags uint32) Code        `cuda:"cuMemHostAlloc"`
	MemFreeHost             func(host unsafe.Pointer) Code                                      `cuda:"cuMemFreeHost"`
	MemHostGetDevicePointer func(at *DevicePtr, host unsafe.Pointer, flags uint32) Code         `cuda:"cuMemHostGetDevicePointer_v2"`
	MemcpyHtoD              func(to DevicePtr, from unsafe.Pointer, bytes uintptr) Code         `cuda:"cuMemcpyHtoD_v2"`
	MemcpyDtoH              func(to unsafe.Pointer, from DevicePtr, bytes uintptr) Code         `cuda:"cuMemcpyDtoH_v2"`
	MemcpyHtoDAsync         func(to DevicePtr, from unsafe.Pointer, bytes, stream uintptr) Code `cuda:"cuMemcpyHtoDAsync_v2"`
	MemcpyDtoHAsync         func(to unsafe.Pointer, from DevicePtr, bytes, stream uintptr) Code `cuda:"cuMemcpyDtoHAsync_v2"`
	MemcpyDtoDAsync         func(to, from DevicePtr, bytes, stream uintptr) Code                `cuda:"cuMemcpyDtoDAsync_v2"`
	MemsetD32Async          func(at DevicePtr, value uint32, words, stream uintptr) Code        `cuda:"cuMemsetD32Async"`

	ModuleLoadDataEx  func(module *uintptr, image *byte, count uint32, options *int32, values *uintptr) Code `cuda:"cuModuleLoadDataEx"`
	ModuleUnload      func(module uintptr) Code                                                              `cuda:"cuModuleUnload"`
	ModuleGetFunction func(function *uintptr, module uintptr, name *byte) Code                               `cuda:"cuModuleGetFunction"`
	FuncLoad          func(function uintptr) Code                                                            `cuda:"cuFuncLoad,optional"`
	FuncGetParamInfo  func(function, index uintptr, offset, size *uintptr) Code                              `cuda:"cuFuncGetParamInfo,optional"`
	FuncSetAttribute  func(function uintptr, attribute, value int32) Code                                    `cuda:"cuFuncSetAttribute"`
	Occupancy         func(blocks *int32, function uintptr, threads int32, shared uintptr) Code              `cuda:"cuOccupancyMaxActiveBlocksPerMultiprocessor"`

	LaunchKernel func(function uintptr, gridX, gridY, gridZ, blockX, blockY, blockZ, shared uint32,
		stream uintptr, params *unsafe.Pointer, extra uintptr) Code `cuda:"cuLaunchKernel"`
}

// A lookup makes fn, a pointer to a function variable, call the library's
// function of that name; it is an error if the library has none.
type lookup func(fn any, symbol string) error

// bind fills the table.
func (d *driver) bind(find lookup) error {
	v := reflect.ValueOf(d).Elem()
	for i := range v.NumField() {
		symbol, optional := symbolOf(v.Type().Field(i))
		if err := find(v.Field(i).Addr().Interface(), symbol); err != nil && !optional {
			return fmt.Errorf("the driver library has no %s (older than CUDA 10?): %w", symbol, err)
		}
	}
	return nil
}

// symbolOf reads a field's tag.
func symbolOf(f reflect.StructField) (symbol string, optional bool) {
	return strings.CutSuffix(f.Tag.Get("cuda"), ",optional")
}
