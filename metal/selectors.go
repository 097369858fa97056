package metal

// A kind is the type of a result or an argument of a message, as far as the
// calling convention cares. The zero kind is void: nothing is returned.
type kind uint8

const (
	kVoid     kind = iota // nothing
	kObject               // an Objective-C object: Go type object
	kUint                 // NSUInteger or uint64_t: uint64
	kInt                  // NSInteger: int64
	kBool                 // BOOL: bool
	kDouble               // double
	kPointer              // an address: unsafe.Pointer
	kCString              // NUL-terminated text: unsafe.Pointer
	kSelector             // SEL: a message
	kBlock                // a block of one object argument
	kSize                 // MTLSize, three NSUInteger by value: Size
	kVersion              // NSOperatingSystemVersion, three NSInteger by value: Version
)

// String is the word that testdata/selectors.txt uses for the kind.
func (k kind) String() string {
	return [...]string{"void", "object", "uint", "int", "bool", "double", "pointer",
		"cstring", "selector", "block", "{uint uint uint}", "{int int int}"}[k]
}

// A signature is one row of the table of selectors: the class or protocol whose
// header declares it, its name, its result and its arguments in order.
type signature struct {
	receiver string
	name     string
	result   kind
	args     []kind
}

// A message indexes the table of selectors.
type message int

// The messages, in the order of the table.
const (
	msgAlloc message = iota
	msgInit
	msgRetain
	msgRelease
	msgResponds
	msgDrain
	msgStringWithCString
	msgUTF8String
	msgErrorDomain
	msgErrorCode
	msgErrorText
	msgProcessInfo
	msgOSVersion
	msgDeviceName
	msgRegistryID
	msgUnifiedMemory
	msgWorkingSet
	msgMaxBuffer
	msgSupportsFamily
	msgSampleClocks
	msgNewQueue
	msgNewQueueLimit
	msgNewBuffer
	msgNewFence
	msgNewEvent
	msgNewLibrary
	msgNewPipeline
	msgCommandBuffer
	msgComputeEncoder
	msgSignalEvent
	msgWaitEvent
	msgOnCompleted
	msgEnqueue
	msgCommit
	msgStatus
	msgError
	msgGPUStart
	msgGPUEnd
	msgEndEncoding
	msgSetPipeline
	msgSetBuffer
	msgSetBytes
	msgDispatch
	msgBarrier
	msgUpdateFence
	msgWaitFence
	msgContents
	msgLength
	msgSignaledValue
	msgSetSignaledValue
	msgSetLanguage
	msgNewFunction
	msgMaxThreads
	msgThreadWidth
	messages // how many there are
)

// selectors is the one table of everything that this package sends to
// Objective-C. A call names a row, and its arguments are held against the row
// before they leave Go; the names are registered with the runtime from here and
// nowhere else; a test holds every row against facts from Apple's headers.
var selectors = [messages]signature{
	msgAlloc:             {"NSObject", "alloc", kObject, nil},
	msgInit:              {"NSObject", "init", kObject, nil},
	msgRetain:            {"NSObject", "retain", kObject, nil},
	msgRelease:           {"NSObject", "release", kVoid, nil},
	msgResponds:          {"NSObject", "respondsToSelector:", kBool, []kind{kSelector}},
	msgDrain:             {"NSAutoreleasePool", "drain", kVoid, nil},
	msgStringWithCString: {"NSString", "stringWithCString:encoding:", kObject, []kind{kCString, kUint}},
	msgUTF8String:        {"NSString", "UTF8String", kCString, nil},
	msgErrorDomain:       {"NSError", "domain", kObject, nil},
	msgErrorCode:         {"NSError", "code", kInt, nil},
	msgErrorText:         {"NSError", "localizedDescription", kObject, nil},
	msgProcessInfo:       {"NSProcessInfo", "processInfo", kObject, nil},
	msgOSVersion:         {"NSProcessInfo", "operatingSystemVersion", kVersion, nil},

	msgDeviceName:     {"MTLDevice", "name", kObject, nil},
	msgRegistryID:     {"MTLDevice", "registryID", kUint, nil},
	msgUnifiedMemory:  {"MTLDevice", "hasUnifiedMemory", kBool, nil},
	msgWorkingSet:     {"MTLDevice", "recommendedMaxWorkingSetSize", kUint, nil},
	msgMaxBuffer:      {"MTLDevice", "maxBufferLength", kUint, nil},
	msgSupportsFamily: {"MTLDevice", "supportsFamily:", kBool, []kind{kInt}},
	msgSampleClocks:   {"MTLDevice", "sampleTimestamps:gpuTimestamp:", kVoid, []kind{kPointer, kPointer}},
	msgNewQueue:       {"MTLDevice", "newCommandQueue", kObject, nil},
	msgNewQueueLimit:  {"MTLDevice", "newCommandQueueWithMaxCommandBufferCount:", kObject, []kind{kUint}},
	msgNewBuffer:      {"MTLDevice", "newBufferWithLength:options:", kObject, []kind{kUint, kUint}},
	msgNewFence:       {"MTLDevice", "newFence", kObject, nil},
	msgNewEvent:       {"MTLDevice", "newSharedEvent", kObject, nil},
	msgNewLibrary:     {"MTLDevice", "newLibraryWithSource:options:error:", kObject, []kind{kObject, kObject, kPointer}},
	msgNewPipeline:    {"MTLDevice", "newComputePipelineStateWithFunction:error:", kObject, []kind{kObject, kPointer}},

	msgCommandBuffer:  {"MTLCommandQueue", "commandBuffer", kObject, nil},
	msgComputeEncoder: {"MTLCommandBuffer", "computeCommandEncoderWithDispatchType:", kObject, []kind{kUint}},
	msgSignalEvent:    {"MTLCommandBuffer", "encodeSignalEvent:value:", kVoid, []kind{kObject, kUint}},
	msgWaitEvent:      {"MTLCommandBuffer", "encodeWaitForEvent:value:", kVoid, []kind{kObject, kUint}},
	msgOnCompleted:    {"MTLCommandBuffer", "addCompletedHandler:", kVoid, []kind{kBlock}},
	msgEnqueue:        {"MTLCommandBuffer", "enqueue", kVoid, nil},
	msgCommit:         {"MTLCommandBuffer", "commit", kVoid, nil},
	msgStatus:         {"MTLCommandBuffer", "status", kUint, nil},
	msgError:          {"MTLCommandBuffer", "error", kObject, nil},
	msgGPUStart:       {"MTLCommandBuffer", "GPUStartTime", kDouble, nil},
	msgGPUEnd:         {"MTLCommandBuffer", "GPUEndTime", kDouble, nil},

	msgEndEncoding: {"MTLCommandEncoder", "endEncoding", kVoid, nil},
	msgSetPipeline: {"MTLComputeCommandEncoder", "setComputePipelineState:", kVoid, []kind{kObject}},
	msgSetBuffer:   {"MTLComputeCommandEncoder", "setBuffer:offset:atIndex:", kVoid, []kind{kObject, kUint, kUint}},
	msgSetBytes:    {"MTLComputeCommandEncoder", "setBytes:length:atIndex:", kVoid, []kind{kPointer, kUint, kUint}},
	msgDispatch:    {"MTLComputeCommandEncoder", "dispatchThreadgroups:threadsPerThreadgroup:", kVoid, []kind{kSize, kSize}},
	msgBarrier:     {"MTLComputeCommandEncoder", "memoryBarrierWithScope:", kVoid, []kind{kUint}},
	msgUpdateFence: {"MTLComputeCommandEncoder", "updateFence:", kVoid, []kind{kObject}},
	msgWaitFence:   {"MTLComputeCommandEncoder", "waitForFence:", kVoid, []kind{kObject}},

	msgContents:         {"MTLBuffer", "contents", kPointer, nil},
	msgLength:           {"MTLBuffer", "length", kUint, nil},
	msgSignaledValue:    {"MTLSharedEvent", "signaledValue", kUint, nil},
	msgSetSignaledValue: {"MTLSharedEvent", "setSignaledValue:", kVoid, []kind{kUint}},
	msgSetLanguage:      {"MTLCompileOptions", "setLanguageVersion:", kVoid, []kind{kUint}},
	msgNewFunction:      {"MTLLibrary", "newFunctionWithName:", kObject, []kind{kObject}},
	msgMaxThreads:       {"MTLComputePipelineState", "maxTotalThreadsPerThreadgroup", kUint, nil},
	msgThreadWidth:      {"MTLComputePipelineState", "threadExecutionWidth", kUint, nil},
}

// Numbers from Apple's headers that this package passes on; the same test holds
// them against the same facts.
const (
	utf8Encoding     = 4    // NSUTF8StringEncoding
	storageShared    = 0    // MTLResourceStorageModeShared
	hazardUntracked  = 256  // MTLResourceHazardTrackingModeUntracked
	barrierBuffers   = 1    // MTLBarrierScopeBuffers
	familyMetal3     = 5001 // MTLGPUFamilyMetal3
	dispatchSerial   = 0    // MTLDispatchTypeSerial
	dispatchParallel = 1    // MTLDispatchTypeConcurrent
)
